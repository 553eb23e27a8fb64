"""Tests of the search over a model, and of the score that it is held to."""

import dataclasses
import functools

import numpy as np
import pytest
import reference
import tensorflow as tf

import tfxformer
from tfxformer import SearchOptions
from tfxformer.model_search import score, search

VOCABULARY, END, LENGTH = 24, 2, 7
SOURCE = np.random.default_rng(3).integers(4, VOCABULARY, (6, 5))
SOURCE[:, 4] = END
SOURCE[1::2, 3:] = [END, 0]
BEAM = SearchOptions(beam_size=3, n_best=3)
SAMPLES = SearchOptions(sampling=True, n_best=3)
ALTERNATIVES = SearchOptions(alternatives=True, n_best=3)
EVERY_WAY = pytest.mark.parametrize(
    "options",
    [SearchOptions(), BEAM, SAMPLES, ALTERNATIVES],
    ids=["greedy", "beam", "sampling", "alternatives"],
)


@pytest.fixture(scope="module")
def model():
    """An untrained model that repeats itself, and ends now and then."""
    model = tfxformer.Transformer(
        VOCABULARY,
        num_layers=1,
        num_heads=2,
        hidden_dim=8,
        intermediate_dim=12,
        dropout=0.0,
        normalize_first=True,
        tie_embeddings="none",
    )
    random = np.random.default_rng(8)
    for variable in model.trainable_variables:
        mean = 1.0 if variable.name == "gamma" else 0.0
        variable.assign(random.normal(mean, 0.7, size=variable.shape))
    # What is normalised has a large sum, which <pad> and <s> hate, as a
    # trained model would; to all other tokens it means nothing.
    model.decoder_normalization.beta.assign([3.0] * 8)
    kernel = model.output_projection.kernel.numpy()
    kernel -= kernel.mean(axis=0)
    kernel[:, :2] = -1
    kernel[:, END] += 0.12  # the sum of eight is 3: it is likely
    model.output_projection.kernel.assign(kernel)
    return model


@functools.cache
def graph(model, options, has_shortlist):
    """The search as a graph: several times faster than step by step."""
    ids = tf.TensorSpec((None, None), tf.int32)
    counts = tf.TensorSpec((None,), tf.int32)
    signature = [ids, ids, counts, counts, tf.TensorSpec((None,), tf.bool)]
    signature += [counts] * (1 + has_shortlist)
    return tf.function(
        lambda source, prefix, most, least, blocked, *rest: search(
            model, source, prefix, most, least, options, blocked, *rest
        ),
        input_signature=signature,
    )


def find(
    model,
    options=SearchOptions(),
    source=SOURCE,
    prefix=((),),
    least=0,
    most=LENGTH,
    seeds=None,
    blocked=None,
    shortlist=None,
):
    """Token ids, scores and log-probabilities as arrays."""
    size = len(source)
    start = np.zeros((size, LENGTH), np.int32)
    start[:, : len(prefix[0])] = prefix
    num_tokens = VOCABULARY if shortlist is None else len(shortlist)
    outputs = graph(model, options, shortlist is not None)(
        tf.constant(source, tf.int32),
        tf.constant(start),
        tf.constant(np.broadcast_to(most, size), tf.int32),
        tf.constant(np.broadcast_to(least, size), tf.int32),
        tf.constant(np.zeros(num_tokens, bool) if blocked is None else blocked),
        tf.constant(
            np.arange(size) * 7919 if seeds is None else seeds, tf.int32
        ),
        *([] if shortlist is None else [tf.constant(shortlist)]),
    )
    return [np.array(x) for x in outputs]


def tokens(token_ids):
    """The hypotheses of all sentences, as lists without padding."""
    return [
        [i for i in row if i] for rows in token_ids for row in rows.tolist()
    ]


def score_of(model, token_ids, source=SOURCE):
    """Teacher forcing: log-probabilities (B, K), attention (B, K, T, S)."""
    size, num_rows, _ = token_ids.shape
    log_probs, attention = score(
        model,
        tf.constant(np.repeat(source, num_rows, axis=0), tf.int32),
        tf.constant(token_ids.reshape(size * num_rows, -1)),
    )
    attention = np.array(attention).reshape(size, num_rows, LENGTH, -1)
    return np.sum(log_probs, axis=1).reshape(size, num_rows), attention


