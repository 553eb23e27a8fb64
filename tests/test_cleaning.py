"""Each rule of data.cleaning, on and off, and what the report says."""

import itertools

import numpy as np
import pytest

from tfxformer import InputError
from training.cleaning import Cleaner, KnownPairs, pair_keys, script_of
from training.config import CleaningConfig
from training.report import CorpusReport, SplitReport
from training.sources import Rows

ONE = ("one", "uno")


def clean(*pairs, languages=None, held_out=(), **rules):
    cleaner = Cleaner(CleaningConfig(**rules), languages, held_out)
    sources = [source for source, _ in pairs]
    targets = [target for _, target in pairs]
    cleaned = cleaner(Rows(sources, targets))
    rows = [tuple(row.split("\t")) for row in cleaned.rows]
    assert len(cleaned.keys) == len(rows)
    return rows, cleaned.report


def test_clean_pairs_stay_as_they_are():
    pairs = [ONE, ("Zwölf  Boxkämpfer", "«¿Qué?» — 漢字 😀"), ("a\u2028b", "c")]
    rows, report = clean(*pairs, languages=("de", "es"))
    assert rows == pairs
    assert (report.dropped, report.changed, report.escaped) == ({}, {}, 0)


def test_nothing_to_clean():
    rows, report = clean()
    assert (rows, report) == ([], CorpusReport())


def test_white_space_around_a_sentence_goes():
    assert clean((" one\u00a0", "\u2003uno \u2028"))[0] == [ONE]


# unicode


@pytest.mark.parametrize(
    ("form", "sentence"),
    [
        (None, "e\u0301 ﬁ é ½"),
        ("NFC", "é ﬁ é ½"),
        ("NFKC", "é fi é 1\u20442"),
        ("NFD", "e\u0301 ﬁ e\u0301 ½"),
        ("NFKD", "e\u0301 fi e\u0301 1\u20442"),
    ],
)
def test_unicode(form, sentence):
    pair = ("e\u0301 ﬁ é ½", "x")
    rows, report = clean(pair, ONE, unicode=form)
    assert rows == [(sentence, "x"), ONE]
    assert report.changed == ({"normalized": 1} if form else {})


def test_a_pair_that_changes_on_both_sides_counts_once():
    pairs = [("e\u0301\0", "e\u0301\0"), ("x", "e\u0301")]
    _, report = clean(*pairs, unicode="NFC", identical=False)
    assert report.changed == {
        "normalized": 2,
        "without control characters": 1,
    }


def test_marks_do_not_join_the_sentence_before():
    rows, _ = clean(("e", "x"), ("\u0301a", "y"), unicode="NFC")
    assert rows == [("e", "x"), ("\u0301a", "y")]


def test_nothing_to_normalize():
    # A block of a TSV file in which each line lacks a column.
    assert clean(unicode="NFC")[0] == []


# unescape

ESCAPED = [
    ("It &apos;s &quot;a&quot;", "&lt;b&gt; &amp; &#233;&#xE0;&nbsp;x"),
    ("AT&T & co", "R&D;"),
]


def test_escapes_stay_and_a_warning_counts_them():
    rows, report = clean(*ESCAPED, ("a &amp; b", "c"))
    assert rows == [*ESCAPED, ("a &amp; b", "c")]
    assert (report.escaped, report.changed) == (2, {})
    report.name = "tsv: a.tsv"
    (line,) = SplitReport("train", [report]).warnings()
    assert line.startswith("tsv: a.tsv: 2 pairs look escaped")
    assert "data.cleaning.unescape=true" in line


def test_unescape():
    rows, report = clean(*ESCAPED, unescape=True)
    assert rows == [('It \'s "a"', "<b> & éà\u00a0x"), ("AT&T & co", "R&D;")]
    assert (report.escaped, report.changed) == (0, {"unescaped": 1})
    assert SplitReport("train", [report]).warnings() == []


def test_unescape_takes_one_level_off():
    assert clean(("&amp;lt;", "x"), unescape=True)[0] == [("&lt;", "x")]


@pytest.mark.parametrize("control_characters", [False, True])
def test_escaped_separators_do_not_break_rows(control_characters):
    pairs = [("a&#10;b", "c&#9;d"), ("e&#0;f&#xD800;", "g"), ("h&#x0A;", "i")]
    rows, report = clean(
        *pairs, unescape=True, control_characters=control_characters
    )
    assert rows == [("a b", "c d"), ("e\ufffdf\ufffd", "g"), ("h", "i")]
    assert report.changed["unescaped"] == 3


def test_what_is_no_escape_stays():
    link = ("see ?a=1&copy=2&not", "x&reg y")
    assert clean(link, unescape=True)[0] == [link]
    assert clean(link, ("a &amp; b", "&gt;"), unescape=True)[0][0] == link


# control_characters


def test_control_characters():
    pair = ("a\0b\x0cc\x1dd\x85e\x7ff\ufeffg", "\x01x\ty\r")
    rows, report = clean(pair, ONE)
    assert rows == [("a b c d e f g", "x y"), ONE]
    assert report.changed == {"without control characters": 1}
    rows, _ = clean(pair, ONE, control_characters=False)
    assert rows == [("a b\x0cc\x1dd\x85e\x7ff\ufeffg", "\x01x y"), ONE]


