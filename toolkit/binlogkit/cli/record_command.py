"""The commands that print one kind of records: events, rows, transactions."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

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
from binlogkit.cli.startup import arrow_without_pandas
from binlogkit.cli.status import status_of
from binlogkit.frames.fields.field import Fields, names

if TYPE_CHECKING:
    import pyarrow as pa

    from binlogkit.log import Log
    from binlogkit.reports.output import Output

__all__ = ["record_command"]

Records = Iterator[dict[str, object]]
Batches: TypeAlias = "tuple[pa.Schema, Iterator[pa.RecordBatch]]"


def record_command(
    name: str,
    meaning: str,
    read: Callable[..., Records],
    declared: Fields,
    view: Sequence[str],
    batches: Callable[..., Batches] | None = None,
) -> click.Command:
    """A command.

    ``read``: gives a log's records, filters as keywords; ``declared``: the records' fields;
    ``view``: the names of those that a table shows; ``batches``: gives the same as Arrow.
    """

    def command(**arguments: Any) -> int:
        from binlogkit.reports.output import write_batches, write_records

        arrow_without_pandas()
        output = output_of(arguments)
        log: Log = open_input(arguments)
        filters = filters_of(arguments)
        if batches is not None and _is_for_programs(output, names(declared)):
            schema, found = batches(log, **filters)
            count = write_batches(schema, ended_by(found, output.path), output)
            return status_of(log, filters, nothing=not count)
        records = ended_by(read(log, **filters), output.path)
        shown = ["file", *view] if len(log.carriers) > 1 and "file" not in view else view
        count = write_records(records, output, declared=declared, view=shown)
        return status_of(log, filters, nothing=not count)

    command.__doc__ = meaning
    return click.command(name)(input_options(filter_options(output_options(command))))


def _is_for_programs(output: Output, keys: Sequence[str]) -> bool:
    """Whether whole columns are written, in a form that programs read."""
    return output.format != "table" and set(output.columns or ()) <= set(keys)
