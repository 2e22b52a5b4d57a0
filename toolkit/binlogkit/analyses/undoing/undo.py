"""Plans of statements that undo changes or make them again; SQL is made in reports/sql.py.

Undo runs backwards. It sets only the columns that a change touched, finds the row by its key
*after* the change, and guards on the values that the change left: if the row was changed since, the
statement finds nothing instead of reverting that work. FLOAT, DOUBLE and JSON are never in a
condition (docs/traps.md). What cannot be undone is refused, with the reason.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

import narwhals as nw
import numpy as np
import pyarrow as pa

from binlogkit.analyses._frames import (
    FrameT,
    is_spark,
    lazy,
    map_arrow,
    plain_engine,
    records,
    to_arrow,
)
from binlogkit.analyses._savepoints import undone_ranges
from binlogkit.analyses._tasks import arriving
from binlogkit.analyses.point_in_time.boundary import read_boundaries
from binlogkit.analyses.point_in_time.codes import Flags, Integers
from binlogkit.analyses.point_in_time.repeats import not_done
from binlogkit.analyses.references import Reference, acting
from binlogkit.analyses.undoing._later_ddl import LaterDDL
from binlogkit.analyses.undoing._planner import Facts, Planner
from binlogkit.analyses.undoing.blocked import Blocked
from binlogkit.analyses.undoing.cascaded_keys import Followed, UnknownChild
from binlogkit.analyses.undoing.plans import (
    PLAN_SCHEMA,
    PLANS,
    Piece,
    PlanColumns,
    batch_mappings,
    no_texts,
)
from binlogkit.analyses.undoing.unchecked import Before, Unchecked, lost
from binlogkit.constants import TableId
from binlogkit.errors import UsageError
from binlogkit.frames.arrays import filtered
from binlogkit.frames.schema import common_types, table_of
from binlogkit.frames.text_columns import Mask
from binlogkit.rows.schema import TableDefinition

__all__ = ["PLANS", "mappings", "pieces", "redo", "undo"]

# The columns of a batch that plans are made from.
_PLACE = ("source", "file", "pos", "inner", "row", "gtid", "timestamp", "db", "table", "seq")
_NONE = Followed()
_NEEDED = (*_PLACE, "op", "tx", "before", "after", "before_state", "after_state", "raw")


def undo(
    changes: FrameT,
    *,
    key: Sequence[str] | None = None,
    transactions: FrameT | None = None,
    statements: FrameT | None = None,
    schema: pa.Schema | None = None,
) -> FrameT:
    """Plans that undo ``changes``, last change first (:data:`PLANS`).

    ``changes``: typed, of one table; all of them are undone. ``key``: the key's columns, empty for
    a table without one; taken from the schema's metadata if None. ``transactions``: the ledger;
    changes of transactions that were not committed are then refused: there is nothing to undo;
    ``statements``: ``log.statements()``, which shows what ROLLBACK TO SAVEPOINT undid: such changes
    have no plan. ``schema``: the canonical Arrow schema, needed for a Spark frame, which loses the
    fields' metadata. UsageError column types or the key are not known.
    """
    return _plans(changes, key, transactions, statements, schema, backwards=True)


def redo(
    changes: FrameT,
    *,
    key: Sequence[str] | None = None,
    transactions: FrameT | None = None,
    statements: FrameT | None = None,
    schema: pa.Schema | None = None,
) -> FrameT:
    """Plans that make ``changes`` again, first change first; the arguments are those of undo."""
    return _plans(changes, key, transactions, statements, schema, backwards=False)


def mappings(plans: Any) -> Iterator[dict[str, Any]]:
    """Plans as reports/sql.py needs them: one mapping each, values in the contract's JSON form."""
    for batch in arriving(plans) if is_spark(plans) else to_arrow(plans).to_batches():
        yield from batch_mappings(batch)


