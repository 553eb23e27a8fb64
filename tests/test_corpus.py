"""What the command shows of a recipe's text, and when it warns."""

import io
import itertools
import random
import re
import unicodedata

import numpy as np
import pytest
from conftest import call

from tfxformer.tokenizer import Tokenizer
from training import corpus, trouble
from training.phrasebook import generate
from training.summary import share, shorten
from training.trouble import Signs

RECIPE = """
name: toy
data:
  train: [{tsv: train.tsv}]
  valid: [{tsv: valid.tsv}]
tokenizer: {vocabulary_size: 360, model_type: bpe}
"""
PAIRS = generate("test", 300)
HELD_OUT = generate("valid", 120)


def write(folder, name, pairs):
    rows = "".join("\t".join(pair) + "\n" for pair in pairs)
    (folder / name).write_text(rows, encoding="utf-8")


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "recipe.yaml").write_text(RECIPE, encoding="utf-8")
    write(tmp_path, "train.tsv", PAIRS)
    write(tmp_path, "valid.tsv", HELD_OUT)
    return tmp_path


def show(folder, *arguments):
    """The lines that the command prints; it must succeed."""
    result = call("training.corpus", "recipe.yaml", *arguments, cwd=folder)
    assert result.returncode == 0, result.stderr.decode()
    return result.stdout.decode().splitlines()


def warnings(lines):
    """Each line of the last section as a whole."""
    start = next(i for i, ln in enumerate(lines) if ln.startswith("Likely"))
    text = "\n".join(lines[start + 1 :]).replace("\n  ", " ")
    return text.split("\n") if text else []


def others(lines):
    return [line for line in warnings(lines) if "few pairs" not in line]


def inside(folder):
    return sorted(str(p.relative_to(folder)) for p in folder.rglob("*"))


def test_what_is_dropped_is_counted_and_shown(folder):
    source, target = PAIRS[0]
    pairs = [
        *PAIRS,
        *[(source, target)] * 4,
        ("OK.", "OK."),
        ("Nothing.", ""),
        ("lonely",),
        ("Да, это так.", "Sí, así es."),
        (HELD_OUT[5][0], "otra cosa"),
        ("tab", "with\x07bell"),
        ("word " * 300, "palabra " * 300),
    ]
    write(folder, "train.tsv", pairs)
    lines = show(folder, "data.languages=[en, es]")
    start = lines.index("train (tsv: train.tsv)")
    section = lines[start : lines.index("", start)]
    assert section[1] == "  311 pairs read, 301 kept (96.8%)"
    heads = {line for line in section if re.match("  [dc]", line)}
    assert heads == {
        "  dropped 4 (1.3%): duplicate",
        "  dropped 1 (0.3%): untranslated",
        "  dropped 1 (0.3%): empty on a side",
        "  dropped 1 (0.3%): missing column",
        "  dropped 1 (0.3%): wrong script",
        "  dropped 1 (0.3%): in the validation or test text",
        "  dropped 1 (0.3%): too long",
        "  changed 1 (0.3%): without control characters",
    }
    example = f"    {source[:33]}... | {target[:33]}..."
    assert section.count(example) == 3  # of four
    assert "    Да, это так. | Sí, así es." in section
    assert "    lonely |" in section
    assert "1 pairs (0.3%) are longer than data.max_length=128" in lines
    assert lines[lines.index("valid (tsv: valid.tsv)") + 1] == (
        "  120 pairs read, 120 kept (100.0%)"
    )


def test_each_of_several_sources_has_its_own_counts(folder):
    write(folder, "a.tsv", [*PAIRS, PAIRS[0]])
    write(folder, "b.tsv", [("So.", "So."), *HELD_OUT[:7]])
    write(folder, "c.tsv", [("word " * 300, "palabra " * 300), *HELD_OUT[:3]])
    lines = show(
        folder,
        "data.train=[{tsv: a.tsv}, {tsv: b.tsv}]",
        "data.valid=[{tsv: c.tsv}, {tsv: valid.tsv}]",
        "data.cleaning.overlap=false",
    )
    text = "\n".join(lines)
    assert (
        "train\n  309 pairs read, 307 kept (99.4%)\n"
        "  tsv: a.tsv\n    301 pairs read, 300 kept (99.7%)\n"
        "    dropped 1 (0.3%): duplicate\n"
    ) in text
    assert (
        "  tsv: b.tsv\n    8 pairs read, 7 kept (87.5%)\n"
        "    dropped 1 (12.5%): untranslated\n      So. | So.\n"
    ) in text
    # Not to the last one: the pair that is too long is of the first.
    assert (
        "valid\n  124 pairs read, 123 kept (99.2%)\n"
        "  tsv: c.tsv\n    4 pairs read, 3 kept (75.0%)\n"
        "    dropped 1 (25.0%): too long\n"
    ) in text
    assert "  tsv: valid.tsv\n    120 pairs read, 120 kept (100.0%)\n" in text


