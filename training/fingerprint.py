"""Whether the text of a recipe has changed since it was prepared."""

import dataclasses
import hashlib
import json
from pathlib import Path
from typing import Any

from tfxformer.errors import InputError
from training import shards
from training.config import DataConfig, Recipe
from training.progress import byte_bar
from training.shards import Corpus, Tokenizers
from training.sources import source_files
from training.tokens import TokenizedPairs

SPLITS = ("train", "valid", "test")


def find_all_files(data: DataConfig) -> dict[Path, tuple[int, int]]:
    """Size and time of the last change of each file of a recipe's text.

    Args:
        data: the recipe's `data`.

    Returns:
        dict by path of tuples: the size in bytes, and the time in
        nanoseconds.

    Raises:
        InputError: if a source, or a split or language of it, is not there.
        OSError: if a file is not there.
    """
    paths = {
        path: None
        for split in SPLITS
        for source in getattr(data, split)
        for path in source_files(source, data, split)
    }
    return {path: _size_and_time(path) for path in paths}


def _size_and_time(path: Path) -> tuple[int, int]:
    stat = path.stat()
    return stat.st_size, stat.st_mtime_ns


def check_unchanged(files: dict[Path, tuple[int, int]]) -> None:
    """Compares with what `find_all_files` gave.

    Args:
        files: dict by path of tuples of size and time.

    Raises:
        InputError: naming a file that has changed.
        OSError: if a file is gone.
    """
    for path, before in files.items():
        if _size_and_time(path) != before:
            raise InputError(
                f"{path}: changed while it was read; start again when "
                "nothing writes to it"
            )


def describe(
    recipe: Recipe,
    files: dict[Path, tuple[int, int]],
    tokenizers: Tokenizers | None = None,
) -> dict[str, Any]:
    """What prepared text depends on, with a fingerprint of it all.

    Args:
        recipe: a `Recipe`.
        files: dict, as `find_all_files` gives it.
        tokenizers: tuple of two `Tokenizer`s that are used; None: the
            recipe's settings say how to train them.

    Returns:
        dict for the manifest: "fingerprint", 16 hexadecimal digits, and what
        it is made from: "format", "data", "tokenizer" and "files", their
        SHA-256 by name. Weights are not in it: they only matter later.

    Raises:
        OSError: if a file cannot be read.
    """
    data = dataclasses.asdict(recipe.data)
    for name in ("folder", "prepared"):
        del data[name]
    for split in SPLITS:
        for source in data[split]:
            del source["weight"]
    digests = {}
    with byte_bar("checking", sum(size for size, _ in files.values())) as bar:
        for path, (size, _) in files.items():
            with open(path, "rb") as file:
                digest = hashlib.file_digest(file, "sha256").hexdigest()
            digests[str(path)] = digest
            bar.update(size)
    content = {
        "format": shards.FORMAT,
        "data": data,
        "tokenizer": dataclasses.asdict(recipe.tokenizer)
        if tokenizers is None
        else digest_tokenizers(tokenizers),
        "files": digests,
    }
    # A folder may move: of the files only what is in them counts.
    counted = {**content, "files": list(digests.values())}
    fingerprint = hashlib.sha256(json.dumps(counted).encode()).hexdigest()
    return {"fingerprint": fingerprint[:16], **content}


def digest_tokenizers(tokenizers: Tokenizers) -> str:
    """A hash of two tokenizers.

    Args:
        tokenizers: tuple of two `Tokenizer`s, of source and target.

    Returns:
        string of 16 hexadecimal digits.
    """
    protos = b"".join(tokenizer.model_proto for tokenizer in tokenizers)
    return hashlib.sha256(protos).hexdigest()[:16]


def digest_corpus(corpus: Corpus) -> str:
    """A hash of the token ids; of shards, of what they were made from.

    Args:
        corpus: a `Corpus`.

    Returns:
        string of 16 hexadecimal digits.
    """
    if not isinstance(corpus.shards, TokenizedPairs):
        return corpus.shards[0].parent.name
    digest = hashlib.sha256()
    for array in corpus.shards:
        digest.update(array.tobytes())
    return digest.hexdigest()[:16]
