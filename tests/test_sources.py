"""Every form of parallel text, and recipes that name it wrongly."""

import gzip
import json
import lzma
import tracemalloc

import pytest
from backports import zstd
from parallel_text import EN_ES, read, refusal, write

from tfxformer import InputError
from training import files
from training.config import DataConfig, Source
from training.report import CorpusReport
from training.sources import read_rows

FOUR = [("one", "uno"), ("two", "dos"), ("three", "tres"), ("four", "cuatro")]


def column(pairs, index):
    return "".join(f"{pair[index]}\n" for pair in pairs).encode()


# Two files


@pytest.mark.parametrize("suffix", ["", ".gz", ".xz", ".zst"])
@pytest.mark.parametrize("reverse", [False, True])
def test_two_files(tmp_path, suffix, reverse):
    compress = {
        "": bytes,
        ".gz": gzip.compress,
        ".xz": lzma.compress,
        ".zst": zstd.compress,
    }[suffix]
    (tmp_path / f"a.en{suffix}").write_bytes(compress(column(FOUR, 0)))
    (tmp_path / "a.es").write_bytes(column(FOUR, 1))
    pairs, report = read(
        tmp_path, source=f"a.en{suffix}", target="a.es", reverse=reverse
    )
    assert pairs == [(t, s) if reverse else (s, t) for s, t in FOUR]
    assert (report.read, report.dropped) == (4, {})


@pytest.mark.parametrize("block_bytes", [1, 9, 1 << 20])
@pytest.mark.parametrize(
    ("source", "target", "counts"),
    [
        (b"1\n2\n3\n4\n", b"1\n2\n3\n", ("4", "3")),
        (b"1\n2\n", b"1\n2\n3\n4\n5", ("2", "5")),
        (b"", b"1\n", ("0", "1")),
        (b"1\n", b"", ("1", "0")),
        (b"1\n" * 3000, b"1\n" * 2999, ("3,000", "2,999")),
    ],
)
def test_unequal_line_counts(
    tmp_path, monkeypatch, block_bytes, source, target, counts
):
    monkeypatch.setattr(files, "BLOCK_BYTES", block_bytes)
    write(tmp_path, a_en=source, a_es=target)
    message = refusal(tmp_path, source="a.en", target="a.es")
    assert f"a.en has {counts[0]} lines but " in message
    assert f"a.es has {counts[1]};" in message


def test_blocks_stay_aligned(tmp_path, monkeypatch):
    monkeypatch.setattr(files, "BLOCK_BYTES", 100)
    pairs = [("x" * (n % 7), f"{n}" * (n % 5)) for n in range(999)]
    write(tmp_path, a_en=column(pairs, 0), a_es=column(pairs, 1))
    assert read(tmp_path, source="a.en", target="a.es")[0] == pairs


@pytest.mark.parametrize("bad", ["en", "es"])
def test_which_file_is_not_utf8(tmp_path, monkeypatch, bad):
    monkeypatch.setattr(files, "BLOCK_BYTES", 1)
    write(tmp_path, a_en=b"a\nb\nc\n", a_es=b"x\ny\nz\n")
    write(tmp_path, **{f"a_{bad}": b"a\nb\n\xe9\n"})
    message = refusal(tmp_path, source="a.en", target="a.es")
    assert f"a.{bad}:3: not UTF-8: byte 0xe9" in message


@pytest.mark.parametrize(
    "bad",
    [
        pytest.param("en"),
        "es",
    ],
)
def test_which_file_is_truncated(tmp_path, bad):
    text = b"".join(b"%d\n" % number for number in range(300_000))
    whole = gzip.compress(text, compresslevel=1)
    for side in EN_ES:
        content = whole[:-999] if side == bad else whole
        (tmp_path / f"a.{side}.gz").write_bytes(content)
    message = refusal(tmp_path, source="a.en.gz", target="a.es.gz")
    assert f"a.{bad}.gz: not a whole gzip file" in message


def test_many_files(tmp_path):
    write(tmp_path, a_en="a1\na2", a_es="A1\nA2", b_en="b\n", b_es="B\n")
    pairs, report = read(tmp_path, source="*.en", target="*.es")
    assert pairs == [("a1", "A1"), ("a2", "A2"), ("b", "B")]
    assert report.read == 3


def test_a_mismatch_in_one_of_many_files_names_it(tmp_path):
    write(tmp_path, a_en="1\n", a_es="1\n2\n", b_en="1\n2\n", b_es="1\n")
    message = refusal(tmp_path, source="*.en", target="*.es")
    assert "a.en has 1 lines but" in message


# Columns


