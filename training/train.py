"""From a recipe to a run folder."""

import contextlib
import dataclasses
import json
import platform
import socket
import time
from importlib import metadata
from pathlib import Path
from typing import Any

import yaml

from tfxformer import run_folder
from tfxformer.errors import InputError
from tfxformer.lines import MAX_EXTRA_LENGTH
from tfxformer.presets import PRESETS
from tfxformer.quiet import import_tensorflow
from tfxformer.tokenizer import Tokenizer
from training.claim import LOCK, claim
from training.config import ModelConfig, Recipe
from training.memory import keep_freed_memory
from training.prepare import prepare
from training.progress import say
from training.shards import explain_damage

VALIDATION_PAIRS = 500  # kept in the run folder, to check exports with
VERSIONS = (
    "keras",
    "numpy",
    "sentencepiece",
    "tensorflow",
    "tensorflow-text",
)


def train(recipe: Recipe) -> Path:
    """Trains a model and writes its run folder.

    Args:
        recipe: a `Recipe`.

    Returns:
        Path of the run folder. It appears under its name when it is
        complete; until then it is NAME.incomplete.

    Raises:
        InputError: if data or sizes cannot be used; nothing is left behind.
    """
    start = time.monotonic()
    folder = Path(recipe.output) / recipe.name
    incomplete = folder.with_name(folder.name + ".incomplete")
    _check_free(recipe, folder, incomplete)
    if recipe.training.data_service is not None:
        check_service(recipe.training.data_service)
    with claim(incomplete, folder):
        keep = _train(recipe, incomplete)
    minutes = (time.monotonic() - start) / 60
    say(
        f"Best by validation accuracy: {keep.best} ({keep.best_accuracy:.3f}). "
        f"{minutes:.1f} minutes. Wrote {folder}"
    )
    return folder


def _train(recipe: Recipe, folder: Path):
    """Trains and writes to a folder; returns the `KeepWeights` of it."""
    prepared = prepare(recipe)
    keep_freed_memory()
    tokenizers = prepared.tokenizers
    say(
        "Vocabulary: "
        + " and ".join(
            f"{size:,} pieces"
            for size in dict.fromkeys(t.vocabulary_size for t in tokenizers)
        )
    )
    for report in prepared.reports.values():
        say(str(report))
        for warning in report.warnings():
            say(f"warning: {warning}")

    import_tensorflow()
    import keras

    from tfxformer.metrics import TokenAccuracy
    from training import callbacks, dataset

    keras.utils.set_random_seed(recipe.seed)
    arguments = model_arguments(recipe, *tokenizers)
    accuracy = TokenAccuracy()
    model = compile_model(recipe, arguments, accuracy)
    if recipe.model.embeddings is not None:
        start_from_vectors(model, recipe.model.embeddings, *tokenizers)
    settings = recipe.training
    resampling = None
    if settings.subword_sampling:
        resampling = dataset.Resampling(
            tokenizers, settings.subword_sampling, recipe.data.max_length
        )
    batches, steps_per_epoch = dataset.training_dataset(
        prepared.train,
        settings.max_tokens,
        recipe.seed,
        resampling=resampling,
        service=settings.data_service,
    )
    validation = dataset.validation_dataset(prepared.valid, settings.max_tokens)
    if not steps_per_epoch:
        weights = [source.weight for source in recipe.data.train]
        raise InputError(
            "data.train: no pair is in the first epoch; raise the weights. "
            f"Received: {weights}"
        )
    say(
        f"Training {model.count_params():,} parameters for "
        f"{settings.epochs} epochs of {steps_per_epoch} batches"
    )
    _write_start(folder, recipe, arguments, prepared)
    keep = callbacks.KeepWeights(folder, validation, settings.average_last)
    progress = callbacks.ProgressBar(steps_per_epoch, accuracy)
    with explain_damage(prepared.train), contextlib.closing(progress):
        model.fit(
            batches,
            epochs=settings.epochs,
            steps_per_epoch=steps_per_epoch,
            validation_data=validation,
            verbose=0,
            shuffle=False,
            callbacks=[
                progress,
                callbacks.MetricsLog(folder / "metrics.jsonl"),
                keep,
                keras.callbacks.TensorBoard(
                    folder / "tensorboard", write_graph=False
                ),
            ],
        )
    return keep


def check_service(address: str) -> None:
    """Connects to a data service: `fit` would wait for it without a word.

    Args:
        address: string. grpc://HOST:PORT.

    Raises:
        InputError: if nothing answers there.
    """
    host, port = address.removeprefix("grpc://").split(":")
    try:
        socket.create_connection((host, int(port)), timeout=5).close()
    except (OSError, OverflowError) as error:
        raise InputError(
            f"training.data_service: {address}: no dispatcher answers there "
            f"({error})"
        ) from None


