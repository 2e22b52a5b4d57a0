"""``binlogkit touched``: which logs changed what, from an index alone."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from binlogkit.cli.help import Command
from binlogkit.cli.options import output_of, output_options, place_options
from binlogkit.cli.sources import pairs_of
from binlogkit.cli.status import FINDINGS, WELL, complain
from binlogkit.frames.fields.ledger import TOUCHED
from binlogkit.rows.filters import OPS
from binlogkit.sources.landed import is_landing

if TYPE_CHECKING:
    import pyarrow as pa

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
@place_options
@output_options
def command(index: str, **arguments: Any) -> int:
    """One record per log, table and operation, of the logs that the index DIR knows, or the landing
    (`binlogkit land`) there: its folder, or with --ledger its URL.

    No log is opened: the counts are as of when each was last read in full. With --where all
    logs that changed such a row are named, and few others; a damaged log always is, and the exit
    status is 1. A landing with masks, or of which rows were erased, keeps no keys: no --where.
    """
    from binlogkit.reports.output import write_records

    output = output_of(arguments)
    given = {name: list(arguments.pop(name)) for name in ("table", "op", "where")}
    asked: dict[str, Any] = {k: v for k, v in given.items() if v}
    ledger, options = arguments.pop("ledger"), pairs_of(arguments.pop("target_options"))
    if ledger is not None or options or is_landing(Path(index)):
        from binlogkit.spark.landing import touched as of_landing

        touched: Callable[..., pa.Table] = of_landing
        asked |= {"ledger": ledger, "target_options": options}
    else:
        from binlogkit.log.index.touched import touched
    found = touched(index, minutes=arguments.pop("minutes"), **asked)
    view = [*_VIEW[:4], "minute", *_VIEW[4:]] if found["minute"].null_count < len(found) else _VIEW
    write_records(found.to_pylist(), output, declared=TOUCHED, view=view)
    damaged = sorted(set(found.filter(found["damaged"])["file"].to_pylist()))
    for file in damaged:
        complain(f"{file} is damaged: more may have been changed in it")
    return FINDINGS if damaged else WELL
