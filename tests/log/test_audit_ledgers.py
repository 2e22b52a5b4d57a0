"""The audit reads its ledgers in one walk; they are those that the log gives one by one."""

from __future__ import annotations

from pathlib import Path

import pytest

import binlogkit as bk
from binlogkit.log.audit import _ledgers

DATA = Path(__file__).parents[1] / "_data"
LOGS = sorted(
    path
    for scenario in ("ddl", "keys", "transactions")
    for path in DATA.glob(f"8.0-*/{scenario}/binlog.000001")
)[::4]


@pytest.mark.sampled(1)
@pytest.mark.filterwarnings("ignore::binlogkit.errors.UnmetWarning")  # not every log has the table
@pytest.mark.parametrize("on_damage", ["stop", "report"])
@pytest.mark.parametrize("broken", [False, True])
def test_one_walk_gives_what_three_do(on_damage: str, broken: bool) -> None:
    assert len(LOGS) > 5
    for path in LOGS:
        data = bytearray(path.read_bytes())
        if broken:
            data[len(data) // 2] ^= 0x20
        for filters in ({}, {"stop_position": len(data) // 3}, {"table": "keyed.pk"}):
            log = bk.open(bytes(data), on_damage=on_damage)
            _, _, *tables, _ = _ledgers(log, log.carriers, **filters)
            alone = bk.open(bytes(data), on_damage=on_damage)
            expected = [
                read(engine="pyarrow", **filters)
                for read in (alone.transactions, alone.statements, alone.boundaries)
            ]
            assert tables == expected, (path, filters)
