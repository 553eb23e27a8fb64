"""Sentences about the clock, the calendar, the weather and languages."""

from collections.abc import Iterator

from training.phrasebook import entries
from training.phrasebook.clauses import (
    Form,
    append,
    clause,
    copular,
    finish,
    forms,
    sentence,
)
from training.phrasebook.constructions import Construction, Family, combination
from training.phrasebook.determiners import THE, subject_determiners
from training.phrasebook.entries import Noun, Verb
from training.phrasebook.lexicon import (
    DAYS,
    LANGUAGES,
    MONTHS,
    ORDINALS,
    SEASONS,
    WEATHER,
)
from training.phrasebook.nominal import (
    PRONOUNS,
    Determiner,
    Subject,
    Text,
    noun_phrase,
    subject_phrase,
)
from training.phrasebook.places import inside
from training.phrasebook.verbal import PEOPLE

Pair = tuple[str, str]
CLOCK = [("one", "una"), *entries.NUMBERS[:11]]
MINUTES = {
    "{} o'clock": "{}",
    "half past {}": "{} y media",
    "a quarter past {}": "{} y cuarto",
    "a quarter to {}": "{} menos cuarto",
    "five past {}": "{} y cinco",
    "ten past {}": "{} y diez",
    "twenty past {}": "{} y veinte",
    "five to {}": "{} menos cinco",
    "ten to {}": "{} menos diez",
    "twenty to {}": "{} menos veinte",
}
MORNING = Text("in the morning", "de la mañana")
AFTERNOON = Text("in the afternoon", "de la tarde")


def hour(clock: Pair, minutes: Pair) -> Text:
    """Return "half past one" -> "la una y media"."""
    article = "la" if clock[0] == "one" else "las"
    return Text(
        minutes[0].format(clock[0]),
        f"{article} {minutes[1].format(clock[1])}",
    )


def clock_time(clock: Pair, minutes: Pair, form: Form, part: Text) -> Text:
    """Build "It is half past one." -> "Es la una y media."."""
    time = append(hour(clock, minutes), part)
    person = PRONOUNS[2] if clock[0] == "one" else PRONOUNS[5]
    source = copular(PRONOUNS[2]._replace(english="it"), "ser", form, time)
    target = copular(person, "ser", form, time)
    return finish(Text(source.english, target.spanish), form)


def clock_times() -> Iterator[Construction]:
    """Yield "It is half past one."."""
    for index, clock in enumerate(CLOCK, start=1):
        parts = [Text("", "")]
        parts += [AFTERNOON] * (index <= 7) + [MORNING] * (5 <= index <= 10)
        for minutes in MINUTES.items():
            yield Construction(
                clock_time,
                (combination(minutes[0], clock[0]),),
                (clock, minutes),
                (forms(("present", "past")), tuple(parts)),
            )


def event(
    noun: Noun, day: Pair, start: Text, form: Form, which: Determiner
) -> Text:
    """Build "The concert is on Friday at eight.": events take *ser*."""
    phrase = noun_phrase(noun, which)
    tail = append(Text(f"on {day[0]}", f"el {day[1]}"), start)
    text = copular(phrase, "ser", form, tail, event=True, tail_last=True)
    return finish(text, form)


def events() -> Iterator[Construction]:
    """Yield "The concert is on Friday at eight."."""
    hours = [
        hour(clock, minutes)
        for clock in CLOCK[3:11]
        for minutes in list(MINUTES.items())[1:3]
    ]
    starts = [Text("", "")]
    starts += [
        Text(f"at {time.english}", f"a {time.spanish}") for time in hours
    ]
    starts += [
        Text(f"at {number}", f"a las {numero}")
        for number, numero in CLOCK[3:11]
    ]
    for noun in entries.nouns("event"):
        for day in entries.pairs(DAYS):
            yield Construction(
                event,
                (combination(day[0], noun),),
                (noun, day),
                (
                    tuple(starts),
                    forms(("present", "past", "future")),
                    (THE, Determiner("this"), Determiner("our")),
                ),
            )


def date(number: Pair, month: Pair, form: Form, noun: Noun) -> Text:
    """Build "The class is on May tenth." -> "La clase es el diez..."."""
    tail = Text(f"on {month[0]} {number[0]}", f"el {number[1]} de {month[1]}")
    phrase = noun_phrase(noun, THE)
    text = copular(phrase, "ser", form, tail, event=True, tail_last=True)
    return finish(text, form)


