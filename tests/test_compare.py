"""Runs compared: scores, and whether the difference is more than chance."""

import random

import pytest
from conftest import call
from sacrebleu.metrics import BLEU

from training.compare import compare
from training.progress import short_names

REFERENCES = [
    f"the {animal} did not cross the {place} because it was too {how}"
    for animal in ("cat", "dog", "horse", "goat", "cow", "hen")
    for place in ("street", "river", "bridge", "field")
    for how in ("tired", "wide", "old", "deep")
]


def worse(share, seed=1):
    """Replaces words of that share of the lines."""
    draw = random.Random(seed)
    return [
        line.replace("because", "since").replace("cross", "see")
        if draw.random() < share
        else line
        for line in REFERENCES
    ]


def cells(line):
    return [cell.strip() for cell in line.strip("| ").split("|")]


def test_a_clear_difference_and_none():
    lines = compare(
        [
            ("base", worse(0.5)),
            ("other", worse(0.5, seed=2)),
            ("equal", worse(0.5)),
            ("better", worse(0.1)),
        ],
        REFERENCES,
        num_samples=200,
    )
    rows = {cells(line)[0]: cells(line)[1:] for line in lines[2:6]}
    p = {name: row[0].split(", ")[1:] for name, row in rows.items()}
    assert p["base"] == [] and p["equal"] == ["equal"]
    assert float(p["better"][0]) < 0.05 < float(p["other"][0])
    score = BLEU().corpus_score(worse(0.1), [REFERENCES]).score
    assert rows["better"][0].startswith(f"{score:.2f} (")
    assert any("bs:200" in line for line in lines[5:])


def test_two_formats_of_a_run(export_folder, corpus_folder):
    arguments = [
        "--source", corpus_folder / "valid.en",
        "--reference", corpus_folder / "valid.es",
    ]  # fmt: skip
    run = export_folder.parent
    process = call(
        "training.compare",
        run, export_folder / "toy.int8.tflite", *arguments,
        "--samples", 100,
    )  # fmt: skip
    assert process.returncode == 0, process.stderr.decode()
    lines = process.stdout.decode().splitlines()
    assert cells(lines[2])[0] == "toy"
    assert cells(lines[3])[0] == "toy.int8.tflite"
    process = call("training.compare", run, *arguments)
    assert process.returncode == 2
    assert b"at least two models" in process.stderr


@pytest.mark.parametrize("suffix", ["png", "svg"])
def test_curves_of_runs(run_folder, tmp_path, suffix):
    path = tmp_path / f"curves.{suffix}"
    process = call("training.plot", run_folder, run_folder, "--out", path)
    assert process.returncode == 0, process.stderr.decode()
    content = path.read_bytes()
    assert content.startswith(b"\x89PNG" if suffix == "png" else b"<?xml")
    if suffix == "svg":
        for title in (b"loss", b"accuracy", b"perplexity", b"learning rate"):
            assert b"<!-- " + title + b" -->" in content


def test_runs_of_the_same_name_are_told_apart(run_folder, tmp_path):
    other = tmp_path / "toy"
    other.mkdir()
    (other / "metrics.jsonl").write_bytes(
        (run_folder / "metrics.jsonl").read_bytes()
    )
    path = tmp_path / "curves.svg"
    process = call("training.plot", run_folder, other, "--out", path)
    assert process.returncode == 0, process.stderr.decode()
    for name in ("runs/toy", f"{tmp_path.name}/toy"):
        assert f"<!-- {name} -->" in path.read_text()


def test_short_names():
    assert short_names(["a/b/run", "a/c/run/"]) == ["b/run", "c/run"]
    assert short_names(["x/one", "x/two"]) == ["one", "two"]
    assert short_names(["x/run", "x/run"]) == ["run", "run"]
    assert short_names(["run", "a/run"]) == ["run", "a/run"]


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (None, "no metrics.jsonl"),
        ("", "no epoch has ended"),
        ("{", "damaged"),
        ('{"step": 1}\n', "damaged"),
        ("[]\n", "damaged"),
    ],
)
def test_curves_of_something_else(tmp_path, content, words):
    if content is not None:
        (tmp_path / "metrics.jsonl").write_text(content)
    process = call("training.plot", tmp_path, "--out", tmp_path / "x.png")
    assert process.returncode == 2
    assert words in process.stderr.decode().splitlines()[-1]
    process = call("training.plot", tmp_path, "--out", tmp_path / "x.doc")
    assert process.returncode == 2 and b".png" in process.stderr
