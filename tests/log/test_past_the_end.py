"""Points behind a log's end: the state is that of the end, and says so."""

from __future__ import annotations

import base64
import gzip
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
import zstandard

import binlogkit as bk
from binlogkit.errors import UnmetWarning
from binlogkit.log.filter_warnings import positions_unmet
from binlogkit_fixtures import golden

FILES = [str(path) for path in golden.case("8.0-row-full", "transactions").binlogs]
EARLY = str(golden.case("5.7-row-full", "keys").binlogs[0])
ENCRYPTED = Path(__file__).parents[1] / "_encrypted/9-row-encrypted/keys/binlog.000001"
ENDS = {name: Path(name).stat().st_size for name in [*FILES, EARLY]}


def table_of(log: Any) -> str:
    return str(log.table_names()[0])


def told(state: Any) -> list[dict[str, Any]]:
    return [f for f in state.findings.to_pylist() if f["finding"] == "behind_end"]


@pytest.mark.parametrize("name", [FILES[0], FILES[-1]], ids=["first", "last"])
def test_a_position_behind_a_files_end(name: str) -> None:
    """Of several, the file that the position names: the next one does not go on with it."""
    log = bk.open(FILES)
    table, end = table_of(log), ENDS[name]
    here, behind = (log.state(table, at=(name, pos)) for pos in (end, end + 1))
    assert told(here) == []
    (finding,) = told(behind)
    assert finding["determined"] and behind.determined == here.determined
    assert f"{name} ends at {end}" in finding["meaning"] and str(end + 1) in finding["meaning"]
    assert behind.rows == here.rows


@pytest.mark.parametrize("files", [FILES, [EARLY]], ids=["commit times", "seconds"])
def test_a_time_behind_the_end(files: list[str]) -> None:
    """Behind the second of the latest event or commit, not in it: events tell only seconds."""
    log = bk.open(files)
    table = table_of(log)
    commits = log.transactions(engine="pyarrow")["commit_timestamp"].drop_null().to_pylist()
    times = log.events(engine="pyarrow")["timestamp"].to_pylist()
    stamps = [*times, *(t // 1_000_000 for t in commits)]
    latest = datetime(1970, 1, 1, tzinfo=UTC) + timedelta(seconds=int(max(stamps)))
    end = log.state(table)
    assert told(log.state(table, until_time=latest + timedelta(microseconds=999_999))) == []
    behind = log.state(table, until_time=latest + timedelta(seconds=1))
    (finding,) = told(behind)
    assert finding["determined"] and behind.determined == end.determined
    assert f"later than {latest:%Y-%m-%d %H:%M:%S} UTC" in finding["meaning"]
    assert behind.rows == end.rows


def test_a_time_that_no_calendar_has() -> None:
    assert told(bk.open(EARLY).state("keyed.pk", until_time=10**12))


def test_damage_ends_what_is_read(tmp_path: Path) -> None:
    """The position is behind that end, wherever the file's is."""
    data = Path(EARLY).read_bytes()
    cut = tmp_path / "cut"
    cut.write_bytes(data[:-10])
    last = bk.open(EARLY).events().iloc[-1]
    log = bk.open(str(cut))
    (finding,) = told(log.state("keyed.pk", at=(str(cut), len(data) - 10)))
    assert f"ends at {last['pos']}," in finding["meaning"]
    assert log.damages


@pytest.mark.parametrize(
    "packed", [bytes, gzip.compress, zstandard.ZstdCompressor().compress, None]
)
def test_positions_that_filters_name(packed: Callable[[bytes], bytes] | None) -> None:
    """They count in the log itself, whatever is around it."""
    log, end = (
        bk.open(ENCRYPTED, keyring=ENCRYPTED.with_name("keyring")),
        ENCRYPTED.stat().st_size - 512,
    )
    if packed is not None:
        data = Path(EARLY).read_bytes()
        log, end = bk.open(packed(data)), len(data)
    assert end == log.events()["end_pos"].max()
    for option in ("start_position", "stop_position"):
        assert positions_unmet(log, {option: end}) == []
        (note,) = positions_unmet(log, {option: end + 1})
        assert f"ends at {end}," in note and str(end + 1) in note
    assert len(positions_unmet(log, {"start_position": 1 << 40, "stop_position": 1 << 40})) == 2
    assert positions_unmet(log, {"table": "keyed.pk"}) == []


def test_positions_inside_an_event() -> None:
    """What is read then is told; of a relay log, too, whose events have another log's positions."""
    log = bk.open(EARLY)
    events = log.events()
    pos, end = (int(events[name][2]) for name in ("pos", "end_pos"))
    notes = positions_unmet(log, {"start_position": pos + 1, "stop_position": end - 1})
    inside = f"lies in the event from {pos} to {end}: it is read"
    assert [inside in note for note in notes] == [True, True]
    assert notes[0].endswith(f"from {end} on") and notes[1].endswith(f"up to {end}")
    with pytest.warns(UnmetWarning, match=inside):
        assert len(log.events(start_position=pos + 1)) == len(events) - 3
    for known in {0, 4, *events["pos"], *events["end_pos"]}:
        assert positions_unmet(log, {"start_position": int(known)}) == []
    data = bytearray(Path(EARLY).read_bytes())
    data[pos + 13 : pos + 17] = bytes(4)  # the end that the event says
    relay = bk.open(bytes(data))
    assert positions_unmet(relay, {"start_position": pos}) == []
    assert len(positions_unmet(relay, {"start_position": pos + 1})) == 1


def test_start_is_in_the_first_log_and_stop_in_the_last() -> None:
    log = bk.open(FILES)
    (start, stop) = positions_unmet(log, {"start_position": 1 << 40, "stop_position": 1 << 40})
    assert start.startswith(f"{FILES[0]} ends at {ENDS[FILES[0]]},")
    assert stop.startswith(f"{FILES[-1]} ends at {ENDS[FILES[-1]]},")
    assert FILES[0] != FILES[-1]


def test_events_in_a_text_stand_where_the_server_had_them() -> None:
    """No file ends there; the events do."""
    data = Path(EARLY).read_bytes()
    text = f"BINLOG '{base64.b64encode(data[4:]).decode()}';"
    log = bk.open(text.encode())
    assert positions_unmet(log, {"stop_position": 1 << 40}) == []
    assert told(log.state("keyed.pk", at=(log.files[0], len(data)))) == []
    (finding,) = told(log.state("keyed.pk", at=(log.files[0], len(data) + 1)))
    assert f"ends at {len(data)}," in finding["meaning"]
