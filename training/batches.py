"""Which pairs make a batch, and in what order batches come.

An epoch goes through the shards of a corpus in a random order. The pairs of
a shard are shuffled, sorted by length and cut into batches, which come in a
random order. A corpus in memory is a single shard. All of it is TensorFlow, so
that a data service can do it in another process.
"""

import functools

import numpy as np
import tensorflow as tf

from training.shards import MAX_SHARDS, Corpus

LONGEST = 1 << 17  # more than two lengths can differ by


@tf.function(
    input_signature=[
        tf.TensorSpec([None, 3], tf.int32),
        tf.TensorSpec([None], tf.float64),
        tf.TensorSpec([], tf.int64),
        tf.TensorSpec([2], tf.int64),
        tf.TensorSpec([], tf.int32),
    ]
)
def plan_batches(index, weights, epoch, seed, max_tokens):
    """Groups pairs of similar length into batches of many tokens.

    Pairs are sorted by the longer side and, among those, by the difference
    of the two, up and down in turn, so that neighbours are alike on both
    sides. Which of the equally long ones meet, and the order of the batches,
    is random.

    Args:
        index: int32 `(M, 3)`, of M pairs. Source length, target length and
            origin.
        weights: float64, of each origin: how often a pair is in an epoch.
            Of weight 2.5, it is there twice and three times in turn.
        epoch: int64 scalar.
        seed: int64 `(2,)`.
        max_tokens: int32 scalar. Most positions of a batch on either side,
            padding included; a longer single pair makes a batch of its own.

    Returns:
        Ragged int32 `(number of batches, None)`: the indices of the pairs.
    """
    seeds = tf.unstack(tf.random.split(seed, 3))
    phase = tf.random.stateless_uniform(  # the same in each epoch
        [tf.shape(index)[0]], [seed[0], 0], dtype=tf.float64
    )
    weight = tf.gather(weights, index[:, 2])
    now, then = tf.cast(epoch, tf.float64), tf.cast(epoch + 1, tf.float64)
    copies = tf.floor(then * weight + phase) - tf.floor(now * weight + phase)
    rows = tf.repeat(tf.range(tf.shape(index)[0]), tf.cast(copies, tf.int32))
    rows = tf.gather(rows, _random_order(tf.shape(rows)[0], seeds[0]))

    sources = tf.cast(tf.gather(index[:, 0], rows), tf.int64)
    targets = tf.cast(tf.gather(index[:, 1], rows), tf.int64)
    longest = tf.maximum(sources, targets)
    difference = tf.where(
        longest % 2 == 0, sources - targets, targets - sources
    )
    order = tf.argsort(longest * LONGEST + difference, stable=True)
    rows = tf.gather(rows, order)
    longest = tf.cast(tf.gather(longest, order), tf.int32)

    count = tf.shape(rows)[0]
    ends = tf.TensorArray(tf.int32, 0, dynamic_size=True)
    start, number = 0, 0
    while start < count:
        most = tf.maximum(max_tokens // longest[start], 1)
        widths = longest[start : start + most]
        # Widths grow, so those that fit come first.
        fit = tf.range(1, tf.size(widths) + 1) * widths <= max_tokens
        start += tf.maximum(tf.reduce_sum(tf.cast(fit, tf.int32)), 1)
        ends = ends.write(number, start)
        number += 1
    batches = tf.RaggedTensor.from_row_limits(rows, ends.stack())
    return tf.gather(batches, _random_order(number, seeds[1]))


def _random_order(count, seed):
    numbers = tf.random.stateless_uniform(
        [count], seed, minval=None, maxval=None, dtype=tf.int64
    )
    return tf.argsort(numbers, stable=True)


class BatchPlan:
    """Which batches there are, in what order, in each epoch.

    Args:
        corpus: a `Corpus`.
        max_tokens: int. Most positions of a batch on either side.
        seed: int. The same seed gives the same batches.
    """

    def __init__(self, corpus: Corpus, max_tokens: int, seed: int):
        self.corpus = corpus
        self.max_tokens = max_tokens
        self.seed = seed
        self.weights = np.array(corpus.weights, np.float64)
        self._always_equal = bool(np.all(self.weights % 1 == 0))
        self._count = functools.lru_cache(None)(self._count_batches)

    def shard_order(self, epoch):
        """The order of the shards in an epoch.

        Args:
            epoch: int scalar, from 0.

        Returns:
            int32 `(number of shards,)` tensor of their numbers.
        """
        seed = [tf.constant(self.seed, tf.int64), -1 - tf.cast(epoch, tf.int64)]
        order = _random_order(len(self.corpus.indices), tf.stack(seed))
        return tf.cast(order, tf.int32)

    def batches(self, epoch, shard, index):
        """The batches of a shard in an epoch.

        Args:
            epoch: int scalar, from 0.
            shard: int scalar. Number of the shard.
            index: int32 `(M, 3)`, of the M pairs of the shard. See
                `plan_batches`.

        Returns:
            Ragged int32 `(number of batches, None)`: the indices of the
            pairs.
        """
        epoch, shard = tf.cast(epoch, tf.int64), tf.cast(shard, tf.int64)
        number = epoch * MAX_SHARDS + shard + 1
        seed = tf.stack([tf.constant(self.seed, tf.int64), number])
        return plan_batches(index, self.weights, epoch, seed, self.max_tokens)

    def count(self, epoch: int) -> int:
        """Number of batches of an epoch, in all shards.

        Args:
            epoch: int, from 0.

        Returns:
            int.
        """
        return sum(
            self._shard_count(epoch, shard)
            for shard in range(len(self.corpus.indices))
        )

    def _shard_count(self, epoch: int, shard: int) -> int:
        # Of whole weights, each epoch has the same lengths.
        return self._count(0 if self._always_equal else epoch, shard)

    def _count_batches(self, epoch: int, shard: int) -> int:
        index = tf.constant(self.corpus.indices[shard].astype(np.int32))
        return int(self.batches(epoch, shard, index).nrows())

    def find(self, step: int) -> tuple[int, int, int]:
        """Where a batch is.

        Args:
            step: int. Number of batches before it, since the first epoch.

        Returns:
            Tuple of ints: the epoch, the number of shards before it in that
            epoch, and the number of batches before it in that shard.
        """
        epoch = 0
        while step >= (count := self.count(epoch)):
            epoch, step = epoch + 1, step - count
        for position, shard in enumerate(self.shard_order(epoch).numpy()):
            count = self._shard_count(epoch, int(shard))
            if step < count:
                return epoch, position, step
            step -= count
        raise AssertionError("the batches of an epoch are those of its shards")
