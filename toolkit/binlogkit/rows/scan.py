"""One log through the kernel's scan: stretches of intact events, and the transactions they make.

The scan hops over what is ordinary (GTIDs, BEGIN, table maps, rows, XID); any other event is read
here, in its place. Where the scan cannot continue (damage, texts, v1, v3, other layouts, positions
that are not the file's), the log's events are framed one by one (``sources/log_reader.py``) and
packed, and the scan continues with the packs; after damage, soon with the file itself.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from typing import Any, BinaryIO, TypeAlias

import numpy as np
from zstandard import ZstdError

from binlogkit._kernel.native.index import Index
from binlogkit._kernel.native.scan import Scanner
from binlogkit.constants import BINLOG_MAGIC, CHECKSUM_LENGTH, HEADER_LENGTH, EventFlag, EventType
from binlogkit.errors import DamageError, InputError, LimitError, MalformedEventError
from binlogkit.events.base import Event, OpaqueEvent
from binlogkit.events.packing import Pack, packs, usual_layout
from binlogkit.events.payload import (
    TransactionPayload,
    inner_events,
    most_bytes,
    most_events,
    plain_stream,
)
from binlogkit.events.reader import EventParser, Variable, payload_limit
from binlogkit.events.rows import RowsEvent
from binlogkit.rows.blocks import DOUBTED, REACH, Block, absurd, chunks_of, claims, following
from binlogkit.rows.settling import Settled, settle
from binlogkit.rows.splice import Splice, splice
from binlogkit.rows.window import ENTRIES, TRANSACTIONS, Stretch
from binlogkit.sources.carriers import Carrier
from binlogkit.sources.chunks import SIZE, Chunks
from binlogkit.sources.crc import ends_in_crc
from binlogkit.sources.growing import is_growing
from binlogkit.sources.log_format import LogFormat, format_of, refuse_encrypted
from binlogkit.sources.log_reader import LogReader
from binlogkit.sources.loose_events import LooseEvents, ShownFile
from binlogkit.sources.plausible import shift_of
from binlogkit.sources.raw import RawEvent, parse_header
from binlogkit.sources.tasks import Submit

_PAYLOAD = EventType.TRANSACTION_PAYLOAD_EVENT
_MOST_LOOKED = 4096  # events of a stretch that Python reads, which take some hundred bytes each
_ENOUGH = 32  # intact events after damage before the scan resumes with the file


#: Takes an event that the scan leaves to Python: its entry in the stretch, and the event; what it
#: does to transactions is in ``settled`` of the scan. Says whether tables have changed, so that the
#: stretch ends with it.
Look: TypeAlias = Callable[["LogScan", int, Event], bool]


@dataclass(slots=True)
class ScannedPart:
    """A stretch of a log, None for damage alone; ``damages``: see :class:`Window`."""

    stretch: Stretch | None
    damages: list[tuple[int, DamageError]] = field(default_factory=list)


class _CannotGoOn(Exception):
    """The scan cannot take the event at ``offset``."""

    def __init__(self, offset: int) -> None:
        super().__init__(offset)
        self.offset = offset


class LogScan:
    """The parts of one log.

    ``scanner``: of the reading, which continues from log to log; ``parser``: of the log's events;
    ``look``: see :class:`Look`; ``stops``: whether damage ends the log, and is raised; ``missing``:
    is told where events are missing, by their offset; ``begin``: offset of the first transaction to
    read, 0 for all, in a file that can seek; ``submit``: lets bytes be read in another thread;
    ``ordinal``: of the next event in the reading.
    """

    def __init__(
        self,
        carrier: Carrier,
        scanner: Scanner,
        look: Look,
        *,
        stops: bool,
        missing: Callable[[int], None] = lambda _: None,
        ordinal: int = 0,
        begin: int = 0,
        submit: Submit | None = None,
    ) -> None:
        self.carrier = carrier
        self.scanner = scanner
        self.ordinal = ordinal
        self.format = LogFormat()
        self.parser = EventParser(self._failed)
        self.relay: bool | None = None
        self.index = Index()
        self.loose = False
        self.settled: Settled | None = None
        self._look, self._missing = look, missing
        self.stops = stops
        self._begin = begin
        self._submit = submit
        self._block = self._of_file = Block()
        self._damages: list[tuple[int, DamageError]] = []
        self._payload_chunks: Chunks | None = None
        self._unchecked: int | None = None  # the first event that no checksum vouches for
        self._shift = 0  # how far the last one stood from its log_pos
        self._doubts = DOUBTED  # events to come before the format is taken for certain
        self._seekable = False
        self._parsed_at = -1  # the place of the last event that Python read
        self._looked_at = 0  # how many of the stretch it has read
        self._splices = False  # whether the last payload may be followed by others to be spliced

    def __iter__(self) -> Iterator[ScannedPart]:
        with self.carrier.open() as file:
            if isinstance(file, (LooseEvents, ShownFile)):
                self.loose = isinstance(file, LooseEvents)
                yield from self._packed(file)
                return
            self._seekable = file.seekable()
            submit = self._submit if self._seekable and not is_growing(file) else None
            size = self.carrier.size
            chunks = Chunks(file, ahead=submit, size=size, head=self._begin > 0)
            try:
                yield from self._file(chunks)
            finally:
                chunks.close()

    def holds_more(self) -> bool:
        """Whether the file's next event is in hand, so that another part comes without waiting."""
        block, chunks = self._of_file, self._of_file.chunks
        return chunks is not None and any(following(chunks, block.start - chunks.start))

    def transactions(self) -> np.ndarray[Any, Any]:
        """The transactions since the last call; one that is open comes again."""
        found = np.frombuffer(self.scanner.transactions.copied(), TRANSACTIONS)
        self.scanner.transactions.clear()
        return found

    # ---- a file -------------------------------------------------------------------------------

    def _file(self, chunks: Chunks) -> Iterator[ScannedPart]:
        """The parts of a file: of its bytes as they lie, and packed where those cannot be taken."""
        at, fresh = 0, True
        while True:
            try:
                yield from self._chunks(chunks, first=fresh)
                return
            except _CannotGoOn as stop:
                at = stop.offset
            yield from self._closed()
            fresh = fresh and at <= len(BINLOG_MAGIC)
            # The magic number need not be held any more: it was the usual one.
            rest = chunks.rest(at, BINLOG_MAGIC[:at] if fresh else b"")
            after = yield from self._packed(rest, None if fresh else at)
            if after is None:
                return
            chunks.skip_to(after)
            fresh = False

    def _chunks(self, chunks: Chunks, *, first: bool) -> Iterator[ScannedPart]:
        """The stretches of a file up to its end, or to what the scan cannot take."""
        scanner = self.scanner
        scanner.checksums = self.format.checksummed(EventType.QUERY_EVENT)
        scanner.format_checksum = self.format.checksummed(EventType.FORMAT_DESCRIPTION_EVENT)
        chunks.more()
        if first:
            self._check_start(chunks)
            chunks.start = len(BINLOG_MAGIC)
        block = self._block = self._of_file = Block(chunks, start=chunks.start)
        while True:
            block.start = chunks.start
            stop = yield from self._scanned(block)
            chunks.start = block.start
            if stop == "format":
                yield from self._closed()
                while claims(chunks) > chunks.end - chunks.start:
                    if not chunks.more():
                        raise _CannotGoOn(chunks.origin + chunks.start)
                self._check_format(chunks)
                block.start = chunks.start
                yield from self._format(block)
                chunks.start = block.start
                if chunks.origin + chunks.start < self._begin:
                    yield from self._closed()
                    self.ordinal -= 1  # it stands before the events that are counted here
                    chunks.skip_to(self._begin)
            elif stop not in ("end", "cut"):
                raise _CannotGoOn(chunks.origin + chunks.start)
            else:
                yield from self._closed()
                if absurd(chunks) or not chunks.more():
                    if chunks.end > chunks.start or chunks.failure is not None:
                        raise _CannotGoOn(chunks.origin + chunks.start)
                    return

    def _check_start(self, chunks: Chunks) -> None:
        """The first event must be a v4 log's."""
        head = bytes(chunks.buffer[4 : min(chunks.end, 4 + HEADER_LENGTH)])
        begins = bytes(chunks.buffer[:4]) == BINLOG_MAGIC and len(head) == HEADER_LENGTH
        if not begins or head[4] != EventType.FORMAT_DESCRIPTION_EVENT:
            raise _CannotGoOn(0)
        self._begin_log(parse_header(head, HEADER_LENGTH).flags)

    def _check_format(self, chunks: Chunks) -> None:
        """The format description that comes must be whole, and not be in doubt."""
        pos = chunks.origin + chunks.start
        data = bytes(chunks.buffer[chunks.start : chunks.start + claims(chunks)])
        if len(data) < HEADER_LENGTH:
            raise _CannotGoOn(pos)
        header = parse_header(data, HEADER_LENGTH)
        try:
            known = format_of(self.carrier.name, pos, data)
        except DamageError:
            raise _CannotGoOn(pos) from None
        if known.checksummed(EventType.FORMAT_DESCRIPTION_EVENT):
            if not ends_in_crc(header, data):
                raise _CannotGoOn(pos)
            return
        while len(found := [*following(chunks, header.size)]) < DOUBTED:
            held = chunks.end - chunks.start
            if held > REACH or not chunks.more() or chunks.end - chunks.start == held:
                break
        if any(ends_in_crc(*event) for event in found):
            raise _CannotGoOn(pos)

    # ---- events framed one by one -------------------------------------------------------------

    def _packed(self, file: BinaryIO, offset: int | None = None) -> Any:
        """The parts of what ``file`` gives, framed one by one; ``offset``: of its first byte, None
        where it gives the whole log. Returns where the file can be gone on with, None at its end.
        """
        after: int | None = None

        def read(tell: Callable[[DamageError], None]) -> LogReader:
            mode = "stop" if self.stops else "report"
            reader = LogReader(self.carrier.name, file, on_damage=mode, sink=tell)
            if offset is not None:
                sure = not self._doubts
                reader.go_on(offset, self.format, self._shift, self._unchecked, sure=sure)
            return reader

        def enough(reader: LogReader, raw: RawEvent, since: int) -> bool:
            nonlocal after
            code = (EventType.FORMAT_DESCRIPTION_EVENT, EventType.QUERY_EVENT)
            sealed = all(reader.format.checksummed(c) for c in code) and raw.checksum == "ok"
            usual = reader.format.header_length == HEADER_LENGTH and reader.format.version > 3
            if offset is None or since < _ENOUGH or not (sealed and usual and self._seekable):
                return False
            if raw.header.type_code in code[:1] or not usual_layout(self.parser.context):
                return False
            after = reader.offset
            self.format = reader.format
            return True

        self.scanner.checksums = self.scanner.format_checksum = False
        for pack in packs(read, self.parser.context, enough):
            yield from self._pack(pack)
        return after

    def _pack(self, pack: Pack) -> Iterator[ScannedPart]:
        """The parts of packed events, and of the damage before them."""
        if pack.damages:
            self.scanner.lost()
            for error in pack.damages:
                self._damages.append((0, error))
                self._missing(error.offset)
        if pack.raws:
            self._begin_log(pack.raws[0].header.flags)
        block = self._block = Block(pack=pack, spots=pack.spots())
        while (yield from self._scanned(block)) == "format":
            if len(self.index):  # else damage that was met stands before it, or in it
                yield from self._closed()
            yield from self._format(block)
        yield from self._closed()

    # ---- the scan -----------------------------------------------------------------------------

    def _scanned(self, block: Block) -> Any:
        """Scan a block on; parts come where a stretch must end. Returns why the scan stopped."""
        while True:
            if self._splices and block is self._of_file:
                yield from self._spliced(block)
            found = self.scanner.scan(
                self.index, block.data, block.start, block.end, block.origin, False,
                self._spots(block),
            )  # fmt: skip
            block.start = self.scanner.offset
            if found != "look":
                return found
            raw = self._last_raw(block)
            try:
                if raw.inner is not None and raw.header.type_code == _PAYLOAD:
                    raise _CannotGoOn(raw.pos)  # no server writes that
                event, changed = self._looked(block, raw)
            except (DamageError, _CannotGoOn):
                yield from self._closed(left_out=1)
                raise
            except InputError:
                yield from self._closed()
                raise
            body = event.body
            if isinstance(body, TransactionPayload) and raw.inner is None:
                yield from self._closed()
                yield from self._payload(raw, body)
                self._block = block
                self._splices = block is self._of_file and raw.checksum == "ok"
            elif changed or self._looked_at >= _MOST_LOOKED:
                yield from self._closed()

    def _spliced(self, block: Block) -> Iterator[ScannedPart]:
        """The parts of a file's next events, as far as those can be spliced."""
        self._splices, chunks, scanner = False, chunks_of(block), self.scanner
        chunks.start = block.start
        found = splice(chunks)
        if found is None:
            return
        yield from self._closed()
        before = scanner.checksums, scanner.format_checksum
        scanner.checksums = scanner.format_checksum = False
        block.start = found.after
        self._block = Block(pack=found, spots=found.spots)
        try:
            yield from self._scanned(self._block)
            yield from self._closed()
        finally:
            scanner.checksums, scanner.format_checksum = before
        self._block, self._splices = block, True
        self._shift = shift_of(found.last, found.pos, 4) or 0

    def _spots(self, block: Block) -> Any:
        return None if block.spots is None else block.spots[block.given :].data

    def _format(self, block: Block) -> Iterator[ScannedPart]:
        """Take the format description at the block's start."""
        raw = self._format_event(block)
        size = int.from_bytes(bytes(block.data[block.start + 9 : block.start + 13]), "little")
        try:
            event = self._parsed(raw)
        except DamageError:
            yield from self._closed()
            raise
        found = self.scanner.scan(
            self.index, block.data, block.start, block.start + size, block.origin, True,
            self._spots(block),
        )  # fmt: skip
        block.start = self.scanner.offset
        self.settled = None
        if found == "look":
            self._settle(block, event)
        changed = self._look(self, 0, event)
        if changed and self.ordinal:
            yield from self._closed()
        usual = usual_layout(self.parser.context) and self.format.header_length == HEADER_LENGTH
        if block.pack is None and not usual:
            raise _CannotGoOn(block.origin + block.start)

    def _format_event(self, block: Block) -> RawEvent:
        """The format description at the block's start, by which the scan is set."""
        if isinstance(block.pack, Pack):
            return block.pack.raws[block.given]
        pos = block.origin + block.start
        size = int.from_bytes(block.data[block.start + 9 : block.start + 13], "little")
        data = bytes(block.data[block.start : block.start + size])
        known = self.format = format_of(self.carrier.name, pos, data)
        sealed = known.checksummed(EventType.FORMAT_DESCRIPTION_EVENT)
        self.scanner.format_checksum = sealed
        self.scanner.checksums = known.checksummed(EventType.QUERY_EVENT)
        self._doubts = 0 if sealed else DOUBTED
        header, end = parse_header(data, HEADER_LENGTH), size - (CHECKSUM_LENGTH if sealed else 0)
        checksum = "ok" if sealed else "none"
        return RawEvent.framed(self.carrier.name, pos, header, data, end, checksum, 4)

    def indexed(self) -> Stretch:
        """The stretch that is being indexed, as far as it has come."""
        return self._stretch(self._block, np.frombuffer(self.index.copied(), ENTRIES))

    def following(self) -> Event | None:
        """The event after a format description that is looked at, where it is in hand."""
        block, raws = self._block, list[RawEvent]()
        if isinstance(block.pack, Pack):
            raws = block.pack.raws[block.given + len(self.index) :]
        elif block.chunks is not None:
            tail = CHECKSUM_LENGTH if self.scanner.checksums else 0
            for header, data in following(block.chunks, block.start - block.chunks.start):
                at, end = block.origin + block.start, len(data) - tail
                raws.append(RawEvent.framed(self.carrier.name, at, header, data, end, "none", 4))
                break
        parser = EventParser(lambda _: None, replace(self.parser.context))
        return parser.parse(raws[0]) if raws else None

    def _last_raw(self, block: Block) -> RawEvent:
        """The event after which the scan stopped."""
        i = len(self.index) - 1
        if isinstance(block.pack, Pack):
            return block.pack.raws[block.given + i]
        entries = np.frombuffer(self.index.copied(i), ENTRIES)
        return self._stretch(block, entries, i).raw(0, self.carrier.name)

    def _looked(self, block: Block, raw: RawEvent) -> tuple[Event, bool]:
        event = self._parsed(raw)
        if isinstance(event.body, RowsEvent):
            reason = "what stands before its rows contradicts itself"
            self._failed(MalformedEventError(raw.file, raw.pos, reason, "rows"))
            event = Event(raw, OpaqueEvent(raw.body, reason))
        if isinstance(event.body, Variable):
            self.scanner.variables = True
        self._settle(block, event)
        self._looked_at += 1
        changed = self._look(self, len(self.index) - 1, event)
        version = self.parser.context.server_version
        refuse_encrypted(raw.file, version, raw.header.type_code, raw.end_pos)
        return event, changed

    def _parsed(self, raw: RawEvent) -> Event:
        at = self.ordinal + max(len(self.index) - 1, 0)
        if at > self._parsed_at + 1:
            self.parser.forget_variables()  # the statement that they are for is not here
        self._parsed_at = at
        return self.parser.parse(raw)

    def _begin_log(self, flags: int) -> None:
        """Take the first event's flags: only a relay log continues a transaction before it."""
        if self.relay is None:
            self.relay = bool(flags & EventFlag.RELAY_LOG)
            if not self.relay:
                self.scanner.finish()

    def _settle(self, block: Block, event: Event) -> None:
        self.settled = settle(self.scanner, self.index, block.origin, event, self._spots(block))

    def _failed(self, error: DamageError) -> None:
        """The event that was indexed last cannot be read."""
        if self.stops:
            raise error
        self._damages.append((max(len(self.index) - 1, 0), error))

    # ---- what is handed over ------------------------------------------------------------------

    def _closed(self, left_out: int = 0) -> Iterator[ScannedPart]:
        """Hand over what was indexed, but for the last entries, and begin a new index."""
        block, count = self._block, len(self.index) - left_out
        damages, self._damages = self._damages, []
        if count > 0:
            stretch = self._stretch(block, np.frombuffer(self.index.copied(), ENTRIES)[:count])
            self._note_end(block, stretch)
            yield ScannedPart(stretch, damages)
            block.given += count
            if block.outer is not None:
                last = stretch.entries[-1]
                block.after = chunks_of(block).origin + int(last["offset"]) + int(last["size"])
                self.scanner.most_events -= count
            self.ordinal += count
            self._looked_at = 0
            self.index = Index(count * 9 // 8)  # about as many come again
        elif damages:
            yield ScannedPart(None, damages)
        if left_out:
            self.index = Index()

    def _stretch(self, block: Block, entries: np.ndarray[Any, Any], begin: int = 0) -> Stretch:
        """Entries of the index from ``begin`` on."""
        outer, pack, given = block.outer, block.pack, block.given + begin
        return Stretch(
            self.scanner, self.index, block.data, entries, self.ordinal, block.origin,
            None if outer is None else (outer.pos, outer.end_pos), given, block.chunks,
            CHECKSUM_LENGTH if self.scanner.checksums else 0,
            None if block.spots is None else block.spots[given:],
            pack.raws[given:] if isinstance(pack, Pack) else None,
            pack.seals[given * CHECKSUM_LENGTH :] if isinstance(pack, Splice) else None,
        )  # fmt: skip

    def _note_end(self, block: Block, stretch: Stretch) -> None:
        """Note what framing events one by one from here on needs to know."""
        if block.chunks is None or block.outer is not None:
            return
        entries = stretch.entries
        last = int(entries["offset"][-1])
        header = parse_header(bytes(block.data[last : last + HEADER_LENGTH]), HEADER_LENGTH)
        self._shift = shift_of(header, block.origin + last, 4) or 0
        if self.scanner.checksums or self._unchecked is not None:
            self._doubts = 0
            return
        self._doubts = max(0, self._doubts - len(entries))
        plain = np.ones(len(entries), bool)
        if self.scanner.format_checksum:
            plain = entries["type"] != EventType.FORMAT_DESCRIPTION_EVENT
        if plain.any():
            self._unchecked = int(stretch.positions[int(np.argmax(plain))])

    # ---- payloads -----------------------------------------------------------------------------

    def _payload(self, outer: RawEvent, payload: TransactionPayload) -> Iterator[ScannedPart]:
        """The parts inside a payload."""
        scanner = self.scanner
        before = scanner.checksums, scanner.format_checksum
        most, scanner.most_events = scanner.most_events, most_events(payload)
        scanner.checksums = scanner.format_checksum = False
        scanner.outer_pos, scanner.outer_end = outer.pos, outer.end_pos
        block = self._block = Block(outer=outer)
        try:
            whole = yield from self._inside(payload, block)
        except (DamageError, LimitError, ZstdError, _CannotGoOn):
            whole = False
            yield from self._closed()
        finally:
            scanner.outer_pos = scanner.outer_end = -1
            scanner.most_events = most
        if not whole:
            yield from self._one_by_one(outer, payload, block)
        scanner.checksums, scanner.format_checksum = before

    def _inside(self, payload: TransactionPayload, block: Block) -> Any:
        """The stretches of a payload; returns whether all of it could be taken."""
        expected = SIZE if payload.uncompressed_size is None else payload.uncompressed_size
        assert block.outer is not None
        plain = plain_stream(block.outer, payload)
        chunks = self._payload_chunks = Chunks(plain, self._payload_chunks, expected=expected)
        most = most_bytes(payload)
        block.chunks = chunks
        while True:
            block.start = chunks.start
            stop = yield from self._scanned(block)
            chunks.start = block.start
            yield from self._closed()
            if stop not in ("end", "cut") or claims(chunks) > most or not chunks.more():
                break
        size = chunks.origin + chunks.end
        whole = chunks.end == chunks.start and chunks.failure is None
        return whole and payload.uncompressed_size in (None, size)

    def _one_by_one(
        self, outer: RawEvent, payload: TransactionPayload, inside: Block
    ) -> Iterator[ScannedPart]:
        """What is left of a payload after the events that were handed over, and its damage."""
        pack, found = Pack(), None
        try:
            for raw in inner_events(outer, payload, inside.given, inside.after):
                pack.add(raw, self.parser.context)
                if pack.full:
                    yield from self._pack(pack)
                    pack = Pack()
        except DamageError as error:
            found = error
        except LimitError as error:
            found = payload_limit(outer, error)
        yield from self._pack(pack)
        if found is not None:
            self.scanner.lost()
            self._failed(found)
            yield from self._closed()
