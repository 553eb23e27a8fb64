"""Tests of the whole model."""

import json
import os
import subprocess
import sys
from pathlib import Path

import keras
import numpy as np
import pytest
import tensorflow as tf

import tfxformer
from tfxformer.normalization import LayerNormalization

ROOT = Path(__file__).resolve().parent.parent
SOURCE = np.array([[5, 3, 8, 6, 2], [7, 4, 2, 0, 0]])
TARGET = np.array([[1, 9, 4, 6], [1, 5, 3, 0]])
LABELS = np.array([[9, 4, 6, 2], [5, 3, 2, 0]])
NORMS = pytest.mark.parametrize(
    "normalize_first", [False, True], ids=["post", "pre"]
)


def tiny(vocabulary_size=11, **arguments):
    """A small model without dropout, the same each time, biases and all."""
    sizes = {
        "num_layers": 2,
        "num_heads": 2,
        "hidden_dim": 8,
        "intermediate_dim": 12,
        "dropout": 0.0,
    }
    model = tfxformer.Transformer(vocabulary_size, **{**sizes, **arguments})
    random = np.random.default_rng(0)
    for variable in model.trainable_variables:
        mean = 1.0 if variable.name == "gamma" else 0.0
        variable.assign(random.normal(mean, 0.3, size=variable.shape))
    return model


def pad(token_ids, number):
    return np.pad(token_ids, [(0, 0), (0, number)])


def seeds(model):
    return [variable.numpy() for variable in model.non_trainable_variables]


def with_seeds(model, values, inputs, training):
    """Calls the model with the state that its dropout layers had."""
    for variable, value in zip(
        model.non_trainable_variables, values, strict=True
    ):
        variable.assign(value)
    return np.array(model(inputs, training=training))


# What a position may see


@NORMS
@pytest.mark.parametrize("dropout", [0.0, 0.3])
@pytest.mark.parametrize("policy", ["float32", "mixed_bfloat16"])
@pytest.mark.parametrize("position", [1, 3])
def test_a_later_target_token_changes_nothing(
    position, policy, dropout, normalize_first
):
    model = tiny(
        dtype=policy,
        normalize_first=normalize_first,
        dropout=dropout,
        attention_dropout=dropout,
        activation_dropout=dropout,
    )
    training, state = dropout > 0, seeds(model)
    changed = TARGET.copy()
    changed[:, position] = 10
    before = with_seeds(model, state, (SOURCE, TARGET), training)
    after = with_seeds(model, state, (SOURCE, changed), training)
    np.testing.assert_array_equal(after[:, :position], before[:, :position])
    assert np.all(np.any(after != before, axis=-1)[:, position])
    if training:
        assert np.any(model((SOURCE, TARGET), training=True) != before)


@NORMS
def test_each_source_token_changes_every_logit(normalize_first):
    model = tiny(normalize_first=normalize_first)
    before = np.array(model((SOURCE, TARGET)))
    for position in range(5):
        changed = SOURCE.copy()
        changed[0, position] = 10
        after = np.array(model((changed, TARGET)))
        assert np.all(np.any(after[0] != before[0], axis=-1))
        np.testing.assert_array_equal(after[1], before[1])


def encoder_outputs(model, token_ids):
    """The input of the first encoder block and the output of each."""
    mask = tfxformer.padding_mask(token_ids)
    outputs = [model.encoder_position(model.encoder_embedding(token_ids))]
    for block in model.encoder_blocks:
        outputs.append(block(outputs[-1], padding_mask=mask))
    return [np.array(output) for output in outputs]


@NORMS
@pytest.mark.parametrize("number", [0, 20, 100])
def test_padding_changes_no_real_position_of_any_layer(number, normalize_first):
    model = tiny(num_layers=3, normalize_first=normalize_first)
    for row in range(2):
        real = SOURCE[row : row + 1, : np.count_nonzero(SOURCE[row])]
        expected = encoder_outputs(model, real)
        for layer, output in enumerate(
            encoder_outputs(model, pad(SOURCE, number))
        ):
            np.testing.assert_allclose(
                output[row : row + 1, : real.shape[1]],
                expected[layer],
                atol=1e-5,
            )


