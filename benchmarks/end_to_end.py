"""What share of the speed of its bare step does a whole training keep?

    python -m benchmarks.end_to_end RECIPE [KEY=VALUE ...]

In turns: `fit` as `python -m training` calls it, with the batches made while
it goes on, the progress bar and a checkpoint in each turn; and the same step on
the same batches, all of them made before. The table has medians of seconds of a
turn; validation, which a recipe may ask for after each epoch, is left out.
"""

import argparse
import itertools
import statistics
import tempfile
import time
from pathlib import Path

from tfxformer.quiet import import_tensorflow
from training.config import add_recipe_arguments, read_recipe
from training.memory import keep_freed_memory
from training.prepare import prepare


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    add_recipe_arguments(parser, "data.folder=multi30k")
    parser.add_argument("--updates", type=int, default=100, help="of a turn")
    parser.add_argument("--repeats", type=int, default=5)
    options = parser.parse_args()
    recipe = read_recipe(options.recipe, options.assignments)
    prepared = prepare(recipe)
    import_tensorflow()
    keep_freed_memory()
    with tempfile.TemporaryDirectory() as folder:
        whole, bare = make_turns(recipe, prepared, Path(folder), options)
        seconds = measure({"whole": whole, "bare": bare}, options.repeats)
    medians = {name: statistics.median(some) for name, some in seconds.items()}
    share = medians["bare"] / medians["whole"]
    print(f"{recipe.name}, {options.updates} updates, {options.repeats} turns")
    print("\n| | seconds | of the speed of the bare step |")
    print("| --- | ---: | ---: |")
    print(f"| bare step | {medians['bare']:.2f} | 100% |")
    print(f"| whole training | {medians['whole']:.2f} | {share:.1%} |")


def make_turns(recipe, prepared, folder: Path, options):
    """Two functions that make the same updates: from the text, and bare."""
    import tensorflow as tf

    from training import callbacks
    from training.batches import BatchPlan
    from training.build import compile_model, model_arguments
    from training.checkpoint import TrainingState
    from training.dataset import training_dataset

    sizes = [tokenizer.vocabulary_size for tokenizer in prepared.tokenizers]
    arguments = model_arguments(recipe, *sizes)
    plan = BatchPlan(prepared.train, recipe.training.max_tokens, recipe.seed)
    model = compile_model(recipe, arguments, plan.count(0))
    dataset = training_dataset(plan)
    batches = list(itertools.islice(dataset, options.updates))
    step = tf.function(model.train_step, input_signature=[dataset.element_spec])

    def whole():
        state = TrainingState()
        progress = callbacks.ProgressBar(options.updates, 1, state)
        model.fit(
            dataset,
            steps_per_epoch=options.updates,
            verbose=0,
            shuffle=False,
            callbacks=[
                progress,
                callbacks.Checkpoints(
                    state, recipe.training, options.updates, folder
                ),
            ],
        )
        progress.close()

    def bare():
        for batch in batches:
            step(batch)
        model.optimizer.iterations.numpy()

    return whole, bare


def measure(turns, repeats: int) -> dict[str, list[float]]:
    """Seconds of each turn, after one that is not counted."""
    seconds: dict[str, list[float]] = {name: [] for name in turns}
    for repeat in range(repeats + 1):
        for name, turn in turns.items():
            start = time.perf_counter()
            turn()
            if repeat:
                seconds[name].append(time.perf_counter() - start)
    return seconds


if __name__ == "__main__":
    main()