def test_tsv(tmp_path):
    write(tmp_path, a_tsv="one\tuno\tnote\nlonely\n\ntwo\tdos\r\n\t\n")
    pairs, report = read(tmp_path, tsv="a.tsv")
    assert pairs == [*FOUR[:2], ("", "")]
    assert (report.read, report.dropped) == (5, {"missing column": 2})
    assert report.examples == {"missing column": [("lonely", ""), ("", "")]}


@pytest.mark.parametrize("reverse", [False, True])
def test_columns_of_a_tsv(tmp_path, reverse):
    write(tmp_path, a_tsv="id\tuno\tx\tone\n7\tdos\ty\n8\ttres\tz\tthree\t\n")
    pairs, report = read(tmp_path, tsv="a.tsv", columns=(4, 2), reverse=reverse)
    assert pairs == [
        (t, s) if reverse else (s, t) for s, t in (FOUR[0], FOUR[2])
    ]
    assert report.dropped == {"missing column": 1}


# JSON Lines


def lines(*records):
    return "".join(f"{json.dumps(record)}\n" for record in records)


def test_json_lines_take_the_languages_as_fields(tmp_path):
    write(tmp_path, a_jsonl=lines({"es": "uno", "en": "one", "n": 1}) + "\n")
    assert read(tmp_path, jsonl="a.jsonl")[0] == FOUR[:1]
    reverse, _ = read(tmp_path, jsonl="a.jsonl", reverse=True)
    assert reverse == [("uno", "one")]
    with pytest.raises(InputError, match=r"data\.languages: .*needs it"):
        read(tmp_path, jsonl="a.jsonl", languages=None)


def test_fields_within_fields(tmp_path):
    record = {"translation": {"en": "one", "es": {"text": "uno"}}}
    write(tmp_path, a_jsonl=lines(record))
    pairs, _ = read(
        tmp_path,
        jsonl="a.jsonl",
        fields=("translation.en", "translation.es.text"),
    )
    assert pairs == FOUR[:1]


def test_missing_fields_are_counted(tmp_path):
    records = [
        {"en": "one", "es": "uno"},
        {"en": "one"},
        {"en": "one", "es": None},
        {"en": "one", "es": 1},
        {"en": "one", "es": ["uno"]},
        {"en": "one", "es": {"x": "uno"}},
        ["one", "uno"],
        "one",
        None,
        {"en": "", "es": ""},
    ]
    write(tmp_path, a_jsonl=lines(*records))
    pairs, report = read(tmp_path, jsonl="a.jsonl")
    assert pairs == [("one", "uno"), ("", "")]
    assert (report.read, report.dropped) == (10, {"missing field": 8})
    examples = report.examples["missing field"]
    assert len(examples) == 3
    assert examples[0] == ('{"en": "one"}', "")


def test_what_json_can_spell(tmp_path):
    text = (
        r'{"en": "a\nb\u2028c\ud83d\ude00", "es": "x\ud800y\udc00"}' + "\n"
        '{"en": "a\u2028b\x7f", "es": "\ufeff"}\n'
    )
    write(tmp_path, a_jsonl="\ufeff" + text)
    assert read(tmp_path, jsonl="a.jsonl")[0] == [
        ("a b\u2028c\U0001f600", "x?y?"),
        ("a\u2028b\x7f", "\ufeff"),
    ]


@pytest.mark.parametrize(
    "line",
    ["{'en': 'one'}", '{"en": "one"', "one\tuno", "[" * 99_999, "{}{}"],
)
def test_not_json(tmp_path, line):
    write(tmp_path, a_jsonl=f"{lines({'en': 'a', 'es': 'b'})}\n{line}\n")
    message = refusal(tmp_path, jsonl="a.jsonl")
    assert f"{tmp_path / 'a.jsonl'}:3: not JSON: " in message


def test_fields_that_no_line_has(tmp_path):
    write(tmp_path, a_jsonl='{"en": "a", "de": "b", "n": 1}\n' * 3)
    message = refusal(tmp_path, jsonl="a.jsonl", fields=("en", "n"))
    assert "a.jsonl: no line has text in both en and n" in message
    assert "en, de, n" in message


def test_a_long_number_is_no_reason_to_stop(tmp_path):
    write(tmp_path, a_jsonl='{"en": "a", "es": "b", "n": %s}\n' % ("9" * 5000))
    assert read(tmp_path, jsonl="a.jsonl")[0] == [("a", "b")]


# TMX

TU = (
    '<tu><tuv xml:lang="en"><seg>one</seg></tuv>'
    '<tuv xml:lang="es"><seg>uno</seg></tuv></tu>'
)


