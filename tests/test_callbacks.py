"""Which weights are kept, when training ends, and what is said about it."""

import errno
import json
import os
import signal
from types import SimpleNamespace

import keras
import numpy as np
import pytest
import tensorflow as tf

from tfxformer.run_folder import weights_path
from training import callbacks
from training.callbacks import (
    Checkpoints,
    MetricsLog,
    ProgressBar,
    Validation,
)
from training.checkpoint import TrainingState
from training.config import TrainingConfig
from training.weights import judged_weights, keep_averages, save_weights


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


class ScriptedValidator:
    """Gives a score by the value of the one weight."""

    vocabulary_size = 100

    def __init__(self, scores):
        self.scores = scores
        self.model = one_weight()

    def measure(self, weights):
        return {"accuracy": self.scores[float(weights[0][0, 0])]}

    def score(self, measured):
        return measured["accuracy"]


def train(folder, weights, scores, loss=1.0, **settings):
    """Runs the callback over epochs that end with these weights."""
    model = one_weight()
    model.optimizer = SimpleNamespace(use_ema=False)
    model.stop_training = False
    settings = TrainingConfig(**settings)
    state = TrainingState()
    validator = ScriptedValidator(scores)
    validation = Validation(validator, state, settings, folder)
    validation.set_model(model)
    epochs = 0
    for epoch, value in enumerate(weights):
        model.set_weights([np.full((1, 1), value, "float32")])
        logs = {"loss": loss}
        state.step += 1
        validation.on_epoch_end(epoch, logs)
        assert logs["val_accuracy"] == scores[value]
        epochs += 1
        if model.stop_training:
            break
    keep_averages(validator, state, settings, folder)
    return state, epochs


def test_the_best_epoch_the_last_and_the_mean_are_kept(tmp_path):
    scores = {1: 0.1, 2: 0.9, 4: 0.3, 8: 0.2, 6: 0.5}
    state, _ = train(tmp_path, [1, 2, 4, 8], scores, average_last=2)
    assert stored(tmp_path, "best") == 2
    assert stored(tmp_path, "last") == 8
    assert stored(tmp_path, "averaged") == 6  # (4 + 8) / 2
    assert (state.best_from, state.best) == ("epoch 2", 0.9)
    assert state.best_measured == {"accuracy": 0.9}


def test_the_average_is_best_where_it_is_better(tmp_path):
    scores = {1: 0.1, 2: 0.2, 4: 0.3, 3: 0.4}
    state, _ = train(tmp_path, [1, 2, 4], scores, average_last=2)
    assert stored(tmp_path, "best") == stored(tmp_path, "averaged") == 3
    assert state.best_from == "the average of the last 2 epochs"


def test_the_best_epochs_can_be_averaged(tmp_path):
    scores = {1: 0.8, 2: 0.2, 5: 0.7, 9: 0.1, 3: 0.9}
    state, _ = train(
        tmp_path, [1, 2, 5, 9], scores, average_last=1, average_best=2
    )
    assert stored(tmp_path, "averaged") == 3  # (1 + 5) / 2
    assert state.best_from == "the average of the best 2 epochs"
    kept = sorted(p.name for p in (tmp_path / "checkpoints").iterdir())
    assert kept == ["epoch-00001.npz", "epoch-00003.npz", "epoch-00004.npz"]


def test_an_average_with_a_damaged_epoch_is_left_out(tmp_path, capsys):
    scores = {1: 0.8, 2: 0.2, 4: 0.3, 3: 0.1}
    state, _ = train(tmp_path, [1, 2, 4], scores, average_last=2)
    (tmp_path / "checkpoints" / "epoch-00003.npz").write_bytes(b"PK\3\4 no")
    settings = TrainingConfig(average_last=2)
    keep_averages(ScriptedValidator(scores), state, settings, tmp_path)
    assert (
        "the average of the last 2 epochs left out" in capsys.readouterr().err
    )
    assert stored(tmp_path, "averaged") == 3  # that of before


