"""The ledger beside landed tables: logs, transactions, what happened to tables."""

from __future__ import annotations

from bisect import bisect
from collections.abc import Callable, Iterable, Iterator
from copy import copy
from dataclasses import replace
from functools import cached_property, partial
from itertools import product
from operator import attrgetter

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from binlogkit.analyses.point_in_time.boundary import Boundary, lineage, parents
from binlogkit.analyses.point_in_time.codes import Flags, Integers
from binlogkit.analyses.point_in_time.counting import NEEDED, touching
from binlogkit.analyses.point_in_time.erased import Logged
from binlogkit.analyses.point_in_time.transaction_numbers import TransactionNumbers
from binlogkit.constants import MERGE, TableId
from binlogkit.errors import InputError, UsageError
from binlogkit.events.gtid_set import GtidSet
from binlogkit.frames.arrays import one_array
from binlogkit.log.index import Index, Joined, Part
from binlogkit.log.index.joined import Position
from binlogkit.log.index.later import columns_of
from binlogkit.log.index.transactions import Concerned, joined_changes, narrow_transactions
from binlogkit.log.states.history import History, Merged, TableFacts
from binlogkit.log.states.reading import Source, among_events
from binlogkit.rows.filters import Filters, written_table_name
from binlogkit.rows.gtid_ledger import GtidLedger
from binlogkit.rows.options import ReadOptions
from binlogkit.rows.resolve import key_of
from binlogkit.rows.schema import TableDefinition, TableSchema, small_name
from binlogkit.rows.soundness import FileFacts, Finding, Gap
from binlogkit.rows.soundness.gaps import LAST
from binlogkit.rows.transactions import Outcome
from binlogkit.spark.landing.erased import erased_tables, logged_of
from binlogkit.spark.landing.expired import expired_gaps, last_expired, read_expired
from binlogkit.spark.landing.given import read_given, with_given
from binlogkit.spark.landing.journal import read_journal, read_terms, read_waiting
from binlogkit.spark.landing.landing import LEDGER
from binlogkit.spark.landing.landing_path import LandingPath
from binlogkit.spark.landing.numbering import AFTER, BEFORE, SHIFT, Numbering, cuts_of, of_files
from binlogkit.spark.landing.parts import in_order, named, without_copies
from binlogkit.spark.landing.shape import folder_of, landed_name
from binlogkit.spark.landing.spans import Landed, Spans, begins, log_of
from binlogkit.spark.landing.tables import opened
from binlogkit.spark.landing.terms import all_masks, left_out
from binlogkit.spark.landing.waiting import LogId, Waiting
from binlogkit.spark.masks import Masks, read_masks
from binlogkit.spark.renames import follow, happened
from binlogkit.spark.splits.commits import file_number

_COLUMNS = (*NEEDED, "source", "xa")
_OF_TRANSACTIONS = ("transactions", "history", "erased", "_ordered", "_begun")
_TABLES = ("transactions", "changes", "statements", "unchecked")
_REPEATED = {"source", "file", "end_file", "outcome", "resolved_file"}