@NORMS
@pytest.mark.parametrize("target_pads", [0, 20, 100])
@pytest.mark.parametrize("source_pads", [0, 20, 100])
def test_padding_changes_no_logits(source_pads, target_pads, normalize_first):
    model = tiny(normalize_first=normalize_first)
    logits = model((pad(SOURCE, source_pads), pad(TARGET, target_pads)))
    assert logits.shape == (2, 4 + target_pads, 11)
    for row in range(2):
        source = SOURCE[row : row + 1, : np.count_nonzero(SOURCE[row])]
        target = TARGET[row : row + 1, : np.count_nonzero(TARGET[row])]
        np.testing.assert_allclose(
            logits[row, : target.shape[1]],
            model((source, target))[0],
            atol=1e-5,
        )


@pytest.mark.parametrize("source_length, target_length", [(7, 2), (2, 7)])
def test_cross_attention_sees_the_real_source(source_length, target_length):
    model = tiny()
    source = np.full((2, source_length), 5)
    source[1, 1:] = 0
    target = np.full((2, target_length), 6)
    _, weights = model.decode(
        target,
        model.encode(source),
        tfxformer.padding_mask(source),
        return_attention_weights=True,
    )
    assert len(weights) == 2
    for self_weights, cross_weights in weights:
        assert self_weights.shape == (2, 2, target_length, target_length)
        assert cross_weights.shape == (2, 2, target_length, source_length)
        np.testing.assert_allclose(np.sum(cross_weights, -1), 1, atol=1e-6)
        assert np.all(cross_weights[0] > 0)
        assert np.all(cross_weights[1, :, :, 1:] == 0)
        future = ~np.tril(np.ones((target_length, target_length), bool))
        assert np.all(np.array(self_weights)[:, :, future] == 0)


def test_the_encoder_returns_the_weights_of_each_layer():
    model = tiny(num_layers=3)
    encoded, weights = model.encode(SOURCE, return_attention_weights=True)
    np.testing.assert_array_equal(encoded, model.encode(SOURCE))
    assert [w.shape for w in weights] == [(2, 2, 5, 5)] * 3
    for layer_weights in weights:
        over_real = np.sum(layer_weights * (SOURCE != 0)[:, None, None], -1)
        np.testing.assert_allclose(over_real, 1, atol=1e-6)


@NORMS
@pytest.mark.parametrize(
    "policy", ["float32", "mixed_float16", "mixed_bfloat16"]
)
def test_a_row_of_padding_is_finite(policy, normalize_first):
    model = tiny(dtype=policy, normalize_first=normalize_first)
    source, target, labels = SOURCE.copy(), TARGET.copy(), LABELS.copy()
    source[1] = target[1] = labels[1] = 0
    with tf.GradientTape() as tape:
        logits = model((source, target), training=True)
        loss = tfxformer.TokenCrossEntropy(0.1)(labels, logits)
    assert np.all(np.isfinite(logits))
    assert np.isfinite(loss)
    alone = tfxformer.TokenCrossEntropy(0.1)(
        labels[:1], model((source[:1], target[:1]))
    )
    np.testing.assert_allclose(loss, alone, rtol=1e-2)
    for gradient in tape.gradient(
        loss, [variable.value for variable in model.trainable_variables]
    ):
        assert np.all(np.isfinite(tf.convert_to_tensor(gradient)))


# How it is put together


@NORMS
def test_the_model_is_its_layers_in_order(normalize_first):
    model = tiny(normalize_first=normalize_first)
    encoded = encoder_outputs(model, SOURCE)[-1]
    x = model.decoder_position(model.decoder_embedding(TARGET))
    if normalize_first:
        encoded = model.encoder_normalization(encoded)
    for block in model.decoder_blocks:
        x = block(
            x,
            encoded,
            self_attention_mask=tfxformer.attention_mask(
                tfxformer.padding_mask(TARGET), tfxformer.causal_mask(4)
            ),
            encoder_padding_mask=tfxformer.padding_mask(SOURCE),
        )
    if normalize_first:
        x = model.decoder_normalization(x)
    else:
        assert model.decoder_normalization is None
    expected = np.array(x) @ np.array(model.decoder_embedding.embeddings).T
    np.testing.assert_allclose(model((SOURCE, TARGET)), expected, atol=1e-5)


