"""Scaled dot-product attention and multi-head attention with a cache.

Axes: B batch, T queries, S keys and values, N heads, H size of one head,
D model dimension.
"""

import keras
import tensorflow as tf
from keras import ops

from tfxformer.projection import Projection


def scaled_dot_product_attention(
    query, key, value, attention_mask=None, dropout=None
):
    """Computes `softmax(Q K^T / sqrt(H)) V`.

    The softmax is computed in float32. A masked probability is exactly 0; a
    query that may attend to nothing attends to everything alike.

    Args:
        query: float `(B, N, T, H)`.
        key: float `(B, N, S, H)`.
        value: float `(B, N, S, H)`.
        attention_mask: bool, broadcastable to `(B, N, T, S)`; True = attend.
        dropout: callable applied to the attention weights, or None.

    Returns:
        Tuple of the output, float `(B, N, T, H)`, and the attention weights
        before dropout, float32 `(B, N, T, S)`.

    Reference:
        Attention Is All You Need, section 3.2.1.
    """
    query = query * float(query.shape[-1]) ** -0.5
    scores = tf.matmul(query, key, transpose_b=True)  # (B, N, T, S)
    scores = ops.cast(scores, "float32")
    if attention_mask is not None:
        scores += ops.where(attention_mask, 0.0, -1e9)
    weights = tf.nn.softmax(scores)
    dropped = weights if dropout is None else dropout(weights)
    return tf.matmul(ops.cast(dropped, value.dtype), value), weights


def update_cache(cache, update, index, rows):
    """Writes one position of a cache, which has a row for each of K beams.

    `cache[:, :, index * K + k] = update[:, :, k]`. A select over rows is a
    plain kernel everywhere: eager, graph, XLA, TensorFlow Serving and the
    built-in operators of TFLite.

    Args:
        cache: float `(B, N, max_length * K, H)`.
        update: float `(B, N, K, H)`.
        index: int32 `()`. The position to write.
        rows: int32 `(max_length * K,)`: 0, 1, 2, ...

    Returns:
        float `(B, N, max_length * K, H)`.
    """
    num_beams = update.shape[2]
    positions = rows
    if num_beams > 1:
        positions = rows // num_beams
        update = ops.take(update, rows % num_beams, axis=2)
    here = ops.reshape(ops.equal(positions, index), (1, 1, -1, 1))
    return ops.where(here, update, cache)


