"""Batches: full, deterministic, and each sentence once an epoch."""

import itertools

import numpy as np
import pytest

from tfxformer import TokenCrossEntropy, Tokenizer, Transformer
from training.corpus import CorpusReport
from training.dataset import (
    TokenizedCorpus,
    plan_batches,
    tokenize_pairs,
    training_dataset,
    validation_dataset,
)
from training.phrasebook import generate


def corpus(count=50, seed=0):
    random = np.random.default_rng(seed)

    def sentence(number):
        length = random.integers(1, 12)
        return [4 + number, *random.integers(4, 99, length).tolist(), 2]

    return TokenizedCorpus(
        [sentence(i) for i in range(count)], [sentence(i) for i in range(count)]
    )


def first_tokens(batches):
    return [labels[:, 0].numpy().tolist() for _, labels in batches]


def test_teacher_forcing_on_one_sentence():
    data = validation_dataset(
        TokenizedCorpus([[5, 6, 2], [7, 2]], [[8, 2], [9, 10, 11, 2]]), 100
    )
    ((sources, inputs), labels) = next(iter(data))
    order = np.argsort(sources[:, 0])
    np.testing.assert_array_equal(
        sources.numpy()[order], [[5, 6, 2], [7, 2, 0]]
    )
    np.testing.assert_array_equal(
        inputs.numpy()[order], [[1, 8, 0, 0], [1, 9, 10, 11]]
    )
    np.testing.assert_array_equal(
        labels.numpy()[order], [[8, 2, 0, 0], [9, 10, 11, 2]]
    )


def test_an_epoch_holds_each_pair_once_and_the_next_another_order():
    data, steps = training_dataset(corpus(), max_tokens=60, seed=3)
    epochs = first_tokens(data.take(2 * steps))
    first, second = epochs[:steps], epochs[steps:]
    for epoch in (first, second):
        assert sorted(itertools.chain(*epoch)) == list(range(4, 54))
    assert first != second


def test_pairs_stay_together():
    data, steps = training_dataset(corpus(), max_tokens=60, seed=3)
    for (sources, _), labels in data.take(steps):
        np.testing.assert_array_equal(sources[:, 0], labels[:, 0])


def test_the_seed_decides():
    def order(seed):
        data, steps = training_dataset(corpus(), max_tokens=60, seed=seed)
        return first_tokens(data.take(steps))

    assert order(1) == order(1)
    assert order(1) != order(2)


def test_batches_keep_to_the_budget():
    lengths = np.array([3, 9, 30, 4, 4, 80, 5, 5, 5, 2])
    batches = plan_batches(lengths, lengths[::-1], 40, seed=(0,))
    longest = np.maximum(lengths, lengths[::-1])
    for batch in batches:
        positions = len(batch) * longest[batch].max()
        assert positions <= 40 or len(batch) == 1
    assert sorted(np.concatenate(batches).tolist()) == list(range(10))


@pytest.fixture(scope="module")
def phrasebook():
    pairs = generate("train", 12_000)
    text = [sentence for pair in pairs for sentence in pair]
    tokenizer = Tokenizer.train(text, 1000)
    return tokenize_pairs(pairs, tokenizer, tokenizer, 64, 9.0, CorpusReport())


@pytest.mark.parametrize("max_tokens", [1024, 4096])
def test_nine_positions_in_ten_are_real_tokens(phrasebook, max_tokens):
    data, steps = training_dataset(phrasebook, max_tokens, seed=1)
    real = positions = 0
    for (sources, _), labels in data.take(steps):
        for ids in (sources.numpy(), labels.numpy()):
            real += (ids != 0).sum()
            positions += ids.size
    assert real / positions >= 0.9


def test_long_and_lopsided_pairs_are_counted():
    tokenizer = Tokenizer.train(["a b c d e f g"] * 9, 275, "bpe")
    pairs = [
        ("a b c", "b c d"),
        ("a " * 30, "b " * 30),
        ("a", "b c d e f g"),
        ("\u200b", "a"),
    ]
    report = CorpusReport(read=4)
    kept = tokenize_pairs(pairs, tokenizer, tokenizer, 20, 3.0, report)
    assert len(kept.source) == report.kept == 1
    assert report.dropped == {
        "too long": 1,
        "length ratio": 1,
        "empty on a side": 1,
    }
    assert kept.target[0][-1] == 2


def test_fit_compiles_one_step_for_all_lengths(monkeypatch):
    data, steps = training_dataset(corpus(200), max_tokens=40, seed=0)
    shapes = {tuple(labels.shape) for _, labels in data.take(steps)}
    assert len(shapes) > 10
    model = Transformer(210, 1, 2, 8, 16)
    traces = []
    decode = Transformer.decode

    def counted(self, *arguments, **options):
        traces.append(1)
        return decode(self, *arguments, **options)

    monkeypatch.setattr(Transformer, "decode", counted)
    model.compile("sgd", TokenCrossEntropy(), jit_compile=False)
    model.fit(data, steps_per_epoch=steps, verbose=0, shuffle=False)
    # Keras runs the model once to see what it returns, then compiles.
    assert len(traces) <= 3
