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
from tfxformer.lite import SETTINGS, SIGNATURE
from tfxformer.run_folder import Run
from tfxformer.translator import translate_token_ids

SHORTEST_SOURCE_LENGTH = 16


def source_lengths(max_source_length: int) -> list[int]:
    """Source lengths that get a signature each: 16, 32, ... up to the limit.

    Args:
        max_source_length: int.

    Returns:
        list of ints, the last one `max_source_length`.
    """
    lengths = []
    length = SHORTEST_SOURCE_LENGTH
    while length < max_source_length:
        lengths.append(length)
        length *= 2
    return [*lengths, max_source_length]


def export_tflite(run: Run, paths: dict[str, Path]) -> None:
    """Writes `.tflite` files, one for each precision.

    Shapes are static, which LiteRT runs several times faster: a signature
    `translate_S` for each source length S, `encoder_token_ids` int32
    `(1, S)` to `token_ids` int32 `(1, S + 50)`. They share their weights.

    Args:
        run: a `Run`.
        paths: dict from "float32" or "int8" to the path of the file. With
            "int8" weights are stored in 8 bits; activations stay float32
            (dynamic range quantisation).

    Raises:
        InputError: if the model needs an operator that is not built in.
    """
    lengths = source_lengths(run.max_source_length)
    signatures = {
        SIGNATURE.format(length): _frozen(run.model, length)
        for length in lengths
    }
    details = {**settings(run), "source_lengths": lengths}
    with tempfile.TemporaryDirectory() as folder:
        module = tf.Module()
        module.functions = list(signatures.values())
        tf.saved_model.save(module, folder, signatures=signatures)
        for precision, path in paths.items():
            path.write_bytes(_convert(folder, list(signatures), precision))
            with zipfile.ZipFile(path, "a") as archive:
                archive.writestr(SETTINGS, json.dumps(details))
                for name, content in files(run).items():
                    archive.writestr(name, content)


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


def _frozen(model, source_length: int):
    """The decoding of one source length, its weights turned to constants.

    Variables read inside the loop would convert, and fail when run.
    """

    @tf.function
    def translate(encoder_token_ids):
        return translate_token_ids(model, encoder_token_ids)[0]

    spec = tf.TensorSpec([1, source_length], tf.int32, "encoder_token_ids")
    constant = convert_variables_to_constants_v2(
        translate.get_concrete_function(spec), lower_control_flow=False
    )

    @tf.function(input_signature=[spec])
    def named(encoder_token_ids):
        return {"token_ids": constant(encoder_token_ids)[0]}

    return named
