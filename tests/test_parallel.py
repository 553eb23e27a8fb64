"""Work in several processes: in order, and nothing is left of it."""

import multiprocessing
import time

import pytest

from tfxformer import InputError
from training.parallel import ordered_map


def double(number):
    if number == 40:
        raise InputError("forty is too much")
    time.sleep(0.01 * (number % 3))
    return 2 * number


def numbers(most, taken):
    for number in range(most):
        taken.append(number)
        yield number


@pytest.mark.parametrize("most", [0, 1, 16, 17, 39])
def test_results_come_in_order(most):
    assert list(ordered_map(double, range(most))) == list(range(0, 2 * most, 2))
    assert multiprocessing.active_children() == []


def test_an_error_in_another_process():
    results = ordered_map(double, range(99))
    with pytest.raises(InputError, match="forty is too much"):
        for expected, result in enumerate(results):
            assert result == 2 * expected
    assert expected == 39
    assert multiprocessing.active_children() == []


def test_an_end_before_all_is_done():
    taken = []
    results = ordered_map(double, numbers(10_000, taken))
    assert [next(results) for _ in range(20)] == list(range(0, 40, 2))
    assert len(taken) < 99
    assert multiprocessing.active_children() != []
    results.close()
    assert multiprocessing.active_children() == []


def test_an_error_of_the_items():
    def items():
        yield from range(30)
        raise InputError("a.en:31: not UTF-8")

    with pytest.raises(InputError, match="not UTF-8"):
        list(ordered_map(double, items()))
    assert multiprocessing.active_children() == []