def model_arguments(
    recipe: Recipe, source_tokenizer: Tokenizer, target_tokenizer: Tokenizer
) -> dict[str, Any]:
    """Resolves preset and overrides to the arguments of `Transformer`."""
    config: ModelConfig = recipe.model
    own = dataclasses.asdict(config)
    preset, _ = own.pop("preset"), own.pop("embeddings")
    arguments = {
        **(PRESETS[preset] if preset else {}),
        **{key: value for key, value in own.items() if value is not None},
        "vocabulary_size": target_tokenizer.vocabulary_size,
        "max_length": recipe.data.max_length + MAX_EXTRA_LENGTH,
    }
    if not recipe.tokenizer.shared and config.tie_embeddings == "all":
        raise InputError(
            "model.tie_embeddings: all needs one vocabulary; set "
            "tokenizer.shared=true, or tie decoder or none. "
            "Received: tie_embeddings=all, shared=false"
        )
    arguments.setdefault(
        "tie_embeddings", "all" if recipe.tokenizer.shared else "decoder"
    )
    if not recipe.tokenizer.shared:
        arguments["encoder_vocabulary_size"] = source_tokenizer.vocabulary_size
    return arguments


def compile_model(recipe: Recipe, arguments: dict[str, Any], accuracy):
    """Builds the model and compiles it with the paper's optimizer.

    Args:
        recipe: a `Recipe`.
        arguments: dict of arguments of `Transformer`.
        accuracy: the `TokenAccuracy` to measure with.

    Returns:
        A compiled `Transformer`.

    Reference:
        Attention Is All You Need, sections 5.3 and 5.4.
    """
    import keras

    from tfxformer.losses import TokenCrossEntropy
    from tfxformer.metrics import Perplexity
    from tfxformer.model import Transformer
    from tfxformer.schedule import WarmupSchedule

    try:
        model = Transformer(**arguments)
    except ValueError as error:
        raise InputError(f"model: {error}") from None
    settings = recipe.training
    schedule = WarmupSchedule(
        hidden_dim=None if settings.peak_rate else arguments["hidden_dim"],
        warmup_steps=settings.warmup_steps,
        factor=settings.factor,
        peak_rate=settings.peak_rate,
    )
    model.compile(
        keras.optimizers.Adam(schedule, beta_2=0.98, epsilon=1e-9),
        TokenCrossEntropy(settings.label_smoothing),
        metrics=[accuracy, Perplexity()],
        jit_compile=False,  # lengths vary: XLA would compile for each
    )
    return model


def start_from_vectors(model, path, source_tokenizer, target_tokenizer):
    """Fills the embeddings from word vectors and says how many were found."""
    from tfxformer.embedding import load_word2vec

    sides = {
        id(model.encoder_embedding): (
            model.encoder_embedding,
            source_tokenizer,
        ),
        id(model.decoder_embedding): (
            model.decoder_embedding,
            target_tokenizer,
        ),
    }
    for embedding, tokenizer in sides.values():
        pieces = tokenizer.pieces()
        try:
            matrix, found = load_word2vec(
                path, pieces, embedding.embeddings.numpy()
            )
        except ValueError as error:
            raise InputError(f"model.embeddings: {error}") from None
        embedding.embeddings.assign(matrix)
        say(f"{path}: vectors for {found:,} of {len(pieces):,} pieces")


def _check_free(recipe: Recipe, folder: Path, incomplete: Path) -> None:
    if Path(recipe.output).exists() and not Path(recipe.output).is_dir():
        raise InputError(f"output: {recipe.output} is not a folder")
    for path in (folder, incomplete):
        if path.exists() and not recipe.overwrite:
            what = "is a training that has not ended"
            raise InputError(
                f"{path} {'exists' if path == folder else what}; give another "
                "name=..., or overwrite=true"
            )
        if path.exists():
            try:
                if [child.name for child in path.iterdir()] != [LOCK]:
                    run_folder.read_config(path)
            except InputError:
                raise InputError(
                    f"{path} exists and is no run, so overwrite=true leaves "
                    "it alone; move it, or give another name=..."
                ) from None


def _write_start(folder, recipe, arguments, prepared):
    """Writes everything that is known before the first step."""
    config = {**dataclasses.asdict(recipe), "model": arguments}
    (folder / run_folder.CONFIG).write_text(
        yaml.safe_dump(config, sort_keys=False, allow_unicode=True),
        encoding="utf-8",
    )
    source_tokenizer, target_tokenizer = prepared.tokenizers
    (folder / run_folder.TOKENIZER).write_bytes(target_tokenizer.model_proto)
    if source_tokenizer is not target_tokenizer:
        path = folder / run_folder.SOURCE_TOKENIZER
        path.write_bytes(source_tokenizer.model_proto)
    with open(
        folder / run_folder.VALIDATION_PAIRS, "w", encoding="utf-8", newline=""
    ) as file:
        for source, target in prepared.valid_pairs[:VALIDATION_PAIRS]:
            file.write(f"{source}\t{target}\n")
    report = {k: report.to_json() for k, report in prepared.reports.items()}
    versions = {name: metadata.version(name) for name in VERSIONS}
    versions["python"] = platform.python_version()
    for name, content in (("corpus", report), ("versions", versions)):
        (folder / f"{name}.json").write_text(
            json.dumps(content, indent=2, ensure_ascii=False) + "\n",
            encoding="utf-8",
        )
