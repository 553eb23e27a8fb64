"""Spanish morphology: plurals, agreement, conjugation and contractions."""

import functools
import re

# Grammatical persons, as indices into a conjugation. English "you" is always
# the informal singular "tú".
FIRST, SECOND, THIRD, FIRST_PLURAL, THIRD_PLURAL = range(5)

PLURALS = {"joven": "jóvenes", "examen": "exámenes"}
FEMININE_EL = {"agua", "águila", "aula"}
ACCENTS = str.maketrans("áéíóú", "aeiou")

STEM_CHANGES = {
    "encontrar": "o:ue",
    "recordar": "o:ue",
    "mostrar": "o:ue",
    "volver": "o:ue",
    "acostar": "o:ue",
    "dormir": "o:ue",
    "doler": "o:ue",
    "costar": "o:ue",
    "poder": "o:ue",
    "jugar": "u:ue",
    "perder": "e:ie",
    "cerrar": "e:ie",
    "entender": "e:ie",
    "querer": "e:ie",
    "pensar": "e:ie",
    "despertar": "e:ie",
    "tener": "e:ie",
    "venir": "e:ie",
    "vestir": "e:i",
    "elegir": "e:i",
    "seguir": "e:i",
    "decir": "e:i",
    "construir": "u:uy",
    "oír": "o:oy",
    "enviar": "i:í",
}
FIRST_PERSONS = {
    "conocer": "conozco",
    "conducir": "conduzco",
    "elegir": "elijo",
    "seguir": "sigo",
    "tener": "tengo",
    "hacer": "hago",
    "traer": "traigo",
    "salir": "salgo",
    "oír": "oigo",
    "decir": "digo",
    "saber": "sé",
    "ver": "veo",
    "dar": "doy",
}
PRESENTS = {
    "ser": "soy eres es somos son",
    "estar": "estoy estás está estamos están",
    "ir": "voy vas va vamos van",
}
STRONG_PRETERITES = {
    "tener": "tuv",
    "estar": "estuv",
    "hacer": "hic",
    "traer": "traj",
    "decir": "dij",
    "conducir": "conduj",
    "querer": "quis",
    "poder": "pud",
    "saber": "sup",
}
PRETERITES = {
    "ser": "fui fuiste fue fuimos fueron",
    "ir": "fui fuiste fue fuimos fueron",
    "dar": "di diste dio dimos dieron",
    "ver": "vi viste vio vimos vieron",
}
IMPERFECTS = {
    "ser": "era eras era éramos eran",
    "ir": "iba ibas iba íbamos iban",
    "ver": "veía veías veía veíamos veían",
}
FUTURE_STEMS = {
    "tener": "tendr",
    "hacer": "har",
    "decir": "dir",
    "querer": "querr",
    "poder": "podr",
    "salir": "saldr",
    "saber": "sabr",
    "oír": "oir",
}
GERUNDS = {"ir": "yendo", "decir": "diciendo"}
IMPERATIVES = {"hacer": "haz", "salir": "sal", "ir": "ve"}
SUBJUNCTIVES = {"ir": "vayas", "dar": "des"}


def plural(word: str) -> str:
    """Return the plural of a noun or an adjective."""
    if word in PLURALS:
        return PLURALS[word]
    if word[-1] in "aeiouáéó":
        return word + "s"
    if word.endswith("z"):
        return word[:-1] + "ces"
    if word[-1] in "ns" and word[-2] in "áéíóú":
        return word[:-2] + word[-2].translate(ACCENTS) + word[-1] + "es"
    return word + "es"


def agree(adjective: str, gender: str, many: bool) -> str:
    """Inflect an adjective (masculine singular) for gender and number."""
    if gender == "f" and adjective.endswith("o"):
        adjective = adjective[:-1] + "a"
    return plural(adjective) if many else adjective


def article(noun: str, gender: str, many: bool, definite: bool) -> str:
    """Return the article; "agua" and its like take "el" and "un"."""
    if gender == "f" and not many and noun in FEMININE_EL:
        gender = "m"
    if definite:
        forms = {"m": ("el", "los"), "f": ("la", "las")}
    else:
        forms = {"m": ("un", "unos"), "f": ("una", "unas")}
    return forms[gender][many]


def change_stem(infinitive: str, stem: str) -> str:
    """Return the stem as it is when stressed ("perd" -> "pierd")."""
    old, _, new = STEM_CHANGES.get(infinitive, "").partition(":")
    if not old:
        return stem
    head, _, tail = stem.rpartition(old)
    return head + new + tail


