"""Killed, stopped, damaged, changed: what a training goes on from."""

import json
import shutil
import signal
import subprocess
import sys
import time

import numpy as np
import pytest
import tensorflow as tf
import yaml
from conftest import ROOT, call

from tfxformer import load_run
from training.checkpoint import checkpoint_paths, read_arrays
from training.step import TrainingTransformer

SETTINGS = [
    "name=resumed",
    "training.epochs=3",
    "training.steps_per_epoch=null",
    "training.checkpoint_every=3",
    "training.accumulate=2",
    "training.subword_sampling=0.1",
    "training.ema=0.9",
    "training.precision=float16",
    "training.average_last=2",
    "model.num_layers=1",
    "model.dropout=0.2",
    "model.attention_dropout=0.1",
]


def train(folder, *assignments, output, resume=False):
    return call(
        "training.__main__",
        *(["--resume"] if resume else []),
        folder / "recipe.yaml",
        f"data.folder={folder}",
        f"output={output}",
        *SETTINGS,
        *assignments,
    )


def start(folder, output, *arguments):
    """The same in a process of its own, to be killed."""
    return subprocess.Popen(
        [
            sys.executable, "-m", "training", str(folder / "recipe.yaml"),
            f"data.folder={folder}", f"output={output}", *SETTINGS, *arguments,
        ],
        stderr=subprocess.PIPE,
        cwd=ROOT,
        text=True,
    )  # fmt: skip


@pytest.fixture(scope="module")
def uninterrupted(corpus_folder, tmp_path_factory):
    output = tmp_path_factory.mktemp("uninterrupted")
    process = train(corpus_folder, output=output)
    assert process.returncode == 0, process.stderr.decode()
    return output / "resumed"


def wait_for_checkpoints(process, folder, count):
    deadline = time.monotonic() + 120
    while len(checkpoint_paths(folder)) < count:
        assert process.poll() is None, process.stderr.read()
        assert time.monotonic() < deadline
        time.sleep(0.02)


def all_arrays(run):
    """The last checkpoint: weights, slots, averages, dropout, metrics."""
    arrays = read_arrays(checkpoint_paths(run)[0])
    state = json.loads(arrays.pop("state").tobytes())
    return arrays, state


def assert_equal_runs(one, other):
    arrays, state = all_arrays(one)
    expected, expected_state = all_arrays(other)
    assert arrays.keys() == expected.keys()
    for name, array in arrays.items():
        np.testing.assert_array_equal(array, expected[name], err_msg=name)
    for some in (state, expected_state):
        for key in ("seconds", "cpu_seconds", "settings"):
            del some[key]
        for record in some["records"]:
            del record["seconds"]
    assert state == expected_state
    for name in ("best", "last", "averaged"):
        for array, expected_array in zip(
            load_run(one, name).model.get_weights(),
            load_run(other, name).model.get_weights(),
            strict=True,
        ):
            np.testing.assert_array_equal(array, expected_array)


def test_killed_and_resumed_it_is_the_same(
    corpus_folder, tmp_path, uninterrupted
):
    incomplete = tmp_path / "resumed.incomplete"
    process = start(corpus_folder, tmp_path, "--resume")
    wait_for_checkpoints(process, incomplete, 2)
    process.kill()
    _, text = process.communicate()
    assert process.returncode == -signal.SIGKILL
    assert f"Nothing to resume at {incomplete}" in text
    assert not (tmp_path / "resumed").exists()
    process = train(corpus_folder, output=tmp_path, resume=True)
    assert process.returncode == 0, process.stderr.decode()
    assert b"from update" in process.stderr
    assert_equal_runs(tmp_path / "resumed", uninterrupted)
    assert not incomplete.exists()
    lines = (tmp_path / "resumed" / "metrics.jsonl").read_text().splitlines()
    assert [json.loads(line)["epoch"] for line in lines] == [1, 2, 3]


def test_a_signal_leaves_a_checkpoint(corpus_folder, tmp_path, uninterrupted):
    process = start(corpus_folder, tmp_path)
    wait_for_checkpoints(process, tmp_path / "resumed.incomplete", 1)
    process.send_signal(signal.SIGTERM)
    _, text = process.communicate(timeout=60)
    assert process.returncode == 128 + signal.SIGTERM, text
    assert "Stopped after update" in text and "--resume" in text
    assert "Traceback" not in text
    process = train(corpus_folder, output=tmp_path, resume=True)
    assert process.returncode == 0, process.stderr.decode()
    assert_equal_runs(tmp_path / "resumed", uninterrupted)


