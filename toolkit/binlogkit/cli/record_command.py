"""The commands that print one kind of records: events, rows, transactions."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

import click

from binlogkit.cli.options import (
    filter_options,
    filters_of,
    input_options,
    open_input,
    output_of,
    output_options,
)
from binlogkit.cli.progress import ended_by
from binlogkit.cli.status import status_of

if TYPE_CHECKING:
    from binlogkit.log import Log

__all__ = ["record_command"]

Records = Iterator[dict[str, object]]


def record_command(
    name: str,
    meaning: str,
    read: Callable[..., Records],
    keys: Callable[[], Sequence[str]],
    view: Sequence[str],
) -> click.Command:
    """A command.

    ``read``: gives a log's records, filters as keywords; ``keys``: the records' keys, asked for
    when the command runs; ``view``: those that a table shows.
    """

    def command(**arguments: Any) -> int:
        from binlogkit.reports.output import write_records

        output = output_of(arguments)
        log: Log = open_input(arguments)
        filters = filters_of(arguments)
        records = ended_by(read(log, **filters), output.path)
        shown = ["file", *view] if len(log.carriers) > 1 and "file" not in view else view
        write_records(records, output, names=keys(), view=shown)
        return status_of(log, filters)

    command.__doc__ = meaning
    return click.command(name)(input_options(filter_options(output_options(command))))
