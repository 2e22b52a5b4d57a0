"""A table's rows as of a point of its log, forwards from its creation or a base.

For backwards see rewind.py.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
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
from binlogkit.analyses._savepoints import undone_ranges
from binlogkit.analyses.point_in_time.before import Before
from binlogkit.analyses.point_in_time.boundary import Boundary, lineage, parents, read_boundaries
from binlogkit.analyses.point_in_time.cascades import Cascaded
from binlogkit.analyses.point_in_time.codes import Flags, Integers
from binlogkit.analyses.point_in_time.counting import Contained, Counting, Until
from binlogkit.analyses.point_in_time.findings import FINDINGS, StateFindings
from binlogkit.analyses.point_in_time.folding import Folding
from binlogkit.analyses.point_in_time.forward import Forward
from binlogkit.analyses.point_in_time.result import STATE
from binlogkit.analyses.point_in_time.shared import Folded, Shared, fold_shared
from binlogkit.analyses.point_in_time.unlogged import Broken
from binlogkit.constants import TableId
from binlogkit.errors import UsageError
from binlogkit.rows.resolve import key_of
from binlogkit.rows.schema import TableDefinition


@dataclass(frozen=True, slots=True)
class State(Generic[FrameT]):
    """A state: ``rows`` (STATE) and ``findings`` (FINDINGS), both of the changes' engine.

    ``determined``: whether the log determines the rows, apart from the cells listed as unknown: a
    state of a log (``log.state``) is determined without any. ``cascaded``: what foreign keys did,
    if requested. ``definition``: the table's at that point, if known from statements or arguments.
    ``folded``: the state held by Spark's tasks, if they folded it. ``broken``: the changes that did
    not continue what was known of their rows, if images were compared.
    """

    rows: FrameT
    findings: FrameT
    determined: bool
    cascaded: tuple[Cascaded, ...] = ()
    definition: TableDefinition | None = None
    folded: Folded | None = None
    broken: tuple[Broken, ...] = ()


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
    forward: Forward | None = None,
    given: Mapping[TableId, TableDefinition] | None = None,
    bases: Mapping[TableId, pa.Table] | None = None,
    unchecked: Callable[[Integers], Flags] | None = None,
    keep_cascaded: bool = False,
    before: Before | None = None,
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
    ``cascades_logged``: the server logs such changes (9.6+). ``forward``: the changes folded so
    far; ``changes`` are read again if its assumptions fail. ``given``: definitions of tables from
    before the log, for constant defaults. ``bases``: instead of ``base``, by table: it may have
    been renamed since. ``unchecked``: which changes, by ``seq``, were made with foreign_key_checks
    off; with it ``changes`` include those of the parents' tables, and cascades are applied
    (cascades.py), and returned with ``keep_cascaded``. ``before``: keeps rows as they were before
    some changes. ``compares``: rows that are not as the images before their changes show them are
    a finding.

    Rows come by key, text by code point (the server's order depends on the collation), else as
    first seen. Batches are applied one after the other; memory holds twice the rows and 64 MB. For
    a Spark frame, tasks fold the changes and keep the rows (docs/spark.md, "Analyses"). UsageError
    if the arguments contradict each other or the frames.
    """
    findings = StateFindings()
    name = table if table is not None else only_table(changes)
    happened = read_boundaries(boundaries)
    names = lineage(happened, name)
    counts, struck = None, False
    if transactions is not None:
        counts = Counting(transactions, until, findings, since=since, transactional=transactional)
        counts.note(names, findings)
        above = (
            []
            if cascades_logged
            else parents(filter(counts.known, happened), name, cascades, (given or {}).values())
        )
        struck = counts.changes_rows(above)
        happened = counts.those(happened)
    elif until is not None or since is not None:
        raise UsageError("a point in time needs the transactions")
    else:
        findings.add("no_transactions", determined=True)
    numbers = None if counts is None else counts.numbers
    undone = undone_ranges(statements)
    run = None
    family = _family(above, happened, given or {}) if struck and unchecked else None
    if counts is not None and struck and family is None:
        counts.note_cascades(above, findings)
    known = dict(bases or {})
    if base is not None:
        known[name] = to_arrow(base, ())
    folding = Folding(
        tuple(key), tuple(names), happened, given or {}, family, numbers, undone,
        since.seq if isinstance(since, Contained) else -1, unchecked, known,
        None if columns is None else tuple(columns), keep_cascaded,
        compares and (family is not None or not struck),
    )  # fmt: skip
    if is_spark(changes) or isinstance(changes, Shared):
        return _shared(changes, folding, findings)
    if forward is not None and family is None:
        run = forward.confirmed(key, names, happened, numbers, undone)
    if run is None:
        run = folding.run(changes, before)
    outcome = folding.outcome(run)
    told = run.cascades.done if run.cascades is not None else None
    outcome.tell(findings)
    rows, definition = outcome.rows, outcome.definition
    done = as_state(rows, findings, changes)
    return replace(done, cascaded=tuple(told or ()), definition=definition, broken=outcome.broken)


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


def _shared(changes: Any, folding: Folding, findings: StateFindings) -> State[Any]:
    """A state of changes that Spark's tasks hold; they keep its rows."""
    if folding.keep_cascaded:
        raise UsageError("what foreign keys did is not kept on Spark")
    folded = fold_shared(changes, folding)
    folded.tell(findings)
    told = findings.table()
    if is_spark(changes):
        told = from_arrow(told, changes, FINDINGS)
    determined = all(finding.determined for finding in findings.found.values())
    definition = folding.definition() if folded.told.met else None
    return State(
        folded.rows(),
        told,
        determined,
        definition=definition,
        folded=folded,
        broken=folded.told.broken,
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
