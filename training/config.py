"""The recipe: dataclasses read from YAML, every key checked."""

import argparse
import dataclasses
import difflib
import os
from collections.abc import Sequence
from dataclasses import fields
from pathlib import Path
from typing import Annotated, Any, Literal, get_args

import pydantic
import yaml
from pydantic.dataclasses import dataclass

from tfxformer.errors import InputError
from tfxformer.run_folder import NAME

STRICT = pydantic.ConfigDict(extra="forbid")
Positive = Annotated[int, pydantic.Field(gt=0)]
Rate = Annotated[float, pydantic.Field(ge=0, lt=1)]
Above0 = Annotated[float, pydantic.Field(gt=0, allow_inf_nan=False)]
AtLeast1 = Annotated[float, pydantic.Field(ge=1, allow_inf_nan=False)]
MaxLength = Annotated[int, pydantic.Field(gt=0, le=65535)]
ServiceAddress = Annotated[str, pydantic.Field(pattern=r"^grpc://[^/:]+:\d+$")]
Weight = Annotated[float, pydantic.Field(gt=0, le=1000)]
FileName = Annotated[str, pydantic.Field(pattern=r"^[^\x00]+$")]
Columns = tuple[Positive, Positive]
Fields = tuple[str, str]
# YAML takes no, which is Norwegian, for false.
Language = Annotated[
    str, pydantic.BeforeValidator(lambda v: "no" if v is False else v)
]
Languages = tuple[Language, Language]
FORMS = ("source", "tsv", "jsonl", "tmx", "tfds", "phrasebook")


# --8<-- [start:recipe]
@dataclass(config=STRICT)
class Source:
    """Parallel text of one of the forms. File names may hold * and ?."""

    # Text, one sentence a line; each file also .gz, .xz or .zst.
    source: FileName | None = None
    target: FileName | None = None  # the translations, line by line
    tsv: FileName | None = None  # a pair in each line, in columns
    columns: Columns | None = None  # of the source and the target: [1, 2]
    jsonl: FileName | None = None  # a JSON object in each line
    fields: Fields | None = None  # of the two, a.b within a: data.languages
    tmx: FileName | None = None  # translation memory, TMX 1.4
    tfds: FileName | None = None  # NAME/CONFIG[:SPLIT], or a TranslateFolder
    phrasebook: Literal["train", "valid", "test"] | None = None  # embedded
    weight: Weight = 1.0  # how often a pair is seen in an epoch; in train

    def __post_init__(self):
        if (self.source is None) != (self.target is None):
            raise ValueError("source and target go together")
        forms = [form for form in FORMS if getattr(self, form) is not None]
        if len(forms) != 1:
            raise ValueError(
                "give one of source and target, tsv, jsonl, tmx, tfds or "
                f"phrasebook ({len(forms)} given)"
            )
        for key, form in (("columns", "tsv"), ("fields", "jsonl")):
            if getattr(self, key) is not None and forms != [form]:
                raise ValueError(f"{key} goes with {form}, not {forms[0]}")
            _check_two(key, getattr(self, key))

    def __str__(self) -> str:
        form = next(form for form in FORMS if getattr(self, form) is not None)
        return f"{form}: {getattr(self, form)}"


def _check_two(key: str, values: tuple | None) -> None:
    if values is not None and values[0] == values[1]:
        raise ValueError(f"{key} of source and target are the same")


def _as_list(value: Any) -> Any:
    if isinstance(value, dict):
        raise ValueError("a list of sources: put [ ] around it")
    return value


Sources = Annotated[
    list[Source],
    pydantic.Field(min_length=1),
    pydantic.BeforeValidator(_as_list),
]


@dataclass(config=STRICT)
class CleaningConfig:
    """What is mended in the text, and which pairs drop out of training."""

    unicode: Literal["NFC", "NFKC", "NFD", "NFKD"] | None = None  # to this form
    unescape: bool = False  # &amp; and the like, of HTML and of Moses
    control_characters: bool = True  # they become spaces
    empty: bool = True  # drop: nothing on a side
    identical: bool = True  # drop: the target is the source
    duplicates: bool = True  # drop: the pair was there before
    overlap: bool = True  # drop: the source is in data.valid or data.test
    script: bool = True  # drop: not the script of data.languages
    max_ratio: AtLeast1 | None = 9.0  # drop: longer / shorter side, in pieces


