"""Sentences about what things are: *ser*, *estar*, *tener* and *haber*."""

from collections.abc import Iterator

from training.phrasebook import english, entries, spanish
from training.phrasebook.clauses import Form, copular, finish, forms
from training.phrasebook.constructions import Construction, Family, combination
from training.phrasebook.determiners import subject_determiners
from training.phrasebook.entries import Adjective, Idiom, Noun
from training.phrasebook.lexicon import PROFESSIONS
from training.phrasebook.nominal import (
    PRONOUNS,
    Determiner,
    Phrase,
    Subject,
    Text,
    subject_phrase,
)

TENSES = ("present", "past", "future")
DEGREES = (Text("", ""), Text("very", "muy"), Text("too", "demasiado"))
COLOURS = """red blue green yellow white black gray brown pink
    purple""".split()
# Adjectives that are either true or not: "very" would be odd.
ABSOLUTE = [*COLOURS, *"open closed broken round delicious empty".split()]
# Adjectives of which there is never too much.
WELCOME = """pretty beautiful fresh interesting comfortable famous modern kind
    intelligent generous honest friendly happy brave clean cheap
    easy""".split()
HUMAN_ADJECTIVES = [
    adjective
    for adjective in entries.ADJECTIVES
    if "person" in adjective.objects and adjective.english != "old"
]


def describe(
    phrase: Phrase, adjective: Adjective, degree: Text, form: Form
) -> Text:
    """Build "the street was too wide"; the adjective agrees."""
    many = phrase.person > spanish.THIRD
    inflected = spanish.agree(adjective.spanish, phrase.gender, many)
    tail = Text(
        f"{degree.english} {adjective.english}".strip(),
        f"{degree.spanish} {inflected}".strip(),
    )
    return copular(phrase, adjective.copula, form, tail)


def predicate(
    subject: Subject,
    adjective: Adjective,
    degree: Text,
    form: Form,
    determiner: Determiner,
) -> Text:
    """Build "The street is very wide."."""
    phrase = subject_phrase(subject, determiner)
    return finish(describe(phrase, adjective, degree, form), form)


def degrees(adjective: Adjective) -> tuple[Text, ...]:
    """Return the degrees of an adjective."""
    if adjective.english in ABSOLUTE:
        return DEGREES[:1]
    return DEGREES[:2] if adjective.english in WELCOME else DEGREES


def predicates() -> Iterator[Construction]:
    """Yield "The street is very wide."."""
    for adjective in entries.ADJECTIVES:
        subjects: list[Subject] = list(entries.nouns(*adjective.objects))
        if adjective in HUMAN_ADJECTIVES:
            subjects += [*entries.NAMES, *PRONOUNS]
        for subject in subjects:
            yield Construction(
                predicate,
                (combination(adjective.english, subject),),
                (subject, adjective),
                (
                    degrees(adjective),
                    forms(TENSES),
                    subject_determiners(subject),
                ),
            )


def idiom_tail(state: Idiom, degree: str) -> Text:
    """Build "very hungry" -> "mucha hambre"; the degree is an adjective."""
    source = f"{degree} {state.english}".strip()
    if degree and state.english == "in a hurry":
        source = "in a great hurry"
    adjective = {"too": "demasiado", "very": "mucho"}.get(degree, "")
    if adjective:
        adjective = spanish.agree(adjective, state.gender, False)
    return Text(source, f"{adjective} {state.spanish}".strip())


def idiom(
    subject: Subject,
    state: Idiom,
    degree: str,
    form: Form,
    determiner: Determiner,
) -> Text:
    """Build "I am very hungry." -> "Tengo mucha hambre."."""
    phrase = subject_phrase(subject, determiner)
    tail = idiom_tail(state, degree)
    return finish(copular(phrase, "tener", form, tail), form)


def idioms() -> Iterator[Construction]:
    """Yield "I am hungry."."""
    people = entries.nouns(*entries.HUMANS)
    beasts = entries.nouns("pet", "animal")
    for state in entries.IDIOMS:
        subjects = [*people, *entries.NAMES, *PRONOUNS]
        if state.english in ("hungry", "thirsty", "afraid", "sleepy"):
            subjects += beasts
        for subject in subjects:
            yield Construction(
                idiom,
                (combination(state.english, subject),),
                (subject, state),
                (
                    ("",) if state.english == "right" else ("", "very"),
                    forms(TENSES),
                    subject_determiners(subject),
                ),
            )


def age(subject: Subject, years: int, form: Form, which: Determiner) -> Text:
    """Build "Maria is ten years old."."""
    number, numero = entries.NUMBERS[years]
    tail = Text(f"{number} years old", f"{numero} años")
    phrase = subject_phrase(subject, which)
    return finish(copular(phrase, "tener", form, tail), form)


def ages() -> Iterator[Construction]:
    """Yield "Maria is ten years old."."""
    for index, (number, _) in enumerate(entries.NUMBERS):
        for subject in [*entries.nouns("kin"), *entries.NAMES, *PRONOUNS]:
            young = index < 13
            if isinstance(subject, Noun):
                elders = "father mother grand uncle aunt"
                elder = any(w in subject.english for w in elders.split())
                if elder and young:
                    continue
            yield Construction(
                age,
                (combination(number, subject, "years"),),
                (subject, index),
                (forms(TENSES), subject_determiners(subject)),
            )


def profession(
    subject: Subject, job: list[str], form: Form, which: Determiner
) -> Text:
    """Build "My mother is a doctor.": Spanish has no article."""
    phrase = subject_phrase(subject, which)
    title = job[2] if phrase.gender == "f" else job[1]
    tail = Text(f"{english.indefinite(job[0])} {job[0]}", title)
    if phrase.person > spanish.THIRD:
        tail = Text(job[0] + "s", spanish.plural(title))
    return finish(copular(phrase, "ser", form, tail), form)


def professions() -> Iterator[Construction]:
    """Yield "My mother is a doctor."."""
    for job in entries.rows(PROFESSIONS):
        subjects = [*entries.nouns("kin"), *entries.NAMES, *PRONOUNS]
        for subject in subjects:
            yield Construction(
                profession,
                (combination(job[0], subject, "be"),),
                (subject, job),
                (forms(TENSES), subject_determiners(subject)),
            )


FAMILIES = [
    Family("predicate", 12, predicates),
    Family("idiom", 4, idioms),
    Family("age", 2, ages),
    Family("profession", 3, professions),
]
