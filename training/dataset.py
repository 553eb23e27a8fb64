"""tf.data: batches of sentences of similar length, filled by tokens.

Which pairs make a batch is planned in `training.batches`.
"""

import numpy as np
import tensorflow as tf

from tfxformer.tokenizer import PAD_TOKEN_ID, START_TOKEN_ID
from training.batches import BatchPlan
from training.resampling import Resampling
from training.shards import Corpus
from training.tokens import TokenizedPairs

MAX_RECORDS = 1 << 16  # of a shard: one for each 4 MiB of the text


def training_dataset(
    plan: BatchPlan,
    start: int = 0,
    replica: int = 0,
    num_replicas: int = 1,
    accumulate: int = 1,
    resampling: Resampling | None = None,
    service: str | None = None,
) -> tf.data.Dataset:
    """Batches for `fit`, without end, in a new order each epoch.

    Args:
        plan: a `BatchPlan`, of the whole batch where replicas share it.
        start: int. Leaves out as many elements: the position at which an
            interrupted training goes on. With a service, at the beginning of
            the next epoch.
        replica: int. Number of this replica, from 0.
        num_replicas: int. Each batch is dealt onto so many replicas, pair by
            pair; one for whom nothing is left gets a pair of padding.
        accumulate: int. Batches in each element, one after the other.
        resampling: a `Resampling`: splits each sentence anew. Batches may
            then be larger than planned.
        service: string. Address of a dispatcher of tf.data service, whose
            workers then make the batches, each other epochs.

    Returns:
        Dataset of `((encoder_token_ids, decoder_token_ids), labels)`, int32
        `(B, S)`, `(B, T)` and `(B, T)`; with several batches in an element,
        ragged tensors of one more axis.
    """
    corpus = plan.corpus
    epoch, shards_before, batches_before = plan.find(start * accumulate)
    if service is not None and (shards_before or batches_before):
        epoch, shards_before, batches_before = epoch + 1, 0, 0

    def shards_of(epoch):
        order = plan.shard_order(epoch)
        epochs = tf.fill(tf.shape(order), epoch)
        return tf.data.Dataset.from_tensor_slices((epochs, order))

    def batches_of(epoch, shard, index, source, target):
        batches = plan.batches(epoch, shard, index)
        return tf.data.Dataset.from_tensor_slices(batches).map(
            lambda rows: _gather(source, target, rows[replica::num_replicas]),
            num_parallel_calls=1,
        )

    # A data service deals the numbers of a range onto its workers; those of
    # Dataset.counter it would give to each of them.
    epochs = tf.data.Dataset.range(epoch, 1 << 62)
    dataset = epochs.flat_map(shards_of).skip(shards_before)
    dataset = _load_shards(dataset, corpus).flat_map(batches_of)
    dataset = dataset.skip(batches_before)
    if resampling is not None:
        dataset = dataset.enumerate(start * accumulate).map(
            lambda step, pair: _resample(*pair, step, resampling, plan.seed),
            num_parallel_calls=1,
        )
    dataset = dataset.map(_teacher_forcing, num_parallel_calls=1)
    if accumulate > 1:
        dataset = dataset.ragged_batch(accumulate, drop_remainder=True)
    if service is not None:
        dataset = dataset.apply(
            tf.data.experimental.service.distribute(
                processing_mode=tf.data.experimental.service.ShardingPolicy.DYNAMIC,
                service=service,
            )
        )
    return untuned(dataset.prefetch(4))


def validation_dataset(corpus: Corpus, max_tokens: int) -> tf.data.Dataset:
    """The same batches in the same order, once.

    Args:
        corpus: a `Corpus`.
        max_tokens: int. Most positions of a batch on either side.

    Returns:
        A dataset of elements like those of `training_dataset`.
    """
    plan = BatchPlan(corpus, max_tokens, seed=0)
    count = plan.count(0)
    dataset = training_dataset(plan).take(count)
    return dataset.apply(tf.data.experimental.assert_cardinality(count))


