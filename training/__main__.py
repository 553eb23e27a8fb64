"""The command `python -m training RECIPE [key=value ...]`."""

import argparse

from tfxformer.errors import exit_on_input_error
from training.config import add_recipe_arguments, read_recipe


def main(arguments: list[str] | None = None) -> None:
    """Trains the model of a recipe.

    Args:
        arguments: list of strings. The command line; None: that of this
            process.

    Raises:
        SystemExit: with status 2 and one line on standard error on bad
            input; with 130 on Ctrl-C, and 143 on SIGTERM while updates are
            made. `--resume` goes on after both.
    """
    parser = argparse.ArgumentParser(
        prog="python -m training",
        description="Train a translation model on parallel text.",
        epilog="Example: python -m training training/recipes/"
        "phrasebook-en-es.yaml training.epochs=3 name=short",
    )
    add_recipe_arguments(parser, "training.epochs=3")
    parser.add_argument(
        "--resume",
        action="store_true",
        help="go on from the last checkpoint of the run of this name, if there "
        "is one",
    )
    options = parser.parse_intermixed_args(arguments)
    with exit_on_input_error("training"):
        recipe = read_recipe(options.recipe, options.assignments)
        from training.progress import say
        from training.train import train

        say(f"Recipe {options.recipe}: {recipe.name}")
        train(recipe, options.resume)


if __name__ == "__main__":
    main()
