"""Tests of the loss."""

import keras
import numpy as np
import pytest
import reference
import tensorflow as tf

import tfxformer
from tfxformer.losses import (
    projected_cross_entropy,
    token_cross_entropy,
    token_weights,
)

LABELS = np.array([[3, 1, 2, 0], [4, 2, 0, 0]])
SMOOTHING = [0.0, 0.1, 0.6]


def some_logits(seed=0, scale=2.0):
    shape = (*LABELS.shape, 5)
    values = np.random.default_rng(seed).normal(size=shape, scale=scale)
    return values.astype("float32")


def padded(length, seed=1):
    """The same labels and logits, followed by padding and any logits."""
    more = length - LABELS.shape[1]
    noise = np.random.default_rng(seed).normal(size=(2, more, 5), scale=9)
    return (
        np.pad(LABELS, [(0, 0), (0, more)]),
        np.concatenate([some_logits(), noise.astype("float32")], axis=1),
    )


def plain(labels, logits, label_smoothing):
    """Smoothed cross-entropy whose gradient TensorFlow derives."""
    target = (1 - label_smoothing) * tf.one_hot(labels, 5)
    target += label_smoothing / 5
    return -tf.reduce_sum(target * tf.nn.log_softmax(logits), axis=-1)


def test_literals():
    # Logits log(1, 2, 1): probabilities 1/4, 1/2, 1/4.
    logits = np.log([[[1.0, 2.0, 1.0]] * 2]).astype("float32")
    labels = np.array([[1, 2]])
    log2 = np.log(2)
    np.testing.assert_allclose(
        token_cross_entropy(labels, logits), [[log2, 2 * log2]], rtol=1e-5
    )
    # e = 0.3: 0.8 log 2 + 0.2 log 4; 0.8 log 4 + 0.1 log 2 + 0.1 log 4.
    np.testing.assert_allclose(
        token_cross_entropy(labels, logits, 0.3),
        [[1.2 * log2, 1.9 * log2]],
        rtol=1e-5,
    )


@pytest.mark.parametrize("label_smoothing", SMOOTHING)
def test_cross_entropy_equals_numpy(label_smoothing):
    logits = some_logits()
    np.testing.assert_allclose(
        token_cross_entropy(LABELS, logits, label_smoothing),
        reference.smoothed_cross_entropy(LABELS, logits, label_smoothing),
        rtol=1e-5,
        atol=1e-5,
    )


@pytest.mark.parametrize("label_smoothing", SMOOTHING)
def test_gradient_equals_that_of_plain_tensorflow(label_smoothing):
    logits = tf.constant(some_logits())
    upstream = np.random.default_rng(3).normal(size=LABELS.shape)
    upstream = upstream.astype("float32")
    gradients = []
    for function in (token_cross_entropy, plain):
        with tf.GradientTape() as tape:
            tape.watch(logits)
            losses = function(LABELS, logits, label_smoothing)
            total = tf.reduce_sum(losses * upstream)
        gradients.append(tape.gradient(total, logits))
    np.testing.assert_allclose(*gradients, atol=1e-6)
    assert np.all(np.any(gradients[0] != 0, axis=-1))


