"""How fast is a training step, beside other projects' Transformers?

    python -m benchmarks.train [--preset tiny] [--trainers NAME ...]

All see the same batches, by default of 128 sentences of 16 tokens on either
side, and take turns; the table has medians of source and target tokens per
second, the ratio to KerasHub, the share of the rate at which this machine
multiplies 2048 x 2048 matrices of float32 (measured in the same turns) that the
useful operations of the model amount to, and the peak of memory of a process
that does nothing else.
"""

import argparse
import contextlib
import multiprocessing
import resource
import statistics
import sys
import time
from typing import NamedTuple

import numpy as np

from tfxformer.quiet import import_tensorflow

BATCHES = 8
PEAK_SIZE = 2048
PEAK = "products of matrices"
NAMES = [
    "tfxformer",
    "tfxformer, bfloat16",
    "KerasHub",
    "TensorFlow tutorial",
    "PyTorch, eager",
    "PyTorch, compiled",
]
CPU_WITH_BFLOAT16 = ("avx512_bf16", "amx_bf16")


class Sizes(NamedTuple):
    """Of the model and of its batches."""

    preset: str
    vocabulary_size: int
    batch: int  # sentences
    length: int  # tokens of each, source and target


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--preset", default="tiny")
    parser.add_argument("--vocabulary-size", type=int, default=6000)
    parser.add_argument("--batch", type=int, default=128)
    parser.add_argument("--length", type=int, default=16)
    parser.add_argument("--repeats", type=int, default=7)
    parser.add_argument("--updates", type=int, default=10)
    parser.add_argument("--trainers", nargs="+", metavar="NAME", default=NAMES)
    options = parser.parse_args()
    names = list(options.trainers)
    sizes = Sizes(
        options.preset, options.vocabulary_size, options.batch, options.length
    )
    if "tfxformer, bfloat16" in names and not _has_bfloat16():
        _say("This processor has no bfloat16: it would only be slower")
        names.remove("tfxformer, bfloat16")
    with contextlib.ExitStack() as stack:
        trainers = {}
        for name in names:
            _say(f"{name}: first updates")
            trainer = Process(name, sizes)
            trainers[name] = stack.enter_context(trainer)
            trainer.run(3)
        peak = stack.enter_context(Process(PEAK, sizes))
        peak.run(3)
        seconds: dict[str, list[float]] = {name: [] for name in names}
        peaks = []
        for turn in range(options.repeats):
            _say(f"turn {turn + 1} of {options.repeats}")
            peaks.append(3 * 2 * PEAK_SIZE**3 / peak.run(3))
            for name, trainer in trainers.items():
                time_taken = trainer.run(options.updates)
                seconds[name].append(time_taken / options.updates)
        memory = {name: trainer.memory() for name, trainer in trainers.items()}
    _print_table(sizes, seconds, memory, statistics.median(peaks))


class Process:
    """A trainer in a process of its own, since not all get on with each other.

    Args:
        name: string. Of a trainer, or `PEAK`.
        sizes: `Sizes`.
    """

    def __init__(self, name: str, sizes: Sizes):
        context = multiprocessing.get_context("spawn")
        self._ours, theirs = context.Pipe()
        self._process = context.Process(
            target=_serve, args=(theirs, name, sizes), daemon=True
        )
        self._process.start()
        theirs.close()

    def __enter__(self):
        return self

    def __exit__(self, *error):
        self._process.terminate()
        self._process.join()

    def run(self, updates: int) -> float:
        """Seconds of so many updates."""
        self._ours.send(updates)
        return self._ours.recv()

    def memory(self) -> int:
        """Most bytes that were resident."""
        self._ours.send(0)
        return self._ours.recv()


def _serve(connection, name: str, sizes: Sizes) -> None:
    if name.startswith("PyTorch"):
        from benchmarks.pytorch_trainer import TRAINERS
    else:
        import_tensorflow()
        from benchmarks.trainers import TRAINERS
    from training.memory import keep_freed_memory

    keep_freed_memory()  # for all alike
    if name == PEAK:
        train = _multiply
    else:
        train = TRAINERS[name](
            sizes.preset, sizes.vocabulary_size, _batches(sizes)
        )
    while updates := connection.recv():
        start = time.perf_counter()
        train(updates)
        connection.send(time.perf_counter() - start)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    connection.send(peak * 1024)


def _batches(sizes: Sizes):
    """Sentences of equal length: the step is measured, not the batching."""
    random = np.random.default_rng(0)
    source, labels = random.integers(
        4,
        sizes.vocabulary_size,
        (2, BATCHES, sizes.batch, sizes.length),
        dtype=np.int32,
    )
    inputs = np.concatenate(
        [np.ones_like(labels[:, :, :1]), labels[:, :, :-1]], axis=2
    )
    return (source, inputs), labels


def _multiply(times: int) -> None:
    import tensorflow as tf

    a = tf.random.stateless_normal((PEAK_SIZE, PEAK_SIZE), (0, 0))
    for _ in range(times):
        tf.matmul(a, a).numpy()


def _print_table(sizes: Sizes, seconds, memory, peak) -> None:
    from tfxformer import PRESETS
    from training.cost import Shape, training_flops

    preset, vocabulary_size, batch, length = sizes
    tokens = batch * length
    flops = training_flops(
        {**PRESETS[preset], "vocabulary_size": vocabulary_size},
        Shape(tokens, tokens, length, length),
    )
    medians = {name: statistics.median(some) for name, some in seconds.items()}
    base = medians.get("KerasHub")
    print(
        f"{preset}, V = {vocabulary_size:,}, {batch} x {length} tokens, "
        f"peak {peak / 1e9:.0f} GFLOP/s"
    )
    print("\n| trainer | tokens/s | to KerasHub | of the peak | memory (MB) |")
    print("| --- | ---: | ---: | ---: | ---: |")
    for name, median in medians.items():
        ratio = f"{base / median:.2f}" if base else ""
        print(
            f"| {name} | {2 * tokens / median:,.0f} | {ratio} | "
            f"{flops / median / peak:.0%} | {memory[name] / 1e6:,.0f} |"
        )


def _has_bfloat16() -> bool:
    with open("/proc/cpuinfo", encoding="utf-8") as file:
        flags = file.read()
    return any(flag in flags for flag in CPU_WITH_BFLOAT16)


def _say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


if __name__ == "__main__":
    main()