@dataclass(config=STRICT)
class DataConfig:
    """Parallel text, and which of its pairs are used."""

    train: Sources
    valid: Sources
    test: list[Source] = dataclasses.field(default_factory=list)  # see overlap
    languages: Languages | None = None  # such as [en, es]: source, target
    reverse: bool = False  # translate from the target to the source
    folder: FileName = "."  # file names above are relative to this folder
    prepared: FileName = "prepared"  # folder for the shards of large corpora
    max_length: MaxLength = 128  # pieces on either side; longer pairs drop out
    cleaning: CleaningConfig = dataclasses.field(default_factory=CleaningConfig)

    def __post_init__(self):
        _check_two("languages", self.languages)
        self.folder = os.path.expanduser(self.folder)
        self.prepared = os.path.expanduser(self.prepared)

    @property
    def direction(self) -> tuple[str, str] | None:
        """The languages, from which and to which it is translated."""
        if self.languages is None or not self.reverse:
            return self.languages
        return self.languages[1], self.languages[0]


@dataclass(config=STRICT)
class TokenizerConfig:
    """How text is split into pieces."""

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
    attention_dropout: Rate | None = None  # of attention weights
    activation_dropout: Rate | None = None  # inside the feed-forward networks
    normalize_first: bool = False  # pre-norm instead of post-norm
    activation: Literal["relu", "gelu", "swiglu"] = "relu"
    tie_embeddings: Literal["all", "decoder", "none"] | None = None
    position_encoding: Literal["sinusoidal", "learned"] = "sinusoidal"
    embeddings: str | None = None  # vectors to start from, word2vec text form

    def __post_init__(self):
        sizes = ("num_layers", "num_heads", "hidden_dim", "intermediate_dim")
        missing = [name for name in sizes if getattr(self, name) is None]
        if self.preset is None and missing:
            raise ValueError(f"without a preset give {', '.join(missing)}")


@dataclass(config=STRICT)
class TrainingConfig:
    """How weights are found, measured and kept."""

    epochs: Positive = 20
    steps_per_epoch: Positive | None = None  # updates; by default all text once
    max_tokens: Positive = 4096  # of one batch, per side, padding included
    accumulate: Positive = 1  # batches in one update
    # Devices that share each batch: those of this machine, or of all machines
    # in TF_CONFIG.
    distribution: Literal["mirrored", "multi_worker"] | None = None
    wait_for_workers: Positive = 300  # seconds, until all have started
    # Numbers in matrix products; weights stay float32. bfloat16 is faster
    # where the processor has it, float16 on older accelerators.
    precision: Literal["float32", "bfloat16", "float16"] = "float32"
    deterministic: bool = False  # the same weights in each run, but slower

    warmup_steps: Positive = 4000
    factor: Above0 = 1.0  # of the paper's schedule
    peak_rate: Above0 | None = None  # instead of factor: rate after warm-up
    decay: Literal["inverse_square_root", "linear", "cosine"] = (
        "inverse_square_root"
    )
    clip_norm: Above0 | None = None  # most that the gradient's norm may be
    label_smoothing: Rate = 0.1
    # Another split into pieces each time a sentence is seen, 0: always the
    # best one. For bpe the share of merges left out (BPE-dropout, 0.1 is
    # usual); for unigram the smoothing of the sampled distribution.
    subword_sampling: Rate = 0.0
    # The dispatcher of a tf.data service whose workers make the batches.
    data_service: ServiceAddress | None = None
    frozen: list[Literal["embeddings", "encoder", "decoder"]] = (
        dataclasses.field(default_factory=list)
    )  # weights that stay as they are

    # After each epoch the model is validated; the best is kept.
    best_by: Literal["accuracy", "loss", "bleu", "chrf"] = "accuracy"
    validation_sentences: Positive | None = None  # translated for bleu, chrf
    patience: Positive | None = None  # epochs without a better one, then stop
    ema: Rate | None = None  # validate a moving average, such as 0.999
    average_last: Positive = 5  # weights averaged: those of the last n epochs
    average_best: Positive | None = None  # and those of the best n epochs

    checkpoint_every: Positive = 1000  # updates; and after each epoch
    keep_checkpoints: Positive = 3
    max_skipped: Positive = 10  # updates in a row with an infinite gradient

    def __post_init__(self):
        if self.data_service is not None and self.subword_sampling:
            raise ValueError(
                "subword_sampling cannot be done by a data_service "
                f"({self.subword_sampling}, {self.data_service}); give one"
            )
        if self.data_service is not None and self.distribution is not None:
            raise ValueError(
                "a data_service deals whole batches, which distribution "
                f"shares ({self.data_service}, {self.distribution}); give one"
            )
        if self.peak_rate is not None and self.factor != 1.0:
            raise ValueError(
                "factor scales the paper's rate, not a given peak_rate "
                f"({self.factor}, {self.peak_rate}); give one"
            )
        if len(set(self.frozen)) == 3:
            raise ValueError("frozen: nothing is left to train")


