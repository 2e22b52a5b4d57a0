"""The stream reader of the data source ``binlog``: answers Spark's calls, batch by batch.

It lives in one process as long as the query does; only its schema is sent to tasks, since each
partition has its own scan. A batch is planned from the two offsets that Spark keeps, so that a
repeated batch gives the same rows.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from pyspark.sql.datasource import DataSourceStreamReader, InputPartition
from pyspark.sql.streaming.datasource import (
    ReadAllAvailable,
    ReadLimit,
    ReadMaxBytes,
    ReadMaxFiles,
    SupportsTriggerAvailableNow,
)
from pyspark.sql.types import StructType

from binlogkit.errors import UsageError
from binlogkit.spark.arrow_types import wanted_schema
from binlogkit.spark.installed import shipped
from binlogkit.spark.options import ScanOptions
from binlogkit.spark.stream.columns import Columns
from binlogkit.spark.stream.offsets import Offset, from_json, to_json, within
from binlogkit.spark.stream.planning import between, read
from binlogkit.spark.stream.reach import Follower, Limit

if TYPE_CHECKING:
    import pyarrow as pa


class BinlogStreamReader(DataSourceStreamReader, SupportsTriggerAvailableNow):
    """Logs that grow, and new ones, as batches of rows."""

    def __init__(self, asked: ScanOptions, schema: StructType, *, inferred: bool = True) -> None:
        if asked.kind in ("damages", "gaps"):
            raise UsageError(f"{asked.kind} are those of logs as they are, and no stream")
        if {"start_position", "stop_position"} & asked.filters.keys():
            raise UsageError("a stream begins at the offset in its checkpoint, at no position")
        self._asked, self._schema = asked, schema
        self._columns = Columns(wanted_schema(schema), inferred)
        self._follower = Follower(asked)
        self._ends = False  # whether the query ends when there is nothing more
        self._target: Offset | None = None

    def __reduce__(self) -> tuple[Any, ...]:
        return shipped(BinlogStreamReader, self._asked, self._schema)

    def initialOffset(self) -> dict[str, Any]:
        """The start: before all logs and the base, or after the existing logs."""
        begin = Offset()
        latest = self._asked.starting_offset == "latest"
        return to_json(self._follower.latest(begin) if latest else begin)

    def getDefaultReadLimit(self) -> ReadLimit:
        """The limits of a batch."""
        if self._asked.max_files_per_trigger is not None:
            return ReadMaxFiles(self._asked.max_files_per_trigger)
        if self._asked.max_bytes_per_trigger is not None:
            return ReadMaxBytes(self._asked.max_bytes_per_trigger)
        return ReadAllAvailable()

    def latestOffset(self, start: dict[str, Any], limit: ReadLimit) -> dict[str, Any]:
        """How far the next batch reads; errors as in :meth:`Follower.latest`."""
        asked, begin = self._asked, from_json(start)
        given = Limit()
        if not isinstance(limit, ReadAllAvailable):
            given = Limit(asked.max_files_per_trigger, asked.max_bytes_per_trigger)
        if self._ends and self._target is None:
            self._target = self._follower.latest(begin)
            if self._target.base != begin.base:  # only the base
                self._target = self._follower.latest(self._target)
        found = self._follower.latest(begin, given)
        return to_json(found if self._target is None else within(found, begin, self._target))

    def prepareForTriggerAvailableNow(self) -> None:
        """The query ends after what exists at its start."""
        self._ends, self._target = True, None

    def partitions(self, start: dict[str, Any], end: dict[str, Any]) -> list[InputPartition]:
        """The partitions of a batch."""
        tasks = between(
            self._follower, self._asked, from_json(start), from_json(end), self._columns
        )
        return [InputPartition(task) for task in tasks]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """The partition's batches."""
        return read(partition.value, wanted_schema(self._schema))
