"""Clean text between cleaning and tokenizing."""

import contextlib
import fcntl
import io
import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import IO

import numpy as np

from training.progress import byte_bar, say
from training.report import Pair
from training.tokens import Block

BLOCK_BYTES = 1 << 22  # of text that are tokenized at a time


class AlreadyPrepared(Exception):
    """Another process has done the same work meanwhile."""


class Spool:
    """Rows of `source, tab, target`: in memory while short, then in a file.

    A context: at its end the folder of the file is removed, unless it was
    renamed. Only one process at a time has a folder of that name.

    Args:
        folder: path of the folder that is made when the text is long.
        done: path that exists when the work is done.
        num_sources: int. Of the recipe's `data.train`.
        memory: int. Most bytes that are kept in memory.

    Attributes:
        counts: list of ints. Pairs of each source.
        bytes: int. Size of all rows.
    """

    def __init__(self, folder: Path, done: Path, num_sources: int, memory: int):
        self.folder = folder
        self.done = done
        self.counts = [0] * num_sources  # of pairs
        self.memory = memory
        self.bytes = 0
        self._file: IO[bytes] = io.BytesIO()
        self._lock: IO[bytes] | None = None

    def __enter__(self) -> "Spool":
        return self

    def __exit__(self, *error) -> None:
        with contextlib.suppress(OSError):  # of a full disk, once more
            self._file.close()
        if self._lock is not None:
            shutil.rmtree(self.folder, ignore_errors=True)
            Path(self._lock.name).unlink(missing_ok=True)
            self._lock.close()

    def __len__(self) -> int:
        return sum(self.counts)

    @property
    def on_disk(self) -> bool:
        """Whether the text has become too long for memory."""
        return not isinstance(self._file, io.BytesIO)

    def write(self, rows: list[str], origin: int) -> None:
        """Adds rows of one source.

        Args:
            rows: list of strings.
            origin: int. Which source of the recipe they are from; never
                less than that of the rows before.

        Raises:
            AlreadyPrepared: when the text becomes too long for memory, if
                `done` is there by then.
            OSError: if the disk is full.
        """
        if not rows:
            return
        text = ("\n".join(rows) + "\n").encode()
        self.counts[origin] += len(rows)
        self.bytes += len(text)
        if not self.on_disk and self.bytes > self.memory:
            self._move_to_disk()
        self._file.write(text)

    def _move_to_disk(self) -> None:
        self.folder.parent.mkdir(parents=True, exist_ok=True)
        # Kept by the kernel, so that a killed process leaves no lock behind.
        self._lock = _lock(self.folder.with_suffix(".lock"))
        if self.done.exists():
            raise AlreadyPrepared
        shutil.rmtree(self.folder, ignore_errors=True)
        self.folder.mkdir()
        assert isinstance(self._file, io.BytesIO)
        file = open(self.folder / "clean.tsv", "w+b")  # noqa: SIM115
        file.write(self._file.getbuffer())
        self._file = file

    def blocks(self, what: str) -> Iterator[Block]:
        """Reads the text, with a bar.

        Args:
            what: string. What the bar says.

        Yields:
            `Block`s of about 4 MiB.
        """
        self._file.seek(0)
        ends = np.cumsum(self.counts)
        first = number = 0
        with byte_bar(what, self.bytes) as bar:
            while lines := self._file.readlines(BLOCK_BYTES):
                rows = np.arange(first, first + len(lines))
                origins = np.searchsorted(ends, rows, side="right")
                yield Block(number, lines, origins.astype(np.int32))
                first, number = first + len(lines), number + 1
                bar.update(self._file.tell() - bar.n)

    def sample(self, most: int) -> Iterator[Pair]:
        """Some pairs, evenly from the whole text.

        Args:
            most: int. How many at most.

        Yields:
            Tuples (source sentence, target sentence).
        """
        step = -(-len(self) // most)
        self._file.seek(0)
        for number, line in enumerate(self._file):
            if number % step == 0:
                source, target = line.decode().removesuffix("\n").split("\t")
                yield source, target

    def remove_file(self) -> None:
        """Removes the file of a spool on disk; nothing can be read then."""
        self._file.close()
        os.remove(self._file.name)


def _lock(path: Path) -> IO[bytes]:
    while True:
        file = open(path, "wb")  # noqa: SIM115
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            say(f"Waiting: another run prepares the same text ({path})")
            fcntl.flock(file, fcntl.LOCK_EX)
        # The one before us may have removed the file that we have locked.
        try:
            if os.path.samestat(os.fstat(file.fileno()), os.stat(path)):
                return file
        except FileNotFoundError:
            pass
        file.close()
