"""Every form of parallel text, and recipes that name it wrongly."""

import gzip
import importlib.resources.abc
import importlib.util
import json
import lzma
import sys
from types import SimpleNamespace
from unittest import mock

import pytest
from backports import zstd

from tfxformer import InputError
from training import files
from training.config import DataConfig, Source, read_recipe
from training.report import CorpusReport
from training.sources import read_rows, source_files

FOUR = [("one", "uno"), ("two", "dos"), ("three", "tres"), ("four", "cuatro")]
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


# TensorFlow Datasets


@pytest.fixture
def translations(tmp_path):
    folder = tmp_path / "made"
    folder.mkdir()
    for split in ("train", "validation", "test"):
        for language, word in (("en", "one"), ("es", "uno")):
            path = folder / f"{language}.{split}.txt"
            path.write_text(f"{word} {split}\nx\n", encoding="utf-8")
    return tmp_path


@pytest.mark.parametrize(
    ("name", "split", "part"),
    [
        ("made", "train", "train"),
        ("made", "valid", "validation"),
        ("made", "test", "test"),
        ("made:test", "train", "test"),
    ],
)
def test_a_folder_of_translations(translations, name, split, part):
    pairs, report = read(translations, split, tfds=name)
    assert pairs == [(f"one {part}", f"uno {part}"), ("x", "x")]
    assert report.read == 2


@pytest.mark.parametrize(
    ("languages", "reverse", "pair"),
    [
        (("es", "en"), False, ("uno train", "one train")),
        (("EN", "Es"), False, ("one train", "uno train")),
        (("en", "es"), True, ("uno train", "one train")),
    ],
)
def test_the_languages_of_a_folder(translations, languages, reverse, pair):
    pairs, _ = read(
        translations, languages=languages, reverse=reverse, tfds="made"
    )
    assert pairs[0] == pair


@pytest.mark.parametrize(
    ("name", "languages", "words"),
    [
        ("made:dev", EN_ES, ["no split dev", "test, train, validation"]),
        ("made", ("en", "fr"), ["no fr", "data.languages", "en, es"]),
        ("made", None, ["data.languages", "which two of en, es"]),
        ("empty", EN_ES, ["empty", "en.train.txt"]),
        ("none", EN_ES, ["none: no such dataset", "LANGUAGE.SPLIT.txt"]),
        ("none/de-en", EN_ES, ["none/de-en: no such dataset"]),
        (":train", EN_ES, ["NAME/CONFIG[:SPLIT]", ":train"]),
        ("wmt14_translate/xx-en", EN_ES, ["wmt14_translate/xx-en", "config"]),
    ],
)
def test_what_is_no_dataset(translations, name, languages, words):
    (translations / "empty").mkdir()
    message = refusal(translations, languages=languages, tfds=name)
    for word in words:
        assert word.lower() in message.lower()


@pytest.mark.parametrize(
    ("contents", "word"),
    [
        ({"en_train_txt": "a\nb\n", "es_train_txt": "x\n"}, "has 2 lines"),
        (
            {"en_train_txt": "a\n", "es_train_txt": b"\xe9\n"},
            "es.train.txt:1: not UTF-8",
        ),
    ],
)
def test_damaged_translations(tmp_path, contents, word):
    write(tmp_path, **contents)
    assert word in refusal(tmp_path.parent, tfds=tmp_path.name)


@pytest.mark.parametrize("other", ["README.md", ".DS_Store", "a.en.train.txt"])
def test_other_files_beside_translations(translations, other):
    (translations / "made" / other).write_text("x")
    assert len(read(translations, tfds="made")[0]) == 2


def test_translations_stay_aligned(tmp_path):
    write(tmp_path, en_train_txt="a\u2028b\nc\n", es_train_txt="x\ny\x0cz\n")
    pairs, _ = read(tmp_path.parent, tfds=tmp_path.name)
    assert pairs == [("a\u2028b", "x"), ("c", "y\x0cz")]


def test_a_split_in_one_language(translations):
    (translations / "made" / "en.dev.txt").write_text("one\n")
    assert "es" in refusal(translations, tfds="made:dev")


