"""Run, SavedModel and TFLite translate alike; what they promise holds."""

import json
import re
import shutil
import zipfile
from unittest import mock

import numpy as np
import pytest
import sacrebleu
from conftest import call, command

from export.formats import refuse_if_broken
from tfxformer import InputError, LiteTranslator, load_run, load_translator
from training.phrasebook import generate


@pytest.fixture(scope="module")
def translators(run_folder, export_folder):
    return {
        "run": load_translator(run_folder),
        "SavedModel": load_translator(export_folder / "saved_model"),
        "TFLite": load_translator(export_folder / "toy.tflite"),
    }


@pytest.fixture(scope="module")
def sentences(pairs):
    """200 sentences: those that were learnt, new ones, and awkward ones."""
    new = [source for source, _ in generate("valid", 200)]
    awkward = ["", " ", "x", "🤖 Łódź", "The dog " * 200, "\u2028", "</s>", "0"]
    return ([source for source, _ in pairs] + awkward + new)[:200]


def test_the_run_has_learnt_its_pairs_in_the_right_direction(
    translators, pairs
):
    translations = translators["run"].translate([source for source, _ in pairs])
    references = [reference for _, reference in pairs]
    assert sacrebleu.corpus_bleu(translations, [references]).score > 95


@pytest.mark.parametrize("other", ["SavedModel", "TFLite"])
def test_every_format_gives_the_same_text(translators, sentences, other):
    expected = translators["run"].translate(sentences)
    assert translators[other].translate(sentences) == expected
    assert not any("<" in text and ">" in text for text in expected)


def test_int8_translates_what_was_learnt(export_folder, pairs):
    translator = load_translator(export_folder / "toy.int8.tflite")
    translations = translator.translate([source for source, _ in pairs])
    references = [reference for _, reference in pairs]
    assert sacrebleu.corpus_bleu(translations, [references]).score > 80
    assert len(set(translations)) > len(pairs) / 2


@pytest.mark.parametrize("name", ["run", "SavedModel", "TFLite"])
def test_blank_lines_stay_blank_and_order_is_kept(translators, name, pairs):
    lines = ["", pairs[5][0], "  ", pairs[0][0], "\t", pairs[-1][0]]
    translations = translators[name].translate(lines)
    assert translations[0] == translations[2] == translations[4] == ""
    assert translators[name].translate([lines[3]]) == [translations[3]]
    assert translators[name].translate([lines[5]]) == [translations[5]]
    assert translators[name].translate([]) == []
    assert translators[name].translate(["", ""]) == ["", ""]


@pytest.mark.parametrize("name", ["run", "SavedModel", "TFLite"])
def test_long_lines_are_cut_with_a_warning(translators, name, caplog):
    long, longer = "The dog " * 40, "The dog " * 400
    texts = translators[name].translate(["The dog.", long, longer])
    warnings = [record.getMessage() for record in caplog.records]
    cut = [text for text in warnings if "first part" in text]
    assert [text.split(":")[0] for text in cut] == ["line 2", "line 3"]
    assert all("takes 40" in text for text in cut)
    assert texts[1] == texts[2]  # both were cut to the same first part


@pytest.mark.parametrize("size", [1, 2, 7, 64])
def test_neighbours_in_a_batch_change_nothing(run_folder, sentences, size):
    translator = load_translator(run_folder)
    expected = translator.translate(sentences[:64])
    order = np.random.default_rng(0).permutation(64)
    translations = {}
    for start in range(0, 64, size):
        rows = order[start : start + size]
        texts = translator.translate([sentences[row] for row in rows])
        translations.update(zip(rows.tolist(), texts, strict=True))
    assert [translations[row] for row in range(64)] == expected


def test_padding_changes_no_ids_and_hardly_a_score(export_folder, run_folder):
    import tensorflow as tf

    ids = load_run(run_folder).source_tokenizer.tokenize(
        ["The dog is tired.", "Where are you?"]
    )
    loaded = tf.saved_model.load(export_folder / "saved_model" / "1")
    translate = loaded.signatures["token_ids"]
    for sentence in ids:
        plain = translate(encoder_token_ids=tf.constant([sentence]))
        padded = sentence + [0] * (128 - len(sentence))
        other = translate(encoder_token_ids=tf.constant([padded]))
        limit = len(sentence) + 50
        np.testing.assert_array_equal(
            plain["token_ids"], other["token_ids"][:, :limit]
        )
        np.testing.assert_allclose(plain["score"], other["score"], atol=1e-4)


def test_signatures_have_stable_names_and_a_free_batch(export_folder):
    import tensorflow as tf

    loaded = tf.saved_model.load(export_folder / "saved_model" / "1")
    text = loaded.signatures["serving_default"]
    assert text.structured_input_signature[1] == {
        "text": tf.TensorSpec([None], tf.string, "text")
    }
    outputs = text.structured_outputs
    assert set(outputs) == {"translation", "score"}
    assert outputs["translation"].dtype == tf.string
    assert outputs["score"].dtype == tf.float32
    ids = loaded.signatures["token_ids"]
    assert ids.structured_input_signature[1] == {
        "encoder_token_ids": tf.TensorSpec(
            [None, None], tf.int32, "encoder_token_ids"
        )
    }
    assert set(ids.structured_outputs) == {"token_ids", "score"}
    for size in (1, 2, 7):
        result = text(text=tf.constant(["The dog."] * size))
        assert result["translation"].shape == [size]
        assert np.isfinite(result["score"]).all()


