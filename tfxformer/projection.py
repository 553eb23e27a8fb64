"""The dense layer of attention and feed-forward networks."""

import keras
from keras import ops


@keras.saving.register_keras_serializable("tfxformer")
class Projection(keras.layers.Dense):
    """Transforms each position alone: `x W + b`, as one matrix product.

    Same as `keras.layers.Dense`, which would otherwise multiply a tensor of
    unknown shape by way of several more operations.

    Args:
        units: int. Width of the output; and the other arguments of `Dense`.

    Call arguments:
        inputs: float `(B, T, D)`.

    Returns:
        float `(B, T, units)`.

    Reference:
        Attention Is All You Need, sections 3.2.2 and 3.3.
    """

    def call(self, inputs, training=None):
        rows = ops.reshape(inputs, (-1, inputs.shape[-1]))  # (B * T, D)
        outputs = super().call(rows, training=training)
        return ops.reshape(outputs, (-1, ops.shape(inputs)[1], self.units))
