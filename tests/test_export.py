"""Run, SavedModel and TFLite translate alike; what they promise holds."""

import json
import re
import shutil
import zipfile
from unittest import mock

import numpy as np
import pytest
import sacrebleu
import yaml
from conftest import call, command

from export.formats import refuse_if_broken
from tfxformer import (
    InputError,
    LiteTranslator,
    SearchOptions,
    load_run,
    load_translator,
)
from tfxformer.translator import RunTranslator
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


BEAM = SearchOptions(beam_size=4, n_best=4, length_penalty=0.8)
SEARCHES = {"greedy": SearchOptions(), "beam": BEAM}


def assert_equal(found, expected, tolerance=1e-3):
    """Lists of hypotheses: same text and tokens, scores that are close."""
    for ours, theirs in zip(found, expected, strict=True):
        assert [x.text for x in ours] == [x.text for x in theirs]
        assert [x.token_ids for x in ours] == [x.token_ids for x in theirs]
        np.testing.assert_allclose(
            [(x.score, x.log_probability) for x in ours],
            [(x.score, x.log_probability) for x in theirs],
            atol=tolerance,
        )


@pytest.fixture(scope="module")
def found_by_run(translators, sentences):
    run = translators["run"]
    return {k: run.search(sentences, options=SEARCHES[k]) for k in SEARCHES}


@pytest.mark.parametrize("other", ["SavedModel", "TFLite"])
@pytest.mark.parametrize("kind", SEARCHES)
def test_every_format_gives_the_same_text_and_scores(
    translators, sentences, found_by_run, other, kind
):
    expected = found_by_run[kind]
    found = translators[other].search(sentences, options=SEARCHES[kind])
    assert_equal(found, expected)
    texts = [one.text for hypotheses in expected for one in hypotheses]
    assert not any("<" in text and ">" in text for text in texts)
    if kind == "beam":
        assert [len(one) for one in expected] == [
            4 if line.strip() else 1 for line in sentences
        ]


@pytest.mark.parametrize("other", ["SavedModel", "TFLite"])
@pytest.mark.parametrize(
    "options",
    [
        SearchOptions(min_length=6, max_length_ratio=2.0),
        SearchOptions(beam_size=4, max_length=9),
    ],
    ids=SEARCHES,
)
def test_limits_and_prefixes_are_the_same_in_every_format(
    translators, pairs, other, options
):
    lines = [source for source, _ in pairs[::4]]
    starts = [target.split()[0] for _, target in pairs[::4]]
    starts[::2] = [""] * len(starts[::2])
    expected = translators["run"].search(lines, 1, options, starts)
    found = translators[other].search(lines, 1, options, starts)
    assert_equal(found, expected)
    for start, (best,) in zip(starts, found, strict=True):
        assert best.text.startswith(start)


@pytest.mark.parametrize(
    "options",
    [
        SearchOptions(sampling=True, n_best=3, top_k=9, seed=3),
        SearchOptions(sampling=True, temperature=0.5, top_p=0.9),
        SearchOptions(blocked=("<unk>", "."), max_length=30),
        SearchOptions(
            beam_size=4,
            n_best=2,
            blocked=(".",),
            coverage_penalty=0.3,
            repetition_penalty=1.2,
            patience=0.5,
        ),
    ],
    ids=["sampling", "nucleus", "greedy", "beam"],
)
def test_what_else_a_saved_model_takes(translators, pairs, options):
    lines = [source for source, _ in pairs[::6]]
    expected = translators["run"].search(lines, options=options)
    found = translators["SavedModel"].search(lines, options=options)
    assert_equal(found, expected)
    if options.blocked:
        assert not any("." in one.text for best in found for one in best)