@pytest.mark.parametrize(("patience", "epochs"), [(1, 3), (2, 5), (None, 6)])
def test_training_ends_when_nothing_gets_better(tmp_path, patience, epochs):
    scores = {1: 0.1, 2: 0.3, 3: 0.2, 4: 0.4, 5: 0.3, 6: 0.4}
    # The fourth is better; the sixth is not better than it.
    if patience == 2:
        scores = {1: 0.1, 2: 0.3, 3: 0.5, 4: 0.4, 5: 0.3, 6: 0.9}
    state, done = train(
        tmp_path,
        [1, 2, 3, 4, 5, 6],
        scores,
        patience=patience,
        average_last=1,
    )
    assert done == epochs
    assert state.has_stopped(patience) == (patience is not None)


def test_a_loss_worse_than_guessing_is_noticed(tmp_path, capsys):
    options = {"average_last": 1, "warmup_steps": 1}
    train(tmp_path, [1, 1], {1: 0.1}, loss=4.0, **options)
    train(tmp_path, [1], {1: 0.1}, loss=5.0, **options)  # warming up
    assert "warning" not in capsys.readouterr().err
    train(tmp_path, [1, 1], {1: 0.1}, loss=5.0, **options)  # ln 100 = 4.6
    assert "learning rate too high?" in capsys.readouterr().err


def test_nothing_half_written_is_left(tmp_path):
    train(tmp_path, [1, 2], {1: 0.1, 2: 0.2, 1.5: 0.0}, average_last=2)
    names = {path.name for path in (tmp_path / "weights").iterdir()}
    assert names == {
        f"{name}.weights.h5" for name in ("best", "last", "averaged")
    }


def test_weights_that_do_not_come_back_are_an_error(tmp_path, monkeypatch):
    path = weights_path(tmp_path, "last")
    copy = one_weight()
    monkeypatch.setattr(copy, "load_weights", lambda path: None)  # zeros
    with pytest.raises(OSError, match="not what"):
        save_weights(path, [np.full((1, 1), 5.0, "float32")], copy)
    assert list(path.parent.iterdir()) == []


def test_a_full_disk_does_not_end_the_training(tmp_path, monkeypatch, capsys):
    scores = {1: 0.1, 2: 0.2, 1.5: 0.0}
    train(tmp_path, [1, 2], scores, average_last=2)

    def full(*arguments, **options):
        raise OSError(errno.ENOSPC, "No space left on device")

    model = one_weight(1.0)
    model.optimizer = SimpleNamespace(use_ema=False)
    state = TrainingState()
    validation = Validation(
        ScriptedValidator(scores), state, TrainingConfig(), tmp_path
    )
    validation.set_model(model)
    monkeypatch.setattr(callbacks, "save_weights", full)
    validation.on_epoch_end(0, {"loss": 1.0})
    assert "WARNING: the weights could not be written" in (
        capsys.readouterr().err
    )
    assert state.scores == [0.1]
    # What is not there is not called the best.
    assert state.best is None
    assert stored(tmp_path, "best") == 2


def test_an_average_makes_do_with_the_epochs_that_are_there(tmp_path, capsys):
    scores = {1: 0.1, 2: 0.2, 4: 0.3, 3: 0.9}
    train(tmp_path, [1, 2, 4], scores, average_last=2)
    validator = ScriptedValidator(scores)
    state = TrainingState(scores=[0.1, 0.2, 0.3])
    keep_averages(validator, state, TrainingConfig(average_last=3), tmp_path)
    assert stored(tmp_path, "averaged") == 3  # (2 + 4) / 2
    assert state.best_from == (
        "the average of the last 3 epochs, of which 2 are kept"
    )
    for path in (tmp_path / "checkpoints").iterdir():
        path.unlink()
    keep_averages(validator, state, TrainingConfig(average_last=3), tmp_path)
    assert "no weights were kept" in capsys.readouterr().err


