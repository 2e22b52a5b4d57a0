"""Records and record batches into Parquet files and Arrow streams, in bounded memory."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from binlogkit.errors import BinlogKitError, SchemaError, printable
from binlogkit.frames.fields.field import Fields, arrow_type, written_type
from binlogkit.frames.fields.ledger import EVENT
from binlogkit.frames.fields.rows import PROVENANCE, ROW, STATE
from binlogkit.reports._columns import ABSENT, Picker
from binlogkit.reports._values import cell_text

if TYPE_CHECKING:
    from binlogkit.reports._destination import ByteSink

_ROWS = 8192  # records a batch, and records that an undeclared schema is read from
_GROUP_ROWS = 1 << 17  # rows of a Parquet row group
_GROUP_BYTES = 8 << 20
_INT64 = range(-(1 << 63), 1 << 63)
_UINT64 = range(1 << 64)


def declare(names: Sequence[str], rows: Sequence[list[Any]], known: Fields = ()) -> pa.Schema:
    """A schema for columns of plain records: from ``known`` and the contract's names, else from
    ``rows``."""
    named = (*PROVENANCE, *EVENT, *ROW, *STATE, *known)
    types = {field.name: arrow_type(written_type(field)) for field in named}
    cells = zip(*rows, strict=True) if rows else ([] for _ in names)
    chosen = zip(names, cells, strict=True)
    return pa.schema([(name, types.get(name) or _guess(found)) for name, found in chosen])


def _guess(cells: Iterable[Any]) -> pa.DataType:
    """The narrowest type that holds each of ``cells`` exactly; text where none does."""
    there = [cell for cell in cells if cell is not None and cell is not ABSENT]
    kinds = {type(cell) for cell in there}
    if kinds == {bool}:
        return pa.bool_()
    if kinds == {float}:
        return pa.float64()
    if kinds == {int} and all(cell in _INT64 for cell in there):
        return pa.int64()
    if kinds == {int} and all(cell in _UINT64 for cell in there):
        return pa.uint64()
    return pa.string()


def batches_of(
    records: Iterable[Mapping[str, Any]], names: Sequence[str], pick: Picker, known: Fields = ()
) -> tuple[pa.Schema, Iterator[pa.RecordBatch]]:
    """The schema of plain records, declared or read from the first of them, and their batches."""
    stream = iter(records)
    first = [pick(record) for record in islice(stream, _ROWS)]
    chosen = declare(names, first, known)

    def batches() -> Iterator[pa.RecordBatch]:
        rows = first
        while rows:
            yield _batch(rows, chosen)
            rows = [pick(record) for record in islice(stream, _ROWS)]

    return chosen, batches()


def _batch(rows: list[list[Any]], schema: pa.Schema) -> pa.RecordBatch:
    arrays = []
    for field, cells in zip(schema, zip(*rows, strict=True), strict=True):
        text = pa.types.is_string(field.type) or pa.types.is_large_string(field.type)
        values = [
            None if cell is None or cell is ABSENT else cell_text(cell) if text else cell
            for cell in cells
        ]
        try:
            arrays.append(pa.array(values, type=field.type))
        except (pa.ArrowInvalid, pa.ArrowTypeError, OverflowError) as exc:
            raise SchemaError(
                f"column {printable(field.name)} was {field.type} so far and now holds something "
                "else; --format jsonl takes both"
            ) from exc
    return pa.RecordBatch.from_arrays(arrays, schema=schema)


def write_columnar(
    sink: ByteSink, schema: pa.Schema, batches: Iterable[pa.RecordBatch], form: str
) -> int:
    """Write ``batches`` as ``parquet`` (zstd) or ``arrow`` (an IPC stream); returns the rows.

    The file's end is also written when ``batches`` raises, so that what was delivered can be read.
    """
    try:
        if form == "parquet":
            import pyarrow.parquet as pq

            writer = pq.ParquetWriter(sink, schema, compression="zstd")
        else:
            writer = pa.ipc.new_stream(sink, schema)
    except (pa.ArrowNotImplementedError, pa.ArrowInvalid) as exc:
        raise SchemaError(f"{form} cannot hold these columns: {printable(str(exc))}") from exc
    count = 0
    try:
        for group in _groups(batches, 1 if form == "arrow" else _GROUP_ROWS):
            try:
                table = pa.Table.from_batches(group, schema=schema)
            except pa.ArrowInvalid as exc:
                raise SchemaError(f"{form} cannot hold these rows: {printable(str(exc))}") from exc
            writer.write_table(table)
            count += table.num_rows
            del group, table  # while the next ones come
    finally:
        writer.close()
    return count


def _groups(batches: Iterable[pa.RecordBatch], rows: int) -> Iterator[list[pa.RecordBatch]]:
    """Batches in lists of at least ``rows`` rows or :data:`_GROUP_BYTES`; an error ends a list."""
    group: list[pa.RecordBatch] = []
    held = size = 0
    try:
        for batch in batches:
            group.append(batch)
            held += batch.num_rows
            size += batch.nbytes
            if held >= rows or size >= _GROUP_BYTES:
                yield group
                group, held, size = [], 0, 0
    except BinlogKitError:
        if group:
            yield group
        raise
    if group:
        yield group
