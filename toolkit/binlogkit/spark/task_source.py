"""Tasks that the driver plans, as a data source: each partition is one, and returns its result.

So Spark ships each task its own input, as with the partitions of any other source, also on Connect.
A task that is retried works again, and only what it returns in the end counts.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import count, filterfalse
from threading import Lock
from typing import TYPE_CHECKING, Any, TypeVar

from pyspark.sql.datasource import DataSource, DataSourceReader, InputPartition
from pyspark.sql.types import StringType, StructField, StructType

from binlogkit import errors
from binlogkit.errors import BinlogKitError, DamageError, InputError, WriteError
from binlogkit.spark.installed import shipped
from binlogkit.spark.workers import own_interpreter

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import SparkSession

_FORMAT = "binlogkit_tasks_{}"
_taken, _taking = set[int](), Lock()
Given = TypeVar("Given")
#: A task's work: what it is given, to a result for JSON.
Work = Callable[[Given], Mapping[str, Any]]


def run_tasks(spark: SparkSession, work: Work[Given], tasks: Sequence[Given]) -> list[Any]:
    """The results of tasks, in any order. The first error of a task that is one of binlogkit's is
    raised here."""
    if not tasks:
        return []
    with _name() as name, own_interpreter(spark):
        spark.dataSource.register(_source_of(name, work, tasks))
        done = spark.read.format(name).load().collect()
    results = [json.loads(text) for (text,) in done]
    for one in results:
        _raise_error(one)
    return results


@contextmanager
def _name() -> Iterator[str]:
    """A name that no other thread uses. A session keeps what is registered until something else has
    its name, so they are few."""
    with _taking:
        number = next(filterfalse(_taken.__contains__, count()))
        _taken.add(number)
    try:
        yield _FORMAT.format(number)
    finally:
        with _taking:
            _taken.discard(number)


def _error_record(error: BinlogKitError) -> dict[str, Any]:
    """A task's error, for JSON."""
    parts: tuple[Any, ...] = (str(error),)
    if isinstance(error, (InputError, DamageError)):
        parts = error.args
    elif isinstance(error, WriteError):
        parts = error.path, error.reason
    return {"error": type(error).__name__, "parts": list(parts)}


def _raise_error(result: Mapping[str, Any]) -> None:
    """Raise the error that a task's result is, if it is one."""
    if "error" in result:
        raise getattr(errors, result["error"])(*result["parts"])


class _Task(InputPartition):
    """What a task is given."""

    def __init__(self, given: Any) -> None:
        super().__init__(None)
        self.given = given


class _Tasks(DataSourceReader):
    """Does the work; it is shipped to every task, what each is given to that one only."""

    def __init__(self, work: Work[Any], tasks: Sequence[Any] = ()) -> None:
        self._work, self._tasks = work, tasks

    def __reduce__(self) -> tuple[Any, ...]:
        return shipped(_Tasks, self._work)

    def partitions(self) -> list[InputPartition]:
        """One for each task."""
        return [_Task(given) for given in self._tasks]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """Do a task's work."""
        import pyarrow as pa

        assert isinstance(partition, _Task)
        try:
            result = json.dumps(self._work(partition.given))
        except BinlogKitError as error:
            result = json.dumps(_error_record(error))
        yield pa.RecordBatch.from_pydict({"result": pa.array([result], pa.string())})


def _source_of(called: str, work: Work[Any], tasks: Sequence[Any]) -> type[DataSource]:
    class Tasks(DataSource):
        @classmethod
        def name(cls) -> str:
            return called

        def schema(self) -> StructType:
            return StructType([StructField("result", StringType())])

        def reader(self, schema: StructType) -> DataSourceReader:  # noqa: ARG002  by name
            return _Tasks(work, tasks)

    return Tasks
