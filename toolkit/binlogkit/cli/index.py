"""``binlogkit index``: an index of logs in a folder, so that answers need not read the logs."""

from __future__ import annotations

from typing import Any

import click

from binlogkit.cli.engine import engine_options, spark_of
from binlogkit.cli.help import Command
from binlogkit.cli.options import input_options, open_stored
from binlogkit.cli.startup import arrow_without_pandas
from binlogkit.cli.status import FINDINGS, WELL, complain, note
from binlogkit.log.index import Index


@click.command("index", cls=Command)
@input_options
@click.option("--out", required=True, metavar="DIR", help="The index: made, or brought up to date.")
@engine_options("auto", "local", "spark")
def command(out: str, **arguments: Any) -> int:
    """Index logs: read those that are new to DIR or have changed.

    DIR then holds Parquet tables of the logs, their transactions, what each changed, and
    definitions of tables (docs/indexing.md). A log is read again if its name, its size or either of
    its ends has changed. Logs that are damaged, or cannot be kept, are named, and the exit status
    is 1.
    """
    arrow_without_pandas()
    from binlogkit.spark.indexing import index_logs

    kept = Index(out)
    log, storage = open_stored(arguments)
    spark = spark_of(arguments, log.carriers, lambda: kept.unknown(log.carriers))
    indexed = index_logs(spark, log.carriers, out, storage)
    note(f"{indexed.knew} logs known, {indexed.read} read")
    for file, reason in indexed.left.items():
        complain(f"{file} is not kept: {reason}")
    for file, damage in indexed.damaged.items():
        complain(f"{file} is damaged at {damage}")
    return FINDINGS if indexed.left or indexed.damaged else WELL
