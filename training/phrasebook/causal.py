"""Sentences of two clauses: causes, coordination, relatives, reports."""

from collections.abc import Iterator

from training.phrasebook import entries, spanish
from training.phrasebook.clauses import Form, clause, copular, sentence
from training.phrasebook.constructions import Construction, Family, combination
from training.phrasebook.copular import describe, idiom_tail
from training.phrasebook.determiners import THE, subject_determiners
from training.phrasebook.entries import Adjective, Idiom, Noun, Verb
from training.phrasebook.lexicon import CAUSES, REASONS
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
from training.phrasebook.verbal import PEOPLE, roles

BEASTS: list[Subject] = list(entries.nouns("pet", "animal", "predator"))
ADJECTIVES = {word.english: word for word in entries.ADJECTIVES}
IDIOMS = {idiom.english: idiom for idiom in entries.IDIOMS}
VERBS = {verb.lemma: verb for verb in entries.TRANSITIVE + entries.MOTION}
# Verbs that go together in one sentence.
TOPICS = (
    ("eat", "drink", "cook", "make"),
    ("open", "close"),
    ("wash", "clean"),
    ("buy", "sell", "choose"),
    ("write", "copy", "learn", "study", "remember"),
    ("sing", "play", "hear", "listen to"),
    ("lose", "find", "look for", "forget"),
    ("paint", "draw", "look at"),
    ("repair", "break", "build"),
    ("carry", "push", "bring"),
    ("wear",),
    ("drive", "take", "cross", "climb", "wait for"),
)
NEGATIVE = tuple(
    Form(tense, "-") for tense in ("present", "past", "future", "can")
)
POSITIVE = (Form("present", "+"), Form("past", "+"))


def reason(
    antecedent: Phrase,
    state: Adjective | Idiom,
    degree: str,
    tense: str,
    animate: bool,
) -> Text:
    """Build "it was too wide", which agrees with its antecedent.

    Args:
        antecedent: What the English pronoun stands for.
        state: The adjective, or the idiom with *tener*.
        degree: "too", "very" or nothing.
        tense: Tense of the copula.
        animate: Whether the antecedent is alive; idioms need that.
    """
    pronoun = antecedent._replace(
        english=antecedent.pronoun, spanish="", animate=animate
    )
    form = Form(tense, "+")
    adverb = {"too": "demasiado", "very": "muy"}.get(degree, "")
    if isinstance(state, Adjective):
        return describe(pronoun, state, Text(degree, adverb), form)
    return copular(pronoun, "tener", form, idiom_tail(state, degree))


def causal(
    subject: Subject,
    verb: Verb,
    noun: Noun,
    state: Adjective | Idiom,
    of_subject: bool,
    form: Form,
    actor: Determiner,
    goal: Determiner,
    degree: str,
) -> Text:
    """Build "The dog did not cross the street because it was too wide."."""
    agent = subject_phrase(subject, actor)
    target = noun_phrase(noun, goal)
    tail = Text(target.english, personal(target))
    if verb.preposition:
        tail = Text(target.english, f"{verb.preposition} {target.spanish}")
    main = clause(agent, verb, form, tail)
    tense = "past" if form.tense == "past" else "present"
    antecedent = agent if of_subject else target
    cause = reason(antecedent, state, degree, tense, of_subject)
    return sentence(
        Text(
            f"{main.english} because {cause.english}",
            f"{main.spanish} porque {cause.spanish}",
        )
    )


def _cases(
    row: list[str], subjects: list[Subject], stride: int
) -> Iterator[tuple]:
    """Yield subject, verb, object, state and whose state it is."""
    verb = VERBS[row[0]]
    classes, own, other = (" ".join(row[1:]) + " ").split(" / ")
    objects = verb._replace(objects=tuple(classes.split()))
    for subject, _, noun in roles(subjects, [objects], stride):
        for word in own.split():
            word = word.replace("+", " ")
            yield (
                subject,
                verb,
                noun,
                IDIOMS.get(word) or ADJECTIVES[word],
                True,
            )
        for word in other.split():
            if ADJECTIVES[word] in entries.adjectives(noun):
                yield subject, verb, noun, ADJECTIVES[word], False


