"""Undo and redo of a part of a log over all its tables."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from operator import attrgetter
from typing import TYPE_CHECKING, Any, TypeVar, Unpack

from binlogkit.constants import TableId
from binlogkit.errors import GapError, UsageError, printable
from binlogkit.frames.schema import table_of
from binlogkit.log.states.gaps import assumed
from binlogkit.log.states.reading import among_events
from binlogkit.log.undoing.cascaded import Children, written_below
from binlogkit.log.undoing.dependents import Others
from binlogkit.log.undoing.orphans import rows_before, rows_now
from binlogkit.log.undoing.sentences import chosen, definition_lines, dependent
from binlogkit.log.undoing.shared_ledger import SharedLedger
from binlogkit.rows.filter_args import FilterArgs
from binlogkit.rows.filters import Filters, TableName, parse_table_name
from binlogkit.rows.soundness import Gap
from binlogkit.rows.window import SEQ_SHIFT
from binlogkit.sources.log_format import CASCADES_LOGGED, version_tuple

if TYPE_CHECKING:
    import pyarrow as pa

    from binlogkit.analyses.point_in_time.boundary import Boundary
    from binlogkit.analyses.point_in_time.codes import Flags, Integers
    from binlogkit.analyses.references import Reference
    from binlogkit.analyses.undoing.dependents.found import Dependences
    from binlogkit.analyses.undoing.plans import Piece
    from binlogkit.analyses.undoing.unchecked import Before
    from binlogkit.log.streams import Streams
    from binlogkit.log.undoing.plans import LogPlans, Undo

PlansT = TypeVar("PlansT", bound="LogPlans")


def undo_of(
    log: Streams, *, mode: str, made_again: Iterable[str], **options: Unpack[UndoArgs]
) -> Undo:
    """See :meth:`binlogkit.log.log.Log.undo`."""
    given = [made_again] if isinstance(made_again, str) else made_again
    tables = tuple(map(parse_table_name, given))
    return _stated(log, lambda selection: selection.undone(mode, tables), **options)


def redo_of(log: Streams, **options: Unpack[UndoArgs]) -> LogPlans:
    """See :meth:`binlogkit.log.log.Log.redo`."""
    return _stated(log, lambda selection: selection.again(), **options)


class UndoArgs(FilterArgs, total=False):
    """Filters, and the other arguments of undo and redo."""

    despite_gaps: bool
    by_transaction: bool


def _stated(
    log: Streams,
    make: Callable[[Selection], PlansT],
    *,
    despite_gaps: bool = False,
    by_transaction: bool = False,
    **filters: Unpack[FilterArgs],
) -> PlansT:
    """Plans for the filtered changes, with their assumptions."""
    wanted = log.wanted(**filters)
    selection = Selection(log, wanted, by_transaction=by_transaction)
    found = make(selection)
    if selection.newest >= CASCADES_LOGGED:
        found.references = selection.references_of(found.tables)
    found.chosen = chosen(selection.changes)
    found.undefined = selection.undefined()
    names = ", ".join(printable(".".join(name)) for name in found.undefined)
    told = (f"{_PLAIN} {names}.",) if names else ()
    found.assumes = (*assumed(log, selection.newest), *told)
    found.gaps = tuple(str(gap) for gap in selection.gaps if _concerns(gap, wanted))
    if found.gaps and not despite_gaps:
        raise GapError(found.gaps)
    return found


class Selection:
    """The chosen changes, and what their plans need from the same reading.

    ``changes``: in the canonical schema; ``newest``: the server version; ``gaps``: those met.
    """

    def __init__(self, log: Streams, wanted: Filters, *, by_transaction: bool) -> None:
        import numpy as np

        from binlogkit.analyses.point_in_time import read_boundaries
        from binlogkit.analyses.references import keys_alone, references
        from binlogkit.frames.statements import Boundaries, Statements
        from binlogkit.frames.transactions import Transactions

        self._log, self._asked, whole = log, wanted, None
        if by_transaction:
            whole, wanted = _touched(log, wanted), Filters(sources=wanted.sources)
        self._wanted, self._by_transaction = wanted, by_transaction
        self._ledger = SharedLedger(log, wanted.sources)
        of_sources = Filters(sources=wanted.sources)
        transactions, statements = Transactions(), Statements(of_sources)
        boundaries, reading = Boundaries(wanted), log.reading()
        later = Boundaries(of_sources)  # also what happened after the changes
        versions, off = set[str](), [np.zeros(0, np.int64)]
        views = (
            transactions.take,
            statements.take,
            boundaries.take,
            later.take,
            lambda window: versions.add(window.server_version),
            lambda window: off.append(window.unchecked()),
        )
        read = (batch.batch for batch in log.read_batches(reading, wanted, views=views))
        self.changes: list[pa.RecordBatch] = [_those(batch, whole) for batch in read]
        sources = {s for c in self.changes for s in c.column("source").unique().to_pylist()}
        log.one_history(sources, "the changes are")
        self._happened = _those(boundaries.finish(), whole)
        if not sources:  # rows that no event holds may come back
            sources = {s for s in self._happened["source"].unique().to_pylist() if s is not None}
        self._changed = later.changes
        self._events = read_boundaries(later.finish(), later.changes)
        self._ledgers = transactions.finish(of_sources), statements.finish()
        numbers = np.concatenate(off)
        self._off, self._any_off = partial(among_events, numbers, SEQ_SHIFT), bool(len(numbers))
        self._last = reading.series.definitions(sources)
        self._alone = keys_alone(self._events)
        self._references = references([*self._alone, *self._last])
        self.version = max(versions, key=version_tuple, default="")
        self.newest = version_tuple(self.version)
        self.gaps = tuple(log.gaps)

    def references_of(self, tables: set[tuple[str, str]]) -> tuple[Reference, ...]:
        """The foreign keys from and to tables, between tables that are still there."""
        gone = set[TableId]()
        for event in self._events:
            if event.action == "drop" or event.new_name:
                gone.add(event.name)
            if event.action == "create" or event.new_name:
                gone.discard(event.new_name or event.name)
        pairs = ((key, {key.child, key.parent}) for key in self._references)
        return tuple(k for k, both in pairs if both & tables and not both & gone)

    def undefined(self) -> tuple[TableId, ...]:
        """The tables that only table maps define, with their columns' names."""
        changed = (c.definition for c in self._changed.values() if c.definition is not None)
        known = self._log.options.catalog
        given = known.tables() if known is not None else ()
        defined = {(t.db, t.table) for t in (*self._last, *changed, *given)}
        named = (
            table_of(batch)
            for batch in self.changes
            if batch.num_rows and not any(f.name.startswith("@") for f in batch["after"].type)
        )
        return tuple(sorted({name for name in named if name not in defined}))

    def _before(
        self, changes: Iterable[pa.RecordBatch], events: Sequence[Boundary]
    ) -> Before | None:
        """Where rows may have referred to nothing: what there was to refer to, and what did."""
        parents = {key.parent for key in self._references}
        emptied = any(e.name in parents and e.removes_rows for e in events)
        if not (emptied or self._any_off):
            return None
        return rows_before(self._ledger, changes, self._references, events)

    def _unordered(self, emptied: Iterable[int]) -> Callable[[Integers], Flags]:
        """Which changes, by ``seq``, the server made without comparing each row's references:
        with foreign_key_checks off, and what emptied tables, whose rows may refer to one another.
        """
        import numpy as np

        found = np.fromiter(emptied, np.int64)
        return lambda seqs: self._off(seqs) | np.isin(seqs, found)

    def again(self) -> LogPlans:
        """Plans that make the changes again."""
        from binlogkit.analyses.undoing.undo import pieces
        from binlogkit.log.undoing.plans import LogPlans

        outcomes, texts = self._ledgers
        refused = _refused(self._happened, self._wanted, self._events)
        made = pieces(
            self.changes, refused, transactions=outcomes, statements=texts, backwards=False
        )
        return LogPlans(made, backwards=False)

    def undone(self, mode: str, made_again: Collection[TableName]) -> Undo:
        """Plans that undo the changes.

        ``mode``: what to do if others depend on them; ``made_again``: dropped tables that exist
        again, without rows.
        """
        import numpy as np
        import pyarrow as pa
        import pyarrow.compute as pc

        from binlogkit.analyses.undoing.blocked import MODES, NONE, staying
        from binlogkit.analyses.undoing.undo import pieces
        from binlogkit.analyses.undoing.unique_since import broken, unique_since
        from binlogkit.log.undoing.plans import Undo

        if mode not in MODES:
            raise UsageError(f"mode is one of {', '.join(MODES)}, not {mode!r}")
        log, wanted, (outcomes, texts) = self._log, self._wanted, self._ledgers
        events = self._events
        known = log.options.catalog
        definitions = [c.definition for c in self._changed.values() if c.definition is not None]
        definitions += self._alone
        definitions += [] if known is None else known.tables()
        definitions += self._last  # a parent's new name stands in its children's alone
        cascade = self.newest < CASCADES_LOGGED
        gone = {e.seq: e for e in events if e.removes_rows}
        mine = [row for row in self._happened.to_pylist() if row["seq"] in gone]
        mine = [row for row in mine if wanted.wants_table(row["db"], row["table"])]
        emptied = [
            row
            for row in mine
            if row["action"] == "truncate" or any(n(row["db"], row["table"]) for n in made_again)
        ]
        others = Others(
            self._ledger, wanted, definitions, events, outcomes, texts,
            struck=cascade, by_transaction=self._by_transaction, merge=mode == "merge",
        )  # fmt: skip
        first_seq = min((c["seq"][0].as_py() for c in self.changes if c.num_rows), default=0)
        since = unique_since(events, first_seq)

        def planned(changes: list[pa.RecordBatch]) -> tuple[Children, Callable[..., list[Piece]]]:
            """The completed changes, and what makes their plans."""
            children = Children(
                self._ledger, changes, definitions, cascade=cascade,
                references=self._references, boundaries=events, truncated=emptied,
            )  # fmt: skip
            below = [*children.boundaries, *written_below(events, definitions)]
            return children, partial(
                pieces,
                children.changes,
                transactions=outcomes,
                statements=texts,
                boundaries=sorted(below, key=attrgetter("seq")),
                backwards=True,
                unknown_children=children.unknown,
                referring=self._references if cascade else (),
                followed=children.followed,
                definitions=definitions,
                off=self._unordered(gone),
                there=self._before(children.changes, events) if cascade else None,
            )

        twice, stay, ends = dict[int, str](), NONE, None
        while True:
            added = list[pa.RecordBatch]()
            children, make = planned(self.changes)
            own = [np.asarray(batch["seq"]) for batch in children.changes]
            found = first = others.dependences(children.changes, children.unlogged, stay)
            while mode == "cascade" and (more := others.changes(found.dependent)):
                added += more
                children, make = planned([*self.changes, *added])
                found = others.dependences(children.changes, children.unlogged, stay)
            if len(stay):  # it is refused for what depends on it
                found = others.dependences(children.changes, children.unlogged)
            restored = pa.array(sorted(children.restored), pa.int64())
            kept = self._happened.filter(pc.invert(pc.is_in(self._happened["seq"], restored)))
            left = list(_refused(kept, wanted, events))
            make = partial(make, twice=twice, struck=others.struck())
            parts, settled = self._settled(mode, others, children, found, make, left)
            made = Undo(parts, backwards=True)
            if ends is None:
                ends = rows_now(self._ledger, since.keys() & made.tables)
            told, refused = broken(made, since, ends), NONE
            if added:  # what is refused after all has no later changes undone with it
                refused = staying(made, whole=self._by_transaction)
                refused = np.setdiff1d(np.intersect1d(refused, np.concatenate(own)), stay)
            if not (told or len(refused)):
                break
            twice, stay = twice | told, np.union1d(stay, refused)
        drops = (gone[row["seq"]] for row in mine if row["action"] == "drop")
        made.needs = tuple(line for drop in drops for line in definition_lines(drop, events))
        made.dependences, made.log, made.version = settled, log, self.version
        made.mode = mode
        made.known = self._references
        undone = first.dependents.filter(pa.array(~np.isin(first.dependent, stay)))
        made.later = dependent(settled, mode, replace(first, dependents=undone) if added else None)
        return made

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
        import numpy as np

        from binlogkit.analyses.undoing.blocked import NONE, Blocked, staying
        from binlogkit.analyses.undoing.dependents.found import Dependences
        from binlogkit.analyses.undoing.plans import Plans

        merge = mode == "merge"
        # What is skipped because of a text takes its transaction along, as what is refused does.
        alone = Blocked.of(
            found if merge else Dependences.none(), "refuse" if mode == "skip" else mode, NONE
        )
        if mode == "force":
            alone = replace(alone, overwritten=found.overwritten)
        first = Plans(make(blocked=alone), backwards=True)
        stay = staying(first, whole=self._by_transaction and not merge)
        if merge:  # those are found again, with the reason
            stay = np.setdiff1d(stay, found.conflicting)
        if len(stay):
            found = others.dependences(children.changes, children.unlogged, stay)
        if mode == "force" and others.below(found.overwritten, self.changes):
            found = others.dependences(children.changes, children.unlogged, stay)
        blocked = Blocked.of(found, mode, stay)
        if mode == "force":  # what stays has the same reason again
            again = np.intersect1d(alone.overwritten, stay)
            blocked = replace(blocked, overwritten=np.union1d(blocked.overwritten, again))
        return make(refused, blocked=blocked), found