def test_lengths_are_those_of_the_tokenizer(folder):
    lines = show(folder, "data.max_length=25")
    tokenizer = Tokenizer.train(
        (sentence for pair in PAIRS for sentence in pair), 360, "bpe"
    )
    lengths = np.array(
        [[len(ids) for ids in tokenizer.tokenize(list(pair))] for pair in PAIRS]
    )
    kept = lengths[lengths.max(axis=1) <= 25]
    assert 0 < len(kept) < len(lengths)
    for side, name in enumerate(("source", "target")):
        row = next(ln for ln in lines if ln.startswith(f"  train {name}"))
        mean, middle, many, most, longest, tokens = row.split()[2:]
        column = lengths[:, side]
        assert float(mean) == pytest.approx(column.mean(), abs=0.051)
        for shown, percent in ((middle, 50), (many, 90), (most, 99)):
            expected = np.percentile(column, percent)
            assert float(shown) == pytest.approx(expected, abs=0.51)
        assert int(longest) == column.max()
        assert int(tokens.replace(",", "")) == kept[:, side].sum()
    beyond = len(lengths) - len(kept)
    assert any(ln.startswith(f"{beyond} pairs (") for ln in lines)


def test_the_histogram_counts_every_sentence(folder):
    write(folder, "train.tsv", [*PAIRS, ("long " * 90, "largo " * 90)])
    lines = show(folder)
    start = next(i for i, ln in enumerate(lines) if "pieces  source" in ln)
    rows = []
    for line in lines[start + 1 :]:
        cells = re.match(r"( *(?:over )?[\d-]+)  ([# ]{20}) +(\d+)", line)
        if not cells:
            break
        rows.append((cells[1].strip(), cells[2].count("#"), int(cells[3])))
    assert rows[-1][0].startswith("over")
    assert rows[-1][2] >= 1
    assert sum(count for *_, count in rows) == 301
    label, bar, count = max(rows, key=lambda row: row[2])
    first, last = map(int, label.split("-"))
    assert bar >= 15
    tokenizer = Tokenizer.train(
        (s for p in [*PAIRS, ("long " * 90, "largo " * 90)] for s in p),
        360,
        "bpe",
    )
    lengths = list(map(len, tokenizer.tokenize([s for s, _ in PAIRS])))
    assert sum(first <= length <= last for length in lengths) == count
    for _, bar, count in rows:
        assert (bar > 0) == (count > 0)


@pytest.mark.parametrize(
    ("number", "rows"),
    [(0, []), (1, [0]), (4, [0, 99, 199, 299]), (300, range(300))],
)
def test_samples_come_evenly(folder, number, rows):
    lines = show(folder, "--samples", number)
    shown = [""]
    if number:
        start = lines.index("Samples of the training text") + 1
        shown = lines[start : lines.index("", start)]
    else:
        assert "Samples of the training text" not in lines
        shown = []
    expected = []
    for row in rows:
        source, target = PAIRS[row]
        expected += [f"  {shorten(source, 78)}", f"    {shorten(target, 76)}"]
    assert shown == expected


def test_a_percentage_is_never_rounded_to_all_or_nothing():
    counts = [0, 1, 50, 1499, 99_999, 100_000]
    assert [share(count, 100_000) for count in counts] == [
        "0.0%",
        "under 0.1%",
        "under 0.1%",
        "1.5%",
        "over 99.9%",
        "100.0%",
    ]
    assert share(0, 0) == "0.0%"


def test_validation_text_may_be_lopsided(folder):
    lopsided = ("So.", "y no " * 20)
    write(folder, "train.tsv", [*PAIRS, lopsided])
    write(folder, "valid.tsv", [*HELD_OUT, ("O.", "y no " * 20)])
    lines = show(folder, "data.cleaning.max_ratio=5")
    assert "  301 pairs read, 300 kept (99.7%)" in lines
    assert "  dropped 1 (0.3%): length ratio" in lines
    assert "  121 pairs read, 121 kept (100.0%)" in lines


