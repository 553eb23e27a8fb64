"""Tests of the feed-forward network, the residual and the blocks."""

import math

import keras
import numpy as np
import pytest
import reference

import tfxformer

ENCODER_MASK = np.array([[1, 1, 1, 1, 0], [1, 1, 0, 0, 0]], bool)
CAUSAL = np.tril(np.ones((1, 3, 3), bool))


def normal(*shape, seed=0, scale=1.0):
    values = np.random.default_rng(seed).normal(size=shape, scale=scale)
    return values.astype("float32")


def randomize(layer):
    """Gives every weight, biases included, a value that matters."""
    for seed, variable in enumerate(layer.trainable_variables):
        variable.assign(normal(*variable.shape, seed=seed, scale=0.5))
    return layer


def block(block_class, **arguments):
    layer = block_class(7, 2, **arguments)
    layer.build((None, None, 6))
    return randomize(layer)


def affine(dense, x):
    kernel, bias = dense.get_weights()
    return x @ kernel + bias


def numpy_norm(residual, x):
    gamma, beta = residual.normalization.get_weights()
    return reference.layer_norm(x) * gamma + beta


def numpy_residual(residual, x, sublayer):
    if residual.normalize_first:
        return x + sublayer(numpy_norm(residual, x))
    return numpy_norm(residual, x + sublayer(x))


def numpy_attention(layer, query, value, mask):
    def heads(dense, x):  # (B, T, N * H) -> (B, N, T, H)
        x = affine(dense, x)
        x = x.reshape(*x.shape[:2], layer.num_heads, layer.key_dim)
        return x.transpose(0, 2, 1, 3)

    output, _ = reference.attention(
        heads(layer.query_dense, query),
        heads(layer.key_dense, value),
        heads(layer.value_dense, value),
        mask[:, None],
    )
    output = output.transpose(0, 2, 1, 3)
    return affine(layer.output_dense, output.reshape(*query.shape[:2], -1))


def numpy_feed_forward(layer, x):
    x = np.maximum(affine(layer.intermediate_dense, x), 0)
    return affine(layer.output_dense, x)


def relu(x):
    return np.maximum(x, 0)


def gelu(x):
    return x * (1 + np.vectorize(math.erf)(x / math.sqrt(2))) / 2


def silu(x):
    return x / (1 + np.exp(-x))


@pytest.mark.parametrize("activation", [relu, gelu])
def test_feed_forward_equals_the_formula(activation):
    layer = tfxformer.FeedForward(5, activation.__name__)
    layer.build((None, None, 4))
    x = normal(2, 3, 4)
    hidden = activation(affine(randomize(layer).intermediate_dense, x))
    expected = affine(layer.output_dense, hidden)
    np.testing.assert_allclose(layer(x), expected, atol=1e-5)
    assert len(layer.trainable_variables) == 4


def test_swiglu_equals_the_formula():
    layer = tfxformer.FeedForward(5, "swiglu")
    layer.build((None, None, 4))
    x = normal(2, 3, 4)
    gate = silu(affine(randomize(layer).intermediate_dense, x))
    expected = affine(layer.output_dense, gate * affine(layer.linear_dense, x))
    np.testing.assert_allclose(layer(x), expected, atol=1e-5)
    assert len(layer.trainable_variables) == 6


def test_an_unknown_activation_is_refused():
    with pytest.raises(ValueError, match=r"Received: activation='tanh'$"):
        tfxformer.FeedForward(5, "tanh")


@pytest.mark.parametrize("normalize_first", [False, True])
def test_residual_equals_the_formula(normalize_first):
    residual = tfxformer.Residual(normalize_first)
    residual.build((None, None, 4))
    randomize(residual)
    x = normal(2, 3, 4, scale=3.0)
    output = residual(x, sublayer=lambda x: x * x + 1)
    expected = numpy_residual(residual, x, lambda x: x * x + 1)
    np.testing.assert_allclose(output, expected, atol=1e-4, rtol=1e-4)


