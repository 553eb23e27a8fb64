"""Sentences about actions: who does what, where and when."""

import functools
from collections.abc import Callable, Iterator

from training.phrasebook import entries
from training.phrasebook.clauses import Form, append, clause, finish, forms
from training.phrasebook.constructions import Construction, Family, combination
from training.phrasebook.determiners import (
    object_determiners,
    subject_determiners,
)
from training.phrasebook.entries import Adjective, Noun, Verb
from training.phrasebook.lexicon import ANIMAL_ACTIONS, FREQUENCY, MANNER
from training.phrasebook.nominal import (
    PRONOUNS,
    Determiner,
    Subject,
    Text,
    noun_phrase,
    personal,
    subject_phrase,
)

PEOPLE: list[Subject] = [*entries.nouns(*entries.HUMANS), *entries.NAMES]
SIMPLE = ("present", "past", "future")
PERIPHRASTIC = ("can", "want", "have", "going")
HABITUAL = """eat cook drink read write sing open close clean wash carry
    wear drive visit help call bring take forget play use study""".split()
INTRANSITIVE = entries.ACTIVITIES + entries.MOTION + entries.REFLEXIVE
FREQUENCIES = [Text(*pair) for pair in entries.pairs(FREQUENCY)]
MANNERS = [Text(*pair) for pair in entries.pairs(MANNER)]
NOTHING = Text("", "")


@functools.cache
def plain_forms(verb: Verb) -> tuple[Form, ...]:
    """Return the forms that need no time expression."""
    if verb.lemma in entries.STATIVE:
        return forms(("present", "past"))
    tenses = [*SIMPLE, "going"]
    if verb.lemma not in entries.PUNCTUAL:
        tenses = [*SIMPLE, *PERIPHRASTIC, "progressive"]
    found = forms(tuple(tenses))
    if verb.base in entries.SYNCRETIC:
        unclear = forms(("present", "past"), "+")
        found = tuple(form for form in found if form not in unclear)
    return found


@functools.cache
def timed_forms(verb: Verb) -> tuple[tuple[Form, Text], ...]:
    """Return the forms with the time expressions that go with them."""
    found = []
    for form in plain_forms(verb) + forms(SIMPLE, "+"):
        habit = verb.lemma in HABITUAL or verb in INTRANSITIVE
        if form.tense == "present" and not habit:
            continue
        kind = "modal" if form.tense in PERIPHRASTIC else form.tense
        if form.tense == "going":
            kind = "future"
        found += [(form, Text(*time)) for time in entries.TIMES[kind]]
    return tuple(dict.fromkeys(found))


def transitive(
    subject: Subject,
    verb: Verb,
    noun: Noun,
    form: Form,
    actor: Determiner,
    goal: Determiner,
    actor_adjective: Adjective | None = None,
    goal_adjective: Adjective | None = None,
    time: Text = NOTHING,
    frequency: Text = NOTHING,
) -> Text:
    """Build "The boy ate the apple." and its like."""
    target = noun_phrase(noun, goal, goal_adjective)
    tail = Text(target.english, target.spanish)
    if verb.preposition:
        tail = Text(target.english, f"{verb.preposition} {target.spanish}")
    elif verb.lemma not in ("have", "want"):
        tail = Text(target.english, personal(target))
    agent = subject_phrase(subject, actor, actor_adjective)
    text = clause(agent, verb, form, append(tail, time), adverb=frequency)
    return finish(text, form)


def transitive_timed(
    subject: Subject,
    verb: Verb,
    noun: Noun,
    timed: tuple[Form, Text],
    actor: Determiner,
    goal: Determiner,
) -> Text:
    """Build "The boy ate the apple yesterday."."""
    form, time = timed
    return transitive(subject, verb, noun, form, actor, goal, time=time)


def transitive_frequent(
    subject: Subject,
    verb: Verb,
    noun: Noun,
    frequency: Text,
    actor: Determiner,
    goal: Determiner,
) -> Text:
    """Build "The boy never eats apples."."""
    form = Form("present", "+")
    return transitive(
        subject, verb, noun, form, actor, goal, frequency=frequency
    )


def plausible(subject: Subject, verb: Verb, noun: Noun) -> bool:
    """Return whether the subject wears such clothes or eats such food."""
    if verb.base == "wear" and noun.english in ("dress", "skirt"):
        return subject.gender == "f" or subject.english in ("I", "you")
    if verb.base != "eat" or not isinstance(subject, Noun) or subject.human:
        return True
    if subject.english in ("dog", "cat", "bear"):
        return True
    flesh = noun.english in ("meat", "fish", "chicken")
    return flesh == (subject.category == "predator")


