"""Arrow tables of records and batches, versions of a schema united, and on to pandas."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc

from binlogkit.errors import SchemaError, UsageError
from binlogkit.frames.arrow_types import column_kind, decimal_type
from binlogkit.frames.fields.field import Fields, arrow_schema, names, to_table
from binlogkit.frames.fields.ledger import COLUMN
from binlogkit.frames.fields.rows import ROW
from binlogkit.frames.matching import changed_columns
from binlogkit.frames.projection import rearranged
from binlogkit.frames.schema import batch_schema
from binlogkit.rows.schema import Column, Origin, TableSchema

_FIRST = ("timestamp", "thread_id", "op")

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
    """Canonical changes with the images' columns side by side: ``before.id``, ``after.id`` …

    What one looks at first stands in front, with ``changed``: the names of an update's columns.
    """
    changed = [changed_columns(batch) for batch in changes.to_batches()]
    columns = [(name, changes[name]) for name in _FIRST]
    columns.append(("changed", pa.chunked_array(changed, pa.list_(pa.string()))))
    for image in ("before", "after"):
        for i, child in enumerate(changes.schema.field(image).type):
            columns.append((f"{image}.{child.name}", pc.struct_field(changes[image], i)))
    others = (n for n in changes.column_names if n not in (*_FIRST, "before", "after"))
    columns += [(name, changes[name]) for name in others]
    return pa.table([column for _, column in columns], names=[name for name, _ in columns])


def united(batches: Sequence[pa.RecordBatch], table: str) -> pa.Table:
    """Batches of one table, whatever their schema versions, as one table in log order.

    Columns are united by name, in the order they first appear; a column that a version lacks is
    *not in the image* there. :class:`SchemaError` names the versions whose types do not agree.
    """
    if not batches:
        return pa.Table.from_batches([], batch_schema([]))
    names = {bytes(b.schema.metadata[b"binlogkit:table"]) for b in batches}
    if len(names) > 1:
        listed = ", ".join(sorted(".".join(json.loads(n)) for n in names))
        raise SchemaError(f"{table} names several tables: {listed}")
    if all(b.schema.equals(batches[0].schema) for b in batches):
        return pa.Table.from_batches(batches).unify_dictionaries()
    fields = _united_fields(batches, table)
    schema = batch_schema(fields, batches[-1].schema.metadata)
    return pa.Table.from_batches([_widened(b, schema) for b in batches]).unify_dictionaries()


def _united_fields(batches: Sequence[pa.RecordBatch], table: str) -> list[pa.Field]:
    fields: dict[str, pa.Field] = {}
    versions: dict[str, str] = {}
    for batch in batches:
        version = batch.schema.metadata[b"binlogkit:schema_version"].decode()
        for field in batch.schema.field("before").type:
            known = fields.get(field.name)
            if known is None:
                fields[field.name], versions[field.name] = field, version
                continue
            kind = _common_type(known.type, field.type)
            if kind is None:
                raise SchemaError(
                    f"{table}.{field.name} is {known.type} in schema version "
                    f"{versions[field.name]} and {field.type} in version {version}: "
                    "read one version at a time with batches()"
                )
            fields[field.name] = pa.field(field.name, kind, metadata=field.metadata)
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


def _widened(batch: pa.RecordBatch, schema: pa.Schema) -> pa.RecordBatch:
    """A batch in the united schema: images reordered and completed, states and raw renumbered."""
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