@pytest.fixture
def half(uninterrupted, tmp_path):
    """As if it had been killed in its last epoch."""
    incomplete = tmp_path / "resumed.incomplete"
    shutil.copytree(uninterrupted, incomplete)
    newest, *_ = checkpoint_paths(incomplete)
    newest.unlink()
    return incomplete


def test_a_damaged_checkpoint_is_skipped(
    corpus_folder, tmp_path, half, uninterrupted
):
    newest, *_ = checkpoint_paths(half)
    newest.write_bytes(newest.read_bytes()[:-1000])
    process = train(corpus_folder, output=tmp_path, resume=True)
    assert process.returncode == 0, process.stderr.decode()
    assert f"warning: {newest}: damaged" in process.stderr.decode()
    assert_equal_runs(tmp_path / "resumed", uninterrupted)


@pytest.mark.parametrize(
    ("assignment", "words"),
    [
        ("model.hidden_dim=32", ["model.hidden_dim=64", "received: 32"]),
        ("tokenizer.vocabulary_size=400", ["vocabulary_size=500"]),
        ("training.max_tokens=50", ["training.max_tokens=100"]),
        ("training.precision=float32", ["training.precision=float16"]),
        ("seed=7", ["seed=1", "received: 7"]),
        ("data.max_length=39", ["data.max_length=40"]),
    ],
)
def test_another_model_or_text_is_refused(
    corpus_folder, tmp_path, half, assignment, words
):
    process = train(corpus_folder, assignment, output=tmp_path, resume=True)
    assert process.returncode == 2
    line = process.stderr.decode().splitlines()[-1]
    for word in [*words, "resume with that"]:
        assert word in line
    assert len(checkpoint_paths(half)) == 2


@pytest.mark.parametrize(
    ("name", "what"),
    [("train.tsv", "training text"), ("valid.es", "validation text")],
)
def test_changed_text_is_refused(corpus_folder, tmp_path, half, name, what):
    changed = tmp_path / "changed"
    shutil.copytree(
        corpus_folder, changed, ignore=shutil.ignore_patterns("runs")
    )
    lines = (changed / name).read_text().splitlines(keepends=True)
    lines[3] = lines[4]
    (changed / name).write_text("".join(lines))
    process = train(changed, output=tmp_path, resume=True)
    assert process.returncode == 2, process.stderr.decode()
    assert f"the {what} has changed" in process.stderr.decode()


def test_a_finished_run_that_cannot_go_on_stays(
    corpus_folder, tmp_path, uninterrupted
):
    shutil.copytree(uninterrupted, tmp_path / "resumed")
    before = {p.name for p in (tmp_path / "resumed").iterdir()}
    changed = tmp_path / "changed"
    shutil.copytree(
        corpus_folder, changed, ignore=shutil.ignore_patterns("runs")
    )
    (changed / "valid.es").write_text("x\n" * 60)
    process = train(changed, "training.epochs=4", output=tmp_path, resume=True)
    assert process.returncode == 2
    assert b"the validation text has changed" in process.stderr
    assert {p.name for p in (tmp_path / "resumed").iterdir()} == before
    assert not (tmp_path / "resumed.incomplete").exists()


def test_resuming_spares_what_is_no_training(corpus_folder, tmp_path):
    folder = tmp_path / "resumed.incomplete"
    folder.mkdir()
    (folder / "love.txt").write_text("keep me")
    process = train(corpus_folder, output=tmp_path, resume=True)
    assert process.returncode == 2, process.stderr.decode()
    assert b"is no run" in process.stderr
    assert (folder / "love.txt").read_text() == "keep me"


