"""Token ids of many pairs in flat arrays, and as records of a file."""

import itertools
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from tfxformer.tokenizer import Tokenizer
from training.config import DataConfig
from training.report import CorpusReport


class TokenizedPairs(NamedTuple):
    """Ids of M aligned sentences, each ended by `</s>`, one after another.

    Attributes:
        source_ids: int32, of all source sentences.
        target_ids: int32, of all target sentences.
        source_lengths: int32 `(M,)`. Ids of each source sentence.
        target_lengths: int32 `(M,)`. Ids of each target sentence.
        origins: int32 `(M,)`. Which source of the recipe each is from.
    """

    source_ids: np.ndarray
    target_ids: np.ndarray
    source_lengths: np.ndarray
    target_lengths: np.ndarray
    origins: np.ndarray

    @property
    def num_pairs(self) -> int:
        """M."""
        return len(self.origins)

    def take(self, rows: np.ndarray) -> "TokenizedPairs":
        """Some of the pairs.

        Args:
            rows: int `(R,)`.

        Returns:
            `TokenizedPairs`, R of them.
        """
        return TokenizedPairs(
            _take_ragged(self.source_ids, self.source_lengths, rows),
            _take_ragged(self.target_ids, self.target_lengths, rows),
            self.source_lengths[rows],
            self.target_lengths[rows],
            self.origins[rows],
        )

    def to_record(self) -> bytes:
        """All of them as a record of a file; `training.dataset` reads it.

        Returns:
            bytes: little-endian int32. M, M source lengths, M target
            lengths, M origins, source ids, target ids.
        """
        count = np.array([self.num_pairs])
        parts = (
            count,
            self.source_lengths,
            self.target_lengths,
            self.origins,
            self.source_ids,
            self.target_ids,
        )
        return np.concatenate(parts).astype("<i4").tobytes()


def concatenate(blocks: list[TokenizedPairs]) -> TokenizedPairs:
    """All pairs of several blocks.

    Args:
        blocks: list of `TokenizedPairs`; it may be empty.

    Returns:
        `TokenizedPairs`, in the order of the blocks.
    """
    nothing = TokenizedPairs(*[np.zeros(0, np.int32)] * 5)
    return TokenizedPairs(
        *(np.concatenate(parts) for parts in zip(nothing, *blocks, strict=True))
    )


def _take_ragged(values, lengths, rows) -> np.ndarray:
    starts = np.cumsum(lengths, dtype=np.int64) - lengths
    taken = lengths[rows].astype(np.int64)
    ends = np.cumsum(taken)
    total = int(ends[-1]) if len(ends) else 0
    shift = np.repeat(starts[rows] - (ends - taken), taken)
    return values[shift + np.arange(total)]


class Block(NamedTuple):
    """M lines of the cleaned corpus.

    Attributes:
        number: int. Number of the block, from 0.
        lines: list of M bytes: source, tab, target, line feed.
        origins: int32 `(M,)`. Which source of the recipe each is from.
    """

    number: int
    lines: list[bytes]
    origins: np.ndarray


