"""The command `tfxformer`: a line out for each line in; clear refusals."""

import os
import re
import subprocess
import sys

import pytest
from conftest import ROOT, call, command

from tfxformer import LiteTranslator, SearchOptions


def translate(*arguments, stdin=b""):
    return call("tfxformer.cli", "translate", *arguments, stdin=stdin)


def score(*arguments):
    return call("tfxformer.cli", "score", *arguments)


def lines_of(process):
    """What a command printed, when all went well and nothing is to be said."""
    assert process.returncode == 0, process.stderr.decode()
    assert process.stderr == b""
    text = process.stdout.decode()
    assert text.endswith("\n")
    return text.removesuffix("\n").split("\n")


def error_of(process):
    """The one line of a command that refuses."""
    assert process.returncode == 2
    (line,) = process.stderr.decode().splitlines()
    assert line.startswith("tfxformer: error: ")
    return line.removeprefix("tfxformer: error: ")


@pytest.fixture(scope="module")
def tflite(export_folder):
    return export_folder / "toy.tflite"


@pytest.fixture(scope="module")
def some(pairs):
    """Learnt pairs; no two of them are alike."""
    return pairs[::5]


@pytest.fixture
def english(some, tmp_path):
    path = tmp_path / "text.en"
    text = "".join(f"{source}\n" for source, _ in some)
    path.write_text(text, encoding="utf-8")
    return path


@pytest.fixture(scope="module", params=["SavedModel", "TFLite"])
def model(request, export_folder):
    name = {"SavedModel": "saved_model", "TFLite": "toy.tflite"}[request.param]
    return export_folder / name


def test_a_line_for_each_line(export_folder, tmp_path, pairs):
    model = export_folder / "toy.tflite"
    known = pairs[0][0].encode()
    text = b"\xef\xbb\xbf" + b"\n".join(
        [
            known,
            b"",
            known + b"\r",
            b"NUL \0 and \x0c and \xe2\x80\xa8 and \xc2\x85",
            b"tab\there",
            "🤖 Łódź 鬱".encode(),
            b"x " * 5000,
            b"   ",
            known,
        ]
    )
    path = tmp_path / "text.en"
    path.write_bytes(text)
    process = command("-m", "tfxformer.cli", "translate", model, path)
    assert process.returncode == 0, process.stderr.decode()
    lines = process.stdout.split(b"\n")
    assert len(lines) == 10 and lines[-1] == b""
    assert lines[0] == lines[2] == lines[8] == pairs[0][1].encode()
    assert lines[1] == lines[7] == b""
    warning = process.stderr.decode()
    assert "tfxformer: line 7: " in warning
    assert "Traceback" not in warning and "cudart" not in warning
    assert translate(model, stdin=text).stdout == process.stdout


def test_nothing_in_nothing_out(export_folder):
    process = translate(export_folder / "toy.tflite", stdin=b"")
    assert (process.returncode, process.stdout) == (0, b"")


def test_bytes_that_are_not_utf8(export_folder, pairs):
    text = pairs[0][0].encode() + b"\ncaf\xe9\n"
    process = translate(export_folder / "toy.tflite", stdin=text)
    assert process.returncode == 2
    assert process.stdout == pairs[0][1].encode() + b"\n"  # not lost
    assert process.stderr.decode().startswith(
        "tfxformer: error: standard input:2: not UTF-8: byte 0xe9"
    )


def test_without_standard_error_nothing_is_lost(tflite, english, some):
    # The file of the text is then opened as number 2.
    program = 'exec 2>&-; exec "$0" -m tfxformer.cli translate "$@"'
    process = subprocess.run(
        ["sh", "-c", program, sys.executable, tflite, english],
        stdout=subprocess.PIPE,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        check=False,
    )
    assert process.returncode == 0
    assert process.stdout == translate(tflite, english).stdout
    assert process.stdout.count(b"\n") == len(some)


@pytest.mark.parametrize("name", ["none", "none.tflite", "file.txt", "folder"])
def test_what_is_no_model(tmp_path, name):
    (tmp_path / "file.txt").write_text("x")
    (tmp_path / "folder").mkdir()
    process = translate(tmp_path / name, stdin=b"x\n")
    lines = process.stderr.decode().splitlines()
    assert process.returncode == 2
    assert len(lines) == 1 and name in lines[0]
    assert process.stdout == b""


def test_a_missing_text(export_folder, tmp_path):
    process = translate(export_folder / "toy.tflite", tmp_path / "none.en")
    assert process.returncode == 2
    assert process.stderr.decode().splitlines() == [
        f"tfxformer: error: {tmp_path / 'none.en'}: No such file or directory"
    ]


