"""Which determiners a noun takes, as a subject and as an object."""

import functools

from training.phrasebook.entries import Noun, Verb
from training.phrasebook.nominal import POSSESSIVES, Determiner, Subject

THE = Determiner("the")
# Classes that people own, and so may be "mine" or "yours".
OWNED = """clothing pair container furniture device belonging image
    instrument driven cycle pet text press dish""".split()
# Verbs after which a noun may stand without an article.
BARE = """eat drink cook buy sell write read draw wash bring have need want
    make""".split()
# Verbs whose object does not exist before, or belongs to nobody.
CREATION = "write learn study make build draw".split()
# Verbs whose object is one thing at a time.
SINGULAR = "wear drive play take climb".split()
# Verbs whose animal object is not a known one: no personal "a".
INDEFINITE = "have want".split()


def _both(words: tuple[str, ...], noun: Noun) -> tuple[Determiner, ...]:
    """Return every word with both numbers, as far as the noun has them."""
    numbers = {"": (False, True), "pair": (True,)}.get(noun.flag, (False,))
    return tuple(
        Determiner(word, many)
        for word in words
        for many in numbers
        if not (word == "a" and many)
    )


@functools.cache
def subject_determiners(subject: Subject) -> tuple[Determiner, ...]:
    """Return the determiners of a subject; names have only a dummy."""
    if not isinstance(subject, Noun):
        return (THE,)
    if subject.category == "kin":
        return _both(tuple(POSSESSIVES), subject)
    if subject.category == "acquaintance":
        return _both(("the", *POSSESSIVES), subject)
    if subject.category == "pet":
        return _both(("the", "this", "my", "our", "her"), subject)
    if subject.category == "person":
        return _both(("the", "a", "this", "that"), subject)
    if subject.flag == "one":
        return (THE,)
    if subject.category in OWNED:
        return _both(("the", "this", "my", "your", "his"), subject)
    return _both(("the", "this", "that"), subject)


@functools.cache
def object_determiners(verb: Verb, noun: Noun) -> tuple[Determiner, ...]:
    """Return the determiners of a direct object."""
    bare = verb.base in BARE
    if noun.flag == "mass":
        return (THE, Determiner("")) if bare else (THE,)
    if noun.flag == "one" and noun.category != "kin":
        return (THE,)
    if noun.animate and verb.lemma in INDEFINITE:
        return (Determiner("a"), Determiner("", True))
    if noun.animate:
        words = subject_determiners(noun)
        return tuple(word for word in words if word.english != "that")
    words = ["the", "a", "this", "that"]
    if verb.base in CREATION:
        words = ["the", "a"]
    elif noun.category in OWNED:
        words += POSSESSIVES
    found = _both(tuple(words), noun)
    if verb.base in SINGULAR and noun.flag != "pair":
        found = tuple(word for word in found if not word.many)
    elif bare:
        found += (Determiner("", True),)
    return found
