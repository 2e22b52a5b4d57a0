"""Undo and redo of a part of a log over all its tables."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from operator import attrgetter
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from binlogkit.analyses.references import Reference, keys_alone, references, still_there
from binlogkit.analyses.undoing.blocked import MODES, NONE, Blocked, refused_along, staying
from binlogkit.analyses.undoing.dependents.found import Dependences
from binlogkit.analyses.undoing.plans import Piece, Plans
from binlogkit.analyses.undoing.undo import pieces
from binlogkit.analyses.undoing.unique_since import broken, unique_since
from binlogkit.constants import TableId
from binlogkit.errors import GapError, UsageError, printable
from binlogkit.frames.schema import table_of
from binlogkit.log.states.gaps import assumed
from binlogkit.log.undoing.cascaded import Children, written_below
from binlogkit.log.undoing.dependents import Others
from binlogkit.log.undoing.log_plans import LogPlans, Undo
from binlogkit.log.undoing.orphans import rows_before, rows_now
from binlogkit.log.undoing.sentences import chosen, definition_lines, dependent
from binlogkit.log.undoing.source import UndoSource, unlogged_changes
from binlogkit.rows.filters import Filters, TableName, parse_table_name
from binlogkit.rows.soundness import Gap
from binlogkit.sources.log_format import CASCADES_LOGGED, version_tuple

if TYPE_CHECKING:
    from binlogkit.analyses.point_in_time.boundary import Boundary
    from binlogkit.analyses.point_in_time.codes import Flags, Integers
    from binlogkit.analyses.undoing.unchecked import Before
    from binlogkit.rows.schema import TableDefinition

NOT_CHOSEN = "no change was chosen: none passes all of the filters"
PlansT = TypeVar("PlansT", bound="LogPlans")


def undo_from(
    source: UndoSource, *, mode: str, made_again: Iterable[str], despite_gaps: bool
) -> Undo:
    """Plans that undo the source's changes; see :meth:`binlogkit.log.log.Log.undo`."""
    given = [made_again] if isinstance(made_again, str) else made_again
    tables = tuple(map(parse_table_name, given))
    selection = Selection(source)
    return _stated(selection.undone(mode, tables), selection, despite_gaps=despite_gaps)


def redo_from(source: UndoSource, *, despite_gaps: bool) -> LogPlans:
    """Plans that make the source's changes again; see :meth:`binlogkit.log.log.Log.redo`."""
    selection = Selection(source)
    return _stated(selection.again(), selection, despite_gaps=despite_gaps)


def _stated(found: PlansT, selection: Selection, *, despite_gaps: bool) -> PlansT:
    """The plans with what they assume. GapError."""
    source = selection.source
    if selection.newest >= CASCADES_LOGGED:
        found.references = selection.references_of(found.tables)
    found.chosen = chosen(source.changes)
    found.undefined = selection.undefined()
    names = ", ".join(printable(".".join(name)) for name in found.undefined)
    plain = (f"{_PLAIN} {names}.",) if names else ()
    found.assumes = (*source.assumes, *assumed(source.logs, selection.newest), *plain)
    found.gaps = tuple(str(gap) for gap in source.gaps if _concerns(gap, source.asked))
    if found.gaps and not despite_gaps:
        raise GapError(found.gaps)
    return found


