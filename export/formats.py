"""All formats of one run, each checked on the validation sentences."""

import sys
from pathlib import Path

from export.operators import extra_operators
from export.report import measure, write_report
from export.saved_model import export_saved_model
from export.tflite import export_tflite
from tfxformer.errors import InputError
from tfxformer.lite import LiteTranslator
from tfxformer.run_folder import VALIDATION_PAIRS, Run, weights_path
from tfxformer.translator import RunTranslator, SavedModelTranslator


def write_formats(
    run: Run, run_folder: Path, folder: Path, weights: str, beam_size: int
) -> str:
    """Writes every format into a folder, and the report on them.

    Args:
        run: a `Run`.
        run_folder: path. Where it was loaded from.
        folder: path of an empty folder.
        weights: string. Name of the weights that were loaded.
        beam_size: int. K of the exported beam search.

    Returns:
        The report.

    Raises:
        InputError: if a format cannot hold the model or breaks it, if
            tensorflow-text is missing, or if the run has no validation pairs.
        OSError: if a file cannot be read or written.
    """
    name = run.config["name"]
    pairs = _validation_pairs(run_folder)
    saved_model = folder / "saved_model" / "1"
    tflite = {
        "float32": folder / f"{name}.tflite",
        "int8": folder / f"{name}.int8.tflite",
    }
    _say("Writing the SavedModel")
    export_saved_model(run, saved_model, beam_size)
    operators = extra_operators(saved_model)
    (saved_model / "operators.txt").write_text(
        "".join(f"{operator}\n" for operator in operators)
    )
    _say("Converting to TFLite")
    export_tflite(run, tflite, beam_size)
    tokenizer = run.target_tokenizer
    _say(f"Translating {len(pairs)} sentences with each format")
    results = {
        "run": measure(
            RunTranslator(run).translate,
            pairs,
            weights_path(run_folder, weights).stat().st_size,
            tokenizer,
        ),
        "SavedModel": measure(
            SavedModelTranslator(saved_model).translate,
            pairs,
            sum(
                f.stat().st_size for f in saved_model.rglob("*") if f.is_file()
            ),
            tokenizer,
        ),
    }
    for precision, path in tflite.items():
        label = f"TFLite {precision}"
        results[label] = measure(
            LiteTranslator(path).translate,
            pairs,
            path.stat().st_size,
            tokenizer,
        )
        refuse_if_broken(results, label)
    return write_report(folder, name, pairs, results)


def refuse_if_broken(results: dict, label: str) -> None:
    """Quantisation can leave a decoder that ignores its input.

    Args:
        results: dict from format to what `measure` returned.
        label: string. The format to compare with the run.

    Raises:
        InputError: if it says the same whatever it is given.
    """
    before = len(set(results["run"]["translations"]))
    after = len(set(results[label]["translations"]))
    if after == 1 and before > 1:
        raise InputError(
            f"{label} gives the same translation for every sentence, the run "
            f"{before} different ones: this conversion breaks the model"
        )


def _validation_pairs(run_folder: Path) -> list[tuple[str, str]]:
    path = run_folder / VALIDATION_PAIRS
    with open(path, encoding="utf-8", newline="\n") as lines:
        rows = [line.rstrip("\n").split("\t") for line in lines]
    pairs = [(row[0], row[1]) for row in rows if len(row) == 2]
    if not pairs:
        raise InputError(f"{path}: no pairs to check the export with")
    return pairs


def _say(message: str) -> None:
    print(message, file=sys.stderr, flush=True)
