"""Text to text over a `.tflite` file, without importing TensorFlow.

The file holds the signatures `greedy`, `beam` and `score` and, at its end, as
TFLite metadata does, a zip archive: tokenizer and settings.
"""

import json
import os
import zipfile
from pathlib import Path

import numpy as np

from tfxformer.errors import InputError
from tfxformer.host import Batch, Translator
from tfxformer.options import SearchOptions
from tfxformer.quiet import quiet_native_logs
from tfxformer.tokenizer import Tokenizer

SETTINGS = "settings.json"
LENGTH_STEP = 8  # sources are padded to a multiple, so that shapes recur
BATCH_TOKENS = 128  # source positions decoded at once: what caches hold


def check_supported(
    options: SearchOptions, taken: set[str], beam_size: int, what: str
) -> None:
    """Refuses options that an exported graph has no input for.

    Args:
        options: `SearchOptions`.
        taken: set of names of options that it takes, besides the limits of
            length.
        beam_size: int. The one of the export.
        what: string. Name of the format.

    Raises:
        InputError: naming the option and where it works.
    """
    if options.beam_size not in (1, beam_size):
        raise InputError(
            f"this {what} was exported with a beam of {beam_size}: export it "
            "again with --beam-size, or use the run. Received: "
            f"beam_size={options.beam_size}"
        )
    lengths = {"min_length", "min_length_ratio", "max_length"}
    lengths |= {"max_length_ratio", "beam_size"}
    unknown = sorted(options.used() - taken - lengths)
    if unknown:
        raise InputError(
            f"a {what} does not take {', '.join(unknown)} in this kind of "
            "search; the run does"
        )


class LiteTranslator(Translator):
    """Translates with a `.tflite` file.

    Args:
        path: string or path.
        num_workers: int. Interpreters, of one thread each, that decode
            batches at the same time; by default one for each processor.

    Raises:
        InputError: if the file is not one of `python -m export`.
    """

    def __init__(self, path, num_workers: int | None = None):
        path = Path(path)
        if not path.is_file():
            raise InputError(f"{path}: no such file")
        try:
            with zipfile.ZipFile(path) as archive:
                settings = json.loads(archive.read(SETTINGS))
                source_model = archive.read(settings["source_tokenizer"])
                target_model = archive.read(settings["target_tokenizer"])
            max_source_length = int(settings["max_source_length"])
            self.beam_size = int(settings["beam_size"])
            if max_source_length < 2 or self.beam_size < 2:
                raise ValueError("sizes that make no sense")
        except (
            zipfile.BadZipFile,
            ValueError,
            KeyError,
            TypeError,
            IndexError,
            OverflowError,
        ):
            raise InputError(
                f"{path}: not a .tflite file of python -m export "
                "(no sound settings and tokenizer at its end)"
            ) from None
        try:
            source_tokenizer = Tokenizer(source_model)
            target_tokenizer = Tokenizer(target_model)
        except InputError as error:
            raise InputError(f"{path}: {error}") from None
        super().__init__(
            source_tokenizer,
            target_tokenizer,
            max_source_length,
            BATCH_TOKENS,
            num_workers or len(os.sched_getaffinity(0)),
        )
        self._path = path
        self._interpreters = [self._load()]  # the others when they are needed
        self._runners: dict = {}
        self._shapes: dict = {}

    def _load(self):
        # The import is slow beside a sentence: only once the file is good.
        from ai_edge_litert.interpreter import Interpreter

        try:
            with quiet_native_logs():
                interpreter = Interpreter(
                    model_path=str(self._path),
                    num_threads=1,  # more interpreters do more
                )
                interpreter.allocate_tensors()
                return interpreter
        except (ValueError, RuntimeError) as error:
            reason = str(error).strip().split("\n")[0]
            raise InputError(
                f"{self._path}: not a TFLite model: {reason}"
            ) from None

    def _prepare(self, num_workers: int) -> None:
        while len(self._interpreters) < num_workers:
            self._interpreters.append(self._load())

    def _check(self, options: SearchOptions) -> None:
        taken = {"n_best"}
        if options.beam_size > 1:
            taken.add("length_penalty")
        check_supported(options, taken, self.beam_size, ".tflite file")

    def _decode(self, batch: Batch, options: SearchOptions, worker: int):
        inputs: dict = {
            "encoder_token_ids": batch.encoder_token_ids,
            "prefix": batch.prefix,
            "max_lengths": batch.max_lengths,
            "min_lengths": batch.min_lengths,
        }
        signature = "greedy"
        if options.beam_size > 1:
            signature = "beam"
            inputs["length_penalty"] = np.float32(options.length_penalty)
            inputs["n_best"] = np.int32(options.n_best)
        outputs = self._call(signature, worker, inputs)
        return (
            outputs["token_ids"],
            outputs["score"],
            outputs["log_probability"],
        )

    def _score(self, encoder_token_ids, target_token_ids, worker: int):
        inputs = {
            "encoder_token_ids": encoder_token_ids,
            "target_token_ids": target_token_ids,
        }
        outputs = self._call("score", worker, inputs)
        return outputs["log_probs"], outputs["attention"]

    def _padded_length(self, length: int) -> int:
        padded = -(-length // LENGTH_STEP) * LENGTH_STEP
        return max(length, min(padded, self.max_source_length))

    def _call(self, signature: str, worker: int, inputs: dict) -> dict:
        key = signature, worker
        if key not in self._runners:
            interpreter = self._interpreters[worker]
            self._runners[key] = interpreter.get_signature_runner(signature)
        runner = self._runners[key]
        shapes = [np.shape(value) for value in inputs.values()]
        if self._shapes.get(key) != shapes:
            # The first run after a change of shapes may read memory that
            # XNNPACK has moved (LiteRT 2.3): it is cut short and forgotten.
            short = dict(inputs)
            if "max_lengths" in inputs:
                short["max_lengths"] = np.ones_like(inputs["max_lengths"])
            runner(**short)
            self._shapes[key] = shapes
        return runner(**inputs)
