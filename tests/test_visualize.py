"""Attention as arrays, pictures and a page."""

import json
import logging
import re
import warnings

import numpy as np
import pytest
from conftest import call

import tfxformer
from tfxformer.attentions import Attentions
from tfxformer.fonts import font_families
from tfxformer.visualize import weights_figure

SOURCE = ["▁The", "▁an", "imal", "▁東", "京", ".", "</s>"]
TARGET = ["▁El", "▁", "<0xC5>", "<0x81>", "</s>"]
LAYERS, HEADS = 2, 3


def rows_of_ones(*shape, causal=False, seed=0):
    weights = np.random.default_rng(seed).random((LAYERS, HEADS, *shape))
    if causal:
        weights = np.tril(weights)
    return (weights / weights.sum(-1, keepdims=True)).astype("float32")


@pytest.fixture
def attentions():
    s, t = len(SOURCE), len(TARGET)
    return Attentions(
        SOURCE,
        TARGET,
        rows_of_ones(s, s),
        rows_of_ones(t, t, causal=True),
        rows_of_ones(t, s),
    )


def test_words_are_sums_of_columns_and_means_of_rows(attentions):
    words, queries, keys = attentions.weights("cross", words=True)
    assert queries == ["El", "Ł", "</s>"]
    assert keys == ["The", "animal", "東京.", "</s>"]
    assert words.shape == (LAYERS, HEADS, 3, 4)
    row = attentions.cross[1, 2, 1:4].mean(axis=0)
    expected = [row[0], row[1:3].sum(), row[3:6].sum(), row[6]]
    np.testing.assert_allclose(words[1, 2, 1], expected, rtol=1e-5)
    words, queries, keys = attentions.weights("decoder", words=True)
    assert queries == ["El", "Ł", "</s>"] and keys == ["<s>", "El", "Ł"]
    assert (words[..., 0, 1:] == 0).all()  # nothing is read before it is there


@pytest.mark.parametrize("words", [False, True])
@pytest.mark.parametrize("kind", ["encoder", "decoder", "cross"])
def test_rows_sum_to_one(attentions, kind, words):
    weights, queries, keys = attentions.weights(kind, words)
    assert weights.shape == (LAYERS, HEADS, len(queries), len(keys))
    assert weights.dtype == np.float32
    np.testing.assert_allclose(weights.sum(-1), 1, rtol=1e-5)


def test_a_figure_shows_the_weights_that_were_chosen(attentions):
    figure = tfxformer.attention_figure(attentions, "cross", [2], [3, 1])
    panels = [axes for axes in figure.axes if axes.images]
    assert [axes.get_title() for axes in panels] == [
        "layer 2, head 3",
        "layer 2, head 1",
    ]
    for axes, head in zip(panels, (2, 0), strict=True):
        (image,) = axes.images
        np.testing.assert_array_equal(
            image.get_array(), attentions.cross[1, head]
        )
    labels = [label.get_text() for label in panels[0].get_yticklabels()]
    assert labels == TARGET
    assert [t.get_text() for t in panels[1].get_xticklabels()] == SOURCE
    everything = tfxformer.attention_figure(attentions, "encoder")
    assert sum(bool(axes.images) for axes in everything.axes) == LAYERS * HEADS


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("crossed",), "encoder, decoder, cross"),
        (("cross", [3]), "layers are numbered from 1 to 2. Received: 3"),
        (("cross", None, [0]), "heads are numbered from 1 to 3. Received: 0"),
    ],
)
def test_what_there_is_not(attentions, arguments, words):
    with pytest.raises(tfxformer.InputError, match=re.escape(words)):
        tfxformer.attention_figure(attentions, *arguments)


def test_one_matrix():
    weights = np.array([[0.25, 0.75]])
    figure = weights_figure(weights, ["a"], ["b", "</s>"], "one")
    (image,) = figure.axes[0].images
    np.testing.assert_array_equal(image.get_array(), weights)
    assert figure.get_suptitle() == "one"


def test_a_page_holds_everything_and_needs_nothing():
    evil = ["</script><script>alert(1)</script>", "</s>"]
    weights = rows_of_ones(2, 2)
    page = tfxformer.attention_page(Attentions(evil, evil, *[weights] * 3))
    assert page.count("</script>") == 2  # those of the template
    assert "alert(1)</script>" not in page
    assert not re.search(r"(src|href)=", page)
    addresses = set(re.findall(r"https?://[^\"' ]+", page))
    assert addresses == {"http://www.w3.org/2000/svg"}
    data = json.loads(
        re.search(r'id="data">(.*)</script>', page)[1]  # a line of its own
    )
    assert set(data["views"]) == {
        f"{kind} {unit}"
        for kind in ("encoder", "decoder", "cross")
        for unit in ("words", "pieces")
    }
    view = data["views"]["cross pieces"]
    assert view["keys"] == evil
    np.testing.assert_allclose(view["weights"], weights, atol=1e-4)


