"""Text to text over a run or a SavedModel."""

import dataclasses
import json
from pathlib import Path

import numpy as np
import tensorflow as tf

from tfxformer.attentions import Attentions
from tfxformer.errors import InputError
from tfxformer.host import Translator
from tfxformer.lines import one_line, tokenize_lines
from tfxformer.lite import SETTINGS, check_supported
from tfxformer.model_search import score, search, teacher_force
from tfxformer.options import SearchOptions
from tfxformer.run_folder import Run, saved_model_folder
from tfxformer.tokenizer import END_TOKEN_ID, Tokenizer

BATCH_TOKENS = 2048  # most source positions decoded at once

IDS = tf.TensorSpec((None, None), tf.int32)
COUNTS = tf.TensorSpec((None,), tf.int32)


class RunTranslator(Translator):
    """Translates with a trained run.

    Args:
        run: a `Run`.
    """

    def __init__(self, run: Run):
        super().__init__(
            run.source_tokenizer,
            run.target_tokenizer,
            run.max_source_length,
            BATCH_TOKENS,
        )
        self.model = run.model
        self._functions: dict = {}
        self._shortlists: dict = {}  # the last one
        self._score_function = tf.function(
            lambda source, target: score(self.model, source, target),
            input_signature=[IDS, IDS],
        )

    def _decode(self, batch, options, worker):
        shortlist = self._shortlist(options.shortlist)
        key = dataclasses.replace(
            options,
            seed=0,
            min_length=0,
            min_length_ratio=0.0,
            max_length=None,
            max_length_ratio=None,
            shortlist=options.shortlist and (),
        )
        if key not in self._functions:  # these options are part of the graph
            self._functions[key] = self._function(options)
        arguments = [tf.constant(x) for x in batch]
        if shortlist is not None:
            arguments[1] = tf.constant(
                np.searchsorted(shortlist, batch.prefix).astype(np.int32)
            )
            arguments.append(tf.constant(shortlist))
        outputs = self._functions[key](*arguments)
        token_ids, scores, log_probs = (x.numpy() for x in outputs)
        if shortlist is not None:
            token_ids = shortlist[token_ids]
        return token_ids, scores, log_probs

    def _shortlist(self, texts):
        if texts is not None and texts not in self._shortlists:
            self._shortlists = {texts: self.shortlist_ids(texts)}
        return self._shortlists.get(texts)

    def _function(self, options: SearchOptions):
        blocked = None
        if options.blocked:
            blocked = np.zeros(self.target_tokenizer.vocabulary_size, bool)
            blocked[self.blocked_ids(options)] = True

        def decode(source, prefix, most, least, seeds, shortlist=None):
            is_blocked = blocked
            if blocked is not None and shortlist is not None:
                is_blocked = tf.gather(blocked, shortlist)
            return search(
                self.model,
                source,
                prefix,
                most,
                least,
                options,
                is_blocked,
                seeds,
                shortlist,
            )

        signature = [IDS, IDS, COUNTS, COUNTS, COUNTS]
        if options.shortlist is not None:
            signature.append(COUNTS)
        return tf.function(decode, input_signature=signature)

    def attentions(self, line, translation=None):
        line = one_line(line)
        (source,) = tokenize_lines(
            self.source_tokenizer, [line], self.max_source_length
        )
        if translation is None:
            ((hypothesis,),) = self.search([line])
            target = hypothesis.token_ids
        else:
            (target,) = self.target_tokenizer.tokenize([one_line(translation)])
        for what, ids in (("sentence", source), ("translation", target)):
            if not any(number != END_TOKEN_ID for number in ids):
                raise InputError(
                    f"the {what} is empty: there is no attention to look at"
                )
        if len(target) > self.max_length:
            raise InputError(
                f"a translation of {len(target)} pieces; the model takes "
                f"{self.max_length}"
            )
        _, encoder, decoder = teacher_force(
            self.model, tf.constant([source]), tf.constant([target])
        )
        pieces = self.target_tokenizer.pieces()
        source_pieces = self.source_tokenizer.pieces()
        return Attentions(
            [source_pieces[i] for i in source],
            [pieces[i] for i in target],
            *(
                np.stack([layer.numpy()[0] for layer in layers])
                for layers in (
                    encoder,
                    [own for own, _ in decoder],
                    [cross for _, cross in decoder],
                )
            ),
        )

    def _score(self, encoder_token_ids, target_token_ids, worker):
        outputs = self._score_function(encoder_token_ids, target_token_ids)
        return tuple(x.numpy() for x in outputs)