def _touched(log: Streams, wanted: Filters) -> pa.Array:
    """The numbers of the transactions of wanted changes, also of those that no event holds."""
    import pyarrow as pa
    import pyarrow.compute as pc

    from binlogkit.analyses.point_in_time import read_boundaries
    from binlogkit.frames.statements import Boundaries

    boundaries = Boundaries(wanted)
    batches = log.read_batches(log.reading(), wanted, views=(boundaries.take,))
    found = {tx for batch in batches for tx in batch.batch["tx"].unique().to_pylist()}
    if None in found:
        raise UsageError("some of the changes stand in no transaction: by_transaction has none")
    happened = boundaries.finish()
    events = read_boundaries(happened, boundaries.changes)
    seqs = pa.array([row["seq"] for row in _refused(happened, wanted, events)], pa.int64())
    of = happened.filter(pc.is_in(happened["seq"], seqs))["tx"]
    return pa.array(sorted(found.union(of.drop_null().to_pylist())), pa.int64())


def _those(changes: Any, whole: pa.Array | None) -> Any:
    """The changes, or boundaries, of some transactions; of all for None."""
    import pyarrow.compute as pc

    return changes if whole is None else changes.filter(pc.is_in(changes["tx"], whole))


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


def _refused(
    boundaries: pa.Table, wanted: Filters, events: Iterable[Boundary]
) -> Iterator[dict[str, Any]]:
    """The statements that changed rows without logging them, each with the reason for having no
    plan.

    ``events``: the effects of the boundaries. The tables of one statement share a ``seq``; their
    order is the statement's, also backwards.
    """
    lossy = {event.seq for event in events if event.action == "alter" and _loses(event)}
    first: dict[str, Any] = {}
    for boundary in boundaries.select(_KEYS).to_pylist():
        if any(boundary[name] != first.get(name) for name in _EVENT):
            first = dict(boundary)
        reason = _REASONS.get(boundary.pop("action"))
        if boundary["seq"] in lossy:
            reason = _LOST
        db, table = boundary["db"], boundary["table"]
        if reason is None or not wanted.wants_table(db or "", table or ""):
            continue
        if (db is None or table is None) and (wanted.tables or wanted.ops):
            continue
        yield {
            **boundary, "db": db or "", "table": table or "", "seq": first["seq"], "row": 0,
            "refused": reason,
        }  # fmt: skip


def _loses(event: Boundary) -> bool:
    """Whether an ALTER TABLE removed or changed values, as far as is known."""
    done = event.alteration
    return done is None or bool(done.dropped or done.converted)


_PLAIN = (
    "Only a CREATE TABLE (schema=, --schema) says which columns are generated. If a statement "
    "would write one, the script says so and stops. These logs lack the CREATE TABLE of"
)
_LOST = "ALTER TABLE logs no rows: what it removed or changed in columns is in no event"
_EVENT = ("file", "pos", "inner")
_KEYS = ["source", *_EVENT, "gtid", "timestamp", "db", "table", "seq", "action"]
_REASONS = {
    "statement_write": "the change is logged as a statement: which rows it touched is not known",
    "truncate": "TRUNCATE logs no rows: what the table held is not in this event",
    "drop": "DROP TABLE logs no rows: make the table again, and say so (made_again)",
    "drop_database": "DROP DATABASE logs no rows: what its tables held is not in this event",
    "unknown": "the statement could not be understood",
}
