"""Sentences with object pronouns and with indirect objects."""

from collections.abc import Iterator

from training.phrasebook import entries
from training.phrasebook.clauses import DATIVE_CLITICS, Form, clause, finish
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
    subject_phrase,
)
from training.phrasebook.verbal import PEOPLE, plain_forms, roles

OBJECT_PRONOUNS = [
    Text("me", "me"),
    Text("you", "te"),
    Text("him", "lo"),
    Text("her", "la"),
    Text("us", "nos"),
    Text("them", "los"),
]


def pronominal(
    subject: Subject,
    verb: Verb,
    pronoun: Text,
    form: Form,
    actor: Determiner,
) -> Text:
    """Build "Maria helps me.": the Spanish pronoun precedes the verb."""
    agent = subject_phrase(subject, actor)
    text = clause(agent, verb, form, Text(pronoun.english, ""), pronoun.spanish)
    return finish(text, form)


def object_pronouns() -> Iterator[Construction]:
    """Yield "Maria helps me."."""
    verbs = [
        verb
        for verb in entries.TRANSITIVE
        if {"acquaintance", "person"} & set(verb.objects)
    ]
    same = {"I": "me us", "you": "you", "we": "us me"}
    for verb in verbs:
        for subject in [*PEOPLE, *PRONOUNS]:
            for pronoun in OBJECT_PRONOUNS:
                if pronoun.english in same.get(subject.english, "").split():
                    continue
                yield Construction(
                    pronominal,
                    (combination(verb, subject, pronoun.english),),
                    (subject, verb, pronoun),
                    (plain_forms(verb), subject_determiners(subject)),
                )


def ditransitive(
    subject: Subject,
    verb: Verb,
    noun: Noun,
    receiver: Subject,
    form: Form,
    actor: Determiner,
    gift: Determiner,
    owner: Determiner,
) -> Text:
    """Build "Maria gave the book to Pedro." with a doubled clitic."""
    agent = subject_phrase(subject, actor)
    thing = noun_phrase(noun, gift)
    person = subject_phrase(receiver, owner)
    clitic = DATIVE_CLITICS[person.person]
    if isinstance(receiver, Phrase):
        pronoun = {
            "I": "me",
            "he": "him",
            "she": "her",
            "we": "us",
            "they": "them",
        }
        dative = pronoun.get(person.english, person.english)
        tail = Text(f"{dative} {thing.english}", thing.spanish)
    else:
        tail = Text(
            f"{thing.english} to {person.english}",
            f"{thing.spanish} a {person.spanish}",
        )
    verb = verb._replace(particle="")
    return finish(clause(agent, verb, form, tail, clitic), form)


def ditransitives() -> Iterator[Construction]:
    """Yield "Maria gave the book to Pedro." and "Maria gave me a book."."""
    receivers = [*entries.nouns("acquaintance"), *entries.NAMES[::3]]
    subjects = [*entries.NAMES[1::2], *entries.nouns("kin"), *PRONOUNS]
    for subject, verb, noun in roles(subjects, entries.DITRANSITIVE, 15):
        for receiver in [*receivers, *PRONOUNS]:
            if isinstance(subject, Phrase) and isinstance(receiver, Phrase):
                if subject.english not in ("he", "she", "they"):
                    continue
                if receiver.english not in ("I", "you", "we"):
                    continue
            gifts = object_determiners(verb, noun)[:4]
            choices = (
                plain_forms(verb),
                subject_determiners(subject)[:3],
                tuple(d for d in gifts if d.english),
                subject_determiners(receiver)[:5],
            )
            words = combination(verb, subject, noun, receiver)
            arguments = (subject, verb, noun, receiver)
            yield Construction(ditransitive, (words,), arguments, choices)


FAMILIES = [
    Family("object pronouns", 4, object_pronouns),
    Family("ditransitive", 5, ditransitives),
]
