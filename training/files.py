"""Text files as people have them: compressed, many at once, or broken."""

import contextlib
import glob
import gzip
import io
import itertools
import lzma
import os
import re
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from backports import zstd
from tqdm import tqdm

from tfxformer.errors import InputError
from tfxformer.lines import decode_block

BLOCK_BYTES = 1 << 20  # of one file that are held at a time
APPLE_DOUBLE = b"\x00\x05\x16\x07"
ARCHIVES = (".zip", ".tar", ".tgz", ".tbz2", ".txz", ".7z", ".rar")
STARTS = {  # of files that are compressed, whatever their name
    b"\x1f\x8b": ".gz",
    b"\xfd7zXZ\0": ".xz",
    b"\x28\xb5\x2f\xfd": ".zst",
    b"BZh": ".bz2",
    b"PK\x03\x04": ".zip",
    b"7z\xbc\xaf": ".7z",
}
COMPRESSIONS: dict[str, tuple[str, Any]] = {
    ".gz": ("gzip", gzip.open),
    ".xz": ("xz", lzma.open),
    ".zst": ("zstd", zstd.open),
}


class ReadProgress:
    """How much of the files has been read, in bytes on disk.

    Args:
        bar: a `tqdm` that counts bytes, or None.
    """

    def __init__(self, bar: tqdm | None = None):
        self._bar = bar
        self._positions: dict[str, int] = {}

    def report(self, path: str | Path, position: int) -> None:
        """Says how far one file has been read.

        Args:
            path: string or path.
            position: int. Bytes of it that have been read, on disk.
        """
        self._positions[str(path)] = position
        if self._bar is not None:
            self._bar.update(sum(self._positions.values()) - self._bar.n)


def find_files(pattern: str, folder: str | Path) -> list[Path]:
    """The files of a name in which * and ? may stand for any characters.

    Args:
        pattern: string. Relative to `folder`. ** goes through folders.
        folder: string or path.

    Returns:
        list of paths, sorted; `._NAME`, which macOS leaves behind, and
        folders are not among them. Of a name without * and ? it is the path,
        whether there is such a file or not.

    Raises:
        InputError: if * and ? match no file, or if the path is a folder, a
            pipe or the like.
    """
    path = Path(_full(pattern, folder))
    if not glob.has_magic(pattern) or path.exists():
        if path.exists() and not path.is_file():
            raise InputError(f"{path}: not a file that can be read twice")
        return [path]
    found = [
        Path(name)
        for name in sorted(
            glob.glob(_full(pattern, glob.escape(str(folder))), recursive=True)
        )
        if not os.path.basename(name).startswith("._") and os.path.isfile(name)
    ]
    if not found:
        raise InputError(f"{path}: no file of such a name")
    return found


def _full(pattern: str, folder: str | Path) -> str:
    return os.path.normpath(os.path.join(folder, os.path.expanduser(pattern)))


def find_aligned(
    source: str, target: str, folder: str | Path
) -> list[tuple[Path, Path]]:
    """The files of two names; what * stands for is the same in both.

    Args:
        source: string, as in `find_files`.
        target: string, as in `find_files`.
        folder: string or path.

    Returns:
        list of tuples of paths.

    Raises:
        InputError: if a file has no counterpart, naming it, or where
            `find_files` raises one.
    """
    sources, targets = find_files(source, folder), find_files(target, folder)
    if not glob.has_magic(source) and not glob.has_magic(target):
        return [(sources[0], targets[0])]
    by_name = {_wildcards(target, folder, path): path for path in targets}
    pairs = []
    for path in sources:
        other = by_name.pop(_wildcards(source, folder, path), None)
        if other is None:
            raise InputError(
                f"{path}: no file of {target} goes with it; what * stands for "
                "must be the same on both sides"
            )
        pairs.append((path, other))
    if by_name:
        lonely = next(iter(by_name.values()))
        raise InputError(
            f"{lonely}: no file of {source} goes with it; what * stands for "
            "must be the same on both sides"
        )
    return pairs


def _wildcards(pattern: str, folder: str | Path, path: Path) -> tuple[str, ...]:
    """What the wildcards of a pattern stand for in a path."""
    # The folder's own name may hold such characters: it is no part of this.
    inside = os.path.relpath(path, os.path.expanduser(folder))
    pattern = os.path.relpath(
        _full(pattern, folder), os.path.expanduser(folder)
    )
    parts = re.split(r"(\*\*/|\*+|\?|\[[^]]*\])", pattern)
    expression = "".join(
        (r"((?:.*/)?)" if part == "**/" else "(.*)")
        if index % 2
        else re.escape(part)
        for index, part in enumerate(parts)
    )
    match = re.fullmatch(expression, inside, re.DOTALL)
    return match.groups() if match else (str(path),)


