"""Whether copies of a transaction (same GTID) are the same.

Row images, statement texts and their variables are compared. Positions, times, checksums, table ids
and the distribution of rows over events are not: each server writes them anew. Nor are, between
servers of several versions, the bits of a bitmap of NULLs that are of no column: up to 5.7 a server
sets them, from 8.0 on it does not (5.7.22, 8.0.31).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from hashlib import blake2b
from typing import Any

import numpy as np

from binlogkit._kernel.codecs import decoder_for
from binlogkit.constants import EventType
from binlogkit.errors import DamageError, InputError
from binlogkit.events.gtid_set import GtidSet
from binlogkit.events.query import ExecuteLoadQuery, Query
from binlogkit.events.reader import EventParser
from binlogkit.events.rows import RowsEvent
from binlogkit.rows.gtid_ledger import GtidLedger, by_origin
from binlogkit.rows.options import ReadOptions
from binlogkit.rows.reading import Reading
from binlogkit.rows.schema import TableSchema, cell_spec, columns_in
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
    options = replace(options, on_damage="report", duplicates="keep")
    copies = _Copies(copied)
    found = list(copies.read(carriers, options))
    if found and len(copies.versions) > 1:
        gtids = GtidSet.of(one.place.gtid for one, _ in found if one.place.gtid)
        found = list(_Copies(GtidLedger(gtids), padded=True).read(carriers, options))
    yield from found


def unpadded(rows: RowsEvent, schema: TableSchema | None) -> bytes:
    """Row images as stored, but for the bits of no column, which are 0; those of differences of
    documents, and what cannot be read, as they are."""
    if schema is None:
        return rows.data
    present = [
        columns_in(bits, schema.columns)
        for bits in (rows.before_columns, rows.after_columns)
        if bits is not None and rows.column_count == len(schema.columns) and not rows.partial
    ]
    decoders = {column.index: decoder_for(cell_spec(column)) for one in present for column in one}
    data, at = bytearray(rows.data), 0
    try:
        while any(present) and at < len(data):
            for columns in present:
                width = -(-len(columns) // 8)
                nulls = int.from_bytes(data[at : at + width], "little")
                own = nulls & ((1 << len(columns)) - 1)
                data[at : at + width] = own.to_bytes(width, "little")
                at += width
                for i, column in enumerate(columns):
                    if not own >> i & 1:
                        _, at = decoders[column.index](memoryview(data), at, len(data))
    except ValueError:
        return rows.data
    return bytes(data)


class _Copies:
    """Takes the windows of logs; keeps a digest of the first copy of each transaction.

    ``padded``: bits of no column may differ; ``versions``: of the servers that wrote the logs.
    """

    def __init__(self, copied: GtidLedger, *, padded: bool = False) -> None:
        self.versions = set[str]()
        self._copied, self._padded = copied, padded
        self._known: dict[str, tuple[bytes, str, int]] = {}
        self._digest = blake2b(digest_size=8)
        self._open: tuple[int, str, Place] | None = None  # the transaction being read
        self._same = b""  # the column layouts of earlier rows
        self._tables: set[str] = set()

    def read(self, logs: Sequence[Carrier], options: ReadOptions) -> Iterator[Differing]:
        """The findings of logs."""
        with suppress(DamageError, InputError):  # the first reading already reported it
            for window in Reading(logs, options).windows():
                yield from self._feed(window)
        yield from self._end()

    def _feed(self, window: Window) -> Iterator[Differing]:
        stretch = window.stretch
        gtids = self._gtids(window)
        if stretch is None or not gtids:
            return
        self.versions.add(window.context.server_version)
        entries = stretch.entries
        looked = {item.i: item for item in window.looked}
        content = _CONTENT[entries["type"]] | (entries["notes"] & LOOK > 0)
        content &= np.isin(entries["tx"], list(gtids))
        for i in np.flatnonzero(content).tolist():
            number = int(entries["tx"][i])
            if self._open is None or self._open[0] != number:
                yield from self._end()
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
                self._digest.update(unpadded(rows, schema) if self._padded else rows.data)

    def _take(self, data: bytes) -> None:
        self._same = b""
        self._digest.update(b"\0%d\0" % len(data))
        self._digest.update(data)

    def _end(self) -> Iterator[Differing]:
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