def pieces(
    batches: Iterable[pa.RecordBatch],
    refused: Iterable[Mapping[str, Any]] = (),
    *,
    transactions: Any = None,
    statements: Any = None,
    boundaries: Any = None,
    unknown_children: Mapping[TableId, UnknownChild] | None = None,
    referring: Iterable[Reference] = (),
    cascade: bool = True,
    followed: Followed = _NONE,
    blocked: Blocked | None = None,
    definitions: Sequence[TableDefinition] = (),
    off: Callable[[Integers], Flags] | None = None,
    there: Before | None = None,
    twice: Mapping[int, str] | None = None,
    struck: Mapping[TableId, int] | None = None,
    backwards: bool,
) -> list[Piece]:
    """The input for the plans of a whole log, for undo or redo.

    ``batches``: changes in the canonical schema, of any tables; ``refused``: changes without a
    plan, with ``seq``, other columns of a batch, and the reason in ``refused``; ``boundaries``:
    what happened to tables, also after the changes: statements fit the tables as they are at the
    end; ``unknown_children``: tables whose changes cascaded to unknown rows without logging, each
    with such a child table; ``referring``: the foreign keys; ``cascade``: whether the server
    acts on them with the statements; ``followed``: rows that went by them with the changes;
    ``blocked``: the changes that later ones depend on; ``definitions``: of the tables, a table's
    last one counts; ``off``: which changes, by ``seq``, were made with foreign_key_checks off;
    ``there``: see :class:`.unchecked.Unchecked`; ``twice``: see :class:`._planner.Planner`;
    ``struck``: the tables whose rows later changes may have removed without being logged, each with
    the last ``seq``; the rest as for :func:`undo`.
    """
    outcomes, undone = _outcomes(transactions), not_done(undone_ranges(statements))
    happened = read_boundaries(boundaries)
    later = LaterDDL(happened)
    keys = tuple(referring)
    parents = acting(key for key in keys if not key.unlike) if cascade else {}
    no_empty = {
        (d.db, d.table): {c.name for c in d.columns if c.labels and "" not in c.labels}
        for d in definitions
    }
    filled = {(d.db, d.table): {c.name for c in d.columns if not c.nullable} for d in definitions}
    parts = [
        ((unknown_children or {}).get(_table(batch)), part, fate)
        for batch in batches
        for part, fate in later.parts(_happened(batch.select(_NEEDED), undone))
    ]
    unchecked = Unchecked.of(
        [part for _, part, _ in parts], keys if cascade else (), off, there, happened, struck,
        lost=lost(keys, happened),
    )  # fmt: skip
    found = list[Piece]()
    for child, part, fate in parts:
        facts, name = Facts.of(part.schema, None), _table(part)
        planner = Planner(
            facts.since(fate), part.schema, backwards, outcomes, fate, child, parents.get(name, ()),
            blocked, no_empty.get(name, ()), followed, unchecked, filled.get(name, ()),
            twice or {},
        )  # fmt: skip
        found.append(Piece(part, planner.columns))
    found.append(_refused(refused, backwards))
    return found


def _table(batch: pa.RecordBatch) -> TableId:
    return table_of(batch) if batch.num_rows else ("", "")


def _refused(rows: Iterable[Mapping[str, Any]], backwards: bool) -> Piece:
    """Rows that are refused."""
    types = common_types() | {"refused": pa.string()}
    fields = [(name, types[name]) for name in (*_PLACE, "refused")]
    batch = pa.RecordBatch.from_pylist(list(rows), pa.schema(fields))

    def columns(batch: pa.RecordBatch) -> Iterator[tuple[Any, PlanColumns]]:
        count = batch.num_rows
        none, reasons = np.zeros(count, np.bool_), batch["refused"]
        plan = PlanColumns(batch, backwards, "update", (), (), none, reasons, no_texts(count))
        yield np.arange(count), plan

    return Piece(batch, columns)


def _plans(
    changes: FrameT,
    key: Sequence[str] | None,
    transactions: FrameT | None,
    statements: FrameT | None,
    schema: pa.Schema | None,
    *,
    backwards: bool,
) -> FrameT:
    frame, undone = plain_engine(changes), not_done(undone_ranges(statements))
    lazy(frame, ("seq", "op", "before", "after", "db", "table"))
    if schema is None:
        if is_spark(frame):
            raise UsageError("a Spark frame does not carry the columns' types: schema is needed")
        schema = to_arrow(frame).schema
    planner = Planner(Facts.of(schema, key), schema, backwards, _outcomes(transactions))

    def planned(batch: pa.RecordBatch) -> pa.RecordBatch:
        return planner(_happened(batch, undone))

    return map_arrow(frame, planned, PLAN_SCHEMA, PLANS, like=changes, sort="step")


def _happened(changes: pa.RecordBatch, undone: Callable[[pa.RecordBatch], Mask]) -> pa.RecordBatch:
    """The changes without those that a ROLLBACK TO SAVEPOINT undid, or that are logged twice."""
    return filtered(changes, ~undone(changes))


def _outcomes(transactions: Any) -> Mapping[int, str]:
    """The outcome of every transaction that was not committed; none without the ledger."""
    if transactions is None:
        return {}
    ended = lazy(transactions, ("tx", "outcome")).filter(nw.col("outcome") != "committed")
    return {row["tx"]: row["outcome"] for row in records(ended.select("tx", "outcome"))}
