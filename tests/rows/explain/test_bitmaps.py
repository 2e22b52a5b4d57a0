"""What bits say of columns."""

from __future__ import annotations

import pytest

from binlogkit.constants import ColumnType
from binlogkit.rows.explain.columns import bitmap_details
from binlogkit.rows.schema import Column

COLUMNS = [Column(i, f"@{i + 1}", ColumnType.LONG, b"", "int") for i in range(10)]


@pytest.mark.parametrize("lowest_first", [True, False])
def test_each_column_has_its_bit(lowest_first: bool) -> None:
    bits = [1, 0, 1, 1, 0, 0, 0, 1, 0, 1, 0, 1, 0, 0, 0, 0]
    inside = bits if lowest_first else [*bits[7::-1], *bits[:7:-1]]
    data = bytes(sum(bit << i for i, bit in enumerate(inside[at : at + 8])) for at in (0, 8))
    found = bitmap_details(data, COLUMNS, ("unset", "set"), lowest_first=lowest_first)
    assert [one.value for one in found[:10]] == bits[:10]
    assert found[9].meaning == "@10: set" and found[8].meaning == "@9: unset"
    beyond = found[10]
    assert (beyond.name, beyond.value) == ("bits 10-15", "010000")
    assert len(bitmap_details(data[:1] + b"\0", COLUMNS, ("", ""), lowest_first=True)) == 10
