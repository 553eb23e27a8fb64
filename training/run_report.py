"""What a training was, for people: `report.md` and a picture of its curves."""

from pathlib import Path
from typing import Any

import yaml

from training.checkpoint import TrainingState
from training.config import Recipe
from training.cost import Shape, training_flops
from training.pictures import draw_curves
from training.prepare import Prepared
from training.progress import duration

REPORT = "report.md"
CURVES = "curves.png"


def write_report(
    folder: Path,
    recipe: Recipe,
    arguments: dict[str, Any],
    state: TrainingState,
    prepared: Prepared,
) -> None:
    """Writes the report and the picture into the run folder.

    Args:
        folder: path of the run folder.
        recipe: the `Recipe`.
        arguments: dict of arguments of `Transformer`.
        state: the `TrainingState` at the end.
        prepared: `Prepared`.

    Raises:
        OSError: if a file cannot be written.
    """
    draw_curves({recipe.name: state.records}, str(folder / CURVES))
    text = "\n".join(report_lines(recipe, arguments, state, prepared))
    (folder / REPORT).write_text(text + "\n", encoding="utf-8")


def report_lines(
    recipe: Recipe,
    arguments: dict[str, Any],
    state: TrainingState,
    prepared: Prepared,
) -> list[str]:
    """The lines of the report, in Markdown.

    Args:
        recipe: the `Recipe`.
        arguments: dict of arguments of `Transformer`.
        state: the `TrainingState` at the end.
        prepared: `Prepared`.

    Returns:
        list of strings, to be joined with line feeds.
    """
    sources, targets = (
        sum(int(index[:, side].sum()) for index in prepared.train.indices)
        for side in (0, 1)
    )
    pairs = prepared.train.num_pairs
    # How many source tokens went with the targets seen is not counted.
    shape = Shape(
        state.tokens * sources / targets,
        state.tokens,
        sources / pairs,
        targets / pairs,
    )
    settings = {
        "model": {**arguments},
        "tokenizer": state.settings["tokenizer"],
        "training": state.settings["training"],
        "seed": state.settings["seed"],
    }
    flops = training_flops(arguments, shape)
    measured = ", ".join(
        f"{name} {value:.4g}" for name, value in state.best_measured.items()
    )
    stopped = state.has_stopped(recipe.training.patience)
    return [
        f"# {recipe.name}",
        "",
        f"Best: {state.best_from}. Validation: {measured}.",
        "",
        f"![curves]({CURVES})",
        "",
        "## Cost",
        "",
        "| what | |",
        "| --- | ---: |",
        f"| epochs | {len(state.records)}{' (stopped early)' * stopped} |",
        f"| updates | {state.step:,} |",
        f"| target tokens | {state.tokens:,} |",
        f"| time | {duration(state.seconds)} |",
        f"| processor time | {duration(state.cpu_seconds)} |",
        f"| floating-point operations | {flops:.3g} |",
        "",
        "## Text",
        "",
        *(f"- {report}" for report in prepared.reports.values()),
        "",
        "## Settings",
        "",
        "```yaml",
        yaml.safe_dump(settings, sort_keys=False).rstrip(),
        "```",
    ]
