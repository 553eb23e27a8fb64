"""Sentences about whose things are, and where they are."""

from collections.abc import Iterator

from training.phrasebook import entries
from training.phrasebook.clauses import Form, be, copular, finish, forms
from training.phrasebook.constructions import Construction, Family, combination
from training.phrasebook.copular import COLOURS, TENSES, degrees, describe
from training.phrasebook.determiners import OWNED, THE, subject_determiners
from training.phrasebook.entries import Adjective, Noun
from training.phrasebook.lexicon import PREPOSITIONS
from training.phrasebook.nominal import (
    Determiner,
    Phrase,
    Subject,
    Text,
    noun_phrase,
    subject_phrase,
)

PREPOSITION_TEXTS = {
    source: Text(source, target)
    for source, target in entries.pairs(PREPOSITIONS)
}


def owned(
    owner: Subject,
    noun: Noun,
    which: Determiner,
    many: bool,
    adjective: Adjective | None = None,
) -> Phrase:
    """Build "Maria's red car" -> "el coche rojo de María"."""
    holder = subject_phrase(owner, which)
    thing = noun_phrase(noun, Determiner("the", many), adjective)
    head = thing.english.removeprefix("the ")
    return thing._replace(
        english=f"{holder.english}'s {head}",
        spanish=f"{thing.spanish} de {holder.spanish}",
    )


def possession(
    owner: Subject,
    noun: Noun,
    attribute: Adjective | None,
    adjective: Adjective,
    degree: Text,
    form: Form,
    which: Determiner,
) -> Text:
    """Build "Maria's red car is very fast."."""
    phrase = owned(owner, noun, which, noun.flag == "pair", attribute)
    return finish(describe(phrase, adjective, degree, form), form)


def possessions() -> Iterator[Construction]:
    """Yield "Maria's car is red." and "My aunt's red car is old."."""
    owners = [*entries.NAMES, *entries.nouns("kin", "acquaintance")]
    turn = 0
    for noun in entries.nouns(*OWNED, "house"):
        known = entries.adjectives(noun)
        for adjective in known:
            attributes: list[Adjective | None] = [None]
            if adjective.english not in COLOURS:
                attributes += [a for a in known if a.english in COLOURS]
            turn += 1
            for owner in owners[turn % 9 :: 9]:
                if noun.english in ("dress", "skirt") and owner.gender == "m":
                    continue
                choices = tuple(
                    which
                    for which in subject_determiners(owner)
                    if not which.many
                )
                yield Construction(
                    possession,
                    (combination(noun, owner, adjective.english),),
                    (owner, noun),
                    (
                        tuple(attributes),
                        (adjective,),
                        degrees(adjective),
                        forms(TENSES),
                        choices,
                    ),
                )


def locate(thing: Phrase, preposition: Text, place: Phrase, form: Form) -> Text:
    """Build "The keys are on the table."."""
    tail = Text(
        f"{preposition.english} {place.english}",
        f"{preposition.spanish} {place.spanish}",
    )
    return finish(copular(thing, "estar", form, tail, tail_last=True), form)


def located(
    noun: Noun,
    place: Noun,
    preposition: Text,
    form: Form,
    which: Determiner,
) -> Text:
    """Build "The keys are on the table."."""
    thing = noun_phrase(noun, which)
    return locate(thing, preposition, noun_phrase(place, THE), form)


def located_owned(
    noun: Noun, place: Noun, preposition: Text, form: Form, owner: Subject
) -> Text:
    """Build "Maria's keys are on the table."."""
    thing = owned(owner, noun, THE, noun.flag == "pair")
    return locate(thing, preposition, noun_phrase(place, THE), form)


def existential(
    noun: Noun, place: Noun, preposition: Text, number: str, form: Form
) -> Text:
    """Build "There are three apples on the table."."""
    phrase = noun_phrase(noun, Determiner(number, number != "a"))
    where = noun_phrase(place, THE)
    tail = f"{phrase.english} {preposition.english} {where.english}"
    cola = f"{phrase.spanish} {preposition.spanish} {where.spanish}"
    finite = be(phrase.person, form.tense)
    hay = {"present": "hay", "past": "había", "future": "habrá"}[form.tense]
    source = f"there {finite} {tail}"
    if form.mode == "?":
        auxiliary, _, rest = finite.partition(" ")
        source = f"{auxiliary} there {rest} {tail}".replace("  ", " ")
    return finish(Text(source, f"{hay} {cola}"), form)


SITES = (
    ("fruit vegetable dish", "on under next+to near in", "table chair sofa"),
    ("fruit vegetable snack", "in next+to", "basket box bag"),
    ("fruit vegetable snack dish", "in", "kitchen"),
    ("belonging image press text", "on under", "table bed sofa chair"),
    ("belonging press image present", "in", "box bag suitcase basket garage"),
    ("pet", "under behind next+to in_front_of", "table bed car tree door"),
    ("furniture", "near next+to far_from in_front_of", "window door wall"),
    ("driven cycle", "behind near in_front_of far_from", "house school bank"),
    ("driven cycle", "in next+to", "garage"),
    ("public", "near next+to far_from behind in_front_of", "station park"),
    ("animal predator", "in near behind", "forest river farm"),
    ("person", "in near in_front_of far_from behind", "church hotel bank"),
)


def sites() -> Iterator[tuple[Noun, Noun, Text]]:
    """Yield things, places and a preposition for them."""
    seen = set()
    for things, prepositions, places in SITES:
        for noun in entries.nouns(*things.split()):
            for place in entries.nouns(*places.split()):
                for word in prepositions.split():
                    word = word.replace("_", " ").replace("+", " ")
                    table = word == "in" and place.category == "furniture"
                    tree = word == "in" and place.english == "river"
                    site = (noun, place, word)
                    if table or tree or noun == place or site in seen:
                        continue
                    seen.add(site)
                    yield noun, place, PREPOSITION_TEXTS[word]


def locations() -> Iterator[Construction]:
    """Yield "The keys are on the table."."""
    for noun, place, preposition in sites():
        words = combination(preposition.english, noun, place)
        yield Construction(
            located,
            (words,),
            (noun, place, preposition),
            (forms(TENSES), subject_determiners(noun)),
        )
        if noun.category in OWNED:
            yield Construction(
                located_owned,
                (words,),
                (noun, place, preposition),
                (forms(TENSES), tuple(entries.NAMES)),
            )


def existentials() -> Iterator[Construction]:
    """Yield "There are three apples on the table."."""
    numbers = [number for number, _ in entries.NUMBERS]
    for noun, place, preposition in sites():
        known = numbers[:4]
        if noun.category in ("fruit", "vegetable", "belonging", "dish"):
            known = numbers[:13]
        yield Construction(
            existential,
            (combination(preposition.english, noun, place, "there"),),
            (noun, place, preposition),
            (("a", *known), forms(TENSES, "+?")),
        )


FAMILIES = [
    Family("possession", 6, possessions),
    Family("location", 5, locations),
    Family("existential", 4, existentials),
]