@pytest.mark.parametrize("label_smoothing", SMOOTHING)
def test_projected_equals_plain_tensorflow(label_smoothing):
    """Losses, predictions and both gradients, with upstream of any size."""
    random = np.random.default_rng(3)
    x = tf.constant(random.normal(size=(2, 4, 3)), "float32")
    matrix = tf.constant(random.normal(size=(5, 3)), "float32")
    upstream = tf.constant(random.normal(size=(2, 4)), "float32")

    def graded(compute):
        with tf.GradientTape() as tape:
            tape.watch([x, matrix])
            losses, predicted = compute()
            total = tf.reduce_sum(losses * upstream)
        return losses, predicted, *tape.gradient(total, [x, matrix])

    def expected():
        logits = tf.matmul(x, matrix[tf.newaxis], transpose_b=True)
        losses = plain(LABELS, logits, label_smoothing)
        return losses, tf.argmax(logits, -1)

    for one, other in zip(
        graded(
            lambda: projected_cross_entropy(LABELS, x, matrix, label_smoothing)
        ),
        graded(expected),
        strict=True,
    ):
        np.testing.assert_allclose(one, other, rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize("function", ["token", "projected"])
def test_improbable_tokens_have_a_finite_loss(function):
    """exp(-200) is 0 in float32; its logarithm is still -200."""
    logits = tf.constant([[[100.0, -100.0, 0.0], [-100.0, 100.0, 100.0]]])
    labels = np.array([[1, 0]])
    if function == "token":
        losses = token_cross_entropy(labels, logits)
    else:
        losses, _ = projected_cross_entropy(labels, logits, tf.eye(3))
    np.testing.assert_allclose(losses, [[200, 200 + np.log(2)]], rtol=1e-6)


@pytest.mark.parametrize("label_smoothing", SMOOTHING)
def test_loss_is_the_mean_over_real_tokens(label_smoothing):
    logits = some_logits()
    losses = reference.smoothed_cross_entropy(LABELS, logits, label_smoothing)
    loss = tfxformer.TokenCrossEntropy(label_smoothing)(LABELS, logits)
    assert loss.shape == ()
    np.testing.assert_allclose(loss, losses[LABELS != 0].mean(), rtol=1e-5)


@pytest.mark.parametrize("length", [20, 100])
def test_padding_changes_neither_loss_nor_gradient(length):
    labels, logits = padded(length)
    loss_function = tfxformer.TokenCrossEntropy(0.1)
    short, logits = tf.constant(some_logits()), tf.constant(logits)
    with tf.GradientTape(persistent=True) as tape:
        tape.watch([short, logits])
        expected = loss_function(LABELS, short)
        loss = loss_function(labels, logits)
    np.testing.assert_allclose(loss, expected, rtol=1e-6)
    gradient = np.array(tape.gradient(loss, logits))
    np.testing.assert_allclose(
        gradient[:, :4], tape.gradient(expected, short), atol=1e-7
    )
    assert np.all(gradient[labels == 0] == 0.0)


@pytest.mark.parametrize(
    "sample_weight",
    [[2.0, 0.5], [[1.0, 2.0, 0.0, 5.0], [0.5, 1.0, 1.0, 1.0]]],
    ids=["sentences", "tokens"],
)
def test_sample_weights_weigh_tokens(sample_weight):
    logits, weights = some_logits(), np.array(sample_weight)
    losses = reference.smoothed_cross_entropy(LABELS, logits, 0.1)
    if weights.ndim == 1:
        weights = weights[:, None]
    weights = weights * (LABELS != 0)
    loss = tfxformer.TokenCrossEntropy(0.1)(LABELS, logits, sample_weight)
    expected = (losses * weights).sum() / weights.sum()
    np.testing.assert_allclose(loss, expected, rtol=1e-5)


def test_token_weights_are_literals():
    labels = np.array([[5, 0], [7, 8]])
    assert token_weights(labels).dtype == "float32"
    np.testing.assert_array_equal(token_weights(labels), [[1, 0], [1, 1]])
    np.testing.assert_array_equal(
        token_weights(labels, [2.0, 3.0]), [[2, 0], [3, 3]]
    )


def test_a_batch_of_padding_is_finite():
    logits = tf.constant(some_logits())
    with tf.GradientTape() as tape:
        tape.watch(logits)
        loss = tfxformer.TokenCrossEntropy(0.1)(np.zeros_like(LABELS), logits)
    assert float(loss) == 0.0
    assert np.all(np.array(tape.gradient(loss, logits)) == 0.0)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_the_loss_is_float32(dtype):
    logits = tf.cast(some_logits(scale=20.0), dtype)
    loss = tfxformer.TokenCrossEntropy(0.1)(LABELS, logits)
    assert loss.dtype == "float32"
    losses = reference.smoothed_cross_entropy(
        LABELS, np.array(tf.cast(logits, "float32")), 0.1
    )
    np.testing.assert_allclose(loss, losses[LABELS != 0].mean(), rtol=1e-5)


def test_the_same_in_a_graph():
    loss = tfxformer.TokenCrossEntropy(0.1)
    logits = some_logits()
    signature = [
        tf.TensorSpec([None, None], "int64"),
        tf.TensorSpec([None, None, 5]),
    ]
    np.testing.assert_allclose(
        tf.function(loss, input_signature=signature)(LABELS, logits),
        loss(LABELS, logits),
        rtol=1e-6,
    )


@pytest.mark.parametrize("label_smoothing", [-0.1, 1.0, 3])
def test_smoothing_must_be_a_share(label_smoothing):
    received = f"Received: label_smoothing={label_smoothing}$"
    with pytest.raises(ValueError, match=received):
        tfxformer.TokenCrossEntropy(label_smoothing)


def test_config_round_trip():
    loss = tfxformer.TokenCrossEntropy(0.2, name="mine")
    config = keras.saving.serialize_keras_object(loss)
    copy = keras.saving.deserialize_keras_object(config)
    assert isinstance(copy, tfxformer.TokenCrossEntropy)
    assert (copy.name, copy.label_smoothing) == ("mine", 0.2)
