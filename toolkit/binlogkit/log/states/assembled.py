"""Assembles a state: the rows of a replay, and everything that makes them uncertain."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from binlogkit.analyses.point_in_time.findings import StateFinding
from binlogkit.constants import TableId
from binlogkit.log.states.doubts import doubt, noted, of_gaps, with_more
from binlogkit.log.states.gaps import Reach
from binlogkit.log.states.table_state import TableState
from binlogkit.rows.soundness import Gap

if TYPE_CHECKING:
    import pyarrow as pa

    from binlogkit.events.gtid_set import GtidSet
    from binlogkit.rows.schema import TableDefinition


_UNNAMED = (
    "The log does not name the table's columns, and what the base says of them does not fit: its "
    "changes cannot be applied to the base's rows (--schema)."
)
_UNKNOWN_CELLS = (
    "No image shows for certain what these cells hold, and the definition has no constant default "
    "for them."
)


def assembled(
    table: TableId,
    rows: pa.Table,
    findings: pa.Table,
    *,
    columns: Sequence[str] | None,
    key: Sequence[str],
    replayed: bool,
    doubts: Sequence[StateFinding],
    gaps: Sequence[Gap] = (),
    notes: Sequence[StateFinding] = (),
    assumes: tuple[str, ...],
    reach: Reach,
    place: tuple[tuple[str, int] | None, GtidSet | None],
    definition: TableDefinition | None,
    based: bool = False,
    names: Collection[TableId] = (),
    after_gaps: Callable[[], int] = lambda: 0,
) -> TableState:
    """A table's state.

    ``rows``, ``findings``, and whether they are determined (``replayed``): from the replay;
    ``doubts``, ``notes``: more findings (:mod:`doubts`), besides those about ``gaps``; ``based``:
    whether rows began with a base, which columns without names contradict; ``place``:
    its position and GTIDs; ``after_gaps``: how many rows are determined despite the gaps. The rest
    is as in :class:`TableState`.
    """
    fields = [field.name for field in rows.schema.field("values").type]
    if based and any(name.startswith("@") for name in fields):
        doubts = [*doubts, doubt("base", _UNNAMED)]
    sound = replayed and all(one.determined for one in doubts)
    certain = rows.num_rows if sound else 0
    if certain and gaps:
        certain = after_gaps()
    more = [*doubts, *of_gaps(list(gaps)), *notes]
    found = TableState(
        table=table,
        rows=rows,
        findings=with_more(findings, more),
        columns=None if columns is None else tuple(columns),
        key=tuple(key),
        rows_determined=sound and not gaps,
        assumes=assumes,
        determined_rows=certain,
        reach=reach,
        position=place[0],
        gtids=place[1],
        definition=definition,
        names=frozenset(names),
    )
    if not found.unknown_cells or found.findings.num_rows:
        return found
    why = noted("unknown_cells", _UNKNOWN_CELLS, found.unknown_cells)
    return replace(found, findings=with_more(found.findings, [why]))
