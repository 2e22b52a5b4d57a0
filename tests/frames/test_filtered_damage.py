"""Damage that filters leave out: of an event it is told, in rows that nobody decodes it is not."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

import binlogkit as bk
from tests.frames.readings import assert_same
from tests.fuzz.binlogkit_fuzz import framing, seeds

LOG = seeds.logs()["8.0-row-full/keys/binlog.000001"]


def broken(cut: int) -> tuple[bytes, int, str]:
    """A log with sound checksums in which an insert's rows event lacks its last bytes; its
    position, and its table."""
    row = next(row for row in bk.open(LOG).row_records() if row["op"] == "insert")
    pieces = framing.split(LOG)
    starts = [event["pos"] for event in bk.open(LOG).event_records()]
    at = starts.index(row["pos"])
    part = pieces.parts[at]
    parts = [*pieces.parts[:at], replace(part, body=part.body[:cut]), *pieces.parts[at + 1 :]]
    data = framing.join(replace(pieces, parts=parts))
    return data, int(str(row["pos"])), f"{row['db']}.{row['table']}"


IN_ROWS, BEFORE_ROWS = -1, 9  # bytes of the event's body that are left


@pytest.mark.sampled(4)
@pytest.mark.filterwarnings("ignore::binlogkit.errors.UnmetWarning")  # of no.such
@pytest.mark.parametrize(
    ("cut", "filters", "told"),
    [
        (IN_ROWS, {}, True),
        (IN_ROWS, {"table": "TABLE"}, True),
        (IN_ROWS, {"where": "id=-99"}, True),
        (IN_ROWS, {"exclude_table": "TABLE"}, False),
        (IN_ROWS, {"table": "no.such"}, False),
        (IN_ROWS, {"op": "delete"}, False),
        (IN_ROWS, {"server_id": 99}, False),
        (BEFORE_ROWS, {}, True),
        (BEFORE_ROWS, {"exclude_table": "TABLE"}, True),
        (BEFORE_ROWS, {"op": "delete"}, True),
    ],
)
def test_both_ways_of_reading_tell_the_same(cut: int, filters: dict[str, Any], told: bool) -> None:
    data, pos, table = broken(cut)
    chosen: dict[str, Any] = {
        name: table if value == "TABLE" else value
        for name, value in filters.items()
    }  # fmt: skip
    for mode in ("report", "stop"):
        found = assert_same(data, mode, **{k: v for k, v in chosen.items() if k != "where"})
        assert bool(found.error or found.damages) == told
    log = bk.open(data, on_damage="report")
    for _ in log.batches(**chosen):
        pass
    assert [damage.offset for damage in log.damages] == [pos] * told


def test_columns_that_are_not_asked_for_must_end_inside_the_row() -> None:
    data, pos, table = broken(IN_ROWS)
    log = bk.open(data, on_damage="report")
    for _ in log.batches(table, columns=[]):
        pass
    assert [damage.offset for damage in log.damages] == [pos]


def test_verify_decodes_what_filters_leave_out() -> None:
    data, pos, _ = broken(IN_ROWS)
    found = [(finding.code, finding.place.pos) for finding in bk.verify(data, rows=True).findings]
    assert ("malformed_event", pos) in found