def test_the_model_is_worth_testing(model):
    greedy = tokens(find(model)[0])
    assert len({tuple(row) for row in greedy}) > 3
    assert {END in row for row in greedy} == {True, False}
    assert any(len(set(row)) < len(row) for row in greedy)


@EVERY_WAY
def test_shapes_and_padding(model, options):
    token_ids, scores, log_probs = find(model, options, most=[7, 6, 5, 1, 0, 7])
    num_rows = options.num_rows
    assert token_ids.shape == (6, num_rows, LENGTH)
    assert token_ids.dtype == np.int32
    assert scores.shape == log_probs.shape == (6, num_rows)
    for row in token_ids.reshape(-1, LENGTH):
        length = np.count_nonzero(row)
        assert not np.any(row[length:])  # padding is at the end only
        assert END not in row[: length - 1]
    assert not np.any(token_ids[4])


def test_beam_search_with_one_beam_is_greedy_search(model):
    prefix = tf.zeros((6, LENGTH), tf.int32)
    most = tf.fill([6], LENGTH)
    cache, encoder_cache = model.start_cache(SOURCE, prefix)
    beams = tfxformer.beam_search(
        lambda last, cache, index: model.decode_step(
            last, cache, index, encoder_cache
        ),
        model.reorder_cache,
        cache,
        prefix,
        most,
        1,
    )
    token_ids, _, log_probs = find(model)
    np.testing.assert_array_equal(beams[0], token_ids)
    np.testing.assert_allclose(beams[2], log_probs, atol=1e-4)


@EVERY_WAY
@pytest.mark.parametrize(
    "arguments",
    [
        {},
        {"prefix": ((7, 5),), "least": 4, "most": [7, 6, 5, 7, 6, 4]},
        {"blocked": np.isin(range(VOCABULARY), [3, 9, 14])},
    ],
    ids=["plain", "limits", "blocked"],
)
def test_what_is_found_scores_as_teacher_forcing_says(
    model, options, arguments
):
    if arguments:
        options = dataclasses.replace(
            options, no_repeat_ngram=2, repetition_penalty=1.5
        )
    token_ids, _, log_probs = find(model, options, **arguments)
    expected, _ = score_of(model, token_ids)
    np.testing.assert_allclose(log_probs, expected, atol=1e-4)


@pytest.mark.parametrize("form", ["gnmt", "power"])
@pytest.mark.parametrize("coverage_penalty", [0.0, 2.0])
def test_beams_are_ranked_by_the_formula(model, form, coverage_penalty):
    options = dataclasses.replace(
        BEAM,
        length_penalty=0.8,
        length_penalty_form=form,
        coverage_penalty=coverage_penalty,
    )
    token_ids, scores, log_probs = find(model, options)
    expected, attention = score_of(model, token_ids)
    # The coverage penalty changes the choice, not the log-probability.
    np.testing.assert_allclose(log_probs, expected, atol=1e-4)
    lengths = np.count_nonzero(token_ids, axis=2)
    if form == "gnmt":
        expected = expected / ((5 + lengths) / 6) ** 0.8
    else:
        expected = expected / lengths**0.8
    # Attention of each of its tokens, summed over them.
    sums = (attention * (token_ids > 0)[..., None]).sum(axis=2)  # (B, K, S)
    covered = np.log(np.clip(sums, 1e-6, 1)) * (SOURCE > 0)[:, None]
    expected += coverage_penalty * covered.sum(axis=2)
    np.testing.assert_allclose(scores, expected, atol=1e-3)


def test_the_coverage_penalty_can_change_the_choice(model):
    options = dataclasses.replace(BEAM, coverage_penalty=5.0)
    assert tokens(find(model, options)[0]) != tokens(find(model, BEAM)[0])


@EVERY_WAY
def test_a_shortlist_of_everything_changes_nothing(model, options):
    everything = np.arange(VOCABULARY, dtype=np.int32)
    prefix = ((7, 5),)
    expected = find(model, options, prefix=prefix)
    found = find(model, options, prefix=prefix, shortlist=everything)
    np.testing.assert_array_equal(found[0], expected[0])
    np.testing.assert_allclose(found[1:], expected[1:], atol=1e-5)


