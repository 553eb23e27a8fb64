"""Tests of the search, over step functions that read a table.

Ids: `<pad>` 0, `<s>` 1, `</s>` 2, and three words, 3, 4 and 5. A row holds
the probabilities of the next token by id, as eighths.
"""

import math

import numpy as np
import pytest
import tensorflow as tf

import tfxformer

AFTER = np.array(
    [
        [0, 0, 0, 8, 0, 0],  # <pad>: would go on for ever
        [0, 0, 1, 4, 2, 1],  # <s> -> 3
        [0, 0, 0, 0, 8, 0],  # </s>: would go on for ever
        [0, 0, 1, 1, 5, 1],  # 3 -> 4
        [0, 0, 6, 1, 1, 0],  # 4 -> </s>
        [0, 0, 1, 0, 0, 7],  # 5 -> 5
    ]
)
# The first word of each sentence; the table says what follows.
FIRST = [3, 4, 5]


def logits_of(eighths):
    # Logits are log-probabilities up to a constant, which must not matter.
    return tf.math.log(tf.cast(eighths, "float32") / 8 + 1e-9) + 7.0


def by_table(token_ids, cache, index):
    return logits_of(tf.gather(AFTER, token_ids)), cache


def from_first(token_ids, first, index):
    """Each sentence starts with its own word, which its cache holds."""
    rows = tf.gather(AFTER, token_ids)
    start = tf.one_hot(first, 6, on_value=8, dtype=rows.dtype)
    return logits_of(tf.where(index == 0, start, rows)), first


def by_position(script):
    """Sentence b gets `script[b][index]` whatever came before."""

    def next_logits(token_ids, cache, index):
        return 9.0 * tf.one_hot(tf.gather(script, index, axis=1), 6), cache

    return next_logits


def search(next_logits, max_lengths, prefix, cache=(), **arguments):
    """Greedy search; prefix may be L alone."""
    if isinstance(prefix, int):
        prefix = np.zeros([len(max_lengths), prefix], "int32")
        prefix += arguments.get("pad_token_id", 0)
    token_ids, scores = tfxformer.greedy_search(
        next_logits,
        cache,
        tf.constant(prefix),
        tf.constant(max_lengths),
        **arguments,
    )
    return token_ids.numpy().tolist(), scores.numpy()


def search_from(first, max_lengths, prefix=6, **arguments):
    cache = tf.constant(first)
    return search(from_first, max_lengths, prefix, cache, **arguments)


def test_the_most_probable_token_is_taken_and_scored():
    token_ids, scores = search(by_table, [6], 6)
    assert token_ids == [[3, 4, 2, 0, 0, 0]]
    np.testing.assert_allclose(scores, [math.log(4 * 5 * 6 / 8**3)], rtol=1e-5)


def test_types_and_shapes():
    token_ids, scores = tfxformer.greedy_search(
        by_table, (), tf.zeros([2, 6], "int32"), tf.constant([6, 6])
    )
    assert (token_ids.dtype, token_ids.shape) == ("int32", (2, 6))
    assert (scores.dtype, scores.shape) == ("float32", (2,))


def test_only_padding_follows_the_end():
    token_ids, scores = search_from(FIRST, [6, 6, 6])
    assert token_ids == [
        [3, 4, 2, 0, 0, 0],
        [4, 2, 0, 0, 0, 0],
        [5, 5, 5, 5, 5, 5],
    ]
    # The first word is certain.
    expected = [math.log(5 * 6 / 8**2), math.log(6 / 8), 5 * math.log(7 / 8)]
    np.testing.assert_allclose(scores, expected, rtol=1e-5)


def test_each_sentence_has_its_own_limit():
    token_ids, scores = search_from([5, 5, 5, 3], [2, 5, 0, 1])
    assert token_ids == [
        [5, 5, 0, 0, 0, 0],
        [5, 5, 5, 5, 5, 0],
        [0, 0, 0, 0, 0, 0],
        [3, 0, 0, 0, 0, 0],
    ]
    expected = [math.log(7 / 8), 4 * math.log(7 / 8), 0, 0]
    np.testing.assert_allclose(scores, expected, atol=1e-5)


