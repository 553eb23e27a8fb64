"""Tests of beam search, against exhaustive search and a plain-Python one.

The toy model's state is a number that depends on all tokens before; it is the
row of a table of random logits, and of one of attention. Ids: `<pad>` 0, `<s>`
1, `</s>` 2, and the words 3, 4 and 5.
"""

import functools

import numpy as np
import pytest
import tensorflow as tf
from ai_edge_litert.interpreter import Interpreter

from tests import reference
from tfxformer.decoding import (
    beam_search,
    block_tokens,
    forbid_end,
    greedy_search,
    penalize_repetition,
)
from tfxformer.decoding.beam import coverage_bonus, length_normalizer

STATES, WORDS, S = 499, (3, 4, 5), 4
random = np.random.default_rng(0)
LOGITS = random.normal(0, 1.5, (STATES, 6)).astype("float32") + 7
LOGITS[:, :2] = -900  # neither <pad> nor <s>
ATTENTION = reference.softmax(random.normal(0, 2, (STATES, S)))
ATTENTION = ATTENTION.astype("float32")
MASK = random.random((STATES, S)) < 0.8  # of each sentence
LEAST = random.integers(0, 5, STATES).astype("int32")
SENTENCES = np.arange(12, dtype="int32") * 7
LIMITS = np.array([8, 3, 0, 5, 1, 8, 8, 2, 7, 6, 4, 8], "int32")


def next_state(state, token, index):
    return (state * 5 + token * 3 + index) % STATES


def next_logits(token_ids, cache, index, with_attention=False):
    state = next_state(cache["state"], token_ids, index)
    here = tf.expand_dims(tf.range(tf.shape(cache["fed"])[1]) == index, 0)
    fed = tf.where(here, tf.expand_dims(token_ids, 1), cache["fed"])
    result = tf.gather(tf.constant(LOGITS), state), {"state": state, "fed": fed}
    if with_attention:
        result += (tf.gather(tf.constant(ATTENTION), state),)
    return result


def reorder_cache(cache, parents):
    rows = tf.expand_dims(tf.range(tf.shape(parents)[0]), 1)
    rows = tf.reshape(rows * parents.shape[1] + parents, (-1,))
    return {name: tf.gather(x, rows) for name, x in cache.items()}


def start_cache(sentences, prefix, beam_size):
    zeros = tf.zeros([1, beam_size], "int32")
    fed = tf.expand_dims(prefix * 0, 1) + tf.expand_dims(zeros, 2)
    return {
        "state": tf.reshape(tf.expand_dims(sentences, 1) + zeros, (-1,)),
        "fed": tf.reshape(fed, (-1, tf.shape(prefix)[1])),
    }


def search(
    beam_size, sentences=SENTENCES, limits=LIMITS, prefix=8, **arguments
):
    """Beam search over the toy model; prefix may be L alone."""
    if isinstance(prefix, int):
        prefix = np.zeros([len(sentences), prefix], "int32")
    prefix = tf.constant(prefix)
    if "coverage_penalty" in arguments:
        arguments["source_mask"] = tf.constant(MASK[sentences])
    arguments.setdefault("n_best", beam_size)
    step = functools.partial(
        next_logits, with_attention="coverage_penalty" in arguments
    )
    result = beam_search(
        arguments.pop("step", step),
        reorder_cache,
        start_cache(tf.constant(sentences), prefix, beam_size),
        prefix,
        tf.constant(limits),
        beam_size,
        **arguments,
    )
    return [x.numpy() for x in result]


def states_of(sentence, tokens):
    """The states in which the model said each token, and the next one."""
    states, state = [], int(sentence)
    for index, token in enumerate((1, *tokens)):
        state = next_state(state, token, index)
        states.append(state)
    return states


def log_probability(sentence, tokens):
    log_probs = reference.log_softmax(LOGITS[states_of(sentence, tokens)[:-1]])
    return sum(log_probs[range(len(tokens)), list(tokens)])


