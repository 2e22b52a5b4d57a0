"""A table's rows as of a point of its log, computed backwards from its later rows, e.g. a live
table's.

Every change since is undone, the last one first. Columns missing in a before image (MINIMAL,
NOBLOB) are unknown if the change wrote them. Rows changed by unlogged cascades (up to 9.5) cannot
be determined any more: they were different, or are gone.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from binlogkit.analyses._frames import to_arrow
from binlogkit.analyses.point_in_time.batches import counted_batches
from binlogkit.analyses.point_in_time.counting import Counting, Until
from binlogkit.analyses.point_in_time.difference import compared
from binlogkit.analyses.point_in_time.findings import StateFindings
from binlogkit.analyses.point_in_time.fold import Fold
from binlogkit.analyses.point_in_time.kept_batches import KeptBatches
from binlogkit.analyses.point_in_time.replay import by_table
from binlogkit.analyses.point_in_time.result import base_changes, state_table
from binlogkit.analyses.point_in_time.rewind_steps import (
    RewindSteps,
    ever_above,
    rewind_steps,
    undo,
)
from binlogkit.analyses.point_in_time.rows import Rows
from binlogkit.analyses.point_in_time.state import (
    ReplayLedger,
    ReplayTable,
    State,
    as_state,
)
from binlogkit.constants import TableId

#: Whether what is outside any transaction, at a file and a position, lies on the way.
Outside = Callable[[str, int], bool]


@dataclass(frozen=True, slots=True)
class Span:
    """What lies between a point and the later one at which a table's rows are known.

    ``transactions``: ``log.transactions()``; ``until``: the point; ``taken``: that of the rows, the
    log's end if None; ``transactional``: whether the table's engine is transactional; ``outside``:
    what outside any transaction lies between; ``unknown``: the places (``seq``) of ALTERs before
    which the table is not known.
    """

    transactions: Any
    until: Until
    taken: Until | None = None
    transactional: bool | None = None
    outside: Outside = lambda _file, _pos: True
    unknown: Collection[int] = ()


def rewind(changes: Any, table: ReplayTable, ledger: ReplayLedger, span: Span) -> State[Any]:
    """The rows as of ``span.until``, from later ones: those that ``table.bases`` has of it.

    ``changes``: as in :func:`replay`; ``table``: as it is later: RENAMEs are followed, and ALTERs
    that add, rename or drop columns; ALTERs that convert values, TRUNCATE, DROP and writes logged
    as text end the way. That is a finding. So are rows that the last changes left otherwise, and
    changed parents if cascades are not logged. Its definition in ``table.given`` has the constant
    defaults that minimal images leave out. In the result ``seq``, ``file`` and ``pos`` are null: a
    row's last change is further back.

    Memory holds the rows, the touched ones, and 64 MB; further changes wait in a temporary file.
    UsageError as in :func:`replay`.
    """
    findings, key, happened = StateFindings(), table.key, ledger.boundaries
    point = Counting(span.transactions, span.until, transactional=span.transactional)
    counts = _between(span, span.transactional)
    findings.update(point.findings)
    findings.update(counts.findings)
    way = _way(table.name, ledger, span, counts, findings)
    if way.engine_changed and span.transactional is not None:
        counts = _between(span, None)
    counts.note(way.names, findings)
    point.note_same_second(way.names, findings)
    if not ledger.cascades_logged:
        counts.note_cascades(ever_above(happened, way.names, table.cascades), findings)
    columns = () if way.numbered.intersection(key) else key
    fold, left = Fold(columns, backwards=True), Fold(columns)
    fold.definition = left.definition = table.given.get(table.name)
    fold.begin(base_changes(to_arrow(table.bases[table.name], ())))
    kept = KeptBatches()
    try:
        batches = counted_batches(changes, way.names, key, counts.numbers, ledger.undone)
        for number, batch in _by_step(_inside(batches, span.outside), way):
            kept.add(number, batch)
            if number == 0:
                left.feed(batch)
        _contradicted(fold, left, findings)
        del left
        for number, step in enumerate(way.steps):
            for batch in kept.last_first(number):
                fold.feed(batch)
            undo(fold, step)
    finally:
        kept.close()
    rows = fold.settled()
    findings.update(fold.findings)
    if way.created is not None:
        if len(rows):
            findings.add("unseen", way.created.file, way.created.pos, times=len(rows))
        rows = Rows()
    result = _without_places(state_table(rows, None, fold.key))
    return as_state(result, findings, changes)


def _between(span: Span, transactional: bool | None) -> Counting:
    """The transactions of a span, for a table of a kind of engine."""
    return Counting(span.transactions, span.taken, since=span.until, transactional=transactional)


def _way(
    name: TableId, ledger: ReplayLedger, span: Span, counts: Counting, findings: StateFindings
) -> RewindSteps:
    between = [
        b
        for b in ledger.boundaries
        if (span.outside(b.file, b.pos) if b.tx is None else counts.happened(b))
    ]
    logged = ledger.cascades_logged
    return rewind_steps(between, name, findings, cascades_logged=logged, unknown=span.unknown)


def _inside(batches: Iterable[pa.RecordBatch], outside: Outside) -> Iterator[pa.RecordBatch]:
    """The batches without what is outside any transaction and not on the way."""
    for batch in batches:
        alone = np.asarray(batch["tx"].is_null()) if "tx" in batch.schema.names else np.zeros(0)
        if alone.any():
            places = zip(batch["file"].to_pylist(), batch["pos"].to_pylist(), strict=True)
            stay = [not one or outside(*place) for one, place in zip(alone, places, strict=True)]
            batch = batch.filter(pa.array(stay))
        if batch.num_rows:
            yield batch


def _by_step(
    batches: Iterable[pa.RecordBatch], way: RewindSteps
) -> Iterator[tuple[int, pa.RecordBatch]]:
    """The changes to undo in each step; those before an early end are left out."""
    for batch in batches:
        for name, part in by_table(batch, set(way.names)):
            seqs, last = part["seq"].to_numpy(), len(part)
            for number, step in enumerate(way.steps):
                first = int(np.searchsorted(seqs[:last], step.after, "right"))
                if step.name == name and first < last:
                    yield number, part.slice(first, last - first)
                last = min(first, last)


def _contradicted(base: Fold, left: Fold, findings: StateFindings) -> None:
    """A finding for rows of the base whose known cells differ from what the last changes left.

    Without a key such a row is not found at all, which already is a finding.
    """
    if not base.key:
        return
    one, other = (state_table(fold.settled(), None, fold.key) for fold in (left, base))
    found = compared(one, other, base.key)
    which = found.there[0][found.kinds == "changed"]
    if len(which):
        first = one.select(["seq", "file", "pos"]).take(which).sort_by("seq").slice(0, 1)
        (at,) = first.to_pylist()
        findings.add("contradicted", at["file"], at["pos"], times=len(which))


def _without_places(rows: pa.Table) -> pa.Table:
    for name in ("seq", "file", "pos"):
        at = rows.schema.get_field_index(name)
        rows = rows.set_column(at, name, pa.nulls(rows.num_rows, rows.schema.field(at).type))
    return rows
