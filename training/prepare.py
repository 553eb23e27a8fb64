"""From the sources of a recipe to token ids: in memory, or in shards."""

import collections
import contextlib
import dataclasses
import errno
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from tfxformer.errors import InputError
from tfxformer.run_folder import load_tokenizers, read_config
from tfxformer.tokenizer import Tokenizer
from training import shards
from training.cleaning import Cleaner, KnownPairs
from training.config import DataConfig, Recipe
from training.files import ReadProgress
from training.fingerprint import check_unchanged, describe, find_all_files
from training.memory import release_freed_memory
from training.parallel import ordered_map
from training.progress import byte_bar, say
from training.report import CorpusReport, Pair, SplitReport
from training.shards import Corpus, Tokenizers
from training.sources import (
    Rows,
    UndecodedRows,
    read_rows,
    read_undecoded,
)
from training.spool import AlreadyPrepared, Spool
from training.tokens import Block, PairTokenizer, ShardDealer, concatenate

IN_MEMORY_BYTES = 1 << 26  # of clean text; a longer corpus goes into shards
TOKENIZER_PAIRS = 200_000  # that a tokenizer is trained on


class Prepared(NamedTuple):
    """All that training needs to know of the text.

    Attributes:
        tokenizers: tuple of the source's and the target's `Tokenizer`; twice
            the same one if the vocabulary is shared.
        train: a `Corpus`.
        valid: a `Corpus`.
        valid_pairs: list of pairs: the validation text, also those that are
            too long for `valid`.
        reports: dict of the `SplitReport` of each split: "train", "valid"
            and, if the recipe has it, "test".
    """

    tokenizers: Tokenizers
    train: Corpus
    valid: Corpus
    valid_pairs: list[Pair]
    reports: dict[str, SplitReport]


def prepare(recipe: Recipe, tokenizers: Tokenizers | None = None) -> Prepared:
    """Reads, cleans and tokenizes the text of a recipe.

    Up to 64 MiB of clean text stay in memory. More goes into TFRecord files
    in a folder of `data.prepared`, which is used again as long as the files,
    the rules and the tokenizer's settings stay the same.

    Args:
        recipe: a `Recipe`.
        tokenizers: those to use; by default those of the run that the recipe
            starts from, or else new ones are trained.

    Returns:
        `Prepared`.

    Raises:
        InputError: if a source is damaged or changes, if nothing is left, if
            the text does not give a vocabulary of the recipe's size, if
            `start_from` is no run, or if the disk is full. No half-prepared
            folder is left behind.
        OSError: if a file cannot be read.
    """
    data = recipe.data
    files = find_all_files(data)
    size = sum(size for size, _ in files.values())
    say(f"Reading {len(files):,} files, {size / 1e6:,.1f} MB")
    valid_pairs, valid_report = read_held_out(data, "valid")
    test_pairs, test_report = read_held_out(data, "test")
    inherited = None
    if recipe.start_from is not None:
        read_config(Path(recipe.start_from))  # or it is not a run
        inherited = load_tokenizers(Path(recipe.start_from))
    manifest = describe(recipe, files, inherited)
    tokenizers = tokenizers or inherited
    folder = Path(data.prepared) / manifest["fingerprint"]
    weights = [source.weight for source in data.train]
    if folder.exists():
        found, train, report = shards.read_folder(folder, weights)
        say(f"Nothing has changed: using {folder}")
    else:
        held_out = [source for source, _ in valid_pairs + test_pairs]
        try:
            found, train, report = _prepare_train(
                recipe, held_out, files, folder, manifest, tokenizers
            )
        except AlreadyPrepared:
            found, train, report = shards.read_folder(folder, weights)
    valid = _tokenize_held_out(valid_pairs, found, data, valid_report)
    release_freed_memory()
    reports = {"train": report, "valid": valid_report}
    if data.test:
        reports["test"] = test_report
    return Prepared(found, train, valid, valid_pairs, reports)


