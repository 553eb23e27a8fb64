"""The SavedModel: text in, text out, for TensorFlow Serving."""

import json
import tempfile
from pathlib import Path

import tensorflow as tf

from export.settings import files, settings
from tfxformer.lines import MAX_EXTRA_LENGTH
from tfxformer.lite import SETTINGS
from tfxformer.model_search import score, search
from tfxformer.options import SearchOptions
from tfxformer.run_folder import Run
from tfxformer.tokenizer import END_TOKEN_ID, UNKNOWN_TOKEN_ID


def _input(name, dtype, *shape):
    return tf.TensorSpec(shape, dtype, name)


TEXT = _input("text", tf.string, None)
IDS = _input("encoder_token_ids", tf.int32, None, None)
LIMITS = [
    _input("prefix", tf.int32, None, None),
    _input("max_lengths", tf.int32, None),
    _input("min_lengths", tf.int32, None),
    _input("blocked", tf.bool, None),
]
LENGTH_PENALTY = _input("length_penalty", tf.float32)


def serving_module(run: Run, assets: list[Path], beam_size: int) -> tf.Module:
    """What the SavedModel holds: weights, tokenizers, the functions.

    Args:
        run: a `Run`.
        assets: list of paths of files to store beside it.
        beam_size: int. K of the beam search.

    Returns:
        A `tf.Module`, whose `signatures_by_name` is a dict of the functions
        that `export_saved_model` names.

    Raises:
        InputError: if tensorflow-text is missing or does not fit.
    """
    model = run.model
    source_tokenizer = run.source_tokenizer.in_graph()
    target_tokenizer = run.target_tokenizer.in_graph()
    max_length = run.max_source_length

    def tokenize(text):
        ids = source_tokenizer.tokenize(text)
        # A line that is too long keeps its first part, and its </s>.
        is_cut = tf.expand_dims(ids.row_lengths() > max_length, 1)
        ids = ids[:, :max_length].to_tensor()  # (B, S)
        is_last = tf.range(tf.shape(ids)[1]) == max_length - 1
        return tf.where(is_cut & is_last, END_TOKEN_ID, ids)

    def detokenize(token_ids):  # (R, L)
        pieces = tf.ragged.boolean_mask(token_ids, token_ids > UNKNOWN_TOKEN_ID)
        return target_tokenizer.detokenize(pieces)

    def search_freely(encoder_token_ids, options):
        """Without a prefix, up to 50 tokens more than the source has."""
        lengths = tf.reduce_sum(tf.cast(encoder_token_ids > 0, tf.int32), 1)
        most = tf.where(lengths > 1, lengths + MAX_EXTRA_LENGTH, 0)
        width = tf.shape(encoder_token_ids)[1] + MAX_EXTRA_LENGTH
        prefix = tf.zeros([tf.shape(lengths)[0], width], tf.int32)
        return search(model, encoder_token_ids, prefix, most, most * 0, options)

    @tf.function(input_signature=[TEXT])
    def translate(text):
        token_ids, scores, _ = search_freely(tokenize(text), SearchOptions())
        return {
            "translation": detokenize(token_ids[:, 0]),
            "score": scores[:, 0],
        }

    @tf.function(input_signature=[TEXT, LENGTH_PENALTY])
    def translate_beam(text, length_penalty):
        options = SearchOptions(
            beam_size=beam_size,
            n_best=beam_size,
            length_penalty=length_penalty,
        )
        token_ids, scores, log_probs = search_freely(tokenize(text), options)
        translations = detokenize(
            tf.reshape(token_ids, (-1, tf.shape(token_ids)[2]))
        )
        return {
            "translation": tf.reshape(translations, (-1, beam_size)),
            "score": scores,
            "log_probability": log_probs,
        }

    @tf.function(input_signature=[IDS])
    def token_ids(encoder_token_ids):
        token_ids, scores, _ = search_freely(encoder_token_ids, SearchOptions())
        return {"token_ids": token_ids[:, 0], "score": scores[:, 0]}

    def search_ids(*controls, **fixed):
        """Search with these inputs, named as options of the search are."""
        specs = [IDS, *LIMITS, *controls]

        @tf.function(input_signature=specs)
        def function(*inputs):
            given = {
                spec.name: value
                for spec, value in zip(specs, inputs, strict=True)
            }
            ids, *limits = (given.pop(spec.name) for spec in specs[:4])
            blocked, seeds = given.pop("blocked"), given.pop("seeds", None)
            options = SearchOptions(**fixed, **given)
            found = search(model, ids, *limits, options, blocked, seeds)
            names = ("token_ids", "score", "log_probability")
            return dict(zip(names, found, strict=True))

        return function

    @tf.function(
        input_signature=[IDS, _input("target_token_ids", tf.int32, None, None)]
    )
    def score_ids(encoder_token_ids, target_token_ids):
        log_probs, attention = score(model, encoder_token_ids, target_token_ids)
        return {"log_probs": log_probs, "attention": attention}

    module = tf.Module()
    module.signatures_by_name = {
        "serving_default": translate,
        "translate_beam": translate_beam,
        "token_ids": token_ids,
        "search_greedy": search_ids(),
        "search_beam": search_ids(
            _input("n_best", tf.int32),
            LENGTH_PENALTY,
            _input("coverage_penalty", tf.float32),
            _input("patience", tf.float32),
            _input("repetition_penalty", tf.float32),
            beam_size=beam_size,
        ),
        "search_sample": search_ids(
            _input("seeds", tf.int32, None),
            _input("temperature", tf.float32),
            _input("top_k", tf.int32),
            _input("top_p", tf.float32),
            sampling=True,
        ),
        "score": score_ids,
    }
    # Not the model itself: Keras would add a signature of its own to it.
    module.weights = [variable.value for variable in model.variables]
    module.tokenizers = [source_tokenizer, target_tokenizer]
    module.files = [tf.saved_model.Asset(str(path)) for path in assets]
    return module


def export_saved_model(run: Run, folder: Path, beam_size: int) -> None:
    """Writes the SavedModel.

    Its signatures, B sentences, K = `beam_size`, L most tokens:

    - `serving_default`: `text` string `(B,)` to `translation` string `(B,)`
      and `score` float32 `(B,)`, greedy;
    - `translate_beam`: `text` and `length_penalty` float32 `()` to
      `translation` string, `score` and `log_probability`, all `(B, K)`, best
      first;
    - `token_ids`: `encoder_token_ids` int32 `(B, S)` (ended by `</s>`, padded
      with 0) to `token_ids` int32 `(B, S + 50)` and `score`;
    - `search_greedy`, `search_beam`, `search_sample`: every control that
      `tfxformer.search` can take as a tensor, to `token_ids` int32
      `(B, K, L)`, `score` and `log_probability`;
    - `score`: `encoder_token_ids` and `target_token_ids` int32 `(B, T)` to
      `log_probs` float32 `(B, T)` and `attention` float32 `(B, T, S)`.

    The score of greedy search is the sum of the log-probabilities.

    Args:
        run: a `Run`.
        folder: path. The folder of one version; it must not exist.
        beam_size: int. K of the beam search.

    Raises:
        InputError: if tensorflow-text is missing or does not fit.
    """
    with tempfile.TemporaryDirectory() as temporary:
        contents = {
            **files(run),
            SETTINGS: json.dumps(settings(run, beam_size)).encode(),
        }
        assets = []
        for name, content in contents.items():
            assets.append(Path(temporary, name))
            assets[-1].write_bytes(content)
        module = serving_module(run, assets, beam_size)
        tf.saved_model.save(
            module, folder, signatures=module.signatures_by_name
        )
