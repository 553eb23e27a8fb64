"""Tests of attention."""

import keras
import numpy as np
import pytest
import reference
import tensorflow as tf

import tfxformer

TOLERANCE = {"float32": 1e-6, "float16": 5e-3, "bfloat16": 4e-2}
MASKS = {
    "causal": np.tril(np.ones((1, 1, 4, 4), bool)),
    "padding": np.array([[1, 1, 1, 0], [1, 0, 0, 0]], bool)[:, None, None],
    "nothing": np.array([[1, 1, 1, 1], [0, 0, 0, 0]], bool)[:, None, None],
}


def normal(*shape, seed=0, scale=1.0):
    values = np.random.default_rng(seed).normal(size=shape, scale=scale)
    return values.astype("float32")


def heads(seed):
    return normal(2, 3, 4, 8, seed=seed)  # (B, N, T, H)


def attend(query, key, value, mask, dtype="float32"):
    tensors = [tf.cast(x, dtype) for x in (query, key, value)]
    return tfxformer.scaled_dot_product_attention(*tensors, mask)


def layer(num_heads=2, key_dim=4, hidden_dim=6, **arguments):
    """A layer whose biases are not zero."""
    attention = tfxformer.MultiHeadAttention(num_heads, key_dim, **arguments)
    attention.build((None, None, hidden_dim))
    for seed, variable in enumerate(attention.trainable_variables):
        variable.assign(normal(*variable.shape, seed=seed, scale=0.5))
    return attention


def test_two_keys_by_hand():
    # Scores 2 * 1 / sqrt(4) = 1 and 0: weights e / (e + 1), 1 / (e + 1).
    query = np.array([[[[2.0, 0, 0, 0]]]])
    key = np.array([[[[1.0, 0, 0, 0], [0, 1, 0, 0]]]])
    value = np.array([[[[1.0, 0, 0, 0], [0, 10, 0, 0]]]])
    output, weights = attend(query, key, value, None)
    np.testing.assert_allclose(weights[0, 0, 0], [0.731059, 0.268941], 1e-5)
    np.testing.assert_allclose(output[0, 0, 0], [0.731059, 2.68941, 0, 0], 1e-5)


@pytest.mark.parametrize("dtype", TOLERANCE)
@pytest.mark.parametrize("mask", [None, "causal", "padding"])
def test_attention_equals_the_formula(mask, dtype):
    query, key, value = heads(0), heads(1), heads(2)
    mask = MASKS.get(mask)
    output, weights = attend(query, key, value, mask, dtype)
    expected, expected_weights = reference.attention(query, key, value, mask)
    assert output.dtype == dtype
    assert weights.dtype == "float32"
    tolerance = TOLERANCE[dtype]
    np.testing.assert_allclose(
        tf.cast(output, "float32"), expected, atol=tolerance, rtol=tolerance
    )
    np.testing.assert_allclose(weights, expected_weights, atol=tolerance)


@pytest.mark.parametrize("scale", [1.0, 30.0])
@pytest.mark.parametrize("dtype", TOLERANCE)
@pytest.mark.parametrize("mask", ["causal", "padding", "nothing"])
def test_masked_probability_is_exactly_zero(mask, dtype, scale):
    output, weights = attend(
        scale * heads(0), scale * heads(1), heads(2), MASKS[mask], dtype
    )
    masked = ~np.broadcast_to(MASKS[mask], weights.shape)
    masked &= MASKS[mask].any(axis=-1, keepdims=True)
    assert masked.any() == (mask != "nothing")
    assert np.all(np.array(weights)[masked] == 0.0)
    assert np.all(np.isfinite(weights))
    assert np.all(np.isfinite(tf.cast(output, "float32")))


@pytest.mark.parametrize("dtype", TOLERANCE)
def test_what_is_masked_changes_nothing(dtype):
    query, key, value = heads(0), heads(1), heads(2)
    before, _ = attend(query, key, value, MASKS["padding"], dtype)
    key[0, :, 3] = value[0, :, 3] = 100.0
    key[1, :, 1:] = value[1, :, 1:] = -100.0
    after, _ = attend(query, key, value, MASKS["padding"], dtype)
    np.testing.assert_array_equal(before, after)


