"""``binlogkit transactions``: one record per transaction, with its outcome."""

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

VIEW = (
    "file",
    "pos",
    "end_pos",
    "gtid",
    "thread_id",
    "timestamp",
    "outcome",
    "rows",
    "tables",
    "size",
)


@click.command("transactions")
@input_options
@filter_options
@output_options
def command(**arguments: Any) -> int:
    """One record per transaction, with its outcome."""
    from binlogkit.frames.ledgers import TRANSACTION_KEYS
    from binlogkit.reports.output import write_records

    output = output_of(arguments)
    log = open_input(arguments)
    records = log.transaction_records(**filters_of(arguments))
    write_records(records, output, names=TRANSACTION_KEYS, view=VIEW)
    return status_of(log)
