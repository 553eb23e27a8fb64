"""How fast is decoding, beside other engines with the same weights?

    python -m benchmarks.decode [--preset small] [--engines NAME ...]

Every engine decodes the same random source sentences of 24 tokens, 32 steps
each, greedily and with a beam of 4, in batches of 1, 8 and 32; and a stream
of 128 sentences on all cores. The engines take turns; the table has medians
of target tokens per second, each with the better of 1 and 2 threads, and
their ratio to CTranslate2 of the same precision. First of all the engines
must return the same tokens; those in int8, which round, as many as they do.
"""

import argparse
import statistics
import sys
import time

import numpy as np

from tfxformer.quiet import import_tensorflow

VOCABULARY_SIZE = 8000
SOURCE_LENGTH = 24
BATCHES = (1, 8, 32)
STREAM = 128
GREEDY_ONLY = ("KerasHub", "without a cache")


def main() -> None:  # noqa: PLR0912
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--preset", default="small")
    parser.add_argument("--repeats", type=int, default=9)
    parser.add_argument("--threads", type=int, nargs="+", default=[1, 2])
    parser.add_argument("--group", type=int, default=4)
    parser.add_argument("--engines", nargs="+", metavar="NAME")
    options = parser.parse_args()
    import_tensorflow()
    import keras

    from benchmarks import engines
    from tfxformer import Transformer

    keras.utils.set_random_seed(1)
    model = Transformer.from_preset(options.preset, VOCABULARY_SIZE)
    source = np.random.default_rng(0).integers(
        4, VOCABULARY_SIZE, (STREAM, SOURCE_LENGTH), dtype=np.int32
    )
    variants, streams = _engines(model, options)
    if options.engines:
        variants = {name: variants[name] for name in options.engines}
    beams = (1, engines.BEAM_SIZE)

    def takes_part(name, beam_size, batch=1):
        if name == "without a cache" and batch > BATCHES[1]:
            return False  # it takes minutes
        return beam_size == 1 or name not in GREEDY_ONLY

    for beam_size in beams:
        wanted = engines.Keras(model)(source[:8], beam_size)
        for name, ways in variants.items():
            if not takes_part(name, beam_size):
                continue
            for way in ways:
                same = (way(source[:8], beam_size) == wanted).mean()
                if "int8" not in name and same < 1:
                    sys.exit(f"{name}: other tokens than the Keras model's")
            _say(f"{name}, beam {beam_size}: {same:.1%} of the tokens")

    jobs: dict = {}
    for beam_size in beams:
        for batch in BATCHES:
            for name, ways in variants.items():
                if takes_part(name, beam_size, batch):
                    for number, way in enumerate(ways):
                        jobs[name, beam_size, batch, number] = (
                            lambda way=way, batch=batch, beam=beam_size: way(
                                source[:batch], beam
                            )
                        )
        for name, ways in variants.items():
            if name in streams:
                jobs[name, beam_size, STREAM, 0] = (
                    lambda way=streams[name], beam=beam_size: way(
                        source, beam, 32
                    )
                )
            elif name.startswith("TFLite"):
                jobs[name, beam_size, STREAM, 0] = (
                    lambda way=ways[-1], beam=beam_size: way(source, beam)
                )
    times: dict = {key: [] for key in jobs}
    for repeat in range(options.repeats + 1):
        _say(f"round {repeat} of {options.repeats}")
        for key, job in jobs.items():
            start = time.perf_counter()
            job()
            if repeat:  # the first one is to warm up
                times[key].append(time.perf_counter() - start)
    speeds: dict = {}
    for (name, beam_size, batch, _), seconds in times.items():
        speed = batch * engines.STEPS / statistics.median(seconds)
        key = name, beam_size, batch
        speeds[key] = max(speed, speeds.get(key, 0))
    _print(speeds, variants, beams)


def _engines(model, options) -> tuple[dict, dict]:
    """Engines by name, in each way to run them; and those for the stream."""
    from benchmarks import engines

    _say("making the engines")
    variants: dict = {"KerasHub": [engines.KerasHub(model)]}
    variants["without a cache"] = [engines.WithoutCache(model)]
    variants["Keras model"] = [engines.Keras(model)]
    variants["SavedModel"] = [engines.SavedModel(model)]
    for precision, content in engines.lite_files(model).items():
        variants[f"TFLite {precision}"] = [
            engines.Lite(content, threads, options.group)
            for threads in options.threads
        ]
        variants[f"CTranslate2 {precision}"] = [
            engines.CTranslate2(model, precision, threads)
            for threads in options.threads
        ]
    workers = max(options.threads)
    streams = {
        f"CTranslate2 {precision}": engines.CTranslate2(
            model, precision, 1, workers
        )
        for precision in ("float32", "int8")
    }
    return variants, streams


def _say(message: str) -> None:
    print(message, file=sys.stderr, flush=True)


def _print(speeds: dict, variants: dict, beams: tuple[int, ...]) -> None:
    columns = [(beam, batch) for beam in beams for batch in (*BATCHES, STREAM)]
    titles = [
        f"{'greedy' if beam == 1 else f'beam {beam}'}, "
        + ("stream" if batch == STREAM else f"batch {batch}")
        for beam, batch in columns
    ]
    print("| tokens/s | " + " | ".join(titles) + " |")
    print("| --- |" + " ---: |" * len(columns))
    for name in variants:
        precision = "int8" if "int8" in name else "float32"
        cells = []
        for column in columns:
            speed = speeds.get((name, *column))
            peer = speeds.get((f"CTranslate2 {precision}", *column))
            cell = "" if speed is None else f"{speed:,.0f}"
            if speed and peer and not name.startswith("CTranslate2"):
                cell += f" ({speed / peer:.2f})"
            cells.append(cell)
        print(f"| {name} | " + " | ".join(cells) + " |")


if __name__ == "__main__":
    main()
