"""Small messy inputs, each with its right outcome."""

import gzip

import numpy as np
import pytest
from parallel_text import data_of

from tfxformer import InputError, Tokenizer
from training.config import (
    CleaningConfig,
    DataConfig,
    Source,
)
from training.fingerprint import find_all_files
from training.prepare import clean_train
from training.spool import Spool
from training.tokens import Block, PairTokenizer

ENGLISH = [
    "The red house is old.",
    "I do not have a dog.",
    "Where is the station?",
    "We are reading a book.",
]
SPANISH = [
    "La casa roja es vieja.",
    "No tengo perro.",
    "¿Dónde está la estación?",
    "Estamos leyendo un libro.",
]
FOUR = list(zip(ENGLISH, SPANISH, strict=True))


def text(sentences, end="\n"):
    return "".join(f"{sentence}{end}" for sentence in sentences).encode()


EN, ES = text(ENGLISH), text(SPANISH)


def write(folder, source, target):
    (folder / "a.en").write_bytes(source)
    (folder / "a.es").write_bytes(target)
    return Source(source="a.en", target="a.es")


def clean(folder, *train, held_out=(), **options):
    """Pairs and report of training text, with the default rules."""
    data = data_of(folder, *train, **options)
    files = find_all_files(data)
    with Spool(
        folder / "x.incomplete", folder / "x", len(train), 1 << 20
    ) as clean_text:
        report = clean_train(data, list(held_out), files, clean_text)
        return list(clean_text.sample(1 << 20)), report.total()


# The messy inputs that every corpus has


@pytest.mark.parametrize(
    ("source", "target"),
    [
        (text(ENGLISH, "\r\n"), ES),
        (b"\xef\xbb\xbf" + EN, ES),
        (EN.removesuffix(b"\n"), ES),
    ],
    ids=["CRLF", "BOM", "no final newline"],
)
def test_line_ends_and_marks(tmp_path, source, target):
    pairs, report = clean(tmp_path, write(tmp_path, source, target))
    assert pairs == FOUR
    assert (report.read, report.dropped, report.changed) == (4, {}, {})


def test_line_separators_end_no_line(tmp_path):
    english = ["One\u2028line", "Next\u0085line", "Form\x0cfeed\x1dhere", "x"]
    spanish = ["Una\u2028línea", "Esta\u0085línea", "Salto\x0cde\x1d.", "y"]
    pairs, report = clean(
        tmp_path, write(tmp_path, text(english), text(spanish))
    )
    assert pairs == [
        ("One\u2028line", "Una\u2028línea"),
        ("Next line", "Esta línea"),
        ("Form feed here", "Salto de ."),
        ("x", "y"),
    ]
    assert (report.read, report.dropped) == (4, {})


def test_one_side_empty(tmp_path):
    english = [ENGLISH[0], "", ENGLISH[2], "   ", ENGLISH[3]]
    spanish = [SPANISH[0], SPANISH[1], "", SPANISH[2], SPANISH[3]]
    pairs, report = clean(
        tmp_path, write(tmp_path, text(english), text(spanish))
    )
    assert pairs == [FOUR[0], FOUR[3]]
    assert (report.read, report.dropped) == (5, {"empty on a side": 3})


def test_a_count_mismatch(tmp_path):
    source = write(tmp_path, EN, text(SPANISH[:3]))
    with pytest.raises(InputError, match=r"a\.en has 4 lines .*a\.es has 3;"):
        clean(tmp_path, source)


def test_latin1(tmp_path):
    target = text(SPANISH[2:]).decode().encode("latin-1")
    source = write(tmp_path, text(ENGLISH[2:]), target)
    with pytest.raises(InputError, match=r"a\.es:1: not UTF-8: byte 0xbf at "):
        clean(tmp_path, source)


def test_tabs(tmp_path):
    rows = "".join(f"{s}\t{t}\n" for s, t in FOUR)
    rows += "Three\tTres\tCC-BY 2.0 (France) attribution\nOnly one\n\t\n"
    (tmp_path / "a.tsv").write_text(rows, encoding="utf-8")
    pairs, report = clean(tmp_path, Source(tsv="a.tsv"))
    assert pairs == [*FOUR, ("Three", "Tres")]
    assert report.read == 7
    assert report.dropped == {"missing column": 1, "empty on a side": 1}


def test_a_tab_in_text_is_white_space(tmp_path):
    source = write(
        tmp_path,
        b"A man\twith a hat.\nThe red house is old.\n",
        b"Un hombre con\tsombrero.\nLa casa roja es vieja.\n",
    )
    pairs, report = clean(tmp_path, source)
    assert pairs == [("A man with a hat.", "Un hombre con sombrero."), FOUR[0]]
    assert report.dropped == {}


