"""The steps of a rewind from a table's later rows: its names, and what to undo between its changes.

Backwards, a RENAME gives the table its old name. An ALTER that added, renamed or dropped columns
removes the added ones, restores names, and leaves the dropped ones' cells unknown. CREATE is the
end: before it there was no table. So is whatever changed rows without logging them: a conversion,
TRUNCATE, DROP, a write logged as text.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field

import pyarrow as pa

from binlogkit.analyses.point_in_time.boundary import Boundary
from binlogkit.analyses.point_in_time.conversion import defined_field
from binlogkit.analyses.point_in_time.findings import StateFindings
from binlogkit.analyses.point_in_time.fold import Fold
from binlogkit.analyses.point_in_time.structure import Alteration
from binlogkit.constants import TableId

# What a statement on an otherwise unknown table may do to values that it does not name.
_NOT_LOGGED = re.compile(r"\b(CONVERT|CHARACTER|CHARSET|COLLATE|PARTITION|UNION)\b", re.IGNORECASE)
_IGNORE = re.compile(r"\s*ALTER\s+IGNORE\b", re.IGNORECASE)  # drops rows (up to 5.6)
_ENGINE = re.compile(r"\bENGINE\b", re.IGNORECASE)
_FOREIGN = re.compile(r"\bDROP\s+(FOREIGN|CONSTRAINT)\b", re.IGNORECASE)
_ENDS = {
    "truncate": "emptied",
    "drop": "emptied",
    "drop_database": "emptied",
    "create": "if_not_exists",
}


@dataclass(frozen=True, slots=True)
class RewindStep:
    """Changes of ``name`` after the place ``after``, and then the ``boundary`` to undo there; None
    at the point."""

    name: TableId
    after: int
    boundary: Boundary | None = None
    dropped: tuple[pa.Field, ...] = ()


@dataclass(slots=True)
class RewindSteps:
    """``steps``, the last one in the log first.

    ``created``: the CREATE that ends it, None without one; ``numbered``: columns that were added on
    the way; ``engine_changed``: whether the table may have had another engine.
    """

    steps: list[RewindStep] = field(default_factory=list)
    created: Boundary | None = None
    numbered: set[str] = field(default_factory=set)
    engine_changed: bool = False

    @property
    def names(self) -> list[TableId]:
        """The table's names, the last one first."""
        return list(dict.fromkeys(step.name for step in self.steps))

    @property
    def whole(self) -> bool:
        """Whether the way reaches the point."""
        return self.steps[-1].boundary is None


def rewind_steps(
    between: Sequence[Boundary],
    name: TableId,
    findings: StateFindings,
    *,
    cascades_logged: bool = False,
    unknown: Collection[int] = (),
) -> RewindSteps:
    """The way back of the table called ``name`` at its end.

    ``between``: what happened to tables on the way, in log order; ``findings`` gets what makes the
    rows uncertain; ``cascades_logged``: whether the server
    logs such changes; ``unknown``: see :class:`Span`.
    """
    way, current, ended = RewindSteps(), name, False
    for boundary in reversed(between):
        if not boundary.concerns(current):
            if boundary.may_write:
                kind = "incident" if boundary.action == "incident" else "written_elsewhere"
                findings.add(kind, boundary.file, boundary.pos)
            continue
        if not ended and boundary.action == "rename" and boundary.new_name == current:
            way.steps.append(RewindStep(current, boundary.seq, boundary))
            current = boundary.name
            continue
        stops = boundary.seq in unknown or stops_way(boundary, cascades_logged=cascades_logged)
        if not ended and boundary.action == "alter" and not stops:
            way.engine_changed |= _ENGINE.search(boundary.statement) is not None
            done, dropped = boundary.alteration, _dropped(boundary)
            if done is not None and dropped is not None:
                way.numbered |= done.added.keys()
                way.steps.append(RewindStep(current, boundary.seq, boundary, dropped))
                continue
        if boundary.action != "create" or boundary.conditional:
            ends = "emptied" if boundary.deletes_all else _ENDS.get(boundary.action, "stopped")
            findings.add(ends, boundary.file, boundary.pos)
        if not ended:
            way.steps.append(RewindStep(current, boundary.seq, boundary))
            made = boundary.action == "create" and not boundary.conditional
            way.created = boundary if made else None
            ended = True
    if not ended:
        way.steps.append(RewindStep(current, -1))
    return way


