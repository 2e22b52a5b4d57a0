"""Parts in the order of their logs: where each begins among the others, and what is known there.

What one reading of all logs would know at a place follows from the parts before it: numbers of
events and transactions, the tables as DDL left them, earlier GTIDs, what decides prepared
transactions, and where changes may be missing. No log is read for this.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import cached_property, lru_cache
from operator import attrgetter
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from binlogkit.constants import TableId
from binlogkit.errors import DamageError, MalformedEventError
from binlogkit.events.gtid_set import GtidSet
from binlogkit.events.query import ExecuteLoadQuery, Query
from binlogkit.events.table_map import TableMap
from binlogkit.log.index.later import columns_of
from binlogkit.log.index.losing import Losing
from binlogkit.log.index.part import Part, Said, Wrote
from binlogkit.log.index.segments import Segment
from binlogkit.log.index.stored import read_gtids
from binlogkit.rows.ddl import Catalog, TableChange
from binlogkit.rows.gtid_ledger import GtidLedger
from binlogkit.rows.options import KnownTables, Lost, ReadOptions, Start
from binlogkit.rows.prepared import Decision
from binlogkit.rows.reading import Reading
from binlogkit.rows.schema import Supposition, small_name
from binlogkit.rows.series import AllSeries, Series, SourceTables
from binlogkit.rows.soundness import Finding, Gap, Gaps, Soundness
from binlogkit.rows.table_history import TableHistory
from binlogkit.rows.transactions import Outcome
from binlogkit.sources.carriers import Carrier
from binlogkit.sources.carriers.carrier import up_to

_WHOLE = [Segment()]
_XA = ("gtid", "xa", "outcome", "resolved_file", "resolved_pos")
_WORD = re.compile(r"[\w$]+")
_OF_DATABASES = {"database", "schema"}


@dataclass(frozen=True, slots=True)
class Position:
    """Where a segment begins among all logs.

    ``part``: the part's number; ``events``, ``transactions``: how many come before; ``known``: what
    DDL said of the tables that its log touches, None for nothing; ``source``: the name of the
    server's logs, None where only the log names it; ``seen``: the GTIDs of its own transactions
    that were read before; ``lost``: see :class:`Start`.
    """

    part: int
    segment: Segment
    events: int
    transactions: int
    known: KnownTables | None
    source: str | None
    seen: GtidSet | None
    lost: Mapping[Lost, KnownTables] = field(default_factory=dict)

    @property
    def base(self) -> int:
        """The number of its log's first transaction."""
        return self.transactions - self.segment.transactions

    def read(
        self, carriers: Sequence[Carrier], options: ReadOptions, stop: int | None,
        *, first: bool, last: bool,
    ) -> Reading:  # fmt: skip
        """A reading of its log from here on, as if what stands before had been read.

        ``stop``: the offset of its end, None for the log's; ``first``, ``last``: see
        :class:`Start`.
        """
        if stop is not None:
            carriers = [up_to(carrier, stop) for carrier in carriers]
        catalog, tracked = None, frozenset[tuple[str | None, str | None]]()
        if self.known is not None:
            catalog, tracked = self.known.catalog, self.known.tracked
        start = Start(
            self.events, self.transactions, self.segment.pos, catalog, tracked, first, last,
            self.seen, self.lost,
        )  # fmt: skip
        options = replace(options, source=options.source or self.source)
        return Reading(carriers, options, start=start)


def pairs(positions: Sequence[Position]) -> Iterator[tuple[Position, Position | None]]:
    """Each segment with the next one of its log."""
    for i, position in enumerate(positions):
        following = positions[i + 1] if i + 1 < len(positions) else None
        same = following is not None and following.part == position.part
        yield position, following if same else None


@dataclass(frozen=True, slots=True)
class Happened:
    """The effect, or possible effect, of an event on tables.

    ``event``, ``tx``: its number and its transaction's among all; ``source``: the name of its
    server's logs; ``changes``: with definitions as they were known there; ``sql_mode``: None if it
    is no statement; ``statement``: its text if it concerns tables, "" for others.
    """

    event: int
    tx: int | None
    source: str | None
    file: str
    pos: int
    end_pos: int
    inner: int | None
    timestamp: int
    changes: tuple[TableChange, ...]
    sql_mode: int | None
    statement: str = ""


