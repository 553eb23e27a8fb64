"""Translation memories: TMX 1.4."""

from collections.abc import Iterator
from pathlib import Path
from xml.etree import ElementTree

from tfxformer.errors import InputError
from training.files import ReadProgress, open_binary
from training.report import CorpusReport, Pair

XML_LANGUAGE = "{http://www.w3.org/XML/1998/namespace}lang"
NATIVE_CODE = ("bpt", "ept", "it", "ph", "ut", "sub")  # TMX 1.4, Content Markup


def read_pairs(
    path: Path,
    languages: tuple[str, str],
    seen: set[str],
    report: CorpusReport,
    progress: ReadProgress,
) -> Iterator[Pair]:
    """Reads the units of a file one by one, so that memory stays flat.

    Args:
        path: path. TMX 1.4 in any encoding that expat knows.
        languages: tuple of two strings, source and target.
        seen: set, to which the languages of the file are added.
        report: counts units that are not in both languages.
        progress: a `ReadProgress`.

    Yields:
        Tuples (source sentence, target sentence).

    Raises:
        InputError: if it is no TMX, or not well-formed.
        OSError: if the file cannot be read.
    """
    with open_binary(path) as (file, raw):
        body: ElementTree.Element | None = None
        try:
            for event, element in ElementTree.iterparse(file, ("start", "end")):
                tag = _tag(element)
                if event == "start":
                    if body is None and tag != "tmx":
                        raise InputError(
                            f"{path}: not TMX: it starts with <{tag}>"
                        )
                    if tag in ("tmx", "body"):
                        body = element
                elif tag == "tu" and body is not None:
                    variants = _variants(element, seen)
                    pair = [_variant(variants, code) for code in languages]
                    if None in pair:
                        report.read += 1
                        some = next(iter(variants.values()), "")
                        report.drop("not in both languages", (some, ""))
                    else:
                        yield pair[0], pair[1]
                    body.clear()  # or the whole file piles up
                    progress.report(path, raw.tell())
        except InputError:
            raise
        # An unknown encoding is one of the latter two.
        except (
            ElementTree.ParseError,
            RecursionError,
            ValueError,
            LookupError,
        ) as error:
            raise InputError(f"{path}: not well-formed XML: {error}") from None


def _tag(element: ElementTree.Element) -> str:
    """The name of an element, without a namespace."""
    return str(element.tag).rpartition("}")[2]


def _variants(unit: ElementTree.Element, seen: set[str]) -> dict[str, str]:
    """The text of a unit by language, the first of each."""
    variants: dict[str, str] = {}
    for variant in unit.iter():
        if _tag(variant) != "tuv":
            continue
        code = variant.get(XML_LANGUAGE) or variant.get("lang") or ""
        segment = next((e for e in variant if _tag(e) == "seg"), None)
        seen.add(code)
        if segment is not None:
            code = code.lower().replace("_", "-")
            variants.setdefault(code, _segment_text(segment))
    return variants


def _variant(variants: dict[str, str], code: str) -> str | None:
    """The text in a language: `en` is also what `en-US` is."""
    code = code.lower().replace("_", "-")
    exact = variants.get(code)
    regional = (
        text for other, text in variants.items() if other.startswith(f"{code}-")
    )
    return exact if exact is not None else next(regional, None)


def _segment_text(segment: ElementTree.Element) -> str:
    """The text of a segment without the formatting inside it."""
    for element in list(segment.iter()):
        if _tag(element) in NATIVE_CODE:  # not <hi>, which marks up text
            tail = element.tail
            element.clear()
            element.tail = tail
    return "".join(segment.itertext())
