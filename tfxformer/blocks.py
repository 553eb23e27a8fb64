"""Feed-forward network, residual connection, encoder and decoder block."""

import keras

from tfxformer.attention import MultiHeadAttention
from tfxformer.masking import attention_mask
from tfxformer.normalization import LayerNormalization
from tfxformer.projection import Projection


@keras.saving.register_keras_serializable("tfxformer")
class FeedForward(keras.layers.Layer):
    """Transforms each position alone: `activation(x W_1 + b_1) W_2 + b_2`.

    With "swiglu": `(silu(x W_1 + b_1) * (x W_3 + b_3)) W_2 + b_2`.

    Args:
        intermediate_dim: int, F. Width between the two projections.
        activation: "relu" (the paper), "gelu" or "swiglu".
        dropout: float. Dropout rate after the activation.

    Call arguments:
        inputs: float `(B, T, D)`.
        training: bool. Whether dropout is active.

    Returns:
        float `(B, T, D)`.

    Raises:
        ValueError: if there is no such activation.

    Reference:
        Attention Is All You Need, section 3.3. Gaussian Error Linear Units
        (Hendrycks and Gimpel, 2016). SwiGLU: GLU Variants Improve
        Transformer (Shazeer, 2020), section 2.
    """

    def __init__(
        self, intermediate_dim, activation="relu", dropout=0.0, **kwargs
    ):
        super().__init__(**kwargs)
        if activation not in ("relu", "gelu", "swiglu"):
            raise ValueError(
                "activation must be 'relu', 'gelu' or 'swiglu'. "
                f"Received: activation={activation!r}"
            )
        self.intermediate_dim = intermediate_dim
        self.activation = activation
        self.dropout = dropout
        self.intermediate_dense = Projection(
            intermediate_dim,
            activation="silu" if activation == "swiglu" else activation,
            dtype=self.dtype_policy,
            name="intermediate",
        )
        self.linear_dense = None
        if activation == "swiglu":
            self.linear_dense = Projection(
                intermediate_dim, dtype=self.dtype_policy, name="linear"
            )
        self.dropout_layer = keras.layers.Dropout(
            dropout, dtype=self.dtype_policy
        )

    def build(self, inputs_shape):
        self.output_dense = Projection(
            inputs_shape[-1], dtype=self.dtype_policy, name="output"
        )
        self.intermediate_dense.build(inputs_shape)
        if self.linear_dense is not None:
            self.linear_dense.build(inputs_shape)
        self.output_dense.build((*inputs_shape[:-1], self.intermediate_dim))

    def call(self, inputs, training=None):
        x = self.intermediate_dense(inputs)  # (B, T, F)
        if self.linear_dense is not None:
            x = x * self.linear_dense(inputs)
        x = self.dropout_layer(x, training=training)
        return self.output_dense(x)  # (B, T, D)

    def get_config(self):
        return {
            **super().get_config(),
            "intermediate_dim": self.intermediate_dim,
            "activation": self.activation,
            "dropout": self.dropout,
        }


@keras.saving.register_keras_serializable("tfxformer")
class Residual(keras.layers.Layer):
    """Adds what a sublayer computes to its input, with normalisation.

    Post-norm (the paper): `norm(x + dropout(sublayer(x)))`.
    Pre-norm: `x + dropout(sublayer(norm(x)))`.

    Args:
        normalize_first: bool. Pre-norm instead of post-norm.
        dropout: float. Dropout rate of the sublayer's output.

    Call arguments:
        inputs: float `(B, T, D)`.
        sublayer: callable of one tensor `(B, T, D)`. It returns a tensor of
            that shape, or a tuple that starts with one.
        training: bool. Whether dropout is active.

    Returns:
        float `(B, T, D)`; if the sublayer returned a tuple, a tuple with
        the rest passed on unchanged.

    Reference:
        Attention Is All You Need, sections 3.1 and 5.4. Pre-norm: On Layer
        Normalization in the Transformer Architecture (Xiong et al., 2020).
    """

    def __init__(self, normalize_first=False, dropout=0.0, **kwargs):
        super().__init__(**kwargs)
        self.normalize_first = normalize_first
        self.dropout = dropout
        self.normalization = LayerNormalization(
            dtype=self.dtype_policy, name="norm"
        )
        self.dropout_layer = keras.layers.Dropout(
            dropout, dtype=self.dtype_policy
        )

    def build(self, inputs_shape):
        self.normalization.build(inputs_shape)

    def call(self, inputs, sublayer, training=None):
        x = inputs
        if self.normalize_first:
            x = self.normalization(inputs, training=training)
        outputs = sublayer(x)
        x, *rest = outputs if isinstance(outputs, tuple) else (outputs,)
        x = inputs + self.dropout_layer(x, training=training)
        if not self.normalize_first:
            x = self.normalization(x, training=training)
        return (x, *rest) if rest else x

    def get_config(self):
        return {
            **super().get_config(),
            "normalize_first": self.normalize_first,
            "dropout": self.dropout,
        }


