"""How fast is text prepared and read, beside others?

    python -m benchmarks.data SOURCE TARGET

Copies of two aligned files, each line with the number of its copy at the end,
make the corpus. Tables of medians of rounds in which all take turns:

- preparing (reading, cleaning, tokenizing, writing shards, on all cores)
  beside `sentencepiece` alone, which tokenizes the same text from memory with
  the best of 1 and 2 threads;
- reading: batches of the prepared shards, beside the way of the TensorFlow
  tutorial (tokenizing in the graph in each epoch, batches of 64 in the order
  of a shuffle buffer) and a PyTorch DataLoader that tokenizes with
  `sentencepiece` in two processes; with the share of padding, and as a
  multiple of what the `tiny` model trains on. Ours makes a whole epoch,
  the others 2,000 batches, all from the start.
"""

import dataclasses
import itertools
import resource
import shutil
import statistics
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

import numpy as np

from benchmarks.corpus_copies import copies_parser, write_copies, write_recipe
from tfxformer.tokenizer import Tokenizer
from training.config import Recipe, read_recipe
from training.files import read_lines
from training.prepare import prepare

MAX_TOKENS = 4096
PEER_BATCHES = 2000
ROWS = 64  # of a batch of the tutorial and of PyTorch


def main() -> None:
    parser = copies_parser(__doc__, pairs=600_000)
    parser.add_argument("--repeats", type=int, default=5)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write_copies(options.source, options.target, options.pairs, folder)
        lines = [
            list(read_lines(folder / f"train.{side}"))
            for side in ("source", "target")
        ]
        print(f"{options.pairs:,} pairs")
        sample = itertools.chain(*(side[:30_000] for side in lines))
        sentences = list(sample)
        for model_type in ("unigram", "bpe"):
            tokenizer = Tokenizer.train(sentences, 8000, model_type)
            path = write_recipe(
                folder,
                tokenizer={"vocabulary_size": 8000, "model_type": model_type},
            )
            recipe = read_recipe(str(path))
            compare_preparing(recipe, tokenizer, lines, options.repeats)
        corpus = prepare(recipe, (tokenizer, tokenizer)).train
        compare_reading(corpus, tokenizer, lines, folder, options.repeats)


def take_turns(
    jobs: dict[str, Callable[[], object]], repeats: int
) -> dict[str, tuple[float, float]]:
    """Median seconds and processor seconds of each job."""
    times: dict[str, list[tuple[float, float]]] = {name: [] for name in jobs}
    for _ in range(repeats):
        for name, job in jobs.items():
            start, start_cpu = time.perf_counter(), processor_seconds()
            job()
            times[name].append(
                (
                    time.perf_counter() - start,
                    processor_seconds() - start_cpu,
                )
            )
    return {
        name: (
            statistics.median(t for t, _ in some),
            statistics.median(t for _, t in some),
        )
        for name, some in times.items()
    }


def processor_seconds() -> float:
    """Of this process and of the children that have ended."""
    return sum(
        usage.ru_utime + usage.ru_stime
        for usage in map(
            resource.getrusage,
            (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN),
        )
    )


def compare_preparing(
    recipe: Recipe, tokenizer: Tokenizer, lines: list[list[str]], repeats: int
) -> None:
    pairs = len(lines[0])
    processor = tokenizer._processor

    def ours() -> None:
        shutil.rmtree(recipe.data.prepared, ignore_errors=True)
        prepare(recipe, (tokenizer, tokenizer))  # training it is not timed

    def alone(threads: int) -> None:
        for side in lines:
            # In parts, as the ids of all would take gigabytes.
            for start in range(0, len(side), 65536):
                processor.EncodeAsIds(
                    side[start : start + 65536], num_threads=threads
                )

    medians = take_turns(
        {
            "prepare": ours,
            "sentencepiece, 1 thread": lambda: alone(1),
            "sentencepiece, 2 threads": lambda: alone(2),
        },
        repeats,
    )
    best = min(
        medians[f"sentencepiece, {t}"][0] for t in ("1 thread", "2 threads")
    )
    kind = recipe.tokenizer.model_type
    print(f"\n| {kind} | pairs/s | per second of a core | of sentencepiece |")
    print("| --- | ---: | ---: | ---: |")
    for name, (seconds, cpu) in medians.items():
        print(
            f"| {name} | {pairs / seconds:,.0f} | {pairs / cpu:,.0f} "
            f"| {best / seconds:.2f} |"
        )


