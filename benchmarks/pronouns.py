"""What does "it" stand for, and where does the model look to find out?

    python -m benchmarks.pronouns runs/phrasebook-en-es

"The animal did not cross the street because it was too tired", or "too
wide": only the adjective says which noun "it" is, and only a model that found
it gives the Spanish adjective its gender. The sentences are causal ones of
the phrasebook whose combinations of verb, nouns and adjective were held out
from training, with nouns of two genders and an adjective that shows it.

Printed are the share of right adjectives, and the attention between words,
from "it" and from the adjectives to the two nouns: the head in which the noun
that is meant gets most more than the other one, with the shares of attention
that both get, and the share of each word if all were alike.
"""

import argparse
import random
from typing import NamedTuple

import numpy as np

import tfxformer
from tfxformer.errors import exit_on_input_error
from training.phrasebook import causal, spanish
from training.phrasebook.determiners import THE
from training.phrasebook.entries import Adjective, Noun
from training.phrasebook.sampling import split_of


class Case(NamedTuple):
    """A sentence with one right adjective and one that is wrong."""

    english: str
    adjective: str
    nouns: tuple[str, str]  # what "it" is, and what it is not
    spanish_nouns: tuple[str, str]
    right: str
    wrong: str
    of_subject: bool


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("run", metavar="RUN", help="a run folder")
    parser.add_argument("--sentences", type=int, default=400)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    with exit_on_input_error("benchmarks.pronouns"):
        translator = tfxformer.load_translator(options.run)
        some = draw(options.sentences, options.seed)
        translations = translator.translate([case.english for case in some])
        _print_accuracy(some, translations)
        _print_attention(translator, some)


def cases() -> list[Case]:
    """All sentences of the kind whose combinations are held out."""
    found = []
    for family in (causal.beast_obstacles, causal.beast_reasons):
        for construction in family():
            subject, _, noun, state, of_subject = construction.arguments
            (combination,) = construction.combinations
            if split_of(combination) != "test" or not (
                isinstance(state, Adjective)
                and isinstance(subject, Noun)
                and subject.gender != noun.gender
                and " " not in noun.english
                and noun.flag != "pair"
                and not noun.human
            ):
                continue
            meant, other = (subject, noun) if of_subject else (noun, subject)
            right, wrong = (
                spanish.agree(state.spanish, one.gender, False)
                for one in (meant, other)
            )
            if right == wrong:
                continue
            forms, _, _, degrees = construction.choices
            found += [
                Case(
                    causal.causal(
                        *construction.arguments, form, THE, THE, degree
                    ).english,
                    state.english,
                    (meant.english, other.english),
                    (meant.spanish, other.spanish),
                    right,
                    wrong,
                    of_subject,
                )
                for form in forms
                for degree in degrees
            ]
    return found


def draw(count: int, seed: int) -> list[Case]:
    """As many cases of the subject as of the object, in random order."""
    generator = random.Random(seed)
    halves = [
        [case for case in cases() if case.of_subject == of_subject]
        for of_subject in (True, False)
    ]
    size = min(count // 2, *map(len, halves))
    some = [case for half in halves for case in generator.sample(half, size)]
    generator.shuffle(some)
    return some


def is_right(case: Case, translation: str) -> bool:
    """Whether the reason has the right form of the adjective."""
    _, _, reason = translation.partition(" porque ")
    words = reason.rstrip(".").split()
    return case.right in words and case.wrong not in words


def _print_accuracy(some: list[Case], translations: list[str]) -> None:
    print("| it is | sentences | right |")
    print("| --- | ---: | ---: |")
    results = [
        (case, translation, is_right(case, translation))
        for case, translation in zip(some, translations, strict=True)
    ]
    for name, kinds in (
        ("the subject", [True]),
        ("the object", [False]),
        ("either", [True, False]),
    ):
        right = [ok for case, _, ok in results if case.of_subject in kinds]
        print(f"| {name} | {len(right)} | {np.mean(right):.1%} |")
    wrong = [(case, text) for case, text, ok in results if not ok]
    for case, text in wrong[:5]:
        print(f"\nwrong: {case.english}\n       {text}")


def _print_attention(translator, some: list[Case]) -> None:
    shares: dict[str, list[np.ndarray]] = {}
    for case in some:
        attentions = translator.attentions(case.english)
        for name, kind, word, nouns in (
            ('"it", encoder', "encoder", "it", case.nouns),
            ("adjective, encoder", "encoder", case.adjective, case.nouns),
            ("Spanish adjective, source", "cross", case.right, case.nouns),
            (
                "Spanish adjective, translation",
                "decoder",
                case.right,
                case.spanish_nouns,
            ),
        ):
            weights, queries, keys = attentions.weights(kind, words=True)
            queries = [query.rstrip(".") for query in queries]
            keys = [key.rstrip(".") for key in keys]
            if word not in queries or not set(nouns) <= set(keys):
                continue
            row = weights[:, :, len(queries) - 1 - queries[::-1].index(word)]
            meant, other = (row[..., keys.index(noun)] for noun in nouns)
            alike = np.full_like(meant, 1 / len(keys))
            shares.setdefault(name, []).append(np.stack([meant, other, alike]))
    print("\n| from | layer, head | noun meant | other noun | all alike |")
    print("| --- | ---: | ---: | ---: | ---: |")
    for name, values in shares.items():
        meant, other, alike = np.mean(values, axis=0)
        best = np.unravel_index(np.argmax(meant - other), meant.shape)
        print(
            f"| {name} | {best[0] + 1}, {best[1] + 1} | {meant[best]:.0%} | "
            f"{other[best]:.0%} | {alike[best]:.0%} |"
        )


if __name__ == "__main__":
    main()
