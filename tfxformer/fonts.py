"""Fonts that can write what a picture has to say, in any script."""

import logging
import unicodedata
from collections.abc import Iterable

DEFAULT_FAMILY = "DejaVu Sans"  # comes with matplotlib

logger = logging.getLogger("tfxformer")


def font_families(texts: Iterable[str]) -> list[str]:
    """Finds fonts of this machine that together have all characters.

    Args:
        texts: iterable of strings.

    Returns:
        list of font families, for matplotlib to look into one after the
        other. Where none has a character, a warning says what to install.
    """
    from matplotlib import font_manager, ft2font

    def characters_of(path: str) -> set[int]:
        try:
            return set(ft2font.FT2Font(path).get_charmap())
        except (OSError, RuntimeError):  # bitmaps, damaged files
            return set()

    families = [DEFAULT_FAMILY]
    default = font_manager.findfont(DEFAULT_FAMILY)
    missing = {
        ord(character)
        for text in texts
        for character in text
        if not unicodedata.category(character).startswith("C")
    } - characters_of(default)
    if not missing:
        return families
    manager = font_manager.fontManager
    known = {entry.fname for entry in manager.ttflist}
    for path in font_manager.findSystemFonts():
        if path not in known:  # installed since matplotlib looked
            try:
                manager.addfont(path)
            except (OSError, RuntimeError):
                continue
    # Regular faces first; Noto's look alike in all scripts.
    entries = sorted(
        manager.ttflist,
        key=lambda entry: (
            entry.style != "normal",
            abs(_weight(entry.weight) - 400),
            not entry.name.startswith("Noto Sans"),
            entry.name,
        ),
    )
    for entry in entries:
        if entry.name in families or "LastResort" in entry.fname:
            continue  # the last resort has a box for everything
        covered = missing & characters_of(entry.fname)
        if covered:
            families.append(entry.name)
            missing -= covered
    if missing:
        some = "".join(map(chr, sorted(missing)[:8]))
        logger.warning(
            "no font here has %s: install one, such as %s",
            some,
            " and ".join(sorted({_package(chr(code)) for code in missing})),
        )
    return families


def _weight(weight: int | str) -> int:
    from matplotlib import font_manager

    if isinstance(weight, int):
        return weight
    return font_manager.weight_dict.get(weight, 400)


def _package(character: str) -> str:
    """The Debian package of a font that has the character."""
    name = unicodedata.name(character, "")
    if name.startswith(("CJK", "HIRAGANA", "KATAKANA", "HANGUL", "FULLWIDTH")):
        return "fonts-noto-cjk"
    if unicodedata.category(character) == "So":
        return "fonts-noto-color-emoji or fonts-symbola"
    return "fonts-noto-core"
