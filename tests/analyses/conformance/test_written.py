"""Values written back: what a server stored gives its bytes, anything else does not."""

from __future__ import annotations

import json
import re
import struct
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from binlogkit.analyses.conformance.cell import ColumnFacts, TableVersions
from binlogkit.analyses.conformance.stored import (
    StoredCell,
    StoredType,
    decimal_bytes,
    stored_rows,
    stored_types,
)
from binlogkit.analyses.conformance.stored_forms import write_decimal
from binlogkit.analyses.conformance.written import gives
from binlogkit.constants import ColumnType as T
from binlogkit.events.table_map import TableMap
from tests.analyses.conformance.test_compare import other
from tests.analyses.conformance.test_stored import bodies

HERE = Path(__file__).parent
KEY = (4, -1)
ANY = ColumnFacts("c")
UNSIGNED = ColumnFacts("c", unsigned=True)
SIGNED = ColumnFacts("c", unsigned=False)
LABELS = ColumnFacts("c", labels=("a", "b", "c"))

# Type, its metadata as numbers, column, value, bytes. The layouts of times: the comments above
# my_time_packed_to_binary and its like in my_time.cc (8.0); of DECIMAL: decimal2bin in decimal.cc.
WRITTEN: list[tuple[StoredType, ColumnFacts, Any, str]] = [
    (StoredType(T.TINY, 1), SIGNED, -1, "FF"),
    (StoredType(T.TINY, 1), UNSIGNED, 255, "FF"),
    (StoredType(T.INT24, 3), SIGNED, -8388608, "000080"),
    (StoredType(T.LONGLONG, 8), UNSIGNED, 2**64 - 1, "FFFFFFFFFFFFFFFF"),
    (StoredType(T.FLOAT, 4), ANY, 16777216.0, "0000804B"),
    (StoredType(T.FLOAT, 4), ANY, 0.1, "CDCCCC3D"),
    (StoredType(T.FLOAT, 4), ANY, 0.10000000149011612, "CDCCCC3D"),
    (StoredType(T.FLOAT, 4), ANY, -0.0, "00000080"),
    (StoredType(T.FLOAT, 4), ANY, 1e-45, "01000000"),
    (StoredType(T.DOUBLE, 8), ANY, -0.0, "0000000000000080"),
    (StoredType(T.NEWDECIMAL, 7, False, 14, 4), ANY, "1234567890.1234", "810DFB38D204D2"),
    (StoredType(T.NEWDECIMAL, 7, False, 14, 4), ANY, "-1234567890.1234", "7EF204C72DFB2D"),
    (StoredType(T.NEWDECIMAL, 1, False, 2, 2), ANY, "0.05", "85"),
    (StoredType(T.BIT, 2), ANY, 770, "0302"),
    (StoredType(T.YEAR, 1), ANY, 0, "00"),
    (StoredType(T.YEAR, 1), ANY, 2155, "FF"),
    (StoredType(T.ENUM, 1), LABELS, "c", "03"),
    (StoredType(T.ENUM, 1), LABELS, "", "00"),
    (StoredType(T.ENUM, 2), ANY, 300, "2C01"),
    (StoredType(T.SET, 1), LABELS, "a,c", "05"),
    (StoredType(T.SET, 1), LABELS, "", "00"),
    (StoredType(T.SET, 2), ANY, 513, "0102"),
    (StoredType(T.DATE, 3), ANY, "2010-10-17", "51B50F"),
    (StoredType(T.DATE, 3), ANY, "0000-00-00", "000000"),
    (StoredType(T.TIME, 3), ANY, "-01:00:00", "F0D8FF"),
    (StoredType(T.TIME2, 3), ANY, "15:22:33", "80F5A1"),
    (StoredType(T.TIME2, 4, scale=2), ANY, "-00:00:00.01", "7FFFFFFF"),
    (StoredType(T.TIME2, 4, scale=1), ANY, "-00:00:01.0", "7FFFFF00"),
    (StoredType(T.TIME2, 6, scale=6), ANY, "-838:59:58.999999", "4B9105F0BDC1"),
    (StoredType(T.DATETIME, 8), ANY, "2010-10-17 19:27:30", "1A49FD2148120000"),
    (StoredType(T.DATETIME2, 5), ANY, "2010-10-17 19:27:30", "99872336DE"),
    (StoredType(T.DATETIME2, 8, scale=5), ANY, "0000-00-00 00:00:00.00000", "8000000000000000"),
    (StoredType(T.TIMESTAMP, 4), ANY, "2040-01-01 00:00:00", "807EAA83"),
    (StoredType(T.TIMESTAMP2, 4), ANY, "0000-00-00 00:00:00", "00000000"),
    (StoredType(T.TIMESTAMP2, 5, scale=1), ANY, "1970-01-01 00:00:01.5", "0000000132"),
    (StoredType(T.TIMESTAMP2, 5, scale=1), ANY, "1970-01-01 00:00:00.5", "0000000032"),
    (StoredType(T.VARCHAR, 1, True), ColumnFacts("c", "STRING", charset="latin1"), "é", "E9"),
    (StoredType(T.GEOMETRY, 4, True), ANY, "0x00FF", "00FF"),
    (StoredType(T.VECTOR, 4, True), ANY, "0x0000803F", "0000803F"),
    (StoredType(T.LONG, 4), ANY, None, ""),
]  # fmt: skip

