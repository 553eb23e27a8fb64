"""SentencePiece: ids, round trips, and the same on the host and in graph."""

import sys
from importlib import metadata

import pytest
import tensorflow as tf

from tfxformer import InputError, Tokenizer
from training.phrasebook import generate

AWKWARD = [
    "You are welcome.",
    "¿De dónde eres?",
    "",
    " ",
    "Łódź",
    "emoji 🤖 and 👩\u200d👧",
    "鬱 𠮷 你好",
    "שלום עולם",
    "tab\tand  spaces\u00a0here",
    "１２３ ﬁne ①",
    "\ufe30 and \u2025",
    "e\u0301 = é",
]


@pytest.fixture(scope="module", params=["unigram", "bpe"])
def tokenizer(request):
    text = [sentence for pair in generate("train", 1000) for sentence in pair]
    return Tokenizer.train(text, 600, request.param)


def test_special_ids(tokenizer):
    assert tokenizer.vocabulary_size == 600
    assert tokenizer.pieces()[:4] == ["<pad>", "<s>", "</s>", "<unk>"]


def test_every_sentence_ends_with_its_end(tokenizer):
    ids = tokenizer.tokenize(["The dog.", "", "   "])
    assert [sentence[-1] for sentence in ids] == [2, 2, 2]
    assert ids[1] == ids[2] == [2]
    assert not any(i < 4 for i in ids[0][:-1])


@pytest.mark.parametrize(
    "text", ["Łódź", "emoji 🤖", "鬱 𠮷", "שלום עולם", "El niño comió."]
)
def test_no_character_is_lost(tokenizer, text):
    ids = tokenizer.tokenize([text])[0]
    assert 3 not in ids  # byte pieces instead of <unk>
    assert tokenizer.detokenize(ids) == text


def test_chinese_gets_no_spaces(tokenizer):
    text = "你好世界"
    assert tokenizer.detokenize(tokenizer.tokenize([text])[0]) == text


def test_the_rule_of_normalisation_is_in_the_model(tmp_path):
    text = ["Full １２３ and no-break\u00a0space"] * 20 + list("abcdefgh")
    changed = "１２３\u00a0a\ufe30"
    for rule, expected in (("nmt_nfkc", "123 a.."), ("identity", changed)):
        tokenizer = Tokenizer.train(text, 320, "bpe", rule)
        path = tmp_path / rule
        path.write_bytes(tokenizer.model_proto)
        again = Tokenizer.from_file(path)
        assert again.detokenize(again.tokenize([changed])[0]) == expected


def test_detokenize_stops_at_the_end_and_hides_special_tokens(tokenizer):
    ids = tokenizer.tokenize(["The dog"])[0]
    assert tokenizer.detokenize([1, *ids, 0, 0, *ids]) == "The dog"
    assert tokenizer.detokenize([]) == ""
    assert tokenizer.detokenize([0, 1, 3]) == ""


def test_half_a_character_is_named(tokenizer):
    with pytest.raises(InputError, match=r"no Unicode.*bad .udcff byte"):
        tokenizer.tokenize(["fine", "bad \udcff byte"])


def test_the_graph_gives_the_same_ids_and_text(tokenizer):
    in_graph = tokenizer.in_graph()
    assert in_graph.tokenize(AWKWARD).to_list() == tokenizer.tokenize(AWKWARD)
    pieces = [ids[:-1] for ids in tokenizer.tokenize(AWKWARD)]
    words = in_graph.detokenize(tf.ragged.constant(pieces, tf.int32)).numpy()
    assert [word.decode() for word in words] == [
        tokenizer.detokenize(ids) for ids in pieces
    ]


def test_a_vocabulary_that_the_text_cannot_fill():
    for model_type in ("unigram", "bpe"):
        with pytest.raises(InputError, match=r"vocabulary_size=5000") as error:
            Tokenizer.train(["a few words"] * 3, 5000, model_type)
        assert "\n" not in str(error.value)
        assert "tokenizer.vocabulary_size" in str(error.value)


def test_a_vocabulary_without_room_for_bytes():
    with pytest.raises(InputError, match=r"\(.+\)\. .*vocabulary_size=3"):
        Tokenizer.train(["a few words"] * 3, 3)


def test_a_file_that_is_no_tokenizer(tmp_path):
    path = tmp_path / "tokenizer.model"
    path.write_bytes(b"not a model")
    with pytest.raises(InputError, match=r"tokenizer\.model: not a Sent"):
        Tokenizer.from_file(path)


def test_a_tokenizer_with_other_special_ids(tmp_path):
    import sentencepiece

    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(["some words here"] * 9),
        model_prefix=str(tmp_path / "other"),
        vocab_size=12,
        hard_vocab_limit=False,
        minloglevel=2,
    )
    with pytest.raises(InputError, match=r"0, 1, 2 and 3\. Received: \(-1"):
        Tokenizer.from_file(tmp_path / "other.model")


def test_a_missing_tensorflow_text_is_named_with_both_versions(
    tokenizer, monkeypatch
):
    monkeypatch.setitem(sys.modules, "tensorflow_text", None)
    with pytest.raises(InputError) as error:
        tokenizer.in_graph()
    assert f"TensorFlow {tf.__version__}" in str(error.value)
    installed = metadata.version("tensorflow-text")
    assert f"found: tensorflow-text {installed}" in str(error.value)

    def no_version(package):
        raise metadata.PackageNotFoundError(package)

    monkeypatch.setattr(metadata, "version", no_version)
    with pytest.raises(InputError, match="found: no tensorflow-text"):
        tokenizer.in_graph()
