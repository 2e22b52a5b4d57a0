"""What makes an answer about a table uncertain apart from its changes, as findings."""

from __future__ import annotations

import re
from collections.abc import Container, Iterable, Sequence
from typing import TYPE_CHECKING

import pyarrow as pa

from binlogkit.analyses.point_in_time.findings import StateFinding, table_of
from binlogkit.constants import MERGE, TableId
from binlogkit.log.states.bases.bases import BASE
from binlogkit.log.states.gaps import Reach
from binlogkit.log.states.history import History, Merged, TableFacts
from binlogkit.log.states.images.contradictions import UNLOGGED
from binlogkit.rows.schema import Supposition, TableDefinition
from binlogkit.rows.soundness import Gap

if TYPE_CHECKING:
    from binlogkit.analyses.point_in_time.boundary import Boundary
    from binlogkit.frames.snapshots.snapshot import TableSnapshot


_LIKE = re.compile(r"\bLIKE\b", re.IGNORECASE)
_BLACKHOLE = (
    "The table's engine is BLACKHOLE, which stores no rows: these are the rows that were written."
)
_MERGE = "The table's engine is MERGE: its rows are those of the tables that its UNION names."
_MERGED = "Rows were written to the MERGE table {}: whether they are in this table is not tracked."


def doubts_of(
    layout: TableFacts,
    history: History,
    counted: Container[int],
    supposed: Iterable[Supposition] = (),
) -> list[StateFinding]:
    """Doubts that the table's own changes do not show; ``supposed``: suppositions about them."""
    names = {one.name: one for one in supposed}
    found = [doubt("supposition", str(one)) for one in names.values()]
    merged = [m for m in history.merged.values() if m.tx is None or m.tx in counted]
    return found + of_engine(layout.engine, merged)


def of_engine(engine: str | None, merged: Sequence[Merged]) -> list[StateFinding]:
    """Doubts from a table's engine; ``merged``: where MERGE tables were written."""
    engine = (engine or "").upper()
    if engine == "BLACKHOLE":
        return [doubt("blackhole", _BLACKHOLE)]
    if engine == MERGE:
        return [doubt("merge", _MERGE)]
    if not merged or engine not in ("", "MYISAM"):
        return []
    names = ", ".join(sorted({".".join(m.name) for m in merged}))
    text = _MERGED.format(names)
    return [doubt("merge", text, len(merged), merged[0].file, merged[0].pos)]


def cascading_columns(
    boundaries: list[Boundary], given: TableDefinition | None, name: TableId
) -> set[str]:
    """The columns of a table that a parent's change may change."""
    own = [b.definition for b in boundaries if b.definition is not None and b.concerns(name)]
    known = [definition for definition in (given, *own) if definition is not None]
    foreign = {c for definition in known for key in definition.foreign for c in key.columns}
    return foreign | {c.name for d in known for c in d.columns if c.generated}


def standing(
    gaps: list[Gap],
    boundaries: list[Boundary],
    name: TableId,
    names: set[TableId],
    above: Sequence[str],
    reach: Reach,
) -> list[Gap]:
    """The gaps that leave the table's rows undetermined.

    They come before the point, concern the table or one ``above`` it, from which foreign keys
    change it, and it was not created or emptied since. After a gap that may hold DDL only a
    complete CREATE TABLE counts.
    """
    emptied = [b for b in boundaries if b.empties and b.name == name and reach.counts(b.tx)]
    if names != {name}:
        emptied = []
    created = [b for b in emptied if b.action == "create" and b.definition is not None]
    made = [b.seq for b in created if not _LIKE.search(b.statement)]
    anew = max(made, default=-1)
    first = max((b.seq for b in emptied), default=-1)
    concerned = [*(".".join(one) for one in names), *above]
    return [
        gap
        for gap in gaps
        if gap.seq > (anew if gap.tables is None else first)
        and gap.concerns(concerned)
        and reach.holds(gap.file, gap.pos)
    ]


def of_gaps(gaps: list[Gap]) -> list[StateFinding]:
    """The gaps as findings; changes outside the log as one finding, at the first of them."""
    unlogged = [gap for gap in gaps if gap.code == UNLOGGED]
    found = [
        doubt("base_gap" if g.code == BASE else "gap", g.found, file=g.file, pos=g.pos)
        for g in gaps
        if g.code != UNLOGGED
    ]
    if unlogged:
        first = unlogged[0]
        text = f"Changed outside of these logs: {first.found}"
        found.append(doubt("unlogged", text, len(unlogged), first.file, first.pos))
    return found


def doubts_of_bases(bases: Iterable[TableSnapshot]) -> list[StateFinding]:
    """Doubts about a table's bases."""
    doubts = []
    for base in bases:
        doubts += [doubt("base", text) for text in base.doubts]
        for reason, count in base.unknown.items():
            cells = "1 cell is" if count == 1 else f"{count} cells are"
            doubts.append(noted("base_unknown", f"In the base {cells} not known: {reason}.", count))
    return doubts


def doubt(
    kind: str, meaning: str, count: int = 1, file: str | None = None, pos: int | None = None
) -> StateFinding:
    """A finding that leaves a state undetermined; ``file``, ``pos``: where it was first met."""
    return StateFinding(kind, count, False, file, pos, meaning)


def noted(kind: str, meaning: str, count: int = 1) -> StateFinding:
    """A finding that leaves a state determined."""
    return StateFinding(kind, count, True, None, None, meaning)


def with_more(findings: pa.Table, more: Sequence[StateFinding]) -> pa.Table:
    """A table of findings with further ones."""
    return pa.concat_tables([findings, table_of(more)]) if more else findings
