"""A script made by the column is the one that is made of one plan after the other."""

from __future__ import annotations

import itertools
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import binlogkit as bk
from binlogkit.analyses.references import Reference
from binlogkit.analyses.undoing.plans import Plans
from binlogkit.analyses.undoing.undo import pieces
from binlogkit.frames.schema import CellState
from binlogkit.reports.sql import Script, script
from binlogkit_fixtures import golden
from tests.analyses.undoing.plan_cases import TYPES, Change, Odd, batch_of, changes

#: By kind and Arrow type: the values at the ends, and those that have literals of their own.
BOUNDARIES: dict[tuple[str, str], list[Any]] = {
    ("integer", "int8"): [-128, -1, 0, 127],
    ("integer", "uint64"): [0, 2**63, 2**64 - 1],
    ("float", "float"): [0.0, -0.0, 1.401298464324817e-45, 3.4028234663852886e38, 16777216.0],
    ("double", "double"): [0.0, -0.0, 0.1, 5e-324, 1e16, 1e22, 1.7976931348623157e308],
    ("decimal", "decimal128(38, 10)"): [
        Decimal("9" * 28 + "." + "9" * 10), Decimal("-0.0000000001"), Decimal(0),
    ],
    ("decimal", "decimal128(5, 0)"): [Decimal(99999), Decimal(-99999), Decimal(0)],
    ("decimal", "decimal256(65, 30)"): [
        Decimal("-" + "9" * 35 + "." + "9" * 30), Decimal("1e-30"), Decimal(0),
    ],
    ("bit", "uint64"): [0, 1, 2**64 - 1],
    ("year", "int16"): [0, 1901, 2155],
    ("date", "date32[day]"): [-719_162, 0, 2_932_896],
    ("time", "duration[us]"): [-3_020_399_999_999, -1, 0, 3_020_399_999_999],
    ("datetime", "timestamp[us]"): [-62_135_596_800_000_000, 0, 253_402_300_799_999_999],
    ("timestamp", "timestamp[us, tz=UTC]"): [1_000_000, 2_147_483_647_999_999],
    ("text", "string"): ["", " ", "'", "\\", "\0", "\x1a", "\x7f", "a" * 768, "a" * 769, "é" * 769],
    ("binary", "binary"): [b"", b"'", b"\x00\xff", b"\xbf\x27"],
    ("enum", "dictionary<values=string, indices=int32, ordered=0>"): ["", "a", "it's", "誠"],
    ("enum", "uint16"): [0, 1, 65535],
    ("set", "string"): ["", "a,b", "a,é"],
    ("set", "uint64"): [0, 2**64 - 1],
    ("json", "string"): ["{}", '{"é": "\'"}', '"\\\\"'],
    ("geometry", "binary"): [b"", bytes(4)],
    ("vector", "binary"): [b"", b"\x00\x00\x80\x3f"],
}  # fmt: skip


def compare(
    *batches: pa.RecordBatch,
    refused: tuple[dict[str, Any], ...] = (),
    referring: tuple[Reference, ...] = (),
) -> list[str]:
    """The lines of both scripts; by the column is by the row."""
    lines: list[str] = []
    for backwards in (True, False):
        parts = pieces(batches, refused, referring=referring, backwards=backwards)
        found = Plans(parts, backwards=backwards)
        by_column, by_row = Script(found), Script(list(found))
        made = b"".join(by_column.blocks()).decode("ascii").splitlines()
        assert made == b"".join(by_row.blocks()).decode("ascii").splitlines()
        assert (by_column.statements, by_column.refused) == (by_row.statements, by_row.refused)
        lines += made
    return lines


@settings(deadline=None, max_examples=80)
@given(st.lists(changes(), min_size=1, max_size=2))
@pytest.mark.slow
def test_any_changes(batches: list[pa.RecordBatch]) -> None:
    compare(*batches)


@pytest.mark.parametrize(("kind", "dtype", "scale"), [(k, t, s) for k, t, _, s in TYPES], ids=str)
def test_boundary_values(kind: str, dtype: pa.DataType, scale: int) -> None:
    """Each value before and after each other one, and NULL."""
    facts = {"kind": kind, "scale": str(scale), "generated": ""}
    fields = [
        pa.field("id", pa.int32(), metadata={"binlogkit:kind": "integer"}),
        pa.field("c", dtype, metadata={f"binlogkit:{k}": v for k, v in facts.items()}),
    ]
    pairs = list(itertools.permutations([*BOUNDARIES[kind, str(dtype)], None], 2))
    rows: list[Change] = [("update", {"id": 1, "c": a}, {"id": 1, "c": b}) for a, b in pairs]
    rows += [("insert", None, {"id": 1, "c": a}) for a, _ in pairs]
    rows += [("delete", {"id": 1, "c": a}, None) for a, _ in pairs]
    lines = compare(batch_of(fields, rows))
    assert sum(line.startswith("UPDATE") for line in lines) > len(pairs)


@pytest.mark.parametrize(
    ("cell", "scenario"), [("8.0-row-full", "keys"), ("5.7-row-minimal", "json"),
                           ("8.0-row-partial-json", "json"), ("5.7-mixed-full", "transactions"),
                           ("9-row-full", "modern")],
)  # fmt: skip
def test_real_logs(cell: str, scenario: str) -> None:
    log = bk.open([str(path) for path in golden.case(cell, scenario).binlogs])
    for found in (log.undo(), log.redo()):
        found.references = found.known = None  # a list of plans has none
        lines = [
            line
            for line in script(found)
            if not line.startswith(("-- assumed: ", "-- chosen: ", "-- later: "))
        ]
        assert lines == list(script(list(found)))