class Joined:
    """Parts, joined in their order: what one reading of their logs would know.

    ``series``: which logs belong together; ``found``: what may be missing in them, and notes;
    ``events``, ``transactions``: how many there are; ``seen``: the GTIDs of those read intact;
    ``positions``: of all segments; ``schemas``: every version of each table; ``decisions``: the
    outcomes of transactions that were prepared in other logs, by number, ``decided_again`` those
    that logs of other servers say, too; ``copies``: the first copy of each XA transaction that logs
    of another server prepared before, by number; ``gaps``: where changes may be missing; ``size``:
    minimum bytes of a segment, except a log's last, if parts are cut finer; ``reads``: whether logs
    are read from the positions; else each has one, without tables; ``happened``: what happened to
    tables, in log order, if ``happening``, also in repeated transactions; ``forgets``: what
    statements said of tables does not hold where logs are missing after them, or damage may have
    taken others; ``broken``: the parts right before which logs are missing, and ``damaged`` those
    in which statements are; ``given``: definitions that users gave with parts, of tables of which
    no statement spoke before; ``folded``: names are in small letters, as a server stores them;
    ``shown``: where the first map of a version is, by the version's ``id``: its part, file and
    offset; ``unnamed``: by part, the tables that have columns whose names are not known there, each
    with the offset of the damage since which they are not, 0 for none.
    """

    def __init__(
        self,
        parts: Iterable[Part],
        options: ReadOptions | None = None,
        *,
        sources: frozenset[str] = frozenset(),
        size: int = 1,
        cuts: bool = True,
        reads: bool = True,
        happening: bool = False,
        forgets: bool = False,
    ) -> None:
        self._options = options = options or ReadOptions()
        self._forgets, self.broken, self.damaged = forgets, set[int](), set[int]()
        self._wanted, self._size, self._cuts, self._reads = sources, size, cuts and reads, reads
        self._tables = TableHistory(options)
        parts = [*parts]
        names = (name for part in parts for name in part.names)
        self.series = AllSeries(options.catalog, names=names)
        self.seen = GtidLedger()
        self.found = Gaps(Soundness(keeps=options.duplicates == "keep"))
        self._source: SourceTables | None = None
        self._prepared: dict[tuple[str | None, str], int] = {}
        self._stopped: DamageError | None = None
        self.events = self.transactions = self._stopped_at = 0
        self._tables_mentioned = False  # whether a statement has said anything of tables
        self._last: tuple[Part, int, KnownTables] | None = None  # and of which generation
        self.positions: list[Position] = []
        self.decisions: dict[int, Decision] = {}
        self.decided_again: dict[int, list[Decision]] = {}
        self._deciding: dict[int, list[int]] = {}  # by part: what it decides of other logs
        self._commits: dict[str, int] = {}  # the same by GTID, once it has been asked for
        self.copies: dict[int, int] = {}
        self.folded = False
        self._ledgers: list[Mapping[str, pa.Table]] = []
        self.shown: dict[int, tuple[int, str, int]] = {}
        self.unnamed: dict[int, dict[TableId, int]] = {}
        self.happened: list[Happened] | None = [] if happening else None
        self.undecodable, self.supposed = 0, dict[str, Supposition]()  # no row is decoded
        self.schemas, self.problems = self._tables.schemas, self._tables.problems
        self.texts, self.given = self._tables.texts, self._tables.given
        for i, part in enumerate(parts):
            self._join(i, part)

    @property
    def ordinal(self) -> int:
        """The number of the event after the last, as in a reading."""
        return self._stopped_at or self.events

    @cached_property
    def threads(self) -> set[int]:
        """The connections of the transactions, where parts have their ledger."""
        transactions = (ledger.get("transactions") for ledger in self._ledgers)
        columns = (table["thread_id"].unique() for table in transactions if table is not None)
        return {thread for column in columns for thread in column.drop_null().to_pylist()}

    @property
    def notes(self) -> list[Finding]:
        """Notes on the whole that mean no gap: clocks, the logs' ends."""
        return self.found.notes()

    @property
    def gaps(self) -> list[Gap]:
        """Where changes may be missing, in log order, up to where a reading would come."""
        return self.found.found(self.ordinal, self._stopped)

    # ---- one part -----------------------------------------------------------------------------

    def _join(self, i: int, part: Part) -> None:
        name = None if self._source is None else self._source.name
        self._ledgers.append(part.ledger)
        if part.head is None:
            self._place(i, part, Segment(), name, None, {})
            self._take_gaps(part, None)
            return
        series = self._begin(i, part)
        seen = self.seen.common(part.alone.gtids) or None
        source = series.source.name
        whole = self._cuts and seen is None
        segments = self._chosen(part.segments) if whole else _WHOLE
        losing = Losing(part, forgets=self._forgets)
        for wrote in part.wrote:
            self._tables.note_text(wrote.action, wrote.db, wrote.table, wrote.file, wrote.pos)
        said = iter(self._statements(part))
        following = next(said, None)
        for segment in segments:
            while following is not None and following.event < segment.events:
                self._apply(i, part, following, losing)
                following = next(said, None)
            self._lose(i, part, losing, (0, segment.pos))
            self._place(i, part, segment, source, seen, losing.known)
        while following is not None:
            self._apply(i, part, following, losing)
            following = next(said, None)
        self._lose(i, part, losing, None)
        self._end(i, part, series, seen)

    def _statements(self, part: Part) -> Iterable[Said | Wrote]:
        """The relevant things of a part, in order."""
        if self.happened is None or not part.wrote:
            return part.said
        return sorted([*part.said, *part.wrote], key=attrgetter("event"))

    def _chosen(self, segments: Sequence[Segment]) -> Iterator[Segment]:
        """The segments of the wanted size."""
        at = -self._size
        for segment in segments:
            if not segment.pos or segment.pos >= at + self._size:
                at = segment.pos
                yield segment

    def _begin(self, i: int, part: Part) -> Series:
        """A log begins: find the logs that it continues, and their tables."""
        assert part.head is not None
        head, source = part.head, self._options.source or part.head.source
        if source != head.source:
            head = replace(head, source=source)
        series = self.series.of(head, None if head.previous is None else part.previous, part.gtids)
        if series.source is not self._source:
            self._source = series.source
            self._tables.take_over(series.source)
        if series.broken:
            self.broken.add(i)
            if self._forgets:
                self._tables.lose(f"logs are missing before {part.names[-1]}")
        return series

    def _end(self, i: int, part: Part, series: Series, seen: GtidSet | None) -> None:
        """The log ends: keep what later logs need."""
        self._take_gaps(part, series)
        series.end(part.gtids, part.next_name, part.rotated)
        for loss in part.alone.losses:  # else they would be missing before the next log
            series.gtids.add_set(read_gtids(loss.gtids))
        self.folded = self.folded or self._tables.catalog.folded
        source = series.source.name
        if not self._wanted or source in self._wanted:
            self.seen.add_set(part.intact)
        unknown = list[Decision]()
        for xa, decision in part.decided.items():
            number = self._prepared.pop((source, xa), None)
            if number is None:
                number = self._prepared.pop(self._prepared_elsewhere(source, xa), None)
            if number is not None:
                self._decide(i, number, decision)
            elif seen is not None and part.ledger:
                unknown.append(decision)
        for number, decision in self._decided_elsewhere(part, unknown):
            self._decide(i, number, decision)
        first = self._first_copies(i, part, seen)
        for xa, number in part.prepared.items():
            one = first.get(number, self.transactions + number)
            if one is not None:
                self._prepared[source, xa] = one
        self.events += part.events
        self.transactions += part.transactions

    def _prepared_elsewhere(self, source: str, xa: str) -> tuple[str | None, str]:
        """Which server's logs prepared a transaction that another one's decide: one from which it
        replicates, or the other way round."""
        others = (one for one in self._prepared if one[1] == xa and one[0] is not None)
        joined = (one for one in others if self.series.joined([source, one[0] or ""]))
        return next(joined, (None, xa))

    def _decided_elsewhere(
        self, part: Part, decisions: Sequence[Decision]
    ) -> Iterator[tuple[int, Decision]]:
        """Decisions of which logs of other servers have copies, with what those decide."""
        if not decisions:
            return
        for i, numbers in self._deciding.items():
            gtids = _gtids_at(self._ledgers[i], [self.decisions[number] for number in numbers])
            self._commits |= {gtid: n for gtid, n in zip(gtids, numbers, strict=True) if gtid}
        self._deciding.clear()
        for gtid, decision in zip(_gtids_at(part.ledger, decisions), decisions, strict=True):
            if gtid in self._commits:
                yield self._commits[gtid], decision

    def _decide(self, i: int, number: int, decision: Decision) -> None:
        """Part ``i`` decides an XA transaction of another one."""
        if number not in self.decisions:
            self.decisions[number] = decision
            self._deciding.setdefault(i, []).append(number)
        elif self.decisions[number] != decision:
            self.decided_again.setdefault(number, []).append(decision)

    def _first_copies(self, i: int, part: Part, seen: GtidSet | None) -> dict[int, int | None]:
        """The XA transactions of a log that another server's logs prepared before, by number in it:
        the numbers of those, None of decided ones; what the log decides itself is decided of
        them."""
        found = dict[int, int | None]()
        if seen is None or part.extent.plain or not part.ledger:
            return found
        opened = {xa: number for (_, xa), number in reversed(self._prepared.items())}
        table = columns_of(part.ledger, "transactions", _XA)
        for number in np.flatnonzero(np.asarray(table["xa"].is_valid())).tolist():
            [row] = table.slice(number, 1).to_pylist()
            one = opened.get(row["xa"])
            decided = row["resolved_file"] is not None
            prepared = decided or part.prepared.get(row["xa"]) == number
            if not prepared or row["gtid"] is None or row["gtid"] not in seen:
                continue
            found[number] = one
            if one is not None:
                self.copies[self.transactions + number] = one
            if one is not None and decided:
                place = row["resolved_file"], row["resolved_pos"]
                self._decide(i, one, (Outcome(row["outcome"]), *place))
        return found

    def _take_gaps(self, part: Part, series: Series | None) -> None:
        """Take what a log shows of itself, up to the damage that ends a reading."""
        if self._stopped is None:
            self.found.join(part.alone, self.events, series)
            if self._options.on_damage == "stop" and part.damages:
                self._stopped, self._stopped_at = part.damages[0], self.events + part.events

    def _lose(self, i: int, part: Part, losing: Losing, until: Lost | None) -> None:
        """Up to a place, or to a part's end, statements may be missing."""
        place = losing.before(until)
        if place is None:
            return
        tables, (number, offset) = self._tables, place
        reason = f"statements may be missing in {part.names[number]} at {offset}"
        tables.lose(reason, losing.same(place))
        for given in losing.given(place):
            tables.give(given, anew=False)
        self.damaged.add(i)
        known = self._known(part)
        if known is not None:
            losing.known[place] = known

    def _apply(self, i: int, part: Part, said: Said | Wrote, losing: Losing) -> None:
        """Take what changes or shows table definitions."""
        self._lose(i, part, losing, losing.of(said))
        tables, file = self._tables, part.names[-1]
        if isinstance(said, Wrote):
            catalog, name = tables.catalog, (said.db, said.table)
            parts = said.reads
            reads = None if parts is None else tuple(zip(parts[::2], parts[1::2], strict=True))
            change = TableChange(
                said.action, *name, definition=catalog.table(*name), reason=said.reason,
                reads=reads, alone=catalog.writes_alone(name, reads), deletes_all=said.deletes_all,
            )  # fmt: skip
            place = (said.file, said.pos, said.end_pos, said.inner, said.timestamp)
            self._note(said, *place, (change,), said.sql_mode)
            return
        body = said.body
        if isinstance(body, str):
            if tables.catalog.server_version != body:
                tables.generation += 1
            tables.catalog.server_version = body
        elif isinstance(body, Catalog):
            if not said.raw.pos:  # else it is given after statements are lost
                tables.give(body, anew=i in self.broken)
            self._tables_mentioned = True
        elif isinstance(body, TableMap):
            with suppress(MalformedEventError):  # whoever reads the rows reports it
                schema = tables.schema(body, file, said.raw.pos)
                self.shown.setdefault(id(schema), (i, file, said.raw.pos))
                if not schema.named:
                    self.unnamed.setdefault(i, {}).setdefault(schema.name, losing.at)
        elif changes := tables.apply(body, said.raw.file, said.raw.pos, said.raw.header.timestamp):
            self._tables_mentioned = True
            raw, mode = said.raw, body.status_vars.sql_mode
            place = (raw.file, raw.pos, raw.end_pos, raw.inner, raw.header.timestamp)
            self._note(said, *place, tuple(changes), mode, body.query)

    def _note(self, said: Said | Wrote, *facts: Any) -> None:
        if self.happened is None:
            return
        source = None if self._source is None else self._source.name
        tx = None if said.tx is None else self.transactions + said.tx
        self.happened.append(Happened(self.events + said.event, tx, source, *facts))

    def _place(
        self, i: int, part: Part, segment: Segment, source: str | None, seen: GtidSet | None,
        lost: Mapping[Lost, KnownTables],
    ) -> None:  # fmt: skip
        events, transactions = self.events, self.transactions
        place = events + segment.events, transactions + segment.transactions
        self.positions.append(Position(i, segment, *place, self._known(part), source, seen, lost))

    def _known(self, part: Part) -> KnownTables | None:
        """What is known here of the tables that a log touches; constant until the next DDL."""
        tables = self._tables
        if not (self._reads and (self._tables_mentioned or self._options.catalog is not None)):
            return None
        last = self._last
        if last is None or last[0] is not part or last[1] != tables.generation:
            touched = _Touched(part)
            catalog = tables.catalog.only(touched.has)
            known = KnownTables(catalog, frozenset(filter(touched.may_have, tables.tracked)))
            if last is not None and known.same(last[2]):
                known = last[2]  # one object for all the logs between two changes
            last = self._last = part, tables.generation, known
        return last[2]


