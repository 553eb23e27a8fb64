"""Token embeddings, and the output projection that shares their matrix."""

import keras
import numpy as np
from keras import ops


@keras.saving.register_keras_serializable("tfxformer")
class TokenEmbedding(keras.layers.Layer):
    """Looks tokens up and scales them: `E[token_ids] * sqrt(D)`.

    Entries of E start as N(0, 1 / D): the scaled embeddings have unit
    variance, and so have the logits of `project`.

    Args:
        vocabulary_size: int, V.
        hidden_dim: int, D.

    Call arguments:
        token_ids: int `(B, T)`.

    Returns:
        float `(B, T, D)`.

    Reference:
        Attention Is All You Need, section 3.4.
    """

    def __init__(self, vocabulary_size, hidden_dim, **kwargs):
        super().__init__(**kwargs)
        self.vocabulary_size = vocabulary_size
        self.hidden_dim = hidden_dim

    def build(self, token_ids_shape=None):
        self.embeddings = self.add_weight(
            name="embeddings",
            shape=(self.vocabulary_size, self.hidden_dim),
            initializer=keras.initializers.RandomNormal(
                stddev=self.hidden_dim**-0.5
            ),
        )

    def call(self, token_ids):
        vectors = ops.take(self.embeddings, token_ids, axis=0)
        return ops.cast(vectors, self.compute_dtype) * self.hidden_dim**0.5

    def output_matrix(self, token_ids=None):
        """The matrix of the tied output projection, `E^T`.

        Args:
            token_ids: int `(V',)`. Only these columns, a shortlist.

        Returns:
            float `(D, V)`, or `(D, V')`.
        """
        matrix = self.embeddings
        if token_ids is not None:
            matrix = ops.take(matrix, token_ids, axis=0)
        return ops.transpose(ops.cast(matrix, self.compute_dtype))

    def get_config(self):
        return {
            **super().get_config(),
            "vocabulary_size": self.vocabulary_size,
            "hidden_dim": self.hidden_dim,
        }


def load_word2vec(path, pieces, embeddings):
    """Fills rows of an embedding matrix from a word2vec text file.

    A piece that starts a word ("\u2581house") takes the vector of the word
    ("house"); pieces without a vector keep their row. The vectors are scaled,
    all by the same factor, to the variance of the matrix.

    Args:
        path: string. Text file: a header "count size", then a line
            "word x_1 ... x_size" for each word.
        pieces: list of V strings: the vocabulary.
        embeddings: float `(V, D)`.

    Returns:
        Tuple of the new matrix, float32 `(V, D)`, and the number of pieces
        that found their vector.

    Raises:
        ValueError: if the file is not of that form or `size` is not D.
    """
    embeddings = np.array(embeddings, "float32")
    row_of_word = {
        piece.removeprefix("\u2581"): row for row, piece in enumerate(pieces)
    }
    rows, vectors = [], []
    with open(path, encoding="utf-8", newline="\n") as lines:
        header = next(lines, "").split()
        if len(header) != 2 or not all(field.isdigit() for field in header):
            raise ValueError(
                f"{path}:1: a word2vec text file starts with 'count size'. "
                f"Received: {' '.join(header)[:40]!r}"
            )
        if int(header[1]) != embeddings.shape[1]:
            raise ValueError(
                f"{path}:1: the vectors must be as wide as the model. "
                f"Received: size={header[1]}, hidden_dim={embeddings.shape[1]}"
            )
        for number, line in enumerate(lines, start=2):
            word, *fields = line.rstrip().split(" ")
            if word not in row_of_word:
                continue
            try:
                vector = np.array(fields, "float32")
            except ValueError:
                vector = np.empty(0, "float32")
            if vector.size != embeddings.shape[1]:
                raise ValueError(
                    f"{path}:{number}: expected a word and {header[1]} numbers"
                    f". Received: {line.strip()[:40]!r}"
                )
            rows.append(row_of_word[word])
            vectors.append(vector)
    if rows:
        found = np.stack(vectors)
        scale = embeddings.std() / max(float(found.std()), 1e-9)
        embeddings[rows] = found * scale
    return embeddings, len(rows)