def test_stacks_of_unequal_depths():
    model = tiny(num_layers=3, num_decoder_layers=1)
    assert (len(model.encoder_blocks), len(model.decoder_blocks)) == (3, 1)
    assert model((SOURCE, TARGET)).shape == (2, 4, 11)
    (_, cache), (_, encoder_cache, _) = model.start_cache(SOURCE, TARGET)
    assert (len(cache), len(encoder_cache)) == (1, 1)


@pytest.mark.parametrize(
    "tie_embeddings, matrices",
    [
        ("all", [(11, 8)]),
        ("decoder", [(11, 8), (9, 8)]),
        ("none", [(11, 8), (9, 8), (8, 11)]),
    ],
)
def test_embeddings_share_what_they_should(tie_embeddings, matrices):
    source_size = 11 if tie_embeddings == "all" else 9
    model = tiny(
        encoder_vocabulary_size=source_size, tie_embeddings=tie_embeddings
    )
    with_vocabulary = [
        tuple(variable.shape)
        for variable in model.trainable_variables
        if {11, 9} & set(variable.shape)
    ]
    assert sorted(with_vocabulary) == sorted(matrices)
    # A source id that no target has; logits over the target's vocabulary.
    logits = model((SOURCE % source_size, TARGET))
    assert logits.shape == (2, 4, 11)


@pytest.mark.parametrize("tie_embeddings", ["all", "decoder", "none"])
def test_the_gradient_reaches_a_shared_matrix_from_every_use(tie_embeddings):
    model = tiny(tie_embeddings=tie_embeddings)
    source, target = np.array([[5, 3]]), np.array([[1, 4]])
    with tf.GradientTape() as tape:
        loss = tfxformer.TokenCrossEntropy()(
            np.array([[4, 2]]), model((source, target))
        )
    matrix = model.decoder_embedding.embeddings.value
    gradient = tf.convert_to_tensor(tape.gradient(loss, matrix))
    used = np.flatnonzero(np.any(np.array(gradient) != 0, axis=-1))
    everything = list(range(11))
    assert used.tolist() == ([1, 4] if tie_embeddings == "none" else everything)
    if tie_embeddings == "all":
        # As an output alone, the row of 5 would have the gradient of 6
        # times a factor: both have the same direction, sum of p_v x.
        rows = np.array(gradient)
        cosine = rows[5] @ rows[6] / np.prod(np.linalg.norm(rows[5:7], axis=-1))
        assert cosine < 0.999


def test_probabilities_are_the_softmax_of_the_logits():
    model = tiny()
    probabilities = model((SOURCE, TARGET), return_probabilities=True)
    np.testing.assert_allclose(np.sum(probabilities, -1), 1, atol=1e-6)
    np.testing.assert_allclose(
        probabilities, tf.nn.softmax(model((SOURCE, TARGET))), atol=1e-6
    )


@pytest.mark.parametrize("tie_embeddings", ["all", "decoder", "none"])
@pytest.mark.parametrize("policy", ["mixed_float16", "mixed_bfloat16"])
def test_mixed_precision_is_close_to_float32(policy, tie_embeddings):
    model = tiny(tie_embeddings=tie_embeddings, normalize_first=True)
    mixed = tiny(
        tie_embeddings=tie_embeddings, normalize_first=True, dtype=policy
    )
    mixed.set_weights(model.get_weights())
    assert {v.dtype for v in mixed.trainable_variables} == {"float32"}
    logits = mixed((SOURCE, TARGET))
    assert logits.dtype == "float32"
    expected = np.array(model((SOURCE, TARGET)))
    # Twenty roundings of 2^-9 (bfloat16) of values of this size.
    tolerance = np.abs(expected).max() * 20 * 2**-9
    np.testing.assert_allclose(logits, expected, atol=tolerance)


@NORMS
def test_base_has_as_many_parameters_as_the_paper_says(normalize_first):
    v, d, f = 37_000, 512, 2048
    attention = 4 * (d * d + d)
    feed_forward = (d * f + f) + (f * d + d)
    norm = 2 * d
    encoder = attention + feed_forward + 2 * norm
    decoder = 2 * attention + feed_forward + 3 * norm
    expected = v * d + 6 * encoder + 6 * decoder
    if normalize_first:
        expected += 2 * norm
    model = tfxformer.Transformer.from_preset(
        "base", v, normalize_first=normalize_first
    )
    assert model.count_params() == expected
    assert abs(expected / 65e6 - 1) < 0.04


