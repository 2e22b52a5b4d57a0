"""Integers of events' fields: the forms at their limits, as the generator's own writer has them."""

from __future__ import annotations

import pytest

from binlogkit.analyses.conformance.field_forms import packed, packed_at, variable, variable_at
from binlogkit_fixtures.writer.packer import Packer
from binlogkit_fixtures.writer.varint import unsigned

EDGES = sorted({0, *(1 << bits for bits in range(64)), *((1 << bits) - 1 for bits in range(1, 65))})


@pytest.mark.parametrize(
    ("number", "stored"),
    [
        (0, "00"), (250, "FA"), (251, "FCFB00"), (65535, "FCFFFF"), (65536, "FD000001"),
        ((1 << 24) - 1, "FDFFFFFF"), (1 << 24, "FE0000000100000000"),
    ],
)  # fmt: skip
def test_packed(number: int, stored: str) -> None:
    assert packed(number).hex().upper() == stored
    assert packed_at(b"\xff" + packed(number), 1) == (number, 1 + len(stored) // 2)


def test_no_packed_integer() -> None:
    for number in (-1, 1 << 64):
        with pytest.raises(OverflowError):
            packed(number)


def test_variable_length() -> None:
    for number in EDGES:
        packer = Packer("GTID_TAGGED_LOG_EVENT")
        unsigned(packer, number, "number")
        assert variable(number) == packer.data
        assert variable_at(b"\0" + variable(number), 1) == (number, 1 + len(variable(number)))
