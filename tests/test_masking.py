"""Tests of the masks."""

import numpy as np
import pytest
import tensorflow as tf

import tfxformer


def table(mask):
    return np.array(mask).astype(int).tolist()


def test_real_tokens_are_true():
    mask = tfxformer.padding_mask(np.array([[5, 1, 0], [0, 0, 0], [0, 3, 0]]))
    assert table(mask) == [[1, 1, 0], [0, 0, 0], [0, 1, 0]]
    assert np.array(mask).dtype == bool


def test_the_pad_id_can_be_chosen():
    mask = tfxformer.padding_mask(np.array([[5, 0, 7]]), pad_token_id=7)
    assert table(mask) == [[1, 1, 0]]


@pytest.mark.parametrize(
    "arguments, expected",
    [
        ((1,), [[1]]),
        ((3,), [[1, 0, 0], [1, 1, 0], [1, 1, 1]]),
        ((2, 4), [[1, 0, 0, 0], [1, 1, 0, 0]]),
        ((3, 2), [[1, 0], [1, 1], [1, 1]]),
        ((1, 4, 0), [[1, 0, 0, 0]]),
        ((1, 4, 2), [[1, 1, 1, 0]]),
        ((2, 4, 2), [[1, 1, 1, 0], [1, 1, 1, 1]]),
    ],
)
def test_a_position_sees_itself_and_what_is_before(arguments, expected):
    mask = tfxformer.causal_mask(*arguments)
    assert table(mask) == expected
    assert np.array(mask).dtype == bool


def test_the_start_index_may_be_a_tensor():
    @tf.function
    def mask(start_index):
        return tfxformer.causal_mask(1, 4, start_index=start_index)

    assert table(mask(tf.constant(1))) == [[1, 1, 0, 0]]
    assert table(mask(tf.constant(3))) == [[1, 1, 1, 1]]


def test_both_masks_must_allow():
    padding = np.array([[True, True, False], [True, False, False]])
    mask = tfxformer.attention_mask(padding, tfxformer.causal_mask(3))
    assert table(mask) == [
        [[1, 0, 0], [1, 1, 0], [1, 1, 0]],
        [[1, 0, 0], [1, 0, 0], [1, 0, 0]],
    ]


def test_one_mask_alone_broadcasts():
    padding = np.array([[True, False], [True, True]])
    assert table(tfxformer.attention_mask(padding)) == [[[1, 0]], [[1, 1]]]
    causal = tfxformer.attention_mask(causal_mask=tfxformer.causal_mask(2))
    assert table(causal) == [[[1, 0], [1, 1]]]


def test_no_mask_is_none():
    assert tfxformer.attention_mask() is None
