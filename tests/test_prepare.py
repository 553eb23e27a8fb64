"""From clean text to token ids, in memory or in shards."""

import errno
import fcntl
import json
import multiprocessing
import threading
from pathlib import Path

import numpy as np
import pytest
from parallel_text import data_of

from tfxformer import InputError
from training import prepare as preparing
from training import shards, spool
from training.config import (
    Recipe,
    Source,
    TokenizerConfig,
)
from training.fingerprint import describe, find_all_files
from training.parallel import ordered_map
from training.prepare import clean_train, prepare
from training.spool import Spool
from training.tokens import PairTokenizer

PAIRS = [
    (f"The {noun} has {n} cats.", f"La {word} tiene {n} gatos.")
    for noun, word in (("house", "casa"), ("girl", "chica"), ("road", "calle"))
    for n in range(100)
]


@pytest.fixture
def recipe(tmp_path):
    """A recipe for three hundred pairs in two files."""
    folder = tmp_path / "text"
    folder.mkdir()
    for name, pairs in (("a.tsv", PAIRS[:200]), ("b.tsv", PAIRS[200:])):
        rows = "".join(f"{source}\t{target}\n" for source, target in pairs)
        (folder / name).write_text(rows, encoding="utf-8")
    data = data_of(folder, Source(tsv="a.tsv"), Source(tsv="b.tsv", weight=2))
    data.prepared = str(tmp_path / "prepared")
    return Recipe("toy", data, TokenizerConfig(vocabulary_size=295))


@pytest.fixture
def small_memory(monkeypatch):
    monkeypatch.setattr(preparing, "IN_MEMORY_BYTES", 1000)
    monkeypatch.setattr(shards, "PAIRS_PER_SHARD", 80)
    monkeypatch.setattr(spool, "BLOCK_BYTES", 2000)


def parts_of(corpus):
    """For each shard its pairs: (source ids, target ids, origin)."""
    if not isinstance(corpus.shards, list):
        return [rows_of(corpus.shards)]
    import tensorflow as tf

    parts = []
    for path in corpus.shards:
        rows = []
        for record in tf.data.TFRecordDataset(str(path)).as_numpy_iterator():
            values = np.frombuffer(record, "<i4")
            count = values[0]
            lengths = values[1 : 1 + 3 * count].reshape(3, count)
            source, target = lengths[0].sum(), lengths[1].sum()
            ids = values[1 + 3 * count :]
            assert len(ids) == source + target
            rows += rows_of_arrays(ids[:source], ids[source:], *lengths)
        parts.append(rows)
    return parts


def rows_of(pairs):
    return rows_of_arrays(
        pairs.source_ids,
        pairs.target_ids,
        pairs.source_lengths,
        pairs.target_lengths,
        pairs.origins,
    )


def rows_of_arrays(sources, targets, source_lengths, target_lengths, origins):
    source_rows = np.split(sources, np.cumsum(source_lengths)[:-1])
    target_rows = np.split(targets, np.cumsum(target_lengths)[:-1])
    return [
        (tuple(s.tolist()), tuple(t.tolist()), int(origin))
        for s, t, origin in zip(
            source_rows[: len(origins)],
            target_rows[: len(origins)],
            origins,
            strict=True,
        )
    ]


def prepared_folders(recipe):
    folder = Path(recipe.data.prepared)
    return sorted(folder.iterdir()) if folder.exists() else []


def test_a_small_corpus_stays_in_memory(recipe):
    prepared = prepare(recipe)
    assert prepared_folders(recipe) == []
    tokenizer = prepared.tokenizers[0]
    assert prepared.tokenizers[1] is tokenizer
    ids = [tokenizer.tokenize(list(side)) for side in zip(*PAIRS, strict=True)]
    origins = [0] * 200 + [1] * 100
    expected = zip(map(tuple, ids[0]), map(tuple, ids[1]), origins, strict=True)
    (rows,) = parts_of(prepared.train)
    assert rows == list(expected)
    assert prepared.train.weights == [1, 2]
    (lengths,) = prepared.train.indices
    assert lengths.tolist() == [[len(s), len(t), o] for s, t, o in rows]
    report = prepared.reports["train"]
    assert [(r.read, r.kept) for r in report.sources] == [
        (200, 200),
        (100, 100),
    ]
    assert prepared.valid_pairs == [("a valid one", "una")]
    assert prepared.valid.num_pairs == 1
    assert set(prepared.reports) == {"train", "valid"}