def tmx(*units, start='<?xml version="1.0"?>', attributes=""):
    return (
        f'{start}\n<tmx version="1.4"{attributes}>\n<header srclang="en"/>\n'
        f"<body>\n{''.join(units)}\n</body>\n</tmx>\n"
    )


def unit(**segments):
    return "<tu>{}</tu>".format(
        "".join(
            f'<tuv xml:lang="{code.replace("_", "-")}"><seg>{text}</seg></tuv>'
            for code, text in segments.items()
        )
    )


@pytest.mark.parametrize(
    "content",
    [
        tmx(TU).encode(),
        ("\ufeff" + tmx(TU)).encode(),
        tmx(TU).encode("utf-16"),
        tmx(TU, start='<?xml version="1.0" encoding="UTF-16"?>').encode(
            "utf-16"
        ),
        b"\xfe\xff" + tmx(TU).encode("utf-16-be"),
        tmx(TU, start='<!DOCTYPE tmx SYSTEM "tmx14.dtd"><!-- -->').encode(),
        tmx(TU).replace("xml:lang", "lang").encode(),  # TMX 1.1
        tmx(TU).replace("\n", "\r\n").encode(),
    ],
    ids="utf-8 bom utf-16 declared big-endian doctype lang crlf".split(),
)
@pytest.mark.parametrize("reverse", [False, True])
def test_tmx(tmp_path, content, reverse):
    write(tmp_path, a_tmx=content)
    pairs, report = read(tmp_path, tmx="a.tmx", reverse=reverse)
    assert pairs == [("uno", "one") if reverse else ("one", "uno")]
    assert (report.read, report.dropped) == (1, {})


def test_tmx_in_another_encoding(tmp_path):
    start = '<?xml version="1.0" encoding="ISO-8859-1"?>'
    text = tmx(unit(en="tomorrow", es="mañana"), start=start)
    write(tmp_path, a_tmx=text.encode("latin-1"))
    assert read(tmp_path, tmx="a.tmx")[0] == [("tomorrow", "mañana")]


def test_compressed_tmx(tmp_path):
    (tmp_path / "a.tmx.gz").write_bytes(gzip.compress(tmx(TU).encode()))
    assert read(tmp_path, tmx="*.tmx.gz")[0] == FOUR[:1]


@pytest.mark.parametrize(
    ("segment", "text"),
    [
        ('a <bpt i="1">&lt;b></bpt>c<ept i="1">&lt;/b></ept>d', "a cd"),
        ('And<it pos="end">&lt;/b></it> two.', "And two."),
        ('a<ph x="1">&lt;img/></ph>b', "ab"),
        ('a <hi x="1">b <hi>c</hi></hi> d', "a b c d"),
        ("a<ut>{\\b}</ut>b", "ab"),
        ("a<ph>x<sub>title <hi>y</hi></sub>z</ph>b", "ab"),
        ("a <hi>b<ph>x</ph>c</hi>d", "a bcd"),
        ("&lt;b&gt; &amp; &#233;&#xe0; <![CDATA[<c>]]>", "<b> & éà <c>"),
        ("a<!-- no -->b<?no no?>c", "abc"),
        ("a\n  b", "a   b"),
        ("", ""),
    ],
)
def test_inline_tags(tmp_path, segment, text):
    write(tmp_path, a_tmx=tmx(unit(en=segment, es="x")))
    assert read(tmp_path, tmx="a.tmx")[0] == [(text, "x")]


@pytest.mark.parametrize(
    ("languages", "pair"),
    [
        (("en", "es"), ("us", "sp")),
        (("EN", "fr"), ("us", "ca")),
        (("en-GB", "FR"), ("gb", "ca")),
        (("en_us", "fr_CA"), ("us", "ca")),
        (("ja", "en"), ("jp", "us")),
    ],
)
def test_the_languages_of_a_tmx(tmp_path, languages, pair):
    one = unit(EN_US="us", en_gb="gb", ja="jp", es="sp", fr_ca="ca")
    write(tmp_path, a_tmx=tmx(one))
    assert read(tmp_path, tmx="a.tmx", languages=languages)[0] == [pair]


def test_an_exact_language_comes_before_a_regional_one(tmp_path):
    write(tmp_path, a_tmx=tmx(unit(eng="no", en_gb="gb", en="en", es="sp")))
    assert read(tmp_path, tmx="a.tmx")[0] == [("en", "sp")]


def test_a_longer_code_is_another_language(tmp_path):
    write(tmp_path, a_tmx=tmx(unit(eng="no", en_gb="gb", est="no", es="sp")))
    assert read(tmp_path, tmx="a.tmx")[0] == [("gb", "sp")]


