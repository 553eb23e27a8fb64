"""Text to text over a `.tflite` file, without importing TensorFlow.

The file holds a signature `translate_S` for each of a few source lengths S,
with weights in common, and at its end, as TFLite metadata does, a zip
archive: tokenizer and settings.
"""

import json
import zipfile
from pathlib import Path

import numpy as np

from tfxformer.errors import InputError
from tfxformer.lines import detokenize_line, tokenize_lines
from tfxformer.quiet import quiet_native_logs
from tfxformer.tokenizer import PAD_TOKEN_ID, Tokenizer

SETTINGS = "settings.json"
SIGNATURE = "translate_{}"


class LiteTranslator:
    """Translates with a `.tflite` file.

    Args:
        path: string or path.

    Raises:
        InputError: if the file is not one of `python -m export`.
    """

    def __init__(self, path):
        path = Path(path)
        if not path.is_file():
            raise InputError(f"{path}: no such file")
        try:
            with zipfile.ZipFile(path) as archive:
                settings = json.loads(archive.read(SETTINGS))
                source_model = archive.read(settings["source_tokenizer"])
                target_model = archive.read(settings["target_tokenizer"])
            self._max_source_length = int(settings["max_source_length"])
            self._source_lengths = sorted(settings["source_lengths"])
            self._max_extra_length = int(settings["max_extra_length"])
            if not 2 <= self._max_source_length == self._source_lengths[-1]:
                raise ValueError("lengths that contradict each other")
        except (
            zipfile.BadZipFile,
            ValueError,
            KeyError,
            TypeError,
            IndexError,
        ):
            raise InputError(
                f"{path}: not a .tflite file of python -m export "
                "(no sound settings and tokenizer at its end)"
            ) from None
        try:
            self._source_tokenizer = Tokenizer(source_model)
            self._target_tokenizer = Tokenizer(target_model)
        except InputError as error:
            raise InputError(f"{path}: {error}") from None
        # The import is slow beside a sentence: only once the file is good.
        from ai_edge_litert.interpreter import Interpreter

        try:
            with quiet_native_logs():
                self._interpreter = Interpreter(
                    model_path=str(path),
                    num_threads=1,  # fastest at sizes for small machines
                )
        except (ValueError, RuntimeError) as error:
            reason = str(error).strip().split("\n")[0]
            raise InputError(f"{path}: not a TFLite model: {reason}") from None
        self._runners: dict = {}

    def translate_token_ids(self, token_ids: list[int]) -> list[int]:
        """Decodes one sentence.

        Args:
            token_ids: list of ints, at most `max_source_length` of them,
                ended by `</s>`.

        Returns:
            list of ints: up to and with `</s>`, or as many as the source
            has and 50 more.
        """
        length = next(n for n in self._source_lengths if n >= len(token_ids))
        padded = np.full((1, length), PAD_TOKEN_ID, np.int32)
        padded[0, : len(token_ids)] = token_ids
        output = self._runner(length)(encoder_token_ids=padded)
        limit = len(token_ids) + self._max_extra_length
        return output["token_ids"][0, :limit].tolist()

    def _runner(self, length: int):
        if length not in self._runners:
            with quiet_native_logs():
                runner = self._interpreter.get_signature_runner(
                    SIGNATURE.format(length)
                )
                runner(encoder_token_ids=np.zeros((1, length), np.int32))
            self._runners[length] = runner
        return self._runners[length]

    def translate(self, lines: list[str], first_line: int = 1) -> list[str]:
        """Translates lines, one after the other.

        Args:
            lines: list of strings.
            first_line: int. Number of the first line, for warnings.

        Returns:
            list of as many strings; blank lines stay empty.
        """
        all_ids = tokenize_lines(
            self._source_tokenizer, lines, self._max_source_length, first_line
        )
        return [
            detokenize_line(
                self._target_tokenizer, self.translate_token_ids(ids), number
            )
            if len(ids) > 1
            else ""
            for number, ids in enumerate(all_ids, start=first_line)
        ]
