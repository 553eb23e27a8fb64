"""Tests of the phrasebook, the embedded corpus."""

import collections
import itertools
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from training.phrasebook import (
    causal,
    complex_sentences,
    copular,
    entries,
    exclamatory,
    generate,
    inverted,
    occasions,
    places,
    recipients,
    sampling,
    spanish,
    verbal,
    whereabouts,
)
from training.phrasebook.clauses import Form
from training.phrasebook.nominal import PRONOUNS, Determiner, Text, noun_phrase
from training.phrasebook.phrases import PHRASES

ROOT = Path(__file__).resolve().parent.parent
THE = Determiner("the")
THE_MANY = Determiner("the", True)
MY = Determiner("my")
SPEAKER, YOU, HE, SHE, WE, THEY = PRONOUNS
NAMES = {name.english: name for name in entries.NAMES}
ADJECTIVES = {(word.english, word.copula): word for word in entries.ADJECTIVES}
IDIOMS = {idiom.english: idiom for idiom in entries.IDIOMS}


def noun(word):
    return entries.NOUNS[word]


def adjective(word, copula="ser"):
    return ADJECTIVES[word, copula]


def verb(lemma, table=entries.TRANSITIVE):
    return next(entry for entry in table if entry.lemma == lemma)


def transitive(subject, lemma, thing, tense, mode, which=THE, what=THE, **more):
    return verbal.transitive(
        subject,
        verb(lemma),
        noun(thing),
        Form(tense, mode),
        which,
        what,
        **more,
    )


def causal_sentence(subject, lemma, thing, state, of_subject, degree="too"):
    return causal.causal(
        noun(subject),
        causal.VERBS[lemma],
        noun(thing),
        state,
        of_subject,
        Form("past", "-"),
        THE,
        THE,
        degree,
    )


@pytest.fixture(scope="module")
def samples():
    counts = {"train": 30_000, "valid": 500, "test": 1_000}
    return {
        split: sampling.sample(split, count, 0)
        for split, count in counts.items()
    }


@pytest.fixture(scope="module")
def all_pairs(samples):
    return [pair for pairs in samples.values() for pair in pairs]


def test_defaults_and_counts():
    assert len(generate("valid")) == 500
    assert len(generate("test")) == 1_000
    assert len(generate("test", count=7)) == 7
    assert generate("valid", count=0) == []


def test_train_default_is_30000_distinct_pairs(samples):
    sources = {pair.source for pair in samples["train"]}
    assert len(sources) == 30_000
    assert generate() == [(p.source, p.target) for p in samples["train"]]


def test_determinism_across_processes():
    script = (
        "from training.phrasebook import generate;"
        "pairs = [generate(s, 400, 3) for s in ('train', 'valid', 'test')];"
        "print(ascii(pairs))"
    )
    here = [generate(split, 400, 3) for split in sampling.SPLITS]
    result = subprocess.run(
        [sys.executable, "-c", script],
        capture_output=True,
        check=True,
        cwd=ROOT,
        env=dict(os.environ, PYTHONHASHSEED="4242"),
        text=True,
    )
    assert result.stdout.strip() == ascii(here)


def test_seeds_give_different_samples():
    assert generate("train", 500, 1) == generate("train", 500, 1)
    assert generate("train", 500, 1) != generate("train", 500, 2)


def test_one_translation_per_sentence(all_pairs):
    translations = {}
    for pair in all_pairs:
        known = translations.setdefault(pair.source, pair.target)
        assert known == pair.target, pair.source


def test_splits_share_no_combination():
    seen = {split: set() for split in sampling.SPLITS}
    sources = {split: set() for split in sampling.SPLITS}
    for split in sampling.SPLITS:
        for seed in (0, 1, 2):
            pairs = sampling.sample(split, 1_500, seed)
            assert len({pair.source for pair in pairs}) == len(pairs)
            for pair in pairs:
                sources[split].add(pair.source)
                seen[split].update(
                    tuple(sorted(words)) for words in pair.combinations
                )
    for one, other in (
        ("train", "valid"),
        ("train", "test"),
        ("valid", "test"),
    ):
        assert not seen[one] & seen[other]
        assert not sources[one] & sources[other]


def test_combination_ignores_tense_and_mode():
    built = next(iter(verbal.plain_animals()))
    combinations = {
        built.combinations
        for index in range(min(built.size, 50))
        if built.sentence(index)
    }
    assert combinations == {(("eat", "dog", "apple"),)}
    texts = {built.sentence(index) for index in range(built.size)}
    assert len(texts) == built.size