def test_a_preset_can_be_varied():
    model = tfxformer.Transformer.from_preset(
        "tiny", 11, num_layers=1, hidden_dim=8, key_dim=3
    )
    config = model.get_config()
    assert config["hidden_dim"] == 8
    assert config["num_heads"] == tfxformer.PRESETS["tiny"]["num_heads"]
    query = model.encoder_blocks[0].self_attention.query_dense
    assert query.kernel.shape == (8, 12)


@pytest.mark.parametrize(
    "arguments, received",
    [
        ({"num_heads": 3}, "num_heads=3, hidden_dim=8"),
        ({"num_heads": 1, "hidden_dim": 7}, "hidden_dim=7"),
        ({"tie_embeddings": "both"}, "tie_embeddings='both'"),
        ({"position_encoding": "rotary"}, "position_encoding='rotary'"),
        ({"activation": "tanh"}, "activation='tanh'"),
        (
            {"encoder_vocabulary_size": 9},
            "encoder_vocabulary_size=9, vocabulary_size=11, "
            "tie_embeddings='all'",
        ),
    ],
)
def test_bad_arguments_are_refused(arguments, received):
    with pytest.raises(ValueError) as error:
        tiny(**arguments)
    assert str(error.value).endswith(f"Received: {received}")


def test_an_unknown_preset_is_refused():
    with pytest.raises(ValueError, match=r"Received: preset='huge'$"):
        tfxformer.Transformer.from_preset("huge", 11)


def test_learned_positions_have_a_longest_sequence():
    model = tiny(position_encoding="learned", max_length=5)
    assert model((SOURCE, TARGET)).shape == (2, 4, 11)
    with pytest.raises(ValueError, match="length=6, max_length=5"):
        model((pad(SOURCE, 1), TARGET))


@pytest.mark.parametrize(
    "rate", ["dropout", "attention_dropout", "activation_dropout"]
)
def test_each_dropout_rate_reaches_every_block(rate):
    model = tiny(**{rate: 0.5})
    x = np.random.default_rng(0).normal(size=(2, 5, 8)).astype("float32")
    for block in model.encoder_blocks:
        assert np.any(block(x, training=True) != block(x))
    for block in model.decoder_blocks:
        assert np.any(block(x, x, training=True) != block(x, x))


def test_dropout_is_applied_to_the_embeddings():
    model = tiny(dropout=0.5, normalize_first=True)
    for block in model.encoder_blocks + model.decoder_blocks:
        # Sublayers that give zeros leave the embeddings as they are.
        for variable in block.trainable_variables:
            if "/output/" in variable.path:
                variable.assign(0 * variable)
    encoded, mask = model.encode(SOURCE), tfxformer.padding_mask(SOURCE)
    embedded = model.encoder_position(model.encoder_embedding(SOURCE))
    np.testing.assert_allclose(
        encoded, model.encoder_normalization(embedded), atol=1e-5
    )
    assert np.any(model.encode(SOURCE, training=True) != encoded)
    logits = model.decode(TARGET, encoded, mask)
    assert np.any(model.decode(TARGET, encoded, mask, training=True) != logits)


# One token after the other


def random_targets(shape, seed=0):
    return np.random.default_rng(seed).integers(3, 11, shape)


def step_by_step(model, source, target, max_length):
    """Logits of each position of `(B, T)` targets, with the cache."""
    room = np.zeros((len(source), max_length), int)
    cache, encoder_cache = model.start_cache(source, room)
    logits = []
    for index in range(target.shape[1]):
        step, cache = model.decode_step(
            target[:, index], cache, tf.constant(index), encoder_cache
        )
        logits.append(step)
    return tf.stack(logits, axis=1)


