"""The training step: a gradient in which all tokens count the same."""

import keras
import tensorflow as tf

from tfxformer.losses import projected_cross_entropy, token_weights
from tfxformer.masking import padding_mask
from tfxformer.model import Transformer


class TrainingTransformer(Transformer):
    """A `Transformer` that `fit` trains on the mean loss over all tokens.

    It is compiled with a `TokenCrossEntropy`, and trains without making the
    gradient of the logits, the largest tensor of a step.

    The tokens of an update are those of all its batches, on all replicas.
    Loss and accuracy in the logs are means over the tokens of an epoch. Its
    data is one batch, `((encoder_token_ids, decoder_token_ids),
    labels)`, or several: ragged tensors of the same, with the batches along
    the first axis.

    Args:
        *args: of `Transformer`.
        **kwargs: of `Transformer`.

    Attributes:
        tokens_seen: int64 variable. Target tokens of all updates, `</s>`
            included.
        accuracy: the metric of that name.

    Reference:
        Attention Is All You Need, section 5.4 (label smoothing).
    """

    def __init__(self, *args, **kwargs):
        super().__init__(*args, **kwargs)
        # Of targets, in all updates. No weight, so not a Keras variable.
        self.tokens_seen = tf.Variable(
            0,
            dtype=tf.int64,
            trainable=False,
            aggregation=tf.VariableAggregation.ONLY_FIRST_REPLICA,
        )

    def build(self, input_shape):
        # Not one of `compile`, which would have no variables before the first
        # batch: those of a checkpoint must find their place earlier.
        self.accuracy = keras.metrics.Mean("accuracy")
        super().build(input_shape)

    def train_step(self, data):
        """Makes one update; `fit` calls it.

        Args:
            data: one batch or several, as above; of several replicas, the
                part of this one.

        Returns:
            dict of scalar tensors: the metrics of the epoch so far.
        """
        _, labels = data
        several = isinstance(labels, tf.RaggedTensor)
        tokens = tf.math.count_nonzero(
            labels.flat_values if several else labels, dtype=tf.float32
        )
        tokens = tf.distribute.get_replica_context().all_reduce(
            tf.distribute.ReduceOp.SUM, tokens
        )
        self.tokens_seen.assign_add(tf.cast(tokens, tf.int64))
        if several:
            gradients = self._sum_of_gradients(data, tokens)
        else:
            gradients = self._gradients(*data, tokens)
        self.optimizer.apply(gradients, self.trainable_variables)
        return {metric.name: metric.result() for metric in self.metrics}

    def _gradients(self, inputs, labels, all_tokens):
        """The part of one batch in the gradient of the mean loss."""
        encoder_token_ids, decoder_token_ids = inputs
        weights = token_weights(labels)
        tokens = tf.reduce_sum(weights)
        with tf.GradientTape() as tape:
            x, _ = self._decode(
                decoder_token_ids,
                self.encode(encoder_token_ids, training=True),
                padding_mask(encoder_token_ids),
                training=True,
            )
            matrix = tf.transpose(self.output_matrix())
            losses, predicted = projected_cross_entropy(
                labels,
                tf.cast(x, matrix.dtype),
                matrix,
                self.loss.label_smoothing,
            )
            total = tf.reduce_sum(losses * weights)
            part = self.optimizer.scale_loss(
                tf.math.divide_no_nan(total, all_tokens)
            )
        gradients = tape.gradient(part, self.trainable_variables)
        is_finite = tf.math.is_finite(total)  # else the update is skipped
        self._loss_tracker.update_state(
            tf.where(is_finite, tf.math.divide_no_nan(total, tokens), 0.0),
            sample_weight=tf.where(is_finite, tokens, 0.0),
        )
        correct = tf.reduce_sum(tf.where(labels == predicted, weights, 0.0))
        self.accuracy.update_state(
            tf.math.divide_no_nan(correct, tokens), sample_weight=tokens
        )
        return gradients

    def _sum_of_gradients(self, data, all_tokens):
        """The same over several batches, one after the other."""

        def add(number, sums):
            (source, inputs), labels = tf.nest.map_structure(
                lambda ids: ids[number].to_tensor(), data
            )
            gradients = self._gradients((source, inputs), labels, all_tokens)
            return number + 1, [
                total + gradient
                for total, gradient in zip(sums, gradients, strict=True)
            ]

        count = data[1].nrows(tf.int32)
        zeros = [tf.zeros(v.shape) for v in self.trainable_variables]
        _, sums = tf.while_loop(
            lambda number, sums: number < count,
            add,
            (0, zeros),
            parallel_iterations=1,
        )
        return sums
