"""Tests of token loss, accuracy and perplexity."""

import keras
import numpy as np
import pytest
import reference

import tfxformer

LABELS = np.array([[1, 2, 0], [3, 0, 0]])
METRICS = [tfxformer.TokenAccuracy, tfxformer.TokenLoss, tfxformer.Perplexity]


def favouring(token_ids):
    """Logits whose highest is that of the token: 3 against 0, V = 4."""
    return 3.0 * np.eye(4, dtype="float32")[np.array(token_ids)]


def updated(metric, *batches):
    for batch in batches:
        metric.update_state(*batch)
    return float(metric.result())


def test_accuracy_counts_real_tokens():
    # 1 right, 2 wrong, 3 right; the rest, right or wrong, is padding.
    logits = favouring([[1, 3, 0], [3, 2, 0]])
    accuracy = updated(tfxformer.TokenAccuracy(), (LABELS, logits))
    assert accuracy == pytest.approx(2 / 3)


@pytest.mark.parametrize("vocabulary_size", [4, 10])
def test_perplexity_of_equal_logits_is_the_vocabulary_size(vocabulary_size):
    logits = np.zeros((2, 3, vocabulary_size), "float32")
    perplexity = updated(tfxformer.Perplexity(), (LABELS, logits))
    assert perplexity == pytest.approx(vocabulary_size, rel=1e-5)


def test_perplexity_equals_numpy():
    logits = np.random.default_rng(0).normal(size=(2, 3, 4)).astype("float32")
    losses = reference.smoothed_cross_entropy(LABELS, logits)
    perplexity = updated(tfxformer.Perplexity(), (LABELS, logits))
    expected = np.exp(losses[LABELS != 0].mean())
    assert perplexity == pytest.approx(expected, rel=1e-5)


def test_the_smoothed_loss_equals_numpy():
    logits = np.random.default_rng(0).normal(size=(2, 3, 4)).astype("float32")
    losses = reference.smoothed_cross_entropy(LABELS, logits, 0.2)
    metric = tfxformer.TokenLoss(0.2)
    loss = updated(metric, (LABELS, logits))
    assert loss == pytest.approx(losses[LABELS != 0].mean(), rel=1e-5)
    copy = tfxformer.TokenLoss.from_config(metric.get_config())
    assert updated(copy, (LABELS, logits)) == loss


@pytest.mark.parametrize("metric_class", METRICS)
def test_batches_count_by_their_tokens(metric_class):
    logits = favouring([[1, 3, 0], [3, 2, 0]])
    whole = updated(metric_class(), (LABELS, logits))
    parts = [(LABELS[i : i + 1], logits[i : i + 1]) for i in range(2)]
    assert updated(metric_class(), *parts) == pytest.approx(whole)


@pytest.mark.parametrize("length", [20, 100])
@pytest.mark.parametrize("metric_class", METRICS)
def test_padding_changes_nothing(metric_class, length):
    logits = favouring([[1, 3, 0], [3, 2, 0]])
    expected = updated(metric_class(), (LABELS, logits))
    more = length - LABELS.shape[1]
    labels = np.pad(LABELS, [(0, 0), (0, more)])
    logits = np.concatenate([logits, favouring([[2] * more] * 2)], axis=1)
    value = updated(metric_class(), (labels, logits))
    assert value == pytest.approx(expected)


def test_sample_weights_weigh_tokens():
    logits = favouring([[1, 3, 0], [3, 2, 0]])
    accuracy = updated(tfxformer.TokenAccuracy(), (LABELS, logits, [3.0, 1.0]))
    assert accuracy == pytest.approx((3 + 1) / (3 + 3 + 1))


@pytest.mark.parametrize("metric_class", METRICS)
def test_a_reset_metric_starts_again(metric_class):
    metric = metric_class()
    expected = updated(metric, (LABELS, favouring(LABELS)))
    metric.reset_state()
    updated(metric, (LABELS, favouring([[2, 3, 1], [1, 1, 1]])))
    metric.reset_state()
    value = updated(metric, (LABELS, favouring(LABELS)))
    assert value == pytest.approx(expected)


@pytest.mark.parametrize(
    "metric_class, value",
    [(tfxformer.TokenAccuracy, 0.0), (tfxformer.Perplexity, 1.0)],
)
def test_nothing_but_padding_is_finite(metric_class, value):
    labels = np.zeros((2, 3), int)
    assert updated(metric_class(), (labels, favouring(labels))) == value


@pytest.mark.parametrize("metric_class", METRICS)
def test_config_round_trip(metric_class):
    config = keras.saving.serialize_keras_object(metric_class(name="mine"))
    copy = keras.saving.deserialize_keras_object(config)
    assert isinstance(copy, metric_class)
    assert copy.name == "mine"