class Beams:
    """What the cache and what the whole sequence say of each hypothesis.

    Any tokens follow, and any hypothesis continues any other of its sentence.
    """

    def __init__(self, model, num_beams, num_steps=4):
        random = np.random.default_rng(num_beams)
        num_rows = 2 * num_beams
        # The caches have a position to spare.
        room = np.zeros((2, num_steps + 1), int)
        cache, encoder_cache = model.start_cache(SOURCE, room, num_beams)
        history = np.zeros((2, num_beams, num_steps), int)
        logits, attention, histories = [], [], []
        for index in range(num_steps):
            history[:, :, index] = random.integers(3, 11, (2, num_beams))
            step_logits, cache, step_attention = model.decode_step(
                history[:, :, index].reshape(num_rows),
                cache,
                tf.constant(index),
                encoder_cache,
                return_attention_weights=True,
            )
            logits.append(step_logits)
            attention.append(step_attention)
            histories.append(history.reshape(num_rows, num_steps))
            parents = random.integers(0, num_beams, (2, num_beams))
            cache = model.reorder_cache(cache, parents)
            history = np.take_along_axis(history, parents[:, :, None], axis=1)
        self.caches = cache[1]
        self.logits = np.array(logits)  # (steps, B * K, V)
        self.attention = np.array(attention)
        # All of them at once; the tokens to come are padding.
        source = np.tile(np.repeat(SOURCE, num_beams, axis=0), (num_steps, 1))
        whole, weights = model.decode(
            np.concatenate(histories),
            model.encode(source),
            tfxformer.padding_mask(source),
            return_attention_weights=True,
        )
        whole_attention = model.alignment_attention(weights)

        def last(x):
            x = np.array(x).reshape(num_steps, num_rows, num_steps, -1)
            return x[range(num_steps), :, range(num_steps)]

        self.whole_logits = last(whole)
        self.whole_attention = last(whole_attention)


KINDS = pytest.mark.parametrize(
    "arguments",
    [
        {},
        {"normalize_first": True},
        {"key_dim": 3, "activation": "swiglu"},
        {"position_encoding": "learned", "max_length": 9},
        {"num_layers": 1, "num_decoder_layers": 3, "tie_embeddings": "none"},
    ],
    ids=lambda arguments: "-".join(arguments) or "default",
)


@KINDS
def test_the_cached_step_equals_the_whole_sequence(arguments):
    model = tiny(**arguments)
    target = random_targets((2, 6))
    logits = step_by_step(model, SOURCE, target, max_length=8)
    assert logits.dtype == "float32"
    np.testing.assert_allclose(logits, model((SOURCE, target)), atol=1e-5)


@KINDS
def test_reordered_beams_equal_their_whole_sequences(arguments):
    beams = Beams(tiny(**arguments), num_beams=3)
    assert beams.logits.shape == (4, 6, 11)
    np.testing.assert_allclose(beams.logits, beams.whole_logits, atol=1e-5)


@pytest.mark.parametrize("num_beams", [2, 5])
def test_any_number_of_beams(num_beams):
    beams = Beams(tiny(num_layers=3), num_beams)
    np.testing.assert_allclose(beams.logits, beams.whole_logits, atol=1e-5)
    # A step attends to the source as the whole does.
    assert beams.attention.shape == (4, 2 * num_beams, 5)
    np.testing.assert_allclose(
        beams.attention, beams.whole_attention, atol=1e-5
    )


@pytest.mark.parametrize("policy", ["mixed_float16", "mixed_bfloat16"])
def test_the_cached_step_equals_the_whole_under_mixed_precision(policy):
    beams = Beams(tiny(dtype=policy, normalize_first=True), num_beams=3)
    assert beams.logits.dtype == "float32"
    assert beams.caches[0][0].dtype == policy.removeprefix("mixed_")
    tolerance = np.abs(beams.whole_logits).max() * 20 * 2**-9
    np.testing.assert_allclose(beams.logits, beams.whole_logits, atol=tolerance)


@pytest.mark.parametrize("policy", ["float32", "mixed_bfloat16"])
@pytest.mark.parametrize("tie_embeddings", ["all", "none"])
def test_a_shortlist_has_the_logits_of_its_tokens(tie_embeddings, policy):
    model = tiny(tie_embeddings=tie_embeddings, dtype=policy)
    shortlist = np.array([0, 2, 7, 10])

    def logits(**arguments):
        cache, encoder_cache = model.start_cache(SOURCE, TARGET, **arguments)
        return model.decode_step([1, 5], cache, 0, encoder_cache)[0]

    some = logits(shortlist=shortlist)
    assert some.dtype == "float32"
    assert some.shape == (2, 4)
    np.testing.assert_allclose(some, np.array(logits())[:, shortlist], 1e-5)


