"""Tests of the rules, by hand and against loops over rows and tokens.

Ids: `<pad>` 0, `<s>` 1, `</s>` 2, and words from 3.
"""

import numpy as np
import pytest
import tensorflow as tf
from ai_edge_litert.interpreter import Interpreter

from tests import reference
from tfxformer.decoding import rules as decoding_rules
from tfxformer.decoding.rules import BLOCKED


def blocked_ids(logits):
    """The ids that each row may not choose."""
    return [np.flatnonzero(row == BLOCKED).tolist() for row in logits.numpy()]


def ids_and_logits(rows=40, length=12, vocabulary_size=7, seed=0):
    """Rows over few tokens, so that they repeat themselves."""
    random = np.random.default_rng(seed)
    token_ids = random.integers(2, vocabulary_size, (rows, length))
    logits = random.normal(size=(rows, vocabulary_size))
    return token_ids.astype("int32"), logits.astype("float32")


def padded(token_ids, index):
    return np.where(np.arange(token_ids.shape[1]) < index, token_ids, 0)


# --- Blocking ---


def test_blocked_tokens_are_blocked_in_all_rows():
    result = decoding_rules.block_tokens(
        tf.constant([[1.0, -2.0, 3.0], [4.0, 5.0, -6.0]]),
        tf.constant([True, False, True]),
    )
    assert result.numpy().tolist() == [[-1e9, -2, -1e9], [-1e9, 5, -1e9]]


@pytest.mark.parametrize(
    "index, expected",
    [
        # Rows want at least 0, 1, 2 and 4 tokens; index + 1 with the end.
        (0, [[], [], [2], [2]]),
        (1, [[], [], [], [2]]),
        (2, [[], [], [], [2]]),
        (3, [[], [], [], []]),
    ],
)
def test_the_end_is_blocked_until_the_least_length(index, expected):
    logits = tf.random.stateless_normal([4, 5], [1, 2])
    result = decoding_rules.forbid_end(
        logits, tf.constant(index), tf.constant([0, 1, 2, 4])
    )
    assert blocked_ids(result) == expected
    rest = result.numpy() != BLOCKED
    np.testing.assert_array_equal(result[rest], logits[rest])


def test_the_end_may_be_another_token():
    result = decoding_rules.forbid_end(
        tf.zeros([1, 5]), 0, tf.constant([2]), end_token_id=4
    )
    assert blocked_ids(result) == [[4]]


@pytest.mark.parametrize(
    "size, index, expected",
    [
        (1, 6, [[3, 4, 5], [3]]),
        # 4 was followed by 5 and by 3; 3 by 3.
        (2, 6, [[3, 5], [3]]),
        # 3 4 was followed by 5; 3 3 by 3.
        (3, 6, [[5], [3]]),
        (4, 6, [[], [3]]),
        (5, 6, [[], [3]]),
        # Six tokens hold one n-gram of six, which begins with five 3s.
        (6, 6, [[], [3]]),
        (7, 6, [[], []]),
        (3, 2, [[], []]),
        (2, 2, [[], [3]]),
        (2, 1, [[], []]),
        (1, 1, [[3], [3]]),
        (1, 0, [[], []]),
        (2, 0, [[], []]),
    ],
)
def test_repeated_ngrams_by_hand(size, index, expected):
    token_ids = padded(
        np.array([[3, 4, 5, 4, 3, 4, 0, 0], [3, 3, 3, 3, 3, 3, 0, 0]]), index
    )
    result = decoding_rules.forbid_repeated_ngrams(
        tf.zeros([2, 6]), tf.constant(token_ids, "int32"), index, size
    )
    assert blocked_ids(result) == expected


