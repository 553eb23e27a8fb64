"""Token loss, accuracy and perplexity; padding does not count."""

import keras
import tensorflow as tf
from keras import ops

from tfxformer.losses import token_cross_entropy, token_weights


class _TokenMean(keras.metrics.Metric):
    """Mean of a value per token over all real tokens seen so far."""

    def __init__(self, name, **kwargs):
        super().__init__(name=name, **kwargs)
        self.total = self.add_weight(name="total", initializer="zeros")
        self.count = self.add_weight(name="count", initializer="zeros")

    def token_values(self, labels, logits):
        raise NotImplementedError

    def update_state(self, y_true, y_pred, sample_weight=None):
        weights = token_weights(y_true, sample_weight)
        values = ops.cast(self.token_values(y_true, y_pred), "float32")
        self.total.assign_add(ops.sum(values * weights))
        self.count.assign_add(ops.sum(weights))

    def result(self):
        return ops.divide_no_nan(self.total, self.count)


@keras.saving.register_keras_serializable("tfxformer")
class TokenAccuracy(_TokenMean):
    """Share of real tokens whose label has the highest logit.

    `update_state` takes labels, int `(B, T)` with 0 for padding, and
    logits, float `(B, T, V)`; `result` is float32 `()`, from 0 to 1.
    """

    def __init__(self, name="accuracy", **kwargs):
        super().__init__(name=name, **kwargs)

    def token_values(self, labels, logits):
        # `ops.argmax` makes five more passes over the logits, for -0.0.
        predicted = tf.argmax(logits, axis=-1, output_type="int32")
        return ops.equal(ops.cast(labels, "int32"), predicted)


@keras.saving.register_keras_serializable("tfxformer")
class TokenLoss(_TokenMean):
    """Mean label-smoothed cross-entropy of the real tokens, in nats.

    Other than the loss that Keras reports, a mean over all tokens, however
    they were put into batches. `update_state` takes labels, int `(B, T)`
    with 0 for padding, and logits, float `(B, T, V)`; `result` is float32
    `()`.

    Args:
        label_smoothing: float. Probability spread over the vocabulary.

    Reference:
        Attention Is All You Need, section 5.4.
    """

    def __init__(self, label_smoothing=0.0, name="loss", **kwargs):
        super().__init__(name=name, **kwargs)
        self.label_smoothing = label_smoothing

    def token_values(self, labels, logits):
        return token_cross_entropy(labels, logits, self.label_smoothing)

    def get_config(self):
        return {
            **super().get_config(),
            "label_smoothing": self.label_smoothing,
        }


@keras.saving.register_keras_serializable("tfxformer")
class Perplexity(_TokenMean):
    """`exp` of the mean cross-entropy of the real tokens, not smoothed.

    `update_state` takes labels, int `(B, T)` with 0 for padding, and
    logits, float `(B, T, V)`; `result` is float32 `()`, at least 1.
    """

    def __init__(self, name="perplexity", **kwargs):
        super().__init__(name=name, **kwargs)

    def token_values(self, labels, logits):
        return token_cross_entropy(labels, logits)

    def result(self):
        return ops.exp(super().result())
