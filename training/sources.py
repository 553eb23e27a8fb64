"""Parallel text in every form that people have: rows of (source, target)."""

import itertools
import json
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from tfxformer.errors import InputError
from tfxformer.lines import decode_block
from training import tfds_source, tmx
from training.config import DataConfig, Source
from training.files import (
    ReadProgress,
    find_aligned,
    find_files,
    read_blocks,
    read_raw_blocks,
)
from training.report import CorpusReport, Pair

ROWS = 8192  # of sources that come pair by pair


class Rows(NamedTuple):
    """Aligned sentences; none holds a line feed.

    Attributes:
        sources: list of strings.
        targets: list of as many strings.
    """

    sources: list[str]
    targets: list[str]

    @property
    def num_pairs(self) -> int:
        """Sentences on either side."""
        return len(self.sources)

    def swap(self) -> "Rows":
        """The same with source and target exchanged."""
        return Rows(self.targets, self.sources)

    def decode(self) -> "Rows":
        """The same: they are decoded."""
        return self


class Lines(NamedTuple):
    """Some lines of a text file, cheap to hand to another process.

    Attributes:
        block: bytes. Whole lines with their ends; the last one may lack it.
        name: string. The path of the file.
        first_line: int. Number of the first line, from 1.
    """

    block: bytes
    name: str
    first_line: int


class UndecodedRows(NamedTuple):
    """Aligned lines of two files.

    Attributes:
        source: `Lines`.
        target: as many `Lines`.
        num_pairs: int. How many.
    """

    source: Lines
    target: Lines
    num_pairs: int

    def swap(self) -> "UndecodedRows":
        """The same with source and target exchanged."""
        return UndecodedRows(self.target, self.source, self.num_pairs)

    def decode(self) -> Rows:
        """The sentences.

        Returns:
            `Rows`.

        Raises:
            InputError: naming the line and the byte that are not UTF-8.
        """
        return Rows(decode_block(*self.source), decode_block(*self.target))


def read_rows(
    source: Source, data: DataConfig, split: str, report: CorpusReport
) -> Iterator[Rows]:
    """Like `read_undecoded`, all decoded.

    Args:
        source: where the text is.
        data: the recipe's `data`.
        split: "train", "valid" or "test".
        report: counts what is read, and rows that are not pairs.

    Yields:
        `Rows`.

    Raises:
        InputError: if the source is damaged or not UTF-8, saying where.
        OSError: if a file cannot be read.
    """
    for rows in read_undecoded(source, data, split, report, ReadProgress()):
        yield rows.decode()


def read_undecoded(
    source: Source,
    data: DataConfig,
    split: str,
    report: CorpusReport,
    progress: ReadProgress,
) -> Iterator[Rows | UndecodedRows]:
    """Reads one source of a recipe, some thousand pairs at a time.

    Args:
        source: where the text is.
        data: the recipe's `data`: folder, languages, direction.
        split: "train", "valid" or "test".
        report: counts what is read, and rows that are not pairs.
        progress: a `ReadProgress`.

    Yields:
        Rows, with source and target swapped if `data.reverse`; to be
        decoded.

    Raises:
        InputError: if the source is damaged, saying where.
        OSError: if a file cannot be read.
    """
    folder = data.folder
    rows: Iterator[Rows | UndecodedRows]
    if source.source is not None and source.target is not None:
        aligned = find_aligned(source.source, source.target, folder)
        rows = _each(
            aligned, lambda paths: _read_aligned(paths[0], paths[1], progress)
        )
    elif source.tsv is not None:
        columns = source.columns or (1, 2)
        rows = _each(
            find_files(source.tsv, folder),
            lambda path: _read_tsv(path, columns, report, progress),
        )
    elif source.jsonl is not None:
        fields = source.fields or _languages(source, data)
        rows = _each(
            find_files(source.jsonl, folder),
            lambda path: _read_jsonl(path, fields, report, progress),
        )
    elif source.tmx is not None:
        languages = _languages(source, data)
        rows = _each(
            find_files(source.tmx, folder),
            lambda path: _read_tmx(path, languages, report, progress),
        )
    elif source.tfds is not None:
        paths = tfds_source.find_text(
            source.tfds, folder, split, data.languages
        )
        if paths is not None:
            rows = _read_aligned(*paths, progress)
        else:
            builder, part = tfds_source.open_dataset(source.tfds, folder, split)
            rows = in_rows(
                tfds_source.read_dataset(builder, part, data.languages)
            )
    else:
        from training.phrasebook import generate

        assert source.phrasebook is not None  # Source checks it
        rows = in_rows(generate(source.phrasebook))
    for some in rows:
        report.read += some.num_pairs
        yield some.swap() if data.reverse else some