def test_the_score_is_that_of_teacher_forcing(export_folder, run_folder, pairs):
    import tensorflow as tf

    run = load_run(run_folder)
    ids = run.source_tokenizer.tokenize([pairs[3][0]])
    loaded = tf.saved_model.load(export_folder / "saved_model" / "1")
    result = loaded.signatures["token_ids"](encoder_token_ids=tf.constant(ids))
    words = [int(i) for i in result["token_ids"][0] if i]
    logits = run.model((np.array(ids), np.array([[1, *words[:-1]]])))
    log_probabilities = tf.nn.log_softmax(logits[0]).numpy()
    expected = sum(log_probabilities[i, word] for i, word in enumerate(words))
    assert float(result["score"][0]) == pytest.approx(expected, abs=1e-4)


@pytest.mark.parametrize("signature", ["serving_default", "token_ids"])
def test_saved_model_cli_runs_it(export_folder, signature):
    inputs = {
        "serving_default": 'text=["The dog.", ""]',
        "token_ids": "encoder_token_ids=[[5, 6, 2], [7, 2, 0]]",
    }[signature]
    program = (
        "import sys, tensorflow_text;"
        "from tensorflow.python.tools.saved_model_cli import main; main()"
    )
    process = command(
        "-c", program, "run", "--dir", export_folder / "saved_model" / "1",
        "--tag_set", "serve", "--signature_def", signature,
        "--input_exprs", inputs,
    )  # fmt: skip
    assert process.returncode == 0, process.stderr.decode()
    assert b"score" in process.stdout


def test_check_names_the_operators_that_are_not_tensorflows(export_folder):
    folder = export_folder / "saved_model"
    process = call("export.__main__", folder, "--check")
    assert process.returncode == 0
    names = set(re.findall(r"Sentencepiece\w+", process.stdout.decode()))
    listed = (folder / "1" / "operators.txt").read_text().split()
    assert names == set(listed)
    assert "SentencepieceTokenizeOp" in names
    assert b"tensorflow-text" in process.stdout


def test_tflite_needs_built_in_operators_alone(export_folder):
    from ai_edge_litert.interpreter import Interpreter

    for path in export_folder.glob("*.tflite"):
        interpreter = Interpreter(model_path=str(path))
        signatures = interpreter.get_signature_list()
        assert set(signatures) == {
            "translate_16",
            "translate_32",
            "translate_40",
        }
        for length in (16, 32, 40):
            runner = interpreter.get_signature_runner(f"translate_{length}")
            (given,) = runner.get_input_details().values()
            (result,) = runner.get_output_details().values()
            assert given["dtype"] == result["dtype"] == np.int32
            assert given["shape"].tolist() == [1, length]
            assert result["shape"].tolist() == [1, length + 50]
        assert b"Flex" not in path.read_bytes()


def test_the_signatures_of_a_tflite_share_their_weights(export_folder):
    run_weights = 4 * load_run(export_folder.parent).model.count_params()
    size = (export_folder / "toy.tflite").stat().st_size
    assert size < 2 * run_weights + 1_000_000


def test_one_file_is_enough(export_folder, tmp_path, pairs):
    alone = tmp_path / "alone.tflite"
    shutil.copy(export_folder / "toy.tflite", alone)
    program = (
        "import sys; from tfxformer.cli import main;"
        "main(['translate', sys.argv[1]]);"
        "assert not {'tensorflow', 'keras'} & set(sys.modules)"
    )
    text = f"{pairs[0][0]}\n\n".encode()
    process = command("-c", program, alone, stdin=text, cwd=tmp_path)
    assert process.returncode == 0, process.stderr.decode()
    assert process.stdout.decode() == f"{pairs[0][1]}\n\n"
    assert process.stderr == b""


def test_the_report_compares_the_formats(export_folder):
    report = json.loads((export_folder / "report.json").read_text())
    assert set(report["formats"]) == {
        "run",
        "SavedModel",
        "TFLite float32",
        "TFLite int8",
    }
    for result in report["formats"].values():
        assert result["bytes"] > 0
        assert result["bleu"] > 80
        assert result["sentences_per_second"] > 0
    text = (export_folder / "report.md").read_text()
    assert "| SavedModel |" in text


def write_nothing_but(name):
    def write_formats(run, run_folder, folder, weights):
        (folder / name).write_text("{}")
        return "the report"

    return write_formats


