"""Trainers of the same Transformer in Keras: ours and those of others.

Each is called with a number of updates. All see the same batches, predict
the same tokens with tied embeddings, sinusoidal positions, post-norm blocks
and dropout, and update with Adam.
"""

import keras
import numpy as np
import tensorflow as tf

from tfxformer import PRESETS, TokenCrossEntropy
from tfxformer.position import sinusoidal_encoding
from training.dataset import untuned
from training.optimizer import SkippingAdam
from training.step import TrainingTransformer

LABEL_SMOOTHING = 0.1
RATE = 1e-4


class Fit:
    """`fit` of a Keras model over the same batches again and again."""

    def __init__(self, model, batches):
        self.model = model
        dataset = tf.data.Dataset.from_tensor_slices(batches)
        self.dataset = untuned(dataset.repeat().prefetch(2))

    def __call__(self, updates):
        self.model.fit(
            self.dataset, steps_per_epoch=updates, verbose=0, shuffle=False
        )


def tfxformer(preset, vocabulary_size, batches, policy="float32"):
    """Ours, as `python -m training` trains it."""
    model = TrainingTransformer(
        vocabulary_size, **PRESETS[preset], dtype=policy
    )
    model.compile(
        SkippingAdam(RATE, beta_2=0.98, epsilon=1e-9),
        TokenCrossEntropy(LABEL_SMOOTHING),
        jit_compile=False,
    )
    return Fit(model, batches)


class PlainLoss(keras.losses.Loss):
    """What the tutorial does: a mean over the tokens that are not padding."""

    def call(self, y_true, y_pred):
        losses = keras.losses.sparse_categorical_crossentropy(
            y_true, y_pred, from_logits=True
        )
        mask = tf.cast(y_true != 0, losses.dtype)
        return tf.reduce_sum(losses * mask) / tf.reduce_sum(mask)


def _compile(model):
    model.compile(
        keras.optimizers.Adam(RATE, beta_2=0.98, epsilon=1e-9),
        PlainLoss(reduction=None),
        jit_compile=False,
    )


def keras_hub(preset, vocabulary_size, batches):
    """TransformerEncoder and TransformerDecoder of KerasHub (keras-nlp)."""
    from keras_nlp import layers

    sizes = PRESETS[preset]
    embedding = layers.ReversibleEmbedding(
        vocabulary_size, sizes["hidden_dim"], tie_weights=True
    )
    position = layers.SinePositionEncoding()
    block = {
        "intermediate_dim": sizes["intermediate_dim"],
        "num_heads": sizes["num_heads"],
        "dropout": sizes["dropout"],
    }

    def embed(ids):
        x = embedding(ids) * sizes["hidden_dim"] ** 0.5
        return keras.layers.Dropout(sizes["dropout"])(x + position(x))

    source = keras.Input((None,), dtype="int32")
    inputs = keras.Input((None,), dtype="int32")
    source_mask, mask = source != 0, inputs != 0
    encoded = embed(source)
    for _ in range(sizes["num_layers"]):
        encoded = layers.TransformerEncoder(**block)(
            encoded, padding_mask=source_mask
        )
    decoded = embed(inputs)
    for _ in range(sizes["num_layers"]):
        decoded = layers.TransformerDecoder(**block)(
            decoded,
            encoded,
            decoder_padding_mask=mask,
            encoder_padding_mask=source_mask,
        )
    model = keras.Model((source, inputs), embedding(decoded, reverse=True))
    _compile(model)
    return Fit(model, batches)


class TutorialBlock(keras.layers.Layer):
    """A block of TensorFlow's Transformer tutorial."""

    def __init__(self, sizes, decodes):
        super().__init__()
        self.decodes = decodes

        def attention():
            return keras.layers.MultiHeadAttention(
                sizes["num_heads"],
                sizes["hidden_dim"] // sizes["num_heads"],
                dropout=sizes["dropout"],
            )

        self.self_attention = attention()
        self.cross_attention = attention() if decodes else None
        self.feed_forward = keras.Sequential(
            [
                keras.layers.Dense(sizes["intermediate_dim"], "relu"),
                keras.layers.Dense(sizes["hidden_dim"]),
                keras.layers.Dropout(sizes["dropout"]),
            ]
        )
        self.norms = [keras.layers.LayerNormalization() for _ in range(3)]

    def call(self, x, mask, encoded=None, encoded_mask=None):
        attended = self.self_attention(
            x, x, attention_mask=mask, use_causal_mask=self.decodes
        )
        x = self.norms[0](x + attended)
        if self.cross_attention is not None:
            attended = self.cross_attention(
                x, encoded, attention_mask=encoded_mask
            )
            x = self.norms[1](x + attended)
        return self.norms[2](x + self.feed_forward(x))


class TutorialTransformer(keras.Model):
    """`keras.layers.MultiHeadAttention` as in TensorFlow's tutorial."""

    def __init__(self, sizes, vocabulary_size):
        super().__init__()
        self.hidden_dim = sizes["hidden_dim"]
        self.embedding = keras.layers.Embedding(
            vocabulary_size, self.hidden_dim
        )
        self.positions = sinusoidal_encoding(np.arange(512), self.hidden_dim)
        self.dropout = keras.layers.Dropout(sizes["dropout"])
        count = range(sizes["num_layers"])
        self.encoder_blocks = [TutorialBlock(sizes, False) for _ in count]
        self.decoder_blocks = [TutorialBlock(sizes, True) for _ in count]

    def embed(self, ids):
        x = self.embedding(ids) * self.hidden_dim**0.5
        return self.dropout(x + self.positions[: tf.shape(ids)[1]])

    def call(self, inputs):
        source, target = inputs
        source_mask = (source != 0)[:, tf.newaxis, :]
        encoded = self.embed(source)
        for block in self.encoder_blocks:
            encoded = block(encoded, source_mask)
        decoded = self.embed(target)
        for block in self.decoder_blocks:
            decoded = block(
                decoded, (target != 0)[:, tf.newaxis, :], encoded, source_mask
            )
        return tf.matmul(decoded, self.embedding.embeddings, transpose_b=True)


def tutorial(preset, vocabulary_size, batches):
    """The layers of TensorFlow's tutorial."""
    model = TutorialTransformer(PRESETS[preset], vocabulary_size)
    _compile(model)
    return Fit(model, batches)


TRAINERS = {
    "tfxformer": tfxformer,
    "tfxformer, bfloat16": lambda *a: tfxformer(*a, policy="mixed_bfloat16"),
    "KerasHub": keras_hub,
    "TensorFlow tutorial": tutorial,
}
