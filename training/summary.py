"""What an inspection found, in 80 columns."""

import textwrap
import unicodedata
from collections.abc import Iterator

import numpy as np

from training.config import Recipe
from training.report import CorpusReport, Pair, SplitReport

WIDTH = 80
BAR = 20
BINS = 14
STEPS = [m * 10**n for n in range(8) for m in (1, 2, 5)]


def summary(
    recipe: Recipe,
    reports: dict[str, SplitReport],
    measured: dict,
    samples: list[Pair],
    trouble: list[str],
) -> Iterator[str]:
    """Text for a person.

    Args:
        recipe: a `Recipe`.
        reports: dict of the `SplitReport` of each split.
        measured: dict of the `Measured` of each split.
        samples: list of pairs to show.
        trouble: list of strings, as `find_trouble` gives them.

    Yields:
        Lines of at most 80 columns, unless the name of a file is longer.
    """
    yield recipe.name
    for report in reports.values():
        yield ""
        yield from _split_lines(report)
    yield ""
    yield from _length_lines(measured)
    yield ""
    yield from _histogram(measured["train"].lengths, recipe.data.max_length)
    if samples:
        yield from ("", "Samples of the training text")
        for source, target in samples:
            yield f"  {shorten(source, WIDTH - 2)}"
            yield f"    {shorten(target, WIDTH - 4)}"
    yield ""
    yield "Likely trouble" if trouble else "Likely trouble: none found"
    for line in trouble:
        yield from textwrap.wrap(
            line,
            WIDTH,
            initial_indent="- ",
            subsequent_indent="  ",
            break_long_words=False,
            break_on_hyphens=False,
        )


def _split_lines(report: SplitReport) -> Iterator[str]:
    if len(report.sources) == 1:
        yield f"{report.split} ({report.sources[0].name})"
        yield from _source_lines(report.sources[0], "  ")
        return
    yield report.split
    yield f"  {_counts(report.total())}"
    for source in report.sources:
        yield f"  {source.name}"
        yield from _source_lines(source, "    ")


def _counts(report: CorpusReport) -> str:
    kept = f"{report.kept:,} kept ({share(report.kept, report.read)})"
    return f"{report.read:,} pairs read, {kept}"


def share(count: int, total: int) -> str:
    """A percentage that is 0 or 100 only where it is exactly so.

    Args:
        count: int.
        total: int. Of 0, any share is 0.

    Returns:
        string, such as "3.2%" or "under 0.1%".
    """
    tenths = round(1000 * count / total) if total else 0
    if tenths == 0 and count:
        return "under 0.1%"
    if tenths == 1000 and count < total:
        return "over 99.9%"
    return f"{tenths / 10:.1f}%"


def _source_lines(report: CorpusReport, indent: str) -> Iterator[str]:
    yield f"{indent}{_counts(report)}"
    for kind, counts in (
        ("dropped", report.dropped),
        ("changed", report.changed),
    ):
        for what, count in sorted(counts.items(), key=lambda item: -item[1]):
            some = f"{count:,} ({share(count, report.read)})"
            yield f"{indent}{kind} {some}: {what}"
            if kind == "dropped":
                for pair in report.examples.get(what, ()):
                    yield f"{indent}  {_pair(pair, WIDTH - len(indent) - 2)}"


def _pair(pair: Pair, width: int) -> str:
    half = (width - 3) // 2
    source, target = (shorten(sentence, half) for sentence in pair)
    return f"{source} | {target}".rstrip()


def shorten(text: str, width: int) -> str:
    """The beginning of a text, as much as fits.

    Args:
        text: string.
        width: int. Columns of a terminal; Chinese characters take two.

    Returns:
        A string without characters that a terminal obeys, with ... at its
        end if something is missing.
    """
    text = "".join(c if c.isprintable() else " " for c in text[: width + 1])
    if _columns(text) <= width:
        return text
    while _columns(text) > width - 3:
        text = text[:-1]
    return f"{text}..."


def _columns(text: str) -> int:
    return sum(
        0
        if unicodedata.combining(character)
        else 1 + (unicodedata.east_asian_width(character) in "WF")
        for character in text
    )


def _length_lines(measured: dict) -> Iterator[str]:
    yield "Lengths in pieces, </s> included, before pairs drop out by length"
    yield (
        f"{'':14}{'mean':>8}{'median':>8}{'90%':>7}{'99%':>7}{'max':>8}"
        f"{'tokens kept':>16}"
    )
    for split, (lengths, tokens) in measured.items():
        for side, name in enumerate(("source", "target")):
            column = lengths[:, side]
            middle, many, most = np.percentile(column, [50, 90, 99])
            yield (
                f"  {split:5} {name}{column.mean():8.1f}{middle:8.0f}"
                f"{many:7.0f}{most:7.0f}{column.max():8,}{tokens[side]:16,}"
            )


def _histogram(lengths: np.ndarray, max_length: int) -> Iterator[str]:
    usual = np.percentile(lengths, 99.5, axis=0).max()
    step = next(step for step in STEPS if step * BINS >= usual)
    rows = -(-int(usual) // step)
    counts = np.stack(
        [
            np.bincount(
                np.minimum((side - 1) // step, rows), minlength=rows + 1
            )
            for side in lengths.T
        ]
    )
    yield f"{'pieces':>10}  {'source':32}  target"
    longest = counts.max()
    for row, sides in enumerate(counts.T):
        first, last = row * step + 1, (row + 1) * step
        label = f"{first:,}" if step == 1 else f"{first:,}-{last:,}"
        label = label if row < rows else f"over {first - 1:,}"
        cells = (
            f"{'#' * -(-BAR * count // longest):{BAR}} {count:11,}"
            for count in sides.tolist()
        )
        yield f"{label:>10}  {'  '.join(cells)}"
    beyond = int(np.count_nonzero(lengths.max(axis=1) > max_length))
    yield (
        f"{beyond:,} pairs ({share(beyond, len(lengths))}) are longer than "
        f"data.max_length={max_length}"
    )
