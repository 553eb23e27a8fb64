"""What every translator does outside of the graph. Imports no TensorFlow.

Text is tokenised, sorted by length, put into batches and decoded; results
come back in the order of the input.
"""

import contextlib
import logging
import queue
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import NamedTuple

import numpy as np

from tfxformer.alignment import hard_alignment, word_attention
from tfxformer.attentions import Attentions
from tfxformer.errors import InputError
from tfxformer.lines import MAX_EXTRA_LENGTH, one_line, tokenize_lines
from tfxformer.options import Hypothesis, SearchOptions
from tfxformer.tokenizer import (
    END_TOKEN_ID,
    PAD_TOKEN_ID,
    UNKNOWN_TOKEN_ID,
    Tokenizer,
)

FIRST_EXTRA_LENGTH = 16  # enough for nearly all; the others are done again

logger = logging.getLogger("tfxformer")


class Batch(NamedTuple):
    """What a decoder is given; B sentences, L most tokens."""

    encoder_token_ids: np.ndarray  # int32 (B, S), 0 = padding
    prefix: np.ndarray  # int32 (B, L), forced tokens, 0 = free
    max_lengths: np.ndarray  # int32 (B,)
    min_lengths: np.ndarray  # int32 (B,)
    seeds: np.ndarray  # int32 (B,)


class ScoredTranslation(NamedTuple):
    """A translation with what the model thinks of it.

    Attributes:
        log_probability: float, in nats, `</s>` included.
        pieces: list of T strings: of the translation, with `</s>` if it has
            an end.
        log_probabilities: list of T floats: of each piece, in nats.
        source_pieces: list of S - 1 strings, without `</s>`.
        attention: float32 `(T, S)`. From each piece of the translation to
            those of the source and to its `</s>`.
    """

    log_probability: float
    pieces: list[str]
    log_probabilities: list[float]
    source_pieces: list[str]
    attention: np.ndarray

    def word_attention(self) -> np.ndarray:
        """Soft alignment: float (target words, source words)."""
        count = len(self.pieces) - (self.pieces[-1:] == ["</s>"])
        return word_attention(
            self.attention[:count, :-1], self.source_pieces, self.pieces[:count]
        )

    def alignment(self) -> list[tuple[int, int]]:
        """Hard alignment: pairs (source word, target word)."""
        return hard_alignment(self.word_attention())


