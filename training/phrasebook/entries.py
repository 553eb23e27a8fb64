"""The records that the tables of the lexicon turn into."""

import functools
from typing import NamedTuple

from training.phrasebook import english, lexicon, spanish


class Noun(NamedTuple):
    """A noun: both numbers in both languages, gender, class and flag."""

    english: str
    english_plural: str
    spanish: str
    gender: str
    category: str
    flag: str = ""

    @property
    def animate(self) -> bool:
        """Whether the noun names people or animals."""
        return self.category in HUMANS + ANIMALS

    @property
    def human(self) -> bool:
        """Whether the noun names people."""
        return self.category in HUMANS


class Adjective(NamedTuple):
    """An adjective, the copula it takes and the classes it describes."""

    english: str
    spanish: str
    copula: str
    objects: tuple[str, ...]


class Verb(NamedTuple):
    """A verb with its English particle and its Spanish preposition."""

    base: str
    past: str
    gerund: str
    particle: str
    spanish: str
    preposition: str
    objects: tuple[str, ...]

    @property
    def lemma(self) -> str:
        """The base form with its particle, as in "look for"."""
        return f"{self.base} {self.particle}".strip()


class Idiom(NamedTuple):
    """An English adjective that is a noun after *tener*."""

    english: str
    spanish: str
    gender: str


class Name(NamedTuple):
    """A given name and its gender."""

    english: str
    spanish: str
    gender: str


HUMANS = ("person", "acquaintance", "kin")
ANIMALS = ("pet", "animal", "predator")


def rows(table: str) -> list[list[str]]:
    """Split a table into entries and these into fields."""
    return [
        [field.replace("_", " ") for field in entry.split()]
        for entry in table.split(",")
    ]


def pairs(table: str) -> list[tuple[str, str]]:
    """Read a table of English and Spanish words."""
    return [(row[0], row[1]) for row in rows(table)]


def _noun(row: list[str], category: str) -> Noun:
    singular, _, plural = row[0].partition("/")
    plural = plural or english.plural(singular)
    return Noun(singular, plural, row[1], row[2], category, *row[3:])


def _verb(row: list[str]) -> Verb:
    forms, _, particle = row[0].partition("+")
    base, past, *gerund = forms.split("/")
    infinitive, _, preposition = row[1].partition("+")
    return Verb(
        base,
        past,
        gerund[0] if gerund else english.gerund(base),
        particle,
        infinitive,
        preposition,
        tuple(row[2:]),
    )


NOUNS = {
    noun.english: noun
    for category, table in lexicon.NOUNS.items()
    for noun in (_noun(row, category) for row in rows(table))
}
NAMES = [Name(*row) for row in rows(lexicon.NAMES)]
ADJECTIVES = [
    Adjective(row[0], row[1], copula, tuple(row[2:]))
    for copula, table in lexicon.ADJECTIVES.items()
    for row in rows(table)
]
IDIOMS = [Idiom(*row) for row in rows(lexicon.IDIOMS)]
TRANSITIVE = [_verb(row) for row in rows(lexicon.TRANSITIVE)]
ACTIVITIES = [_verb(row) for row in rows(lexicon.ACTIVITIES)]
MOTION = [_verb(row) for row in rows(lexicon.MOTION)]
REFLEXIVE = [_verb(row) for row in rows(lexicon.REFLEXIVE)]
DITRANSITIVE = [_verb(row) for row in rows(lexicon.DITRANSITIVE)]
TIMES = {tense: pairs(table) for tense, table in lexicon.TIMES.items()}
NUMBERS = pairs(lexicon.NUMBERS)
STATIVE = set(lexicon.STATIVE.split())
PUNCTUAL = set(lexicon.PUNCTUAL.split())
SYNCRETIC = set(lexicon.SYNCRETIC.split())
PREDICATE_ONLY = set(lexicon.PREDICATE_ONLY.split())
AT_PLACES = set(lexicon.AT_PLACES.split())
ON_PLACES = set(lexicon.ON_PLACES.split())


@functools.cache
def nouns(*classes: str) -> list[Noun]:
    """Return the nouns of some classes; a noun may name itself."""
    found = []
    for word in classes:
        members = [n for n in NOUNS.values() if n.category == word]
        found.extend(members or [NOUNS[word]])
    return list(dict.fromkeys(found))


@functools.cache
def adjectives(noun: Noun, attributive: bool = True) -> list[Adjective]:
    """Return the adjectives that can describe a noun."""
    return [
        adjective
        for adjective in ADJECTIVES
        if noun in nouns(*adjective.objects)
        and not (attributive and adjective.english in PREDICATE_ONLY)
    ]


def article(noun: Noun, many: bool, definite: bool) -> str:
    """Return the Spanish article of a noun."""
    return spanish.article(noun.spanish, noun.gender, many, definite)
