"""Label-smoothed cross-entropy over real tokens."""

import keras
import tensorflow as tf
from keras import ops

from tfxformer.masking import padding_mask


def token_cross_entropy(labels, logits, label_smoothing=0.0):
    """Cross-entropy of each token with a smoothed one-hot distribution.

    The target distribution is `(1 - e) onehot(y) + e / V`. With `nll` the
    plain cross-entropy, that is `nll + e (z_y - mean(z))`, which needs no
    smoothed distribution of size V for each token.

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

    # Everything of size V is memory traffic, and most of a training step's:
    # TensorFlow's kernel leaves softmax(z) - onehot(y) behind, from which
    # the gradient takes two passes.
    @tf.custom_gradient
    def cross_entropy(logits):
        nll, difference = tf.raw_ops.SparseSoftmaxCrossEntropyWithLogits(
            features=logits, labels=labels
        )
        rows = tf.range(tf.shape(labels)[0])
        of_label = tf.stack([rows, labels], axis=1)
        loss = nll
        if label_smoothing:
            loss += label_smoothing * (
                tf.gather_nd(logits, of_label) - tf.reduce_mean(logits, -1)
            )

        def gradient(upstream):  # (M,) -> (M, V)
            scale = tf.expand_dims(upstream, 1)
            if not label_smoothing:
                return difference * scale
            uniform = label_smoothing / vocabulary_size
            return tf.tensor_scatter_nd_add(
                (difference - uniform) * scale,
                of_label,
                label_smoothing * upstream,
            )

        return loss, gradient

    return ops.reshape(cross_entropy(logits), shape)


@keras.saving.register_keras_serializable("tfxformer")
class TokenCrossEntropy(keras.losses.Loss):
    """Mean label-smoothed cross-entropy over the real tokens of a batch.

    Padding (label 0) counts neither in the sum nor in the number. Sample
    weights, `(B,)` or `(B, T)`, weigh tokens; the mean is over the weights.

    Args:
        label_smoothing: float. Probability spread over the vocabulary.

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
