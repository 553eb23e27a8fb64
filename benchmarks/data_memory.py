"""How much memory do preparing and training take on millions of pairs?

    python -m benchmarks.data_memory SOURCE TARGET

Copies of two aligned files, each line with the number of its copy at the end
so that none is a duplicate, make the corpus. `python -m training` prepares it
and trains a very small model on it; meanwhile the resident memory of it and
its helper processes is measured (pages that they share counted once). Prints
the largest value while preparing and in each epoch.
"""

import argparse
import contextlib
import json
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

import psutil
import yaml

from training.files import read_lines


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("source", metavar="SOURCE")
    parser.add_argument("target", metavar="TARGET")
    parser.add_argument("--pairs", type=int, default=5_000_000)
    parser.add_argument("--epochs", type=int, default=5)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        size = write_copies(
            options.source, options.target, options.pairs, Path(folder)
        )
        print(f"{options.pairs:,} pairs, {size / 1e6:,.0f} MB of text")
        for name, seconds, peak in measure(Path(folder), options.epochs):
            print(f"| {name} | {seconds:,.0f} s | {peak / 1e6:,.0f} MB |")


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


def measure(folder: Path, epochs: int) -> list[tuple[str, float, int]]:
    """Trains, and returns name, seconds and peak memory of each stage."""
    sides = {"source": "train.source", "target": "train.target"}
    head = {name: f"head.{name}" for name in sides}
    for name, file in sides.items():
        with open(folder / file, encoding="utf-8") as lines:
            text = "".join(next(lines).lower() for _ in range(100))
        (folder / head[name]).write_text(text, encoding="utf-8")
    recipe = {
        "name": "memory",
        "output": str(folder / "runs"),
        "data": {
            "folder": str(folder),
            "prepared": str(folder / "prepared"),
            "train": [sides],
            "valid": [head],
            "cleaning": {"overlap": False},
        },
        "tokenizer": {"vocabulary_size": 1000},
        "model": {
            "preset": None,
            "num_layers": 1,
            "num_heads": 1,
            "hidden_dim": 8,
            "intermediate_dim": 8,
        },
        "training": {
            "epochs": epochs,
            "max_tokens": 16384,
            "warmup_steps": 100,
        },
    }
    path = folder / "recipe.yaml"
    path.write_text(yaml.safe_dump(recipe), encoding="utf-8")
    process = subprocess.Popen([sys.executable, "-m", "training", str(path)])
    samples: list[tuple[float, int]] = []
    watcher = threading.Thread(target=watch, args=(process.pid, samples))
    start = time.time()
    watcher.start()
    status = process.wait()
    watcher.join()
    if status:
        raise SystemExit(status)
    log = folder / "runs" / "memory" / "metrics.jsonl"
    records = [json.loads(line) for line in log.read_text().splitlines()]
    end = time.time() - records[-1]["seconds"]
    stages = [("preparing", end)] + [
        (f"epoch {record['epoch']}", end + record["seconds"])
        for record in records
    ]
    return [
        (name, until - since, max(m for t, m in samples if since < t <= until))
        for (name, until), since in zip(
            stages, [start] + [until for _, until in stages], strict=False
        )
    ]


def watch(pid: int, samples: list[tuple[float, int]]) -> None:
    """Adds time and proportional set size of a process and its children."""
    with contextlib.suppress(psutil.Error):
        root = psutil.Process(pid)
        while root.is_running() and root.status() != psutil.STATUS_ZOMBIE:
            memory = 0
            for process in [root, *root.children(recursive=True)]:
                with contextlib.suppress(psutil.Error):
                    memory += process.memory_full_info().pss
            samples.append((time.time(), memory))
            time.sleep(0.5)


if __name__ == "__main__":
    main()