@pytest.mark.parametrize("num_layers, layer", [(1, 0), (2, 0), (3, 1)])
def test_alignments_come_from_the_last_block_but_one(num_layers, layer):
    model = tiny(num_layers=num_layers)
    _, weights = model.decode(
        TARGET,
        model.encode(SOURCE),
        tfxformer.padding_mask(SOURCE),
        return_attention_weights=True,
    )
    attention = model.alignment_attention(weights)
    heads = np.array(weights[layer][1])  # (B, N, T, S)
    np.testing.assert_allclose(
        attention, (heads[:, 0] + heads[:, 1]) / 2, atol=1e-6
    )


def test_the_caches_have_their_shapes():
    model = tiny(num_heads=2, key_dim=3)
    room = np.zeros((2, 7), int)
    cache, encoder_cache = model.start_cache(SOURCE, room, beam_size=3)
    (visible, caches), (mask, encoder_caches, matrix) = cache, encoder_cache
    assert visible.shape == (2, 3, 21)
    assert not np.any(visible)
    assert len(caches) == len(encoder_caches) == 2
    for key, value in caches:
        assert key.shape == value.shape == (2, 2, 21, 3)
        assert not np.any(key) and not np.any(value)
    np.testing.assert_array_equal(mask, SOURCE != 0)
    for key, value in encoder_caches:
        assert key.shape == value.shape == (2, 2, 5, 3)
    np.testing.assert_array_equal(matrix, model.output_matrix())


def test_only_the_shape_of_the_decoder_tokens_counts():
    model = tiny()
    cache, _ = model.start_cache(SOURCE, TARGET)
    other, _ = model.start_cache(SOURCE, 0 * TARGET)
    for ours, theirs in zip(
        tf.nest.flatten(cache), tf.nest.flatten(other), strict=True
    ):
        np.testing.assert_array_equal(ours, theirs)


def test_greedy_search_with_cache_equals_search_without():
    # Prefixes are decoded again at each step, by the whole-sequence model.
    model = tiny(vocabulary_size=40)
    source = np.random.default_rng(1).integers(3, 40, (12, 5))
    source[::2, 3:] = 0

    @tf.function
    def search(source, prefix, max_lengths):
        cache, encoder_cache = model.start_cache(source, prefix)
        return tfxformer.greedy_search(
            lambda token_ids, cache, index: model.decode_step(
                token_ids, cache, index, encoder_cache
            ),
            cache,
            prefix,
            max_lengths,
            end_token_id=-1,  # never: all sentences have seven tokens
        )

    token_ids, scores = search(
        source, tf.zeros([12, 7], tf.int32), tf.fill([12], 7)
    )
    target, expected_scores = np.ones((12, 1), int), np.zeros(12)
    for _ in range(7):
        logits = np.array(model((source, target))[:, -1])
        best = np.argmax(logits, axis=-1)
        probabilities = np.array(tf.nn.softmax(logits))
        expected_scores += np.log(probabilities[np.arange(12), best])
        target = np.concatenate([target, best[:, None]], axis=1)
    np.testing.assert_array_equal(token_ids, target[:, 1:])
    np.testing.assert_allclose(scores, expected_scores, rtol=1e-4)
    assert len({tuple(row) for row in target}) > 1


@pytest.mark.parametrize("length", [1, 2])
def test_a_sentence_of_one_token_gives_no_warning(length):
    # Warnings are errors here.
    model = tiny()
    source, target = SOURCE[:, :length], TARGET[:, :length]
    whole = model((source, target))
    logits = step_by_step(model, source, target, max_length=length)
    np.testing.assert_allclose(logits, whole, atol=1e-5)


# Saving