def test_split_is_a_stable_hash():
    # A change of the hash would move held-out sentences into training.
    assert sampling.split_of(("eat", "dog", "bread")) == "train"
    assert sampling.split_of(("wash", "Pedro", "car")) == "valid"
    assert sampling.split_of(("tired", "dog")) == "test"
    assert sampling.split_of(("dog", "tired")) == "test"


def test_lexicon_is_used(samples):
    used = set()
    for pair in samples["train"]:
        used.update(re.findall(r"[a-z]+", pair.source.lower()))
    lemmas = set(entries.NOUNS) | set(NAMES)
    lemmas |= {word.english for word in entries.ADJECTIVES}
    lemmas |= {entry.base for entry in entries.TRANSITIVE + entries.MOTION}
    lemmas |= {word for word, _ in entries.NUMBERS}
    missing = {
        lemma
        for lemma in lemmas
        if not set(lemma.lower().split()) <= used and f"{lemma}s" not in used
    }
    assert not missing
    assert len(lemmas) >= 400


def test_every_noun_is_frequent(samples):
    counts = dict.fromkeys(entries.NOUNS, 0)
    forms = {}
    for entry in entries.NOUNS.values():
        forms[entry.english] = forms[entry.english_plural] = entry.english
    for pair in samples["train"]:
        for word in re.findall(r"[A-Za-z]+", pair.source):
            if word in forms:
                counts[forms[word]] += 1
    assert min(counts.values()) >= 20, min(counts, key=counts.get)


def test_fixed_phrases_are_in_training(samples):
    train = {pair.source: pair.target for pair in samples["train"]}
    assert len(PHRASES) >= 40
    assert PHRASES.items() <= train.items()
    assert train["You are welcome."] == "De nada."


def test_lengths(samples):
    lengths = [len(pair.source.split()) for pair in samples["train"]]
    assert max(lengths) <= 16
    assert min(lengths) <= 2
    counts = collections.Counter(lengths)
    assert sum(count >= 100 for count in counts.values()) >= 9


@pytest.mark.parametrize("split", ["training", "", None])
def test_unknown_split(split):
    with pytest.raises(ValueError, match=r"Received: split=.*$"):
        generate(split)


def test_too_many_pairs():
    available = sampling.capacity("valid")
    with pytest.raises(ValueError) as error:
        generate("valid", available + 1)
    assert str(available) in str(error.value)
    assert str(available + 1) in str(error.value)


def test_negative_count():
    with pytest.raises(ValueError, match="Received: count=-1"):
        generate("valid", -1)


def test_capacity_counts_distinct_pairs():
    group = sampling.groups()["test"]
    checked = 0
    for family in group:
        for part in family:
            if part.size < 400:
                pairs = [part.pair(index) for index in range(part.size)]
                assert len({pair.source for pair in pairs}) == part.size
                checked += part.size
    assert checked > 1_000


def test_pronouns_drop_and_verbs_inflect():
    expected = {
        (SPEAKER, "past"): ("I opened the door.", "Abrí la puerta."),
        (WE, "present"): ("We open the door.", "Abrimos la puerta."),
        (THEY, "future"): ("They will open the door.", "Abrirán la puerta."),
        (YOU, "progressive"): (
            "You are opening the door.",
            "Estás abriendo la puerta.",
        ),
        (SHE, "have"): (
            "She has to open the door.",
            "Tiene que abrir la puerta.",
        ),
    }
    for (subject, tense), pair in expected.items():
        assert transitive(subject, "open", "door", tense, "+") == pair


def test_negation_and_question():
    maria = NAMES["Maria"]
    assert transitive(maria, "eat", "bread", "present", "-") == (
        "Maria does not eat the bread.",
        "María no come el pan.",
    )
    assert transitive(maria, "eat", "bread", "past", "?") == (
        "Did Maria eat the bread?",
        "¿Comió María el pan?",
    )


def test_adjectives_follow_and_agree():
    text = transitive(
        noun("woman"),
        "buy",
        "shirt",
        "past",
        "+",
        what=THE_MANY,
        actor_adjective=adjective("tall"),
        goal_adjective=adjective("red"),
    )
    assert text == (
        "The tall woman bought the red shirts.",
        "La mujer alta compró las camisas rojas.",
    )


def test_personal_a_and_contractions():
    assert transitive(SPEAKER, "help", "boy", "past", "+") == (
        "I helped the boy.",
        "Ayudé al niño.",
    )
    assert transitive(SPEAKER, "see", "mountain", "past", "+") == (
        "I saw the mountain.",
        "Vi la montaña.",
    )
    text = places.motion(
        SPEAKER,
        verb("leave", entries.MOTION),
        noun("hotel"),
        (Form("past", "+"), Text("yesterday", "ayer")),
        THE,
    )
    assert text == ("I left the hotel yesterday.", "Salí del hotel ayer.")
    assert spanish.contract("de él") == "de él"