def test_an_end_is_never_a_repeated_ngram():
    token_ids = tf.constant([[3, 2, 3, 0]])
    for size in (1, 2):
        result = decoding_rules.forbid_repeated_ngrams(
            tf.zeros([1, 5]), token_ids, 3, size
        )
        assert 2 not in blocked_ids(result)[0]
        result = decoding_rules.forbid_repeated_ngrams(
            tf.zeros([1, 5]), token_ids, 3, size, end_token_id=3
        )
        assert blocked_ids(result) == [[2]]


@pytest.mark.parametrize("size", [1, 2, 3, 4])
@pytest.mark.parametrize("index", [0, 1, 2, 3, 7, 12])
def test_repeated_ngrams_against_a_loop(size, index):
    token_ids, logits = ids_and_logits()
    token_ids = padded(token_ids, index)
    result = decoding_rules.forbid_repeated_ngrams(
        tf.constant(logits), tf.constant(token_ids), index, size
    )
    for row, ids in enumerate(token_ids[:, :index].tolist()):
        ngrams = [ids[i : i + size] for i in range(index - size + 1)]
        for token in range(7):
            completed = [*ids, token][-size:]
            repeats = token != 2 and completed in ngrams
            expected = BLOCKED if repeats else logits[row, token]
            assert result[row, token] == np.float32(expected)


# --- The penalty ---


def test_a_penalty_by_hand():
    result = decoding_rules.penalize_repetition(
        tf.constant([[1.0, 1.0, -2.0, 3.0, -4.0, 0.0]] * 3),
        tf.constant([[3, 4, 5, 0], [3, 3, 3, 0], [2, 1, 5, 0]]),
        tf.constant(3),
        penalty=2.0,
    )
    # Once, however often a token is there. Padding counts for nothing.
    assert result.numpy().tolist() == [
        [1, 1, -2, 1.5, -8, 0],
        [1, 1, -2, 1.5, -4, 0],
        [1, 0.5, -4, 3, -4, 0],
    ]


@pytest.mark.parametrize("index", [0, 1, 5, 12])
def test_a_penalty_against_a_loop(index):
    token_ids, logits = ids_and_logits()
    result = decoding_rules.penalize_repetition(
        tf.constant(logits),
        tf.constant(padded(token_ids, index)),
        index,
        tf.constant(1.3),
    )
    for row, token in np.ndindex(logits.shape):
        expected = logits[row, token]
        if token in token_ids[row, :index]:
            expected = expected / 1.3 if expected > 0 else expected * 1.3
        np.testing.assert_allclose(result[row, token], expected, rtol=1e-6)


# --- Sampling ---

# In order 2, 4, 1, 0, 3 with sums 8, 13, 16, 18, 19. The last is blocked.
PARTS = np.array([2, 3, 8, 1, 5, 0])


def logits_of(parts):
    """Logits with these probabilities, up to a constant; 0 is blocked."""
    with np.errstate(divide="ignore"):
        logits = np.log(np.array(parts, "float32")) + 7
    return np.where(np.isfinite(logits), logits, BLOCKED).astype("float32")


# Many rows are slow out of a graph, where they are drawn one by one.
sample_tokens = tf.function(decoding_rules.sample_tokens)


def frequencies(logits, draws=4000, **arguments):
    """How often each token is drawn, over as many rows with a seed each."""
    token_ids = sample_tokens(
        tf.tile(tf.expand_dims(logits, 0), [draws, 1]),
        tf.range(draws),
        tf.constant(3),
        **arguments,
    )
    assert (token_ids.dtype, token_ids.shape) == ("int32", (draws,))
    return np.bincount(token_ids, minlength=len(logits)) / draws


def assert_drawn_as(parts, logits, **arguments):
    parts = np.array(parts)
    actual = frequencies(logits, **arguments)
    # Four standard deviations, of 4,000 draws of a half.
    np.testing.assert_allclose(actual, parts / parts.sum(), atol=0.032)
    assert not actual[parts == 0].any()


def test_tokens_are_drawn_by_their_probability():
    assert_drawn_as(PARTS, logits_of(PARTS))


