"""Files of weights: the last, the best, and averages over epochs."""

import errno
import os
import shutil
from pathlib import Path

import numpy as np

from tfxformer.run_folder import weights_path
from training import checkpoint
from training.checkpoint import TrainingState
from training.config import TrainingConfig
from training.progress import say
from training.validation import Validator

# In a file of HDF5: most that its folders and names take.
BYTES_AROUND_ARRAY = 4096


def judged_weights(model) -> list[np.ndarray]:
    """The weights, or their moving averages where the optimizer has some.

    Args:
        model: a compiled Keras model with a built optimizer.

    Returns:
        list of arrays in the order of `get_weights`.
    """
    optimizer = model.optimizer
    if not optimizer.use_ema:
        return model.get_weights()
    averages = {
        id(variable): average.numpy()
        for variable, average in zip(
            model.trainable_variables,
            optimizer._model_variables_moving_average,
            strict=True,
        )
    }
    return [
        averages[id(v)] if id(v) in averages else v.numpy()
        for v in model.weights
    ]


def epochs_to_average(
    settings: TrainingConfig, state: TrainingState
) -> dict[str, list[int]]:
    """Which epochs, counted from 1, go into each average.

    Args:
        settings: the recipe's `training`.
        state: the `TrainingState`.

    Returns:
        dict of lists by a description of the average.
    """
    numbers = list(range(1, len(state.scores) + 1))
    last = numbers[-settings.average_last :]
    averages = {f"the average of the last {len(last)} epochs": last}
    if settings.average_best:
        by_score = sorted(numbers, key=lambda n: -state.scores[n - 1])
        best = sorted(by_score[: settings.average_best])
        averages[f"the average of the best {len(best)} epochs"] = best
    return averages


def keep_averages(
    validator: Validator,
    state: TrainingState,
    settings: TrainingConfig,
    folder: Path,
) -> None:
    """Writes the better average, and to `best` if nothing is better.

    Args:
        validator: a `Validator`.
        state: the `TrainingState`.
        settings: the recipe's `training`.
        folder: path of the run folder.

    Raises:
        OSError: if a file cannot be read or written.

    Reference:
        Attention Is All You Need, section 6.1 (checkpoint averaging).
    """
    scored = []
    for description, epochs in epochs_to_average(settings, state).items():
        paths = [checkpoint.epoch_path(folder, epoch) for epoch in epochs]
        # A full disk, or another setting when resumed, may have left gaps.
        there = [path for path in paths if path.exists()]
        if not there:
            continue
        if len(there) < len(paths):
            description += f", of which {len(there)} are kept"
        try:
            weights = mean_weights(there)
        except ValueError as error:
            say(f"warning: {description} left out: a file is damaged ({error})")
            continue
        measured = validator.measure(weights)
        scored.append(
            (validator.score(measured), description, measured, weights)
        )
    if not scored:
        say("warning: no weights were kept to be averaged")
        return
    score, description, measured, weights = max(
        scored, key=lambda entry: entry[0]
    )
    path = weights_path(folder, "averaged")
    save_weights(path, weights, validator.model)
    keep_if_best(path, state, score, measured, description)


def keep_if_best(
    path: Path,
    state: TrainingState,
    score: float,
    measured: dict[str, float],
    description: str,
) -> None:
    """Makes a copy of a file of weights the best ones if none was better.

    Args:
        path: path of the file, already written.
        state: the `TrainingState`, which takes note of it.
        score: float, higher is better.
        measured: dict of floats.
        description: string. What the weights are.

    Raises:
        OSError: if it cannot be copied; the best ones before are intact.
    """
    if state.best is not None and score <= state.best:
        return
    best = weights_path(path.parent.parent, "best")
    partial = best.with_name("partial." + best.name)
    try:
        shutil.copyfile(path, partial)
        partial.replace(best)
    finally:
        partial.unlink(missing_ok=True)
    state.best = score
    state.best_from = description
    state.best_measured = measured


def name_arrays(arrays: list[np.ndarray]) -> dict[str, np.ndarray]:
    """Names arrays by their place, so that `mean_weights` finds their order.

    Args:
        arrays: list of arrays, as `get_weights` gives them.

    Returns:
        dict of the arrays by name, from "00000" on.
    """
    return {f"{number:05d}": array for number, array in enumerate(arrays)}


def mean_weights(paths: list[Path]) -> list[np.ndarray]:
    """The mean over files of `write_arrays`, array by array.

    Args:
        paths: list of at least one path, whose arrays are named by
            `name_arrays` and have the same shapes.

    Returns:
        list of float32 arrays, as `set_weights` takes them.

    Raises:
        OSError: if a file cannot be read.
        ValueError: if one is damaged.

    Reference:
        Attention Is All You Need, section 6.1 (checkpoint averaging).
    """
    total: list[np.ndarray] = []
    for path in paths:
        arrays = checkpoint.read_arrays(path)
        weights = [arrays[name] for name in sorted(arrays)]
        if not total:
            total = [array.astype("float64") for array in weights]
        else:
            total = [a + b for a, b in zip(total, weights, strict=True)]
    return [(array / len(paths)).astype("float32") for array in total]


def save_weights(path: Path, weights: list[np.ndarray], model) -> None:
    """Writes weights under a temporary name, reads them back, renames.

    Args:
        path: path that ends in `.weights.h5`.
        weights: list of arrays.
        model: a model without an optimizer, to write and to read with.

    Raises:
        OSError: if there is no room, or if what was written is not what was
            given. What was there before is intact.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    partial = path.with_name("partial." + path.name)
    no_room = OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(partial))
    needed = sum(array.nbytes + BYTES_AROUND_ARRAY for array in weights)
    if shutil.disk_usage(path.parent).free < needed:
        raise no_room  # h5py, once it has begun, fails again and again
    try:
        model.set_weights(weights)
        try:
            model.save_weights(partial)
        except RuntimeError as error:
            if f"errno = {errno.ENOSPC}" in str(error):
                raise no_room from None
            raise
        model.set_weights([np.zeros_like(array) for array in weights])
        model.load_weights(partial)
        for ours, theirs in zip(weights, model.get_weights(), strict=True):
            if not np.array_equal(ours, theirs, equal_nan=True):
                raise OSError(f"{partial}: not what was to be written")
        partial.replace(path)
    finally:
        partial.unlink(missing_ok=True)