def test_a_large_corpus_goes_into_shards(recipe, monkeypatch, small_memory):
    with monkeypatch.context() as patch:
        patch.setattr(preparing, "IN_MEMORY_BYTES", 1 << 30)
        small = prepare(recipe)
    large = prepare(recipe)
    assert large.train.num_pairs == 300
    assert large.reports == small.reports
    (folder,) = prepared_folders(recipe)
    parts = parts_of(large.train)
    assert len(parts) == 4
    together = [row for part in parts for row in part]
    assert sorted(together) == sorted(parts_of(small.train)[0])
    assert len(set(together)) == 300
    for part, index in zip(parts, large.train.indices, strict=True):
        # Each is a sample of the whole: of both files, about as many pairs.
        assert {origin for *_, origin in part} == {0, 1}
        assert 60 < len(part) < 90
        assert index.tolist() == [[len(s), len(t), o] for s, t, o in part]
    assert "clean.tsv" not in {path.name for path in folder.iterdir()}


@pytest.mark.parametrize("shared", [True, False])
def test_shards_are_used_again(recipe, monkeypatch, small_memory, shared):
    recipe.tokenizer.shared = shared
    first = prepare(recipe)
    monkeypatch.setattr(preparing, "clean_train", None)
    second = prepare(recipe)
    assert parts_of(second.train) == parts_of(first.train)
    assert second.reports == first.reports
    for old, new in zip(first.tokenizers, second.tokenizers, strict=True):
        assert old.model_proto == new.model_proto
    assert (second.tokenizers[0] is second.tokenizers[1]) == shared
    assert len(prepared_folders(recipe)) == 1


def change_file(recipe):
    with open(Path(recipe.data.folder, "b.tsv"), "a") as file:
        file.write("new\tnuevo\n")


@pytest.mark.parametrize(
    "change",
    [
        change_file,
        lambda r: setattr(r.data.cleaning, "duplicates", False),
        lambda r: setattr(r.data.cleaning, "max_ratio", 3.0),
        lambda r: setattr(r.data, "max_length", 100),
        lambda r: setattr(r.data, "languages", ("en", "es")),
        lambda r: setattr(r.data, "reverse", True),
        lambda r: setattr(r.data.train[0], "columns", (2, 1)),
        lambda r: r.data.train.reverse(),
        lambda r: setattr(r.data, "test", [Source(tsv="a.tsv")]),
        lambda r: setattr(r.tokenizer, "model_type", "bpe"),
        lambda r: setattr(r.tokenizer, "vocabulary_size", 294),
        lambda r: setattr(r.tokenizer, "normalization", "nfkc_cf"),
    ],
)
def test_what_makes_shards_anew(recipe, small_memory, change):
    fingerprint = describe(recipe, find_all_files(recipe.data))
    change(recipe)
    again = describe(recipe, find_all_files(recipe.data))
    assert fingerprint["fingerprint"] != again["fingerprint"]


def test_what_does_not_make_shards_anew(recipe, tmp_path, small_memory):
    prepare(recipe)
    recipe.data.train[0].weight = 7.0
    recipe.seed, recipe.name, recipe.model.hidden_dim = 9, "other", 16
    recipe.training.epochs = 3
    (tmp_path / "text").rename(tmp_path / "moved")
    recipe.data.folder = str(tmp_path / "moved")
    (tmp_path / "prepared").rename(tmp_path / "elsewhere")
    recipe.data.prepared = str(tmp_path / "elsewhere")
    preparing_again = prepare(recipe)
    assert preparing_again.train.weights == [7, 2]
    assert len(prepared_folders(recipe)) == 1


