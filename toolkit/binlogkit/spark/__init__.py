"""Binlogs on Spark: the data source ``binlog``, and quiet local sessions.

>>> from binlogkit.spark import session
>>> spark = session()
>>> spark.read.format("binlog").option("table", "shop.orders").load("/backup/binlog.*")

Importing this module imports no PySpark.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from binlogkit.spark.sessions import session

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

__all__ = ["register", "session"]


def register(spark: SparkSession) -> None:
    """Make the format ``binlog`` known to a session that does not find ``pyspark_binlog``."""
    from binlogkit.spark.source import BinlogDataSource

    spark.dataSource.register(BinlogDataSource)
