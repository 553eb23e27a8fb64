"""Word alignments out of attention: which word comes from which.

Reference:
    Jointly Learning to Align and Translate with Transformer Models (Garg et
    al., 2019): the attention of the last block but one, averaged
    over its heads.
"""

from itertools import pairwise

import numpy as np

WORD_START = "\u2581"  # SentencePiece writes a space as this


def word_spans(pieces: list[str]) -> list[tuple[int, int]]:
    """Finds the words that pieces spell.

    A piece that starts with "\u2581" starts a word, and so does the first
    one. Text without spaces, such as Chinese or Japanese, is one word.

    Args:
        pieces: list of strings. SentencePiece's pieces of one sentence, in
            order, without special tokens.

    Returns:
        list of half-open ranges `(start, end)` of positions in `pieces`, one
        for each word. Together they cover all pieces: spaces on their own
        belong to the word that follows, those at the end to the last word.
        A sentence of nothing but spaces has no words.
    """
    starts: list[int] = []
    spelled = False  # was the piece before more than spaces?
    for position, piece in enumerate(pieces):
        if not starts or (spelled and piece.startswith(WORD_START)):
            starts.append(position)
        spelled = piece.strip(WORD_START) != ""
    if starts and not spelled:
        starts.pop()
    return list(pairwise([*starts, len(pieces)]))


def word_attention(
    attention: np.ndarray, source_pieces: list[str], target_pieces: list[str]
) -> np.ndarray:
    """Attention between pieces to attention between words: a soft alignment.

    A target word attends as its pieces do on average, and to a source word
    as much as to all of its pieces.

    Args:
        attention: float `(T, S)`. For each target piece, the weights over
            the source pieces. The rows need not sum to 1, as `</s>` and the
            like are cut off.
        source_pieces: list of S strings, as `word_spans` takes them.
        target_pieces: list of T strings.

    Returns:
        float `(target words, source words)`, of the dtype of `attention`.

    Raises:
        ValueError: if `attention` is not `(T, S)`.
    """
    attention = np.asarray(attention)
    if attention.shape != (len(target_pieces), len(source_pieces)):
        raise ValueError(
            "attention must have a row for each target piece and a column "
            "for each source piece. "
            f"Received: attention.shape={attention.shape}, "
            f"len(source_pieces)={len(source_pieces)}, "
            f"len(target_pieces)={len(target_pieces)}"
        )
    source = np.array(word_spans(source_pieces), dtype=int).reshape(-1, 2)
    target = np.array(word_spans(target_pieces), dtype=int).reshape(-1, 2)
    # The spans are adjacent, so each sum ends where the next one starts.
    sums = np.add.reduceat(attention, source[:, 0], axis=1)
    sums = np.add.reduceat(sums, target[:, 0], axis=0)
    lengths = target[:, 1:] - target[:, :1]  # (target words, 1)
    return sums / lengths.astype(attention.dtype)


def hard_alignment(attention: np.ndarray) -> list[tuple[int, int]]:
    """Aligns each target word with the source word that it attends to most.

    Args:
        attention: float `(T, S)`, of words or of pieces.

    Returns:
        list of pairs `(source, target)` of ints, sorted. The first of
        several equal weights wins; a row of zeros aligns with nothing.

    Raises:
        ValueError: if `attention` is not a matrix.
    """
    attention = np.asarray(attention)
    if attention.ndim != 2:
        raise ValueError(
            "attention must be a matrix, targets by sources. "
            f"Received: attention.shape={attention.shape}"
        )
    if attention.size == 0:
        return []
    return sorted(
        (int(row.argmax()), target)
        for target, row in enumerate(attention)
        if row.max() > 0
    )


def pharaoh(pairs: list[tuple[int, int]]) -> str:
    """Writes an alignment as fast_align and Moses do: "0-0 1-2".

    Args:
        pairs: list of pairs `(source, target)` of ints, counted from 0.

    Returns:
        string, "source-target" for each pair; empty without pairs.
    """
    return " ".join(f"{source}-{target}" for source, target in pairs)
