"""A table as of a point, computed forwards: selects its changes, columns and key."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import pyarrow.compute as pc

from binlogkit.analyses.point_in_time import State, lineage
from binlogkit.analyses.point_in_time.boundary import Boundary, parents
from binlogkit.analyses.point_in_time.counting import Contained, Counting, Until
from binlogkit.analyses.point_in_time.state import Replaying, ReplayLedger, ReplayTable
from binlogkit.analyses.point_in_time.transaction_numbers import TransactionNumbers
from binlogkit.constants import TableId
from binlogkit.errors import UsageError
from binlogkit.frames.schema import supposed_of
from binlogkit.log.filter_warnings import UNKNOWN_TABLE, others
from binlogkit.log.states import restarts
from binlogkit.log.states.assembled import assembled
from binlogkit.log.states.bases.bases import (
    after_base,
    base_gaps,
    check_order,
    facts_of,
    first_after,
)
from binlogkit.log.states.bases.given import bases_of
from binlogkit.log.states.doubts import (
    cascading_columns,
    doubt,
    doubts_of,
    doubts_of_bases,
    noted,
    standing,
)
from binlogkit.log.states.gaps import Reach, assumed
from binlogkit.log.states.history import History, TableFacts
from binlogkit.log.states.images.contradictions import Contradiction, explains
from binlogkit.log.states.named import Mentions
from binlogkit.log.states.places import Logs
from binlogkit.log.states.point import Point, TableArgs
from binlogkit.log.states.reading import Source, StateReading
from binlogkit.log.states.state_position import state_position
from binlogkit.rows.filter_args import check_names, texts
from binlogkit.rows.filters import TableName, parse_table_name, written_table_name
from binlogkit.rows.schema import Origin, Supposition
from binlogkit.rows.soundness import Gap
from binlogkit.sources.log_format import CASCADES_LOGGED

if TYPE_CHECKING:
    import pyarrow as pa

    from binlogkit.analyses.point_in_time.before import Before
    from binlogkit.analyses.point_in_time.cascades import Cascaded
    from binlogkit.analyses.point_in_time.erased import Logged
    from binlogkit.frames.snapshots.snapshot import TableSnapshot
    from binlogkit.log.states.bases.bases import Bases, Since
    from binlogkit.log.states.table_state import TableState
    from binlogkit.log.streams import Streams
    from binlogkit.rows.schema import TableDefinition


RESTARTED, MADE_LATER = "restarted", "made_later"  # findings about a table without rows
_RESTARTED = "The server started again with {}: a table of the MEMORY engine has no rows then."
_MADE_LATER = "It is created later, at {}:{}: it was not there at this point."
_NOT_TRANSACTIONAL = frozenset({"MYISAM", "MEMORY", "ARCHIVE", "CSV", "MERGE", "MRG_MYISAM"})


@dataclass(frozen=True, slots=True)
class Wanted:
    """A table as of a point, before its rows are read.

    ``lineage``: the tables whose rows may have become its own by renames; ``above``: those from
    which foreign keys change them, and ``family``: those of ``above`` that are followed;
    ``begins``: the bases of all of them; ``engine``: whether it is transactional; ``until``: the
    point; the rest is what its replay needs.
    """

    lineage: Sequence[TableId]
    above: Sequence[str]
    family: set[TableId]
    begins: Mapping[TableId, TableSnapshot]
    layout: TableFacts
    table: ReplayTable
    ledger: ReplayLedger
    engine: bool | None
    until: Until | None

    @property
    def tables(self) -> list[TableId]:
        """The tables whose rows it needs."""
        return list(dict.fromkeys([*self.lineage, *sorted(self.family)]))


class States:
    """A log read for states of tables as of some points; ``given``: their common arguments.

    Its ledger is read first, then the rows of all tables at once, when the first state is taken.

    ``names``: the tables, None for all that the log names; ``cascaded``: by table what foreign keys
    did to its rows, for states that were taken; ``before``: keeps rows as they were before some
    changes; ``shared``: by table the rows that Spark's tasks keep; ``reading``: of the log's ledger
    for at least these tables, if it was read before, without a base.
    """

    _key: Sequence[str] | None = None
    _transactional: bool | None = None
    _bases: Bases | None = None
    _held: Since | None = None
    _first = (-1, 0)
    reading: Source
    _rows: StateReading | None = None  # where rows are read from
    _are_read = False  # those of all wanted tables
    _keeps_cascaded = False
    _before: Before | None = None
    _gaps: list[Gap]
    _contradictions: Sequence[Contradiction] = ()
    _mentioned: Mentions | None = None
    assumes: tuple[str, ...] = ()
    unnamed = "The log does not name this table"

    def __init__(
        self,
        log: Streams,
        names: list[str] | None,
        points: Sequence[Point],
        given: TableArgs,
        *,
        before: Before | None = None,
        reading: StateReading | None = None,
    ) -> None:
        self._streams = log
        self._begin(log, names, points)
        self._keeps_cascaded, self._before = True, before
        self._key, self._transactional, sources = table_args_of(given)
        place = given.get("base_at"), given.get("base_gtid")
        self._bases = bases = bases_of(log, given.get("base"), *place, names)
        self._catalog = None if bases is None else bases.catalog
        since = None if bases is None else bases.since(log)
        for _ in range(2):  # again where only the base's GTIDs tell its place
            self._taken_at = None if since is None else since.taken_at
            self._held = since = None if bases is None else bases.since(log)
            with log.knowing(self._catalog, self._taken_at):
                self.reading = self._rows = reading or StateReading(
                    log, names, sources, bases, since
                )
            if since is None or not since.moved(self._taken_at, self.reading.boundaries):
                break
        self._first = first_after(log, since)

    def _read_rows(self) -> None:
        """Read the rows of all wanted tables at once, and what images show."""
        reading = self._rows
        if reading is None or self._are_read:
            return
        self._are_read, log, since = True, self._streams, self._held
        follow: dict[TableId, list[Replaying]] = {}
        for point in self._points:
            for table in dict.fromkeys(self.tables(point)):
                with suppress(UsageError):  # raised when this state is taken
                    wanted = self._wanted(point, table)
                    replaying = self._replaying(wanted, wanted.until, before=self._before)
                    self._replayed[point, table] = wanted, replaying
                    for name in wanted.tables:
                        follow.setdefault(name, []).append(replaying)
        names = self._names
        if names is not None:
            names = [*names, *(written_table_name(*name) for name in follow)]
        with log.knowing(self._catalog, self._taken_at):
            for name, batch in reading.rows(names):
                for replaying in follow.get(name, ()):
                    replaying.feed([batch])
            gaps = log.gaps
            self._contradictions = reading.unlogged(gaps)
        if since is not None:
            self._contradictions = after_base(self._contradictions, log, since)
            found = base_gaps(log, since, reading.history, reading.transactions)
            gaps = [*found, *after_base(gaps, log, since)]
        self._gaps = gaps
        self._first = first_after(log, since)
        self._reaches.clear()

    def _begin(self, log: Logs, names: list[str] | None, points: Sequence[Point]) -> None:
        self._log, self._names, self._points = log, names, points
        self._reaches: dict[Point, Reach] = {}
        self.cascaded: dict[TableId, tuple[Cascaded, ...]] = {}
        self.shared: dict[tuple[Point, TableId], State[Any]] = {}
        self._replayed: dict[tuple[Point, str], tuple[Wanted, Replaying]] = {}
        self._counted: dict[tuple[Until | None, bool | None], Counting] = {}

    def tables(self, point: Point) -> list[str]:
        """The wanted tables; by default all that may exist at the point."""
        return self.there(point) if self._names is None else self._names

    def there(self, point: Point) -> list[str]:
        """The tables that the log names and that may exist at the point."""
        found = self._mentions().tables(self.reach(point))
        held = [] if self._bases is None else list(self._bases.tables)
        gone = {n for n in held if any(b.concerns(n) for b in self._later())}
        more = (written_table_name(*name) for name in held if name not in gone)
        return sorted({*found, *more})

    def _mentions(self) -> Mentions:
        if self._mentioned is None:
            self._mentioned = Mentions(self.reading.history.layouts, self.reading.boundaries)
        return self._mentioned

    def sound_before(self, name: TableId, seq: int) -> bool:
        """Whether no change of a table is missing before a place of the log."""
        self._read_rows()
        table = [".".join(name)]
        if any(gap.seq < seq and gap.concerns(table) for gap in self._gaps):
            return False
        return not any(c.name[1:] == name and c.since.seq < seq for c in self._contradictions)

    def reach(self, point: Point) -> Reach:
        """The reach of states at a point."""
        if point not in self._reaches:
            transactions = self.reading.transactions
            until = point.until(transactions)
            counted = Counting(transactions, until).ended
            if self._held is not None:
                check_order(self._held, transactions, counted, until)
            self._reaches[point] = Reach(self._log.files, transactions, counted, until, self._first)
        return self._reaches[point]

    def _wanted(self, point: Point, table: str) -> Wanted:
        """A table as of a point. UsageError: it is not unique."""
        log, reading, reach = self._log, self.reading, self.reach(point)
        history, boundaries, bases = reading.history, self._later(), self._bases
        name = full_name(history, table, bases)
        lineal = lineage(boundaries, name)
        names = set(lineal)
        layout, above = self._layout(name, reach), list[str]()
        given = reading.given | self._held_definitions()
        if history.version < CASCADES_LOGGED:
            above = parents(boundaries, name, layout.parents, given.values())
        stored = {".".join(one): one for one in (*history.layouts, *given)}
        family = {stored[parent] for parent in above if parent in stored}
        followed = all(map(reading.has, family))
        met = [history.sources.get(one, set()) for one in names]
        log.one_history(set[str]().union(*met), f"{table} is")
        key, columns = self._key, layout.columns
        if any(
            b.concerns(name) and b.recasts and b.seq > layout.seq
            and (b.tx is None or b.tx in reach.counted)
            for b in boundaries
        ):  # fmt: skip
            columns = None  # they are those of before, and what it made of the rows is seen
        if key is not None and columns is not None:
            check_names(key, columns, "column")
        engine = self._transactional
        begins = {} if bases is None else bases.of({*names, *family})
        wanted = ReplayTable(
            name,
            tuple(key) if key is not None else layout.key,
            columns,
            layout.parents,
            given | {n: b.definition for n, b in begins.items() if b.definition},
            {one: base.rows for one, base in begins.items()},
        )
        ledger = ReplayLedger(
            reading.boundaries,
            reading.undone,
            reading.unchecked if followed else None,
            history.version >= CASCADES_LOGGED,
            {one: done for one, done in self._erased().items() if one in names | family},
        )
        return Wanted(
            lineal,
            above,
            family if followed else set(),
            begins,
            layout,
            wanted,
            ledger,
            transactional_of(layout.engine) if engine is None else engine,
            reach.until,
        )

    def _erased(self) -> Mapping[TableId, Logged]:
        """The tables of which rows were erased."""
        return {}

    def _counting(self, until: Until | None, engine: bool | None) -> Counting:
        """The transactions that count up to a point, for tables of a kind of engine."""
        asked = until, engine
        if asked not in self._counted:
            since, rows = self._contained(), self.reading.transactions
            self._counted[asked] = Counting(rows, until, since=since, transactional=engine)
        return self._counted[asked]

    def _replaying(
        self,
        wanted: Wanted,
        until: Until | None,
        *,
        before: Before | None = None,
        compares: bool | None = None,
    ) -> Replaying:
        """A table's replay up to a point."""
        if compares is None:
            compares = self._compares([".".join(one) for one in wanted.tables])
        return Replaying(
            wanted.table,
            wanted.ledger,
            self._counting(until, wanted.engine),
            keep_cascaded=self._keeps_cascaded,
            before=before,
            compares=compares,
        )

    def at(self, point: Point, table: str) -> TableState:
        """A table's state."""
        self._read_rows()
        log, reading, reach = self._log, self.reading, self.reach(point)
        history, transactions, boundaries = reading.history, reading.transactions, self._later()
        wanted, replaying = self._replayed.pop((point, table), (None, None))
        if wanted is None or replaying is None:
            wanted = self._wanted(point, table)
            changes = self._changes(wanted)
            state = self._replaying(wanted, wanted.until, before=self._before).of(changes)
        else:
            state = replaying.finish()
        name, layout, begins = wanted.table.name, wanted.layout, wanted.begins
        names, above, bases = set(wanted.lineage), wanted.above, self._bases
        self.cascaded[name] = state.cascaded
        rows, spread = state.rows, state.folded
        if spread is not None and spread.result.schema is not None:
            self.shared[point, name], rows = state, spread.result.schema.empty_table()

        shown = self._shown(wanted, state)
        if reach.until is not None:
            shown += self._shown_later(wanted, reach)
        missing = standing([*self._gaps, *shown], boundaries, name, names, above, reach)
        supposed = [
            *layout.supposed,
            *(of_values(name, rows) if spread is None else spread.result.supposed),
        ]
        doubts = doubts_of(layout, history, reach.counted, supposed)
        own = [base for one, base in begins.items() if one in names]
        made = any(b.concerns(name) for b in boundaries)
        if bases is not None and not own and not made and self._names is not None:
            raise UsageError(f"no base has {'.'.join(name)}: there is {bases.named()}")
        emptied = any(b.empties and b.name == name and reach.counts(b.tx) for b in boundaries)
        based = bool(begins)
        if not emptied or len(names) > 1:
            doubts += doubts_of_bases(own)
        if not made and not own and not self._met(name):
            doubts.append(
                doubt(UNKNOWN_TABLE, f"{self.unnamed}{others(TableName(*name), log.met)}.")
            )
        findings, replayed_well = state.findings, state.determined
        notes = [noted("behind_end", text) for text in point.notes(history, transactions)]
        if (layout.engine or "").upper() == restarts.ENGINE:
            start = restarts.emptied_by(log.file_facts, reach, boundaries, names)
            if start is not None:
                rows, findings, doubts, replayed_well = rows[:0], findings[:0], [], True
                based = False
                notes.append(noted(RESTARTED, _RESTARTED.format(start.name)))
        later = None if based else self._mentions().made_after(name, reach)
        if later is not None and self.sound_before(name, later.seq):
            rows, findings, doubts, replayed_well = rows[:0], findings[:0], [], True
            notes.append(noted(MADE_LATER, _MADE_LATER.format(later.file, later.pos)))
        return assembled(
            name,
            rows,
            findings,
            columns=layout.columns,
            key=wanted.table.key,
            replayed=replayed_well,
            doubts=doubts,
            gaps=missing,
            notes=notes,
            assumes=(*self.assumes, *assumed(log, history.version, base=bool(begins))),
            reach=reach,
            based=based,
            place=state_position(
                log,
                point.place,
                history.ends,
                transactions,
                reach.counted,
                self._held,
                left_out=reading.left_out(None if point.place is None else point.place[0]),
            ),
            definition=state.definition,
            names=names,
            after_gaps=lambda: _after(
                missing, rows, reading.partial(name), named=_named(log, name)
            ),
        )

    def _shown(self, wanted: Wanted, state: State[Any]) -> list[Contradiction]:
        """The changes outside the log that foreign keys do not explain."""
        boundaries, given = self._later(), self.reading.given

        def unexplained(cascaded: Iterable[Cascaded]) -> list[Contradiction]:
            return [
                c
                for c in self._contradictions
                if not explains(
                    cascaded, c, cascading_columns(boundaries, given.get(c.name[1:]), c.name[1:])
                )
            ]

        shown = unexplained(state.cascaded)
        # A change seen after the point may be what a foreign key did by then.
        followed = {*wanted.tables} if wanted.family and wanted.until is not None else set()
        if any(c.name[1:] in followed for c in shown):
            to_end = replace(wanted, table=replace(wanted.table, columns=None), until=None)
            changes = self._changes(to_end)
            shown = unexplained(self._replaying(to_end, None).of(changes).cascaded)
        return shown

    def _shown_later(self, wanted: Wanted, reach: Reach) -> list[Contradiction]:  # noqa: ARG002
        """The changes outside the log that images after the point show, where a replay compares
        them."""
        return []

    def _met(self, name: TableId) -> bool:
        """Whether its changes are there, or a table map."""
        return name in self.reading.history.layouts

    def _compares(self, tables: Sequence[str]) -> bool:  # noqa: ARG002
        """Whether a replay compares images; here the reading of the logs did."""
        return False

    def _later(self) -> list[Boundary]:
        """What happened to tables after the base."""
        held, found = self._held, self.reading.boundaries
        return found if held is None else [b for b in found if not held.holds(b)]

    def _held_definitions(self) -> dict[TableId, TableDefinition]:
        """What statements before the base said about tables."""
        held = self._held
        made = [b.definition for b in self.reading.boundaries if held is not None and held.holds(b)]
        return {(one.db, one.table): one for one in made if one is not None}

    def _contained(self) -> Contained | None:
        """What the base holds, as the analysis takes it."""
        held = self._held
        return None if held is None else Contained(TransactionNumbers(held.numbers), held.seq)

    def _layout(self, name: TableId, reach: Reach) -> TableFacts:
        """What is known of the table: from the log, else from the base."""
        if self._held is None or self._bases is None:
            return self.reading.history.layout(name, reach.counted)
        later = reach.counted.without(self._held.numbers)
        layout = self.reading.history.layout(name, later)
        base = self._bases.tables.get(name)
        return layout if base is None or layout.seq >= max(self._held.seq, 0) else facts_of(base)

    def _changes(self, wanted: Wanted) -> Any:
        """The changes of its tables up to damage, which is kept in ``log.damages``."""
        reading = self._rows
        assert reading is not None
        with self._streams.knowing(self._catalog, self._taken_at):
            found = reading.rows([written_table_name(*name) for name in wanted.tables])
            yield from (batch for _, batch in found)


