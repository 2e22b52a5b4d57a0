"""Current-state tables: the present rows of landed tables, a Delta table each under ``current``.

If only complete, ordered changes of a table with a key have landed since, they are merged by the
key. After anything else (DDL, statements that wrote rows, gaps, late logs) the table is replayed
from everything that has landed, as :meth:`Landing.state` does, and rewritten. Both give the same
rows. A commit has the number of its last batch as Delta's application transaction, and facts about
the rows as ``userMetadata``, so that a number counts once.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import replace
from functools import cached_property
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from binlogkit.analyses.point_in_time.boundary import lineage, parents
from binlogkit.analyses.point_in_time.counting import Counting
from binlogkit.analyses.point_in_time.findings import StateFindings
from binlogkit.analyses.point_in_time.fold import Fold
from binlogkit.analyses.point_in_time.result import state_table
from binlogkit.constants import TableId
from binlogkit.errors import InputError, SchemaError, UsageError
from binlogkit.frames.layouts import empty_batch
from binlogkit.log.states.forwards import transactional_of
from binlogkit.log.states.history import TableFacts
from binlogkit.rows.filters import written_table_name
from binlogkit.sources.log_format import CASCADES_LOGGED
from binlogkit.spark.landing import expired
from binlogkit.spark.landing.current_rows import (
    as_inserts,
    flat_rows,
    key_rows,
    mergeable,
    net_rows,
    touched_keys,
)
from binlogkit.spark.landing.journal import last_begun, read_journal, read_landed
from binlogkit.spark.landing.kept import KeptTable
from binlogkit.spark.landing.landing_path import LandingPath
from binlogkit.spark.landing.merging import Merge, known_of, write_anew
from binlogkit.spark.landing.order import Order
from binlogkit.spark.landing.own_rows import Held, OwnRows
from binlogkit.spark.landing.passing import batches
from binlogkit.spark.landing.reading import Within, folders, read, schema_of
from binlogkit.spark.landing.restored import Ordered, Restored
from binlogkit.spark.landing.restoring import Landing
from binlogkit.spark.landing.shape import current_folder, current_schema, landed_name
from binlogkit.spark.landing.spans import Landed, Span
from binlogkit.spark.landing.states import LandedStates
from binlogkit.spark.landing.store import place_of
from binlogkit.spark.landing.tables import last_batch, opened
from binlogkit.spark.splits.changelog import sequence_from
from binlogkit.spark.splits.commits import POSITION_BITS, file_number

if TYPE_CHECKING:
    from binlogkit.analyses.point_in_time.boundary import Boundary

#: Findings of a state that do not prevent merging into it.
HARMLESS = {"altered", "no_beginning"}
_ATTEMPTS = 20
_EXPIRED = "later changes cannot be applied, since earlier ones have expired"


class LandingMoved(Exception):
    """Another landing has begun a batch meanwhile, or has not ended."""


def keep(
    out: LandingPath, tables: Iterable[str], *, merge: Merge, again: Callable[[], object]
) -> tuple[list[KeptTable], Now]:
    """Bring the current-state tables of a landing up to date with what has landed: these, or all
    that have landed; and the landing as it was then.

    ``again``: lands the rest if another landing has begun. Errors: those of :func:`keep_current`
    (land_logs.py).
    """
    for _ in range(_ATTEMPTS):
        try:
            now = Now(out)
            wanted = [landed_name(table) for table in tables] or now.names()
            return [now.keep(name, merge) for name in wanted], now
        except LandingMoved:
            again()
    raise InputError(str(out), "its tables lack changes of its ledger: land again")


def current(
    out: str | Path | LandingPath, table: str, *, target_options: Mapping[str, str] | None = None
) -> pa.Table:
    """The rows of a current-state table, without Spark, with the columns that docs/landing.md has.

    InputError: there is no such table; UsageError: the name has no database.
    """
    folder = place_of(out, None, target_options) / current_folder(landed_name(table))
    if opened(folder) is None:
        raise InputError(str(out), f"{table} has no current state there")
    return read(folder)


class Now:
    """A landing in which every begun batch has landed."""

    def __init__(self, out: LandingPath) -> None:
        self.out = out
        self._number, _, self.spans = read_journal(out)
        self._landing = Landing(out)
        self.ledger = self._landing.ledger
        try:
            self.ledger.check()
        except InputError as error:
            raise LandingMoved from error
        self._check()

    def _check(self) -> None:
        """Check that the rows that were read are those of the known batches, and all of them."""
        gone = expired.last_expired(self.out) != self.ledger.last_expired
        if gone or last_begun(self.out) != self._number:
            raise LandingMoved

    def in_sequence(self, spans: Iterable[Span]) -> bool:
        """Whether ``_sequence`` orders what landed with some spans, which come in order."""
        logs = dict.fromkeys(span.log for span in spans)
        ordered = all(one[1:] < following[1:] for one, following in pairwise(logs))
        return ordered and self.ledger.in_sequence

    @cached_property
    def order(self) -> Order | None:
        """What landed in order, where ``_sequence`` does not order it; None if it is not known."""
        return Order.of(self.ledger, self.done)

    @cached_property
    def landed(self) -> pa.Table:
        return read_landed(self.out)

    @cached_property
    def done(self) -> Landed:
        return Landed(self.spans)

    @cached_property
    def _tables(self) -> list[str]:
        return self._landing.tables()

    def names(self) -> list[TableId]:
        """Tables that have landed, those that these became by RENAME, and those that DDL made and
        that have no rows so far."""
        ledger, found = self.ledger, dict.fromkeys(map(landed_name, self._tables))
        waiting = {one.table for one in ledger.waiting}
        terms, there = ledger.terms[-1:], {(one.db, one.table) for one in ledger.left}
        for boundary in ledger.boundaries:
            if boundary.name in found and boundary.new_name is not None:
                found[boundary.new_name] = None
            name = boundary.new_name or boundary.name
            made = boundary.definition is not None and name in there
            made = made and written_table_name(*name) not in waiting
            if made and all(one.wanted.wants_table(*name) for one in terms):
                found[name] = None
        return [*found]

    def keep(self, name: TableId, merge: Merge) -> KeptTable:
        """Bring one table up to date."""
        table = written_table_name(*name)
        try:
            return self._kept(name, table, merge)
        except (SchemaError, UsageError, InputError) as error:
            return KeptTable(table, "refused", reason=str(error))

    def _kept(self, name: TableId, table: str, merge: Merge) -> KeptTable:
        self.ledger.refuse_waiting([name])
        folder = self.out / current_folder(name)
        last, known = last_batch(folder), known_of(folder)
        if known is not None and last >= self._number:
            return _unchanged(table, known)
        new = _New(self, name, table, last)
        alike = known is not None and new.alike(known)
        if known is not None and new.nothing and alike:
            return _unchanged(table, known)
        found = None
        if known is not None and alike and new.ordinary(known):
            found = self._merged(name, folder, new, known, merge)
        if found is None:
            found = self._replayed(name, folder, new, known)
        return found

    def fresh(self, name: TableId) -> Mapping[str, Any] | None:
        """The facts about a table's current rows, if these have all that has landed of it, and
        nothing waits."""
        table = written_table_name(*name)
        if any(one.table == table and not one.lost for one in self.ledger.waiting):
            return None
        folder = self.out / current_folder(name)
        last, known = last_batch(folder), known_of(folder)
        if known is None or last >= self._number:
            return known
        new = _New(self, name, table, last)
        return known if new.nothing and new.alike(known) else None

    # ---- from all that has landed ---------------------------------------------------------------

    def _replayed(
        self, name: TableId, folder: LandingPath, new: _New, before: Mapping[str, Any] | None
    ) -> KeptTable:
        """Replay the table and rewrite it; ``before``: the facts about its rows, which are the base
        where changes have expired that the replay would need. InputError: they cannot be."""
        taken: list[Ordered] = []

        def changes(names: Iterable[TableId], _: object) -> list[pa.RecordBatch]:
            rows = self._landing.ordered(names, whole=True)
            taken.extend(one for several in rows.values() for one in several)
            return [*batches(self.ledger.boundaries_of, rows)]

        table = written_table_name(*name)
        state = LandedStates(self.ledger, changes, [table], [None]).state()
        if before is not None and self._lacks_expired(state.findings.to_pylist()):
            own = self._own_rows(name, folder, new, before)
            taken = [own.origins]
            state = LandedStates(self.ledger, changes, [table], [None], own).state()
        rows = flat_rows(state.rows, taken)
        if not len(rows):  # no change may have shown its columns
            with suppress(KeyError):  # a type that is not known
                rows = current_schema(state.facts().fields).empty_table()
        self._check()
        findings = tuple(state.findings.to_pylist())
        known = {
            "determined": state.rows_determined, "findings": findings, "key": list(state.key),
            "columns": state.columns and list(state.columns), **new.context,
        }  # fmt: skip
        write_anew(folder, rows, self._number, known)
        how = "replayed"
        return KeptTable(table, how, len(rows), 0, state.rows_determined, findings)

    def _lacks_expired(self, findings: Iterable[Mapping[str, Any]]) -> bool:
        """Whether changes have expired that a state's rows need."""
        gone = {(gap.file, gap.pos) for gap in self.ledger.gaps if gap.code == expired.CODE}
        found = ((one["file"], one["pos"]) for one in findings if one["finding"] == "gap")
        return any(place in gone for place in found)

    def _own_rows(
        self, name: TableId, folder: LandingPath, new: _New, before: Mapping[str, Any]
    ) -> OwnRows:
        """The table's current rows, as a base."""
        why = None if before["determined"] and before["columns"] else "its rows are not determined"
        why = why or new.unlike_its_rows()
        if why is not None:
            text = f"{_EXPIRED}: {why}. Its rows are those after batch {last_batch(folder)}"
            raise InputError(str(self.out), text)
        [*_, place] = folders(self.out, name)
        flat = pa.schema([one for one in schema_of(place) if one.name.startswith("_")])
        held = Held.of(self.ledger, new.spans, last_batch(folder))
        return OwnRows.taken(name, read(folder), flat, before, self.ledger, held)

    # ---- from new changes -----------------------------------------------------------------------

    def _merged(
        self, name: TableId, folder: LandingPath, new: _New, known: Mapping[str, Any], merge: Merge
    ) -> KeptTable | None:
        """Merge the new changes; None if something about them is unexpected."""
        target = opened(folder)
        flat = new.rows()
        touched = None if flat is None else touched_keys(flat, known["key"])
        if target is None or flat is None or touched is None:
            return None
        own = self.ledger.boundaries_of(name)
        versions = [empty_batch(one) for one in self.ledger.joined.schemas[name]]
        known_of_logs = self.ledger.numbering, self.ledger.masks
        changes = Restored(name, flat, versions, *known_of_logs)
        before = as_inserts(key_rows(folder, touched), flat.schema)
        base = Restored(name, before, versions, *known_of_logs)
        seqs = np.arange(len(changes), dtype=np.int64) + len(before)
        early = [replace(boundary, seq=-1) for boundary in own]
        batches = list(changes.batches(seqs, early))
        fold = Fold(known["key"])
        places = np.arange(len(before), dtype=np.int64)
        fold.begin(base.table(places, batches[0].schema))
        fold.compares = known["determined"]
        fold.complete = not any(f["finding"] == "no_beginning" for f in known["findings"])
        definitions = [b.definition for b in own if b.definition is not None]
        fold.definition = definitions[-1] if definitions else None
        for batch in batches:
            fold.feed(batch)
        rows = state_table(fold.settled(), known["columns"], fold.key)
        if fold.findings.found or fold.rejected or not mergeable(rows.schema):
            return None
        made = flat_rows(rows, [(base, places), (changes, seqs)])
        net = net_rows(made, touched, known["key"])
        self._check()
        facts = {**known, **new.context}
        done = net and merge(target, folder, net, known["key"], self._number, facts)
        if done is None:
            return None
        inserted, updated, deleted = done
        if inserted + updated != len(made) or updated + deleted != len(before):
            return None  # it did something else: rewrite everything under the batch's number
        return KeptTable(
            written_table_name(*name), "merged", len(made), deleted, known["determined"],
            tuple(known["findings"]),
        )  # fmt: skip