@pytest.mark.parametrize(
    ("name", "options", "refused"),
    [
        ("SavedModel", SearchOptions(beam_size=3), "a beam of 4"),
        ("TFLite", SearchOptions(beam_size=5), "a beam of 4"),
        ("SavedModel", SearchOptions(alternatives=True), "alternatives"),
        ("SavedModel", SearchOptions(no_repeat_ngram=2), "no_repeat_ngram"),
        ("SavedModel", SearchOptions(shortlist=("a",)), "shortlist"),
        (
            "SavedModel",
            SearchOptions(repetition_penalty=1.5),
            "repetition_penalty",
        ),
        (
            "SavedModel",
            SearchOptions(beam_size=4, length_penalty_form="power"),
            "length_penalty_form",
        ),
        ("TFLite", SearchOptions(sampling=True), "sampling"),
        ("TFLite", SearchOptions(blocked=("<unk>",)), "blocked"),
        ("TFLite", SearchOptions(beam_size=4, patience=0.5), "patience"),
        (
            "TFLite",
            SearchOptions(beam_size=4, coverage_penalty=0.5, n_best=2),
            "coverage_penalty",
        ),
    ],
)
def test_what_a_format_cannot_do_is_refused(
    translators, name, options, refused
):
    with pytest.raises(InputError, match=refused) as error:
        translators[name].translate(["x"], options=options)
    assert "\n" not in str(error.value)
    assert "the run" in str(error.value)


@pytest.mark.parametrize("other", ["SavedModel", "TFLite"])
def test_scores_of_given_translations_are_the_same(translators, pairs, other):
    sources, targets = zip(*pairs, strict=True)
    targets = [*targets[1:], targets[0]]  # wrong ones: low scores
    expected = translators["run"].score(list(sources), targets)
    found = translators[other].score(list(sources), targets)
    for ours, theirs in zip(found, expected, strict=True):
        assert ours.pieces == theirs.pieces
        assert ours.source_pieces == theirs.source_pieces
        assert ours.log_probability == pytest.approx(
            theirs.log_probability, abs=1e-3
        )
        np.testing.assert_allclose(
            ours.log_probabilities, theirs.log_probabilities, atol=1e-3
        )
        np.testing.assert_allclose(ours.attention, theirs.attention, atol=1e-3)


@pytest.mark.parametrize("name", ["run", "SavedModel", "TFLite"])
def test_what_is_found_has_the_score_of_a_given_translation(
    translators, sentences, found_by_run, name
):
    expected = [best for best, *_ in found_by_run["greedy"] if best.token_ids]
    lines = [line for line in sentences if line.strip()]
    found = translators[name].score_token_ids(
        lines, [best.token_ids for best in expected]
    )
    np.testing.assert_allclose(
        [one.log_probability for one in found],
        [best.log_probability for best in expected],
        atol=1e-3,
    )


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
    inputs = {
        name: {
            key: (spec.dtype.name, spec.shape.rank)
            for key, spec in signature.structured_input_signature[1].items()
        }
        for name, signature in loaded.signatures.items()
    }
    ids = {"encoder_token_ids": ("int32", 2)}
    controls = {
        **ids,
        "prefix": ("int32", 2),
        "max_lengths": ("int32", 1),
        "min_lengths": ("int32", 1),
        "blocked": ("bool", 1),
    }
    assert inputs == {
        "serving_default": {"text": ("string", 1)},
        "translate_beam": {
            "text": ("string", 1),
            "length_penalty": ("float32", 0),
        },
        "token_ids": ids,
        "search_greedy": controls,
        "search_beam": {
            **controls,
            "n_best": ("int32", 0),
            "length_penalty": ("float32", 0),
            "coverage_penalty": ("float32", 0),
            "patience": ("float32", 0),
            "repetition_penalty": ("float32", 0),
        },
        "search_sample": {
            **controls,
            "seeds": ("int32", 1),
            "temperature": ("float32", 0),
            "top_k": ("int32", 0),
            "top_p": ("float32", 0),
        },
        "score": {**ids, "target_token_ids": ("int32", 2)},
    }
    found = {"token_ids", "score", "log_probability"}
    assert {
        name: set(signature.structured_outputs)
        for name, signature in loaded.signatures.items()
    } == {
        "serving_default": {"translation", "score"},
        "translate_beam": {"translation", "score", "log_probability"},
        "token_ids": {"token_ids", "score"},
        "search_greedy": found,
        "search_beam": found,
        "search_sample": found,
        "score": {"log_probs", "attention"},
    }
    for size in (1, 2, 7):
        result = text(text=tf.constant(["The dog."] * size))
        assert result["translation"].shape == [size]
        assert np.isfinite(result["score"]).all()


