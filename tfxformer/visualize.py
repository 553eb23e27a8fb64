"""Attention, position encodings and learning rates as pictures.

Figures are matplotlib's; layers and heads are counted from 1. What a picture
shows is there as arrays too: `Attentions.weights`.
"""

import json
from collections.abc import Callable, Sequence
from importlib import resources
from typing import TYPE_CHECKING, Any

import numpy as np

from tfxformer.attentions import KINDS, Attentions
from tfxformer.errors import InputError
from tfxformer.fonts import font_families

if TYPE_CHECKING:
    from matplotlib.figure import Figure

TITLES = {
    "encoder": "Encoder: source attends to source",
    "decoder": "Decoder: translation attends to what is written of it",
    "cross": "Decoder: translation attends to source",
}
INCHES_PER_PIECE = 0.17


def attention_figure(
    attentions: Attentions,
    kind: str = "cross",
    layers: Sequence[int] | None = None,
    heads: Sequence[int] | None = None,
    words: bool = False,
) -> "Figure":
    """Draws attention as heat maps, a row for each layer, a column a head.

    Args:
        attentions: `Attentions`.
        kind: "encoder", "decoder" or "cross".
        layers: sequence of ints, counted from 1; by default all.
        heads: sequence of ints, counted from 1; by default all.
        words: bool. Words instead of pieces.

    Returns:
        A matplotlib `Figure`.

    Raises:
        InputError: if there is no such kind, layer or head.
    """
    weights, queries, keys = attentions.weights(kind, words)
    rows = _chosen("layer", layers, weights.shape[0])
    columns = _chosen("head", heads, weights.shape[1])
    titles = [
        [f"layer {layer + 1}, head {head + 1}" for head in columns]
        for layer in rows
    ]
    weights = weights[np.ix_(rows, columns)]
    return _heat_maps(weights, queries, keys, TITLES[kind], titles)


def weights_figure(
    weights: np.ndarray, queries: list[str], keys: list[str], title: str = ""
) -> "Figure":
    """Draws one matrix of attention weights as a heat map.

    Args:
        weights: float `(Q, K)`.
        queries: list of Q strings, what attends.
        keys: list of K strings, what is attended to.
        title: string.

    Returns:
        A matplotlib `Figure`.
    """
    return _heat_maps(weights[np.newaxis, np.newaxis], queries, keys, title)


def _heat_maps(
    weights: np.ndarray,
    queries: list[str],
    keys: list[str],
    title: str,
    titles: list[list[str]] | None = None,
) -> "Figure":
    """Draws weights `(rows, columns, Q, K)`, each with its own title."""
    rows, columns, *_ = weights.shape
    width, height = (
        max(1.2, INCHES_PER_PIECE * len(some)) for some in (keys, queries)
    )
    families = font_families([title, *queries, *keys])
    figure = _figure(width * columns + 2.5, height * rows + 2)
    figure.suptitle(title, fontfamily=families)
    axes = figure.subplots(
        rows, columns, sharex=True, sharey=True, squeeze=False
    )
    for row in range(rows):
        for column in range(columns):
            panel = axes[row, column]
            image = panel.imshow(
                weights[row, column], cmap="viridis", vmin=0, vmax=1
            )
            if titles is not None:
                panel.set_title(titles[row][column], fontsize=9)
    text = {"fontfamily": families, "fontsize": 8}
    for panel in axes[-1]:
        panel.set_xticks(range(len(keys)), keys, rotation=90, **text)
    for panel in axes[:, 0]:
        panel.set_yticks(range(len(queries)), queries, **text)
    figure.colorbar(image, ax=axes, label="weight", shrink=0.8)
    return figure


def _chosen(name: str, numbers: Sequence[int] | None, count: int) -> list[int]:
    """Indices from 0, of numbers that count from 1."""
    if numbers is None:
        return list(range(count))
    for number in numbers:
        if not 1 <= number <= count:
            raise InputError(
                f"{name}s are numbered from 1 to {count}. Received: {number}"
            )
    return [number - 1 for number in numbers]


def attention_page(attentions: Attentions) -> str:
    """An interactive page: hover a word to see what it attends to.

    Args:
        attentions: `Attentions`.

    Returns:
        string, an HTML document that needs nothing else, no network either.
    """
    views = {}
    for kind in KINDS:
        for unit in ("words", "pieces"):
            weights, queries, keys = attentions.weights(kind, unit == "words")
            views[f"{kind} {unit}"] = {
                "weights": np.round(weights, 4).tolist(),
                "queries": queries,
                "keys": keys,
            }
    data = json.dumps({"titles": TITLES, "views": views}, ensure_ascii=False)
    template = (
        resources.files("tfxformer")
        .joinpath("attention.html")
        .read_text(encoding="utf-8")
    )
    # Text of the sentence must not end the script it stands in.
    return template.replace("{{ data }}", data.replace("<", "\\u003c"))


def position_figure(length: int = 100, hidden_dim: int = 128) -> "Figure":
    """Draws sinusoidal position encodings and their inner products.

    Args:
        length: int. Positions.
        hidden_dim: int, D.

    Returns:
        A matplotlib `Figure`: on the left the encodings, `(length, D)`, on
        the right the inner product of two over the distance between them,
        which is the same wherever they stand.

    Reference:
        Attention Is All You Need, section 3.5.
    """
    from tfxformer.position import sinusoidal_encoding

    encodings = np.array(sinusoidal_encoding(np.arange(length), hidden_dim))
    figure = _figure(11, 4.2)
    figure.suptitle(f"Sinusoidal position encodings, D = {hidden_dim}")
    left, right = figure.subplots(1, 2)
    image = left.imshow(encodings, cmap="RdBu", vmin=-1, vmax=1, aspect="auto")
    left.set(xlabel="dimension", ylabel="position")
    figure.colorbar(image, ax=left)
    products = encodings @ encodings[length // 2]
    right.plot(np.arange(length) - length // 2, products)
    right.set(xlabel="distance between two positions", ylabel="inner product")
    right.grid(alpha=0.3)
    return figure


def schedule_figure(
    schedules: dict[str, Callable[[Any], Any]], steps: int
) -> "Figure":
    """Draws learning rates over the steps of a training.

    Args:
        schedules: dict of callables by their names: float rate by the int
            number of updates made so far, such as `WarmupSchedule`.
        steps: int.

    Returns:
        A matplotlib `Figure`.

    Reference:
        Attention Is All You Need, section 5.3.
    """
    figure = _figure(7, 4)
    figure.suptitle("Learning rate")
    axes = figure.subplots()
    points = np.unique(np.linspace(0, steps, 500).astype(int))
    for name, schedule in schedules.items():
        axes.plot(points, [float(schedule(n)) for n in points], label=name)
    axes.set(xlabel="updates so far", ylabel="rate", ylim=(0, None))
    axes.grid(alpha=0.3)
    axes.legend()
    return figure


def _figure(width: float, height: float) -> "Figure":
    """An empty figure, without a window and outside of pyplot's list."""
    from matplotlib.figure import Figure

    return Figure(figsize=(width, height), layout="constrained")
