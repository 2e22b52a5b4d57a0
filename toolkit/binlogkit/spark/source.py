"""The data source ``binlog``: ``spark.read.format("binlog").load(…)``, and ``readStream``.

Without options it gives the generic rows, with ``table`` that table's typed changes, with
``records`` another kind of spark/splits/kinds.py. Filters are options, and ``pushFilters`` is not
implemented: in PySpark 4.3.0 a pushed filter leaks into every other query on the same frame
(docs/spark.md, "Pushed filters").
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from pyspark.sql.datasource import (
    DataSource,
    DataSourceReader,
    DataSourceStreamReader,
    InputPartition,
)
from pyspark.sql.pandas.types import from_arrow_type
from pyspark.sql.types import DataType, StructField, StructType

from binlogkit.errors import GapWarning, UsageError
from binlogkit.spark.arrow_types import wanted_schema
from binlogkit.spark.installed import shipped
from binlogkit.spark.options import STREAMING, parse_options
from binlogkit.spark.splits.decode import check_schema, decode, scan_schema
from binlogkit.spark.splits.masked import check_masked
from binlogkit.spark.splits.plan import Scan, Split, SplitPlan, make_plan

if TYPE_CHECKING:
    import pyarrow as pa

_PREFIX = b"binlogkit:"
_GAPS_SHOWN = 10


class BinlogDataSource(DataSource):
    """The binlogs named by ``path`` or ``paths``; for options see spark/options.py."""

    def __init__(self, options: dict[str, str]) -> None:
        super().__init__(options)
        self._scan = parse_options(options)
        self._plan: SplitPlan | None = None
        self._inferred = False  # the columns, from the logs

    @classmethod
    def name(cls) -> str:
        """The format's name."""
        return "binlog"

    def schema(self) -> StructType:
        """The columns; a typed scan reads the logs to find its table's."""
        self._inferred = True
        if not self._scan.typed:
            return struct_type(scan_schema(SplitPlan(Scan(self._scan))))
        if self._scan.base is not None:
            from binlogkit.spark.stream.beginning import stream_schema

            return struct_type(stream_schema(self._scan))
        self._plan = make_plan(self._scan)
        return struct_type(scan_schema(self._plan))

    def streamReader(self, schema: StructType) -> DataSourceStreamReader:
        """A stream reader of these columns for logs that grow (docs/spark.md, "Streams")."""
        from binlogkit.spark.stream.reader import BinlogStreamReader

        check_masked(self._scan, wanted_schema(schema))
        return BinlogStreamReader(self._scan, schema, inferred=self._inferred)

    def reader(self, schema: StructType) -> DataSourceReader:
        """A reader of the columns in ``schema``, which may be the user's choice."""
        for name in STREAMING:
            if getattr(self._scan, name) is not None:
                raise UsageError(f"{name.replace('_', ' ')} is an option of streams alone")
        check_masked(self._scan, wanted_schema(schema))
        plan = self._plan
        if plan is None:
            plan = make_plan(self._scan, unite=False)
            check_schema(plan, wanted_schema(schema))
        if plan.gaps and plan.scan.asked.kind != "gaps":
            lines = ["changes may be missing (all gaps are the frame of records=gaps):"]
            lines += map(str, plan.gaps[:_GAPS_SHOWN])
            warnings.warn("\n  ".join(lines), GapWarning, stacklevel=2)
        return _Reader(plan.scan, schema, plan.splits)


class _Reader(DataSourceReader):
    """Reads splits; its scan is shipped to every task, each split to its own."""

    def __init__(self, scan: Scan, schema: StructType, splits: Sequence[Split] = ()) -> None:
        self._scan = scan
        self._schema = schema
        self._splits = splits

    def __reduce__(self) -> tuple[Any, ...]:
        return shipped(_Reader, self._scan, self._schema)

    def partitions(self) -> list[InputPartition]:
        """One partition per split."""
        return [InputPartition(split) for split in self._splits]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """The partition's batches."""
        return decode(self._scan, partition.value, wanted_schema(self._schema))


def struct_type(schema: pa.Schema) -> StructType:
    """An Arrow schema as Spark's; ``binlogkit:`` metadata goes into the fields' metadata."""
    return StructType([_struct_field(field) for field in schema])


def _struct_field(field: pa.Field) -> StructField:
    facts = {
        key.removeprefix(_PREFIX).decode(): value.decode()
        for key, value in (field.metadata or {}).items()
        if key.startswith(_PREFIX)
    }
    return StructField(field.name, _data_type(field.type), field.nullable, facts or None)


def _data_type(kind: Any) -> DataType:
    import pyarrow as pa

    if pa.types.is_struct(kind):
        return StructType([_struct_field(child) for child in kind])
    return from_arrow_type(kind, prefer_timestamp_ntz=True)
