"""From files to a run folder, through the command that users call."""

import errno
import json
import shutil
import warnings

import keras
import numpy as np
import pytest
import yaml
from conftest import RECIPE, call, command

from tfxformer import InputError, load_run
from tfxformer.run_folder import weights_path


def train(folder, *assignments, recipe=RECIPE):
    (folder / "recipe.yaml").write_text(recipe, encoding="utf-8")
    return call("training.__main__", "recipe.yaml", *assignments, cwd=folder)


def test_the_run_folder_holds_all_that_is_promised(run_folder):
    names = {path.name for path in run_folder.iterdir()} - {"export"}
    assert names == {
        "checkpoints",
        "config.yaml",
        "corpus.json",
        "curves.png",
        "metrics.jsonl",
        "report.md",
        "tensorboard",
        "tokenizer.model",
        "valid.tsv",
        "versions.json",
        "weights",
    }
    for name in ("best", "last", "averaged"):
        assert weights_path(run_folder, name).is_file()
    assert len(list((run_folder / "weights").iterdir())) == 3
    assert not run_folder.with_name("toy.incomplete").exists()


def test_each_epoch_is_recorded(run_folder):
    lines = (run_folder / "metrics.jsonl").read_text().splitlines()
    records = [json.loads(line) for line in lines]
    assert [record["epoch"] for record in records] == list(range(1, 7))
    assert [record["step"] for record in records] == [
        160 * epoch for epoch in range(1, 7)
    ]
    assert records[-1]["loss"] < records[0]["loss"]
    seconds = [record["seconds"] for record in records]
    assert seconds[0] > 0 and seconds == sorted(set(seconds))
    for record in records:
        # The rate after n updates is that of update n + 1.
        progress = (record["step"] + 1) / 100
        rate = 0.003 * min(progress, progress**-0.5)
        assert record["learning_rate"] == pytest.approx(rate, rel=1e-5)


def test_the_recipe_is_kept_resolved(run_folder):
    config = yaml.safe_load((run_folder / "config.yaml").read_text())
    assert config["training"]["epochs"] == 6
    assert config["model"]["hidden_dim"] == 64
    assert config["model"]["vocabulary_size"] == 500


def test_progress_is_shown(corpus_folder, run_folder):
    process = train(
        corpus_folder,
        "name=shown",
        "training.epochs=2",
        "training.steps_per_epoch=null",
        "training.average_last=1",
    )
    assert process.returncode == 0
    text = process.stderr.decode()
    assert text.startswith("Recipe recipe.yaml: shown")
    for word in ("epoch 1/2", "epoch 2/2", "loss", "accuracy", "tokens/s"):
        assert word in text
    assert "rate" in text
    assert "Traceback" not in text
    again = train(corpus_folder, "name=shown")
    assert again.returncode == 2
    assert b"exists" in again.stderr and b"overwrite=true" in again.stderr


@pytest.mark.parametrize("name", ["letters", "letters.incomplete"])
def test_overwriting_spares_what_is_no_run(corpus_folder, tmp_path, name):
    (tmp_path / name).mkdir()
    (tmp_path / name / "love.txt").write_text("keep me")
    process = train(
        corpus_folder, f"output={tmp_path}", "name=letters", "overwrite=true"
    )
    assert process.returncode == 2
    assert b"is no run" in process.stderr.splitlines()[-1]
    assert (tmp_path / name / "love.txt").read_text() == "keep me"


def test_an_output_that_is_a_file_is_noticed_at_once(corpus_folder, tmp_path):
    (tmp_path / "file").write_text("keep me")
    process = train(corpus_folder, f"output={tmp_path / 'file'}")
    assert process.returncode == 2
    assert b"output: " in process.stderr and b"not a fold" in process.stderr
    assert b"Vocabulary" not in process.stderr