class _Block(keras.layers.Layer):
    """What an encoder and a decoder block have in common."""

    def __init__(
        self,
        intermediate_dim,
        num_heads,
        key_dim=None,
        dropout=0.0,
        activation="relu",
        normalize_first=False,
        attention_dropout=0.0,
        activation_dropout=0.0,
        **kwargs,
    ):
        super().__init__(**kwargs)
        self.intermediate_dim = intermediate_dim
        self.num_heads = num_heads
        self.key_dim = key_dim
        self.dropout = dropout
        self.activation = activation
        self.normalize_first = normalize_first
        self.attention_dropout = attention_dropout
        self.activation_dropout = activation_dropout
        self.feed_forward = FeedForward(
            intermediate_dim,
            activation,
            activation_dropout,
            dtype=self.dtype_policy,
            name="feed_forward",
        )
        self.feed_forward_residual = self._residual("feed_forward_residual")

    def _residual(self, name):
        return Residual(
            self.normalize_first,
            self.dropout,
            dtype=self.dtype_policy,
            name=name,
        )

    def _build_attention(self, name, sequence_shape):
        hidden_dim = sequence_shape[-1]
        if self.key_dim is None and hidden_dim % self.num_heads:
            raise ValueError(
                "num_heads must divide hidden_dim, unless key_dim is given. "
                f"Received: num_heads={self.num_heads}, "
                f"hidden_dim={hidden_dim}"
            )
        attention = MultiHeadAttention(
            self.num_heads,
            self.key_dim or hidden_dim // self.num_heads,
            self.attention_dropout,
            dtype=self.dtype_policy,
            name=name,
        )
        attention.build(sequence_shape, sequence_shape)
        return attention

    def get_config(self):
        return {
            **super().get_config(),
            "intermediate_dim": self.intermediate_dim,
            "num_heads": self.num_heads,
            "key_dim": self.key_dim,
            "dropout": self.dropout,
            "activation": self.activation,
            "normalize_first": self.normalize_first,
            "attention_dropout": self.attention_dropout,
            "activation_dropout": self.activation_dropout,
        }


@keras.saving.register_keras_serializable("tfxformer")
class EncoderBlock(_Block):
    """Self-attention, then a feed-forward network, each in a residual.

    Args:
        intermediate_dim: int, F. Width of the feed-forward network.
        num_heads: int, N.
        key_dim: int, H. Size of one head; D / N by default.
        dropout: float. Dropout rate of the output of each sublayer.
        activation: "relu", "gelu" or "swiglu".
        normalize_first: bool. Pre-norm instead of post-norm.
        attention_dropout: float. Dropout rate of the attention weights.
        activation_dropout: float. Dropout rate inside the feed-forward
            network.

    Call arguments:
        encoder_sequence: float `(B, S, D)`.
        padding_mask: bool `(B, S)`; True = real token.
        return_attention_weights: bool. Also return them.
        training: bool. Whether dropout is active.

    Returns:
        float `(B, S, D)`, or `(output, attention_weights)` with weights
        float32 `(B, N, S, S)`.

    Raises:
        ValueError: if the heads do not divide the width, or there is no such
            activation.

    Reference:
        Attention Is All You Need, section 3.1.
    """

    def build(self, encoder_sequence_shape):
        shape = encoder_sequence_shape
        self.self_attention = self._build_attention("self_attention", shape)
        self.self_attention_residual = self._residual("self_attention_residual")
        self.self_attention_residual.build(shape)
        self.feed_forward.build(shape)
        self.feed_forward_residual.build(shape)

    def call(
        self,
        encoder_sequence,
        padding_mask=None,
        return_attention_weights=False,
        training=None,
    ):
        x, weights = self.self_attention_residual(
            encoder_sequence,
            sublayer=lambda x: self.self_attention(
                x,
                attention_mask=attention_mask(padding_mask),
                return_attention_weights=True,
                training=training,
            ),
            training=training,
        )
        x = self.feed_forward_residual(
            x,
            sublayer=lambda x: self.feed_forward(x, training=training),
            training=training,
        )
        return (x, weights) if return_attention_weights else x


