"""Checkpoints: all that a training is, in one file each.

    checkpoints/step-00001000.npz     weights, optimizer slots, states of the
                                      random generators, and how far it was
    checkpoints/epoch-00003.npz       weights alone, for averages

Arrays and JSON only: nothing in them is executed. A file appears under its
name when all of it is on the disk.
"""

import contextlib
import dataclasses
import json
import os
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from tfxformer.errors import InputError
from training.progress import say

FOLDER = "checkpoints"
STATE = "state"  # name of the JSON among the arrays


@dataclasses.dataclass
class TrainingState:
    """What a training knows beside its arrays.

    Attributes:
        step: int. Updates so far, those that were skipped included.
        seconds: float. Time so far, validation included.
        cpu_seconds: float. Processor time so far, in seconds.
        tokens: int. Target tokens so far, `</s>` included.
        records: list of dicts, one for each epoch: the lines of
            `metrics.jsonl`.
        scores: list of floats, one for each epoch. Higher is better.
        best: float, or None. Score of the weights called best.
        best_from: string. What those are, such as "epoch 3".
        best_measured: dict of floats. What was measured with those.
        settings: dict. The recipe, as `settings_of` gives it.
        fingerprints: dict of strings, as `training.resume.fingerprints` gives
            them.
    """

    step: int = 0
    seconds: float = 0.0
    cpu_seconds: float = 0.0
    tokens: int = 0
    records: list[dict[str, Any]] = dataclasses.field(default_factory=list)
    scores: list[float] = dataclasses.field(default_factory=list)
    best: float | None = None
    best_from: str = ""
    best_measured: dict[str, float] = dataclasses.field(default_factory=dict)
    settings: dict[str, Any] = dataclasses.field(default_factory=dict)
    fingerprints: dict[str, str] = dataclasses.field(default_factory=dict)

    def has_stopped(self, patience: int | None) -> bool:
        """Whether so many epochs have gone by without a better one.

        Args:
            patience: int, or None: it never stops.

        Returns:
            bool.
        """
        if patience is None or not self.scores:
            return False
        best = self.scores.index(max(self.scores))
        return len(self.scores) - 1 - best >= patience


