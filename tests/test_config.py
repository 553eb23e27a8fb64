"""The recipe: every key checked, one line for each mistake."""

from pathlib import Path

import pytest

from tfxformer import InputError
from training.config import Source, read_recipe

GOOD = """
name: good
data:
  train: [{source: a.en, target: a.de}]
  valid: [{phrasebook: valid}]
"""
SOURCES = """
name: good
data:
  train: [{source: a.en, target: a.es}, {tsv: b.tsv, weight: 2}]
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


def test_a_recipe_lists_its_sources(tmp_path):
    data = recipe(tmp_path, SOURCES).data
    assert [str(source) for source in data.train] == [
        "source: a.en",
        "tsv: b.tsv",
    ]
    assert [source.weight for source in data.train] == [1, 2]
    assert (data.test, data.languages, data.max_length) == ([], None, 128)


def test_assignments_into_lists(tmp_path):
    data = recipe(
        tmp_path,
        SOURCES,
        "data.train.1.tsv=x.tsv",
        "data.train.1.columns=[3, 1]",
        "data.train.0.target=c.es",
        "data.valid=[{tsv: v.tsv}]",
        "data.languages=[en, es]",
        "data.languages.1=fr",
        "data.cleaning.max_ratio=null",
    ).data
    assert data.train[1] == Source(tsv="x.tsv", columns=(3, 1), weight=2)
    assert data.train[0] == Source(source="a.en", target="c.es")
    assert data.valid == [Source(tsv="v.tsv")]
    assert data.languages == ("en", "fr")
    assert data.cleaning.max_ratio is None


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


def test_norwegian_is_not_false(tmp_path):
    read = recipe(tmp_path, GOOD, "data.languages=[en, no]")
    assert read.data.languages == ("en", "no")


def test_a_data_service_cannot_sample_pieces(tmp_path):
    with pytest.raises(InputError, match=r"subword_sampling.*data_service"):
        recipe(
            tmp_path,
            GOOD,
            "training.data_service=grpc://host:5050",
            "training.subword_sampling=0.1",
        )


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
        ("model.preset=null", ["model", "without a preset", "hidden_dim"]),
        ("data.train.0.tsv=b.tsv", ["data.train.0", "give one", "2 given"]),
        ("data.train.0.target=null", ["data.train.0", "source and target"]),
        ("name=a/b", ["name", "a/b"]),
        ("name=..", ["name", ".."]),
        ("training", ["key=value", "'training'"]),
    ],
)
def test_a_mistake_is_named(tmp_path, assignment, words):
    assert_named(tmp_path, GOOD, assignment, words)


@pytest.mark.parametrize(
    ("assignment", "words"),
    [
        ("data.train.0.tsv=x.tsv", ["data.train.0:", "2 given", "give one"]),
        ("data.train=[{}]", ["data.train.0:", "0 given"]),
        ("data.train=[{source: a}]", ["data.train.0:", "go together"]),
        ("data.train.0.target=null", ["data.train.0:", "go together"]),
        ("data.train=[{jsonl: a, columns: [1, 2]}]", ["columns goes with tsv"]),
        ("data.train.1.fields=[a, b]", ["fields goes with jsonl, not tsv"]),
        ("data.train.1.columns=[0, 1]", ["data.train.1.columns.0", "than 0"]),
        ("data.train.1.columns=[1]", ["data.train.1.columns", "missing"]),
        ("data.train.1.columns=[1, 2, 3]", ["data.train.1.columns", "3"]),
        ("data.train.1.weight=0", ["data.train.1.weight", "than 0"]),
        ("data.train.1.weight=.inf", ["data.train.1.weight", "1000"]),
        ("data.train={tsv: a}", ["data.train:", "list", "{'tsv': 'a'}"]),
        ("data.train=a.tsv", ["data.train:", "list", "'a.tsv'"]),
        ("data.train=[]", ["data.train:", "at least 1"]),
        ("data.valid=[]", ["data.valid:", "at least 1"]),
        ("data.train.0=a.tsv", ["data.train.0:", "'a.tsv'"]),
        ("data.train.0.sorce=x", ["data.train.0.sorce: unk", "mean source?"]),
        ("data.train.1.wieght=2", ["data.train.1.wieght: unk", "weight?"]),
        ("data.test=[{tvs: x}]", ["data.test.0.tvs: unk", "mean tsv?"]),
        ("data.train.1.qqq=2", ["data.train.1.qqq", "known", "phrasebook"]),
        ("data.train.2.tsv=x", ["data.train.2.tsv=x:", "a list of 2", "'2'"]),
        ("data.train.-1.tsv=x", ["a list of 2", "'-1'", "from 0"]),
        ("data.train.tsv=x", ["a list of 2", "'tsv'", "from 0"]),
        ("data.train.1.tsv.x=y", ["data.train.1.tsv", "string"]),
        ("data.train.0.phrasebook=dev", ["data.train.0.phrasebook", "'dev'"]),
        ("data.languages=en", ["data.languages", "'en'"]),
        ("data.languages=[en]", ["data.languages.1", "missing"]),
        ("data.languages=[en, en]", ["data", "languages", "the same"]),
        ("data.train.0.columns=[2, 2]", ["data.train.0", "columns"]),
        ("data.train={tsv: a}", ["data.train", "list", "[ ]"]),
        ("data.max_length=65536", ["data.max_length", "65535"]),
        ("data.cleaning.max_ratio=0.5", ["max_ratio", "equal to 1", "0.5"]),
        ("data.cleaning.unicode=nfc", ["unicode", "'NFC'", "'nfc'"]),
        ("data.cleaning.duplicate=no", ["unknown", "mean duplicates?"]),
        ("data.cleaning=off", ["data.cleaning:", "False"]),
    ],
)
def test_a_mistake_in_the_sources_is_named(tmp_path, assignment, words):
    assert_named(tmp_path, SOURCES, assignment, words)


def assert_named(folder, text, assignment, words):
    with pytest.raises(InputError) as error:
        recipe(folder, text, assignment)
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
