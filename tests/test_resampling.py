"""Words split anew: the same text, and the same pieces in every process."""

import collections
import hashlib

import numpy as np
import pytest
import sentencepiece
from conftest import command

from tfxformer import Tokenizer
from training.phrasebook import generate
from training.resampling import Resampling, WordSampler


@pytest.fixture(scope="module")
def text():
    return [sentence for pair in generate("train", 1500) for sentence in pair]


@pytest.fixture(scope="module", params=["bpe", "unigram"])
def tokenizer(request, text):
    return Tokenizer.train(text, 800, request.param)


def flat(rows):
    lengths = np.array([len(row) for row in rows])
    return np.concatenate([np.array(row, int) for row in rows]), lengths


def sample(tokenizer, rows, alpha, seed=1, max_length=999):
    sampler = WordSampler(tokenizer, alpha)
    ids, lengths = sampler(*flat(rows), np.random.default_rng(seed), max_length)
    return [row.tolist() for row in np.split(ids, np.cumsum(lengths)[:-1])]


def test_without_randomness_it_is_the_tokenizers_own_split(tokenizer, text):
    rows = tokenizer.tokenize(text)
    if tokenizer.is_bpe():
        assert sample(tokenizer, rows, 0.0) == rows
        return
    # All weight on the best path; some words have two of nearly the same.
    new = sample(tokenizer, rows, 500.0)
    other = sum(a != b for a, b in zip(rows, new, strict=True))
    assert other < 0.01 * len(rows)


def test_the_text_stays_and_the_pieces_change(tokenizer, text):
    awkward = ["", "Ł 東京 𝄞 \U0001f600", "x" * 200, "a\u00a0b", "3.14 €"]
    rows = tokenizer.tokenize([*awkward, *text])
    new = sample(tokenizer, rows, 0.2)
    for row, new_row in zip(rows, new, strict=True):
        assert tokenizer.detokenize(new_row) == tokenizer.detokenize(row)
        assert new_row[-1] == 2
    changed = [a != b for a, b in zip(rows, new, strict=True)]
    assert sum(changed) > 0.5 * len(text)
    assert sample(tokenizer, rows, 0.2) == new
    assert sample(tokenizer, rows, 0.2, seed=2) != new


PROGRAM = """
import sys, hashlib, numpy as np
from tfxformer import Tokenizer
from training.resampling import WordSampler
tokenizer = Tokenizer.from_file(sys.argv[1])
rows = tokenizer.tokenize(["The animal did not cross the street."] * 50)
lengths = np.array([len(row) for row in rows])
new, _ = WordSampler(tokenizer, 0.2)(
    np.concatenate(rows), lengths, np.random.default_rng(7), 99
)
print(hashlib.sha256(new.tobytes()).hexdigest())
"""


def test_another_process_draws_the_same(tokenizer, tmp_path):
    path = tmp_path / "tokenizer.model"
    path.write_bytes(tokenizer.model_proto)
    process = command("-c", PROGRAM, path)
    assert process.returncode == 0, process.stderr.decode()
    rows = tokenizer.tokenize(["The animal did not cross the street."] * 50)
    new, _ = WordSampler(tokenizer, 0.2)(
        *flat(rows), np.random.default_rng(7), 99
    )
    digest = hashlib.sha256(new.tobytes()).hexdigest()
    assert process.stdout.decode().strip() == digest


def test_unigram_samples_as_sentencepiece_does(text, monkeypatch):
    """The distribution of the splits of a word, 4,000 draws of each."""
    monkeypatch.setattr("training.resampling.DRAWS", 100_000)
    monkeypatch.setattr("training.resampling.MOST_GROWTH", 100)
    tokenizer = Tokenizer.train(text, 800, "unigram")
    processor = sentencepiece.SentencePieceProcessor(
        model_proto=tokenizer.model_proto
    )
    word = "conductores"
    (row,) = tokenizer.tokenize([word])
    ours = collections.Counter(map(tuple, sample(tokenizer, [row] * 4000, 0.1)))
    theirs = collections.Counter(
        tuple(
            processor.EncodeAsIds(
                word,
                add_eos=True,
                enable_sampling=True,
                alpha=0.1,
                nbest_size=-1,
            )
        )
        for _ in range(4000)
    )
    assert len(theirs) > 5
    distance = sum(abs(ours[k] - theirs[k]) for k in {*ours, *theirs}) / 8000
    assert distance < 0.08


@pytest.mark.parametrize(("alpha", "low", "high"), [(0.1, 1.03, 1.3)])
def test_bpe_dropout_makes_more_pieces(text, alpha, low, high, monkeypatch):
    monkeypatch.setattr("training.resampling.MOST_GROWTH", 100)
    tokenizer = Tokenizer.train(text, 800, "bpe")
    rows = tokenizer.tokenize(text)
    sizes = [
        sum(map(len, sample(tokenizer, rows, share))) / sum(map(len, rows))
        for share in (alpha, 0.4, 0.999)
    ]
    assert low < sizes[0] < high < sizes[1] < sizes[2]
    # Of nearly all merges left out, characters remain.
    assert sizes[2] == pytest.approx(
        sum(len(line) + 2 for line in text) / sum(map(len, rows)), rel=0.02
    )


def test_sentences_that_grow_far_more_than_others_get_words_back(text):
    tokenizer = Tokenizer.train(text, 800, "bpe")
    rows = [row for row in tokenizer.tokenize(text) if len(row) == 16]
    assert len(rows) > 50
    new = sample(tokenizer, rows, 0.3)
    lengths = np.array(list(map(len, new)))
    assert lengths.max() == 20  # a quarter more
    assert np.mean(lengths >= 18) > 0.8  # no more words than had to
    assert np.mean(lengths > 16) > 0.95
    for row, new_row in zip(rows, new, strict=True):
        assert tokenizer.detokenize(new_row) == tokenizer.detokenize(row)
    assert max(map(len, sample(tokenizer, rows, 0.3, max_length=18))) == 18


def test_both_sides_of_a_batch(tokenizer, text):
    resampling = Resampling((tokenizer, tokenizer), 0.2, 30)
    rows = tokenizer.tokenize(text[:64])
    sides = [*flat(rows[:32]), *flat(rows[32:])]
    seed = np.array([1, 2])
    ids, lengths, target_ids, target_lengths = resampling(seed, *sides)
    again = resampling(seed, *sides)
    for one, other in zip(
        (ids, lengths, target_ids, target_lengths), again, strict=True
    ):
        np.testing.assert_array_equal(one, other)
    assert len(ids) == lengths.sum() and len(lengths) == 32
    assert len(target_ids) == target_lengths.sum()
    other = resampling(np.array([1, 3]), *sides)
    assert not np.array_equal(other[0], ids)
