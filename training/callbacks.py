"""What happens around `fit`: progress, records, weights, checkpoints."""

import contextlib
import json
import math
import signal
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import keras
import numpy as np
import tensorflow as tf
from tqdm import tqdm

from tfxformer.errors import InputError
from tfxformer.run_folder import weights_path
from training import checkpoint
from training.checkpoint import TrainingState
from training.config import TrainingConfig
from training.progress import (
    duration,
    loud_if_disk_is_full,
    say,
    update_interval,
)
from training.validation import Validator
from training.weights import (
    epochs_to_average,
    judged_weights,
    keep_if_best,
    name_arrays,
    save_weights,
)


class ProgressBar(keras.callbacks.Callback):
    """One bar per epoch: loss, accuracy, tokens per second, rate, time left.

    Tokens are real target tokens.

    Args:
        steps_per_epoch: int. Updates in an epoch.
        epochs: int. Of the whole training.
        state: the `TrainingState`.
    """

    def __init__(self, steps_per_epoch: int, epochs: int, state: TrainingState):
        super().__init__()
        self.steps_per_epoch = steps_per_epoch
        self.epochs = epochs
        self.state = state
        self.bar = None
        self.begin = None

    def on_epoch_begin(self, epoch, logs=None):
        now = time.monotonic()
        first = self.state.step % self.steps_per_epoch
        if self.begin is None:
            self.begin, self.first_step = now, self.state.step
        self.start, self.seconds = now, 0.0
        self.tokens_before = int(self.model.tokens_seen.numpy())
        left = ""
        done = self.state.step - self.first_step
        if done >= self.steps_per_epoch:
            steps = self.epochs * self.steps_per_epoch - self.state.step
            left = f", {duration((now - self.begin) / done * steps)} left"
        width = len(str(self.epochs))
        self.bar = tqdm(
            total=self.steps_per_epoch,
            initial=first,
            desc=f"epoch {epoch + 1:>{width}}/{self.epochs}{left}",
            unit="batch",
            mininterval=update_interval(),
            miniters=1,
            dynamic_ncols=True,
            bar_format="{desc} {percentage:3.0f}%|{bar:12}| "
            "{elapsed}<{remaining} {postfix}",
        )

    def on_train_batch_end(self, batch, logs=None):
        self.seconds = time.monotonic() - self.start
        # Reading the metrics waits for the step: only when a line is due.
        if time.time() - self.bar.last_print_t >= self.bar.mininterval:
            self.bar.set_postfix_str(self._describe(logs), refresh=False)
        self.bar.update()

    def on_epoch_end(self, epoch, logs=None):
        postfix = self._describe(logs) + " | validation:"
        for name, value in logs.items():
            if name.startswith("val_") and name != "val_perplexity":
                postfix += f" {name.removeprefix('val_')} {value:.4g}"
        self.bar.set_postfix_str(postfix, refresh=False)
        self.bar.close()

    def close(self):
        """Ends the bar of an epoch that did not end."""
        if self.bar is not None:
            self.bar.close()

    def _describe(self, logs):
        optimizer = self.model.optimizer
        tokens = int(self.model.tokens_seen.numpy()) - self.tokens_before
        return (
            f"loss {float(logs['loss']):.3f} "
            f"accuracy {float(logs['accuracy']):.3f} "
            f"{tokens / self.seconds:,.0f} tokens/s "
            f"rate {float(optimizer.learning_rate):.2e}"
        )


