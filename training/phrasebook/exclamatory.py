"""Exclamations."""

from collections.abc import Iterator

from training.phrasebook import english, entries, spanish
from training.phrasebook.clauses import Form, copular, sentence
from training.phrasebook.constructions import Construction, Family, combination
from training.phrasebook.copular import HUMAN_ADJECTIVES
from training.phrasebook.determiners import subject_determiners
from training.phrasebook.entries import Adjective, Noun
from training.phrasebook.nominal import (
    Determiner,
    Subject,
    Text,
    join,
    noun_phrase,
    subject_phrase,
)
from training.phrasebook.spanish import THIRD


def admire(adjective: Adjective, noun: Noun, many: bool) -> Text:
    """Build "What a beautiful house!" -> "¡Qué casa tan hermosa!"."""
    phrase = noun_phrase(noun, Determiner("", many), adjective)
    inflected = spanish.agree(adjective.spanish, noun.gender, many)
    head = spanish.plural(noun.spanish) if many else noun.spanish
    article = ""
    if not many and noun.flag != "mass":
        article = english.indefinite(phrase.english)
    return sentence(
        Text(
            join("what", article, phrase.english),
            f"qué {head} tan {inflected}",
        ),
        "!",
    )


def exclaim(
    adjective: Adjective, subject: Subject, tense: str, which: Determiner
) -> Text:
    """Build "How tired the dog is!" -> "¡Qué cansado está el perro!"."""
    phrase = subject_phrase(subject, which)
    many = phrase.person > THIRD
    inflected = spanish.agree(adjective.spanish, phrase.gender, many)
    text = copular(
        phrase._replace(spanish=""),
        adjective.copula,
        Form(tense, "+"),
        Text("", ""),
    )
    return sentence(
        Text(
            f"how {adjective.english} {text.english}",
            join("qué", inflected, text.spanish, phrase.spanish),
        ),
        "!",
    )


def exclamations() -> Iterator[Construction]:
    """Yield "What a beautiful house!" and "How tired the dog is!"."""
    plain = """red blue green yellow white black gray brown pink purple open
        closed broken full round clean""".split()
    for adjective in entries.ADJECTIVES:
        if adjective.english in plain:
            continue
        subjects: list[Subject] = list(entries.nouns(*adjective.objects))
        for noun in subjects:
            if adjective.copula == "ser" and noun.category != "kin":
                many = {"": (False, True), "pair": (True,)}
                yield Construction(
                    admire,
                    (combination(adjective.english, noun),),
                    (adjective, noun),
                    (many.get(noun.flag, (False,)),),
                )
        if adjective in HUMAN_ADJECTIVES:
            subjects += entries.NAMES
        for subject in subjects:
            yield Construction(
                exclaim,
                (combination(adjective.english, subject),),
                (adjective, subject),
                (("present", "past"), subject_determiners(subject)),
            )


FAMILIES = [
    Family("exclamation", 4, exclamations),
]