def compare_reading(
    corpus, tokenizer: Tokenizer, lines: list[list[str]], folder, repeats: int
) -> None:
    import tensorflow as tf

    from training.batches import BatchPlan
    from training.dataset import training_dataset

    plan = BatchPlan(corpus, MAX_TOKENS, seed=1)
    batches, steps = training_dataset(plan), plan.count(0)
    counts: dict[str, tuple[int, int]] = {}

    def count(name: str, some: Iterable, most: int) -> None:
        real = positions = 0
        for source, labels in itertools.islice(some, most):
            for ids in (source, labels):
                array = np.asarray(ids)
                real += np.count_nonzero(array)
                positions += array.size
        counts[name] = (real, positions)

    def flat(some) -> Iterator:
        return ((source, labels) for (source, _), labels in some)

    tutorial = tutorial_dataset(tf, tokenizer, folder)
    loader = torch_loader(tokenizer, lines)
    medians = take_turns(
        {
            "prepared shards": lambda: count(
                "prepared shards", flat(batches), steps
            ),
            "tokenizing in the graph": lambda: count(
                "tokenizing in the graph", tutorial, PEER_BATCHES
            ),
            "PyTorch DataLoader": lambda: count(
                "PyTorch DataLoader", loader, PEER_BATCHES
            ),
        },
        repeats,
    )
    step_rate = tiny_rate(tf, corpus, repeats)
    print("\n| batches of | tokens/s | of what tiny trains | padding |")
    print("| --- | ---: | ---: | ---: |")
    for name, (seconds, _) in medians.items():
        real, positions = counts[name]
        print(
            f"| {name} | {real / seconds:,.0f} "
            f"| {real / seconds / step_rate:.1f} "
            f"| {1 - real / positions:.1%} |"
        )
    print(f"\ntiny trains on {step_rate:,.0f} tokens/s, source and target")


def tutorial_dataset(tf, tokenizer: Tokenizer, folder: Path):
    """The way of the tutorial: text to batches in the graph, each epoch."""
    split = tokenizer.in_graph()
    text = tf.data.Dataset.zip(
        tuple(
            tf.data.TextLineDataset(str(folder / f"train.{side}"))
            for side in ("source", "target")
        )
    )
    return (
        text.shuffle(20_000)
        .batch(ROWS)
        .map(
            lambda *sides: tuple(split.tokenize(s).to_tensor() for s in sides),
            num_parallel_calls=tf.data.AUTOTUNE,
        )
        .prefetch(tf.data.AUTOTUNE)
    )


class Text:
    """Pairs of sentences."""

    def __init__(self, lines: list[list[str]]):
        self.lines = lines

    def __len__(self) -> int:
        return len(self.lines[0])

    def __getitem__(self, row: int) -> tuple[str, ...]:
        return tuple(side[row] for side in self.lines)


@dataclasses.dataclass
class Collate:
    """Tokenizes and pads a batch."""

    tokenizer: Tokenizer

    def __call__(self, rows: list[tuple[str, ...]]):
        import torch

        return tuple(
            torch.nn.utils.rnn.pad_sequence(
                [
                    torch.tensor(ids)
                    for ids in self.tokenizer.tokenize(list(side))
                ],
                batch_first=True,
            )
            for side in zip(*rows, strict=True)
        )


def torch_loader(tokenizer: Tokenizer, lines: list[list[str]]):
    import torch  # not above: the processes of `prepare` would load it too

    return torch.utils.data.DataLoader(
        Text(lines),
        batch_size=ROWS,
        shuffle=True,
        num_workers=2,
        collate_fn=Collate(tokenizer),
    )


def tiny_rate(tf, corpus, repeats: int) -> float:
    """Tokens of source and target that `tiny` trains on in a second."""
    import keras

    from tfxformer import TokenCrossEntropy, Transformer
    from training.batches import BatchPlan
    from training.dataset import training_dataset

    model = Transformer.from_preset("tiny", vocabulary_size=8000)
    model.compile(
        keras.optimizers.Adam(), TokenCrossEntropy(), jit_compile=False
    )
    batches = training_dataset(BatchPlan(corpus, MAX_TOKENS, seed=2))
    some = list(batches.take(10))
    tokens = sum(
        int(tf.math.count_nonzero(ids))
        for (source, _), labels in some
        for ids in (source, labels)
    )

    def train() -> None:
        for inputs, labels in some:
            model.train_on_batch(inputs, labels)

    train()  # compiles
    return tokens / take_turns({"tiny": train}, repeats)["tiny"][0]


if __name__ == "__main__":
    main()
