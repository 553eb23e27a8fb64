"""Tests of layer normalisation."""

import keras
import numpy as np
import pytest
import tensorflow as tf

from tfxformer.normalization import LayerNormalization

SHAPES = [(3, 4), (2, 3, 4)]


def layers(dtype="float32"):
    """Ours and that of Keras, with the same weights."""
    pair = (
        LayerNormalization(dtype=dtype),
        keras.layers.LayerNormalization(epsilon=1e-6, dtype=dtype),
    )
    for layer in pair:
        layer.build((None, 4))
        layer.set_weights([np.array([1, 2, -1, 0.5]), np.arange(4.0)])
    return pair


def inputs(shape, scale=3.0):
    values = np.random.default_rng(0).normal(size=shape, scale=scale)
    return tf.constant(values, "float32")


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("in_graph", [False, True])
def test_outputs_and_gradients_are_those_of_keras(shape, in_graph):
    x, upstream = inputs(shape), inputs(shape)[::-1]

    def graded(layer, **training):
        def compute(x):
            with tf.GradientTape() as tape:
                tape.watch(x)
                outputs = layer(x, **training)
                total = tf.reduce_sum(outputs * upstream)
            sources = [x, layer.gamma.value, layer.beta.value]
            return outputs, *tape.gradient(total, sources)

        return (tf.function(compute) if in_graph else compute)(x)

    ours, theirs = layers()
    for one, other in zip(
        graded(ours, training=True), graded(theirs), strict=True
    ):
        np.testing.assert_allclose(one, other, rtol=1e-4, atol=1e-5)


def test_training_does_without_the_layer_of_keras(monkeypatch):
    ours, theirs = layers()
    expected = theirs(inputs((2, 4)))
    monkeypatch.setattr(keras.layers.LayerNormalization, "call", None)
    outputs = ours(inputs((2, 4)), training=True)
    np.testing.assert_allclose(outputs, expected, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("training", [False, True])
def test_a_row_of_one_value_is_finite(training):
    ours, _ = layers()
    x = tf.fill((2, 4), 7.0)
    with tf.GradientTape() as tape:
        tape.watch(x)
        outputs = ours(x, training=training)
    np.testing.assert_allclose(outputs, np.tile(np.arange(4.0), (2, 1)))
    assert np.isfinite(tape.gradient(outputs, x)).all()


@pytest.mark.parametrize("dtype", ["mixed_bfloat16", "mixed_float16"])
def test_half_precision_computes_in_float32(dtype):
    ours, theirs = layers(dtype)
    x = tf.cast(inputs((2, 3, 4), scale=300.0), ours.compute_dtype)
    outputs = ours(x, training=True)
    assert outputs.dtype == ours.compute_dtype
    np.testing.assert_allclose(
        tf.cast(outputs, "float32"), tf.cast(theirs(x), "float32"), rtol=1e-2
    )


def test_config_round_trip():
    layer = LayerNormalization(epsilon=1e-3, name="norm")
    twin = LayerNormalization.from_config(layer.get_config())
    assert twin.epsilon == 1e-3
    assert LayerNormalization().epsilon == 1e-6
