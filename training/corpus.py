"""The command `python -m training.corpus RECIPE [key=value ...]`."""

import argparse
import contextlib
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np

from tfxformer.errors import InputError, exit_on_input_error
from training.config import Recipe, add_recipe_arguments, read_recipe
from training.fingerprint import find_all_files
from training.parallel import ordered_map
from training.prepare import (
    IN_MEMORY_BYTES,
    Tokenizers,
    add_reports,
    clean_train,
    explain_full_disk,
    held_out_block,
    held_out_rules,
    read_held_out,
    train_tokenizers,
)
from training.progress import say
from training.report import CorpusReport, Pair, SplitReport
from training.spool import Spool
from training.summary import summary
from training.tokens import Block, PairTokenizer
from training.trouble import Signs, find_trouble

EXAMINED_PAIRS = 100_000  # of the training text, for signs of trouble


class Measured(NamedTuple):
    """The lengths of a split of M pairs, in pieces with `</s>`.

    Attributes:
        lengths: int32 `(M, 2)`. Source and target, also of pairs that are
            dropped by their lengths.
        tokens: int64 `(2,)`. Sums over the pairs that are kept.
    """

    lengths: np.ndarray
    tokens: np.ndarray


class Inspection(NamedTuple):
    """All that the command shows.

    Attributes:
        reports: dict of the `SplitReport` of each split: "train", "valid"
            and, if the recipe has it, "test".
        measured: dict of the `Measured` of each split.
        samples: list of pairs of the training text.
        trouble: list of strings, as `find_trouble` gives them.
    """

    reports: dict[str, SplitReport]
    measured: dict[str, Measured]
    samples: list[Pair]
    trouble: list[str]


class Measure:
    """Tokenizes blocks and keeps only lengths and counts.

    Args:
        tokenize: a `PairTokenizer`.
    """

    def __init__(self, tokenize: PairTokenizer):
        self.tokenize = tokenize

    def __call__(self, block: Block) -> tuple[Measured, list[CorpusReport]]:
        """Measures a block.

        Args:
            block: a `Block`.

        Returns:
            Tuple of `Measured` and a list with a `CorpusReport` for each
            source.
        """
        pairs = self.tokenize.tokenize(block)
        kept, reports = self.tokenize.drop_useless(block, pairs)
        lengths = np.stack((pairs.source_lengths, pairs.target_lengths), axis=1)
        tokens = np.array([len(kept.source_ids), len(kept.target_ids)])
        return Measured(lengths, tokens), reports


def main(arguments: list[str] | None = None) -> None:
    """Shows what is in the text of a recipe and what may be wrong with it.

    Args:
        arguments: list of strings. The command line; None: that of this
            process.

    Raises:
        SystemExit: with status 2 and one line on standard error on bad input.
    """
    parser = argparse.ArgumentParser(
        prog="python -m training.corpus",
        description="Inspect the text of a recipe: what is dropped and why, "
        "lengths, samples and likely trouble. Nothing but a tokenizer is "
        "trained, and nothing is kept.",
        epilog="Example: python -m training.corpus training/recipes/"
        "tatoeba-en-es.yaml data.folder=tatoeba --picture tatoeba.png",
    )
    add_recipe_arguments(parser, "data.max_length=64")
    parser.add_argument(
        "--picture", metavar="FILE.png", help="also draw the lengths there"
    )
    parser.add_argument(
        "--samples",
        type=int,
        default=5,
        metavar="N",
        help="pairs to show, evenly from the training text (5)",
    )
    options = parser.parse_intermixed_args(arguments)
    with exit_on_input_error("corpus"):
        _check(options)
        recipe = read_recipe(options.recipe, options.assignments)
        inspection = inspect(recipe, options.samples)
        lines = summary(recipe, *inspection)
        if options.picture is not None:
            from training.pictures import draw_lengths

            lengths = inspection.measured["train"].lengths
            draw_lengths(lengths, recipe, options.picture)
            say(f"Wrote {options.picture}")
        if sys.stdout is not None:
            text = "".join(f"{line}\n" for line in lines)
            sys.stdout.buffer.write(text.encode("utf-8", "replace"))
            sys.stdout.flush()


def _check(options: argparse.Namespace) -> None:
    """What would otherwise go wrong after minutes of reading."""
    if options.samples < 0:
        raise InputError(
            f"--samples must be 0 or more. Received: {options.samples}"
        )
    if options.picture is not None:
        picture = Path(options.picture)
        if not picture.parent.is_dir() or picture.is_dir():
            raise InputError(f"--picture {picture}: not a file in a folder")