# The same, and what is not the value of these bytes.
NOT_WRITTEN: list[tuple[StoredType, ColumnFacts, Any, str]] = [
    (StoredType(T.TINY, 1), UNSIGNED, -1, "FF"),
    (StoredType(T.TINY, 1), SIGNED, 255, "FF"),
    (StoredType(T.TINY, 1), ANY, 256, "00"),
    (StoredType(T.TINY, 1), ANY, True, "01"),
    (StoredType(T.TINY, 1), ANY, None, "00"),
    (StoredType(T.LONG, 4), ANY, 1, ""),
    (StoredType(T.FLOAT, 4), ANY, 16777218.0, "0000804B"),
    (StoredType(T.FLOAT, 4), ANY, 16777217.0, "0000804B"),
    (StoredType(T.FLOAT, 4), ANY, 16777200.0, "0000804B"),
    (StoredType(T.FLOAT, 4), ANY, 0.0, "00000080"),
    (StoredType(T.FLOAT, 4), ANY, 1e300, "0000807F"),
    (StoredType(T.FLOAT, 4), ANY, "0.1", "CDCCCC3D"),
    (StoredType(T.DOUBLE, 8), ANY, 0.0, "0000000000000080"),
    (StoredType(T.NEWDECIMAL, 7, False, 14, 4), ANY, "1234567890.12340", "810DFB38D204D2"),
    (StoredType(T.NEWDECIMAL, 7, False, 14, 4), ANY, "-0.0000", "80000000000000"),
    (StoredType(T.NEWDECIMAL, 1, False, 2, 2), ANY, "1.05", "85"),
    (StoredType(T.BIT, 1), ANY, -1, "FF"),
    (StoredType(T.YEAR, 1), ANY, 1900, "00"),
    (StoredType(T.ENUM, 1), LABELS, "b", "03"),
    (StoredType(T.ENUM, 1), LABELS, "", "04"),
    (StoredType(T.SET, 1), LABELS, "c,a", "05"),
    (StoredType(T.SET, 1), LABELS, "a,d", "05"),
    (StoredType(T.DATE, 3), ANY, None, "000000"),
    (StoredType(T.DATE, 3), ANY, "10-10-17", "51B50F"),
    (StoredType(T.TIME2, 3), ANY, "-00:00:00", "800000"),
    (StoredType(T.TIME2, 4, scale=2), ANY, "00:00:00.01", "7FFFFFFF"),
    (StoredType(T.TIME2, 4, scale=1), ANY, "-00:00:01", "7FFFFF00"),
    (StoredType(T.DATETIME2, 5), ANY, "2010-10-17 19:27:31", "99872336DE"),
    (StoredType(T.TIMESTAMP2, 4), ANY, "1970-01-01 00:00:00", "00000000"),
    (StoredType(T.TIMESTAMP2, 5, scale=1), ANY, "0000-00-00 00:00:00.5", "0000000032"),
    (StoredType(T.TIMESTAMP, 4), ANY, "1970-01-01 00:00:01.5", "01000000"),
    (StoredType(T.GEOMETRY, 4, True), ANY, "0x00ff", "00FF"),
    (StoredType(T.GEOMETRY, 4, True), ANY, "0x00FE", "00FF"),
]  # fmt: skip

# What nobody can say: it is not passed for right.
NOT_KNOWN: list[tuple[StoredType, ColumnFacts, Any, str]] = [
    (StoredType(T.ENUM, 1), ANY, "a", "01"),
    (StoredType(T.SET, 1), ANY, "a", "01"),
    (StoredType(T.VARCHAR, 1, True), ColumnFacts("c", "STRING", charset="of tomorrow"), "é", "E9"),
    (StoredType(T.DATE, 3), ANY, {"undecodable": "0xFFFFFF", "reason": "no date"}, "FFFFFF"),
    (StoredType(T.NULL, 0), ANY, 1, ""),
]


def verdict(kind: StoredType, column: ColumnFacts, ours: Any, content: str) -> bool | None:
    null = (ours is None and content == "") or (kind.type is T.LONG and content == "")
    return gives(ours, StoredCell(kind, None if null else bytes.fromhex(content)), column)


@pytest.mark.parametrize("case", WRITTEN, ids=str)
def test_a_value_gives_its_bytes(case: Any) -> None:
    assert verdict(*case) is True


@pytest.mark.parametrize("case", NOT_WRITTEN, ids=str)
def test_another_value_does_not(case: Any) -> None:
    assert verdict(*case) is False


@pytest.mark.parametrize("case", NOT_KNOWN, ids=str)
def test_what_cannot_be_written_is_not_judged(case: Any) -> None:
    assert verdict(*case) is None