def _causes(
    table: str,
    subjects: list[Subject],
    causal_forms: tuple[Form, ...],
    degrees: tuple[str, ...],
    stride: int = 1,
) -> Iterator[Construction]:
    for row in entries.rows(table):
        for subject, verb, noun, state, own in _cases(row, subjects, stride):
            goals = (THE, Determiner("the", True))
            if noun.flag in ("mass", "one"):
                goals = (THE,)
            if noun.flag == "pair":
                goals = (Determiner("the", True),)
            allowed = degrees
            if state.english in ("broken", "delicious", "open"):
                allowed = ("",)
            elif state.english == "in a hurry":
                allowed = ("", "very")
            yield Construction(
                causal,
                (combination(state.english, subject, verb, noun),),
                (subject, verb, noun, state, own),
                (
                    causal_forms,
                    subject_determiners(subject)[:4],
                    goals,
                    allowed,
                ),
            )


def beast_obstacles() -> Iterator[Construction]:
    """Yield "The dog did not cross the street because it was tired."."""
    yield from _causes(CAUSES["animal"], BEASTS, NEGATIVE, ("too", "very"), 3)


def people_obstacles() -> Iterator[Construction]:
    """Yield "Maria did not carry the box because it was too heavy."."""
    subjects = [*PEOPLE, *PRONOUNS]
    yield from _causes(CAUSES["person"], subjects, NEGATIVE, ("too", "very"), 8)


def beast_reasons() -> Iterator[Construction]:
    """Yield "The dog drank the water because it was thirsty."."""
    yield from _causes(REASONS["animal"], BEASTS, POSITIVE, ("", "very"))


def people_reasons() -> Iterator[Construction]:
    """Yield "Maria bought the dress because it was cheap."."""
    subjects = [*PEOPLE, *PRONOUNS]
    yield from _causes(REASONS["person"], subjects, POSITIVE, ("", "very"), 8)


def action(
    subject: Phrase, verb: Verb, noun: Noun, form: Form, goal: Determiner
) -> Text:
    """Build a transitive clause without punctuation."""
    target = noun_phrase(noun, goal)
    return clause(subject, verb, form, Text(target.english, personal(target)))


def coordinated(
    first: tuple[Subject, Verb, Noun],
    second: tuple[Subject, Verb, Noun],
    tense: str,
    link: str,
    actor: Determiner,
) -> Text:
    """Build "Maria opened the door and Pedro closed the window."."""
    modes = "+-" if link == "but" else "++"
    parts = []
    for (subject, verb, noun), mode in zip((first, second), modes, strict=True):
        many = noun.category in ("fruit", "vegetable", "pair")
        determiner = Determiner("the", many)
        phrase = subject_phrase(subject, actor)
        form = Form(tense, mode)
        parts.append(action(phrase, verb, noun, form, determiner))
    left, right = parts
    conjunction = "pero"
    if link == "and":
        conjunction = spanish.conjunction(right.spanish)
    comma = "," if link == "but" else ""
    return sentence(
        Text(
            f"{left.english}{comma} {link} {right.english}",
            f"{left.spanish}{comma} {conjunction} {right.spanish}",
        )
    )


def coordinations() -> Iterator[Construction]:
    """Yield "Maria opened the door and Pedro closed the window."."""
    # A third person pronoun, once dropped, would look like the first subject.
    speakers = [*PRONOUNS[:2], PRONOUNS[4]]
    for topic in TOPICS:
        verbs = [verb for verb in entries.TRANSITIVE if verb.lemma in topic]
        events = [
            event
            for event in roles([*entries.NAMES, *speakers], verbs, 2)
            if not event[2].animate
        ]
        # A fixed stride pairs every clause with another one of its topic.
        for index, first in enumerate(events):
            second = events[(index * 7 + 101) % len(events)]
            if first[0] is second[0] or first[2] is second[2]:
                continue
            yield Construction(
                coordinated,
                (combination(*_head(first)), combination(*_head(second))),
                (first, second),
                (("past", "future"), ("and", "but"), (THE,)),
            )


def _head(event: tuple[Subject, Verb, Noun]) -> tuple:
    subject, verb, noun = event
    return verb, subject, noun


FAMILIES = [
    Family("animal obstacle", 14, beast_obstacles),
    Family("human obstacle", 6, people_obstacles),
    Family("animal reason", 5, beast_reasons),
    Family("human reason", 4, people_reasons),
    Family("coordination", 6, coordinations),
]
