"""One split -> record batches in a given schema. Spark is not in here."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from binlogkit.errors import DamageError, UsageError
from binlogkit.spark.plan import Plan, Split, SplitWalk, carrier_of

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["check_schema", "decode", "scan_schema"]


def scan_schema(plan: Plan) -> pa.Schema:
    """The schema of a scan's batches, each type one that Spark carries.

    With a table the canonical batch's, else that of the generic rows, or of the damages: ``file``,
    ``pos``, ``error`` (the class), ``field``, ``reason``. UsageError: the log has no change of the
    table, so its columns are not known.
    """
    from binlogkit.frames.tables import generic_schema
    from binlogkit.spark.carried import carried_schema

    if plan.scan.kind == "damages":
        return _damage_schema()
    if plan.scan.table is None:
        return carried_schema(generic_schema())
    if plan.changes is None:
        raise UsageError(
            f"these logs have no row change of {plan.scan.table}, so its columns are not known: "
            "give a schema with .schema(…)"
        )
    return carried_schema(plan.changes)


def check_schema(plan: Plan, schema: pa.Schema) -> None:
    """Whether a schema that a user gives names only columns that there are, else UsageError."""
    from binlogkit.frames.schema import batch_schema
    from binlogkit.frames.tables import generic_schema

    if plan.scan.kind == "damages":
        known = _damage_schema()
    elif plan.scan.table is None:
        known = generic_schema()
    else:
        known = batch_schema([])
    _no_others(schema.names, known.names)
    for image in ("before", "after") if plan.columns else ():
        if image in schema.names:
            _no_others(_image_fields(schema.field(image)), plan.columns)


def _image_fields(field: pa.Field) -> list[str]:
    import pyarrow as pa

    if not pa.types.is_struct(field.type):
        raise UsageError(f"{field.name} is a struct of the table's columns, not {field.type}")
    return [child.name for child in field.type]


def _no_others(names: Sequence[str], known: Sequence[str]) -> None:
    missing = [name for name in names if name not in known]
    if missing:
        raise UsageError(f"there is no column {', '.join(missing)}; there are {', '.join(known)}")


def decode(plan: Plan, split: Split, schema: pa.Schema) -> Iterator[pa.RecordBatch]:
    """The batches of a split in log order, with the columns of ``schema``, chosen by name.

    What was read before damage is handed over before it is raised. Errors: DamageError with file
    and offset, InputError, SchemaError, UsageError for a column that there is not.
    """
    read = _damages if plan.scan.kind == "damages" else _rows
    if plan.scan.table is not None and plan.scan.kind == "rows":
        read = _changes
    return read(plan, split, schema)


def _walk(plan: Plan, split: Split) -> SplitWalk:
    options = plan.base.read_options(plan.scan)
    history = plan.history[: split.history]
    return SplitWalk([carrier_of(split)], options, history=history, split=split)


def _changes(plan: Plan, split: Split, schema: pa.Schema) -> Iterator[pa.RecordBatch]:
    """One table's changes in the canonical form, as far as Spark carries it."""
    from binlogkit.frames.batches import record_batch
    from binlogkit.frames.records import matching
    from binlogkit.rows.changes import read_windows
    from binlogkit.spark.carried import carry

    wanted = plan.scan.wanted()
    for window in read_windows(_walk(plan, split), wanted):
        for columns in window:
            batch = matching(record_batch(columns), wanted.where)
            if batch.num_rows:
                yield carry(batch, schema)


def _rows(plan: Plan, split: Split, schema: pa.Schema) -> Iterator[pa.RecordBatch]:
    """Every change in the generic form, the images as JSON text."""
    from binlogkit.frames.batches import record_batch
    from binlogkit.frames.records import matches, window_records
    from binlogkit.frames.tables import generic_schema, nested_as_text
    from binlogkit.rows.changes import read_windows

    wanted = plan.scan.wanted()
    for window in read_windows(_walk(plan, split), wanted):
        records = window_records([record_batch(columns) for columns in window])
        kept = [nested_as_text(r) for r in records if matches(r, wanted.where)]
        if kept:
            yield _chosen(kept, generic_schema(), schema)


def _damage_schema() -> pa.Schema:
    import pyarrow as pa

    text = pa.string()
    return pa.schema(
        {"file": text, "pos": pa.int64(), "error": text, "field": text, "reason": text}
    )


def _damages(plan: Plan, split: Split, schema: pa.Schema) -> Iterator[pa.RecordBatch]:
    """What ``onDamage=report`` goes past, or the one that ends the reading of ``stop``."""
    from binlogkit.rows.changes import read_windows

    walk = _walk(plan, split)
    found = walk.damages
    try:
        for _ in read_windows(walk, plan.scan.wanted()):
            pass
    except DamageError as error:
        found = [*found, error]
    if found:
        yield _chosen([_damage_record(error) for error in found], _damage_schema(), schema)


def _damage_record(error: DamageError) -> dict[str, Any]:
    return {
        "file": error.file,
        "pos": error.offset,
        "error": type(error).__name__,
        "field": error.field,
        "reason": error.reason,
    }


def _chosen(records: list[dict[str, Any]], own: pa.Schema, schema: pa.Schema) -> pa.RecordBatch:
    """Records as a batch of the columns that ``schema`` wants."""
    import pyarrow as pa

    from binlogkit.spark.carried import fit

    batch = pa.RecordBatch.from_pylist(records, schema=own)
    columns = [fit(batch.column(field.name), field.type, field.name) for field in schema]
    return pa.RecordBatch.from_arrays(columns, schema=schema)