def test_a_changed_file_gives_a_second_folder(recipe, small_memory):
    prepare(recipe)
    change_file(recipe)
    assert prepare(recipe).train.num_pairs == 301
    assert len(prepared_folders(recipe)) == 2


def test_the_manifest_says_what_is_in_the_folder(recipe, small_memory):
    prepared = prepare(recipe)
    (folder,) = prepared_folders(recipe)
    manifest = json.loads((folder / "manifest.json").read_text("utf-8"))
    assert manifest["fingerprint"] == folder.name
    assert sum(manifest["pairs"]) == 300
    assert manifest["pairs"] == [len(i) for i in prepared.train.indices]
    assert manifest["report"]["kept"] == 300
    assert len(manifest["files"]) == 3
    assert manifest["tokenizer"]["vocabulary_size"] == 295


def test_a_killed_attempt_does_not_disturb(recipe, small_memory):
    first = prepare(recipe)
    (folder,) = prepared_folders(recipe)
    incomplete = folder.with_name(folder.name + ".incomplete")
    folder.rename(incomplete)
    (incomplete / "manifest.json").unlink()
    (incomplete / "clean.tsv").write_text("junk\tjunk\n")
    folder.with_suffix(".lock").write_bytes(b"")
    again = prepare(recipe)
    assert prepared_folders(recipe) == [folder]
    assert parts_of(again.train) == parts_of(first.train)


def raising(error):
    def replacement(*_, **__):
        raise error

    return replacement


STEPS = pytest.mark.parametrize(
    ("owner", "name"),
    [
        (Spool, "sample"),
        (Spool, "blocks"),
        (Spool, "remove_file"),
        (shards, "write_shards"),
        (shards, "write_folder"),
        (PairTokenizer, "__call__"),
    ],
)


@STEPS
def test_an_interruption_leaves_nothing(
    recipe, monkeypatch, small_memory, owner, name
):
    with monkeypatch.context() as patch:
        patch.setattr(owner, name, raising(KeyboardInterrupt))
        with pytest.raises(KeyboardInterrupt):
            prepare(recipe)
    assert prepared_folders(recipe) == []
    assert prepare(recipe).train.num_pairs == 300


def full_disk():
    return OSError(errno.ENOSPC, "No space left on device")


@STEPS
def test_a_full_disk_is_one_line_and_leaves_nothing(
    recipe, monkeypatch, small_memory, owner, name
):
    monkeypatch.setattr(owner, name, raising(full_disk()))
    with pytest.raises(InputError) as error:
        prepare(recipe)
    message = str(error.value)
    assert message.startswith(f"{recipe.data.prepared}: the disk is full")
    assert "MB so far" in message and "are free" in message
    assert "data.prepared" in message and "\n" not in message
    assert prepared_folders(recipe) == []


def test_a_full_disk_as_tensorflow_says_it(recipe, monkeypatch, small_memory):
    import tensorflow as tf

    error = tf.errors.ResourceExhaustedError(
        None, None, "a.tfrecord; No space left on device"
    )
    monkeypatch.setattr(shards, "write_folder", raising(error))
    with pytest.raises(InputError, match="the disk is full"):
        prepare(recipe)
    assert prepared_folders(recipe) == []


def on_full_disk(path, mode="rb", **options):
    name = "/dev/full" if str(path).endswith("clean.tsv") else path
    return open(name, mode, **options)


def test_clean_text_that_does_not_fit(recipe, monkeypatch, small_memory):
    spools = []

    class KeptSpool(Spool):
        def __enter__(self):
            spools.append(self)
            return super().__enter__()

    monkeypatch.setattr("training.files.BLOCK_BYTES", 3000)
    monkeypatch.setattr(spool, "open", on_full_disk, raising=False)
    monkeypatch.setattr(preparing, "Spool", KeptSpool)
    try:
        with pytest.raises(InputError, match="the disk is full"):
            prepare(recipe)
        assert prepared_folders(recipe) == []
    finally:
        spools[0]._lock.close()