def test_fonts_are_looked_for_and_named_when_missing(caplog, monkeypatch):
    from matplotlib import font_manager, get_data_path

    # Those that come with matplotlib, its last resort among them.
    ours = [
        entry
        for entry in font_manager.fontManager.ttflist
        if entry.fname.startswith(get_data_path())
    ]
    monkeypatch.setattr(font_manager.fontManager, "ttflist", ours)
    monkeypatch.setattr(font_manager, "findSystemFonts", lambda: [])
    with caplog.at_level(logging.WARNING, "tfxformer"):
        assert font_families(["Ein Mädchen", "مرحبا", "▁"]) == ["DejaVu Sans"]
        assert not caplog.messages
        families = font_families(["\U0001e900 here"])  # Adlam
        assert families == ["DejaVu Sans"]
        assert len(caplog.messages) == 1
        # In STIX, and not in DejaVu Sans.
        font_families(["\u72ac"])
        assert font_families(["\u24b6"]) == ["DejaVu Sans", "STIXGeneral"]
    adlam, kanji = caplog.messages
    assert "\U0001e900" in adlam and "fonts-noto-core" in adlam
    assert "\u72ac" in kanji and "fonts-noto-cjk" in kanji


def test_japanese_is_drawn_where_there_is_a_font(attentions, tmp_path):
    if len(font_families(["東京"])) == 1:
        pytest.skip("no font of this machine has kanji")
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # "Glyph ... missing from font"
        figure = tfxformer.attention_figure(attentions, "encoder")
        figure.savefig(tmp_path / "a.png")


def test_position_figure():
    figure = tfxformer.position_figure(30, 16)
    (image,) = figure.axes[0].images
    encodings = image.get_array()
    assert encodings.shape == (30, 16)
    np.testing.assert_allclose(encodings[3, 0], np.sin(3), rtol=1e-5)
    distances, products = figure.axes[1].lines[0].get_data()
    assert list(distances) == list(range(-15, 15))
    np.testing.assert_allclose(products[15], 8, rtol=1e-5)
    np.testing.assert_allclose(products[10], products[20], rtol=1e-4)


def test_schedule_figure():
    figure = tfxformer.schedule_figure({"half": lambda step: step / 2}, 10)
    steps, rates = figure.axes[0].lines[0].get_data()
    assert list(steps) == list(range(11))
    assert list(rates) == [step / 2 for step in steps]


def test_attention_of_a_run(run_folder):
    translator = tfxformer.load_translator(run_folder)
    line = "The animal did not cross the street."
    attentions = translator.attentions(line)
    ((found,),) = translator.search([line])
    (scored,) = translator.score_token_ids([line], [found.token_ids])
    assert attentions.source == [*scored.source_pieces, "</s>"]
    assert attentions.target == scored.pieces
    layers = attentions.cross.shape[0]
    np.testing.assert_allclose(
        attentions.cross[max(layers - 2, 0)].mean(axis=0),
        scored.attention,
        atol=1e-5,
    )
    for kind in ("encoder", "decoder", "cross"):
        weights, _, _ = attentions.weights(kind)
        np.testing.assert_allclose(weights.sum(-1), 1, atol=1e-5)
    future = np.triu_indices(len(attentions.target), 1)
    assert (attentions.decoder[..., future[0], future[1]] == 0).all()
    given = translator.attentions(line, "El animal.")
    assert "".join(given.target) == "▁El▁animal.</s>"
    for arguments in [(" ",), (line, "")]:
        with pytest.raises(tfxformer.InputError, match="is empty"):
            translator.attentions(*arguments)


def test_the_command_draws(run_folder, tmp_path):
    sentence = "The animal did not cross the street."
    for name, start in (
        ("a.png", b"\x89PNG"),
        ("a.svg", b"<?xml"),
        ("a.html", b"<!doctype html>"),
    ):
        out = tmp_path / name
        process = attention(run_folder, sentence, "--out", out, "--words")
        assert process.returncode == 0, process.stderr.decode()
        assert process.stderr == process.stdout == b""
        assert out.read_bytes().startswith(start)


@pytest.mark.parametrize(
    ("model", "sentence", "out", "words"),
    [
        ("run", "The animal", "a.bmp", ".png, .svg, .pdf, .html"),
        ("run", "The animal", "missing/a.png", "no such folder"),
        ("run", " ", "a.png", "sentence is empty"),
        ("export", "The animal", "a.png", "keeps no attention"),
    ],
)
def test_the_command_refuses(
    run_folder, export_folder, tmp_path, model, sentence, out, words
):
    folder = run_folder if model == "run" else export_folder / "toy.tflite"
    process = attention(folder, sentence, "--out", tmp_path / out)
    assert process.returncode == 2
    (line,) = process.stderr.decode().splitlines()
    assert words in line
    assert not list(tmp_path.iterdir())


def attention(*arguments):
    return call("tfxformer.cli", "attention", *arguments)
