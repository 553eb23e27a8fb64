"""The command `python -m training.evaluate RUN --source F --reference F`."""

import argparse
import re
import sys

from tfxformer.errors import InputError, exit_on_input_error
from tfxformer.loading import load_translator
from tfxformer.options import SearchOptions
from training.files import read_lines


def main(arguments: list[str] | None = None) -> None:
    """Translates a text and compares it with its reference.

    Args:
        arguments: list of strings. The command line; None: that of this
            process.

    Raises:
        SystemExit: with status 2 and one line on standard error on bad input.
    """
    parser = argparse.ArgumentParser(
        prog="python -m training.evaluate",
        description="Translate a text with a trained model and print BLEU, "
        "chrF, TER (sacrebleu) and WER against its reference.",
    )
    parser.add_argument(
        "model",
        metavar="RUN",
        help="a run folder; also a SavedModel folder or a .tflite file",
    )
    add_search_arguments(parser)
    parser.add_argument(
        "--output", metavar="FILE", help="also write the translations there"
    )
    options = parser.parse_args(arguments)
    with exit_on_input_error("evaluate"):
        sources, references = read_parallel(options.source, options.reference)
        translations = translate_with(options.model, sources, options)
        if options.output:
            with open(options.output, "w", encoding="utf-8", newline="") as out:
                out.writelines(f"{line}\n" for line in translations)
        tokenize = options.tokenize or bleu_tokenizer(references)
        for line in scores(translations, references, tokenize):
            print(line)
        sys.stdout.flush()


def add_search_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds the text, the search and the tokenizer of BLEU to a command.

    Args:
        parser: an `ArgumentParser`.
    """
    parser.add_argument(
        "--source", required=True, metavar="FILE", help="text to translate"
    )
    parser.add_argument(
        "--reference", required=True, metavar="FILE", help="its translation"
    )
    parser.add_argument(
        "--tokenize",
        choices=["13a", "intl", "zh", "ja-mecab", "char", "none"],
        help="sacrebleu's tokenizer for BLEU; by default zh for Chinese and "
        "ja-mecab for Japanese references, 13a for all others",
    )
    parser.add_argument(
        "--beam-size",
        type=int,
        default=SearchOptions.beam_size,
        metavar="K",
        help="hypotheses kept by beam search; 1: greedy (1)",
    )
    parser.add_argument(
        "--length-penalty",
        type=float,
        default=SearchOptions.length_penalty,
        metavar="ALPHA",
        help="of beam search (0.6)",
    )


def read_parallel(source: str, reference: str) -> tuple[list[str], list[str]]:
    """Reads two files whose lines belong together.

    Args:
        source: string. A text file.
        reference: string. Its translation.

    Returns:
        Tuple of two lists of as many strings.

    Raises:
        InputError: if they have not as many lines, or none.
    """
    sources, references = list(read_lines(source)), list(read_lines(reference))
    if len(sources) != len(references) or not sources:
        raise InputError(
            f"{source} has {len(sources):,} lines and {reference} "
            f"{len(references):,}; they must have as many, and at least one"
        )
    return sources, references


def translate_with(
    model: str, sources: list[str], options: argparse.Namespace
) -> list[str]:
    """Loads a model and translates lines as `add_search_arguments` says.

    Args:
        model: string: a run folder, a SavedModel folder or a `.tflite` file.
        sources: list of strings.
        options: a namespace with `beam_size` and `length_penalty`.

    Returns:
        list of as many strings; blank lines stay empty.

    Raises:
        InputError: if the model cannot be loaded, or if an option makes no
            sense or does not fit it.
    """
    search = SearchOptions(
        beam_size=options.beam_size, length_penalty=options.length_penalty
    )
    return load_translator(model).translate(sources, options=search)


def scores(
    translations: list[str], references: list[str], tokenize: str = "13a"
) -> list[str]:
    """Scores translations of a whole text.

    Args:
        translations: list of strings.
        references: list of as many strings.
        tokenize: string. sacrebleu's tokenizer for BLEU.

    Returns:
        list of lines: BLEU, chrF and TER with sacrebleu's signatures, and
        the word error rate in percent.
    """
    import jiwer
    from sacrebleu.metrics import BLEU, CHRF, TER

    lines = []
    for metric in (BLEU(tokenize=tokenize), CHRF(), TER()):
        score = metric.corpus_score(translations, [references])
        signature = metric.get_signature()
        lines.append(score.format(width=2, signature=str(signature)))
    rate = jiwer.wer(references, translations)
    lines.append(f"WER|jiwer:{jiwer_version()} = {100 * rate:.2f}")
    return lines


def bleu_tokenizer(references: list[str]) -> str:
    """Chooses sacrebleu's tokenizer by the script of the references.

    Args:
        references: list of strings.

    Returns:
        "ja-mecab" where kana occur, "zh" where Han characters prevail
        without them, else "13a".
    """
    text = "".join(references)
    kana = len(re.findall("[\u3040-\u30ff]", text))
    han = len(re.findall("[\u4e00-\u9fff]", text))
    if kana > 0.05 * len(text):
        return "ja-mecab"
    return "zh" if han > 0.2 * len(text) else "13a"


def jiwer_version() -> str:
    """The version of jiwer that is installed, such as "4.0.0"."""
    from importlib import metadata

    return metadata.version("jiwer")


if __name__ == "__main__":
    main()
