"""Does decoding cost what it should: time by length, memory by size?

    python -m benchmarks.decode_length

A model of the `small` preset, untrained, every step taken. Time: 32, 64 and
128 tokens, greedily and with a beam of 4, the lengths interleaved, medians.
Memory: what a process of its own needs beyond what it has before it decodes
once, for several batches, beams and lengths.
"""

import argparse
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

from tfxformer.quiet import import_tensorflow

VOCABULARY_SIZE = 8000
SOURCE_LENGTH = 24
LENGTHS = (32, 64, 128)
BEAM_SIZE = 4
SIZES = [(8, 4, 64), (16, 4, 64), (32, 4, 64), (16, 4, 128), (64, 1, 128)]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--repeats", type=int, default=9)
    parser.add_argument("--memory", nargs=3, type=int, help=argparse.SUPPRESS)
    options = parser.parse_args()
    import_tensorflow()
    if options.memory:
        print(_memory(*options.memory))
        return
    _times(options.repeats)
    print("\n| batch | beam | tokens | memory |")
    print("| ---: | ---: | ---: | ---: |")
    for sizes in SIZES:
        command = [sys.executable, "-m", "benchmarks.decode_length"]
        command += ["--memory", *map(str, sizes)]
        process = subprocess.run(command, check=True, capture_output=True)
        row = " | ".join(map(str, sizes))
        print(f"| {row} | {int(process.stdout):,} MB |")


def _times(repeats: int) -> None:
    model, source = _model(), _source(1)
    with tempfile.TemporaryDirectory() as folder:
        calls = {}
        for beam_size in (1, BEAM_SIZE):
            graph = _graph(model, beam_size)
            for length in LENGTHS:
                calls["graph", beam_size, length] = (
                    lambda graph=graph, length=length: graph(
                        source, np.zeros((1, length), np.int32)
                    )
                )
        for precision, runner in _runners(model, Path(folder)).items():
            for length in LENGTHS:
                calls[f"TFLite {precision}", 1, length] = (
                    lambda runner=runner, length=length: runner(
                        encoder_token_ids=source,
                        prefix=np.zeros((1, length), np.int32),
                        max_lengths=np.array([length], np.int32),
                        min_lengths=np.array([length], np.int32),
                    )
                )
        times: dict = {key: [] for key in calls}
        for _ in range(repeats):
            for key, call in calls.items():
                call()  # shapes change: the first run is not the usual one
                start = time.perf_counter()
                call()
                times[key].append(time.perf_counter() - start)
    titles = " | ".join(f"{length} tokens" for length in LENGTHS)
    print(f"| engine | search | {titles} | 128 / 64 |")
    print("| --- | --- | ---: | ---: | ---: | ---: |")
    for engine, beam_size, length in calls:
        if length == LENGTHS[0]:
            row = [
                1000 * statistics.median(times[engine, beam_size, n])
                for n in LENGTHS
            ]
            cells = " | ".join(f"{value:.1f} ms" for value in row)
            search = "greedy" if beam_size == 1 else f"beam {beam_size}"
            print(f"| {engine} | {search} | {cells} | {row[2] / row[1]:.2f} |")


def _model():
    from tfxformer import Transformer

    return Transformer.from_preset("small", VOCABULARY_SIZE)


def _source(batch: int) -> np.ndarray:
    return np.random.default_rng(0).integers(
        4, VOCABULARY_SIZE, (batch, SOURCE_LENGTH), dtype=np.int32
    )


def _graph(model, beam_size: int):
    import tensorflow as tf

    from tfxformer import SearchOptions, search

    ids = tf.TensorSpec((None, None), tf.int32)
    options = SearchOptions(beam_size=beam_size, length_penalty=0.0)

    @tf.function(input_signature=[ids, ids])
    def decode(encoder_token_ids, prefix):
        steps = tf.reduce_sum(tf.ones_like(prefix), axis=1)
        return search(model, encoder_token_ids, prefix, steps, steps, options)

    return decode


def _runners(model, folder: Path) -> dict:
    from ai_edge_litert.interpreter import Interpreter

    from export.tflite import write_tflite

    paths = {name: folder / name for name in ("float32", "int8")}
    write_tflite(model, paths, BEAM_SIZE)
    return {
        name: Interpreter(
            model_path=str(path), num_threads=1
        ).get_signature_runner("greedy")
        for name, path in paths.items()
    }


def _memory(batch: int, beam_size: int, length: int) -> int:
    """Megabytes that decoding takes at its peak, beyond a small one."""
    graph = _graph(_model(), beam_size)
    graph(_source(1), np.zeros((1, 8), np.int32))
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    graph(_source(batch), np.zeros((batch, length), np.int32))
    after = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return (after - before) // 1024


if __name__ == "__main__":
    main()
