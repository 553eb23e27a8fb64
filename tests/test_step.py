"""Each token of an update counts the same, however it is cut up."""

import keras
import numpy as np
import pytest
import tensorflow as tf

from tfxformer import TokenCrossEntropy, Transformer
from training.optimizer import SkippingAdam
from training.step import TrainingTransformer

SIZES = {
    "vocabulary_size": 20,
    "num_layers": 1,
    "num_heads": 2,
    "hidden_dim": 8,
    "intermediate_dim": 16,
    "dropout": 0.0,
}


def batch(lengths, seed):
    random = np.random.default_rng(seed)
    width = max(lengths)
    rows = [
        random.integers(4, 20, n).tolist() + [0] * (width - n) for n in lengths
    ]
    labels = np.array(rows, "int32")
    inputs = np.where(labels > 0, np.roll(labels, 1, 1), 0)
    inputs[:, 0] = 1
    return (tf.constant(labels), tf.constant(inputs)), tf.constant(labels)


def training_model(precision="float32", eager=True):
    keras.utils.set_random_seed(1)
    policy = precision if precision == "float32" else f"mixed_{precision}"
    model = TrainingTransformer(**SIZES, dtype=policy)
    model.compile(
        # With this epsilon the update is nearly the gradient, not its sign.
        SkippingAdam(0.01, precision == "float16", epsilon=1.0),
        TokenCrossEntropy(0.1),
        jit_compile=False,
        auto_scale_loss=False,
        run_eagerly=eager,  # tracing takes longer than the few updates
    )
    model.optimizer.build(model.trainable_variables)  # or it is traced twice
    return model


def ragged(batches):
    return tf.nest.map_structure(
        lambda *some: tf.ragged.stack(
            [tf.RaggedTensor.from_tensor(x, ragged_rank=1) for x in some]
        ),
        *batches,
    )


def one_update(model, data):
    return model.fit(
        tf.data.Dataset.from_tensors(data), verbose=0, shuffle=False
    ).history


def test_one_batch_trains_as_keras_does():
    data = batch([5, 3, 2], 0)
    ours = training_model(eager=False)
    one_update(ours, data)
    keras.utils.set_random_seed(1)
    theirs = Transformer(**SIZES)
    theirs.compile(
        keras.optimizers.Adam(0.01, epsilon=1.0),
        TokenCrossEntropy(0.1),
        run_eagerly=True,
    )
    theirs.fit(*data, batch_size=8, verbose=0, shuffle=False)
    for one, other in zip(
        ours.get_weights(), theirs.get_weights(), strict=True
    ):
        np.testing.assert_allclose(one, other, rtol=1e-4, atol=1e-6)
    assert int(ours.tokens_seen) == 10


def test_several_batches_are_one_update_over_all_their_tokens():
    """Of unequal numbers of tokens: a mean of means would differ."""
    short, long = batch([2], 1), batch([7, 7, 6], 2)
    whole = training_model()
    joined = tf.nest.map_structure(
        lambda a, b: tf.concat(
            [tf.pad(a, [[0, 0], [0, b.shape[1] - a.shape[1]]]), b], 0
        ),
        short,
        long,
    )
    expected = one_update(whole, joined)
    several = training_model(eager=False)
    history = one_update(several, ragged([short, long]))
    assert int(several.optimizer.iterations) == 1
    assert int(several.tokens_seen) == int(whole.tokens_seen) == 22
    for one, other in zip(
        several.get_weights(), whole.get_weights(), strict=True
    ):
        np.testing.assert_allclose(one, other, rtol=1e-4, atol=1e-6)
    for name, values in expected.items():
        np.testing.assert_allclose(history[name], values, rtol=1e-5)


def test_the_loss_of_an_epoch_is_the_mean_over_its_tokens():
    short, long = batch([2], 1), batch([7, 7, 6], 2)
    model = training_model()
    model.compile(SkippingAdam(0.0), TokenCrossEntropy(0.1), run_eagerly=True)
    losses = [one_update(model, data)["loss"][0] for data in (short, long)]
    data = tf.data.Dataset.from_generator(
        lambda: iter([short, long]),
        output_signature=tf.nest.map_structure(
            lambda _: tf.TensorSpec([None, None], tf.int32), short
        ),
    )
    options = {"steps_per_epoch": 2, "verbose": 0, "shuffle": False}
    both = model.fit(data, **options).history["loss"][0]
    expected = (2 * losses[0] + 20 * losses[1]) / 22
    np.testing.assert_allclose(both, expected, rtol=1e-5)


@pytest.mark.parametrize("padded", [20, 100])
def test_padding_changes_nothing(padded):
    data = batch([5, 3, 2], 0)
    wide = tf.nest.map_structure(
        lambda x: tf.pad(x, [[0, 0], [0, padded - x.shape[1]]]), data
    )
    one, other = training_model(), training_model()
    history, again = one_update(one, data), one_update(other, wide)
    for name in history:
        np.testing.assert_allclose(history[name], again[name], rtol=1e-5)
    for a, b in zip(one.get_weights(), other.get_weights(), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-3, atol=1e-5)


def test_every_dropout_draws_in_an_update():
    """In the encoder, the decoder, attention, and the feed-forward networks."""
    rates = dict.fromkeys(
        ("dropout", "attention_dropout", "activation_dropout"), 0.1
    )
    model = TrainingTransformer(**{**SIZES, **rates})
    model.compile(SkippingAdam(0.01), TokenCrossEntropy(), run_eagerly=True)
    states = [v for v in model.variables if "seed_generator" in v.path]
    # Embeddings; attention and sublayers of the encoder, and of the decoder.
    assert len(states) == 1 + 4 + 6
    before = [np.array(state) for state in states]
    one_update(model, batch([5, 3, 2], 0))
    for state, old in zip(states, before, strict=True):
        assert not np.array_equal(state, old), state.path


def test_a_batch_of_padding_only_is_finite():
    model = training_model()
    before = model.get_weights()
    data = tf.nest.map_structure(tf.zeros_like, batch([3, 2], 0))
    history = one_update(model, data)
    assert np.isfinite(history["loss"]).all()
    for one, other in zip(model.get_weights(), before, strict=True):
        np.testing.assert_array_equal(one, other)


def test_a_skipped_update_does_not_spoil_the_loss_of_the_epoch():
    model, twin = training_model(), training_model()
    weights = model.get_weights()
    model.set_weights([np.full_like(w, np.nan) for w in weights])
    data = batch([3, 2], 0)
    assert float(model.train_step(data)["loss"]) == 0.0
    assert int(model.optimizer.skipped) == 1
    model.set_weights(weights)
    loss = float(model.train_step(data)["loss"])
    assert loss == pytest.approx(one_update(twin, data)["loss"][0], rel=1e-6)


@pytest.mark.parametrize("precision", ["bfloat16", "float16"])
def test_mixed_precision_learns_nearly_the_same(precision):
    data = batch([5, 3, 2], 0)
    full = training_model()
    mixed = training_model(precision)
    for _ in range(3):
        expected = one_update(full, data)
        history = one_update(mixed, data)
    np.testing.assert_allclose(history["loss"], expected["loss"], rtol=0.02)
    assert int(mixed.optimizer.skipped) == 0
    for weight in mixed.weights:
        assert weight.dtype == "float32"
