"""tf.data: batches of sentences of similar length, filled by tokens."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import tensorflow as tf

from tfxformer.tokenizer import PAD_TOKEN_ID, START_TOKEN_ID, Tokenizer
from training.corpus import CorpusReport, Pair

TokenIds = list[list[int]]


class TokenizedCorpus(NamedTuple):
    """Token ids of aligned sentences, each ended by `</s>`."""

    source: TokenIds
    target: TokenIds


def tokenize_pairs(
    pairs: Sequence[Pair],
    source_tokenizer: Tokenizer,
    target_tokenizer: Tokenizer,
    max_length: int,
    max_ratio: float,
    report: CorpusReport,
) -> TokenizedCorpus:
    """Turns text into ids and drops what is too long or does not match.

    Args:
        pairs: sequence of tuples (source sentence, target sentence).
        source_tokenizer: a `Tokenizer`.
        target_tokenizer: a `Tokenizer`.
        max_length: int. Most ids on a side, `</s>` included.
        max_ratio: float. Largest ratio of the longer to the shorter side.
        report: counts what is dropped and kept.

    Returns:
        A `TokenizedCorpus`.
    """
    sources = source_tokenizer.tokenize([source for source, _ in pairs])
    targets = target_tokenizer.tokenize([target for _, target in pairs])
    corpus = TokenizedCorpus([], [])
    for pair, source, target in zip(pairs, sources, targets, strict=True):
        shorter, longer = sorted((len(source), len(target)))
        if shorter < 2:  # </s> alone: white space of some kind
            report.drop("empty on a side", pair)
        elif longer > max_length:
            report.drop("too long", pair)
        elif longer > max_ratio * shorter:
            report.drop("length ratio", pair)
        else:
            corpus.source.append(source)
            corpus.target.append(target)
    report.kept = len(corpus.source)
    return corpus


def plan_batches(
    source_lengths: np.ndarray,
    target_lengths: np.ndarray,
    max_tokens: int,
    seed: tuple[int, ...],
) -> list[np.ndarray]:
    """Groups sentences of similar length into batches of many tokens.

    Sentences are sorted by target length and, among those, by source length,
    up and down in turn, so that neighbours are alike on both sides. Which of
    the equally long ones meet, and the order of the batches, is random.

    Args:
        source_lengths: int `(M,)`. Length of each source sentence.
        target_lengths: int `(M,)`. Length of each target sentence.
        max_tokens: int. Most positions of a batch on either side, padding
            included; a longer single sentence makes a batch of its own.
        seed: tuple of ints.

    Returns:
        list of int64 arrays: the indices of the sentences of each batch.
    """
    random = np.random.default_rng(seed)
    shuffled = random.permutation(len(source_lengths))
    sources, targets = source_lengths[shuffled], target_lengths[shuffled]
    up_and_down = np.where(targets % 2, -sources, sources)
    order = shuffled[np.lexsort((up_and_down, targets))]
    longest = np.maximum(source_lengths, target_lengths)[order].tolist()
    starts, width = [0], 0
    for position, length in enumerate(longest):
        width = max(width, length)
        if position > starts[-1] and (
            (position - starts[-1] + 1) * width > max_tokens
        ):
            starts.append(position)
            width = length
    batches = np.split(order, starts[1:])
    random.shuffle(batches)
    return batches


def training_dataset(
    corpus: TokenizedCorpus, max_tokens: int, seed: int
) -> tuple[tf.data.Dataset, int]:
    """Batches for `fit`, without end, in a new order each epoch.

    Args:
        corpus: a `TokenizedCorpus`.
        max_tokens: int. Most positions of a batch on either side.
        seed: int. The same seed gives the same batches.

    Returns:
        Tuple of the dataset of `((encoder_token_ids, decoder_token_ids),
        labels)`, int32 `(B, S)`, `(B, T)` and `(B, T)`, and the number of
        batches of an epoch, which is the same for each epoch.
    """
    source_lengths, target_lengths = _lengths(corpus)

    def plan(epoch):
        batches = plan_batches(
            source_lengths, target_lengths, max_tokens, (seed, int(epoch))
        )
        sizes = np.array([len(batch) for batch in batches], np.int64)
        return np.concatenate(batches), sizes

    def plan_dataset(epoch):
        indices, sizes = tf.numpy_function(
            plan, [epoch], (tf.int64, tf.int64), stateful=False
        )
        indices, sizes = (
            tf.ensure_shape(indices, [None]),
            tf.reshape(sizes, [-1]),
        )
        return tf.data.Dataset.from_tensor_slices(
            tf.RaggedTensor.from_row_lengths(indices, sizes, validate=False)
        )

    dataset = tf.data.Dataset.counter().flat_map(plan_dataset)
    steps = len(
        plan_batches(source_lengths, target_lengths, max_tokens, (seed, 0))
    )
    return _batches(dataset, corpus), steps


def validation_dataset(
    corpus: TokenizedCorpus, max_tokens: int
) -> tf.data.Dataset:
    """The same batches in the same order, once.

    Args:
        corpus: a `TokenizedCorpus`.
        max_tokens: int. Most positions of a batch on either side.

    Returns:
        A dataset of elements like those of `training_dataset`.
    """
    batches = plan_batches(*_lengths(corpus), max_tokens, seed=(0,))
    rows = tf.ragged.constant(batches, dtype=tf.int64)
    return _batches(tf.data.Dataset.from_tensor_slices(rows), corpus)


def _lengths(corpus: TokenizedCorpus) -> tuple[np.ndarray, np.ndarray]:
    return (
        np.array([len(ids) for ids in corpus.source]),
        np.array([len(ids) for ids in corpus.target]),
    )


def _batches(indices: tf.data.Dataset, corpus: TokenizedCorpus):
    sources = tf.ragged.constant(corpus.source, dtype=tf.int32)
    targets = tf.ragged.constant(corpus.target, dtype=tf.int32)

    def gather(batch):
        encoder_token_ids = tf.gather(sources, batch).to_tensor(PAD_TOKEN_ID)
        labels = tf.gather(targets, batch).to_tensor(PAD_TOKEN_ID)
        # "<s> a b" is fed where "a b </s>" is to be said.
        starts = tf.fill([tf.shape(labels)[0], 1], START_TOKEN_ID)
        shifted = tf.concat([starts, labels[:, :-1]], axis=1)
        decoder_token_ids = tf.where(
            labels == PAD_TOKEN_ID, PAD_TOKEN_ID, shifted
        )
        return (encoder_token_ids, decoder_token_ids), labels

    return indices.map(gather, num_parallel_calls=1).prefetch(2)