def undo(fold: Fold, step: RewindStep) -> None:
    """Make a table's rows what they were before the boundary of a step."""
    boundary = step.boundary
    if boundary is None or boundary.action != "alter" or boundary.alteration is None:
        return
    done, rows = boundary.alteration, fold.settled()
    old = {new: name for name, new in done.renamed.items()}
    rows.alter(Alteration(renamed=old, dropped=set(done.added), mode=done.mode), fold.key)
    rows.restore(step.dropped)
    fold.key = tuple(old.get(column, column) for column in fold.key)
    fold.definition = boundary.before
    key, dropped = boundary.replaced_key, {field.name for field in step.dropped}
    if key is not None and dropped.isdisjoint(key) and not fold.identify_by(key):
        fold.findings.add("key_converted", boundary.file, boundary.pos)


def stops_way(boundary: Boundary, *, cascades_logged: bool = False) -> bool:
    """Whether an ALTER may have had unknown effects on rows, or dropped a foreign key whose earlier
    effects are not known."""
    if boundary.alteration is None or _IGNORE.match(boundary.statement):
        return True
    unknown = [_NOT_LOGGED] if cascades_logged else [_NOT_LOGGED, _FOREIGN]
    return boundary.before is None and any(one.search(boundary.statement) for one in unknown)


def _dropped(boundary: Boundary) -> tuple[pa.Field, ...] | None:
    """The columns that an ALTER removed; None if it cannot be undone."""
    done, before = boundary.alteration, boundary.before
    if done is None:
        return None
    kept = Alteration(changed=done.changed, lost=done.lost, mode=done.mode)
    columns = {} if before is None else {c.name: c for c in before.columns}
    if not kept.harmless or not done.dropped <= columns.keys():
        return None
    return tuple(defined_field(columns[name]) for name in sorted(done.dropped))


def ever_above(
    boundaries: Iterable[Boundary], names: Iterable[TableId], known: Iterable[str] = ()
) -> list[str]:
    """The tables (``db.table``) from which foreign keys reached one of these at any time, directly
    or not, under all of their names.

    ``known``: those known from elsewhere.
    """
    above: dict[str, set[str]] = {}
    aliases: dict[str, set[str]] = {}
    for boundary in boundaries:
        if boundary.definition is not None:
            made = boundary.definition
            above.setdefault(f"{made.db}.{made.table}", set()).update(made.cascades)
        if boundary.action == "rename" and boundary.new_name is not None:
            pair = ".".join(boundary.name), ".".join(boundary.new_name)
            for one, other in (pair, pair[::-1]):
                aliases.setdefault(one, set()).add(other)
    own = {".".join(name) for name in names}
    found = list(dict.fromkeys([*known, *(p for name in own for p in sorted(above.get(name, ())))]))
    for parent in found:  # which grows
        more = above.get(parent, set()) | aliases.get(parent, set())
        found.extend(p for p in sorted(more) if p not in found)
    return found


def called_later(
    between: Iterable[Boundary], name: TableId
) -> tuple[list[TableId], Boundary | None]:
    """The names that a table has from the point on, the one there first, and what dropped it."""
    names = [name]
    for boundary in between:
        if not boundary.concerns(names[-1]):
            continue
        if boundary.action in ("drop", "drop_database"):
            return names, boundary
        if boundary.action == "create" and not boundary.conditional:
            break  # there was none before
        if boundary.action == "rename" and boundary.new_name is not None:
            if boundary.name != names[-1]:
                break
            names.append(boundary.new_name)
    return names, None
