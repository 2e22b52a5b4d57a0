"""What is missing from logs is reported by every command, and refused by undo and redo."""

from __future__ import annotations

import json
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

import binlogkit as bk
from binlogkit.errors import GapError
from tests.analyses.verify.conftest import SID, write_series

Run = Callable[..., Any]
TABLE = "keyed.pk"
READERS = ["rows", "events", "transactions", "audit"]
MISSING = "binlog.000002 before it: not among the files"
GTIDS = f"neither in {{}} nor before it: {SID}:21-40"


@pytest.fixture
def series(tmp_path: Path) -> list[Path]:
    """Three logs of one server."""
    return write_series(tmp_path)


@pytest.fixture
def holed(series: list[Path]) -> list[Path]:
    """The first and the last of them."""
    return [series[0], series[2]]


def flipped(path: Path, kind: str, table: str) -> list[Path]:
    """The log with one bit changed in its first rows event of a kind after a map of the table."""
    data = bytearray(path.read_bytes())
    events = list(bk.open(path).event_records())
    pairs = pairwise(events)
    pos = next(
        after["pos"] for before, after in pairs
        if after["type"] == kind and before["fields"].get("table") == table
    )  # fmt: skip
    data[int(pos) + 40] ^= 1
    copy = path.with_name("flipped.000001")
    copy.write_bytes(data)
    return [copy]


@pytest.mark.sampled(2)
@pytest.mark.parametrize("command", [*READERS, "state", "undo", "redo"])
def test_a_missing_file_is_told(run: Run, series: list[Path], command: str) -> None:
    table = ["--table", TABLE] if command == "state" else []
    whole = run(command, *series, *table)
    assert "missing" not in whole.err
    done = run(command, series[0], series[2], *table)
    assert done.status == 1
    assert f"{series[2]}: " in done.err and MISSING in done.err
    assert GTIDS.format(series[0]) in done.err


def test_the_state_over_a_missing_file_is_not_determined(run: Run, holed: list[Path]) -> None:
    done = run("state", *holed, "--table", TABLE)
    assert done.status == 1 and done.err.count(MISSING) == 1
    state = bk.open(holed).state(TABLE)
    assert not state.determined
    assert "gap" in state.findings.column("finding").to_pylist()
    before = bk.open(holed).transactions(engine="pyarrow").to_pylist()[10]
    at = bk.open(holed).state(TABLE, at=(before["end_file"], before["end_pos"]))
    assert at.determined == bk.open(holed[0]).state(TABLE, at=before["end_pos"]).determined


def test_a_gap_after_the_point_is_none_of_the_state(run: Run, holed: list[Path]) -> None:
    last = bk.open(holed[0]).transactions(engine="pyarrow").to_pylist()[-1]
    one, two = (
        run("state", *paths, "--table", TABLE, "--at", f"{holed[0]}:{last['end_pos']}")
        for paths in (holed[:1], holed)
    )
    assert (two.status, two.out) == (one.status, one.out) == (0, one.out)
    assert one.out and "missing" not in two.err and MISSING not in two.err
    later = bk.open(holed[1]).transactions(engine="pyarrow").to_pylist()[0]["end_pos"]
    done = run("state", *holed, "--table", TABLE, "--at", f"{holed[1]}:{later}")
    assert done.status == 1 and MISSING in done.err


@pytest.mark.parametrize("command", ["undo", "redo"])
def test_no_script_is_made_over_a_gap(run: Run, holed: list[Path], command: str) -> None:
    done = run(command, *holed)
    assert (done.status, done.out) == (1, b"")
    assert "--despite-gaps" in done.err and MISSING in done.err
    with pytest.raises(GapError) as refused:
        bk.open(holed).undo(table=TABLE)
    assert any(MISSING in gap for gap in refused.value.gaps)


@pytest.mark.parametrize("command", ["undo", "redo"])
def test_a_script_names_its_gaps(run: Run, holed: list[Path], command: str) -> None:
    done = run(command, *holed, "--despite-gaps")
    assert done.status == 1 and MISSING in done.err
    head = done.out.decode("ascii").split("SET @bk_commit")[0]
    told = [line for line in head.splitlines() if line.startswith("-- GAP: ")]
    assert len(told) == 2 and MISSING in told[0] and SID in told[1]


