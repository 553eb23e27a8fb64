"""All attention weights of one sentence, between pieces or words."""

import dataclasses
import re

import numpy as np

from tfxformer.alignment import WORD_START, word_spans
from tfxformer.errors import InputError

KINDS = ("encoder", "decoder", "cross")


@dataclasses.dataclass(frozen=True)
class Attentions:
    """All attention weights of a sentence and its translation.

    Args:
        source: list of S strings. The pieces of the source, `</s>` included.
        target: list of T strings. The pieces that the decoder writes, `</s>`
            included. At the position of the first one it reads `<s>`, at
            that of each other one the piece before.
        encoder: float32 `(L, N, S, S)`. From each source piece to all.
        decoder: float32 `(L, N, T, T)`. From each target piece, when it is
            written, to those that were read until then.
        cross: float32 `(L, N, T, S)`. From each target piece, when it is
            written, to the source.

    Reference:
        Attention Is All You Need, section 3.2.3.
    """

    source: list[str]
    target: list[str]
    encoder: np.ndarray
    decoder: np.ndarray
    cross: np.ndarray

    def weights(
        self, kind: str, words: bool = False
    ) -> tuple[np.ndarray, list[str], list[str]]:
        """The weights of one kind of attention, with what they belong to.

        Args:
            kind: "encoder", "decoder" or "cross".
            words: bool. Between words instead of pieces: a word attends as
                its pieces do on average, and to another as much as to all of
                its pieces.

        Returns:
            Tuple of float32 `(L, N, Q, K)` whose rows sum to 1, a list of Q
            strings, what attends, and a list of K strings, what is attended
            to.

        Raises:
            InputError: if there is no such kind.
        """
        if kind not in KINDS:
            raise InputError(
                f"kind must be one of {', '.join(KINDS)}. Received: {kind!r}"
            )
        read = ["<s>", *self.target[:-1]]
        queries = self.source if kind == "encoder" else self.target
        keys = read if kind == "decoder" else self.source
        weights = getattr(self, kind)
        if not words:
            return weights, list(queries), list(keys)
        starts, queries = _words(queries)
        counts = np.diff([*starts, weights.shape[2]])
        weights = np.add.reduceat(weights, starts, axis=2)
        weights = weights / counts[:, np.newaxis].astype(weights.dtype)
        starts, keys = _words(keys)
        return np.add.reduceat(weights, starts, axis=3), queries, keys


def _words(pieces: list[str]) -> tuple[list[int], list[str]]:
    """Where words start, and the words; `<s>` and `</s>` are some."""
    first = int(pieces[0] == "<s>")
    last = len(pieces) - (pieces[-1] == "</s>")
    spans = [
        (first + start, first + end)
        for start, end in word_spans(pieces[first:last])
    ]
    spans = [(0, 1)] * first + spans
    spans += [(last, last + 1)] * (last < len(pieces))
    return (
        [start for start, _ in spans],
        [_spell(pieces[start:end]) for start, end in spans],
    )


def _spell(pieces: list[str]) -> str:
    """The text of pieces; a character may consist of several bytes."""

    def decode(match) -> str:
        numbers = re.findall("<0x(..)>", match[0])
        return bytes.fromhex("".join(numbers)).decode("utf-8", "replace")

    text = re.sub("(<0x[0-9A-F]{2}>)+", decode, "".join(pieces))
    return text.replace(WORD_START, " ").strip()
