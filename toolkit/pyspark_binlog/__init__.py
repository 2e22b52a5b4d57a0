"""Where Spark looks for the format ``binlog``: a module ``pyspark_…`` with ``DefaultSource``."""

from __future__ import annotations

from binlogkit.spark.source import BinlogDataSource as DefaultSource

__all__ = ["DefaultSource"]
