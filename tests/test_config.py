"""The recipe: every key checked, one line for each mistake."""

from pathlib import Path

import pytest

from tfxformer import InputError
from training.config import read_recipe

GOOD = """
name: good
data:
  train: [{source: a.en, target: a.de}]
  valid: [{phrasebook: valid}]
"""
RECIPES = Path(__file__).parent.parent / "training" / "recipes"


def recipe(folder, text=GOOD, *assignments):
    path = folder / "recipe.yaml"
    path.write_text(text, encoding="utf-8")
    return read_recipe(str(path), assignments)


def test_values_and_defaults(tmp_path):
    read = recipe(tmp_path)
    assert read.name == "good"
    assert read.data.train[0].source == "a.en"
    assert read.data.valid[0].phrasebook == "valid"
    assert read.training.label_smoothing == 0.1  # the paper's


def test_assignments_replace_values(tmp_path):
    read = recipe(
        tmp_path,
        GOOD,
        "training.epochs=3",
        "training.peak_rate=1e-3",
        "model.hidden_dim=64",
        "name=other",
    )
    assert read.training.epochs == 3
    assert read.training.peak_rate == pytest.approx(0.001)
    assert read.model.hidden_dim == 64
    assert read.name == "other"


@pytest.mark.parametrize(
    ("assignment", "words"),
    [
        ("training.epohcs=3", ["training.epohcs", "unknown", "epochs"]),
        ("data.train.0.tvs=x", ["data.train.0.tvs", "unknown", "tsv"]),
        ("trainning={}", ["trainning", "unknown", "training"]),
        ("training.epochs=0", ["training.epochs", "greater than 0", "0"]),
        ("training.epochs=many", ["training.epochs", "integer", "many"]),
        ("training.peak_rate=.inf", ["peak_rate", "finite", "inf"]),
        ("model.dropout=1.5", ["model.dropout", "less than 1", "1.5"]),
        ("model.activation=tanh", ["model.activation", "relu", "tanh"]),
        ("model.preset=huge", ["model.preset", "tiny", "huge"]),
        ("data.train.0.tsv=b.tsv", ["data.train.0", "give one", "2 given"]),
        ("data.train.0.target=null", ["data.train.0", "source and target"]),
        ("name=a/b", ["name", "a/b"]),
        ("name=..", ["name", ".."]),
        ("training", ["key=value", "'training'"]),
    ],
)
def test_a_mistake_is_named(tmp_path, assignment, words):
    with pytest.raises(InputError) as error:
        recipe(tmp_path, GOOD, assignment)
    message = str(error.value)
    assert "\n" not in message
    for word in words:
        assert word in message


@pytest.mark.parametrize(
    ("text", "word"),
    [
        ("name: x\n", "data: missing"),
        ("", "mapping"),
        ("- a\n- b\n", "mapping"),
        ("name: [unclosed\n", "YAML"),
    ],
)
def test_a_file_that_is_no_recipe(tmp_path, text, word):
    with pytest.raises(InputError, match=word):
        recipe(tmp_path, text)


@pytest.mark.parametrize("path", sorted(RECIPES.glob("*.yaml")), ids=str)
def test_our_recipes_are_valid(path):
    assert read_recipe(str(path)).name == path.stem
