"""Tests of the position encodings."""

import keras
import keras_nlp
import numpy as np
import pytest
import reference
import tensorflow as tf

import tfxformer


def encoding(length, hidden_dim):
    return np.array(tfxformer.sinusoidal_encoding(range(length), hidden_dim))


def test_literals():
    # Frequencies 1 and 10000^(-2/4) = 0.01; sines and cosines interleaved.
    np.testing.assert_allclose(
        encoding(3, 4),
        [
            [0.0, 1.0, 0.0, 1.0],
            [0.841471, 0.540302, 0.0099998, 0.999950],
            [0.909297, -0.416147, 0.0199987, 0.999800],
        ],
        atol=1e-6,
    )


@pytest.mark.parametrize("hidden_dim", [2, 6, 16, 512])
def test_encoding_equals_the_formula(hidden_dim):
    np.testing.assert_allclose(
        encoding(50, hidden_dim),
        reference.sinusoids(50, hidden_dim),
        atol=2e-5,
    )


def test_encoding_equals_the_one_of_keras_nlp():
    inputs = np.zeros((1, 20, 8), "float32")
    peer = keras_nlp.layers.SinePositionEncoding()
    np.testing.assert_allclose(encoding(20, 8), peer(inputs)[0], atol=1e-5)


@pytest.mark.parametrize("offset", [1, 7])
def test_an_offset_is_one_rotation_per_frequency(offset):
    hidden_dim = 8
    pairs = encoding(40, hidden_dim).reshape(40, hidden_dim // 2, 2)
    for i in range(hidden_dim // 2):
        angle = offset / 10000 ** (2 * i / hidden_dim)
        cos, sin = np.cos(angle), np.sin(angle)
        rotation = np.array([[cos, sin], [-sin, cos]])
        np.testing.assert_allclose(
            pairs[:-offset, i] @ rotation.T, pairs[offset:, i], atol=1e-5
        )


def test_inner_product_depends_on_distance_alone():
    vectors = encoding(30, 16)
    products = vectors @ vectors.T
    for distance in range(30):
        diagonal = np.diagonal(products, distance)
        np.testing.assert_allclose(diagonal, diagonal[0], atol=1e-4)
    assert len({round(float(x), 3) for x in products[0]}) > 20


def test_an_odd_width_is_refused():
    with pytest.raises(ValueError, match=r"Received: hidden_dim=7$"):
        tfxformer.sinusoidal_encoding(range(3), 7)


def test_the_encoding_is_added():
    inputs = np.random.default_rng(0).normal(size=(2, 5, 4)).astype("float32")
    outputs = tfxformer.SinusoidalPositionEncoding()(inputs)
    np.testing.assert_allclose(
        outputs, inputs + reference.sinusoids(5, 4), atol=1e-6
    )


@pytest.mark.parametrize("start_index", [3, tf.constant(3)])
def test_the_start_index_shifts_positions(start_index):
    outputs = tfxformer.SinusoidalPositionEncoding()(
        np.zeros((1, 2, 4), "float32"), start_index=start_index
    )
    np.testing.assert_allclose(
        outputs[0], reference.sinusoids(5, 4)[3:], atol=1e-6
    )


@pytest.mark.parametrize("start_index", [3, tf.constant(3)])
def test_beams_stand_at_the_same_position(start_index):
    outputs = tfxformer.SinusoidalPositionEncoding()(
        np.zeros((2, 3, 4), "float32"),
        start_index=start_index,
        same_position=True,
    )
    expected = np.broadcast_to(reference.sinusoids(4, 4)[3], (2, 3, 4))
    np.testing.assert_allclose(outputs, expected, atol=1e-6)


@pytest.mark.parametrize("length", [1, 2000])
def test_any_length_has_positions(length):
    layer = tfxformer.SinusoidalPositionEncoding()
    layer(np.zeros((1, 3, 4), "float32"))
    outputs = layer(np.zeros((1, length, 4), "float32"))
    # float32 resolves an angle of 2000 to 1e-4.
    np.testing.assert_allclose(
        outputs[0], reference.sinusoids(length, 4), atol=3e-4
    )


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_mixed_precision_is_as_exact_as_float32(dtype):
    keras.config.set_dtype_policy(f"mixed_{dtype}")
    try:
        layer = tfxformer.SinusoidalPositionEncoding()
        outputs = layer(tf.zeros((1, 300, 8), dtype))
    finally:
        keras.config.set_dtype_policy("float32")
    assert outputs.dtype == "float32"
    np.testing.assert_allclose(
        outputs[0], reference.sinusoids(300, 8), atol=1e-3
    )


def test_learned_vectors_are_added():
    layer = tfxformer.LearnedPositionEncoding(max_length=4)
    layer.build((None, None, 2))
    layer.embeddings.assign([[1, 2], [3, 4], [5, 6], [7, 8]])
    inputs = np.full((2, 2, 2), 10.0, "float32")
    np.testing.assert_array_equal(layer(inputs), [[[11, 12], [13, 14]]] * 2)
    np.testing.assert_array_equal(
        layer(inputs, start_index=tf.constant(2)), [[[15, 16], [17, 18]]] * 2
    )


def test_beams_have_the_learned_vector_of_one_position():
    layer = tfxformer.LearnedPositionEncoding(max_length=2)
    layer.build((None, None, 2))
    layer.embeddings.assign([[1, 2], [3, 4]])
    # More beams than positions.
    outputs = layer(
        np.zeros((1, 3, 2), "float32"),
        start_index=tf.constant(1),
        same_position=True,
    )
    np.testing.assert_array_equal(outputs, [[[3, 4]] * 3])


def test_learned_positions_run_out():
    layer = tfxformer.LearnedPositionEncoding(max_length=4)
    assert layer(np.zeros((1, 4, 2), "float32")).shape == (1, 4, 2)
    with pytest.raises(ValueError, match="Received: length=5, max_length=4"):
        layer(np.zeros((1, 5, 2), "float32"))


@pytest.mark.parametrize(
    "layer",
    [
        tfxformer.SinusoidalPositionEncoding(),
        tfxformer.LearnedPositionEncoding(max_length=9),
    ],
)
def test_layer_in_a_functional_model(layer):
    inputs = keras.Input((None, 4), dtype="float32")
    model = keras.Model(inputs, layer(inputs))
    assert model.output_shape == (None, None, 4)
    x = np.ones((2, 3, 4), "float32")
    np.testing.assert_allclose(model(x), layer(x), atol=1e-6)
