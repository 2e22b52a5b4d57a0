"""``binlogkit events``, ``rows`` and ``transactions``: one record per event, row change, or
transaction."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias, Unpack

import click

from binlogkit.cli.help import Command
from binlogkit.cli.options import (
    filter_options,
    filters_of,
    index_option,
    input_options,
    open_input,
    output_of,
    output_options,
)
from binlogkit.cli.progress import ended_by
from binlogkit.cli.startup import arrow_without_pandas
from binlogkit.cli.status import note_index, status_of
from binlogkit.frames.fields.field import Fields, arrow_schema, names
from binlogkit.frames.fields.ledger import EVENT, TRANSACTION
from binlogkit.frames.fields.rows import ROW

if TYPE_CHECKING:
    import pyarrow as pa

    from binlogkit.log import Log
    from binlogkit.rows.filter_args import FilterArgs

Batches: TypeAlias = "Iterator[pa.RecordBatch]"


def _command(
    name: str,
    meaning: str,
    declared: Fields,
    view: Sequence[str],
    read: Callable[..., Batches],
    *options: Callable[[Callable[..., int]], Callable[..., int]],
) -> click.Command:
    """A command.

    ``declared``: the records' fields; ``view``: the names of those that a table shows; ``read``:
    gives a log's records as Arrow, filters as keywords; ``options``: of this command alone.
    """

    def command(**arguments: Any) -> int:
        from binlogkit.frames.records import records_of
        from binlogkit.reports.output import write_batches, write_records

        arrow_without_pandas()
        output = output_of(arguments)
        log: Log = open_input(arguments)
        filters = filters_of(arguments)
        found = ended_by(read(log, **filters), output.path)
        if output.format != "table" and set(output.columns or ()) <= set(names(declared)):
            count = write_batches(arrow_schema(declared), found, output)
        else:
            shown = ["file", *view] if len(log.carriers) > 1 and "file" not in view else view
            records = records_of(found, declared)
            count = write_records(records, output, declared=declared, view=shown)
        note_index(log)
        return status_of(log, filters, nothing=not count)

    command.__doc__ = meaning
    for option in options:
        command = option(command)
    return click.command(name, cls=Command)(input_options(filter_options(output_options(command))))


def _events(log: Log, **filters: Unpack[FilterArgs]) -> Batches:
    return log.event_batches(compact=True, **filters)


def _rows(log: Log, **filters: Unpack[FilterArgs]) -> Batches:
    return log.generic_batches(compact=True, **filters)


def _transactions(log: Log, **filters: Unpack[FilterArgs]) -> Batches:
    yield from log.transaction_table(**filters).to_batches()
    if log.unreadable is not None:
        raise log.unreadable


events = _command(
    "events", "One record per event.", EVENT,
    ("pos", "end_pos", "inner", "timestamp", "type", "server_id", "gtid", "fields"), _events,
)  # fmt: skip
rows = _command(
    "rows", "One record per row change.", ROW,
    ("pos", "inner", "timestamp", "gtid", "db", "table", "op", "before", "after"), _rows,
    index_option,
)  # fmt: skip
transactions = _command(
    "transactions", "One record per transaction, with its outcome.", TRANSACTION,
    ("file", "pos", "end_pos", "gtid", "thread_id", "timestamp", "outcome", "rows", "tables",
     "size"), _transactions, index_option,
)  # fmt: skip
