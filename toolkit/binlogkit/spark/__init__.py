"""Binlogs on Spark: the data source ``binlog``, and quiet local sessions.

>>> from binlogkit.spark import session
>>> spark = session()
>>> spark.read.format("binlog").option("table", "shop.orders").load("/backup/binlog.00000?")

A running session gets the format by ``register(spark)``. It finds the format by name only if
PYSPARK_PYTHON, or else the first ``python3`` on PATH, is a Python that has binlogkit.

``load`` takes a path, folder, glob, index file, URL or a list of them. All are read as one log, one
partition per file. For row changes a file of more than 64 MB (option ``splitBytes``) is split
between transactions, unless it is damaged or compressed (gzip and the like). The compiled kernel
decodes with one core per task and delivers Arrow batches. In SQL: ``CREATE TEMP VIEW v USING binlog
OPTIONS (path '…')``. Options, in any case, with or without underscores:

``table``
    that table's changes column by column: provenance, ``seq``, ``tx``, ``before`` and ``after`` as
    structs, their states and ``raw`` cells; without it the columns of ``binlogkit rows``
``records``
    another frame of the log: ``changes`` (the rows with ``source``, ``seq`` and ``tx``, by which
    analyses order), ``changelog`` (committed changes of one table as flat rows, one per image, for
    change data feeds: docs/spark.md; also as option ``what``), ``events``, ``transactions``,
    ``statements``, ``boundaries``, ``damages``, ``gaps`` (where changes may be missing; whatever is
    read, a GapWarning on the driver's standard error reports it)
``op``, ``gtid``, ``at``, ``thread``, ``serverId``, ``source``, ``where``, ``excludeTable``,
``startTime``, ``stopTime``, ``timezone``, ``startPosition``, ``stopPosition``
    the common filters; several values with commas or as a JSON list; ``at`` is the ``file:pos`` of
    a transaction
``index``
    a folder made of the logs by ``binlogkit index``, or by :func:`index` on the cluster: the driver
    then reads only logs that are not in it
``schema``, ``schemaFrom``, ``charset``, ``onDamage``, ``name``, ``duplicates``, ``keyring``,
``keyFile``, ``storageOptions`` (JSON)
    as the arguments of :func:`binlogkit.open`; with ``onDamage=report`` the frame of
    ``records=damages`` holds what was skipped
``mask``, ``maskKeyFile``
    of a changelog: columns to leave out, hash or cut (docs/spark.md)
``startingOffset`` (``earliest``, ``latest``), ``base``, ``maxFilesPerTrigger``,
``maxBytesPerTrigger``
    for ``spark.readStream``, which follows logs that are being written (docs/spark.md): where a
    stream without a checkpoint begins, the snapshot whose rows begin a changelog, and the limits of
    a batch

``.schema("…")`` chooses columns, fields of the images and other types for them; a table whose
versions cannot be united needs it. Importing this module imports no PySpark.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from binlogkit.spark.sessions import register, session, settings

__all__ = ["index", "land", "register", "session", "settings"]

if TYPE_CHECKING:
    from binlogkit.spark.indexing import index as index
    from binlogkit.spark.landing import land as land

_MODULES = {"index": "binlogkit.spark.indexing", "land": "binlogkit.spark.landing"}


def __getattr__(name: str) -> Any:
    if name in _MODULES:
        return getattr(import_module(_MODULES[name]), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