@contextlib.contextmanager
def open_binary(path: str | Path) -> Iterator[tuple[Any, Any]]:
    """Opens a file, decompressing `.gz`, `.xz` and `.zst`.

    Args:
        path: string or path.

    Yields:
        Tuple of two binary files: the text, and the file on disk, whose
        position shows the progress.

    Raises:
        InputError: naming the file, if it is an archive or is not what its
            name says.
        OSError: if it cannot be read.
    """
    name = str(path)
    suffix = Path(name).suffix.lower()
    if name.lower().removesuffix(suffix).endswith(".tar") or suffix in ARCHIVES:
        raise InputError(
            f"{path}: an archive; unpack it and name the files inside"
        )
    kind, opener = COMPRESSIONS.get(suffix, ("", None))
    try:
        with open(path, "rb") as raw, contextlib.ExitStack() as stack:
            start = raw.peek(1024)[:1024]
            if start.startswith(APPLE_DOUBLE):
                raise InputError(
                    f"{path}: not text but what macOS keeps beside a file "
                    "(AppleDouble); name the file without ._"
                )
            file: Any = raw
            if opener is None:
                _check_plain(path, start)
            else:
                _check_not_a_page(path, kind, start)
                file = stack.enter_context(opener(raw, "rb"))
                file = stack.enter_context(io.BufferedReader(file, BLOCK_BYTES))
                start = file.peek(512)
            if start[257:262] == b"ustar":
                raise InputError(
                    f"{path}: an archive; unpack it and name the files inside"
                )
            yield file, raw
    except (
        EOFError,
        gzip.BadGzipFile,
        zlib.error,
        lzma.LZMAError,
        zstd.ZstdError,
    ) as error:
        raise InputError(
            f"{path}: not a whole {kind} file ({error}); get it again"
        ) from None


def _check_text(path, first_lines: list[bytes]) -> None:
    line = first_lines[0]
    if line.startswith((b"\xff\xfe", b"\xfe\xff")):
        raise InputError(f"{path}: UTF-16, not UTF-8; convert the text first")
    if line.count(b"\r") > 1 and not line.endswith(b"\n"):  # the only line
        raise InputError(
            f"{path}: its lines end with CR alone; only LF (or CR LF) ends a "
            "line: convert the text first"
        )


def _check_plain(path, start: bytes) -> None:
    for signature, suffix in STARTS.items():
        if start.startswith(signature):
            raise InputError(
                f"{path}: not text but the content of a {suffix} file; "
                + (
                    f"give it a name that ends in {suffix}"
                    if suffix in COMPRESSIONS
                    else "unpack it and name the files inside"
                )
            )


def _check_not_a_page(path, kind: str, start: bytes) -> None:
    if start.lstrip()[:1] == b"<":
        raise InputError(
            f"{path}: not a whole {kind} file but a web page or XML, perhaps "
            "the error message of a server; get it again"
        )


def read_blocks(
    path: str | Path, progress: ReadProgress | None = None
) -> Iterator[list[str]]:
    """Reads text, one sentence a line; only LF ends a line.

    Args:
        path: string or path. UTF-8, plain, `.gz`, `.xz` or `.zst`; a byte
            order mark and the CR of CRLF are removed.
        progress: a `ReadProgress`, or None.

    Yields:
        lists of strings without line ends, about a MiB at a time.

    Raises:
        InputError: naming file, line and byte where it is not UTF-8, or
            the file where it is not what its name says.
        OSError: if it cannot be read.
    """
    first_line = 1
    for lines in read_raw_blocks(path, progress):
        yield decode_block(b"".join(lines), str(path), first_line)
        first_line += len(lines)


def read_raw_blocks(
    path: str | Path, progress: ReadProgress | None = None
) -> Iterator[list[bytes]]:
    """Like `read_blocks`, with bytes and line ends as they are in the file.

    Args:
        path: string or path. Plain, `.gz`, `.xz` or `.zst`.
        progress: a `ReadProgress`, or None.

    Yields:
        lists of bytes, about a MiB at a time. They may not be UTF-8.

    Raises:
        InputError: naming the file, if it is UTF-16, if only CR ends its
            lines, or if it is not what its name says.
        OSError: if it cannot be read.
    """
    with open_binary(path) as (file, raw):
        is_first = True
        while lines := file.readlines(BLOCK_BYTES):
            if is_first:
                _check_text(path, lines)
                is_first = False
            yield lines
            if progress is not None:
                progress.report(path, raw.tell())


def read_lines(path: str | Path) -> Iterator[str]:
    """Like `read_blocks`, line by line.

    Args:
        path: string or path.

    Returns:
        Iterator of strings without line ends. It raises what `read_blocks`
        raises.
    """
    return itertools.chain.from_iterable(read_blocks(path))