def test_a_source_that_changes_while_it_is_read(recipe, monkeypatch):
    write_rows = Spool.write

    def write_and_change(self, *arguments):
        write_rows(self, *arguments)
        change_file(recipe)

    monkeypatch.setattr(Spool, "write", write_and_change)
    with pytest.raises(InputError, match=r"b\.tsv: changed while it was read"):
        prepare(recipe)


def test_a_source_that_is_not_there(recipe):
    recipe.data.train.append(Source(tsv="none.tsv"))
    with pytest.raises(FileNotFoundError, match="none"):
        prepare(recipe)


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("manifest.json", None),
        ("manifest.json", b"{"),
        ("manifest.json", b"[]"),
        ("manifest.json", b"{}"),
        ("manifest.json", b"\xff"),
        ("index.npy", None),
        ("index.npy", b""),
        ("index.npy", b"\x93NUMPY"),
        ("tokenizer.model", None),
        ("tokenizer.model", b"x"),
        ("00001-of-00004.tfrecord", None),
        pytest.param("00001-of-00004.tfrecord", b""),
        pytest.param(
            "manifest.json", b'{"pairs": [], "report": {"name": "train"}}'
        ),
    ],
)
def test_a_damaged_folder(recipe, small_memory, name, content):
    prepare(recipe)
    (folder,) = prepared_folders(recipe)
    (folder / name).unlink()
    if content is not None:
        (folder / name).write_bytes(content)
    with pytest.raises(InputError) as error:
        prepare(recipe)
    assert str(error.value).startswith(f"{folder}: damaged (")
    assert "remove it" in str(error.value)


def test_a_shorter_index_is_noticed(recipe, small_memory):
    prepare(recipe)
    (folder,) = prepared_folders(recipe)
    index = np.load(folder / "index.npy")
    np.save(folder / "index.npy", index[:-1])
    with pytest.raises(InputError, match=r"damaged \(not what"):
        prepare(recipe)


def test_data_prepared_that_is_a_file(recipe, tmp_path, small_memory):
    (tmp_path / "prepared").write_text("keep me")
    with pytest.raises((InputError, OSError)) as error:
        prepare(recipe)
    assert "prepared" in str(error.value)
    assert (tmp_path / "prepared").read_text() == "keep me"


