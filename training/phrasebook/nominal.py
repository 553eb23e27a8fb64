"""Noun phrases in both languages at once."""

import functools
from typing import NamedTuple

from training.phrasebook import english, entries, spanish
from training.phrasebook.entries import Adjective, Name, Noun
from training.phrasebook.spanish import (
    FIRST,
    FIRST_PLURAL,
    SECOND,
    THIRD,
    THIRD_PLURAL,
)


class Text(NamedTuple):
    """The same words in both languages."""

    english: str
    spanish: str


class Phrase(NamedTuple):
    """A noun phrase, or a pronoun, which Spanish drops as a subject."""

    english: str
    spanish: str
    person: int = THIRD
    gender: str = "m"
    animate: bool = False
    pronoun: str = "it"


class Determiner(NamedTuple):
    """What comes before a noun, and the noun's number."""

    english: str
    many: bool = False


Subject = Noun | Name | Phrase

PRONOUNS = (
    Phrase("I", "", FIRST, pronoun="I"),
    Phrase("you", "", SECOND, pronoun="you"),
    Phrase("he", "", THIRD, pronoun="he"),
    Phrase("she", "", THIRD, "f", pronoun="she"),
    Phrase("we", "", FIRST_PLURAL, pronoun="we"),
    Phrase("they", "", THIRD_PLURAL, pronoun="they"),
)
POSSESSIVES = {
    "my": "mi",
    "your": "tu",
    "his": "su",
    "her": "su",
    "our": "nuestro",
    "their": "su",
}
DEMONSTRATIVES = {
    "this": ("these", {"m": ("este", "estos"), "f": ("esta", "estas")}),
    "that": ("those", {"m": ("ese", "esos"), "f": ("esa", "esas")}),
}
NUMERALS = dict(entries.NUMBERS)


def join(*words: str) -> str:
    """Join the words that are not empty."""
    return " ".join(word for word in words if word)


def _determiner(noun: Noun, determiner: Determiner) -> str:
    word, many = determiner
    if word in ("the", "a"):
        return entries.article(noun, many, word == "the")
    if word in DEMONSTRATIVES:
        return DEMONSTRATIVES[word][1][noun.gender][many]
    if word in POSSESSIVES:
        return spanish.agree(POSSESSIVES[word], noun.gender, many)
    return NUMERALS.get(word, "")


@functools.cache
def noun_phrase(
    noun: Noun,
    determiner: Determiner,
    adjective: Adjective | None = None,
) -> Phrase:
    """Build a noun phrase; the Spanish adjective follows and agrees."""
    word, many = determiner
    head = noun.english_plural if many else noun.english
    if adjective:
        head = f"{adjective.english} {head}"
    if word == "a":
        word = english.indefinite(head)
    elif word in DEMONSTRATIVES and many:
        word = DEMONSTRATIVES[word][0]
    modifier = ""
    if adjective:
        modifier = spanish.agree(adjective.spanish, noun.gender, many)
    singular = {"m": "he", "f": "she"}[noun.gender] if noun.human else "it"
    return Phrase(
        join(word, head),
        join(
            _determiner(noun, determiner),
            spanish.plural(noun.spanish) if many else noun.spanish,
            modifier,
        ),
        THIRD_PLURAL if many else THIRD,
        noun.gender,
        noun.animate,
        "they" if many else singular,
    )


def subject_phrase(
    subject: Subject,
    determiner: Determiner | None = None,
    adjective: Adjective | None = None,
) -> Phrase:
    """Build the phrase of a subject, which may be a name or a pronoun."""
    if isinstance(subject, Phrase):
        return subject
    if isinstance(subject, Name):
        pronoun = {"m": "he", "f": "she"}[subject.gender]
        return Phrase(
            subject.english,
            subject.spanish,
            gender=subject.gender,
            animate=True,
            pronoun=pronoun,
        )
    return noun_phrase(subject, determiner or Determiner("the"), adjective)


def personal(phrase: Phrase) -> str:
    """Return the Spanish of a direct object, with the personal "a"."""
    return f"a {phrase.spanish}" if phrase.animate else phrase.spanish
