"""The statements that logs hold as text, and what they do to tables: views of a reading's windows.

BEGIN and COMMIT, which the scan takes without Python, are read from the buffers by the column.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, TypeAlias

import numpy as np
import pyarrow as pa

from binlogkit.constants import HEADER_LENGTH, EventType
from binlogkit.events.base import Event
from binlogkit.events.query import ExecuteLoadQuery, Query
from binlogkit.frames.event_layouts import little_endian
from binlogkit.frames.fields.field import arrow_schema, to_table
from binlogkit.frames.fields.ledger import BOUNDARY, STATEMENT
from binlogkit.frames.transaction_facts import TransactionFacts
from binlogkit.frames.wanted import wanted_events
from binlogkit.rows.ddl import StatementKind, TableChange
from binlogkit.rows.filters import Filters
from binlogkit.rows.resolve import key_of
from binlogkit.rows.window import LOOK, SEQ_SHIFT, Looked, Window

#: A statement or a boundary, with the keys that STATEMENT and BOUNDARY declare.
Record: TypeAlias = dict[str, Any]

_BEGIN_LENGTH = 5  # characters of the one statement; COMMIT has more
_POST_HEADER = 13
_SIGNED = 63  # bits of an int64 beside its sign


class Statements:
    """Every statement of the windows that ``filters`` want."""

    def __init__(self, filters: Filters) -> None:
        self._filters = filters
        self._known = TransactionFacts()
        self._parts: list[pa.Table] = []

    def feed(self, window: Window) -> None:
        """Take the next window."""
        self._known.add(window.transactions, window.facts)
        stretch = window.stretch
        if stretch is None:
            return
        entries = stretch.entries
        wanted = wanted_events(self._filters, window, self._known)
        plain = (entries["type"] == EventType.QUERY_EVENT) & (entries["notes"] & LOOK == 0)
        if wanted is not None:
            plain &= wanted
        places, tables = [], []
        here = np.flatnonzero(plain)
        if len(here):
            places.append(here)
            tables.append(self._plain(window, here))
        items = [item for item in window.looked if wanted is None or wanted[item.i]]
        numbers = np.array([item.number for item in items], np.int64)
        gtids = self._known.of_events("gtid", numbers)
        found = {
            item.i: _statement(item, window.source, gtid)
            for item, gtid in zip(items, gtids, strict=True)
            if isinstance(item.event.body, (Query, ExecuteLoadQuery))
        }
        if found:
            places.append(np.array([*found]))
            tables.append(to_table([*found.values()], STATEMENT))
        if tables:
            self._parts.append(_in_order(places, tables))
        self._known.forget(self._known.last)

    def _plain(self, window: Window, here: np.ndarray[Any, Any]) -> pa.Table:
        """BEGIN and COMMIT."""
        stretch = window.stretch
        assert stretch is not None
        entries, count = stretch.entries[here], len(here)
        with memoryview(stretch.data) as view:
            data = np.frombuffer(view, np.uint8)
            at = entries["offset"] + HEADER_LENGTH
            status = little_endian(data, at + 11, 2)
            lengths = data[at + 8].astype(np.int64)
            names = _texts(data, at + _POST_HEADER + status, lengths)
            size = entries["size"] - HEADER_LENGTH - stretch.tail
            begins = size - _POST_HEADER - status - lengths - 1 == _BEGIN_LENGTH
            thread, took, error = (
                little_endian(data, at + first, width) for first, width in ((0, 4), (4, 4), (9, 2))
            )
            del data
        inners = stretch.inners[here]
        inner = pa.array(inners, pa.int64(), mask=inners < 0)
        columns: dict[str, Any] = {
            "source": pa.repeat(pa.scalar(window.source, pa.string()), count),
            "file": pa.repeat(pa.scalar(window.carrier.name), count),
            "pos": stretch.positions[here],
            "end_pos": stretch.ends[here],
            "inner": inner,
            "timestamp": entries["timestamp"].astype(np.int64),
            "server_id": entries["server_id"].astype(np.int64),
            "gtid": self._known.of_events("gtid", entries["tx"]),
            "thread_id": thread,
            "db": names,
            "query": np.where(begins, "BEGIN", "COMMIT").tolist(),
            "kind": np.where(begins, "begin", "commit").tolist(),
            "exec_time": took,
            "error_code": error,
        }
        schema = arrow_schema(STATEMENT)
        return pa.table(
            [pa.array(columns[f.name], f.type) if not isinstance(columns[f.name], pa.Array)
             else columns[f.name].cast(f.type) for f in schema],
            schema=schema,
        )  # fmt: skip

    def fresh(self) -> pa.Table:
        """The statements since the last call, in log order."""
        found, self._parts = self.finish(), []
        return found

    def finish(self) -> pa.Table:
        """The statements so far, in log order."""
        return pa.concat_tables(self._parts) if self._parts else to_table([], STATEMENT)


class Boundaries:
    """What the windows' statements do to tables, as far as ``filters`` want them.

    ``found``: the boundaries; ``changes``: what each is, with its definitions, by its ``seq``;
    ``folded``: both are in small letters, as the server stores names.
    """

    def __init__(self, filters: Filters) -> None:
        self._filters = filters
        self._known = TransactionFacts()
        self.found: list[Record] = []
        self.changes: dict[int, TableChange] = {}
        self.folded = False

    def fold(self) -> None:
        """The server turned out to store all names in small letters: also those met before."""
        self.folded = True
        self.found = [in_small_letters(boundary) for boundary in self.found]
        self.changes = {seq: change.in_small_letters() for seq, change in self.changes.items()}

    def feed(self, window: Window) -> list[tuple[int, Record]]:
        """Take the next window; the boundaries in it, with their entries."""
        if window.folded and not self.folded:
            self.fold()
        self._known.add(window.transactions, window.facts)
        stretch = window.stretch
        here = [item for item in window.looked if item.changes] if stretch is not None else []
        if not here or stretch is None:
            self._known.forget(self._known.last)
            return []
        wanted = wanted_events(self._filters, window, self._known)
        here = [item for item in here if wanted is None or wanted[item.i]]
        numbers = np.array([item.number for item in here], np.int64)
        names = ("gtid", "commit_timestamp")
        looked = zip(here, *(self._known.of_events(n, numbers) for n in names), strict=True)
        made: list[tuple[int, Record]] = []
        for item, gtid, commit in looked:
            facts: Record = {"source": window.source, "gtid": gtid, "commit_timestamp": commit}
            seq = stretch.ordinal + item.i << SEQ_SHIFT
            changes = [c.in_small_letters() if self.folded else c for c in item.changes]
            self.changes |= {seq + i: change for i, change in enumerate(changes)}
            made += [(item.i, record | facts) for record in _boundaries(item, changes, seq)]
        self.found += [boundary for _, boundary in made]
        self._known.forget(self._known.last)
        return made

    def finish(self, *, first: int = 0) -> pa.Table:
        """The boundaries in log order, from the one of number ``first`` on."""
        return to_table(self.found[first:], BOUNDARY)


def in_small_letters(boundary: Record) -> Record:
    """A boundary with the names that a server with lower_case_table_names=1 stores."""
    names = ("db", "table", "new_db", "new_table")
    return boundary | {name: boundary[name] and boundary[name].lower() for name in names}


def _statement(item: Looked, source: str | None, gtid: str | None) -> Record:
    """The statement of an event that Python read."""
    body, raw = item.event.body, item.event.raw
    assert isinstance(body, (Query, ExecuteLoadQuery))
    return {
        "source": source, "file": raw.file, "pos": raw.pos, "end_pos": raw.end_pos,
        "inner": raw.inner, "timestamp": raw.header.timestamp, "server_id": raw.header.server_id,
        "gtid": gtid, "thread_id": body.thread_id, "db": body.schema, "query": body.query,
        "kind": str(item.kind or StatementKind.DML), "exec_time": body.exec_time,
        "error_code": body.error_code,
    }  # fmt: skip


def _boundaries(item: Looked, changes: Sequence[TableChange], seq: int) -> Iterator[Record]:
    """What an event does to tables, but for its transaction's facts; ``seq``: its place."""
    raw, body = item.event.raw, item.event.body
    text = body.query if isinstance(body, (Query, ExecuteLoadQuery)) else ""
    facts: Record = {
        "file": raw.file, "pos": raw.pos, "end_pos": raw.end_pos, "inner": raw.inner,
        "tx": None if item.number < 0 else item.number, "timestamp": raw.header.timestamp,
    }  # fmt: skip
    return boundary_records(facts, seq, changes, text, sql_mode_of(item.event))


