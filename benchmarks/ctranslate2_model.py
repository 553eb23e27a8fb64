"""Our weights as a CTranslate2 model."""

from pathlib import Path

import ctranslate2
import numpy as np
from ctranslate2.specs import TransformerSpec, common_spec
from keras import ops

from tfxformer import Transformer, sinusoidal_encoding
from tfxformer.normalization import EPSILON

POSITIONS = 512


def write_ctranslate2(
    model: Transformer, pieces: list[str], folder: Path, compute_type: str
) -> None:
    """Writes a model that CTranslate2 loads.

    Args:
        model: a `Transformer` with ReLU, sinusoidal positions and one
            matrix for all embeddings.
        pieces: list of V strings: the vocabulary, `<pad>` first.
        folder: path. It must not exist.
        compute_type: "float32" or "int8".
    """
    config = model.get_config()
    spec = TransformerSpec.from_config(
        (len(model.encoder_blocks), len(model.decoder_blocks)),
        model.num_heads,
        pre_norm=config["normalize_first"],
        activation=common_spec.Activation.RELU,
    )
    encodings = ops.convert_to_numpy(
        sinusoidal_encoding(np.arange(POSITIONS), model.hidden_dim)
    )
    matrix = ops.convert_to_numpy(model.decoder_embedding.embeddings)
    for stack in (spec.encoder, spec.decoder):
        stack.position_encodings.encodings = encodings
    spec.encoder.embeddings[0].weight = matrix
    spec.decoder.embeddings.weight = matrix
    spec.decoder.projection.weight = matrix
    if config["normalize_first"]:
        _norm(spec.encoder.layer_norm, model.encoder_normalization)
        _norm(spec.decoder.layer_norm, model.decoder_normalization)
    for layer, block in zip(
        spec.encoder.layer, model.encoder_blocks, strict=True
    ):
        _self_attention(layer.self_attention, block)
        _feed_forward(layer.ffn, block)
    for layer, block in zip(
        spec.decoder.layer, model.decoder_blocks, strict=True
    ):
        _self_attention(layer.self_attention, block)
        attention = block.cross_attention
        query, key_value, output = layer.attention.linear
        _linear(query, attention.query_dense)
        _linear(key_value, attention.key_dense, attention.value_dense)
        _linear(output, attention.output_dense)
        _norm(
            layer.attention.layer_norm,
            block.cross_attention_residual.normalization,
        )
        _feed_forward(layer.ffn, block)
    spec.config.layer_norm_epsilon = EPSILON
    spec.config.unk_token = "<unk>"
    spec.config.decoder_start_token = "<s>"
    spec.register_source_vocabulary(pieces)
    spec.register_target_vocabulary(pieces)
    spec.validate()
    spec.optimize(quantization=None if compute_type == "float32" else "int8")
    folder.mkdir(parents=True)
    spec.save(str(folder))


def _self_attention(spec, block) -> None:
    attention = block.self_attention
    _linear(
        spec.linear[0],
        attention.query_dense,
        attention.key_dense,
        attention.value_dense,
    )
    _linear(spec.linear[1], attention.output_dense)
    _norm(spec.layer_norm, block.self_attention_residual.normalization)


def _feed_forward(spec, block) -> None:
    _linear(spec.linear_0, block.feed_forward.intermediate_dense)
    _linear(spec.linear_1, block.feed_forward.output_dense)
    _norm(spec.layer_norm, block.feed_forward_residual.normalization)


def _linear(spec, *layers) -> None:
    kernels = [ops.convert_to_numpy(layer.kernel).T for layer in layers]
    biases = [ops.convert_to_numpy(layer.bias) for layer in layers]
    spec.weight = np.concatenate(kernels)
    spec.bias = np.concatenate(biases)


def _norm(spec, layer) -> None:
    spec.gamma = ops.convert_to_numpy(layer.gamma)
    spec.beta = ops.convert_to_numpy(layer.beta)


def load_ctranslate2(
    folder: Path, compute_type: str, threads: int, workers: int = 1
) -> ctranslate2.Translator:
    """Loads it with a number of threads for each of some workers."""
    return ctranslate2.Translator(
        str(folder),
        compute_type=compute_type,
        intra_threads=threads,
        inter_threads=workers,
    )