def test_residual_of_pre_norm_leaves_the_input_alone():
    x = normal(2, 3, 4)
    output = tfxformer.Residual(normalize_first=True)(
        x, sublayer=lambda x: 0 * x
    )
    np.testing.assert_allclose(output, x, atol=1e-6)


def test_residual_passes_the_rest_on():
    output, *rest = tfxformer.Residual()(
        normal(1, 2, 4), sublayer=lambda x: (x, 5, "six")
    )
    assert output.shape == (1, 2, 4)
    assert rest == [5, "six"]


@pytest.mark.parametrize("normalize_first", [False, True])
def test_residual_drops_the_sublayer_not_the_input(normalize_first):
    residual = tfxformer.Residual(normalize_first, dropout=0.5)
    x = normal(1, 50, 4)
    output = residual(x, sublayer=lambda x: 0 * x, training=True)
    expected = x if normalize_first else reference.layer_norm(x)
    np.testing.assert_allclose(output, expected, atol=1e-4)
    output = residual(x, sublayer=lambda x: 0 * x + 1e4, training=True)
    if normalize_first:
        values = np.unique(np.round(np.array(output) / 2e4))
        assert values.tolist() == [0, 1]


@pytest.mark.parametrize("normalize_first", [False, True])
def test_encoder_block_equals_the_formula(normalize_first):
    layer = block(tfxformer.EncoderBlock, normalize_first=normalize_first)
    x = normal(2, 5, 6)
    output = layer(x, padding_mask=ENCODER_MASK)
    mask = np.broadcast_to(ENCODER_MASK[:, None], (2, 5, 5))
    x = numpy_residual(
        layer.self_attention_residual,
        x,
        lambda x: numpy_attention(layer.self_attention, x, x, mask),
    )
    expected = numpy_residual(
        layer.feed_forward_residual,
        x,
        lambda x: numpy_feed_forward(layer.feed_forward, x),
    )
    np.testing.assert_allclose(output, expected, atol=1e-4)


@pytest.mark.parametrize("normalize_first", [False, True])
def test_decoder_block_equals_the_formula(normalize_first):
    layer = block(tfxformer.DecoderBlock, normalize_first=normalize_first)
    x, encoded = normal(2, 3, 6), normal(2, 5, 6, seed=1)
    output = layer(
        x,
        encoded,
        self_attention_mask=CAUSAL,
        encoder_padding_mask=ENCODER_MASK,
    )
    causal = np.broadcast_to(CAUSAL, (2, 3, 3))
    cross = np.broadcast_to(ENCODER_MASK[:, None], (2, 3, 5))
    x = numpy_residual(
        layer.self_attention_residual,
        x,
        lambda x: numpy_attention(layer.self_attention, x, x, causal),
    )
    x = numpy_residual(
        layer.cross_attention_residual,
        x,
        lambda x: numpy_attention(layer.cross_attention, x, encoded, cross),
    )
    expected = numpy_residual(
        layer.feed_forward_residual,
        x,
        lambda x: numpy_feed_forward(layer.feed_forward, x),
    )
    np.testing.assert_allclose(output, expected, atol=1e-4)


def test_blocks_return_the_weights_of_each_attention():
    x, encoded = normal(2, 3, 6), normal(2, 5, 6, seed=1)
    _, weights = block(tfxformer.EncoderBlock)(
        encoded, padding_mask=ENCODER_MASK, return_attention_weights=True
    )
    assert weights.shape == (2, 2, 5, 5)
    _, (self_weights, cross_weights) = block(tfxformer.DecoderBlock)(
        x,
        encoded,
        self_attention_mask=CAUSAL,
        encoder_padding_mask=ENCODER_MASK,
        return_attention_weights=True,
    )
    assert self_weights.shape == (2, 2, 3, 3)
    assert cross_weights.shape == (2, 2, 3, 5)
    np.testing.assert_allclose(
        np.sum(cross_weights * ENCODER_MASK[:, None, None], -1), 1, atol=1e-6
    )
    np.testing.assert_allclose(np.sum(self_weights * CAUSAL, -1), 1, atol=1e-6)


