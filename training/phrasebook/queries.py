"""Question words, quantities, comparison, relatives and reports."""

from collections.abc import Iterator

from training.phrasebook import entries, spanish
from training.phrasebook.clauses import Form, clause, sentence
from training.phrasebook.constructions import Construction, Family, combination
from training.phrasebook.determiners import (
    object_determiners,
    subject_determiners,
)
from training.phrasebook.entries import Noun, Verb
from training.phrasebook.nominal import (
    PRONOUNS,
    Determiner,
    Phrase,
    Subject,
    Text,
    noun_phrase,
    personal,
    subject_phrase,
)
from training.phrasebook.verbal import plain_forms, roles, transitive

COUNTED = "eat buy sell find lose have need want see draw make write".split()
ACTIONS = [
    verb
    for verb in entries.TRANSITIVE
    if verb.lemma not in entries.STATIVE | entries.SYNCRETIC
]
WHO = Phrase("who", "quién")


def who(verb: Verb, noun: Noun, tense: str, goal: Determiner) -> Text:
    """Build "Who opened the door?" -> "¿Quién abrió la puerta?"."""
    target = noun_phrase(noun, goal)
    tail = Text(target.english, personal(target))
    if verb.preposition:
        tail = Text(target.english, f"{verb.preposition} {target.spanish}")
    return sentence(clause(WHO, verb, Form(tense, "+"), tail), "?")


def who_questions() -> Iterator[Construction]:
    """Yield "Who opened the door?"."""
    for verb in ACTIONS:
        for noun in entries.nouns(*verb.objects):
            yield Construction(
                who,
                (combination(verb, "who", noun),),
                (verb, noun),
                (
                    ("present", "past", "future", "can", "want"),
                    object_determiners(verb, noun),
                ),
            )


def asked(
    subject: Subject,
    verb: Verb,
    noun: Noun,
    word: tuple[str, str],
    tense: str,
    actor: Determiner,
    goal: Determiner,
) -> Text:
    """Build "When did Maria open the door?"."""
    target = noun_phrase(noun, goal)
    tail = Text(target.english, personal(target))
    if verb.preposition:
        tail = Text(target.english, f"{verb.preposition} {target.spanish}")
    agent = subject_phrase(subject, actor)
    text = clause(agent, verb, Form(tense, "?"), tail)
    return sentence(
        Text(f"{word[0]} {text.english}", f"{word[1]} {text.spanish}"), "?"
    )


def asked_questions() -> Iterator[Construction]:
    """Yield "Why did Maria open the door?"."""
    words = (("when", "cuándo"), ("why", "por qué"))
    subjects = [*entries.NAMES, *PRONOUNS]
    for subject, verb, noun in roles(subjects, ACTIONS, 5):
        goals = object_determiners(verb, noun)[:3]
        yield Construction(
            asked,
            (combination(verb, subject, noun),),
            (subject, verb, noun),
            (
                words,
                ("past",)
                if verb.lemma in entries.PUNCTUAL
                else ("past", "future", "going"),
                subject_determiners(subject),
                tuple(goal for goal in goals if goal.english),
            ),
        )


def where(noun: Subject, tense: str, which: Determiner) -> Text:
    """Build "Where are my keys?" -> "¿Dónde están mis llaves?"."""
    phrase = subject_phrase(noun, which)
    many = phrase.person > spanish.THIRD
    finite = {"present": ("is", "are"), "past": ("was", "were")}[tense][many]
    conjugate = spanish.present if tense == "present" else spanish.imperfect
    return sentence(
        Text(
            f"where {finite} {phrase.english}",
            f"dónde {conjugate('estar')[phrase.person]} {phrase.spanish}",
        ),
        "?",
    )


def where_questions() -> Iterator[Construction]:
    """Yield "Where are my keys?"."""
    classes = """belonging container pet driven cycle device dish clothing
        pair public workplace stop person acquaintance kin press drink
        image room""".split()
    for noun in [*entries.nouns(*classes), *entries.NAMES]:
        yield Construction(
            where,
            (combination(noun, "where"),),
            (noun,),
            (("present", "past"), subject_determiners(noun)),
        )


def how_many(
    subject: Subject, verb: Verb, noun: Noun, form: Form, actor: Determiner
) -> Text:
    """Build "How many apples did you buy?"."""
    agent = subject_phrase(subject, actor)
    text = clause(agent, verb, form)
    word = spanish.agree("cuánto", noun.gender, True)
    return sentence(
        Text(
            f"how many {noun.english_plural} {text.english}",
            f"{word} {spanish.plural(noun.spanish)} {text.spanish}",
        ),
        "?",
    )


def counted(
    subject: Subject,
    verb: Verb,
    noun: Noun,
    form: Form,
    actor: Determiner,
    number: str,
) -> Text:
    """Build "I bought three apples."."""
    goal = Determiner(number, True)
    return transitive(subject, verb, noun, form, actor, goal)


def quantities() -> Iterator[Construction]:
    """Yield "I bought three apples." and "How many apples ...?"."""
    verbs = [v for v in entries.TRANSITIVE if v.lemma in COUNTED]
    subjects = [*entries.NAMES[::2], *PRONOUNS]
    for subject, verb, noun in roles(subjects, verbs, 3):
        if noun.flag or noun.human or noun.animate:
            continue
        options = plain_forms(verb)
        asking = tuple(form for form in options if form.mode == "?")
        words = (combination(verb, subject, noun),)
        arguments = (subject, verb, noun)
        which = subject_determiners(subject)
        yield Construction(how_many, words, arguments, (asking, which))
        numbers = tuple(number for number, _ in entries.NUMBERS[:13])
        choices = (options, which, numbers)
        yield Construction(counted, words, arguments, choices)


def price(noun: Noun, number: tuple[str, str], which: Determiner) -> Text:
    """Build "The shirt costs forty dollars."."""
    phrase = noun_phrase(noun, which)
    many = phrase.person > spanish.THIRD
    cost = "cost" if many else "costs"
    return sentence(
        Text(
            f"{phrase.english} {cost} {number[0]} dollars",
            f"{phrase.spanish} {('cuesta', 'cuestan')[many]} {number[1]}"
            " dólares",
        )
    )


def prices() -> Iterator[Construction]:
    """Yield "The shirt costs forty dollars."."""
    dear = entries.nouns("clothing", "pair", "suitcase", "ring", "lamp")
    small = "dish press fruit pen pencil notebook ball ticket".split()
    prices = [(noun, entries.NUMBERS[12:]) for noun in dear]
    prices += [(n, entries.NUMBERS[:12]) for n in entries.nouns(*small)]
    for noun, numbers in prices:
        for number in numbers:
            yield Construction(
                price,
                (combination(number[0], "cost", noun),),
                (noun, number),
                (subject_determiners(noun)[:4],),
            )


FAMILIES = [
    Family("who", 2, who_questions),
    Family("when and why", 3, asked_questions),
    Family("where", 1, where_questions),
    Family("quantity", 5, quantities),
    Family("price", 2, prices),
]
