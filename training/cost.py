"""The command `python -m training.cost RECIPE [key=value ...]`."""

import argparse
import sys
from collections.abc import Sequence
from typing import Any, NamedTuple

from tfxformer.errors import InputError, exit_on_input_error
from tfxformer.quiet import import_tensorflow
from training.build import learning_rate, model_arguments
from training.config import Recipe, add_recipe_arguments, read_recipe

# Attention Is All You Need, table 2 (what the authors estimate) and footnote 5
# (what an accelerator of theirs keeps up).
PAPER = {"base": 3.3e18, "big": 2.3e19}
P100 = 9.5e12


class Shape(NamedTuple):
    """What the cost of a batch depends on, beside the model.

    Attributes:
        source_tokens: float. Source tokens, without padding.
        target_tokens: float. Target tokens, without padding.
        source_length: float. Tokens of a source sentence, on average.
        target_length: float. Tokens of a target sentence, on average.
    """

    source_tokens: float
    target_tokens: float
    source_length: float
    target_length: float


def main(arguments: Sequence[str] | None = None) -> None:
    """Says what a training costs, without text and without training.

    Args:
        arguments: list of strings. The command line; None: that of this
            process.

    Raises:
        SystemExit: with status 2 and one line on standard error on bad input.
    """
    parser = argparse.ArgumentParser(
        prog="python -m training.cost",
        description="Compute parameters, schedule and floating-point "
        "operations of a recipe, and the time that these take. Needs no text; "
        "the recipe gives training.steps_per_epoch.",
    )
    add_recipe_arguments(parser, "training.epochs=3")
    parser.add_argument(
        "--length",
        type=float,
        default=25,
        metavar="N",
        help="pieces of a sentence, on average (25)",
    )
    parser.add_argument(
        "--flops-per-second",
        type=float,
        default=P100,
        metavar="X",
        help="what a device keeps up (9.5e12: a P100, after the paper)",
    )
    parser.add_argument(
        "--devices", type=int, default=1, metavar="N", help="how many (1)"
    )
    options = parser.parse_intermixed_args(arguments)
    with exit_on_input_error("cost"):
        recipe = read_recipe(options.recipe, options.assignments)
        _check(options)
        for line in describe(recipe, options):
            print(line)
        sys.stdout.flush()


def _check(options: argparse.Namespace) -> None:
    for name in ("length", "flops_per_second", "devices"):
        value = getattr(options, name)
        if not 0 < value < float("inf"):
            flag = name.replace("_", "-")
            raise InputError(f"--{flag} must be above 0. Received: {value}")


def describe(recipe: Recipe, options: argparse.Namespace) -> list[str]:
    """The lines that the command prints.

    Args:
        recipe: a `Recipe`.
        options: a namespace with `length` (pieces of a sentence),
            `flops_per_second` (of a device) and `devices`, all above 0.

    Returns:
        list of strings.

    Raises:
        InputError: if `training.steps_per_epoch` is not set, or where
            `model_arguments` or `learning_rate` raises one.
    """
    import_tensorflow()
    from tfxformer.model import Transformer

    settings = recipe.training
    if settings.steps_per_epoch is None:
        raise InputError(
            "training.steps_per_epoch is not set: without the text nobody "
            "knows how many updates an epoch has"
        )
    size = recipe.tokenizer.vocabulary_size  # as if the text gave it
    arguments = model_arguments(recipe, size, size)
    try:
        parameters = Transformer(**arguments).count_params()
    except ValueError as error:
        raise InputError(f"model: {error}") from None
    updates = settings.epochs * settings.steps_per_epoch
    tokens = float(settings.max_tokens * settings.accumulate)
    shape = Shape(tokens, tokens, options.length, options.length)
    each = training_flops(arguments, shape)
    total = updates * each
    schedule = learning_rate(
        recipe, arguments["hidden_dim"], settings.steps_per_epoch
    )
    peak = float(schedule(settings.warmup_steps - 1))
    last = float(schedule(updates - 1))
    hours = total / options.flops_per_second / options.devices / 3600
    lines = [
        f"parameters            {parameters:,}",
        f"updates               {updates:,}",
        f"tokens in an update   {tokens:,.0f} of each language, at most",
        f"learning rate         {peak:.3g} at update "
        f"{settings.warmup_steps:,}, {last:.3g} at the end",
        f"operations, update    {each:.3g}",
        f"operations in all     {total:.3g}",
        f"time                  {hours:,.1f} hours on {options.devices} "
        f"device(s) of {options.flops_per_second:.3g} per second each",
    ]
    preset = recipe.model.preset
    if preset in PAPER:
        lines.append(
            f"the paper, {preset:<10} {PAPER[preset]:.2g} operations in all, "
            f"estimated from time; this is {total / PAPER[preset]:.2f} of it"
        )
    return lines


def training_flops(arguments: dict[str, Any], shape: Shape) -> float:
    """Floating-point operations of one update, all of them useful.

    Only matrix products count, without padding: 2 for a multiplication and
    an addition, three times that for forward and backward pass.

    Args:
        arguments: dict of arguments of `Transformer`.
        shape: the `Shape` of the batches of the update.

    Returns:
        float.
    """
    width, inner = arguments["hidden_dim"], arguments["intermediate_dim"]
    heads = arguments["num_heads"] * _key_dim(arguments)
    matrices = 3 if arguments.get("activation") == "swiglu" else 2
    feed_forward = matrices * width * inner
    encoders, decoders = _depths(arguments)
    source = encoders * (
        4 * width * heads + feed_forward + 2 * shape.source_length * heads
    )
    source += decoders * 2 * width * heads  # keys and values of the decoder
    target = decoders * (
        6 * width * heads
        + feed_forward
        + shape.target_length * heads  # half of it is masked
        + 2 * shape.source_length * heads
    )
    target += width * arguments["vocabulary_size"]
    macs = shape.source_tokens * source + shape.target_tokens * target
    return 3 * 2 * macs


def _key_dim(arguments: dict[str, Any]) -> int:
    default = arguments["hidden_dim"] // arguments["num_heads"]
    return arguments.get("key_dim") or default


def _depths(arguments: dict[str, Any]) -> tuple[int, int]:
    encoders = arguments["num_layers"]
    return encoders, arguments.get("num_decoder_layers") or encoders


if __name__ == "__main__":
    main()
