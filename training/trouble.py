"""Signs that a corpus is not what it should be, and what to do about them."""

from collections.abc import Iterable, Iterator
from typing import NamedTuple

import numpy as np
import regex

from training.cleaning import comparable, script_of
from training.config import CleaningConfig, DataConfig
from training.report import CorpusReport, SplitReport
from training.summary import share

FEW_TRAINING_PAIRS = 10_000
FEW_HELD_OUT_PAIRS = 100
TOKENIZED_SHARE = 0.3  # of sentences; French has a space before some marks
DUPLICATE_SHARE = 0.2
SCRIPT_SHARE = 0.1
LEAK_SHARE = 0.1  # of the validation and test text
# Lengths of aligned text correlate with 0.7 to 0.96 in eight languages that
# we measured; with half of the lines out of place it is 0.34 to 0.50.
ALIGNED_CORRELATION = 0.5
ALIGNED_PAIRS = 100  # fewer say nothing
ALIGNED_SPREAD = 0.2  # nor do lengths that are much alike (of the logarithms)


def _as_windows_1252(byte: int) -> str:
    return bytes([byte]).decode("cp1252", "replace").replace("\ufffd", "")


LATER = regex.escape(
    "".join(map(_as_windows_1252, range(0x80, 0xC0)))
    + "".join(map(chr, range(0x80, 0xC0)))
)
# UTF-8 that was read as Latin-1 or Windows-1252: one character for each byte.
# A capital with a tilde before it may stand at the end of a Portuguese word.
MOJIBAKE = regex.compile(
    "\ufffd"
    r"|(?<!\p{Lu})[ÂÃ][\u00a0-\u00bf]"
    rf"|â[€\x80][{LATER}]"
    rf"|(?:[\u00c2-\u00df][{LATER}]|[\u00e0-\u00ef][{LATER}]{{2}}){{2}}"
)
MARK = regex.compile(r"[,.?，。？]")
MARK_APART = regex.compile(r" [,.?，。？](?= |$)")


class Sign(NamedTuple):
    """Something to look for on either side.

    Attributes:
        pattern: a compiled expression.
        share: float. Of the pairs, from which on it is trouble.
        meaning: string. What such pairs do, for a person.
        remedy: string. What to do about it, for a person.
    """

    pattern: regex.Pattern
    share: float
    meaning: str
    remedy: str


SIGNS = (
    Sign(
        MOJIBAKE,
        0,
        "hold characters of a wrong encoding",
        "convert the file from its true encoding to UTF-8 anew, or get it "
        "again",
    ),
    Sign(
        regex.compile(r"@[-,./:&]@"),
        0.001,
        "hold joiners of a tokenizer (@-@)",
        "take the text as it was before, or detokenize it",
    ),
    Sign(
        regex.compile(r"\S@@(?: |$)|(?<= |^)\u2581|\S ##\w"),
        0.01,
        "hold marks of subwords (@@, \u2581 or ##)",
        "take the text as it was before, or join the pieces",
    ),
)


class Signs:
    """Counts, over the pairs of one source, what may be wrong with them.

    Args:
        held_out: iterable of strings. Source sentences of the validation and
            test text.
    """

    def __init__(self, held_out: Iterable[str] = ()):
        self.pairs = 0
        self.found = [0] * len(SIGNS)
        self.example = [""] * len(SIGNS)
        self.marked = [0, 0]  # sentences with a full stop or the like
        self.apart = [0, 0]  # those with a space before it
        self.leaked = 0
        self.repeated = 0
        self.lengths: list[tuple[int, int]] = []  # in characters
        self._held_out = frozenset(map(comparable, held_out))
        self._known: set[int] = set()

    def add(self, source: str, target: str) -> None:
        """Looks at a pair.

        Args:
            source: string.
            target: string.
        """
        self.pairs += 1
        for number, sign in enumerate(SIGNS):
            match = sign.pattern.search(source) or sign.pattern.search(target)
            if match:
                self.found[number] += 1
                self.example[number] = self.example[number] or match[0]
        for side, sentence in enumerate((source, target)):
            if MARK.search(sentence):
                self.marked[side] += 1
                self.apart[side] += bool(MARK_APART.search(sentence))
        self.leaked += comparable(source) in self._held_out
        key = hash((source, target))
        self.repeated += key in self._known
        self._known.add(key)
        if source and target:
            self.lengths.append((len(source), len(target)))

    def correlation(self) -> float | None:
        """Pearson's, of the logarithms of the lengths of the two sides.

        Returns:
            float, or None: too few pairs, or all about as long.
        """
        if len(self.lengths) < ALIGNED_PAIRS:
            return None
        logarithms = np.log(np.array(self.lengths))
        if logarithms.std(axis=0).min() < ALIGNED_SPREAD:
            return None
        return float(np.corrcoef(logarithms.T)[0, 1])


