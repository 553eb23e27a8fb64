"""From a recipe to a compiled model."""

import dataclasses
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from tfxformer import run_folder
from tfxformer.errors import InputError
from tfxformer.lines import MAX_EXTRA_LENGTH
from tfxformer.presets import PRESETS
from training.config import ModelConfig, Recipe
from training.progress import say


def model_arguments(
    recipe: Recipe, source_vocabulary_size: int, target_vocabulary_size: int
) -> dict[str, Any]:
    """Resolves preset and overrides to the arguments of `Transformer`.

    Args:
        recipe: a `Recipe`.
        source_vocabulary_size: int. Pieces of the source's tokenizer.
        target_vocabulary_size: int. Pieces of the target's tokenizer.

    Returns:
        dict of arguments of `Transformer`. If the recipe starts from another
        run, they are those of that run, its vocabulary sizes included, with
        the recipe's dropout rates where it gives some.

    Raises:
        InputError: if separate vocabularies are to share one matrix; or if
            `start_from` is no run, or has learned positions for fewer pieces
            than `data.max_length`.
    """
    if recipe.start_from is not None:
        return _inherited_arguments(recipe)
    config: ModelConfig = recipe.model
    own = dataclasses.asdict(config)
    preset, _ = own.pop("preset"), own.pop("embeddings")
    arguments = {
        **(PRESETS[preset] if preset else {}),
        **{key: value for key, value in own.items() if value is not None},
        "vocabulary_size": target_vocabulary_size,
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
        arguments["encoder_vocabulary_size"] = source_vocabulary_size
    return arguments


def _inherited_arguments(recipe: Recipe) -> dict[str, Any]:
    """The sizes of the run that is gone on from, with other dropout."""
    assert recipe.start_from is not None
    config = run_folder.read_config(Path(recipe.start_from))
    arguments = dict(config["model"])
    for name in ("dropout", "attention_dropout", "activation_dropout"):
        rate = getattr(recipe.model, name)
        if rate is not None:
            arguments[name] = rate
    needed = recipe.data.max_length + MAX_EXTRA_LENGTH
    learned = arguments.get("position_encoding") == "learned"
    if learned and needed > arguments["max_length"]:
        raise InputError(
            f"{recipe.start_from}: learned positions for "
            f"{config['data']['max_length']} pieces. Received: "
            f"data.max_length={recipe.data.max_length}"
        )
    say(f"Going on from {recipe.start_from}: its tokenizer and sizes are used")
    return arguments


def compile_model(
    recipe: Recipe, arguments: dict[str, Any], steps_per_epoch: int
):
    """Builds the model and compiles it with the paper's optimizer.

    Args:
        recipe: a `Recipe`.
        arguments: dict of arguments of `Transformer`.
        steps_per_epoch: int. Updates in an epoch.

    Returns:
        A compiled `TrainingTransformer` whose optimizer is built.

    Raises:
        InputError: if the arguments do not go together, or if the warm-up is
            not shorter than the training.

    Reference:
        Attention Is All You Need, sections 5.3 and 5.4.
    """
    from tfxformer.losses import TokenCrossEntropy
    from training.optimizer import SkippingAdam
    from training.step import TrainingTransformer

    settings = recipe.training
    precision = settings.precision
    policy = precision if precision == "float32" else f"mixed_{precision}"
    try:
        model = TrainingTransformer(**arguments, dtype=policy)
    except ValueError as error:
        raise InputError(f"model: {error}") from None
    freeze(model, settings.frozen)
    optimizer = SkippingAdam(
        learning_rate(recipe, arguments["hidden_dim"], steps_per_epoch),
        scales_loss=precision == "float16",
        beta_2=0.98,
        epsilon=1e-9,
        global_clipnorm=settings.clip_norm,
        use_ema=settings.ema is not None,
        ema_momentum=settings.ema or 0.99,
    )
    model.compile(
        optimizer,
        TokenCrossEntropy(settings.label_smoothing),
        jit_compile=False,  # lengths vary: XLA would compile for each
        auto_scale_loss=False,  # the optimizer does
    )
    optimizer.build(model.trainable_variables)
    return model


def learning_rate(recipe: Recipe, hidden_dim: int, steps_per_epoch: int):
    """The `WarmupSchedule` of a recipe.

    Args:
        recipe: a `Recipe`.
        hidden_dim: int, D. Width of the model; `training.peak_rate` stands in
            for it.
        steps_per_epoch: int. Updates in an epoch; they only matter to a
            linear or cosine decay.

    Returns:
        A `WarmupSchedule`.

    Raises:
        InputError: if, with a linear or cosine decay, the warm-up is not
            shorter than the training.

    Reference:
        Attention Is All You Need, section 5.3.
    """
    from tfxformer.schedule import WarmupSchedule

    settings = recipe.training
    total_steps = None
    if settings.decay != "inverse_square_root":
        total_steps = settings.epochs * steps_per_epoch
    try:
        return WarmupSchedule(
            hidden_dim=None if settings.peak_rate else hidden_dim,
            warmup_steps=settings.warmup_steps,
            factor=settings.factor,
            peak_rate=settings.peak_rate,
            decay=settings.decay,
            total_steps=total_steps,
        )
    except ValueError as error:
        raise InputError(f"training: {error}") from None


def freeze(model, parts: Sequence[str]) -> None:
    """Keeps the weights of parts of a model as they are.

    Args:
        model: a `Transformer`, not compiled.
        parts: list of "embeddings" (with learned positions and the output
            projection), "encoder" and "decoder".
    """
    layers = {
        "embeddings": [
            model.encoder_embedding,
            model.decoder_embedding,
            model.output_projection,
            model.encoder_position,
            model.decoder_position,
        ],
        "encoder": [*model.encoder_blocks, model.encoder_normalization],
        "decoder": [*model.decoder_blocks, model.decoder_normalization],
    }
    for part in parts:
        for layer in layers[part]:
            if layer is not None:
                layer.trainable = False


def start_from(
    model, recipe: Recipe, source_tokenizer, target_tokenizer
) -> None:
    """Fills a new model from another run or from word vectors.

    A recipe with neither leaves the model as it is.

    Args:
        model: a `Transformer`, made with `model_arguments`.
        recipe: a `Recipe`.
        source_tokenizer: the source language's `Tokenizer`.
        target_tokenizer: the target language's `Tokenizer`.

    Raises:
        InputError: if the run cannot be loaded, or if the word vectors are
            damaged or not as wide as the model.
        OSError: if the file of word vectors cannot be read.
    """
    if recipe.start_from is not None:
        run = run_folder.load_run(recipe.start_from)
        model.set_weights(run.model.get_weights())
    elif recipe.model.embeddings is not None:
        start_from_vectors(
            model, recipe.model.embeddings, source_tokenizer, target_tokenizer
        )


def start_from_vectors(model, path, source_tokenizer, target_tokenizer):
    """Fills the embeddings from word vectors and says how many were found.

    Args:
        model: a `Transformer`. Pieces without a vector keep their row.
        path: string. A word2vec text file; see `load_word2vec`.
        source_tokenizer: the source language's `Tokenizer`.
        target_tokenizer: the target language's `Tokenizer`.

    Raises:
        InputError: if the file is damaged, or its vectors are not as wide as
            the model.
        OSError: if it cannot be read.
    """
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