def scorer(sentence, alpha=0.6, form="gnmt", beta=0.0):
    """`(tokens, total) -> score`, by the formulas of the paper."""

    def score(tokens, total):
        base = (5 + len(tokens)) / 6 if form == "gnmt" else len(tokens)
        attention = ATTENTION[states_of(sentence, tokens)[:-1]].sum(axis=0)
        covered = np.log(np.minimum(attention, 1))[MASK[sentence]].sum()
        return total / base**alpha + beta * covered

    return score


def padded(tokens, length):
    return [*tokens, *[0] * (length - len(tokens))]


def assert_found(result, b, expected):
    """Row b of the result is this list of hypotheses, and no other."""
    token_ids, scores, log_probs = (x[b] for x in result)
    assert (scores[len(expected) :] == -1e9).all()
    for k, (tokens, score, log_prob) in enumerate(expected):
        assert token_ids[k].tolist() == padded(tokens, token_ids.shape[1])
        np.testing.assert_allclose(scores[k], score, rtol=1e-4, atol=1e-5)
        np.testing.assert_allclose(log_probs[k], log_prob, rtol=1e-4)


PENALTIES = [
    {"alpha": alpha, "form": form, "beta": beta}
    for alpha, form in [
        (0, "gnmt"), (0.6, "gnmt"), (1, "gnmt"), (2, "gnmt"),
        (0.6, "power"), (1, "power"), (2, "power"),
    ]
    for beta in (0.0, 0.3)
]  # fmt: skip


def named(alpha, form, beta):
    """The same as arguments of beam_search."""
    penalties = {"length_penalty": alpha, "length_penalty_form": form}
    return penalties | ({"coverage_penalty": beta} if beta else {})


@pytest.mark.parametrize("penalties", PENALTIES[::3], ids=str)
def test_a_wide_beam_finds_the_optimum(penalties):
    """81 that go on and 40 that ended are all there can be."""
    some = SENTENCES[:5]
    arguments = {"sentences": some, "limits": [4] * 5, **named(**penalties)}
    result = search(128, prefix=4, **arguments)
    first = search(128, prefix=4, n_best=1, **arguments)
    for b, sentence in enumerate(some):
        score = scorer(sentence, **penalties)
        found = []
        for tokens in reference.all_sequences(WORDS, 4):
            log_prob = log_probability(sentence, tokens)
            found.append((tokens, score(tokens, log_prob), log_prob))
        found.sort(key=lambda one: -one[1])
        assert_found([x[:, :40] for x in result], b, found)
        assert_found([x[:, :1] for x in first], b, found[:1])


def rules(least):
    """Word 4 is blocked, repetition dear, and each row has a least length."""

    def adjust(logits, token_ids, index):
        beam_size = tf.shape(logits)[0] // tf.shape(least)[0]
        logits = penalize_repetition(logits, token_ids, index, 1.5)
        logits = block_tokens(logits, tf.range(6) == 4)
        rows = tf.expand_dims(least, 1) + tf.zeros([1, beam_size], "int32")
        return forbid_end(logits, index, tf.reshape(rows, (-1,)))

    return adjust


RULES = rules(LEAST[SENTENCES])


def ruled(sentence, tokens, logits):
    """The same for one row, in NumPy."""
    allowed = logits.copy()
    for token in set(tokens):
        up = logits[token] > 0
        allowed[token] = logits[token] / 1.5 if up else logits[token] * 1.5
    allowed[4] = -1e9
    if len(tokens) + 1 < LEAST[sentence]:
        allowed[2] = -1e9
    return allowed


def expected(
    b, beam_size, length=8, has_rules=False, forced=(), patience=1.0, **scoring
):
    """What the plain search finds for a sentence."""
    sentence = SENTENCES[b]

    def logits_of(tokens):
        logits = LOGITS[states_of(sentence, tokens)[-1]].astype("float64")
        allowed = ruled(sentence, tokens, logits) if has_rules else logits
        return logits, allowed

    return reference.beam_search(
        logits_of,
        min(LIMITS[b], length),
        beam_size,
        scorer(sentence, **scoring),
        forced,
        patience,
    )


# Longest first; 4 is blocked by the rules.
FORCED = [(4, 3, 5), (4, 4), (3,), ()] * 3
PREFIX = np.array([padded(ids, 8) for ids in FORCED], "int32")


