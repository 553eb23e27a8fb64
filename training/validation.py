"""How good weights are, on the validation text."""

import contextlib
import logging
import math
from collections.abc import Iterator
from typing import Any

import numpy as np
import tensorflow as tf

from tfxformer.metrics import Perplexity, TokenAccuracy, TokenLoss
from tfxformer.model import Transformer
from tfxformer.run_folder import Run
from tfxformer.translator import RunTranslator
from training.config import Recipe
from training.dataset import validation_dataset
from training.evaluate import bleu_tokenizer
from training.pictures import draw_attention
from training.prepare import Prepared

SAMPLES = 4  # translations to look at

# Whether more is better.
SIGNS = {"accuracy": 1, "bleu": 1, "chrf": 1, "loss": -1}


@contextlib.contextmanager
def _without_warnings() -> Iterator[None]:
    logger = logging.getLogger("tfxformer")
    before = logger.disabled
    logger.disabled = True
    try:
        yield
    finally:
        logger.disabled = before


class Validator:
    """Measures weights with a model of its own, in float32, as it is used.

    The model belongs to no distribution strategy: every worker of several
    comes to the same numbers by itself.

    Args:
        recipe: a `Recipe`.
        arguments: dict of arguments of `Transformer`.
        prepared: `Prepared`.
    """

    def __init__(
        self, recipe: Recipe, arguments: dict[str, Any], prepared: Prepared
    ):
        settings = recipe.training
        self.model = Transformer(**arguments)
        self._metrics = [
            TokenLoss(settings.label_smoothing),
            TokenAccuracy(),
            Perplexity(),
        ]
        self._dataset = validation_dataset(prepared.valid, settings.max_tokens)
        self._update = tf.function(
            self._update_metrics, input_signature=self._dataset.element_spec
        )
        self._best_by = settings.best_by
        pairs = prepared.valid_pairs
        count = min(settings.validation_sentences or len(pairs), len(pairs))
        rows = np.linspace(0, len(pairs) - 1, count).astype(int)
        self._sources = [pairs[row][0] for row in rows]
        self._references = [pairs[row][1] for row in rows]
        self._translator = RunTranslator(
            Run(
                self.model,
                *prepared.tokenizers,
                {"data": {"max_length": recipe.data.max_length}},
            )
        )
        # Of the last translations: source, translation and reference.
        self.samples: list[tuple[str, str, str]] = []

    def _update_metrics(self, inputs, labels):
        logits = self.model(inputs, training=False)
        for metric in self._metrics:
            metric.update_state(labels, logits)

    def score(self, measured: dict[str, float]) -> float:
        """What the best weights have most of.

        Args:
            measured: dict of floats, as `measure` gives it.

        Returns:
            float, higher is better; minus infinity if it is not a finite
            number.
        """
        score = SIGNS[self._best_by] * measured[self._best_by]
        return score if math.isfinite(score) else -math.inf

    @property
    def vocabulary_size(self) -> int:
        """Pieces of the target's tokenizer."""
        return self._translator.target_tokenizer.vocabulary_size

    def measure(self, weights: list[np.ndarray]) -> dict[str, float]:
        """Measures weights.

        Args:
            weights: list of arrays, as `get_weights` gives them.

        Returns:
            dict of floats: loss, accuracy and perplexity over all tokens;
            bleu or chrf (0 to 100), of greedy translations, if the best is
            chosen by it.
        """
        self.model.set_weights(weights)
        for metric in self._metrics:
            metric.reset_state()
        for batch in self._dataset:
            self._update(*batch)
        measured = {m.name: float(m.result()) for m in self._metrics}
        if self._best_by not in ("bleu", "chrf"):
            return measured
        with _without_warnings():  # a model that has just begun finds no end
            translations = self._translator.translate(self._sources)
        triples = zip(
            self._sources, translations, self._references, strict=True
        )
        self.samples = list(triples)[:SAMPLES]
        return {**measured, self._best_by: self._bleu_or_chrf(translations)}

    def attention_picture(self) -> np.ndarray | None:
        """Attention in the first sample whose translation is not empty.

        Returns:
            uint8 `(height, width, 4)`, or None.
        """
        for source, translation, _ in self.samples:
            if source.strip() and translation:
                scored = self._translator.score([source], [translation])[0]
                return draw_attention(scored)
        return None

    def _bleu_or_chrf(self, translations: list[str]) -> float:
        from sacrebleu.metrics import BLEU, CHRF

        references = [self._references]
        if self._best_by == "chrf":
            return CHRF().corpus_score(translations, references).score
        bleu = BLEU(tokenize=bleu_tokenizer(self._references))
        return bleu.corpus_score(translations, references).score