def test_what_only_looks_like_a_control_character_stays():
    pair = ("a\u2028b\u200bc\u00add\u202fe\u200d", "\u202ex\u202c")
    rows, report = clean(pair)
    assert (rows, report.changed) == ([pair], {})


# empty and identical


def test_empty():
    pairs = [ONE, ("", "x"), ("x", " \t"), ("\u00a0", "\0"), ("a", "b")]
    rows, report = clean(*pairs)
    assert rows == [ONE, ("a", "b")]
    assert report.dropped == {"empty on a side": 3}
    assert report.examples["empty on a side"] == [
        ("", "x"),
        ("x", ""),
        ("", ""),
    ]
    rows, report = clean(*pairs, empty=False, identical=False)
    assert rows == [ONE, ("", "x"), ("x", ""), ("", ""), ("a", "b")]
    assert report.dropped == {}


def test_identical():
    pairs = [ONE, ("Copy me.", "Copy me. "), ("a", "A")]
    rows, report = clean(*pairs)
    assert rows == [ONE, ("a", "A")]
    assert report.dropped == {"untranslated": 1}
    assert clean(*pairs, identical=False)[0][1] == ("Copy me.", "Copy me.")


def test_a_pair_is_dropped_for_one_reason():
    _, report = clean(
        ("", ""), ("да", "да"), languages=("en", "es"), held_out=["", "да"]
    )
    assert report.dropped == {"empty on a side": 1, "untranslated": 1}


def test_three_examples_of_each_reason_are_kept():
    pairs = [(f"{n}" * 150, f"{n}" * 150) for n in range(9)]
    _, report = clean(*pairs)
    assert report.dropped == {"untranslated": 9}
    assert report.examples == {
        "untranslated": [(f"{n}" * 150, f"{n}" * 150) for n in range(3)]
    }
    _, report = clean(("a" * 999, "a" * 999))
    assert report.examples["untranslated"] == [("a" * 200, "a" * 200)]


# overlap


def test_overlap_with_held_out_text_whatever_the_case():
    pairs = [("The Straße.", "x"), ("the STRASSE.", "y"), ("The road", "z")]
    rows, report = clean(*pairs, held_out=["THE STRASSE.", "z"])
    assert rows == [("The road", "z")]
    assert report.dropped == {"in the validation or test text": 2}
    rows, _ = clean(*pairs, held_out=["THE STRASSE."], overlap=False)
    assert rows == pairs


def test_overlap_is_seen_after_mending():
    rows, _ = clean(
        (" e\u0301\0&amp; ", "x"),
        held_out=["É &"],
        unicode="NFC",
        unescape=True,
    )
    assert rows == []


# script


@pytest.mark.parametrize(
    ("language", "right", "wrong"),
    [
        ("en", ["naïve", "cœur", "Tiếng Việt", "ＡＢＣ"], ["привет", "漢字"]),
        ("ru", ["Привет", "Ура, Bob!"], ["Hello", "é", "漢字"]),
        ("zh", ["汉字，好。", "漢字AB"], ["ひらがな", "Hello", "안녕"]),
        ("zh-TW", ["漢字"], ["ㄅㄆㄇㄈ", "abc"]),
        ("ja", ["ひらがな", "ラーメン", "漢字", "人々"], ["Hello", "안녕"]),
        ("ko", ["안녕", "漢字"], ["ひらがな", "Hello"]),
        ("ar", ["مرحبا", "۱۲۳ سلام"], ["Hello", "שלום"]),
        ("he", ["שלום"], ["Hello", "مرحبا"]),
        ("hi", ["नमस्ते"], ["Hello"]),
        ("el", ["Ελλάδα"], ["Hello", "Привет"]),
        ("sr-Latn", ["Zdravo"], ["Здраво"]),
        ("sr", ["Здраво"], ["Zdravo"]),
        ("EN_us", ["Hello"], ["Привет"]),
    ],
)
def test_script(language, right, wrong):
    is_wrong = script_of(language)
    assert [s for s in right if is_wrong(s)] == []
    assert [s for s in wrong if not is_wrong(s)] == []


@pytest.mark.parametrize("language", ["en", "ru", "zh", "ar"])
def test_sentences_without_letters_are_of_any_script(language):
    is_wrong = script_of(language)
    assert not any(map(is_wrong, ["", "123", "… — !", "😀", "½", "٣"]))


def test_a_fifth_of_the_letters_is_enough():
    is_wrong = script_of("zh")
    assert [is_wrong(s) for s in ("我 Anna", "我 Robert")] == [False, True]
    is_wrong = script_of("en")
    assert [is_wrong(s) for s in ("a это", "a привет")] == [False, True]


