"""Whether an interrupted training can go on, and with what settings."""

import dataclasses
import hashlib
import json
from pathlib import Path
from typing import Any

from tfxformer.errors import InputError
from training.checkpoint import TrainingState, read_checkpoint
from training.config import Recipe
from training.fingerprint import digest_corpus, digest_tokenizers
from training.prepare import Prepared
from training.progress import say

# Settings that another value may replace in the middle of a training.
CHANGEABLE = frozenset(
    f"training.{name}"
    for name in (
        "average_best",
        "average_last",
        "checkpoint_every",
        "clip_norm",
        "decay",
        "deterministic",
        "distribution",
        "epochs",
        "factor",
        "keep_checkpoints",
        "label_smoothing",
        "max_skipped",
        "patience",
        "peak_rate",
        "wait_for_workers",
        "warmup_steps",
    )
)
ELSEWHERE = ("output", "overwrite", "data.folder", "data.prepared")


def find_checkpoint(
    recipe: Recipe, folder: Path, incomplete: Path
) -> tuple[TrainingState, dict[str, Any]] | None:
    """Reads the checkpoint to go on from.

    Args:
        recipe: a `Recipe`.
        folder: path of the run folder.
        incomplete: path of it while it is written.

    Returns:
        Tuple of the `TrainingState` and the arrays; None if there is none.

    Raises:
        InputError: if it was trained with other settings, of those that must
            stay the same, or if a finished run has no whole checkpoint or
            has all its epochs.
    """
    place = next((p for p in (incomplete, folder) if p.exists()), None)
    if place is None:
        say(f"Nothing to resume at {incomplete}: starting from the beginning")
        return None
    found = read_checkpoint(place)
    if found is None:
        if place == folder:
            raise InputError(f"{folder}: no whole checkpoint to resume from")
        say(f"No checkpoint in {place} yet: starting from the beginning")
        return None
    state, arrays = found
    _compare_settings(place, state, recipe)
    epochs = recipe.training.epochs
    patience = recipe.training.patience
    stopped = state.has_stopped(patience)
    if place == folder and (stopped or len(state.records) >= epochs):
        raise InputError(
            f"{folder}: finished after {len(state.records)} epochs; raise "
            "training.epochs, or training.patience, to go on. Received: "
            f"epochs={epochs}, patience={patience}"
        )
    return state, arrays


def _compare_settings(
    place: Path, state: TrainingState, recipe: Recipe
) -> None:
    before = _flatten(state.settings)
    now = _flatten(settings_of(recipe))
    refused = []
    for key in sorted({**before, **now}):
        old, new = before.get(key), now.get(key)
        if old == new or key in ELSEWHERE:
            continue
        if key not in CHANGEABLE:
            refused.append(f"{key}={old} (received: {new})")
        else:
            say(f"From update {state.step + 1:,} on, {key} is {new}, not {old}")
    if refused:
        raise InputError(
            f"{place}: was trained with {', '.join(refused)}; resume with "
            "that, or give another name=..."
        )


def settings_of(recipe: Recipe) -> dict[str, Any]:
    """A recipe as JSON would give it back.

    Args:
        recipe: a `Recipe`.

    Returns:
        dict of dicts, lists, strings, numbers, bools and None.
    """
    return json.loads(json.dumps(dataclasses.asdict(recipe)))


def _flatten(values: Any, prefix: str = "") -> dict[str, Any]:
    if not isinstance(values, dict):
        return {prefix: values}
    flat: dict[str, Any] = {}
    for key, value in values.items():
        flat |= _flatten(value, f"{prefix}.{key}" if prefix else key)
    return flat


def fingerprints(prepared: Prepared) -> dict[str, str]:
    """Hashes of what a training depends on beside its settings.

    Args:
        prepared: `Prepared`.

    Returns:
        dict of strings, of the "tokenizer", the "training text" and the
        "validation text".
    """
    return {
        "tokenizer": digest_tokenizers(prepared.tokenizers),
        "training text": digest_corpus(prepared.train),
        "validation text": digest_corpus(prepared.valid),
    }


def digest_as_int(values: dict[str, str]) -> int:
    """A number that other values do not have, below 2^60.

    Args:
        values: dict of strings.

    Returns:
        int, the same whatever the order of the keys.
    """
    text = json.dumps(values, sort_keys=True).encode()
    return int(hashlib.sha256(text).hexdigest()[:15], 16)


def check_fingerprints(
    place: Path, state: TrainingState, prepared: Prepared
) -> None:
    """Compares the text and the tokenizers with those of a checkpoint.

    Args:
        place: path of the run folder, for the error.
        state: the `TrainingState` of the checkpoint.
        prepared: `Prepared`.

    Raises:
        InputError: naming what has changed.
    """
    now = fingerprints(prepared)
    for what, digest in state.fingerprints.items():
        if now[what] != digest:
            raise InputError(
                f"{place}: the {what} has changed since ({digest}, now "
                f"{now[what]}); bring it back, or give another name=..."
            )
