"""`python -m training.evaluate` prints what sacrebleu would."""

import json

import pytest
from conftest import call, command

from training.evaluate import bleu_tokenizer, scores


@pytest.fixture(scope="module")
def evaluated(corpus_folder, export_folder):
    output = corpus_folder / "translations.es"
    process = call(
        "training.evaluate", export_folder / "toy.int8.tflite",
        "--source", corpus_folder / "valid.en",
        "--reference", corpus_folder / "valid.es",
        "--output", output,
    )  # fmt: skip
    assert process.returncode == 0, process.stderr.decode()
    return process.stdout.decode().splitlines(), output


def test_equal_to_the_sacrebleu_command(evaluated, corpus_folder):
    lines, output = evaluated
    process = command(
        "-m", "sacrebleu", corpus_folder / "valid.es", "-i", output,
        "-m", "bleu", "chrf", "ter", "-w", "2",
    )  # fmt: skip
    for ours, theirs in zip(lines[:3], json.loads(process.stdout), strict=True):
        name, score = ours.split()[0], float(ours.split(" = ")[1].split()[0])
        assert name.endswith(theirs["signature"])
        assert score == theirs["score"]
    assert len(lines) == 4


@pytest.mark.parametrize(
    ("beam_size", "status", "said"),
    [(4, 0, b"BLEU"), (3, 2, b"exported with a beam of 4")],
)
def test_the_search_can_be_chosen(
    export_folder, corpus_folder, beam_size, status, said
):
    process = call(
        "training.evaluate",
        export_folder / "toy.tflite",
        "--source", corpus_folder / "valid.en",
        "--reference", corpus_folder / "valid.es",
        "--beam-size", beam_size,
    )  # fmt: skip
    assert process.returncode == status
    assert said in process.stdout + process.stderr


@pytest.mark.parametrize(
    ("tokenizer", "translation", "reference"),
    [
        ("zh", "我喜欢红茶。", "我喜欢绿茶。"),
        ("ja-mecab", "私は紅茶が好きです。", "私は緑茶が好きです。"),
    ],
)
def test_the_command_scores_in_words_of_the_language(
    tmp_path, monkeypatch, tokenizer, translation, reference
):
    for name, line in (("reference", reference), ("output", translation)):
        (tmp_path / name).write_text(f"{line}\n" * 2, encoding="utf-8")
    monkeypatch.setattr(
        "training.evaluate.translate_with",
        lambda name, sources, options: [translation] * len(sources),
    )
    process = call(
        "training.evaluate", "any-model",
        "--source", tmp_path / "reference",
        "--reference", tmp_path / "reference",
    )  # fmt: skip
    assert process.returncode == 0, process.stderr.decode()
    theirs = command(
        "-m", "sacrebleu", tmp_path / "reference", "-i", tmp_path / "output",
        "-m", "bleu", "-w", "2", "-tok", tokenizer, "-b",
    )  # fmt: skip
    line = process.stdout.decode().splitlines()[0]
    assert f"tok:{tokenizer}" in line
    assert float(line.split(" = ")[1].split()[0]) == float(theirs.stdout)


def test_word_error_rate_by_hand():
    # One substitution and one deletion in five words of reference.
    lines = scores(["a x c", "e"], ["a b c", "d e"])
    assert lines[-1].endswith(" = 40.00")
    assert lines[-1].startswith("WER|jiwer:")
    # A word where nothing should be is an error too: one in two.
    assert scores(["a b", "x"], ["a b", ""])[-1].endswith(" = 50.00")


@pytest.mark.parametrize(
    ("reference", "tokenizer"),
    [
        ("Ein Hund läuft.", "13a"),
        ("我喜欢学习机器翻译。", "zh"),
        ("犬は公園で走っています。", "ja-mecab"),
        ("", "13a"),
    ],
)
def test_the_script_chooses_the_tokenizer(reference, tokenizer):
    assert bleu_tokenizer([reference]) == tokenizer


def test_chinese_and_japanese_are_scored_in_words():
    chinese = ["我喜欢学习机器翻译。"]
    assert "tok:zh" in scores(chinese, chinese, "zh")[0]
    assert " = 100.00" in scores(chinese, chinese, "zh")[0]
    japanese = ["犬は公園で走っています。"]
    assert "tok:ja-mecab" in scores(japanese, japanese, "ja-mecab")[0]


def test_files_that_do_not_match(tmp_path):
    (tmp_path / "a").write_text("1\n2\n")
    (tmp_path / "b").write_text("1\n")
    process = call(
        "training.evaluate", tmp_path,
        "--source", tmp_path / "a", "--reference", tmp_path / "b",
    )  # fmt: skip
    assert process.returncode == 2
    assert b"has 2 lines" in process.stderr and b"b 1;" in process.stderr
