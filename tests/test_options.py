"""Tests of the controls of the search."""

import dataclasses
import math
import subprocess
import sys

import pytest
from conftest import ROOT

from tfxformer import InputError, SearchOptions

SAMPLING = ["temperature", "top_k", "top_p", "seed"]
BEAM_SEARCH = [
    "length_penalty",
    "length_penalty_form",
    "coverage_penalty",
    "patience",
]


def test_the_default_is_greedy_search():
    options = SearchOptions()
    options.check()
    assert options.used() == set()
    assert options.num_rows == 1


@pytest.mark.parametrize(
    ("name", "bad", "good"),
    [
        ("beam_size", [0, -4], [1, 4]),
        ("n_best", [0, -1], [1]),
        ("length_penalty", [-0.1, 10.1, math.nan], [0, 0.6, 10]),
        ("length_penalty_form", ["wu", "", None], ["gnmt", "power"]),
        ("coverage_penalty", [-0.1, 1e30, math.nan], [0.0, 5.0]),
        ("patience", [0, -1, 1.01, math.nan], [None, 0.01, 1]),
        ("min_length", [-1], [0, 7]),
        ("min_length_ratio", [-0.1, math.inf, math.nan], [0, 2.5]),
        ("max_length", [0, -1], [None, 1, 7]),
        ("max_length_ratio", [0, -1.0, math.inf, math.nan], [None, 0.1, 3]),
        ("temperature", [0, -1.0, math.inf, math.nan], [0.01, 1, 100.0]),
        ("top_k", [-1], [0, 1, 10_000]),
        ("top_p", [0, 1.01, -0.5, math.nan], [0.01, 1]),
        ("seed", [2**31, -(2**31)], [0, -5, 2**31 - 1]),
        ("no_repeat_ngram", [-1], [0, 1, 3]),
        ("repetition_penalty", [0.99, 0, math.inf, math.nan], [1, 1.5]),
        ("blocked", ["<unk>"], [(), ("<unk>",)]),
        ("shortlist", ["a b"], [None, ("a b",)]),
    ],
)
def test_a_bad_value_is_named_with_its_option(name, bad, good):
    for value in bad:
        with pytest.raises(InputError) as error:
            SearchOptions(**{name: value}).check()
        assert str(error.value).startswith(f"{name} must be ")
        assert str(error.value).endswith(f"Received: {value}")
    context = {}  # in which the option means something
    if name in SAMPLING:
        context = {"sampling": True}
    elif name in BEAM_SEARCH:
        context = {"beam_size": 4}
    for value in good:
        SearchOptions(**{**context, name: value}).check()


@pytest.mark.parametrize("name", SAMPLING + BEAM_SEARCH)
def test_an_option_that_nothing_would_read_is_refused(name):
    value = {"length_penalty_form": "power", "top_p": 0.5, "patience": 0.5}
    options = {name: value.get(name, 3)}
    with pytest.raises(InputError, match=f"^{name} needs .*{name}=") as error:
        SearchOptions(**options).check()
    assert "sampling=False, beam_size=1" in str(error.value)
    # The other kind of search does not read it either.
    other = {"beam_size": 4} if name in SAMPLING else {"sampling": True}
    with pytest.raises(InputError, match=f"^{name} needs "):
        SearchOptions(**options, **other).check()


@pytest.mark.parametrize(
    "values",
    [
        {"sampling": True, "alternatives": True},
        {"sampling": True, "beam_size": 4},
        {"alternatives": True, "beam_size": 2},
        {"n_best": 2, "beam_size": 1},
        {"n_best": 5, "beam_size": 4},
        {"min_length": 6, "max_length": 5},
        {"min_length_ratio": 1.5, "max_length_ratio": 1.25},
    ],
    ids=" and ".join,
)
def test_options_that_contradict_each_other_are_both_named(values):
    for name, value in values.items():
        with pytest.raises(InputError) as error:
            SearchOptions(**values).check()
        assert name in str(error.value)
        if value is not True:
            assert f"{name}={value}" in str(error.value)


@pytest.mark.parametrize(
    "values",
    [
        {"n_best": 4, "beam_size": 4},
        {"n_best": 9, "sampling": True},
        {"n_best": 9, "alternatives": True},
        {"min_length": 5, "max_length": 5},
        {"min_length_ratio": 1.5, "max_length_ratio": 1.5},
    ],
    ids=" and ".join,
)
def test_options_that_go_together(values):
    options = SearchOptions(**values)
    options.check()
    assert options.used() == set(values)


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ({}, 1),
        ({"beam_size": 4, "n_best": 2}, 4),
        ({"sampling": True, "n_best": 3}, 3),
        ({"alternatives": True, "n_best": 5}, 5),
    ],
    ids=str,
)
def test_rows_that_are_decoded_side_by_side(values, expected):
    assert SearchOptions(**values).num_rows == expected


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ({}, (0, 57)),  # source + 50
        ({"max_length": 5}, (0, 5)),
        ({"max_length": 1000}, (0, 1000)),
        ({"max_length_ratio": 1.5}, (0, 11)),  # 10.5, rounded up
        ({"max_length_ratio": 0.01}, (0, 1)),
        ({"max_length": 9, "max_length_ratio": 2.0}, (0, 9)),
        ({"max_length": 99, "max_length_ratio": 2.0}, (0, 14)),
        ({"min_length": 4}, (4, 57)),
        ({"min_length_ratio": 0.5}, (4, 57)),  # 3.5, rounded up
        ({"min_length": 5, "min_length_ratio": 0.5}, (5, 57)),
        ({"min_length": 3, "min_length_ratio": 0.5}, (4, 57)),
        # Of contradictory limits the upper one holds.
        ({"min_length": 70}, (57, 57)),
        ({"min_length": 9, "max_length_ratio": 1.0}, (7, 7)),
        ({"min_length_ratio": 2.0, "max_length": 6}, (6, 6)),
    ],
    ids=str,
)
def test_limits_of_a_sentence_of_seven_tokens(values, expected):
    options = SearchOptions(**values)
    options.check()
    assert options.limits(7, max_extra=50) == expected


def test_options_cannot_change_and_can_be_compared():
    options = SearchOptions(beam_size=4, blocked=("<unk>",))
    with pytest.raises(dataclasses.FrozenInstanceError):
        options.beam_size = 5
    assert options == SearchOptions(beam_size=4, blocked=("<unk>",))
    assert len({options, SearchOptions(beam_size=4), SearchOptions()}) == 3


def test_every_option_is_described():
    for field in dataclasses.fields(SearchOptions):
        assert f"{field.name}: " in SearchOptions.__doc__


def test_options_need_no_tensorflow():
    code = (
        "import sys, tfxformer.options, tfxformer.host, tfxformer.alignment;"
        "assert not {'tensorflow', 'keras'} & set(sys.modules)"
    )
    subprocess.run([sys.executable, "-c", code], cwd=ROOT, check=True)
