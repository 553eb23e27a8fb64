"""Text files: compressed, many at once, or not what their name says."""

import gzip
import io
import lzma
import tarfile
import zipfile

import pytest
from backports import zstd

from tfxformer import InputError
from training import files
from training.files import find_aligned, find_files, read_blocks, read_lines

COMPRESS = {
    ".gz": gzip.compress,
    ".xz": lzma.compress,
    # With a checksum, as the command zstd has it.
    ".zst": lambda text: zstd.compress(
        text, options={zstd.CompressionParameter.checksum_flag: 1}
    ),
}
COMPRESSIONS = pytest.mark.parametrize("suffix", COMPRESS)


def touch(folder, *names):
    for name in names:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(name, encoding="utf-8")


def names(paths, folder):
    return [str(path.relative_to(folder)) for path in paths]


def refusal(path):
    with pytest.raises(InputError) as error:
        list(read_lines(path))
    message = str(error.value)
    assert message.startswith(str(path)) and "\n" not in message
    return message


def test_only_line_feed_ends_a_line(tmp_path):
    text = "a\u2028b\nc\u0085d\ne\x0cf\ng\x1dh\ni\rj\n"
    (tmp_path / "a").write_text(text, encoding="utf-8", newline="")
    lines = list(read_lines(tmp_path / "a"))
    assert lines == ["a\u2028b", "c\u0085d", "e\x0cf", "g\x1dh", "i\rj"]


@pytest.mark.parametrize(
    ("content", "lines"),
    [
        (b"", []),
        (b"\n", [""]),
        (b"\n\n", ["", ""]),
        (b"a", ["a"]),
        (b"a\n\nb\n", ["a", "", "b"]),
        (b"a\r\nb\r\n", ["a", "b"]),
        (b"a\r\nb\r", ["a", "b"]),
        (b"a\r\r\n", ["a\r"]),
        (b"\xef\xbb\xbfa\nb\n", ["a", "b"]),
        (b"\xef\xbb\xbf", [""]),
        (b"a\n\xef\xbb\xbfb\n", ["a", "\ufeffb"]),
    ],
)
@pytest.mark.parametrize("block_bytes", [1, 1 << 20])
def test_line_ends_and_marks(
    tmp_path, monkeypatch, content, lines, block_bytes
):
    monkeypatch.setattr(files, "BLOCK_BYTES", block_bytes)
    (tmp_path / "a").write_bytes(content)
    assert list(read_lines(tmp_path / "a")) == lines


def test_blocks_are_of_about_the_size_asked_for(tmp_path, monkeypatch):
    monkeypatch.setattr(files, "BLOCK_BYTES", 5)
    (tmp_path / "a").write_bytes(b"one\ntwo\nthree\nfour\n")
    assert list(read_blocks(tmp_path / "a")) == [
        ["one", "two"],
        ["three"],
        ["four"],
    ]


@pytest.mark.parametrize("block_bytes", [1, 1 << 20])
def test_bytes_that_are_not_utf8(tmp_path, monkeypatch, block_bytes):
    monkeypatch.setattr(files, "BLOCK_BYTES", block_bytes)
    (tmp_path / "a").write_bytes(b"a\nb\nca\xc3\xb1\xe9\n")
    assert ":3: not UTF-8: byte 0xe9 at byte 5" in refusal(tmp_path / "a")


@COMPRESSIONS
def test_compressed_text(tmp_path, suffix):
    path = tmp_path / f"a{suffix.upper()}"
    text = "\ufeffone\r\ntwo\n".encode()
    path.write_bytes(COMPRESS[suffix](text) + COMPRESS[suffix](b"three"))
    assert list(read_lines(path)) == ["one", "two", "three"]


@COMPRESSIONS
@pytest.mark.parametrize("length", [99, 200_000])
def test_a_truncated_file(tmp_path, suffix, length):
    text = b"".join(b"%d\n" % number for number in range(length))
    path = tmp_path / f"a{suffix}"
    path.write_bytes(COMPRESS[suffix](text)[:-9])
    assert "not a whole " in refusal(path)


@COMPRESSIONS
@pytest.mark.parametrize("content", [b"one\ntwo\n", b"\0\1\2", b"PK\3\4"])
def test_content_that_is_not_compressed(tmp_path, suffix, content):
    path = tmp_path / f"a{suffix}"
    path.write_bytes(content * 99)
    assert "not a whole " in refusal(path)


@COMPRESSIONS
def test_a_damaged_middle(tmp_path, suffix):
    text = b"".join(b"%d\n" % number for number in range(9999))
    damaged = bytearray(COMPRESS[suffix](text))
    middle = len(damaged) // 2
    damaged[middle : middle + 40] = b"\xff" * 40
    (tmp_path / f"a{suffix}").write_bytes(damaged)
    assert "not a whole " in refusal(tmp_path / f"a{suffix}")