def test_lines_fit_a_terminal_and_do_nothing_to_it(folder):
    chinese = "我们的语言很长" * 30
    write(
        folder,
        "train.tsv",
        [(chinese, "a\x1b[31m" * 40), ("Да " * 50, "no " * 50), *PAIRS],
    )
    lines = show(
        folder,
        "data.languages=[en, es]",
        "--samples",
        "300",
        "data.cleaning.control_characters=false",
    )
    assert any("我们的" in line for line in lines)
    for line in lines:
        wide = sum(unicodedata.east_asian_width(c) in "WF" for c in line)
        assert len(line) + wide <= 80
        assert line.isprintable()


def test_nothing_is_wrong_with_good_text(folder, monkeypatch):
    monkeypatch.setattr(trouble, "FEW_TRAINING_PAIRS", 300)
    lines = show(folder, "data.languages=[en, es]", "data.test=[]")
    assert lines[-1] == "Likely trouble: none found"


def test_few_pairs(folder):
    write(folder, "valid.tsv", HELD_OUT[:99])
    lines = warnings(show(folder, "data.test=[{phrasebook: valid}]"))
    assert [line[:29] for line in lines] == [
        "- train: few pairs (300); tex",
        "- valid: few pairs (99); what",
    ]


def tokenized(sentence):
    return re.sub(r"([,.?!])", r" \1", sentence)


def on_target(change, every=1):
    return [
        (source, change(target) if row % every == 0 else target)
        for row, (source, target) in enumerate(PAIRS)
    ]


def shuffled(pairs):
    targets = [target for _, target in pairs]
    random.Random(3).shuffle(targets)
    return list(zip((source for source, _ in pairs), targets, strict=True))


