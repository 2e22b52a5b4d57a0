"""A stream whose batches run here, without Spark, as Spark would ask for them."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa

from binlogkit.spark.options import ScanOptions, parse_options
from binlogkit.spark.splits.decode import decode, scan_schema
from binlogkit.spark.splits.plan import make_plan
from binlogkit.spark.stream.columns import Columns
from binlogkit.spark.stream.offsets import Offset, from_json, to_json
from binlogkit.spark.stream.planning import between, read
from binlogkit.spark.stream.reach import Follower, Limit


class Query:
    """A query over a folder; what it has read is ``rows``, batch by batch."""

    inferred = True  # the schema, from the logs

    def __init__(self, *paths: Path | str, schema: pa.Schema, **options: str) -> None:
        self._given = {"paths": json.dumps([str(path) for path in paths]), **options}
        self._schema = schema
        self.offset: dict[str, Any] = to_json(Offset())
        self.rows: list[list[dict[str, Any]]] = []
        self.restart()

    @property
    def asked(self) -> ScanOptions:
        return parse_options(self._given)

    def restart(self) -> None:
        """Go on in another process: all that was in memory is gone."""
        self._follower = Follower(self.asked)

    def read(self, start: dict[str, Any], end: dict[str, Any]) -> list[dict[str, Any]]:
        """The rows between two offsets, as Spark's checkpoint has them."""
        before, after = (from_json(json.loads(json.dumps(at))) for at in (start, end))
        columns = Columns(self._schema, self.inferred)
        batches: Iterator[pa.RecordBatch] = (
            batch
            for task in between(self._follower, self.asked, before, after, columns)
            for batch in read(task, self._schema)
        )
        found: list[dict[str, Any]] = pa.Table.from_batches(list(batches), self._schema).to_pylist()
        return found

    def latest(self, start: dict[str, Any], limit: Limit | None = None) -> dict[str, Any]:
        """How far a batch reads from an offset on."""
        return to_json(self._follower.latest(from_json(start), limit and replace(limit)))

    def batch(self, limit: Limit | None = None) -> bool:
        """Run a batch, if there is one."""
        end = self.latest(self.offset, limit)
        if end == self.offset:
            return False
        self.rows.append(self.read(self.offset, end))
        self.offset = end
        return True

    def all(self, limit: Limit | None = None) -> list[dict[str, Any]]:
        """Run batches as long as there are some; all that was read so far."""
        while self.batch(limit):
            pass
        return [row for rows in self.rows for row in rows]


def batch_of(*paths: Path | str, **options: str) -> tuple[list[dict[str, Any]], pa.Schema]:
    """What the batch source gives of logs."""
    given = {"paths": json.dumps([str(path) for path in paths]), **options}
    plan = make_plan(parse_options(given))
    schema = scan_schema(plan)
    batches = [batch for split in plan.splits for batch in decode(plan.scan, split, schema)]
    return pa.Table.from_batches(batches, schema).to_pylist(), schema
