"""A state of a damaged log is the undamaged log's, or says that it is not determined.

A few bits of each log by default; ``BINLOGKIT_FLIPS`` says how many.
"""

from __future__ import annotations

import os
import random

import pytest

import binlogkit as bk
from binlogkit.constants import BINLOG_MAGIC
from binlogkit.rows.filters import written_table_name
from binlogkit_fixtures import golden

FLIPS = int(os.environ.get("BINLOGKIT_FLIPS", "12"))
TABLES = 5
LOGS = [
    ("8.0-row-full", "transactions"), ("8.0-row-minimal", "types"), ("8.0-row-no-gtid", "ddl"),
    ("5.7-row-full", "keys"), ("8.0-row-partial-json", "json"),
]  # fmt: skip


def states(data: bytes, names: list[str]) -> dict[str, tuple[list[str], bool]]:
    """The rows of tables, in no order, and whether they are determined."""
    log = bk.open(data, on_damage="report")
    found = log.states(names)
    return {
        name: (sorted(map(repr, state.records())), state.determined)
        for name, state in zip(names, found, strict=True)
    }


@pytest.mark.sampled(1)
@pytest.mark.parametrize(("cell", "scenario"), LOGS)
def test_one_changed_bit(cell: str, scenario: str) -> None:
    data = golden.case(cell, scenario).binlogs[0].read_bytes()
    chance = random.Random(f"{cell}/{scenario}")
    names = [written_table_name(*pair) for pair in bk.open(data).table_pairs()]
    whole = {name: rows for name, (rows, determined) in states(data, names).items() if determined}
    assert len(whole) >= len(names) / 2
    whole = {name: whole[name] for name in chance.sample([*whole], min(TABLES, len(whole)))}
    spared = 0
    for _ in range(FLIPS):
        at, bit = chance.randrange(len(BINLOG_MAGIC), len(data)), chance.randrange(8)
        damaged = bytearray(data)
        damaged[at] ^= 1 << bit
        found = states(bytes(damaged), list(whole))
        for name, rows in whole.items():
            assert found[name][0] == rows or not found[name][1], (at, bit, name)
        spared += any(determined for _, determined in found.values())
    assert spared > FLIPS // 4
