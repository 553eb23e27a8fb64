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
    """Size and time of the last change of each file of a recipe's text."""
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

    Raises:
        InputError: naming a file that has changed.
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
        files: dict whose keys are the paths of the text.
        tokenizers: those that are used, unless the recipe's settings say how
            to train them.

    Returns:
        dict for the manifest. Weights are not in it: they only matter later.
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
    """A hash of two tokenizers."""
    protos = b"".join(tokenizer.model_proto for tokenizer in tokenizers)
    return hashlib.sha256(protos).hexdigest()[:16]


def digest_corpus(corpus: Corpus) -> str:
    """A hash of the token ids; of shards, of what they were made from."""
    if not isinstance(corpus.shards, TokenizedPairs):
        return corpus.shards[0].parent.name
    digest = hashlib.sha256()
    for array in corpus.shards:
        digest.update(array.tobytes())
    return digest.hexdigest()[:16]