def test_score_says_what_translate_says(model, english, tmp_path):
    rows = lines_of(translate(model, english, "--scores", "--alignments"))
    columns = [row.split("\t") for row in rows]
    spanish = tmp_path / "text.es"
    text = "".join(f"{translation}\n" for translation, _, _ in columns)
    spanish.write_text(text, encoding="utf-8")
    scored = lines_of(score(model, english, spanish, "--alignments"))
    for (_, score_found, pairs_found), row in zip(columns, scored, strict=True):
        log_probability, pairs = row.split("\t")
        assert float(log_probability) == pytest.approx(
            float(score_found), abs=1e-3
        )
        assert float(log_probability) < 0
        assert pairs == pairs_found


def test_alignments_count_words(tflite, english, some):
    rows = lines_of(translate(tflite, english, "--alignments"))
    columns = [row.split("\t") for row in rows]
    assert [text for text, _ in columns] == lines_of(translate(tflite, english))
    sources = [source for source, _ in some]
    translations = [translation for translation, _ in columns]
    scored = LiteTranslator(tflite, 1).score(sources, translations)
    for source, (translation, alignment), one in zip(
        sources, columns, scored, strict=True
    ):
        assert re.fullmatch(r"\d+-\d+( \d+-\d+)*", alignment)
        pairs = [tuple(map(int, x.split("-"))) for x in alignment.split()]
        assert pairs == one.alignment()
        words = range(len(translation.split()))
        assert sorted(target for _, target in pairs) == [*words]
        assert all(place < len(source.split()) for place, _ in pairs)


def test_n_best_gives_as_many_lines(tflite, english, some):
    arguments = ["--beam-size", 4, "--n-best", 3]
    text = english.read_bytes() + b"\n"
    rows = lines_of(translate(tflite, *arguments, "--scores", stdin=text))
    assert len(rows) == 3 * (len(some) + 1)
    assert rows[-3:] == ["\t0.000000", "", ""]
    plain = lines_of(translate(tflite, *arguments, stdin=text))
    options = SearchOptions(beam_size=4, n_best=3)
    sources = [source for source, _ in some]
    expected = LiteTranslator(tflite, 1).search(sources, options=options)
    for i, hypotheses in enumerate(expected):
        for rank, one in enumerate(hypotheses):
            translation, number = rows[3 * i + rank].split("\t")
            assert translation == plain[3 * i + rank] == one.text
            assert float(number) == pytest.approx(one.score, abs=1e-3)
    best = lines_of(translate(tflite, "--beam-size", 4, stdin=text))
    assert best == plain[::3]


def test_every_control_reaches_the_search(run_folder, english, tmp_path):
    # One that has no effect would be refused: the run can do all of it.
    shortlist = tmp_path / "shortlist.es"
    shortlist.write_text("la el un una es no\n", encoding="utf-8")
    rows = lines_of(
        translate(
            run_folder, english, "--sampling", "--n-best", 2, "--seed", 5,
            "--temperature", 1.5, "--top-k", 4, "--top-p", 0.9,
            "--shortlist", shortlist, "--blocked", "<unk>", "\u2581el",
            "--no-repeat-ngram", 1, "--repetition-penalty", 1.1,
            "--min-length", 3, "--max-length-ratio", 0.9, "--max-length", 20,
        )
    )  # fmt: skip
    words = set(" ".join(rows).split())
    assert words
    assert not re.findall(r"[^launoe s]", " ".join(rows))
    assert "el" not in words
    assert len(set(rows)) > len(rows) / 2


def test_alternatives_start_differently(run_folder, some):
    source, target = some[-1]
    arguments = ["--alternatives", "--n-best", 3]
    rows = lines_of(translate(run_folder, *arguments, stdin=source.encode()))
    assert rows[0] == target
    assert len(set(rows)) == 3


def test_prefixes(tflite, english, some, tmp_path):
    path = tmp_path / "prefixes.es"
    starts = ["\u00bfQu\u00e9", "", "La"] + [""] * (len(some) - 3)
    path.write_text("\n".join(starts) + "\n", encoding="utf-8")
    rows = lines_of(translate(tflite, english, "--prefixes", path))
    free = lines_of(translate(tflite, english))
    for row, start, other in zip(rows, starts, free, strict=True):
        assert row.startswith(start)
        assert start or row == other
    for count, text in [(1, "few\n"), (len(some) + 1, "La\n" * 99)]:
        path.write_text(text, encoding="utf-8")
        error = error_of(translate(tflite, english, "--prefixes", path))
        assert "prefixes" in error, count


