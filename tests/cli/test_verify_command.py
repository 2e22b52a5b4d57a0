"""``binlogkit verify`` from the command line: status, forms, report, hostile text."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jsonschema
import pyarrow.parquet as pq
import pytest

import binlogkit as bk
from binlogkit.frames.fields.field import names
from binlogkit.frames.fields.ledger import FINDING
from binlogkit.schemas import load
from tests.waiting import LONG

Run = Callable[..., Any]


@pytest.fixture
def cut(small: Path, tmp_path: Path) -> Path:
    path = tmp_path / "binlog.000001"
    path.write_bytes(small.read_bytes()[:-1])
    return path


def test_notes_alone_are_well(run: Run, small: Path) -> None:
    done = run("verify", small)
    assert (done.status, done.err) == (0, "")
    assert b"All well" in done.out and b"not_closed" in done.out


def test_findings_set_the_status(run: Run, cut: Path) -> None:
    done = run("verify", cut)
    assert (done.status, done.err) == (1, "")
    text = done.out.decode()
    assert "The logs are damaged" in text
    assert "cut_event" in text and "all that followed are missing" in text


def test_what_cannot_be_read_is_said_behind_the_rest(run: Run, cut: Path, tmp_path: Path) -> None:
    other = tmp_path / "notes.txt"
    other.write_text("no log")
    done = run("verify", cut, other)
    assert done.status == 2
    assert b"cut_event" in done.out and b"Not read:" in done.out
    assert done.complaint.startswith(f"binlogkit: {other}: ")
    alone = run("verify", other)
    assert (alone.status, alone.out) == (2, b"")
    assert run("verify", cut, other, "--format", "jsonl").records


def test_records_hold_to_their_schema(run: Run, cut: Path) -> None:
    done = run("verify", cut, "--format", "jsonl")
    assert done.status == 1
    checker = jsonschema.validators.validator_for(load("finding"))(load("finding"))
    for record in done.records:
        checker.validate(record)
    assert done.records == [f.record() for f in bk.verify(str(cut)).findings]


def test_every_form_says_the_same(run: Run, cut: Path, tmp_path: Path) -> None:
    records = run("verify", cut, "--format", "jsonl").records
    target = tmp_path / "findings.parquet"
    assert run("verify", cut, "--format", "parquet", "--output", target).status == 1
    table = pq.read_table(target)
    assert table.to_pylist() == records
    assert table.column_names == list(names(FINDING))
    csv = run("verify", cut, "--format", "csv", "--columns", "grade,code").lines
    assert [line.rstrip("\r") for line in csv[1:]] == [f"{r['grade']},{r['code']}" for r in records]
    plain = run("verify", cut, "--columns", "code").lines
    assert [line.strip() for line in plain[1:]] == [r["code"] for r in records]


def test_damage_stops_when_asked(run: Run, small: Path, tmp_path: Path, frames_of: Any) -> None:
    data = bytearray(small.read_bytes())
    frames = frames_of(bytes(data))
    for frame in (frames[5], frames[9]):
        data[frame.end - 6] ^= 1
    path = tmp_path / "twice"
    path.write_bytes(data)

    def bad(*more: str) -> int:
        records = run("verify", path, "--format", "jsonl", *more).records
        return sum(r["code"] == "bad_checksum" for r in records)

    assert (bad(), bad("--on-damage", "stop")) == (2, 1)


def test_names_of_a_hostile_log_are_harmless(
    run: Run, golden_log: Any, tmp_path: Path, resealed: Any
) -> None:
    """A table called after an escape sequence, in a transaction that the end cuts."""
    data = golden_log("8.0-row-full/keys").read_bytes()
    events = [e for e in bk.open(data).event_records() if e["type"] == "TABLE_MAP_EVENT"]
    table = events[0]
    name = str(table["fields"]["db"]).encode()
    at = data.index(name, int(table["pos"]) + 19)
    evil = b"\x1b[31m\x9b"[: len(name)].ljust(len(name), b"\x07")
    hostile = resealed(data, data[:at] + evil + data[at + len(name) :])
    path = tmp_path / "binlog.000001"
    path.write_bytes(hostile[: int(table["end_pos"])])
    done = run("verify", path)
    assert done.status == 1
    assert not set(done.out) & {0x1B, 0x07, 0x9B}
    record = next(
        r
        for r in map(json.loads, run("verify", path, "--format", "jsonl").lines)
        if r["code"] == "unfinished_transaction"
    )
    assert "it touches" in record["found"]


def test_other_commands_tell_what_may_be_missing(
    run: Run, small: Path, tmp_path: Path, frames_of: Any
) -> None:
    data = small.read_bytes()
    gtids = [f for f in frames_of(data) if f.type == "GTID_LOG_EVENT"]
    start, end = gtids[3].pos - 20, gtids[6].pos + 5
    path = tmp_path / "binlog.000001"
    path.write_bytes(data[:start] + bytes(end - start) + data[end:])
    for command in ("events", "rows", "transactions"):
        done = run(command, path, "--format", "jsonl", "--on-damage", "report")
        assert done.status == 1
        *_, lost = done.err.splitlines()
        assert "the start of 4 transactions" in lost, lost
    findings = run(
        "audit", path, "--on-damage", "report", "--section", "integrity", "--format", "jsonl"
    )
    assert {"broken_framing", "missing_events"} <= {r["code"] for r in findings.records}
    html = tmp_path / "report.html"
    assert run("audit", path, "--on-damage", "report", "--html", html).status == 1
    assert "the start of 4 transactions" in html.read_text("utf-8")


@pytest.mark.oracle
@pytest.mark.gate
def test_mysqlbinlog_gives_less_of_a_damaged_log(
    small: Path, tmp_path: Path, frames_of: Any
) -> None:
    """Where a header is destroyed mysqlbinlog ends, with --force-read and --force-if-open too."""
    import subprocess

    from binlogkit_fixtures.servers.mysqlbinlog import ensure

    data = small.read_bytes()
    frames = frames_of(data)
    hit = frames[len(frames) // 2]
    path = tmp_path / "binlog.000001"
    path.write_bytes(data[: hit.pos] + b"\xee" * 19 + data[hit.pos + 19 :])
    argv = [*ensure().argv, "--no-defaults", "--force-read", "--force-if-open", str(path)]
    theirs = subprocess.run(argv, capture_output=True, text=True, timeout=LONG)
    assert theirs.returncode != 0 and "ERROR" in theirs.stderr
    seen = {int(line[5:]) for line in theirs.stdout.splitlines() if line.startswith("# at ")}
    ours = {int(e["pos"]) for e in bk.open(str(path), on_damage="report").event_records()}
    assert ours == {f.pos for f in frames if f is not hit}
    assert {pos for pos in seen if pos in ours} == {f.pos for f in frames if f.pos < hit.pos}
