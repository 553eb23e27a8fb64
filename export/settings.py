"""What an exported model has to know besides its weights."""

from tfxformer.lines import MAX_EXTRA_LENGTH
from tfxformer.run_folder import SOURCE_TOKENIZER, TOKENIZER, Run


def settings(run: Run) -> dict:
    """The content of `settings.json`, in a SavedModel and in a `.tflite`.

    Args:
        run: a `Run`.

    Returns:
        dict that JSON can hold.
    """
    shared = run.source_tokenizer is run.target_tokenizer
    return {
        "name": run.config["name"],
        "max_source_length": run.max_source_length,
        "max_extra_length": MAX_EXTRA_LENGTH,
        "source_tokenizer": TOKENIZER if shared else SOURCE_TOKENIZER,
        "target_tokenizer": TOKENIZER,
    }


def files(run: Run) -> dict[str, bytes]:
    """The tokenizer files that the settings name.

    Args:
        run: a `Run`.

    Returns:
        dict from file name to content.
    """
    names = settings(run)
    return {
        names["source_tokenizer"]: run.source_tokenizer.model_proto,
        names["target_tokenizer"]: run.target_tokenizer.model_proto,
    }