def test_names_cannot_end_the_comment(run: Run, tmp_path: Path) -> None:
    folder = tmp_path / "x\n; DROP TABLE t; -- \u2028*"
    folder.mkdir()
    paths = write_series(folder)
    done = run("undo", paths[0], paths[2], "--despite-gaps")
    head = done.out.split(b"SET @bk_commit")[0].split(b"\n")
    assert all(line.startswith(b"--") for line in head[:-1]) and head[-1] == b""
    assert any(b"GAP" in line and b"DROP TABLE" in line for line in head)


@pytest.mark.slow
def test_frames_carry_the_gaps(series: list[Path], holed: list[Path]) -> None:
    for name in ("rows", "events", "transactions", "statements", "boundaries", "tables"):
        read = getattr(bk.open(holed), name)
        told = read().attrs["gaps"]
        assert any(MISSING in gap for gap in told)
        metadata = read(engine="pyarrow").schema.metadata
        assert json.loads(metadata[b"binlogkit:gaps"]) == told
        whole = getattr(bk.open(series), name)
        assert "gaps" not in whole().attrs
        assert b"binlogkit:gaps" not in (whole(engine="pyarrow").schema.metadata or {})


def test_damage_stops_the_undo_of_what_it_concerns(run: Run, log: Path, tmp_path: Path) -> None:
    path = tmp_path / log.name
    path.write_bytes(log.read_bytes())
    damaged = flipped(path, "UPDATE_ROWS_EVENT", "pk")
    options = ("--on-damage", "report")
    done = run("undo", *damaged, *options, "--table", "keyed.pk")
    assert (done.status, done.out) == (1, b"")
    assert "UPDATE_ROWS_EVENT cannot be read" in done.err
    other = run("undo", *damaged, *options, "--table", "keyed.pk_text")
    assert b"GAP" not in other.out and b"START TRANSACTION" in other.out


def test_a_later_beginning_and_a_live_end_are_notes(run: Run, series: list[Path]) -> None:
    data = series[1].read_bytes()
    rotate = int(str(list(bk.open(data).event_records())[-1]["pos"]))
    series[1].write_bytes(data[:rotate])
    for command in ("undo", "redo"):
        done = run(command, series[1])
        notes = [line for line in done.err.splitlines() if line.startswith("note: ")]
        assert any("the log ends without STOP or ROTATE" in note for note in notes)
        assert any(f"executed before it: {SID}:1-20" in note for note in notes)
    done = run("rows", series[1])
    assert (done.status, done.err) == (0, "")
    assert len(run("rows", "-v", series[1]).err.splitlines()) >= 2
    read = bk.open(series[1])
    assert read.notes == []
    read.transactions()
    assert {"begins_later", "not_closed"} <= {note.code for note in read.notes}


def test_what_a_state_assumes_and_how_much_of_it_is_determined(
    run: Run, log: Path, tmp_path: Path
) -> None:
    whole = bk.open(log).state("keyed.pk")
    assert whole.determined_rows == whole.rows.num_rows > 0
    cells = whole.rows.num_rows * len(whole.columns or ())
    assert whole.determined_cells == cells
    logged, cascades = whole.assumes
    assert "without being logged" in logged and "cascade" in cascades
    assert logged in run("state", "-v", log, "--table", "keyed.pk").err
    assert bk.open(log).undo(table="keyed.pk").assumes == whole.assumes
    head = run("undo", log, "--table", "keyed.pk").out.decode("ascii").split("SET @bk_commit")[0]
    assert all(f"-- assumed: {told}\n" in head for told in whole.assumes)
    report, audited = run("audit", log), bk.open(log).audit()["assumes"]
    assert tuple(audited.column("assumed").to_pylist()) == whole.assumes
    printed = " ".join(report.out.decode("utf-8").split())
    assert all(told in printed for told in whole.assumes)
    path = tmp_path / log.name
    path.write_bytes(log.read_bytes())
    damaged = flipped(path, "UPDATE_ROWS_EVENT", "pk")
    done = run("state", *damaged, "--table", "keyed.pk", "--on-damage", "report")
    state = bk.open(damaged, on_damage="report").state("keyed.pk")
    assert not state.determined and 0 < state.determined_rows <= state.rows.num_rows
    told = f"{state.determined_rows} of {state.rows.num_rows} rows and {state.determined_cells} of"
    assert told in done.err
    right = {repr(row) for row in whole.records()}
    behind = state.rows.column("seq").to_pylist()
    sure = sorted(zip(behind, map(repr, state.records()), strict=True))[-state.determined_rows :]
    assert all(row in right for _, row in sure)