def raise_stem(infinitive: str, stem: str) -> str:
    """Raise the vowel of a changing -ir stem ("dorm" -> "durm")."""
    if not infinitive.endswith("ir") or infinitive not in STEM_CHANGES:
        return stem
    old = STEM_CHANGES[infinitive][0]
    head, _, tail = stem.rpartition(old)
    return head + {"e": "i", "o": "u"}.get(old, old) + tail


def before_front_vowel(stem: str) -> str:
    """Spell the end of an -ar stem before "e" ("busc" -> "busqu")."""
    for old, new in (("c", "qu"), ("g", "gu"), ("z", "c")):
        if stem.endswith(old):
            return stem[: -len(old)] + new
    return stem


@functools.cache
def present(verb: str) -> list[str]:
    """Return the present indicative, one form per person."""
    if verb in PRESENTS:
        return PRESENTS[verb].split()
    stem, kind = verb[:-2], verb[-2:]
    stressed = change_stem(verb, stem)
    endings = {
        "ar": "o as a amos an",
        "er": "o es e emos en",
        "ir": "o es e imos en",
        "ír": "o es e ímos en",
    }[kind].split()
    stems = [stressed, stressed, stressed, stem, stressed]
    forms = [s + e for s, e in zip(stems, endings, strict=True)]
    forms[0] = FIRST_PERSONS.get(verb, forms[0])
    return forms


@functools.cache
def preterite(verb: str) -> list[str]:
    """Return the preterite, one form per person."""
    if verb in PRETERITES:
        return PRETERITES[verb].split()
    if verb in STRONG_PRETERITES:
        stem = STRONG_PRETERITES[verb]
        last = "eron" if stem.endswith("j") else "ieron"
        forms = [stem + e for e in ("e", "iste", "o", "imos", last)]
        return [form.replace("hico", "hizo") for form in forms]
    stem = verb[:-2]
    if verb.endswith("ar"):
        first = before_front_vowel(stem) + "é"
        return [first] + [stem + e for e in ("aste", "ó", "amos", "aron")]
    raised = raise_stem(verb, stem)
    if verb == "construir":
        endings = "í iste yó imos yeron"
    elif stem[-1] in "eo":
        endings = "í íste yó ímos yeron"
    else:
        endings = "í iste ió imos ieron"
    stems = [stem, stem, raised, stem, raised]
    return [s + e for s, e in zip(stems, endings.split(), strict=True)]


@functools.cache
def imperfect(verb: str) -> list[str]:
    """Return the imperfect, one form per person."""
    if verb in IMPERFECTS:
        return IMPERFECTS[verb].split()
    endings = "ía ías ía íamos ían"
    if verb.endswith("ar"):
        endings = "aba abas aba ábamos aban"
    return [verb[:-2] + ending for ending in endings.split()]


@functools.cache
def future(verb: str) -> list[str]:
    """Return the future, one form per person."""
    stem = FUTURE_STEMS.get(verb, verb)
    return [stem + ending for ending in ("é", "ás", "á", "emos", "án")]


@functools.cache
def gerund(verb: str) -> str:
    """Return the gerund."""
    stem = verb[:-2]
    if verb in GERUNDS:
        return GERUNDS[verb]
    if verb.endswith("ar"):
        return stem + "ando"
    if stem[-1] in "aeo" or verb == "construir":
        return stem + "yendo"
    return raise_stem(verb, stem) + "iendo"


@functools.cache
def imperative(verb: str) -> str:
    """Return the command to "tú"."""
    return IMPERATIVES.get(verb, present(verb)[THIRD])


@functools.cache
def subjunctive(verb: str) -> str:
    """Return the present subjunctive for "tú", used in prohibitions."""
    if verb in SUBJUNCTIVES:
        return SUBJUNCTIVES[verb]
    stem = present(verb)[FIRST][:-1]
    if verb.endswith("ar"):
        return before_front_vowel(stem) + "es"
    return stem + "as"


def contract(text: str) -> str:
    """Contract "a el" to "al" and "de el" to "del"."""
    return re.sub(r"\b([Aa]|[Dd]e) el\b", r"\1l", text)


def conjunction(following: str) -> str:
    """Return "y", or "e" before the sound of "i"."""
    return "e" if following.lower().startswith(("i", "hi")) else "y"