def test_moving_averages_are_judged_where_there_are_some():
    model = keras.Sequential(
        [keras.Input((2,)), keras.layers.Dense(1), keras.layers.Dense(1)]
    )
    model.layers[0].trainable = False
    optimizer = keras.optimizers.SGD(0.5, use_ema=True, ema_momentum=0.5)
    model.compile(optimizer, "mse")
    model.fit(np.ones((4, 2)), np.ones((4, 1)), batch_size=1, verbose=0)
    raw = [np.full_like(w, 7.0) for w in model.get_weights()]
    model.set_weights(raw)
    judged = judged_weights(model)
    averages = [np.array(v) for v in optimizer._model_variables_moving_average]
    np.testing.assert_array_equal(judged[0], raw[0])  # frozen
    np.testing.assert_array_equal(judged[1], raw[1])
    np.testing.assert_array_equal(judged[2], averages[0])
    np.testing.assert_array_equal(judged[3], averages[1])
    assert (judged[2] != 7).all()


def test_ctrl_c_stops_after_a_checkpoint(tmp_path, monkeypatch):
    state = TrainingState()
    checkpoints = Checkpoints(state, TrainingConfig(), 10, tmp_path)
    checkpoints.set_model(
        SimpleNamespace(
            optimizer=SimpleNamespace(skipped=tf.constant(0)),
            tokens_seen=tf.constant(0),
        )
    )
    saved, before = [], signal.getsignal(signal.SIGINT)
    monkeypatch.setattr(checkpoints, "save", lambda: saved.append(state.step))
    with pytest.raises(KeyboardInterrupt), checkpoints.heed_signals():
        checkpoints.on_train_begin()
        checkpoints.on_train_batch_end(0)
        assert not saved
        os.kill(os.getpid(), signal.SIGINT)
        checkpoints.on_train_batch_end(1)
    assert saved == [2]
    assert signal.getsignal(signal.SIGINT) is before


def test_records_of_a_training_that_went_further_are_replaced(tmp_path):
    path = tmp_path / "metrics.jsonl"
    path.write_text('{"epoch": 1}\n{"epoch": 2}\n{"epoch": 3}\n')
    state = TrainingState(records=[{"epoch": 1}])
    times = []
    log = MetricsLog(tmp_path, state, lambda: times.append(1))
    log.set_model(
        SimpleNamespace(
            optimizer=SimpleNamespace(
                iterations=tf.constant(20), learning_rate=0.5
            )
        )
    )
    log.on_epoch_end(1, {"loss": 2.0})
    records = [json.loads(line) for line in path.read_text().splitlines()]
    assert [record["epoch"] for record in records] == [1, 2]
    assert records[1]["step"] == 20 and records[1]["loss"] == 2.0
    assert times == [1]


def test_the_time_left_is_told_after_a_whole_epoch():
    """The rest of an epoch is mostly the start: it would be hours."""
    state = TrainingState(step=7)
    bar = ProgressBar(steps_per_epoch=8, epochs=3, state=state)
    told = []
    for epoch, step in enumerate((7, 8, 16)):
        state.step = step
        bar.set_model(SimpleNamespace(tokens_seen=tf.Variable(0)))
        bar.on_epoch_begin(epoch)
        told.append(" left" in bar.bar.desc)
        bar.close()
    assert told == [False, False, True]


def test_weights_that_have_no_room_leave_those_of_before(tmp_path, monkeypatch):
    path = weights_path(tmp_path, "last")
    save_weights(path, [np.full((1, 1), 3, "float32")], one_weight())
    usage = SimpleNamespace(free=100)
    new = [np.full((1, 1), 4, "float32")]
    with monkeypatch.context() as patch:
        patch.setattr("training.weights.shutil.disk_usage", lambda _: usage)
        with pytest.raises(OSError, match="No space left") as error:
            save_weights(path, new, one_weight())
    assert error.value.errno == errno.ENOSPC and error.value.filename
    model = one_weight()

    def fail(path):  # as h5py does where the disk fills up while it writes
        path.write_bytes(b"half")
        raise RuntimeError("flush failed (file write failed: errno = 28, ...")

    monkeypatch.setattr(model, "save_weights", fail)
    with pytest.raises(OSError, match="No space left"):
        save_weights(path, new, model)
    assert stored(tmp_path, "last") == 3
    assert [p.name for p in path.parent.iterdir()] == [path.name]
