"""One set of weights in every engine: token ids in, token ids out.

An engine is made for a model and a number of threads, and is then a callable
`(encoder_token_ids, beam_size) -> token_ids` that takes `STEPS` steps.
"""

import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import keras_hub
import numpy as np
import tensorflow as tf

from benchmarks.ctranslate2_model import load_ctranslate2, write_ctranslate2
from export.tflite import write_tflite
from tfxformer import SearchOptions, padding_mask, search
from tfxformer.decoding import greedy_search

STEPS = 32
BEAM_SIZE = 4
IDS = tf.TensorSpec((None, None), tf.int32)


def forced_lengths(count: int) -> np.ndarray:
    return np.full(count, STEPS, np.int32)


def lite_files(model) -> dict[str, bytes]:
    """The content of `.tflite` files by precision."""
    with tempfile.TemporaryDirectory() as folder:
        paths = {name: Path(folder, name) for name in ("float32", "int8")}
        write_tflite(model, paths, BEAM_SIZE)
        return {name: path.read_bytes() for name, path in paths.items()}


class Lite:
    """A `.tflite` file; more threads are more interpreters."""

    def __init__(self, content: bytes, threads: int, group: int):
        from ai_edge_litert.interpreter import Interpreter

        self._runners = []
        for _ in range(threads):
            interpreter = Interpreter(model_content=content, num_threads=1)
            self._runners.append(
                {
                    name: interpreter.get_signature_runner(name)
                    for name in ("greedy", "beam")
                }
            )
        self._pool = ThreadPoolExecutor(threads)
        self._group = group

    def __call__(self, ids, beam_size):
        group = max(1, self._group // beam_size)
        group = min(group, -(-len(ids) // len(self._runners)))
        parts = [ids[i : i + group] for i in range(0, len(ids), group)]
        futures = [
            self._pool.submit(self._work, number, parts, beam_size)
            for number in range(len(self._runners))
        ]
        done = {}
        for future in futures:
            done |= future.result()
        return np.concatenate([done[i] for i in range(len(parts))])

    def _work(self, number, parts, beam_size):
        runners = self._runners[number]
        done = {}
        for i in range(number, len(parts), len(self._runners)):
            count = len(parts[i])
            inputs = {
                "encoder_token_ids": parts[i],
                "prefix": np.zeros((count, STEPS), np.int32),
                "max_lengths": forced_lengths(count),
                "min_lengths": forced_lengths(count),
            }
            name = "greedy"
            if beam_size > 1:
                name = "beam"
                inputs["length_penalty"] = np.float32(0)
                inputs["n_best"] = np.int32(1)
            done[i] = runners[name](**inputs)["token_ids"][:, 0]
        return done


def graphs(model) -> dict:
    """The search as graphs over the Keras model, by beam size."""

    def graph(beam_size):
        options = SearchOptions(beam_size=beam_size, length_penalty=0.0)

        @tf.function(input_signature=[IDS])
        def decode(encoder_token_ids):
            steps = tf.fill([tf.shape(encoder_token_ids)[0]], STEPS)
            prefix = tf.zeros([tf.shape(steps)[0], STEPS], tf.int32)
            found = search(
                model, encoder_token_ids, prefix, steps, steps, options
            )
            return {"token_ids": found[0][:, 0]}

        return decode

    return {size: graph(size) for size in (1, BEAM_SIZE)}


class Keras:
    """The run: `tfxformer.search` in a `tf.function`."""

    def __init__(self, model):
        self._functions = graphs(model)

    def __call__(self, ids, beam_size):
        return self._functions[beam_size](ids)["token_ids"].numpy()


class SavedModel:
    """The same graphs, written as a SavedModel and loaded again."""

    def __init__(self, model):
        functions = graphs(model)
        module = tf.Module()
        module.weights = [variable.value for variable in model.variables]
        with tempfile.TemporaryDirectory() as folder:
            tf.saved_model.save(
                module,
                folder,
                signatures={
                    f"beam_{size}": function
                    for size, function in functions.items()
                },
            )
            self._model = tf.saved_model.load(folder)

    def __call__(self, ids, beam_size):
        signature = self._model.signatures[f"beam_{beam_size}"]
        return signature(encoder_token_ids=tf.constant(ids))[
            "token_ids"
        ].numpy()


class WithoutCache:
    """Greedy search that computes the whole prefix at each step."""

    def __init__(self, model):
        @tf.function(input_signature=[IDS])
        def decode(encoder_token_ids):
            encoded = model.encode(encoder_token_ids, training=False)
            mask = padding_mask(encoder_token_ids)
            steps = tf.fill([tf.shape(encoder_token_ids)[0]], STEPS)
            history = tf.zeros([tf.shape(steps)[0], STEPS], tf.int32)

            def next_logits(token_ids, history, index):
                here = tf.expand_dims(tf.range(STEPS) == index, 0)
                history = tf.where(here, tf.expand_dims(token_ids, 1), history)
                logits = model.decode(
                    history[:, : index + 1], encoded, mask, training=False
                )
                return logits[:, -1], history

            return greedy_search(
                next_logits, history, history, steps, end_token_id=-1
            )[0]

        self._function = decode

    def __call__(self, ids, beam_size):
        return self._function(ids).numpy()


class CTranslate2:
    """CTranslate2 with `threads` threads within one operation."""

    def __init__(self, model, precision: str, threads: int, workers: int = 1):
        size = model.get_config()["vocabulary_size"]
        special = ["<pad>", "<s>", "</s>", "<unk>"]
        self._pieces = special + [f"piece{i}" for i in range(4, size)]
        self._ids = {piece: i for i, piece in enumerate(self._pieces)}
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder, "model")
            write_ctranslate2(model, self._pieces, path, precision)
            self._translator = load_ctranslate2(
                path, precision, threads, workers
            )

    def __call__(self, ids, beam_size, batch_size=0):
        results = self._translator.translate_batch(
            [[self._pieces[i] for i in row] for row in ids],
            beam_size=beam_size,
            max_decoding_length=STEPS,
            min_decoding_length=STEPS,
            max_batch_size=batch_size,
        )
        return np.array(
            [[self._ids[p] for p in r.hypotheses[0]] for r in results]
        )


class KerasHub:
    """KerasHub's encoder and decoder layers with their cache, greedy."""

    def __init__(self, model):
        self._model = model
        config = model.get_config()
        layers = keras_hub.layers
        sizes = (config["intermediate_dim"], model.num_heads)
        self._encoders, self._decoders = [], []
        shape = (None, None, model.hidden_dim)
        for block in model.encoder_blocks:
            layer = layers.TransformerEncoder(*sizes, layer_norm_epsilon=1e-6)
            layer.build(shape)
            _copy_to_hub(layer, block)
            self._encoders.append(layer)
        for block in model.decoder_blocks:
            layer = layers.TransformerDecoder(*sizes, layer_norm_epsilon=1e-6)
            layer.build(shape, shape)
            _copy_to_hub(layer, block)
            self._decoders.append(layer)
        self._function = tf.function(self._decode, input_signature=[IDS])

    def __call__(self, ids, beam_size):
        return self._function(ids).numpy()

    def _decode(self, ids):
        model = self._model
        count = tf.shape(ids)[0]
        mask = padding_mask(ids)
        x = model.encoder_position(model.encoder_embedding(ids))
        for layer in self._encoders:
            x = layer(x, padding_mask=mask)
        heads = (model.num_heads, model.key_dim)
        caches = []
        for layer in self._decoders:
            attention = layer._cross_attention_layer
            cross = tf.stack(
                [attention._key_dense(x), attention._value_dense(x)], axis=1
            )
            caches.append((tf.zeros([count, 2, STEPS, *heads]), cross))
        matrix = model.output_matrix()

        def next_logits(token_ids, caches, index):
            y = model.decoder_embedding(tf.expand_dims(token_ids, 1))
            y = model.decoder_position(y, start_index=index)
            new = []
            for layer, (own, cross) in zip(self._decoders, caches, strict=True):
                y, own, cross = layer(
                    y,
                    x,
                    encoder_padding_mask=mask,
                    self_attention_cache=own,
                    self_attention_cache_update_index=index,
                    cross_attention_cache=cross,
                    cross_attention_cache_update_index=None,
                )
                new.append((own, cross))
            return tf.matmul(y[:, 0], matrix), new

        return greedy_search(
            next_logits,
            caches,
            tf.zeros([count, STEPS], tf.int32),
            tf.fill([count], STEPS),
            end_token_id=-1,
        )[0]


def _copy_to_hub(layer, block) -> None:
    """Gives a KerasHub layer the weights of one of our blocks."""
    pairs = [
        (layer._feedforward_intermediate_dense, "feed_forward.intermediate"),
        (layer._feedforward_output_dense, "feed_forward.output"),
    ]
    for name in ("self_attention", "cross_attention"):
        if hasattr(block, name):
            attention = getattr(layer, f"_{name}_layer")
            pairs += [
                (attention._query_dense, f"{name}.query"),
                (attention._key_dense, f"{name}.key"),
                (attention._value_dense, f"{name}.value"),
                (attention._output_dense, f"{name}.output"),
            ]
    for theirs, ours in pairs:
        part, dense = ours.split(".")
        ours = getattr(getattr(block, part), f"{dense}_dense")
        for name in ("kernel", "bias"):
            value = np.asarray(getattr(ours, name))
            variable = getattr(theirs, name)
            variable.assign(value.reshape(variable.shape))
    for name in ("self_attention", "cross_attention", "feed_forward"):
        if hasattr(block, f"{name}_residual"):
            hub_name = name.replace("feed_forward", "feedforward")
            theirs = getattr(layer, f"_{hub_name}_layer_norm")
            ours = getattr(block, f"{name}_residual").normalization
            theirs.gamma.assign(ours.gamma)
            theirs.beta.assign(ours.beta)