def read_held_out(
    data: DataConfig, split: str
) -> tuple[list[Pair], SplitReport]:
    """Reads validation or test text: mended, but only empty pairs dropped.

    Args:
        data: the recipe's `data`.
        split: "valid" or "test".

    Returns:
        Tuple of a list of pairs and a `SplitReport`.

    Raises:
        InputError: if a source is damaged or empty.
    """
    rules = dataclasses.replace(
        data.cleaning, identical=False, overlap=False, script=False
    )
    cleaner = Cleaner(rules)
    pairs: list[Pair] = []
    reports = []
    for source in getattr(data, split):
        report = CorpusReport(str(source))
        for rows in read_rows(source, data, split, report):
            cleaned = cleaner(rows)
            report.add(cleaned.report)
            report.kept += len(cleaned.rows)
            pairs += [_pair(row) for row in cleaned.rows]
        reports.append(report)
        if not report.kept:
            raise InputError(f"data.{split}: no pairs in {source} ({report})")
    return pairs, SplitReport(split, reports)


def _pair(row: str) -> Pair:
    source, target = row.split("\t")
    return source, target


def _tokenize_held_out(
    pairs: list[Pair],
    tokenizers: Tokenizers,
    data: DataConfig,
    report: SplitReport,
) -> Corpus:
    block = held_out_block(pairs, report)
    tokenize = PairTokenizer(
        *tokenizers, held_out_rules(data), len(report.sources)
    )
    tokenized, reports = tokenize(block)
    add_reports(reports, report)
    _check_some_left(report)
    tokenized.origins[:] = 0  # weights are for training
    return shards.in_memory(tokenized, [1.0])


def held_out_rules(data: DataConfig) -> DataConfig:
    """The rules for the pieces of validation and test text: any ratio.

    Args:
        data: the recipe's `data`.

    Returns:
        A `DataConfig`, in which only `cleaning.max_ratio` is another.
    """
    rules = dataclasses.replace(data.cleaning, max_ratio=None)
    return dataclasses.replace(data, cleaning=rules)


def held_out_block(pairs: list[Pair], report: SplitReport) -> Block:
    """What `read_held_out` gave as one block, to be counted anew.

    Args:
        pairs: list of pairs.
        report: the `SplitReport` of these pairs; its pairs kept become 0, for
            tokenizing counts what it keeps.

    Returns:
        A `Block`.
    """
    counts = [source.kept for source in report.sources]
    for source in report.sources:
        source.kept = 0
    lines = [f"{source}\t{target}\n".encode() for source, target in pairs]
    origins = np.repeat(np.arange(len(counts), dtype=np.int32), counts)
    return Block(0, lines, origins)


def clean_train(
    data: DataConfig,
    held_out: list[str],
    files: dict[Path, tuple[int, int]],
    spool: Spool,
) -> SplitReport:
    """Reads and cleans the training text, several blocks at once.

    Args:
        data: the recipe's `data`.
        held_out: list of strings. Sources of the validation and test text.
        files: dict by path of size and time, to see changes.
        spool: where the clean text goes.

    Returns:
        A `SplitReport`.

    Raises:
        InputError: if a source is damaged, changes while it is read, or if
            nothing is left.
    """
    cleaner = Cleaner(data.cleaning, data.direction, held_out)
    reports = [CorpusReport(str(source)) for source in data.train]
    known = KnownPairs()
    origins: collections.deque[int] = collections.deque()  # of blocks under way

    def blocks(progress: ReadProgress) -> Iterator[Rows | UndecodedRows]:
        for origin, source in enumerate(data.train):
            report = reports[origin]
            for rows in read_undecoded(source, data, "train", report, progress):
                origins.append(origin)
                yield rows

    with byte_bar("reading", sum(size for size, _ in files.values())) as bar:
        for cleaned in ordered_map(cleaner, blocks(ReadProgress(bar))):
            origin = origins.popleft()
            rows = cleaned.rows
            reports[origin].add(cleaned.report)
            if data.cleaning.duplicates:
                seen = known.add(cleaned.keys)
                if seen.any():
                    for row in np.flatnonzero(seen):
                        reports[origin].drop("duplicate", _pair(rows[row]))
                    rows = [rows[row] for row in np.flatnonzero(~seen)]
            spool.write(rows, origin)
    check_unchanged(files)
    report = SplitReport("train", reports)
    if not len(spool):
        names = ", ".join(map(str, data.train))
        hint = ""
        if report.total().dropped.get("wrong script"):
            hint = "; is data.languages source first, target second?"
        raise InputError(
            f"data.train: no pairs in {names} ({report.total()}){hint}"
        )
    return report


