"""One row's life: its changes in log order, also under its earlier and later keys."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, TypeAlias

import pyarrow as pa
import pyarrow.compute as pc

from binlogkit.analyses.point_in_time.boundary import Boundary, parents
from binlogkit.analyses.point_in_time.counting import Counting
from binlogkit.analyses.point_in_time.findings import StateFinding, StateFindings
from binlogkit.analyses.point_in_time.identity import Identity, last_name
from binlogkit.analyses.point_in_time.lives import Lives, Step, in_order
from binlogkit.constants import TableId
from binlogkit.errors import UsageError
from binlogkit.frames.fields.field import arrow_schema
from binlogkit.frames.fields.rows import LIFE
from binlogkit.frames.key_texts import values_of
from binlogkit.log.filter_warnings import UNKNOWN_TABLE, others
from binlogkit.log.states.doubts import doubt, doubts_of, noted, of_gaps, with_more
from binlogkit.log.states.forwards import full_name, transactional_of
from binlogkit.log.states.gaps import assumed
from binlogkit.log.states.images.contradictions import Contradiction
from binlogkit.log.states.life.events import FROM_BATCH, changes_in, doubtful, written
from binlogkit.log.states.life.reading import Candidates, KeptChanges
from binlogkit.log.states.point import TableArgs
from binlogkit.log.states.reading import RowSource, StateReading
from binlogkit.overview import Overview, Overviewed, yes_or_no
from binlogkit.rows.filter_args import check_names, texts
from binlogkit.rows.filters import TableName, written_table_name
from binlogkit.sources.log_format import CASCADES_LOGGED

if TYPE_CHECKING:
    import pandas as pd

    from binlogkit.analyses.point_in_time.codes import Integers
    from binlogkit.log.states.places import Logs
    from binlogkit.log.streams import Streams
    from binlogkit.rows.schema import TableDefinition

    Look: TypeAlias = Callable[[Identity, Any, Integers], Candidates]

_SHOWN = ("file", "pos", "timestamp", "thread_id", "life", "op")
_NO_KEY = "{} has no primary key, nor a unique one without NULL: its rows cannot be distinguished"
_KEY_UNKNOWN = (
    "the key of {} is not known: it is neither in metadata nor in a CREATE TABLE; name its columns "
    "(--key-columns, key_columns), or give a schema"
)
_NOTHING = "No change that counts has a row with this key."
_OF_TRANSACTION = ("server_id", "thread_id", "xid", "xa")


@dataclass(frozen=True, slots=True, repr=False)
class RowLife(Overviewed):
    """One row's life.

    ``rows``: its events in log order, the columns of frames.fields.rows.LIFE, images as JSON text;
    ``table``: the table's name at the end; ``key``: its key's columns there; ``findings``: what
    leaves parts of it open, as in analyses.point_in_time; ``assumes``: the assumptions that the log
    cannot show, a sentence each; ``names``: all names of the table.
    """

    table: TableId
    key: tuple[str, ...]
    rows: pa.Table
    findings: pa.Table
    assumes: tuple[str, ...]
    names: frozenset[TableId] = frozenset()

    @property
    def determined(self) -> bool:
        """Whether the log holds every change of the row, and every cell of its images is known."""
        return all(self.findings["determined"].to_pylist()) and not self.unknown_cells

    @property
    def unknown_cells(self) -> int:
        """How many columns of its changes are not known, before or after."""
        return sum(len(chunk.flatten()) for chunk in self.rows["unknown"].chunks)

    def records(self) -> Iterator[dict[str, Any]]:
        """One dict per event, as ``life --format jsonl``."""
        for record in self.rows.to_pylist():
            images = {n: record[n] and json.loads(record[n]) for n in ("before", "after")}
            yield record | images

    def overview(self) -> Overview:
        """Its events, what they changed in words."""
        from binlogkit.reports.changes import change_text

        rows = (
            {n: one[n] for n in _SHOWN} | {"changes": change_text(one) or one["query"]}
            for one in self.records()
        )
        return Overview(
            f"life of a row of {'.'.join(self.table)}",
            [("events", self.rows.num_rows), ("determined", yes_or_no(self.determined))],
            rows,
        )

    def frame(self) -> pd.DataFrame:
        """The events as pandas, ``before`` and ``after`` as JSON text."""
        from binlogkit.frames.natural import natural

        return natural(self.rows, LIFE)


def life_of(
    log: Streams, table: str, value: Any, key_columns: Sequence[str] | None, how: TableArgs
) -> RowLife:
    """See :meth:`Log.life`."""
    check_key(key_columns)
    reading = StateReading(log, [table], frozenset(texts("source", how.get("source"))))
    return Looking(log, reading, table, value, key_columns, how.get("transactional")).life()


def check_key(columns: Sequence[str] | None) -> None:
    """UsageError: the columns of a key are given as one text."""
    if isinstance(columns, str):
        raise UsageError(f"key_columns is a list of names, not {columns!r}")


class Looking:
    """Logs read for one row; ``reading``: of them; ``look``: as :func:`.reading.candidates` does,
    for those who do not read."""

    def __init__(
        self,
        log: Logs,
        reading: RowSource,
        table: str,
        value: Any,
        key_columns: Sequence[str] | None,
        transactional: bool | None = None,
        *,
        look: Look | None = None,
    ) -> None:
        from binlogkit.log.states.life.reading import candidates

        self._look = look or partial(candidates, reading)
        self._log, self._reading = log, reading
        self._value, self._columns = value, key_columns
        self._name = full_name(reading.history, table)
        self._transactional = transactional

    def life(self) -> RowLife:
        """The answer."""
        reading, findings = self._reading, StateFindings()
        history = reading.history
        ended = Counting(reading.transactions, None)
        counted = ended.ended
        last = last_name([b for b in reading.boundaries if ended.happened(b)], self._name)
        layout = history.layout(last if last in history.layouts else self._name, counted)
        engine = self._transactional
        engine = transactional_of(layout.engine) if engine is None else engine
        counts = Counting(reading.transactions, None, transactional=engine)
        happened = list(counts.those(reading.boundaries))
        key = self._key(layout.key, layout.columns)
        identity = Identity.of(happened, self._name, key)
        met = [history.sources.get(name, set()) for name in identity.names]
        self._log.one_history(set[str]().union(*met), f"{written_table_name(*self._name)} is")
        self._numbers, self._undone = counts.numbers, reading.undone
        if key:
            values_of(self._value, key, written_table_name(*self._name))
        gathered = self._whole(identity)
        if gathered.misfit is not None and not gathered.asked:
            raise gathered.misfit
        tracked = gathered.keys_tracked(self._numbers, self._undone)
        names = sorted(set(identity.names))
        counts.note(names, findings)
        above = list[str]()
        if history.version < CASCADES_LOGGED:
            above = parents(happened, identity.names[-1], layout.parents, reading.given.values())
        counts.note_cascades(above, findings)
        lives = Lives(list(gathered.asked), completed=not counts.changes_rows(above))
        rows = self._story(lives, gathered.found(tracked, counts.numbers, self._undone), identity,
                           happened)  # fmt: skip
        for boundary in happened:
            kind = doubtful(boundary, mine=identity.happens(boundary))
            if kind is not None:
                findings.add(kind, boundary.file, boundary.pos)
        if gathered.without:
            findings.add("key_missing", times=gathered.without)
        supposed = [*layout.supposed, *reading.suppositions]
        more = doubts_of(layout, history, counted, supposed)
        more += self._missing(names, above, tracked)
        if not rows:
            more.append(noted("no_change", _NOTHING))
        if self._name not in history.layouts and not any(b.concerns(self._name) for b in happened):
            there = others(TableName(*self._name), self._log.met)
            more.append(doubt(UNKNOWN_TABLE, f"The log does not name this table{there}."))
        return RowLife(
            identity.names[-1],
            key,
            pa.Table.from_pylist([written(row) for row in rows], schema=arrow_schema(LIFE)),
            with_more(findings.table(), more),
            (*reading.assumes, *assumed(self._log, history.version)),
            frozenset(names),
        )

    def _key(self, known: tuple[str, ...], columns: tuple[str, ...] | None) -> tuple[str, ...]:
        if self._columns is not None:
            if columns is not None:
                check_names(self._columns, columns, "column")
            return tuple(self._columns)
        if not known and self._name in self._reading.history.layouts:
            kinds = {schema.key_kind for schema in self._log.met.get(self._name, ())}
            text = _NO_KEY if kinds == {"none"} else _KEY_UNKNOWN
            raise UsageError(text.format(written_table_name(*self._name)))
        return known

    def _whole(self, identity: Identity) -> Candidates:
        """All changes of the row, and what they show."""
        gathered = self._look(identity, self._value, self._numbers)
        self._gaps = self._reading.gaps
        tracked = gathered.keys_tracked(self._numbers, self._undone)
        own = gathered.found(tracked, self._numbers, self._undone)
        same = self._columns is None  # else rows are known by another key than the table's
        known = [kept.batch for kept in own] if same else None
        self._contradictions = self._reading.unlogged(self._gaps, known)
        return gathered

    def _missing(
        self, names: list[TableId], above: list[str], tracked: set[str]
    ) -> list[StateFinding]:
        """Findings about gaps in which the row may have changed, also by foreign keys of the tables
        ``above``, and about changes outside the log."""
        concerned = [*above, *(".".join(name) for name in names)]
        gaps = [gap for gap in self._gaps if gap.concerns(concerned)]
        return of_gaps([*gaps, *self._shown(names, tracked)])

    def _shown(self, names: list[TableId], tracked: set[str]) -> Iterator[Contradiction]:
        for found in self._contradictions:
            text = json.dumps(list(found.key.values()), ensure_ascii=False, separators=(",", ":"))
            if found.name[1:] in names and (text in tracked or found.kind is None):
                yield found

    # ---- the answer -----------------------------------------------------------------------------

    def _story(
        self, lives: Lives, found: list[KeptChanges], identity: Identity, happened: list[Boundary]
    ) -> list[dict[str, Any]]:
        by_seq = {row["seq"]: row for row in self._reading.happened().to_pylist()}
        mine = [b for b in happened if identity.happens(b)]
        changes: list[Step] = [
            (seq, partial(lives.change, record, was, now, names))
            for kept in found
            for seq, record, was, now, names in changes_in(kept, self._definitions(mine))
        ]
        events: list[Step] = [
            (b.seq, partial(lives.happen, self._statement(by_seq[b.seq]), b)) for b in mine
        ]
        doubts: list[Step] = [
            (b.seq, lives.doubt) for b in happened if b.may_write and b not in mine
        ]
        doubts += [(gap.seq, lives.doubt) for gap in self._gaps]
        in_order(events, doubts, changes)
        return list(lives.story())

    def _definitions(self, mine: list[Boundary]) -> list[tuple[int, TableDefinition | None]]:
        """What is known of the table from each place on."""
        given = self._reading.given.get(self._name)
        return [(-1, given), *((b.seq, b.definition) for b in mine if b.action != "truncate")]

    def _statement(self, boundary: dict[str, Any]) -> dict[str, Any]:
        """The record of what happened to the table."""
        of = self._reading.transactions
        one = of.filter(pc.equal(of["tx"], -1 if boundary["tx"] is None else boundary["tx"]))
        rows = one.select(_OF_TRANSACTION).to_pylist()
        known = {name: rows[0][name] if rows else None for name in _OF_TRANSACTION}
        own = {name: boundary.get(name) for name in FROM_BATCH if name not in _OF_TRANSACTION}
        db, table = boundary["db"] or "", boundary["table"] or ""
        return own | known | {
            "row": None, "db": db, "table": table, "op": boundary["action"],
            "query": boundary["statement"], "before": None, "after": None,
            "changed": [], "unknown": [],
        }  # fmt: skip
