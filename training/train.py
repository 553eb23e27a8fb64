"""From a recipe to a run folder."""

import contextlib
import dataclasses
import errno
import hashlib
import json
import platform
import socket
from collections.abc import Iterator
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING

import yaml

from tfxformer import run_folder
from tfxformer.errors import InputError
from tfxformer.quiet import import_tensorflow
from tfxformer.run_folder import load_tokenizers
from training.build import compile_model, model_arguments, start_from
from training.checkpoint import (
    TrainingState,
    checkpoint_paths,
    restore,
    rewrite_state,
)
from training.claim import LOCK, claim
from training.config import Recipe
from training.memory import keep_freed_memory
from training.prepare import Prepared, prepare
from training.progress import duration, loud_if_disk_is_full, say
from training.resampling import Resampling
from training.resume import (
    check_fingerprints,
    digest_as_int,
    find_checkpoint,
    fingerprints,
    settings_of,
)
from training.run_report import write_report
from training.shards import explain_damage

if TYPE_CHECKING:
    from training.batches import BatchPlan
    from training.distribution import Replicas

VALIDATION_PAIRS = 500  # kept in the run folder, to check exports with
VERSIONS = (
    "keras",
    "numpy",
    "sentencepiece",
    "tensorflow",
    "tensorflow-text",
)


def train(recipe: Recipe, resume: bool = False) -> Path:
    """Trains a model and writes its run folder.

    Args:
        recipe: a `Recipe`.
        resume: bool. Go on from the last checkpoint of a run of this name,
            if there is one.

    Returns:
        Path of the run folder. It appears under its name when it is
        complete; until then it is NAME.incomplete.

    Raises:
        InputError: if data or sizes cannot be used; nothing is left behind.
            Also where the training cannot go on; then its checkpoints stay.
        KeyboardInterrupt, SystemExit: on SIGINT and on SIGTERM while updates
            are made, after a checkpoint if there is one worker only.
    """
    folder = Path(recipe.output) / recipe.name
    incomplete = folder.with_name(folder.name + ".incomplete")
    found = find_checkpoint(recipe, folder, incomplete) if resume else None
    if found is None:
        _check_free(recipe, folder, incomplete, resume)
    settings = recipe.training
    if settings.data_service is not None:
        check_service(settings.data_service)
    import_tensorflow()
    from training.distribution import Replicas

    if settings.deterministic:
        import tensorflow as tf

        tf.config.experimental.enable_op_determinism()
    replicas = Replicas(settings)  # before anything else of TensorFlow
    if not replicas.is_chief:
        _train(recipe, incomplete, replicas, found)
        return folder
    resumes = found is not None
    with (
        _explain_full_disk(incomplete),
        _reopened(folder, incomplete, resumes),
        claim(incomplete, folder, resumes),
    ):
        state = _train(recipe, incomplete, replicas, found)
    say(
        f"Best by validation {settings.best_by}: {state.best_from} "
        f"({state.best_measured[settings.best_by]:.4g}). "
        f"{duration(state.seconds)}. Wrote {folder}"
    )
    return folder


@contextlib.contextmanager
def _explain_full_disk(folder: Path) -> Iterator[None]:
    """Says how to go on where a file was written that cannot be left out."""
    try:
        yield
    except OSError as error:
        if error.errno not in (errno.ENOSPC, errno.EDQUOT):
            raise
        raise InputError(
            f"{error.filename or folder}: the disk is full; free some space, "
            "and go on with --resume"
        ) from None


@contextlib.contextmanager
def _reopened(folder: Path, incomplete: Path, resume: bool) -> Iterator[None]:
    """Lets a finished run go on, or stay as it was if nothing comes of it."""
    if not resume or incomplete.exists():
        yield
        return
    before = checkpoint_paths(folder)
    folder.rename(incomplete)
    try:
        yield
    except BaseException:
        names = [path.name for path in checkpoint_paths(incomplete)]
        if names == [path.name for path in before]:
            (incomplete / LOCK).unlink(missing_ok=True)
            incomplete.rename(folder)
        raise


