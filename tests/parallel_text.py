"""Parallel text for tests: writing it, reading it, and what is refused."""

import pytest

from tfxformer import InputError
from training.config import DataConfig, Source
from training.report import CorpusReport
from training.sources import read_rows

EN_ES = ("en", "es")


def read(folder, split="train", languages=EN_ES, reverse=False, **source):
    source = Source(**source)
    data = DataConfig(
        train=[source],
        valid=[source],
        folder=str(folder),
        languages=languages,
        reverse=reverse,
    )
    report = CorpusReport()
    pairs = []
    for rows in read_rows(source, data, split, report):
        pairs += zip(*rows, strict=True)
    return pairs, report


def refusal(folder, **source):
    with pytest.raises(InputError) as error:
        read(folder, **source)
    return " ".join(str(error.value).split())  # as commands print it


def write(folder, **contents):
    for name, content in contents.items():
        if isinstance(content, str):
            content = content.encode()
        (folder / name.replace("_", ".")).write_bytes(content)


def data_of(folder, *train, **options):
    folder.joinpath("valid.tsv").write_text("a valid one\tuna\n")
    return DataConfig(
        train=list(train),
        valid=[Source(tsv="valid.tsv")],
        folder=str(folder),
        prepared=str(folder / "prepared"),
        **options,
    )
