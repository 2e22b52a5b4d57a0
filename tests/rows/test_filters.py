"""Filters: names, times, and that each keeps what it says."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import binlogkit as bk
from binlogkit.errors import UsageError
from binlogkit.rows.filters import (
    Filters,
    TableName,
    parse_table_name,
    parse_time,
    written_table_name,
)

DATA = Path(__file__).parents[1] / "_data"
LOG = DATA / "8.0-row-full" / "keys" / "binlog.000001"


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("shop.orders", TableName("shop", "orders")),
        ("orders", TableName(None, "orders")),
        ("`a.b`.`c``d`", TableName("a.b", "c`d")),
        ("`a.b`.c", TableName("a.b", "c")),
        ("a.`b.c`", TableName("a", "b.c")),
    ],
)
def test_table_names(text: str, name: TableName) -> None:
    assert parse_table_name(text) == name


@given(st.text(min_size=1), st.text(min_size=1))
def test_every_name_can_be_written_in_backquotes(db: str, table: str) -> None:
    """Manual, "Schema Object Names": a backquote within backquotes is doubled."""
    quoted = ".".join("`" + n.replace("`", "``") + "`" for n in (db, table))
    assert parse_table_name(quoted) == TableName(db, table)


@pytest.mark.parametrize("text", ["", ".", "a.", ".b", "a.b.c", "`a", "`a`b"])
def test_what_is_no_table_name(text: str) -> None:
    with pytest.raises(UsageError):
        parse_table_name(text)


@pytest.mark.parametrize(
    ("text", "zone", "microseconds"),
    [
        ("1970-01-01", None, 0),
        ("1970-01-01T00:00:01.000001", None, 1_000_001),
        ("1970-01-01T01:00:00+01:00", None, 0),
        ("1970-01-01 01:00:00", "Europe/Berlin", 0),
        ("1970-01-01 08:00:00", "+08:00", 0),
        ("1970-01-01 00:00:00", "-01:30", 5_400_000_000),
        (datetime(2024, 5, 3, 14, 3, 7, 5, UTC), None, 1_714_744_987_000_005),
        (1.5, None, 1_500_000),
    ],
)
def test_times(text: Any, zone: str | None, microseconds: int) -> None:
    assert parse_time(text, zone) == microseconds


@pytest.mark.parametrize(("text", "zone"), [("yesterday", None), ("2024-05-03", "Mars/Base")])
def test_what_is_no_time(text: str, zone: str | None) -> None:
    with pytest.raises(UsageError):
        parse_time(text, zone)


@pytest.mark.parametrize("bad", [{"op": "upsert"}, {"where": "id"}, {"gtid": "x"}])
def test_what_means_nothing_is_refused(bad: dict[str, Any]) -> None:
    with pytest.raises(UsageError):
        Filters.build(**bad)


Row = dict[str, Any]


def _image(row: Row) -> list[Any]:
    return [image for image in (row["before"], row["after"]) if image]


@pytest.mark.parametrize(
    ("filters", "keeps"),
    [
        ({"table": "keyed.pk"}, lambda r: r["table"] == "pk"),
        ({"exclude_table": ["keyed.pk", "nokey"]}, lambda r: r["table"] not in ("pk", "nokey")),
        ({"op": ["insert", "delete"]}, lambda r: r["op"] != "update"),
        ({"thread": 101}, lambda r: r["thread_id"] == 101),
        ({"server_id": 1}, lambda r: False),
        ({"start_position": 11_027}, lambda r: r["pos"] >= 11_027),
        ({"stop_position": 11_027}, lambda r: r["pos"] < 11_027),
        ({"where": "id=2"}, lambda r: any(i.get("id") == 2 for i in _image(r))),
        ({"where": "body=NULL"}, lambda r: any(i.get("body", 0) is None for i in _image(r))),
        (
            {"where": ["val=2", "name=single"]},
            lambda r: any(i.get("val") == 2 and i.get("name") == "single" for i in _image(r)),
        ),
    ],
    ids=lambda v: str(v) if isinstance(v, dict) else "keeps",
)
def test_rows_kept(filters: dict[str, Any], keeps: Callable[[Row], bool]) -> None:
    log = bk.open(LOG)
    everything = list(log.row_records())
    kept = list(log.row_records(**filters))
    assert kept == [row for row in everything if keeps(row)]
    if "server_id" not in filters:
        assert 0 < len(kept) < len(everything) or "thread" in filters


def test_gtid_and_time_are_those_of_the_transaction() -> None:
    log = bk.open(LOG)
    rows = list(log.row_records())
    chosen = rows[len(rows) // 2]
    sid, number = str(chosen["gtid"]).rsplit(":", 1)
    kept = list(log.row_records(gtid=f"{sid}:1-{number}"))
    assert kept == [r for r in rows if int(r["gtid"].rsplit(":", 1)[1]) <= int(number)]
    moment = chosen["commit_timestamp"]
    before = list(log.row_records(stop_time=moment / 1e6))
    after = list(log.row_records(start_time=moment / 1e6))
    assert before == [r for r in rows if r["commit_timestamp"] < moment]
    assert before + after == rows


@pytest.mark.parametrize(
    ("names", "text"),
    [
        (("shop", "orders"), "shop.orders"),
        (("orders",), "orders"),
        (("a.b", "c"), "`a.b`.c"),
        (("a", "c`d"), "a.`c``d`"),
        (("`", "."), "````.`.`"),
    ],
)
def test_a_table_name_is_written_as_it_is_read(names: tuple[str, ...], text: str) -> None:
    assert written_table_name(*names) == text
    read = parse_table_name(text)
    assert tuple(part for part in (read.db, read.table) if part is not None) == names
