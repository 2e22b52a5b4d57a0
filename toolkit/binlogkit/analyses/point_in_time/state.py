"""A table's rows as of a point of its log, forwards from its creation or a base.

For backwards see rewind.py.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Generic

import pyarrow as pa

from binlogkit.analyses._frames import (
    FrameT,
    from_arrow,
    is_frame,
    is_spark,
    lazy,
    records,
    to_arrow,
)
from binlogkit.analyses._savepoints import Undone, undone_ranges
from binlogkit.analyses.point_in_time.before import Before
from binlogkit.analyses.point_in_time.boundary import Boundary, lineage, parents, read_boundaries
from binlogkit.analyses.point_in_time.cascades import Cascaded
from binlogkit.analyses.point_in_time.codes import Flags, Integers
from binlogkit.analyses.point_in_time.counting import Counting, Until
from binlogkit.analyses.point_in_time.erased import Logged
from binlogkit.analyses.point_in_time.findings import FINDINGS, StateFinding, StateFindings
from binlogkit.analyses.point_in_time.replay import Replay
from binlogkit.analyses.point_in_time.replay_inputs import ReplayInputs
from binlogkit.analyses.point_in_time.result import STATE
from binlogkit.analyses.point_in_time.shared import FoldedState, Shared, fold_shared
from binlogkit.analyses.point_in_time.unlogged import CONTRADICTIONS, Broken, Tally
from binlogkit.constants import TableId
from binlogkit.errors import UsageError
from binlogkit.rows.resolve import key_of
from binlogkit.rows.schema import TableDefinition


@dataclass(frozen=True, slots=True)
class Images:
    """Images before changes, compared with what was known of their rows.

    ``broken``: the changes that did not continue it; ``tally``: how many of the table were
    compared; ``doubt``: since when it is not known, if something else left the table undetermined;
    ``complete``: whether all rows of the table are known.
    """

    broken: tuple[Broken, ...] = ()
    tally: Tally = field(default_factory=Tally)
    doubt: StateFinding | None = None
    complete: bool = False

    @classmethod
    def of(
        cls,
        broken: Sequence[Broken],
        tally: Tally,
        found: Mapping[str, StateFinding],
        *,
        complete: bool,
    ) -> Images:
        """With the first doubt among what was found."""
        doubts = (o for kind, o in found.items() if not o.determined and kind not in CONTRADICTIONS)
        doubt = min(doubts, key=lambda one: one.at, default=None)
        return cls(tuple(broken), tally, doubt, complete)


@dataclass(frozen=True, slots=True)
class State(Generic[FrameT]):
    """A state: ``rows`` (STATE) and ``findings`` (FINDINGS), both of the changes' engine.

    ``determined``: whether the log determines the rows, apart from the cells listed as unknown: a
    state of a log (``log.state``) is determined without any. ``cascaded``: what foreign keys did,
    if requested. ``definition``: the table's at that point, if known from statements or arguments.
    ``folded``: the state held by Spark's tasks, if they folded it. ``images``: how it went if
    images were compared.
    """

    rows: FrameT
    findings: FrameT
    determined: bool
    cascaded: tuple[Cascaded, ...] = ()
    definition: TableDefinition | None = None
    folded: FoldedState | None = None
    images: Images = field(default_factory=Images)


@dataclass(frozen=True, slots=True)
class ReplayTable:
    """The table whose state is wanted, and what is known of it besides the log.

    ``name``: (db, table); the rest as in :func:`replay`.
    """

    name: TableId
    key: tuple[str, ...]
    columns: tuple[str, ...] | None
    cascades: Sequence[str]
    given: Mapping[TableId, TableDefinition]
    bases: Mapping[TableId, pa.Table]


@dataclass(frozen=True, slots=True)
class ReplayLedger:
    """What a log says besides its rows and transactions: what happened to tables, what ROLLBACK TO
    SAVEPOINT undid, and of which tables rows were ``erased``; the rest as in :func:`replay`."""

    boundaries: Sequence[Boundary]
    undone: Sequence[Undone]
    unchecked: Callable[[Integers], Flags] | None
    cascades_logged: bool
    erased: Mapping[TableId, Logged] = field(default_factory=dict)


class Replaying:
    """A replay in which all is decided but the changes, which it takes in log order per table.

    ``counts``: the transactions that count, None if all do; ``keep_cascaded``: whether the state
    tells what foreign keys did; ``before``: keeps rows as they were before some changes;
    ``compares``: as in :func:`replay`.
    """

    def __init__(
        self,
        table: ReplayTable,
        ledger: ReplayLedger,
        counts: Counting | None,
        *,
        keep_cascaded: bool = False,
        before: Before | None = None,
        compares: bool = False,
    ) -> None:
        findings, name, given = StateFindings(), table.name, table.given
        happened, struck, above = ledger.boundaries, False, list[str]()
        names = lineage(happened, name)
        if counts is None:
            findings.add("no_transactions", determined=True)
        else:
            findings.update(counts.findings)
            counts.note(names, findings)
            if not ledger.cascades_logged:
                known = filter(counts.known, happened)
                above = parents(known, name, table.cascades, given.values())
            struck = counts.changes_rows(above)
            happened = counts.those(happened)
        family = _family(above, happened, given) if struck and ledger.unchecked else None
        if counts is not None and struck and family is None:
            counts.note_cascades(above, findings)
        self._findings, self._before = findings, before
        self._run: Replay | None = None
        self._inputs = ReplayInputs(
            table.key, tuple(names), happened, given, family,
            None if counts is None else counts.numbers, ledger.undone,
            -1 if counts is None else counts.outside, ledger.unchecked, ledger.erased, table.bases,
            table.columns, keep_cascaded, compares and (family is not None or not struck),
        )  # fmt: skip

    def feed(self, changes: Any) -> None:
        """Take changes, as :func:`replay` does, of any tables, in parts."""
        run = self._begun()
        for batch in self._inputs.counted(changes):
            run.feed(batch)

    def _begun(self) -> Replay:
        if self._run is None:
            self._run = self._inputs.begun()
            self._run.before = self._before
        return self._run

    def finish(self, like: Any = ()) -> State[Any]:
        """The state after all changes, of the engine of ``like``."""
        run = self._begun()
        outcome = self._inputs.outcome(run)
        outcome.tell(self._findings)
        cascaded = () if run.cascades is None else tuple(run.cascades.done or ())
        done = as_state(outcome.rows, self._findings, like)
        return replace(done, cascaded=cascaded, definition=outcome.definition)

    def of(self, changes: Any) -> State[Any]:
        """The state after these changes, which are all."""
        if is_spark(changes) or isinstance(changes, Shared):
            return _shared(changes, self._inputs, self._findings)
        self.feed(changes)
        return self.finish(changes)

    def images_of(self, changes: Any) -> Images:
        """The images of these changes, which are all; with a doubt of ``cascades`` none were
        compared, since foreign keys change rows and cannot be followed."""
        if isinstance(changes, Shared):
            found = self.of(changes).images
        else:
            self.feed(changes)
            run = self._begun()
            fold = run.finish()
            if fold is not None:
                fold.settled()
            known = {} if fold is None else fold.findings.found
            complete = fold is None or fold.complete
            found = Images.of(run.broken, run.tallies[run.wanted], known, complete=complete)
        doubt = None if self._inputs.compares else self._findings.found.get("cascades")
        return found if doubt is None else replace(found, doubt=doubt)


def state(changes: FrameT, boundaries: FrameT | None = None, **how: Any) -> FrameT:
    """A table's rows as of a point (STATE); the arguments are those of :func:`replay`."""
    rows: FrameT = replay(changes, boundaries, **how).rows
    return rows


