"""One table's row changes with typed columns: ``before.id``, ``after.id`` …, in bounded memory."""

from __future__ import annotations

from collections.abc import Container, Iterator
from contextlib import suppress
from typing import TYPE_CHECKING, Unpack

from binlogkit.constants import TableId
from binlogkit.errors import DamageError, InputError, SchemaError
from binlogkit.frames.layouts import empty_batch
from binlogkit.frames.row_batches import read_batches
from binlogkit.frames.tables import flat_batches, united_schema
from binlogkit.log.streams import Streams
from binlogkit.rows.filter_args import RowFilterArgs
from binlogkit.rows.filters import Filters

if TYPE_CHECKING:
    import pyarrow as pa


def typed_rows(
    log: Streams, table: str, **filters: Unpack[RowFilterArgs]
) -> tuple[pa.Schema, Iterator[pa.RecordBatch]]:
    """The columns of ``log.rows(table)`` as a schema, and the rows in batches of it.

    The log is read twice: which versions of the table have such rows, then the rows. Errors:
    SchemaError of versions that cannot be united, UsageError, and with the rows those of reading.
    """
    wanted = log.wanted(table=table, **filters)
    found: dict[tuple[TableId, int], pa.RecordBatch] = {}
    with suppress(DamageError, InputError):  # the next reading reports them
        reading = log.reading_of(wanted)
        for window in read_batches(reading, wanted, columns=wanted.where.columns):
            for version, _ in window:
                found.setdefault((version.name, version.version), empty_batch(version))
    known = [*found.values()] or without_rows(log, table)
    schema = united_schema([batch.schema for batch in known], table)

    def rows() -> Iterator[pa.RecordBatch]:
        for batch in log.read_batches(log.reading_of(wanted), wanted):
            if (batch.table, batch.schema_version) not in found:
                raise SchemaError(f"{table} was altered while it was read: read it again")
            yield batch.batch

    return flat_batches(schema, rows())


def without_rows(
    log: Streams, table: str, asked: Container[str] | None = None
) -> list[pa.RecordBatch]:
    """An empty batch for each version of a table that the last read met; ``asked``: names of
    columns, None: all."""
    wanted = Filters.build(table=table)
    return [
        empty_batch(schema, asked)
        for name, versions in log.met.items()
        if wanted.wants_table(*name)
        for schema in versions
    ]
