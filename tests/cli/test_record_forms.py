"""The records' forms: keys, their order, and what each key holds (docs/records.md)."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from binlogkit.constants import EventType
from binlogkit_fixtures import golden

EVENT_KEYS = [
    "source", "file", "pos", "end_pos", "inner", "size", "timestamp", "type", "code", "server_id",
    "flags", "checksum", "gtid", "fields",
]  # fmt: skip
ROW_KEYS = [
    "file", "pos", "end_pos", "inner", "row", "timestamp", "commit_timestamp", "server_id", "gtid",
    "thread_id", "xid", "xa", "db", "table", "op", "before", "after", "query",
]  # fmt: skip
TYPE_AT, FLAGS_AT, HEADER, CHECKSUM = 4, 17, 19, 4  # in an event of a v4 log
Run = Callable[..., Any]
Find = Callable[[str], Path]


def test_events(run: Run, log: Path) -> None:
    done = run("events", log, "--format", "jsonl")
    assert (done.status, done.err) == (0, "")
    position = 4
    for record in done.records:
        assert list(record) == EVENT_KEYS
        assert (record["source"], record["file"]) == (str(log.with_suffix("")), str(log))
        assert record["pos"] == position
        assert record["end_pos"] == position + record["size"] == record["fields"]["log_pos"]
        assert record["inner"] is None
        assert EventType[record["type"]] == record["code"]
        assert record["checksum"] == "ok"
        assert next(iter(record["fields"])) == "log_pos"
        position = record["end_pos"]
    assert position == log.stat().st_size


@pytest.mark.parametrize("before", ["", "./"])
def test_the_file_is_named_as_given(
    run: Run, log: Path, monkeypatch: pytest.MonkeyPatch, before: str
) -> None:
    monkeypatch.chdir(log.parent)
    (first, *_) = run("events", before + log.name, "--format", "jsonl").records
    assert first["file"] == before + log.name


def test_events_inside_a_payload_have_its_positions(run: Run, golden_log: Find) -> None:
    log = golden_log("8.0-row-compressed/keys")
    records = run("events", log, "--format", "jsonl").records
    outer: dict[str, Any] = {}
    numbers: list[int] = []
    inside = 0
    for record in records:
        if record["inner"] is None:
            assert numbers == list(range(len(numbers)))
            outer, numbers = record, []
        else:
            inside += 1
            numbers.append(record["inner"])
            assert outer["type"] == "TRANSACTION_PAYLOAD_EVENT"
            assert (record["pos"], record["end_pos"]) == (outer["pos"], outer["end_pos"])
            assert record["checksum"] == "none"
            assert record["gtid"] == outer["gtid"] is not None
    assert inside > 50
    rows = run("rows", log, "--format", "jsonl").records
    named = {(r["pos"], r["inner"]): r["type"] for r in records}
    assert rows
    for row in rows:
        assert named[row["pos"], row["inner"]].startswith(f"{_VERBS[row['op']]}_ROWS")


_VERBS = {"insert": "WRITE", "update": "UPDATE", "delete": "DELETE"}


@pytest.mark.parametrize(
    ("cell", "checksum"), [("8.0-row-full", "ok"), ("8.0-row-no-checksum", "none")]
)
def test_checksums(run: Run, golden_log: Find, cell: str, checksum: str) -> None:
    records = run("events", golden_log(f"{cell}/keys"), "--format", "jsonl").records
    # A format description carries one whatever the setting.
    assert {r["checksum"] for r in records[1:]} == {checksum}
    assert records[0]["checksum"] == "ok"


def test_flags_are_names(run: Run, golden_log: Find) -> None:
    records = run("events", golden_log("8.0-row-full/transactions"), "--format", "jsonl").records
    flags = {flag for record in records for flag in record["flags"]}
    assert flags <= {"IN_USE", "THREAD_SPECIFIC", "SUPPRESS_USE", "IGNORABLE"}
    assert {"SUPPRESS_USE", "IGNORABLE"} <= flags
    assert all(isinstance(r["flags"], list) for r in records)


def test_unknown_flags_are_numbers(
    run: Run, log: Path, tmp_path: Path, resealed: Any, frames_of: Any
) -> None:
    original = log.read_bytes()
    data, last = bytearray(original), frames_of(original)[-1]
    data[last.pos + FLAGS_AT : last.pos + FLAGS_AT + 2] = (0x8000 | 0x0020).to_bytes(2, "little")
    changed = tmp_path / "flags"
    changed.write_bytes(resealed(original, bytes(data)))
    *_, record = run("events", changed, "--format", "jsonl").records
    assert record["flags"] == ["ARTIFICIAL", 0x8000]


@pytest.mark.parametrize("ignorable", [True, False])
def test_an_unknown_type_is_preserved(
    ignorable: bool, run: Run, log: Path, tmp_path: Path, resealed: Any, frames_of: Any
) -> None:
    """Unknown event types are preserved; what its server does not mark may have changed rows."""
    original = log.read_bytes()
    data, last = bytearray(original), frames_of(original)[-1]
    data[last.pos + TYPE_AT] = 99
    data[last.pos + FLAGS_AT] |= 0x80 * ignorable
    changed = tmp_path / "unknown"
    changed.write_bytes(resealed(original, bytes(data)))
    done = run("events", changed, "--format", "jsonl")
    assert (done.status, "UNKNOWN_EVENT_99 is not read" in done.err) == (
        (0, False) if ignorable else (1, True)
    )
    *_, record = done.records
    body = original[last.pos + HEADER : last.end - CHECKSUM]
    assert (record["code"], record["type"]) == (99, "UNKNOWN_EVENT_99")
    assert record["fields"]["body"] == "0x" + body.hex().upper()


def test_rows(run: Run, log: Path) -> None:
    done = run("rows", log, "--format", "jsonl")
    assert (done.status, done.err) == (0, "")
    events = {r["pos"]: r for r in run("events", log, "--format", "jsonl").records}
    numbers: dict[int, int] = {}
    for record in done.records:
        assert list(record) == ROW_KEYS
        event = events[record["pos"]]
        for key in ("file", "end_pos", "inner", "timestamp", "server_id", "gtid"):
            assert record[key] == event[key]
        assert record["row"] == numbers.setdefault(record["pos"], 0)
        numbers[record["pos"]] += 1
        assert (record["before"] is None) == (record["op"] == "insert")
        assert (record["after"] is None) == (record["op"] == "delete")
        assert record["xa"] is record["query"] is None
        assert isinstance(record["thread_id"], int) and isinstance(record["xid"], int)
    assert {r["op"] for r in done.records} == {"insert", "update", "delete"}


def test_an_update_of_the_key_stays_one_update(run: Run, log: Path) -> None:
    rows = run("rows", log, "--table", "keyed.pk", "--op", "update", "--format", "jsonl").records
    moved = [r for r in rows if r["before"]["id"] != r["after"]["id"]]
    assert moved


@pytest.mark.parametrize("cell", ["5.7-row-full", "8.0-row-full"])
def test_what_the_server_says_of_transactions(run: Run, golden_log: Find, cell: str) -> None:
    """GTID and XID as SHOW BINLOG EVENTS has them; commit times from 8.0.1 on."""
    case = golden.case(cell, "transactions")
    xids, gtids, gtid = {}, set(), None
    for event in case.manifest.events:
        if event.type == "Gtid":
            gtid = event.info.split("'")[1]
            gtids.add(gtid)
        if event.type == "Xid":
            xids[gtid] = int(re.findall(r"xid=(\d+)", event.info)[0])
    rows = run("rows", *case.binlogs, "--format", "jsonl").records
    assert rows
    for row in rows:
        assert row["gtid"] in gtids
        assert row["xid"] == xids.get(row["gtid"])
        assert (row["commit_timestamp"] is None) == (cell == "5.7-row-full")
    if cell == "8.0-row-full":
        assert all(row["commit_timestamp"] > 10**15 for row in rows)
    prepared = [r for r in rows if r["xa"] is not None]
    assert prepared and all(r["xid"] is None for r in prepared)


def test_anonymous_transactions_have_no_gtid(run: Run, golden_log: Find) -> None:
    log = golden_log("8.0-row-no-gtid/transactions")
    rows = run("rows", log, "--format", "jsonl").records
    assert rows and {r["gtid"] for r in rows} == {None}
    transactions = run("transactions", log, "--format", "jsonl").records
    assert {t["gtid"] for t in transactions} == {None}


def test_the_original_statement(run: Run, golden_log: Find) -> None:
    log = golden_log("8.0-row-rows-query/keys")
    events = run("events", log, "--format", "jsonl").records
    told = {e["fields"]["query"] for e in events if e["type"] == "ROWS_QUERY_LOG_EVENT"}
    rows = run("rows", log, "--format", "jsonl").records
    assert rows
    for row in rows:
        assert row["query"] in told
        verb = {"insert": ("INSERT", "REPLACE"), "update": ("UPDATE", "INSERT", "REPLACE")}
        first = row["query"].split()[0].upper()
        assert first in verb.get(row["op"], ("DELETE", "REPLACE"))


def test_a_column_that_is_not_in_the_image_is_absent(run: Run, golden_log: Find) -> None:
    full = run("rows", golden_log("8.0-row-full/keys"), "--format", "jsonl").records
    minimal = run("rows", golden_log("8.0-row-minimal/keys"), "--format", "jsonl").records
    assert len(full) == len(minimal)
    left_out = nulls = 0
    for whole, part in zip(full, minimal, strict=True):
        for image in ("before", "after"):
            if whole[image] is None:
                assert part[image] is None
                continue
            for column, value in part[image].items():
                assert value == whole[image][column]
                nulls += value is None
            left_out += len(whole[image]) - len(part[image])
    assert left_out > 10 and nulls


def test_names_that_nothing_tells(
    run: Run, golden_log: Find, tmp_path: Path, picked: Any, frames_of: Any
) -> None:
    """Without the DDL and without FULL metadata: @1, @2 …, and the signedness is assumed."""
    data = golden_log("5.7-row-full/keys").read_bytes()
    found = frames_of(data)
    first = next(n for n, frame in enumerate(found) if frame.type == "TABLE_MAP_EVENT")
    part = tmp_path / "part"
    part.write_bytes(picked(data, [0, first, first + 1]))
    done = run("rows", part, "--format", "jsonl")
    assert "bytes were removed" in done.complaint
    assert done.records
    for row in done.records:
        assert list(row["after"]) == [f"@{n}" for n in range(1, len(row["after"]) + 1)]
    import binlogkit as bk

    told = bk.open(part).tables()
    assert set(told["name_origin"]) == {"position"}
    assert told["assumed"].any()


def test_transactions(run: Run, golden_log: Find) -> None:
    case = golden.case("8.0-row-full", "transactions")
    done = run("transactions", *case.binlogs, "--format", "jsonl")
    rows = run("rows", *case.binlogs, "--format", "jsonl").records
    assert done.status == 0
    assert [t["tx"] for t in done.records] == list(range(len(done.records)))
    counted: dict[Any, int] = {}
    for row in rows:
        counted[row["gtid"], row["xa"]] = counted.get((row["gtid"], row["xa"]), 0) + 1
    for record in done.records:
        assert list(record)[:6] == ["tx", "source", "file", "pos", "end_file", "end_pos"]
        assert record["rows"] == record["inserts"] + record["updates"] + record["deletes"]
        if record["rows"]:
            assert counted.pop((record["gtid"], record["xa"])) == record["rows"]
    assert not counted
    outcomes = {record["outcome"] for record in done.records}
    assert {"committed", "rolled_back", "prepared"} <= outcomes


def test_a_transaction_that_the_end_cuts(
    run: Run, log: Path, tmp_path: Path, frames_of: Any
) -> None:
    data = log.read_bytes()
    xid = next(f for f in frames_of(data) if f.type == "XID_EVENT")
    part = tmp_path / "part"
    part.write_bytes(data[: xid.pos])
    done = run("transactions", part, "--format", "jsonl")
    assert (done.status, done.err) == (0, "")
    assert done.records[-1]["outcome"] == "cut"
    assert {t["outcome"] for t in done.records[:-1]} == {"committed"}
    rows = run("rows", part, "--format", "jsonl").records
    assert rows[-1]["xid"] is None
