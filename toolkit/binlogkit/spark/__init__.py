"""Binlogs on Spark: the data source ``binlog``, and quiet local sessions.

>>> from binlogkit.spark import session
>>> spark = session()
>>> spark.read.format("binlog").option("table", "shop.orders").load("/backup/binlog.*")

Importing this module imports no PySpark.
"""

from __future__ import annotations

from binlogkit.spark.sessions import register, session, settings

__all__ = ["register", "session", "settings"]
