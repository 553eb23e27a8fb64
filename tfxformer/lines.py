"""Lines of text to token ids within the limits of a model, and back."""

import logging
from collections.abc import Iterable, Iterator

from tfxformer.errors import InputError
from tfxformer.tokenizer import END_TOKEN_ID, Tokenizer

MAX_EXTRA_LENGTH = 50  # a translation has at most source + 50 tokens

logger = logging.getLogger("tfxformer")


def decode_lines(lines: Iterable[bytes], name: str) -> Iterator[str]:
    """Decodes lines of UTF-8 one by one; see `decode_block`.

    Args:
        lines: iterable of bytes, such as a binary file.
        name: string. What to call it in an error.

    Yields:
        strings without line ends.

    Raises:
        InputError: naming the line and the byte that are not UTF-8.
    """
    for number, line in enumerate(lines, start=1):
        yield from decode_block(line, name, number)


def decode_block(block: bytes, name: str, first_line: int) -> list[str]:
    """Decodes whole lines of UTF-8 at once; only LF ends a line.

    Args:
        block: bytes. The last line may lack its LF. A byte order mark at the
            start of line 1 and the CR of CRLF are removed.
        name: string. What to call the text in an error.
        first_line: int. Number of the first line, from 1.

    Returns:
        list of strings without line ends.

    Raises:
        InputError: naming the line and the byte that are not UTF-8.
    """
    if first_line == 1:
        block = block.removeprefix(b"\xef\xbb\xbf")
    try:
        text = block.decode("utf-8")
    except UnicodeDecodeError as error:
        number = first_line + block.count(b"\n", 0, error.start)
        place = error.start - block.rfind(b"\n", 0, error.start)
        raise InputError(
            f"{name}:{number}: not UTF-8: byte 0x{block[error.start]:02x} at "
            f"byte {place} of the line; convert the text first"
        ) from None
    lines = text.removesuffix("\n").split("\n")
    if "\r" in text:
        lines = [line.removesuffix("\r") for line in lines]
    return lines


def tokenize_lines(
    tokenizer: Tokenizer,
    lines: list[str],
    max_length: int,
    first_line: int | None = 1,
) -> list[list[int]]:
    """Tokenizes lines; too long ones keep their first part, with a warning.

    Args:
        tokenizer: the source language's `Tokenizer`.
        lines: list of strings.
        max_length: int. Most ids of a line, `</s>` included.
        first_line: int. Number of the first line, for the warning; None: no
            warning.

    Returns:
        list of lists of ints; each ends with `</s>`, a blank line is `</s>`.
    """
    all_ids = tokenizer.tokenize(lines)
    for row, ids in enumerate(all_ids):
        if len(ids) > max_length:
            if first_line is not None:
                logger.warning(
                    "line %d: %d pieces, the model takes %d; "
                    "only the first part is translated",
                    first_line + row,
                    len(ids),
                    max_length,
                )
            ids[max_length - 1 :] = [END_TOKEN_ID]
    return all_ids


def one_line(text: str) -> str:
    """Replaces line breaks and tabs, which byte pieces can spell."""
    return text.replace("\n", " ").replace("\r", " ").replace("\t", " ")
