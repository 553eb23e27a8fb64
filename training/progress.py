"""What a person who waits is told, on standard error."""

import contextlib
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

from tqdm import tqdm

SECONDS_BETWEEN_LINES = 20  # of a bar, where it is not a terminal
SECONDS_WITHOUT_BAR = 2


def say(message: str) -> None:
    """Prints a line about the state of things.

    Args:
        message: string.
    """
    print(message, file=sys.stderr, flush=True)


def duration(seconds: float) -> str:
    """A time for people, such as "45 s", "12 min" or "3.2 h".

    Args:
        seconds: float.

    Returns:
        string.
    """
    if seconds < 100:
        return f"{seconds:.0f} s"
    return (
        f"{seconds / 60:.0f} min"
        if seconds < 6000
        else (f"{seconds / 3600:.1f} h")
    )


def update_interval() -> float:
    """Seconds between two states of a bar."""
    return 0.5 if sys.stderr.isatty() else SECONDS_BETWEEN_LINES


def byte_bar(what: str, total: int) -> tqdm:
    """A bar with an estimate of the time left, if it takes a while.

    Args:
        what: string. What is going on.
        total: int. Bytes to go through.

    Returns:
        A `tqdm`.
    """
    return tqdm(
        total=total,
        desc=what,
        unit="B",
        unit_scale=True,
        delay=SECONDS_WITHOUT_BAR,
        mininterval=update_interval(),
        dynamic_ncols=True,
        leave=False,
    )


@contextlib.contextmanager
def loud_if_disk_is_full(what: str) -> Iterator[None]:
    """Lets training go on without a file that cannot be written.

    Any `OSError` becomes a warning.

    Args:
        what: string. What to say that could not be written.
    """
    try:
        yield
    except OSError as error:
        say(
            f"WARNING: {what} could not be written: {error}. What was written "
            "before is intact, and training goes on; free some space."
        )


def short_names(paths: Sequence[str]) -> list[str]:
    """The ends of paths, as much of them as it takes to tell them apart.

    Args:
        paths: sequence of strings.

    Returns:
        list of as many strings; equal ones for equal paths.
    """
    parts = [Path(path).parts for path in paths]
    different = len(set(parts))
    for count in range(1, max(map(len, parts), default=1) + 1):
        names = ["/".join(some[-count:]) for some in parts]
        if len(set(names)) == different:
            break
    return names