def roles(
    subjects: list[Subject], verbs: list[Verb], stride: int = 1
) -> Iterator[tuple[Subject, Verb, Noun]]:
    """Yield plausible subjects, verbs and objects.

    Args:
        subjects: Who may act.
        verbs: The actions, which know their objects.
        stride: A verb and an object are given to every `stride`-th subject
            only, in rotation, to keep the grammar small.
    """
    turn = 0
    for verb in verbs:
        for noun in entries.nouns(*verb.objects):
            turn += 1
            for subject in subjects[turn % stride :: stride]:
                if subject is not noun and plausible(subject, verb, noun):
                    yield subject, verb, noun


def _build(
    realise: Callable[..., Text],
    options: Callable[[Subject, Verb, Noun], tuple],
    subjects: list[Subject],
    verbs: list[Verb],
    stride: int = 1,
) -> Iterator[Construction]:
    for subject, verb, noun in roles(subjects, verbs, stride):
        choices = options(subject, verb, noun)
        if all(choices):
            words = combination(verb, subject, noun)
            arguments = (subject, verb, noun)
            yield Construction(realise, (words,), arguments, choices)


def _bare_options(subject: Subject, verb: Verb, noun: Noun) -> tuple:
    return (
        subject_determiners(subject)[:4],
        object_determiners(verb, noun),
    )


def _plain_options(subject: Subject, verb: Verb, noun: Noun) -> tuple:
    return (plain_forms(verb), *_bare_options(subject, verb, noun))


def _described_options(subject: Subject, verb: Verb, noun: Noun) -> tuple:
    adjectives = (
        entries.adjectives(subject) if isinstance(subject, Noun) else []
    )
    return (
        *_plain_options(subject, verb, noun),
        tuple(adjectives) or (None,),
        tuple(entries.adjectives(noun)),
    )


def _timed_options(subject: Subject, verb: Verb, noun: Noun) -> tuple:
    if verb.lemma in entries.STATIVE:
        return ((),)
    return (timed_forms(verb), *_bare_options(subject, verb, noun))


def _frequent_options(subject: Subject, verb: Verb, noun: Noun) -> tuple:
    actors, goals = _bare_options(subject, verb, noun)
    goals = tuple(g for g in goals if g.english not in ("this", "that"))
    return (tuple(FREQUENCIES), actors, goals)


ANIMAL_VERBS = [
    verb._replace(objects=tuple(row[1:]))
    for row in entries.rows(ANIMAL_ACTIONS)
    for verb in entries.TRANSITIVE
    if verb.base == row[0]
]
BEASTS: list[Subject] = list(entries.nouns(*entries.ANIMALS))


def plain_people() -> Iterator[Construction]:
    """Yield "Maria opened the door."."""
    yield from _build(
        transitive, _plain_options, PEOPLE, entries.TRANSITIVE, 10
    )


def plain_pronouns() -> Iterator[Construction]:
    """Yield "I opened the door."."""
    pronouns = list(PRONOUNS)
    yield from _build(transitive, _plain_options, pronouns, entries.TRANSITIVE)


def plain_animals() -> Iterator[Construction]:
    """Yield "The dog crossed the street."."""
    yield from _build(transitive, _plain_options, BEASTS, ANIMAL_VERBS)


def described() -> Iterator[Construction]:
    """Yield "The old man opened the red box."."""
    subjects = [*entries.nouns(*entries.HUMANS), *PRONOUNS]
    verbs = entries.TRANSITIVE
    yield from _build(transitive, _described_options, subjects, verbs, 8)


def described_animals() -> Iterator[Construction]:
    """Yield "The tired dog ate the red apple."."""
    yield from _build(transitive, _described_options, BEASTS, ANIMAL_VERBS)


def timed() -> Iterator[Construction]:
    """Yield "Maria opened the door yesterday."."""
    subjects = [*entries.NAMES, *PRONOUNS, *entries.nouns("kin")]
    verbs = entries.TRANSITIVE
    yield from _build(transitive_timed, _timed_options, subjects, verbs, 8)


def frequent() -> Iterator[Construction]:
    """Yield "Maria always opens the door."."""
    subjects = [*entries.NAMES, *PRONOUNS, *entries.nouns("acquaintance")]
    verbs = [verb for verb in entries.TRANSITIVE if verb.lemma in HABITUAL]
    yield from _build(
        transitive_frequent, _frequent_options, subjects, verbs, 5
    )


FAMILIES = [
    Family("plain people", 14, plain_people),
    Family("plain pronouns", 14, plain_pronouns),
    Family("plain animals", 2, plain_animals),
    Family("described", 9, described),
    Family("described animals", 2, described_animals),
    Family("timed", 7, timed),
    Family("frequent", 4, frequent),
]
