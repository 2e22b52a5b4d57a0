"""A log through the kernel's scan: stretches of sound events, their transactions and tables.

The scan hops over what is ordinary (GTIDs, BEGIN, table maps, rows, XID); any other event is read
here, in its place, as ``rows/walk.py`` reads it. What the scan is not made for, v1 and v3, longer
post-headers, damage, is an obstacle: the walk goes on from there event by event.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from zstandard import ZstdError

from binlogkit._kernel.cursor import Cursor
from binlogkit._kernel.native.index import Index
from binlogkit._kernel.native.scan import Scanner
from binlogkit.constants import BINLOG_MAGIC, CHECKSUM_LENGTH, HEADER_LENGTH, EventFlag, EventType
from binlogkit.errors import DamageError, LimitError
from binlogkit.events.base import Event, OpaqueEvent, ParseContext, parser_of
from binlogkit.events.format_description import FormatDescription
from binlogkit.events.gtid import Gtid
from binlogkit.events.payload import TransactionPayload, largest_inner, plain_stream
from binlogkit.events.query import Query
from binlogkit.events.rows import RowsEvent
from binlogkit.rows.detours import Cause
from binlogkit.rows.settling import settled
from binlogkit.rows.stretches import ENTRIES, TRANSACTIONS, Facts, Obstacle, Stretch
from binlogkit.sources.carriers import Carrier
from binlogkit.sources.chunks import SIZE, Buffer, Chunks
from binlogkit.sources.crc import ends_in_crc
from binlogkit.sources.log_format import LogFormat, format_of
from binlogkit.sources.loose_events import LooseEvents, ShownFile
from binlogkit.sources.plausible import sane_header
from binlogkit.sources.raw import EventHeader, RawEvent, parse_header
from binlogkit.sources.tasks import Submit

__all__ = ["ScanWalk"]

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
_REACH = 16 << 20  # bytes up to which an event's size is believed that nothing else supports
_DOUBTED = 4  # events in which a format description without checksums can be wrong


class ScanWalk:
    """The stretches of one log.

    ``look``: is told every event that the scan leaves to Python, with its ordinal and the index of
    what came before in this stretch; says whether it changed what tables are; ``number``: of the
    first transaction; ``ordinal``: of the first event; ``begin``: its offset, where that is not the
    log's first: a transaction's, in a file that can seek; ``again``: whether the format description
    was looked at before; ``others``: whether logs follow.
    ``obstacle``: None, or (offset, inner) from which the log must be read event by event: ``inner``
    events of the payload there were handed over, -1 where it is none; ``cause``: of that;
    ``ends_open``: whether it ends with a transaction that has not.
    """

    def __init__(
        self,
        carrier: Carrier,
        look: Callable[[Event, int, Index], bool] | None,
        *,
        number: int = 0,
        ordinal: int = 0,
        facts: Facts | None = None,
        ahead: Submit | None = None,
        begin: int = 0,
        again: bool = False,
        others: bool = False,
    ) -> None:
        self.carrier = carrier
        self.scanner = Scanner(number)
        self.facts = facts or Facts()
        self.format = LogFormat()
        self.context = ParseContext()
        self.obstacle: tuple[int, int] | None = None
        self.cause = Cause.DAMAGE
        self.ends_open = self._relay = False
        self._others = others
        self.ids: dict[int, int] | None = None
        self.ordinal = ordinal
        self._look = look
        self._read_ahead = ahead
        self._begin = begin
        self._again = again
        self._seekable = False
        self._formats = 0
        self._doubts = 0
        self._checked = 0  # entries of the stretch whose positions are
        self._inner = 0
        self._index = Index()
        self._payload_chunks: Chunks | None = None

    def __iter__(self) -> Iterator[Stretch]:
        with self.carrier.open() as file:
            if isinstance(file, (LooseEvents, ShownFile)):
                self.obstacle, self.cause = (0, -1), Cause.LOOSE_EVENTS
                return
            self._seekable = file.seekable()
            ahead = self._read_ahead if self._seekable else None
            chunks = Chunks(file, ahead=ahead, size=self.carrier.size, head=self._begin > 0)
            try:
                yield from self._all(chunks)
            except Obstacle as obstacle:
                self.obstacle, self.cause = (obstacle.offset, obstacle.inner), obstacle.cause
                self.scanner.maps.back_to_mark()
            finally:
                chunks.close()
        if self.obstacle is None:
            self.ends_open = self.scanner.open_transaction is not None
            self.scanner.finish()

    def transactions(self) -> np.ndarray[Any, Any]:
        """The transactions since the last call; one that is open comes again."""
        found = np.frombuffer(self.scanner.transactions.copied(), TRANSACTIONS)
        self.scanner.transactions.clear()
        return found

    # ---- the loop ---------------------------------------------------------------------------

    def _all(self, chunks: Chunks) -> Iterator[Stretch]:
        self._more(chunks)
        self._check_start(chunks)
        chunks.start = len(BINLOG_MAGIC)
        take = False
        while True:
            self._clear()
            stop = ""
            try:
                while not stop:
                    index = self._index
                    found = self.scanner.scan(
                        index, chunks.buffer, chunks.start, chunks.end, chunks.origin, take
                    )
                    chunks.start, take = self.scanner.offset, found == "format"
                    if take:
                        self._check(index, chunks)
                        yield from self._stretch(index, chunks)
                        self._clear()
                        self._take_format(chunks)
                        if chunks.origin + chunks.start < self._begin:
                            chunks.skip_to(self._begin)
                            take = False
                    elif found != "look" or (yield from self._looked(index, chunks)):
                        stop = found
                self._check(self._index, chunks)
            except Obstacle as obstacle:
                yield from self._stretch(self._index, chunks, obstacle.offset)
                raise
            yield from self._stretch(self._index, chunks)
            if stop in ("end", "cut"):
                if _absurd(chunks) or not self._more(chunks):
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

    def _check_start(self, chunks: Chunks) -> None:
        """Obstacle: the first event is not a v4 log's, or it is a relay log, and the next one goes
        on with its last transaction (up to 5.6, rows/spans.py)."""
        head = bytes(chunks.buffer[4 : min(chunks.end, 4 + HEADER_LENGTH)])
        if bytes(chunks.buffer[:4]) != BINLOG_MAGIC or len(head) < HEADER_LENGTH:
            raise Obstacle(0)
        if head[4] != EventType.FORMAT_DESCRIPTION_EVENT:
            raise Obstacle(0, cause=Cause.OLD_FORMAT)
        self._relay = bool(parse_header(head, HEADER_LENGTH).flags & EventFlag.RELAY_LOG)
        if self._relay and self._others:
            through = ScanWalk(self.carrier, None)
            deque(through, maxlen=0)
            if through.ends_open:
                raise Obstacle(0, cause=Cause.RELAY_LOG)

    def _stretch(
        self, index: Index, chunks: Chunks, before: int | None = None
    ) -> Iterator[Stretch]:
        """Hand over what the scan took, up to the offset ``before``."""
        entries = np.frombuffer(index.copied(), ENTRIES)
        if before is not None:
            entries = entries[chunks.origin + entries["offset"] < before]
        if not len(entries):
            return
        mapped = _mapped(entries, chunks.buffer) if before is not None else {}
        yield Stretch(
            self.scanner, index, chunks.buffer, entries, self.ordinal, chunks.origin, None, 0,
            chunks,
        )  # fmt: skip
        if before is None:
            self._handed_over(entries)
        else:
            self._handed_over_in_part(len(entries), mapped)

    def _handed_over(self, entries: np.ndarray[Any, Any]) -> None:
        self.ordinal += len(entries)
        self.scanner.maps.mark()

    def _handed_over_in_part(self, count: int, mapped: dict[int, int]) -> None:
        """Table ids stand for what they did behind the part, not where the scan has come to."""
        self.ordinal += count
        self.scanner.maps.back_to_mark()
        self.ids = self.table_ids() | mapped

    @property
    def can_begin_again(self) -> bool:
        """Whether a scan can begin at a transaction further on: every event has a checksum, and the
        first format description counts for all."""
        codes = (EventType.FORMAT_DESCRIPTION_EVENT, EventType.QUERY_EVENT)
        sealed = all(self.format.checksummed(code) for code in codes)
        return sealed and self._formats == 1 and not self._relay and self._seekable

    def table_ids(self) -> dict[int, int]:
        """The slots of the table ids, behind what was handed over."""
        return dict(self.scanner.maps.ids()) if self.ids is None else self.ids

    def _check(self, index: Index, chunks: Chunks) -> None:
        """Without checksums, a stretch is only believed where each ``log_pos`` agrees."""
        if self.format.checksummed(EventType.QUERY_EVENT) or not len(index):
            return
        entries = np.frombuffer(index.copied(), ENTRIES)
        begin = chunks.origin + int(entries["offset"][0])
        entries = entries[self._checked :]
        ends = chunks.origin + entries["offset"] + entries["size"]
        if (ends % _MODULUS != entries["log_pos"]).any():
            raise Obstacle(begin, cause=Cause.POSITIONS)
        for entry in entries[: self._doubts]:
            start = int(entry["offset"])
            data = bytes(chunks.buffer[start : start + int(entry["size"])])
            if ends_in_crc(parse_header(data, HEADER_LENGTH), data):
                raise Obstacle(begin)
        self._doubts = max(0, self._doubts - len(entries))
        self._checked = len(index)

    def _clear(self) -> None:
        """Begin a new index: what was handed over may still be read."""
        self._index = Index(len(self._index) * 9 // 8)  # about as many come again
        self._checked = 0

    # ---- what Python looks at -----------------------------------------------------------------

    def _take_format(self, chunks: Chunks) -> None:
        pos = chunks.origin + chunks.start
        head = bytes(chunks.buffer[chunks.start : min(chunks.end, chunks.start + HEADER_LENGTH)])
        header = parse_header(head, HEADER_LENGTH)
        if self._relay and self.scanner.open_transaction is not None:
            raise Obstacle(pos, cause=Cause.RELAY_LOG)  # its table ids may go on
        while chunks.end - chunks.start < header.size:
            if not self._more(chunks):
                raise Obstacle(pos)
        data = bytes(chunks.buffer[chunks.start : chunks.start + header.size])
        try:
            known = format_of(self.carrier.name, pos, data)
        except DamageError:
            raise Obstacle(pos) from None
        sealed = known.checksummed(EventType.FORMAT_DESCRIPTION_EVENT)
        if sealed and not ends_in_crc(header, data):
            raise Obstacle(pos)
        if known.header_length != HEADER_LENGTH:
            raise Obstacle(pos, cause=Cause.OTHER_FORMAT)
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
            raise Obstacle(pos, cause=Cause.OTHER_FORMAT)
        plain = not known.checksummed(EventType.QUERY_EVENT)
        self._doubts = _DOUBTED if plain and not sealed else 0
        self.scanner.checksums = not plain
        self.scanner.format_checksum = sealed
        self.scanner.maps.forget_ids()
        self._formats += 1
        if self._look is not None and not self._again:
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
        self._check(index, chunks)
        entry = _last(index)
        start, size = int(entry["offset"]), int(entry["size"])
        header = _header_at(chunks.buffer, start)
        tail = CHECKSUM_LENGTH if self.scanner.checksums else 0
        with memoryview(chunks.buffer) as whole:
            body = bytes(whole[start + HEADER_LENGTH : start + size - tail])
        raw = RawEvent(
            self.carrier.name, chunks.origin + start, header, body,
            "ok" if tail else "none",
        )  # fmt: skip
        ordinal = self.ordinal + len(index) - 1
        event = self._parsed(raw)
        if isinstance(event.body, RowsEvent):
            raise Obstacle(raw.pos)
        self._settle(index, chunks.origin, event)
        changed = self._look is not None and self._look(event, ordinal, index)
        if isinstance(event.body, TransactionPayload):
            yield from self._stretch(index, chunks)
            self._clear()
            yield from self._payload(raw, event.body)
            return False
        return changed

    def _settle(self, index: Index, origin: int, event: Event) -> None:
        body = event.body
        effect, transaction = settled(event, self.scanner.open_transaction)
        self.scanner.settle(index, origin, **effect)
        number = int(_last(index)["tx"])
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
        expected = SIZE if payload.uncompressed_size is None else payload.uncompressed_size
        plain = plain_stream(outer, payload)
        chunks = self._payload_chunks = Chunks(plain, self._payload_chunks, expected=expected)
        most = largest_inner(payload)
        while True:
            index, stop = Index(), ""
            while stop in ("", "look"):
                stop = scanner.scan(index, chunks.buffer, chunks.start, chunks.end, 0)
                chunks.start = scanner.offset
                if stop == "look":
                    self._look_inside(index, chunks.buffer, outer)
            entries = np.frombuffer(index.copied(), ENTRIES)
            if len(entries):
                yield Stretch(
                    scanner, index, chunks.buffer, entries, self.ordinal, 0,
                    (outer.pos, outer.end_pos), self._inner, chunks,
                )  # fmt: skip
                self._handed_over(entries)
            self._inner += len(entries)
            if stop not in ("end", "cut") or _claims(chunks) > most or not chunks.more():
                break
        size = chunks.origin + chunks.end
        left = chunks.end > chunks.start
        if left or payload.uncompressed_size not in (None, size):
            raise Obstacle(outer.pos, self._inner)

    def _look_inside(self, index: Index, data: Buffer, outer: RawEvent) -> None:
        entry = _last(index)
        start, size = int(entry["offset"]), int(entry["size"])
        header = _header_at(data, start)
        raw = RawEvent(
            outer.file, outer.pos, header, bytes(data[start + HEADER_LENGTH : start + size]),
            "none", self._inner + len(index) - 1, outer.end_pos,
        )  # fmt: skip
        event = self._parsed(raw)
        if isinstance(event.body, (TransactionPayload, RowsEvent)):
            raise Obstacle(outer.pos, self._inner)
        self._settle(index, 0, event)
        if self._look is not None:
            try:
                self._look(event, self.ordinal + len(index) - 1, index)
            except Obstacle as obstacle:
                raise Obstacle(outer.pos, self._inner, obstacle.cause) from None


def _last(index: Index) -> np.void:
    """The entry of the event that was indexed last."""
    entry: np.void = np.frombuffer(index.copied(len(index) - 1), ENTRIES)[0]
    return entry


def _header_at(data: Buffer, start: int) -> EventHeader:
    return parse_header(bytes(data[start : start + HEADER_LENGTH]), HEADER_LENGTH)


def _mapped(entries: np.ndarray[Any, Any], data: Buffer) -> dict[int, int]:
    """The slots of the table ids that the table maps among ``entries`` give."""
    maps = entries[entries["type"] == EventType.TABLE_MAP_EVENT]
    starts = (maps["offset"] + HEADER_LENGTH).tolist()
    numbers = [int.from_bytes(data[start : start + 6], "little") for start in starts]
    return dict(zip(numbers, maps["slot"].tolist(), strict=True))


def _head(chunks: Chunks) -> EventHeader | None:
    """Of the event that is not there to its end, as far as that can be told."""
    head = bytes(chunks.buffer[chunks.start : min(chunks.end, chunks.start + HEADER_LENGTH)])
    return parse_header(head, HEADER_LENGTH) if len(head) == HEADER_LENGTH else None


def _claims(chunks: Chunks) -> int:
    head = _head(chunks)
    return head.size if head else 0


def _absurd(chunks: Chunks) -> bool:
    """Whether an event claims more than is worth reading ahead to see whether it is there."""
    head = _head(chunks)
    if head is None or head.size <= _REACH:
        return False
    end = chunks.origin + chunks.start + head.size
    return end % _MODULUS != head.log_pos or not sane_header(head)
