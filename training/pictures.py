"""Lengths of a corpus, a training's curves and attention as pictures."""

from typing import Any

import numpy as np

from tfxformer.host import ScoredTranslation
from tfxformer.visualize import weights_figure
from training.config import Recipe


def draw_lengths(lengths: np.ndarray, recipe: Recipe, path: str) -> None:
    """Draws histograms of the lengths of both sides, and of both together.

    Args:
        lengths: int `(M, 2)`. Pieces of source and target.
        recipe: the `Recipe`, for its name and its limits.
        path: string. A PNG file.

    Raises:
        OSError: if the file cannot be written.
    """
    import matplotlib
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    # Enough to see what the limit cuts off, and no more than there is.
    longest = lengths.max(axis=1)
    usual = np.percentile(longest, 99)
    end = min(longest.max() + 1, max(1.5 * recipe.data.max_length, usual + 1))
    title = f"Lengths of the training text of {recipe.name}"
    if beyond := np.count_nonzero(longest > end):
        title += f" ({beyond:,} longer pairs are not in the picture)"
    with matplotlib.rc_context({"font.size": 11}):
        figure = Figure(figsize=(12, 5.2), layout="constrained")
        FigureCanvasAgg(figure)
        figure.suptitle(title)
        one, both = figure.subplots(1, 2)
        _draw_each(one, lengths, end, recipe.data.max_length)
        _draw_both(figure, both, lengths, end, recipe)
        figure.savefig(path, format="png", dpi=100)


def _draw_each(axes, lengths: np.ndarray, end: float, max_length: int) -> None:
    edges = _edges(end, 60)
    for side, (name, colour) in enumerate(
        (("source", "tab:blue"), ("target", "tab:orange"))
    ):
        axes.hist(
            lengths[:, side],
            edges,
            histtype="stepfilled",
            facecolor=(colour, 0.25),
            edgecolor=colour,
            linewidth=1.5,
            label=name,
        )
    if max_length <= end:
        axes.axvline(
            max_length,
            color="black",
            linestyle="--",
            label=f"max_length = {max_length}",
        )
    else:  # far from any pair
        axes.plot([], [], " ", label=f"max_length = {max_length}, beyond")
    axes.set(
        title="Each side",
        xlabel="pieces, with </s>",
        ylabel="sentences",
        yscale="log",
        xlim=(0, end),
    )
    axes.legend()


def _draw_both(figure, axes, lengths: np.ndarray, end, recipe: Recipe) -> None:
    from matplotlib.colors import LogNorm

    edges = _edges(end, 100)
    *_, image = axes.hist2d(
        *lengths.T, (edges, edges), norm=LogNorm(), cmap="viridis"
    )
    figure.colorbar(image, ax=axes, label="pairs")
    ratio = recipe.data.cleaning.max_ratio
    if ratio is not None:
        line = {"color": "tab:red", "linestyle": "--"}
        axes.plot([0, end], [0, ratio * end], **line)
        axes.plot(
            [0, ratio * end], [0, end], label=f"max_ratio = {ratio:g}", **line
        )
        axes.legend(loc="lower right")
    axes.set(
        title="Source against target",
        xlabel="source, pieces",
        ylabel="target, pieces",
        xlim=(0, end),
        ylim=(0, end),
    )


def _edges(end: float, most: int) -> np.ndarray:
    """Borders of bins that each hold as many whole numbers."""
    step = -(-int(np.ceil(end)) // most)
    return np.arange(0, end + step, step) + 0.5


def draw_attention(scored: ScoredTranslation) -> np.ndarray:
    """Draws which source pieces each target piece attends to.

    Args:
        scored: a `ScoredTranslation`.

    Returns:
        uint8 `(height, width, 4)`, red, green, blue and opacity.
    """
    from matplotlib.backends.backend_agg import FigureCanvasAgg

    figure = weights_figure(
        scored.attention, scored.pieces, [*scored.source_pieces, "</s>"]
    )
    canvas = FigureCanvasAgg(figure)
    canvas.draw()
    return np.asarray(canvas.buffer_rgba())


def draw_curves(runs: dict[str, list[dict[str, Any]]], path: str) -> None:
    """Draws what `metrics.jsonl` records, one panel for each quantity.

    Args:
        runs: dict of the records of each run by its name.
        path: string. A PNG, SVG or PDF file.

    Raises:
        OSError: if the file cannot be written.
    """
    import matplotlib
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    quantities = [
        name
        for name in ("loss", "accuracy", "perplexity", "bleu", "chrf")
        if any(f"val_{name}" in r for records in runs.values() for r in records)
    ]
    panels = [*quantities, "learning_rate"]
    rows = -(-len(panels) // 2)
    with matplotlib.rc_context({"font.size": 11}):
        figure = Figure(figsize=(12, 3.6 * rows), layout="constrained")
        FigureCanvasAgg(figure)
        flat = figure.subplots(rows, 2, squeeze=False).flatten()
        for axes in flat[len(panels) :]:
            axes.set_axis_off()
        for axes, quantity in zip(flat, panels, strict=False):
            for number, (name, records) in enumerate(runs.items()):
                _draw_curve(axes, quantity, name, records, f"C{number % 10}")
            axes.set(
                title=quantity.replace("_", " "), xlabel="update", xmargin=0.02
            )
            axes.grid(alpha=0.3)
            if axes.lines:
                axes.legend()
        figure.savefig(path, dpi=100)


def _draw_curve(axes, quantity, name, records, colour):
    for key, style, what in (
        (f"val_{quantity}", "-", " validation"),
        (quantity, ":", " training"),
    ):
        points = [(r["step"], r[key]) for r in records if key in r]
        if not points:
            continue
        if quantity == "learning_rate":
            style, what = "-", ""
        marker = "o" if len(points) < 30 else None
        axes.plot(
            *zip(*points, strict=True),
            style,
            color=colour,
            marker=marker,
            markersize=3,
            label=name + what,
        )
