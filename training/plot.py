"""The command `python -m training.plot RUN [RUN ...]`."""

import argparse
import json
from pathlib import Path
from typing import Any

from tfxformer.errors import InputError, exit_on_input_error
from training.pictures import draw_curves
from training.progress import say, short_names


def main(arguments: list[str] | None = None) -> None:
    """Draws the curves of runs, also of one that is going on.

    Args:
        arguments: list of strings. The command line; None: that of this
            process.

    Raises:
        SystemExit: with status 2 and one line on standard error on bad input.
    """
    parser = argparse.ArgumentParser(
        prog="python -m training.plot",
        description="Draw loss, scores and learning rate of runs over their "
        "updates; also of a run that is not finished.",
    )
    parser.add_argument("runs", metavar="RUN", nargs="+", help="a run folder")
    parser.add_argument(
        "--out",
        metavar="FILE",
        default="curves.png",
        help="a .png, .svg or .pdf file (curves.png)",
    )
    options = parser.parse_args(arguments)
    with exit_on_input_error("plot"):
        if Path(options.out).suffix not in (".png", ".svg", ".pdf"):
            raise InputError(
                f"--out {options.out}: a .png, .svg or .pdf file is drawn"
            )
        records = {
            name: read_records(Path(folder))
            for name, folder in zip(
                short_names(options.runs), options.runs, strict=True
            )
        }
        draw_curves(records, options.out)
        say(f"Wrote {options.out}")


def read_records(folder: Path) -> list[dict[str, Any]]:
    """Reads `metrics.jsonl` of a run.

    Args:
        folder: path. A run folder, or what is to become one.

    Returns:
        list of dicts, one for each epoch.

    Raises:
        InputError: if the file is missing or damaged, or no epoch is in it.
    """
    path = folder / "metrics.jsonl"
    if not path.is_file():
        incomplete = folder.with_name(folder.name + ".incomplete")
        hint = f"; is it {incomplete}?" if incomplete.exists() else ""
        raise InputError(f"{folder}: no metrics.jsonl in it{hint}")
    try:
        records = [
            json.loads(line)
            for line in path.read_text(encoding="utf-8").splitlines()
        ]
        for record in records:
            record["step"] + record["learning_rate"]
    except (ValueError, KeyError, TypeError) as error:
        raise InputError(f"{path}: damaged ({error})") from None
    if not records:
        raise InputError(f"{path}: no epoch has ended yet")
    return records


if __name__ == "__main__":
    main()