def write_arrays(path: Path, arrays: Mapping[str, np.ndarray]) -> None:
    """Writes arrays under a temporary name and renames the file.

    Args:
        path: path ending in `.npz`. Its folder is made.
        arrays: mapping of arrays by name.

    Raises:
        OSError: if it cannot be written; nothing is left of it.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    partial = path.with_name("partial." + path.name)
    try:
        with open(partial, "wb") as file:
            np.savez(file, allow_pickle=False, **arrays)
            file.flush()
            os.fsync(file.fileno())
        partial.replace(path)
    except BaseException:
        with contextlib.suppress(OSError):
            partial.unlink()
        raise


def read_arrays(path: Path) -> dict[str, np.ndarray]:
    """Reads what `write_arrays` wrote.

    Args:
        path: path of the file.

    Returns:
        dict of arrays by name.

    Raises:
        OSError: if the file cannot be read.
        ValueError: if it is damaged.
    """
    try:
        with (
            open(path, "rb") as file,
            np.load(file, allow_pickle=False) as archive,
        ):
            return {name: archive[name] for name in archive.files}
    except (zipfile.BadZipFile, EOFError, KeyError) as error:
        raise ValueError(str(error) or "cut off") from None


def write_checkpoint(
    folder: Path,
    state: TrainingState,
    arrays: Mapping[str, np.ndarray],
    keep: int,
) -> None:
    """Writes a checkpoint and removes the oldest ones.

    Args:
        folder: path of the run folder.
        state: a `TrainingState`.
        arrays: mapping of arrays by name.
        keep: int. Number of checkpoints to keep.

    Raises:
        OSError: if it cannot be written; those before it are intact.
    """
    text = json.dumps(dataclasses.asdict(state)).encode()
    path = folder / FOLDER / f"step-{state.step:08d}.npz"
    content = {**arrays, STATE: np.frombuffer(text, np.uint8)}
    write_arrays(path, content)
    for old in checkpoint_paths(folder)[keep:]:
        old.unlink()


def checkpoint_paths(folder: Path) -> list[Path]:
    """Finds the checkpoints of a run folder.

    Args:
        folder: path of the run folder.

    Returns:
        list of paths, the newest first; empty if there are none.
    """
    return sorted((folder / FOLDER).glob("step-*.npz"), reverse=True)


def read_checkpoint(
    folder: Path,
) -> tuple[TrainingState, dict[str, np.ndarray]] | None:
    """Reads the newest checkpoint that is whole.

    Args:
        folder: path of the run folder.

    Returns:
        Tuple of the state and the arrays; None if there is no checkpoint.
        Damaged ones are left out, with a line about each.
    """
    for path in checkpoint_paths(folder):
        try:
            arrays = read_arrays(path)
            values = json.loads(arrays.pop(STATE).tobytes())
            return TrainingState(**values), arrays
        except (OSError, ValueError, KeyError, TypeError) as error:
            say(f"warning: {path}: damaged ({error}); trying the one before")
    return None


def rewrite_state(folder: Path, state: TrainingState) -> None:
    """Writes the newest checkpoint again, with what has become of its state.

    Where it is not of the same step, nothing is written.

    Args:
        folder: path of the run folder.
        state: the `TrainingState`.

    Raises:
        OSError: if it cannot be written; what was there is intact.
    """
    paths = checkpoint_paths(folder)
    found = read_checkpoint(folder)
    if found is not None and found[0].step == state.step:
        write_checkpoint(folder, state, found[1], keep=len(paths))


def epoch_path(folder: Path, epoch: int) -> Path:
    """Where the weights at the end of an epoch are kept.

    Args:
        folder: path of the run folder.
        epoch: int. Number of the epoch, from 1.

    Returns:
        path of a file of `write_arrays`.
    """
    return folder / FOLDER / f"epoch-{epoch:05d}.npz"


def capture(model) -> dict[str, np.ndarray]:
    """Copies every variable of a model, its optimizer and its metrics.

    Args:
        model: a compiled Keras model with a built optimizer.

    Returns:
        dict of arrays by name.
    """
    return {
        name: np.array(variable.numpy())
        for name, variable in _variables(model).items()
    }


def restore(model, arrays: Mapping[str, np.ndarray]) -> None:
    """Puts back what `capture` copied.

    Args:
        model: a compiled Keras model with a built optimizer.
        arrays: mapping of arrays by name.

    Raises:
        InputError: if the model has other variables.
    """
    variables = _variables(model)
    shapes = {name: tuple(v.shape) for name, v in variables.items()}
    stored = {name: array.shape for name, array in arrays.items()}
    if shapes != stored:
        wrong = next(
            name
            for name in {**shapes, **stored}
            if shapes.get(name) != stored.get(name)
        )
        raise InputError(
            f"the checkpoint is of another model: {wrong} has the shape "
            f"{stored.get(wrong)} there, {shapes.get(wrong)} in the model"
        )
    for name, variable in variables.items():
        variable.assign(arrays[name])


def restore_metrics(model, arrays: Mapping[str, np.ndarray]) -> None:
    """Puts back what the metrics had counted, and nothing else.

    Args:
        model: a compiled Keras model with a built optimizer.
        arrays: mapping of arrays by name, as `capture` gave it for such a
            model.
    """
    for name, variable in _variables(model).items():
        if name.startswith("metrics."):
            variable.assign(arrays[name])


def _variables(model) -> dict[str, Any]:
    groups = {
        "model": model.variables,  # with the states of dropout's generators
        "optimizer": model.optimizer.variables,
        "metrics": model.metrics_variables,
    }
    return {
        f"{group}.{number}": variable
        for group, variables in groups.items()
        for number, variable in enumerate(variables)
    }