def test_an_end_at_the_limit_is_kept():
    assert search_from([3, 3, 4], [3, 2, 2])[0] == [
        [3, 4, 2, 0, 0, 0],
        [3, 4, 0, 0, 0, 0],
        [4, 2, 0, 0, 0, 0],
    ]


@pytest.mark.parametrize(
    "first, max_lengths, steps",
    [
        ([3], [6], 3),
        ([4], [6], 2),
        ([4, 3, 4], [6, 6, 6], 3),
        ([5], [6], 6),
        ([5, 3], [4, 6], 4),
        ([5, 5], [1, 2], 2),
        ([5], [0], 0),
    ],
)
def test_there_are_as_many_steps_as_the_longest_needs(
    first, max_lengths, steps
):
    seen = []

    def counting(token_ids, cache, index):
        seen.append(int(index))
        return from_first(token_ids, cache, index)

    search(counting, max_lengths, 6, tf.constant(first))
    assert seen == list(range(steps))


def test_the_last_token_is_fed_and_the_first_is_the_start():
    fed = []

    def recording(token_ids, cache, index):
        fed.append(token_ids.numpy().tolist())
        return by_table(token_ids, cache, index)

    search(recording, [6], 6)
    assert fed == [[1], [3], [4]]


def test_the_cache_is_passed_from_step_to_step():
    def accumulating(token_ids, cache, index):
        total, history = cache["total"], cache["history"]
        here = tf.range(4)[None] == index
        history = tf.where(here, token_ids[:, None], history)
        cache = {"total": total + token_ids, "history": history}
        # The sums of what was fed are 1, 1 + 3 = 4, 8: next 3, 4, 5.
        token = tf.where(total == 0, 3, tf.where(total == 1, 4, 5))
        return 9.0 * tf.one_hot(token, 6), cache

    cache = {
        "total": tf.zeros([2], "int32"),
        "history": tf.zeros([2, 4], "int32"),
    }
    token_ids, _ = search(accumulating, [4, 2], 4, cache)
    assert token_ids == [[3, 4, 5, 5], [3, 4, 0, 0]]


def test_a_tie_goes_to_the_lower_id():
    def tied(token_ids, cache, index):
        return tf.constant([[0.0, 0.0, 0.0, 2.0, 2.0, 0.0]]), cache

    assert search(tied, [2], 2)[0] == [[3, 3]]


def test_special_ids_can_be_chosen():
    def next_logits(token_ids, cache, index):
        return 9.0 * tf.one_hot(token_ids + 1, 6), cache

    token_ids, _ = search(
        next_logits,
        [5],
        5,
        start_token_id=2,
        end_token_id=4,
        pad_token_id=5,
    )
    assert token_ids == [[3, 4, 5, 5, 5]]


def test_a_sentence_does_not_depend_on_its_batch():
    random = np.random.default_rng(0)
    first = random.choice(np.array(FIRST, "int32"), size=40)
    max_lengths = random.integers(0, 9, size=40, dtype="int32")
    token_ids, scores = search_from(first, max_lengths, 8)
    assert len({tuple(row) for row in token_ids}) > 8
    for size in (1, 2, 7):
        order = random.permutation(40)
        for i in range(0, 40, size):
            some = order[i : i + size]
            part, part_scores = search_from(first[some], max_lengths[some], 8)
            assert part == [token_ids[b] for b in some]
            np.testing.assert_allclose(part_scores, scores[some], atol=1e-6)


def test_a_longer_result_is_only_more_padding():
    short, _ = search_from([3, 4], [5, 5], 5)
    long, _ = search_from([3, 4], [5, 5], 9)
    assert long == [row + [0] * 4 for row in short]


