"""A log through the kernel's scan: stretches of sound events, their transactions and tables.

The scan hops over what is ordinary (GTIDs, BEGIN, table maps, rows, XID); any other event is read
here, in its place, as ``rows/walk.py`` reads it. What the scan is not made for, v1 and v3, relay
logs, longer post-headers, damage, is an obstacle: the walk goes on from there event by event.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from zstandard import ZstdError

from binlogkit._kernel.cursor import Cursor
from binlogkit._kernel.native.batch import RowsPass
from binlogkit._kernel.native.index import ENTRY, TRANSACTION, Index
from binlogkit._kernel.native.scan import Scanner
from binlogkit.constants import BINLOG_MAGIC, CHECKSUM_LENGTH, HEADER_LENGTH, EventFlag, EventType
from binlogkit.errors import DamageError, LimitError
from binlogkit.events.base import Event, OpaqueEvent, ParseContext, parser_of
from binlogkit.events.format_description import FormatDescription
from binlogkit.events.gtid import Gtid
from binlogkit.events.payload import TransactionPayload, largest_inner, plain_stream
from binlogkit.events.query import Query
from binlogkit.events.statement_text import statement_text
from binlogkit.rows.settling import settled
from binlogkit.sources.carriers import Carrier
from binlogkit.sources.chunks import Chunks
from binlogkit.sources.crc import ends_in_crc
from binlogkit.sources.log_format import LogFormat, format_of
from binlogkit.sources.loose_events import LooseEvents
from binlogkit.sources.raw import RawEvent, parse_header
from binlogkit.sources.text.hex_image import HexImage

__all__ = ["Facts", "Obstacle", "ScanWalk", "Stretch"]

_ENTRY = np.dtype(list(ENTRY))
_TRANSACTION = np.dtype(list(TRANSACTION))
_MODULUS = 1 << 32
# What the scan takes for granted of post-headers (server's sources, 5.1.18 to 9.7).
_POST_HEADERS = {
    EventType.QUERY_EVENT: (13,),
    EventType.XID_EVENT: (0,),
    EventType.TABLE_MAP_EVENT: (8,),
    **dict.fromkeys(range(23, 26), (8, 0)),  # 0: a server that writes none (9.7)
    **dict.fromkeys(range(30, 33), (10,)),
    EventType.PARTIAL_UPDATE_ROWS_EVENT: (10,),
    EventType.GTID_LOG_EVENT: (25, 42),
    EventType.ANONYMOUS_GTID_LOG_EVENT: (25, 42),
    EventType.ROWS_QUERY_LOG_EVENT: (0,),
}
_ROWS = np.zeros(256, bool)
_ROWS[[*range(23, 26), *range(30, 33), 39]] = True
_DOUBTED = 4  # events in which a format description without checksums can be wrong


class Obstacle(Exception):
    """What the scan is not made for; ``offset``: of the event that is to be read otherwise,
    ``inner``: of its inner events, so many were handed over (-1: not even the event itself)."""

    def __init__(self, offset: int, inner: int = -1) -> None:
        super().__init__(offset)
        self.offset = offset
        self.inner = inner


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

    @property
    def place(self) -> tuple[int, int]:
        """Where it begins: an offset, and of the payload there how many inner events, or -1."""
        if self.outer is not None:
            return self.outer[0], self.inner
        return self.origin + int(self.entries["offset"][0]), -1

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
            if query is not None and _ROWS[code] and self._ends_statement(i):
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


class ScanWalk:
    """The stretches of one log.

    ``look``: is told every event that the scan leaves to Python, with its ordinal and the index of
    what came before in this stretch; says whether it changed what tables are; ``number``: of the
    first transaction; ``ordinal``: of the first event.
    ``obstacle``: None, or (offset, inner) from which the log must be read event by event: ``inner``
    events of the payload there were handed over, -1 where it is none.
    """

    def __init__(
        self,
        carrier: Carrier,
        look: Callable[[Event, int, Index], bool] | None,
        *,
        number: int = 0,
        ordinal: int = 0,
        facts: Facts | None = None,
    ) -> None:
        self.carrier = carrier
        self.scanner = Scanner(number)
        self.facts = facts or Facts()
        self.format = LogFormat()
        self.context = ParseContext()
        self.obstacle: tuple[int, int] | None = None
        self.ordinal = ordinal
        self._look = look
        self._doubts = 0
        self._inner = 0
        self._payload_chunks: Chunks | None = None

    def __iter__(self) -> Iterator[Stretch]:
        with self.carrier.open() as file:
            if isinstance(file, (LooseEvents, HexImage)):
                self.obstacle = (0, -1)
                return
            chunks = Chunks(file)
            try:
                yield from self._all(chunks)
            except Obstacle as obstacle:
                self.obstacle = (obstacle.offset, obstacle.inner)
        if self.obstacle is None:
            self.scanner.finish()

    def transactions(self) -> np.ndarray[Any, Any]:
        """The transactions since the last call; one that is open comes again."""
        found = np.frombuffer(self.scanner.transactions.tobytes(), _TRANSACTION)
        self.scanner.transactions.clear()
        return found

    # ---- the loop ---------------------------------------------------------------------------

    def _all(self, chunks: Chunks) -> Iterator[Stretch]:
        self._more(chunks)
        if bytes(chunks.buffer[:4]) != BINLOG_MAGIC or not self._begins(chunks):
            raise Obstacle(0)
        chunks.start = len(BINLOG_MAGIC)
        take = False
        while True:
            index = Index()
            stop = ""
            try:
                while not stop:
                    found = self.scanner.scan(
                        index, chunks.buffer, chunks.start, chunks.end, chunks.origin, take
                    )
                    chunks.start, take = self.scanner.offset, found == "format"
                    if take:
                        if len(index):
                            yield from self._stretch(index, chunks)
                            index.clear()
                        self._take_format(chunks)
                    elif found != "look" or (yield from self._looked(index, chunks)):
                        stop = found
            except Obstacle as obstacle:
                yield from self._stretch(index, chunks, obstacle.offset)
                raise
            yield from self._stretch(index, chunks)
            if stop in ("end", "cut"):
                if not self._more(chunks):
                    if chunks.end > chunks.start:
                        raise Obstacle(chunks.origin + chunks.start)
                    return
            elif stop != "look":
                raise Obstacle(chunks.origin + chunks.start)

    def _more(self, chunks: Chunks) -> bool:
        try:
            return chunks.more()
        except (DamageError, LimitError):
            raise Obstacle(chunks.origin + chunks.start) from None

    @staticmethod
    def _begins(chunks: Chunks) -> bool:
        """Whether the first event is a v4 log's, and no relay log's."""
        head = bytes(chunks.buffer[4 : min(chunks.end, 4 + HEADER_LENGTH)])
        if len(head) < HEADER_LENGTH or head[4] != EventType.FORMAT_DESCRIPTION_EVENT:
            return False
        return not parse_header(head, HEADER_LENGTH).flags & EventFlag.RELAY_LOG

    def _stretch(
        self, index: Index, chunks: Chunks, before: int | None = None
    ) -> Iterator[Stretch]:
        """Hand over what the scan took, up to the offset ``before``; without checksums, only what
        ``log_pos`` agrees with."""
        entries = np.frombuffer(index.tobytes(), _ENTRY)
        if before is not None:
            entries = entries[chunks.origin + entries["offset"] < before]
        if not len(entries):
            return
        if not self.format.checksummed(EventType.QUERY_EVENT):
            self._check_positions(entries, chunks)
        yield Stretch(
            self.scanner, index, chunks.buffer, entries, self.ordinal, chunks.origin, None, 0
        )
        self.ordinal += len(entries)

    def _check_positions(self, entries: np.ndarray[Any, Any], chunks: Chunks) -> None:
        ends = (chunks.origin + entries["offset"] + entries["size"]) % _MODULUS
        wrong = np.flatnonzero(ends != entries["log_pos"])
        if len(wrong):
            # Nothing of the stretch was handed over: it is read again as a whole.
            raise Obstacle(chunks.origin + int(entries["offset"][0]))
        for entry in entries[: self._doubts]:
            start = int(entry["offset"])
            data = bytes(chunks.buffer[start : start + int(entry["size"])])
            if ends_in_crc(parse_header(data, HEADER_LENGTH), data):
                raise Obstacle(chunks.origin + int(entries["offset"][0]))
        self._doubts = max(0, self._doubts - len(entries))

    # ---- what Python looks at -----------------------------------------------------------------

    def _take_format(self, chunks: Chunks) -> None:
        pos = chunks.origin + chunks.start
        head = bytes(chunks.buffer[chunks.start : min(chunks.end, chunks.start + HEADER_LENGTH)])
        header = parse_header(head, HEADER_LENGTH)
        while chunks.end - chunks.start < header.size:
            if not self._more(chunks):
                raise Obstacle(pos)
        data = bytes(chunks.buffer[chunks.start : chunks.start + header.size])
        try:
            known = format_of(self.carrier.name, pos, data)
        except DamageError:
            raise Obstacle(pos) from None
        sealed = known.checksummed(EventType.FORMAT_DESCRIPTION_EVENT)
        if known.header_length != HEADER_LENGTH or (sealed and not ends_in_crc(header, data)):
            raise Obstacle(pos)
        self.format = known
        end = len(data) - (CHECKSUM_LENGTH if sealed else 0)
        raw = RawEvent(
            self.carrier.name, pos, header, data[HEADER_LENGTH:end], "ok" if sealed else "none",
            stored_checksum=data[end:],
        )  # fmt: skip
        event = self._parsed(raw)
        lengths = self.context.post_header_lengths
        if (
            not isinstance(event.body, FormatDescription)
            or self.context.final_codes
            or any(
                lengths.get(int(code), usual[0]) not in usual
                for code, usual in _POST_HEADERS.items()
            )
        ):
            raise Obstacle(pos)
        plain = not known.checksummed(EventType.QUERY_EVENT)
        self._doubts = _DOUBTED if plain and not sealed else 0
        self.scanner.checksums = not plain
        self.scanner.format_checksum = sealed
        self.scanner.maps.forget_ids()
        if self._look is not None:
            self._look(event, self.ordinal, Index())

    def _parsed(self, raw: RawEvent) -> Event:
        parser = parser_of(raw.header.type_code)
        if parser is None:
            return Event(raw, OpaqueEvent(raw.body))
        try:
            return Event(raw, parser(Cursor(raw.body, raw.file, raw.pos), raw, self.context))
        except DamageError:
            inner = -1 if raw.inner is None else self._inner
            raise Obstacle(raw.pos, inner) from None

    def _looked(self, index: Index, chunks: Chunks) -> Any:
        """Read the event behind which the scan stopped; whether a new stretch must begin."""
        entry = np.frombuffer(index.tobytes(len(index) - 1), _ENTRY)[0]
        start, size = int(entry["offset"]), int(entry["size"])
        data = bytes(chunks.buffer[start : start + size])
        header = parse_header(data, HEADER_LENGTH)
        tail = CHECKSUM_LENGTH if self.scanner.checksums else 0
        raw = RawEvent(
            self.carrier.name, chunks.origin + start, header, data[HEADER_LENGTH : size - tail],
            "ok" if tail else "none",
        )  # fmt: skip
        ordinal = self.ordinal + len(index) - 1
        event = self._parsed(raw)
        self._settle(index, chunks.origin, event)
        changed = self._look is not None and self._look(event, ordinal, index)
        if isinstance(event.body, TransactionPayload):
            yield from self._stretch(index, chunks)
            index.clear()
            yield from self._payload(raw, event.body)
            return False
        return changed

    def _settle(self, index: Index, origin: int, event: Event) -> None:
        body = event.body
        effect, transaction = settled(event, self.scanner.open_transaction)
        self.scanner.settle(index, origin, **effect)
        number = int(np.frombuffer(index.tobytes(len(index) - 1), _ENTRY)[0]["tx"])
        if isinstance(body, Query):
            length = int.from_bytes(event.raw.body[11:13], "little")
            self.scanner.know_status(event.raw.body[13 : 13 + length])
        if isinstance(body, Gtid):
            self.facts.gtids[number] = (body.gtid, body.immediate_commit_timestamp)
        if transaction is not None and transaction.xa is not None:
            self.facts.xa[number] = transaction.xa

    def _payload(self, outer: RawEvent, payload: TransactionPayload) -> Iterator[Stretch]:
        """The stretches inside a payload."""
        scanner, checksums = self.scanner, self.scanner.checksums
        scanner.checksums = False
        scanner.outer_pos, scanner.outer_end = outer.pos, outer.end_pos
        self._inner = 0
        try:
            yield from self._inside(outer, payload)
        except (DamageError, LimitError, ZstdError):
            raise Obstacle(outer.pos, self._inner) from None
        finally:
            scanner.checksums = checksums
            scanner.outer_pos = scanner.outer_end = -1

    def _inside(self, outer: RawEvent, payload: TransactionPayload) -> Iterator[Stretch]:
        scanner = self.scanner
        chunks = self._payload_chunks = Chunks(plain_stream(outer, payload), self._payload_chunks)
        most = largest_inner(payload)
        while True:
            index, stop = Index(), ""
            while stop in ("", "look"):
                stop = scanner.scan(index, chunks.buffer, chunks.start, chunks.end, 0)
                chunks.start = scanner.offset
                if stop == "look":
                    self._look_inside(index, chunks.buffer, outer)
            entries = np.frombuffer(index.tobytes(), _ENTRY)
            if len(entries):
                yield Stretch(
                    scanner, index, chunks.buffer, entries, self.ordinal, 0,
                    (outer.pos, outer.end_pos), self._inner,
                )  # fmt: skip
            self.ordinal += len(entries)
            self._inner += len(entries)
            if stop not in ("end", "cut") or _claims(chunks) > most or not chunks.more():
                break
        size = chunks.origin + chunks.end
        left = chunks.end > chunks.start
        if left or payload.uncompressed_size not in (None, size):
            raise Obstacle(outer.pos, self._inner)

    def _look_inside(self, index: Index, data: bytearray, outer: RawEvent) -> None:
        entry = np.frombuffer(index.tobytes(len(index) - 1), _ENTRY)[0]
        start, size = int(entry["offset"]), int(entry["size"])
        header = parse_header(bytes(data[start : start + HEADER_LENGTH]), HEADER_LENGTH)
        raw = RawEvent(
            outer.file, outer.pos, header, bytes(data[start + HEADER_LENGTH : start + size]),
            "none", self._inner + len(index) - 1, outer.end_pos,
        )  # fmt: skip
        event = self._parsed(raw)
        if isinstance(event.body, TransactionPayload):
            raise Obstacle(outer.pos, self._inner)
        self._settle(index, 0, event)
        if self._look is not None:
            self._look(event, self.ordinal + len(index) - 1, index)


def _claims(chunks: Chunks) -> int:
    """The size that the event at the end of what is there claims."""
    head = chunks.buffer[chunks.start + 9 : min(chunks.end, chunks.start + 13)]
    return int.from_bytes(head, "little") if len(head) == 4 else 0