def test_separate_vocabularies_and_word_vectors(corpus_folder):
    vectors = corpus_folder / "vectors.txt"
    vectors.write_text("2 64\nthe " + "1 " * 64 + "\nque " + "2 " * 64 + "\n")
    process = train(
        corpus_folder,
        "name=separate",
        "tokenizer.shared=false",
        "tokenizer.vocabulary_size=350",
        f"model.embeddings={vectors}",
        "model.num_decoder_layers=1",
        "model.position_encoding=learned",
        "training.epochs=1",
        "training.steps_per_epoch=null",
    )
    assert process.returncode == 0, process.stderr.decode()
    assert b"vectors for 1 of 350 pieces" in process.stderr
    run = load_run(corpus_folder / "runs" / "separate")
    assert run.source_tokenizer.model_proto != run.target_tokenizer.model_proto
    assert len(run.model.decoder_blocks) == 1
    process = call("export.__main__", corpus_folder / "runs" / "separate")
    assert process.returncode == 0, process.stderr.decode()
    found = {
        call("tfxformer.cli", "translate", model, stdin=b"The dog.\n\n").stdout
        for model in (
            corpus_folder / "runs" / "separate",
            corpus_folder / "runs" / "separate" / "export" / "saved_model",
            corpus_folder / "runs" / "separate" / "export" / "separate.tflite",
        )
    }
    assert len(found) == 1
    lines = found.pop().split(b"\n")
    assert lines[0] and lines[1:] == [b"", b""]


@pytest.mark.parametrize(
    ("assignments", "words"),
    [
        (["training.epohcs=1"], ["training.epohcs", "did you mean epochs"]),
        (["data.train.0.tsv=none.tsv"], ["none.tsv", "No such file"]),
        (["model.num_heads=7"], ["num_heads=7", "hidden_dim=64"]),
        (["model.hidden_dim=65", "model.num_heads=5"], ["hidden_dim=65"]),
        (["tokenizer.vocabulary_size=9999"], ["vocabulary_size=9999"]),
        (["model.tie_embeddings=all", "tokenizer.shared=false",
          "tokenizer.vocabulary_size=350"], ["tie_embeddings"]),
        (["data.max_length=2"], ["no pairs are left", "too long"]),
        (["data.train.0.tsv=empty.tsv"], ["no pairs", "empty.tsv"]),
        (["data.train.0.tsv=latin1.tsv"], ["latin1.tsv:2", "0xe9"]),
        (["data.valid.0.target=train.tsv", "data.valid.0.source=latin1.tsv"],
         ["latin1.tsv"]),
        (["model.embeddings=none.txt"], ["none.txt"]),
        (["data.train.0.weight=0.0001"], ["raise the weights", "0.0001"]),
        (["training.data_service=grpc://127.0.0.1:1"],
         ["grpc://127.0.0.1:1", "no dispatcher"]),
    ],
)  # fmt: skip
def test_bad_input_is_one_line_and_leaves_nothing(
    corpus_folder, tmp_path, assignments, words
):
    (corpus_folder / "empty.tsv").write_bytes(b"")
    (corpus_folder / "latin1.tsv").write_bytes(b"a\tb\ncaf\xe9\tb\n")
    process = train(corpus_folder, f"output={tmp_path / 'out'}", *assignments)
    lines = process.stderr.decode().splitlines()
    assert process.returncode == 2, process.stderr.decode()
    assert lines[-1].startswith("training: error: ")
    for word in words:
        assert word in lines[-1]
    assert "Traceback" not in process.stderr.decode()
    assert not (tmp_path / "out").exists()


def test_a_recipe_that_is_not_there(tmp_path):
    process = call("training.__main__", "none.yaml", cwd=tmp_path)
    assert process.returncode == 2
    assert process.stderr.decode().splitlines() == [
        "training: error: none.yaml: No such file or directory"
    ]


def test_a_loaded_run_gives_equal_logits_in_another_process(run_folder):
    program = (
        "import sys, numpy as np; from tfxformer import load_run;"
        "model = load_run(sys.argv[1]).model;"
        "ids = np.arange(4, 24).reshape(2, 10);"
        "np.save(sys.argv[2], model((ids, ids)))"
    )
    path = run_folder.with_name("logits.npy")
    process = command("-c", program, run_folder, path)
    assert process.returncode == 0, process.stderr.decode()
    ids = np.arange(4, 24).reshape(2, 10)
    logits = load_run(run_folder).model((ids, ids))
    np.testing.assert_array_equal(np.load(path), logits)


