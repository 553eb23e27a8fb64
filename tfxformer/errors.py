"""What a command does with bad input: one line, exit status 2."""

import contextlib
import sys
from collections.abc import Iterator


class InputError(ValueError):
    """Bad input from outside: the message says what, where, what to do."""


@contextlib.contextmanager
def exit_on_input_error(program: str) -> Iterator[None]:
    """Turns an `InputError` or a file error into one line and exit status 2.

    Args:
        program: string. Name printed in front of the message.

    Raises:
        SystemExit: with status 2 on bad input, 130 on Ctrl-C.
    """
    try:
        yield
    except InputError as error:
        message = " ".join(str(error).split())
    except BrokenPipeError:  # the reader of our output has gone
        if sys.stderr is not None:
            sys.stderr.close()
        raise SystemExit(141) from None
    except OSError as error:
        what = error.strerror or str(error)
        message = f"{error.filename}: {what}" if error.filename else what
    except KeyboardInterrupt:
        if sys.stderr is not None:
            print(f"{program}: interrupted", file=sys.stderr)
        raise SystemExit(130) from None
    else:
        return
    if sys.stderr is not None:
        print(f"{program}: error: {message}", file=sys.stderr)
    raise SystemExit(2)
