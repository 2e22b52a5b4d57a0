"""Counts of changes, the same on every engine."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pandas as pd
import pyarrow as pa
import pytest

from binlogkit.analyses.audit import by_key, by_minute, by_statement, by_table
from binlogkit.analyses.audit.activity import BY_KEY, BY_MINUTE, BY_STATEMENT, BY_TABLE
from binlogkit.errors import UsageError
from binlogkit.frames.fields.rows import PROVENANCE
from binlogkit.frames.natural import natural

FIELDS = {"id": pa.int32(), "note": pa.string()}

ROWS = [
    ("insert", None, {"id": 1, "note": "a"}, {"timestamp": 60, "query": "INSERT 1"}),
    ("insert", None, {"id": 2, "note": None}, {"timestamp": 61, "query": "INSERT 2"}),
    ("update", {"id": 1, "note": "a"}, {"id": 9, "note": "a"}, {"timestamp": 119}),
    ("delete", {"id": 2, "note": None}, None, {"timestamp": 120, "query": "INSERT 2"}),
    ("insert", None, {"id": 4, "note": "d"}, {"timestamp": 59, "db": "b", "table": "t"}),
]


@pytest.fixture
def changes(make_changes: Callable[..., pa.Table], convert: Callable[[pa.Table], Any]) -> Any:
    return convert(make_changes(FIELDS, ROWS))


def test_by_table(changes: Any, rows_of: Callable[[Any], list[dict[str, Any]]]) -> None:
    result = by_table(changes)
    assert type(result) is type(changes)
    first, second = rows_of(result)
    assert list(first) == [o.name for o in BY_TABLE]
    assert first == {
        "db": "shop", "table": "orders", "rows": 4, "inserts": 2, "updates": 1, "deletes": 1,
        "bytes": 400, "first_timestamp": 60, "last_timestamp": 120, "first_file": "binlog.000001",
        "first_pos": 4, "last_file": "binlog.000001", "last_pos": 304,
    }  # fmt: skip
    assert (second["db"], second["rows"], second["first_pos"], second["last_pos"]) == (
        "b", 1, 404, 404,
    )  # fmt: skip


def test_by_minute(changes: Any, rows_of: Callable[[Any], list[dict[str, Any]]]) -> None:
    rows = rows_of(by_minute(changes))
    assert list(rows[0]) == [o.name for o in BY_MINUTE]
    assert [(r["minute"], r["rows"], r["deletes"]) for r in rows] == [
        (0, 1, 0),
        (60, 3, 0),
        (120, 1, 1),
    ]


def test_pandas_is_given_times(make_changes: Callable[..., pa.Table]) -> None:
    made = make_changes(FIELDS, ROWS)
    for changes in (natural(made, PROVENANCE), made.to_pandas(types_mapper=pd.ArrowDtype)):
        frame = by_minute(changes)
        assert str(frame["minute"].dtype) == "datetime64[us, UTC]"
        assert frame.set_index("minute")["rows"]["1970-01-01 00:01Z"] == 3
        assert by_table(changes)["first_timestamp"].max() == pd.Timestamp(60, unit="s", tz="UTC")


def test_by_statement(changes: Any, rows_of: Callable[[Any], list[dict[str, Any]]]) -> None:
    rows = rows_of(by_statement(changes))
    assert list(rows[0]) == [o.name for o in BY_STATEMENT]
    assert [(r["query"], r["rows"], r["tables"], r["first_pos"]) for r in rows] == [
        ("INSERT 2", 2, 1, 104),
        ("INSERT 1", 1, 1, 4),
    ]


def test_changes_without_a_statement_have_no_row(
    make_changes: Callable[..., pa.Table],
    convert: Callable[[pa.Table], Any],
    rows_of: Callable[[Any], list[dict[str, Any]]],
) -> None:
    rows: list[Any] = [row for row in ROWS if "INSERT" not in str(row[3])]
    changes = convert(make_changes(FIELDS, rows))
    assert len(rows_of(by_table(changes))) == 2
    assert rows_of(by_statement(changes)) == []


def test_what_is_as_much_stands_in_order(
    make_changes: Callable[..., pa.Table],
    convert: Callable[[pa.Table], Any],
    rows_of: Callable[[Any], list[dict[str, Any]]],
) -> None:
    """Tables by their names, keys and statements as they come first."""
    names = [("b", "t"), ("a", "u"), ("a", "t"), ("b", "s")]
    rows = [
        ("insert", None, {"id": 9 - i}, {"db": db, "table": table, "query": f"{9 - i}"})
        for i, (db, table) in enumerate(names)
    ]
    changes = convert(make_changes({"id": pa.int32()}, rows))
    assert [(r["db"], r["table"]) for r in rows_of(by_table(changes))] == sorted(names)
    assert [r["query"] for r in rows_of(by_statement(changes))] == ["9", "8", "7", "6"]
    assert [r["key_id"] for r in rows_of(by_key(changes, ["id"]))] == [9, 8, 7, 6]


def test_by_key_counts_both_keys_of_a_moved_row(
    changes: Any, rows_of: Callable[[Any], list[dict[str, Any]]]
) -> None:
    rows = rows_of(by_key(changes, ["id"]))
    assert list(rows[0]) == ["key_id", *(o.name for o in BY_KEY)]
    counts = {r["key_id"]: (r["rows"], r["inserts"], r["updates"], r["deletes"]) for r in rows}
    assert counts == {1: (2, 1, 1, 0), 2: (2, 1, 0, 1), 9: (1, 0, 1, 0), 4: (1, 1, 0, 0)}


def test_by_key_refuses_an_unknown_column(changes: Any) -> None:
    with pytest.raises(UsageError, match="no column nope"):
        by_key(changes, ["nope"])


def test_by_key_needs_typed_changes() -> None:
    generic = pa.table({n: ["x"] for n in ("db", "table", "before", "after", "file", "op")})
    generic = generic.append_column("pos", pa.array([4])).append_column("timestamp", pa.array([1]))
    with pytest.raises(UsageError, match="typed changes"):
        by_key(generic, ["id"])


def test_a_frame_without_its_columns_is_refused() -> None:
    with pytest.raises(UsageError, match="no column db, table"):
        by_table(pa.table({"file": ["x"], "pos": [1], "timestamp": [1], "op": ["insert"]}))


def test_what_is_no_frame_is_refused() -> None:
    with pytest.raises(UsageError, match="known engine"):
        by_table([1, 2])  # type: ignore[type-var]