class SavedModelTranslator(Translator):
    """Translates with the signatures of a SavedModel that take token ids.

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
            self.beam_size = int(settings["beam_size"])
            max_source_length = int(settings["max_source_length"])
            source_tokenizer, target_tokenizer = (
                Tokenizer.from_file(assets / Path(settings[name]).name)
                for name in ("source_tokenizer", "target_tokenizer")
            )
        except (OSError, ValueError, KeyError, TypeError):
            raise InputError(
                f"{folder}: a SavedModel, but not one of python -m export, or "
                "without its assets"
            ) from None
        super().__init__(
            source_tokenizer, target_tokenizer, max_source_length, BATCH_TOKENS
        )
        source_tokenizer.in_graph()  # loads the tokenizer's operators
        try:
            self._model = tf.saved_model.load(folder)
            signatures = self._model.signatures
            self._greedy = signatures["search_greedy"]
            self._beam = signatures["search_beam"]
            self._sample = signatures["search_sample"]
            self._score_signature = signatures["score"]
        except (OSError, IndexError, KeyError, tf.errors.OpError) as error:
            reason = str(error).strip().split("\n")[0][:200]
            raise InputError(
                f"{folder}: damaged; export it again ({reason})"
            ) from None

    def _check(self, options):
        taken = {"n_best", "blocked"}
        if options.sampling:
            taken |= {"sampling", "temperature", "top_k", "top_p", "seed"}
        elif options.beam_size > 1:
            taken |= {
                "coverage_penalty",
                "length_penalty",
                "patience",
                "repetition_penalty",
            }
        check_supported(options, taken, self.beam_size, "SavedModel")

    def _decode(self, batch, options, worker):
        blocked = np.zeros(self.target_tokenizer.vocabulary_size, bool)
        blocked[self.blocked_ids(options)] = True
        inputs = {
            "encoder_token_ids": tf.constant(batch.encoder_token_ids),
            "prefix": tf.constant(batch.prefix),
            "max_lengths": tf.constant(batch.max_lengths),
            "min_lengths": tf.constant(batch.min_lengths),
            "blocked": tf.constant(blocked),
        }
        if options.sampling:
            seeds = np.repeat(batch.seeds, options.n_best)
            seeds += np.tile(
                np.arange(options.n_best, dtype=np.int32), len(batch.seeds)
            )
            inputs = {
                name: tensor
                if name == "blocked"
                else tf.repeat(tensor, options.n_best, axis=0)
                for name, tensor in inputs.items()
            }
            outputs = self._sample(
                **inputs,
                seeds=tf.constant(seeds),
                temperature=tf.constant(float(options.temperature)),
                top_k=tf.constant(options.top_k),
                top_p=tf.constant(float(options.top_p)),
            )
        elif options.beam_size > 1:
            outputs = self._beam(
                **inputs,
                n_best=tf.constant(options.n_best),
                length_penalty=tf.constant(float(options.length_penalty)),
                coverage_penalty=tf.constant(float(options.coverage_penalty)),
                patience=tf.constant(float(options.patience or 2.0)),
                repetition_penalty=tf.constant(
                    float(options.repetition_penalty)
                ),
            )
        else:
            outputs = self._greedy(**inputs)
        arrays = (
            outputs[name].numpy()
            for name in ("token_ids", "score", "log_probability")
        )
        rows = len(batch.seeds)
        return tuple(x.reshape((rows, -1, *x.shape[2:])) for x in arrays)

    def _score(self, encoder_token_ids, target_token_ids, worker):
        outputs = self._score_signature(
            encoder_token_ids=tf.constant(encoder_token_ids),
            target_token_ids=tf.constant(target_token_ids),
        )
        return tuple(
            outputs[name].numpy() for name in ("log_probs", "attention")
        )