def test_a_second_run_waits_for_the_first(recipe, monkeypatch, small_memory):
    waiting, trained = threading.Event(), []
    train = preparing.train_tokenizers

    def train_tokenizers(*arguments):
        trained.append(waiting.wait(30))
        return train(*arguments)

    monkeypatch.setattr(preparing, "train_tokenizers", train_tokenizers)
    monkeypatch.setattr(spool, "say", lambda message: waiting.set())
    results = []
    threads = [
        threading.Thread(target=lambda: results.append(prepare(recipe)))
        for _ in range(2)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert trained == [True]  # once, and the other said that it waits
    first, second = results
    assert parts_of(first.train) == parts_of(second.train)
    assert len(prepared_folders(recipe)) == 1


def test_a_run_goes_on_when_the_first_has_failed(
    recipe, tmp_path, monkeypatch, small_memory
):
    manifest = describe(recipe, find_all_files(recipe.data))
    (tmp_path / "prepared").mkdir()
    path = tmp_path / "prepared" / f"{manifest['fingerprint']}.lock"
    waiting = threading.Event()
    monkeypatch.setattr(spool, "say", lambda message: waiting.set())
    train, locked = preparing.train_tokenizers, []

    def train_tokenizers(*arguments):
        locked.append(path.exists())  # not only the file that was removed
        return train(*arguments)

    monkeypatch.setattr(preparing, "train_tokenizers", train_tokenizers)
    results = []
    thread = threading.Thread(target=lambda: results.append(prepare(recipe)))
    with open(path, "wb") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        thread.start()
        assert waiting.wait(30)
        path.unlink()  # as the first does at its end
    thread.join(60)
    assert locked == [True]
    assert results[0].train.num_pairs == 300
    assert [folder.name for folder in prepared_folders(recipe)] == [
        manifest["fingerprint"]
    ]


# What is left


def test_nothing_left_of_the_validation_text(recipe, tmp_path):
    (tmp_path / "text" / "valid.tsv").write_text(f"{'xy ' * 99}\tz\n")
    recipe.data.max_length = 99
    with pytest.raises(InputError, match=r"data\.valid: no pairs.*too long"):
        prepare(recipe)


def test_nothing_left_of_the_training_text(recipe, tmp_path):
    (tmp_path / "text" / "valid.tsv").write_text("a\tb\n")
    recipe.data.max_length = 3
    with pytest.raises(InputError, match=r"data\.train: .*too long"):
        prepare(recipe)


def test_validation_text_is_mended_but_kept(recipe, tmp_path):
    rows = "a\0b\ta\na\tb\na\tb\nThe house has 1 cats.\tx\n\ty\n"
    (tmp_path / "text" / "valid.tsv").write_text(rows)
    prepared = prepare(recipe)
    assert prepared.valid_pairs == [
        ("a b", "a"),
        ("a", "b"),
        ("a", "b"),
        ("The house has 1 cats.", "x"),
    ]
    report = prepared.reports["valid"].total()
    assert (report.read, report.kept) == (5, 4)
    assert report.dropped == {"empty on a side": 1}
    train = prepared.reports["train"].total()
    assert train.dropped == {"in the validation or test text": 1}


def test_test_text_is_kept_out_of_training(recipe, tmp_path):
    (tmp_path / "text" / "test.tsv").write_text("THE ROAD has 7 CATS.\tx\n")
    recipe.data.test = [Source(tsv="test.tsv")]
    prepared = prepare(recipe)
    assert prepared.train.num_pairs == 299
    assert prepared.reports["train"].sources[1].dropped == {
        "in the validation or test text": 1
    }
    assert prepared.reports["test"].total().kept == 1


def test_what_drops_out_of_two_validation_sources(recipe, tmp_path):
    (tmp_path / "text" / "long.tsv").write_text("word " * 200 + "\tx\n")
    recipe.data.valid.insert(0, Source(tsv="long.tsv"))
    report = prepare(recipe).reports["valid"]
    assert [source.kept for source in report.sources] == [0, 1]


def test_an_empty_test_text(recipe, tmp_path):
    (tmp_path / "text" / "test.tsv").write_text("")
    recipe.data.test = [Source(tsv="test.tsv")]
    with pytest.raises(InputError, match=r"data\.test: no pairs in tsv: test"):
        prepare(recipe)


# Several processes


def test_cleaning_in_several_processes_gives_the_same(recipe, monkeypatch):
    monkeypatch.setattr("training.files.BLOCK_BYTES", 100)
    data = recipe.data
    data.train.append(Source(tsv="a.tsv"))  # all of it is there already
    data.languages = ("en", "es")
    outcomes = []
    for ordered in (ordered_map, map):
        monkeypatch.setattr(preparing, "ordered_map", ordered)
        folder = recipe.data.folder
        with Spool(folder, folder, 3, 1 << 30) as clean_text:
            report = clean_train(
                data, ["the HOUSE has 5 cats."], {}, clean_text
            )
            outcomes.append((list(clean_text.sample(1 << 30)), report))
    assert outcomes[0] == outcomes[1]
    pairs, report = outcomes[0]
    assert pairs == PAIRS[:5] + PAIRS[6:]
    assert [r.read for r in report.sources] == [200, 100, 200]
    assert report.sources[2].dropped == {
        "in the validation or test text": 1,
        "duplicate": 199,
    }
    assert multiprocessing.active_children() == []
