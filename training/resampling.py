"""Subword regularisation: other splits of a word each time it is seen.

SentencePiece can sample too, but from a generator that starts differently in
each process: a training could not be repeated, or resumed as it was. Here a
draw depends on the word and a number alone. Words that a batch has in common
with others are looked up, not split again.
"""

import functools
import math
import random
import zlib
from collections.abc import Callable

import numpy as np

from tfxformer.tokenizer import END_TOKEN_ID, Tokenizer

DRAWS = 32  # of each word; later ones repeat these
CACHED_DRAWS = 1 << 18
MOST_GROWTH = 1.25  # of the longest sentence of a batch
WORD_START = "\u2581"
FIRST_PIECE = 4  # after the special ones

Word = tuple[int, ...]


class Resampling:
    """Splits the words of a batch anew.

    Args:
        tokenizers: tuple of two `Tokenizer`s, of source and target.
        alpha: float. Of a bpe model the share of merges left out; of a
            unigram model the exponent of the distribution that is sampled
            from: the smaller, the more uniform.
        max_length: int. Most pieces of a sentence.

    Reference:
        Subword Regularization (Kudo, 2018), section 3; BPE-Dropout
        (Provilkov et al., 2020), section 3.
    """

    def __init__(
        self,
        tokenizers: tuple[Tokenizer, Tokenizer],
        alpha: float,
        max_length: int,
    ):
        source, target = tokenizers
        ours = WordSampler(source, alpha)
        self._samplers = (
            ours,
            ours if target is source else WordSampler(target, alpha),
        )
        self.max_length = max_length

    def __call__(
        self, seed: np.ndarray, *sides: np.ndarray
    ) -> list[np.ndarray]:
        """New pieces for a batch.

        Args:
            seed: int64 `(2,)`, of the corpus and of the batch.
            *sides: for source and target, flat ids and row lengths.

        Returns:
            list of int32 flat ids and int64 row lengths, for both sides.
        """
        generator = np.random.default_rng(seed.astype(np.uint64))
        new: list[np.ndarray] = []
        for side, sampler in enumerate(self._samplers):
            ids, lengths = sides[2 * side : 2 * side + 2]
            new += sampler(ids, lengths, generator, self.max_length)
        return new


class WordSampler:
    """Splits the words of a sentence anew.

    Args:
        tokenizer: a `Tokenizer`.
        alpha: float. See `Resampling`.
    """

    def __init__(self, tokenizer: Tokenizer, alpha: float):
        self._pieces = tokenizer.pieces()
        scores = tokenizer.scores()
        # Only what can be joined and split: no bytes, no special pieces.
        self._id_of_piece = {
            piece: number
            for number, piece in enumerate(self._pieces)
            if number >= FIRST_PIECE and not tokenizer.is_byte(number)
        }
        self._score_of_piece = {
            piece: scores[number] for piece, number in self._id_of_piece.items()
        }
        self._starts_word = np.array(
            [
                piece.startswith(WORD_START) or number == END_TOKEN_ID
                for number, piece in enumerate(self._pieces)
            ]
        )
        self._longest = max(map(len, self._id_of_piece))
        self._alpha = alpha
        self._split: Callable[[str, random.Random], list[str]] = (
            self._drop_merges if tokenizer.is_bpe() else self._sample_path
        )
        self._draw = functools.lru_cache(CACHED_DRAWS)(self._draw_word)

    def __call__(
        self,
        ids: np.ndarray,
        lengths: np.ndarray,
        generator: np.random.Generator,
        max_length: int,
    ) -> tuple[np.ndarray, np.ndarray]:
        """New pieces for sentences.

        Args:
            ids: int, those of all sentences.
            lengths: int `(B,)`, of each sentence.
            generator: draws one number for each word.
            max_length: int. What would become longer, or by a quarter longer
                than the longest sentence was, gets words back as they were.

        Returns:
            Tuple of int32 ids and int64 `(B,)` lengths.
        """
        rows = np.repeat(np.arange(len(lengths)), lengths)
        starts_word = self._starts_word[ids]
        starts_word[1:] |= rows[1:] != rows[:-1]
        starts_word[:1] = True
        starts = np.flatnonzero(starts_word)
        numbers = generator.integers(0, DRAWS, len(starts)).tolist()
        ends = [*starts[1:].tolist(), len(ids)][: len(starts)]
        flat = ids.tolist()
        words = [
            tuple(flat[start:end])
            for start, end in zip(starts.tolist(), ends, strict=True)
        ]
        drawn = [
            self._draw(word, number)
            for word, number in zip(words, numbers, strict=True)
        ]

        # Padding is as wide as the longest sentence: words of one that grew
        # far more than the others go back to what they were.
        row_of_word = rows[starts]
        counts = [len(word) for word in drawn]
        new_lengths = np.bincount(row_of_word, counts, len(lengths))
        most = min(max_length, math.ceil(MOST_GROWTH * lengths.max(initial=0)))
        excess = (new_lengths - most).astype(np.int64)
        order = generator.permutation(len(words))
        for place in order[excess[row_of_word[order]] > 0].tolist():
            row = row_of_word[place]
            growth = len(drawn[place]) - len(words[place])
            if excess[row] > 0 and growth > 0:
                drawn[place] = words[place]
                excess[row] -= growth
        new_ids = [i for word in drawn for i in word]
        return np.array(new_ids, np.int32), excess + most

    def _draw_word(self, word: Word, number: int) -> Word:
        pieces = [self._pieces[i] for i in word]
        if any(piece not in self._id_of_piece for piece in pieces):
            return word
        key = np.array([number, *word], np.int32).tobytes()
        split = self._split("".join(pieces), random.Random(zlib.crc32(key)))
        try:
            return tuple(self._id_of_piece[piece] for piece in split)
        except KeyError:  # a character that is no piece of its own
            return word

    def _drop_merges(self, word: str, draw: random.Random) -> list[str]:
        """BPE, in each step without a random share of the merges."""
        symbols = list(word)
        while True:
            best, best_score = -1, -math.inf
            for place in range(len(symbols) - 1):
                joined = symbols[place] + symbols[place + 1]
                score = self._score_of_piece.get(joined, -math.inf)
                if score > best_score and draw.random() >= self._alpha:
                    best, best_score = place, score
            if best < 0:
                return symbols
            symbols[best : best + 2] = [symbols[best] + symbols[best + 1]]

    def _sample_path(self, word: str, draw: random.Random) -> list[str]:
        """A path through all splits, by their probability to the alpha."""
        log_sums = [0.0]  # over the splits of each prefix
        # For each prefix: where its last piece starts, and the weight of that.
        into: list[list[tuple[int, float]]] = [[]]
        for end in range(1, len(word) + 1):
            arcs = []
            for start in range(max(0, end - self._longest), end):
                score = self._score_of_piece.get(word[start:end])
                if score is not None and log_sums[start] > -math.inf:
                    weight = log_sums[start] + self._alpha * score
                    arcs.append((start, weight))
            into.append(arcs)
            log_sums.append(_log_sum([weight for _, weight in arcs]))
        if log_sums[-1] == -math.inf:
            return [word]
        split, end = [], len(word)
        while end:
            starts = [start for start, _ in into[end]]
            weights = [math.exp(w - log_sums[end]) for _, w in into[end]]
            (start,) = draw.choices(starts, weights)
            split.append(word[start:end])
            end = start
        return split[::-1]


def _log_sum(values: list[float]) -> float:
    if not values:
        return -math.inf
    most = max(values)
    return most + math.log(sum(math.exp(value - most) for value in values))
