"""Text to text over a run or a SavedModel."""

import json
from pathlib import Path

import numpy as np
import tensorflow as tf

from tfxformer.decoding import greedy_search
from tfxformer.errors import InputError
from tfxformer.lines import (
    MAX_EXTRA_LENGTH,
    detokenize_line,
    one_line,
    tokenize_lines,
)
from tfxformer.lite import SETTINGS, LiteTranslator
from tfxformer.masking import padding_mask
from tfxformer.run_folder import Run, load_run
from tfxformer.tokenizer import Tokenizer

BATCH_TOKENS = 2048  # most source positions decoded at once


def translate_token_ids(model, encoder_token_ids):
    """Decodes greedily, at most 50 tokens more than the source has.

    Args:
        model: a `Transformer`.
        encoder_token_ids: int32 `(B, S)`, each ended by `</s>`; 0 = padding.

    Returns:
        Tuple of int32 `(B, S + 50)`, up to and with `</s>`, then padding,
        and the sum of the log-probabilities, float32 `(B,)`. A source of
        `</s>` alone gives padding and 0.

    Reference:
        Attention Is All You Need, section 6.1 (the length limit).
    """
    real = tf.cast(padding_mask(encoder_token_ids), tf.int32)
    lengths = tf.reduce_sum(real, axis=1)
    source_length = encoder_token_ids.shape[1]
    if source_length is None:
        source_length = tf.shape(encoder_token_ids)[1]
    max_length = source_length + MAX_EXTRA_LENGTH
    cache, encoder_cache = model.start_cache(encoder_token_ids, max_length)

    def next_logits(token_ids, cache, index):
        return model.decode_step(token_ids, cache, index, encoder_cache)

    return greedy_search(
        next_logits,
        cache,
        max_lengths=tf.where(lengths > 1, lengths + MAX_EXTRA_LENGTH, 0),
        max_length=max_length,
    )


class RunTranslator:
    """Translates with a trained run.

    Args:
        run: a `Run`.
    """

    def __init__(self, run: Run):
        self.run = run
        self._translate = tf.function(
            lambda ids: translate_token_ids(run.model, ids)[0],
            input_signature=[tf.TensorSpec((None, None), tf.int32)],
        )

    def translate(self, lines: list[str], first_line: int = 1) -> list[str]:
        """Translates lines, in batches of similar length.

        Args:
            lines: list of strings.
            first_line: int. Number of the first line, for warnings.

        Returns:
            list of as many strings; blank lines stay empty.
        """
        ids = tokenize_lines(
            self.run.source_tokenizer,
            lines,
            self.run.max_source_length,
            first_line,
        )
        translations = [""] * len(lines)
        filled = [i for i in range(len(lines)) if len(ids[i]) > 1]
        for batch in batches_by_length([len(ids[i]) for i in filled]):
            rows = [filled[i] for i in batch]
            sources = tf.ragged.constant([ids[i] for i in rows], tf.int32)
            outputs = self._translate(sources.to_tensor()).numpy()
            for row, output in zip(rows, outputs, strict=True):
                limit = len(ids[row]) + MAX_EXTRA_LENGTH
                translations[row] = detokenize_line(
                    self.run.target_tokenizer,
                    output[:limit].tolist(),
                    first_line + row,
                )
        return translations


class SavedModelTranslator:
    """Translates with a SavedModel: text in, text out, all in its graph.

    Args:
        folder: string or path. The SavedModel, or the folder of its
            versions.

    Raises:
        InputError: if the folder holds no SavedModel written by the export.
    """

    def __init__(self, folder):
        folder = saved_model_folder(Path(folder))
        assets = folder / "assets"
        try:
            settings = json.loads((assets / SETTINGS).read_text("utf-8"))
            self._max_source_length = settings["max_source_length"]
            self._tokenizer = Tokenizer.from_file(
                assets / settings["source_tokenizer"]
            )
        except (OSError, ValueError, KeyError, TypeError):
            raise InputError(
                f"{folder}: a SavedModel, but not one of python -m export"
            ) from None
        self._tokenizer.in_graph()  # loads the tokenizer's operators
        try:
            self._model = tf.saved_model.load(folder)
            self._translate = self._model.signatures["serving_default"]
        except (OSError, IndexError, KeyError, tf.errors.OpError) as error:
            reason = str(error).strip().split("\n")[0][:200]
            raise InputError(
                f"{folder}: damaged; export it again ({reason})"
            ) from None

    def translate(self, lines: list[str], first_line: int = 1) -> list[str]:
        """Translates lines, in batches of similar length.

        Args:
            lines: list of strings.
            first_line: int. Number of the first line, for warnings.

        Returns:
            list of as many strings; blank lines stay empty.
        """
        lengths = [
            len(ids)
            for ids in tokenize_lines(
                self._tokenizer, lines, self._max_source_length, first_line
            )
        ]
        translations = [""] * len(lines)
        for batch in batches_by_length(lengths):
            text = tf.constant([lines[i] for i in batch])
            outputs = self._translate(text=text)["translation"].numpy()
            for row, output in zip(batch, outputs, strict=True):
                translations[row] = one_line(output.decode("utf-8", "replace"))
        return translations


def batches_by_length(lengths: list[int]) -> list[list[int]]:
    """Groups sentences of similar length, at most `BATCH_TOKENS` a batch.

    Args:
        lengths: list of ints.

    Returns:
        list of lists of indices into `lengths`.
    """
    batches: list[list[int]] = []
    for index in np.argsort(lengths, kind="stable").tolist():
        # Sorted: the newcomer is the longest and sets the width.
        if batches and (len(batches[-1]) + 1) * lengths[index] <= BATCH_TOKENS:
            batches[-1].append(index)
        else:
            batches.append([index])
    return batches


def saved_model_folder(folder: Path) -> Path:
    """Finds the SavedModel in a folder, its newest version if it has some.

    Args:
        folder: path.

    Returns:
        path of a folder that holds `saved_model.pb`, or `folder`.
    """
    if (folder / "saved_model.pb").exists() or not folder.is_dir():
        return folder
    versions = [
        child
        for child in folder.iterdir()
        if child.name.isdigit() and (child / "saved_model.pb").exists()
    ]
    return max(versions, key=lambda child: int(child.name), default=folder)


def load_translator(path):
    """Loads whatever can translate.

    Args:
        path: string or path: a run folder, a SavedModel folder, or a
            `.tflite` file.

    Returns:
        An object whose `translate(lines)` takes and returns a list of
        strings: a `RunTranslator`, `SavedModelTranslator` or
        `LiteTranslator`.

    Raises:
        InputError: if the path is none of the three.
    """
    path = Path(path)
    if path.suffix == ".tflite":
        return LiteTranslator(path)
    if (saved_model_folder(path) / "saved_model.pb").exists():
        return SavedModelTranslator(path)
    return RunTranslator(load_run(path))