def test_possession():
    phrase = whereabouts.owned(
        NAMES["Maria"], noun("car"), THE, False, adjective("red")
    )
    assert phrase.english == "Maria's red car"
    assert phrase.spanish == "el coche rojo de María"


def test_liking_is_inverted():
    like = Text("like", "gustar")
    option = (Form("present", "+"), THE_MANY)
    assert inverted.liking(SPEAKER, noun("apple"), like, option, THE) == (
        "I like the apples.",
        "Me gustan las manzanas.",
    )
    option = (Form("present", "?"), Determiner(""))
    text = inverted.liking(NAMES["Maria"], noun("coffee"), like, option, THE)
    assert text == ("Does Maria like coffee?", "¿A María le gusta el café?")
    text = inverted.ache(
        SPEAKER, noun("foot"), True, Form("present", "+"), Text("", ""), THE
    )
    assert text == ("My feet hurt.", "Me duelen los pies.")


def test_idioms_take_tener():
    form = Form("present", "+")
    assert copular.idiom(SPEAKER, IDIOMS["hungry"], "", form, THE) == (
        "I am hungry.",
        "Tengo hambre.",
    )
    form = Form("past", "?")
    assert copular.idiom(noun("aunt"), IDIOMS["thirsty"], "very", form, MY) == (
        "Was my aunt very thirsty?",
        "¿Tenía mucha sed mi tía?",
    )


def test_ser_and_estar():
    very = Text("very", "muy")
    form = Form("present", "+")
    soup = copular.predicate(
        noun("soup"), adjective("cold", "estar"), very, form, THE
    )
    assert soup == ("The soup is very cold.", "La sopa está muy fría.")
    street = copular.predicate(
        noun("street"), adjective("wide"), very, form, THE_MANY
    )
    assert street == (
        "The streets are very wide.",
        "Las calles son muy anchas.",
    )


def test_feminine_nouns_with_el():
    cold = adjective("cold", "estar")
    assert noun_phrase(noun("water"), THE, cold).spanish == "el agua fría"
    assert noun_phrase(noun("eagle"), THE_MANY).spanish == "las águilas"
    this = Determiner("this")
    assert noun_phrase(noun("water"), this).spanish == "esta agua"


def test_pronoun_resolution():
    tired = adjective("tired", "estar")
    animal = causal_sentence("animal", "cross", "street", tired, True)
    assert animal == (
        "The animal did not cross the street because it was too tired.",
        "El animal no cruzó la calle porque estaba demasiado cansado.",
    )
    wide = adjective("wide")
    street = causal_sentence("animal", "cross", "street", wide, False)
    assert street == (
        "The animal did not cross the street because it was too wide.",
        "El animal no cruzó la calle porque era demasiado ancha.",
    )
    cow = causal_sentence("cow", "cross", "river", tired, True)
    assert cow.spanish.endswith("porque estaba demasiado cansada.")
    river = causal_sentence("cow", "cross", "river", wide, False)
    assert river.spanish.endswith("porque era demasiado ancho.")
    sleepy = causal_sentence("cow", "cross", "river", IDIOMS["sleepy"], True)
    assert sleepy.spanish.endswith("porque tenía demasiado sueño.")


def test_causes_have_one_antecedent():
    for tables in (causal.CAUSES, causal.REASONS):
        for table in tables.values():
            for row in entries.rows(table):
                fields = (" ".join(row[1:]) + " ").split(" / ")
                own, other = (set(field.split()) for field in fields[1:])
                assert own and other and not own & other


def test_exclamations_and_commands():
    assert exclamatory.admire(
        adjective("beautiful"), noun("island"), False
    ) == (
        "What a beautiful island!",
        "¡Qué isla tan hermosa!",
    )
    open_verb, door = verb("open"), noun("door")
    assert places.command(open_verb, door, False, THE, "!") == (
        "Open the door!",
        "¡Abre la puerta!",
    )
    assert places.command(open_verb, door, True, THE, ".") == (
        "Do not open the door.",
        "No abras la puerta.",
    )


