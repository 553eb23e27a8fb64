"""A run folder that is being written belongs to one process."""

import contextlib
import fcntl
import shutil
from collections.abc import Iterator
from pathlib import Path

from tfxformer.errors import InputError
from tfxformer.run_folder import WEIGHTS, weights_path
from training.checkpoint import checkpoint_paths

LOCK = "lock"


@contextlib.contextmanager
def claim(
    incomplete: Path, folder: Path, resume: bool = False
) -> Iterator[None]:
    """Makes a folder to write to, and renames it when all is written.

    If the work fails before there are weights or a checkpoint, the folder
    goes again.

    Args:
        incomplete: path of the folder until the end.
        folder: path of the folder at the end; what is there is replaced.
        resume: bool. Leave what is in the first folder; by default it goes.

    Raises:
        InputError: if another process has the folder.
        OSError: if it cannot be made.
    """
    made = [path for path in incomplete.parents if not path.exists()]
    try:
        incomplete.mkdir(parents=True, exist_ok=True)
        with open(incomplete / LOCK, "wb") as lock:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                raise InputError(
                    f"{incomplete}: another training is writing it; wait for "
                    "it, or give another name=..."
                ) from None
            try:
                if not resume:
                    _clear(incomplete)
                yield
            except BaseException:
                paths = [weights_path(incomplete, name) for name in WEIGHTS]
                paths += checkpoint_paths(incomplete)
                if not any(path.exists() for path in paths):
                    shutil.rmtree(incomplete, ignore_errors=True)
                raise
            (incomplete / LOCK).unlink()
            if folder.exists():
                shutil.rmtree(folder)
            incomplete.rename(folder)
    finally:
        for path in made:
            with contextlib.suppress(OSError):  # there is something in it
                path.rmdir()


def _clear(folder: Path) -> None:
    for path in folder.iterdir():
        if path.is_dir():
            shutil.rmtree(path)
        elif path.name != LOCK:
            path.unlink()