@pytest.mark.parametrize("temperature", [0.5, tf.constant(2.0), 1e9])
def test_the_temperature_divides_the_logits(temperature):
    weights = PARTS ** (1 / np.float64(temperature))
    weights[5] = 0  # also where the temperature makes -1e9 a -1
    assert_drawn_as(
        weights, logits_of(PARTS), temperature=tf.constant(temperature)
    )


@pytest.mark.parametrize(
    "top_k, expected",
    [
        (1, [0, 0, 8, 0, 0, 0]),
        (2, [0, 0, 8, 0, 5, 0]),
        (3, [0, 3, 8, 0, 5, 0]),
        (0, PARTS),
        (5, PARTS),
        (6, PARTS),  # a blocked token stays blocked
        (100, PARTS),
    ],
)
def test_top_k(top_k, expected):
    logits = logits_of(PARTS)
    assert_drawn_as(expected, logits, top_k=top_k)
    assert_drawn_as(expected, logits, top_k=tf.constant(top_k))


@pytest.mark.parametrize(
    "top_p, expected",
    [
        (1e-30, [0, 0, 8, 0, 0, 0]),
        (0.41, [0, 0, 8, 0, 0, 0]),  # 8 / 19 = 0.42
        (0.43, [0, 0, 8, 0, 5, 0]),
        (0.68, [0, 0, 8, 0, 5, 0]),  # 13 / 19 = 0.684
        (0.69, [0, 3, 8, 0, 5, 0]),
        (0.94, [2, 3, 8, 0, 5, 0]),  # 18 / 19 = 0.947
        (0.95, PARTS),
        (1.0, PARTS),
    ],
)
def test_top_p(top_p, expected):
    logits = logits_of(PARTS)
    assert_drawn_as(expected, logits, top_p=top_p)
    assert_drawn_as(expected, logits, top_p=tf.constant(top_p))


def test_the_nucleus_against_sets_of_probabilities():
    """No token outside of the smallest sufficient set, all of those inside."""
    _, logits = ids_and_logits(rows=8)
    drawn = sample_tokens(
        tf.repeat(logits, 400, axis=0), tf.range(8 * 400), 0, top_p=0.7
    )
    for row, token_ids in enumerate(drawn.numpy().reshape(8, 400)):
        probabilities = reference.softmax(logits[row].astype("float64"))
        nucleus, order = set(), np.argsort(-probabilities).tolist()
        while sum(probabilities[list(nucleus)]) < 0.7:
            nucleus.add(order[len(nucleus)])
        assert set(token_ids) == nucleus


def test_top_p_counts_after_top_k():
    # Of 8 and 5 alone, 8 is 0.62, no longer 0.42.
    logits = logits_of(PARTS)
    assert_drawn_as([0, 0, 8, 0, 0, 0], logits, top_k=2, top_p=0.6)
    assert_drawn_as([0, 0, 8, 0, 5, 0], logits, top_k=2, top_p=0.63)


def test_top_p_counts_after_the_temperature():
    # Squares: 64 and 25 of 103; roots: 8 + 5 + 3 are 0.65 of the whole.
    logits = logits_of(PARTS)
    assert_drawn_as([0, 0, 1, 0, 0, 0], logits, temperature=0.5, top_p=0.6)
    roots = np.sqrt([0, 3, 8, 0, 5, 0])
    assert_drawn_as(roots, logits, temperature=2.0, top_p=0.7)


@pytest.mark.parametrize(
    "arguments, expected",
    [
        ({"top_p": 0.25}, [0, 1, 0, 0, 0]),
        # Half the probability is two of the four, exactly.
        ({"top_p": 0.5}, [0, 1, 1, 0, 0]),
        ({"top_p": 0.51}, [0, 1, 1, 1, 0]),
        ({"top_p": 0.75}, [0, 1, 1, 1, 0]),
        ({"top_p": 1.0}, [0, 1, 1, 1, 1]),
        ({"top_k": 1}, [0, 1, 0, 0, 0]),
        ({"top_k": 3}, [0, 1, 1, 1, 0]),
    ],
)
def test_of_equals_the_lower_ids_are_kept(arguments, expected):
    logits = np.array([-5e8, 2, 2, 2, 2], "float32")
    assert_drawn_as(expected, logits, **arguments)