@dataclass(config=STRICT)
class Recipe:
    """All that makes a run."""

    name: Annotated[str, pydantic.Field(pattern=NAME)]
    data: DataConfig
    tokenizer: TokenizerConfig = dataclasses.field(
        default_factory=TokenizerConfig
    )
    model: ModelConfig = dataclasses.field(default_factory=ModelConfig)
    training: TrainingConfig = dataclasses.field(default_factory=TrainingConfig)
    # A run to go on from: its tokenizer, sizes and best weights are taken, and
    # of `tokenizer` and `model` above only the dropout rates.
    start_from: FileName | None = None
    output: FileName = "runs"  # the run folder is OUTPUT/NAME
    overwrite: bool = False  # replace a run folder of that name
    seed: Annotated[int, pydantic.Field(ge=0)] = 1


# --8<-- [end:recipe]


def add_recipe_arguments(parser: argparse.ArgumentParser, example: str) -> None:
    """Adds what `read_recipe` takes to a command.

    Args:
        parser: an `ArgumentParser`.
        example: string. A `key=value`, for the help.
    """
    parser.add_argument("recipe", metavar="RECIPE", help="a YAML file")
    parser.add_argument(
        "assignments",
        metavar="key=value",
        nargs="*",
        help=f"replaces a value of the recipe, as in {example}",
    )


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
    except (yaml.YAMLError, RecursionError) as error:
        raise InputError(f"{path}: not valid YAML: {error}") from None
    if not isinstance(values, dict):
        raise InputError(f"{path}: a recipe is a mapping of keys to values")
    return values


def _assign(values: dict[str, Any], assignment: str) -> None:
    key, equals, text = assignment.partition("=")
    if not equals or not key:
        raise InputError(f"expected key=value. Received: {assignment!r}")
    try:
        value = yaml.safe_load(text)
    except yaml.YAMLError:
        value = text
    *parents, last = key.split(".")
    inner: Any = values
    for parent in parents:
        place = _place(inner, parent, assignment)
        if isinstance(inner, dict) and not isinstance(
            inner.get(place), dict | list
        ):
            inner[place] = {}
        inner = inner[place]
    inner[_place(inner, last, assignment)] = value


def _place(values: Any, key: str, assignment: str) -> Any:
    """The key of a mapping, or the index in a list."""
    if isinstance(values, dict):
        return key
    if isinstance(values, list) and key.isdecimal() and int(key) < len(values):
        return int(key)
    what = f"a list of {len(values)}" if isinstance(values, list) else "a value"
    raise InputError(
        f"{assignment}: there is {what} where {key!r} would be; the entries "
        "of a list are numbered from 0"
    )


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
        if isinstance(part, str):
            types = {field.name: field.type for field in fields(cls)}
            cls = types.get(part, cls)
        while not dataclasses.is_dataclass(cls) and get_args(cls):
            cls = get_args(cls)[0]  # what a list is of
    return [field.name for field in fields(cls)]
