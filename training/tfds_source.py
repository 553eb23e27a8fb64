"""Parallel text from TensorFlow Datasets."""

import os
import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

from tfxformer.errors import InputError
from tfxformer.quiet import import_tensorflow
from training.report import Pair

ROWS = 1024  # read at a time
SPLITS = {
    "train": ("train",),
    "valid": ("validation", "valid", "dev"),
    "test": ("test",),
}
NAME = re.compile(r"([^:]+)(?::(\d+\.\d+\.\d+))?(?::(.+))?")
LOCAL = (
    "to use local files, give them as source and target, or a folder with "
    "LANGUAGE.SPLIT.txt files as tfds"
)


class _Name(NamedTuple):
    path: str  # NAME/CONFIG, or a folder
    version: str | None
    splits: tuple[str, ...]  # the first that there is
    place: Path  # where the folder would be


def _parse(name: str, folder: str | Path, split: str) -> _Name:
    match = NAME.fullmatch(name)
    if match is None:
        raise InputError(
            f"tfds: expected NAME/CONFIG[:SPLIT]. Received: {name}"
        )
    path, version, part = match.groups()
    place = Path(folder, os.path.expanduser(path))
    return _Name(path, version, (part,) if part else SPLITS[split], place)


def find_text(
    name: str,
    folder: str | Path,
    split: str,
    languages: tuple[str, str] | None,
) -> tuple[Path, Path] | None:
    """The files of a folder of LANGUAGE.SPLIT.txt files.

    It is the form that `tfds.folder_dataset.TranslateFolder` reads, which
    however takes more than LF for the end of a line.

    Args:
        name: string. FOLDER[:SPLIT].
        folder: string or path. What a relative path is relative to.
        split: string. "train", "valid" or "test", if `name` has none.
        languages: tuple of two strings, source and target.

    Returns:
        Tuple of two paths; None if it is not such a folder.

    Raises:
        InputError: if the name is not of that form, if the folder has no
            such files, or if a language or split is not there, naming those
            that are.
    """
    parsed = _parse(name, folder, split)
    place = parsed.place
    if not place.is_dir() or (place / "dataset_info.json").exists():
        return None
    found: dict[str, dict[str, Path]] = {}
    for path in sorted(place.glob("*.*.txt")):
        parts = path.name.split(".")
        if len(parts) == 3 and path.is_file():
            found.setdefault(parts[1], {})[parts[0]] = path
    if not found:
        raise InputError(
            f"tfds: {place}: no files like en.train.txt (LANGUAGE.SPLIT.txt)"
        )
    part = _choose(parsed.splits, found, str(place))
    known = sorted(found[part])
    if languages is None:
        raise InputError(
            f"data.languages: which two of {', '.join(known)} of {place}?"
        )
    source, target = (
        found[part][_language(code, known, f"{place}, {part},")]
        for code in languages
    )
    return source, target


def open_dataset(name: str, folder: str | Path, split: str) -> tuple[Any, str]:
    """Finds a dataset, downloading it at first use.

    Args:
        name: string. NAME/CONFIG[:VERSION][:SPLIT] of TensorFlow Datasets,
            or the path of a folder with a dataset that it has prepared.
        folder: string or path. What a relative path is relative to.
        split: string. "train", "valid" or "test", if `name` has none.

    Returns:
        Tuple of a dataset builder and the name of the split.

    Raises:
        InputError: if the name is not of that form, if there is no such
            dataset or split, or if it cannot be downloaded, with the address.
    """
    parsed = _parse(name, folder, split)
    import_tensorflow()
    import tensorflow_datasets as tfds

    if parsed.place.is_dir():
        try:
            builder = tfds.builder_from_directory(parsed.place)
        except Exception as error:  # whatever is wrong with the files
            raise InputError(
                f"tfds: {parsed.place}: {_first_line(error)}"
            ) from None
    else:
        builder = _open_named(parsed)
    splits = builder.info.splits
    if len(parsed.splits) == 1:  # it may be a part, as in train[:10%]
        try:
            splits[parsed.splits[0]]
        except Exception as error:
            raise InputError(
                f"tfds: {parsed.path} has no split {parsed.splits[0]} "
                f"({_first_line(error)}); it has {', '.join(splits)}"
            ) from None
        return builder, parsed.splits[0]
    return builder, _choose(parsed.splits, splits, parsed.path)


def _choose(splits: tuple[str, ...], known: Iterable[str], name: str) -> str:
    for split in splits:
        if split in known:
            return split
    raise InputError(
        f"tfds: {name} has no split {' or '.join(splits)}; "
        f"it has {', '.join(known)}"
    )


def _open_named(name: _Name) -> Any:
    import tensorflow_datasets as tfds

    full = name.path + (f":{name.version}" if name.version else "")
    try:
        builder = tfds.builder(full)
    except tfds.core.DatasetNotFoundError:
        raise InputError(
            f"tfds: {full}: no such dataset in TensorFlow Datasets "
            f"{tfds.__version__}, and no folder {name.place}; {LOCAL}"
        ) from None
    except Exception as error:  # a name or a configuration that cannot be
        raise InputError(
            f"tfds: {full}: no folder {name.place}, and no name of a dataset "
            f"({_first_line(error)}); {LOCAL}"
        ) from None
    try:
        builder.download_and_prepare()
    except Exception as error:  # whatever network, server or archive do
        raise InputError(
            f"tfds: {full} could not be downloaded from "
            f"{_address(error) or builder.info.homepage} "
            f"({type(error).__name__}: {_first_line(error)}); {LOCAL}"
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


def dataset_files(builder: Any) -> list[Path]:
    """The files of a dataset.

    Args:
        builder: what `open_dataset` gave.

    Returns:
        sorted list of paths.
    """
    return sorted(p for p in Path(builder.data_path).iterdir() if p.is_file())


def read_dataset(
    builder: Any, part: str, languages: tuple[str, str] | None
) -> Iterator[Pair]:
    """Reads a split.

    Args:
        builder: what `open_dataset` gave.
        part: string. Name of the split.
        languages: tuple of two strings, source and target; None: those that
            the dataset names.

    Yields:
        Tuples (source sentence, target sentence).

    Raises:
        InputError: if a language is missing, naming those that there are, or
            if the dataset cannot be read.
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
    import tensorflow as tf

    try:
        dataset = builder.as_dataset(split=part, shuffle_files=False)
        for batch in tfds.as_numpy(dataset.batch(ROWS)):
            for source, target in zip(*(batch[k] for k in keys), strict=True):
                yield source.decode("utf-8"), target.decode("utf-8")
    except (tf.errors.OpError, OSError, ValueError) as error:
        raise InputError(
            f"tfds: {name}, {part}: {_first_line(error)}"
        ) from None


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
