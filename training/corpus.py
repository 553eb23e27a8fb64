"""Reads parallel text, cleans it, and says what was dropped and why."""

import dataclasses
import gzip
import zlib
from collections.abc import Iterable, Iterator
from pathlib import Path

from tfxformer.errors import InputError
from tfxformer.lines import decode_lines
from training.config import Source

Pair = tuple[str, str]
MAX_EXAMPLES = 3
EXAMPLE_LENGTH = 200  # characters of a dropped sentence that are kept


@dataclasses.dataclass
class CorpusReport:
    """What was kept, dropped and why; written to `corpus.json`."""

    read: int = 0
    kept: int = 0
    dropped: dict[str, int] = dataclasses.field(default_factory=dict)
    examples: dict[str, list[Pair]] = dataclasses.field(default_factory=dict)

    def drop(self, reason: str, pair: Pair) -> None:
        self.dropped[reason] = self.dropped.get(reason, 0) + 1
        examples = self.examples.setdefault(reason, [])
        if len(examples) < MAX_EXAMPLES:
            source, target = pair
            examples.append((source[:EXAMPLE_LENGTH], target[:EXAMPLE_LENGTH]))

    def __str__(self) -> str:
        parts = [f"{self.kept:,} of {self.read:,} pairs kept"]
        parts += [f"{count:,} {why}" for why, count in self.dropped.items()]
        return "; ".join(parts)


def read_lines(path: str | Path) -> Iterator[str]:
    """Reads text, one sentence a line; only LF ends a line.

    Args:
        path: string or path. UTF-8, plain or `.gz`; a byte order mark and
            the CR of CRLF are removed.

    Yields:
        strings without line ends.

    Raises:
        InputError: naming file, line and byte where it is not UTF-8, or
            the file where it is not what its name says.
    """
    opener = gzip.open if str(path).endswith(".gz") else open
    try:
        with opener(path, "rb") as lines:
            yield from decode_lines(lines, str(path))
    except (EOFError, gzip.BadGzipFile, zlib.error) as error:
        raise InputError(
            f"{path}: not a whole gzip file ({error}); get it again"
        ) from None


def read_pairs(
    source: Source, folder: str | Path, report: CorpusReport
) -> Iterator[Pair]:
    """Reads the pairs of one source.

    Args:
        source: where the text is.
        folder: what relative file names are relative to.
        report: counts what is read, and rows that are not pairs.

    Yields:
        Tuples (source sentence, target sentence).

    Raises:
        InputError: if two files differ in length, naming both counts.
        OSError: if a file cannot be read.
    """
    if source.phrasebook is not None:
        from training.phrasebook import generate

        pairs: Iterable[Pair] = generate(source.phrasebook)
    elif source.tsv is not None:
        pairs = _read_tsv(Path(folder) / source.tsv, report)
    else:
        assert source.source and source.target  # Source checks it
        pairs = _read_aligned(
            Path(folder) / source.source, Path(folder) / source.target
        )
    for pair in pairs:
        report.read += 1
        yield pair


def _read_aligned(source_path: Path, target_path: Path) -> Iterator[Pair]:
    sources, targets = read_lines(source_path), read_lines(target_path)
    count = 0
    for source in sources:
        target = next(targets, None)
        if target is None:
            break
        count += 1
        yield source, target
    else:
        source = None
    extra_sources = 0 if source is None else 1 + sum(1 for _ in sources)
    extra_targets = sum(1 for _ in targets)
    if extra_sources or extra_targets:
        raise InputError(
            f"{source_path} has {count + extra_sources:,} lines but "
            f"{target_path} has {count + extra_targets:,}; "
            "line n of one must be the translation of line n of the other"
        )


def _read_tsv(path: Path, report: CorpusReport) -> Iterator[Pair]:
    for line in read_lines(path):
        columns = line.split("\t")
        if len(columns) < 2:
            report.read += 1
            report.drop("not two columns", (line, ""))
            continue
        yield columns[0], columns[1]


def clean(
    pairs: Iterable[Pair], report: CorpusReport, drop_duplicates: bool
) -> Iterator[Pair]:
    """Strips sentences and drops pairs that teach nothing.

    Args:
        pairs: tuples (source sentence, target sentence).
        report: counts what is dropped.
        drop_duplicates: bool. Keep only the first of equal pairs.

    Yields:
        Tuples (source sentence, target sentence).
    """
    seen: set[int] = set()
    for pair in pairs:
        pair = (_tidy(pair[0]), _tidy(pair[1]))
        if not pair[0] or not pair[1]:
            report.drop("empty on a side", pair)
            continue
        if drop_duplicates:
            key = hash(pair)
            if key in seen:
                report.drop("duplicate", pair)
                continue
            seen.add(key)
        yield pair


def _tidy(sentence: str) -> str:
    # NUL and tab are separators to other programs, and to ours white space.
    return sentence.replace("\0", " ").replace("\t", " ").strip()