def _prepare_train(
    recipe: Recipe,
    held_out: list[str],
    files: dict[Path, tuple[int, int]],
    folder: Path,
    manifest: dict[str, Any],
    tokenizers: Tokenizers | None,
) -> tuple[Tokenizers, Corpus, SplitReport]:
    data = recipe.data
    weights = [source.weight for source in data.train]
    incomplete = folder.with_name(folder.name + ".incomplete")
    spool = Spool(incomplete, folder, len(weights), IN_MEMORY_BYTES)
    with spool, explain_full_disk(incomplete, lambda: 2 * spool.bytes):
        report = clean_train(data, held_out, files, spool)
        tokenizers = tokenizers or train_tokenizers(recipe, spool)
        release_freed_memory()
        tokenize = PairTokenizer(*tokenizers, data, len(weights))
        blocks = spool.blocks("tokenizing")
        if not spool.on_disk:
            tokenized = []
            for pairs, reports in ordered_map(tokenize, blocks, alone=2):
                tokenized.append(pairs)
                add_reports(reports, report)
            _check_some_left(report)
            corpus = shards.in_memory(concatenate(tokenized), weights)
            return tokenizers, corpus, report
        count = shards.number_of_shards(len(spool))
        say(f"{len(spool):,} pairs go into {count} shards in {folder}")

        def dealt():
            deal = ShardDealer(tokenize, count)
            for records, indices, reports in ordered_map(deal, blocks, alone=2):
                yield records, indices
                add_reports(reports, report)

        paths, indices = shards.write_shards(dealt(), incomplete, count)
        _check_some_left(report)
        spool.remove_file()
        shards.write_folder(
            incomplete, manifest, tokenizers, paths, indices, report
        )
        incomplete.rename(folder)
    return shards.read_folder(folder, weights)


def _check_some_left(report: SplitReport) -> None:
    if not report.total().kept:
        raise InputError(
            f"data.{report.split}: no pairs are left ({report.total()})"
        )


def add_reports(block_reports: list[CorpusReport], report: SplitReport) -> None:
    """Adds the counts of a block, by source, to those of a split.

    Args:
        block_reports: list of `CorpusReport`s, one for each source.
        report: the `SplitReport` of the split; it is changed.
    """
    for total, block_report in zip(report.sources, block_reports, strict=True):
        total.add(block_report)


@contextlib.contextmanager
def explain_full_disk(folder: Path, needed: Callable[[], int]):
    """Turns the error of a full disk into an `InputError`.

    Args:
        folder: path of a folder inside that of `data.prepared`.
        needed: function that gives the bytes written so far.

    Raises:
        InputError: if the disk is full.
    """
    try:
        yield
    except Exception as error:
        full = isinstance(error, OSError) and error.errno in (
            errno.ENOSPC,
            errno.EDQUOT,
        )
        # TensorFlow's own kind of the same error.
        if not full and "No space left on device" not in str(error):
            raise
        there = next(
            path for path in folder.absolute().parents if path.exists()
        )
        free = shutil.disk_usage(there).free
        raise InputError(
            f"{folder.parent}: the disk is full. Preparing took "
            f"{needed() / 1e6:,.0f} MB so far (training needs twice the clean "
            f"text) and {free / 1e6:,.0f} MB are free; free some, or set "
            "data.prepared to a folder on another disk"
        ) from None


def train_tokenizers(recipe: Recipe, spool: Spool) -> Tokenizers:
    """Trains the source's and the target's tokenizer; one if shared.

    Args:
        recipe: a `Recipe`.
        spool: the clean text, of which at most 200,000 pairs are used.

    Returns:
        Tuple of two `Tokenizer`s.

    Raises:
        InputError: if the text does not give a vocabulary of that size.
    """

    def learn(sentences: Iterator[str]) -> Tokenizer:
        return Tokenizer.train(
            sentences,
            recipe.tokenizer.vocabulary_size,
            recipe.tokenizer.model_type,
            recipe.tokenizer.normalization,
        )

    def sample() -> Iterator[Pair]:
        return spool.sample(TOKENIZER_PAIRS)

    if recipe.tokenizer.shared:
        shared = learn(sentence for pair in sample() for sentence in pair)
        return shared, shared
    return (
        learn(source for source, _ in sample()),
        learn(target for _, target in sample()),
    )