@pytest.mark.parametrize("dtype", TOLERANCE)
def test_a_query_with_nothing_to_attend_to_is_finite(dtype):
    tensors = [tf.cast(heads(seed), dtype) for seed in range(3)]
    with tf.GradientTape() as tape:
        tape.watch(tensors)
        output, weights = tfxformer.scaled_dot_product_attention(
            *tensors, MASKS["nothing"]
        )
        loss = tf.reduce_sum(tf.cast(output, "float32") ** 2)
    # It attends to everything alike.
    np.testing.assert_allclose(weights[1], np.full((3, 4, 4), 0.25))
    mean = np.array(tf.cast(tensors[2], "float32"))[1].mean(1, keepdims=True)
    np.testing.assert_allclose(
        tf.cast(output, "float32")[1],
        np.broadcast_to(mean, (3, 4, 8)),
        atol=TOLERANCE[dtype],
    )
    for gradient in tape.gradient(loss, tensors):
        gradient = np.array(tf.cast(gradient, "float32"))
        assert np.all(np.isfinite(gradient))
        assert np.any(gradient[0] != 0.0)


def test_dropout_is_applied_to_the_weights_but_not_returned():
    output, weights = tfxformer.scaled_dot_product_attention(
        heads(0), heads(1), heads(2), dropout=lambda weights: 2 * weights
    )
    expected, expected_weights = reference.attention(
        heads(0), heads(1), heads(2)
    )
    np.testing.assert_allclose(output, 2 * expected, atol=1e-5)
    np.testing.assert_allclose(weights, expected_weights, atol=1e-6)


def copy_weights(attention, peer, num_heads, key_dim):
    """Gives Keras' layer, whose kernels are `(D, N, H)`, the same weights."""
    split = (-1, num_heads, key_dim)
    values = []
    for name in ("query", "key", "value"):
        kernel, bias = getattr(attention, f"{name}_dense").get_weights()
        values += [kernel.reshape(split), bias.reshape(split[1:])]
    kernel, bias = attention.output_dense.get_weights()
    values += [kernel.reshape(num_heads, key_dim, -1), bias]
    peer.set_weights(values)


@pytest.mark.parametrize(
    "mask",
    [
        None,
        np.array([[[1, 0, 0, 0, 0], [1, 1, 0, 0, 0], [1, 1, 1, 0, 0]]], bool),
        np.array([[[1, 1, 1, 1, 0]], [[1, 1, 0, 0, 0]]], bool),
    ],
    ids=["none", "causal", "padding"],
)
@pytest.mark.parametrize("num_heads, key_dim", [(2, 4), (3, 2), (1, 6)])
def test_layer_equals_the_one_of_keras(num_heads, key_dim, mask):
    attention = layer(num_heads, key_dim)
    peer = keras.layers.MultiHeadAttention(num_heads, key_dim)
    query, value = normal(2, 3, 6), normal(2, 5, 6, seed=1)
    peer.build(query.shape, value.shape)
    copy_weights(attention, peer, num_heads, key_dim)
    if mask is not None:
        mask = np.broadcast_to(mask, (2, 3, 5))
    output, weights = attention(
        query, value, attention_mask=mask, return_attention_weights=True
    )
    expected, expected_weights = peer(
        query, value, attention_mask=mask, return_attention_scores=True
    )
    np.testing.assert_allclose(output, expected, atol=1e-5)
    np.testing.assert_allclose(weights, expected_weights, atol=1e-6)


def test_a_layer_attends_to_the_query_by_default():
    attention, query = layer(), normal(2, 3, 6)
    np.testing.assert_array_equal(attention(query), attention(query, query))


def test_weights_of_a_row_sum_to_one_over_real_tokens():
    real = np.array([[1, 1, 1, 0, 0], [1, 0, 0, 0, 0]], bool)
    _, weights = layer()(
        normal(2, 3, 6),
        normal(2, 5, 6, seed=1),
        attention_mask=real[:, None],
        return_attention_weights=True,
    )
    assert weights.shape == (2, 2, 3, 5)
    over_real = np.array(weights) * real[:, None, None]
    np.testing.assert_allclose(over_real.sum(-1), 1.0, atol=1e-6)


def test_step_by_step_equals_the_causal_whole():
    attention, x = layer(), normal(2, 5, 6)
    whole, whole_weights = attention(
        x,
        attention_mask=np.tril(np.ones((1, 5, 5), bool)),
        return_attention_weights=True,
    )
    # Longer than needed, and not empty: what is not written is not read.
    cache = (normal(2, 2, 7, 4, seed=8), normal(2, 2, 7, 4, seed=9))
    for t in range(5):
        output, cache, weights = attention(
            x[:, t : t + 1],
            attention_mask=(np.arange(7) <= t)[None, None],
            cache=cache,
            cache_update_index=t,
            return_attention_weights=True,
        )
        np.testing.assert_allclose(output[:, 0], whole[:, t], atol=1e-5)
        np.testing.assert_allclose(
            weights[:, :, 0, :5], whole_weights[:, :, t], atol=1e-6
        )
    for kept, projected in zip(cache, attention.project(x), strict=True):
        np.testing.assert_allclose(kept[:, :, :5], projected, atol=1e-5)


