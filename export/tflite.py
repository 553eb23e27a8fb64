"""One `.tflite` file: ids in, ids out, the whole decoding loop inside."""

import json
import tempfile
import zipfile
from pathlib import Path

import tensorflow as tf
from tensorflow.python.framework.convert_to_constants import (
    convert_variables_to_constants_v2,
)

from export.settings import files, settings
from tfxformer.errors import InputError
from tfxformer.lite import SETTINGS
from tfxformer.model_search import score, search
from tfxformer.options import SearchOptions
from tfxformer.run_folder import Run


def export_tflite(run: Run, paths: dict[str, Path], beam_size: int) -> None:
    """Writes `.tflite` files, tokenizer and settings inside.

    Args:
        run: a `Run`.
        paths: dict from "float32" or "int8" to the path of the file.
        beam_size: int. K of the beam search.

    Raises:
        InputError: if the model needs an operator that is not built in.
    """
    write_tflite(run.model, paths, beam_size)
    for path in paths.values():
        with zipfile.ZipFile(path, "a") as archive:
            archive.writestr(SETTINGS, json.dumps(settings(run, beam_size)))
            for name, content in files(run).items():
                archive.writestr(name, content)


def write_tflite(model, paths: dict[str, Path], beam_size: int) -> None:
    """Writes the graphs of a model, one file for each precision.

    Three signatures share the weights; K is `beam_size`. B, S, L and T are
    set by resizing the inputs: all other shapes follow before anything is
    computed, so that LiteRT runs them as static ones, several times faster
    than dynamic ones.

    - `greedy`: `encoder_token_ids` int32 `(B, S)`, `prefix` int32 `(B, L)`,
      `max_lengths` and `min_lengths` int32 `(B,)` to `token_ids` int32
      `(B, 1, L)`, `score` and `log_probability` float32 `(B, 1)`;
    - `beam`: the same and `length_penalty` float32 `()`, `n_best` int32 `()`,
      to as many for K hypotheses, best first;
    - `score`: `encoder_token_ids` and `target_token_ids` int32 `(B, T)` to
      `log_probs` float32 `(B, T)` and `attention` float32 `(B, T, S)`.

    Args:
        model: a `Transformer`.
        paths: dict from "float32" or "int8" to the path of the file. With
            "int8" weights are stored in 8 bits; activations stay float32
            (dynamic range quantisation).
        beam_size: int. K of the beam search.

    Raises:
        InputError: if the model needs an operator that is not built in.
    """
    signatures = _signatures(model, beam_size)
    with tempfile.TemporaryDirectory() as folder:
        module = tf.Module()
        module.functions = list(signatures.values())
        tf.saved_model.save(module, folder, signatures=signatures)
        for precision, path in paths.items():
            path.write_bytes(_convert(folder, list(signatures), precision))


def _signatures(model, beam_size: int) -> dict:
    """The functions, by the name of the signature."""

    def spec(name, dtype, *shape):
        return tf.TensorSpec(shape, dtype, name)

    source = spec("encoder_token_ids", tf.int32, None, None)
    limits = [
        spec("prefix", tf.int32, None, None),
        spec("max_lengths", tf.int32, None),
        spec("min_lengths", tf.int32, None),
    ]
    penalty = spec("length_penalty", tf.float32)
    n_best = spec("n_best", tf.int32)
    target = spec("target_token_ids", tf.int32, None, None)

    def greedy(encoder_token_ids, prefix, most, least):
        return search(model, encoder_token_ids, prefix, most, least)

    def beam(encoder_token_ids, prefix, most, least, length_penalty, n_best):
        options = SearchOptions(
            beam_size=beam_size, n_best=n_best, length_penalty=length_penalty
        )
        return search(model, encoder_token_ids, prefix, most, least, options)

    def score_ids(encoder_token_ids, target_token_ids):
        return score(model, encoder_token_ids, target_token_ids)

    found = ("token_ids", "score", "log_probability")
    return {
        "greedy": _frozen(greedy, [source, *limits], found),
        "beam": _frozen(beam, [source, *limits, penalty, n_best], found),
        "score": _frozen(
            score_ids, [source, target], ("log_probs", "attention")
        ),
    }


def _convert(folder: str, signature_keys: list[str], precision: str) -> bytes:
    converter = tf.lite.TFLiteConverter.from_saved_model(
        folder, signature_keys=signature_keys
    )
    # No runtime that this is for has TensorFlow's own operators.
    converter.target_spec.supported_ops = [tf.lite.OpsSet.TFLITE_BUILTINS]
    if precision == "int8":
        converter.optimizations = [tf.lite.Optimize.DEFAULT]
    try:
        return converter.convert()
    except Exception as error:  # the converter has no error of its own
        reason = str(error).strip().split("\n")[0][:200]
        raise InputError(f"TFLite cannot hold this model: {reason}") from error


def _frozen(function, specs: list, outputs: tuple[str, ...]):
    """A function whose weights are constants, with names for its outputs.

    Variables read inside the loop would convert, and fail when run.
    """
    constant = convert_variables_to_constants_v2(
        tf.function(function).get_concrete_function(*specs),
        lower_control_flow=False,
    )

    @tf.function(input_signature=specs)
    def named(*inputs):
        return dict(zip(outputs, constant(*inputs), strict=True))

    return named
