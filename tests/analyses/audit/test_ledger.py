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


def test_a_gtid_that_stands_twice_counts_twice_and_hides_no_hole(
    make_transactions: Callable[..., pa.Table], convert: Callable[[pa.Table], Any], rows_of: Rows
) -> None:
    """As with ``duplicates="keep"``: transactions are as many as stand there, numbers are not."""
    numbers = [1, 2, 2, 2, 5]
    ledger = convert(make_transactions([{"gtid": f"{UUID}:{n}", "rows": 1} for n in numbers]))
    (row,) = rows_of(audit.by_gtid_source(ledger))
    assert (row["transactions"], row["rows"], row["missing"]) == (5, 5, 2)
    (hole,) = rows_of(audit.missing_gtids(ledger))
    assert (hole["first_number"], hole["last_number"]) == (3, 4)


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
    assert len(rows_of(audit.quiet(transactions, seconds=8996))) == 1
    assert rows_of(audit.quiet(transactions, seconds=8997)) == []


def test_quiet_of_each_server_by_itself(
    make_transactions: Callable[..., pa.Table], convert: Callable[[pa.Table], Any], rows_of: Rows
) -> None:
    """Another's transactions end no silence, and its silence is reported once."""
    stamps = [("a", 0), ("b", 10), ("a", 5000), ("b", 6000)]
    rows = [{"source": s, "timestamp": t, "end_timestamp": t} for s, t in stamps]
    found = rows_of(audit.quiet(convert(make_transactions(rows)), seconds=3600))
    assert [(r["source"], r["seconds"]) for r in found] == [("a", 5000), ("b", 5990)]


def test_largest_and_longest(transactions: Any, rows_of: Rows) -> None:
    assert [r["size"] for r in rows_of(audit.largest(transactions, 2))] == [900, 100]
    longest = rows_of(audit.longest(transactions, 1))
    assert [(r["pos"], r["duration"]) for r in longest] == [(104, 600)]


def test_what_is_as_much_stands_in_order(
    make_transactions: Callable[..., pa.Table], convert: Callable[[pa.Table], Any], rows_of: Rows
) -> None:
    """Connections by their numbers, transactions as they stand in the logs."""
    threads = [(2, 5), (1, 9), (1, 8)]
    rows = [{"server_id": s, "thread_id": t, "rows": 1, "size": 100} for s, t in threads]
    ledger = convert(make_transactions(rows))
    found = [(r["server_id"], r["thread_id"]) for r in rows_of(audit.by_thread(ledger))]
    assert found == sorted(threads)
    for answer in (audit.longest(ledger, 3), audit.largest(ledger, 3)):
        assert [r["pos"] for r in rows_of(answer)] == [4, 104, 204]


def test_what_has_no_number_comes_last(
    make_transactions: Callable[..., pa.Table], convert: Callable[[pa.Table], Any], rows_of: Rows
) -> None:
    ledger = convert(make_transactions([{"size": None}, {"size": 5}, {"size": 7}]))
    assert [r["size"] for r in rows_of(audit.largest(ledger, 3))] == [7, 5, None]


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


def test_a_burst_is_ten_times_the_median_and_a_thousand_changes(
    make_changes: Callable[..., pa.Table], rows_of: Rows
) -> None:
    """Unless other numbers are given."""
    for usual, many, found in ((100, 1000, 1), (100, 999, 0), (101, 1009, 0), (99, 999, 0)):
        changes = make_changes(
            {"id": pa.int32()},
            [
                ("insert", None, {"id": 1}, {"timestamp": 60 * minute})
                for minute, count in enumerate([usual, usual, usual, many])
                for _ in range(count)
            ],
        )
        assert len(rows_of(audit.bursts(changes))) == found


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
