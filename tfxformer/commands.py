"""What the commands do."""

import argparse
import dataclasses
import itertools
import sys
import warnings
from collections.abc import Iterator
from pathlib import Path

from tfxformer.alignment import pharaoh
from tfxformer.errors import InputError
from tfxformer.lines import decode_lines
from tfxformer.loading import load_translator
from tfxformer.options import SearchOptions
from tfxformer.visualize import attention_figure, attention_page

LINES_AT_ONCE = 2048
PICTURES = (".png", ".svg", ".pdf", ".html")


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
        for chunk in _chunks(lines, at_once):
            starts = None
            if prefixes is not None:
                starts = list(itertools.islice(prefixes, len(chunk)))
                if len(starts) < len(chunk):
                    raise InputError(
                        f"{arguments.prefixes}: {first_line - 1 + len(starts)}"
                        " prefixes, fewer than there are lines"
                    )
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
                _align(translator, chunk, found, columns)
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


def _align(translator, chunk, found, columns) -> None:
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


def attention(arguments: argparse.Namespace) -> None:
    """Draws attention into a file.

    Args:
        arguments: what the parser made of the command line.

    Raises:
        InputError: if the model, the text or the file cannot be used.
    """
    path = Path(arguments.out)
    if path.suffix not in PICTURES:
        raise InputError(
            f"--out must end in {', '.join(PICTURES)}. Received: {path}"
        )
    if not path.parent.is_dir():
        raise InputError(f"{path.parent}: no such folder")
    attentions = load_translator(arguments.model).attentions(
        arguments.sentence, arguments.translation
    )
    if path.suffix == ".html":
        path.write_text(attention_page(attentions), encoding="utf-8")
        return
    figure = attention_figure(
        attentions,
        arguments.kind,
        arguments.layers,
        arguments.heads,
        arguments.words,
    )
    with warnings.catch_warnings():
        # Of characters that no font has: a line has said so already.
        warnings.filterwarnings("ignore", "Glyph .* missing")
        figure.savefig(path, dpi=150, bbox_inches="tight")


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
    threads = arguments.threads
    if threads is not None and threads < 1:
        raise InputError(f"--threads must be at least 1. Received: {threads}")
    return load_translator(arguments.model, threads)


def _chunks(lines: Iterator[str], size: int) -> Iterator[list[str]]:
    """Groups lines; those before one that cannot be read are not lost."""
    error = None
    while error is None:
        chunk = []
        try:
            for line in itertools.islice(lines, size):
                chunk.append(line)
        except InputError as bad_line:
            error = bad_line
        if not chunk:
            break
        yield chunk
    if error is not None:
        raise error