@keras.saving.register_keras_serializable("tfxformer")
class DecoderBlock(_Block):
    """Causal self-attention, encoder-decoder attention, feed-forward.

    Works on whole sequences (training) or, with caches, on one position
    after the other (decoding): then T is K, the beams of a sentence at that
    position, which share its keys and values. The self-attention mask is
    passed in, since only the caller knows what each query may see.

    Args:
        intermediate_dim: int, F. Width of the feed-forward network.
        num_heads: int, N.
        key_dim: int, H. Size of one head; D / N by default.
        dropout: float. Dropout rate of the output of each sublayer.
        activation: "relu", "gelu" or "swiglu".
        normalize_first: bool. Pre-norm instead of post-norm.
        attention_dropout: float. Dropout rate of the attention weights.
        activation_dropout: float. Dropout rate inside the feed-forward
            network.

    Call arguments:
        decoder_sequence: float `(B, T, D)`.
        encoder_sequence: float `(B, S, D)`. Not read when
            `cross_attention_cache` is given.
        self_attention_mask: bool `(B, T, T)` or broadcastable, True =
            attend; `(B, K, max_length * K)` with a cache.
        encoder_padding_mask: bool `(B, S)`; True = real token.
        self_attention_cache: tuple of two float
            `(B, N, max_length * K, H)`.
        cross_attention_cache: tuple of two float `(B, N, S, H)`.
        cache_update_index: int32 `()`. Position to write in the cache.
        return_attention_weights: bool. Also return them.
        training: bool. Whether dropout is active.

    Returns:
        float `(B, T, D)`; a tuple `(output[, cache][, (self_weights,
        cross_weights)])` where a cache is updated or weights are asked for.

    Raises:
        ValueError: if the heads do not divide the width, or there is no such
            activation.

    Reference:
        Attention Is All You Need, section 3.1.
    """

    def build(self, decoder_sequence_shape, encoder_sequence_shape=None):
        shape = decoder_sequence_shape
        self.self_attention = self._build_attention("self_attention", shape)
        self.self_attention_residual = self._residual("self_attention_residual")
        self.self_attention_residual.build(shape)
        self.cross_attention = self._build_attention("cross_attention", shape)
        self.cross_attention_residual = self._residual(
            "cross_attention_residual"
        )
        self.cross_attention_residual.build(shape)
        self.feed_forward.build(shape)
        self.feed_forward_residual.build(shape)

    def call(
        self,
        decoder_sequence,
        encoder_sequence=None,
        self_attention_mask=None,
        encoder_padding_mask=None,
        self_attention_cache=None,
        cross_attention_cache=None,
        cache_update_index=None,
        return_attention_weights=False,
        training=None,
    ):
        x, *cache, self_weights = self.self_attention_residual(
            decoder_sequence,
            sublayer=lambda x: self.self_attention(
                x,
                attention_mask=self_attention_mask,
                cache=self_attention_cache,
                cache_update_index=cache_update_index,
                return_attention_weights=True,
                training=training,
            ),
            training=training,
        )
        x, cross_weights = self.cross_attention_residual(
            x,
            sublayer=lambda x: self.cross_attention(
                x,
                encoder_sequence,
                attention_mask=attention_mask(encoder_padding_mask),
                cache=cross_attention_cache,
                return_attention_weights=True,
                training=training,
            ),
            training=training,
        )
        x = self.feed_forward_residual(
            x,
            sublayer=lambda x: self.feed_forward(x, training=training),
            training=training,
        )
        results = (x, *cache)
        if return_attention_weights:
            results += ((self_weights, cross_weights),)
        return results if len(results) > 1 else x