def dates() -> Iterator[Construction]:
    """Yield "The wedding is on May tenth."."""
    for month in entries.pairs(MONTHS):
        for ordinal, number in zip(
            ORDINALS.split(), entries.NUMBERS, strict=False
        ):
            number = (ordinal, number[1])
            yield Construction(
                date,
                (combination(month[0], number[0]),),
                (number, month),
                (
                    forms(("present", "past", "future")),
                    tuple(entries.nouns("event")),
                ),
            )


def season_travel(
    subject: Subject,
    verb: Verb,
    place: Noun,
    period: Text,
    form: Form,
    actor: Determiner,
) -> Text:
    """Build "We traveled to the island in August."."""
    goal = noun_phrase(place, THE)
    tail = Text(goal.english, f"{verb.preposition} {goal.spanish}")
    if verb.lemma.startswith("visit"):
        tail = Text(goal.english, goal.spanish)
    agent = subject_phrase(subject, actor)
    return finish(clause(agent, verb, form, append(tail, period)), form)


def periods() -> list[Text]:
    """Return "in May" and "in the summer" with their translations."""
    months = [
        Text(f"in {month}", f"en {mes}") for month, mes in entries.pairs(MONTHS)
    ]
    seasons = [
        Text(f"in the {season}", f"en {estacion}")
        for season, estacion in entries.pairs(SEASONS)
    ]
    return months + seasons


def season_travels() -> Iterator[Construction]:
    """Yield "We traveled to the island in August."."""
    travel = next(v for v in entries.MOTION if v.base == "travel")
    for period in periods():
        for place in entries.nouns(*travel.objects):
            for subject in [*PEOPLE, *PRONOUNS]:
                yield Construction(
                    season_travel,
                    (combination(period.english, subject, place),),
                    (subject, travel, place, period),
                    (
                        forms(("present", "past", "future", "want", "going")),
                        subject_determiners(subject),
                    ),
                )


def weather(state: Pair, place: Noun, period: Text, question: bool) -> Text:
    """Build "It is cold in the city in winter." -> "Hace frío..."."""
    scene = append(inside(place), period)
    source = f"it is {state[0]} {scene.english}"
    if question:
        source = f"is it {state[0]} {scene.english}"
    target = f"{state[1]} {scene.spanish}"
    return sentence(Text(source, target), "?" if question else ".")


def weathers() -> Iterator[Construction]:
    """Yield "It is cold in the city."."""
    now = (
        Text("", ""),
        Text("today", "hoy"),
        Text("now", "ahora"),
        Text("this morning", "esta mañana"),
        Text("this afternoon", "esta tarde"),
    )
    for state in entries.pairs(WEATHER):
        times = now
        if not state[0].endswith("ing"):
            times += tuple(periods()[-4:])
        for place in entries.nouns("settlement", "park", "mountain", "beach"):
            yield Construction(
                weather,
                (combination(state[0], place),),
                (state, place),
                (times, (False, True)),
            )


def language(
    subject: Subject,
    verb: Verb,
    tongue: Pair,
    manner: Text,
    form: Form,
    actor: Determiner,
) -> Text:
    """Build "Maria speaks Spanish well." -> "María habla bien español."."""
    tail = Text(manner.english.format(tongue[0]), "")
    beside = manner.spanish.format(tongue[1])
    agent = subject_phrase(subject, actor)
    return finish(clause(agent, verb, form, tail, complement=beside), form)


def languages() -> Iterator[Construction]:
    """Yield "Maria speaks Spanish well."."""
    speak = Verb("speak", "spoke", "speaking", "", "hablar", "", ())
    learn = next(v for v in entries.TRANSITIVE if v.base == "learn")
    study = next(v for v in entries.TRANSITIVE if v.base == "study")
    for verb in (speak, learn, study):
        manners = [Text("{}", "{}")]
        options = forms(("present", "have", "want"))
        if verb.base == "speak":
            manners.append(Text("{} well", "bien {}"))
            options += forms(("can",))
        for tongue in entries.pairs(LANGUAGES):
            for subject in [*PEOPLE, *PRONOUNS]:
                yield Construction(
                    language,
                    (combination(tongue[0], verb, subject),),
                    (subject, verb, tongue),
                    (tuple(manners), options, subject_determiners(subject)),
                )


FAMILIES = [
    Family("clock", 2, clock_times),
    Family("event", 2, events),
    Family("date", 2, dates),
    Family("travel", 3, season_travels),
    Family("weather", 2, weathers),
    Family("language", 2, languages),
]
