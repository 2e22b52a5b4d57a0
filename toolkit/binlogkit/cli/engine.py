"""Where a command does its work: in this process, or in Spark's tasks."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from functools import partial
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

import click

from binlogkit.cli.options import apply
from binlogkit.cli.startup import interrupts_end, is_ours, spark_of_a_driver
from binlogkit.errors import UsageError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from binlogkit.sources.carriers import Carrier
    from binlogkit.spark.landing import Landing

#: Bytes of logs to be read from which ``auto`` is Spark. Its start takes as long as this process
#: takes for a gigabyte and more, and one machine's tasks do not read faster than its threads
#: (docs/landing.md has the figures).
SPARK_BYTES = 4 << 30


def engine_options(*engines: str) -> Callable[[Any], Any]:
    """``--engine``, by default the first of ``engines``, and ``--master``."""
    texts = {
        "auto": f"auto: this process below {SPARK_BYTES >> 30} GiB of new logs, else Spark",
        "local": "local: this process",
        "spark": "spark: Spark's tasks",
    }
    return apply(
        click.option(
            "--engine",
            type=click.Choice(engines),
            default=engines[0],
            show_default=True,
            help=f"{'; '.join(texts[engine] for engine in engines)}.",
        ),
        click.option(
            "--master",
            metavar="URL",
            help="The Spark master, or a Connect server (sc://HOST:PORT); else local[*].",
        ),
    )


def spark_of(
    arguments: dict[str, Any],
    carriers: Iterable[Carrier] = (),
    fresh: Callable[[], Sequence[Carrier]] = tuple,
) -> SparkSession | None:
    """Take the engine out of a command's arguments; Spark's session, where it is Spark.

    ``carriers``: the logs, of which those that are not there are reported before Spark starts;
    ``fresh``: gives those that are to be read, for ``auto``. Errors: UsageError (a master without
    Spark, no PySpark, no Java), InputError.
    """
    master = _master_of(arguments, fresh)
    if master is None:
        return None
    for carrier in carriers:
        if carrier.size is None:
            with carrier.content():
                pass
    return started(master, pandas=False)


def master_of(arguments: dict[str, Any], landing: Landing | None) -> str | None:
    """Take the engine out of the arguments of a command that has Spark for landings only: its
    master, None where this process does it. Spark is not started.

    Errors: UsageError (a master without Spark, Spark without a landing).
    """
    master = _master_of(arguments, tuple)
    if master is not None and landing is None:
        raise UsageError("--engine spark takes the folder of a landing: land the logs first")
    return master


def by_engine(landing: Landing, master: str | None) -> Landing:
    """A landing that this process reads, or Spark's tasks. UsageError: no PySpark, no Java."""
    if master is None:
        return landing
    from binlogkit.spark.landing.shared_landing import SharedLanding

    return SharedLanding(started(master), landing)


def started(master: str, *, pandas: bool = True) -> SparkSession:
    """Spark's session; ``pandas``: whether it needs pandas. UsageError: no PySpark, no Java.

    Its JVM compiles little: it starts sooner, and even a state of millions of rows takes no more
    CPU time, since Python's workers do the work.
    """
    from binlogkit.spark import session

    spark_of_a_driver(master, pandas=pandas)
    if not is_ours():
        return session(master=master, brief=True)
    with interrupts_end():
        spark = session(master=master, brief=True)
    click.get_current_context().call_on_close(partial(_end, spark))
    return spark


def _end(spark: SparkSession) -> None:
    """End a session: a JVM that loses its driver's process may complain of it. It says nothing of
    tasks that do not end, if the command ends by an error."""
    if sys.exc_info()[0] is None:
        spark.stop()
        return
    with suppress(Exception):
        spark.sparkContext.setLogLevel("OFF")
        spark.stop()


def _master_of(arguments: dict[str, Any], fresh: Callable[[], Sequence[Carrier]]) -> str | None:
    engine, master = arguments.pop("engine"), arguments.pop("master")
    if engine == "auto":
        engine = "spark" if master is not None or _large(fresh) else "local"
    if engine == "spark":
        return master or "local[*]"
    if master is not None:
        raise UsageError("--master is of --engine spark")
    return None


def _large(fresh: Callable[[], Sequence[Carrier]]) -> bool:
    """Whether logs are so large that Spark, if it is there, reads them sooner."""
    if find_spec("pyspark") is None:
        return False
    return sum(carrier.size or 0 for carrier in fresh()) >= SPARK_BYTES
