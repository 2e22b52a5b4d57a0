"""What commands share that Spark can carry out: ``--engine spark``, and landings as their input."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from binlogkit.cli.options import apply
from binlogkit.errors import UsageError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from binlogkit.spark.landing.restoring import Landing

engine_options = apply(
    click.option(
        "--engine",
        type=click.Choice(["local", "spark"]),
        default="local",
        show_default=True,
        help="Where it runs: this process, or Spark's tasks.",
    ),
    click.option("--master", metavar="URL", help="The Spark master; else local[*]."),
)


def spark_of(arguments: dict[str, Any]) -> SparkSession | None:
    """Take the engine out of a command's arguments; Spark's session, where it is Spark."""
    engine, master = arguments.pop("engine"), arguments.pop("master")
    if engine != "spark":
        if master is not None:
            raise UsageError("--master is of --engine spark")
        return None
    from binlogkit.spark import session

    return session(master=master or "local[*]")


def landing_of(arguments: Mapping[str, Any]) -> Landing | None:
    """The landing that a command's only argument names, if it is the folder of one."""
    files = arguments["files"]
    if len(files) != 1 or not (Path(files[0]) / "landings" / "_delta_log").is_dir():
        return None
    from binlogkit.spark.landing import Landing

    return Landing(files[0])


def only(arguments: Mapping[str, Any], *allowed: str) -> None:
    """UsageError: an option was given that a landing, or Spark, has no use for."""
    plain = {"files", "on_damage", "duplicates", *allowed}
    given = [name for name, value in arguments.items() if value not in (None, (), False)]
    for name in given:
        if name not in plain:
            raise UsageError(f"--{name.replace('_', '-')} is not for a landing")


def position(text: str | None) -> tuple[str, int] | None:
    """``FILE:POS``. UsageError: it is none."""
    if text is None:
        return None
    file, _, pos = text.rpartition(":")
    if not file or not pos.isdecimal():
        raise UsageError(f"not a position: {text!r} (write FILE:POS)")
    return file, int(pos)
