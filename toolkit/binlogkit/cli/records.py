"""``binlogkit events``, ``rows`` and ``transactions``: one record per event, row change, or
transaction."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, TypeAlias, Unpack, cast

import click

from binlogkit.cli.help import Command
from binlogkit.cli.options import (
    FILTERS,
    filter_options,
    filters_of,
    index_option,
    input_options,
    open_input,
    output_of,
    output_options,
    place_options,
)
from binlogkit.cli.progress import ended_by
from binlogkit.cli.sources import landing_of, only
from binlogkit.cli.startup import arrow_without_pandas
from binlogkit.cli.status import gaps_of, note_index, status_of
from binlogkit.frames.fields.field import Fields, arrow_schema, names
from binlogkit.frames.fields.ledger import EVENT, TRANSACTION
from binlogkit.frames.fields.rows import ROW

if TYPE_CHECKING:
    import pyarrow as pa

    from binlogkit.log import Log
    from binlogkit.reports.output import Output
    from binlogkit.rows.filter_args import FilterArgs, RowFilterArgs
    from binlogkit.spark.landing import Landing

Batches: TypeAlias = "Iterator[pa.RecordBatch]"
Record: TypeAlias = Mapping[str, Any]
_ROWS = """One record per row change.

    csv, Parquet and Arrow of one --table have its columns: before.total, after.total, and so on.
    """


def _command(
    name: str,
    meaning: str,
    declared: Fields,
    view: Sequence[str],
    read: Callable[..., Batches],
    words: Callable[[Log, Record], str] | None,
    *options: Callable[[Callable[..., int]], Callable[..., int]],
    typed: bool = False,
    landed: Callable[..., Batches] | None = None,
) -> click.Command:
    """A command.

    ``declared``: the records' fields; ``view``: the names of those that a table shows; ``read``:
    gives a log's records as Arrow, filters as keywords; ``words``: what a record did,
    for the column CHANGES; ``options``: of this command alone; ``typed``: files of one table's
    records have its columns; ``landed``: gives a landing's records, which are the logs'.
    """

    def command(**arguments: Any) -> int:
        from binlogkit.frames.records import records_of
        from binlogkit.reports.changes import with_changes
        from binlogkit.reports.output import write_batches, write_records

        arrow_without_pandas()
        output = output_of(arguments)
        landing = landing_of(arguments) if landed is not None else None
        if landing is not None and landed is not None:
            return _of_landing(landing, arguments, output, declared, view, landed)
        log: Log = open_input(arguments)
        filters = filters_of(arguments)
        columns = _typed(log, filters, output) if typed else None
        schema, found = columns or (arrow_schema(declared), read(log, **filters))
        found = ended_by(found, output.path)
        if columns is not None:
            count = write_batches(schema, found, output)
        elif output.format != "table" and set(output.columns or ()) <= set(names(declared)):
            count = write_batches(schema, found, output, declared)
        else:
            shown = ["file", *view] if len(log.carriers) > 1 and "file" not in view else view
            records: Iterable[Record] = records_of(found, declared)
            known = declared
            if words is not None:
                records, known = with_changes(records, declared, output, partial(words, log))
            count = write_records(records, output, declared=known, view=shown)
        note_index(log)
        return status_of(log, filters, nothing=not count)

    command.__doc__ = meaning
    for option in options:
        command = option(command)
    return click.command(name, cls=Command)(input_options(filter_options(output_options(command))))


def _of_landing(
    landing: Landing, arguments: dict[str, Any], output: Output, declared: Fields,
    view: Sequence[str], read: Callable[..., Batches],
) -> int:  # fmt: skip
    """The records of the logs of a landing, without the logs."""
    from binlogkit.frames.records import records_of
    from binlogkit.reports.changes import with_changes
    from binlogkit.reports.output import write_records

    only(arguments, *FILTERS)
    filters = filters_of(arguments)
    records: Iterable[Record] = records_of(read(landing, **filters), declared)
    shown = view if len(landing.ledger.files) < 2 else ["file", *view]
    records, known = with_changes(records, declared, output, partial(_operations, None))
    write_records(records, output, declared=known, view=shown)
    return gaps_of(landing.ledger.joined.gaps)


def _typed(log: Log, filters: FilterArgs, output: Output) -> tuple[pa.Schema, Batches] | None:
    """The rows of the one table that is named, for a file with its columns; None: they are not
    asked for, or the images as a whole are."""
    from binlogkit.log.typed_rows import typed_rows
    from binlogkit.rows.filter_args import texts

    tables = texts("table", filters.get("table"))
    if not output.typed or len(tables) != 1:
        return None
    others = cast("RowFilterArgs", {n: v for n, v in filters.items() if n != "table"})
    return typed_rows(log, tables[0], **others)


def _transactions(log: Log, **filters: Unpack[FilterArgs]) -> Batches:
    yield from log.transaction_table(**filters).to_batches()
    if log.unreadable is not None:
        raise log.unreadable


def _change(log: Log, record: Record) -> str:
    from binlogkit.reports.changes import change_text

    met = log.met.get((record["db"], record["table"]))
    return change_text(record, met[-1].key if met else ())


def _operations(_: Log | None, record: Record) -> str:
    from binlogkit.reports.changes import operations_text

    return operations_text(record)


events = _command(
    "events", "One record per event.", EVENT,
    ("pos", "end_pos", "inner", "timestamp", "type", "server_id", "gtid", "fields"),
    lambda log, **filters: log.event_batches(compact=True, **filters), None,
)  # fmt: skip
rows = _command(
    "rows", _ROWS, ROW,
    ("pos", "timestamp", "thread_id", "db", "table", "op", "changes"),
    lambda log, **filters: log.generic_batches(compact=True, **filters), _change, index_option,
    typed=True,
)  # fmt: skip
transactions = _command(
    "transactions",
    "One record per transaction, with its outcome.\n\n"
    "FILE may be a landing (`binlogkit land`): its folder, or with --ledger its URL. Its answer is "
    "that of its logs, which are not needed.",
    TRANSACTION,
    ("pos", "timestamp", "thread_id", "outcome", "tables", "changes", "first_query"), _transactions,
    _operations, index_option, place_options,
    landed=lambda landing, **filters: landing.transactions(**filters).to_batches(),
)  # fmt: skip