@pytest.mark.parametrize("part", ["train[:1]", "train+test", "train[x]"])
def test_parts_of_splits_of_a_folder(translations, part):
    assert part in refusal(translations, tfds=f"made:{part}")


def test_a_folder_at_home(translations, monkeypatch):
    monkeypatch.setenv("HOME", str(translations))
    assert len(read("elsewhere", tfds="~/made")[0]) == 2


def test_the_files_of_a_folder(translations):
    source = Source(tfds="made:test")
    data = DataConfig(
        [source], [source], languages=EN_ES, folder=str(translations)
    )
    names = {path.name for path in source_files(source, data, "train")}
    assert names == {"en.test.txt", "es.test.txt"}


@pytest.fixture(scope="module")
def dataset(tmp_path_factory):
    """The folder of a dataset as TensorFlow Datasets prepares it."""
    import tensorflow_datasets as tfds

    class Numbers(tfds.core.GeneratorBasedBuilder):
        VERSION = tfds.core.Version("1.0.0")

        def _info(self):
            languages = ("en", "es-ES")
            return tfds.core.DatasetInfo(
                builder=self,
                features=tfds.features.Translation(languages),
                supervised_keys=languages,
            )

        def _split_generators(self, _):
            return {"train": self._generate_examples()}

        def _generate_examples(self):
            for number in range(10):
                yield number, {"en": f"{number}", "es-ES": f"n\n{number}"}

    builder = Numbers(data_dir=tmp_path_factory.mktemp("tfds"))
    backport = {"importlib_resources": importlib.resources}
    with mock.patch.dict(sys.modules, backport):
        builder.download_and_prepare()
    return str(builder.data_path)


def test_a_prepared_dataset(dataset):
    pairs, _ = read(".", tfds=dataset)
    assert sorted(pairs) == [(f"{n}", f"n {n}") for n in range(10)]
    some, _ = read(".", tfds=f"{dataset}:train[:30%]", languages=None)
    assert some == pairs[:3]
    two, _ = read(".", tfds=f"{dataset}:train[:1]+train[3:5]", reverse=True)
    assert two == [p[::-1] for p in (pairs[0], *pairs[3:5])]


@pytest.mark.parametrize("part", ["train[x]", "train[:999%]", "train+none"])
def test_no_such_part_of_a_dataset(dataset, part):
    assert part in refusal(".", tfds=f"{dataset}:{part}")


class Unreachable:
    """A builder of TensorFlow Datasets on a machine without a network."""

    def __init__(self, error):
        self.error = error
        self.info = SimpleNamespace(homepage="https://home.example/")

    def download_and_prepare(self):
        raise self.error


@pytest.mark.parametrize(
    ("error", "address"),
    [
        (OSError("no route to http://host.example/a.tgz (x)"), "host.example"),
        (RuntimeError("broken\narchive"), "home.example"),
    ],
)
def test_a_download_that_fails(tmp_path, monkeypatch, error, address):
    import tensorflow_datasets as tfds

    monkeypatch.setattr(tfds, "builder", lambda name: Unreachable(error))
    message = refusal(tmp_path, tfds="wmt14_translate/de-en:train")
    assert "wmt14_translate/de-en could not be downloaded from " in message
    assert address in message and type(error).__name__ in message
    assert "as source and target" in message and "LANGUAGE.SPLIT" in message
    assert not list(tmp_path.iterdir())


def test_what_datasets_need_to_be_downloaded_is_installed():
    # TensorFlow Datasets imports it in `download_and_prepare`.
    assert importlib.util.find_spec("importlib_resources")


# Recipes

GOOD = """
name: good
data:
  train: [{source: a.en, target: a.es}, {tsv: b.tsv, weight: 2}]
  valid: [{phrasebook: valid}]
"""


def recipe(folder, *assignments):
    (folder / "recipe.yaml").write_text(GOOD, encoding="utf-8")
    return read_recipe(str(folder / "recipe.yaml"), assignments)


def test_a_recipe_lists_its_sources(tmp_path):
    data = recipe(tmp_path).data
    assert [str(source) for source in data.train] == [
        "source: a.en",
        "tsv: b.tsv",
    ]
    assert [source.weight for source in data.train] == [1, 2]
    assert (data.test, data.languages, data.max_length) == ([], None, 128)