@pytest.mark.parametrize(
    "arguments", [{"top_k": 1}, {"top_p": 1e-9}, {"temperature": 1e-6}]
)
def test_strict_limits_leave_the_best_token(arguments):
    logits = tf.random.stateless_normal([200, 30], [1, 2])
    token_ids = sample_tokens(logits, tf.range(200), 0, **arguments)
    np.testing.assert_array_equal(token_ids, tf.argmax(logits, axis=1))


def test_a_row_of_blocked_tokens_gets_the_first():
    """There is no right token; an index out of range would be worse."""
    logits = tf.fill([3, 4], BLOCKED)
    drawn = decoding_rules.sample_tokens(logits, tf.range(3), 0, top_p=0.9)
    assert drawn.numpy().tolist() == [0, 0, 0]


def test_a_row_does_not_depend_on_its_batch():
    logits = tf.random.stateless_normal([60, 50], [1, 2])
    seeds = tf.random.stateless_uniform(
        [60], [3, 4], minval=None, maxval=None, dtype="int32"
    )
    arguments = {"index": 5, "temperature": 1.5, "top_k": 40, "top_p": 0.9}
    expected = decoding_rules.sample_tokens(logits, seeds, **arguments)
    for rows in ([7], [59, 0, 7], list(range(59, -1, -1)), [3, 3, 3]):
        actual = decoding_rules.sample_tokens(
            tf.gather(logits, rows), tf.gather(seeds, rows), **arguments
        )
        np.testing.assert_array_equal(actual, tf.gather(expected, rows))


def test_a_draw_depends_on_seed_and_index():
    logits = tf.zeros([1000, 4])
    same = tf.fill([1000], 9)
    assert len(set(sample_tokens(logits, same, 1).numpy())) == 1
    draws = [
        sample_tokens(logits, tf.range(1000) + first, index)
        for index, first in [(0, 0), (1, 0), (0, 1), (1, 1000)]
    ]
    # Independent draws of four equals agree in a quarter of the rows.
    for i, j in [(0, 1), (0, 2), (1, 2), (0, 3), (1, 3)]:
        agreement = np.mean(draws[i].numpy() == draws[j].numpy())
        assert abs(agreement - 1 / 4) < 0.06


def test_sequences_of_one_seed_are_independent():
    """The pairs of two successive tokens come up equally often."""
    first, second = (
        sample_tokens(tf.zeros([9000, 3]), tf.range(9000), index).numpy()
        for index in (0, 1)
    )
    pairs = np.bincount(3 * first + second) / 9000
    np.testing.assert_allclose(pairs, 1 / 9, atol=0.014)


# --- Inside of graphs ---

IDS, LOGITS = ids_and_logits(rows=6, length=9, vocabulary_size=8)
IDS = padded(IDS, 6)
IDS_AND_INDEX = (LOGITS, IDS, np.int32(6))
LEAST = np.array([0, 5, 6, 7, 8, 9], "int32")
RULES = {
    "block_tokens": (
        decoding_rules.block_tokens,
        (LOGITS, np.arange(8) % 3 == 0),
    ),
    "forbid_end": (decoding_rules.forbid_end, (LOGITS, np.int32(6), LEAST)),
    **{
        f"forbid_repeated_ngrams {size}": (
            lambda *arguments, size=size: decoding_rules.forbid_repeated_ngrams(
                *arguments, size=size
            ),
            IDS_AND_INDEX,
        )
        for size in (1, 2, 3)
    },
    "penalize_repetition": (
        decoding_rules.penalize_repetition,
        (*IDS_AND_INDEX, np.float32(1.2)),
    ),
}
# Index, temperature, top_k and top_p.
SETTINGS = np.int32(6), np.float32(1.5), np.int32(7), np.float32(0.9)
SAMPLING = {
    "sample_tokens": (
        decoding_rules.sample_tokens,
        (LOGITS, LEAST, np.int32(6)),
    ),
    "sample_tokens, all tensors": (
        decoding_rules.sample_tokens,
        (LOGITS, LEAST, *map(np.array, SETTINGS)),
    ),
}


