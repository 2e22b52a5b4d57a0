"""Who and when, from the ledger of transactions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pyarrow as pa
import pytest

from binlogkit.analyses import audit
from binlogkit.analyses.audit import ledger, rhythm

UUID = "3e11fa47-71ca-11e1-9e33-c80aa9429562"
Rows = Callable[[Any], list[dict[str, Any]]]


@pytest.fixture
def transactions(
    make_transactions: Callable[..., pa.Table], convert: Callable[[pa.Table], Any]
) -> Any:
    return convert(
        make_transactions(
            [
                {"gtid": f"{UUID}:1", "inserts": 3, "rows": 3, "size": 900},
                {"gtid": f"{UUID}:2", "timestamp": 1700000000, "end_timestamp": 1700000600},
                {"gtid": f"{UUID}:5", "thread_id": 8, "format": "statement", "statements": 1},
                {"gtid": f"{UUID}:app:1", "outcome": "prepared", "xa": "X'61',X'',1"},
                {"outcome": "rolled_back", "format": "none", "server_id": 2},
                {
                    "outcome": "cut",
                    "file": "binlog.000002",
                    "timestamp": 1700009000,
                    "end_timestamp": 1700009000,
                },
            ]
        )
    )


def test_summary(transactions: Any, rows_of: Rows) -> None:
    result = audit.summary(transactions)
    assert type(result) is type(transactions)
    first, second = rows_of(result)
    assert list(first) == [o.name for o in ledger.SUMMARY]
    assert first["file"] == "binlog.000001" and second["file"] == "binlog.000002"
    assert (first["transactions"], first["committed"], first["prepared"]) == (5, 3, 1)
    assert (first["rolled_back"], first["cut"], second["cut"]) == (1, 0, 1)
    assert (first["first_timestamp"], first["last_timestamp"]) == (1700000000, 1700000600)
    assert (first["inserts"], first["rows"], first["size"]) == (3, 7, 1300)


def test_by_thread(transactions: Any, rows_of: Rows) -> None:
    rows = rows_of(audit.by_thread(transactions))
    assert list(rows[0]) == [o.name for o in ledger.BY_THREAD]
    found = [(r["server_id"], r["thread_id"], r["transactions"], r["rows"]) for r in rows]
    assert found == [(1, 7, 4, 6), (1, 8, 1, 1), (2, 7, 1, 1)]


def test_by_gtid_source_keeps_tags_apart_and_counts_holes(transactions: Any, rows_of: Rows) -> None:
    rows = rows_of(audit.by_gtid_source(transactions))
    assert [(r["gtid_source"], r["transactions"], r["missing"]) for r in rows] == [
        (UUID, 3, 2),
        (None, 2, None),
        (f"{UUID}:app", 1, 0),
    ]
    assert (rows[0]["first_number"], rows[0]["last_number"]) == (1, 5)


def test_missing_gtids(transactions: Any, rows_of: Rows) -> None:
    rows = rows_of(audit.missing_gtids(transactions))
    assert rows == [
        {
            "gtid_source": UUID,
            "first_number": 3,
            "last_number": 4,
            "before_gtid": f"{UUID}:2",
            "after_gtid": f"{UUID}:5",
        }
    ]
    assert list(rows[0]) == [o.name for o in rhythm.MISSING_GTIDS]


def test_formats_and_their_changes(transactions: Any, rows_of: Rows) -> None:
    counts = [
        (r["format"], r["transactions"], r["first_pos"])
        for r in rows_of(audit.formats(transactions))
    ]
    assert counts == [("row", 4, 4), ("none", 1, 404), ("statement", 1, 204)]
    switches = rows_of(audit.format_changes(transactions))
    assert [(r["pos"], r["before"], r["format"]) for r in switches] == [
        (204, "row", "statement"),
        (304, "statement", "row"),
    ]


def test_quiet(transactions: Any, rows_of: Rows) -> None:
    rows = rows_of(audit.quiet(transactions, seconds=3600))
    assert [(r["file"], r["from_timestamp"], r["to_timestamp"], r["seconds"]) for r in rows] == [
        ("binlog.000002", 1700000004, 1700009000, 8996)
    ]
    assert rows_of(audit.quiet(transactions, seconds=9000)) == []


def test_largest_and_longest(transactions: Any, rows_of: Rows) -> None:
    assert [r["size"] for r in rows_of(audit.largest(transactions, 2))] == [900, 100]
    longest = rows_of(audit.longest(transactions, 1))
    assert [(r["pos"], r["duration"]) for r in longest] == [(104, 600)]


def test_bursts_are_far_above_the_median(
    make_changes: Callable[..., pa.Table], convert: Callable[[pa.Table], Any], rows_of: Rows
) -> None:
    minutes = [0] * 2 + [1] * 3 + [2] * 40 + [5] * 2
    rows = [("insert", None, {"id": i}, {"timestamp": 60 * m}) for i, m in enumerate(minutes)]
    changes = convert(make_changes({"id": pa.int32()}, rows))
    found = rows_of(audit.bursts(changes, times=10, at_least=10))
    assert [(r["minute"], r["rows"], r["median"], r["ratio"]) for r in found] == [
        (120, 40, 2.5, 16.0)
    ]
    assert rows_of(audit.bursts(changes, times=20, at_least=10)) == []
    assert rows_of(audit.bursts(changes, times=10, at_least=41)) == []


def test_settings_and_statement_dml(
    make_statements: Callable[..., pa.Table], convert: Callable[[pa.Table], Any], rows_of: Rows
) -> None:
    statements = convert(
        make_statements(
            [
                {"query": "CREATE USER u", "kind": "account"},
                {"query": "INSERT INTO t VALUES (1)", "kind": "dml", "error_code": 1062},
                {"query": "BEGIN", "kind": "begin"},
                {"query": "FLUSH TABLES", "kind": "admin"},
            ]
        )
    )
    assert [r["query"] for r in rows_of(audit.settings(statements))] == [
        "CREATE USER u",
        "FLUSH TABLES",
    ]
    assert [r["error_code"] for r in rows_of(audit.statement_dml(statements))] == [1062]