def test_each_side_has_its_script():
    pairs = [("one", "один"), ("один", "one"), ("one", "one!"), ("2", "2!")]
    rows, report = clean(*pairs, languages=("en", "ru"))
    assert rows == [("one", "один"), ("2", "2!")]
    assert report.dropped == {"wrong script": 2}
    assert report.examples["wrong script"][0] == ("один", "one")
    assert clean(*pairs, languages=("en", "ru"), script=False)[0] == pairs
    assert clean(*pairs)[0] == pairs


@pytest.mark.parametrize(
    "foreign",
    [
        "привет",
        "漢字",
        "안녕",
        "Ελλ",
        "שלום",
        "ሰላም",
        "𐌰𐌱",
        pytest.param("ⵜⴰⵎⴰⵣⵉⵖⵜ"),
    ],
)
def test_one_foreign_sentence_among_latin_ones(foreign):
    pairs = [("one", "«uno» — ñ"), ("two", foreign), ("three", "tres")]
    rows, report = clean(*pairs, languages=("en", "es"))
    assert rows == [pairs[0], pairs[2]]
    assert report.dropped == {"wrong script": 1}


@pytest.mark.parametrize("language", ["xx", "english", "e", "", "en,es"])
def test_an_unknown_language(language):
    with pytest.raises(InputError, match=r"data\.languages: .*no language"):
        Cleaner(CleaningConfig(), ("en", language))
    Cleaner(CleaningConfig(script=False), ("en", language))


@pytest.mark.parametrize("language", ["zh-Hanb", "ur-Aran", "de-Latf"])
def test_scripts_that_unicode_has_no_property_for(language):
    script_of(language)


@pytest.mark.parametrize("language", ["und", "mul", "zxx", "qaa"])
def test_codes_that_say_nothing_drop_nothing(language):
    try:
        is_wrong = script_of(language)
    except InputError:
        return
    assert not is_wrong("привет")


def test_the_long_vowel_of_japanese():
    assert not script_of("ja")("えーー")


# Duplicates


def known_by_set(batches):
    seen = set()
    for batch in batches:
        flags = []
        for key in batch.tolist():
            flags.append(key in seen)
            seen.add(key)
        yield flags


@pytest.mark.parametrize("numbers", [10, 1000, 1 << 40])
def test_known_pairs_agree_with_a_set(numbers):
    random = np.random.default_rng(1)
    sizes = random.integers(0, 200, 100)
    batches = [random.integers(-numbers, numbers, size) for size in sizes]
    known = KnownPairs()
    flags = [known.add(batch).tolist() for batch in batches]
    assert flags == list(known_by_set(batches))
    # Each array is at least twice as long as the next: few to search.
    lengths = [len(run) for run in known._runs]
    assert all(a >= 2 * b for a, b in itertools.pairwise(lengths))


def test_known_pairs_hold_extreme_keys():
    known = KnownPairs()
    ends = np.array([np.iinfo(np.int64).max, np.iinfo(np.int64).min, -1, 0])
    assert not known.add(ends).any()
    assert known.add(ends[::-1]).all()
    assert known.add(np.array([1, 1, 0])).tolist() == [False, True, True]


def test_beyond_the_limit_pairs_are_forgotten_but_none_is_made_up():
    random = np.random.default_rng(2)
    batches = [random.integers(0, 5000, 50) for _ in range(200)]
    known = KnownPairs(limit=300)
    found = 0
    for batch, right in zip(batches, known_by_set(batches), strict=True):
        flags = known.add(batch)
        assert not (flags & ~np.array(right)).any()
        assert known.add(batch[~flags]).all()  # the newest are remembered
        assert sum(map(len, known._runs)) <= 300 + 50
        found += flags.sum()
    assert found > 100


def test_keys_of_pairs():
    pairs = [("a", "b"), ("b", "a"), ("ab", ""), ("", "ab"), ("a", "b")]
    keys = pair_keys(*map(list, zip(*pairs, strict=True)))
    assert keys.dtype == np.int64
    assert len(set(keys.tolist())) == 4
    assert keys[0] == keys[4]
    many = pair_keys([f"{n}" for n in range(99_999)], ["é"] * 99_999)
    assert len(set(many.tolist())) == 99_999
    assert len(pair_keys([], [])) == 0


# The report


def test_reports_add_up_and_go_through_json():
    first, second = CorpusReport("a", read=3), CorpusReport("b", read=1000)
    first.kept = 1
    first.drop("x", ("1", "1"))
    first.drop("x", ("2", "2"))
    for _ in range(5):
        second.drop("x", ("3", "3"))
    second.drop("y", ("4", "4"))
    second.changed["mended"] = 2
    second.escaped = 7
    report = SplitReport("train", [first, second])
    assert report.total().dropped == {"x": 7, "y": 1}
    assert report.total().examples == {
        "x": [("1", "1"), ("2", "2"), ("3", "3")],
        "y": [("4", "4")],
    }
    assert str(report) == "train: 1 of 1,003 pairs kept; 7 x; 1 y; 2 mended"
    assert first.dropped == {"x": 2}
    assert SplitReport.from_json(report.to_json()) == report
    alone = SplitReport("valid", [first])
    again = SplitReport.from_json(alone.to_json())
    assert again.total() == alone.total()