class Ledger(Source):
    """The ledger's content for the landing in a folder. InputError: nothing has landed there.

    ``out``: the landing; ``parts``: of each log, ``joined`` in their order; ``terms``: of the
    landing; ``masks``: all that have held in any batch.
    """

    def __init__(self, out: LandingPath) -> None:
        self.out = out
        out.check_local()
        self.last_expired = last_expired(out)
        parts = Index(out.local / LEDGER).besides([], _TABLES, later=True)
        if not parts:
            raise InputError(str(out), "nothing has landed there")
        self._spans = spans = read_journal(out)[2]
        landed = {span.log: span.batch for span in reversed(spans)}
        ordered = in_order(named(parts, spans), landed)
        ordered, self._same = without_copies(ordered)
        self.parts = [*with_given(ordered, read_given(out))]
        reading = ReadOptions(on_damage="report")
        self.joined = Joined(self.parts, reading, reads=False, happening=True)
        known = {(p.head.server_id, p.head.begun) for p in self.parts if p.head is not None}
        gone = [span.file for span in spans if (span.server_id, span.begun) not in known]
        if gone:
            text = f"its ledger in {out.local} does not have all that has landed, as {gone[0]}"
            raise InputError(str(out), text)
        self.terms = read_terms(self.out)
        self.masks = follow(all_masks(self.terms), self.joined)
        self.waiting = read_waiting(self.out, spans)
        self.expired = read_expired(self.out)
        given = self.joined.given.items()
        self.given = {name: _of_landed(one, partial(self._lands, name)) for name, one in given}
        self.concerned: Concerned | None = None

    @cached_property
    def masks_then(self) -> list[Masks]:
        """The masks of all terms, those of each apart."""
        each = dict.fromkeys(one.masks for one in self.terms)
        return [follow(read_masks(masks), self.joined) for masks in each]

    @cached_property
    def files(self) -> list[str]:
        """The names of all logs, in order."""
        return [name for part in self.parts for name in part.names]

    @cached_property
    def numbers(self) -> dict[str, int]:
        """The number of each log; a copy, from which rows landed that were lost, has that of the
        log."""
        found, logs = dict[str, int](), dict[LogId, Part]()
        for part in self.parts:
            alike = logs.setdefault(log_of(part), part)
            if alike is not part and not (begins(alike, part) or begins(part, alike)):
                alike = part
            for name, known in zip(part.names, alike.names, strict=False):
                found[name] = found.get(known, len(found))
        for name, known in self._same.items():
            found.setdefault(name, found[known])
        return found

    @cached_property
    def transactions(self) -> pa.Table:
        """What states need of the transactions of all logs, as ``log.transactions()`` has them,
        but for dictionaries; see :meth:`concerning`."""
        return narrow_transactions(self.parts, self.joined, _COLUMNS, _REPEATED, self.concerned)

    def left_out(self, at: str | None) -> Iterator[tuple[str | None, GtidSet]]:
        """Of each log before the log ``at``, of all if None, whose transactions
        :attr:`transactions` does not all have: its server, and the GTIDs of its transactions, which
        were all committed."""
        concerned = self.concerned
        for position in self.joined.positions if concerned is not None else ():
            part = self.parts[position.part]
            if at in part.names:
                return
            if concerned is not None and not concerned.reads_all(position, part):
                yield position.source, part.gtids

    def concerning(self, name: TableId, files: Iterable[str]) -> Ledger:
        """This ledger with those transactions only that a table's states need: all of the logs
        ``files``, in which their points are, and of logs whose transactions were all committed
        those that touch the table, or one that its rows follow from.

        Its order of changes is its own.
        """
        boundaries, asked = self._all_happened, {*files}
        merged = (
            b for b in boundaries if b.definition is not None and b.definition.engine == MERGE
        )
        names = {".".join(boundary.name) for boundary in merged}
        for one in (name, small_name(name)):
            cascades = {parent for version in self.met.get(one, ()) for parent in version.cascades}
            names.update(
                map(".".join, lineage(boundaries, one)), parents(boundaries, one, cascades)
            )
        spelled = {one.lower() for one in names}  # a server may fold the case of names
        names.update(one for one in map(".".join, self.met) if one.lower() in spelled)
        numbers = TransactionNumbers({b.tx for b in boundaries if b.tx is not None})
        whole = (i for i, part in enumerate(self.parts) if not asked.isdisjoint(part.names))
        found = copy(self)
        for cached in _OF_TRANSACTIONS:
            vars(found).pop(cached, None)
        found.concerned = Concerned(sorted(names), numbers, frozenset(whole))
        return found

    @cached_property
    def _all_happened(self) -> list[Boundary]:
        """What happened to tables, in log order, also in repeated transactions."""
        return [boundary for _, _, boundary in happened(self.joined)]

    @property
    def unchecked(self) -> Callable[[Integers], Flags]:
        """See :class:`Source`."""
        return partial(among_events, self._ordered[3], SHIFT)

    @cached_property
    def erased(self) -> dict[TableId, Logged]:
        """The tables of which rows were erased, with what the logs have changed of them."""
        if not (names := erased_tables(self.out)):
            return {}
        changes = joined_changes(self.parts, self.joined)
        return {name: logged_of(name, changes, self.transactions, self.numbering) for name in names}

    @property
    def any_unchecked(self) -> bool:
        """Whether any changes were made with foreign_key_checks off."""
        return len(self._ordered[3]) > 0

    def _plain(self, boundary: Boundary) -> Boundary:
        """A boundary without masked columns."""
        altered, name = boundary.alteration, boundary.new_name or boundary.name
        if not self.masks.masks:
            return boundary

        def lands(column: str) -> bool:
            return self._lands(name, column) and self._lands(boundary.name, column)

        if altered is not None:
            altered = replace(
                altered,
                renamed={a: b for a, b in altered.renamed.items() if lands(a) and lands(b)},
                dropped={column for column in altered.dropped if lands(column)},
                changed={n: how for n, how in altered.changed.items() if lands(n)},
                lost={column for column in altered.lost if lands(column)},
                added={n: how for n, how in altered.added.items() if lands(n)},
            )
        definition, before = (
            one and _of_landed(one, lands) for one in (boundary.definition, boundary.before)
        )
        return replace(boundary, alteration=altered, definition=definition, before=before)

    def _lands(self, name: TableId, column: str) -> bool:
        return not self.masks.masks_column(*name, column)

    def check(self) -> None:
        """InputError: a landing has not ended, or logs in the ledger have not landed."""
        *_, done, known = read_journal(self.out)
        gone = {name: name for name in self.files}
        spans = Spans(self.parts, self.joined, Landed(known), gone)
        if not done or next(spans.fresh(), None) is not None:
            raise InputError(str(self.out), "its tables lack changes of its ledger: land again")

    def check_expired(self) -> None:
        """InputError: changes have expired since this was read, so that it does not know what its
        tables lack."""
        if last_expired(self.out) != self.last_expired:
            raise InputError(str(self.out), "changes have expired meanwhile: open it again")

    def refuse_waiting(self, names: Iterable[TableId]) -> None:
        """InputError: rows of one of these tables wait."""
        tables = {written_table_name(*name) for name in names}
        own = [one for one in self.waiting if one.table in tables and not one.lost]
        if own:
            rows = sum(one.rows for one in own)
            text = f"{rows} changes of {own[0].table} wait and have not landed: {own[0].reason}"
            raise InputError(str(self.out), text)

    @property
    def file_facts(self) -> list[FileFacts]:
        """What is known of each log."""
        return [file for part in self.parts for file in part.alone.files]

    @property
    def notes(self) -> list[Finding]:
        """What was noted of the logs as a whole."""
        return self.joined.notes

    @property
    def met(self) -> dict[TableId, list[TableSchema]]:
        """The versions of each table whose rows were met."""
        return self.joined.schemas

    @property
    def left(self) -> list[TableDefinition]:
        """The tables as the logs left them, as far as statements say, or definitions given."""
        sources = {one.source for one in self.joined.positions if one.source is not None}
        return self.joined.series.definitions(sources)

    def one_history(self, sources: Iterable[str], what: str) -> None:
        """UsageError: ``what`` is in the logs of several servers that no GTID joins."""
        names = sorted(sources)
        if len(names) > 1 and not self.joined.series.joined(names):
            landed = Landed(self._spans)
            own = [self.parts[p.part] for p in self.joined.positions if p.source in names]
            names = sorted({span.source or "" for part in own for span in landed.of(part)})
            raise UsageError(
                f"{what} in the logs of several servers ({', '.join(names)}): land each "
                "server's in a folder of its own"
            )

    def has(self, name: TableId) -> bool:
        """Whether a table has landed."""
        return opened(self.out / folder_of(name)) is not None

    @cached_property
    def history(self) -> History:  # type: ignore[override]
        """What the logs say of every table besides its rows."""
        found = History(Filters())
        found.take_files(self.file_facts)
        begun = self._first_changes()
        defined = {b.new_name or b.name for b in self.boundaries if b.definition is not None}
        for name, versions in self.met.items():
            if (first := begun.get(".".join(name))) is None and name in defined:
                continue
            last, columns = versions[-1], (c.name for c in versions[-1].columns)
            plain = tuple(c for c in columns if not self.masks.masks_column(*name, c))
            seq, tx = first or (0, None)
            found.add(
                name, TableFacts(seq, tx, plain, last.key, None, last.cascades, last.supposed)
            )
        for boundary in self.boundaries:
            if boundary.definition is not None:
                definition = boundary.definition
                found.add(
                    boundary.new_name or boundary.name,
                    TableFacts(
                        boundary.seq, boundary.tx, tuple(c.name for c in definition.columns),
                        key_of(definition)[0], definition.engine, definition.cascades,
                        definition.supposed,
                    ),
                )  # fmt: skip
        stored = {".".join(name): name for name in found.layouts}
        for table, source in zip(*self._touched(), strict=True):
            found.sources.setdefault(stored[table], set()).add(source or "")
        found.merged = {(one.name, one.tx): one for one in self._merged(found)}
        return found

    def _first_changes(self) -> dict[str, tuple[int, int]]:
        """The first committed transaction that changed each table, ``db.table``: the number of the
        place after its changes, and its own."""
        rows = self.transactions.select(["tx", "end_file", "end_pos", "tables", "outcome"])
        committed = rows.filter(pc.equal(rows["outcome"], str(Outcome.COMMITTED)))
        lists = one_array(committed["tables"])
        pairs = pa.table({"table": lists.flatten(), "at": pc.list_parent_indices(lists)})
        found = pairs.group_by("table", use_threads=False).aggregate([("at", "min")])
        first = committed.take(found["at_min"])
        ends = np.asarray(first["end_pos"]).astype(np.int64) - 1
        last = np.full(len(ends), AFTER)
        places = of_files(self.numbers, first["end_file"]), ends, last, last
        places_by_table = zip(
            self.numbering.numbers(places).tolist(), first["tx"].to_pylist(), strict=True
        )
        return dict(zip(found["table"].to_pylist(), places_by_table, strict=True))

    def _touched(self) -> tuple[list[str], list[str | None]]:
        """The tables that transactions changed, ``db.table``, and the sources of these."""
        rows = self.transactions.select(["tables", "source"])
        lists = one_array(rows["tables"])
        sources = rows["source"].take(pc.list_parent_indices(lists))
        pairs = pa.table({"table": lists.flatten(), "source": sources})
        unique = pairs.group_by(["table", "source"], use_threads=False).aggregate([])
        return unique["table"].to_pylist(), unique["source"].to_pylist()

    def _merged(self, known: History) -> list[Merged]:
        """The transactions that wrote MERGE tables."""
        found = []
        for name, layouts in known.layouts.items():
            if MERGE not in (layout.engine for layout in layouts):
                continue
            rows = self.transactions.filter(touching(self.transactions, [".".join(name)]))
            texts = (b for b in self.boundaries_of(name) if b.action == "statement_write")
            wrote = [(b.tx, b.file, b.pos) for b in texts]
            wrote += zip(*(rows[n].to_pylist() for n in ("tx", "file", "pos")), strict=True)
            for tx, file, pos in wrote:
                before = [one.engine for one in layouts if (one.tx or 0) < (tx or 0)]
                if before[-1:] == [MERGE]:
                    found.append(Merged(0, name, tx, file, pos))
        return sorted(found, key=lambda one: one.tx or 0)

    @cached_property
    def _ordered(self) -> tuple[Numbering, list[Boundary], list[Gap], Integers]:
        """What orders changes, what happened to tables, gaps, and the stretches of unchecked
        changes: numbered in one order."""
        found = list(self._happened())
        gaps = [
            *self.joined.gaps, *self._left_out(found), *self._lost(), *self._expired(found)
        ]  # fmt: skip
        unchecked = pa.concat_tables([part.ledger["unchecked"] for part in self.parts]).to_pylist()
        cuts = [self._place(one.file, one.pos, one.inner) for one in found]
        cuts += [self._place(gap.file, gap.pos, None) for gap in gaps]
        events = [(event["file"], event["pos"], event["inner"]) for event in unchecked]
        cuts += [self._place(*event, row=row) for row in (BEFORE, AFTER) for event in events]
        numbering = replace(self._begun, cuts=cuts_of(cuts))
        numbers, whole = numbering.of_cuts(), len(found) + len(gaps)
        placed = zip(found, numbers.tolist(), strict=False)
        renumbered = [replace(boundary, seq=number) for boundary, number in placed]
        known = [
            gap if gap.seq == LAST else replace(gap, seq=number)
            for gap, number in zip(gaps, numbers[len(found) : whole].tolist(), strict=True)
        ]
        off = numbers[whole : whole + len(events)] >> SHIFT
        return numbering, sorted(renumbered, key=lambda boundary: boundary.seq), known, off

    def _left_out(self, boundaries: Iterable[Boundary]) -> Iterator[Gap]:
        """Changes of landed tables that did not land, since the terms left their table out: the
        first one between two statements that may have emptied it."""
        out = {name: [*left_out(self.terms, name)] for name in self.met if len(self.terms) > 1}
        out = {name: batches for name, batches in out.items() if batches and self.has(name)}
        if not out:
            return
        landed, met = Landed(self._spans), set[tuple[str, int]]()
        cuts = self._cuts(boundaries)
        for part, (name, batches) in product(self.parts, out.items()):
            table, transactions = ".".join(name), part.ledger["transactions"]
            spans = landed.of(part) if part.head is not None else []
            for span in sorted(spans, key=attrgetter("first")):
                if not any(a <= span.batch and (b is None or span.batch < b) for a, b in batches):
                    continue
                rows = transactions.slice(span.first, span.end - span.first)
                rows = rows.filter(touching(rows, [table])).select(["file", "pos"])
                text = f"{table} did not land with batch {span.batch}: the landing's terms"
                for file, pos in zip(*rows.to_pydict().values(), strict=True):
                    stretch = table, bisect(cuts, (self.numbers[file], pos))
                    if stretch not in met:
                        met.add(stretch)
                        yield Gap("left_out", file, pos, 0, frozenset([table]), text)

    def _expired(self, boundaries: Iterable[Boundary]) -> Iterator[Gap]:
        """Changes that have expired."""
        return expired_gaps(self.expired, self.parts, self._cuts(boundaries), self.numbers)

    def _cuts(self, boundaries: Iterable[Boundary]) -> list[tuple[int, int]]:
        """The places of what may have emptied tables."""
        return sorted((self.numbers.get(b.file, 0), b.pos) for b in boundaries if b.empties)

    def _lost(self) -> Iterator[Gap]:
        """The rows that could not land before their logs were gone, where they were committed."""
        for one in self.waiting:
            if one.lost:
                table = ".".join(landed_name(one.table))
                text = f"{one.rows} changes of {table} are lost: their log was gone"
                place = self._committed(self._name(one), one.first_pos)
                yield Gap("lost", *place, 0, frozenset([table]), text)

    def _committed(self, file: str, pos: int) -> tuple[str, int]:
        """Where the transaction was committed that has a place: elsewhere, if it is one of XA."""
        rows = self.transactions
        rows = rows.filter(pc.and_(pc.equal(rows["file"], file), rows["resolved_pos"].is_valid()))
        for row in rows.select(["pos", "end_pos", "resolved_file", "resolved_pos"]).to_pylist():
            if row["pos"] <= pos < row["end_pos"]:
                return row["resolved_file"], row["resolved_pos"]
        return file, pos

    def _name(self, one: Waiting) -> str:
        """The log of waiting rows, as the ledger names it."""
        for part in self.parts:
            head, name = part.head, part.names[-1]
            if head and one.log == (head.server_id, head.begun, file_number(name)):
                return name
        return one.file

    def _place(
        self, file: str, pos: int | None, inner: int | None, row: int = BEFORE
    ) -> tuple[int, int, int, int]:
        return self.numbers.get(file, 0), pos or 0, BEFORE if inner is None else inner, row

    def _happened(self) -> Iterator[Boundary]:
        """What happened to tables, if its transaction counts."""
        numbers = pa.array([one.tx for one in self._all_happened], pa.int64()).unique()
        known = frozenset(numbers.filter(pc.is_in(numbers, self.transactions["tx"])).to_pylist())
        for one in self._all_happened:
            if one.tx is not None and one.tx not in known:  # the transaction is in another log
                continue
            yield self._plain(one)

    @property
    def boundaries(self) -> list[Boundary]:  # type: ignore[override]
        """What happened to tables, in log order."""
        return self._ordered[1]

    @property
    def gaps(self) -> list[Gap]:
        """Where changes may be missing."""
        return self._ordered[2]

    @property
    def numbering(self) -> Numbering:
        """What orders changes, boundaries and gaps."""
        return self._ordered[0]

    def boundaries_of(self, name: TableId) -> list[Boundary]:
        """Those of one table."""
        return [boundary for boundary in self.boundaries if boundary.concerns(name)]

    @cached_property
    def _begun(self) -> Numbering:
        """Of the transactions alone."""
        return Numbering.of(self.numbers, self.transactions, self._copies)

    @property
    def _copies(self) -> Integers:
        """Copies of transactions that landed, though a log that stands before has them, too; see
        :class:`Numbering`."""
        found = list[tuple[int, ...]]()
        for position, gtids in self._seen_again:
            part = self.parts[position.part]
            # Another log's span has an XA transaction, if that commits it.
            wanted = gtids.union(_xa_in(part).intersect(position.seen or GtidSet()))
            first = self._places_of(wanted, position.part) if wanted else {}
            for gtid, file, pos, end in _places_in(part) if first else ():
                if gtid in first:
                    found.append((self.numbers[file], pos, end, *first[gtid][:2]))
        return np.array(found, np.int64).reshape(-1, 5)

    @cached_property
    def _seen_again(self) -> list[tuple[Position, GtidSet]]:
        """The logs with transactions that logs before them have, and which of these landed."""
        landed, found = Landed(self._spans), list[tuple[Position, GtidSet]]()
        for position in self.joined.positions:
            if position.seen is not None:
                own = GtidLedger()
                for span in landed.of(self.parts[position.part]):
                    own.add_set(GtidSet.parse(span.gtids))
                found.append((position, own.common(position.seen)))
        return found

    @cached_property
    def in_sequence(self) -> bool:
        """Whether ``_sequence`` orders what landed: not if it came from logs that only have copies
        of it, and whose other transactions may be later."""
        again = ((self.parts[one.part], gtids) for one, gtids in self._seen_again)
        return not any(gtids and gtids.subtract(_xa_in(part)) for part, gtids in again)

    @property
    def xa_shared(self) -> bool:
        """Whether an XA transaction is in the logs of several servers: its copies, or its end."""
        places = self.joined.positions
        sources = {name: one.source for one in places for name in self.parts[one.part].names}
        bases = [one.base for one in places]
        for number, (_, file, _) in self.joined.decisions.items():
            if sources.get(file) != places[bisect(bases, number) - 1].source:
                return True
        seen = ((one.seen, self.parts[one.part]) for one in places)
        return any(gtids is not None and _xa_in(part).intersect(gtids) for gtids, part in seen)

    def copied(self, file: str) -> pa.Table | None:
        """See :class:`Logs`."""
        for position in self.joined.positions:
            part = self.parts[position.part]
            if file not in part.names or position.seen is None:
                continue
            first, ends, numbers = (
                self._places_of(position.seen, position.part), list[int](), list[int]()
            )  # fmt: skip
            for n, (gtid, _, _, end) in enumerate(_places_in(part), position.base):
                ends.append(end)
                numbers.append(first[gtid][2] if gtid in first else n)
            return pa.table({"end_pos": ends, "tx": numbers})
        return None

    def _places_of(self, gtids: GtidSet, end: int) -> dict[str, tuple[int, int, int]]:
        """Where logs before a part have transactions first: the file, the position, the number."""
        found = dict[str, tuple[int, int, int]]()
        for position in self.joined.positions[:end]:
            part = self.parts[position.part]
            if not part.gtids.intersect(gtids):
                continue
            for n, (gtid, file, pos, _) in enumerate(_places_in(part), position.base):
                if gtid is not None and gtid in gtids:
                    found.setdefault(gtid, (self.numbers[file], pos, n))
        return found


def _places_in(part: Part) -> Iterator[tuple[str | None, str, int, int]]:
    """The transactions of a log: GTID, file, first position and the one after the last."""
    rows = columns_of(part.ledger, "transactions", ("gtid", "file", "pos", "end_pos"))
    return zip(*rows.to_pydict().values(), strict=True)


def _xa_in(part: Part) -> GtidSet:
    """The XA transactions of a log."""
    if part.extent.plain:
        return GtidSet()
    rows = columns_of(part.ledger, "transactions", ("gtid", "xa"))
    return GtidSet.of(filter(None, rows.filter(rows["xa"].is_valid())["gtid"].to_pylist()))


def _of_landed(definition: TableDefinition, lands: Callable[[str], bool]) -> TableDefinition:
    """A definition with the columns that land."""
    columns = tuple(one for one in definition.columns if lands(one.name))
    return replace(definition, columns=columns)