def source_files(source: Source, data: DataConfig, split: str) -> list[Path]:
    """The files that a source consists of, to see whether it has changed.

    A dataset of TensorFlow Datasets is downloaded at first use.

    Args:
        source: where the text is.
        data: the recipe's `data`: folder and languages.
        split: "train", "valid" or "test".

    Returns:
        list of paths. A file that is named without * and ? may not be there.

    Raises:
        InputError: if no file matches, or if the dataset, its split or a
            language is not there.
    """
    if source.source is not None and source.target is not None:
        pairs = find_aligned(source.source, source.target, data.folder)
        return list(itertools.chain.from_iterable(pairs))
    if source.tfds is not None:
        paths = tfds_source.find_text(
            source.tfds, data.folder, split, data.languages
        )
        if paths is not None:
            return list(paths)
        builder, _ = tfds_source.open_dataset(source.tfds, data.folder, split)
        return tfds_source.dataset_files(builder)
    if source.phrasebook is not None:
        from training import phrasebook

        return sorted(Path(phrasebook.__file__).parent.glob("*.py"))
    pattern = source.tsv or source.jsonl or source.tmx
    assert pattern is not None  # Source checks it
    return find_files(pattern, data.folder)


def in_rows(pairs: Iterable[Pair]) -> Iterator[Rows]:
    """Gathers single pairs to `Rows`; line feeds in them become spaces.

    Args:
        pairs: iterable of tuples (source sentence, target sentence).

    Yields:
        `Rows` of at most 8,192 pairs. All can be encoded: half of a surrogate
        pair becomes a question mark.
    """
    pairs = iter(pairs)
    while some := list(itertools.islice(pairs, ROWS)):
        sources, targets = zip(*some, strict=True)
        yield Rows(*([_text(s) for s in side] for side in (sources, targets)))


def _text(sentence: str) -> str:
    try:
        sentence.encode("utf-8")
    except UnicodeEncodeError:  # half of a surrogate pair, as JSON can spell
        sentence = sentence.encode("utf-8", "replace").decode("utf-8")
    return sentence.replace("\n", " ")


def _each(files, read) -> Iterator[Any]:
    return itertools.chain.from_iterable(map(read, files))


def _languages(source: Source, data: DataConfig) -> tuple[str, str]:
    if data.languages is None:
        raise InputError(
            f"data.languages: {source} needs it, as in data.languages=[en, es]"
        )
    return data.languages


def _read_aligned(
    source_path: Path, target_path: Path, progress: ReadProgress
) -> Iterator[UndecodedRows]:
    blocks = read_raw_blocks(source_path, progress)
    target_lines = itertools.chain.from_iterable(
        read_raw_blocks(target_path, progress)
    )
    count = 0
    for sources in blocks:
        targets = list(itertools.islice(target_lines, len(sources)))
        if len(targets) < len(sources):
            break
        yield UndecodedRows(
            Lines(b"".join(sources), str(source_path), count + 1),
            Lines(b"".join(targets), str(target_path), count + 1),
            len(sources),
        )
        count += len(sources)
    else:
        sources, targets = [], []
    source_count = count + len(sources) + sum(map(len, blocks))
    target_count = count + len(targets) + sum(1 for _ in target_lines)
    if source_count != target_count:
        raise InputError(
            f"{source_path} has {source_count:,} lines but "
            f"{target_path} has {target_count:,}; "
            "line n of one must be the translation of line n of the other"
        )


def _read_tsv(
    path: Path,
    columns: tuple[int, int],
    report: CorpusReport,
    progress: ReadProgress,
) -> Iterator[Rows]:
    first, second = (column - 1 for column in columns)
    needed = max(columns)
    for lines in read_blocks(path, progress):
        rows = Rows([], [])
        for line in lines:
            cells = line.split("\t")
            if len(cells) < needed:
                report.read += 1
                report.drop("missing column", (line, ""))
            else:
                rows.sources.append(cells[first])
                rows.targets.append(cells[second])
        yield rows


def _read_jsonl(
    path: Path,
    fields: tuple[str, str],
    report: CorpusReport,
    progress: ReadProgress,
) -> Iterator[Rows]:
    ways = [field.split(".") for field in fields]
    number, found = 0, False
    known: list[str] = []  # fields, for the error
    for lines in read_blocks(path, progress):
        pairs: list[Pair] = []
        for line in lines:
            number += 1
            if not line.strip():
                continue
            try:
                record = json.loads(line, parse_int=float)  # any length
            except (ValueError, RecursionError) as error:
                raise InputError(
                    f"{path}:{number}: not JSON: {error}"
                ) from None
            source, target = (_field(record, way) for way in ways)
            if isinstance(source, str) and isinstance(target, str):
                pairs.append((source, target))
            else:
                known = known or list(
                    record if isinstance(record, dict) else ()
                )
                report.read += 1
                report.drop("missing field", (line, ""))
        found = found or bool(pairs)
        yield from in_rows(pairs)
    if number and not found:
        raise InputError(
            f"{path}: no line has text in both {fields[0]} and {fields[1]} "
            "(fields, or data.languages); fields in it: "
            f"{', '.join(known) or 'none'}"
        )


def _field(record: Any, way: Sequence[str]) -> Any:
    for key in way:
        record = record.get(key) if isinstance(record, dict) else None
    return record


def _read_tmx(
    path: Path,
    languages: tuple[str, str],
    report: CorpusReport,
    progress: ReadProgress,
) -> Iterator[Rows]:
    seen: set[str] = set()
    found = False
    for rows in in_rows(
        tmx.read_pairs(path, languages, seen, report, progress)
    ):
        found = True
        yield rows
    if not found:
        known = ", ".join(sorted(seen - {""})) or "none"
        raise InputError(
            f"{path}: no unit in both {languages[0]} and {languages[1]} "
            f"(data.languages); languages in it: {known}"
        )
