"""Arrow tables of records and batches, versions of a schema united, and on to pandas."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc

from binlogkit.errors import SchemaError, UsageError
from binlogkit.frames.arrow_types import column_kind, decimal_type
from binlogkit.frames.fields.field import TIMES, Fields, arrow_schema, names, to_table
from binlogkit.frames.fields.ledger import COLUMN
from binlogkit.frames.fields.rows import BATCH, ROW
from binlogkit.frames.matching import changed_columns
from binlogkit.frames.projection import rearranged
from binlogkit.frames.schema import batch_schema, shared_key, with_key
from binlogkit.frames.text_columns import LARGE
from binlogkit.rows.schema import Column, Origin, TableSchema

_FIRST = ("timestamp", "thread_id", "op")
_CHANGED = pa.field("changed", pa.list_(pa.string()))
_SCALE = b"binlogkit:scale"
_DIGITS = {"s": {_SCALE: b"0"}, "us": {_SCALE: b"6"}}

if TYPE_CHECKING:
    import pandas as pd

    from binlogkit.frames.natural import Decimals


def to_engine(
    table: pa.Table, engine: str, declared: Fields = (), decimals: Decimals | None = None
) -> pd.DataFrame | pa.Table:
    """The table as ``pyarrow``, or as ``pandas`` (frames/natural.py), of which ``declared`` are the
    columns that are known; ``decimals``: ``exact`` or ``float``, of pandas alone."""
    if engine == "pandas":
        from binlogkit.frames.natural import natural

        return natural(table, declared, decimals=decimals or "exact")
    if engine != "pyarrow":
        raise UsageError(f"engine is pandas or pyarrow, not {engine!r}")
    if decimals is not None:
        raise UsageError("decimals is about pandas: Arrow has them exact")
    return table


def generic_schema() -> pa.Schema:
    """The generic rows frame: the record's keys; ``before`` and ``after`` as JSON text."""
    return arrow_schema(ROW)


def flat_table(changes: pa.Table) -> pa.Table:
    """Canonical changes with the images' columns side by side, as :func:`flat_batch` has them."""
    parts = [flat_batch(batch) for batch in changes.to_batches()]
    return pa.Table.from_batches(parts, flat_batch(_empty(changes.schema)).schema)


def flat_batch(batch: pa.RecordBatch) -> pa.RecordBatch:
    """A canonical batch with the images' columns side by side: ``before.id``, ``after.id`` …

    What one looks at first stands in front, with ``changed``: the names of an update's columns.
    """
    schema = batch.schema
    columns = [(schema.field(name), batch.column(name)) for name in _FIRST]
    columns.append((_CHANGED, changed_columns(batch)))
    for image in ("before", "after"):
        for i, child in enumerate(schema.field(image).type):
            field = pa.field(f"{image}.{child.name}", child.type, metadata=child.metadata)
            columns.append((field, pc.struct_field(batch.column(image), i)))
    others = (n for n in schema.names if n not in (*_FIRST, "before", "after"))
    columns += [(schema.field(name), batch.column(name)) for name in others]
    arrays, fields = [array for _, array in columns], [field for field, _ in columns]
    return pa.RecordBatch.from_arrays(arrays, schema=pa.schema(fields))


def _empty(schema: pa.Schema) -> pa.RecordBatch:
    return pa.RecordBatch.from_pylist([], schema)


def flat_batches(
    schema: pa.Schema, batches: Iterable[pa.RecordBatch]
) -> tuple[pa.Schema, Iterator[pa.RecordBatch]]:
    """The schema, and the batches in it, of one table's typed rows in a file: those of
    :func:`flat_table`, times as timestamps, text as such.

    ``schema``: that of the ``batches``, united.
    """

    def written(batch: pa.RecordBatch) -> pa.RecordBatch:
        return with_times(flat_batch(widened(batch, schema)), BATCH)

    parts = (part for batch in batches for part in _small(batch))
    return written(_empty(schema)).schema, map(written, parts)


