"""A checkpoint is whole, or it is not taken."""

import os

import keras
import numpy as np
import pytest

from tfxformer import InputError
from training.checkpoint import (
    TrainingState,
    capture,
    checkpoint_paths,
    read_checkpoint,
    restore,
    write_checkpoint,
)


def write(folder, step, keep=3, value=None):
    arrays = {"a": np.full((4, 5), step if value is None else value)}
    state = TrainingState(step=step, records=[{"loss": 1.5}], best=-0.25)
    write_checkpoint(folder, state, arrays, keep)


def test_what_is_written_is_read(tmp_path):
    write(tmp_path, 7)
    state, arrays = read_checkpoint(tmp_path)
    assert state == TrainingState(step=7, records=[{"loss": 1.5}], best=-0.25)
    assert list(arrays) == ["a"]
    np.testing.assert_array_equal(arrays["a"], np.full((4, 5), 7))


def test_the_newest_are_kept(tmp_path):
    for step in (5, 100, 20, 1000):
        write(tmp_path, step, keep=2)
    names = [path.name for path in checkpoint_paths(tmp_path)]
    assert names == ["step-00001000.npz", "step-00000100.npz"]
    assert read_checkpoint(tmp_path)[0].step == 1000


def test_no_checkpoint(tmp_path):
    assert read_checkpoint(tmp_path) is None


def cut(data):
    return data[: len(data) // 2]


def flip(data):
    middle = len(data) // 2
    return data[:middle] + bytes([data[middle] ^ 1]) + data[middle + 1 :]


@pytest.mark.parametrize(
    "damage", [cut, flip, lambda data: b"", lambda data: b"PK\3\4 no zip"]
)
def test_a_damaged_one_is_skipped_with_a_line(tmp_path, capsys, damage):
    write(tmp_path, 1)
    write(tmp_path, 2, value=np.random.default_rng(0).normal())
    newest = checkpoint_paths(tmp_path)[0]
    newest.write_bytes(damage(newest.read_bytes()))
    state, arrays = read_checkpoint(tmp_path)
    assert state.step == 1 and arrays["a"][0, 0] == 1
    lines = capsys.readouterr().err.splitlines()
    assert len(lines) == 1
    assert str(newest) in lines[0] and "damaged" in lines[0]


def test_pickles_are_not_read(tmp_path, capsys):
    class Evil:
        def __reduce__(self):
            return os.system, (f"touch {tmp_path / 'evil'}",)

    write(tmp_path, 1)
    path = checkpoint_paths(tmp_path)[0].with_name("step-00000002.npz")
    np.savez(path, a=np.array([Evil()]), state=np.array([Evil()]))
    assert read_checkpoint(tmp_path)[0].step == 1
    assert not (tmp_path / "evil").exists()


def test_one_that_cannot_be_written_leaves_the_others(tmp_path, monkeypatch):
    write(tmp_path, 1)

    def full(*arguments, **options):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match="No space"):
        write(tmp_path, 2)
    monkeypatch.undo()
    assert [p.name for p in checkpoint_paths(tmp_path)] == ["step-00000001.npz"]
    assert len(list((tmp_path / "checkpoints").iterdir())) == 1
    assert read_checkpoint(tmp_path)[0].step == 1


@pytest.mark.parametrize(
    ("name", "change"),
    [
        ("optimizer.2", lambda array: None),
        ("optimizer.3", lambda array: array[:1]),
        ("optimizer.99", lambda array: np.zeros(2)),
        ("model.0", lambda array: array.T),
    ],
    ids=["missing", "smaller", "one too many", "turned"],
)
def test_arrays_of_another_model_are_refused(name, change):
    model = keras.Sequential([keras.Input((3,)), keras.layers.Dense(2)])
    model.compile("adam", "mse")
    model.optimizer.build(model.trainable_variables)
    arrays = capture(model)
    restore(model, arrays)
    before = capture(model)
    arrays[name] = change(arrays.get(name))
    if arrays[name] is None:
        del arrays[name]
    with pytest.raises(InputError, match=f"another model: {name} has"):
        restore(model, arrays)
    for key, array in capture(model).items():
        np.testing.assert_array_equal(array, before[key])
