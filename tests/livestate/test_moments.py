"""Live state at random moments of golden logs: the same as ``log.state`` there, and as sure."""

from __future__ import annotations

import random
import zlib

import pytest

import binlogkit as bk
from binlogkit.errors import UndeterminedError
from binlogkit.livestate.live import Live
from binlogkit.livestate.moment import Moment
from binlogkit.log.states.table_state import TableState
from binlogkit_fixtures import golden
from binlogkit_fixtures.golden import GoldenCase
from tests.livestate.shop import to_the_end

#: How many moments of each table are compared.
_MOMENTS = 3
#: A finding that what is logged later may show, and after which rows are not the same.
_LATER = {"unlogged"}


@pytest.mark.sampled(2, 16)
@pytest.mark.parametrize("case", golden.cases(), ids=str)
def test_random_moments(case: GoldenCase, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("binlogkit.livestate.live._TOGETHER", 1)  # each transaction is a moment
    rng = random.Random(zlib.crc32(str(case).encode()))
    log = bk.open([*case.binlogs], on_damage="report")
    for table in log.table_names():
        with bk.live(log, table, wait=False, history=1 << 30) as live:
            moments = [one for one in to_the_end(live).moments if one.count]
            chosen = rng.sample(moments[:-1], min(_MOMENTS, max(len(moments) - 1, 0)))
            for moment in [*chosen, *moments[-1:]]:
                here = live_state(live, table, moment)
                there = log.state(table, at=(moment.file, moment.pos))
                findings = {row["finding"] for row in there.findings.to_pylist()}
                if here is None:  # it was not there then
                    assert not there.rows.num_rows, (table, moment)
                elif not findings & _LATER:
                    # Of how the server stores names, too, live state knows only what came.
                    surer = there.determined and moment != live.moment
                    assert here.determined == there.determined or surer, (table, moment, findings)
                    assert [*here.records()] == [*there.records()], (table, moment)


def live_state(live: Live, table: str, moment: Moment) -> TableState | None:
    """None: the table was not there then."""
    try:
        return live.state(table, at=moment)
    except UndeterminedError:
        return None