def inspect(recipe: Recipe, num_samples: int) -> Inspection:
    """Reads, cleans and tokenizes the text of a recipe and keeps nothing.

    Args:
        recipe: a `Recipe`.
        num_samples: int. Pairs of the training text to show.

    Returns:
        An `Inspection`.

    Raises:
        InputError: if a source is damaged or changes, if nothing is left, if
            the text does not give a vocabulary of the recipe's size, or if
            the disk is full.
        OSError: if a file cannot be read.
    """
    data = recipe.data
    files = find_all_files(data)
    size = sum(size for size, _ in files.values())
    say(f"Reading {len(files):,} files, {size / 1e6:,.1f} MB")
    pairs, reports, signs = {}, {}, {}
    for split in ("valid", "test")[: 2 if data.test else 1]:
        pairs[split], reports[split] = read_held_out(data, split)
        signs[split] = _held_out_signs(pairs[split], reports[split])
    held_out = [source for some in pairs.values() for source, _ in some]
    with _spool(recipe) as spool:
        reports = {"train": clean_train(data, held_out, files, spool)} | reports
        samples, train_signs = _examine(recipe, held_out, spool, num_samples)
        tokenizers = train_tokenizers(recipe, spool)
        measured = {"train": _measure_train(recipe, tokenizers, spool, reports)}
    for split, some in pairs.items():
        block = held_out_block(some, reports[split])
        rules = held_out_rules(data)
        tokenize = PairTokenizer(
            *tokenizers, rules, len(reports[split].sources)
        )
        measured[split], block_reports = Measure(tokenize)(block)
        add_reports(block_reports, reports[split])
    signs = {"train": train_signs} | signs
    trouble = find_trouble(recipe.data, reports, signs, len(set(held_out)))
    return Inspection(reports, measured, samples, trouble)


@contextlib.contextmanager
def _spool(recipe: Recipe) -> Iterator[Spool]:
    """A spool in a folder that no training run uses."""
    prepared = Path(recipe.data.prepared)
    made = [p for p in (prepared, *prepared.parents) if not p.exists()]
    folder = prepared / f"{recipe.name}.inspected"
    done = folder / "done"  # never: an inspection leaves nothing to use again
    spool = Spool(folder, done, len(recipe.data.train), IN_MEMORY_BYTES)
    try:
        with spool, explain_full_disk(folder, lambda: spool.bytes):
            yield spool
    finally:
        with contextlib.suppress(OSError):
            for path in made:
                path.rmdir()


def _held_out_signs(pairs: list[Pair], report: SplitReport) -> list[Signs]:
    """Signs of trouble in each source of validation or test text."""
    signs = [Signs() for _ in report.sources]
    origins = np.repeat(
        np.arange(len(signs)), [source.kept for source in report.sources]
    )
    for origin, (source, target) in zip(origins, pairs, strict=True):
        signs[origin].add(source, target)
    return signs


def _examine(
    recipe: Recipe, held_out: list[str], spool: Spool, num_samples: int
) -> tuple[list[Pair], list[Signs]]:
    """Goes through an even sample of the training text, once."""
    step = -(-len(spool) // EXAMINED_PAIRS)
    rows = np.arange(0, len(spool), step)
    origins = np.searchsorted(np.cumsum(spool.counts), rows, side="right")
    shown = set(np.linspace(0, len(rows) - 1, num_samples).astype(int).tolist())
    signs = [Signs(held_out) for _ in recipe.data.train]
    samples = []
    sample = spool.sample(EXAMINED_PAIRS)
    for number, (origin, pair) in enumerate(zip(origins, sample, strict=True)):
        signs[origin].add(*pair)
        if number in shown:
            samples.append(pair)
    return samples, signs


def _measure_train(
    recipe: Recipe,
    tokenizers: Tokenizers,
    spool: Spool,
    reports: dict[str, SplitReport],
) -> Measured:
    tokenize = PairTokenizer(*tokenizers, recipe.data, len(spool.counts))
    blocks = spool.blocks("tokenizing")
    lengths, tokens = [], np.zeros(2, np.int64)
    for measured, block_reports in ordered_map(
        Measure(tokenize), blocks, alone=2
    ):
        lengths.append(measured.lengths)
        tokens += measured.tokens
        add_reports(block_reports, reports["train"])
    return Measured(np.concatenate(lengths), tokens)


if __name__ == "__main__":
    main()