@COMPRESSIONS
@pytest.mark.parametrize("page", [b"<html>503</html>", b"\n <?xml ?>"])
def test_a_web_page_in_place_of_a_file(tmp_path, suffix, page):
    (tmp_path / f"a{suffix}").write_bytes(page)
    assert "web page" in refusal(tmp_path / f"a{suffix}")


def tar(mode):
    content = io.BytesIO()
    with tarfile.open(fileobj=content, mode=mode) as archive:
        member = tarfile.TarInfo("a.en")
        member.size = 4
        archive.addfile(member, io.BytesIO(b"one\n"))
    return content.getvalue()


def a_zip():
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w") as archive:
        archive.writestr("a.en", "one\n")
    return content.getvalue()


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("a.zip", a_zip()),
        ("a.ZIP", a_zip()),
        ("a.tar", tar("w")),
        ("a.tar.gz", tar("w:gz")),
        ("a.tar.xz", tar("w:xz")),
        ("a.tar.bz2", tar("w:bz2")),
        ("a.tgz", tar("w:gz")),
        ("a.en.gz", tar("w:gz")),  # renamed
        ("a.en.xz", tar("w:xz")),
        ("a.en.zst", zstd.compress(tar("w"))),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_archives_are_refused(tmp_path, name, content):
    (tmp_path / name).write_bytes(content)
    assert "archive; unpack it" in refusal(tmp_path / name)


@pytest.mark.parametrize(
    ("name", "content"), [("a.en", a_zip()), ("a.en.gz", tar("w"))]
)
def test_renamed_archives_are_no_text(tmp_path, name, content):
    (tmp_path / name).write_bytes(content)
    refusal(tmp_path / name)


def test_a_tar_by_another_name_is_no_text(tmp_path):
    (tmp_path / "a.en").write_bytes(tar("w"))
    assert "archive" in refusal(tmp_path / "a.en")


@pytest.mark.parametrize("name", ["a.en", "a.en.gz", "._a.en"])
def test_what_macos_leaves_beside_a_file(tmp_path, name):
    (tmp_path / name).write_bytes(b"\x00\x05\x16\x07\x00\x02\x00\x00Mac OS X")
    assert "AppleDouble" in refusal(tmp_path / name)


@pytest.mark.parametrize("name", ["none.en", "none.en.gz"])
def test_a_missing_file(tmp_path, name):
    with pytest.raises(FileNotFoundError, match=name):
        list(read_lines(tmp_path / name))


def test_a_folder_is_no_file(tmp_path):
    with pytest.raises(IsADirectoryError):
        list(read_lines(tmp_path))


def test_a_name_without_wildcards_need_not_exist(tmp_path):
    assert find_files("a.en", tmp_path) == [tmp_path / "a.en"]
    assert find_files("/b/a.en", tmp_path)[0].as_posix() == "/b/a.en"


def test_wildcards_are_sorted_and_skip_what_is_no_text(tmp_path):
    touch(tmp_path, "b.en", "a.en", "._a.en", "a.es", ".hidden.en")
    (tmp_path / "folder.en").mkdir()
    assert names(find_files("*.en", tmp_path), tmp_path) == ["a.en", "b.en"]
    assert names(find_files(".*.en", tmp_path), tmp_path) == [".hidden.en"]
    assert names(find_files("?.e[ns]", tmp_path), tmp_path) == [
        "a.en",
        "a.es",
        "b.en",
    ]


def test_two_stars_go_through_folders(tmp_path):
    touch(tmp_path, "a.tsv", "x/b.tsv", "x/y/c.tsv")
    found = names(find_files("**/*.tsv", tmp_path), tmp_path)
    assert found == ["a.tsv", "x/b.tsv", "x/y/c.tsv"]


def test_a_name_that_holds_a_bracket(tmp_path):
    touch(tmp_path, "a[1].en", "a1.en")
    assert names(find_files("a[1].en", tmp_path), tmp_path) == ["a[1].en"]


@pytest.mark.parametrize("encoding", ["utf-16-le", "utf-16-be"])
def test_utf16(tmp_path, encoding):
    (tmp_path / "a.en").write_bytes("\ufeffone\ntwo\n".encode(encoding))
    assert "UTF-16" in refusal(tmp_path / "a.en")


@pytest.mark.parametrize("text", [b"one\rtwo\rthree\r", b"one\rtwo\rthree"])
def test_lines_that_end_with_cr_alone(tmp_path, text):
    (tmp_path / "a.en").write_bytes(text)
    assert "CR alone" in refusal(tmp_path / "a.en")
    (tmp_path / "a.en").write_bytes(text + b"\n")
    assert len(list(read_lines(tmp_path / "a.en"))) == 1


