"""How much memory do preparing and training take on millions of pairs?

    python -m benchmarks.data_memory SOURCE TARGET

Copies of two aligned files, each line with the number of its copy at the end
so that none is a duplicate, make the corpus. Another process prepares it and
goes through all batches of several epochs; it trains the `tiny` model on one
of 400 (2,048 positions, 4,000 pieces), as all would take days. Meanwhile the
resident memory of it and its own helper processes is measured (pages that they
share counted once). Prints the largest value while preparing and in each epoch.
"""

import contextlib
import multiprocessing
import tempfile
import threading
import time
from pathlib import Path

import psutil

from benchmarks.corpus_copies import copies_parser, write_copies, write_recipe
from tfxformer.quiet import import_tensorflow
from training.config import read_recipe
from training.prepare import prepare

TRAINED_SHARE = 400  # one batch of so many is trained on


def main() -> None:
    parser = copies_parser(__doc__, pairs=5_000_000)
    parser.add_argument("--epochs", type=int, default=5)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        size = write_copies(
            options.source, options.target, options.pairs, Path(folder)
        )
        print(f"{options.pairs:,} pairs, {size / 1e6:,.0f} MB of text")
        print("| stage | seconds | largest memory |")
        print("| --- | ---: | ---: |")
        for name, seconds, peak in measure(Path(folder), options.epochs):
            print(f"| {name} | {seconds:,.0f} | {peak / 1e6:,.0f} MB |")


def measure(folder: Path, epochs: int) -> list[tuple[str, float, int]]:
    """Returns name, seconds and peak memory in bytes of each stage."""
    path = write_recipe(
        folder,
        tokenizer={"vocabulary_size": 4000},
        model={"preset": "tiny"},
        training={"max_tokens": 2048},
    )
    context = multiprocessing.get_context("spawn")
    ends = context.SimpleQueue()
    process = context.Process(target=train, args=(path, epochs, ends))
    samples: list[tuple[float, int]] = []
    start = time.time()
    process.start()
    watcher = threading.Thread(target=watch, args=(process.pid, samples))
    watcher.start()
    process.join()
    watcher.join()
    if process.exitcode:
        raise SystemExit(process.exitcode)
    stages = []
    while not ends.empty():
        name, end = ends.get()
        peak = max(memory for t, memory in samples if start < t <= end)
        stages.append((name, end - start, peak))
        start = end
    return stages


def train(path: Path, epochs: int, ends) -> None:
    """Prepares and trains; says when each stage ended."""
    recipe = read_recipe(str(path))
    prepared = prepare(recipe)
    ends.put(("preparing", time.time()))
    import_tensorflow()
    from training.batches import BatchPlan
    from training.build import compile_model, model_arguments
    from training.dataset import training_dataset

    plan = BatchPlan(prepared.train, recipe.training.max_tokens, recipe.seed)
    steps = plan.count(0)
    arguments = model_arguments(
        recipe, *(t.vocabulary_size for t in prepared.tokenizers)
    )
    model = compile_model(recipe, arguments, steps)
    batches = iter(training_dataset(plan))
    for epoch in range(epochs):
        for step in range(steps):
            inputs, labels = next(batches)
            if step % TRAINED_SHARE == 0:
                model.train_on_batch(inputs, labels)
        ends.put((f"epoch {epoch + 1}", time.time()))


def watch(pid: int, samples: list[tuple[float, int]]) -> None:
    """Adds time and proportional set size of a process and its children."""
    with contextlib.suppress(psutil.Error):
        root = psutil.Process(pid)
        while root.is_running() and root.status() != psutil.STATUS_ZOMBIE:
            memory = 0
            for process in [root, *root.children(recursive=True)]:
                with contextlib.suppress(psutil.Error):
                    memory += process.memory_full_info().pss
            samples.append((time.time(), memory))
            time.sleep(0.5)


if __name__ == "__main__":
    main()