class _Touched:
    """The tables that a part's maps and statements may concern: too many rather than too few."""

    def __init__(self, part: Part) -> None:
        self._mapped: set[TableId] = set()
        words: set[str] = set()
        for said in part.said:
            body = said.body
            if isinstance(body, TableMap):
                self._mapped.add((body.db.lower(), body.table.lower()))
            elif isinstance(body, (Query, ExecuteLoadQuery)):
                words.update(_WORD.findall(body.query.lower()))
        self._words = words
        self._of_databases = not words.isdisjoint(_OF_DATABASES)

    def has(self, name: TableId) -> bool:
        """Whether a table may be one of them."""
        db, table = small_name(name)
        if (db, table) in self._mapped:
            return True
        of_database = self._of_databases and _words(db) <= self._words
        return bool(self._words) and (of_database or _words(table) <= self._words)

    def may_have(self, name: tuple[str | None, str | None]) -> bool:
        """The same for a name that may be a database only."""
        db, table = name
        return not db or not table or self.has((db, table))


@lru_cache(maxsize=1 << 16)
def _words(name: str) -> frozenset[str]:
    """The words of a name in lower case."""
    return frozenset(_WORD.findall(name))


def _gtids_at(ledger: Mapping[str, pa.Table], decisions: Sequence[Decision]) -> list[str | None]:
    """The GTIDs of decisions by a part, None for one without."""
    table = columns_of(ledger, "transactions", ("gtid", "file", "pos"))
    places = pa.array([pos for _, _, pos in decisions], table["pos"].type)
    rows = table.filter(pc.is_in(table["pos"], places)).to_pylist()
    found = {(row["file"], row["pos"]): row["gtid"] for row in rows}
    return [found.get((file, pos)) for _, file, pos in decisions]
