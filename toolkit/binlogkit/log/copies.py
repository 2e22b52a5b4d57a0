"""Whether copies of a transaction (same GTID) are the same.

Row images, statement texts and their variables are compared. Positions, times, checksums, table ids
and the distribution of rows over events are not: each server writes them anew.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from hashlib import blake2b
from typing import Any

import numpy as np

from binlogkit.constants import EventType
from binlogkit.errors import DamageError, InputError
from binlogkit.events.query import ExecuteLoadQuery, Query
from binlogkit.events.reader import EventParser
from binlogkit.events.rows import RowsEvent
from binlogkit.rows.gtid_ledger import GtidLedger, by_origin
from binlogkit.rows.options import ReadOptions
from binlogkit.rows.reading import Reading
from binlogkit.rows.soundness.finding import Finding, Place, finding
from binlogkit.rows.window import LOOK, ROWS_EVENTS, Stretch, Window
from binlogkit.sources.carriers import Carrier

_VARIABLES = (EventType.INTVAR_EVENT, EventType.RAND_EVENT, EventType.USER_VAR_EVENT)
_XID_COMMENT = re.compile(r"\s*/\* xid=\d+ \*/\s*$")  # of a server's own, after its DDL (8.0)
_CONTENT = ROWS_EVENTS.copy()
_CONTENT[list(_VARIABLES)] = True


Differing = tuple[Finding, frozenset[str]]


def differing(
    logs: Iterable[Carrier], options: ReadOptions, copied: GtidLedger, files: Sequence[str]
) -> Iterator[Differing]:
    """Findings about the transactions in ``copied``, and the tables (``db.table``) that they
    change.

    ``files``: the logs that hold some of them; they are read again.
    """
    if not copied:
        return
    carriers = [carrier for carrier in logs if carrier.name in files]
    reading = Reading(carriers, replace(options, on_damage="report", duplicates="keep"))
    copies = _Copies(copied)
    try:
        for window in reading.windows():
            yield from copies.feed(window)
    except (DamageError, InputError):
        pass  # the first reading already reported it
    yield from copies.end()


class _Copies:
    """Takes the windows of logs; keeps a digest of the first copy of each transaction."""

    def __init__(self, copied: GtidLedger) -> None:
        self._copied = copied
        self._known: dict[str, tuple[bytes, str, int]] = {}
        self._digest = blake2b(digest_size=8)
        self._open: tuple[int, str, Place] | None = None  # the transaction being read
        self._same = b""  # the column layouts of earlier rows
        self._tables: set[str] = set()

    def feed(self, window: Window) -> Iterator[Differing]:
        """Take the next window."""
        stretch = window.stretch
        gtids = self._gtids(window)
        if stretch is None or not gtids:
            return
        entries = stretch.entries
        looked = {item.i: item for item in window.looked}
        content = _CONTENT[entries["type"]] | (entries["notes"] & LOOK > 0)
        content &= np.isin(entries["tx"], list(gtids))
        for i in np.flatnonzero(content).tolist():
            number = int(entries["tx"][i])
            if self._open is None or self._open[0] != number:
                yield from self.end()
                at = window.transactions["pos"][number - int(window.transactions["number"][0])]
                file = window.carrier.name
                self._open = number, gtids[number], Place(file, int(at), gtid=gtids[number])
            item = looked.get(i)
            self._add(window, stretch, i, None if item is None else item.event.body)

    def _gtids(self, window: Window) -> dict[int, str]:
        """The copied transactions of a window, by number."""
        records = window.transactions
        first = int(records["number"][0]) if len(records) else 0
        known = window.facts.gtids_of(records)
        gtids = {place: gtid for place, (gtid, _) in known.items() if gtid is not None}
        found: dict[int, str] = {}
        for origin, places, numbers in by_origin(records, np.ones(len(records), bool), gtids):
            here = self._copied.has(origin, numbers)
            for place, number in zip(places[here].tolist(), numbers[here].tolist(), strict=True):
                found[first + place] = f"{origin}:{number}"
        return found

    def _add(self, window: Window, stretch: Stretch, i: int, body: Any) -> None:
        if isinstance(body, (Query, ExecuteLoadQuery)):
            text = _XID_COMMENT.sub("", body.query)
            if text not in ("BEGIN", "COMMIT"):
                # A replica gives XA START a default database of its own.
                database = "" if text.startswith("XA ") else body.schema
                self._take(f"{database}\0{text}".encode("utf-8", "surrogateescape"))
        elif stretch.entries["type"][i] in _VARIABLES:
            self._take(stretch.body(i))
        elif ROWS_EVENTS[stretch.entries["type"][i]] and stretch.entries["slot"][i] >= 0:
            raw = stretch.raw(i, window.carrier.name)
            rows = EventParser(lambda _: None, window.context).parse(raw).body
            if isinstance(rows, RowsEvent):
                schema = window.schemas[int(stretch.entries["slot"][i])]
                name = ("", "") if schema is None else schema.name
                self._tables.add(".".join(name))
                columns = rows.before_columns, rows.after_columns
                kind = repr((name, rows.op, rows.partial, rows.column_count, columns)).encode()
                if kind != self._same:
                    self._take(kind)
                    self._same = kind
                self._digest.update(rows.data)

    def _take(self, data: bytes) -> None:
        self._same = b""
        self._digest.update(b"\0%d\0" % len(data))
        self._digest.update(data)

    def end(self) -> Iterator[Differing]:
        """End the current transaction."""
        if self._open is None:
            return
        _, gtid, at = self._open
        digest, self._open = self._digest.digest(), None
        tables, self._tables = frozenset(self._tables), set()
        self._digest, self._same = blake2b(digest_size=8), b""
        known = self._known.setdefault(gtid, (digest, at.file, at.pos or 0))
        if known[0] != digest:
            text = f"{gtid} differs from its copy in {known[1]} at {known[2]}"
            yield finding("copies_differ", at, text), tables
