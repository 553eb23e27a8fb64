"""Lines within the limits of a model."""

import pytest

from tfxformer import InputError
from tfxformer.lines import decode_lines, one_line, tokenize_lines


class Letters:
    """A tokenizer with a piece for each letter."""

    def tokenize(self, texts):
        return [[*map(ord, text), 2] for text in texts]


@pytest.mark.parametrize(
    ("letters", "kept"), [(3, 3), (4, 4), (5, 4), (50, 4), (0, 0)]
)
def test_the_first_part_is_kept_with_its_end(caplog, letters, kept):
    lines = ["x", "a" * letters]
    ids = tokenize_lines(Letters(), lines, max_length=5, first_line=10)
    assert ids == [[ord("x"), 2], [*[ord("a")] * kept, 2]]
    warnings = [record.getMessage() for record in caplog.records]
    if letters > 4:
        assert len(warnings) == 1
        assert "line 11" in warnings[0]
        assert f"{letters + 1} pieces" in warnings[0]
        assert "takes 5" in warnings[0]
    else:
        assert warnings == []


def test_line_breaks_and_tabs_become_spaces():
    assert one_line("a\nb\rc\td\r\n") == "a b c d  "
    assert one_line("\u2028\x0c\x85") == "\u2028\x0c\x85"  # do not end a line


def test_decoding_names_the_line():
    good = [b"\xef\xbb\xbfa\r\n", b"\xc3\xa9 \xe2\x80\xa8\n", b"c"]
    assert list(decode_lines(good, "f")) == ["a", "é \u2028", "c"]
    with pytest.raises(InputError, match=r"^f:2: .* 0xff at byte 2"):
        list(decode_lines([b"a\n", b"b\xff\n"], "f"))
