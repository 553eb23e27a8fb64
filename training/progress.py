"""What a person who waits is told, on standard error."""

import sys

from tqdm import tqdm

SECONDS_BETWEEN_LINES = 20  # of a bar, where it is not a terminal
SECONDS_WITHOUT_BAR = 2


def say(message: str) -> None:
    """A line about the state of things."""
    print(message, file=sys.stderr, flush=True)


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