def field(name: str, dtype: pa.DataType, kind: str) -> pa.Field:
    return pa.field(name, dtype, metadata={"binlogkit:kind": kind, "binlogkit:generated": ""})


KEYED = [field("id", pa.int32(), "integer"), field("v", pa.string(), "text")]


def test_a_table_without_a_key_and_one_with() -> None:
    rows = [("insert", None, {"id": n, "v": None if n else "x"}) for n in range(3)]
    with_json = [KEYED[0], field("doc", pa.string(), "json")]
    mixed = [("insert", None, {"id": n, "doc": "{}" if n else None}) for n in range(3)]
    lines = compare(
        batch_of(KEYED, rows, ("shop", "a"), ()), batch_of(with_json, mixed, ("shop", "b"), ())
    )
    limited = [line for line in lines if line.endswith(" LIMIT 1;")]
    assert len(limited) == 4 and sum("`b`" in line for line in limited) == 1


def test_names_that_are_prepared_from_hexadecimal() -> None:
    fields = [KEYED[0], field("名", pa.string(), "text"), field("plain", pa.string(), "text")]
    row = {"id": 1, "名": "a", "plain": "b"}
    rows = [("update", row, row | {"名": "c"}), ("update", row, row | {"plain": "c"})]
    lines = compare(batch_of(fields, rows))
    assert sum(line.startswith("SET @bk_sql =") for line in lines) == 4  # and what reads them back
    assert sum(line.startswith("UPDATE") for line in lines) == 2


def test_long_statements_are_announced() -> None:
    fields = [KEYED[0], field("b", pa.binary(), "binary")]
    rows = [("delete", {"id": n, "b": bytes(n << 19)}, None) for n in range(3)]
    lines = compare(batch_of(fields, rows))
    assert sum("max_allowed_packet" in line for line in lines) == 4


@pytest.mark.slow
def test_a_very_large_row_is_written_alone() -> None:
    fields = [KEYED[0], field("b", pa.binary(), "binary")]
    rows = [("delete", {"id": n, "b": bytes((33 << 20) * (n == 1))}, None) for n in range(3)]
    found = Plans(pieces([batch_of(fields, rows)], backwards=True), backwards=True)
    made = Script(found)
    sizes = [len(block) for block in made.blocks()]
    assert max(sizes) > 66 << 20 and made.statements == 3


def test_what_sql_cannot_say_is_refused_and_counted() -> None:
    fields = [KEYED[0], field("e", pa.uint16(), "enum"), field("f", pa.binary(), "binary")]
    huge = Odd(CellState.NO_ARROW_VALUE, b"", "9 bytes are more than an Arrow string can hold")
    rows: list[Change] = [
        ("delete", {"id": 1, "e": 0, "f": b""}, None),
        ("delete", {"id": 2, "e": 1, "f": huge}, None),
        ("delete", {"id": 3, "e": None, "f": None}, None),
    ]
    lines = compare(batch_of(fields, rows))
    told = [line for line in lines if "REFUSED" in line]
    assert told[0] == "-- 2: REFUSED, no statement: a value of f is not decodable"
    assert told[1].startswith("-- 3: REFUSED, no statement: column e held ENUM's error value")


def test_a_statement_that_is_refused_stands_between_the_others() -> None:
    refused = {
        "source": None, "file": "binlog\n.1", "pos": 5, "inner": 3, "row": 0, "gtid": "u:1",
        "timestamp": 1_700_000_000, "db": "s", "table": "誠", "seq": 3, "refused": "a reason ",
    }  # fmt: skip
    rows = [("insert", None, {"id": n, "v": "x"}) for n in range(4)]
    lines = compare(batch_of(KEYED, rows), refused=(refused,))
    assert "-- 3: REFUSED, no statement: a reason" in lines
    origin = r"-- 3: update s.\u8aa0 for binlog\n.1:5/3 row 0, 2023-11-14 22:13:20 UTC, GTID u:1"
    assert origin in lines


def test_rows_that_nothing_may_refer_to() -> None:
    """Of an update only where it sets a column that others refer to; of the own table before."""
    name = ("shop", "a")
    referring = (
        Reference(("shop", "名`"), ("p",), name, ("ID",), "CASCADE", "SET NULL"),
        Reference(name, ("up", "v"), name, ("id", "v"), "SET NULL"),
        Reference(("shop", "c"), ("v",), name, ("v",), "NO ACTION", "SET NULL"),
    )
    rows: list[Change] = [
        ("insert", None, {"id": 1, "v": "x"}),
        ("update", {"id": 1, "v": "x"}, {"id": 2, "v": "x"}),
        ("update", {"id": 2, "v": "x"}, {"id": 2, "v": "é"}),
        ("update", {"id": 2, "v": "x"}, {"id": 3, "v": None}),
    ]
    lines = compare(batch_of(KEYED, rows, name, ("id",)), referring=referring)
    sql = [
        bytes.fromhex(line.split("'")[1]).decode() if line.startswith("SET @bk_sql =") else line
        for line in lines
    ]
    deleted = next(line for line in sql if line.startswith("DELETE"))
    assert (
        "NOT EXISTS (SELECT 1 FROM `shop`.`名``` WHERE `shop`.`名```.`p` = `shop`.`a`." in deleted
    )
    assert deleted.count("NOT EXISTS") == 1 and "@bk_referring = 0" in deleted
    assert any(line.startswith("SET @bk_referring = (SELECT COUNT(*) ") for line in sql)
    updates = [line.count("NOT EXISTS") for line in sql if line.startswith("UPDATE")]
    assert updates == [2, 1, 1, 1, 1, 2]