def test_a_finished_run_gets_more_epochs_at_another_rate(
    corpus_folder, tmp_path, uninterrupted, monkeypatch
):
    shutil.copytree(uninterrupted, tmp_path / "resumed")
    process = train(corpus_folder, output=tmp_path, resume=True)
    assert process.returncode == 2
    assert b"finished after 3 epochs" in process.stderr
    newest = checkpoint_paths(tmp_path / "resumed")[0]
    assert json.loads(read_arrays(newest)["state"].tobytes())["best_from"] in (
        process.stderr.decode() + (tmp_path / "resumed/report.md").read_text()
    )
    called = []
    monkeypatch.setattr(
        "tensorflow.config.experimental.enable_op_determinism",
        lambda: called.append(1),
    )
    process = train(
        corpus_folder,
        "training.epochs=4",
        "training.peak_rate=0.002",
        "training.deterministic=true",
        output=tmp_path,
        resume=True,
    )
    text = process.stderr.decode()
    assert process.returncode == 0, text
    assert called
    assert "training.epochs is 4, not 3" in text
    assert "on, training.peak_rate is 0.002, not 0.003" in text
    run = tmp_path / "resumed"
    lines = (run / "metrics.jsonl").read_text().splitlines()
    records = [json.loads(line) for line in lines]
    assert [record["epoch"] for record in records] == [1, 2, 3, 4]
    progress = (records[-1]["step"] + 1) / 100
    rate = 0.002 * min(progress, progress**-0.5)
    assert records[-1]["learning_rate"] == pytest.approx(rate, rel=1e-5)
    config = yaml.safe_load((run / "config.yaml").read_text())
    assert config["training"]["peak_rate"] == 0.002
    report = (run / "report.md").read_text()
    assert "| epochs | 4 |" in report and "| updates | 32 |" in report


def infinite_from(update, count):
    """`_gradients` of the model, infinite in so many updates."""
    gradients = TrainingTransformer._gradients

    def some_infinite(self, *arguments):
        step = tf.cast(self.optimizer.iterations, tf.int64) + tf.cast(
            self.optimizer.skipped, tf.int64
        )
        bad = (step >= update - 1) & (step < update - 1 + count)
        return [
            tf.where(bad, np.inf, gradient)
            for gradient in map(
                tf.convert_to_tensor, gradients(self, *arguments)
            )
        ]

    return some_infinite


FEW = [
    "training.epochs=2",
    "training.accumulate=1",
    "training.precision=float32",
    "training.subword_sampling=0",
    "training.ema=null",
    "training.max_skipped=3",
]


def test_one_infinite_gradient_is_skipped_and_said(
    corpus_folder, tmp_path, monkeypatch
):
    monkeypatch.setattr(
        TrainingTransformer, "_gradients", infinite_from(update=5, count=1)
    )
    process = train(corpus_folder, *FEW, output=tmp_path)
    text = process.stderr.decode()
    assert process.returncode == 0, text
    assert (
        "update 5 skipped, its gradient is not finite (1 in a row, 1 in "
        in (text)
    )
    assert text.count("skipped, its gradient") == 1
    arrays, state = all_arrays(tmp_path / "resumed")
    # Adam's own count comes first in an optimizer.
    assert arrays["optimizer.0"] == state["step"] - 1


def test_the_weights_before_the_first_infinite_gradient_are_kept(
    corpus_folder, tmp_path, monkeypatch
):
    monkeypatch.setattr(
        TrainingTransformer, "_gradients", infinite_from(update=5, count=99)
    )
    few = [*FEW, "training.checkpoint_every=1", "training.keep_checkpoints=9"]
    process = train(corpus_folder, *few, output=tmp_path)
    text = process.stderr.decode()
    assert process.returncode == 2, text
    assert "no gradient is finite any more" in text.splitlines()[-1]
    newest, *others = checkpoint_paths(tmp_path / "resumed.incomplete")
    (before,) = [path for path in others if path.stem.endswith("00004")]
    arrays, good = read_arrays(newest), read_arrays(before)
    weights = [name for name in good if name.startswith("model.")]
    equal = [np.array_equal(arrays[name], good[name]) for name in weights]
    # The generators of dropout have gone on.
    assert [
        name
        for name, same in zip(weights, equal, strict=True)
        if not same and good[name].dtype.kind == "f"
    ] == []


def test_gradients_that_are_never_finite_end_the_training(
    corpus_folder, tmp_path
):
    process = train(
        corpus_folder,
        "training.peak_rate=1e30",
        "training.warmup_steps=1",
        "training.precision=float32",
        "training.max_skipped=4",
        output=tmp_path,
    )
    text = process.stderr.decode()
    assert process.returncode == 2, text
    line = text.splitlines()[-1]
    assert "no gradient is finite any more" in line
    assert "batches" in line and "clip_norm" in line
    run = tmp_path / "resumed.incomplete"
    arrays, state = all_arrays(run)
    assert all(np.isfinite(array).all() for array in arrays.values())
    assert state["step"] >= 4
