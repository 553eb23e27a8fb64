"""Label-smoothed cross-entropy over real tokens."""

import keras
import tensorflow as tf
from keras import ops

from tfxformer.masking import padding_mask


def token_cross_entropy(labels, logits, label_smoothing=0.0):
    """Cross-entropy of each token with a smoothed one-hot distribution.

    The target distribution is `(1 - e) onehot(y) + e / V`: the loss is
    `log(sum(exp(z))) - (1 - e) z_y - e mean(z)`, which needs no smoothed
    distribution of size V for each token.

    Args:
        labels: int `(B, T)`.
        logits: float `(B, T, V)`.
        label_smoothing: float, e.

    Returns:
        float32 `(B, T)`, in nats.

    Reference:
        Attention Is All You Need, section 5.4.
    """
    shape = ops.shape(labels)
    vocabulary_size = logits.shape[-1]
    labels = ops.reshape(ops.cast(labels, "int32"), (-1,))  # (M,)
    logits = ops.reshape(ops.cast(logits, "float32"), (-1, vocabulary_size))

    @tf.custom_gradient
    def cross_entropy(logits):
        probabilities, normalizer, _ = _softmax(logits)
        of_label = tf.gather(logits, labels, batch_dims=1)
        loss = normalizer - (1 - label_smoothing) * of_label
        if label_smoothing:
            loss -= label_smoothing * tf.reduce_mean(logits, -1)

        def gradient(upstream):  # (M,) -> (M, V)
            scale = tf.expand_dims(upstream, 1)
            uniform = label_smoothing / vocabulary_size
            rows = tf.range(tf.shape(labels)[0])
            return tf.tensor_scatter_nd_sub(
                (probabilities - uniform) * scale,
                tf.stack([rows, labels], axis=1),
                (1 - label_smoothing) * upstream,
            )

        return loss, gradient

    return ops.reshape(cross_entropy(logits), shape)


def projected_cross_entropy(labels, x, matrix, label_smoothing=0.0):
    """`token_cross_entropy` of the logits `x matrix^T`, and what they predict.

    Everything of size V is memory traffic, and most of a training step's.
    Of a gradient with respect to logits, `p - e / V - (1 - e) onehot(y)`,
    only the probabilities p are needed whole: the products of the rest with
    `matrix` and `x` are a mean and a row.

    Args:
        labels: int `(B, T)`.
        x: float `(B, T, D)`. What the last layer leaves.
        matrix: float `(V, D)`. A row for each token.
        label_smoothing: float, e.

    Returns:
        Tuple of the losses, float32 `(B, T)`, in nats, and the tokens with
        the highest logits, int32 `(B, T)`.
    """
    shape = ops.shape(labels)
    labels = ops.reshape(ops.cast(labels, "int32"), (-1,))  # (M,)
    rows = ops.reshape(x, (-1, x.shape[-1]))  # (M, D)
    sharpness = 1 - label_smoothing

    @tf.custom_gradient
    def cross_entropy(rows, matrix):
        logits = tf.cast(tf.matmul(rows, matrix, transpose_b=True), "float32")
        probabilities, normalizer, predicted = _softmax(logits)
        probabilities = tf.cast(probabilities, rows.dtype)
        mean = tf.reduce_mean(tf.cast(matrix, "float32"), axis=0)  # (D,)
        of_mean = tf.linalg.matvec(tf.cast(rows, "float32"), mean)
        of_label = tf.gather(logits, labels, batch_dims=1)
        loss = normalizer - sharpness * of_label - label_smoothing * of_mean

        def gradient(upstream, _):  # (M,) -> (M, D), (V, D)
            scale = tf.cast(tf.expand_dims(upstream, 1), rows.dtype)
            of_rows = tf.matmul(probabilities, matrix)
            of_rows -= sharpness * tf.gather(matrix, labels)
            of_rows -= label_smoothing * tf.cast(mean, rows.dtype)
            scaled = rows * scale
            of_matrix = tf.matmul(probabilities, scaled, transpose_a=True)
            uniform = label_smoothing / matrix.shape[0]
            of_matrix -= uniform * tf.reduce_sum(scaled, axis=0)
            of_matrix = tf.tensor_scatter_nd_sub(
                of_matrix, labels[:, tf.newaxis], sharpness * scaled
            )
            return of_rows * scale, of_matrix

        return (loss, predicted), gradient

    loss, predicted = cross_entropy(rows, matrix)
    return ops.reshape(loss, shape), ops.reshape(predicted, shape)


def _softmax(logits):
    """Probabilities, `log(sum(exp(logits)))` and the index of the highest.

    The logarithm is that of the highest logit's probability, never below
    1 / V: the softmax need not be gone through again.

    Args:
        logits: float32 `(M, V)`.

    Returns:
        Tuple of float32 `(M, V)`, float32 `(M,)` and int32 `(M,)`.
    """
    highest = tf.argmax(logits, axis=-1, output_type="int32")
    probabilities = tf.nn.softmax(logits)
    normalizer = tf.gather(logits, highest, batch_dims=1) - tf.math.log(
        tf.gather(probabilities, highest, batch_dims=1)
    )
    return probabilities, normalizer, highest


@keras.saving.register_keras_serializable("tfxformer")
class TokenCrossEntropy(keras.losses.Loss):
    """Mean label-smoothed cross-entropy over the real tokens of a batch.

    Padding (label 0) counts neither in the sum nor in the number. Sample
    weights, `(B,)` or `(B, T)`, weigh tokens; the mean is over the weights.

    Args:
        label_smoothing: float. Probability spread over the vocabulary.

    Call arguments:
        y_true: int `(B, T)`. Labels; 0 = padding.
        y_pred: float `(B, T, V)`. Logits.
        sample_weight: float `(B,)` or `(B, T)`, or None.

    Returns:
        float32 `()`, in nats; 0 where nothing counts.

    Raises:
        ValueError: if `label_smoothing` is not at least 0 and below 1.

    Reference:
        Attention Is All You Need, section 5.4.
    """

    def __init__(self, label_smoothing=0.0, name="token_cross_entropy"):
        super().__init__(name=name)
        if not 0 <= label_smoothing < 1:
            raise ValueError(
                "label_smoothing must be at least 0 and below 1. "
                f"Received: label_smoothing={label_smoothing}"
            )
        self.label_smoothing = label_smoothing

    def __call__(self, y_true, y_pred, sample_weight=None):
        losses = token_cross_entropy(y_true, y_pred, self.label_smoothing)
        weights = token_weights(y_true, sample_weight)
        return ops.divide_no_nan(ops.sum(losses * weights), ops.sum(weights))

    def get_config(self):
        return {"name": self.name, "label_smoothing": self.label_smoothing}


def token_weights(labels, sample_weight=None):
    """1 for real tokens and 0 for padding, times the sample weights.

    Args:
        labels: int `(B, T)`.
        sample_weight: float `(B,)` or `(B, T)`, or None.

    Returns:
        float32 `(B, T)`.
    """
    weights = ops.cast(padding_mask(labels), "float32")
    if sample_weight is not None:
        sample_weight = ops.cast(sample_weight, "float32")
        if len(sample_weight.shape) == 1:
            sample_weight = ops.expand_dims(sample_weight, 1)
        weights = weights * sample_weight
    return weights