@pytest.mark.parametrize(
    "beam_size, penalties",
    [(1, 2), (2, 3), (3, 13), (5, 6), (8, 11)],
)
@pytest.mark.parametrize("is_forced", [False, True])
@pytest.mark.parametrize("has_rules", [False, True])
def test_against_a_plain_search(beam_size, is_forced, has_rules, penalties):
    penalties = PENALTIES[penalties]
    arguments = named(**penalties)
    if is_forced:
        arguments["prefix"] = PREFIX
    if has_rules:
        arguments["adjust"] = RULES
    result = search(beam_size, **arguments)
    best = search(beam_size, n_best=1, **arguments)
    for b in range(12):
        forced = FORCED[b] if is_forced else ()
        found = expected(
            b, beam_size, has_rules=has_rules, forced=forced, **penalties
        )
        assert_found(result, b, found)
        assert_found([x[:, :1] for x in best], b, found[:1])


@pytest.mark.parametrize("patience", [0.01, 0.2, 0.5, 0.51, 1.0])
def test_patience_ends_a_sentence_early(patience):
    result = search(5, patience=tf.constant(patience))
    for b in range(12):
        assert_found(result, b, expected(b, 5, patience=patience))


@pytest.mark.parametrize("adjust", [None, rules(LEAST[:60])])
def test_one_beam_is_greedy_search(adjust):
    sentences = np.arange(60, dtype="int32")
    limits = sentences % 9
    prefix = np.tile(PREFIX, [5, 1])
    token_ids, scores = greedy_search(
        next_logits,
        start_cache(sentences, prefix, 1),
        tf.constant(prefix),
        tf.constant(limits),
        adjust=adjust,
    )
    for alpha in (0, 1):
        beam = search(
            1, sentences, limits, prefix, length_penalty=alpha, adjust=adjust
        )
        np.testing.assert_array_equal(beam[0][:, 0], token_ids)
        np.testing.assert_allclose(beam[2][:, 0], scores, rtol=1e-5)


