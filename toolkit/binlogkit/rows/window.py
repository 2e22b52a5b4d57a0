"""What a reading delivers: events as the kernel indexed them, and what is known there."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Any, TypeAlias

import numpy as np

from binlogkit._kernel.native.batch import RowsPass
from binlogkit._kernel.native.index import ENTRY, TRANSACTION, Index
from binlogkit._kernel.native.scan import Scanner
from binlogkit.constants import CHECKSUM_LENGTH, HEADER_LENGTH, EventType
from binlogkit.errors import DamageError
from binlogkit.events.base import Event, ParseContext
from binlogkit.events.query import statement_text
from binlogkit.events.rows import RowsFlag
from binlogkit.rows.ddl import StatementKind, TableChange
from binlogkit.rows.schema import TableSchema
from binlogkit.rows.series import Series
from binlogkit.rows.transactions import GTID_TYPES, Transaction
from binlogkit.sources.carriers import Carrier
from binlogkit.sources.chunks import Chunks
from binlogkit.sources.raw import EventHeader, RawEvent, parse_header

#: The kernel's records as numpy reads them.
ENTRIES = np.dtype(list(ENTRY))
TRANSACTIONS = np.dtype(list(TRANSACTION))
#: Whether a type code is a rows event's.
ROWS_EVENTS = np.zeros(256, bool)
ROWS_EVENTS[[*range(23, 26), *range(30, 33), EventType.PARTIAL_UPDATE_ROWS_EVENT]] = True
#: Whether a type code is that of an event which gives a GTID, also an anonymous one.
GTIDS = np.zeros(256, bool)
GTIDS[[int(code) for code in GTID_TYPES]] = True
#: Bits of an entry's notes (``_kernel/native/index.pxd``).
LOOK, BAD_CHECKSUM, NEW_MAP, NO_MAP = 1, 2, 4, 8
STRAY, MAP_CHANGED, STATEMENT_END = 16, 32, 64
#: Bits of a transaction's notes.
ALONE, IN_STATEMENT, REPLACED, COMPRESSED = 1, 2, 4, 8
THREAD, _XID = 8, 16  # of what it has
#: An event's place in the reading, shifted so that its rows follow.
SEQ_SHIFT = 32

Array: TypeAlias = np.ndarray[Any, Any]
#: Damage, and the entry before or in which it stands.
Met: TypeAlias = tuple[int, DamageError]
_TABLE_ID = 6  # bytes, before a rows event's flags
_COPIED = 1 << 20  # bytes that are rather copied than kept


@dataclass(slots=True)
class PythonFacts:
    """What Python alone knows of transactions, by number: GTIDs with tags, XA ids."""

    gtids: dict[int, tuple[str | None, int | None]] = field(default_factory=dict)
    xa: dict[int, str] = field(default_factory=dict)

    def gtids_of(self, transactions: Array) -> dict[int, tuple[str | None, int | None]]:
        """The GTIDs and commit times of a window's transactions, by their places in it."""
        if not self.gtids or not len(transactions):
            return {}
        first, count = int(transactions["number"][0]), len(transactions)
        return {n - first: gtid for n, gtid in self.gtids.items() if 0 <= n - first < count}

    def forget(self, number: int) -> None:
        """Nothing of transactions before this one is asked for any more."""
        for known in (self.gtids, self.xa):
            for old in [n for n in known if n < number]:
                del known[old]


@dataclass(frozen=True, slots=True)
class Looked:
    """An event that Python read: entry ``i``.

    ``number``: of its transaction, -1 for none; ``transaction``: what the event alone says of that;
    ``kind``: of a statement; ``changes``: what it does to tables.
    """

    i: int
    event: Event
    number: int = -1
    transaction: Transaction | None = None
    kind: StatementKind | None = None
    changes: tuple[TableChange, ...] = ()