ESCAPED = (
    b"It &apos;s a &quot;test&quot; &amp; more .\nA &lt;b&gt; tag .\n",
    b"Es una &quot;prueba&quot; &amp; cosa .\nUna etiqueta &lt;b&gt; .\n",
)


def test_entities(tmp_path):
    source = write(tmp_path, *ESCAPED)
    pairs, report = clean(tmp_path, source)
    lines = [side.decode().splitlines() for side in ESCAPED]
    assert pairs == list(zip(*lines, strict=True))
    assert (report.escaped, report.dropped) == (2, {})
    rules = CleaningConfig(unescape=True)
    pairs, report = clean(tmp_path, source, cleaning=rules)
    assert pairs == [
        ('It \'s a "test" & more .', 'Es una "prueba" & cosa .'),
        ("A <b> tag .", "Una etiqueta <b> ."),
    ]
    assert (report.escaped, report.changed) == (0, {"unescaped": 2})


@pytest.mark.parametrize(
    "pairs",
    [
        [
            ("Narrow\u202fspace\u00a0here.", "Espacio\u202fes\u00a0aquí."),
            ("Zero\u200bwidth\u200bspace.", "Espacio\u200bde ancho cero."),
            ("Soft\u00adhyphen.", "Guion\u00adblando."),
        ],
        [
            ("Cafe\u0301 or café?", "¿Cafe\u0301 o café?"),
            (
                "Emoji 😀👩\u200d👩\u200d👧 and 🇪🇸.",
                "Emoji 😀👩\u200d👩\u200d👧 y 🇪🇸.",
            ),
            ("Rare 𠮷 kanji, שלום, مرحبا.", "Kanji raro 𠮷, שלום, مرحبا."),
            ("\u202eright to left\u202c", "\u202ede derecha\u202c"),
        ],
    ],
    ids=["spaces", "unicode"],
)
def test_what_unicode_holds_stays(tmp_path, pairs):
    source = write(tmp_path, *map(text, zip(*pairs, strict=True)))
    cleaned, report = clean(tmp_path, source, languages=("en", "es"))
    assert (cleaned, report.dropped, report.changed) == (pairs, {}, {})


def test_nul_bytes(tmp_path):
    source = write(
        tmp_path, b"A\0B is here.\nThe\n", "A\0B está aquí.\nLa\n".encode()
    )
    pairs, report = clean(tmp_path, source)
    assert pairs == [("A B is here.", "A B está aquí."), ("The", "La")]
    assert report.dropped == {}


@pytest.mark.parametrize("rules", [{}, {"duplicates": False}])
def test_identical(tmp_path, rules):
    english = [*ENGLISH, *ENGLISH[:1] * 3, "Copy me."]
    spanish = [*SPANISH, *SPANISH[:1] * 3, "Copy me."]
    source = write(tmp_path, text(english), text(spanish))
    pairs, report = clean(tmp_path, source, cleaning=CleaningConfig(**rules))
    if rules:
        assert pairs == FOUR + FOUR[:1] * 3
        assert report.dropped == {"untranslated": 1}
    else:
        assert pairs == FOUR
        assert report.dropped == {"duplicate": 3, "untranslated": 1}
        assert report.examples["duplicate"] == FOUR[:1] * 3


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (gzip.compress(EN)[:-20], "not a whole gzip file"),
        (b"<!DOCTYPE html><html>503</html>\n", "web page"),
        (b"\x00\x05\x16\x07\x00\x02\x00\x00Mac OS X", "AppleDouble"),
    ],
    ids=["truncated", "page", "metadata"],
)
def test_broken_downloads(tmp_path, content, words):
    (tmp_path / "a.en.gz").write_bytes(content)
    (tmp_path / "a.es").write_bytes(ES)
    with pytest.raises(InputError, match=rf"a\.en\.gz: .*{words}"):
        clean(tmp_path, Source(source="a.en.gz", target="a.es"))


@pytest.mark.parametrize("content", [b"", b"\n \n"])
def test_no_pairs(tmp_path, content):
    with pytest.raises(InputError, match=r"data\.train: no pairs in source:"):
        clean(tmp_path, write(tmp_path, content, content))


# Too long, lopsided


@pytest.fixture(scope="module")
def tokenizer():
    words = [f"{w} {v} palabra word." for w in ENGLISH for v in SPANISH]
    return Tokenizer.train(words, 310)


