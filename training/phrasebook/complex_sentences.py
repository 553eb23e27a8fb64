"""Comparison, reported speech and relative clauses."""

from collections.abc import Iterator

from training.phrasebook import english, entries, spanish
from training.phrasebook.clauses import (
    Form,
    append,
    clause,
    finish,
    forms,
    sentence,
)
from training.phrasebook.constructions import Construction, Family, combination
from training.phrasebook.copular import HUMAN_ADJECTIVES, degrees, describe
from training.phrasebook.determiners import subject_determiners
from training.phrasebook.entries import Adjective, Noun, Verb
from training.phrasebook.nominal import (
    PRONOUNS,
    Determiner,
    Subject,
    Text,
    join,
    noun_phrase,
    subject_phrase,
)
from training.phrasebook.queries import ACTIONS


def comparison(
    adjective: Adjective,
    first: Subject,
    second: Subject,
    degree: str,
    form: Form,
    which: tuple[Determiner, Determiner],
) -> Text:
    """Build "Maria is taller than Pedro." or "as tall as Pedro"."""
    left = subject_phrase(first, which[0])
    right = subject_phrase(second, which[1])
    if degree == "more":
        source = f"{english.comparative(adjective.english)} than"
        before, after = "más", "que"
    else:
        source = f"as {adjective.english} as"
        before, after = "tan", "como"
    word = adjective._replace(english=f"{source} {right.english}")
    text = describe(left, word, Text("", before), form)
    target = text.spanish
    if form.mode == "?":
        # The adjective follows the subject, next to what it is compared to.
        many = left.person > spanish.THIRD
        inflected = spanish.agree(adjective.spanish, left.gender, many)
        verbo = spanish.present(adjective.copula)[left.person]
        target = join(verbo, left.spanish, before, inflected)
    target = join(target, after, right.spanish)
    return finish(Text(text.english, target), form)


def comparisons() -> Iterator[Construction]:
    """Yield "Maria is taller than Pedro."."""
    colours = """red blue green yellow white black gray brown pink purple
        round open closed delicious broken full empty""".split()
    for adjective in entries.ADJECTIVES:
        if adjective.english in colours or adjective.copula == "estar":
            continue
        things: list[Subject] = list(entries.nouns(*adjective.objects))
        if adjective in HUMAN_ADJECTIVES:
            things += entries.NAMES
        for turn, first in enumerate(things):
            for second in things[turn % 6 :: 6]:
                if first is second or not _comparable(first, second):
                    continue
                yield Construction(
                    comparison,
                    (combination(adjective.english, first, second),),
                    (adjective, first, second),
                    (
                        ("more", "as"),
                        forms(("present",)),
                        tuple(
                            (a, b)
                            for a in subject_determiners(first)[:3]
                            for b in subject_determiners(second)[:3]
                            if "a" not in (a.english, b.english)
                        ),
                    ),
                )


def _comparable(first: Subject, second: Subject) -> bool:
    if isinstance(first, Noun) and first.category in entries.ANIMALS:
        return False
    if isinstance(first, Noun) and isinstance(second, Noun):
        return first.category == second.category
    return isinstance(first, entries.Name)


def report(
    verb: Verb,
    noun: Noun,
    adjective: Adjective,
    subject: Subject,
    degree: Text,
    form: Form,
    which: Determiner,
) -> Text:
    """Build "Maria says that the soup is very cold."."""
    inner = describe(noun_phrase(noun, which), adjective, degree, form)
    main = clause(subject_phrase(subject), verb, Form("present", "+"))
    return sentence(append(main, Text("that", "que"), inner))


def reports() -> Iterator[Construction]:
    """Yield "Maria says that the soup is very cold."."""
    verbs = (
        Verb("say", "said", "saying", "", "decir", "", ()),
        Verb("think", "thought", "thinking", "", "creer", "", ()),
        Verb("know", "knew", "knowing", "", "saber", "", ()),
    )
    for verb in verbs:
        for adjective in entries.ADJECTIVES:
            for noun in entries.nouns(*adjective.objects):
                yield Construction(
                    report,
                    (combination(adjective.english, noun, verb),),
                    (verb, noun, adjective),
                    (
                        (*entries.NAMES, *PRONOUNS),
                        degrees(adjective),
                        forms(("present", "past"), "+-"),
                        tuple(
                            which
                            for which in subject_determiners(noun)[:4]
                            if which.english != "a"
                        ),
                    ),
                )


def relative(
    verb: Verb,
    noun: Noun,
    adjective: Adjective,
    subject: Subject,
    tenses: tuple[str, str],
    degree: Text,
    many: bool,
) -> Text:
    """Build "The book that I bought is interesting."."""
    head = noun_phrase(noun, Determiner("the", many))
    agent = subject_phrase(subject)
    inner = clause(agent, verb, Form(tenses[0], "+"))
    finite = spanish.preterite(verb.spanish)[agent.person]
    phrase = head._replace(
        english=f"{head.english} that {inner.english}",
        spanish=join(head.spanish, "que", finite, agent.spanish),
    )
    form = Form(tenses[1], "+")
    return sentence(describe(phrase, adjective, degree, form))


def relatives() -> Iterator[Construction]:
    """Yield "The book that I bought is interesting."."""
    verbs = """buy sell find open close paint repair build write bring
        choose break cross""".split()
    for verb in ACTIONS:
        if verb.lemma not in verbs:
            continue
        for noun in entries.nouns(*verb.objects):
            for adjective in entries.adjectives(noun):
                odd = {"open": "closed", "close": "open", "repair": "broken"}
                if adjective.english in ("new", odd.get(verb.base)):
                    continue
                numbers = {"": (False, True), "pair": (True,)}
                yield Construction(
                    relative,
                    (combination(verb, noun, adjective.english),),
                    (verb, noun, adjective),
                    (
                        (*entries.NAMES, *PRONOUNS),
                        (("past", "present"), ("past", "past")),
                        degrees(adjective),
                        numbers.get(noun.flag, (False,)),
                    ),
                )


FAMILIES = [
    Family("comparison", 4, comparisons),
    Family("report", 4, reports),
    Family("relative", 4, relatives),
]
