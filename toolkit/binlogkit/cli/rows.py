"""``binlogkit rows``: one record per row change."""

from __future__ import annotations

from typing import Any

import click

from binlogkit.cli.options import (
    filter_options,
    filters_of,
    input_options,
    open_input,
    output_of,
    output_options,
)
from binlogkit.cli.status import status_of

__all__ = ["command"]

VIEW = ("pos", "inner", "timestamp", "gtid", "db", "table", "op", "before", "after")


@click.command("rows")
@input_options
@filter_options
@output_options
def command(**arguments: Any) -> int:
    """One record per row change."""
    from binlogkit.frames.records import RECORD_KEYS
    from binlogkit.reports.output import write_records

    output = output_of(arguments)
    log = open_input(arguments)
    records = log.row_records(**filters_of(arguments))
    write_records(records, output, names=RECORD_KEYS, view=VIEW)
    return status_of(log)