@dataclass(slots=True)
class Stretch:
    """Events that lie end to end, in one buffer, or in one payload.

    ``entries``: as the kernel's ENTRY; ``ordinal``: of the first in the reading; ``origin``: offset
    of the buffer's first byte; ``outer``: (pos, end_pos) of the payload; ``inner``: of the first
    entry in it; ``spots``: of packed events, where they stood; ``raws``: those, as they were read;
    ``seals``: instead of these the checksums of spliced ones (``rows/splice.py``); ``tail``: bytes
    of each event's checksum.
    """

    scanner: Scanner
    index: Index
    data: Any
    entries: Array
    ordinal: int
    origin: int
    outer: tuple[int, int] | None
    inner: int
    chunks: Chunks | None
    tail: int
    spots: Array | None = None
    raws: list[RawEvent] | None = None
    seals: memoryview | None = None

    @property
    def checked(self) -> bool:
        """Whether checksums that hold vouch for the events, of those that have no ``raws``; inside
        a payload of the buffer's own, its."""
        return self.tail > 0 or self.seals is not None

    @property
    def sealed(self) -> Array:
        """Which events have such a checksum of their own."""
        if self.seals is not None:
            return self.inners < 0
        return np.full(len(self.entries), self.checked)

    @property
    def positions(self) -> Array:
        """Where each event begins; in a payload where that does."""
        return self._limits("pos", 0)

    @property
    def ends(self) -> Array:
        """Where each event ends; in a payload where that does."""
        return self._limits("end_pos", 1)

    def _limits(self, name: str, end: int) -> Array:
        found: Array = self.entries["offset"] + self.origin + self.entries["size"] * end
        if self.outer is not None:
            found = np.full(len(self.entries), self.outer[end])
        elif self.spots is not None:
            found = self.spots[name][: len(self.entries)]
        return found

    @property
    def sizes(self) -> Array:
        """How many bytes each event has in its log, or payload."""
        packed = self.outer is None and self.spots is not None
        found: Array = (self.spots if packed else self.entries)["size"]  # type: ignore[index]
        return found[: len(self.entries)]

    @property
    def inners(self) -> Array:
        """The number of each event in its payload, -1 outside of one."""
        count = len(self.entries)
        if self.outer is not None:
            return np.arange(self.inner, self.inner + count)
        return np.full(count, -1) if self.spots is None else self.spots["inner"][:count]

    def keep(self) -> None:
        """Let the bytes stay as they are while the log is read on, until ``let_go``."""
        if self.chunks is None or self.data is not self.chunks.buffer:
            return
        last = self.entries[-1]
        end = int(last["offset"]) + int(last["size"])
        self.data = self.chunks.lend() if end > _COPIED else bytes(memoryview(self.data)[:end])

    def let_go(self) -> None:
        """What was kept is not read any more."""
        if self.chunks is not None and not isinstance(self.data, bytes):
            self.chunks.give_back(self.data)

    def rows_pass(self, wanted: Array | None = None) -> RowsPass:
        """What decodes the stretch's rows; ``wanted``: of which entries, None for all."""
        spots = None if self.spots is None else self.spots.data
        chosen = b"" if wanted is None else wanted.astype(bool).tobytes()
        rows = RowsPass(
            self.scanner, self.index, self.data, self.origin, self.ordinal, spots, chosen
        )
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
                now = None if self.entries["notes"][i] & BAD_CHECKSUM else self.query(i)
            if now != query:
                query = now
                yield i, query
            if query is not None and ROWS_EVENTS[code] and self._ends_statement(i):
                query = None
                yield i + 1, None

    def query(self, i: int) -> str:
        """The original statement of a Rows_query event."""
        return statement_text(self.body(i)[1:], None)[0]

    def _ends_statement(self, i: int) -> bool:
        at = HEADER_LENGTH + self.scanner.table_id_width
        entry = self.entries[i]
        return at < entry["size"] - self.tail and bool(self.data[int(entry["offset"]) + at] & 1)

    def body(self, i: int) -> bytes:
        """The bytes of entry ``i`` after its header, without checksum, as the scan has them."""
        entry = self.entries[i]
        start = int(entry["offset"])
        with memoryview(self.data) as whole:
            return bytes(whole[start + HEADER_LENGTH : start + int(entry["size"]) - self.tail])

    def table_id(self, i: int) -> int:
        """The table id of a map or of rows, as the scan has them."""
        start = int(self.entries["offset"][i]) + HEADER_LENGTH
        with memoryview(self.data) as whole:
            return int.from_bytes(whole[start : start + self.scanner.table_id_width], "little")

    def raw(self, i: int, file: str) -> RawEvent:
        """Entry ``i`` as it stood in its log."""
        if self.raws is not None and self.outer is None:
            return self.raws[i]
        entry = self.entries[i]
        start, end = int(entry["offset"]), int(entry["offset"]) + int(entry["size"])
        tail = CHECKSUM_LENGTH if self.tail else 0
        with memoryview(self.data) as whole:
            header = parse_header(bytes(whole[start : start + HEADER_LENGTH]), HEADER_LENGTH)
            body = bytes(whole[start + HEADER_LENGTH : end - tail])
            stored = bytes(whole[end - tail : end])
        if self.seals is not None:
            return self._spliced(i, file, header, body)
        if self.outer is not None:
            pos, end_pos = self.outer
            return RawEvent(file, pos, header, body, "none", self.inner + i, end_pos)
        return RawEvent(
            file, self.origin + start, header, body, "ok" if tail else "none",
            stored_checksum=stored,
        )  # fmt: skip

    def _spliced(self, i: int, file: str, header: EventHeader, body: bytes) -> RawEvent:
        assert self.spots is not None and self.seals is not None
        pos, end_pos, inner, size, _ = self.spots[i].tolist()
        if inner >= 0:
            return RawEvent(file, pos, header, body, "none", inner, end_pos)
        seal = bytes(self.seals[i * CHECKSUM_LENGTH : (i + 1) * CHECKSUM_LENGTH])
        return RawEvent(file, pos, replace(header, size=size), body, "ok", stored_checksum=seal)