@keras.saving.register_keras_serializable("tfxformer")
class MultiHeadAttention(keras.layers.Layer):
    """Attends in several subspaces at once.

    `concat(head_1, ..., head_N) W_O` where `head_i = attention(Q W_Qi,
    K W_Ki, V W_Vi)`. All heads come from one projection each for queries,
    keys and values, split by reshaping.

    The same layer serves encoder self-attention, causal decoder
    self-attention and encoder-decoder attention, in three modes:

    - no cache: keys and values are projected from `value`;
    - `cache` and `cache_update_index`: the keys and values of the one new
      position, of each of K beams, are written there, and the queries attend
      to the whole cache (decoder self-attention, step by step);
    - `cache` alone: its keys and values are used as they are
      (encoder-decoder attention, step by step).

    Args:
        num_heads: int, N. Number of heads.
        key_dim: int, H. Size of one head.
        dropout: float. Dropout rate of the attention weights.

    Call arguments:
        query: float `(B, T, D)`.
        value: float `(B, S, D)`. What to attend to, the query itself by
            default. Not read when a cache holds the keys and values.
        attention_mask: bool `(B, T, S)` or broadcastable; True = attend. Not
            optional where a cache is written.
        cache: tuple of two float: keys and values. `(B, N, S, H)`; with a
            `cache_update_index` `(B, N, max_length * K, H)`.
        cache_update_index: int32 `()`. Position at which the cache is
            written. The queries are then those of K beams at that position,
            `(B, K, D)`.
        return_attention_weights: bool. Also return the weights.
        training: bool. Whether dropout is active.

    Returns:
        The output, float `(B, T, D)`. A tuple where more was asked for,
        `(output, cache)` with a `cache_update_index`, `(output,
        attention_weights)` or `(output, cache, attention_weights)` with
        `return_attention_weights`. The weights are float32 `(B, N, T, S)`.

    Raises:
        ValueError: if `num_heads` or `key_dim` is not positive.

    Reference:
        Attention Is All You Need, section 3.2.2.
    """

    def __init__(self, num_heads, key_dim, dropout=0.0, **kwargs):
        super().__init__(**kwargs)
        if num_heads < 1 or key_dim < 1:
            raise ValueError(
                "num_heads and key_dim must be positive. "
                f"Received: num_heads={num_heads}, key_dim={key_dim}"
            )
        self.num_heads = num_heads
        self.key_dim = key_dim
        self.dropout = dropout
        width = num_heads * key_dim
        dense = Projection
        policy = self.dtype_policy
        self.query_dense = dense(width, dtype=policy, name="query")
        self.key_dense = dense(width, dtype=policy, name="key")
        self.value_dense = dense(width, dtype=policy, name="value")
        # The weights reach dropout in float32, as the softmax left them.
        self.dropout_layer = keras.layers.Dropout(dropout, dtype="float32")

    def build(self, query_shape, value_shape=None):
        hidden_dim = query_shape[-1]
        value_shape = query_shape if value_shape is None else value_shape
        self.output_dense = Projection(
            hidden_dim, dtype=self.dtype_policy, name="output"
        )
        self.query_dense.build(query_shape)
        self.key_dense.build(value_shape)
        self.value_dense.build(value_shape)
        self.output_dense.build((None, None, self.num_heads * self.key_dim))

    def call(
        self,
        query,
        value=None,
        attention_mask=None,
        cache=None,
        cache_update_index=None,
        return_attention_weights=False,
        training=None,
    ):
        value = query if value is None else value
        if cache is None:
            key, value = self.project(value)
        elif cache_update_index is None:
            key, value = cache
        else:
            # Numbered by the mask, which all layers have in common.
            rows = ops.arange(ops.shape(attention_mask)[-1], dtype="int32")
            key, value = (
                update_cache(old, new, cache_update_index, rows)
                for old, new in zip(cache, self.project(value), strict=True)
            )
        if attention_mask is not None:
            attention_mask = ops.expand_dims(attention_mask, 1)
        output, weights = scaled_dot_product_attention(
            self._split_heads(self.query_dense(query)),
            key,
            value,
            attention_mask,
            dropout=lambda x: self.dropout_layer(x, training=training),
        )
        output = self.output_dense(self._merge_heads(output))
        results = (output,)
        if cache_update_index is not None:
            results += ((key, value),)
        if return_attention_weights:
            results += (weights,)
        return results if len(results) > 1 else output

    def project(self, value):
        """Projects `value` to keys and values, as a cache holds them.

        Args:
            value: float `(B, S, D)`.

        Returns:
            Tuple of two float `(B, N, S, H)`.
        """
        return (
            self._split_heads(self.key_dense(value)),
            self._split_heads(self.value_dense(value)),
        )

    def _split_heads(self, x):  # (B, T, N * H) -> (B, N, T, H)
        shape = (-1, ops.shape(x)[1], self.num_heads, self.key_dim)
        return ops.transpose(ops.reshape(x, shape), (0, 2, 1, 3))

    def _merge_heads(self, x):  # (B, N, T, H) -> (B, T, N * H)
        shape = (-1, ops.shape(x)[2], self.num_heads * self.key_dim)
        return ops.reshape(ops.transpose(x, (0, 2, 1, 3)), shape)

    def compute_output_shape(self, query_shape, *args, **kwargs):
        return query_shape

    def get_config(self):
        return {
            **super().get_config(),
            "num_heads": self.num_heads,
            "key_dim": self.key_dim,
            "dropout": self.dropout,
        }