@pytest.mark.parametrize(
    ("name", "arguments", "refused"),
    [
        ("SavedModel", ["--alternatives"], "alternatives"),
        ("SavedModel", ["--beam-size", "3"], "a beam of 4"),
        ("TFLite", ["--sampling"], "sampling"),
        ("TFLite", ["--no-repeat-ngram", "3"], "no_repeat_ngram"),
        ("TFLite", ["--blocked", "<unk>"], "blocked"),
        ("TFLite", ["--beam-size", "8"], "a beam of 4"),
    ],
)
def test_what_a_format_cannot_do(
    tflite, export_folder, name, arguments, refused
):
    path = {"SavedModel": export_folder / "saved_model", "TFLite": tflite}[name]
    process = translate(path, *arguments, stdin=b"x\n")
    assert refused in error_of(process)
    assert process.stdout == b""


@pytest.mark.parametrize(
    ("arguments", "refused"),
    [
        (["--beam-size", "0"], "beam_size must be at least 1. Received: 0"),
        (["--n-best", "2"], "n_best=2, beam_size=1"),
        (
            ["--temperature", "0"],
            "temperature must be above 0 and at most 1000. Received: 0.0",
        ),
        (["--sampling", "--beam-size", "4"], "sampling=True, beam_size=4"),
        (["--max-length", "91"], "max_length=91, the model's is 90"),
        (["--threads", "0"], "--threads must be at least 1. Received: 0"),
        (["--shortlist", "nowhere"], "nowhere: No such file"),
        (["--prefixes", "nowhere"], "nowhere: No such file"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_options_that_make_no_sense(tflite, arguments, refused):
    process = translate(tflite, *arguments, stdin=b"x\n")
    assert refused in error_of(process)
    assert process.stdout == b""


def test_a_piece_that_is_none(run_folder):
    process = translate(run_folder, "--blocked", "nonsense", stdin=b"x\n")
    assert error_of(process).startswith("blocked: 'nonsense' is no piece")


def test_a_translation_that_is_cut_is_aligned_to_its_end(tflite, some):
    source = some[-1][0].encode()
    process = command(
        "-m", "tfxformer.cli", "translate", tflite, "--max-length", 4,
        "--alignments", stdin=source,
    )  # fmt: skip
    assert process.returncode == 0
    assert process.stderr.decode().splitlines() == [
        "tfxformer: line 1: no end after 4 tokens; the translation is cut there"
    ]
    translation, pairs = process.stdout.decode().rstrip("\n").split("\t")
    (whole,) = lines_of(translate(tflite, stdin=source))
    assert whole.startswith(translation)
    assert len(pairs.split()) == len(translation.split())


def test_scores_of_tokens_add_up(tflite, english, some, tmp_path):
    spanish = tmp_path / "text.es"
    text = "".join(f"{target}\n" for _, target in some)
    spanish.write_text(text, encoding="utf-8")
    tokenizer = LiteTranslator(tflite, 1).target_tokenizer
    names = tokenizer.pieces()
    for row, (_, target) in zip(
        lines_of(score(tflite, english, spanish, "--tokens")), some, strict=True
    ):
        log_probability, tokens = row.split("\t")
        pieces = [token.rsplit(":", 1) for token in tokens.split(" ")]
        (ids,) = tokenizer.tokenize([target])
        assert [piece for piece, _ in pieces] == [names[i] for i in ids]
        values = [float(value) for _, value in pieces]
        assert float(log_probability) == pytest.approx(sum(values), abs=1e-4)


def test_a_wrong_translation_scores_worse(tflite, english, some, tmp_path):
    right, wrong = tmp_path / "right.es", tmp_path / "wrong.es"
    targets = [target for _, target in some]
    right.write_text("".join(f"{x}\n" for x in targets), encoding="utf-8")
    targets = [*targets[1:], targets[0]]
    wrong.write_text("".join(f"{x}\n" for x in targets), encoding="utf-8")
    for ours, theirs in zip(
        lines_of(score(tflite, english, right)),
        lines_of(score(tflite, english, wrong)),
        strict=True,
    ):
        assert float(ours) > float(theirs) + 3


@pytest.mark.parametrize(
    ("target", "received"),
    [("a\n", "2 lines in"), ("a\nb\nc\n", "3 in"), ("", "0 in")],
)
def test_texts_of_unequal_length_are_not_scored(
    tflite, tmp_path, target, received
):
    (tmp_path / "text.en").write_text("one\ntwo\n")
    (tmp_path / "text.es").write_text(target)
    process = score(tflite, tmp_path / "text.en", tmp_path / "text.es")
    error = error_of(process)
    assert received in error
    assert "text.en" in error and "text.es" in error


def test_blank_lines_have_scores_and_no_words(tflite, tmp_path):
    (tmp_path / "text.en").write_text("\nThe dog.\n\n")
    (tmp_path / "text.es").write_text("El perro.\n\n\n")
    rows = lines_of(
        score(
            tflite,
            tmp_path / "text.en",
            tmp_path / "text.es",
            "--alignments",
        )
    )
    for row in rows:
        log_probability, pairs = row.split("\t")
        assert float(log_probability) < 0
        assert pairs == ""