def test_the_first_of_two_translations(tmp_path):
    twice = TU.replace("</tu>", '<tuv xml:lang="es"><seg>1</seg></tuv></tu>')
    write(tmp_path, a_tmx=tmx(twice))
    assert read(tmp_path, tmx="a.tmx")[0] == FOUR[:1]


def test_units_without_both_languages_are_counted(tmp_path):
    no_segment = '<tu><tuv xml:lang="en"/><tuv xml:lang="es"><seg/></tuv></tu>'
    write(tmp_path, a_tmx=tmx(unit(en="a", fr="b"), TU, "<tu/>", no_segment))
    pairs, report = read(tmp_path, tmx="a.tmx")
    assert pairs == FOUR[:1]
    assert (report.read, report.dropped) == (4, {"not in both languages": 3})
    assert report.examples["not in both languages"][0] == ("a", "")


def test_no_unit_has_both_languages(tmp_path):
    write(tmp_path, a_tmx=tmx(unit(en="a", fr="b"), unit(en="a", de="c")))
    message = refusal(tmp_path, tmx="a.tmx")
    assert "a.tmx: no unit in both en and es (data.languages)" in message
    assert message.endswith("languages in it: de, en, fr")
    assert "needs it" in refusal(tmp_path, tmx="a.tmx", languages=None)


BOMB = (
    '<!DOCTYPE tmx [<!ENTITY a0 "aaaaaaaaaa">'
    + "".join(f'<!ENTITY a{n + 1} "{f"&a{n};" * 10}">' for n in range(9))
    + "]>"
)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (tmx(TU)[:-20], "not well-formed XML: "),
        (tmx(TU)[:120], "not well-formed XML: "),
        ("", "not well-formed XML: no element"),
        ("one\tuno\n", "not well-formed XML: syntax error: line 1"),
        (tmx(unit(en="a & b", es="c")), "not well-formed XML: "),
        ("<!DOCTYPE html><html><br></html>", "not TMX: it starts with <html>"),
        ("<xliff><tu/></xliff>", "not TMX: it starts with <xliff>"),
        (tmx(TU).replace("one", "\x01"), "not well-formed XML: "),
        (tmx(unit(en="&a9;", es="x"), start=BOMB), "amplification"),
        (tmx(unit(en="&a;", es="x")), "undefined entity"),
        (
            tmx(
                unit(en="&a;", es="x"),
                start='<!DOCTYPE tmx [<!ENTITY a SYSTEM "/etc/hostname">]>',
            ),
            "undefined entity",
        ),
    ],
)
def test_what_is_no_tmx(tmp_path, text, words):
    write(tmp_path, a_tmx=text)
    message = refusal(tmp_path, tmx="a.tmx")
    assert message.startswith(f"{tmp_path / 'a.tmx'}: ")
    assert words in message


@pytest.mark.parametrize("encoding", ["shift_jis", "none-such"])
def test_an_encoding_that_expat_does_not_know(tmp_path, encoding):
    start = f'<?xml version="1.0" encoding="{encoding}"?>'
    write(tmp_path, a_tmx=tmx(TU, start=start))
    assert "a.tmx: " in refusal(tmp_path, tmx="a.tmx")


def test_tmx_in_its_namespace(tmp_path):
    namespace = ' xmlns="http://www.lisa.org/tmx14"'
    write(tmp_path, a_tmx=tmx(TU, attributes=namespace))
    assert read(tmp_path, tmx="a.tmx")[0] == FOUR[:1]


def test_deep_tags(tmp_path):
    deep = "<hi>" * 3000 + "one" + "</hi>" * 3000
    write(tmp_path, a_tmx=tmx(unit(en=deep, es="uno")))
    assert read(tmp_path, tmx="a.tmx")[0] == FOUR[:1]


# The phrasebook


@pytest.mark.parametrize("reverse", [False, True])
def test_the_phrasebook(tmp_path, reverse):
    from training.phrasebook import generate

    pairs, report = read(tmp_path, phrasebook="valid", reverse=reverse)
    expected = list(generate("valid"))
    assert pairs == [p[::-1] for p in expected] if reverse else expected
    assert report.read == 500


def test_a_translation_memory_does_not_pile_up(tmp_path):
    (tmp_path / "memory.tmx").write_text(tmx(*[TU] * 20_000))
    source = Source(tmx="memory.tmx")
    data = DataConfig([source], [source], folder=str(tmp_path), languages=EN_ES)
    tracemalloc.start()
    try:
        count = sum(
            len(rows[0])
            for rows in read_rows(source, data, "train", CorpusReport())
        )
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert count == 20_000
    assert peak < 12e6
