"""A table's rows as of a point, backwards from the rows that it has later: a live table's, today.

Every change since is taken back, the last one first. What an image before does not hold (MINIMAL,
NOBLOB) is unknown where the change wrote it. CREATE is the end of the way back, and so is whatever
changed rows without logging them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from binlogkit.analyses._frames import to_arrow
from binlogkit.analyses._savepoints import undone_ranges
from binlogkit.analyses.point_in_time.batches import counted_batches
from binlogkit.analyses.point_in_time.boundary import Boundary, Name, parents, read_boundaries
from binlogkit.analyses.point_in_time.counting import counting
from binlogkit.analyses.point_in_time.findings import Findings
from binlogkit.analyses.point_in_time.fold import Fold
from binlogkit.analyses.point_in_time.replay import by_table
from binlogkit.analyses.point_in_time.result import base_changes, state_table
from binlogkit.analyses.point_in_time.rows import Rows
from binlogkit.analyses.point_in_time.state import State, as_state, only_table
from binlogkit.analyses.point_in_time.until import Until, note_cascades

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
    note_cascades(transactions, counts.numbers, above, findings)
    between = [b for b in happened if counts.happened(b) and (b.concerns(name) or b.may_write)]
    since = _barrier(between, name, findings)
    fold = Fold(key, backwards=True)
    fold.begin(base_changes(to_arrow(base, ())))
    undone = undone_ranges(statements)
    for batch in reversed(list(counted_batches(changes, [name], key, counts.numbers, undone))):
        if since is not None:
            batch = batch.filter(pc.greater(batch["seq"], since.seq))
        for _, part in by_table(batch, {name}):
            fold.take(part)
    rows = fold.settled()
    findings.update(fold.findings)
    if since is not None and since.action == "create" and not since.conditional:
        if len(rows):
            findings.add("unseen", since.file, since.pos, times=len(rows))
        rows = Rows()
    result = _without_places(state_table(rows, None, key))
    return as_state(result, findings, changes)


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


def _without_places(rows: pa.Table) -> pa.Table:
    for name in ("seq", "file", "pos"):
        at = rows.schema.get_field_index(name)
        rows = rows.set_column(at, name, pa.nulls(rows.num_rows, rows.schema.field(at).type))
    return rows
