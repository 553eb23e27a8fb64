"""The Transformer: token ids in, logits out."""

import keras
import tensorflow as tf
from keras import ops

from tfxformer.blocks import DecoderBlock, EncoderBlock
from tfxformer.embedding import TokenEmbedding
from tfxformer.masking import attention_mask, causal_mask, padding_mask
from tfxformer.normalization import LayerNormalization
from tfxformer.position import (
    LearnedPositionEncoding,
    SinusoidalPositionEncoding,
)
from tfxformer.presets import PRESETS
from tfxformer.projection import Projection


@keras.saving.register_keras_serializable("tfxformer")
class Transformer(keras.Model):
    """The encoder-decoder Transformer for translation.

    All weights exist as soon as the model does: they can be loaded, counted
    or exported without calling it first.

    Args:
        vocabulary_size: int, V. Size of the target vocabulary, and of the
            source vocabulary unless `encoder_vocabulary_size` is given.
        num_layers: int, L. Encoder blocks, and decoder blocks unless
            `num_decoder_layers` is given.
        num_heads: int, N. Heads of each attention.
        hidden_dim: int, D. Width of the model.
        intermediate_dim: int, F. Width inside the feed-forward networks.
        key_dim: int, H. Size of one head; D / N by default.
        dropout: float. Dropout rate of embeddings and of the output of each
            sublayer, as in the paper.
        normalize_first: bool. Pre-norm blocks, followed by one more
            normalisation after each stack, instead of post-norm (the paper).
        activation: "relu" (the paper), "gelu" or "swiglu".
        num_decoder_layers: int. For stacks of unequal depths.
        encoder_vocabulary_size: int. For separate vocabularies.
        tie_embeddings: which embeddings share a matrix: "all" (encoder,
            decoder and output, the paper), "decoder" (decoder and output)
            or "none".
        position_encoding: "sinusoidal" (the paper) or "learned".
        max_length: int. Longest sequence; only for learned positions.
        attention_dropout: float. Dropout rate of the attention weights.
        activation_dropout: float. Dropout rate inside the feed-forward
            networks.

    Call arguments:
        inputs: tuple `(encoder_token_ids, decoder_token_ids)`, int `(B, S)`
            and int `(B, T)`. `<pad>` is 0. The decoder's tokens start with
            `<s>`; the labels are the same tokens without it, ended by
            `</s>` (teacher forcing).
        training: bool. Whether dropout is active.
        return_probabilities: bool. Softmax over the logits.

    Returns:
        Logits (or probabilities), float32 `(B, T, V)`.

    Raises:
        ValueError: if the heads do not divide the width, if an odd width is
            to hold pairs of sines and cosines, if separate vocabularies are
            to share one matrix, or if a choice is none of those above.

    Reference:
        Attention Is All You Need (Vaswani et al., 2017), section 3.
    """

    def __init__(
        self,
        vocabulary_size,
        num_layers=6,
        num_heads=8,
        hidden_dim=512,
        intermediate_dim=2048,
        key_dim=None,
        dropout=0.1,
        normalize_first=False,
        activation="relu",
        num_decoder_layers=None,
        encoder_vocabulary_size=None,
        tie_embeddings="all",
        position_encoding="sinusoidal",
        max_length=1024,
        attention_dropout=0.0,
        activation_dropout=0.0,
        **kwargs,
    ):
        super().__init__(**kwargs)
        self._config = {
            "vocabulary_size": vocabulary_size,
            "num_layers": num_layers,
            "num_heads": num_heads,
            "hidden_dim": hidden_dim,
            "intermediate_dim": intermediate_dim,
            "key_dim": key_dim,
            "dropout": dropout,
            "normalize_first": normalize_first,
            "activation": activation,
            "num_decoder_layers": num_decoder_layers,
            "encoder_vocabulary_size": encoder_vocabulary_size,
            "tie_embeddings": tie_embeddings,
            "position_encoding": position_encoding,
            "max_length": max_length,
            "attention_dropout": attention_dropout,
            "activation_dropout": activation_dropout,
        }
        _check(**self._config)
        self.num_heads = num_heads
        self.key_dim = key_dim or hidden_dim // num_heads
        self.hidden_dim = hidden_dim
        policy = self.dtype_policy

        self.decoder_embedding = TokenEmbedding(
            vocabulary_size, hidden_dim, dtype=policy, name="decoder_embedding"
        )
        self.encoder_embedding = self.decoder_embedding
        if tie_embeddings != "all":
            self.encoder_embedding = TokenEmbedding(
                encoder_vocabulary_size or vocabulary_size,
                hidden_dim,
                dtype=policy,
                name="encoder_embedding",
            )
        self.output_projection = None
        if tie_embeddings == "none":
            self.output_projection = Projection(
                vocabulary_size, use_bias=False, dtype=policy, name="output"
            )

        def position_layer(name):
            if position_encoding == "sinusoidal":
                return SinusoidalPositionEncoding(name=name)
            return LearnedPositionEncoding(max_length, name=name)

        self.encoder_position = position_layer("encoder_position")
        self.decoder_position = position_layer("decoder_position")
        self.dropout_layer = keras.layers.Dropout(dropout, dtype=policy)

        def block(block_class, name):
            return block_class(
                intermediate_dim,
                num_heads,
                key_dim,
                dropout,
                activation,
                normalize_first,
                attention_dropout,
                activation_dropout,
                dtype=policy,
                name=name,
            )

        self.encoder_blocks = [
            block(EncoderBlock, f"encoder_block_{i}") for i in range(num_layers)
        ]
        self.decoder_blocks = [
            block(DecoderBlock, f"decoder_block_{i}")
            for i in range(num_decoder_layers or num_layers)
        ]
        self.encoder_normalization = self.decoder_normalization = None
        if normalize_first:

            def norm(name):
                return LayerNormalization(dtype=policy, name=name)

            self.encoder_normalization = norm("encoder_normalization")
            self.decoder_normalization = norm("decoder_normalization")
        self.build(((None, None), (None, None)))

    @classmethod
    def from_preset(cls, preset, vocabulary_size, **sizes):
        """Makes an untrained model of a named size.

        Args:
            preset: "tiny", "small", "base" or "big" (see `PRESETS`). "base"
                and "big" are the paper's (table 3).
            vocabulary_size: int, V.
            **sizes: arguments of `Transformer`, instead of the preset's.

        Returns:
            A `Transformer`.

        Raises:
            ValueError: if there is no such preset, or as `Transformer` does.
        """
        if preset not in PRESETS:
            raise ValueError(
                f"preset must be one of {', '.join(PRESETS)}. "
                f"Received: preset={preset!r}"
            )
        return cls(vocabulary_size, **{**PRESETS[preset], **sizes})

    def build(self, input_shape):
        sequence_shape = (None, None, self.hidden_dim)
        self.encoder_embedding.build()
        if self.decoder_embedding is not self.encoder_embedding:
            self.decoder_embedding.build()
        self.encoder_position.build(sequence_shape)
        self.decoder_position.build(sequence_shape)
        for block in self.encoder_blocks:
            block.build(sequence_shape)
        for block in self.decoder_blocks:
            block.build(sequence_shape, sequence_shape)
        if self.encoder_normalization is not None:
            self.encoder_normalization.build(sequence_shape)
            self.decoder_normalization.build(sequence_shape)
        if self.output_projection is not None:
            self.output_projection.build(sequence_shape)

    def call(self, inputs, training=None, return_probabilities=False):
        encoder_token_ids, decoder_token_ids = inputs
        encoder_sequence = self.encode(encoder_token_ids, training=training)
        logits = self.decode(
            decoder_token_ids,
            encoder_sequence,
            padding_mask(encoder_token_ids),
            training=training,
        )
        return ops.softmax(logits) if return_probabilities else logits

    def encode(
        self, encoder_token_ids, return_attention_weights=False, training=None
    ):
        """Reads the source sentence.

        Args:
            encoder_token_ids: int `(B, S)`; 0 = padding.
            return_attention_weights: bool. Also return them.
            training: bool. Whether dropout is active.

        Returns:
            float `(B, S, D)`; with weights a tuple of it and a list of L
            float32 `(B, N, S, S)`.

        Reference:
            Attention Is All You Need, section 3.1.
        """
        x = self.encoder_position(self.encoder_embedding(encoder_token_ids))
        x = self.dropout_layer(x, training=training)
        weights = []
        for block in self.encoder_blocks:
            x, block_weights = block(
                x,
                padding_mask=padding_mask(encoder_token_ids),
                return_attention_weights=True,
                training=training,
            )
            weights.append(block_weights)
        if self.encoder_normalization is not None:
            x = self.encoder_normalization(x, training=training)
        return (x, weights) if return_attention_weights else x

    def decode(
        self,
        decoder_token_ids,
        encoder_sequence,
        encoder_padding_mask,
        return_attention_weights=False,
        training=None,
    ):
        """Scores the next token after each prefix of the target.

        Args:
            decoder_token_ids: int `(B, T)`, starting with `<s>`;
                0 = padding.
            encoder_sequence: float `(B, S, D)`, from `encode`.
            encoder_padding_mask: bool `(B, S)`; True = real token.
            return_attention_weights: bool. Also return them.
            training: bool. Whether dropout is active.

        Returns:
            Logits, float32 `(B, T, V)`; with weights a tuple of them and a
            list of L tuples `(self_weights, cross_weights)`, float32
            `(B, N, T, T)` and `(B, N, T, S)`.

        Reference:
            Attention Is All You Need, section 3.1.
        """
        x, weights = self._decode(
            decoder_token_ids,
            encoder_sequence,
            encoder_padding_mask,
            training=training,
        )
        logits = self._logits(x, self.output_matrix())
        return (logits, weights) if return_attention_weights else logits

    def _decode(
        self,
        decoder_token_ids,
        encoder_sequence,
        encoder_padding_mask,
        training,
    ):
        """`decode` without the output matrix: `(B, T, D)` and the weights."""
        x = self.decoder_position(self.decoder_embedding(decoder_token_ids))
        x = self.dropout_layer(x, training=training)
        self_attention_mask = attention_mask(
            padding_mask(decoder_token_ids),
            causal_mask(ops.shape(decoder_token_ids)[1]),
        )
        weights = []
        for block in self.decoder_blocks:
            x, block_weights = block(
                x,
                encoder_sequence,
                self_attention_mask=self_attention_mask,
                encoder_padding_mask=encoder_padding_mask,
                return_attention_weights=True,
                training=training,
            )
            weights.append(block_weights)
        return self._normalize_decoded(x, training), weights

    def _normalize_decoded(self, x, training=None):
        if self.decoder_normalization is None:
            return x
        return self.decoder_normalization(x, training=training)

    def start_cache(
        self,
        encoder_token_ids,
        decoder_token_ids,
        beam_size=1,
        shortlist=None,
    ):
        """Reads the source and prepares decoding, one token after the other.

        Args:
            encoder_token_ids: int `(B, S)`; 0 = padding.
            decoder_token_ids: int `(B, max_length)`. Only its shape counts:
                the most tokens to decode.
            beam_size: int, K. Hypotheses per sentence.
            shortlist: int `(V',)`, or None. Score only these tokens.

        Returns:
            Tuple `(cache, encoder_cache)`. `cache` changes at each step: a
            tuple of `visible`, bool `(B, K, max_length * K)`, and a list of L
            `(key, value)`, float `(B, N, max_length * K, H)`. Row `t * K + k`
            holds beam k at position t; `visible[b, k]` marks the rows that
            hypothesis k consists of. `encoder_cache` never changes: a tuple
            of the padding mask, bool `(B, S)`, a list of L `(key, value)`,
            float `(B, N, S, H)`, the projected encoder output, and the output
            matrix, float `(D, V)`.
        """
        encoder_sequence = self.encode(encoder_token_ids, training=False)
        cross_attention_caches = [
            block.cross_attention.project(
                ops.cast(encoder_sequence, block.compute_dtype)
            )
            for block in self.decoder_blocks
        ]
        # Batch and length come in by broadcasting: TFLite then knows shapes.
        rows = ops.concatenate(
            [ops.zeros_like(decoder_token_ids, dtype="int32")] * beam_size,
            axis=1,
        )
        beams = ops.zeros((1, beam_size, 1), "int32")
        visible = ops.expand_dims(rows, 1) + beams > 0
        empty = ops.cast(
            ops.expand_dims(ops.expand_dims(rows, 1), 3), self.compute_dtype
        ) + ops.zeros((1, self.num_heads, 1, self.key_dim), self.compute_dtype)
        cache = (visible, [(empty, empty) for _ in self.decoder_blocks])
        return cache, (
            padding_mask(encoder_token_ids),
            cross_attention_caches,
            self.output_matrix(shortlist),
        )

    def reorder_cache(self, cache, parents):
        """Makes each hypothesis continue another one of its sentence.

        Keys and values stay where they are: what changes is which of them a
        hypothesis sees.

        Args:
            cache: as `start_cache` or `decode_step` returned it.
            parents: int32 `(B, K)`. The hypothesis to continue.

        Returns:
            The new cache.
        """
        visible, block_caches = cache
        return tf.gather(visible, parents, batch_dims=1), block_caches

    def decode_step(
        self,
        decoder_token_ids,
        cache,
        cache_update_index,
        encoder_cache,
        return_attention_weights=False,
    ):
        """Scores the token that follows, given the last one and the cache.

        Args:
            decoder_token_ids: int `(B * K,)`. The last token of each
                hypothesis; `<s>` at the first step.
            cache: as `start_cache` or the step before returned it.
            cache_update_index: int32 `()`. Position of the tokens, from 0.
            encoder_cache: as `start_cache` returned it.
            return_attention_weights: bool. Also return those of
                `alignment_attention`.

        Returns:
            Tuple of the logits, float32 `(B * K, V)`, and the new cache; with
            weights also these, float32 `(B * K, S)`.
        """
        encoder_padding_mask, cross_attention_caches, matrix = encoder_cache
        visible, block_caches = cache
        num_beams = visible.shape[1]
        token_ids = ops.reshape(decoder_token_ids, (-1, num_beams))
        x = self.decoder_embedding(token_ids)  # (B, K, D)
        x = self.decoder_position(
            x, start_index=cache_update_index, same_position=True
        )
        rows = ops.arange(ops.shape(visible)[2], dtype="int32")
        own = cache_update_index * num_beams + ops.arange(num_beams)
        visible = ops.logical_or(
            visible, ops.equal(rows, ops.reshape(own, (1, -1, 1)))
        )
        new_caches, weights = [], []
        for block, block_cache, cross_attention_cache in zip(
            self.decoder_blocks,
            block_caches,
            cross_attention_caches,
            strict=True,
        ):
            x, block_cache, block_weights = block(
                x,
                self_attention_mask=visible,
                encoder_padding_mask=encoder_padding_mask,
                self_attention_cache=block_cache,
                cross_attention_cache=cross_attention_cache,
                cache_update_index=cache_update_index,
                return_attention_weights=True,
                training=False,
            )
            new_caches.append(block_cache)
            weights.append(block_weights)
        x = self._normalize_decoded(x)
        logits = self._logits(x, matrix)  # (B, K, V)
        logits = ops.reshape(logits, (-1, ops.shape(matrix)[1]))
        results = (logits, (visible, new_caches))
        if return_attention_weights:
            attention = self.alignment_attention(weights)  # (B, K, S)
            source_length = ops.shape(attention)[2]
            results += (ops.reshape(attention, (-1, source_length)),)
        return results

    def alignment_attention(self, weights):
        """Picks the attention that says best which words belong together.

        Args:
            weights: list of L tuples `(self_weights, cross_weights)`, as
                `decode` returns them.

        Returns:
            float32 `(B, T, S)`: the encoder-decoder attention of the last
            block but one, averaged over its heads.

        Reference:
            Jointly Learning to Align and Translate with Transformer Models
            (Garg et al., 2019).
        """
        _, cross_weights = weights[max(len(weights) - 2, 0)]
        return ops.mean(cross_weights, axis=1)

    def output_matrix(self, token_ids=None):
        """The matrix that turns the last layer's output into logits.

        Args:
            token_ids: int `(V',)`. Only these columns, a shortlist.

        Returns:
            float `(D, V)`, or `(D, V')`.

        Reference:
            Attention Is All You Need, section 3.4.
        """
        if self.output_projection is None:
            return self.decoder_embedding.output_matrix(token_ids)
        matrix = ops.cast(self.output_projection.kernel, self.compute_dtype)
        if token_ids is None:
            return matrix
        return ops.take(matrix, token_ids, axis=1)

    def _logits(self, x, output_matrix):  # -> float32 (B, T, V)
        rows = ops.reshape(x, (-1, self.hidden_dim))  # (B * T, D)
        rows = ops.cast(rows, output_matrix.dtype)
        logits = ops.cast(ops.matmul(rows, output_matrix), "float32")
        return ops.reshape(
            logits, (-1, ops.shape(x)[1], ops.shape(output_matrix)[1])
        )

    def get_config(self):
        config = {"name": self.name, "dtype": self.dtype_policy.name}
        return {**config, **self._config}


