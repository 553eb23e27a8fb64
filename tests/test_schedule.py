"""Tests of the learning rate. Keras passes the updates made so far."""

import keras
import numpy as np
import pytest
import reference
import tensorflow as tf

import tfxformer


def test_literals():
    # D^-0.5 = 1/4, warmup^-1.5 = 1/1000: 0.25 n / 1000 up to n = 100,
    # 0.25 / sqrt(n) from there.
    schedule = tfxformer.WarmupSchedule(hidden_dim=16, warmup_steps=100)
    rates = [float(schedule(n - 1)) for n in (1, 2, 50, 100, 400, 10_000)]
    expected = [0.00025, 0.0005, 0.0125, 0.025, 0.0125, 0.0025]
    np.testing.assert_allclose(rates, expected, rtol=1e-5)


@pytest.mark.parametrize("hidden_dim, warmup_steps, factor", [
    (512, 4000, 1.0), (128, 7, 2.5), (64, 1, 0.5),
])  # fmt: skip
def test_rate_equals_the_formula(hidden_dim, warmup_steps, factor):
    schedule = tfxformer.WarmupSchedule(hidden_dim, warmup_steps, factor)
    for number in (1, 2, 6, 7, 8, 301, 3999, 4000, 4001, 100_000):
        expected = reference.learning_rate(
            hidden_dim, warmup_steps, number, factor
        )
        np.testing.assert_allclose(schedule(number - 1), expected, rtol=1e-5)


def test_defaults_are_those_of_the_paper():
    # 512^-0.5 * 4000^-0.5
    np.testing.assert_allclose(
        tfxformer.WarmupSchedule(512)(3999), 0.000698771, rtol=1e-5
    )


def test_the_peak_can_be_given():
    schedule = tfxformer.WarmupSchedule(peak_rate=0.01, warmup_steps=10)
    rates = [float(schedule(n - 1)) for n in (1, 5, 10, 40, 1000)]
    expected = [0.001, 0.005, 0.01, 0.005, 0.001]
    np.testing.assert_allclose(rates, expected, rtol=1e-5)


def test_a_linear_and_a_cosine_decay_end_at_zero():
    arguments = {"peak_rate": 0.8, "warmup_steps": 4, "total_steps": 11}
    updates = [1, 2, 4, 8, 11, 12, 13, 1000]
    linear = tfxformer.WarmupSchedule(**arguments, decay="linear")
    np.testing.assert_allclose(
        linear(np.array(updates) - 1),
        [0.2, 0.4, 0.8, 0.4, 0.1, 0, 0, 0],
        rtol=1e-5,
        atol=1e-9,
    )
    cosine = tfxformer.WarmupSchedule(**arguments, decay="cosine")
    np.testing.assert_allclose(
        cosine(np.array(updates) - 1),
        [0.2, 0.4, 0.8, 0.4, 0.4 * (1 - np.cos(np.pi / 8)), 0, 0, 0],
        rtol=1e-5,
        atol=1e-7,
    )


@pytest.mark.parametrize(
    "step",
    [0, 0.0, np.int64(0), tf.constant(0), tf.constant(0, "int64"),
     tf.constant(0.0), tf.Variable(0, dtype="int64")],
)  # fmt: skip
def test_step_zero_of_any_type_is_small_and_positive(step):
    rate = tfxformer.WarmupSchedule(16, 100)(step)
    assert rate.dtype == "float32"
    assert rate.shape == ()
    np.testing.assert_allclose(rate, 0.00025, rtol=1e-5)


@pytest.mark.parametrize("dtype", ["int32", "int64", "float32"])
def test_a_vector_of_steps_gives_a_vector_of_rates(dtype):
    rates = tfxformer.WarmupSchedule(16, 100)(tf.constant([0, 99, 399], dtype))
    assert rates.dtype == "float32"
    np.testing.assert_allclose(rates, [0.00025, 0.025, 0.0125], rtol=1e-5)


@pytest.mark.parametrize(
    "arguments, received",
    [
        ({}, "hidden_dim=None, peak_rate=None"),
        ({"hidden_dim": 8, "peak_rate": 0.1}, "hidden_dim=8, peak_rate=0.1"),
        ({"hidden_dim": 8, "warmup_steps": 0}, "warmup_steps=0"),
        ({"peak_rate": 0.1, "factor": 2.0}, "factor=2.0, peak_rate=0.1"),
        ({"peak_rate": 0.1, "decay": "steps"}, "decay='steps'"),
        (
            {"peak_rate": 0.1, "decay": "linear"},
            "decay='linear', total_steps=None",
        ),
        (
            {"peak_rate": 0.1, "total_steps": 9},
            "decay='inverse_square_root', total_steps=9",
        ),
        (
            {
                "peak_rate": 0.1,
                "warmup_steps": 9,
                "decay": "cosine",
                "total_steps": 9,
            },
            "warmup_steps=9, total_steps=9",
        ),
    ],
)
def test_bad_arguments_are_refused(arguments, received):
    with pytest.raises(ValueError, match=f"Received: {received}$"):
        tfxformer.WarmupSchedule(**arguments)


@pytest.mark.parametrize(
    "arguments",
    [
        {"hidden_dim": 8, "warmup_steps": 9, "factor": 0.5},
        {"peak_rate": 0.25, "warmup_steps": 9},
        {"peak_rate": 0.2, "warmup_steps": 9, "decay": "cosine",
         "total_steps": 20},
    ],
)  # fmt: skip
def test_config_round_trip(arguments):
    schedule = tfxformer.WarmupSchedule(**arguments)
    config = keras.saving.serialize_keras_object(schedule)
    copy = keras.saving.deserialize_keras_object(config)
    assert isinstance(copy, tfxformer.WarmupSchedule)
    steps = np.arange(30)
    np.testing.assert_array_equal(copy(steps), schedule(steps))


def test_each_update_uses_the_rate_of_its_number():
    # Plain descent with gradient 1: the weight falls by each rate.
    schedule = tfxformer.WarmupSchedule(16, 2)
    optimizer = keras.optimizers.SGD(schedule)
    weight, sum_of_rates = keras.Variable(0.0), 0.0
    for number in range(1, 5):
        optimizer.apply([tf.constant(1.0)], [weight])
        sum_of_rates += reference.learning_rate(16, 2, number)
        np.testing.assert_allclose(-weight.numpy(), sum_of_rates, rtol=1e-5)