SHIFTED = [
    (source, target) for (source, _), (_, target) in itertools.pairwise(PAIRS)
]
CASES = {
    "escaped": (
        on_target(lambda s: f"{s} &quot;", every=10),
        r"30 of 300 pairs \(10.0%\) look escaped .*unescape=true",
    ),
    "tokenized": (
        on_target(tokenized),
        r"(\d+) of \1 target sentences with , \. or \? \(100.0%\)",
    ),
    "tokenized source": (
        [(tokenized(source), target) for source, target in PAIRS],
        r"(\d+) of \1 source sentences with",
    ),
    "joiners": (
        on_target(lambda s: s.replace(" ", " @-@ ", 1), every=100),
        r"3 of 300 pairs \(1.0%\) hold joiners .* such as '@-@'",
    ),
    "subwords": (
        on_target(lambda s: s[:1] + "@@ " + s[1:], every=10),
        r"30 of 300 pairs \(10.0%\) hold marks of subwords",
    ),
    "pieces": (
        on_target(lambda s: "\u2581" + s.replace(" ", " \u2581")),
        r"300 of 300 pairs \(100.0%\) hold marks of subwords",
    ),
    "mojibake": (
        on_target(lambda s: f"{s} Ã©l", every=150),
        r"2 of 300 pairs \(0.7%\) hold characters of a wrong encoding, such "
        "as 'Ã©'",
    ),
    "shifted": (SHIFTED, r"lengths .* hardly correlate \(-?0.[0-3]\d over 299"),
    "shuffled": (
        shuffled(PAIRS),
        r"lengths .* hardly correlate \(-?0.[0-3]\d over 300",
    ),
    "repeated": (
        [*PAIRS, *PAIRS[:100]],
        r"100 of 400 pairs \(25.0%\) were there before; is the same",
    ),
    "leaking": (
        [*PAIRS, *HELD_OUT[:30]],
        r"30 pairs whose source is in data.valid .*\(120 sentences\) drop out",
    ),
    "a language for another": (
        [*PAIRS, *[("Это так и есть.", f"Es así {n}.") for n in range(60)]],
        r"60 of 360 pairs \(16.7%\) are not in .* en and es; check data.lang",
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_trouble_is_told_and_nothing_else(folder, case):
    pairs, expected = CASES[case]
    write(folder, "train.tsv", pairs)
    (line,) = others(show(folder, "data.languages=[en, es]"))
    assert line.startswith("- train: ")
    assert re.search(expected, line), line


LITTLE = {
    "some tokenized": on_target(tokenized, every=4),
    "some repeated": [*PAIRS, *PAIRS[:70]],
    "some in the validation text": [*PAIRS, *HELD_OUT[:11]],
    "a few in another script": [
        *PAIRS,
        *[("Это так и есть.", f"Es así {n}.") for n in range(30)],
    ],
    "too few to tell whether they belong together": shuffled(PAIRS[:99]),
}


@pytest.mark.parametrize("case", LITTLE)
def test_a_little_is_no_trouble(folder, case):
    write(folder, "train.tsv", LITTLE[case])
    arguments = ["data.languages=[en, es]", "tokenizer.vocabulary_size=320"]
    assert others(show(folder, *arguments)) == []


def test_rules_that_are_off(folder):
    write(folder, "train.tsv", [*PAIRS, *PAIRS[:100], *HELD_OUT[:3]])
    lines = others(
        show(
            folder,
            "data.cleaning.duplicates=false",
            "data.cleaning.overlap=false",
        )
    )
    assert len(lines) == 2
    assert "100 of 403 pairs (24.8%) were there before" in lines[0]
    assert "data.cleaning.duplicates=true drops them" in lines[0]
    assert "the source of 3 of 403 pairs (0.7%) is also in" in lines[1]


def test_swapped_sides(folder):
    chinese = [
        (source, "我们的语言" * (len(source) // 9)) for source, _ in PAIRS
    ]
    swapped = [pair[::-1] for pair in chinese[:100]]
    write(folder, "train.tsv", swapped + chinese[100:])
    (line,) = others(show(folder, "data.languages=[en, zh]"))
    assert "100 of 300 pairs (33.3%) are not in the scripts of en and" in line
    assert "look swapped" in line
    back = [pair[::-1] for pair in swapped + chinese[100:]]
    write(folder, "train.tsv", back)
    reverse = ("data.languages=[en, zh]", "data.reverse=true")
    (line,) = others(show(folder, *reverse))
    assert "200 of 300 pairs" in line
    assert "look swapped" in line


def test_trouble_names_the_source_and_the_split(folder):
    write(folder, "bad.tsv", shuffled(HELD_OUT))
    lines = others(
        show(
            folder,
            "data.train=[{tsv: train.tsv}, {tsv: bad.tsv}]",
            "data.valid=[{tsv: bad.tsv}]",
            "data.cleaning.overlap=false",
        )
    )
    starts = [line.split(": the lengths")[0] for line in lines[:2]]
    assert starts == ["- train, tsv: bad.tsv", "- valid"]


@pytest.mark.parametrize(
    "text",
    ["l'Ã©tÃ©", "Itâ€™s", "a \ufffd b", "Â¿QuÃ©?", "ÐŸÑ€Ð¸Ð²ÐµÑ‚", "ä½ å¥½å—Ž"],
)
def test_a_wrong_encoding(text):
    signs = Signs()
    signs.add("good", text)
    signs.add(text, "good")
    signs.add("good", "good")
    assert signs.found[0] == 2


@pytest.mark.parametrize(
    "text",
    [
        "NÃO, IRMÃ: não é «Ãh»",
        "„Viel Spaß“, „Äh“ und ÄÖÜ",
        "« À côté », été à Â",
        "IRMÃ» É»",
        "Привет, 你好, Γειά, đâ “vâ”, â€",
        "it’s 5 € – “naïve” café…",
    ],
)
def test_a_right_encoding(text):
    signs = Signs()
    signs.add(text, text)
    assert signs.found == [0, 0, 0]


def test_correlation_is_pearsons_of_logarithms():
    random_lengths = np.random.default_rng(1).integers(1, 90, (200, 2))
    signs = Signs()
    for source, target in random_lengths.tolist():
        signs.add("a" * source, "b" * target)
    logs = np.log(random_lengths)
    logs = (logs - logs.mean(axis=0)) / logs.std(axis=0)
    assert signs.correlation() == pytest.approx(
        (logs[:, 0] * logs[:, 1]).mean()
    )
    alike = Signs()
    for row in range(200):
        alike.add("a" * (20 + row % 3), "b" * (20 + row % 7))
    assert alike.correlation() is None


RED = 0xD62728


def pixels(path):
    """The colours of a PNG file, a number each."""
    from PIL import Image

    with Image.open(io.BytesIO(path.read_bytes())) as picture:
        assert picture.format == "PNG"
        colours = np.asarray(picture.convert("RGB")).astype(int)
    return colours @ (1 << 16, 1 << 8, 1)


def test_the_picture(folder):
    def draw(name, *arguments):
        show(folder, "--picture", name, *arguments)
        return pixels(folder / name)

    near = draw("near.png", "data.max_length=30")
    height, width = near.shape
    assert width > 1000
    margin = near[:, :3], near[:, -3:], near[:3], near[-3:]
    assert all((part == 0xFFFFFF).all() for part in margin)  # nothing cut off
    for half in (near[:, : width // 2], near[:, width // 2 :]):
        assert len(np.unique(half)) > 20
    ratio = draw("ratio.png", "data.max_length=30", "data.cleaning.max_ratio=2")
    left = np.s_[height // 10 :, : width // 2 - 20]
    right = np.s_[height // 10 :, width // 2 :]
    assert (ratio[left] == near[left]).all()
    assert (ratio[right] != near[right]).any()
    none = "data.cleaning.max_ratio=null"
    plain = draw("plain.png", "data.max_length=30", none)
    assert (near == RED).sum() > 50 > (plain == RED).sum()
    far = draw("far.png", "data.max_length=500")
    dark = [(half[left] == 0).mean(axis=0) for half in (near, far)]
    # A dashed line more than the frame has.
    assert (dark[0] > 0.4).sum() > (dark[1] > 0.4).sum() > 0
    assert (far[left] != near[left]).any()


@pytest.mark.parametrize("max_length", [1, 5])
def test_a_picture_of_text_that_is_too_long(folder, max_length):
    from training.config import read_recipe
    from training.pictures import draw_lengths

    recipe = read_recipe(
        str(folder / "recipe.yaml"), [f"data.max_length={max_length}"]
    )
    lengths = np.full((3, 2), 40, np.int32)
    draw_lengths(lengths, recipe, str(folder / "long.png"))
    assert len(np.unique(pixels(folder / "long.png"))) > 20


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["data.max_lenght=3"], "did you mean max_length?"),
        (["data.train=[{tsv: none.tsv}]"], "none.tsv: No such file"),
        (["data.languages=[en, xx1]"], "xx1 is no language code"),
        (["data.languages=[ru, zh]"], "300 wrong script"),
        (["tokenizer.vocabulary_size=90000"], "tokenizer.vocabulary_size"),
        (["--samples", "-1"], "--samples must be 0 or more"),
        (["--picture", "none/p.png"], "--picture none/p.png"),
        (["--picture", "."], "--picture ."),
    ],
)
@pytest.mark.parametrize("memory", [1 << 26, 100])
def test_bad_input(folder, monkeypatch, memory, arguments, message):
    monkeypatch.setattr(corpus, "IN_MEMORY_BYTES", memory)
    before = inside(folder)
    result = call("training.corpus", "recipe.yaml", *arguments, cwd=folder)
    assert result.returncode == 2
    assert result.stdout == b""
    *_, last = lines = result.stderr.decode().splitlines()
    assert last.startswith("corpus: error: ")
    assert message in last
    assert sum("error" in line for line in lines) == 1
    assert inside(folder) == before


def test_long_text_goes_to_disk_and_nothing_is_left(folder, monkeypatch):
    before = inside(folder)
    expected = show(folder, "data.prepared=a/b")
    assert inside(folder) == before
    seen = []

    def train_tokenizers(recipe, spool):
        seen.extend(inside(folder))
        assert spool.on_disk
        return original(recipe, spool)

    original = corpus.train_tokenizers
    monkeypatch.setattr(corpus, "IN_MEMORY_BYTES", 100)
    monkeypatch.setattr(corpus, "train_tokenizers", train_tokenizers)
    assert show(folder, "data.prepared=a/b") == expected
    assert "a/b/toy.inspected/clean.tsv" in seen
    assert inside(folder) == before


def test_the_folder_of_a_training_run_stays(folder, monkeypatch):
    other = folder / "prepared" / "0123456789abcdef"
    other.mkdir(parents=True)
    monkeypatch.setattr(corpus, "IN_MEMORY_BYTES", 100)
    before = inside(folder)
    show(folder)
    assert inside(folder) == before


def test_an_interruption_leaves_nothing(folder, monkeypatch):
    def train_tokenizers(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(corpus, "IN_MEMORY_BYTES", 100)
    monkeypatch.setattr(corpus, "train_tokenizers", train_tokenizers)
    before = inside(folder)
    result = call("training.corpus", "recipe.yaml", cwd=folder)
    assert result.returncode == 130
    assert result.stderr.decode().splitlines()[-1] == "corpus: interrupted"
    assert inside(folder) == before


def test_only_a_sample_is_examined(folder, monkeypatch):
    monkeypatch.setattr(corpus, "EXAMINED_PAIRS", 100)
    write(folder, "train.tsv", on_target(lambda s: f"{s} Ã©l", every=3))
    (line,) = others(show(folder))
    assert "100 of 100 pairs (100.0%) hold characters" in line
