"""What happens around `fit`: progress, records, weights."""

import collections
import json
import math
import shutil
import time
from pathlib import Path

import keras
import numpy as np
from tqdm import tqdm

from tfxformer.run_folder import weights_path
from training.progress import update_interval


class ProgressBar(keras.callbacks.Callback):
    """One bar per epoch: loss, accuracy, tokens per second, rate, time left.

    Tokens are real target tokens, counted by the accuracy metric.

    Args:
        steps_per_epoch: int.
        accuracy: the model's `TokenAccuracy`.
    """

    def __init__(self, steps_per_epoch, accuracy):
        super().__init__()
        self.steps_per_epoch = steps_per_epoch
        self.accuracy = accuracy
        self.bar = None

    def on_epoch_begin(self, epoch, logs=None):
        self.start = time.monotonic()
        self.speed = 0.0
        width = len(str(self.params["epochs"]))
        self.bar = tqdm(
            total=self.steps_per_epoch,
            desc=f"epoch {epoch + 1:>{width}}/{self.params['epochs']}",
            unit="batch",
            mininterval=update_interval(),
            miniters=1,
            dynamic_ncols=True,
            bar_format="{desc} {percentage:3.0f}%|{bar:12}| "
            "{elapsed}<{remaining} {postfix}",
        )

    def on_train_batch_end(self, batch, logs=None):
        # Reading the metrics waits for the step: only when a line is due.
        if time.time() - self.bar.last_print_t >= self.bar.mininterval:
            self._measure_speed()
            self.bar.set_postfix_str(self._describe(logs), refresh=False)
        self.bar.update()

    def on_test_begin(self, logs=None):  # the count starts anew
        self._measure_speed()

    def on_epoch_end(self, epoch, logs=None):
        postfix = self._describe(logs)
        if "val_accuracy" in logs:
            postfix += (
                f" | validation: loss {logs['val_loss']:.3f} "
                f"accuracy {logs['val_accuracy']:.3f}"
            )
        self.bar.set_postfix_str(postfix, refresh=False)
        self.bar.close()

    def close(self):
        """Ends the bar of an epoch that did not end."""
        if self.bar is not None:
            self.bar.close()

    def _measure_speed(self):
        seconds = time.monotonic() - self.start
        self.speed = float(self.accuracy.count) / seconds

    def _describe(self, logs):
        optimizer = self.model.optimizer
        return (
            f"loss {float(logs['loss']):.3f} "
            f"accuracy {float(logs['accuracy']):.3f} "
            f"{self.speed:,.0f} tokens/s "
            f"rate {float(optimizer.learning_rate):.2e}"
        )


class MetricsLog(keras.callbacks.Callback):
    """Appends a line of JSON per epoch to `metrics.jsonl`.

    Args:
        path: path of the file.
    """

    def __init__(self, path: Path):
        super().__init__()
        self.path = path

    def on_train_begin(self, logs=None):
        self.start = time.monotonic()

    def on_epoch_end(self, epoch, logs=None):
        record = {
            "epoch": epoch + 1,
            "step": int(self.model.optimizer.iterations),
            "seconds": round(time.monotonic() - self.start, 1),
            "learning_rate": float(self.model.optimizer.learning_rate),
            **{name: float(value) for name, value in logs.items()},
        }
        with open(self.path, "a", encoding="utf-8") as file:
            file.write(json.dumps(record) + "\n")


class KeepWeights(keras.callbacks.Callback):
    """Writes the weights of the best and the last epoch, and an average.

    When training ends, the mean over the weights of the last epochs is
    validated too; where it is better it becomes the best.

    Args:
        folder: path of the run folder.
        validation: dataset for `evaluate`.
        average_last: int. Number of epochs in the average.

    Reference:
        Attention Is All You Need, section 6.1 (checkpoint averaging).
    """

    def __init__(self, folder: Path, validation, average_last: int):
        super().__init__()
        self.folder = folder
        self.validation = validation
        self.latest: collections.deque[list[np.ndarray]] = collections.deque(
            maxlen=average_last
        )
        self.best_accuracy = -math.inf
        self.best = ""

    def on_train_begin(self, logs=None):
        self.copy = self.model.__class__.from_config(self.model.get_config())

    def on_epoch_end(self, epoch, logs=None):
        self.latest.append(self.model.get_weights())
        self._keep("last", logs["val_accuracy"], f"epoch {epoch + 1}")

    def on_train_end(self, logs=None):
        last = self.latest[-1]
        by_weight = zip(*self.latest, strict=True)
        self.model.set_weights([np.mean(w, axis=0) for w in by_weight])
        logs = self.model.evaluate(self.validation, verbose=0, return_dict=True)
        description = f"the average of the last {len(self.latest)} epochs"
        self._keep("averaged", logs["accuracy"], description)
        self.model.set_weights(last)

    def _keep(self, name, accuracy, description):
        path = weights_path(self.folder, name)
        save_weights(self.model, path, self.copy)
        if accuracy > self.best_accuracy:
            self.best_accuracy, self.best = accuracy, description
            best = weights_path(self.folder, "best")
            partial = best.with_name("partial." + best.name)
            shutil.copyfile(path, partial)
            partial.replace(best)


def save_weights(model, path: Path, copy) -> None:
    """Writes weights under a temporary name, reads them back, renames.

    Args:
        model: a built Keras model.
        path: path that ends in `.weights.h5`.
        copy: another model of the same configuration, not compiled, to
            write and to read with.

    Raises:
        OSError: if what was written is not what the model holds.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    partial = path.with_name("partial." + path.name)
    weights = model.get_weights()
    copy.set_weights(weights)
    copy.save_weights(partial)  # without the optimizer's slots
    copy.set_weights([np.zeros_like(array) for array in weights])
    copy.load_weights(partial)
    for ours, theirs in zip(weights, copy.get_weights(), strict=True):
        if not np.array_equal(ours, theirs, equal_nan=True):
            raise OSError(f"{partial}: written weights differ from the model's")
    partial.replace(path)
