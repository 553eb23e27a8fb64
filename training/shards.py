"""Prepared text in a folder: TFRecord files and a manifest.

A record is what `TokenizedPairs.to_record` gives, some hundred pairs.
"""

import contextlib
import hashlib
import json
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from tfxformer.errors import InputError
from tfxformer.quiet import import_tensorflow
from tfxformer.tokenizer import Tokenizer
from training.report import SplitReport
from training.tokens import TokenizedPairs, index

PAIRS_PER_SHARD = 1 << 17
MAX_SHARDS = 512
FORMAT = 1  # of the folder
MANIFEST = "manifest.json"
INDEX = "index.npy"
SOURCE_TOKENIZER = "source_tokenizer.model"
TARGET_TOKENIZER = "tokenizer.model"

Tokenizers = tuple[Tokenizer, Tokenizer]


class Corpus(NamedTuple):
    """Token ids, as a whole or in shards that each are a sample of it.

    Attributes:
        indices: list of uint16 `(M, 3)`, one for each shard, of its M pairs;
            see `index`.
        shards: list of paths of TFRecord files; or `TokenizedPairs` in
            memory, which are a single shard.
        weights: list of floats, one for each source: times a pair is seen in
            an epoch.
    """

    indices: list[np.ndarray]
    shards: list[Path] | TokenizedPairs
    weights: list[float]

    @property
    def num_pairs(self) -> int:
        """Pairs of all shards."""
        return sum(map(len, self.indices))


def in_memory(pairs: TokenizedPairs, weights: list[float]) -> Corpus:
    """A corpus that is not in files.

    Args:
        pairs: `TokenizedPairs`.
        weights: list of floats, of the sources that `pairs.origins` counts.

    Returns:
        A `Corpus`.
    """
    return Corpus([index(pairs)], pairs, weights)


def number_of_shards(num_pairs: int) -> int:
    """How many files a corpus goes into.

    Args:
        num_pairs: int.

    Returns:
        int, one for each 131,072 pairs and at most 512.
    """
    return min(MAX_SHARDS, -(-num_pairs // PAIRS_PER_SHARD))


def write_shards(
    dealt: Iterable[tuple[list[bytes], list[np.ndarray]]],
    folder: Path,
    num_shards: int,
) -> tuple[list[Path], list[np.ndarray]]:
    """Writes records to as many files.

    Args:
        dealt: iterable of tuples of two lists: a record for each shard, and
            its index, uint16 `(M, 3)` of M pairs.
        folder: path of a folder that is there.
        num_shards: int.

    Returns:
        Tuple of the paths and the index of each file.
    """
    import_tensorflow()
    import tensorflow as tf

    paths = [
        folder / f"{number:05d}-of-{num_shards:05d}.tfrecord"
        for number in range(num_shards)
    ]
    indices: list[list[np.ndarray]] = [[] for _ in paths]
    with contextlib.ExitStack() as stack:
        writers = [
            stack.enter_context(tf.io.TFRecordWriter(str(path)))
            for path in paths
        ]
        for records, parts in dealt:
            for number, writer in enumerate(writers):
                writer.write(records[number])
                indices[number].append(parts[number])
    return paths, [np.concatenate(parts) for parts in indices]


def write_folder(
    folder: Path,
    manifest: dict[str, Any],
    tokenizers: Tokenizers,
    paths: list[Path],
    indices: list[np.ndarray],
    report: SplitReport,
) -> None:
    """Writes what goes with the shards; the manifest last.

    Args:
        folder: path of the folder of the shards.
        manifest: dict, as `fingerprint.describe` gives it.
        tokenizers: tuple of two `Tokenizer`s, of source and target.
        paths: list of the paths of the shards.
        indices: list of uint16 `(M, 3)`, one for each shard.
        report: the `SplitReport` of the training text.

    Raises:
        OSError: if a file cannot be written.
    """
    source_tokenizer, target_tokenizer = tokenizers
    (folder / TARGET_TOKENIZER).write_bytes(target_tokenizer.model_proto)
    if source_tokenizer is not target_tokenizer:
        path = folder / SOURCE_TOKENIZER
        path.write_bytes(source_tokenizer.model_proto)
    np.save(folder / INDEX, np.concatenate(indices))
    content = {
        **manifest,
        "pairs": [len(part) for part in indices],  # of each shard
        "bytes": [path.stat().st_size for path in paths],
        "index": _digest(folder / INDEX),
        "report": report.to_json(),
    }
    (folder / MANIFEST).write_text(
        json.dumps(content, indent=2, ensure_ascii=False) + "\n",
        encoding="utf-8",
    )


def read_folder(
    folder: Path, weights: list[float]
) -> tuple[Tokenizers, Corpus, SplitReport]:
    """Reads a folder of shards.

    Args:
        folder: path.
        weights: list of floats, of each source.

    Returns:
        Tuple of the two tokenizers, the `Corpus` and the `SplitReport`.

    Raises:
        InputError: if the folder is damaged.
    """
    try:
        manifest = json.loads((folder / MANIFEST).read_text(encoding="utf-8"))
        target_tokenizer = Tokenizer.from_file(folder / TARGET_TOKENIZER)
        source_tokenizer = target_tokenizer
        if (folder / SOURCE_TOKENIZER).exists():
            source_tokenizer = Tokenizer.from_file(folder / SOURCE_TOKENIZER)
        ends = np.cumsum(manifest["pairs"])
        report = SplitReport.from_json(manifest["report"])
        shards = [
            folder / f"{number:05d}-of-{len(ends):05d}.tfrecord"
            for number in range(len(ends))
        ]
        sizes = [path.stat().st_size for path in shards]
        if (sizes, _digest(folder / INDEX)) != (
            manifest["bytes"],
            manifest["index"],
        ):
            raise ValueError("not what the manifest says")
        whole = np.load(folder / INDEX, mmap_mode="r")
    except (
        OSError,
        ValueError,
        KeyError,
        IndexError,
        AttributeError,
        TypeError,
        EOFError,
    ) as error:
        raise InputError(
            f"{folder}: damaged ({error}); remove it, and it is made anew"
        ) from None
    indices = np.split(whole, ends[:-1])
    return (
        (source_tokenizer, target_tokenizer),
        Corpus(indices, shards, weights),
        report,
    )


def _digest(path: Path) -> str:
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


@contextlib.contextmanager
def explain_damage(corpus: Corpus) -> Iterator[None]:
    """Turns the error of shards that are damaged or gone into one line.

    Args:
        corpus: the `Corpus` that is read meanwhile.

    Raises:
        InputError: naming the folder.
    """
    try:
        yield
    except Exception as error:
        if isinstance(corpus.shards, TokenizedPairs):
            raise
        folder = corpus.shards[0].parent
        damaged = type(error).__name__ == "DataLossError"
        if damaged or ".tfrecord" in str(error):
            what = "damaged" if damaged else "gone while it was read"
            raise InputError(
                f"{folder}: {what}; remove the folder, and it is made anew"
            ) from None
        raise