def test_indirect_objects_and_reflexives():
    text = recipients.ditransitive(
        NAMES["Maria"],
        verb("give", entries.DITRANSITIVE),
        noun("flower"),
        NAMES["Pedro"],
        Form("past", "+"),
        THE,
        THE,
        THE,
    )
    assert text == (
        "Maria gave the flower to Pedro.",
        "María le dio la flor a Pedro.",
    )
    text = recipients.ditransitive(
        noun("aunt"),
        verb("give", entries.DITRANSITIVE),
        noun("book"),
        THEY,
        Form("present", "?"),
        MY,
        THE,
        THE,
    )
    assert text == (
        "Does my aunt give them the book?",
        "¿Les da mi tía el libro?",
    )
    text = places.reflexive(
        SPEAKER,
        verb("get up", entries.REFLEXIVE),
        Text("at seven", "a las siete"),
        (Form("present", "+"), Text("", "")),
        THE,
    )
    assert text == ("I get up at seven.", "Me levanto a las siete.")


def test_clock_and_dates():
    clock = occasions.clock_time(
        ("one", "una"),
        ("half past {}", "{} y media"),
        Form("present", "+"),
        Text("", ""),
    )
    assert clock == ("It is half past one.", "Es la una y media.")


def test_comparison_and_relative():
    text = complex_sentences.comparison(
        adjective("tall"),
        NAMES["Maria"],
        NAMES["Pedro"],
        "more",
        Form("present", "+"),
        (THE, THE),
    )
    assert text == (
        "Maria is taller than Pedro.",
        "María es más alta que Pedro.",
    )
    text = complex_sentences.relative(
        verb("buy"),
        noun("house"),
        adjective("modern"),
        SPEAKER,
        ("past", "present"),
        Text("", ""),
        False,
    )
    assert text == (
        "The house that I bought is modern.",
        "La casa que compré es moderna.",
    )


@pytest.mark.parametrize(
    ("infinitive", "present", "preterite", "gerund"),
    [
        ("hacer", "hago haces hace", "hice hiciste hizo", "haciendo"),
        ("leer", "leo lees lee", "leí leíste leyó", "leyendo"),
        (
            "dormir",
            "duermo duermes duerme",
            "dormí dormiste durmió",
            "durmiendo",
        ),
        ("seguir", "sigo sigues sigue", "seguí seguiste siguió", "siguiendo"),
        ("buscar", "busco buscas busca", "busqué buscaste buscó", "buscando"),
        ("oír", "oigo oyes oye", "oí oíste oyó", "oyendo"),
        (
            "conducir",
            "conduzco conduces conduce",
            "conduje condujiste condujo",
            "conduciendo",
        ),
        (
            "construir",
            "construyo construyes construye",
            "construí construiste construyó",
            "construyendo",
        ),
    ],
)
def test_conjugation(infinitive, present, preterite, gerund):
    assert spanish.present(infinitive)[:3] == present.split()
    assert spanish.preterite(infinitive)[:3] == preterite.split()
    assert spanish.gerund(infinitive) == gerund


@pytest.mark.parametrize(
    ("singular", "plural"),
    [
        ("lápiz", "lápices"),
        ("canción", "canciones"),
        ("joven", "jóvenes"),
        ("autobús", "autobuses"),
        ("mi", "mis"),
        ("sofá", "sofás"),
        ("árbol", "árboles"),
    ],
)
def test_plurals(singular, plural):
    assert spanish.plural(singular) == plural


def test_punctuation_and_contractions_everywhere(all_pairs):
    for source, target, _ in all_pairs:
        assert source.isascii() and source[0].isupper()
        assert source[-1] == target[-1] and source[-1] in ".?!"
        opening = {"?": "¿", "!": "¡"}.get(source[-1], "")
        assert target.startswith(opening)
        assert target.count("¿") == target.count("?")
        assert target.count("¡") == target.count("!")
        assert target.lstrip("¿¡")[0].isupper()
        assert not re.search(r"\b(a|de) el\b", target.lower())
        assert "  " not in source and "  " not in target


def test_agreement_everywhere(all_pairs):
    genders, numbers = {}, {}
    for entry in entries.NOUNS.values():
        for word in (entry.spanish, spanish.plural(entry.spanish)):
            genders[word] = entry.gender
            numbers[word] = word != entry.spanish
    articles = {"el": "m", "la": "f", "los": "m", "las": "f"}
    articles |= {"este": "m", "esta": "f", "estos": "m", "estas": "f"}
    articles |= {"un": "m", "una": "f", "nuestro": "m", "nuestra": "f"}
    checked = 0
    for pair in all_pairs:
        words = re.findall(r"\w+", pair.target.lower())
        for first, second in itertools.pairwise(words):
            if first not in articles or second not in genders:
                continue
            many = first.endswith("s")
            assert numbers[second] == many, pair
            if not (second in spanish.FEMININE_EL and first in ("el", "un")):
                assert genders[second] == articles[first], pair
            checked += 1
    assert checked > 10_000
