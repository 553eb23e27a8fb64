"""Which weights are kept, and that what is written is what the model holds."""

from unittest import mock

import keras
import numpy as np
import pytest

from tfxformer.run_folder import weights_path
from training.callbacks import KeepWeights, save_weights


def one_weight(value=0.0):
    model = keras.Sequential(
        [keras.Input((1,)), keras.layers.Dense(1, use_bias=False)]
    )
    model.set_weights([np.full((1, 1), value, "float32")])
    return model


def stored(folder, name):
    model = one_weight()
    model.load_weights(weights_path(folder, name))
    return float(model.get_weights()[0][0, 0])


def train(folder, weights, accuracies, accuracy_of_average, average_last=2):
    """Runs the callback over epochs that end with these weights."""
    model = one_weight()
    keep = KeepWeights(folder, None, average_last)
    keep.set_model(model)
    keep.on_train_begin()
    for epoch, (value, accuracy) in enumerate(
        zip(weights, accuracies, strict=True)
    ):
        model.set_weights([np.full((1, 1), value, "float32")])
        keep.on_epoch_end(epoch, {"val_accuracy": accuracy})
    logs = {"accuracy": accuracy_of_average}
    with mock.patch.object(model, "evaluate", return_value=logs):
        keep.on_train_end()
    return keep, float(model.get_weights()[0][0, 0])


def test_the_best_epoch_the_last_and_the_mean_are_kept(tmp_path):
    keep, left = train(tmp_path, [1, 2, 4, 8], [0.1, 0.9, 0.3, 0.2], 0.5)
    assert stored(tmp_path, "best") == 2
    assert stored(tmp_path, "last") == left == 8
    assert stored(tmp_path, "averaged") == 6  # (4 + 8) / 2
    assert (keep.best, keep.best_accuracy) == ("epoch 2", 0.9)


def test_the_average_is_best_where_it_is_better(tmp_path):
    keep, _ = train(tmp_path, [1, 2, 4], [0.1, 0.2, 0.3], 0.4)
    assert stored(tmp_path, "best") == stored(tmp_path, "averaged") == 3
    assert keep.best == "the average of the last 2 epochs"


def test_nothing_half_written_is_left(tmp_path):
    train(tmp_path, [1, 2], [0.1, 0.2], 0.0)
    names = {path.name for path in (tmp_path / "weights").iterdir()}
    assert names == {
        f"{name}.weights.h5" for name in ("best", "last", "averaged")
    }


def test_weights_that_do_not_come_back_are_an_error(tmp_path):
    path = weights_path(tmp_path, "last")
    copy = one_weight()
    with (
        mock.patch.object(copy, "load_weights"),  # leaves zeros
        pytest.raises(OSError, match="differ"),
    ):
        save_weights(one_weight(5.0), path, copy)
    assert not path.exists()