def _train(
    recipe: Recipe, folder: Path, replicas: "Replicas", found
) -> TrainingState:
    """Trains and writes to a folder."""
    import keras

    from training import callbacks, dataset
    from training.validation import Validator
    from training.weights import keep_averages

    settings = recipe.training
    prepared = prepare(recipe, found and load_tokenizers(folder))
    keep_freed_memory()
    _say_what_was_read(prepared)
    state, arrays = found or (TrainingState(), None)
    if found:
        check_fingerprints(folder, state, prepared)
    state.settings = settings_of(recipe)
    state.fingerprints = fingerprints(prepared)
    replicas.check_equal(state.step, "the checkpoint to resume from")
    replicas.check_equal(digest_as_int(state.fingerprints), "the text")

    plan, steps_per_epoch = _plan(recipe, prepared)
    keras.utils.set_random_seed(recipe.seed)
    arguments = model_arguments(
        recipe, *(t.vocabulary_size for t in prepared.tokenizers)
    )
    with replicas.scope():
        model = compile_model(recipe, arguments, steps_per_epoch)
        if arrays is None:
            start_from(model, recipe, *prepared.tokenizers)
        else:
            restore(model, arrays)
    validator = Validator(recipe, arguments, prepared)
    writes = folder if replicas.is_chief else None
    if writes:
        _write_start(folder, recipe, arguments, prepared)
    resampling = None
    if settings.subword_sampling:
        resampling = Resampling(
            prepared.tokenizers,
            settings.subword_sampling,
            recipe.data.max_length,
        )

    def part(replica, num_replicas):
        return dataset.training_dataset(
            plan,
            state.step,
            replica,
            num_replicas,
            settings.accumulate,
            resampling,
            settings.data_service,
        )

    checkpoints = callbacks.Checkpoints(
        state,
        settings,
        steps_per_epoch,
        writes,
        replicas.num_workers == 1,
        arrays,
    )
    progress = callbacks.ProgressBar(steps_per_epoch, settings.epochs, state)
    around = [
        callbacks.Validation(validator, state, settings, writes),
        *([progress] if writes else []),
        callbacks.MetricsLog(writes, state, checkpoints.count_time),
        *(
            [callbacks.TensorBoardLog(folder / "tensorboard", validator)]
            if writes
            else []
        ),
        checkpoints,
    ]
    say(
        f"Training {model.count_params():,} parameters for "
        f"{settings.epochs} epochs of {steps_per_epoch:,} updates"
        + (f", {replicas.count} replicas" if replicas.count > 1 else "")
        + (f", from update {state.step + 1:,} on" if state.step else "")
    )
    with (
        replicas.explain_loss(),
        explain_damage(prepared.train),
        contextlib.closing(progress),
        checkpoints.heed_signals(),
    ):
        while len(state.records) < settings.epochs and not state.has_stopped(
            settings.patience
        ):
            # The rest of an epoch that was interrupted, then all others.
            epoch, done = divmod(state.step, steps_per_epoch)
            model.fit(
                replicas.distribute(part),
                initial_epoch=epoch,
                epochs=epoch + 1 if done else settings.epochs,
                steps_per_epoch=steps_per_epoch - done,
                verbose=0,
                shuffle=False,
                callbacks=around,
            )
    replicas.check_equal(digest_weights(model), "the weights at the end")
    if writes:
        keep_averages(validator, state, settings, folder)
        with loud_if_disk_is_full("a checkpoint"):
            rewrite_state(folder, state)  # with what is best now
        write_report(folder, recipe, arguments, state, prepared)
    return state


def _plan(recipe: Recipe, prepared: Prepared) -> tuple["BatchPlan", int]:
    """The batches of each epoch, and the number of updates of an epoch."""
    from training.batches import BatchPlan

    settings = recipe.training
    plan = BatchPlan(prepared.train, settings.max_tokens, recipe.seed)
    batches = plan.count(0)
    if not batches:
        weights = [source.weight for source in recipe.data.train]
        raise InputError(
            "data.train: no pair is in the first epoch; raise the weights. "
            f"Received: {weights}"
        )
    steps_per_epoch = settings.steps_per_epoch or -(
        -batches // settings.accumulate
    )
    return plan, steps_per_epoch


def digest_weights(model) -> int:
    """A number that other weights do not have, below 2^60.

    Args:
        model: a Keras model.

    Returns:
        int.
    """
    digest = hashlib.sha256()
    for array in model.get_weights():
        digest.update(array.tobytes())
    return int(digest.hexdigest()[:15], 16)


def _say_what_was_read(prepared: Prepared) -> None:
    sizes = dict.fromkeys(t.vocabulary_size for t in prepared.tokenizers)
    say("Vocabulary: " + " and ".join(f"{size:,} pieces" for size in sizes))
    for report in prepared.reports.values():
        say(str(report))
        for warning in report.warnings():
            say(f"warning: {warning}")


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


def _check_free(
    recipe: Recipe, folder: Path, incomplete: Path, resume: bool
) -> None:
    if Path(recipe.output).exists() and not Path(recipe.output).is_dir():
        raise InputError(f"output: {recipe.output} is not a folder")
    for path in (folder, incomplete):
        begins_anew = resume and path == incomplete  # it has no checkpoint
        if path.exists() and not recipe.overwrite and not begins_anew:
            what = "is a training that has not ended"
            raise InputError(
                f"{path} {'exists' if path == folder else what}; go on with "
                "--resume, or give another name=..., or overwrite=true"
            )
        if path.exists():
            try:
                if [child.name for child in path.iterdir()] != [LOCK]:
                    run_folder.read_config(path)
            except InputError:
                raise InputError(
                    f"{path} exists and is no run, so it is left alone; move "
                    "it, or give another name=..."
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
