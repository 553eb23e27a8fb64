"""Position encodings: sinusoidal (the paper's) and learned."""

import keras
from keras import ops


def sinusoidal_encoding(positions, hidden_dim):
    """Encodes positions as sines and cosines, interleaved.

    `PE(pos, 2i) = sin(pos / 10000^(2i / D))` and `PE(pos, 2i + 1) =
    cos(pos / 10000^(2i / D))`. For every offset k there is one rotation per
    frequency that maps PE(pos) to PE(pos + k), whatever pos; so the inner
    product of two encodings depends on their distance alone.

    Args:
        positions: int or float `(T,)`. Counted from 0.
        hidden_dim: int, D. Even.

    Returns:
        float32 `(T, D)`.

    Raises:
        ValueError: if `hidden_dim` is odd.

    Reference:
        Attention Is All You Need, section 3.5.
    """
    if hidden_dim % 2:
        raise ValueError(
            "Sines and cosines come in pairs, so hidden_dim must be even. "
            f"Received: hidden_dim={hidden_dim}"
        )
    exponents = ops.arange(0, hidden_dim, 2, dtype="float32") / hidden_dim
    frequencies = ops.power(10000.0, -exponents)  # (D / 2,)
    positions = ops.expand_dims(ops.cast(positions, "float32"), 1)
    angles = positions * frequencies  # (T, D / 2)
    pairs = ops.stack([ops.sin(angles), ops.cos(angles)], axis=-1)
    return ops.reshape(pairs, (-1, hidden_dim))


@keras.saving.register_keras_serializable("tfxformer")
class SinusoidalPositionEncoding(keras.layers.Layer):
    """Adds the sinusoidal encoding of its position to each token.

    Computed for the positions at hand, so there is no longest sequence. Sum
    and result are float32 under every dtype policy: bfloat16 cannot tell
    neighbouring positions apart.

    Call arguments:
        inputs: float `(B, T, D)`.
        start_index: int or int32 `()`. Position of the first token.
        same_position: bool. All T tokens stand at `start_index`: they are
            beams of one sentence.

    Returns:
        float32 `(B, T, D)`.

    Raises:
        ValueError: if D is odd.

    Reference:
        Attention Is All You Need, section 3.5.
    """

    def __init__(self, dtype="float32", **kwargs):
        super().__init__(dtype=dtype, **kwargs)

    def call(self, inputs, start_index=0, same_position=False):
        length = 1 if same_position else ops.shape(inputs)[1]
        positions = ops.arange(length, dtype="int32")
        encoding = sinusoidal_encoding(
            start_index + positions, inputs.shape[-1]
        )
        return ops.cast(inputs, "float32") + encoding

    def compute_output_spec(self, inputs, start_index=0, same_position=False):
        return keras.KerasTensor(inputs.shape, dtype="float32")


@keras.saving.register_keras_serializable("tfxformer")
class LearnedPositionEncoding(keras.layers.Layer):
    """Adds a trained vector for its position to each token.

    Args:
        max_length: int. Number of positions that have a vector.

    Call arguments:
        inputs: float `(B, T, D)`.
        start_index: int or int32 `()`. Position of the first token.
        same_position: bool. All T tokens stand at `start_index`: they are
            beams of one sentence.

    Returns:
        float32 `(B, T, D)`.

    Raises:
        ValueError: if the sequence is longer than `max_length`.

    Reference:
        Attention Is All You Need, section 3.5 and table 3, row (E).
    """

    def __init__(self, max_length, dtype="float32", **kwargs):
        super().__init__(dtype=dtype, **kwargs)
        self.max_length = max_length

    def build(self, inputs_shape):
        hidden_dim = inputs_shape[-1]
        self.embeddings = self.add_weight(
            name="embeddings",
            shape=(self.max_length, hidden_dim),
            initializer=keras.initializers.RandomNormal(
                stddev=hidden_dim**-0.5
            ),
        )

    def call(self, inputs, start_index=0, same_position=False):
        length = 1 if same_position else ops.shape(inputs)[1]
        if isinstance(length, int) and length > self.max_length:
            raise ValueError(
                "The sequence is longer than the learned positions. Received: "
                f"length={length}, max_length={self.max_length}"
            )
        positions = start_index + ops.arange(length, dtype="int32")
        return inputs + ops.take(self.embeddings, positions, axis=0)

    def get_config(self):
        return {**super().get_config(), "max_length": self.max_length}
