"""Random work on real servers: the kernel's batches are the reference decoder's, cell by cell.

Every image, both versions of rows events, compressed transactions, tables that change in mid-file.
``BINLOGKIT_TRUTH_SEEDS``: the seeds, with commas (one unless it says more).
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, closing
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

import binlogkit as bk
from binlogkit.constants import EventType
from binlogkit_fixtures.servers import Server

pytestmark = pytest.mark.server

SEEDS = [int(seed) for seed in os.environ.get("BINLOGKIT_TRUTH_SEEDS", "5").split(",")]
UNITS, EVERY = 60, 60
GTID = {"gtid-mode": "ON", "enforce-gtid-consistency": "ON", "log-slave-updates": "ON"}
V1 = {"log-bin-use-v1-row-events": "ON"}
SERVERS = (("5.7", V1), ("8.0", GTID), ("9", GTID))


@pytest.fixture(params=[(*s, seed) for s in SERVERS for seed in SEEDS], ids=str)
def run(
    request: pytest.FixtureRequest,
    server_of: Callable[..., AbstractContextManager[Server]],
    workloads: ModuleType,
    tmp_path: Path,
) -> Iterator[tuple[Any, list[str]]]:
    """A finished workload, and its logs."""
    series, settings, seed = request.param
    with server_of(series, **settings, **{"local-infile": "ON"}) as server:
        # With V1 rows events 8.0.31 logs diffs as PARTIAL_UPDATE_ROWS_EVENT without the length of
        # its extra data; it calls such an event invalid itself (SHOW BINLOG EVENTS).
        gtids = settings is GTID
        workload = workloads.Workload(server, seed, gtids=gtids, partial=gtids)
        with closing(workload):
            workload.go(UNITS, EVERY)
            server.query("FLUSH BINARY LOGS")
            names = server.binlog_names()[:-1]
            yield workload, [str(server.copy_binlog(name, tmp_path)) for name in names]


def test_kernel_reference_and_server_agree(
    run: tuple[Any, list[str]], kernel_reads: ModuleType, checks: ModuleType
) -> None:
    workload, paths = run
    rows, different = kernel_reads.difference(paths)
    assert not different
    assert rows > 100
    log = bk.open(paths)
    assert list(checks.check_units(log, workload)) == []
    assert list(checks.check_images(log)) == []
    notes = Counter[str]()
    assert list(checks.check_states(log, workload, notes)) == []
    assert notes["rows determined"] > notes["rows"] / 2
    kernel_reads.kernel_alone(log)
    _reaches(workload, log)


def _reaches(workload: Any, log: bk.Log) -> None:
    """The workload reaches what this file says that it does."""
    found = Counter(record["code"] for record in log.event_records())
    newer = workload.series >= "8.0"
    if any(found[code] for code in (23, 24, 25)):
        assert not any(found[code] for code in (30, 31, 32))
    else:
        assert all(found[code] for code in (30, 31, 32))
    if newer:
        assert found[EventType.TRANSACTION_PAYLOAD_EVENT]
        assert found[EventType.PARTIAL_UPDATE_ROWS_EVENT] or not workload.partial
    states = Counter(
        state
        for b in log.batches()
        for name in ("before_state", "after_state")
        for state in b.batch.column(name).flatten().to_pylist()
    )
    assert all(states[state] for state in (0, 1, 2))
