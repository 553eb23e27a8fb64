"""Loads whatever can translate, and TensorFlow only where it is needed."""

from pathlib import Path

from tfxformer.errors import InputError
from tfxformer.quiet import import_tensorflow


def load_translator(path, num_workers: int | None = None):
    """Loads whatever can translate.

    Args:
        path: string or path: a run folder, a SavedModel folder, or a
            `.tflite` file. The last one needs neither TensorFlow nor Keras.
        num_workers: int. For a `.tflite` file: batches decoded at the same
            time; by default one for each processor.

    Returns:
        A `Translator`: a `RunTranslator`, `SavedModelTranslator` or
        `LiteTranslator`.

    Raises:
        InputError: if the path is none of the three, or is damaged.
    """
    path = Path(path)
    if path.suffix == ".tflite":
        from tfxformer.lite import LiteTranslator

        return LiteTranslator(path, num_workers)
    if not path.is_dir():
        raise InputError(
            f"{path}: no run folder, SavedModel folder or .tflite file"
        )
    import_tensorflow()
    from tfxformer.run_folder import load_run, saved_model_folder
    from tfxformer.translator import RunTranslator, SavedModelTranslator

    if (saved_model_folder(path) / "saved_model.pb").exists():
        return SavedModelTranslator(path)
    return RunTranslator(load_run(path))
