"""The command `tfxformer`."""

import argparse
import dataclasses
import itertools
import logging
import os
import sys
from collections.abc import Iterator

from tfxformer.alignment import pharaoh
from tfxformer.errors import InputError, exit_on_input_error
from tfxformer.lines import decode_lines
from tfxformer.options import SearchOptions
from tfxformer.quiet import import_tensorflow

LINES_AT_ONCE = 2048


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
    commands = parser.add_subparsers(metavar="COMMAND", required=True)
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
    _add_translate(commands, model)
    _add_score(commands, model)
    return parser


def _add_translate(commands, model: argparse.ArgumentParser) -> None:
    command = commands.add_parser(
        "translate",
        parents=[model],
        help="translate lines of text",
        description="Translate text line by line: one line out for each "
        "line in, N with --n-best N. Numbers of tokens include the end.",
    )
    command.set_defaults(run=translate)
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


def _add_score(commands, model: argparse.ArgumentParser) -> None:
    command = commands.add_parser(
        "score",
        parents=[model],
        help="score given translations",
        description="Print the log-probability, in nats, of each line of "
        "TARGET as the translation of that line of SOURCE.",
    )
    command.set_defaults(run=score)
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


def translate(arguments: argparse.Namespace) -> None:
    """Translates a file line by line to standard output.

    Args:
        arguments: what the parser made of the command line.

    Raises:
        InputError: if the model, the text or an option cannot be used.
    """
    names = [field.name for field in dataclasses.fields(SearchOptions)]
    values = {name: getattr(arguments, name) for name in names}
    values["blocked"] = tuple(values["blocked"])
    if arguments.shortlist is not None:
        values["shortlist"] = tuple(_read(arguments.shortlist))
    options = SearchOptions(**values)
    options.check()
    file = arguments.file
    if sys.stdout is None or (file == "-" and sys.stdin is None):
        raise InputError("standard input and output must be open")
    with (
        sys.stdin.buffer if file == "-" else open(file, "rb") as stream,
        _Bar() as bar,
    ):
        translator = _load(arguments)
        lines = decode_lines(stream, "standard input" if file == "-" else file)
        prefixes = None
        if arguments.prefixes is not None:
            prefixes = iter(_read(arguments.prefixes))
        at_once = 1 if stream.isatty() else LINES_AT_ONCE
        first_line = 1
        while chunk := list(itertools.islice(lines, at_once)):
            starts = None
            if prefixes is not None:
                starts = list(itertools.islice(prefixes, len(chunk)))
            found = translator.search(
                chunk, first_line, options, starts, bar.update
            )
            columns = [
                [
                    f"{one.text}\t{one.score:.6f}"
                    if arguments.scores
                    else one.text
                    for one in hypotheses
                ]
                for hypotheses in found
            ]
            if arguments.alignments:
                _align(translator, chunk, found, columns, first_line)
            for texts in columns:
                texts += [""] * (options.n_best - len(texts))
                _print(texts)
            sys.stdout.buffer.flush()
            first_line += len(chunk)
        if prefixes is not None and next(prefixes, None) is not None:
            raise InputError(
                f"{arguments.prefixes}: more prefixes than the "
                f"{first_line - 1} lines"
            )


def _align(translator, chunk, found, columns, first_line) -> None:
    """Adds a column with the alignment of each hypothesis."""
    places = []
    for row, hypotheses in enumerate(found):
        for rank, hypothesis in enumerate(hypotheses):
            if hypothesis.token_ids:
                places.append((row, rank))
            else:  # of a blank line
                columns[row][rank] += "\t"
    scored = translator.score_token_ids(
        [chunk[row] for row, _ in places],
        [found[row][rank].token_ids for row, rank in places],
        first_line,
    )
    for (row, rank), result in zip(places, scored, strict=True):
        columns[row][rank] += "\t" + pharaoh(result.alignment())


def score(arguments: argparse.Namespace) -> None:
    """Prints the log-probabilities of given translations.

    Args:
        arguments: what the parser made of the command line.

    Raises:
        InputError: if the model or the texts cannot be used.
    """
    if sys.stdout is None:
        raise InputError("standard output must be open")
    sources, targets = _read(arguments.source), _read(arguments.target)
    first_line = 1
    with _Bar() as bar:
        translator = _load(arguments)
        while True:
            lines = list(itertools.islice(sources, LINES_AT_ONCE))
            translations = list(itertools.islice(targets, LINES_AT_ONCE))
            if len(lines) != len(translations):
                raise InputError(
                    "line n of one file must translate line n of the other. "
                    f"Received: {first_line - 1 + len(lines)} lines in "
                    f"{arguments.source}, "
                    f"{first_line - 1 + len(translations)} in "
                    f"{arguments.target}, or more"
                )
            if not lines:
                return
            for result in translator.score(
                lines, translations, first_line, bar.update
            ):
                columns = [f"{result.log_probability:.6f}"]
                if arguments.tokens:
                    columns.append(
                        " ".join(
                            f"{piece}:{value:.6f}"
                            for piece, value in zip(
                                result.pieces,
                                result.log_probabilities,
                                strict=True,
                            )
                        )
                    )
                if arguments.alignments:
                    columns.append(pharaoh(result.alignment()))
                _print(["\t".join(columns)])
            sys.stdout.buffer.flush()
            first_line += len(lines)


class _Bar:
    """Lines done, on standard error, where somebody looks at it."""

    def __enter__(self):
        self._bar = None
        if sys.stderr is not None and sys.stderr.isatty():
            from tqdm import tqdm

            self._bar = tqdm(unit=" lines", leave=False)
        return self

    def update(self, count: int) -> None:
        if self._bar is not None:
            self._bar.update(count)

    def __exit__(self, *error):
        if self._bar is not None:
            self._bar.close()


def _read(path: str) -> Iterator[str]:
    with open(path, "rb") as stream:
        yield from decode_lines(stream, path)


def _print(lines: list[str]) -> None:
    for line in lines:
        sys.stdout.buffer.write(line.encode() + b"\n")


def _load(arguments: argparse.Namespace):
    path = arguments.model
    if arguments.threads is not None and arguments.threads < 1:
        raise InputError(
            f"--threads must be at least 1. Received: {arguments.threads}"
        )
    if path.endswith(".tflite"):  # the only one that needs no TensorFlow
        from tfxformer.lite import LiteTranslator

        return LiteTranslator(path, arguments.threads)
    if not os.path.isdir(path):
        raise InputError(
            f"{path}: no run folder, SavedModel folder or .tflite file"
        )
    import_tensorflow()
    from tfxformer.translator import load_translator

    return load_translator(path)


if __name__ == "__main__":
    main()
