"""Going on from another run, with parts of it frozen."""

import numpy as np
import pytest
import yaml
from conftest import call

from tfxformer import load_run

SETTINGS = [
    "training.epochs=1",
    "training.steps_per_epoch=16",
    "training.average_last=1",
]


def train(folder, output, *assignments):
    return call(
        "training.__main__",
        folder / "recipe.yaml",
        f"data.folder={folder}",
        f"output={output}",
        *SETTINGS,
        *assignments,
    )


@pytest.fixture(scope="module")
def tuned(corpus_folder, run_folder, tmp_path_factory):
    output = tmp_path_factory.mktemp("tuned")
    process = train(
        corpus_folder, output, "name=tuned", f"start_from={run_folder}",
        "training.frozen=[embeddings, encoder]", "model.hidden_dim=32",
        "model.dropout=0.1", "tokenizer.vocabulary_size=300",
        "training.best_by=bleu", "training.validation_sentences=10",
        "training.decay=linear", "training.warmup_steps=4",
        "training.clip_norm=1.0",
    )  # fmt: skip
    assert process.returncode == 0, process.stderr.decode()
    return output / "tuned", process.stderr.decode()


def test_tokenizer_and_sizes_are_those_of_the_run(tuned, run_folder):
    folder, text = tuned
    assert f"Going on from {run_folder}" in text
    name = "tokenizer.model"
    assert (folder / name).read_bytes() == (run_folder / name).read_bytes()
    model = yaml.safe_load((folder / "config.yaml").read_text())["model"]
    assert (model["hidden_dim"], model["vocabulary_size"]) == (64, 500)
    assert model["dropout"] == 0.1


def test_what_is_frozen_stays_and_the_rest_changes(tuned, run_folder):
    before = load_run(run_folder).model
    after = load_run(tuned[0], "last").model
    changed = {}
    for one, other in zip(before.weights, after.weights, strict=True):
        assert one.path.split("/")[1:] == other.path.split("/")[1:]
        changed[one.path] = not np.array_equal(one, other)
    for path, is_changed in changed.items():
        assert is_changed == ("decoder_" in path and "embedding" not in path)
    assert any(changed.values())


def test_a_run_that_has_learnt_goes_on_well(tuned):
    """Its BLEU is that of a model that knows the text, not of a new one."""
    folder, text = tuned
    assert "Best by validation bleu" in text
    report = (folder / "report.md").read_text()
    score = float(report.split("bleu ")[1].split(".\n")[0])
    assert score > 80


def test_translations_are_in_the_log_for_tensorboard(tuned):
    from tensorboard.backend.event_processing.event_accumulator import (
        EventAccumulator,
    )

    events = EventAccumulator(str(tuned[0] / "tensorboard"))
    events.Reload()
    tags = events.Tags()["tensors"]
    assert {"loss", "val_bleu", "translations", "attention"} <= set(tags)


@pytest.mark.parametrize(
    ("assignments", "words"),
    [
        (["start_from=none"], ["none: no such file"]),
        (["training.frozen=[embeddings, encoder, decoder]"],
         ["nothing is left to train"]),
        (["training.frozen=[attention]"], ["training.frozen", "attention"]),
        (["training.decay=linear", "training.warmup_steps=9999"],
         ["training: The warm-up must end", "9999"]),
        (["training.factor=2.0"], ["factor", "peak_rate"]),
        (["training.distribution=mirrored",
          "training.data_service=grpc://host:1"], ["data_service"]),
    ],
)  # fmt: skip
def test_bad_settings(corpus_folder, tmp_path, assignments, words):
    process = train(corpus_folder, tmp_path / "out", "name=bad", *assignments)
    assert process.returncode == 2, process.stderr.decode()
    line = process.stderr.decode().splitlines()[-1]
    for word in words:
        assert word in line
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("what", ["", "saved_model", "saved_model/1"])
def test_an_export_cannot_be_trained_on(
    corpus_folder, export_folder, tmp_path, what
):
    process = train(
        corpus_folder, tmp_path, f"start_from={export_folder / what}"
    )
    assert process.returncode == 2
    assert "inference export" in process.stderr.decode().splitlines()[-1]
    assert not list(tmp_path.iterdir())
