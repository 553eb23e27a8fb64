"""What a template hands to the sampler."""

import math
from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

from training.phrasebook.entries import Verb
from training.phrasebook.nominal import Subject, Text

# The content lemmas of one clause, the head of the clause first.
Combination = tuple[str, ...]


class Construction(NamedTuple):
    """Sentences with the same content lemmas.

    Attributes:
        realise: Function that builds one sentence from the arguments
            followed by one option of each choice.
        combinations: The combination of each clause.
        arguments: What is the same in all sentences.
        choices: What differs: the options of tense, determiner and so on.
    """

    realise: Callable[..., Text]
    combinations: tuple[Combination, ...]
    arguments: tuple[Any, ...]
    choices: tuple[tuple[Any, ...], ...]

    @property
    def size(self) -> int:
        """The number of sentences."""
        return math.prod(map(len, self.choices))

    def sentence(self, index: int) -> Text:
        """Build the sentence with an index below `size`."""
        chosen = []
        for options in self.choices:
            index, position = divmod(index, len(options))
            chosen.append(options[position])
        return self.realise(*self.arguments, *chosen)


class Family(NamedTuple):
    """Constructions of one kind and their share of the corpus."""

    name: str
    weight: int
    constructions: Callable[[], Iterable[Construction]]


def combination(*words: Subject | Verb | str) -> Combination:
    """Return the lemmas of some lexicon entries."""
    lemmas = []
    for word in words:
        if isinstance(word, Verb):
            word = word.lemma
        lemmas.append(word if isinstance(word, str) else word.english)
    return tuple(lemmas)
