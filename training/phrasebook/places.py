"""Sentences about activities, motion, daily routine and commands."""

from collections.abc import Iterator

from training.phrasebook import entries, spanish
from training.phrasebook.clauses import (
    REFLEXIVE_CLITICS,
    Form,
    append,
    clause,
    finish,
    sentence,
)
from training.phrasebook.constructions import Construction, Family, combination
from training.phrasebook.determiners import (
    THE,
    object_determiners,
    subject_determiners,
)
from training.phrasebook.entries import Noun, Verb
from training.phrasebook.nominal import (
    PRONOUNS,
    Determiner,
    Subject,
    Text,
    join,
    noun_phrase,
    personal,
    subject_phrase,
)
from training.phrasebook.verbal import MANNERS, PEOPLE, plain_forms, timed_forms

NO_COMMAND = entries.STATIVE | entries.PUNCTUAL | {"understand", "pay"}
HOURS = [
    Text(f"at {hour}", f"a las {hora}") for hour, hora in entries.NUMBERS[4:11]
]


def inside(place: Noun) -> Text:
    """Return "in the park" or "at the station", always *en* in Spanish."""
    preposition = "in"
    if place.english in entries.AT_PLACES:
        preposition = "at"
    elif place.english in entries.ON_PLACES:
        preposition = "on"
    phrase = noun_phrase(place, THE)
    return Text(f"{preposition} {phrase.english}", f"en {phrase.spanish}")


def activity(
    subject: Subject,
    verb: Verb,
    place: Noun,
    timed: tuple[Form, Text],
    actor: Determiner,
) -> Text:
    """Build "The men worked in the garden yesterday."."""
    form, time = timed
    agent = subject_phrase(subject, actor)
    return finish(clause(agent, verb, form, append(inside(place), time)), form)


def motion(
    subject: Subject,
    verb: Verb,
    place: Noun,
    timed: tuple[Form, Text],
    actor: Determiner,
) -> Text:
    """Build "The men walked to the station yesterday."."""
    form, time = timed
    goal = noun_phrase(place, THE)
    tail = Text(goal.english, f"{verb.preposition} {goal.spanish}")
    agent = subject_phrase(subject, actor)
    return finish(clause(agent, verb, form, append(tail, time)), form)


def _untimed(verb: Verb) -> tuple[tuple[Form, Text], ...]:
    return tuple((form, Text("", "")) for form in plain_forms(verb))


def _located(realise, verbs, subjects) -> Iterator[Construction]:
    for verb in verbs:
        options = _untimed(verb)
        if verb.base != "live":
            options += timed_forms(verb)[::3]
        for turn, place in enumerate(entries.nouns(*verb.objects)):
            for subject in subjects[turn % 2 :: 2]:
                words = combination(verb, subject, place)
                determiners = subject_determiners(subject)
                yield Construction(
                    realise,
                    (words,),
                    (subject, verb, place),
                    (options, determiners),
                )


def activities() -> Iterator[Construction]:
    """Yield "We worked in the garden."."""
    yield from _located(activity, entries.ACTIVITIES, [*PEOPLE, *PRONOUNS])


def motions() -> Iterator[Construction]:
    """Yield "We walked to the station."."""
    yield from _located(motion, entries.MOTION, [*PEOPLE, *PRONOUNS])


def described_activity(
    subject: Subject,
    verb: Verb,
    manner: Text,
    form: Form,
    actor: Determiner,
) -> Text:
    """Build "The boy runs slowly."."""
    agent = subject_phrase(subject, actor)
    beside = manner.spanish
    text = clause(
        agent, verb, form, Text(manner.english, ""), complement=beside
    )
    return finish(text, form)


