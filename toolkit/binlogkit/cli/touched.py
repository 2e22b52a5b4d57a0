"""``binlogkit touched``: which logs changed what, from an index alone."""

from __future__ import annotations

from typing import Any

import click

from binlogkit.cli.help import Command
from binlogkit.cli.options import output_of, output_options
from binlogkit.cli.status import FINDINGS, WELL, complain
from binlogkit.frames.fields.ledger import TOUCHED
from binlogkit.rows.filters import OPS

_VIEW = ("file", "db", "table", "op", "rows", "first_timestamp", "last_timestamp", "damaged")


@click.command("touched", cls=Command)
@click.argument("index", metavar="DIR")
@click.option("--table", multiple=True, metavar="DB.T", help="Only these tables (repeatable).")
@click.option(
    "--op", multiple=True, type=click.Choice(OPS, case_sensitive=False),
    help="Only these (repeatable).",
)  # fmt: skip
@click.option(
    "--where",
    multiple=True,
    metavar="COND",
    help="Only logs that may have changed rows with these values of the table's key: COLUMN=VALUE.",
)
@click.option("--minutes", is_flag=True, help="A record for each minute.")
@output_options
def command(index: str, **arguments: Any) -> int:
    """One record per log, table and operation, of the logs that the index DIR knows.

    No log is opened: the counts are as of when each was last read in full. With --where all
    logs that changed such a row are named, and few others; a damaged log always is, and the exit
    status is 1.
    """
    from binlogkit.log.index.touched import touched
    from binlogkit.reports.output import write_records

    output = output_of(arguments)
    given = {name: list(arguments.pop(name)) for name in ("table", "op", "where")}
    found = touched(
        index, minutes=arguments.pop("minutes"), **{k: v for k, v in given.items() if v}
    )
    view = [*_VIEW[:4], "minute", *_VIEW[4:]] if found["minute"].null_count < len(found) else _VIEW
    write_records(found.to_pylist(), output, declared=TOUCHED, view=view)
    damaged = sorted(set(found.filter(found["damaged"])["file"].to_pylist()))
    for file in damaged:
        complain(f"{file} is damaged: more may have been changed in it")
    return FINDINGS if damaged else WELL
