"""Text of TensorFlow Datasets, prepared or in folders."""

import importlib.resources.abc
import importlib.util
import sys
from types import SimpleNamespace
from unittest import mock

import pytest
from parallel_text import EN_ES, read, refusal, write

from training.config import DataConfig, Source
from training.sources import source_files


@pytest.fixture
def translations(tmp_path):
    folder = tmp_path / "made"
    folder.mkdir()
    for split in ("train", "validation", "test"):
        for language, word in (("en", "one"), ("es", "uno")):
            path = folder / f"{language}.{split}.txt"
            path.write_text(f"{word} {split}\nx\n", encoding="utf-8")
    return tmp_path


@pytest.mark.parametrize(
    ("name", "split", "part"),
    [
        ("made", "train", "train"),
        ("made", "valid", "validation"),
        ("made", "test", "test"),
        ("made:test", "train", "test"),
    ],
)
def test_a_folder_of_translations(translations, name, split, part):
    pairs, report = read(translations, split, tfds=name)
    assert pairs == [(f"one {part}", f"uno {part}"), ("x", "x")]
    assert report.read == 2


def test_validation_text_that_is_called_dev(translations):
    for path in translations.rglob("*.validation.txt"):
        path.rename(path.with_name(path.name.replace("validation", "dev")))
    pairs, _ = read(translations, "valid", tfds="made")
    assert pairs[0] == ("one validation", "uno validation")


@pytest.mark.parametrize(
    ("languages", "reverse", "pair"),
    [
        (("es", "en"), False, ("uno train", "one train")),
        (("EN", "Es"), False, ("one train", "uno train")),
        (("en", "es"), True, ("uno train", "one train")),
    ],
)
def test_the_languages_of_a_folder(translations, languages, reverse, pair):
    pairs, _ = read(
        translations, languages=languages, reverse=reverse, tfds="made"
    )
    assert pairs[0] == pair


@pytest.mark.parametrize(
    ("name", "languages", "words"),
    [
        ("made:dev", EN_ES, ["no split dev", "test, train, validation"]),
        ("made", ("en", "fr"), ["no fr", "data.languages", "en, es"]),
        ("made", None, ["data.languages", "which two of en, es"]),
        ("empty", EN_ES, ["empty", "en.train.txt"]),
        ("none", EN_ES, ["none: no such dataset", "LANGUAGE.SPLIT.txt"]),
        ("none/de-en", EN_ES, ["none/de-en: no such dataset"]),
        (":train", EN_ES, ["NAME/CONFIG[:SPLIT]", ":train"]),
        ("wmt14_translate/xx-en", EN_ES, ["wmt14_translate/xx-en", "config"]),
    ],
)
def test_what_is_no_dataset(translations, name, languages, words):
    (translations / "empty").mkdir()
    message = refusal(translations, languages=languages, tfds=name)
    for word in words:
        assert word.lower() in message.lower()


@pytest.mark.parametrize(
    ("contents", "word"),
    [
        ({"en_train_txt": "a\nb\n", "es_train_txt": "x\n"}, "has 2 lines"),
        (
            {"en_train_txt": "a\n", "es_train_txt": b"\xe9\n"},
            "es.train.txt:1: not UTF-8",
        ),
    ],
)
def test_damaged_translations(tmp_path, contents, word):
    write(tmp_path, **contents)
    assert word in refusal(tmp_path.parent, tfds=tmp_path.name)


@pytest.mark.parametrize("other", ["README.md", ".DS_Store", "a.en.train.txt"])
def test_other_files_beside_translations(translations, other):
    (translations / "made" / other).write_text("x")
    assert len(read(translations, tfds="made")[0]) == 2


def test_translations_stay_aligned(tmp_path):
    write(tmp_path, en_train_txt="a\u2028b\nc\n", es_train_txt="x\ny\x0cz\n")
    pairs, _ = read(tmp_path.parent, tfds=tmp_path.name)
    assert pairs == [("a\u2028b", "x"), ("c", "y\x0cz")]


def test_a_split_in_one_language(translations):
    (translations / "made" / "en.dev.txt").write_text("one\n")
    assert "es" in refusal(translations, tfds="made:dev")


@pytest.mark.parametrize("part", ["train[:1]", "train+test", "train[x]"])
def test_parts_of_splits_of_a_folder(translations, part):
    assert part in refusal(translations, tfds=f"made:{part}")


def test_a_folder_at_home(translations, monkeypatch):
    monkeypatch.setenv("HOME", str(translations))
    assert len(read("elsewhere", tfds="~/made")[0]) == 2


def test_the_files_of_a_folder(translations):
    source = Source(tfds="made:test")
    data = DataConfig(
        [source], [source], languages=EN_ES, folder=str(translations)
    )
    names = {path.name for path in source_files(source, data, "train")}
    assert names == {"en.test.txt", "es.test.txt"}


@pytest.fixture(scope="module")
def dataset(tmp_path_factory):
    """The folder of a dataset as TensorFlow Datasets prepares it."""
    import tensorflow_datasets as tfds

    class Numbers(tfds.core.GeneratorBasedBuilder):
        VERSION = tfds.core.Version("1.0.0")

        def _info(self):
            languages = ("en", "es-ES")
            return tfds.core.DatasetInfo(
                builder=self,
                features=tfds.features.Translation(languages),
                supervised_keys=languages,
            )

        def _split_generators(self, _):
            return {"train": self._generate_examples()}

        def _generate_examples(self):
            for number in range(10):
                yield number, {"en": f"{number}", "es-ES": f"n\n{number}"}

    builder = Numbers(data_dir=tmp_path_factory.mktemp("tfds"))
    backport = {"importlib_resources": importlib.resources}
    with mock.patch.dict(sys.modules, backport):
        builder.download_and_prepare()
    return str(builder.data_path)


def test_a_prepared_dataset(dataset):
    pairs, _ = read(".", tfds=dataset)
    assert sorted(pairs) == [(f"{n}", f"n {n}") for n in range(10)]
    some, _ = read(".", tfds=f"{dataset}:train[:30%]", languages=None)
    assert some == pairs[:3]
    two, _ = read(".", tfds=f"{dataset}:train[:1]+train[3:5]", reverse=True)
    assert two == [p[::-1] for p in (pairs[0], *pairs[3:5])]


@pytest.mark.parametrize("part", ["train[x]", "train[:999%]", "train+none"])
def test_no_such_part_of_a_dataset(dataset, part):
    assert part in refusal(".", tfds=f"{dataset}:{part}")


class Unreachable:
    """A builder of TensorFlow Datasets on a machine without a network."""

    def __init__(self, error):
        self.error = error
        self.info = SimpleNamespace(homepage="https://home.example/")

    def download_and_prepare(self):
        raise self.error


@pytest.mark.parametrize(
    ("error", "address"),
    [
        (OSError("no route to http://host.example/a.tgz (x)"), "host.example"),
        (RuntimeError("broken\narchive"), "home.example"),
    ],
)
def test_a_download_that_fails(tmp_path, monkeypatch, error, address):
    import tensorflow_datasets as tfds

    monkeypatch.setattr(tfds, "builder", lambda name: Unreachable(error))
    message = refusal(tmp_path, tfds="wmt14_translate/de-en:train")
    assert "wmt14_translate/de-en could not be downloaded from " in message
    assert address in message and type(error).__name__ in message
    assert "as source and target" in message and "LANGUAGE.SPLIT" in message
    assert not list(tmp_path.iterdir())


def test_what_datasets_need_to_be_downloaded_is_installed():
    # TensorFlow Datasets imports it in `download_and_prepare`.
    assert importlib.util.find_spec("importlib_resources")
