"""Does a token cost the same wherever it stands?

    python -m benchmarks.decode_length

Decodes 32, 64 and 128 tokens with the cache, the lengths interleaved, and
prints medians: the run's graph with a cache of exactly that length, and the
`.tflite` signature of a model of the `small` preset, in float32 and int8.
The weights are untrained and `</s>` is out of reach, so every step is taken.
"""

import argparse
import functools
import statistics
import tempfile
import time
from pathlib import Path

import numpy as np

from tfxformer.quiet import import_tensorflow

VOCABULARY_SIZE = 8000
SOURCE_LENGTH = 24


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--repeats", type=int, default=9)
    repeats = parser.parse_args().repeats
    import_tensorflow()
    import tensorflow as tf

    from tfxformer import Transformer, greedy_search

    model = Transformer.from_preset("small", VOCABULARY_SIZE)
    source = np.random.default_rng(0).integers(
        4, VOCABULARY_SIZE, (1, SOURCE_LENGTH), dtype=np.int32
    )

    def decoder(length):
        @tf.function(
            input_signature=[tf.TensorSpec((1, SOURCE_LENGTH), tf.int32)]
        )
        def decode(encoder_token_ids):
            cache, encoder_cache = model.start_cache(encoder_token_ids, length)
            return greedy_search(
                lambda ids, cache, index: model.decode_step(
                    ids, cache, index, encoder_cache
                ),
                cache,
                max_lengths=tf.fill([1], length),
                max_length=length,
                end_token_id=-1,
            )[0]

        return decode

    functions = {length: decoder(length) for length in (32, 64, 128)}
    calls = {
        ("graph", length): functools.partial(function, source)
        for length, function in functions.items()
    }
    with tempfile.TemporaryDirectory() as folder:
        for precision in ("float32", "int8"):
            for length, function in functions.items():
                path = Path(folder, f"{length}.{precision}.tflite")
                path.write_bytes(_convert(function, precision))
                calls[f"tflite {precision}", length] = _lite(path, source)
        times: dict = {key: [] for key in calls}
        for run in calls.values():
            run()
        for _ in range(repeats):
            for key, run in calls.items():
                start = time.perf_counter()
                run()
                times[key].append(time.perf_counter() - start)
    print("| engine | 32 tokens | 64 | 128 | 128 / 64 |")
    print("| --- | ---: | ---: | ---: | ---: |")
    for engine in ("graph", "tflite float32", "tflite int8"):
        row = [
            1000 * statistics.median(times[engine, length])
            for length in (32, 64, 128)
        ]
        cells = " | ".join(f"{value:.1f} ms" for value in row)
        print(f"| {engine} | {cells} | {row[2] / row[1]:.2f} |")


def _convert(function, precision: str) -> bytes:
    import tensorflow as tf
    from tensorflow.python.framework.convert_to_constants import (
        convert_variables_to_constants_v2,
    )

    frozen = convert_variables_to_constants_v2(
        function.get_concrete_function(), lower_control_flow=False
    )
    converter = tf.lite.TFLiteConverter.from_concrete_functions([frozen])
    if precision == "int8":
        converter.optimizations = [tf.lite.Optimize.DEFAULT]
    return converter.convert()


def _lite(path: Path, source: np.ndarray):
    from ai_edge_litert.interpreter import Interpreter

    interpreter = Interpreter(model_path=str(path), num_threads=1)
    interpreter.allocate_tensors()
    (given,) = interpreter.get_input_details()

    def run():
        interpreter.set_tensor(given["index"], source)
        interpreter.invoke()

    return run


if __name__ == "__main__":
    main()
