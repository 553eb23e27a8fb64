"""Lines of text to token ids within the limits of a model, and back."""

import logging

from tfxformer.tokenizer import END_TOKEN_ID, Tokenizer

logger = logging.getLogger("tfxformer")


def tokenize_lines(
    tokenizer: Tokenizer,
    lines: list[str],
    max_length: int,
    first_line: int = 1,
) -> list[list[int]]:
    """Tokenizes lines; too long ones keep their first part, with a warning.

    Args:
        tokenizer: the source language's `Tokenizer`.
        lines: list of strings.
        max_length: int. Most ids of a line, `</s>` included.
        first_line: int. Number of the first line, for the warning.

    Returns:
        list of lists of ints; each ends with `</s>`, a blank line is `</s>`.
    """
    all_ids = tokenizer.tokenize(lines)
    for number, ids in enumerate(all_ids, start=first_line):
        if len(ids) > max_length:
            logger.warning(
                "line %d: %d pieces, the model takes %d; "
                "only the first part is translated",
                number,
                len(ids),
                max_length,
            )
            ids[max_length - 1 :] = [END_TOKEN_ID]
    return all_ids


def detokenize_line(
    tokenizer: Tokenizer, token_ids: list[int], line: int
) -> str:
    """Joins the ids of a translation; warns where it has no end.

    Args:
        tokenizer: the target language's `Tokenizer`.
        token_ids: list of ints; `</s>` ends it, if it was reached.
        line: int. Number of the line, for the warning.

    Returns:
        string without line breaks.
    """
    if END_TOKEN_ID not in token_ids:
        logger.warning(
            "line %d: no end after %d tokens; the translation is cut there",
            line,
            len(token_ids),
        )
    return tokenizer.detokenize(token_ids)
