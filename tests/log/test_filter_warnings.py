"""What filters name and a log does not have is reported, with what may have been meant."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import binlogkit as bk
from binlogkit.errors import UnmetWarning, UsageError
from binlogkit.log.filter_warnings import tables_not_met, unmet

LOG = Path(__file__).parents[1] / "_data" / "8.0-row-full" / "keys" / "binlog.000001"


@pytest.mark.sampled(16)
@pytest.mark.parametrize(
    ("asked", "meant"),
    [
        ("keyed.pk", None),
        ("pk", None),
        ("Keyed.PK", "keyed.pk"),
        ("PK", "keyed.pk"),
        ("keyed.pk_tex", "keyed.pk_text"),
        ("shop.pk", "keyed.pk"),
        ("nosuch.table", ""),
        ("`a.b`.`c``d`", ""),
    ],
)
@pytest.mark.parametrize("read", ["row_records", "event_records", "transaction_records", "batches"])
def test_what_is_told(read: str, asked: str, meant: str | None) -> None:
    log = bk.open(LOG)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UnmetWarning)
        for _ in getattr(log, read)(table=asked):
            pass
    told = tables_not_met(log.met, {"table": [asked]})
    if meant is None:
        assert told == []
        return
    (text,) = told
    assert text.startswith(f"no rows of {asked} were read")
    others = text.partition("; there are rows of ")[2].split(", ")
    assert others[0] == meant


def test_of_several_each() -> None:
    log = bk.open(LOG)
    with pytest.warns(UnmetWarning, match="no rows of x.y were read"):
        list(log.row_records(table=["keyed.pk", "x.y"]))
    assert len(tables_not_met(log.met, {"table": ["keyed.pk", "x.y"], "op": "insert"})) == 1
    assert tables_not_met(log.met, {"op": "insert"}) == []


def test_before_anything_is_read() -> None:
    assert len(tables_not_met(bk.open(LOG).met, {"table": "keyed.pk"})) == 1


FRAMES: list[Callable[..., Any]] = [
    bk.Log.events,
    bk.Log.transactions,
    bk.Log.statements,
    bk.Log.boundaries,
    bk.Log.rows,
]


def frame_name(value: Any) -> str:
    return getattr(value, "__name__", str(value))


@pytest.mark.sampled(5)
@pytest.mark.parametrize("read", FRAMES, ids=frame_name)
@pytest.mark.parametrize("engine", ["pandas", "pyarrow"])
def test_a_frame_warns(read: Callable[..., Any], engine: str) -> None:
    for filters, told in (
        ({"table": "keyed.pkk"}, "no rows of keyed.pkk were read; there are rows of keyed.pk"),
        ({"stop_position": 1 << 40}, "before the stop position 1099511627776"),
        ({"start_time": "2200-01-01"}, "before the start time 2200-01-01 00:00:00 UTC"),
        ({"stop_time": "1999-01-01"}, "not before the stop time 1999-01-01 00:00:00 UTC"),
    ):  # fmt: skip
        with pytest.warns(UnmetWarning) as warned:
            read(bk.open(LOG), engine=engine, **filters)
        (warning,) = warned
        assert told in str(warning.message)
        assert warning.filename == __file__


STREAMS: list[Callable[..., Any]] = [
    bk.Log.event_records,
    bk.Log.event_batches,
    bk.Log.row_records,
    bk.Log.generic_batches,
    bk.Log.transaction_records,
    bk.Log.batches,
    bk.Log.changes,
]


@pytest.mark.parametrize("read", STREAMS, ids=frame_name)
def test_a_stream_warns_when_it_has_ended(read: Callable[..., Any]) -> None:
    log = bk.open(LOG)
    for filters, told in (
        ({"table": "keyed.pkk"}, "no rows of keyed.pkk were read; there are rows of keyed.pk"),
        ({"table": "pk", "start_time": "2200-01-01"}, "before the start time 2200-01-01"),
    ):
        with pytest.warns(UnmetWarning) as warned:
            for _ in read(log, **filters):
                pass
        (warning,) = warned
        assert told in str(warning.message)
        assert warning.filename == __file__


@pytest.mark.parametrize("read", FRAMES, ids=frame_name)
def test_a_wrong_argument(read: Callable[..., Any]) -> None:
    for wrong in ({"foo": 1}, {"tabel": "keyed.pk"}, {"thread": "x"}, {"engine": "polars"}):
        with pytest.raises(UsageError):
            read(bk.open(LOG), **wrong)


def test_times_are_looked_for_only_where_nothing_is_chosen() -> None:
    log = bk.open(LOG)
    last = {"start_time": max(log.events()["timestamp"])}
    assert unmet(log, last, nothing=False) == unmet(log, last, nothing=True) == []


@pytest.mark.parametrize("read", [bk.Log.rows, bk.Log.transactions, bk.Log.audit])
def test_a_column_that_no_table_has(read: Callable[..., Any]) -> None:
    with pytest.raises(UsageError, match=r"there is no column boddy; did you mean body\?"):
        read(bk.open(LOG), where="boddy=x")
    with pytest.raises(UsageError, match="there is no column nmae; did you mean name"):
        read(bk.open(LOG), where="after.nmae > 'a'")
    with pytest.raises(UsageError, match=r"id=x: keyed.*id is .*, compared with a number"):
        read(bk.open(LOG), where={"id": "x"}, table="keyed.pk")


@pytest.mark.parametrize("read", [bk.Log.events, bk.Log.statements, bk.Log.boundaries])
def test_what_has_no_rows_is_not_chosen_by_values(read: Callable[..., Any]) -> None:
    with pytest.raises(UsageError, match="have none"):
        read(bk.open(LOG), where="id=5")


def test_transactions_by_their_rows() -> None:
    log = bk.open(LOG)
    touching = {row["gtid"] for row in log.row_records(table="keyed.pk", where="id=2")}
    kept = [r["gtid"] for r in log.transaction_records(table="keyed.pk", where="id=2")]
    assert set(kept) == touching and 0 < len(kept) < len(list(log.transaction_records()))
    assert log.audit(table="keyed.pk", where="id=2")["summary"]["transactions"].to_pylist() == [
        len(kept)
    ]


@pytest.mark.parametrize(
    ("at", "told"),
    [
        ("nonsense", "not a position: 'nonsense'"),
        (-1, "not a position: -1"),
        (("binlog.000001",), "not a position"),
        (4.5, "not a position: 4.5"),
        ("other:4", "other is not one of the logs read"),
    ],
)
def test_a_wrong_position(at: Any, told: str) -> None:
    with pytest.raises(UsageError) as raised:
        bk.open(LOG).state("keyed.pk", at=at)
    assert told in str(raised.value)


def test_a_position_alone_is_that_of_the_one_log() -> None:
    log = bk.open(LOG)
    end = log.events(engine="pyarrow").column("end_pos")[-1].as_py()
    whole = log.state("keyed.pk").rows
    assert whole == log.state("keyed.pk", at=end).rows == log.state("keyed.pk", at=str(end)).rows
    with pytest.raises(UsageError, match="position 4 of which file"):
        bk.open([LOG, LOG]).state("keyed.pk", at=4)
    with pytest.raises(UsageError, match="there is no argument until; did you mean until_"):
        log.state("keyed.pk", until="2024-05-14")  # type: ignore[call-arg]


@pytest.mark.parametrize(
    "case, table, options, told",
    [
        ("8.0-row-full/ddl", "evolve.missing", {}, "1 DROP TABLE statement in these logs"),
        ("8.0-row-full/ddl", "evolve.item", {"stop_position": 200}, "1 TRUNCATE TABLE statement"),
        ("8.0-row-full/ddl", "evolve.item", {}, None),
        ("5.7-mixed-full/statements", "stmts.auto", {"op": "delete"}, "7 statements logged as"),
    ],
)
def test_statements_without_row_events(
    case: str, table: str, options: dict[str, Any], told: str | None
) -> None:
    """What was looked for may have been done by one of them."""
    path = LOG.parents[2] / case / "binlog.000001"
    with warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always")
        list(bk.open(str(path)).row_records(table=table, **options))
    found = [str(one.message) for one in warned if "without row events" in str(one.message)]
    assert any(told in one for one in found) if told is not None else not found