class Validation(keras.callbacks.Callback):
    """Measures the weights of each epoch, keeps them, and ends in time.

    Adds what is measured to the logs as `val_...`. Of every epoch that an
    average may need, the weights are kept among the checkpoints.

    Args:
        validator: a `Validator`.
        state: the `TrainingState`.
        settings: the recipe's `training`.
        folder: path of the run folder; None: another worker writes.
    """

    def __init__(
        self,
        validator: Validator,
        state: TrainingState,
        settings: TrainingConfig,
        folder: Path | None,
    ):
        super().__init__()
        self.validator = validator
        self.state = state
        self.settings = settings
        self.folder = folder

    def on_epoch_end(self, epoch, logs=None):
        weights = judged_weights(self.model)
        measured = self.validator.measure(weights)
        logs.update({f"val_{name}": x for name, x in measured.items()})
        warm = self.state.step > self.settings.warmup_steps
        if warm and logs["loss"] > math.log(self.validator.vocabulary_size):
            say(
                f"warning: a loss of {logs['loss']:.2f} is worse than guessing "
                "among all pieces; is the learning rate too high?"
            )
        score = self.validator.score(measured)
        self.state.scores.append(score)
        if self.folder is not None:
            with loud_if_disk_is_full("the weights"):
                path = weights_path(self.folder, "last")
                save_weights(path, weights, self.validator.model)
                keep_if_best(
                    path, self.state, score, measured, f"epoch {epoch + 1}"
                )
                self._keep_for_averages(epoch + 1, weights)
        if self.state.has_stopped(self.settings.patience):
            self.model.stop_training = True

    def _keep_for_averages(self, epoch, weights):
        path = checkpoint.epoch_path(self.folder, epoch)
        checkpoint.write_arrays(path, name_arrays(weights))
        needed = {
            checkpoint.epoch_path(self.folder, number).name
            for numbers in epochs_to_average(self.settings, self.state).values()
            for number in numbers
        }
        for old in path.parent.glob("epoch-*.npz"):
            if old.name not in needed:
                old.unlink()


class MetricsLog(keras.callbacks.Callback):
    """A line of JSON per epoch in `metrics.jsonl`.

    Args:
        folder: path of the run folder; None: another worker writes.
        state: the `TrainingState`, whose records they are.
        count_time: function that brings the time of the state up to date.
    """

    def __init__(
        self,
        folder: Path | None,
        state: TrainingState,
        count_time: Callable[[], None],
    ):
        super().__init__()
        self.folder = folder
        self.state = state
        self.count_time = count_time

    def on_epoch_end(self, epoch, logs=None):
        self.count_time()
        self.state.records.append(
            {
                "epoch": epoch + 1,
                "step": int(self.model.optimizer.iterations.numpy()),
                "seconds": round(self.state.seconds, 1),
                "learning_rate": float(self.model.optimizer.learning_rate),
                **{name: float(value) for name, value in logs.items()},
            }
        )
        if self.folder is None:
            return
        # All of them: an interrupted training may have gone further.
        lines = [json.dumps(record) + "\n" for record in self.state.records]
        path = self.folder / "metrics.jsonl"
        with loud_if_disk_is_full(str(path)):
            partial = path.with_name("partial." + path.name)
            partial.write_text("".join(lines), encoding="utf-8")
            partial.replace(path)


