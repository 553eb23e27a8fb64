"""Tests of the token embedding and its tied output projection."""

import keras
import numpy as np
import pytest
import tensorflow as tf

import tfxformer
from tfxformer.embedding import load_word2vec

MATRIX = np.array([[1, 2, 0, 0], [3, 4, 1, -1], [0, 1, 0, 5]], "float32")
PIECES = ["<pad>", "\u2581house", "s", "\u2581cat"]
BEFORE = np.array([[1, -1], [1, -1], [1, -1], [1, -1]], "float32")


def embedding(**arguments):
    layer = tfxformer.TokenEmbedding(3, 4, **arguments)
    layer.build()
    layer.embeddings.assign(MATRIX)
    return layer


def word2vec(folder, text):
    path = folder / "vectors.txt"
    path.write_text(text, encoding="utf-8")
    return path


def test_vectors_are_scaled_by_the_root_of_the_width():
    vectors = embedding()(np.array([[1, 0], [2, 2]]))
    np.testing.assert_allclose(vectors, 2 * MATRIX[[[1, 0], [2, 2]]])


def test_the_output_matrix_is_the_transposed_one_without_a_scale():
    np.testing.assert_array_equal(embedding().output_matrix(), MATRIX.T)


def test_the_output_matrix_of_a_shortlist():
    np.testing.assert_array_equal(
        embedding().output_matrix([2, 0, 2]), MATRIX[[2, 0, 2]].T
    )


def test_the_gradient_flows_from_both_uses():
    layer = embedding()
    token_ids, x = np.array([[1]]), np.array([[[1, 0, 2, 0]]], "float32")
    with tf.GradientTape(persistent=True) as tape:
        looked_up = tf.reduce_sum(layer(token_ids))
        projected = tf.reduce_sum(x @ layer.output_matrix())
        both = looked_up + projected
    assert len(layer.trainable_variables) == 1
    variable = layer.embeddings.value
    expected = [[0] * 4, [2] * 4, [0] * 4]
    gradient = tf.convert_to_tensor(tape.gradient(looked_up, variable))
    np.testing.assert_allclose(gradient, expected)
    gradient = tape.gradient(projected, variable)
    np.testing.assert_allclose(gradient, [[1, 0, 2, 0]] * 3)
    gradient = tf.convert_to_tensor(tape.gradient(both, variable))
    np.testing.assert_allclose(
        gradient, [[1, 0, 2, 0], [3, 2, 4, 2], [1, 0, 2, 0]]
    )


@pytest.mark.parametrize("policy", ["mixed_float16", "mixed_bfloat16"])
def test_the_matrix_is_stored_in_float32_under_mixed_precision(policy):
    layer = embedding(dtype=policy)
    compute_dtype = policy.removeprefix("mixed_")
    assert layer(np.array([[1]])).dtype == compute_dtype
    assert layer.output_matrix().dtype == compute_dtype
    assert layer.output_matrix([1, 2]).dtype == compute_dtype
    assert layer.embeddings.dtype == "float32"


def test_scaled_embeddings_start_with_unit_variance():
    keras.utils.set_random_seed(1)
    layer = tfxformer.TokenEmbedding(500, 64)
    vectors = np.array(layer(np.arange(500)[None]))
    # 32,000 draws: the standard error of their deviation is 0.004.
    assert abs(vectors.std() - 1) < 0.02
    assert abs(vectors.mean()) < 0.03


def test_word2vec_fills_the_rows_of_its_words(tmp_path):
    path = word2vec(
        tmp_path, "4 2\nhouse 3 1\ns -1 1\nnobody 9 9\nwrong 1 2 3\n"
    )
    matrix, found = load_word2vec(path, PIECES, BEFORE)
    assert found == 2
    # (3, 1, -1, 1): mean 1, variance 2. The matrix before has variance 1.
    scale = 2**-0.5
    expected = [[1, -1], [3 * scale, scale], [-scale, scale], [1, -1]]
    np.testing.assert_allclose(matrix, expected, rtol=1e-6)
    np.testing.assert_array_equal(BEFORE, [[1, -1]] * 4)


def test_word2vec_without_a_known_word_changes_nothing(tmp_path):
    path = word2vec(tmp_path, "1 2\nnobody 9 9\n")
    matrix, found = load_word2vec(path, PIECES, BEFORE)
    assert found == 0
    np.testing.assert_array_equal(matrix, BEFORE)


@pytest.mark.parametrize(
    "text, line, received",
    [
        ("", 1, "Received: ''"),
        ("house 1 2\n", 1, "Received: 'house 1 2'"),
        ("one 2\nhouse 1 2\n", 1, "Received: 'one 2'"),
        ("1 3\nhouse 1 2 3\n", 1, "Received: size=3, hidden_dim=2"),
        ("1 2\nhouse 1\n", 2, "Received: 'house 1'"),
        ("2 2\ns 1 2\nhouse 1 2 3\n", 3, "Received: 'house 1 2 3'"),
        ("1 2\nhouse 1 x\n", 2, "Received: 'house 1 x'"),
    ],
)
def test_a_bad_word2vec_file_is_refused(tmp_path, text, line, received):
    path = word2vec(tmp_path, text)
    with pytest.raises(ValueError) as error:
        load_word2vec(path, PIECES, BEFORE)
    assert str(error.value).startswith(f"{path}:{line}: ")
    assert str(error.value).endswith(received)


def test_layer_in_a_functional_model():
    token_ids = keras.Input((None,), dtype="int32")
    model = keras.Model(token_ids, embedding()(token_ids))
    assert model.output_shape == (None, None, 4)
    np.testing.assert_allclose(model(np.array([[2, 1]])), 2 * MATRIX[[[2, 1]]])