def test_text_signatures_equal_the_translator(
    export_folder, sentences, found_by_run
):
    import tensorflow as tf

    signatures = tf.saved_model.load(
        export_folder / "saved_model" / "1"
    ).signatures
    # Characters that are no text to a line are left out.
    rows = [i for i, line in enumerate(sentences) if line.strip()][::3]
    text = tf.constant([sentences[i] for i in rows])
    result = signatures["serving_default"](text=text)
    for place, i in enumerate(rows):
        best = found_by_run["greedy"][i][0]
        assert result["translation"][place].numpy().decode() == best.text
        assert abs(result["score"][place] - best.score) < 1e-3
    result = signatures["translate_beam"](
        text=text, length_penalty=tf.constant(BEAM.length_penalty)
    )
    for place, i in enumerate(rows):
        hypotheses = found_by_run["beam"][i]
        texts = [text.decode() for text in result["translation"][place].numpy()]
        assert texts == [one.text for one in hypotheses]
        np.testing.assert_allclose(
            [result["score"][place], result["log_probability"][place]],
            np.transpose([(x.score, x.log_probability) for x in hypotheses]),
            atol=1e-3,
        )


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


def test_saved_model_cli_runs_it(export_folder):
    signature = "translate_beam"
    inputs = 'text=["The dog.", ""];length_penalty=0.6'
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
        limits = ["max_lengths", "min_lengths", "prefix"]
        search = sorted(["encoder_token_ids", *limits])
        found = ["log_probability", "score", "token_ids"]
        assert interpreter.get_signature_list() == {
            "greedy": {"inputs": search, "outputs": found},
            "beam": {
                "inputs": sorted([*search, "length_penalty", "n_best"]),
                "outputs": found,
            },
            "score": {
                "inputs": ["encoder_token_ids", "target_token_ids"],
                "outputs": ["attention", "log_probs"],
            },
        }
        assert b"Flex" not in path.read_bytes()


def test_a_tflite_is_resized_when_it_runs(export_folder):
    from ai_edge_litert.interpreter import Interpreter

    interpreter = Interpreter(model_path=str(export_folder / "toy.tflite"))
    greedy = interpreter.get_signature_runner("greedy")
    beam = interpreter.get_signature_runner("beam")
    score = interpreter.get_signature_runner("score")
    for size, source_length, length in [(1, 3, 5), (7, 9, 40), (2, 3, 1)]:
        counts = np.ones(size, np.int32)
        source = np.full((size, source_length), 2, np.int32)
        inputs = {
            "encoder_token_ids": source,
            "prefix": np.zeros((size, length), np.int32),
            "max_lengths": length * counts,
            "min_lengths": 0 * counts,
        }
        outputs = greedy(**inputs)
        assert outputs["token_ids"].dtype == np.int32
        assert outputs["token_ids"].shape == (size, 1, length)
        assert outputs["score"].shape == (size, 1)
        outputs = beam(
            **inputs, length_penalty=np.float32(1), n_best=np.int32(4)
        )
        assert outputs["token_ids"].shape == (size, 4, length)
        assert outputs["log_probability"].shape == (size, 4)
        outputs = score(
            encoder_token_ids=source,
            target_token_ids=np.full((size, length), 2, np.int32),
        )
        assert outputs["log_probs"].shape == (size, length)
        assert outputs["attention"].shape == (size, length, source_length)


def test_a_tflite_forgets_what_it_was_given_before(export_folder, pairs):
    # Two interpreters: each one sees other sequences of shapes each time.
    lines = [source for source, _ in pairs[::5]]
    path, options = export_folder / "toy.tflite", SearchOptions(beam_size=4)
    expected = LiteTranslator(path, 1).translate(lines, options=options)
    for _ in range(100):
        translator = LiteTranslator(path, 2)
        assert translator.translate(lines, options=options) == expected


