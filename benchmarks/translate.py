"""How long does a test set take, from text to text?

    python -m benchmarks.translate RUN --source FILE --reference FILE

The `.tflite` files of an exported run, as `tfxformer translate` uses them,
and CTranslate2 with the same weights translate the same lines: tokenising
included, start-up excluded, each with its best settings on two cores, taking
turns. Greedily and with a beam of 4 (length penalty 0.6 in ours; in
CTranslate2, which divides by the length, 1). Prints medians, and BLEU.
"""

import argparse
import statistics
import tempfile
import time
from pathlib import Path

import sacrebleu

from tfxformer.quiet import import_tensorflow

BEAM_SIZE = 4
SETTINGS = [(2, 1, 32), (2, 1, 64), (1, 2, 64)]  # workers, threads, batch


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("run", metavar="RUN", type=Path)
    parser.add_argument("--source", required=True, type=Path)
    parser.add_argument("--reference", required=True, type=Path)
    parser.add_argument("--repeats", type=int, default=5)
    options = parser.parse_args()
    import_tensorflow()
    from benchmarks.ctranslate2_model import load_ctranslate2, write_ctranslate2
    from tfxformer import LiteTranslator, SearchOptions, load_run

    lines, references = (
        path.read_text("utf-8").removesuffix("\n").split("\n")
        for path in (options.source, options.reference)
    )
    run = load_run(options.run)
    name = run.config["name"]
    files = {
        "float32": options.run / "export" / f"{name}.tflite",
        "int8": options.run / "export" / f"{name}.int8.tflite",
    }
    tokenizer = run.source_tokenizer
    pieces = run.target_tokenizer.pieces()
    ids = {piece: i for i, piece in enumerate(pieces)}
    jobs: dict = {}
    for precision, path in files.items():
        translator = LiteTranslator(path)
        for beam_size in (1, BEAM_SIZE):
            search = SearchOptions(beam_size=beam_size)
            jobs["TFLite", precision, beam_size, ""] = (
                lambda t=translator, s=search: t.translate(lines, options=s)
            )
    with tempfile.TemporaryDirectory() as folder:
        for precision in files:
            path = Path(folder, precision)
            write_ctranslate2(run.model, pieces, path, precision)
            for workers, threads, batch in SETTINGS:
                peer = load_ctranslate2(path, precision, threads, workers)
                for beam_size in (1, BEAM_SIZE):

                    def translate(peer=peer, batch=batch, beam_size=beam_size):
                        sources = [
                            [pieces[i] for i in row]
                            for row in tokenizer.tokenize(lines)
                        ]
                        results = peer.translate_batch(
                            sources, max_batch_size=batch, beam_size=beam_size
                        )
                        return [
                            run.target_tokenizer.detokenize(
                                [ids[piece] for piece in r.hypotheses[0]]
                            )
                            for r in results
                        ]

                    setting = f"{workers} x {threads}, batch {batch}"
                    jobs["CTranslate2", precision, beam_size, setting] = (
                        translate
                    )
    outputs = {key: job() for key, job in jobs.items()}
    times: dict = {key: [] for key in jobs}
    for _ in range(options.repeats):
        for key, job in jobs.items():
            start = time.perf_counter()
            job()
            times[key].append(time.perf_counter() - start)
    best: dict = {}
    for key, seconds in times.items():
        row = key[:3]
        if row not in best or statistics.median(seconds) < best[row][0]:
            best[row] = statistics.median(seconds), key
    print("| engine | search | seconds | BLEU | settings |")
    print("| --- | --- | ---: | ---: | --- |")
    for (engine, precision, beam_size), (seconds, key) in best.items():
        bleu = sacrebleu.corpus_bleu(outputs[key], [references]).score
        search_name = "greedy" if beam_size == 1 else f"beam {beam_size}"
        print(
            f"| {engine} {precision} | {search_name} | {seconds:.2f} "
            f"| {bleu:.2f} | {key[3]} |"
        )


if __name__ == "__main__":
    main()