def manners() -> Iterator[Construction]:
    """Yield "The boy runs slowly."."""
    suitable = {
        "work": "slowly well badly a_lot a_little here there",
        "sleep": "well badly a_lot a_little here there late",
        "run": "slowly well a_lot here there early",
        "walk": "slowly quietly a_lot here carefully there",
        "swim": "slowly well badly a_lot here there",
        "dance": "well badly a_lot slowly here",
        "cry": "quietly a_lot a_little here",
        "rest": "a_little a_lot here there",
        "study": "well a_lot a_little here quietly late",
        "eat": "slowly well quietly a_lot a_little early late here",
        "wait": "here there quietly a_little",
        "sing": "well badly a_lot quietly here",
        "play": "well badly a_lot here there quietly",
        "read": "slowly well",
        "write": "well slowly carefully badly",
        "drive": "slowly well badly carefully early",
    }
    known = {verb.base: verb for verb in entries.TRANSITIVE}
    known |= {verb.base: verb for verb in entries.ACTIVITIES}
    by_name = {manner.english: manner for manner in MANNERS}
    for base, names in suitable.items():
        verb = known[base]
        for turn, name in enumerate(names.split()):
            manner = by_name[name.replace("_", " ")]
            for subject in [*PEOPLE, *PRONOUNS][turn % 2 :: 2]:
                yield Construction(
                    described_activity,
                    (combination(manner.english, verb, subject),),
                    (subject, verb, manner),
                    (plain_forms(verb), subject_determiners(subject)),
                )


def reflexive(
    subject: Subject,
    verb: Verb,
    hour: Text,
    timed: tuple[Form, Text],
    actor: Determiner,
) -> Text:
    """Build "I get up at seven." with a reflexive pronoun in Spanish."""
    form, time = timed
    agent = subject_phrase(subject, actor)
    clitic = REFLEXIVE_CLITICS[agent.person]
    tail = Text(
        join(hour.english, time.english), join(time.spanish, hour.spanish)
    )
    return finish(clause(agent, verb, form, tail, clitic), form)


def reflexives() -> Iterator[Construction]:
    """Yield "I get up at seven."."""
    people = entries.nouns(*entries.HUMANS)[::2]
    for verb in entries.REFLEXIVE:
        options = _untimed(verb) + timed_forms(verb)
        options = tuple(
            (form, time)
            for form, time in options
            if form.tense != "progressive"
            and time.english not in ("now", "last night", "tonight")
            and time.english not in ("this morning", "this afternoon")
            and time.english not in ("soon", "last week", "next week")
            and time.english not in ("every week", "every morning")
        )
        for hour in HOURS:
            for subject in [*people, *entries.NAMES, *PRONOUNS]:
                yield Construction(
                    reflexive,
                    (combination(verb, subject, hour.english),),
                    (subject, verb, hour),
                    (options, subject_determiners(subject)),
                )


def command(
    verb: Verb, noun: Noun, negative: bool, goal: Determiner, mark: str
) -> Text:
    """Build "Open the door!" or "Do not open the door!"."""
    phrase = noun_phrase(noun, goal)
    target = personal(phrase)
    if verb.preposition:
        target = f"{verb.preposition} {phrase.spanish}"
    words = [verb.base, verb.particle, phrase.english]
    source = " ".join(word for word in words if word)
    verbo = spanish.imperative(verb.spanish)
    if negative:
        source = f"do not {source}"
        verbo = f"no {spanish.subjunctive(verb.spanish)}"
    return sentence(Text(source, f"{verbo} {target}"), mark)


def commands() -> Iterator[Construction]:
    """Yield "Do not open the door!"."""
    for verb in entries.TRANSITIVE + entries.MOTION:
        if verb.lemma in NO_COMMAND:
            continue
        for noun in entries.nouns(*verb.objects):
            goals = tuple(
                goal
                for goal in object_determiners(verb, noun)
                if goal.english in ("the", "this", "my", "that", "")
            )
            if verb in entries.MOTION:
                goals = (THE,)
            if goals:
                yield Construction(
                    command,
                    (combination(verb, "you", noun),),
                    (verb, noun),
                    ((False, True), goals, (".", "!")),
                )


FAMILIES = [
    Family("activity", 7, activities),
    Family("motion", 7, motions),
    Family("manner", 5, manners),
    Family("reflexive", 4, reflexives),
    Family("command", 4, commands),
]
