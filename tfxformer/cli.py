"""The command `tfxformer`."""

import argparse
import itertools
import logging
import os
import sys

from tfxformer.errors import InputError, exit_on_input_error
from tfxformer.lines import decode_lines
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
        translate(options.model, options.file)


def _parser() -> argparse.ArgumentParser:
    from tfxformer import __version__

    parser = argparse.ArgumentParser(
        prog="tfxformer", description="Translate with a Transformer."
    )
    parser.add_argument("--version", action="version", version=__version__)
    commands = parser.add_subparsers(metavar="COMMAND", required=True)
    command = commands.add_parser(
        "translate",
        help="translate lines of text",
        description="Translate text line by line: one line out for each "
        "line in.",
    )
    command.add_argument(
        "model",
        metavar="MODEL",
        help="a run folder, a SavedModel folder or a .tflite file",
    )
    command.add_argument(
        "file",
        metavar="FILE",
        nargs="?",
        default="-",
        help="text in UTF-8; standard input by default",
    )
    return parser


def translate(model_path: str, file: str) -> None:
    """Translates a file line by line to standard output.

    Args:
        model_path: string. A run folder, SavedModel folder or `.tflite`.
        file: string. Path of the text, "-" for standard input.

    Raises:
        InputError: if the model or the text cannot be read.
    """
    if sys.stdout is None or (file == "-" and sys.stdin is None):
        raise InputError("standard input and output must be open")
    with sys.stdin.buffer if file == "-" else open(file, "rb") as stream:
        translator = _load(model_path)
        lines = decode_lines(stream, "standard input" if file == "-" else file)
        at_once = 1 if stream.isatty() else LINES_AT_ONCE
        first_line = 1
        while chunk := list(itertools.islice(lines, at_once)):
            for translation in translator.translate(chunk, first_line):
                sys.stdout.buffer.write(translation.encode() + b"\n")
            sys.stdout.buffer.flush()
            first_line += len(chunk)


def _load(path: str):
    if path.endswith(".tflite"):  # the only one that needs no TensorFlow
        from tfxformer.lite import LiteTranslator

        return LiteTranslator(path)
    if not os.path.isdir(path):
        raise InputError(
            f"{path}: no run folder, SavedModel folder or .tflite file"
        )
    import_tensorflow()
    from tfxformer.translator import load_translator

    return load_translator(path)


if __name__ == "__main__":
    main()