def tokenize(tokenizer, pairs, **options):
    source = Source(phrasebook="train")
    data = DataConfig(train=[source], valid=[source], **options)
    lines = [f"{source}\t{target}\n".encode() for source, target in pairs]
    origins = np.zeros(len(lines), np.int32)
    tokenized, (report,) = PairTokenizer(tokenizer, tokenizer, data)(
        Block(0, lines, origins)
    )
    assert report.kept == tokenized.num_pairs
    ids = []
    for flat, lengths in (
        (tokenized.source_ids, tokenized.source_lengths),
        (tokenized.target_ids, tokenized.target_lengths),
    ):
        rows = np.split(flat, np.cumsum(lengths)[:-1]) if len(lengths) else []
        ids.append([row.tolist() for row in rows])
    return list(zip(*ids, strict=True)), report


def test_a_long_line(tokenizer):
    pairs = [("word " * 5000, "palabra " * 5000), FOUR[0]]
    ids, report = tokenize(tokenizer, pairs)
    assert ids == [tuple(tokenizer.tokenize(list(FOUR[0])))]
    assert report.dropped == {"too long": 1}
    assert report.examples["too long"][0][0] == ("word " * 40)


def test_the_longest_that_is_kept(tokenizer):
    length = max(map(len, tokenizer.tokenize(list(FOUR[0]))))
    for max_length, kept in ((length, 1), (length - 1, 0)):
        ids, _ = tokenize(tokenizer, [FOUR[0]], max_length=max_length)
        assert len(ids) == kept


def test_a_length_ratio(tokenizer):
    pairs = [("Yes.", "palabra " * 60), FOUR[0]]
    options = {"max_length": 999}
    ids, report = tokenize(tokenizer, pairs, **options)
    assert ids == [tuple(tokenizer.tokenize(list(FOUR[0])))]
    assert report.dropped == {"length ratio": 1}
    rules = CleaningConfig(max_ratio=None)
    ids, report = tokenize(tokenizer, pairs, cleaning=rules, **options)
    assert (len(ids), report.dropped) == (2, {})


@pytest.mark.parametrize("swap", [False, True])
def test_the_greatest_ratio_that_is_kept(tokenizer, swap):
    pairs = [("word", "word " * n) for n in range(1, 9)]
    lengths = [
        [len(ids) for ids in tokenizer.tokenize(list(pair))] for pair in pairs
    ]
    ratios = [longer / shorter for shorter, longer in lengths]
    if swap:
        pairs = [pair[::-1] for pair in pairs]
    rules = CleaningConfig(max_ratio=ratios[4])
    assert len(tokenize(tokenizer, pairs, cleaning=rules)[0]) == 5


def test_white_space_that_only_the_tokenizer_sees(tokenizer):
    pairs = [("\u200b", "x"), ("x", "\u2060\u200b"), FOUR[0]]
    _, report = tokenize(tokenizer, pairs)
    rows = [tokenizer.tokenize(list(pair)) for pair in pairs]
    blank = sum(min(map(len, row)) < 2 for row in rows)
    assert blank > 0
    assert report.dropped == {"empty on a side": blank}
    rules = CleaningConfig(empty=False)
    assert len(tokenize(tokenizer, pairs, cleaning=rules)[0]) == 3


def test_every_pair_may_drop_out(tokenizer):
    ids, report = tokenize(tokenizer, FOUR, max_length=1)
    assert (ids, report.dropped) == ([], {"too long": 4})


# Several sources


def test_duplicates_across_blocks_and_sources(tmp_path, monkeypatch):
    monkeypatch.setattr("training.files.BLOCK_BYTES", 1)
    first = write(tmp_path, b"a\nb\na\n", b"x\ny\nx\n")
    (tmp_path / "b.tsv").write_text("c\tz\nb\ty\nb\tx\nc\tz\n")
    data = data_of(tmp_path, first, Source(tsv="b.tsv"))
    with Spool(tmp_path / "x.i", tmp_path / "x", 2, 99) as clean_text:
        report = clean_train(data, [], {}, clean_text)
        assert list(clean_text.sample(99)) == [
            ("a", "x"),
            ("b", "y"),
            ("c", "z"),
            ("b", "x"),
        ]
        assert clean_text.counts == [2, 2]
    assert [r.dropped for r in report.sources] == [
        {"duplicate": 1},
        {"duplicate": 2},
    ]
    assert report.sources[1].examples["duplicate"] == [("b", "y"), ("c", "z")]


def test_reverse_turns_the_languages_too(tmp_path):
    source = write(tmp_path, b"one\ndos\n", "один\nдва\n".encode())
    options = {"languages": ("en", "ru"), "reverse": True}
    pairs, _ = clean(tmp_path, source, held_out=["ДВА"], **options)
    assert pairs == [("один", "one")]


def test_an_unknown_language(tmp_path):
    with pytest.raises(InputError, match="xx is no language code"):
        clean(tmp_path, write(tmp_path, EN, ES), languages=("en", "xx"))


# All of it