def table_args_of(given: TableArgs) -> tuple[Sequence[str] | None, bool | None, frozenset[str]]:
    """The key, whether the engine is transactional, and the sources, as they are given."""
    key = given.get("key")
    if isinstance(key, str):
        raise UsageError(f"key is a list of names, not {key!r}")
    return key, given.get("transactional"), frozenset(texts("source", given.get("source")))


def full_name(history: History, table: str, bases: Bases | None = None) -> TableId:
    """(db, table) of a table that may be given without its database. UsageError: no unique
    table."""
    wanted = parse_table_name(table)
    if wanted.db is not None:
        return (wanted.db, wanted.table)
    known: set[TableId] = {*history.layouts, *(bases.tables if bases is not None else ())}
    found = sorted(n for n in known if n[1] == wanted.table)
    if len(found) != 1:
        listed = ", ".join(".".join(n) for n in found) or "no table of this name"
        raise UsageError(f"{table}: name the database ({listed})")
    return found[0]


def _after(gaps: list[Gap], rows: pa.Table, partial: int, *, named: bool) -> int:
    """How many rows were last written as a whole after all gaps.

    0 if a gap may hold DDL, unless table maps name the columns; 0 if images after the gaps lack
    columns.
    """
    last = max(gap.seq for gap in gaps)
    if partial > last or not (named or all(gap.tables for gap in gaps)):
        return 0
    return pc.sum(pc.greater(rows["seq"], last)).as_py() or 0


def _named(log: Logs, name: TableId) -> bool:
    """Whether table maps themselves name the table's columns."""
    columns = [column for schema in log.met.get(name, ()) for column in schema.columns]
    return bool(columns) and all(column.name_origin == Origin.METADATA for column in columns)


def of_values(name: TableId, rows: pa.Table) -> Iterator[Supposition]:
    """Suppositions about the rows' values."""
    for chunk in rows["values"].chunks:
        yield from supposed_of(name, chunk)


def transactional_of(engine: str | None) -> bool | None:
    """Whether an engine rolls back; None if not known."""
    if engine is None:
        return None
    return {"INNODB": True, "NDBCLUSTER": True}.get(
        engine.upper(), False if engine.upper() in _NOT_TRANSACTIONAL else None
    )
