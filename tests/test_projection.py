"""Tests of the dense layer."""

import keras
import numpy as np
import pytest

import tfxformer


@pytest.mark.parametrize("activation", [None, "relu"])
@pytest.mark.parametrize("use_bias", [False, True])
def test_equal_to_the_formula(use_bias, activation):
    layer = tfxformer.Projection(2, activation=activation, use_bias=use_bias)
    layer.build((None, None, 3))
    kernel = np.array([[1, 2], [3, 4], [5, 6]])
    bias = np.array([-1000, 7]) * use_bias
    layer.set_weights([kernel, bias][: 1 + use_bias])
    x = np.arange(24.0).reshape(2, 4, 3)
    expected = x @ kernel + bias
    if activation == "relu":
        expected = np.maximum(expected, 0)
    np.testing.assert_array_equal(layer(x), expected)


def test_layer_in_a_functional_model():
    inputs = keras.Input((None, 3))
    layer = tfxformer.Projection(2)
    model = keras.Model(inputs, layer(inputs))
    assert model.output_shape == (None, None, 2)
    x = np.ones((2, 5, 3), "float32")
    np.testing.assert_allclose(model(x), layer(x), atol=1e-6)
