"""A table's rows as of a point, backwards from the rows that it has later: a live table's, today.

Every change since is taken back, the last one first. What an image before does not hold (MINIMAL,
NOBLOB) is unknown where the change wrote it. CREATE is the end of the way back, and so is whatever
changed rows without logging them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from binlogkit.analyses._frames import is_frame, to_arrow
from binlogkit.analyses._savepoints import undone_ranges
from binlogkit.analyses.point_in_time.batches import counted_batches
from binlogkit.analyses.point_in_time.boundary import Boundary, Name, parents, read_boundaries
from binlogkit.analyses.point_in_time.counting import counting
from binlogkit.analyses.point_in_time.findings import Findings
from binlogkit.analyses.point_in_time.result import base_changes, state_table
from binlogkit.analyses.point_in_time.sequential import Replay
from binlogkit.analyses.point_in_time.state import State, as_state, only_table
from binlogkit.analyses.point_in_time.until import Until, note_cascades

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["rewind"]


def rewind(
    changes: Any,
    boundaries: Any = None,
    *,
    key: Sequence[str],
    base: Any,
    transactions: Any,
    statements: Any = None,
    until: Until,
    taken: Until | None = None,
    table: Name | None = None,
    transactional: bool | None = None,
    cascades: Sequence[str] = (),
    cascades_logged: bool = False,
) -> State:
    """The rows as of ``until``, from the rows ``base`` as of ``taken`` (the log's end if None).

    ``base``: a state, or a frame with the table's own columns. The other arguments, and the result,
    are those of :func:`replay`; columns and names are those of ``base``: an ALTER TABLE or a RENAME
    on the way ends it, and that is told. ``seq``, ``file`` and ``pos`` are null: what changed a row
    last lies further back.
    """
    findings = Findings()
    name = table if table is not None else only_table(changes)
    happened = read_boundaries(boundaries)
    counts = counting(transactions, until, taken, [name], transactional, findings)
    if counts is None:
        raise AssertionError("rewind always has a ledger")
    above = [] if cascades_logged else parents(happened, name, cascades)
    note_cascades(transactions, counts.rows, above, findings)
    between = [b for b in happened if counts.happened(b) and (b.concerns(name) or b.may_write)]
    run = Replay(key, [name], [], backwards=True)
    run.load(base_changes(to_arrow(base)))
    since = _barrier(between, name, findings)
    turned = counted_batches(changes, counts.numbers, undone_ranges(statements))
    run.run(_turned(turned, since))
    found = run.table(name)
    findings.update(found.findings)
    if since is not None and since.action == "create" and not since.conditional:
        if len(found.rows):
            findings.add("unseen", since.file, since.pos, times=len(found.rows))
        found.empty()
    rows = [found.store.handles(row) for row in found.rows.live()]
    result = _without_places(state_table(found.store, rows, None, key))
    return as_state(result, findings, changes if is_frame(changes) else None)


def _barrier(boundaries: Sequence[Boundary], name: Name, findings: Findings) -> Boundary | None:
    """The first boundary of the table beyond which no change can be taken back, looking back.

    Everything that makes the rows before it uncertain is a finding.
    """
    last = None
    for boundary in boundaries:
        if not boundary.concerns(name):
            kind = "incident" if boundary.action == "incident" else "written_elsewhere"
            findings.add(kind, boundary.file, boundary.pos)
        elif boundary.action == "alter" and _harmless(boundary):
            continue
        else:
            if boundary.action != "create" or boundary.conditional:
                kind = _KINDS.get(boundary.action, "stopped")
                findings.add(kind, boundary.file, boundary.pos)
            last = boundary
    return last


_KINDS = {
    "truncate": "emptied",
    "drop": "emptied",
    "drop_database": "emptied",
    "create": "if_not_exists",
}


def _harmless(boundary: Boundary) -> bool:
    """An ALTER that leaves every column as it is."""
    done = boundary.alteration
    return done is not None and not (done.renamed or done.dropped or done.lost or done.added)


def _turned(batches: Iterator[pa.RecordBatch], since: Boundary | None) -> Iterator[pa.RecordBatch]:
    """The changes after ``since`` turned around, last first."""
    import pyarrow as pa
    import pyarrow.compute as pc

    for batch in reversed(list(batches)):
        if since is not None:
            batch = batch.filter(pc.greater(batch["seq"], since.seq))
        if not batch.num_rows:
            continue
        batch = batch.take(pa.array(range(batch.num_rows - 1, -1, -1), pa.int64()))
        columns = {field.name: batch[field.name] for field in batch.schema}
        for one, other in (("before", "after"), ("before_state", "after_state")):
            if one in columns:
                columns[one], columns[other] = columns[other], columns[one]
        columns["seq"] = pc.negate(batch["seq"])
        if "raw" in columns:
            columns["raw"] = _swapped(batch["raw"])
        yield pa.RecordBatch.from_arrays(list(columns.values()), names=list(columns))


def _swapped(raw: pa.Array) -> pa.Array:
    """Raw cells of the image before for those of the image after, and the other way round."""
    import pyarrow as pa

    if raw.null_count == len(raw):
        return raw
    turned = [
        None if cells is None else [cell | {"image": 1 - cell["image"]} for cell in cells]
        for cells in raw.to_pylist()
    ]
    return pa.array(turned, raw.type)


def _without_places(rows: pa.Table) -> pa.Table:
    import pyarrow as pa

    for name in ("seq", "file", "pos"):
        at = rows.schema.get_field_index(name)
        rows = rows.set_column(at, name, pa.nulls(rows.num_rows, rows.schema.field(at).type))
    return rows
