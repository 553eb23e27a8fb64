"""Noun phrases, clauses and sentences in both languages at once."""

import functools
from typing import NamedTuple

from training.phrasebook import english, entries, spanish
from training.phrasebook.entries import Verb
from training.phrasebook.nominal import Phrase, Text, join
from training.phrasebook.spanish import FIRST, THIRD


class Form(NamedTuple):
    """A tense, and a mode: "+" affirms, "-" denies and "?" asks."""

    tense: str
    mode: str


REFLEXIVE_CLITICS = ("me", "te", "se", "nos", "se")
DATIVE_CLITICS = ("me", "te", "le", "nos", "les")
# The Spanish auxiliary of each compound tense, and what links the infinitive.
AUXILIARIES = {
    "can": ("poder", ""),
    "want": ("querer", ""),
    "have": ("tener", "que"),
    "going": ("ir", "a"),
}


def be(person: int, tense: str) -> str:
    """Return a form of "to be"."""
    if tense == "future":
        return "will be"
    if tense == "past":
        return "was" if person in (FIRST, THIRD) else "were"
    return {FIRST: "am", THIRD: "is"}.get(person, "are")


def _english_verb(verb: Verb, form: Form, person: int) -> tuple[str, str]:
    """Return the finite verb or the auxiliary, and the rest."""
    base, third = verb.base, person == THIRD
    if form.tense == "progressive":
        return be(person, "present"), verb.gerund
    if form.tense == "future":
        return "will", base
    if form.tense == "can":
        return "can", base
    if form.tense == "going":
        return be(person, "present"), f"going to {base}"
    if form.tense in ("want", "have"):
        finite, rest = form.tense, f"to {base}"
    else:
        finite, rest = base, ""
    if form.mode == "+":
        if form.tense == "past":
            return verb.past, rest
        return english.third_person(finite) if third else finite, rest
    auxiliary = "does" if third else "do"
    if form.tense == "past":
        auxiliary = "did"
    return auxiliary, join(finite, rest)


def spanish_verb(verb: Verb, tense: str, person: int) -> tuple[str, str]:
    """Return the finite Spanish verb and what follows it."""
    infinitive = verb.spanish
    if tense in AUXILIARIES:
        auxiliary, link = AUXILIARIES[tense]
        return spanish.present(auxiliary)[person], join(link, infinitive)
    if tense == "progressive":
        finite = spanish.present("estar")[person]
        return finite, spanish.gerund(infinitive)
    if tense == "past" and verb.lemma in entries.STATIVE:
        return spanish.imperfect(infinitive)[person], ""
    conjugate = {
        "present": spanish.present,
        "past": spanish.preterite,
        "future": spanish.future,
    }[tense]
    return conjugate(infinitive)[person], ""


def clause(
    subject: Phrase,
    verb: Verb,
    form: Form,
    tail: Text = Text("", ""),
    clitic: str = "",
    complement: str = "",
    adverb: Text = Text("", ""),
) -> Text:
    """Build a clause.

    Args:
        subject: The subject, which follows the verb in Spanish questions.
        verb: The verb.
        form: Tense and mode.
        tail: What ends the clause.
        clitic: Spanish pronoun before the verb.
        complement: Spanish words that stay beside the verb.
        adverb: What precedes the verb.
    """
    finite, rest = _english_verb(verb, form, subject.person)
    rest = join(rest, verb.particle, tail.english)
    verbo, resto = spanish_verb(verb, form.tense, subject.person)
    verbo = join(verbo, resto, complement)
    if form.mode == "?":
        return Text(
            join(finite, subject.english, rest),
            join(clitic, verbo, subject.spanish, tail.spanish),
        )
    if form.mode == "-":
        finite = "cannot" if finite == "can" else f"{finite} not"
        clitic = join("no", clitic)
    return Text(
        join(subject.english, adverb.english, finite, rest),
        join(subject.spanish, adverb.spanish, clitic, verbo, tail.spanish),
    )


def copular(
    subject: Phrase,
    verb: str,
    form: Form,
    tail: Text,
    event: bool = False,
    tail_last: bool = False,
) -> Text:
    """Build a clause of "to be" and a Spanish verb such as *estar*.

    Args:
        subject: The subject.
        verb: Spanish infinitive: *ser*, *estar* or *tener*.
        form: Tense and mode.
        tail: What the subject is.
        event: Whether the past is over (preterite) or a state (imperfect).
        tail_last: Whether the tail ends a Spanish question.
    """
    finite = be(subject.person, form.tense)
    conjugate = {
        "present": spanish.present,
        "past": spanish.preterite if event else spanish.imperfect,
        "future": spanish.future,
    }[form.tense]
    verbo = conjugate(verb)[subject.person]
    if form.mode == "?":
        auxiliary, _, rest = finite.partition(" ")
        return Text(
            join(auxiliary, subject.english, rest, tail.english),
            join(verbo, subject.spanish, tail.spanish)
            if tail_last
            else join(verbo, tail.spanish, subject.spanish),
        )
    if form.mode == "-":
        auxiliary, _, rest = finite.partition(" ")
        finite, verbo = join(auxiliary, "not", rest), f"no {verbo}"
    return Text(
        join(subject.english, finite, tail.english),
        join(subject.spanish, verbo, tail.spanish),
    )


def sentence(text: Text, mark: str = ".") -> Text:
    """Contract, capitalise and punctuate a clause."""
    source = text.english[0].upper() + text.english[1:]
    target = spanish.contract(text.spanish)
    target = target[0].upper() + target[1:]
    opening = {"?": "¿", "!": "¡"}.get(mark, "")
    return Text(source + mark, opening + target + mark)


def finish(text: Text, form: Form) -> Text:
    """Punctuate a clause as its mode demands."""
    return sentence(text, "?" if form.mode == "?" else ".")


@functools.cache
def forms(tenses: tuple[str, ...], modes: str = "+-?") -> tuple[Form, ...]:
    """Return every pair of a tense and a mode."""
    return tuple(Form(tense, mode) for tense in tenses for mode in modes)


def append(text: Text, *others: Text) -> Text:
    """Put more words after a clause."""
    return Text(
        join(text.english, *(other.english for other in others)),
        join(text.spanish, *(other.spanish for other in others)),
    )