class Checkpoints(keras.callbacks.Callback):
    """Counts updates, and writes all that it takes to go on from there.

    Also stops the training, after a checkpoint: on SIGINT and SIGTERM, and
    where no gradient is finite any more.

    Args:
        state: the `TrainingState`.
        settings: the recipe's `training`.
        steps_per_epoch: int. Updates in an epoch.
        folder: path of the run folder; None: another worker writes.
        alone: bool. Whether this process can decide to stop for itself.
        arrays: dict, of the checkpoint that is resumed; or None.

    Raises:
        InputError: from an update, if `training.max_skipped` in a row had no
            finite gradient.
    """

    def __init__(
        self,
        state: TrainingState,
        settings: TrainingConfig,
        steps_per_epoch: int,
        folder: Path | None,
        alone: bool = True,
        arrays: dict[str, np.ndarray] | None = None,
    ):
        super().__init__()
        self.state = state
        self.settings = settings
        self.steps_per_epoch = steps_per_epoch
        self.folder = folder
        self.alone = alone
        self.arrays = arrays
        self.signal: int | None = None

    def on_train_begin(self, logs=None):
        self.clock = time.monotonic(), time.process_time()
        self.skipped = int(self.model.optimizer.skipped.numpy())
        self.tokens_seen = int(self.model.tokens_seen.numpy())

    def on_epoch_begin(self, epoch, logs=None):
        if self.arrays and self.state.step % self.steps_per_epoch:
            checkpoint.restore_metrics(self.model, self.arrays)  # Keras resets
        self.arrays = None

    def on_train_batch_end(self, batch, logs=None):
        self.state.step += 1
        self._look_for_skipped()
        if self.signal is not None and self.alone:
            self.save()
            say(
                f"Stopped after update {self.state.step:,}; the same command "
                "with --resume goes on from there"
            )
            if self.signal == signal.SIGINT:
                raise KeyboardInterrupt
            raise SystemExit(128 + self.signal)
        at_end = self.state.step % self.steps_per_epoch == 0
        if self.state.step % self.settings.checkpoint_every == 0 and not at_end:
            self.save()

    def _look_for_skipped(self):
        optimizer = self.model.optimizer
        skipped = int(optimizer.skipped.numpy())
        if skipped == self.skipped:
            return
        self.skipped = skipped
        in_a_row = int(optimizer.skipped_in_a_row.numpy())
        if optimizer.scales_loss and in_a_row < 3:
            return  # that is how the loss scale finds its value
        say(
            f"warning: update {self.state.step:,} skipped, its gradient is not "
            f"finite ({in_a_row} in a row, {skipped:,} in all)"
        )
        if in_a_row >= self.settings.max_skipped:
            self.save()
            raise InputError(
                f"batches {self.state.step - in_a_row + 1:,} to "
                f"{self.state.step:,}: no gradient is finite any more; the "
                "weights are those before. Lower the learning rate, or set "
                "training.clip_norm"
            )

    def on_epoch_end(self, epoch, logs=None):
        self.save()

    def count_time(self):
        """Brings the time and the tokens of the state up to date."""
        clock = time.monotonic(), time.process_time()
        self.state.seconds += clock[0] - self.clock[0]
        self.state.cpu_seconds += clock[1] - self.clock[1]
        self.clock = clock
        tokens_seen = int(self.model.tokens_seen.numpy())
        self.state.tokens += tokens_seen - self.tokens_seen
        self.tokens_seen = tokens_seen

    def save(self):
        """Writes a checkpoint, or warns that it cannot be written.

        All workers call it; one writes.
        """
        self.count_time()
        arrays = checkpoint.capture(self.model)
        if self.folder is not None:
            with loud_if_disk_is_full("a checkpoint"):
                checkpoint.write_checkpoint(
                    self.folder,
                    self.state,
                    arrays,
                    self.settings.keep_checkpoints,
                )

    @contextlib.contextmanager
    def heed_signals(self) -> Iterator[None]:
        """Ends the training after the next update; at once when repeated.

        With several workers it ends at once. Only the main thread heeds
        signals.

        Raises:
            KeyboardInterrupt: on SIGINT, and where it ends at once.
            SystemExit: with status 143, on SIGTERM.
        """
        if threading.current_thread() is not threading.main_thread():
            yield
            return

        def note(number, frame):
            if self.signal is not None or not self.alone:
                raise KeyboardInterrupt
            self.signal = number

        numbers = (signal.SIGINT, signal.SIGTERM)
        before = [signal.signal(number, note) for number in numbers]
        try:
            yield
        finally:
            for number, handler in zip(numbers, before, strict=True):
                signal.signal(number, handler)


class TensorBoardLog(keras.callbacks.Callback):
    """Scalars, translations and a picture of attention, for TensorBoard.

    Args:
        folder: path of the folder of event files.
        validator: a `Validator`.
    """

    def __init__(self, folder: Path, validator: Validator):
        super().__init__()
        self.writer = tf.summary.create_file_writer(str(folder))
        self.validator = validator

    def on_epoch_end(self, epoch, logs=None):
        step = int(self.model.optimizer.iterations.numpy())
        rate = float(self.model.optimizer.learning_rate)
        with loud_if_disk_is_full("tensorboard"), self.writer.as_default(step):
            for name, value in {**logs, "learning_rate": rate}.items():
                tf.summary.scalar(name, value)
            if self.validator.samples:
                self._write_samples()
            self.writer.flush()

    def _write_samples(self):
        rows = "\n".join(
            f"| {source} | {translation} | {reference} |"
            for source, translation, reference in self.validator.samples
        )
        head = "| source | translation | reference |\n|---|---|---|\n"
        tf.summary.text("translations", head + rows)
        picture = self.validator.attention_picture()
        if picture is not None:
            tf.summary.image("attention", picture[None])
