"""The recipe: dataclasses read from YAML, every key checked."""

import dataclasses
import difflib
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any, Literal

import pydantic
import yaml
from pydantic.dataclasses import dataclass

from tfxformer.errors import InputError

STRICT = pydantic.ConfigDict(extra="forbid")
Positive = Annotated[int, pydantic.Field(gt=0)]
Rate = Annotated[float, pydantic.Field(ge=0, lt=1)]
Above0 = Annotated[float, pydantic.Field(gt=0, allow_inf_nan=False)]


@dataclass(config=STRICT)
class Source:
    """Where parallel text comes from: exactly one of the three forms."""

    source: str | None = None  # text file, one sentence a line, or .gz
    target: str | None = None  # its translations, line by line
    tsv: str | None = None  # source, tab, target in each line, or .gz
    phrasebook: Literal["train", "valid", "test"] | None = None  # embedded

    def __post_init__(self):
        two_files = self.source is not None and self.target is not None
        forms = [two_files, self.tsv is not None, self.phrasebook is not None]
        half = (self.source is None) != (self.target is None)
        if sum(forms) != 1 or half:
            raise ValueError(
                "give either source and target, or tsv, or phrasebook"
            )


@dataclass(config=STRICT)
class DataConfig:
    train: Source
    valid: Source
    folder: str = "."  # file names above are relative to this folder
    max_length: Positive = 128  # pieces on either side; longer pairs drop out
    max_ratio: Above0 = 9.0  # longer side / shorter side, in pieces
    drop_duplicates: bool = True


@dataclass(config=STRICT)
class TokenizerConfig:
    vocabulary_size: Positive = 8000  # for each side, unless shared
    shared: bool = True  # one vocabulary for both languages
    model_type: Literal["unigram", "bpe"] = "unigram"
    normalization: Literal[
        "nmt_nfkc", "nfkc", "nmt_nfkc_cf", "nfkc_cf", "identity"
    ] = "nmt_nfkc"  # stored in tokenizer.model, applied everywhere


@dataclass(config=STRICT)
class ModelConfig:
    """A preset; any other key replaces a size of it."""

    preset: Literal["tiny", "small", "base", "big"] | None = "small"
    num_layers: Positive | None = None  # encoder blocks
    num_decoder_layers: Positive | None = None  # as many as num_layers
    num_heads: Positive | None = None
    hidden_dim: Positive | None = None  # width of the model
    intermediate_dim: Positive | None = None  # width in the feed-forward
    key_dim: Positive | None = None  # hidden_dim / num_heads
    dropout: Rate | None = None  # of embeddings and sublayer outputs
    attention_dropout: Rate = 0.0  # of attention weights
    activation_dropout: Rate = 0.0  # inside the feed-forward networks
    normalize_first: bool = False  # pre-norm instead of post-norm
    activation: Literal["relu", "gelu", "swiglu"] = "relu"
    tie_embeddings: Literal["all", "decoder", "none"] | None = None
    position_encoding: Literal["sinusoidal", "learned"] = "sinusoidal"
    embeddings: str | None = None  # vectors to start from, word2vec text form


@dataclass(config=STRICT)
class TrainingConfig:
    epochs: Positive = 20
    max_tokens: Positive = 4096  # of one batch, per side, padding included
    warmup_steps: Positive = 4000
    factor: Above0 = 1.0  # of the paper's schedule
    peak_rate: Above0 | None = None  # instead of factor: rate after warm-up
    label_smoothing: Rate = 0.1
    average_last: Positive = 5  # weights averaged: those of the last n epochs


@dataclass(config=STRICT)
class Recipe:
    name: Annotated[str, pydantic.Field(pattern=r"^\w[\w.-]*$")]
    data: DataConfig
    tokenizer: TokenizerConfig = dataclasses.field(
        default_factory=TokenizerConfig
    )
    model: ModelConfig = dataclasses.field(default_factory=ModelConfig)
    training: TrainingConfig = dataclasses.field(default_factory=TrainingConfig)
    output: str = "runs"  # the run folder is OUTPUT/NAME
    overwrite: bool = False  # replace a run folder of that name
    seed: Annotated[int, pydantic.Field(ge=0)] = 1


def read_recipe(path: str, assignments: Sequence[str] = ()) -> Recipe:
    """Reads a recipe and applies assignments from the command line.

    Args:
        path: string. A YAML file.
        assignments: sequence of strings `key=value` with dots between the
            levels, such as `training.epochs=3`.

    Returns:
        A `Recipe`.

    Raises:
        InputError: naming the file, the key and what is wrong with it.
    """
    values = _load_yaml(path)
    for assignment in assignments:
        _assign(values, assignment)
    try:
        return pydantic.TypeAdapter(Recipe).validate_python(values)
    except pydantic.ValidationError as error:
        raise InputError(f"{path}: {_explain(error.errors()[0])}") from None


def _load_yaml(path: str) -> dict[str, Any]:
    try:
        text = Path(path).read_text(encoding="utf-8-sig")
        values = yaml.safe_load(text)
    except UnicodeDecodeError as error:
        raise InputError(f"{path}: not UTF-8 at byte {error.start}") from None
    except yaml.YAMLError as error:
        raise InputError(f"{path}: not valid YAML: {error}") from None
    if not isinstance(values, dict):
        raise InputError(f"{path}: a recipe is a mapping of keys to values")
    return values


def _assign(values: dict[str, Any], assignment: str) -> None:
    key, equals, text = assignment.partition("=")
    if not equals or not key:
        raise InputError(f"expected key=value. Received: {assignment!r}")
    *parents, last = key.split(".")
    for parent in parents:
        if not isinstance(values.get(parent), dict):
            values[parent] = {}
        values = values[parent]
    try:
        values[last] = yaml.safe_load(text)
    except yaml.YAMLError:
        values[last] = text


def _explain(error) -> str:
    """One line for one pydantic error."""
    key = ".".join(str(part) for part in error["loc"])
    if error["type"] in ("unexpected_keyword_argument", "extra_forbidden"):
        known = _known_keys(error["loc"][:-1])
        close = difflib.get_close_matches(str(error["loc"][-1]), known, n=1)
        hint = f"did you mean {close[0]}?" if close else f"known: {known}"
        return f"{key}: unknown key; {hint}"
    if error["type"] in ("missing", "missing_argument"):
        return f"{key}: missing"
    message = error["msg"].removeprefix("Value error, ")
    return f"{key}: {message}. Received: {error['input']!r}"


def _known_keys(location) -> list[str]:
    cls: Any = Recipe
    for part in location:
        fields = {field.name: field.type for field in dataclasses.fields(cls)}
        cls = fields.get(part, cls)
    return [field.name for field in dataclasses.fields(cls)]
