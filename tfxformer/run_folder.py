"""The run folder: what training writes and everything else reads.

    config.yaml                the recipe, resolved; `model` are the
                               arguments of `Transformer`
    tokenizer.model            SentencePiece; with separate vocabularies the
                               target's, and tokenizer.source.model
    weights/NAME.weights.h5    best, last, averaged
    checkpoints/               what it takes to go on training
    valid.tsv                  validation pairs, to check exports with
    metrics.jsonl tensorboard/ corpus.json versions.json report.md

Only configuration and arrays are read: nothing in a run is executed.
"""

import re
from pathlib import Path
from typing import Any, NamedTuple

import yaml

from tfxformer.errors import InputError
from tfxformer.tokenizer import Tokenizer

CONFIG = "config.yaml"
TOKENIZER = "tokenizer.model"
SOURCE_TOKENIZER = "tokenizer.source.model"
VALIDATION_PAIRS = "valid.tsv"
WEIGHTS = ("best", "last", "averaged")
NAME = r"^\w[\w.-]*$"  # of a run: a file of that name stays in its folder


class Run(NamedTuple):
    """A trained model with what it takes to use it."""

    model: Any  # a Transformer
    source_tokenizer: Tokenizer
    target_tokenizer: Tokenizer
    config: dict[str, Any]

    @property
    def max_source_length(self) -> int:
        """Most source pieces, `</s>` included, that training has seen."""
        return self.config["data"]["max_length"]


def weights_path(folder: Path, name: str) -> Path:
    """Where a run keeps the weights of that name."""
    return folder / "weights" / f"{name}.weights.h5"


def load_run(folder, weights: str = "best") -> Run:
    """Loads a trained model.

    Args:
        folder: string or path. A run folder.
        weights: "best" (on the validation text), "last" or "averaged".

    Returns:
        A `Run`.

    Raises:
        InputError: if the folder is not a run, or is damaged.
    """
    folder = Path(folder)
    config = read_config(folder)
    tokenizers = load_tokenizers(folder)
    path = weights_path(folder, weights)
    if not path.is_file():
        raise InputError(f"{folder}: no {path.relative_to(folder)} in this run")

    from tensorflow import errors  # only if all is there

    from tfxformer.model import Transformer

    try:
        model = Transformer(**config["model"])
        model.load_weights(path)
        stored, wanted = _count_values(path), model.count_params()
        if stored != wanted:  # Keras says nothing of layers left over
            raise ValueError(f"{stored:,} values for {wanted:,} parameters")
    except (
        TypeError,
        ValueError,
        OSError,
        KeyError,
        errors.OpError,
    ) as error:
        reason = str(error).strip().split("\n")[0]
        raise InputError(
            f"{folder}: no model comes of {CONFIG} and {path.name}, which do "
            f"not fit or are damaged: {reason}"
        ) from None
    return Run(model, *tokenizers, config)


def load_tokenizers(folder: Path) -> tuple[Tokenizer, Tokenizer]:
    """Loads the tokenizers of a run.

    Args:
        folder: path. A run folder.

    Returns:
        Tuple of the source's and the target's `Tokenizer`; the same one if
        the vocabulary is shared.

    Raises:
        InputError: if one is missing or damaged.
    """
    if not (folder / TOKENIZER).is_file():
        raise InputError(f"{folder}: no {TOKENIZER} in this run")
    target_tokenizer = Tokenizer.from_file(folder / TOKENIZER)
    path = folder / SOURCE_TOKENIZER
    if not path.exists():
        return target_tokenizer, target_tokenizer
    return Tokenizer.from_file(path), target_tokenizer


def _count_values(path: Path) -> int:
    """The number of values in all arrays of a weights file."""
    import h5py

    sizes = []
    with h5py.File(path) as file:
        file.visititems(lambda _, item: sizes.append(getattr(item, "size", 0)))
    return sum(sizes)


def read_config(folder: Path) -> dict[str, Any]:
    """Reads `config.yaml` of a run.

    Args:
        folder: path. A run folder.

    Returns:
        dict with at least the keys "name", "model" and "data".

    Raises:
        InputError: if the folder is not a run.
    """
    if not folder.exists():
        raise InputError(f"{folder}: no such file or folder")
    path = folder / CONFIG
    places = ("saved_model.pb", "*/saved_model.pb", "*/*/saved_model.pb")
    exported = not path.is_file() and any(
        any(folder.glob(place)) for place in places
    )
    if exported or folder.is_file():
        raise InputError(
            f"{folder}: an inference export or another file, not a run folder; "
            "give the folder that training wrote"
        )
    if not path.is_file():
        raise InputError(f"{folder}: not a run folder (no {CONFIG} in it)")
    try:
        config = yaml.safe_load(path.read_text(encoding="utf-8"))
        sound = (
            re.search(NAME, config["name"]) is not None
            and isinstance(config["data"]["max_length"], int)
            # Keras would make objects of what is nested.
            and all(
                isinstance(value, str | int | float | None)
                for value in config["model"].values()
            )
        )
    except (
        yaml.YAMLError,
        UnicodeDecodeError,
        AttributeError,
        TypeError,
        KeyError,
    ):
        sound = False
    if not sound:
        raise InputError(f"{path}: not the configuration of a run")
    return config


def saved_model_folder(folder: Path) -> Path:
    """Finds the SavedModel in a folder, its newest version if it has some.

    Args:
        folder: path.

    Returns:
        path of a folder that holds `saved_model.pb`, or `folder`.
    """
    if (folder / "saved_model.pb").exists() or not folder.is_dir():
        return folder
    versions = [
        child
        for child in folder.iterdir()
        if child.name.isdigit() and (child / "saved_model.pb").exists()
    ]
    return max(versions, key=lambda child: int(child.name), default=folder)
