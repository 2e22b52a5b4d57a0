"""The inputs whose growth is measured are what they say: nothing ends them early."""

from __future__ import annotations

import binlogkit as bk
from tests.benchmarks.growth import CASES, blocks, each_table, logged, many_damages, wrong


def test_events_are_counted() -> None:
    assert len(list(bk.open(logged(each_table)(50)).row_records())) == 50
    assert len(list(bk.open(logged(blocks)(50)).event_records())) == 51
    log = bk.open(wrong(50), on_damage="report")
    assert len(list(log.event_records())) == 51 and len(log.damages) == 50
    log = bk.open(many_damages(50), on_damage="report")
    assert len(list(log.event_records())) == 51 and len(log.damages) == 51


def test_every_case_runs() -> None:
    """None ends in an error; a count of tables that collide is a power of two."""
    for make, call, count in CASES.values():
        call(make(1 << (count.bit_length() // 2)))