def traced(rule, arguments, sized):
    """The graph of a rule for arguments of known sizes, or of any sizes."""
    specs = [
        tf.TensorSpec(a.shape if sized else [None] * a.ndim, a.dtype)
        for a in arguments
    ]
    return tf.function(rule).get_concrete_function(*specs)


@pytest.mark.parametrize("name", [*RULES, *SAMPLING])
def test_a_graph_of_unknown_shapes_does_the_same(name):
    rule, arguments = {**RULES, **SAMPLING}[name]
    arguments = [tf.constant(argument) for argument in arguments]
    expected = rule(*arguments)
    actual = traced(rule, [a.numpy() for a in arguments], False)(*arguments)
    assert actual.dtype == expected.dtype
    np.testing.assert_array_equal(actual, expected)


@pytest.mark.parametrize("sized", [True, False])
@pytest.mark.parametrize("name", RULES)
def test_tflite_has_the_operators(name, sized):
    rule, arguments = RULES[name]
    function = traced(rule, arguments, sized)
    converter = tf.lite.TFLiteConverter.from_concrete_functions([function])
    converter.target_spec.supported_ops = [tf.lite.OpsSet.TFLITE_BUILTINS]
    interpreter = Interpreter(model_content=converter.convert())
    inputs = interpreter.get_input_details()
    # They come in the order of the function's arguments.
    for given, argument in zip(inputs, arguments, strict=True):
        interpreter.resize_tensor_input(given["index"], argument.shape)
    interpreter.allocate_tensors()
    for given, argument in zip(inputs, arguments, strict=True):
        interpreter.set_tensor(given["index"], argument)
    interpreter.invoke()
    (output,) = interpreter.get_output_details()
    actual = interpreter.get_tensor(output["index"])
    expected = rule(*map(tf.constant, arguments))
    assert not np.array_equal(expected, LOGITS)  # there is something to do
    np.testing.assert_allclose(actual, expected, rtol=1e-6)


def test_a_loop_of_rules_keeps_them():
    """All rules in a `tf.while_loop`, as a search calls them."""

    @tf.function
    def write(seeds):
        def step(index, token_ids):
            logits = tf.zeros([tf.shape(seeds)[0], 8])
            logits = decoding_rules.penalize_repetition(
                logits, token_ids, index, 1.2
            )
            logits = decoding_rules.block_tokens(logits, tf.range(8) < 2)
            logits = decoding_rules.forbid_end(
                logits, index, tf.fill(tf.shape(seeds), 6)
            )
            logits = decoding_rules.forbid_repeated_ngrams(
                logits, token_ids, index, 1
            )
            chosen = decoding_rules.sample_tokens(logits, seeds, index)
            here = tf.expand_dims(tf.range(6) == index, 0)
            token_ids = tf.where(here, tf.expand_dims(chosen, 1), token_ids)
            return index + 1, token_ids

        token_ids = tf.zeros([tf.shape(seeds)[0], 6], "int32")
        return tf.while_loop(lambda i, _: i < 6, step, [0, token_ids])[1]

    written = write(tf.range(50)).numpy()
    # Five words that are all different, then the end, as nothing is left.
    assert np.array_equal(np.sort(written[:, :5]), [[3, 4, 5, 6, 7]] * 50)
    assert (written[:, 5] == 2).all()
    assert len({tuple(row) for row in written.tolist()}) > 25
