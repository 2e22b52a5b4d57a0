"""Whatever a stream's process dies at, the one after it resumes with the same rows.

``BINLOGKIT_CAMPAIGNS=1 python -m pytest tests/spark/stream/test_faults.py`` dies at every step.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from binlogkit.log.index import Index
from binlogkit.spark.stream import planning, reach
from binlogkit_fixtures import golden
from tests.spark.landing.steps import at_step
from tests.spark.landing.test_faults import Died, dies
from tests.spark.stream import streams
from tests.spark.stream.streams import Query, batch_of

CASE = golden.case("8.0-row-full", "transactions")
#: Where something is read, planned, written, named or deleted.
STEPS: list[tuple[Any, str]] = [
    (pq, "write_table"),
    (Path, "replace"),
    (Path, "write_text"),
    (Path, "unlink"),
    (Index, "parts"),
    (Index, "commit"),
    (reach, "parts_of"),
    (reach, "resolve"),
    (streams, "between"),
    (planning, "decode"),
]


class Checkpoint:
    """What Spark keeps: offsets, written before their batch is read, and batches that are done."""

    def __init__(self, logs: Path, index: Path, kind: str) -> None:
        self._schema = batch_of(*CASE.binlogs, records=kind)[1]
        self._options = {"records": kind, "index": str(index), "maxBytesPerTrigger": "3000"}
        self._logs = logs
        self.offsets: list[dict[str, Any]] = []
        self.done: list[list[dict[str, Any]]] = []

    def run(self) -> None:
        """A process that reads all there is, and what the one before it has begun."""
        query = Query(self._logs, schema=self._schema, **self._options)
        while True:
            if len(self.offsets) == len(self.done):
                begin = self.offsets[-1] if self.offsets else query.offset
                end = query.latest(begin, reach.Limit(size=3000))
                if end == begin:
                    return
                self.offsets.append(end)
            start, end = [query.offset, *self.offsets][-2:]
            self.done.append(query.read(start, end))


def played(folder: Path, kind: str, number: int, when: str) -> tuple[Checkpoint, list[str]]:
    """Logs that grow, are read and go, with one step at which the process dies."""
    logs = folder / "logs"
    logs.mkdir(parents=True)
    first, second = CASE.binlogs
    checkpoint = Checkpoint(logs, folder / "index", kind)
    with at_step(number, when, dies, STEPS) as met:
        for name, size in ((first.name, 5000), (first.name, -1), (second.name, -1)):
            data = (first.parent / name).read_bytes()
            (logs / name).write_bytes(data if size < 0 else data[:size])
            while True:
                try:
                    checkpoint.run()
                    break
                except Died:
                    continue
    return checkpoint, met


def died_at(tmp_path: Path, kind: str, when: str, every: int) -> None:
    whole, met = played(tmp_path / "whole", kind, 0, when)
    assert {name for _, name in STEPS} == set(met)
    folder = str(tmp_path / "whole")
    want = [row for rows in whole.done for row in rows]
    assert len(want) == len(batch_of(*CASE.binlogs, records=kind)[0])
    for number in range(1, len(met) + 1, every):
        made, _ = played(tmp_path / str(number), kind, number, when)
        got = [row for rows in made.done for row in rows]
        assert str(got).replace(str(tmp_path / str(number)), folder) == str(want), number


@pytest.mark.slow
@pytest.mark.parametrize("when", ["before", "after"])
def test_a_process_that_dies_at_a_step(when: str, tmp_path: Path) -> None:
    died_at(tmp_path, "rows", when, 29)


@pytest.mark.campaign
@pytest.mark.parametrize("when", ["before", "after"])
def test_a_process_that_dies_at_any_step(when: str, tmp_path: Path) -> None:
    died_at(tmp_path, "rows", when, 1)