class PairTokenizer:
    """Turns lines of text into ids and drops what is too long or lopsided.

    Args:
        source_tokenizer: a `Tokenizer`.
        target_tokenizer: a `Tokenizer`.
        data: the recipe's `data`.
        num_sources: int. Of the recipe's `data.train`.
    """

    def __init__(
        self,
        source_tokenizer: Tokenizer,
        target_tokenizer: Tokenizer,
        data: DataConfig,
        num_sources: int = 1,
    ):
        self.tokenizers = (source_tokenizer, target_tokenizer)
        self.max_length = data.max_length
        self.max_ratio = data.cleaning.max_ratio
        self.drop_empty = data.cleaning.empty
        self.num_sources = num_sources

    def __call__(
        self, block: Block
    ) -> tuple[TokenizedPairs, list[CorpusReport]]:
        """Tokenizes a block.

        Args:
            block: a `Block`.

        Returns:
            Tuple of `TokenizedPairs` and a `CorpusReport` for each source:
            what was kept and dropped.
        """
        return self.drop_useless(block, self.tokenize(block))

    def tokenize(self, block: Block) -> TokenizedPairs:
        """The ids of all pairs of a block.

        Args:
            block: a `Block`.

        Returns:
            `TokenizedPairs`, one for each line.
        """
        text = b"".join(block.lines).decode().removesuffix("\n")
        cells = text.replace("\n", "\t").split("\t")
        source_ids, source_lengths = _flatten(
            self.tokenizers[0].tokenize(cells[::2])
        )
        target_ids, target_lengths = _flatten(
            self.tokenizers[1].tokenize(cells[1::2])
        )
        return TokenizedPairs(
            source_ids,
            target_ids,
            source_lengths,
            target_lengths,
            block.origins,
        )

    def drop_useless(
        self, block: Block, pairs: TokenizedPairs
    ) -> tuple[TokenizedPairs, list[CorpusReport]]:
        """Drops pairs by the lengths of their sides.

        Args:
            block: a `Block`.
            pairs: the `TokenizedPairs` that `tokenize` gave for it.

        Returns:
            Tuple of `TokenizedPairs` and a `CorpusReport` for each source:
            what was kept and dropped.
        """
        reasons = dict(
            self._useless(pairs.source_lengths, pairs.target_lengths)
        )
        reports = [CorpusReport() for _ in range(self.num_sources)]
        for row, reason in sorted(reasons.items()):
            source, target = block.lines[row].decode()[:-1].split("\t")
            reports[block.origins[row]].drop(reason, (source, target))
        if reasons:
            keep = np.ones(pairs.num_pairs, bool)
            keep[list(reasons)] = False
            pairs = pairs.take(np.flatnonzero(keep))
        kept = np.bincount(pairs.origins, minlength=self.num_sources)
        for report, count in zip(reports, kept.tolist(), strict=True):
            report.kept = count
        return pairs, reports

    def _useless(self, sources, targets) -> Iterator[tuple[int, str]]:
        shorter, longer = (
            np.minimum(sources, targets),
            np.maximum(sources, targets),
        )
        if self.max_ratio is not None:
            for row in np.flatnonzero(longer > self.max_ratio * shorter):
                yield int(row), "length ratio"
        for row in np.flatnonzero(longer > self.max_length):
            yield int(row), "too long"
        if self.drop_empty:  # </s> alone: white space of some kind
            for row in np.flatnonzero(shorter < 2):
                yield int(row), "empty on a side"


def _flatten(rows: list[list[int]]) -> tuple[np.ndarray, np.ndarray]:
    lengths = np.fromiter(map(len, rows), np.int32, len(rows))
    ids = itertools.chain.from_iterable(rows)
    flat = np.fromiter(ids, np.int32, int(lengths.sum()))
    return flat, lengths


class ShardDealer:
    """Tokenizes a block and deals its pairs at random onto shards.

    So each shard is a sample of the whole corpus.

    Args:
        tokenize: a `PairTokenizer`.
        num_shards: int.
    """

    def __init__(self, tokenize: PairTokenizer, num_shards: int):
        self.tokenize = tokenize
        self.num_shards = num_shards

    def __call__(self, block: Block):
        """Makes the records of a block.

        Args:
            block: a `Block`.

        Returns:
            Tuple of a list with a record for each shard; a list of their
            indices, uint16 `(M, 3)` of M pairs: source length, target length,
            origin; and the `CorpusReport` for each source.
        """
        pairs, reports = self.tokenize(block)
        random = np.random.default_rng(block.number)
        rows = random.permutation(pairs.num_pairs)
        parts = [
            pairs.take(part) for part in np.array_split(rows, self.num_shards)
        ]
        random.shuffle(parts)  # the first parts are longer by one
        return (
            [p.to_record() for p in parts],
            [index(p) for p in parts],
            reports,
        )


def index(pairs: TokenizedPairs) -> np.ndarray:
    """Lengths and origins, all that is needed to plan batches.

    Args:
        pairs: `TokenizedPairs`.

    Returns:
        uint16 `(M, 3)`: source length, target length, origin.
    """
    columns = (pairs.source_lengths, pairs.target_lengths, pairs.origins)
    return np.stack(columns, axis=1).astype(np.uint16)
