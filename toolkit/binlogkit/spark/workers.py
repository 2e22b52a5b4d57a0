"""The Python of Spark's workers: this interpreter if possible, else clear error messages."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from binlogkit.spark.installed import installed_check

if TYPE_CHECKING:
    from pyspark.sql import SparkSession
    from pyspark.sql.datasource import DataSource

_UNNAMED = (
    "python3"  # what Spark starts where PYSPARK_PYTHON named nothing (pyspark/core/context.py)
)


@contextmanager
def own_interpreter(spark: SparkSession) -> Iterator[None]:
    """Data sources registered in this context use this interpreter, if the session's workers are
    local.

    Only where PYSPARK_PYTHON named no other when the session began. Functions that the session is
    given later keep their own Python.
    """
    context = getattr(spark, "sparkContext", None)  # a Spark Connect session has none
    if (
        context is None
        or not context.master.startswith("local")
        or context.pythonExec != _UNNAMED
        or not sys.executable
    ):
        yield
        return
    context.pythonExec = sys.executable
    try:
        yield
    finally:
        context.pythonExec = _UNNAMED


def source_door() -> type[DataSource]:
    """The data source ``binlog``, imported in a worker when used there."""
    from pyspark.sql.datasource import DataSource

    check = installed_check()

    class BinlogDataSource(DataSource):
        @classmethod
        def name(cls) -> str:
            return "binlog"

        def __new__(cls, options: dict[str, str]) -> Any:
            check()
            from binlogkit.spark.source import BinlogDataSource

            return BinlogDataSource(options)

    return BinlogDataSource