def untuned(dataset: tf.data.Dataset) -> tf.data.Dataset:
    """Does without the thread that tunes buffers.

    It sleeps up to a minute, and who ends an iterator may have to wait until
    it wakes.

    Args:
        dataset: a dataset whose buffers are of fixed sizes.

    Returns:
        The same dataset with another option.
    """
    options = tf.data.Options()
    options.autotune.enabled = False
    return dataset.with_options(options)


def _load_shards(dataset: tf.data.Dataset, corpus: Corpus) -> tf.data.Dataset:
    """Adds the index and the ids to the numbers of epoch and shard."""
    if isinstance(corpus.shards, TokenizedPairs):
        pairs = corpus.shards
        source = tf.RaggedTensor.from_row_lengths(
            pairs.source_ids, pairs.source_lengths
        )
        target = tf.RaggedTensor.from_row_lengths(
            pairs.target_ids, pairs.target_lengths
        )
        index = tf.constant(corpus.indices[0].astype(np.int32))
        return dataset.map(
            lambda epoch, shard: (epoch, shard, index, source, target)
        )
    paths = tf.constant([str(path) for path in corpus.shards])

    def load(epoch, shard):
        records = tf.data.TFRecordDataset(
            tf.gather(paths, shard), buffer_size=1 << 20
        )
        # One ragged batch of all records joins them. Not parallel: a fused
        # map and batch would wait for MAX_RECORDS.
        return (
            records.map(_parse)
            .ragged_batch(MAX_RECORDS)
            .map(lambda *parts: _join(epoch, shard, parts))
        )

    return dataset.flat_map(load).prefetch(1)


def _parse(record):
    """Undoes `TokenizedPairs.to_record`."""
    numbers = tf.io.decode_raw(record, tf.int32)
    count = numbers[0]
    columns = tf.reshape(numbers[1 : 1 + 3 * count], [3, count])
    split = 1 + 3 * count + tf.reduce_sum(columns[0])
    ids = numbers[1 + 3 * count : split], numbers[split:]
    return (columns[0], columns[1], columns[2], *ids)


def _join(epoch, shard, parts):
    sources, targets, origins, source_ids, target_ids = (
        part.flat_values for part in parts
    )
    index = tf.stack([sources, targets, origins], axis=1)
    source = tf.RaggedTensor.from_row_lengths(
        source_ids, sources, validate=False
    )
    target = tf.RaggedTensor.from_row_lengths(
        target_ids, targets, validate=False
    )
    return epoch, shard, index, source, target


def _gather(source, target, rows):
    """The ids of some pairs, ragged; of none: a pair without ids."""
    source, target = tf.gather(source, rows), tf.gather(target, rows)
    missing = tf.cast(tf.size(rows) == 0, tf.int32)
    nothing = tf.RaggedTensor.from_row_lengths(
        tf.zeros([0], tf.int32), tf.zeros([missing], tf.int32)
    )
    return tuple(tf.concat([ids, nothing], 0) for ids in (source, target))


@tf.autograph.experimental.do_not_convert
def _resample(source, target, step, resampling, seed):
    sides = tf.numpy_function(
        resampling,
        [
            tf.stack([tf.constant(seed, tf.int64), step]),
            *(source.values, source.row_lengths()),
            *(target.values, target.row_lengths()),
        ],
        [tf.int32, tf.int64] * 2,
        stateful=False,
    )
    sides = [tf.ensure_shape(array, [None]) for array in sides]
    return (
        tf.RaggedTensor.from_row_lengths(sides[0], sides[1]),
        tf.RaggedTensor.from_row_lengths(sides[2], sides[3]),
    )


def _teacher_forcing(source, target):
    encoder_token_ids = source.to_tensor(PAD_TOKEN_ID)
    labels = target.to_tensor(PAD_TOKEN_ID)
    # "<s> a b" is fed where "a b </s>" is to be said.
    starts = tf.fill([tf.shape(labels)[0], 1], START_TOKEN_ID)
    shifted = tf.concat([starts, labels[:, :-1]], axis=1)
    decoder_token_ids = tf.where(labels == PAD_TOKEN_ID, PAD_TOKEN_ID, shifted)
    return (encoder_token_ids, decoder_token_ids), labels
