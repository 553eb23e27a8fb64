"""Words of pieces, and their alignment by attention."""

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from tfxformer.alignment import (
    hard_alignment,
    pharaoh,
    word_attention,
    word_spans,
)
from tfxformer.tokenizer import Tokenizer
from training.phrasebook import generate

ROOT = Path(__file__).resolve().parent.parent


@pytest.mark.parametrize(
    ("pieces", "spans"),
    [
        ("▁The ▁do g .", [(0, 1), (1, 4)]),
        ("The ▁do g", [(0, 1), (1, 3)]),  # the first piece starts a word
        ("T he ▁dog", [(0, 2), (2, 3)]),
        ("▁ Ł ó ▁a", [(0, 3), (3, 4)]),  # "▁" belongs to what follows
        ("▁a ▁ <0xE2> <0x82> ▁b", [(0, 1), (1, 4), (4, 5)]),
        ("▁ ▁ ▁a ▁▁ ▁b", [(0, 3), (3, 5)]),
        ("▁a ▁", [(0, 2)]),  # at the end, to what came before
        ("▁a ▁b c ▁ ▁▁", [(0, 1), (1, 5)]),
        ("▁ ▁▁", []),
        ("", []),
        ("▁你好 世 界", [(0, 3)]),
    ],
)
def test_words_of_pieces(pieces, spans):
    assert word_spans(pieces.split()) == spans


@pytest.mark.parametrize("model_type", ["unigram", "bpe"])
def test_the_words_are_those_of_the_text(model_type):
    corpus = [text for pair in generate("train", 200) for text in pair]
    tokenizer = Tokenizer.train(corpus, 500, model_type)
    vocabulary = tokenizer.pieces()
    for text in [*corpus[:20], "¿Łódź 🤖 x?", "鬱 , a", "  a  b ", "你好", " "]:
        ids = tokenizer.tokenize([text])[0][:-1]  # no </s>
        spans = word_spans([vocabulary[i] for i in ids])
        words = [tokenizer.detokenize(ids[start:end]) for start, end in spans]
        assert words == text.split()


SOURCE = ["▁a", "▁b", "c"]  # "a bc"
TARGET = ["▁x", "y", "▁z"]  # "xy z"
# What the first two rows lack went to `</s>`.
ATTENTION = np.array(
    [[0.5, 0.25, 0.125], [0.25, 0.25, 0.25], [0.125, 0.625, 0.25]], "float32"
)


def test_source_pieces_are_summed_and_target_pieces_averaged():
    words = word_attention(ATTENTION, SOURCE, TARGET)
    # Row "xy": a (0.5 + 0.25) / 2, bc (0.375 + 0.5) / 2.
    np.testing.assert_array_equal(words, [[0.375, 0.4375], [0.125, 0.875]])
    assert words.dtype == np.float32


def test_word_attention_is_not_symmetric():
    words = word_attention(ATTENTION[:2], SOURCE, ["▁x", "▁y"])
    np.testing.assert_array_equal(words, [[0.5, 0.375], [0.25, 0.5]])
    words = word_attention(ATTENTION[:, :2], ["▁a", "▁b"], ["▁x", "y", "z"])
    np.testing.assert_allclose(words, [[0.875 / 3, 1.125 / 3]], rtol=1e-6)


@pytest.mark.parametrize(
    ("source", "target", "shape"),
    [
        ([], TARGET, (2, 0)),
        (SOURCE, [], (0, 2)),
        ([], [], (0, 0)),
        (["▁"], TARGET, (2, 0)),
        (SOURCE, ["▁", "▁"], (0, 2)),
    ],
)
def test_no_words_have_no_attention(source, target, shape):
    attention = np.ones((len(target), len(source)), "float32")
    words = word_attention(attention, source, target)
    assert words.shape == shape
    assert hard_alignment(words) == []


@pytest.mark.parametrize("shape", [(3, 2), (2, 4), (6,), (1, 2, 3)])
def test_the_shape_must_fit_the_pieces(shape):
    with pytest.raises(ValueError) as error:
        word_attention(np.ones(shape), SOURCE, ["▁x", "▁y"])
    assert str(error.value).endswith(
        f"Received: attention.shape={shape}, "
        "len(source_pieces)=3, len(target_pieces)=2"
    )


def test_each_target_goes_to_its_largest_weight():
    attention = np.array(
        [
            [0.1, 0.2, 0.6],
            [0.4, 0.5, 0.1],
            [0.0, 0.0, 0.0],  # aligns with nothing
            [0.0, 0.3, 0.3],  # the first of two
            [0.0, 0.0, 0.01],
        ]
    )
    pairs = hard_alignment(attention)
    assert pairs == [(1, 1), (1, 3), (2, 0), (2, 4)]
    assert {type(number) for pair in pairs for number in pair} == {int}
    assert pharaoh(pairs) == "1-1 1-3 2-0 2-4"


def test_alignment_needs_a_matrix():
    with pytest.raises(ValueError, match=r"attention\.shape=\(3,\)$"):
        hard_alignment(np.ones(3))


def test_pharaoh_of_nothing_is_empty():
    assert pharaoh([]) == ""


def test_the_import_stays_light():
    code = "import tfxformer.alignment, sys; print(*sys.modules)"
    process = subprocess.run(
        [sys.executable, "-c", code],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=True,
    )
    loaded = {module.partition(".")[0] for module in process.stdout.split()}
    assert {"tfxformer", "numpy"} <= loaded
    assert not loaded & {"tensorflow", "keras"}
