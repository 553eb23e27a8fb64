"""The command `tfxformer`."""

import argparse
import logging
import sys

from tfxformer import commands
from tfxformer.errors import exit_on_input_error
from tfxformer.options import SearchOptions


def main(arguments: list[str] | None = None) -> None:
    """Runs the command line.

    Args:
        arguments: list of strings; by default those of the process.

    Raises:
        SystemExit: with status 2 on bad input.
    """
    options = _parser().parse_args(arguments)
    logging.basicConfig(format="tfxformer: %(message)s", stream=sys.stderr)
    with exit_on_input_error("tfxformer"):
        options.run(options)


def _parser() -> argparse.ArgumentParser:
    from tfxformer import __version__

    parser = argparse.ArgumentParser(
        prog="tfxformer", description="Translate with a Transformer."
    )
    parser.add_argument("--version", action="version", version=__version__)
    subparsers = parser.add_subparsers(metavar="COMMAND", required=True)
    model = argparse.ArgumentParser(add_help=False)
    model.add_argument(
        "model",
        metavar="MODEL",
        help="a run folder, a SavedModel folder or a .tflite file",
    )
    model.add_argument(
        "--threads",
        type=int,
        metavar="N",
        help="with a .tflite file: sentences decoded at the same time (one "
        "for each processor)",
    )
    _add_translate(subparsers, model)
    _add_score(subparsers, model)
    _add_attention(subparsers)
    return parser


def _add_translate(subparsers, model: argparse.ArgumentParser) -> None:
    command = subparsers.add_parser(
        "translate",
        parents=[model],
        help="translate lines of text",
        description="Translate text line by line: one line out for each "
        "line in, N with --n-best N. Numbers of tokens include the end.",
    )
    command.set_defaults(run=commands.translate)
    command.add_argument(
        "file",
        metavar="FILE",
        nargs="?",
        default="-",
        help="text in UTF-8; standard input by default",
    )
    output = command.add_argument_group("what is printed")
    output.add_argument(
        "--scores",
        action="store_true",
        help="a column with the score, by which hypotheses are compared",
    )
    output.add_argument(
        "--alignments",
        action="store_true",
        help="a column with pairs source-target of words, counted from 0",
    )
    output.add_argument(
        "--prefixes",
        metavar="FILE",
        help="how each translation has to start; line n is for line n",
    )

    def add(group, name, **keywords):
        flag = "--" + name.replace("_", "-")
        default = getattr(SearchOptions, name)
        group.add_argument(flag, dest=name, default=default, **keywords)

    beam = command.add_argument_group("beam search")
    add(beam, "beam_size", type=int, metavar="K", help="1: greedy (1)")
    add(beam, "n_best", type=int, metavar="N", help="hypotheses of a line (1)")
    add(
        beam,
        "length_penalty",
        type=float,
        metavar="ALPHA",
        help="((5 + length) / 6) ** ALPHA divides the log-probability (0.6)",
    )
    add(
        beam,
        "length_penalty_form",
        choices=("gnmt", "power"),
        help="power: length ** ALPHA instead (gnmt)",
    )
    add(
        beam,
        "coverage_penalty",
        type=float,
        metavar="BETA",
        help="for source tokens without attention (0)",
    )
    add(
        beam,
        "patience",
        type=float,
        metavar="SHARE",
        help="stop when this share of the beam is finished, not only when "
        "nothing can win any more",
    )
    length = command.add_argument_group("length")
    add(length, "min_length", type=int, metavar="N", help="least tokens (0)")
    add(
        length,
        "min_length_ratio",
        type=float,
        metavar="R",
        help="least tokens for each token of the source (0)",
    )
    add(
        length,
        "max_length",
        type=int,
        metavar="N",
        help="most tokens (source + 50)",
    )
    add(
        length,
        "max_length_ratio",
        type=float,
        metavar="R",
        help="most tokens for each token of the source",
    )
    sampling = command.add_argument_group("sampling and alternatives")
    add(
        sampling,
        "sampling",
        action="store_true",
        help="draw tokens instead of taking the best",
    )
    add(
        sampling,
        "temperature",
        type=float,
        metavar="T",
        help="below 1: closer to the best (1)",
    )
    add(
        sampling,
        "top_k",
        type=int,
        metavar="N",
        help="draw from the N most probable tokens (0: all)",
    )
    add(
        sampling,
        "top_p",
        type=float,
        metavar="P",
        help="draw from the most probable tokens that make up P (1)",
    )
    add(sampling, "seed", type=int, metavar="N", help="of the draws (0)")
    add(
        sampling,
        "alternatives",
        action="store_true",
        help="the N (--n-best) most probable tokens after the prefix, each "
        "continued",
    )
    tokens = command.add_argument_group("tokens")
    add(
        tokens,
        "no_repeat_ngram",
        type=int,
        metavar="N",
        help="no N tokens in a row occur twice (0: off)",
    )
    add(
        tokens,
        "repetition_penalty",
        type=float,
        metavar="R",
        help="above 1: fewer repetitions (1)",
    )
    add(
        tokens,
        "blocked",
        nargs="+",
        metavar="PIECE",
        help="pieces that may not occur, like '<unk>'",
    )
    tokens.add_argument(
        "--shortlist",
        metavar="FILE",
        help="text whose pieces are the only ones that may occur",
    )


def _add_score(subparsers, model: argparse.ArgumentParser) -> None:
    command = subparsers.add_parser(
        "score",
        parents=[model],
        help="score given translations",
        description="Print the log-probability, in nats, of each line of "
        "TARGET as the translation of that line of SOURCE.",
    )
    command.set_defaults(run=commands.score)
    command.add_argument("source", metavar="SOURCE", help="text in UTF-8")
    command.add_argument("target", metavar="TARGET", help="its translation")
    command.add_argument(
        "--tokens",
        action="store_true",
        help="a column with each piece and its log-probability",
    )
    command.add_argument(
        "--alignments",
        action="store_true",
        help="a column with pairs source-target of words, counted from 0",
    )


def _add_attention(subparsers) -> None:
    command = subparsers.add_parser(
        "attention",
        help="draw what attends to what",
        description="Draw the attention of a run while it translates a "
        "sentence. Layers and heads are counted from 1.",
    )
    command.set_defaults(run=commands.attention)
    command.add_argument("model", metavar="RUN", help="a run folder")
    command.add_argument("sentence", metavar="SENTENCE")
    command.add_argument(
        "--translation",
        metavar="TEXT",
        help="its translation; by default the model's own",
    )
    command.add_argument(
        "--out",
        metavar="FILE",
        required=True,
        help="heat maps in a .png, .svg or .pdf, or all there is in an "
        "interactive .html",
    )
    maps = command.add_argument_group("heat maps")
    maps.add_argument(
        "--kind",
        choices=("encoder", "decoder", "cross"),
        default="cross",
        help="what attends: source to source, translation to translation, or "
        "translation to source (cross)",
    )
    for name in ("layers", "heads"):
        maps.add_argument(
            f"--{name}",
            type=int,
            nargs="+",
            metavar="N",
            help="only these (all)",
        )
    maps.add_argument(
        "--words",
        action="store_true",
        help="whole words instead of pieces",
    )


if __name__ == "__main__":
    main()
