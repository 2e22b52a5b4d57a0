"""Events that lie end to end as the kernel's scan found them, and what they are indexed by."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from binlogkit._kernel.native.batch import RowsPass
from binlogkit._kernel.native.index import ENTRY, TRANSACTION, Index
from binlogkit._kernel.native.scan import Scanner
from binlogkit.constants import CHECKSUM_LENGTH, EventType
from binlogkit.events.statement_text import statement_text
from binlogkit.rows.detours import Cause
from binlogkit.sources.chunks import Chunks

__all__ = ["ENTRIES", "ROWS_EVENTS", "TRANSACTIONS", "Facts", "Obstacle", "Stretch"]

#: The kernel's records as numpy reads them.
ENTRIES = np.dtype(list(ENTRY))
TRANSACTIONS = np.dtype(list(TRANSACTION))
#: Whether a type code is a rows event's.
ROWS_EVENTS = np.zeros(256, bool)
ROWS_EVENTS[[*range(23, 26), *range(30, 33), EventType.PARTIAL_UPDATE_ROWS_EVENT]] = True

_COPIED = 1 << 20  # bytes that are rather copied than kept


class Obstacle(Exception):
    """What the scan is not made for; ``offset``: of the event that is to be read otherwise,
    ``inner``: of its inner events, so many were handed over (-1: not even the event itself)."""

    def __init__(self, offset: int, inner: int = -1, cause: Cause = Cause.DAMAGE) -> None:
        super().__init__(offset)
        self.offset = offset
        self.inner = inner
        self.cause = cause


@dataclass(slots=True)
class Facts:
    """What Python alone knows of transactions, by number: GTIDs with tags, XA ids."""

    gtids: dict[int, tuple[str | None, int | None]] = field(default_factory=dict)
    xa: dict[int, str] = field(default_factory=dict)


@dataclass(slots=True)
class Stretch:
    """Events that lie end to end, in one buffer, or in one payload.

    ``entries``: as the kernel's ENTRY; ``ordinal``: of the first in the walk; ``origin``: offset of
    the buffer's first byte; ``outer``: (pos, end_pos) of the payload; ``inner``: of the first entry
    in it.
    """

    scanner: Scanner
    index: Index
    data: Any
    entries: np.ndarray[Any, Any]
    ordinal: int
    origin: int
    outer: tuple[int, int] | None
    inner: int
    chunks: Chunks

    @property
    def place(self) -> tuple[int, int]:
        """Where it begins: an offset, and of the payload there how many inner events, or -1."""
        if self.outer is not None:
            return self.outer[0], self.inner
        return self.origin + int(self.entries["offset"][0]), -1

    @property
    def positions(self) -> np.ndarray[Any, Any]:
        """Where each event begins; in a payload where that does."""
        if self.outer is not None:
            return np.full(len(self.entries), self.outer[0])
        positions: np.ndarray[Any, Any] = self.entries["offset"] + self.origin
        return positions

    def keep(self) -> None:
        """Let the bytes stay as they are while the log is read on, until ``let_go``."""
        if self.data is not self.chunks.buffer:
            return
        last = self.entries[-1]
        end = int(last["offset"]) + int(last["size"])
        self.data = self.chunks.lend() if end > _COPIED else bytes(memoryview(self.data)[:end])

    def let_go(self) -> None:
        """What was kept is not read any more."""
        if not isinstance(self.data, bytes):
            self.chunks.give_back(self.data)

    def rows_pass(self) -> RowsPass:
        """What decodes the stretch's rows."""
        rows = RowsPass(self.scanner, self.index, self.data, self.origin, self.ordinal)
        rows.inner = self.inner
        return rows

    def queries(self, query: str | None, tx: int) -> Iterator[tuple[int, str | None]]:
        """Where the original statement changes that Rows_query events give: (entry, statement).

        ``query``, ``tx``: that of the event before, and its transaction.
        """
        codes, numbers = self.entries["type"], self.entries["tx"]
        if query is None and not (codes == EventType.ROWS_QUERY_LOG_EVENT).any():
            return
        for i, (code, number) in enumerate(zip(codes.tolist(), numbers.tolist(), strict=True)):
            now = query if number == tx else None
            tx = number
            if code == EventType.ROWS_QUERY_LOG_EVENT:
                now = self._query(i)
            if now != query:
                query = now
                yield i, query
            if query is not None and ROWS_EVENTS[code] and self._ends_statement(i):
                query = None
                yield i + 1, None

    def _query(self, i: int) -> str:
        return statement_text(self.body(i)[1:], None)[0]

    def _ends_statement(self, i: int) -> bool:
        start = int(self.entries["offset"][i]) + self.scanner.header_length
        return bool(self.data[start + self.scanner.table_id_width] & 1)

    def body(self, i: int) -> bytes:
        """The bytes of entry ``i`` behind its header, without checksum."""
        entry = self.entries[i]
        start = int(entry["offset"]) + self.scanner.header_length
        tail = CHECKSUM_LENGTH if self.scanner.checksums else 0
        return bytes(self.data[start : int(entry["offset"]) + int(entry["size"]) - tail])