def _unchanged(table: str, known: Mapping[str, Any]) -> KeptTable:
    return KeptTable(
        table, "unchanged", determined=known["determined"], findings=tuple(known["findings"])
    )


class _New:
    """What landed of a table after a batch."""

    def __init__(self, now: Now, name: TableId, table: str, last: int) -> None:
        self._now, self._name, self._table, self._last = now, name, table, last
        self._ledger = now.ledger
        own = now.landed.filter(pc.equal(now.landed["table"], table))
        self._sources = set(own["source"].to_pylist())
        later = own.filter(pc.greater(own["batch"], last))
        self._expected = sum(later["rows"].to_pylist())
        self.spans = [
            (i, sorted(now.done.of(part), key=lambda span: span.first))
            for i, part in enumerate(self._ledger.parts)
            if part.head is not None
        ]

    @cached_property
    def _boundaries(self) -> list[Boundary]:
        """The boundaries since, of the table or of any."""
        starts = {
            name: max((s.stop for s in spans if s.batch <= self._last), default=0)
            for i, spans in self.spans
            for name in self._ledger.parts[i].names
            if any(span.batch > self._last for span in spans)
        }
        names = set(lineage(self._ledger.boundaries, self._name))
        return [
            b
            for b in self._ledger.boundaries
            if b.pos >= starts.get(b.file, b.pos + 1)
            and (b.may_write or any(b.concerns(name) for name in names))
        ]

    def unlike_its_rows(self) -> str | None:
        """Why its new changes cannot be applied to its rows; None if they can."""
        if not self._in_order():
            return "logs came late"
        if any(span.again is not None and span.batch > self._last for span in self._now.spans):
            return "rows that had waited landed"
        if len(lineage(self._ledger.boundaries, self._name)) > 1:
            return "it was renamed"
        boundaries, version = self._ledger.boundaries, self._ledger.history.version
        if version < CASCADES_LOGGED and parents(boundaries, self._name, self._facts.parents):
            return "foreign keys change it by cascades, which are not logged"
        return None

    @property
    def nothing(self) -> bool:
        """Whether nothing happened, neither to it nor to tables whose foreign keys change its
        rows."""
        return not self._expected and not self._boundaries and not self._struck

    @cached_property
    def _struck(self) -> bool:
        """Whether tables have changed whose foreign keys may change its rows without logging."""
        if self._ledger.history.version >= CASCADES_LOGGED:
            return False
        above = parents(self._ledger.boundaries, self._name, self._facts.parents)
        landed = self._now.landed
        tables = [written_table_name(*one.split(".", 1)) for one in above]
        known = set(landed["table"].to_pylist())
        beside = [one for one, table in zip(above, tables, strict=True) if table not in known]
        later = landed.filter(pc.greater(landed["batch"], self._last))["table"].to_pylist()
        return not set(tables).isdisjoint(later) or self._counting.changes_rows(beside)

    @cached_property
    def _facts(self) -> TableFacts:
        known = self._ledger.history.layouts.get(self._name)
        return known[-1] if known else TableFacts(-1, None, None, ())

    @cached_property
    def gaps(self) -> list[str]:
        """Gaps that may concern it, as texts, but for what expired: its rows had that."""
        names = [".".join(one) for one in lineage(self._ledger.boundaries, self._name)]
        return sorted(
            f"{gap.code} {gap.file} {gap.pos}"
            for gap in self._ledger.gaps
            if gap.code != expired.CODE and gap.concerns(names)
        )

    @property
    def context(self) -> dict[str, Any]:
        """Facts that show later whether something else has changed."""
        masks = [mask.text for mask in self._ledger.masks.masks]
        names = lineage(self._ledger.boundaries, self._name)
        given = sorted(repr(one) for n in names if (one := self._ledger.given.get(n)) is not None)
        mark = hashlib.sha256("".join(given).encode()).hexdigest() if given else None
        return {"gaps": self.gaps, "masks": masks, "given": mark}

    def alike(self, known: Mapping[str, Any]) -> bool:
        """Whether the same gaps, masks and given definitions are known."""
        return all(known.get(name) == value for name, value in self.context.items())

    def ordinary(self, known: Mapping[str, Any]) -> bool:
        """Whether only row changes came, after what is known, and no other doubts exist."""
        if not known["key"] or self._boundaries:
            return False
        findings = {finding["finding"] for finding in known["findings"]}
        if findings - HARMLESS or self.gaps or not self._expected:
            return False
        ordinary = self._in_order() and not self._numbered() and not self._struck
        ordinary = ordinary and self._in_sequence()
        return ordinary and self._of_one_history() and self._all_committed()

    def _in_order(self) -> bool:
        """Whether all of it comes after what was there before."""
        own = [(i, s) for i, spans in self.spans for s in spans if s.source in self._sources]
        old = [i for i, span in own if span.batch <= self._last]
        new = [i for i, span in own if span.batch > self._last]
        return not old or not new or min(new) >= max(old)

    def _in_sequence(self) -> bool:
        """Whether ``_sequence`` orders it."""
        own = (s for _, spans in self.spans for s in spans if s.source in self._sources)
        return self._now.in_sequence(span for span in own if span.batch > self._last)

    def _of_one_history(self) -> bool:
        """Whether its servers, if there are several, replicate from each other."""
        joined = self._ledger.joined
        own = {i for i, spans in self.spans if any(s.source in self._sources for s in spans)}
        names = {one.source for one in joined.positions if one.part in own and one.source}
        return joined.series.joined(names)

    def _numbered(self) -> bool:
        """Whether an ALTER TABLE gave its rows a key that is in no log."""
        own = self._ledger.boundaries_of(self._name)
        added = {column for b in own if b.alteration for column in b.alteration.added}
        return not added.isdisjoint(self._facts.key)

    def _all_committed(self) -> bool:
        """Whether every transaction that touched it was committed."""
        findings = StateFindings()
        self._counting.note([self._name], findings)
        return not findings.found

    @cached_property
    def _counting(self) -> Counting:
        engine = transactional_of(self._facts.engine)
        ledger = self._ledger.transactions
        return Counting(ledger, None, transactional=engine)

    def rows(self) -> pa.Table | None:
        """Its changes, in order; None if they are not those in the journal."""
        found = list(folders(self._now.out, self._name))
        if len(found) != 1:
            return None
        rows = read(found[0], list(self._within()))
        if len(rows) != self._expected:
            return None
        return rows.take(pc.sort_indices(rows["_sequence"]))

    def _within(self) -> Iterator[Within]:
        """Their range in ``_sequence`` and ``_commit_version``."""
        for _, spans in self.spans:
            start = 0
            for span in spans:
                if span.batch > self._last and span.source in self._sources:
                    yield _within(span, start)
                start = span.stop


def _within(span: Span, start: int) -> Within:
    number = file_number(span.file)
    low, high = (sequence_from(span.begun, number, pos) for pos in (start, span.stop))
    versions = (number << POSITION_BITS) + start, (number << POSITION_BITS) + span.stop
    return Within(low, high, *versions)