def test_a_second_export_replaces_the_first(run_folder, tmp_path):
    output = tmp_path / "export"
    for name in ("first", "second"):
        with mock.patch("export.formats.write_formats") as write_formats:
            write_formats.side_effect = write_nothing_but("report.json")
            if name == "second":
                write_formats.side_effect = write_nothing_but("second")
            process = call("export.__main__", run_folder, "--output", output)
        assert process.returncode == 0, process.stderr.decode()
    assert [path.name for path in output.iterdir()] == ["second"]
    assert [path.name for path in tmp_path.iterdir()] == ["export"]


def test_an_export_that_fails_leaves_the_first_one_alone(run_folder, tmp_path):
    output = tmp_path / "export"
    output.mkdir()
    (output / "report.json").write_text("first")

    def fail(run, run_folder, folder, weights):
        (folder / "half").write_text("x")
        raise InputError("no")

    with mock.patch("export.formats.write_formats", side_effect=fail):
        process = call("export.__main__", run_folder, "--output", output)
    assert (process.returncode, process.stderr) == (2, b"export: error: no\n")
    assert (output / "report.json").read_text() == "first"
    assert [path.name for path in tmp_path.iterdir()] == ["export"]


def test_a_folder_that_is_no_export_is_left_alone(run_folder, tmp_path):
    other = tmp_path / "letters"
    other.mkdir()
    (other / "love.txt").write_text("keep me")
    process = call("export.__main__", run_folder, "--output", other)
    assert process.returncode == 2
    assert b"is no export" in process.stderr
    assert (other / "love.txt").read_text() == "keep me"


@pytest.mark.parametrize(
    ("translations", "refused"),
    [(["x", "x"], True), (["x", "y"], False)],
    ids=["the same for all", "different"],
)
def test_a_conversion_that_ignores_its_input_is_refused(translations, refused):
    results = {
        "run": {"translations": ["a", "b"]},
        "TFLite int8": {"translations": translations},
    }
    if refused:
        with pytest.raises(InputError, match="TFLite int8 gives the same"):
            refuse_if_broken(results, "TFLite int8")
    else:
        refuse_if_broken(results, "TFLite int8")


@pytest.mark.parametrize("what", ["export/saved_model", "none", "weights"])
def test_what_is_not_a_run_is_not_exported(run_folder, export_folder, what):
    process = call("export.__main__", run_folder / what)
    lines = process.stderr.decode().splitlines()
    assert process.returncode == 2
    assert len(lines) == 1
    assert what in lines[0]
    assert ("inference export" in lines[0]) == (what == "export/saved_model")


@pytest.mark.parametrize(
    "content",
    [b"", b"TFL3" * 99, b"\x1c\0\0\0TFL3" + bytes(99)],
    ids=["empty", "text", "no archive"],
)
def test_a_file_that_is_no_tflite(tmp_path, content):
    path = tmp_path / "model.tflite"
    path.write_bytes(content)
    with pytest.raises(InputError, match=r"model\.tflite: not a \.tflite"):
        LiteTranslator(path)


def repacked(export_folder, path, **replaced):
    """The archive of the toy `.tflite` without its model, some parts new."""
    with (
        zipfile.ZipFile(export_folder / "toy.tflite") as good,
        zipfile.ZipFile(path, "w") as bad,
    ):
        for name in good.namelist():
            bad.writestr(name, replaced.get(name, good.read(name)))
    return path


def test_an_archive_without_a_model(tmp_path, export_folder):
    path = repacked(export_folder, tmp_path / "model.tflite")
    with pytest.raises(InputError, match="not a TFLite model"):
        LiteTranslator(path)


@pytest.mark.parametrize(
    "change",
    [
        {"max_source_length": -1},
        {"max_source_length": 10**30},
        {"source_lengths": []},
        {"source_lengths": "many"},
    ],
    ids=str,
)
def test_settings_that_contradict_each_other(tmp_path, export_folder, change):
    with zipfile.ZipFile(export_folder / "toy.tflite") as archive:
        settings = json.loads(archive.read("settings.json"))
    new = json.dumps({**settings, **change})
    path = tmp_path / "model.tflite"
    repacked(export_folder, path, **{"settings.json": new})
    with pytest.raises(InputError, match="no sound settings"):
        LiteTranslator(path)


def test_a_damaged_tokenizer_is_named_with_its_file(tmp_path, export_folder):
    path = tmp_path / "model.tflite"
    repacked(export_folder, path, **{"tokenizer.model": b"junk"})
    with pytest.raises(InputError, match=r"model\.tflite: not a Sentence"):
        LiteTranslator(path)


def test_a_damaged_saved_model(tmp_path, export_folder):
    copy = tmp_path / "saved_model"
    shutil.copytree(export_folder / "saved_model", copy)
    (data,) = copy.glob("1/variables/*data*")
    data.write_bytes(data.read_bytes()[:1000])
    with pytest.raises(InputError, match="damaged") as error:
        load_translator(copy)
    assert "\n" not in str(error.value)
    shutil.rmtree(copy / "1" / "variables")
    with pytest.raises(InputError, match="damaged"):
        load_translator(copy)
