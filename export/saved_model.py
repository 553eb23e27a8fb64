"""The SavedModel: text in, text out, for TensorFlow Serving."""

import json
import tempfile
from pathlib import Path

import tensorflow as tf

from export.settings import files, settings
from tfxformer.lite import SETTINGS
from tfxformer.run_folder import Run
from tfxformer.tokenizer import END_TOKEN_ID, UNKNOWN_TOKEN_ID
from tfxformer.translator import translate_token_ids


def serving_module(run: Run, assets: list[Path]) -> tf.Module:
    """What the SavedModel holds: weights, tokenizers, the two functions.

    Args:
        run: a `Run`.
        assets: list of paths of files to store beside it.

    Returns:
        A `tf.Module` with the functions `translate` and `token_ids`.
    """
    source_tokenizer = run.source_tokenizer.in_graph()
    target_tokenizer = run.target_tokenizer.in_graph()
    max_length = run.max_source_length

    @tf.function(input_signature=[tf.TensorSpec([None], tf.string, "text")])
    def translate(text):
        ids = source_tokenizer.tokenize(text)
        # A line that is too long keeps its first part, and its </s>.
        is_cut = tf.expand_dims(ids.row_lengths() > max_length, 1)
        ids = ids[:, :max_length].to_tensor()  # (B, S)
        is_last = tf.range(tf.shape(ids)[1]) == max_length - 1
        encoder_token_ids = tf.where(is_cut & is_last, END_TOKEN_ID, ids)
        token_ids, score = translate_token_ids(run.model, encoder_token_ids)
        pieces = tf.ragged.boolean_mask(token_ids, token_ids > UNKNOWN_TOKEN_ID)
        translation = target_tokenizer.detokenize(pieces)
        return {"translation": translation, "score": score}

    @tf.function(
        input_signature=[
            tf.TensorSpec([None, None], tf.int32, "encoder_token_ids")
        ]
    )
    def token_ids(encoder_token_ids):
        token_ids, score = translate_token_ids(run.model, encoder_token_ids)
        return {"token_ids": token_ids, "score": score}

    module = tf.Module()
    module.translate, module.token_ids = translate, token_ids
    # Not the model itself: Keras would add a signature of its own to it.
    module.weights = [variable.value for variable in run.model.variables]
    module.tokenizers = [source_tokenizer, target_tokenizer]
    module.files = [tf.saved_model.Asset(str(path)) for path in assets]
    return module


def export_saved_model(run: Run, folder: Path) -> None:
    """Writes the SavedModel.

    Its signatures: `serving_default`, `text` string `(B,)` to `translation`
    string `(B,)` and `score` float32 `(B,)`; `token_ids`,
    `encoder_token_ids` int32 `(B, S)` (ended by `</s>`, padded with 0) to
    `token_ids` int32 `(B, S + 50)` and `score`. The score is the sum of the
    log-probabilities of the tokens.

    Args:
        run: a `Run`.
        folder: path. The folder of one version; it must not exist.
    """
    with tempfile.TemporaryDirectory() as temporary:
        contents = {
            **files(run),
            SETTINGS: json.dumps(settings(run)).encode(),
        }
        assets = []
        for name, content in contents.items():
            assets.append(Path(temporary, name))
            assets[-1].write_bytes(content)
        module = serving_module(run, assets)
        tf.saved_model.save(
            module,
            folder,
            signatures={
                "serving_default": module.translate,
                "token_ids": module.token_ids,
            },
        )
