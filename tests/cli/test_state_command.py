"""``binlogkit state``: points, forms, order, and what the log does not determine."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

import binlogkit as bk
from binlogkit.errors import UsageError
from binlogkit_fixtures import golden

Run = Callable[..., Any]
CASE = golden.case("8.0-row-full", "keys")
(LOG,) = CASE.binlogs
DETERMINED = ["pk", "pk_auto", "pk_last", "composite", "pk_text", "pk_bytes", "pk_odd", "unique_nn"]


def state(run: Run, table: str, *point: object) -> Any:
    return run("state", LOG, "--table", table, "--format", "jsonl", *point)


def values(done: Any) -> list[dict[str, Any]]:
    return [record["values"] for record in done.records]


@pytest.mark.parametrize("table", DETERMINED)
def test_at_a_position(run: Run, table: str) -> None:
    """What the server's own SELECT said there, in the order of the primary key."""
    mark = next(m for m in CASE.manifest.marks if m.name == "updated")
    truth = mark.tables[f"keyed.{table}"]
    done = state(run, f"keyed.{table}", "--at", f"{LOG}:{mark.pos}")
    assert (done.status, done.err) == (0, "")
    found = values(done)
    if truth.primary_key == ("id",):
        assert [row["id"] for row in found] == sorted(row["id"] for row in found)
    as_text = [sorted(map(repr, row.items())) for row in found]
    expected = [sorted(map(repr, row.items())) for row in truth.records()]
    assert sorted(as_text) == sorted(expected)
    assert all(record["unknown"] == [] for record in done.records)


def test_duplicates_are_kept(run: Run) -> None:
    mark = next(m for m in CASE.manifest.marks if m.name == "inserted")
    done = state(run, "keyed.nokey", "--at", f"{LOG}:{mark.pos}")
    assert done.status == 0
    first, *_ = values(done)
    assert values(done).count(first) == 3