@EVERY_WAY
def test_a_shortlist_gives_its_tokens_with_their_own_logits(model, options):
    shortlist = np.array([0, 1, 2, 3, 5, 6, 9, 14, 20, 21], np.int32)
    outside = ~np.isin(range(VOCABULARY), shortlist)
    positions, _, log_probs = find(
        model,
        options,
        prefix=((4,),),  # position 4: token 5
        shortlist=shortlist,
    )
    assert positions.max() < len(shortlist)
    token_ids = shortlist[positions]
    assert np.all(token_ids[:, :, 0] == 5)
    if not options.sampling and options.beam_size == 1:
        # Of the same logits the same one is the highest.
        blocked, _, _ = find(model, options, prefix=((5,),), blocked=outside)
        np.testing.assert_array_equal(token_ids, blocked)
    # The probabilities are those of a softmax over the shortlist.
    size, num_rows, _ = token_ids.shape
    flat = token_ids.reshape(-1, LENGTH)
    start = np.ones((len(flat), 1), int)
    logits = model(
        (
            np.repeat(SOURCE, num_rows, axis=0),
            np.concatenate([start, flat[:, :-1]], axis=1),
        )
    )
    over_shortlist = reference.log_softmax(np.array(logits)[:, :, shortlist])
    chosen = np.take_along_axis(
        over_shortlist, positions.reshape(len(flat), -1, 1), axis=2
    )
    expected = np.where(flat > 0, chosen[..., 0], 0).sum(axis=1)
    np.testing.assert_allclose(
        log_probs, expected.reshape(size, num_rows), atol=1e-4
    )


@EVERY_WAY
def test_blocked_tokens_never_occur(model, options):
    before, _, _ = find(model, options)
    common = np.argsort(np.bincount(before.ravel(), minlength=VOCABULARY))
    worst = [i for i in common[::-1] if i not in (0, END)][:8]
    blocked = np.isin(range(VOCABULARY), worst)
    token_ids, _, _ = find(model, options, blocked=blocked)
    assert np.isin(before, worst).any()
    assert not np.isin(token_ids, worst).any()


def ngrams(row, size):
    return [tuple(row[i : i + size]) for i in range(len(row) - size + 1)]


class Silly:
    """A model that always wants <pad>, then <s>, then 7, 8, 9, 10."""

    def start_cache(self, encoder_token_ids, prefix, num_rows, shortlist):
        return (), (encoder_token_ids != 0,)

    def reorder_cache(self, cache, parents):
        return cache

    def decode_step(self, token_ids, cache, *rest, **more):
        logits = tf.constant([[9.0, 8.0] + [-9.0] * 5 + [4.0, 3.0, 2.0, 1.0]])
        return tf.repeat(logits, tf.shape(token_ids)[0], axis=0), cache


@EVERY_WAY
def test_padding_and_start_are_never_chosen(options):
    limits = tf.constant([5, 3])
    token_ids, _, log_probs = search(
        Silly(),
        tf.constant([[5, 2], [6, 2]]),
        tf.zeros((2, 5), tf.int32),
        limits,
        limits * 0,
        options,
        seeds=tf.constant([1, 2]),
    )
    for rows, limit in zip(token_ids.numpy(), limits, strict=True):
        assert (rows[:, :limit] >= 2).all()
        assert (rows[:, limit:] == 0).all()
    # As the model gives it: each step costs more than the 5 to <pad>.
    assert (log_probs.numpy() < -5 * limits.numpy()[:, None]).all()


@EVERY_WAY
def test_no_ngram_occurs_twice(model, options):
    size = 2

    def repetitions(options):
        token_ids, _, _ = find(model, options, prefix=((7, 5),), least=LENGTH)
        rows = [ngrams(row, size) for row in tokens(token_ids)]
        return sum(len(row) - len(set(row)) for row in rows)

    assert repetitions(options) > 0
    assert repetitions(dataclasses.replace(options, no_repeat_ngram=size)) == 0


@EVERY_WAY
def test_lengths_stay_within_their_limits(model, options):
    least, most = [1, 7, 4, 5, 7, 5], [7, 7, 4, 6, 7, 5]
    free = np.count_nonzero(find(model, options)[0], axis=2)
    token_ids, _, _ = find(model, options, least=least, most=most)
    for row, lengths in enumerate(np.count_nonzero(token_ids, axis=2)):
        assert np.all(lengths >= least[row]) and np.all(lengths <= most[row])
    assert np.any(free < np.array(least)[:, None])
    assert np.any(free > np.array(most)[:, None])