def find_trouble(
    data: DataConfig,
    reports: dict[str, SplitReport],
    signs: dict[str, list[Signs]],
    num_held_out: int,
) -> list[str]:
    """What is likely wrong, and what to do.

    Args:
        data: the recipe's `data`.
        reports: dict of the `SplitReport` of each split.
        signs: dict of a list of `Signs`, one for each source of a split.
        num_held_out: int. Different sentences of validation and test text.

    Returns:
        list of strings, a line each; empty if all looks well.
    """
    lines = []
    for split, report in reports.items():
        sources = report.sources
        for source, found in zip(sources, signs[split], strict=True):
            where = f"{split}, {source.name}" if len(sources) > 1 else split
            some = [*_in_text(found), *_in_report(source, data)]
            if split == "train":
                some += _repeats(found, data.cleaning)
            lines += [f"{where}: {line}" for line in some]
        lines += _few(split, report)
    lines += _leaks(reports["train"], signs["train"], num_held_out)
    return lines


def _of(count: int, total: int, what: str = "pairs") -> str:
    return f"{count:,} of {total:,} {what} ({share(count, total)})"


def _in_text(signs: Signs) -> Iterator[str]:
    if not signs.pairs:
        return
    for sign, count, example in zip(
        SIGNS, signs.found, signs.example, strict=True
    ):
        if count and count >= sign.share * signs.pairs:
            some = f"{sign.meaning}, such as {example.strip()!r}"
            yield f"{_of(count, signs.pairs)} {some}; {sign.remedy}"
    for side, marked, apart in zip(
        ("source", "target"), signs.marked, signs.apart, strict=True
    ):
        if apart and apart >= TOKENIZED_SHARE * marked:
            yield (
                f"{_of(apart, marked, f'{side} sentences with , . or ?')} have "
                "a space before it, as tokenized text has; take the text as "
                "it was before, or detokenize it"
            )
    correlation = signs.correlation()
    if correlation is not None and correlation < ALIGNED_CORRELATION:
        yield (
            f"the lengths of source and target hardly correlate "
            f"({correlation:.2f} over {len(signs.lengths):,} pairs; over 0.7 "
            "is usual), so lines may not be translations of each other; look "
            "at the samples, and whether a line is missing on one side"
        )


def _in_report(report: CorpusReport, data: DataConfig) -> Iterator[str]:
    if report.escaped:
        yield (
            f"{_of(report.escaped, report.read)} look escaped (&amp; "
            "and the like); data.cleaning.unescape=true undoes it"
        )
    dropped = report.dropped.get("wrong script", 0)
    if dropped and dropped >= SCRIPT_SHARE * report.read:
        remedy = "check data.languages"
        if _swapped(report, data):
            remedy = (
                "source and target look swapped: exchange their files, "
                "columns or fields, or the two of data.languages"
            )
        yield (
            f"{_of(dropped, report.read)} are not in the scripts of "
            f"{' and '.join(data.languages or ())}; {remedy}"
        )
    dropped = report.dropped.get("duplicate", 0)
    if dropped and dropped >= DUPLICATE_SHARE * report.read:
        yield (
            f"{_of(dropped, report.read)} were there before; is the "
            "same text named twice?"
        )


def _swapped(report: CorpusReport, data: DataConfig) -> bool:
    """Whether the dropped pairs would be right the other way round."""
    assert data.direction is not None  # or nothing is of a wrong script
    wrong_source, wrong_target = map(script_of, data.direction)
    return all(
        not wrong_source(target) and not wrong_target(source)
        for source, target in report.examples["wrong script"]
    )


def _repeats(signs: Signs, rules: CleaningConfig) -> Iterator[str]:
    repeated = signs.repeated
    if not rules.duplicates and repeated >= DUPLICATE_SHARE * signs.pairs > 0:
        yield (
            f"{_of(repeated, signs.pairs)} were there before; "
            "data.cleaning.duplicates=true drops them"
        )


def _few(split: str, report: SplitReport) -> Iterator[str]:
    kept = report.total().kept
    if split == "train" and kept < FEW_TRAINING_PAIRS:
        yield (
            f"train: few pairs ({kept:,}); text of any kind takes tens of "
            "thousands or more, and so few a small tokenizer.vocabulary_size"
        )
    elif split != "train" and kept < FEW_HELD_OUT_PAIRS:
        yield (
            f"{split}: few pairs ({kept:,}); what is measured on them is "
            "much by chance; take some hundred"
        )


def _leaks(
    report: SplitReport, signs: list[Signs], num_held_out: int
) -> Iterator[str]:
    leaked = sum(found.leaked for found in signs)
    if leaked:
        examined = sum(found.pairs for found in signs)
        yield (
            f"train: the source of {_of(leaked, examined)} is also in "
            "data.valid or data.test; data.cleaning.overlap=true drops them"
        )
    dropped = report.total().dropped.get("in the validation or test text", 0)
    if dropped and dropped >= LEAK_SHARE * num_held_out:
        yield (
            f"train: {dropped:,} pairs whose source is in data.valid or "
            f"data.test ({num_held_out:,} sentences) drop out; are those "
            "parts of data.train? Nearly the same sentences stay in it"
        )