def test_the_first_run_of_new_shapes_is_short_and_forgotten(export_folder):
    translator = LiteTranslator(export_folder / "toy.tflite", 1)
    calls = []

    def runner(**inputs):
        calls.append(inputs)
        # What the first run says is nonsense.
        word = 4 if inputs["max_lengths"].max() == 1 else 5
        ids = np.tile(np.int32([word, 2, 0]), (len(inputs["prefix"]), 1, 1))
        score = np.zeros((len(ids), 1), np.float32)
        return {"token_ids": ids, "score": score, "log_probability": score}

    translator._runners["greedy", 0] = runner
    for lines in (["a dog"], ["a cat"], ["a dog"] * 2):
        for hypotheses in translator.search(lines):
            assert hypotheses[0].token_ids[0] == 5
    limits = [call["max_lengths"].max() > 1 for call in calls]
    assert limits == [False, True, True, False, True]
    shapes = [np.shape(call["encoder_token_ids"]) for call in calls]
    assert shapes == [(1, 8), (1, 8), (1, 8), (2, 8), (2, 8)]


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
    def write_formats(run, run_folder, folder, weights, beam_size):
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

    def fail(run, run_folder, folder, weights, beam_size):
        (folder / "half").write_text("x")
        raise InputError("no")

    with mock.patch("export.formats.write_formats", side_effect=fail):
        process = call("export.__main__", run_folder, "--output", output)
    assert (process.returncode, process.stderr) == (2, b"export: error: no\n")
    assert (output / "report.json").read_text() == "first"
    assert [path.name for path in tmp_path.iterdir()] == ["export"]


@pytest.mark.parametrize("size", [1, 0, -4])
def test_a_beam_of_one_is_not_exported(run_folder, tmp_path, size):
    process = call(
        "export.__main__", run_folder, "--output", tmp_path / "export",
        "--beam-size", size,
    )  # fmt: skip
    assert process.returncode == 2
    assert process.stderr.decode().splitlines() == [
        "export: error: --beam-size must be at least 2; greedy search is "
        f"always there. Received: {size}"
    ]
    assert not (tmp_path / "export").exists()


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


@pytest.mark.parametrize(
    "what", ["export", "export/saved_model", "none", "weights"]
)
def test_what_is_not_a_run_is_not_exported(run_folder, export_folder, what):
    process = call("export.__main__", run_folder / what)
    lines = process.stderr.decode().splitlines()
    assert process.returncode == 2
    assert len(lines) == 1
    assert what in lines[0]
    assert ("inference export" in lines[0]) == what.startswith("export")


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("name", "../../elsewhere"),
        ("name", "/tmp/elsewhere"),
        ("name", ["toy"]),
        ("name", None),
        ("model", {"dtype": {"class_name": "system", "module": "os"}}),
        ("model", ["toy"]),
    ],
    ids=str,
)
def test_the_configuration_of_a_run_is_checked(
    run_folder, tmp_path, key, value
):
    """A name is one of a file, a size is a number: nothing else is made."""
    copy = tmp_path / "runs" / "toy"
    shutil.copytree(
        run_folder, copy, ignore=shutil.ignore_patterns("export", "check*")
    )
    config = yaml.safe_load((copy / "config.yaml").read_text())
    new = {**config[key], **value} if isinstance(value, dict) else value
    (copy / "config.yaml").write_text(yaml.safe_dump({**config, key: new}))
    process = call("export.__main__", copy)
    assert process.returncode == 2
    (line,) = process.stderr.decode().splitlines()
    assert "config.yaml: not the configuration of a run" in line
    assert not (copy / "export").exists()
    assert [path.name for path in tmp_path.iterdir()] == ["runs"]


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
        {"max_source_length": "many"},
        {"beam_size": 1},
        {"beam_size": None},
        {"target_tokenizer": "elsewhere.model"},
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


def test_tokenizers_are_read_from_the_saved_model_alone(
    tmp_path, export_folder
):
    copy = tmp_path / "model" / "1"
    shutil.copytree(export_folder / "saved_model" / "1", copy)
    shutil.move(copy / "assets" / "tokenizer.model", tmp_path / "other.model")
    path = copy / "assets" / "settings.json"
    settings = json.loads(path.read_text())
    for name in ("../../../other.model", str(tmp_path / "other.model")):
        settings["source_tokenizer"] = settings["target_tokenizer"] = name
        path.write_text(json.dumps(settings))
        with pytest.raises(InputError, match="without its assets"):
            load_translator(copy)


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


def test_one_graph_translates_all_lengths(run_folder):
    translator = RunTranslator(load_run(run_folder))
    lines = [" ".join(["dog"] * length) for length in range(1, 36)]
    for line in lines:  # each a batch of its own
        translator.translate([line])
    (function,) = translator._functions.values()
    assert function.experimental_get_tracing_count() == 1
