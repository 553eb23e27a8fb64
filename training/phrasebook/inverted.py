"""Sentences that Spanish turns round: *gustar*, *doler*, exclamations."""

from collections.abc import Iterator

from training.phrasebook import entries, spanish
from training.phrasebook.clauses import DATIVE_CLITICS, Form, finish, forms
from training.phrasebook.constructions import Construction, Family, combination
from training.phrasebook.determiners import THE, subject_determiners
from training.phrasebook.entries import Noun
from training.phrasebook.nominal import (
    PRONOUNS,
    Determiner,
    Phrase,
    Subject,
    Text,
    join,
    noun_phrase,
    subject_phrase,
)
from training.phrasebook.spanish import (
    FIRST,
    FIRST_PLURAL,
    SECOND,
    THIRD,
    THIRD_PLURAL,
)

LIKED = """fruit vegetable snack meal staple drink music press text city town
    island beach sea instrument animal pet predator flower""".split()
POSSESSIVE = {FIRST: "my", SECOND: "your", FIRST_PLURAL: "our"}
INFINITIVES = [
    (verb.base, verb.spanish)
    for verb in entries.ACTIVITIES
    if verb.base not in ("cry", "wait", "live", "rest")
] + [("cook", "cocinar"), ("read", "leer"), ("travel", "viajar")]
EXPERIENCERS: list[Subject] = [
    *PRONOUNS,
    *entries.NAMES,
    *entries.nouns("acquaintance", "kin"),
]


def affect(
    experiencer: Phrase, verb: Text, thing: Text, many: bool, form: Form
) -> Text:
    """Build "A María le gustan las manzanas." from a Spanish verb.

    Args:
        experiencer: Who likes; the subject in English.
        verb: The English verb and the Spanish infinitive.
        thing: What is liked; the subject in Spanish.
        many: Whether the thing is plural.
        form: Tense and mode.
    """
    person = experiencer.person
    third = person == THIRD
    conjugate = (
        spanish.present if form.tense == "present" else (spanish.preterite)
    )
    verbo = conjugate(verb.spanish)[THIRD_PLURAL if many else THIRD]
    dative = f"a {experiencer.spanish}" if experiencer.spanish else ""
    no = "no" if form.mode == "-" else ""
    target = join(dative, no, DATIVE_CLITICS[person], verbo, thing.spanish)
    auxiliary = "did" if form.tense == "past" else ("do", "does")[third]
    finite = verb.english
    if form.mode == "?":
        source = join(auxiliary, experiencer.english, finite)
    elif form.mode == "-":
        source = join(experiencer.english, auxiliary, "not", finite)
    else:
        finite = finite + ("d" if form.tense == "past" else "s" * third)
        source = join(experiencer.english, finite)
    return finish(Text(join(source, thing.english), target), form)


def liking(
    subject: Subject,
    noun: Noun,
    verb: Text,
    option: tuple[Form, Determiner],
    which: Determiner,
) -> Text:
    """Build "Maria likes apples.": Spanish always has an article."""
    form, determiner = option
    thing = noun_phrase(noun, determiner)
    article = determiner
    if not determiner.english:
        article = THE._replace(many=determiner.many)
    target = noun_phrase(noun, article).spanish
    return affect(
        subject_phrase(subject, which),
        verb,
        Text(thing.english, target),
        determiner.many,
        form,
    )


def likings() -> Iterator[Construction]:
    """Yield "Maria likes apples."."""
    for turn, noun in enumerate(entries.nouns(*LIKED)):
        generic = Determiner("", not noun.flag)
        definite = [THE]
        if noun.flag != "one":
            definite.append(Determiner("this"))
        if not noun.flag:
            definite += [THE._replace(many=True), Determiner("this", True)]
        options = [(form, generic) for form in forms(("present",))]
        if noun.flag == "one":
            options = []
        for determiner in definite:
            tenses = ("present", "past")
            options += [(form, determiner) for form in forms(tenses)]
        for word, infinitive in (("like", "gustar"), ("love", "encantar")):
            chosen = tuple(options)
            if word == "love":
                chosen = tuple(o for o in options if o[0].mode == "+")
            for subject in EXPERIENCERS[turn % 3 :: 3]:
                yield Construction(
                    liking,
                    (combination(word, subject, noun),),
                    (subject, noun, Text(word, infinitive)),
                    (chosen, subject_determiners(subject)[:6]),
                )


def hobby(
    subject: Subject,
    infinitive: tuple[str, str],
    verb: Text,
    form: Form,
    which: Determiner,
) -> Text:
    """Build "Maria likes to swim." -> "A María le gusta nadar."."""
    thing = Text(f"to {infinitive[0]}", infinitive[1])
    phrase = subject_phrase(subject, which)
    return affect(phrase, verb, thing, False, form)


def hobbies() -> Iterator[Construction]:
    """Yield "Maria likes to swim."."""
    for word, spanish_verb in (("like", "gustar"), ("love", "encantar")):
        modes = "+-?" if word == "like" else "+"
        for infinitive in dict.fromkeys(INFINITIVES):
            for subject in EXPERIENCERS:
                yield Construction(
                    hobby,
                    (combination(word, infinitive[0], subject),),
                    (subject, infinitive, Text(word, spanish_verb)),
                    (forms(("present",), modes), subject_determiners(subject)),
                )


def ache(
    subject: Subject,
    part: Noun,
    many: bool,
    form: Form,
    time: Text,
    which: Determiner,
) -> Text:
    """Build "My feet hurt." -> "Me duelen los pies."."""
    phrase = subject_phrase(subject, which)
    owner = f"{phrase.english}'s"
    if isinstance(subject, Phrase):
        third = {"he": "his", "she": "her"}.get(phrase.english, "")
        owner = POSSESSIVE.get(phrase.person, third)
    thing = noun_phrase(part, THE._replace(many=many))
    body = f"{owner} {thing.english.removeprefix('the ')}"
    verbo = spanish.present("doler")[THIRD_PLURAL if many else THIRD]
    dative = f"a {phrase.spanish}" if phrase.spanish else ""
    no = "no" if form.mode == "-" else ""
    clitic = DATIVE_CLITICS[phrase.person]
    target = join(dative, no, clitic, verbo, thing.spanish, time.spanish)
    if time.spanish == "mucho":
        target = join(dative, no, clitic, verbo, "mucho", thing.spanish)
    auxiliary = "do" if many else "does"
    source = {
        "+": join(body, "hurt" if many else "hurts"),
        "-": join(body, auxiliary, "not hurt"),
        "?": join(auxiliary, body, "hurt"),
    }[form.mode]
    return finish(Text(join(source, time.english), target), form)


def aches() -> Iterator[Construction]:
    """Yield "My head hurts."."""
    times = (
        Text("", ""),
        Text("a lot", "mucho"),
        Text("today", "hoy"),
        Text("now", "ahora"),
    )
    subjects = [
        subject
        for subject in EXPERIENCERS
        if subject.english not in ("we", "they")
    ]
    for part in entries.nouns("body"):
        numbers = (False,) if part.flag else (True, False)
        for subject in subjects:
            singular = tuple(
                which
                for which in subject_determiners(subject)
                if not which.many
            )
            yield Construction(
                ache,
                (combination(part, "hurt", subject),),
                (subject, part),
                (numbers, forms(("present",)), times, singular),
            )


FAMILIES = [
    Family("liking", 6, likings),
    Family("hobby", 3, hobbies),
    Family("ache", 2, aches),
]