@EVERY_WAY
def test_a_prefix_is_kept_whatever_else_is_asked(model, options):
    prefix = np.tile([9, 9, 9, 3], (6, 1))
    prefix[::2, 2:] = 0
    options = dataclasses.replace(options, no_repeat_ngram=1)
    blocked = np.isin(range(VOCABULARY), [9])
    token_ids, _, _ = find(model, options, prefix=prefix, blocked=blocked)
    assert np.all(token_ids[::2, :, :2] == 9)
    assert np.all(token_ids[1::2, :, :4] == [9, 9, 9, 3])
    assert not np.any(token_ids[::2, :, 2:] == 9)


@EVERY_WAY
def test_a_sentence_does_not_depend_on_its_batch(model, options):
    most = [7, 6, 5, 4, 3, 7]
    together = find(model, options, most=most)
    for row in (1, 4, 5):
        real = SOURCE[row : row + 1, : np.count_nonzero(SOURCE[row])]
        alone = find(
            model,
            options,
            source=real,
            most=most[row],
            seeds=[row * 7919],
        )
        np.testing.assert_array_equal(alone[0][0], together[0][row])
        for ours, theirs in zip(alone[1:], together[1:], strict=True):
            np.testing.assert_allclose(ours[0], theirs[row], atol=1e-4)


def test_equal_seeds_give_equal_samples(model):
    first, again = find(model, SAMPLES)[0], find(model, SAMPLES)[0]
    np.testing.assert_array_equal(first, again)
    other, _, _ = find(model, SAMPLES, seeds=range(1000, 1006))
    assert np.any(first != other)
    assert any(len({tuple(x) for x in rows.tolist()}) == 3 for rows in first)


@pytest.mark.parametrize(
    "values", [{"temperature": 1e-4}, {"top_k": 1}, {"top_p": 1e-4}], ids=str
)
def test_cold_sampling_is_greedy_search(model, values):
    expected, _, _ = find(model)
    token_ids, _, _ = find(model, dataclasses.replace(SAMPLES, **values))
    np.testing.assert_array_equal(token_ids, np.repeat(expected, 3, axis=1))


def test_alternatives_are_the_best_tokens_after_the_prefix(model):
    prefix = np.tile([7, 5], (6, 1))
    prefix[::2, 1] = 0
    token_ids, _, _ = find(model, ALTERNATIVES, prefix=prefix)
    for row in range(6):
        place = 1 + row % 2
        real = SOURCE[row : row + 1]
        start = np.array([[1, *prefix[row, :place]]])
        best = np.argsort(-np.array(model((real, start)))[0, -1])[:3]
        assert token_ids[row, :, place].tolist() == best.tolist()
        # Each one is continued as greedy search would.
        for rank, token in enumerate(best):
            if token != END:
                longer = [[*prefix[row, :place], token]]
                greedy, _, _ = find(model, source=real, prefix=longer)
                np.testing.assert_array_equal(
                    greedy[0, 0], token_ids[row, rank]
                )


def test_the_score_of_padding_is_zero(model):
    target = np.array([[5, 6, END, 0, 0], [7, END, 0, 0, 0]])
    log_probs, attention = score(model, SOURCE[:2], tf.constant(target))
    assert log_probs.shape == (2, 5)
    assert attention.shape == (2, 5, 5)
    np.testing.assert_array_equal(np.array(log_probs) == 0, target == 0)
    np.testing.assert_allclose(np.sum(attention, axis=2), 1, atol=1e-5)
    assert not np.any(np.array(attention)[1, :, SOURCE[1] == 0])
    shorter, _ = score(model, SOURCE[:1], tf.constant(target[:1, :3]))
    np.testing.assert_allclose(shorter[0], log_probs[0, :3], atol=1e-5)


def test_the_same_step_by_step_and_under_xla(model):
    expected = find(model, BEAM)
    arguments = [
        tf.constant(SOURCE, tf.int32),
        tf.zeros((6, LENGTH), tf.int32),
        tf.fill([6], LENGTH),
        tf.zeros((6,), tf.int32),
    ]
    for found in (
        search(model, *arguments, BEAM),
        tf.function(
            lambda *inputs: search(model, *inputs, BEAM), jit_compile=True
        )(*arguments),
    ):
        np.testing.assert_array_equal(found[0], expected[0])
        np.testing.assert_allclose(found[2], expected[2], atol=1e-4)