def replay(
    changes: Any,
    boundaries: Any = None,
    *,
    key: Sequence[str],
    transactions: Any = None,
    statements: Any = None,
    table: TableId | None = None,
    base: Any = None,
    since: Until | None = None,
    until: Until | None = None,
    columns: Sequence[str] | None = None,
    transactional: bool | None = None,
    cascades: Sequence[str] = (),
    cascades_logged: bool = False,
    given: Mapping[TableId, TableDefinition] | None = None,
    bases: Mapping[TableId, pa.Table] | None = None,
    unchecked: Callable[[Integers], Flags] | None = None,
    compares: bool = False,
) -> State[Any]:
    """A table's rows as of a point, and what is not certain about them.

    ``changes``: a frame of typed changes of the table (and of the tables it was renamed from), or
    an iterable of record batches; the result is of the same engine, Arrow for batches.
    ``boundaries``: ``log.boundaries()``, or the result of :func:`read_boundaries`, for many states
    of one log; ``transactions``: ``log.transactions()``; without it every change counts as
    committed, and ``until`` cannot be given; ``statements``: ``log.statements()``, which shows what
    ROLLBACK TO SAVEPOINT undid. ``key``: columns of the primary key, or of a unique
    key without NULL; empty for a table without one: its rows are a multiset. ``table``: (db,
    table), needed if ``changes`` hold several or none. ``base``: the rows before the first change:
    a state, or a frame with the table's own columns; ``since``: the point at which it was taken,
    the log's beginning if None. ``columns``: the table's columns at that point, all seen ones if
    None. ``transactional``: whether the table's engine is transactional. ``cascades``: further
    tables (``db.table``) whose foreign keys change this one, besides those in ``boundaries``;
    ``cascades_logged``: the server logs such changes (9.6+). ``given``: definitions of tables from
    before the log, for constant defaults. ``bases``: instead of ``base``, by table: it may have
    been renamed since. ``unchecked``: which changes, by ``seq``, were made with foreign_key_checks
    off; with it ``changes`` include those of the parents' tables, and cascades are applied
    (cascades.py). ``compares``: rows that are not as the images before their changes show them are
    a finding.

    Rows come by key, text by code point (the server's order depends on the collation), else as
    first seen. Batches are applied one after the other; memory holds twice the rows and 64 MB. For
    a Spark frame, tasks fold the changes and keep the rows (docs/spark.md, "Analyses"). UsageError
    if the arguments contradict each other or the frames.
    """
    name = table if table is not None else only_table(changes)
    known = dict(bases or {})
    if base is not None:
        known[name] = to_arrow(base, ())
    counts = None
    if transactions is not None:
        counts = Counting(transactions, until, since=since, transactional=transactional)
    elif until is not None or since is not None:
        raise UsageError("a point in time needs the transactions")
    asked = None if columns is None else tuple(columns)
    wanted = ReplayTable(name, tuple(key), asked, cascades, given or {}, known)
    happened, undone = read_boundaries(boundaries), undone_ranges(statements)
    ledger = ReplayLedger(happened, undone, unchecked, cascades_logged)
    return Replaying(wanted, ledger, counts, compares=compares).of(changes)