def test_assignments_into_lists(tmp_path):
    data = recipe(
        tmp_path,
        "data.train.1.tsv=x.tsv",
        "data.train.1.columns=[3, 1]",
        "data.train.0.target=c.es",
        "data.valid=[{tsv: v.tsv}]",
        "data.languages=[en, es]",
        "data.languages.1=fr",
        "data.cleaning.max_ratio=null",
    ).data
    assert data.train[1] == Source(tsv="x.tsv", columns=(3, 1), weight=2)
    assert data.train[0] == Source(source="a.en", target="c.es")
    assert data.valid == [Source(tsv="v.tsv")]
    assert data.languages == ("en", "fr")
    assert data.cleaning.max_ratio is None


@pytest.mark.parametrize(
    ("assignment", "words"),
    [
        ("data.train.0.tsv=x.tsv", ["data.train.0:", "2 given", "give one"]),
        ("data.train=[{}]", ["data.train.0:", "0 given"]),
        ("data.train=[{source: a}]", ["data.train.0:", "go together"]),
        ("data.train.0.target=null", ["data.train.0:", "go together"]),
        ("data.train=[{jsonl: a, columns: [1, 2]}]", ["columns goes with tsv"]),
        ("data.train.1.fields=[a, b]", ["fields goes with jsonl, not tsv"]),
        ("data.train.1.columns=[0, 1]", ["data.train.1.columns.0", "than 0"]),
        ("data.train.1.columns=[1]", ["data.train.1.columns", "missing"]),
        ("data.train.1.columns=[1, 2, 3]", ["data.train.1.columns", "3"]),
        ("data.train.1.weight=0", ["data.train.1.weight", "than 0"]),
        ("data.train.1.weight=.inf", ["data.train.1.weight", "1000"]),
        ("data.train={tsv: a}", ["data.train:", "list", "{'tsv': 'a'}"]),
        ("data.train=a.tsv", ["data.train:", "list", "'a.tsv'"]),
        ("data.train=[]", ["data.train:", "at least 1"]),
        ("data.valid=[]", ["data.valid:", "at least 1"]),
        ("data.train.0=a.tsv", ["data.train.0:", "'a.tsv'"]),
        ("data.train.0.sorce=x", ["data.train.0.sorce: unk", "mean source?"]),
        ("data.train.1.wieght=2", ["data.train.1.wieght: unk", "weight?"]),
        ("data.test=[{tvs: x}]", ["data.test.0.tvs: unk", "mean tsv?"]),
        ("data.train.1.qqq=2", ["data.train.1.qqq", "known", "phrasebook"]),
        ("data.train.2.tsv=x", ["data.train.2.tsv=x:", "a list of 2", "'2'"]),
        ("data.train.-1.tsv=x", ["a list of 2", "'-1'", "from 0"]),
        ("data.train.tsv=x", ["a list of 2", "'tsv'", "from 0"]),
        ("data.train.1.tsv.x=y", ["data.train.1.tsv", "string"]),
        ("data.train.0.phrasebook=dev", ["data.train.0.phrasebook", "'dev'"]),
        ("data.languages=en", ["data.languages", "'en'"]),
        ("data.languages=[en]", ["data.languages.1", "missing"]),
        ("data.languages=[en, en]", ["data", "languages", "the same"]),
        ("data.train.0.columns=[2, 2]", ["data.train.0", "columns"]),
        ("data.train={tsv: a}", ["data.train", "list", "[ ]"]),
        ("data.max_length=65536", ["data.max_length", "65535"]),
        ("data.cleaning.max_ratio=0.5", ["max_ratio", "equal to 1", "0.5"]),
        ("data.cleaning.unicode=nfc", ["unicode", "'NFC'", "'nfc'"]),
        ("data.cleaning.duplicate=no", ["unknown", "mean duplicates?"]),
        ("data.cleaning=off", ["data.cleaning:", "False"]),
    ],
)
def test_a_bad_recipe(tmp_path, assignment, words):
    with pytest.raises(InputError) as error:
        recipe(tmp_path, assignment)
    message = str(error.value)
    assert "\n" not in message
    for word in words:
        assert word in message
