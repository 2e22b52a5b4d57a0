"""A table's rows as of a point of its log, computed backwards from its later rows, e.g. a live
table's.

Every change since is undone, the last one first. Columns missing in a before image (MINIMAL,
NOBLOB) are unknown if the change wrote them. Rows changed by unlogged cascades (up to 9.5) cannot
be determined any more: they were different, or are gone.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from binlogkit.analyses._frames import to_arrow
from binlogkit.analyses._savepoints import Undone
from binlogkit.analyses.point_in_time.batches import counted_batches
from binlogkit.analyses.point_in_time.boundary import Boundary, read_boundaries
from binlogkit.analyses.point_in_time.counting import Counting, Until
from binlogkit.analyses.point_in_time.difference import compared
from binlogkit.analyses.point_in_time.findings import StateFindings
from binlogkit.analyses.point_in_time.fold import Fold
from binlogkit.analyses.point_in_time.kept_batches import KeptBatches
from binlogkit.analyses.point_in_time.replay import by_table
from binlogkit.analyses.point_in_time.result import base_changes, state_table
from binlogkit.analyses.point_in_time.rows import Rows
from binlogkit.analyses.point_in_time.state import State, as_state, only_table
from binlogkit.analyses.point_in_time.way_back import WayBack, ever_above, undo, way_back
from binlogkit.constants import TableId
from binlogkit.rows.schema import TableDefinition

#: Whether what is outside any transaction, at a file and a position, lies on the way.
Outside = Callable[[str, int], bool]


def rewind(
    changes: Any,
    boundaries: Any = None,
    *,
    key: Sequence[str],
    base: Any,
    transactions: Any,
    undone: Sequence[Undone] = (),
    until: Until,
    taken: Until | None = None,
    table: TableId | None = None,
    transactional: bool | None = None,
    cascades: Sequence[str] = (),
    cascades_logged: bool = False,
    definition: TableDefinition | None = None,
    outside: Outside = lambda _file, _pos: True,
    unknown: Collection[int] = (),
) -> State[Any]:
    """The rows as of ``until``, from the rows ``base`` as of ``taken`` (the log's end if None).

    ``base``: a state, or a frame with the table's own columns; ``table``: its name as of ``taken``,
    as ``key`` is its key there: RENAMEs are followed, and ALTERs that add, rename or drop columns;
    ALTERs that convert values, TRUNCATE, DROP and writes logged as text end the way. That is a
    finding. So are rows that the last changes left otherwise, and changed parents if cascades are
    not logged. ``definition``: the table's as of ``taken``, for the constant defaults that minimal
    images leave out. ``outside``: what outside any transaction lies between; ``unknown``: the
    places (``seq``) of ALTERs before which the table is not known; ``undone``: what ROLLBACK TO
    SAVEPOINT undid. The other arguments and the
    result are those of :func:`replay`. ``seq``, ``file`` and ``pos`` are null: a row's last change
    is further back.

    Memory holds the rows, the touched ones, and 64 MB; further changes wait in a temporary file.
    """
    findings = StateFindings()
    name = table if table is not None else only_table(changes)
    happened = read_boundaries(boundaries)
    point = Counting(transactions, until, transactional=transactional)
    counts = Counting(transactions, taken, since=until, transactional=transactional)
    findings.update(point.findings)
    findings.update(counts.findings)
    way = _way(happened, counts, name, outside, findings, unknown, logged=cascades_logged)
    if way.engine_changed and transactional is not None:
        counts = Counting(transactions, taken, since=until)
    counts.note(way.names, findings)
    point.note_same_second(way.names, findings)
    if not cascades_logged:
        counts.note_cascades(ever_above(happened, way.names, cascades), findings)
    columns = () if way.numbered.intersection(key) else key
    fold = Fold(columns, backwards=True)
    fold.begin(base_changes(to_arrow(base, ())))
    fold.definition = definition
    kept = KeptBatches()
    left = Fold(columns)
    left.definition = definition
    try:
        batches = counted_batches(changes, way.names, key, counts.numbers, undone)
        for number, batch in _by_step(_inside(batches, outside), way):
            kept.add(number, batch)
            if number == 0:
                left.take(batch)
        _contradicted(fold, left, findings)
        del left
        for number, step in enumerate(way.steps):
            for batch in kept.last_first(number):
                fold.take(batch)
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


def _way(
    happened: Sequence[Boundary],
    counts: Counting,
    name: TableId,
    outside: Outside,
    findings: StateFindings,
    unknown: Collection[int],
    *,
    logged: bool,
) -> WayBack:
    between = [
        b for b in happened if (outside(b.file, b.pos) if b.tx is None else counts.happened(b))
    ]
    return way_back(between, name, findings, cascades_logged=logged, unknown=unknown)


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
    batches: Iterable[pa.RecordBatch], way: WayBack
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