class Selection:
    """What is made of the chosen changes of a ``source``; ``newest``: the server version."""

    def __init__(self, source: UndoSource) -> None:
        self.source = source
        self._alone = keys_alone(source.boundaries)
        self._references = references([*self._alone, *source.left])
        self._by_ddl = [b.definition for b in source.boundaries if b.definition is not None]
        self.newest = version_tuple(source.version)

    def references_of(self, tables: set[TableId]) -> tuple[Reference, ...] | None:
        """The foreign keys from and to tables, between tables that are still there; None if there
        are none to tables that are gone, either."""
        there = still_there(self.source.boundaries)
        keys = [k for k in self._references if {k.child, k.parent} & tables and there(k.child)]
        return tuple(key for key in keys if there(key.parent)) if keys else None

    def undefined(self) -> tuple[TableId, ...]:
        """The tables that only table maps define, with their columns' names."""
        source = self.source
        defined = {(t.db, t.table) for t in (*source.left, *self._by_ddl, *source.given)}
        named = (
            table_of(batch)
            for batch in source.changes
            if batch.num_rows and not any(f.name.startswith("@") for f in batch["after"].type)
        )
        return tuple(sorted({name for name in named if name not in defined}))

    def _before(
        self, changes: Iterable[pa.RecordBatch], events: Sequence[Boundary]
    ) -> Before | None:
        """Where rows may have referred to nothing: what there was to refer to, and what did."""
        parents = {key.parent for key in self._references}
        emptied = any((e.name in parents and e.removes_rows) or e.unchecked for e in events)
        if not (emptied or self.source.any_unchecked):
            return None
        return rows_before(self.source, changes, self._references, events)

    def _unordered(self, emptied: Iterable[int]) -> Callable[[Integers], Flags]:
        """Which changes, by ``seq``, the server made without comparing each row's references:
        with foreign_key_checks off, and what emptied tables, whose rows may refer to one another.
        """
        found = np.fromiter(emptied, np.int64)
        return lambda seqs: self.source.unchecked(seqs) | np.isin(seqs, found)

    def again(self) -> LogPlans:
        """Plans that make the changes again."""
        source = self.source
        refused = unlogged_changes(source.happened, source.wanted, source.boundaries)
        made = pieces(
            source.changes,
            refused,
            transactions=source.transactions,
            statements=source.statements,
            backwards=False,
        )
        return LogPlans(made, backwards=False)

    def undone(self, mode: str, made_again: Collection[TableName]) -> Undo:
        """Plans that undo the changes.

        ``mode``: what to do if others depend on them; ``made_again``: dropped tables that exist
        again, without rows.
        """
        if mode not in MODES:
            raise UsageError(f"mode is one of {', '.join(MODES)}, not {mode!r}")
        source, wanted, events = self.source, self.source.wanted, self.source.boundaries
        definitions = [*self._by_ddl, *self._alone, *source.given]
        definitions += source.left  # a parent's new name stands in its children's alone
        gone = {e.seq: e for e in events if e.removes_rows}
        mine = [
            row
            for row in source.happened.to_pylist()
            if row["seq"] in gone and wanted.wants_table(row["db"], row["table"])
        ]
        emptied = [
            row
            for row in mine
            if row["action"] == "truncate" or any(n(row["db"], row["table"]) for n in made_again)
        ]
        struck = self.newest < CASCADES_LOGGED
        others = Others(source, definitions, struck=struck, merge=mode == "merge")
        first_seq = min((c["seq"][0].as_py() for c in source.changes if c.num_rows), default=0)
        since = unique_since(events, first_seq)
        planned = partial(self._planned, definitions, gone, emptied)
        twice, stay, apart, ends = dict[int, str](), NONE, NONE, None
        while True:
            added = list[pa.RecordBatch]()
            children, make = planned(apart, source.changes)
            own = [np.asarray(batch["seq"]) for batch in children.changes]
            found = first = others.dependences(children.changes, children.unlogged, stay)
            while mode == "cascade" and (more := others.changes(found.dependent)):
                added += more
                children, make = planned(apart, [*source.changes, *added])
                found = others.dependences(children.changes, children.unlogged, stay)
            if len(stay):  # it is refused for what depends on it
                found = others.dependences(children.changes, children.unlogged)
            restored = pa.array(sorted(children.restored), pa.int64())
            again = pc.is_in(source.happened["seq"], restored)
            kept = source.happened.filter(pc.invert(again))
            left = list(unlogged_changes(kept, wanted, events))
            make = partial(make, twice=twice, struck=others.struck())
            parts, settled = self._settled(mode, others, children, found, make, left)
            made = Undo(parts, backwards=True)
            if ends is None:
                ends = rows_now(source, since.keys() & made.tables)
            broken_now, refused = broken(made, since, ends), NONE
            if added:  # what is refused after all has no later changes undone with it
                refused = staying(made, whole=source.by_transaction)
                refused = np.setdiff1d(np.intersect1d(refused, np.concatenate(own)), stay)
            along = refused_along(made, children.followed)
            if not (broken_now or len(refused) or len(along)):
                break
            twice, stay = twice | broken_now, np.union1d(stay, refused)
            apart = np.union1d(apart, along)
        drops = (gone[row["seq"]] for row in mine if row["action"] == "drop")
        made.needs = tuple(line for drop in drops for line in definition_lines(drop, events))
        made.dependences, made.log, made.version = settled, source.log, source.version
        made.mode = mode
        made.known = self._references
        undone = first.dependents.filter(pa.array(~np.isin(first.dependent, stay)))
        made.later = dependent(settled, mode, replace(first, dependents=undone) if added else None)
        return made

    def _planned(
        self,
        definitions: Sequence[TableDefinition],
        gone: Mapping[int, Boundary],
        emptied: Sequence[Mapping[str, Any]],
        apart: Integers,
        changes: Sequence[pa.RecordBatch],
    ) -> tuple[Children, Callable[..., list[Piece]]]:
        """The completed changes, and what makes their plans.

        ``gone``: by ``seq`` what removed rows; ``emptied``: what of it is undone; ``apart``: see
        :meth:`.Followed.of`.
        """
        source, events, cascade = self.source, self.source.boundaries, self.newest < CASCADES_LOGGED
        children = Children(
            source, changes, definitions, cascade=cascade,
            references=self._references, boundaries=events, truncated=emptied, apart=apart,
        )  # fmt: skip
        below = [*children.boundaries, *written_below(events, definitions)]
        return children, partial(
            pieces,
            children.changes,
            transactions=source.transactions,
            statements=source.statements,
            boundaries=sorted(below, key=attrgetter("seq")),
            backwards=True,
            unknown_children=children.unknown,
            referring=self._references,
            cascade=cascade,
            followed=children.followed,
            definitions=definitions,
            off=self._unordered(gone),
            there=self._before(children.changes, events) if cascade else None,
        )

    def _settled(
        self,
        mode: str,
        others: Others,
        children: Children,
        found: Dependences,
        make: Callable[..., list[Piece]],
        refused: list[dict[str, Any]],
    ) -> tuple[list[Piece], Dependences]:
        """The plans with what is refused because later changes depend on it and stay, and these.

        ``found``: what depends on the changes if all are undone; ``make``: makes their plans;
        ``refused``: what else has no plan.
        """
        merge = mode == "merge"
        if merge and others.below(None, self.source.changes):
            found = others.dependences(children.changes, children.unlogged)
        # What is skipped because of a text takes its transaction along, as what is refused does.
        alone = Blocked.of(
            found if merge else Dependences.none(), "refuse" if mode == "skip" else mode, NONE
        )
        if mode == "force":
            alone = replace(alone, overwritten=found.overwritten)
        first = Plans(make(blocked=alone), backwards=True)
        stay = staying(first, whole=self.source.by_transaction and not merge)
        if merge:  # those are found again, with the reason
            stay = np.setdiff1d(stay, found.conflicting)
        if len(stay):
            found = others.dependences(children.changes, children.unlogged, stay)
        if mode == "force" and others.below(found.overwritten, self.source.changes):
            found = others.dependences(children.changes, children.unlogged, stay)
        blocked = Blocked.of(found, mode, stay)
        if mode == "force":  # what stays has the same reason again
            again = np.intersect1d(alone.overwritten, stay)
            blocked = replace(blocked, overwritten=np.union1d(blocked.overwritten, again))
        return make(refused, blocked=blocked), found


def _concerns(gap: Gap, wanted: Filters) -> bool:
    """Whether changes of a wanted table may be missing.

    The gap's place does not matter. Before the chosen changes it may hide other wanted ones, or
    column names; after them, later changes of the rows.
    """
    if gap.tables is None:
        return True
    names = (name.split(".") for name in gap.tables)  # a name may contain dots
    return any(
        wanted.wants_table(".".join(parts[:i]), ".".join(parts[i:]))
        for parts in names
        for i in range(1, len(parts))
    )


_PLAIN = (
    "Only a CREATE TABLE (schema=, --schema) says which columns are generated. If a statement "
    "would write one, the script says so and stops. These logs lack the CREATE TABLE of"
)
