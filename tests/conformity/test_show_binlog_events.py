"""SHOW BINLOG EVENTS of every golden log, line by line: each server's own words for its own log.

The Info column is said again from our events, as ``Log_event::pack_info`` of the servers (5.6.24,
5.7.22, 8.0.31, 9.7.4) says it, and must be equal to the letter.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import binlogkit as bk
from binlogkit.analyses.conformance.server_lines import NAMES, Line, lines_of
from binlogkit.events.reader import read_events
from binlogkit.sources.log_reader import LogReader

TYPES = {name: event_type for event_type, name in NAMES.items()}


def ours(path: Path, relay: bool) -> list[tuple[str, Line]]:
    with path.open("rb") as file:
        events = read_events(LogReader(path.name, file))
        return [(path.name, line) for line in lines_of(events, relay=relay)]


@pytest.mark.sampled(8, 24)
def test_every_line_is_said_again(case: Any) -> None:
    shown = [
        (line.file, Line.shown(line.pos, line.type, line.server_id, line.end_pos, line.info))
        for line in case.manifest.events
    ]
    relay = case.manifest.relay
    lines = [line for path in case.binlogs for line in ours(path, relay)]
    records = [record for path in case.binlogs for record in bk.open(path).event_records()]
    assert [(r["type"], r["server_id"]) for r in records] == [
        (TYPES[line.type], line.server_id) for _, line in lines
    ]
    if not relay:
        assert [r["end_pos"] for r in records] == [line.end_pos for _, line in lines]
    if case.scenario == "shutdown":  # SHOW BINLOG EVENTS ran before the server stopped
        assert lines.pop()[1].type == "Stop"
    assert lines == shown