@pytest.mark.parametrize("ours", [True, 6, 1.5, -1, "", "x", "0x", [], ["a"], "\ud800", "9" * 40])
def test_what_is_no_value_of_the_column_is_none(ours: Any) -> None:
    for kind, column, value, content in WRITTEN:
        if value not in (ours, None) and ours != "":
            assert verdict(kind, column, ours, content) is not True


def test_a_partial_update_is_not_judged() -> None:
    cell = StoredCell(StoredType(T.JSON, 4, True), b"\x04\x00", diff=True)
    assert gives("null", cell, ANY) is None


CELLS = json.loads((HERE.parents[1] / "_kernel" / "boundary_cells.json").read_text("utf-8"))


def answered(record: dict[str, Any], kind: T) -> Any:
    """What the server answered to a SELECT of the cell (``SELECTS`` in boundary_cases.py)."""
    answer = record["answer"]
    match record["kind"]:
        case "float":
            return float(answer)
        case "number":
            return int(answer)
        case "string" | "json":
            return answer
        case "bytes":
            return "0x" + answer.upper()
    return int(answer) if kind in (T.TINY, T.SHORT, T.INT24, T.LONG, T.LONGLONG, T.YEAR) else answer


@pytest.mark.parametrize("column", sorted({record["column"] for record in CELLS}))
def test_what_servers_select_gives_what_they_store(column: str) -> None:
    """Values at the edges of every type: neither side of it is ours."""
    for record in CELLS:
        if record["column"] != column:
            continue
        table = TableMap(1, 0, "d", "t", bytes([record["type"]]), bytes.fromhex(record["meta"]),
                         b"\0", None)  # fmt: skip
        (kind,) = stored_types(table)
        cell = bytes.fromhex(record["cell"])
        stored = StoredCell(kind, cell[kind.size :] if kind.prefixed else cell)
        labels = None if record["labels"] is None else tuple(record["labels"])
        charset = record["charset"] or ("binary" if record["kind"] == "bytes" else None)
        width = re.fullmatch(r"BINARY\((\d+)\)", column)
        facts = ColumnFacts(
            "c", "", record["unsigned"], charset, labels, int(width[1]) if width else 0, bool(width)
        )
        ours = answered(record, kind.type)
        assert gives(ours, stored, facts, record["servers"][0]) is True, record
        assert gives(other(ours), stored, facts, record["servers"][0]) is not True, record


def cells(case: Any) -> Iterator[tuple[Any, StoredCell, ColumnFacts]]:
    """Each value of our rows beside its stored cell, in the log's order."""
    tables, ours = TableVersions(case.schemas()), iter(case.rows())
    for event, table in bodies(case):
        for row in stored_rows(KEY, event, table):
            mine = next(ours)
            names = {name for which in ("before", "after") for name in mine[which] or ()}
            facts = next(
                f
                for f in tables.candidates(row.db, row.table, names)
                if len(f.columns) == len(table.types)
            )
            for which, image in (("before", row.before), ("after", row.after)):
                for index, cell in (image or {}).items():
                    column = facts.columns[index]
                    yield mine[which][column.name], cell, column


@pytest.mark.parametrize("cell", ["5.6-row-full", "5.7-row-full", "8.0-row-full"])
def test_every_cell_that_mysqlbinlog_judges_is_written_back_alike(
    golden_case: Callable[..., Any], cell: str
) -> None:
    """All values of all types, which agree with mysqlbinlog's text (test_golden_conformance.py):
    so writing is held against mysqlbinlog, and each changed value is distinguished."""
    case, seen = golden_case(cell, "types"), Counter[str]()
    server = case.events()[0]["fields"]["server_version"]
    for ours, stored, column in cells(case):
        assert gives(ours, stored, column, server) is True, (column, ours, stored)
        assert gives(other(ours), stored, column, server) is not True, (column, ours)
        seen[stored.type.type.name] += ours is not None
    wanted = "TINY LONGLONG FLOAT DOUBLE NEWDECIMAL BIT YEAR ENUM SET DATE TIME2 DATETIME2 "
    wanted += "TIMESTAMP2 VARCHAR STRING BLOB GEOMETRY"
    assert {name for name in wanted.split() if seen[name] < 5} == set()


def test_decimals_of_every_width() -> None:
    """Its bytes are as many as the table map's say, and read back as one number."""
    for precision in range(1, 66):
        for scale in range(min(precision, 30) + 1):
            whole = "9" * (precision - scale) or "0"
            text = f"{whole}.{'9' * scale}" if scale else whole
            assert len(write_decimal(text, precision, scale)) == decimal_bytes(precision, scale)


def test_single_precision_is_told_apart_from_its_neighbours() -> None:
    kind = StoredType(T.FLOAT, 4)
    for bits in (1, 0x7FFFFF, 0x800000, 0x3DCCCCCD, 0x4B800000, 0x7F7FFFFF):
        content = struct.pack("<I", bits)
        (value,) = struct.unpack("<f", content)
        near = struct.unpack("<f", struct.pack("<I", bits - 1))[0]
        assert gives(value, StoredCell(kind, content), ANY) is True
        assert gives(near, StoredCell(kind, content), ANY) is False