def assert_same(actual, wanted):
    np.testing.assert_array_equal(actual[0], wanted[0])
    np.testing.assert_allclose(actual[1], wanted[1], rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(actual[2], wanted[2], rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize(
    "beam_size, sizes", [(3, (1, 2, 7)), (4, (4,)), (5, (1,)), (2, (3,))]
)
@pytest.mark.parametrize("n_best", [1, 2])
def test_a_sentence_does_not_depend_on_its_batch(beam_size, sizes, n_best):
    every = search(beam_size, coverage_penalty=0.2, n_best=n_best)
    for size in sizes:
        order = np.random.default_rng(size).permutation(12)
        for some in np.split(order, range(size, 12, size)):
            part = search(
                beam_size,
                SENTENCES[some],
                LIMITS[some],
                coverage_penalty=0.2,
                n_best=n_best,
            )
            assert_same(part, [x[some] for x in every])


@pytest.mark.parametrize("n_best", [1, 3])
def test_a_cut_changes_nothing_that_is_finished(n_best):
    limits = LIMITS + 3
    full = search(3, limits=limits, prefix=12, n_best=n_best)
    counts = []
    scores = {}  # of finished hypotheses, whenever they are looked at
    for length in range(1, 12):
        cut = search(3, limits=limits, prefix=length, n_best=n_best)
        assert cut[0].shape == (12, 3, length)
        whole = np.isin(cut[0][:, :, -1], [0, 2]).all(axis=1)
        whole |= limits <= length
        counts.append(whole.sum())
        longer = np.pad(cut[0], [(0, 0), (0, 0), (0, 12 - length)])
        assert_same(
            [x[whole] for x in (longer, *cut[1:])], [x[whole] for x in full]
        )
        for b, k in np.argwhere((cut[0] == 2).any(axis=2)):
            key = (b, *cut[0][b, k][cut[0][b, k] > 0])
            score = scores.setdefault(key, cut[1][b, k])
            np.testing.assert_allclose(cut[1][b, k], score, rtol=1e-6)
    assert counts[0] < counts[3] < counts[-1]


def test_only_padding_follows_the_end_and_the_limit():
    token_ids, _, _ = search(3)
    ended = np.cumsum(token_ids == 2, axis=2) > 0
    after = np.pad(ended, [(0, 0), (0, 0), (1, 0)])[:, :, :-1]
    after |= np.arange(8) >= LIMITS[:, None, None]
    assert after.any() and not after.all()
    np.testing.assert_array_equal(token_ids == 0, after)


def test_a_limit_of_nothing():
    token_ids, scores, log_probs = search(3, SENTENCES[:2], [0, 0])
    assert not token_ids.any()
    assert scores.tolist() == [[0, -1e9, -1e9]] * 2
    assert log_probs[:, 0].tolist() == [0, 0]


def test_missing_hypotheses_have_a_score_of_their_own():
    """Two words and the end, in two tokens: 3, 43, 44, 2, 32, 33, 34 less."""
    blocked = np.array([True, True, False, False, False, True])
    result = search(
        9,
        SENTENCES[:1],
        [2],
        length_penalty=2.0,
        length_penalty_form="power",
        adjust=lambda logits, token_ids, index: block_tokens(logits, blocked),
    )
    found = {tuple(ids) for ids in result[0][0, :7, :2].tolist()}
    assert found == {
        (2, 0), (3, 2), (4, 2), (3, 3), (3, 4), (4, 3), (4, 4)
    }  # fmt: skip
    assert (result[1][0, :7] > -100).all()
    assert result[1][0, 7:].tolist() == [-1e9, -1e9]


def test_a_prefix_is_forced_though_it_is_blocked():
    token_ids, scores, _ = search(3, prefix=PREFIX, adjust=RULES)
    for b in range(12):
        forced = FORCED[b][: LIMITS[b]]
        exist = token_ids[b][scores[b] > -1e9]
        assert (exist[:, : len(forced)] == forced).all()
        assert 4 not in exist[:, len(forced) :]
        assert len({tuple(row) for row in exist.tolist()}) == len(exist)


def test_the_least_length():
    token_ids, scores, _ = search(3, adjust=RULES)
    lengths = (token_ids > 0).sum(axis=2)
    least = np.minimum(LEAST[SENTENCES], LIMITS)[:, None]
    assert (lengths >= least)[scores > -99].all()
    assert ((search(3)[0] > 0).sum(axis=2) < least).any()


@pytest.mark.parametrize("alpha", [0.0, 0.6, 1.0, 2.0])
def test_a_score_is_the_normalized_log_probability(alpha):
    """As the model gives it, though a rule blocks what was most probable."""
    token_ids, scores, log_probs = search(
        3,
        length_penalty=tf.constant(alpha),
        adjust=lambda logits, token_ids, index: block_tokens(
            logits, tf.range(6) == 3
        ),
    )
    for b, k in np.argwhere(scores > -1e8):
        tokens = token_ids[b, k][token_ids[b, k] > 0].tolist()
        log_prob = log_probability(SENTENCES[b], tokens) if tokens else 0
        np.testing.assert_allclose(log_probs[b, k], log_prob, rtol=1e-5)
        score = log_prob / ((5 + len(tokens)) / 6) ** alpha
        np.testing.assert_allclose(scores[b, k], score, rtol=1e-5)


def test_the_cache_follows_the_hypotheses():
    """What was fed is `<s>` and then what was chosen."""
    fed = []

    def step(token_ids, cache, index):
        logits, cache = next_logits(token_ids, cache, index)
        fed.append(cache["fed"].numpy())
        return logits, cache

    def look(logits, token_ids, index):
        chosen = np.pad(token_ids, [(0, 0), (1, 0)], constant_values=1)
        np.testing.assert_array_equal(fed[-1], chosen[:, :-1])
        return logits

    search(4, step=step, adjust=look)
    assert len(fed) == 8


# --- By hand ---


def by_table(eighths, beam_size, limit, length=None, scale=1, **arguments):
    """One sentence; the row of the last token holds the next one's eighths."""
    table = np.zeros([6, 6]) + 1e-30
    for token, row in eighths.items():
        table[token, 2 : 2 + len(row)] += np.array(row) / 8
    logits = tf.constant(np.log(table) * scale, "float32")
    steps = []

    def step(token_ids, cache, index):
        steps.append(int(index))
        return tf.gather(logits, token_ids), ()

    result = beam_search(
        step,
        lambda cache, parents: cache,
        (),
        tf.zeros([1, length or limit], "int32"),
        tf.constant([limit]),
        beam_size,
        **arguments,
    )
    assert steps == list(range(len(steps)))
    return *(x.numpy()[0].tolist() for x in result), len(steps)


# </s> or 3, and so on; then surely </s>.
ENDS_OR_NOT = {1: [5, 3], 3: [5, 3]}


@pytest.mark.parametrize(
    "limit, length, alpha, n_best, steps",
    [
        # 3 has 3/8, and cannot get better.
        (8, 8, 0.0, 1, 1),
        # At best log(3/8) * 6/7 = -0.84, against log(5/8) = -0.47.
        (2, 2, 1.0, 1, 1),
        # At best log(3/8) * 6/13 = -0.453: it goes on. Then 3 </s> is
        # log(15/64) * 6/7 and 3 3 is log(9/64) * 6/7.
        (8, 8, 1.0, 1, 2),
        (8, 2, 1.0, 1, 2),
        # The cut is not the limit.
        (7, 2, 1.0, 1, 1),
        # All of the beam are wanted.
        (8, 8, 0.0, 2, 2),
        (8, 8, 1.0, tf.constant(2), 2),
    ],
)
def test_it_stops_when_nothing_can_win(limit, length, alpha, n_best, steps):
    token_ids, _, _, taken = by_table(
        ENDS_OR_NOT, 2, limit, length, length_penalty=alpha, n_best=n_best
    )
    assert taken == steps
    assert token_ids[0] == padded([2], length)


def test_two_hypotheses_by_hand():
    token_ids, scores, log_probs, _ = by_table(
        ENDS_OR_NOT, 2, 4, length_penalty=1.0, n_best=2
    )
    assert token_ids == [[2, 0, 0, 0], [3, 2, 0, 0]]
    expected = np.log([5 / 8, 15 / 64])
    np.testing.assert_allclose(log_probs, expected, rtol=1e-5)
    np.testing.assert_allclose(scores, expected * [1, 6 / 7], rtol=1e-5)


@pytest.mark.parametrize("n_best", [1, 2])
def test_a_draw_does_not_depend_on_how_many_are_wanted(n_best):
    """4 3 has a quarter, as 3 </s>, comes first and then loses nothing."""
    table = {1: [1, 2, 4, 1], 3: [8], 4: [2, 4, 0, 2]}
    token_ids, scores, _, _ = by_table(
        table, 2, 4, length_penalty=0.0, n_best=n_best
    )
    assert token_ids == [[4, 3, 2, 0], [3, 2, 0, 0]]
    assert scores[0] == scores[1]


def test_those_without_an_end_are_last():
    """However much better they are."""
    table = {1: [1e-20, 8], 3: [0, 0, 8], 4: [0, 0, 8]}
    token_ids, scores, _, _ = by_table(table, 2, 4, n_best=2, scale=300)
    assert token_ids == [[2, 0, 0, 0], [3, 4, 4, 4]]
    assert scores[0] < -1e4 and scores[1] == 0


def test_special_ids_can_be_chosen():
    def step(token_ids, cache, index):
        return 9.0 * tf.one_hot(token_ids + 1, 6), cache

    token_ids, _, _ = beam_search(
        step,
        lambda cache, parents: cache,
        (),
        tf.fill([1, 5], 5),
        tf.constant([5]),
        2,
        start_token_id=2,
        end_token_id=4,
        pad_token_id=5,
    )
    assert token_ids[0, 0].numpy().tolist() == [3, 4, 5, 5, 5]


def test_length_normalizer_by_hand():
    lengths = tf.constant([[1, 7, 13]])
    for alpha, form, wanted in [
        (0, "gnmt", [1, 1, 1]),
        (1.0, "gnmt", [1, 2, 3]),
        (2.0, "gnmt", [1, 4, 9]),
        (0.5, "gnmt", [1, 1.41421356, 1.73205081]),
        (0.0, "power", [1, 1, 1]),
        (1, "power", [1, 7, 13]),
        (tf.constant(2.0), "power", [1, 49, 169]),
    ]:
        actual = length_normalizer(lengths, alpha, form)
        assert actual.shape == (1, 3)
        np.testing.assert_allclose(actual, [wanted], rtol=1e-5)


def test_coverage_bonus_by_hand():
    coverage = [
        [[1.0, 0.5, 0.25], [3.0, 1.0, 1.0]],
        [[0.0, 0.5, 9.0], [0.1, 0.1, 0.1]],
    ]
    mask = [[True, True, True], [False, True, False]]
    actual = coverage_bonus(tf.constant(coverage), tf.constant(mask), 2.0)
    wanted = 2 * np.log([[0.125, 1], [0.5, 0.1]])
    np.testing.assert_allclose(actual, wanted, rtol=1e-5)
    # Finite where there was no attention at all.
    nothing = coverage_bonus(tf.zeros([1, 1, 1]), tf.constant([[True]]), 1.0)
    assert -20 < float(nothing[0, 0]) < -10


# --- Inside of graphs ---

IDS = tf.TensorSpec([None], "int32")
TABLE = tf.TensorSpec([None, None], "int32")


@tf.function(input_signature=[IDS, IDS, TABLE, IDS, TABLE])
def in_graph(sentences, limits, prefix, least, mask):
    """Three beams with all there is."""
    return beam_search(
        functools.partial(next_logits, with_attention=True),
        reorder_cache,
        start_cache(sentences, prefix, 3),
        prefix,
        limits,
        3,
        coverage_penalty=tf.constant(0.3),
        source_mask=mask > 0,
        n_best=tf.constant(1),
        patience=tf.constant(0.9),
        adjust=rules(least),
    )


def in_tflite(*arguments):
    interpreter = Interpreter(model_content=converted())
    inputs = interpreter.get_input_details()
    for given, argument in zip(inputs, arguments, strict=True):
        interpreter.resize_tensor_input(given["index"], argument.shape)
    interpreter.allocate_tensors()
    for given, argument in zip(inputs, arguments, strict=True):
        interpreter.set_tensor(given["index"], argument)
    interpreter.invoke()
    outputs = interpreter.get_output_details()
    found = [interpreter.get_tensor(output["index"]) for output in outputs]
    # In the order of the graph's outputs, not always of the function's.
    return sorted(found, key=lambda x: (-x.ndim, -x.max() == 0))


@functools.cache
def converted():
    function = in_graph.get_concrete_function()
    converter = tf.lite.TFLiteConverter.from_concrete_functions([function])
    converter.target_spec.supported_ops = [tf.lite.OpsSet.TFLITE_BUILTINS]
    return converter.convert()


@pytest.mark.parametrize("run", [in_graph, in_tflite])
@pytest.mark.parametrize("size, length", [(12, 8), (5, 11), (1, 3)])
def test_graphs_of_unknown_sizes_do_the_same(run, size, length):
    sentences, limits = SENTENCES[:size], LIMITS[:size]
    prefix = np.zeros([size, length], "int32")
    prefix[:, :3] = PREFIX[:size, :3]
    least = LEAST[sentences]
    expected = search(
        3,
        sentences,
        limits,
        prefix,
        coverage_penalty=0.3,
        n_best=1,
        patience=0.9,
        adjust=rules(least),
    )
    mask = MASK[sentences].astype("int32")
    assert_same(run(sentences, limits, prefix, least, mask), expected)


def test_a_vocabulary_of_unknown_size():
    """A shortlist of three, in a beam of four."""

    @tf.function(input_signature=[TABLE, IDS, IDS])
    def run(prefix, limits, shortlist):
        logits = tf.gather(tf.constant(LOGITS), shortlist, axis=1)

        def step(token_ids, cache, index):
            return tf.gather(logits, token_ids), cache

        return beam_search(
            step, lambda cache, _: cache, (), prefix, limits, 4, n_best=4
        )

    token_ids, scores, _ = run(np.zeros([2, 3], "int32"), [3, 3], [0, 1, 2])
    assert token_ids.shape == (2, 4, 3)
    assert (np.diff(scores) <= 0).all()
