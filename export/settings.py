"""What an exported model has to know besides its weights."""

from tfxformer.run_folder import SOURCE_TOKENIZER, TOKENIZER, Run


def settings(run: Run, beam_size: int) -> dict:
    """The content of `settings.json`, in a SavedModel and in a `.tflite`.

    Args:
        run: a `Run`.
        beam_size: int. K of the exported beam search.

    Returns:
        dict that JSON can hold.
    """
    shared = run.source_tokenizer is run.target_tokenizer
    return {
        "name": run.config["name"],
        "max_source_length": run.max_source_length,
        "beam_size": beam_size,
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
    contents = {TOKENIZER: run.target_tokenizer.model_proto}
    if run.source_tokenizer is not run.target_tokenizer:
        contents[SOURCE_TOKENIZER] = run.source_tokenizer.model_proto
    return contents