@pytest.mark.parametrize(
    ("damage", "word"),
    [
        (lambda run: (run / "config.yaml").unlink(), "no config.yaml"),
        (lambda run: (run / "config.yaml").write_text("a: 1"), "not the conf"),
        (lambda run: (run / "config.yaml").write_text("\0"), "not the conf"),
        (lambda run: (run / "tokenizer.model").write_bytes(b"x"), "tokenizer"),
        (lambda run: weights_path(run, "best").unlink(), "best.weights.h5"),
        (lambda run: weights_path(run, "best").write_bytes(b"x"), "best"),
        (
            lambda run: (run / "config.yaml").write_text(
                (run / "config.yaml")
                .read_text()
                .replace("hidden_dim: 64", "hidden_dim: 32")
            ),
            "do not fit",
        ),
        (
            lambda run: (run / "config.yaml").write_text(
                (run / "config.yaml")
                .read_text()
                .replace("num_layers: 2", "num_layers: 1")
            ),
            "values for",
        ),
        (
            lambda run: (run / "config.yaml").write_text(
                (run / "config.yaml")
                .read_text()
                .replace("hidden_dim: 64", "hidden_dim: 100000000000")
            ),
            "OOM",
        ),
        (
            lambda run: (run / "config.yaml").write_text(
                (run / "config.yaml").read_text()
                + "\nevil: !!python/object/apply:os.system ['touch /tmp/x']\n"
            ),
            "not the configuration",
        ),
    ],
)
def test_a_damaged_run_is_refused(run_folder, tmp_path, damage, word):
    copy = tmp_path / "copy"
    ignore = shutil.ignore_patterns("export", "tensorboard")
    shutil.copytree(run_folder, copy, ignore=ignore)
    damage(copy)
    with pytest.raises((InputError, FileNotFoundError), match=word) as error:
        load_run(copy)
    assert "\n" not in str(error.value)


def open_file(x, path):
    with open(path, "wb"):
        return x


@pytest.mark.parametrize("suffix", [".keras", ".h5"])
def test_code_in_a_model_file_is_never_run(run_folder, tmp_path, suffix):
    """Neither where a run is expected, nor as the weights of one."""
    opened = tmp_path / "opened"
    layer = keras.layers.Lambda(
        open_file, arguments={"path": str(opened)}, output_shape=(2,)
    )
    model = keras.Sequential([keras.Input((2,)), layer])
    path = tmp_path / f"model{suffix}"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # HDF5 is considered legacy
        model.save(path)
    model(np.zeros((1, 2)))
    assert opened.exists()  # so it would be
    opened.unlink()
    with pytest.raises(InputError, match="not a run folder"):
        load_run(path)
    for module in ("tfxformer.cli", "export.__main__"):
        first = ["translate"] if module == "tfxformer.cli" else []
        process = call(module, *first, path)
        assert process.returncode == 2
        assert len(process.stderr.splitlines()) == 1
    copy = tmp_path / "copy"
    ignore = shutil.ignore_patterns("export", "tensorboard", "checkpoints")
    shutil.copytree(run_folder, copy, ignore=ignore)
    weights_path(copy, "best").write_bytes(path.read_bytes())
    with pytest.raises(InputError, match="damaged"):
        load_run(copy)
    assert not opened.exists()


def test_a_full_disk_at_the_end_can_be_resumed(
    corpus_folder, tmp_path, monkeypatch
):
    small = [
        f"data.folder={corpus_folder}", f"output={tmp_path}", "name=full",
        "training.epochs=1", "training.steps_per_epoch=4",
        "model.num_layers=1",
    ]  # fmt: skip
    recipe = corpus_folder / "recipe.yaml"

    def write_report(*arguments):
        raise OSError(errno.ENOSPC, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr("training.train.write_report", write_report)
        process = call("training.__main__", recipe, *small)
    assert process.returncode == 2
    line = process.stderr.decode().splitlines()[-1]
    assert "the disk is full" in line and "--resume" in line
    process = call("training.__main__", recipe, *small, "--resume")
    assert process.returncode == 0, process.stderr.decode()
    assert (tmp_path / "full" / "report.md").exists()
