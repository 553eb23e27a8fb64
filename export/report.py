"""What each format gives on the same sentences: size, BLEU, speed."""

import json
import time
from collections.abc import Callable
from pathlib import Path

import sacrebleu

from tfxformer.tokenizer import Tokenizer

EXAMPLES = 5


def measure(
    translate: Callable[[list[str]], list[str]],
    pairs: list[tuple[str, str]],
    size: int,
    tokenizer: Tokenizer,
) -> dict:
    """Translates the source sentences, after a few of them to warm up.

    Args:
        translate: callable from a list of strings to a list of strings.
        pairs: list of tuples (source sentence, reference).
        size: int. Size of the model in bytes.
        tokenizer: the target language's `Tokenizer`, to count tokens.

    Returns:
        dict: "bytes", "bleu" (0 to 100), "sentences_per_second",
        "tokens_per_second" (target tokens, `</s>` included) and
        "translations".
    """
    sources = [source for source, _ in pairs]
    translate(sources[:EXAMPLES])
    start = time.perf_counter()
    translations = translate(sources)
    seconds = time.perf_counter() - start
    references = [reference for _, reference in pairs]
    return {
        "bytes": size,
        "bleu": sacrebleu.corpus_bleu(translations, [references]).score,
        "sentences_per_second": len(sources) / seconds,
        "tokens_per_second": sum(map(len, tokenizer.tokenize(translations)))
        / seconds,
        "translations": translations,
    }


def write_report(
    folder: Path, name: str, pairs: list[tuple[str, str]], results: dict
) -> str:
    """Writes `report.json` and `report.md`.

    Args:
        folder: path. The export folder.
        name: string. Name of the model.
        pairs: list of tuples (source sentence, reference).
        results: dict from format to what `measure` returned; the first one
            is what the others are compared with.

    Returns:
        The content of `report.md`.

    Raises:
        OSError: if a file cannot be written.
    """
    first, *_ = results.values()
    lines = [
        f"# {name}: the same {len(pairs)} validation sentences in each format",
        "",
        "| format | size (MB) | BLEU | same as the run | sentences/s "
        "| tokens/s |",
        "| --- | ---: | ---: | ---: | ---: | ---: |",
    ]
    for label, result in results.items():
        result["same_as_run"] = sum(
            ours == theirs
            for ours, theirs in zip(
                result["translations"], first["translations"], strict=True
            )
        )
        lines.append(
            f"| {label} | {result['bytes'] / 1e6:.1f} | {result['bleu']:.1f} "
            f"| {result['same_as_run']} of {len(pairs)} "
            f"| {result['sentences_per_second']:.0f} "
            f"| {result['tokens_per_second']:,.0f} |"
        )
    lines.append("")
    for row, (source, _) in enumerate(pairs[:EXAMPLES]):
        lines.append(f"- {source}")
        by_text: dict[str, list[str]] = {}
        for label, result in results.items():
            text = result["translations"][row]
            by_text.setdefault(text, []).append(label)
        lines += [
            f"    - {text} ({', '.join(labels)})"
            for text, labels in by_text.items()
        ]
    text = "\n".join(lines) + "\n"
    (folder / "report.md").write_text(text, encoding="utf-8")
    summary = {
        label: {k: v for k, v in result.items() if k != "translations"}
        for label, result in results.items()
    }
    (folder / "report.json").write_text(
        json.dumps({"name": name, "formats": summary}, indent=2) + "\n",
        encoding="utf-8",
    )
    return text