def test_cr_in_the_last_of_many_lines_is_text(tmp_path, monkeypatch):
    monkeypatch.setattr(files, "BLOCK_BYTES", 4)
    (tmp_path / "a.en").write_bytes(b"one\ntwo\nx\ry\rz")
    assert list(read_lines(tmp_path / "a.en")) == ["one", "two", "x\ry\rz"]


def test_brackets_in_the_folder_are_no_wildcards(tmp_path):
    folder = tmp_path / "corpus [v1]"
    touch(folder, "a.en", "a.es")
    assert names(find_files("*.en", folder), folder) == ["a.en"]


def test_no_file_of_such_a_name(tmp_path):
    touch(tmp_path, "a.es", "._a.en")
    with pytest.raises(InputError, match=r"/\*\.en: no file of such a name"):
        find_files("*.en", tmp_path)


def test_the_home_folder(tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path))
    touch(tmp_path, "a.en")
    assert find_files("~/*.en", "elsewhere") == [tmp_path / "a.en"]
    assert find_files("~/a.en", "elsewhere") == [tmp_path / "a.en"]


def aligned(folder, source, target):
    return [
        (str(a.relative_to(folder)), str(b.relative_to(folder)))
        for a, b in find_aligned(source, target, folder)
    ]


def test_files_go_together_by_what_the_star_stands_for(tmp_path):
    # Sorted, the files are a, a1 on one side and a1, a on the other.
    touch(tmp_path, "a.en", "a1.en", "a_es", "a1_es", "._a.en", "._a_es")
    assert aligned(tmp_path, "*.en", "*_es") == [
        ("a.en", "a_es"),
        ("a1.en", "a1_es"),
    ]


def test_stars_on_both_sides_of_the_language(tmp_path):
    touch(tmp_path, "x.en.1", "x.es.1", "y.en.1", "y.es.1", "x.en.2", "x.es.2")
    assert aligned(tmp_path, "*.en.*", "*.es.*") == [
        ("x.en.1", "x.es.1"),
        ("x.en.2", "x.es.2"),
        ("y.en.1", "y.es.1"),
    ]


def test_a_star_in_folder_names(tmp_path):
    touch(tmp_path, "p/en.txt", "p/es.txt", "q/en.txt", "q/es.txt")
    assert aligned(tmp_path, "*/en.txt", "*/es.txt") == [
        ("p/en.txt", "p/es.txt"),
        ("q/en.txt", "q/es.txt"),
    ]


@pytest.mark.parametrize(
    ("there", "lonely", "goes"),
    [
        (["a.en", "a.es", "b.en"], "b.en", "*.es"),
        (["a.en", "a.es", "b.es"], "b.es", "*.en"),
        (["a.en", "b.es"], "a.en", "*.es"),
    ],
)
def test_a_file_without_counterpart_is_named(tmp_path, there, lonely, goes):
    touch(tmp_path, *there)
    with pytest.raises(InputError) as error:
        find_aligned("*.en", "*.es", tmp_path)
    message = str(error.value)
    assert message.startswith(f"{tmp_path / lonely}: no file of {goes} goes")


def test_a_star_on_one_side_only(tmp_path):
    touch(tmp_path, "a.en", "a.es")
    with pytest.raises(InputError, match="must be the same on both sides"):
        find_aligned("a.en", "*.es", tmp_path)


def test_plain_names_go_together_whatever_they_are(tmp_path):
    assert aligned(tmp_path, "a.en", "b.es") == [("a.en", "b.es")]


@pytest.mark.parametrize("folder", [".", "./", "./x/..", "x//.."])
def test_wildcards_in_the_folder_where_we_are(tmp_path, monkeypatch, folder):
    monkeypatch.chdir(tmp_path)
    touch(tmp_path, "a.en", "a.es", "x/b.en")
    assert len(find_aligned("*.en", "*.es", folder)) == 1


def test_a_dot_before_wildcards(tmp_path):
    touch(tmp_path, "a.en", "a.es")
    assert aligned(tmp_path, "./*.en", "./*.es") == [("a.en", "a.es")]


def test_wildcards_in_the_home_folder(tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path))
    touch(tmp_path, "a.en", "a.es")
    assert len(find_aligned("~/*.en", "~/*.es", ".")) == 1


def test_two_stars_stand_for_the_same_folders(tmp_path):
    touch(tmp_path, "a.en", "a.es", "x/y/b.en", "x/y/b.es")
    assert aligned(tmp_path, "**/*.en", "**/*.es") == [
        ("a.en", "a.es"),
        ("x/y/b.en", "x/y/b.es"),
    ]
