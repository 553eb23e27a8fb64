"""Keeps the start-up chatter of native libraries off a user's terminal."""

import contextlib
import os
import sys
from collections.abc import Iterator


@contextlib.contextmanager
def quiet_native_logs() -> Iterator[None]:
    """Discards what C++ code writes to standard error meanwhile.

    TensorFlow and LiteRT greet with lines that no setting turns off. What
    fails still raises its Python exception.
    """
    if sys.stderr is None:  # then 2 may be another file by now
        yield
        return
    sys.stderr.flush()
    try:
        kept = os.dup(2)
    except OSError:  # no standard error: nothing to discard
        yield
        return
    try:
        with open(os.devnull, "wb") as nowhere:
            os.dup2(nowhere.fileno(), 2)
        yield
    finally:
        os.dup2(kept, 2)
        os.close(kept)


def import_tensorflow() -> None:
    """Imports TensorFlow and Keras without their greetings."""
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
    with quiet_native_logs():
        import keras  # noqa: F401