def _check(
    num_heads,
    hidden_dim,
    key_dim,
    vocabulary_size,
    encoder_vocabulary_size,
    tie_embeddings,
    position_encoding,
    **sizes,
):
    if key_dim is None and hidden_dim % num_heads:
        raise ValueError(
            "num_heads must divide hidden_dim, unless key_dim is given. "
            f"Received: num_heads={num_heads}, hidden_dim={hidden_dim}"
        )
    if position_encoding == "sinusoidal" and hidden_dim % 2:
        raise ValueError(
            "hidden_dim must be even: sines and cosines come in pairs. "
            f"Received: hidden_dim={hidden_dim}"
        )
    if tie_embeddings not in ("all", "decoder", "none"):
        raise ValueError(
            "tie_embeddings must be 'all', 'decoder' or 'none'. "
            f"Received: tie_embeddings={tie_embeddings!r}"
        )
    if position_encoding not in ("sinusoidal", "learned"):
        raise ValueError(
            "position_encoding must be 'sinusoidal' or 'learned'. "
            f"Received: position_encoding={position_encoding!r}"
        )
    if tie_embeddings == "all" and encoder_vocabulary_size not in (
        None,
        vocabulary_size,
    ):
        raise ValueError(
            "Separate vocabularies cannot share one matrix; set "
            "tie_embeddings to 'decoder' or 'none'. Received: "
            f"encoder_vocabulary_size={encoder_vocabulary_size}, "
            f"vocabulary_size={vocabulary_size}, tie_embeddings='all'"
        )
