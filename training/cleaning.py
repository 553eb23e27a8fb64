"""Mends text and finds the pairs that teach nothing, some thousand at once.

Each rule looks at a whole block first and at single sentences only where the
block holds something for it: most blocks are clean.
"""

import html
import operator
import unicodedata
import zlib
from collections.abc import Iterable, Iterator
from typing import NamedTuple

import langcodes
import numpy as np
import regex

from tfxformer.errors import InputError
from training.config import CleaningConfig
from training.report import CorpusReport
from training.sources import Rows, UndecodedRows

# Tab and NUL are always separators to us or to other programs.
SEPARATORS = regex.compile(r"[\t\0]")
CONTROL = regex.compile(r"[\0-\x09\x0b-\x1f\x7f-\x9f\ufeff]")
ESCAPE = regex.compile(r"&(?:[A-Za-z]\w{1,30}|#\d+|#[xX][\da-fA-F]+);")
# First bytes in UTF-8 of all letters but Latin ones, and of some of these.
OTHER_SCRIPTS = bytes(range(0xCD, 0xF5))
RIGHT_LETTERS = 0.2  # least share of letters in the script of the language
LETTER = regex.compile(r"\p{L}")
NO_LANGUAGE = regex.compile("und|mul|zxx|mis|q[a-t][a-z]")
SCRIPTS = {
    "Hans": ("Han",),
    "Hant": ("Han",),
    "Jpan": ("Han", "Hiragana", "Katakana"),
    "Kore": ("Hangul", "Han"),
    "Hanb": ("Han", "Bopomofo"),
    "Aran": ("Arab",),  # Nastaliq
    "Latf": ("Latn",),  # Fraktur
    "Latg": ("Latn",),  # Gaelic
}
MAX_KNOWN_PAIRS = 1 << 26  # 8 bytes each; older ones are forgotten


class Cleaned(NamedTuple):
    """A block of clean pairs, ready for a file; M of them are left.

    Attributes:
        rows: list of M strings, one for each pair: source, tab, target.
        keys: int64 `(M,)`, as `pair_keys` gives them.
        report: a `CorpusReport` of what was changed and dropped; it does not
            count pairs that were read or kept.
    """

    rows: list[str]
    keys: np.ndarray
    report: CorpusReport


class Cleaner:
    """Applies the rules of a recipe to `Rows`, a row being an aligned pair.

    Duplicates, which may be in different blocks, are found with `KnownPairs`;
    what is too long or lopsided, by `PairTokenizer`.

    Args:
        rules: a `CleaningConfig`.
        languages: tuple of two language codes, of the source and the target;
            None: any script is right.
        held_out: iterable of strings. Source sentences of the validation and
            test text.

    Raises:
        InputError: if a language is unknown, or nothing is known of its
            script.
    """

    def __init__(
        self,
        rules: CleaningConfig,
        languages: tuple[str, str] | None = None,
        held_out: Iterable[str] = (),
    ):
        self.rules = rules
        self.held_out = frozenset(map(comparable, held_out))
        self.scripts = tuple(
            script_of(code) for code in languages or () if rules.script
        )

    def __call__(self, undecoded: Rows | UndecodedRows) -> Cleaned:
        """Cleans a block.

        Args:
            undecoded: a block of rows, as `read_undecoded` gives them.

        Returns:
            `Cleaned`: what is left, and what was changed and dropped.

        Raises:
            InputError: if it is not UTF-8, saying where.
        """
        rows = undecoded.decode()
        report = CorpusReport()
        changed: dict[str, set[int]] = {}
        escaped: set[int] = set()
        sources, targets = (self._mend(side, changed, escaped) for side in rows)
        report.changed = {what: len(lines) for what, lines in changed.items()}
        report.escaped = len(escaped)
        dropped = dict(self._useless(sources, targets))
        if dropped:
            for index in sorted(dropped):
                pair = (sources[index], targets[index])
                report.drop(dropped[index], pair)
            kept = [i for i in range(len(sources)) if i not in dropped]
            sources = [sources[i] for i in kept]
            targets = [targets[i] for i in kept]
        joined = list(map("\t".join, zip(sources, targets, strict=True)))
        return Cleaned(joined, pair_keys(sources, targets), report)

    def _mend(
        self, side: list[str], changed: dict[str, set[int]], escaped: set[int]
    ) -> list[str]:
        """One side with what the rules repair; notes which lines changed."""

        def change(new: list[str], what: str) -> list[str]:
            rows = {row for row, line in enumerate(side) if line != new[row]}
            if rows:
                changed.setdefault(what, set()).update(rows)
            return new

        if self.rules.unescape:
            new = [ESCAPE.sub(_unescape, line) for line in side]
            side = change(new, "unescaped")
        elif "&" in "".join(side):
            escaped.update(
                row
                for row, line in enumerate(side)
                if "&" in line and ESCAPE.search(line)
            )
        if self.rules.unicode is not None:
            new = [unicodedata.normalize(self.rules.unicode, s) for s in side]
            side = change(new, "normalized")
        pattern = CONTROL if self.rules.control_characters else SEPARATORS
        if not all(map(str.isprintable, side)):
            new = [
                line if line.isprintable() else pattern.sub(" ", line)
                for line in side
            ]
            if self.rules.control_characters:
                side = change(new, "without control characters")
            else:
                side = new
        return list(map(str.strip, side))

    def _useless(
        self, sources: list[str], targets: list[str]
    ) -> Iterator[tuple[int, str]]:
        """Indices of pairs to drop and why; the last reason counts."""
        rules = self.rules
        if rules.overlap and self.held_out:
            keys = list(map(comparable, sources))
            if not self.held_out.isdisjoint(keys):
                yield from _marked(
                    (key in self.held_out for key in keys),
                    "in the validation or test text",
                )
        for wrong, side in zip(self.scripts, (sources, targets), strict=False):
            for row in wrong.find(side):
                yield row, "wrong script"
        if rules.identical:
            equal = list(map(operator.eq, sources, targets))
            if True in equal:
                yield from _marked(equal, "untranslated")
        if rules.empty and not (all(sources) and all(targets)):
            pairs = zip(sources, targets, strict=True)
            yield from _marked(
                (not (source and target) for source, target in pairs),
                "empty on a side",
            )


