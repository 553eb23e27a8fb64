"""`tfxformer translate`: one line out for each line in; clear refusals."""

import pytest
from conftest import call, command


def translate(*arguments, stdin=b""):
    return call("tfxformer.cli", "translate", *arguments, stdin=stdin)


@pytest.fixture(scope="module", params=["run", "SavedModel", "TFLite"])
def model(request, run_folder, export_folder):
    return {
        "run": run_folder,
        "SavedModel": export_folder / "saved_model",
        "TFLite": export_folder / "toy.tflite",
    }[request.param]


def test_a_line_for_each_line(model, tmp_path, pairs):
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


def test_bytes_that_are_not_utf8(export_folder):
    process = translate(export_folder / "toy.tflite", stdin=b"good\ncaf\xe9\n")
    assert process.returncode == 2
    assert process.stderr.decode().startswith(
        "tfxformer: error: standard input:2: not UTF-8: byte 0xe9"
    )


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
