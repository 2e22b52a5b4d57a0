"""The Python of Spark's workers: this interpreter where that can be, and clear words elsewhere.

A worker's Python without binlogkit cannot load anything of this package, not even an error. What
is said there is therefore made of local classes and functions, which cloudpickle ships by value.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pyspark.sql import SparkSession
    from pyspark.sql.datasource import DataSource

__all__ = ["Needed", "own_interpreter", "source_door"]

_UNNAMED = (
    "python3"  # what Spark starts where PYSPARK_PYTHON named nothing (pyspark/core/context.py)
)


@contextmanager
def own_interpreter(spark: SparkSession) -> Iterator[None]:
    """What is registered inside runs in this interpreter, if its session's workers are local.

    Only where PYSPARK_PYTHON named no other when the session began. Functions that the session is
    given later keep their own Python.
    """
    context = getattr(spark, "sparkContext", None)  # a session of Spark Connect has none
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
    """The data source ``binlog``, found in a worker when it is used there."""
    from pyspark.sql.datasource import DataSource

    check = _check()

    class BinlogDataSource(DataSource):
        @classmethod
        def name(cls) -> str:
            return "binlog"

        def __new__(cls, options: dict[str, str]) -> Any:
            check()
            from binlogkit.spark.source import BinlogDataSource

            return BinlogDataSource(options)

    return BinlogDataSource


class Needed:
    """Shipped in front of what needs binlogkit: ModuleNotFoundError with words where it is not."""

    def __reduce__(self) -> tuple[Callable[[], None], tuple[()]]:
        return _check(), ()


def _check() -> Callable[[], None]:
    def check() -> None:
        import importlib.util
        import platform
        import sys

        if importlib.util.find_spec("binlogkit") is None:
            raise ModuleNotFoundError(
                f"binlogkit is not installed for {sys.executable}, the Python of Spark's workers "
                f"on {platform.node()}: install it there, or name the Python that has it in the "
                "environment variable PYSPARK_PYTHON before the Spark session begins",
                name="binlogkit",
            )

    return check