def sql_mode_of(event: Event) -> int | None:
    """The session's sql_mode of a statement, None where its event lacks it."""
    if not isinstance(event.body, (Query, ExecuteLoadQuery)):
        return None
    mode = event.body.status_vars.sql_mode
    # Bits that no server has, nor the columns for it.
    return None if mode is None or mode >> _SIGNED else mode


def boundary_records(
    facts: Record, seq: int, changes: Sequence[TableChange], statement: str, sql_mode: int | None
) -> Iterator[Record]:
    """The boundaries that an event makes: ``facts`` of the event and its transaction, each with
    what a change does; ``seq``: of the first."""
    for i, change in enumerate(changes):
        known = change.definition
        yield facts | {
            "seq": seq + i, "db": change.db, "table": change.table,
            "action": change.action, "new_db": change.new_db, "new_table": change.new_table,
            "columns": None if known is None else tuple(c.name for c in known.columns),
            "key": None if known is None else key_of(known)[0],
            "reason": change.reason, "statement": statement, "sql_mode": sql_mode,
        }  # fmt: skip


def _in_order(places: list[np.ndarray[Any, Any]], tables: list[pa.Table]) -> pa.Table:
    if len(tables) == 1:
        return tables[0]
    order = np.argsort(np.concatenate(places), kind="stable")
    return pa.concat_tables(tables).take(pa.array(order)).combine_chunks()


def _texts(
    data: np.ndarray[Any, Any], at: np.ndarray[Any, Any], lengths: np.ndarray[Any, Any]
) -> list[str]:
    """The texts at some places; few of them differ."""
    from binlogkit._kernel.cursor import decoded

    texts = [""] * len(at)
    for length in np.unique(lengths).tolist():
        here = np.flatnonzero(lengths == length)
        if not length:
            continue
        rows = data[at[here][:, None] + np.arange(length)]
        unique, places = np.unique(rows, axis=0, return_inverse=True)
        names = [decoded(row.tobytes()) for row in unique]
        for i, place in zip(here.tolist(), places.reshape(-1).tolist(), strict=True):
            texts[i] = names[place]
    return texts