LAYERS = {
    LayerNormalization: {"epsilon": 0.01},
    tfxformer.TokenEmbedding: {"vocabulary_size": 7, "hidden_dim": 4},
    tfxformer.SinusoidalPositionEncoding: {},
    tfxformer.LearnedPositionEncoding: {"max_length": 9},
    tfxformer.MultiHeadAttention: {
        "num_heads": 2,
        "key_dim": 3,
        "dropout": 0.2,
    },
    tfxformer.Projection: {"units": 3, "activation": "relu"},
    tfxformer.FeedForward: {
        "intermediate_dim": 5,
        "activation": "swiglu",
        "dropout": 0.2,
    },
    tfxformer.Residual: {"normalize_first": True, "dropout": 0.2},
    tfxformer.EncoderBlock: {},
    tfxformer.DecoderBlock: {},
    tfxformer.Transformer: {
        "vocabulary_size": 11,
        "num_layers": 1,
        "num_heads": 3,
        "hidden_dim": 8,
        "intermediate_dim": 5,
        "key_dim": 2,
        "dropout": 0.2,
        "normalize_first": True,
        "activation": "gelu",
        "num_decoder_layers": 2,
        "encoder_vocabulary_size": 9,
        "tie_embeddings": "none",
        "position_encoding": "learned",
        "max_length": 17,
        "attention_dropout": 0.3,
        "activation_dropout": 0.4,
    },
}
for block_class in (tfxformer.EncoderBlock, tfxformer.DecoderBlock):
    LAYERS[block_class] = {
        "intermediate_dim": 5,
        "num_heads": 2,
        "key_dim": 3,
        "dropout": 0.2,
        "activation": "gelu",
        "normalize_first": True,
        "attention_dropout": 0.3,
        "activation_dropout": 0.4,
    }
# Their round trips are in test_schedule, test_losses and test_metrics.
NO_LAYERS = {
    tfxformer.WarmupSchedule,
    tfxformer.TokenCrossEntropy,
    tfxformer.TokenAccuracy,
    tfxformer.TokenLoss,
    tfxformer.Perplexity,
}


@pytest.mark.parametrize("layer_class", LAYERS)
def test_config_round_trip(layer_class):
    arguments = LAYERS[layer_class]
    layer = layer_class(**arguments, name="mine", dtype="mixed_bfloat16")
    serialized = keras.saving.serialize_keras_object(layer)
    copy = keras.saving.deserialize_keras_object(
        json.loads(json.dumps(serialized))
    )
    assert type(copy) is layer_class
    assert copy.get_config() == layer.get_config()
    assert copy.dtype_policy.name == "mixed_bfloat16"
    assert copy.name == "mine"
    for name, value in arguments.items():
        assert copy.get_config()[name] == value


def test_every_registered_class_has_a_round_trip():
    registered = {
        value
        for name, value in keras.saving.get_custom_objects().items()
        if name.startswith("tfxformer>")
    }
    assert registered == {*LAYERS, *NO_LAYERS}


def test_all_weights_exist_before_the_first_call():
    model = tiny()
    number = len(model.weights)
    model((SOURCE, TARGET))
    assert len(model.weights) == number
    paths = [variable.path for variable in model.weights]
    assert len(set(paths)) == len(paths)


LOADER = """
import json, sys
import keras
import numpy as np
import tfxformer
from tfxformer import TokenCrossEntropy, Transformer, WarmupSchedule

folder = sys.argv[1]
inputs = np.load(f"{folder}/source.npy"), np.load(f"{folder}/target.npy")
model = keras.saving.load_model(f"{folder}/model.keras")
assert type(model) is Transformer
with open(f"{folder}/config.json") as config:
    fresh = Transformer.from_config(json.load(config))
fresh.load_weights(f"{folder}/model.weights.h5")
for name, loaded in ("model", model), ("weights", fresh):
    np.savez(f"{folder}/{name}.npz", *loaded.get_weights())
    np.save(f"{folder}/{name}.npy", loaded(inputs))
optimizer = model.optimizer
json.dump({
    "optimizer": type(optimizer).__name__,
    "beta_2": optimizer.beta_2,
    "epsilon": optimizer.epsilon,
    "iterations": int(optimizer.iterations),
    "schedule": optimizer.get_config()["learning_rate"]["config"],
    "rate": float(optimizer.learning_rate),
    "loss": type(model.loss).__name__,
    "label_smoothing": model.loss.label_smoothing,
}, sys.stdout)
"""