@pytest.mark.parametrize("normalize_first", [False, True])
def test_decoder_block_step_by_step_equals_the_whole(normalize_first):
    layer = block(tfxformer.DecoderBlock, normalize_first=normalize_first)
    x, encoded = normal(2, 3, 6), normal(2, 5, 6, seed=1)
    whole = layer(
        x,
        encoded,
        self_attention_mask=CAUSAL,
        encoder_padding_mask=ENCODER_MASK,
    )
    cache = (normal(2, 2, 4, 3, seed=8), normal(2, 2, 4, 3, seed=9))
    for t in range(3):
        output, cache = layer(
            x[:, t : t + 1],
            self_attention_mask=(np.arange(4) <= t)[None, None],
            encoder_padding_mask=ENCODER_MASK,
            self_attention_cache=cache,
            cross_attention_cache=layer.cross_attention.project(encoded),
            cache_update_index=t,
        )
        np.testing.assert_allclose(output[:, 0], whole[:, t], atol=1e-5)


def test_decoder_block_steps_with_several_beams():
    layer = block(tfxformer.DecoderBlock)
    # Two positions of two beams; each beam follows the other one.
    x, encoded = normal(2, 4, 6), normal(2, 5, 6, seed=1)
    cache = (normal(2, 2, 6, 3, seed=8), normal(2, 2, 6, 3, seed=9))
    steps = [
        [[1, 0, 0, 0, 0, 0], [0, 1, 0, 0, 0, 0]],
        [[0, 1, 1, 0, 0, 0], [1, 0, 0, 1, 0, 0]],
    ]
    for t, visible in enumerate(steps):
        output, cache, (self_weights, cross_weights) = layer(
            x[:, 2 * t : 2 * t + 2],
            self_attention_mask=np.array([visible], bool),
            encoder_padding_mask=ENCODER_MASK,
            self_attention_cache=cache,
            cross_attention_cache=layer.cross_attention.project(encoded),
            cache_update_index=t,
            return_attention_weights=True,
        )
    assert self_weights.shape == (2, 2, 2, 6)
    assert cross_weights.shape == (2, 2, 2, 5)
    for beam, past in ((0, 1), (1, 0)):
        whole = layer(
            x[:, [past, 2 + beam]],
            encoded,
            self_attention_mask=CAUSAL[:, :2, :2],
            encoder_padding_mask=ENCODER_MASK,
        )
        np.testing.assert_allclose(output[:, beam], whole[:, 1], atol=1e-5)


@pytest.mark.parametrize(
    "block_class", [tfxformer.EncoderBlock, tfxformer.DecoderBlock]
)
def test_heads_must_divide_the_width(block_class):
    with pytest.raises(ValueError, match="Received: num_heads=4, hidden_dim=6"):
        block_class(7, 4).build((None, None, 6))
    layer = block_class(7, 4, key_dim=3)
    layer.build((None, None, 6))
    assert layer.self_attention.query_dense.kernel.shape == (6, 12)


def test_blocks_in_a_functional_model():
    source, target = keras.Input((None, 6)), keras.Input((None, 6))
    encoder, decoder = (
        block(tfxformer.EncoderBlock),
        tfxformer.DecoderBlock(7, 2),
    )
    model = keras.Model([source, target], decoder(target, encoder(source)))
    assert model.output_shape == (None, None, 6)
    x, y = normal(2, 5, 6), normal(2, 3, 6)
    np.testing.assert_allclose(model([x, y]), decoder(y, encoder(x)), atol=1e-5)


def test_residual_and_feed_forward_in_a_functional_model():
    inputs = keras.Input((None, 6))
    feed_forward, residual = tfxformer.FeedForward(5), tfxformer.Residual()
    model = keras.Model(inputs, residual(inputs, sublayer=feed_forward))
    assert model.output_shape == (None, None, 6)
    x = normal(2, 3, 6)
    expected = reference.layer_norm(x + np.array(feed_forward(x)))
    np.testing.assert_allclose(model(x), expected, atol=1e-4)
