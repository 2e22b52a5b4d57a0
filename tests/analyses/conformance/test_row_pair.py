"""Which stored row a printed one can be."""

from __future__ import annotations

from dataclasses import replace

import pytest

from binlogkit.analyses.conformance.printed import PrintedCell, PrintedRow
from binlogkit.analyses.conformance.row_pair import as_printed, fits
from binlogkit.analyses.conformance.stored import stored_rows
from binlogkit.constants import ColumnType
from binlogkit.events.rows import RowsEvent
from binlogkit.events.table_map import TableMap

TABLE = TableMap(1, 0, "shop", "t", bytes([ColumnType.LONG, ColumnType.LONG]), b"", b"\3", None)
ONE = b"\1\0\0\0"
EVENT = RowsEvent(1, 0, "update", 2, b"\3", b"\3", None, b"\2" + ONE + b"\0" + ONE + ONE)
(STORED,) = stored_rows((4, -1), EVENT, TABLE)


def printed(op: str = "update", fault: str | None = None, **images: dict[int, bytes]) -> PrintedRow:
    """A row of these images (``before``, ``after``) by 0-based column."""
    row = PrintedRow((b"shop", b"t"), op, fault=fault)
    for which, image in images.items():
        setattr(row, which, {i: PrintedCell(i, token) for i, token in image.items()})
    return row


BEFORE, AFTER = {0: b"1", 1: b"NULL"}, {0: b"1", 1: b"7"}


def test_values_are_judged_elsewhere() -> None:
    """Only which columns there are, and which of them are NULL."""
    assert fits(printed(before=BEFORE, after=AFTER), STORED)
    assert fits(printed(before={0: b"8", 1: b"NULL"}, after=AFTER), STORED)


@pytest.mark.parametrize(
    "row",
    [
        printed("delete", before=BEFORE, after=AFTER),
        printed(before=BEFORE),
        printed(after=AFTER),
        printed(before=AFTER, after=AFTER),
        printed(before=BEFORE, after=BEFORE),
        printed(before=BEFORE, after={0: b"1"}),
        printed(before=BEFORE, after={**AFTER, 2: b"1"}),
    ],
)
def test_another_shape_is_another_row(row: PrintedRow) -> None:
    assert not fits(row, STORED)


def test_of_a_row_that_was_given_up_only_what_is_printed_counts() -> None:
    gone = "Corrupted"
    assert fits(printed(fault=gone), STORED)
    assert fits(printed(fault=gone, before={0: b"1"}), STORED)
    assert not fits(printed(fault=gone, before={0: b"NULL"}), STORED)
    assert not fits(printed(fault=gone, before={5: b"1"}), STORED)
    inserted = replace(STORED, op="insert", old=None)
    assert fits(as_printed(inserted), inserted)