def test_every_way_to_name_a_point(run: Run) -> None:
    """A transaction's end as position, GTID set and commit time: the same rows."""
    transactions = [
        t
        for t in run("transactions", LOG, "--table", "keyed.pk", "--format", "jsonl").records
        if t["rows"]
    ]
    middle = transactions[len(transactions) // 2]
    moment = datetime(1970, 1, 1, tzinfo=UTC) + timedelta(microseconds=middle["commit_timestamp"])
    uuid, number = middle["gtid"].split(":")
    at = state(run, "keyed.pk", "--at", f"{LOG}:{middle['end_pos']}")
    assert at.status == 0 and at.records
    for point in (
        ["--until-gtid", f"{uuid}:1-{number}"],
        ["--until-time", moment.isoformat()],
        ["--until-time", moment.replace(tzinfo=None).isoformat()],
        [
            "--until-time",
            (moment + timedelta(hours=2)).replace(tzinfo=None).isoformat(),
            "--timezone",
            "Etc/GMT-2",
        ],
        ["--at", f"{LOG.name}:{middle['end_pos']}"],
        # A position inside the transaction that follows is before it.
        ["--at", f"{LOG}:{middle['end_pos'] + 1}"],
    ):
        done = state(run, "keyed.pk", *point)
        assert (done.status, done.out) == (0, at.out), point
    before = state(run, "keyed.pk", "--at", f"{LOG}:{middle['end_pos'] - 1}")
    start = state(run, "keyed.pk", "--at", f"{LOG}:{middle['pos']}")
    assert before.out == start.out != at.out


@pytest.mark.parametrize("point", [["--at", f"{LOG}:9999999"], ["--until-time", "2099-01-01"]])
def test_a_point_behind_the_end_is_noted(run: Run, point: list[str]) -> None:
    """The state is that of the end, and the status as it is there."""
    done = state(run, "keyed.pk", *point)
    assert (done.status, done.out) == (0, state(run, "keyed.pk").out)
    assert done.complaint.startswith("note: keyed.pk: ")
    assert "asked for" in done.complaint


def test_a_missing_member_of_the_set_is_a_finding(run: Run) -> None:
    transactions = run("transactions", LOG, "--format", "jsonl").records
    uuid, number = transactions[-1]["gtid"].split(":")
    done = state(run, "keyed.pk", "--until-gtid", f"{uuid}:1-{int(number) + 5}")
    assert done.records == state(run, "keyed.pk").records
    assert done.status == 1
    assert "keyed.pk" in done.complaint


def test_the_position_is_split_at_the_last_colon(run: Run, tmp_path: Path) -> None:
    folder = tmp_path / "from: db1:3306"
    folder.mkdir()
    log = folder / "binlog:000001"
    shutil.copyfile(LOG, log)
    mark = CASE.manifest.marks[-1]
    expected = state(run, "keyed.pk", "--at", f"{LOG}:{mark.pos}")
    for name in (str(log), log.name):
        done = run(
            "state", log, "--table", "keyed.pk", "--at", f"{name}:{mark.pos}", "--format", "jsonl"
        )
        assert (done.status, done.out) == (0, expected.out)


@pytest.mark.parametrize("at", ["binlog.000001", "binlog.000001:", "binlog.000001:-4", "x:9"])
def test_what_is_no_position(run: Run, at: str) -> None:
    done = state(run, "keyed.pk", "--at", at)
    assert done.status == 2
    assert done.out == b"" and done.complaint


def test_the_database_may_be_left_out_where_it_is_clear(run: Run) -> None:
    assert state(run, "pk").out == state(run, "keyed.pk").out == state(run, "`keyed`.`pk`").out


def test_a_dropped_table_has_no_rows(run: Run) -> None:
    case = golden.case("8.0-row-full", "ddl")
    created = list(case.manifest.marks)
    last = set(created[-1].tables)
    gone = sorted({name for mark in created for name in mark.tables} - last)
    assert gone
    dropped = 0
    for name in gone:
        done = run("state", *case.binlogs, "--table", _quoted(name), "--format", "jsonl")
        assert done.records == []
        dropped += done.status == 0
    assert dropped


def _quoted(name: str) -> str:
    return ".".join("`" + part.replace("`", "``") + "`" for part in name.split(".", 1))


@pytest.mark.parametrize("version", ["5.7", "8.0"])
def test_writes_that_are_logged_as_statements(run: Run, version: str) -> None:
    """Given is what is known; the reason is on standard error, the status is 1."""
    case = golden.case(f"{version}-statement-full", "keys")
    done = run("state", *case.binlogs, "--table", "keyed.pk", "--format", "jsonl")
    assert done.status == 1
    lines = done.err.splitlines()
    assert lines and all(line.startswith("binlogkit: keyed.pk: ") for line in lines)
    assert any("statement" in line for line in lines)
    assert any(f"{case.binlogs[0]}:" in line for line in lines)


def test_columns_that_minimal_images_leave_out(run: Run, tmp_path: Path, picked: Any,
                                               frames_of: Any) -> None:  # fmt: skip
    """An update of a row whose insert is not in the log: the other columns are unknown."""
    data = golden.case("8.0-row-minimal", "keys").binlogs[0].read_bytes()
    found = frames_of(data)
    mark = next(
        n
        for n, frame in enumerate(found)
        if frame.type == "UPDATE_ROWS_EVENT" and b"uno" in data[frame.pos : frame.end]
    )
    create = next(n for n, f in enumerate(found) if b"TABLE keyed.pk (" in data[f.pos : f.end])
    part = tmp_path / "part"
    # Without GTID events: two transactions whose own ends delimit them.
    part.write_bytes(picked(data, [0, create, *range(mark - 2, mark + 2)]))
    done = run("state", part, "--table", "keyed.pk", "--format", "jsonl")
    assert done.status == 1
    assert "cells are not determined" in done.err
    (record,) = done.records
    assert record == {"values": {"id": 1, "name": "uno"}, "unknown": ["body", "data"]}


def test_the_table_for_people(run: Run) -> None:
    text = run("state", LOG, "--table", "keyed.pk").out.decode("utf-8")
    header, *rows = text.splitlines()
    assert header.split() == ["id", "name", "body", "data"]
    assert any("NULL" in row for row in rows)


def test_every_table_at_once(run: Run) -> None:
    """Each row says whose it is; those of a table are its own state's."""
    mark = next(m for m in CASE.manifest.marks if m.name == "updated")
    done = run("state", LOG, "--at", mark.pos, "--format", "jsonl")
    names = list(dict.fromkeys((r["db"], r["table"]) for r in done.records))
    assert names == sorted(tuple(n.split(".", 1)) for n, t in mark.tables.items() if t.records())
    for db, table in names:
        own = [r for r in done.records if (r.pop("db", db), r.pop("table", table)) == (db, table)]
        assert own == state(run, f"`{db}`.`{table}`", "--at", mark.pos).records, table
    assert done.err == "" and done.status == 0
    some = run("state", LOG, "--table", "keyed.pk", "--table", "keyed.nokey", "--format", "jsonl")
    assert list(dict.fromkeys(r["table"] for r in some.records)) == ["pk", "nokey"]


def test_every_table_that_may_be_there(run: Run) -> None:
    """Not those that are dropped by then, or made later."""
    case = golden.case("8.0-row-full", "ddl")
    log = bk.open(case.binlogs[0])
    for mark in case.manifest.marks[:: len(case.manifest.marks) // 3]:
        found = {".".join(one.table) for one in log.states(at=(mark.file, mark.pos))}
        assert found - {"evolve.missing"} == set(mark.tables)  # DROP … IF EXISTS names that one
    with pytest.raises(UsageError, match="name it"):
        list(log.states(key=["id"]))


def test_an_empty_table_has_no_rows(run: Run) -> None:
    """At the end, and at each place where it is empty, however that is named."""
    changes = ("transactions", LOG, "--table", "keyed.pk_last", "--format", "jsonl")
    first, *_, last = run(*changes).records
    uuid, number = last["gtid"].split(":")
    moment = datetime(1970, 1, 1, tzinfo=UTC) + timedelta(microseconds=last["commit_timestamp"])
    for point in (
        [],
        ["--at", f"{LOG}:{first['pos']}"],  # made, and not written yet
        ["--at", f"{LOG}:{last['end_pos']}"],
        ["--until-gtid", f"{uuid}:1-{number}"],
        ["--until-time", moment.isoformat()],
    ):
        for form in ("table", "jsonl"):
            done = run("state", LOG, "--table", "keyed.pk_last", "--format", form, *point)
            told = "note: keyed.pk_last: 0 rows"
            assert (done.status, done.out, done.complaint) == (0, b"", told), point
    inside = run("state", LOG, "--table", "keyed.pk_last", "--at", f"{LOG}:{first['end_pos']}")
    assert inside.status == 0 and inside.out and "0 rows" not in inside.err
