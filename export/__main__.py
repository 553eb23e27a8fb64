"""The command `python -m export RUN`."""

import argparse
import shutil
import sys
from pathlib import Path

from tfxformer.errors import InputError, exit_on_input_error
from tfxformer.quiet import import_tensorflow
from tfxformer.run_folder import WEIGHTS, load_run, read_config


def main(arguments: list[str] | None = None) -> None:
    """Exports a run, or says what an exported SavedModel needs.

    Args:
        arguments: list of strings. The command line; None: that of this
            process.

    Raises:
        SystemExit: with status 2 and one line on standard error on bad input.
    """
    parser = argparse.ArgumentParser(
        prog="python -m export",
        description="Write a trained run as a SavedModel and as .tflite.",
    )
    parser.add_argument("run", metavar="RUN", help="a run folder")
    parser.add_argument(
        "--output",
        metavar="FOLDER",
        help="where to write (RUN/export; an existing export is replaced)",
    )
    parser.add_argument(
        "--weights",
        default="best",
        choices=WEIGHTS,
        help="which weights of the run (best)",
    )
    parser.add_argument(
        "--beam-size",
        type=int,
        default=4,
        metavar="K",
        help="hypotheses kept by the exported beam search (4)",
    )
    parser.add_argument(
        "--check",
        action="store_true",
        help="RUN is a SavedModel folder: name the operators that it needs "
        "beyond TensorFlow's own",
    )
    options = parser.parse_args(arguments)
    with exit_on_input_error("export"):
        if options.check:
            import_tensorflow()
            from export.operators import check

            print(check(Path(options.run)))
            return
        folder = Path(options.output or Path(options.run, "export"))
        if options.beam_size < 2:
            raise InputError(
                "--beam-size must be at least 2; greedy search is always "
                f"there. Received: {options.beam_size}"
            )
        print(
            export(
                Path(options.run), folder, options.weights, options.beam_size
            )
        )


def export(
    run_folder: Path, folder: Path, weights: str = "best", beam_size: int = 4
) -> str:
    """Writes SavedModel, `.tflite` files and report.

    Args:
        run_folder: path. What training wrote.
        folder: path. It appears when it is complete; an earlier export
            there is replaced, anything else is left alone.
        weights: "best", "last" or "averaged".
        beam_size: int. K of the exported beam search.

    Returns:
        The report.

    Raises:
        InputError: if the run cannot be read, if the folder is not ours, if
            tensorflow-text is missing, or if a format cannot hold the model
            or breaks it. An earlier export then stays as it is.
        OSError: if a file cannot be read or written.
    """
    read_config(run_folder)  # fails before the slow imports
    if folder.exists() and not (folder / "report.json").is_file():
        raise InputError(f"{folder} exists and is no export; give --output")

    import_tensorflow()
    from export.formats import write_formats

    run = load_run(run_folder, weights)
    partial = folder.with_name(folder.name + ".incomplete")
    shutil.rmtree(partial, ignore_errors=True)
    partial.mkdir(parents=True)
    try:
        report = write_formats(run, run_folder, partial, weights, beam_size)
    except BaseException:
        shutil.rmtree(partial)
        raise
    if folder.exists():
        shutil.rmtree(folder)
    partial.rename(folder)
    print(f"Wrote {folder}", file=sys.stderr)
    return report


if __name__ == "__main__":
    main()