def _family(
    above: Sequence[str], happened: Sequence[Boundary], given: Mapping[TableId, TableDefinition]
) -> dict[TableId, tuple[str, ...]] | None:
    """The tables from which foreign keys change one's rows, each with its key.

    None if too little is known to follow them.
    """
    definitions = dict(given)
    for boundary in happened:
        if boundary.definition is not None:
            name = boundary.definition.db, boundary.definition.table
            definitions[name] = boundary.definition
    named = {".".join(name): name for name in definitions}
    if any(table not in named for table in above):
        return None
    return {named[table]: key_of(definitions[named[table]])[0] for table in above}


def _shared(changes: Any, inputs: ReplayInputs, findings: StateFindings) -> State[Any]:
    """A state of changes that Spark's tasks hold; they keep its rows."""
    if inputs.keep_cascaded:
        raise UsageError("what foreign keys did is not kept on Spark")
    folded = fold_shared(changes, inputs)
    folded.tell(findings)
    frame = findings.table()
    if is_spark(changes):
        frame = from_arrow(frame, changes, FINDINGS)
    determined = all(finding.determined for finding in findings.found.values())
    result = folded.result
    definition = inputs.definition() if result.met else None
    return State(
        folded.rows(),
        frame,
        determined,
        definition=definition,
        folded=folded,
        images=Images.of(result.broken, result.tally, result.found or {}, complete=result.complete),
    )


def as_state(rows: pa.Table, findings: StateFindings, changes: Any) -> State[Any]:
    """A state of the engine of ``changes``; Arrow for batches."""
    determined = all(finding.determined for finding in findings.found.values())
    table = findings.table()
    if not is_frame(changes):
        return State(rows, table, determined)
    return State(from_arrow(rows, changes, STATE), from_arrow(table, changes, FINDINGS), determined)


def only_table(changes: Any) -> TableId:
    """The one table of the changes."""
    if not is_frame(changes):
        raise UsageError("batches need the table's name")
    names = records(lazy(changes, ("db", "table")).select("db", "table").unique())
    if len(names) != 1:
        raise UsageError(f"the changes are of {len(names)} tables: which one is wanted?")
    return names[0]["db"], names[0]["table"]
