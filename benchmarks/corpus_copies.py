"""A large corpus out of a small one, for measuring."""

import argparse
from pathlib import Path

import yaml

from training.files import read_lines


def copies_parser(doc: str | None, pairs: int) -> argparse.ArgumentParser:
    """A parser that takes SOURCE, TARGET and --pairs."""
    assert doc is not None
    parser = argparse.ArgumentParser(description=doc.split("\n")[0])
    parser.add_argument("source", metavar="SOURCE")
    parser.add_argument("target", metavar="TARGET")
    parser.add_argument("--pairs", type=int, default=pairs)
    return parser


def write_copies(source: str, target: str, pairs: int, folder: Path) -> int:
    """Writes copies of two files to `train.source` and `train.target`.

    Returns the number of bytes.
    """
    total = 0
    for path, name in ((source, "train.source"), (target, "train.target")):
        lines = list(read_lines(path))
        with open(folder / name, "w", encoding="utf-8") as file:
            for copy in range(-(-pairs // len(lines))):
                left = pairs - copy * len(lines)
                text = "".join(f"{line} {copy}\n" for line in lines[:left])
                total += file.write(text)
    return total


def write_recipe(folder: Path, **sections: dict) -> Path:
    """Writes a recipe for the copies, prepared below the same folder.

    Returns its path.
    """
    content = {
        "name": "copies",
        "data": {
            "folder": str(folder),
            "prepared": str(folder / "prepared"),
            "train": [{"source": "train.source", "target": "train.target"}],
            "valid": [{"phrasebook": "valid"}],
            "languages": ["en", "de"],
        },
        **sections,
    }
    path = folder / "recipe.yaml"
    path.write_text(yaml.safe_dump(content), encoding="utf-8")
    return path