def _small(batch: pa.RecordBatch) -> Iterator[pa.RecordBatch]:
    """The batch in parts whose statements' texts, one beside each row, take some megabytes."""
    longest = pc.max(pc.binary_length(batch.column("query").dictionary)).as_py() or 1
    rows = max(1, LARGE // longest)
    return (batch.slice(start, rows) for start in range(0, batch.num_rows, rows))


def plain_batches(table: pa.Table) -> tuple[pa.Schema, Iterator[pa.RecordBatch]]:
    """A table's schema and batches as files have them: text as such."""
    schema = with_times(_empty(table.schema), ()).schema
    return schema, (with_times(batch, ()) for batch in table.to_batches())


def with_times(batch: pa.RecordBatch, declared: Fields) -> pa.RecordBatch:
    """The batch, columns that are ``declared`` as times as timestamps in UTC, with how many digits
    of a second they have (``binlogkit:scale``); dictionary-encoded text as text."""
    units = {field.name: TIMES[field.type] for field in declared if field.type in TIMES}
    fields, arrays = [], []
    for field, column in zip(batch.schema, batch.columns, strict=True):
        if field.name in units:
            unit = units[field.name]
            column = column.cast(pa.timestamp(unit, "UTC")).cast(pa.timestamp("us", "UTC"))
            field = pa.field(field.name, column.type, metadata=_DIGITS[unit])
        elif pa.types.is_dictionary(field.type):
            column = column.cast(field.type.value_type)
            field = field.with_type(column.type)
        fields.append(field)
        arrays.append(column)
    return pa.RecordBatch.from_arrays(arrays, schema=pa.schema(fields, batch.schema.metadata))


def united(batches: Sequence[pa.RecordBatch], table: str) -> pa.Table:
    """Batches of one table, whatever their schema versions, as one table in log order.

    Columns are united by name, in the order they first appear; a column that a version lacks is
    *not in the image* there. :class:`SchemaError` names the versions whose types do not agree.
    """
    if not batches:
        return pa.Table.from_batches([], batch_schema([]))
    schema = united_schema([batch.schema for batch in batches], table)
    found = pa.Table.from_batches([widened(b, schema) for b in batches], schema)
    return found.unify_dictionaries()


def united_schema(schemas: Sequence[pa.Schema], table: str) -> pa.Schema:
    """The schema of batches of one table, united as :func:`united` says; ``schemas``: theirs."""
    names = {bytes(schema.metadata[b"binlogkit:table"]) for schema in schemas}
    if len(names) > 1:
        listed = ", ".join(sorted(".".join(json.loads(n)) for n in names))
        raise SchemaError(f"{table} names several tables: {listed}")
    if all(schema.equals(schemas[0]) for schema in schemas):
        found = schemas[-1]
    else:
        found = batch_schema(_united_fields(schemas, table), schemas[-1].metadata)
    return with_key(found, shared_key(schemas))


def _united_fields(schemas: Sequence[pa.Schema], table: str) -> list[pa.Field]:
    fields: dict[str, pa.Field] = {}
    versions: dict[str, str] = {}
    for schema in schemas:
        version = schema.metadata[b"binlogkit:schema_version"].decode()
        for field in schema.field("before").type:
            known = fields.get(field.name)
            if known is None:
                fields[field.name], versions[field.name] = field, version
                continue
            kind = _common_type(known.type, field.type)
            if kind is None:
                raise SchemaError(
                    f"{table}.{field.name} is {known.type} in schema version "
                    f"{versions[field.name]} and {field.type} in version {version}: "
                    "read one version at a time with batches(), or give Spark the columns with "
                    ".schema(…)"
                )
            facts = {**field.metadata, _SCALE: max(known.metadata[_SCALE], field.metadata[_SCALE])}
            fields[field.name] = pa.field(field.name, kind, metadata=facts)
    return list(fields.values())


def _common_type(a: pa.DataType, b: pa.DataType) -> pa.DataType | None:
    """The type that holds both without loss, None when there is none."""
    types = pa.types
    if a == b:
        return a
    if types.is_integer(a) and types.is_integer(b):
        signed = types.is_signed_integer(a) or types.is_signed_integer(b)
        bits = max(t.bit_width + (signed and not types.is_signed_integer(t)) for t in (a, b))
        width = next((w for w in (8, 16, 32, 64) if w >= bits), None)
        return None if width is None else getattr(pa, f"{'' if signed else 'u'}int{width}")()
    if types.is_floating(a) and types.is_floating(b):
        return pa.float64()
    if types.is_decimal(a) and types.is_decimal(b):
        scale = max(a.scale, b.scale)
        digits = max(a.precision - a.scale, b.precision - b.scale) + scale
        return decimal_type(digits, scale)
    return None


def widened(batch: pa.RecordBatch, schema: pa.Schema) -> pa.RecordBatch:
    """A batch in the united schema: images reordered and completed, states and raw renumbered."""
    if batch.schema.equals(schema):
        return batch
    fields = list(schema.field("before").type)
    columns = rearranged(batch, (fields, fields))
    return pa.RecordBatch.from_arrays([columns[n] for n in schema.names], schema=schema)


def schema_table(schemas: Iterable[TableSchema]) -> pa.Table:
    """One row per column of each schema version, with where each fact is known from."""
    return to_table((_column_record(s, c) for s in schemas for c in s.columns), COLUMN)


def _column_record(schema: TableSchema, column: Column) -> dict[str, Any]:
    own = {
        "source": schema.source,
        "db": schema.db,
        "table": schema.table,
        "schema_version": schema.version,
        "position": column.index + 1,
        "column": column.name,
        "kind": column_kind(column),
        "labels": None if column.labels is None else list(column.labels),
        "key": schema.key.index(column.name) + 1 if column.name in schema.key else None,
        "key_kind": schema.key_kind,
        "assumed": Origin.ASSUMED in (column.sign_origin, column.charset_origin),
    }
    return {name: own[name] if name in own else getattr(column, name) for name in names(COLUMN)}