def test_eager_equals_graph():
    @tf.function(
        input_signature=[
            tf.TensorSpec([None], "int32"),
            tf.TensorSpec([None, None], "int32"),
            tf.TensorSpec([None], "int32"),
        ]
    )
    def in_graph(first, prefix, max_lengths):
        return tfxformer.greedy_search(from_first, first, prefix, max_lengths)

    for first, max_lengths, max_length in [
        (FIRST, [6, 6, 6], 6),
        ([5, 3, 3, 4], [4, 2, 6, 0], 7),
        ([4], [6], 1),
    ]:
        prefix = np.zeros([len(first), max_length], "int32")
        token_ids, scores = in_graph(first, prefix, max_lengths)
        expected, expected_scores = search_from(first, max_lengths, prefix)
        assert token_ids.numpy().tolist() == expected
        np.testing.assert_allclose(scores, expected_scores, rtol=1e-6)


def test_a_script_by_position():
    script = tf.constant([[3, 5, 2, 4, 4], [2, 3, 3, 3, 3], [4, 4, 4, 4, 2]])
    token_ids, _ = search(by_position(script), [5, 5, 5], 5)
    assert token_ids == [[3, 5, 2, 0, 0], [2, 0, 0, 0, 0], [4, 4, 4, 4, 2]]


def test_a_short_prefix_cuts_the_result():
    assert search_from([5, 3, 3, 4], [6, 6, 2, 6], 3)[0] == [
        [5, 5, 5],
        [3, 4, 2],
        [3, 4, 0],
        [4, 2, 0],
    ]


def test_a_prefix_is_forced_and_scored():
    prefix = [
        [4, 5, 5, 0, 0],
        [5, 4, 0, 0, 0],
        [4, 2, 0, 0, 0],
        [3, 4, 3, 3, 3],
    ]
    token_ids, scores = search(by_table, [4, 5, 5, 3], prefix)
    assert token_ids == [
        [4, 5, 5, 5, 0],
        [5, 4, 2, 0, 0],
        [4, 2, 0, 0, 0],
        [3, 4, 3, 0, 0],
    ]
    # After 4 comes no 5, and after 5 no 4: their logits are a billionth.
    never = math.log(1e-9)
    expected = [
        math.log(2 / 8) + never + 2 * math.log(7 / 8),
        math.log(1 / 8) + never + math.log(6 / 8),
        math.log(2 / 8 * 6 / 8),
        math.log(4 / 8 * 5 / 8 * 1 / 8),
    ]
    np.testing.assert_allclose(scores, expected, rtol=1e-5)


def without(*words):
    """A rule that blocks them."""

    def adjust(logits, token_ids, index):
        return tfxformer.decoding.block_tokens(
            logits, np.isin(np.arange(6), words)
        )

    return adjust


def test_a_blocked_token_is_not_chosen_and_the_scores_stay():
    adjust = without(3, 2)
    token_ids, scores = search(by_table, [3], 4, adjust=adjust)
    assert token_ids == [[4, 4, 4, 0]]
    # As the model says, though two of six were blocked.
    expected = math.log(2 / 8 * 1 / 8 * 1 / 8)
    np.testing.assert_allclose(scores, [expected], rtol=1e-5)


def test_a_prefix_may_have_what_is_blocked():
    adjust = without(3, 2)
    token_ids, _ = search(
        by_table, [5, 5], [[3, 2, 0], [3, 3, 0]], adjust=adjust
    )
    assert token_ids == [[3, 2, 0], [3, 3, 4]]


def test_a_rule_sees_what_was_chosen():
    seen = []

    def adjust(logits, token_ids, index):
        seen.append((int(index), token_ids.numpy().tolist()))
        return logits

    search_from([3, 4], [6, 6], 4, adjust=adjust)
    assert seen == [
        (0, [[0, 0, 0, 0], [0, 0, 0, 0]]),
        (1, [[3, 0, 0, 0], [4, 0, 0, 0]]),
        (2, [[3, 4, 0, 0], [4, 2, 0, 0]]),
    ]


def test_the_choice_may_be_another():
    """The least probable word; it is made of what the rules leave."""

    def choose(logits, index):
        worst = tf.where(logits > -1e8, -logits, -1e9)
        return 3 + tf.argmax(worst[:, 3:], axis=1, output_type="int32")

    token_ids, _ = search(
        by_table, [3], [[0, 3, 0]], adjust=without(5), choose=choose
    )
    assert token_ids == [[4, 3, 3]]
