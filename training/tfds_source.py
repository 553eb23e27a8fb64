"""Parallel text from TensorFlow Datasets."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tfxformer.errors import InputError
from tfxformer.quiet import import_tensorflow

ROWS = 8192
SPLITS = {"train": "train", "valid": "validation", "test": "test"}
NAME = re.compile(r"([^:]+)(?::(\d+\.\d+\.\d+))?(?::(.+))?")


def open_dataset(name: str, folder: str | Path, split: str) -> tuple[Any, str]:
    """Finds a dataset, downloading it at first use.

    Args:
        name: string. NAME/CONFIG[:VERSION][:SPLIT] of TensorFlow Datasets,
            or the path of a folder: a dataset as TensorFlow Datasets
            prepares it, or LANGUAGE.SPLIT.txt files
            (`tfds.folder_dataset.TranslateFolder`).
        folder: string or path. What a relative path is relative to.
        split: string. "train", "valid" or "test", if `name` has none.

    Returns:
        Tuple of a dataset builder and the name of the split.

    Raises:
        InputError: if there is no such dataset or split, or if it cannot be
            downloaded, with the address.
    """
    match = NAME.fullmatch(name)
    if match is None:
        raise InputError(
            f"tfds: expected NAME/CONFIG[:SPLIT]. Received: {name}"
        )
    path, version, part = match.groups()
    part = part or SPLITS[split]
    place = Path(folder, path).expanduser()
    import_tensorflow()

    if place.is_dir():
        builder = _open_folder(place)
    else:
        builder = _open_named(path + (f":{version}" if version else ""), place)
    known = list(builder.info.splits)
    if re.split(r"[\[+]", part)[0] not in known:
        raise InputError(
            f"tfds: {path} has no split {part}; it has {', '.join(known)}"
        )
    return builder, part


def _open_folder(place: Path) -> Any:
    import tensorflow_datasets as tfds

    try:
        if (place / "dataset_info.json").exists():
            return tfds.builder_from_directory(place)
        builder = tfds.folder_dataset.TranslateFolder(str(place))
    except (ValueError, IndexError, KeyError) as error:
        raise InputError(f"tfds: {place}: {error}") from None
    if not builder.info.splits:
        raise InputError(
            f"tfds: {place}: no files like en.train.txt "
            "(LANGUAGE.SPLIT.txt) in it"
        )
    return builder


def _open_named(name: str, place: Path) -> Any:
    import tensorflow_datasets as tfds

    local = (
        "to use local files, give them as source and target, or a folder "
        "with LANGUAGE.SPLIT.txt files as tfds"
    )
    try:
        builder = tfds.builder(name)
    except tfds.core.DatasetNotFoundError:
        raise InputError(
            f"tfds: {name}: no such dataset in TensorFlow Datasets "
            f"{tfds.__version__}, and no folder {place}; {local}"
        ) from None
    except (ValueError, KeyError, AssertionError) as error:
        raise InputError(f"tfds: {name}: {error}") from None
    try:
        builder.download_and_prepare()
    except Exception as error:  # whatever network, server or archive do
        raise InputError(
            f"tfds: {name} could not be downloaded from "
            f"{_address(error) or builder.info.homepage} "
            f"({type(error).__name__}: {_first_line(error)}); {local}"
        ) from None
    return builder


def _address(error: BaseException | None) -> str | None:
    """The address in an error or in what caused it."""
    while error is not None:
        url = getattr(getattr(error, "request", None), "url", None)
        if url:
            return url
        found = re.search(r"https?://[^\s'\"<>),]+", str(error))
        if found:
            return found[0]
        error = error.__cause__ or error.__context__
    return None


def _first_line(error: BaseException) -> str:
    return next(iter(str(error).strip().splitlines()), "")[:300]


def dataset_files(builder: Any, part: str) -> list[Path]:
    """The files of a dataset."""
    return sorted(p for p in Path(builder.data_path).iterdir() if p.is_file())


def read_dataset(
    builder: Any, part: str, languages: tuple[str, str] | None
) -> Iterator[tuple[list[str], list[str]]]:
    """Reads a split.

    Args:
        builder: what `open_dataset` gave.
        part: string. Name of the split.
        languages: tuple of two strings, source and target; None: those that
            the dataset names.

    Yields:
        Tuples of lists of strings, source and target.

    Raises:
        InputError: if a language is missing, naming those that there are.
    """
    import tensorflow_datasets as tfds

    name, features = builder.info.full_name, list(builder.info.features or ())
    if languages is None and builder.info.supervised_keys is None:
        raise InputError(
            f"data.languages: which two of {', '.join(features)} of {name}?"
        )
    keys = [
        _language(code, features, name)
        for code in languages or builder.info.supervised_keys[:2]
    ]
    dataset = builder.as_dataset(split=part, shuffle_files=False)
    for batch in tfds.as_numpy(dataset.batch(ROWS)):
        source, target = (
            [text.decode("utf-8").replace("\n", " ") for text in batch[key]]
            for key in keys
        )
        yield source, target


def _language(code: str, features: list[str], name: str) -> str:
    wanted = code.lower().replace("_", "-")
    for feature in features:
        known = feature.lower().replace("_", "-")
        if known == wanted or known.startswith(f"{wanted}-"):
            return feature
    raise InputError(
        f"tfds: {name} has no {code} (data.languages); "
        f"it has {', '.join(features)}"
    )