def test_a_new_process_loads_what_was_saved(tmp_path):
    model = tiny(normalize_first=True, tie_embeddings="decoder")
    schedule = tfxformer.WarmupSchedule(8, warmup_steps=5, factor=0.5)
    model.compile(
        keras.optimizers.Adam(schedule, beta_2=0.98, epsilon=1e-9),
        tfxformer.TokenCrossEntropy(0.1),
        run_eagerly=True,
    )
    model.fit((SOURCE, TARGET), LABELS, epochs=3, verbose=0)
    model.save(tmp_path / "model.keras")
    model.save_weights(tmp_path / "model.weights.h5")
    np.save(tmp_path / "source.npy", SOURCE)
    np.save(tmp_path / "target.npy", TARGET)
    (tmp_path / "config.json").write_text(json.dumps(model.get_config()))
    process = subprocess.run(
        [sys.executable, "-c", LOADER, str(tmp_path)],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert process.returncode == 0, process.stderr
    logits = np.array(model((SOURCE, TARGET)))
    for name in ("model", "weights"):
        np.testing.assert_array_equal(np.load(tmp_path / f"{name}.npy"), logits)
        with np.load(tmp_path / f"{name}.npz") as weights:
            for loaded, saved in zip(
                weights.values(), model.get_weights(), strict=True
            ):
                np.testing.assert_array_equal(loaded, saved)
    compiled = json.loads(process.stdout)
    rate = compiled.pop("rate")
    assert compiled == {
        "optimizer": "Adam",
        "beta_2": 0.98,
        "epsilon": 1e-9,
        "iterations": 3,
        "schedule": schedule.get_config(),
        "loss": "TokenCrossEntropy",
        "label_smoothing": 0.1,
    }
    # The rate of the fourth update: 0.5 8^-0.5 4 5^-1.5
    np.testing.assert_allclose(rate, 0.0632456, rtol=1e-5)


# Training


def test_the_model_in_a_functional_model():
    source = keras.Input((None,), dtype="int32")
    target = keras.Input((None,), dtype="int32")
    transformer = tiny()
    model = keras.Model([source, target], transformer((source, target)))
    assert model.output_shape == (None, None, 11)
    np.testing.assert_allclose(
        model([SOURCE, TARGET]), transformer((SOURCE, TARGET)), atol=1e-6
    )


@NORMS
def test_the_model_learns_to_reverse_digits(normalize_first):
    keras.utils.set_random_seed(1)
    random = np.random.default_rng(0)
    words = np.array([random.permutation(10)[:5] + 3 for _ in range(24)])
    end, start = np.full((24, 1), 2), np.full((24, 1), 1)
    source = np.concatenate([words, end], axis=1)
    labels = np.concatenate([words[:, ::-1], end], axis=1)
    target = np.concatenate([start, words[:, ::-1]], axis=1)
    data = tf.data.Dataset.from_tensor_slices(((source, target), labels))
    model = tfxformer.Transformer(
        13,
        num_layers=1,
        num_heads=2,
        hidden_dim=32,
        intermediate_dim=64,
        dropout=0.0,
        normalize_first=normalize_first,
    )
    schedule = tfxformer.WarmupSchedule(peak_rate=0.01, warmup_steps=20)
    model.compile(
        keras.optimizers.Adam(schedule, beta_2=0.98, epsilon=1e-9),
        tfxformer.TokenCrossEntropy(0.1),
        metrics=[tfxformer.TokenAccuracy(), tfxformer.Perplexity()],
        jit_compile=False,
    )
    history = model.fit(
        data.repeat(60).batch(24), epochs=2, shuffle=False, verbose=0
    ).history
    assert set(history) == {"loss", "accuracy", "perplexity"}
    assert history["loss"][1] < history["loss"][0]
    assert history["accuracy"][1] > history["accuracy"][0]
    assert 1 < history["perplexity"][1] < history["perplexity"][0]

    prefix = tf.zeros([24, 8], tf.int32)
    cache, encoder_cache = model.start_cache(source, prefix)
    token_ids, _ = tfxformer.greedy_search(
        lambda token_ids, cache, index: model.decode_step(
            token_ids, cache, index, encoder_cache
        ),
        cache,
        prefix,
        tf.fill([24], 8),
    )
    np.testing.assert_array_equal(token_ids, pad(labels, 2))
