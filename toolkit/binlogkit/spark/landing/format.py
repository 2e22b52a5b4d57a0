"""The tasks of a batch as a data source; each partition writes files and returns their list.

So Spark ships each task its own splits, as with the partitions of any other source, also on
Connect. A task that is retried writes other files, and only the returned ones count.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from pyspark.sql.datasource import DataSource, DataSourceReader, InputPartition
from pyspark.sql.types import StringType, StructField, StructType

from binlogkit import errors
from binlogkit.errors import BinlogKitError, DamageError, InputError, WriteError
from binlogkit.spark.installed import Needed
from binlogkit.spark.landing.waiting import Waiting
from binlogkit.spark.landing.writing import Done, Job, WrittenFile, write
from binlogkit.spark.splits.plan import Split

if TYPE_CHECKING:
    import pyarrow as pa

#: Its name.
FORMAT = "binlogkit_landing"


class _Task(InputPartition):
    """The splits of a task."""

    def __init__(self, splits: Sequence[Split]) -> None:
        super().__init__(None)
        self.splits = splits


class _Writer(DataSourceReader):
    """Writes the splits; it is shipped to every task, the splits each to their own."""

    def __init__(self, job: Job, tasks: Sequence[Sequence[Split]] = ()) -> None:
        self._job, self._tasks = job, tasks

    def __reduce__(self) -> tuple[Any, ...]:
        def made(_: None, kind: type[_Writer], job: Job) -> _Writer:
            return kind(job)

        return made, (Needed(), _Writer, self._job)

    def partitions(self) -> list[InputPartition]:
        """One for each task."""
        return [_Task(splits) for splits in self._tasks]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """Write a task's splits."""
        import pyarrow as pa

        assert isinstance(partition, _Task)
        try:
            result = json.dumps(asdict(write(self._job, partition.splits)))
        except BinlogKitError as error:
            result = json.dumps(error_record(error))
        yield pa.RecordBatch.from_pydict({"result": pa.array([result], pa.string())})


def error_record(error: BinlogKitError) -> dict[str, Any]:
    """A task's error, for JSON."""
    parts: tuple[Any, ...] = (str(error),)
    if isinstance(error, (InputError, DamageError)):
        parts = error.args
    elif isinstance(error, WriteError):
        parts = error.path, error.reason
    return {"error": type(error).__name__, "parts": list(parts)}


def raise_error(result: Mapping[str, Any]) -> None:
    """Raise the error that a task's result is, if it is one."""
    if "error" in result:
        raise getattr(errors, result["error"])(*result["parts"])


def results_of(results: Iterable[str]) -> list[Done]:
    """The tasks' results; raises the first error."""
    found = [json.loads(one) for one in results]
    for one in found:
        raise_error(one)
    return [
        Done([WrittenFile(**file) for file in one["files"]], [Waiting(**w) for w in one["waiting"]])
        for one in found
    ]


def source_of(job: Job, tasks: Sequence[Sequence[Split]]) -> type[DataSource]:
    """A data source for one batch."""

    class Landing(DataSource):
        @classmethod
        def name(cls) -> str:
            return FORMAT

        def schema(self) -> StructType:
            return StructType([StructField("result", StringType())])

        def reader(self, schema: StructType) -> DataSourceReader:  # noqa: ARG002  by name
            return _Writer(job, tasks)

    return Landing
