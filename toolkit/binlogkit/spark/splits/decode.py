"""One split -> record batches in a given schema. Spark is not in here."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import pyarrow as pa

from binlogkit.errors import UsageError
from binlogkit.frames.arrow_types import carried_schema
from binlogkit.frames.generic import generic_rows
from binlogkit.frames.row_batches import read_batches
from binlogkit.frames.schema import batch_schema
from binlogkit.rows.filter_args import check_names
from binlogkit.sources.carriers import resolve
from binlogkit.spark.carried import carry, fit
from binlogkit.spark.splits.changelog import changelog_schema
from binlogkit.spark.splits.commits import Commits, Deciding
from binlogkit.spark.splits.kinds import KINDS, RecordKind
from binlogkit.spark.splits.masked import Masking, masked_schema
from binlogkit.spark.splits.plan import Scan, Split, SplitPlan


def scan_schema(plan: SplitPlan) -> pa.Schema:
    """The schema of a scan's batches, each type one that Spark carries.

    For a typed scan that is the canonical batch's, else that of its kind (:data:`kinds.KINDS`).
    UsageError: the log has no change of the table, so its columns are not known. InputError: a file
    that cannot be opened.
    """
    if not plan.scan.asked.typed:
        return carried_schema(KINDS[plan.scan.asked.kind].schema())
    if plan.changes is None:
        for split in plan.splits:  # a missing one has no change either
            with resolve(list(split.locations), plan.scan.asked.keys)[0].open():
                pass
        raise UsageError(
            f"these logs have no row change of {plan.scan.asked.table}, so its columns are not "
            "known: give a schema with .schema(…)"
        )
    if plan.scan.asked.kind == "changelog":
        flat = changelog_schema(plan.changes.field("before").type)
        return masked_schema(flat, plan.masks, plan.tables)
    return carried_schema(plan.changes)


def check_schema(plan: SplitPlan, schema: pa.Schema) -> None:
    """Check that a schema given by a user names existing columns only, whose values have a known
    name in all versions of the table; UsageError."""
    if not plan.scan.asked.typed:
        _no_others(schema.names, KINDS[plan.scan.asked.kind].schema().names)
        return
    if plan.scan.asked.kind == "changelog":
        own = KINDS["changelog"].schema().names
        _check_named(plan, [name for name in schema.names if name not in own])
        _no_others(schema.names, [*own, *plan.scan.columns])
        return
    _no_others(schema.names, batch_schema([]).names)
    for image in ("before", "after") if plan.scan.columns else ():
        if image in schema.names:
            kind = schema.field(image).type
            if not pa.types.is_struct(kind):
                raise UsageError(f"{image} is a struct of the table's columns, not {kind}")
            names = [child.name for child in kind]
            _check_named(plan, names)
            _no_others(names, plan.scan.columns)


def _check_named(plan: SplitPlan, names: Sequence[str]) -> None:
    if plan.unnamed and not all(name.startswith("@") for name in names):
        raise UsageError(plan.unnamed)


def _no_others(names: Sequence[str], known: Sequence[str]) -> None:
    missing = [name for name in names if name not in known]
    if missing:
        raise UsageError(f"there is no column {', '.join(missing)}; there are {', '.join(known)}")


def decode(scan: Scan, split: Split, schema: pa.Schema) -> Iterator[pa.RecordBatch]:
    """The batches of a split in log order, with the columns of ``schema``, chosen by name.

    What was read before damage is delivered before the error is raised. Errors: DamageError with
    file and offset, InputError, SchemaError.
    """
    if scan.asked.kind == "changelog":
        return _changelog(scan, split, schema)
    if scan.asked.typed:
        return _typed(scan, split, schema)
    kind = KINDS[scan.asked.kind]
    if kind.batches is None:
        return _generic(kind, scan, split, schema)
    return (_fitted(batch, schema) for batch in kind.batches(scan, split))


def _typed(scan: Scan, split: Split, schema: pa.Schema) -> Iterator[pa.RecordBatch]:
    """One table's changes in the canonical form, as far as Spark carries it."""
    wanted = scan.asked.wanted()
    if scan.columns:
        check_names(sorted(wanted.where.columns), scan.columns, "column")
    columns = _columns(schema)
    if columns is not None:
        columns |= wanted.where.columns
    for window in read_batches(scan.reading(split), wanted, columns=columns):
        for _, batch in window:
            yield carry(batch, schema)


def _changelog(scan: Scan, split: Split, schema: pa.Schema) -> Iterator[pa.RecordBatch]:
    """One table's changes as flat rows, one per image."""
    wanted, commits = scan.asked.wanted(), Commits(split.deciding or Deciding())
    check_names(sorted(wanted.where.columns), scan.columns, "column")
    columns = scan.keys | wanted.where.columns | {n for n in schema.names if n in scan.columns}
    reading, masking = scan.reading(split), Masking(schema, scan.asked)
    for window in read_batches(reading, wanted, columns=columns, views=[commits.feed]):
        for _, batch in window:
            yield from masking.changelog(batch, commits)


def _columns(schema: pa.Schema) -> frozenset[str] | None:
    """The columns of the images in ``schema``, None for all if it has no image.

    States and raw cells cover the same columns.
    """
    images = [name for name in ("before", "after") if name in schema.names]
    return frozenset(child.name for name in images for child in schema.field(name).type) or None


def _generic(
    kind: RecordKind, scan: Scan, split: Split, schema: pa.Schema
) -> Iterator[pa.RecordBatch]:
    """Every table's changes in the generic form, the images as JSON text."""
    own = pa.schema([kind.schema().field(name) for name in schema.names])
    for window in read_batches(scan.reading(split), scan.asked.wanted(), to_sort=True):
        for batch in generic_rows([batch for _, batch in window], own, compact=True):
            yield _fitted(batch, schema)


def _fitted(batch: pa.RecordBatch, schema: pa.Schema) -> pa.RecordBatch:
    """The columns of ``batch`` that are in ``schema``, in its types."""
    columns = [fit(batch.column(field.name), field.type, field.name) for field in schema]
    return pa.RecordBatch.from_arrays(columns, schema=schema)
