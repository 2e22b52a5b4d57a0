"""A cluster as analyses see it: functions over record batches, run by its tasks."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, Self

import pyarrow as pa

Batches = Iterable[pa.RecordBatch]


class Tasks(Protocol):
    """Record batches in parts, each held by a task."""

    @property
    def shares(self) -> int:
        """The number of parts of rows that were brought together."""
        ...

    def map(self, function: Callable[[Batches], Batches], schema: pa.Schema) -> Self:
        """The result of a function on each part; it runs on demand."""
        ...

    def kept(self) -> Self:
        """The same, run once and kept by the tasks."""
        ...

    def where(self, column: str, *values: str) -> Self:
        """The rows with one of these values."""
        ...

    def beside(self, *others: Self) -> Self:
        """These rows and those of others, with the same columns."""
        ...

    def together(self, count: int) -> Self:
        """In so many parts, rows with the same ``share`` (from 0) in one of them, sorted by ``at``
        and ``last``."""
        ...

    def records(self) -> list[dict[str, Any]]:
        """The rows, if they are few."""
        ...

    def ordered(self, columns: Sequence[str], by: Sequence[str], parts: int) -> Any:
        """A frame of some columns, sorted by others, NULL last, in at most so many parts."""
        ...


class Sieve(Protocol):
    """What is wanted of changes. Copies of it may take parts of them."""

    def __call__(self, batch: pa.RecordBatch) -> Iterable[pa.RecordBatch]:
        """The wanted ones of a batch."""
        ...

    def learned(self) -> Any:
        """What it knows by the batches that it took, for JSON."""
        return None

    def add(self, learned: Sequence[Any]) -> bool:  # noqa: ARG002
        """Add what copies learned; whether more may be wanted, now that this is known."""
        return False


_OPTIONS = pa.ipc.IpcWriteOptions(compression="lz4")
_BYTES = pa.schema([("data", pa.binary())])
_LABELS: dict[int, list[int]] = {1: [0]}


@dataclass(frozen=True, slots=True)
class SparkTasks:
    """A Spark frame as such."""

    frame: Any

    @property
    def shares(self) -> int:
        """As many as Spark's shuffles have partitions."""
        return int(self.frame.sparkSession.conf.get("spark.sql.shuffle.partitions"))

    def map(self, function: Callable[[Batches], Batches], schema: pa.Schema) -> SparkTasks:
        """By ``mapInArrow``."""
        from pyspark.sql.pandas.types import from_arrow_schema

        return SparkTasks(self.frame.mapInArrow(function, from_arrow_schema(schema)))

    def kept(self) -> SparkTasks:
        """On the executors' disks, until the frame is deleted: in their memory it would take the
        place of what their tasks return."""
        from pyspark import StorageLevel

        return SparkTasks(self.frame.localCheckpoint(storageLevel=StorageLevel.DISK_ONLY))

    def where(self, column: str, *values: str) -> SparkTasks:
        """The rows with one of these values."""
        return SparkTasks(self.frame.where(self.frame[column].isin(*values)))

    def beside(self, *others: SparkTasks) -> SparkTasks:
        """By UNION ALL."""
        frame = self.frame
        for other in others:
            frame = frame.unionAll(other.frame)
        return SparkTasks(frame)

    def together(self, count: int) -> SparkTasks:
        """Spark assigns rows to partitions by a hash: the shares get numbers whose hashes give
        different partitions."""
        from pyspark.sql import functions as sql

        labels = sql.array(*map(sql.lit, self._labels(count)))
        share = sql.element_at(labels, (sql.col("share") + 1).cast("int")).cast("bigint")
        frame = self.frame.withColumn("share", share).repartition(count, "share")
        return SparkTasks(frame.sortWithinPartitions("at", "last"))

    def records(self) -> list[dict[str, Any]]:
        """The rows, on the driver."""
        return [row.asDict() for row in self.frame.collect()]

    def ordered(self, columns: Sequence[str], by: Sequence[str], parts: int) -> Any:
        """A Spark frame."""
        from pyspark.sql import functions as sql

        rising = [sql.col(name).asc_nulls_last() for name in by]
        apart = self.frame.repartitionByRange(parts, *rising).sortWithinPartitions(*rising)
        return apart.select(*map(sql.col, columns))

    def _labels(self, count: int) -> list[int]:
        from pyspark.sql import functions as sql

        if count not in _LABELS:
            at = sql.pmod(sql.hash("id"), sql.lit(count)).alias("at")
            numbers = self.frame.sparkSession.range(64 * count).select("id", at)
            found = numbers.groupBy("at").agg(sql.min("id").alias("id")).collect()
            _LABELS[count] = sorted(row["id"] for row in found)
        return _LABELS[count]


def row(schema: pa.Schema, *values: Any) -> pa.RecordBatch:
    """One row."""
    arrays = [pa.array([value], kind) for value, kind in zip(values, schema.types, strict=True)]
    return pa.RecordBatch.from_arrays(arrays, schema=schema)


def rows(batches: Batches) -> Iterator[dict[str, Any]]:
    """The rows of batches, one by one."""
    for batch in batches:
        for i in range(batch.num_rows):
            yield {name: batch[name][i].as_py() for name in batch.schema.names}


def packed(batch: pa.RecordBatch) -> bytes:
    """A batch as bytes."""
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, batch.schema, options=_OPTIONS) as writer:
        writer.write_batch(batch)
    return bytes(sink.getvalue())


def unpacked(data: bytes) -> pa.RecordBatch:
    """The batch that was packed."""
    with pa.ipc.open_stream(data) as reader:
        batch: pa.RecordBatch = reader.read_next_batch()
    return batch


def arriving(frame: Any) -> Iterator[pa.RecordBatch]:
    """The rows of a Spark frame in order, as they arrive from its tasks.

    The driver holds some partitions at a time.
    """
    from pyspark.sql.pandas.types import from_arrow_schema

    def pack(batches: Batches) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            yield row(_BYTES, packed(batch))

    for one in frame.mapInArrow(pack, from_arrow_schema(_BYTES)).toLocalIterator():
        yield unpacked(one["data"])
