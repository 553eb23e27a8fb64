"""The command `python -m training.compare MODEL MODEL ...`."""

import argparse
import sys
from collections.abc import Sequence
from typing import Any

from tfxformer.errors import InputError, exit_on_input_error
from training.evaluate import (
    add_search_arguments,
    bleu_tokenizer,
    read_parallel,
    translate_with,
)
from training.progress import short_names


def main(arguments: Sequence[str] | None = None) -> None:
    """Translates a text with several models and compares their scores.

    Args:
        arguments: list of strings. The command line; None: that of this
            process.

    Raises:
        SystemExit: with status 2 and one line on standard error on bad input.
    """
    parser = argparse.ArgumentParser(
        prog="python -m training.compare",
        description="Translate a text with several models and compare BLEU "
        "and chrF (sacrebleu) with those of the first, by paired bootstrap "
        "resampling.",
    )
    parser.add_argument(
        "models",
        metavar="MODEL",
        nargs="+",
        help="run folder, SavedModel folder or .tflite file; the first is the "
        "baseline",
    )
    add_search_arguments(parser)
    parser.add_argument(
        "--samples",
        type=int,
        default=1000,
        metavar="N",
        help="resampled texts (1000)",
    )
    options = parser.parse_args(arguments)
    with exit_on_input_error("compare"):
        if len(options.models) < 2 or options.samples < 1:
            raise InputError(
                "give at least two models, and --samples above 0. Received: "
                f"{len(options.models)} and {options.samples}"
            )
        sources, references = read_parallel(options.source, options.reference)
        named: list[tuple[str, Sequence[str]]] = [
            (name, translate_with(model, sources, options))
            for name, model in zip(
                short_names(options.models), options.models, strict=True
            )
        ]
        tokenize = options.tokenize or bleu_tokenizer(references)
        for line in compare(named, references, tokenize, options.samples):
            print(line)
        sys.stdout.flush()


def compare(
    named: list[tuple[str, Sequence[str]]],
    references: list[str],
    tokenize: str = "13a",
    num_samples: int = 1000,
) -> list[str]:
    """Compares translations of a text with the first ones.

    Args:
        named: list of tuples: a name, and a translation of each line.
        references: list of strings.
        tokenize: string. sacrebleu's tokenizer for BLEU.
        num_samples: int. Texts that are drawn from the lines.

    Returns:
        list of lines: a table with each score, its 95% confidence interval
        and p, the probability of a difference as large by chance; and the
        signatures.

    Reference:
        Statistical Significance Tests for Machine Translation Evaluation
        (Koehn, 2004).
    """
    from sacrebleu.metrics import BLEU, CHRF
    from sacrebleu.significance import PairedTest

    metrics = {
        "BLEU": BLEU(references=[references], tokenize=tokenize),
        "chrF": CHRF(references=[references]),
    }
    test = PairedTest(
        named, metrics, None, test_type="bs", n_samples=num_samples
    )
    signatures, results = test()
    columns: dict[str, Any] = dict(results)
    lines = [
        "| model | " + " | ".join(f"{m} (95%), p" for m in metrics) + " |",
        "| --- |" + " ---: |" * len(metrics),
    ]
    names = columns.pop("System")
    for row, name in enumerate(names):
        cells = []
        for column in columns.values():
            result = column[row]
            p = "" if result.p_value is None else f", {result.p_value:.3f}"
            if row and named[row][1] == named[0][1]:
                p = ", equal"  # of which sacrebleu would say p = 1 / N
            cells.append(
                f"{result.score:.2f} ({result.mean:.2f} ± {result.ci:.2f}){p}"
            )
        lines.append(f"| {name} | " + " | ".join(cells) + " |")
    lines.append("")
    lines += [f"{name}: {signature}" for name, signature in signatures.items()]
    return lines


if __name__ == "__main__":
    main()
