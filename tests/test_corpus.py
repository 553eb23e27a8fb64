"""Reading and cleaning parallel text: what is messy comes out right."""

import gzip

import pytest

from tfxformer import InputError
from training.config import Source
from training.corpus import CorpusReport, clean, read_lines, read_pairs

FOUR = [("one", "uno"), ("two", "dos"), ("three", "tres"), ("four", "cuatro")]


def write(folder, sources: bytes, targets: bytes):
    (folder / "a.en").write_bytes(sources)
    (folder / "a.es").write_bytes(targets)
    return Source(source="a.en", target="a.es")


def read(source, folder, drop_duplicates=True):
    report = CorpusReport()
    pairs = read_pairs(source, folder, report)
    return list(clean(pairs, report, drop_duplicates)), report


@pytest.mark.parametrize(
    ("sources", "targets"),
    [
        (b"one\ntwo\nthree\nfour\n", b"uno\ndos\ntres\ncuatro\n"),
        (b"one\r\ntwo\r\nthree\r\nfour\r\n", b"uno\ndos\ntres\ncuatro\n"),
        (
            b"\xef\xbb\xbfone\ntwo\nthree\nfour\n",
            b"\xef\xbb\xbfuno\ndos\ntres\ncuatro\n",
        ),
        (b"one\ntwo\nthree\nfour", b"uno\ndos\ntres\ncuatro\n"),
    ],
    ids=["LF", "CRLF", "BOM", "no final newline"],
)
def test_line_ends_and_marks_are_not_text(tmp_path, sources, targets):
    pairs, report = read(write(tmp_path, sources, targets), tmp_path)
    assert pairs == FOUR
    assert (report.read, report.dropped) == (4, {})


def test_only_line_feed_ends_a_line(tmp_path):
    text = "a\u2028b\nc\u0085d\ne\x0cf\ng\x1dh\ni\rj\n"
    (tmp_path / "a.en").write_text(text, encoding="utf-8", newline="")
    lines = list(read_lines(tmp_path / "a.en"))
    assert lines == ["a\u2028b", "c\u0085d", "e\x0cf", "g\x1dh", "i\rj"]


def test_a_blank_side_drops_the_pair_and_is_counted(tmp_path):
    source = write(tmp_path, b"one\n\n \nfour\n", b"uno\ndos\ntres\n\t\n")
    pairs, report = read(source, tmp_path)
    assert pairs == [("one", "uno")]
    assert report.dropped == {"empty on a side": 3}
    assert report.examples["empty on a side"][0] == ("", "dos")


@pytest.mark.parametrize(
    ("sources", "targets", "counts"),
    [
        (b"1\n2\n3\n4\n", b"1\n2\n3\n", ("4", "3")),
        (b"1\n2\n", b"1\n2\n3\n4\n5\n", ("2", "5")),
        (b"", b"1\n", ("0", "1")),
    ],
)
def test_unequal_line_counts(tmp_path, sources, targets, counts):
    with pytest.raises(InputError) as error:
        read(write(tmp_path, sources, targets), tmp_path)
    message = str(error.value)
    assert f"a.en has {counts[0]} lines" in message
    assert f"a.es has {counts[1]}" in message


def test_bytes_that_are_not_utf8(tmp_path):
    source = write(tmp_path, b"a\nb\n", "si\ncaf\xe9\n".encode("latin-1"))
    with pytest.raises(InputError, match=r"a\.es:2: .*byte 0xe9 at byte 4"):
        read(source, tmp_path)


def test_tsv_takes_two_columns(tmp_path):
    rows = "one\tuno\tnote\nlonely\n\ntwo\tdos\n"
    (tmp_path / "a.tsv").write_text(rows, encoding="utf-8")
    pairs, report = read(Source(tsv="a.tsv"), tmp_path)
    assert pairs == FOUR[:2]
    assert report.dropped == {"not two columns": 2}
    assert report.read == 4


def test_a_tab_in_a_text_file_is_white_space(tmp_path):
    pairs, _ = read(write(tmp_path, b"on\te\n", b"u\tno\n"), tmp_path)
    assert pairs == [("on e", "u no")]


def test_nul_is_no_end(tmp_path):
    pairs, _ = read(write(tmp_path, b"one\0two\n", b"uno\0dos\n"), tmp_path)
    assert pairs == [("one two", "uno dos")]


def test_duplicates_are_dropped_or_kept(tmp_path):
    source = write(tmp_path, b"a\na\na\nb\n", b"x\nx\ny\nx\n")
    pairs, report = read(source, tmp_path)
    assert pairs == [("a", "x"), ("a", "y"), ("b", "x")]
    assert report.dropped == {"duplicate": 1}
    pairs, report = read(source, tmp_path, drop_duplicates=False)
    assert len(pairs) == 4


def test_gzip(tmp_path):
    for name, column in (("a.en.gz", 0), ("a.es.gz", 1)):
        text = "".join(f"{pair[column]}\n" for pair in FOUR)
        (tmp_path / name).write_bytes(gzip.compress(text.encode()))
    pairs, _ = read(Source(source="a.en.gz", target="a.es.gz"), tmp_path)
    assert pairs == FOUR


@pytest.mark.parametrize(
    "content",
    [gzip.compress(b"one\n" * 9999)[:-20], b"<html>404</html>", b""],
    ids=["truncated", "html", "nothing"],
)
def test_a_broken_download(tmp_path, content):
    (tmp_path / "a.en.gz").write_bytes(content)
    if content:
        with pytest.raises(InputError, match=r"a\.en\.gz: not a whole gzip"):
            list(read_lines(tmp_path / "a.en.gz"))
    else:
        assert list(read_lines(tmp_path / "a.en.gz")) == []


def test_a_missing_file(tmp_path):
    with pytest.raises(FileNotFoundError, match="none"):
        read(Source(tsv="none.tsv"), tmp_path)


def test_the_phrasebook_is_a_source(tmp_path):
    pairs, report = read(Source(phrasebook="valid"), tmp_path)
    assert len(pairs) == report.read == 500
