"""Numbers of transactions are those of a set, whatever ranges they make."""

from __future__ import annotations

import numpy as np
import pytest

from binlogkit.analyses.point_in_time.transaction_numbers import TransactionNumbers

SETS = [set(), {0}, {3, 4, 5}, {5, 1, 2, 9, 10}, {7, 1 << 40}, set(range(100)) - {50}]


@pytest.mark.parametrize("numbers", SETS)
def test_they_are_those_of_a_set(numbers: set[int]) -> None:
    found = TransactionNumbers(numbers)
    assert [*found] == sorted(numbers) and len(found) == len(numbers)
    assert found.last == max(numbers, default=-1)
    asked = sorted({n + d for n in numbers for d in (-1, 0, 1)} | {0, 77})
    assert [n in found for n in asked] == [n in numbers for n in asked]
    assert [np.int64(n) in found for n in asked] == [n in numbers for n in asked]
    assert found.among(np.array(asked)).tolist() == [n in numbers for n in asked]
    assert None not in found


@pytest.mark.parametrize("one", SETS)
@pytest.mark.parametrize("other", SETS)
def test_they_are_compared_and_taken_from_one_another(one: set[int], other: set[int]) -> None:
    first, second = TransactionNumbers(np.array([*one, *one], np.int64)), TransactionNumbers(other)
    assert (first == second) == (one == other)
    assert first != second or hash(first) == hash(second)
    assert {*first.without(second)} == {*first.without(other)} == one - other


def test_consecutive_ones_take_one_range() -> None:
    assert len(TransactionNumbers(np.arange(10**6))._firsts) == 1
