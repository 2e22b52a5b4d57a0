"""``binlogkit events``: one record per event."""

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

VIEW = ("pos", "end_pos", "inner", "timestamp", "type", "server_id", "gtid", "fields")


@click.command("events")
@input_options
@filter_options
@output_options
def command(**arguments: Any) -> int:
    """One record per event."""
    from binlogkit.frames.event_records import EVENT_KEYS
    from binlogkit.reports.output import write_records

    output = output_of(arguments)
    log = open_input(arguments)
    records = log.event_records(**filters_of(arguments))
    write_records(records, output, names=EVENT_KEYS, view=VIEW)
    return status_of(log)
