"""What is measured of weights is of each token alone."""

import math

import keras
import numpy as np
import pytest
import reference

from tfxformer import Tokenizer, Transformer
from training.config import DataConfig, Recipe, Source, TrainingConfig
from training.phrasebook import generate
from training.prepare import Prepared
from training.shards import in_memory
from training.tokens import Block, PairTokenizer
from training.validation import Validator

SIZES = {
    "vocabulary_size": 400,
    "num_layers": 1,
    "num_heads": 2,
    "hidden_dim": 8,
    "intermediate_dim": 16,
}


@pytest.fixture(scope="module")
def prepared():
    pairs = list(generate("valid"))[:40]
    text = [sentence for pair in pairs for sentence in pair]
    tokenizer = Tokenizer.train(text * 5, 400)
    source = Source(phrasebook="valid")
    tokenize = PairTokenizer(
        tokenizer, tokenizer, DataConfig([source], [source])
    )
    lines = [f"{a}\t{b}\n".encode() for a, b in pairs]
    tokenized, _ = tokenize(Block(0, lines, np.zeros(len(lines), np.int32)))
    corpus = in_memory(tokenized, [1.0])
    return Prepared((tokenizer, tokenizer), corpus, corpus, pairs, {})


def validator(prepared, **settings):
    source = Source(phrasebook="valid")
    recipe = Recipe(
        "x",
        DataConfig([source], [source]),
        training=TrainingConfig(label_smoothing=0.1, **settings),
    )
    return Validator(recipe, SIZES, prepared)


@pytest.mark.parametrize("max_tokens", [30, 60, 5000])
def test_means_over_tokens_however_they_are_batched(prepared, max_tokens):
    keras.utils.set_random_seed(3)
    model = Transformer(**SIZES)
    measured = validator(prepared, max_tokens=max_tokens).measure(
        model.get_weights()
    )
    pairs = prepared.valid.shards
    ends = [np.cumsum(x) for x in (pairs.source_lengths, pairs.target_lengths)]
    losses, smooth, right = [], [], []
    sources = np.split(pairs.source_ids, ends[0][:-1])
    targets = np.split(pairs.target_ids, ends[1][:-1])
    for source, target in zip(sources, targets, strict=True):
        inputs = np.concatenate([[1], target[:-1]])
        logits = np.array(model((source[None], inputs[None])))
        labels = target[None]
        losses.append(reference.smoothed_cross_entropy(labels, logits))
        smooth.append(reference.smoothed_cross_entropy(labels, logits, 0.1))
        right.append(logits.argmax(-1) == labels)
    mean = [np.concatenate(x, axis=1).mean() for x in (losses, smooth, right)]
    assert measured["perplexity"] == pytest.approx(np.exp(mean[0]), rel=1e-4)
    assert measured["loss"] == pytest.approx(mean[1], rel=1e-4)
    assert measured["accuracy"] == pytest.approx(mean[2], abs=1e-6)


@pytest.mark.parametrize(
    ("best_by", "value", "score"),
    [
        ("accuracy", 0.5, 0.5),
        ("bleu", 30.0, 30.0),
        ("loss", 2.0, -2.0),
        ("loss", math.nan, -math.inf),
        ("loss", math.inf, -math.inf),
    ],
)
def test_a_higher_score_is_better(prepared, best_by, value, score):
    assert validator(prepared, best_by=best_by).score({best_by: value}) == score


def test_bleu_is_of_an_even_sample(prepared):
    some = validator(prepared, best_by="bleu", validation_sentences=3)
    measured = some.measure(some.model.get_weights())
    assert 0 <= measured["bleu"] < 5  # it has learnt nothing
    rows = [0, 19, 39]
    assert [s for s, _, _ in some.samples] == [
        prepared.valid_pairs[row][0] for row in rows
    ]
