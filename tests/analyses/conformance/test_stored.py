"""The log's bytes, cut into cells: as many and as the text says, and no further than they go."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from binlogkit.analyses.conformance.mysqlbinlog_text import read_text
from binlogkit.analyses.conformance.printed import PrintedRow
from binlogkit.analyses.conformance.row_pair import fits
from binlogkit.analyses.conformance.stored import (
    StoredError,
    StoredLog,
    stored_rows,
    stored_types,
)
from binlogkit.analyses.conformance.stored_statement import StoredStatement
from binlogkit.constants import ColumnType as T
from binlogkit.events.rows import RowsEvent
from binlogkit.events.table_map import TableMap

KEY = (4, -1)


def bodies(case: Any) -> list[tuple[RowsEvent, TableMap]]:
    """The rows events of a log with their table maps."""
    maps: dict[int, TableMap] = {}
    found = []
    for event in case.stored():
        if isinstance(event.body, TableMap):
            maps[event.body.table_id] = event.body
        elif isinstance(event.body, RowsEvent):
            found.append((event.body, maps[event.body.table_id]))
    return found


@pytest.mark.parametrize(
    ("cell", "scenario"),
    [
        ("8.0-row-full", "transactions"),
        ("8.0-row-minimal-partial-json", "json"),
        ("8.0-row-compressed", "keys"),
        ("5.6-row-full", "keys"),
    ],
)
def test_rows_are_those_that_are_printed(
    golden_case: Callable[..., Any], cell: str, scenario: str
) -> None:
    case = golden_case(cell, scenario)
    stored = [row for event, table in bodies(case) for row in stored_rows(KEY, event, table)]
    printed = [row for row in read_text(case.lines()) if isinstance(row, PrintedRow)]
    assert len(stored) == len(printed) > 10
    assert all(fits(theirs, row) for theirs, row in zip(printed, stored, strict=True))


def test_a_row_without_columns(absent: Any) -> None:
    """``INSERT … VALUES ()`` with a minimal image has no byte."""
    rows = [list(stored_rows(KEY, *pair)) for pair in bodies(absent) if not pair[0].data]
    assert [[row.after for row in found] for found in rows] == [[{}]]


def test_images_end_where_their_event_ends(golden_case: Callable[..., Any]) -> None:
    for event, table in bodies(golden_case("8.0-row-full", "types"))[:40]:
        whole = len(list(stored_rows(KEY, event, table)))
        with pytest.raises(StoredError, match="past the end"):
            list(stored_rows(KEY, replace(event, data=event.data[:-1]), table))
        with pytest.raises(StoredError, match="past the end"):
            list(stored_rows(KEY, replace(event, data=event.data + b"\0"), table))
        assert whole


def test_a_table_map_of_another_table_is_refused(golden_case: Callable[..., Any]) -> None:
    event, table = bodies(golden_case("8.0-row-full", "keys"))[0]
    fewer = replace(table, types=table.types[:-1])
    with pytest.raises(StoredError, match="columns"):
        list(stored_rows(KEY, event, fewer))


@pytest.mark.parametrize(
    ("types", "metadata", "reason"),
    [
        (bytes([77]), b"", "column type 77"),
        (bytes([20]), b"", "TYPED_ARRAY"),
        (bytes([252]), b"", "ends too early"),
        (bytes([246]), bytes([2, 3]), "DECIMAL"),
    ],
)
def test_types_that_no_server_writes(types: bytes, metadata: bytes, reason: str) -> None:
    table = TableMap(1, 0, "d", "t", types, metadata, b"\0", None)
    with pytest.raises(StoredError, match=reason):
        stored_types(table)


@pytest.mark.parametrize(
    ("code", "metadata", "size", "prefixed"),
    [
        (T.TINY, "", 1, False), (T.SHORT, "", 2, False), (T.INT24, "", 3, False),
        (T.LONG, "", 4, False), (T.LONGLONG, "", 8, False), (T.YEAR, "", 1, False),
        (T.FLOAT, "04", 4, False), (T.DOUBLE, "08", 8, False), (T.NEWDECIMAL, "0A02", 5, False),
        (T.BIT, "0701", 2, False), (T.BIT, "0001", 1, False), (T.DATE, "", 3, False),
        (T.NEWDATE, "", 3, False), (T.TIME, "", 3, False), (T.DATETIME, "", 8, False),
        (T.TIMESTAMP, "", 4, False), (T.TIME2, "00", 3, False), (T.TIME2, "03", 5, False),
        (T.DATETIME2, "01", 6, False), (T.TIMESTAMP2, "06", 7, False), (T.NULL, "", 0, False),
        (T.VARCHAR, "FF00", 1, True), (T.VARCHAR, "0001", 2, True), (T.VAR_STRING, "0001", 2, True),
        (T.STRING, "FEFF", 1, True), (T.STRING, "EE00", 2, True), (T.STRING, "CEFC", 2, True),
        (T.STRING, "0005", 1, True), (T.STRING, "F702", 2, False), (T.STRING, "F808", 8, False),
        (T.TINY_BLOB, "01", 1, True), (T.BLOB, "02", 2, True), (T.BLOB, "04", 4, True),
        (T.MEDIUM_BLOB, "03", 3, True), (T.LONG_BLOB, "04", 4, True), (T.JSON, "04", 4, True),
        (T.GEOMETRY, "04", 4, True), (T.VECTOR, "04", 4, True),
    ],
)  # fmt: skip
def test_how_long_a_cell_is(code: int, metadata: str, size: int, prefixed: bool) -> None:
    """``calc_field_size`` (8.0); DECIMAL(10,2) has 5 bytes."""
    table = TableMap(1, 0, "d", "t", bytes([code]), bytes.fromhex(metadata), b"\0", None)
    (found,) = stored_types(table)
    assert (found.size, found.prefixed) == (size, prefixed)


def test_the_log_is_asked_in_order(absent: Any) -> None:
    keys = [(e.raw.pos, -1 if e.raw.inner is None else e.raw.inner) for e in absent.stored()]
    rows = [k for k, e in zip(keys, absent.stored(), strict=True) if isinstance(e.body, RowsEvent)]
    log = StoredLog(absent.stored())
    found = log.find(rows[3])
    assert found is not None and isinstance(found.body, RowsEvent)
    assert log.find((rows[3][0] + 1, -1)) is None
    assert [row.key for row in log.rows(rows[2])][:1] == [rows[2]]
    assert log.find(rows[3]) is found
    with pytest.raises(StoredError, match="no rows event"):
        log.rows(next(k for k in keys if k > rows[3] and k not in rows))
    with pytest.raises(StoredError, match="no event"):
        log.rows((rows[-1][0] + 1, -1))


def test_a_statement_is_lost_to_its_end(absent: Any) -> None:
    keys = [
        (e.raw.pos, -1 if e.raw.inner is None else e.raw.inner)
        for e in absent.stored()
        if isinstance(e.body, RowsEvent)
    ]
    statement = StoredStatement(StoredLog(absent.stored()))
    statement.event(keys[0])
    statement.event(keys[1])

    def told() -> tuple[Any, str]:
        return statement.row and statement.row.key, statement.lost

    assert told() == (keys[0], "")
    statement.lose("why")
    assert told() == (None, "why")
    statement.take()
    statement.end(keys[1])
    assert told() == (None, "")
    statement.event(keys[2])
    assert told() == (keys[2], "")