def _unescape(match: regex.Match) -> str:
    # Not a line feed, which ends a sentence: &#10;
    return html.unescape(match[0]).replace("\n", " ")


def _marked(flags: Iterable[bool], reason: str) -> Iterator[tuple[int, str]]:
    return ((row, reason) for row, flag in enumerate(flags) if flag)


# A sentence as it is compared with the validation and test text.
comparable = str.casefold


class ScriptTest:
    """Finds sentences in which under a fifth of the letters are right.

    Names and quotations may be in another script, and their letters are many
    beside those of a script that spells a word with one.

    Args:
        scripts: tuple of strings: Unicode's names of the right scripts.

    Raises:
        regex.error: if there is no script of such a name.
    """

    def __init__(self, scripts: tuple[str, ...]):
        inside = "".join(rf"\p{{scx={script}}}" for script in scripts)
        self.right = regex.compile(rf"[{inside}]")
        self.is_latin = scripts == ("Latn",)

    def find(self, side: list[str]) -> list[int]:
        """Looks for wrong sentences.

        Args:
            side: list of strings.

        Returns:
            list of ints: the indices of the wrong ones.
        """
        if self.is_latin:
            text = "".join(side).encode()
            if len(text.translate(None, OTHER_SCRIPTS)) == len(text):
                return []
            return [
                row
                for row, sentence in enumerate(side)
                if not sentence.isascii() and self(sentence)
            ]
        return [row for row, sentence in enumerate(side) if self(sentence)]

    def __call__(self, sentence: str) -> bool:
        """Whether a sentence is wrong; one without letters never is.

        Args:
            sentence: string.

        Returns:
            bool.
        """
        if self.is_latin:
            try:  # quicker than to look at each letter
                sentence.encode("latin-1")
                return False
            except UnicodeEncodeError:
                pass
        letters = len(LETTER.findall(sentence))
        return len(self.right.findall(sentence)) < RIGHT_LETTERS * letters


def script_of(language: str) -> ScriptTest:
    """The test of a language: are the letters of its script?

    Args:
        language: string. A language code, such as "en" or "zh-TW".

    Returns:
        A `ScriptTest`.

    Raises:
        InputError: if there is no such language, or nothing is known of its
            script.
    """
    unknown = InputError(
        f"data.languages: {language} is no language code, as en or pt-BR"
    )
    try:
        code = langcodes.Language.get(language, normalize=False)
    except langcodes.LanguageTagError:
        raise unknown from None
    if not code.is_valid() or NO_LANGUAGE.fullmatch(code.language or "und"):
        raise unknown
    script = code.maximize().script or "Latn"
    try:
        return ScriptTest(SCRIPTS.get(script, (script,)))
    except regex.error:
        raise InputError(
            f"data.languages: {language}: nothing is known of its script "
            f"{script}; set data.cleaning.script=false"
        ) from None


def pair_keys(sources: list[str], targets: list[str]) -> np.ndarray:
    """A number for each pair, the same for equal pairs.

    Args:
        sources: list of M strings.
        targets: list of as many strings.

    Returns:
        int64 `(M,)`: the CRC of the source and of the target.
    """
    first, second = (
        np.fromiter(map(zlib.crc32, map(str.encode, side)), np.int64, len(side))
        for side in (sources, targets)
    )
    return (first << 32) ^ second


class KnownPairs:
    """Remembers the keys of pairs, 8 bytes each, up to a limit.

    Keys are kept in sorted arrays, each at least twice as long as the next,
    so that there are few to search and little to merge.

    Args:
        limit: int. Most keys; when there are more, the longest array, which
            holds the oldest, is forgotten.
    """

    def __init__(self, limit: int = MAX_KNOWN_PAIRS):
        self.limit = limit
        self._runs: list[np.ndarray] = []

    def add(self, keys: np.ndarray) -> np.ndarray:
        """Adds keys.

        Args:
            keys: int64 `(M,)`, of M pairs.

        Returns:
            bool `(M,)`: True where a key was there before, or earlier among
            these.
        """
        unique, first = np.unique(keys, return_index=True)
        known = np.ones(len(keys), bool)
        known[first] = False
        old = np.zeros(len(unique), bool)
        for run in self._runs:
            place = np.minimum(np.searchsorted(run, unique), len(run) - 1)
            old |= run[place] == unique
        known[first[old]] = True
        fresh = unique[~old]
        if len(fresh):
            while self._runs and len(self._runs[-1]) < 2 * len(fresh):
                merged = np.concatenate([self._runs.pop(), fresh])
                fresh = np.sort(merged, kind="stable")  # two sorted runs
            self._runs.append(fresh)
        while sum(map(len, self._runs)) > self.limit and len(self._runs) > 1:
            self._runs.pop(0)
        return known