class Translator:
    """Text to text; a subclass brings the decoder.

    Args:
        source_tokenizer: the source language's `Tokenizer`.
        target_tokenizer: the target language's `Tokenizer`.
        max_source_length: int. Most source pieces, `</s>` included.
        batch_tokens: int. Most positions of a batch, padding included.
        num_workers: int. Batches that are decoded at the same time.
    """

    def __init__(
        self,
        source_tokenizer: Tokenizer,
        target_tokenizer: Tokenizer,
        max_source_length: int,
        batch_tokens: int,
        num_workers: int = 1,
    ):
        self.source_tokenizer = source_tokenizer
        self.target_tokenizer = target_tokenizer
        self.max_source_length = max_source_length
        self.max_length = max_source_length + MAX_EXTRA_LENGTH
        self.batch_tokens = batch_tokens
        self.num_workers = num_workers

    def _decode(
        self, batch: Batch, options: SearchOptions, worker: int
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Token ids (B, K, L), scores and log-probabilities (B, K)."""
        raise NotImplementedError

    def _score(
        self,
        encoder_token_ids: np.ndarray,
        target_token_ids: np.ndarray,
        worker: int,
    ) -> tuple[np.ndarray, np.ndarray]:
        """Log-probabilities (B, T) and attention (B, T, S)."""
        raise NotImplementedError

    def _prepare(self, num_workers: int) -> None:
        """Is called before so many workers start."""

    def _check(self, options: SearchOptions) -> None:
        """Raises `InputError` for an option that the decoder cannot take."""

    def _padded_length(self, length: int) -> int:
        """The source length that sentences of this length are padded to."""
        return length

    def translate(
        self,
        lines: list[str],
        first_line: int = 1,
        options: SearchOptions = SearchOptions(),
    ) -> list[str]:
        """Translates lines.

        Args:
            lines: list of strings.
            first_line: int. Number of the first line, for warnings.
            options: `SearchOptions`.

        Returns:
            list of as many strings, the best translations; blank lines stay
            empty.

        Raises:
            InputError: if an option makes no sense or does not fit.
        """
        return [
            hypotheses[0].text
            for hypotheses in self.search(lines, first_line, options)
        ]

    def search(
        self,
        lines: list[str],
        first_line: int = 1,
        options: SearchOptions = SearchOptions(),
        prefixes: list[str] | None = None,
        progress: Callable[[int], object] = lambda count: None,
    ) -> list[list[Hypothesis]]:
        """Translates lines and returns the `n_best` hypotheses of each.

        Args:
            lines: list of strings.
            first_line: int. Number of the first line, for warnings.
            options: `SearchOptions`.
            prefixes: list of as many strings: how the translations start.
            progress: callable that is told of how many lines are done.

        Returns:
            list of as many lists of at least one `Hypothesis`. Best first;
            samples in the order in which they were drawn, alternatives in
            that of their first tokens. A blank line has one without text.

        Raises:
            InputError: if an option makes no sense or does not fit.
        """
        options.check()
        self._check(options)
        for name in ("min_length", "max_length"):
            value = getattr(options, name)
            if (value or 0) > self.max_length:
                raise InputError(
                    f"{name} can be at most what the model takes, source and "
                    f"{MAX_EXTRA_LENGTH}. Received: {name}={value}, the "
                    f"model's is {self.max_length}"
                )
        if options.num_rows > self.target_tokenizer.vocabulary_size:
            raise InputError(
                "there are fewer pieces than hypotheses. Received: "
                f"{options.num_rows} hypotheses, a vocabulary of "
                f"{self.target_tokenizer.vocabulary_size}"
            )
        sources = tokenize_lines(
            self.source_tokenizer, lines, self.max_source_length, first_line
        )
        starts = self._prefixes(prefixes, len(lines), first_line)
        if options.shortlist is not None and prefixes is not None:
            allowed = set(self.shortlist_ids(options.shortlist).tolist())
            for number, start in enumerate(starts, start=first_line):
                if not allowed.issuperset(start):
                    raise InputError(
                        f"line {number}: the prefix has pieces that are not "
                        "in the shortlist; add its text there"
                    )
        results = [[Hypothesis("", 0.0, 0.0, [])] for _ in lines]
        filled = [row for row, ids in enumerate(sources) if len(ids) > 1]
        progress(len(lines) - len(filled))
        limits = {
            row: self._limits(
                options, len(sources[row]), starts[row], first_line + row
            )
            for row in filled
        }

        def batch_of(rows: list[int], is_first: bool) -> Batch:
            source_length = self._padded_length(
                max(len(sources[row]) for row in rows)
            )
            width = max(limits[row][1] for row in rows)
            if is_first:
                longest = max(len(starts[row]) for row in rows)
                narrow = source_length + longest + FIRST_EXTRA_LENGTH
                width = min(width, narrow)
            return Batch(
                _pad([sources[row] for row in rows], source_length),
                _pad([starts[row] for row in rows], width),
                np.array([limits[row][1] for row in rows], np.int32),
                np.array([limits[row][0] for row in rows], np.int32),
                np.array(
                    [
                        (options.seed + (first_line + row) * 7919) % 2**31
                        for row in rows
                    ],
                    np.int32,
                ),
            )

        def decode(rows: list[int], worker: int, is_first: bool = True):
            batch = batch_of(rows, is_first)
            outputs = self._decode(batch, options, worker)
            width = batch.prefix.shape[1]
            again = []
            for place, row in enumerate(rows):
                token_ids, scores, log_probs = (x[place] for x in outputs)
                if width < limits[row][1] and _is_cut(token_ids):
                    again.append(row)
                    continue
                results[row] = self._hypotheses(
                    token_ids,
                    scores,
                    log_probs,
                    limits[row][1],
                    options.n_best,
                    first_line + row,
                )
            progress(len(rows) - len(again))
            if again:
                decode(again, worker, is_first=False)

        self._run(decode, filled, [len(ids) for ids in sources], options)
        return results

    def score(
        self,
        lines: list[str],
        translations: list[str],
        first_line: int = 1,
        progress: Callable[[int], object] = lambda count: None,
    ) -> list[ScoredTranslation]:
        """Scores given translations by teacher forcing.

        Args:
            lines: list of strings.
            translations: list of as many strings.
            first_line: int. Number of the first line, for warnings.
            progress: callable that is told of how many lines are done.

        Returns:
            list of as many `ScoredTranslation`.

        Raises:
            InputError: if a translation has more pieces than the model takes.
        """
        targets = self.target_tokenizer.tokenize(translations)
        for number, ids in enumerate(targets, start=first_line):
            if len(ids) > self.max_length:
                raise InputError(
                    f"line {number}: a translation of {len(ids)} pieces; the "
                    f"model takes {self.max_length}"
                )
        sources = tokenize_lines(
            self.source_tokenizer, lines, self.max_source_length, first_line
        )
        return self._score_all(sources, targets, progress)

    def score_token_ids(
        self,
        lines: list[str],
        targets: list[list[int]],
        progress: Callable[[int], object] = lambda count: None,
    ) -> list[ScoredTranslation]:
        """Scores translations given as token ids, as `search` returns them.

        Args:
            lines: list of strings.
            targets: list of as many lists of ints.
            progress: callable that is told of how many lines are done.

        Returns:
            list of as many `ScoredTranslation`.
        """
        sources = tokenize_lines(
            self.source_tokenizer, lines, self.max_source_length, None
        )
        return self._score_all(sources, targets, progress)

    def attentions(
        self, line: str, translation: str | None = None
    ) -> Attentions:
        """All attention weights of a sentence and its translation.

        Args:
            line: string.
            translation: string. By default what greedy search finds.

        Returns:
            `Attentions`.

        Raises:
            InputError: if there is nothing to look at, or the model is not a
                run: exports keep no attention.
        """
        raise InputError(
            "an export keeps no attention to look at; give the run folder that "
            "it was made from"
        )

    def _score_all(
        self,
        sources: list[list[int]],
        targets: list[list[int]],
        progress: Callable[[int], object],
    ) -> list[ScoredTranslation]:
        pieces = self.target_tokenizer.pieces()
        source_pieces = self.source_tokenizer.pieces()
        results: list = [None] * len(sources)

        def score(rows: list[int], worker: int) -> None:
            outputs = self._score(
                _pad([sources[row] for row in rows]),
                _pad([targets[row] for row in rows]),
                worker,
            )
            for place, row in enumerate(rows):
                source, target = sources[row], targets[row]
                log_probs, attention = (x[place] for x in outputs)
                log_probs = log_probs[: len(target)]
                results[row] = ScoredTranslation(
                    float(log_probs.sum()),
                    [pieces[i] for i in target],
                    log_probs.tolist(),
                    [source_pieces[i] for i in source[:-1]],
                    attention[: len(target), : len(source)],
                )
            progress(len(rows))

        lengths = [
            max(len(source), len(target))
            for source, target in zip(sources, targets, strict=True)
        ]
        self._run(score, list(range(len(sources))), lengths, SearchOptions())
        return results

    def _run(
        self,
        work: Callable[[list[int], int], None],
        rows: list[int],
        lengths: list[int],
        options: SearchOptions,
    ) -> None:
        """Calls `work(rows of a batch, worker)` for every row once."""
        batches = batches_by_length(
            [self._padded_length(lengths[row]) for row in rows],
            self.batch_tokens // options.num_rows,
        )
        jobs: queue.SimpleQueue = queue.SimpleQueue()
        for batch in reversed(batches):  # the longest first: they end together
            jobs.put([rows[place] for place in batch])

        def drain(worker: int) -> None:
            while True:
                try:
                    job = jobs.get_nowait()
                except queue.Empty:
                    return
                work(job, worker)

        workers = min(self.num_workers, len(batches))
        self._prepare(workers)
        if workers <= 1:
            drain(0)
            return
        with ThreadPoolExecutor(workers) as pool:
            try:
                for done in [pool.submit(drain, n) for n in range(workers)]:
                    done.result()
            except BaseException:  # such as Ctrl-C: do not begin the others
                with contextlib.suppress(queue.Empty):
                    while True:
                        jobs.get_nowait()
                raise

    def _prefixes(
        self, prefixes: list[str] | None, count: int, first_line: int
    ) -> list[list[int]]:
        if prefixes is None:
            return [[]] * count
        if len(prefixes) != count:
            raise InputError(
                f"as many prefixes as lines are needed. Received: "
                f"{len(prefixes)} prefixes, {count} lines"
            )
        return [ids[:-1] for ids in self.target_tokenizer.tokenize(prefixes)]

    def _limits(
        self,
        options: SearchOptions,
        source_length: int,
        start: list[int],
        line: int,
    ) -> tuple[int, int]:
        least, most = options.limits(source_length, MAX_EXTRA_LENGTH)
        most = min(most, self.max_length)
        if len(start) >= most:
            raise InputError(
                f"line {line}: the prefix leaves no room. Received: a prefix "
                f"of {len(start)} pieces, at most {most} pieces in all"
            )
        return min(least, most), most

    def _hypotheses(
        self,
        token_ids: np.ndarray,
        scores: np.ndarray,
        log_probs: np.ndarray,
        limit: int,
        n_best: int,
        line: int,
    ) -> list[Hypothesis]:
        hypotheses = []
        for place in range(min(n_best, len(token_ids))):
            if place and scores[place] < -1e8:  # there are fewer than wanted
                break
            ids = token_ids[place]
            ids = ids[ids != PAD_TOKEN_ID].tolist()
            if place and END_TOKEN_ID not in ids and len(ids) < limit:
                break  # nor are those that patience did not wait for
            if END_TOKEN_ID not in ids and place == 0:
                logger.warning(
                    "line %d: no end after %d tokens; the translation is cut "
                    "there",
                    line,
                    len(ids),
                )
            text = one_line(self.target_tokenizer.detokenize(ids))
            hypotheses.append(
                Hypothesis(
                    text, float(scores[place]), float(log_probs[place]), ids
                )
            )
        return hypotheses

    def blocked_ids(self, options: SearchOptions) -> list[int]:
        """The ids of `options.blocked`.

        Raises:
            InputError: if a piece is not in the vocabulary.
        """
        if not options.blocked:
            return []  # called for each batch
        pieces = self.target_tokenizer.pieces()
        ids = {piece: i for i, piece in enumerate(pieces)}
        for piece in options.blocked:
            if piece not in ids:
                raise InputError(
                    f"blocked: {piece!r} is no piece of the vocabulary "
                    "(a piece that starts a word begins with \u2581)"
                )
        return [ids[piece] for piece in options.blocked]

    def shortlist_ids(self, texts: Sequence[str]) -> np.ndarray:
        """The ids of the pieces of texts, the special ones first."""
        ids = set().union(*self.target_tokenizer.tokenize(list(texts)))
        special = range(UNKNOWN_TOKEN_ID + 1)
        if not ids - set(special):
            raise InputError("the shortlist is empty: give it some text")
        return np.array([*special, *sorted(ids - set(special))], np.int32)


def _is_cut(token_ids: np.ndarray) -> bool:
    """Whether a hypothesis reaches the last column without an end there."""
    last = token_ids[:, -1]
    return bool(((last != PAD_TOKEN_ID) & (last != END_TOKEN_ID)).any())


def _pad(rows: list[list[int]], length: int | None = None) -> np.ndarray:
    if length is None:
        length = max(map(len, rows))
    padded = np.full((len(rows), length), PAD_TOKEN_ID, np.int32)
    for row, ids in enumerate(rows):
        padded[row, : len(ids)] = ids
    return padded


def batches_by_length(lengths: list[int], batch_tokens: int) -> list[list[int]]:
    """Groups sentences of similar length.

    Args:
        lengths: list of ints.
        batch_tokens: int. Most positions of a batch, padding included; a
            sentence that is longer has a batch of its own.

    Returns:
        list of lists of indices into `lengths`, the shortest first.
    """
    batches: list[list[int]] = []
    for index in np.argsort(lengths, kind="stable").tolist():
        # Sorted: the newcomer is the longest and sets the width.
        if batches and (len(batches[-1]) + 1) * lengths[index] <= batch_tokens:
            batches[-1].append(index)
        else:
            batches.append([index])
    return batches