@pytest.mark.parametrize("num_beams", [1, 3])
@pytest.mark.parametrize("index", [0, 2, 4])
def test_a_step_writes_its_own_position_only(index, num_beams):
    # The keys and values of all beams at a position are adjacent rows.
    attention, x = layer(), normal(2, num_beams, 6)
    shape = (2, 2, 5 * num_beams, 4)
    before = (normal(*shape, seed=8), normal(*shape, seed=9))
    rows = np.arange(5 * num_beams)
    _, after = attention(
        x,
        attention_mask=(rows >= 0)[None, None],
        cache=before,
        cache_update_index=tf.constant(index),
    )
    written = slice(index * num_beams, (index + 1) * num_beams)
    others = rows // num_beams != index
    for old, new, own in zip(before, after, attention.project(x), strict=True):
        new = np.array(new)
        np.testing.assert_array_equal(new[:, :, others], old[:, :, others])
        np.testing.assert_allclose(new[:, :, written], own, atol=1e-6)


def test_beams_share_a_cache_and_see_their_own_past():
    # Beam 1 follows itself, beams 0 and 2 both follow beam 2.
    attention, x = layer(), normal(2, 6, 6)  # (B, positions * K, D)
    cache = (normal(2, 2, 12, 4, seed=8), normal(2, 2, 12, 4, seed=9))
    visible = np.zeros((1, 3, 12), bool)
    visible[0, [0, 1, 2], [0, 1, 2]] = True
    _, cache = attention(
        x[:, :3], attention_mask=visible, cache=cache, cache_update_index=0
    )
    parents = [2, 1, 2]
    visible = visible[:, parents]
    visible[0, [0, 1, 2], [3, 4, 5]] = True
    output, _, weights = attention(
        x[:, 3:],
        attention_mask=visible,
        cache=cache,
        cache_update_index=1,
        return_attention_weights=True,
    )
    assert weights.shape == (2, 2, 3, 12)
    for beam, parent in enumerate(parents):
        whole = attention(
            x[:, [parent, 3 + beam]],
            attention_mask=np.tril(np.ones((1, 2, 2), bool)),
        )
        np.testing.assert_allclose(output[:, beam], whole[:, 1], atol=1e-5)


def test_a_cache_without_an_index_is_used_as_it_is():
    attention = layer()
    query, value = normal(2, 3, 6), normal(2, 5, 6, seed=1)
    mask = np.array([[[1, 1, 1, 1, 0]], [[1, 1, 0, 0, 0]]], bool)
    expected = attention(query, value, attention_mask=mask)
    output = attention(
        query, attention_mask=mask, cache=attention.project(value)
    )
    np.testing.assert_allclose(output, expected, atol=1e-6)


def test_dropout_is_active_in_training_only():
    attention, x = layer(dropout=0.5), normal(1, 4, 6)
    assert np.any(attention(x, training=True) != attention(x, training=False))
    np.testing.assert_array_equal(
        attention(x, training=False), attention(x, training=False)
    )


@pytest.mark.parametrize("policy", ["mixed_float16", "mixed_bfloat16"])
def test_weights_are_float32_under_mixed_precision(policy):
    output, weights = layer(dtype=policy)(
        normal(2, 3, 6), return_attention_weights=True
    )
    assert output.dtype == policy.removeprefix("mixed_")
    assert weights.dtype == "float32"


@pytest.mark.parametrize("num_heads, key_dim", [(0, 4), (2, 0), (-1, 4)])
def test_sizes_must_be_positive(num_heads, key_dim):
    received = f"Received: num_heads={num_heads}, key_dim={key_dim}$"
    with pytest.raises(ValueError, match=received):
        tfxformer.MultiHeadAttention(num_heads, key_dim)


def test_layer_in_a_functional_model():
    query, value = keras.Input((None, 6)), keras.Input((None, 6))
    model = keras.Model(
        [query, value], tfxformer.MultiHeadAttention(2, 4)(query, value)
    )
    assert model.output_shape == (None, None, 6)
    x, y = normal(2, 3, 6), normal(2, 5, 6, seed=1)
    attention = model.layers[-1]
    np.testing.assert_allclose(model([x, y]), attention(x, y), atol=1e-6)