@dataclass(slots=True)
class Window:
    """A stretch of one log with what is known there; at a log's end, and of damage alone, none.

    ``first``, ``last``: whether the log is; ``schemas``: by slot, None for a table that is not
    known; ``transactions``: what began or continued since the window before, as the kernel's
    TRANSACTION, one that is open last; ``looked``: the events that Python read, in order;
    ``damages``: what was met, with the entry that it stands before or in; ``ends``: whether the log
    ends with it; ``folded``: whether names turned out to be compared without case; ``loose``:
    whether the log is events without a file around them; ``context``: how its events are read;
    ``series``: the logs that it belongs to, None before its first event; ``repeated``: the numbers
    of the transactions whose GTID came before, None for none, or where they are wanted.
    """

    carrier: Carrier
    first: bool
    last: bool
    server_version: str
    facts: PythonFacts
    transactions: Array
    stretch: Stretch | None
    schemas: list[TableSchema | None]
    looked: list[Looked] = field(default_factory=list)
    damages: list[Met] = field(default_factory=list)
    ends: bool = False
    folded: bool = False
    loose: bool = False
    context: ParseContext = field(default_factory=ParseContext)
    series: Series | None = None
    repeated: Array | None = None

    def repeats(self, number: int) -> bool:
        """Whether a transaction's GTID came before."""
        return self.repeated is not None and bool((self.repeated == number).any())

    @property
    def source(self) -> str | None:
        """The name of the server's logs."""
        return None if self.series is None else self.series.source.name

    def unchecked(self) -> Array:
        """The rows events that were written with foreign_key_checks off, by their ordinals."""
        stretch = self.stretch
        if stretch is None:
            return np.zeros(0, np.int64)
        here = np.flatnonzero(ROWS_EVENTS[stretch.entries["type"]])
        data = np.frombuffer(stretch.data, np.uint8)
        flags = stretch.entries["offset"][here].astype(np.int64) + HEADER_LENGTH + _TABLE_ID
        here = here[flags < len(data)]
        off = data[flags[flags < len(data)]] & RowsFlag.NO_FOREIGN_KEY_CHECKS != 0
        found: Array = here[off] + stretch.ordinal
        return found

    def before(self, i: int) -> Window:
        """What was known before entry ``i``, where damage ends the reading, and that damage."""
        stretch = self.stretch
        assert stretch is not None
        return replace(
            self,
            transactions=_until(self.transactions, stretch, i),
            stretch=replace(stretch, entries=stretch.entries[:i]) if i else None,
            looked=[item for item in self.looked if item.i < i],
            damages=[damage for damage in self.damages if damage[0] <= i],
        )


def _until(transactions: Array, stretch: Stretch, i: int) -> Array:
    """What was known of transactions before entry ``i`` of a stretch."""
    entries = stretch.entries
    known: Array = transactions[transactions["number"] <= entries["tx"][:i].max(initial=-1)].copy()
    after = entries["tx"][i:] == (known["number"][-1] if len(known) else -1)
    if not len(known) or not after.any():
        return known
    last, outer = known[-1], stretch.inners[i:] < 0
    last["events"] -= np.count_nonzero(after)
    last["size"] -= stretch.sizes[i:][after & outer].sum()
    last["row_events"] -= np.count_nonzero(ROWS_EVENTS[entries["type"][i:]] & after)
    last["end_pos"], last["end_timestamp"] = stretch.ends[i - 1], entries["timestamp"][i - 1]
    if (after & (entries["type"][i:] == EventType.TRANSACTION_PAYLOAD_EVENT)).any():
        last["notes"] &= 0xFF ^ COMPRESSED
    last["has"] &= 0xFF ^ _XID
    last["outcome"], last["open"] = 0, 1
    return known
