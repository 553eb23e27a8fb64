"""A small run, trained and exported once for all tests."""

import contextlib
import fcntl
import importlib
import io
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple
from unittest import mock

import pytest

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")

ROOT = Path(__file__).parent.parent

RECIPE = """
name: toy
data:
  train: [{tsv: train.tsv}]
  valid: [{source: valid.en, target: valid.es}]
  max_length: 40
  cleaning: {overlap: false}  # it is tested on what it was trained on
tokenizer: {vocabulary_size: 500}
model:
  preset: null
  num_layers: 2
  num_heads: 2
  hidden_dim: 64
  intermediate_dim: 128
  dropout: 0.0
  normalize_first: true
training:
  epochs: 6
  steps_per_epoch: 160  # ten times through the text
  max_tokens: 100
  peak_rate: 0.003
  warmup_steps: 100
  label_smoothing: 0.1
  average_last: 3
"""


class Finished(NamedTuple):
    """What a command left behind."""

    returncode: int
    stdout: bytes
    stderr: bytes


def call(module, *arguments, stdin=b"", cwd=ROOT):
    """Calls a command's `main` in this process, where TensorFlow is loaded."""
    main = importlib.import_module(module).main
    streams = [io.TextIOWrapper(io.BytesIO(s)) for s in (stdin, b"", b"")]
    status = 0
    with (
        mock.patch("sys.stdin", streams[0]),
        contextlib.redirect_stdout(streams[1]),
        contextlib.redirect_stderr(streams[2]),
        contextlib.chdir(cwd),
    ):
        try:
            main([str(argument) for argument in arguments])
        except SystemExit as end:
            status = end.code
        for stream in streams[1:]:
            stream.flush()
        return Finished(status, *(s.buffer.getvalue() for s in streams[1:]))


def command(*arguments, stdin=b"", cwd=ROOT):
    """Runs `python ARGUMENTS` as a user would, in a process of its own."""
    return subprocess.run(
        [sys.executable, *map(str, arguments)],
        input=stdin,
        capture_output=True,
        cwd=cwd,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        check=False,
        timeout=600,
    )


@pytest.fixture(scope="session")
def pairs():
    """Sixty pairs of the phrasebook, its longest among them."""
    from training.phrasebook import generate

    some = sorted(generate("test", 400), key=lambda pair: len(pair[0]))
    return some[::8] + some[-10:]


@pytest.fixture(scope="session")
def corpus_folder(tmp_path_factory, pairs):
    """Files of parallel text and a recipe for them."""
    folder = tmp_path_factory.mktemp("corpus")
    rows = "".join(f"{source}\t{target}\n" for source, target in pairs)
    (folder / "train.tsv").write_text(rows, encoding="utf-8")
    for suffix, column in (("en", 0), ("es", 1)):
        text = "".join(f"{pair[column]}\n" for pair in pairs)
        (folder / f"valid.{suffix}").write_text(text, encoding="utf-8")
    (folder / "recipe.yaml").write_text(RECIPE, encoding="utf-8")
    return folder


@pytest.fixture(scope="session")
def run_folder(corpus_folder, tmp_path_factory):
    """A run that has learnt its sixty pairs by heart, of each process's own.

    Several processes that run tests train it only once between them.
    """
    run = corpus_folder / "runs" / "toy"
    if "PYTEST_XDIST_WORKER" not in os.environ:
        train_toy(corpus_folder)
        return run
    shared = tmp_path_factory.getbasetemp().parent / "toy"
    with open(shared.with_suffix(".lock"), "wb") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not shared.exists():
            train_toy(corpus_folder)
            shutil.copytree(run, shared)
            return run
    shutil.copytree(shared, run)
    return run


def train_toy(corpus_folder):
    process = command(
        "-m",
        "training",
        corpus_folder / "recipe.yaml",
        f"data.folder={corpus_folder}",
        f"output={corpus_folder / 'runs'}",
    )
    assert process.returncode == 0, process.stderr.decode()


@pytest.fixture(scope="session")
def export_folder(run_folder):
    """The run, exported."""
    process = call("export.__main__", run_folder)
    assert process.returncode == 0, process.stderr.decode()
    return run_folder / "export"
