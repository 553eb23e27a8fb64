"""Updates that are not finite leave everything as it was."""

import keras
import numpy as np
import pytest
import tensorflow as tf

from training.optimizer import FIRST_LOSS_SCALE, SkippingAdam


def variables():
    return [
        keras.Variable(np.array([1.0, -2.0], "float32")),
        keras.Variable(np.array([[0.5]], "float32")),
    ]


def gradients(seed, scale=1.0):
    random = np.random.default_rng(seed)
    return [
        tf.constant(scale * random.normal(size=shape), "float32")
        for shape in ((2,), (1, 1))
    ]


def state(optimizer, weights):
    return [np.array(v) for v in [*weights, *optimizer.variables]]


def infinite(value):
    some = gradients(0)
    return [some[0], tf.fill([1, 1], value)]


@pytest.mark.parametrize("clip", [None, 0.5])
def test_finite_updates_are_those_of_adam(clip):
    ours, theirs = variables(), variables()
    skipping = SkippingAdam(0.01, beta_2=0.98, global_clipnorm=clip)
    adam = keras.optimizers.Adam(0.01, beta_2=0.98, global_clipnorm=clip)
    for step in range(5):
        skipping.apply(gradients(step), ours)
        adam.apply(gradients(step), theirs)
    for one, other in zip(ours, theirs, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-6)
    assert int(skipping.skipped) == 0


@pytest.mark.parametrize("value", [np.inf, -np.inf, np.nan])
@pytest.mark.parametrize("graph", [False, True])
def test_an_update_that_is_not_finite_changes_nothing(value, graph):
    weights = variables()
    optimizer = SkippingAdam(0.01, use_ema=True)
    apply = optimizer.apply
    if graph:
        apply = tf.function(lambda grads: optimizer.apply(grads, weights))
        optimizer.build(weights)
    else:
        apply = lambda grads: optimizer.apply(grads, weights)  # noqa: E731
    apply(gradients(1))
    before = state(optimizer, weights)
    apply(infinite(value))
    apply(infinite(value))
    after = state(optimizer, weights)
    changed = [
        not np.array_equal(b, a) for b, a in zip(before, after, strict=True)
    ]
    assert sum(changed) == 2  # the two counters
    assert int(optimizer.skipped) == int(optimizer.skipped_in_a_row) == 2
    assert int(optimizer.iterations) == 1
    apply(gradients(2))
    assert int(optimizer.skipped_in_a_row) == 0
    assert int(optimizer.skipped) == 2
    assert int(optimizer.iterations) == 2


def test_the_loss_scale_falls_and_rises(monkeypatch):
    monkeypatch.setattr("training.optimizer.UPDATES_UNTIL_DOUBLED", 3)
    weights, plain = variables(), variables()
    optimizer = SkippingAdam(0.01, scales_loss=True)
    adam = SkippingAdam(0.01)
    optimizer.build(weights)
    assert float(optimizer.scale_loss(tf.constant(2.0))) == 2 * FIRST_LOSS_SCALE
    assert float(adam.scale_loss(tf.constant(2.0))) == 2.0
    optimizer.apply(infinite(np.inf), weights)
    assert float(optimizer.loss_scale) == FIRST_LOSS_SCALE / 2
    scales = []
    for step in range(7):
        scale = float(optimizer.loss_scale)
        optimizer.apply(gradients(step, scale), weights)
        adam.apply(gradients(step), plain)
        scales.append(float(optimizer.loss_scale) / FIRST_LOSS_SCALE)
    assert scales == [0.5, 0.5, 1, 1, 1, 2, 2]
    for one, other in zip(weights, plain, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-5)


def test_the_average_does_not_take_the_place_of_the_weights():
    model = keras.Sequential([keras.Input((1,)), keras.layers.Dense(1)])
    optimizer = SkippingAdam(0.1, use_ema=True, ema_momentum=0.9)
    model.compile(optimizer, "mse")
    kept = []
    keep = keras.callbacks.LambdaCallback(
        on_train_batch_end=lambda batch, logs: kept.append(model.get_weights())
    )
    x = np.ones((8, 1), "float32")
    model.fit(x, 3 * x, batch_size=2, verbose=0, callbacks=[keep])
    for one, other in zip(model.get_weights(), kept[-1], strict=True):
        np.testing.assert_array_equal(one, other)


def test_config_round_trip():
    optimizer = SkippingAdam(0.25, scales_loss=True, global_clipnorm=1.0)
    copy = SkippingAdam.from_config(optimizer.get_config())
    assert copy.scales_loss and copy.global_clipnorm == 1.0
    assert float(copy.learning_rate) == 0.25
