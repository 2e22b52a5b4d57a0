r"""A streaming reader of ``mysqlbinlog -v`` / ``-vv --base64-output=decode-rows``.

Learned from the output of mysqlbinlog 9.7.4 over logs of 5.0 to 9.7 (and its sources, 8.0):

- ``# at POS`` and then ``#yymmdd hh:mm:ss server id N  end_log_pos N [CRC32 0x…] Type …``. INTVAR,
  RAND and USER_VAR are held back until their statement comes: their headers follow later, in the
  same order among themselves, while other events (LOAD DATA's blocks) may be printed in between.
  They are put back into the order of their positions here.
- The rows of a statement are printed after the header of its **last** rows event (STMT_END_F),
  those of the earlier ones first; which row belongs to which event is not said.
- Inside a payload ``# at`` and ``end_log_pos`` are the payload's end, and the CRC is not stored.
- A statement ends with a line ``/*!*/;`` and is raw, as are the names in ``Table_map:``. A string
  in a statement may hold lines that look like all of this. Where that is so, the reader goes by
  the position that must come next, and by ``hints`` (the statement another decoder read there:
  when the text holds exactly that, the text is read so); the event's ``doubt`` says it.
"""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from heapq import heappop, heappush

from binlogkit.analyses.conformance.our_records import OurEvents
from binlogkit.analyses.conformance.printed import (
    LineSource,
    PrintedEvent,
    PrintedRow,
    TakenEvents,
    TextBlocks,
    read_rows,
)

_AT = re.compile(rb"# at (0|[1-9]\d{0,19}(?!\d))")
_HEADER = re.compile(
    rb"#(\d{6} [ \d]\d:\d\d:\d\d) server id (\d{1,20})  end_log_pos (\d{1,20}) "
    rb"(?:CRC32 0x([0-9a-f]+) )?(.*)",
    re.DOTALL,
)
_KIND = re.compile(rb"\t([A-Za-z_-]+)")
# These stand on a line of their own below the header.
_LATE_KIND = re.compile(rb"# ?(Begin_load_query|Append_block|Delete_file|Incident|Unknown event)\b")
_ROWS_KINDS = frozenset(
    f"{verb}_rows{suffix}"
    for verb in ("Write", "Update", "Delete")
    for suffix in ("", "_v1", "_partial")
)
_TABLE_MAP = re.compile(rb"\tTable_map: `(.*)`\.`(.*)` mapped to number \d{1,20}", re.DOTALL)
_DELIMITER = b"/*!*/;"
_PREAMBLE = re.compile(
    rb"(?:use `|SET TIMESTAMP=|SET @@session\.|/\*!\d{5} SET @@session\.|/\*!\\C )", re.DOTALL
)
_END_OF_PAYLOAD = b"# End of compressed events."
_START_OF_PAYLOAD = b"# Start of compressed events."
_EPILOGUE = (
    b"SET @@SESSION.GTID_NEXT= 'AUTOMATIC' /* added by mysqlbinlog */",
    b"ROLLBACK /* added by mysqlbinlog */",
    b"BEGIN /*added by mysqlbinlog */",
    b"DELIMITER ;",
    b"# End of log file",
    b"# Warning: ",
    _END_OF_PAYLOAD,
)
_HELD_BACK = frozenset(("Intvar", "Rand", "User_var"))
_STATEMENT_KINDS = frozenset(("Query", "Execute_load_query"))
_UINT32 = 0xFFFF_FFFF
_NAME_LINES = 130


def read_text(
    lines: Iterable[bytes | str] | TextBlocks,
    hints: OurEvents | None = None,
    take_rows: Callable[[LineSource], object] | None = None,
    take_events: Callable[[LineSource, int], TakenEvents | None] | None = None,
) -> Iterator[PrintedEvent | PrintedRow]:
    """Events in the order of their positions; a statement's rows after its last rows event.

    ``hints``: what another decoder knows of the log; it decides only where the text alone cannot;
    ``take_rows`` may take whole rows where the next line begins one, which then are not read;
    ``take_events`` whole events with their rows, where the next line begins one that stands after
    the position that it is given.
    """
    reader = _Reader(LineSource(lines), OurEvents(()) if hints is None else hints)
    reader.take_rows, reader.take_events = take_rows, take_events
    return reader.read()


class _Reader:
    """``chained``: so far every event began where the one before it said that it ends.

    ``highest``: the last position so far; ``positions``: of events whose headers are still to
    come, each with its number in the text; ``first_inner``: the number of the first event inside
    the payload at ``outer``.
    """

    def __init__(self, lines: LineSource, hints: OurEvents) -> None:
        self.lines = lines
        self.hints = hints
        self.take_rows: Callable[[LineSource], object] | None = None
        self.take_events: Callable[[LineSource, int], TakenEvents | None] | None = None
        self.positions: deque[tuple[int, int]] = deque()
        self.seen = 0
        self.chained = True
        self.end: int | None = None
        self.highest = -1
        self.outer: int | None = None
        self.first_inner = 0
        self.waiting: list[tuple[int, PrintedEvent]] = []

    def read(self) -> Iterator[PrintedEvent | PrintedRow]:
        lines = self.lines
        while (line := lines.peek()) is not None:
            if found := _AT.fullmatch(line):
                if self._taken():
                    continue
                lines.take()
                self.positions.append((int(found[1]), self.seen))
                self.seen += 1
            elif self.positions and (header := _HEADER.fullmatch(line)):
                lines.take()
                yield from self._event(header)
            else:
                if line == _END_OF_PAYLOAD:
                    self.outer = None
                lines.take()
        self.positions.clear()
        yield from self._due()

    def _taken(self) -> bool:
        """Whether the next events were taken."""
        if self.take_events is None or self.positions or self.waiting or self.outer is not None:
            return False
        events = self.take_events(self.lines, self.highest)
        if events is None:
            return False
        self.chained = self.chained and self.end in (None, events.first & _UINT32)
        self.end, self.highest = events.end_log_pos, events.last
        self.seen += events.count
        return True

    def _event(self, header: re.Match[bytes]) -> Iterator[PrintedEvent | PrintedRow]:
        event, number = self._start(header)
        if self.take_events is not None:
            self.lines.taken = [header[0]]
        if event.kind == "Table_map":
            self._table_map(event)
        if event.kind in _STATEMENT_KINDS:
            self._query(event)
        elif event.kind == "Rows_query":
            self._rows_query(event)
        elif event.kind not in _ROWS_KINDS:
            self._body(event)
        if self.lines.taken is not None:
            event.text = b"# at %d\n%s\n" % (event.pos, b"\n".join(self.lines.taken))
            self.lines.taken = None
        heappush(self.waiting, (number, event))
        yield from self._due()
        if event.kind in _ROWS_KINDS:
            yield from self._rows()
        elif event.kind == "Transaction_Payload":
            self.outer, self.first_inner = event.pos, self.seen

    def _rows(self) -> Iterator[PrintedRow]:
        # Who takes rows goes by the events before them, so none of those may be held back.
        take = self.take_rows if not self.waiting else None
        if take is not None:
            take(self.lines)
        for row in read_rows(self.lines):
            yield row
            if take is not None:
                take(self.lines)

    def _due(self) -> Iterator[PrintedEvent]:
        """The events read, as far as none before them is still held back."""
        held = self.positions[0][1] if self.positions else self.seen
        while self.waiting and self.waiting[0][0] < held:
            event = heappop(self.waiting)[1]
            if event.inner is None:
                self._follow_chain(event)
            yield event

    def _follow_chain(self, event: PrintedEvent) -> None:
        broken = self.end is not None and event.pos & _UINT32 != self.end
        # Up to 5.0 an event of a transaction counts from the start of its cache.
        if broken or event.end_log_pos <= event.pos & _UINT32:
            self.chained = False
        self.end = event.end_log_pos
        # A log's positions only grow: what went before was typed by someone.
        if event.pos <= self.highest:
            event.doubt = "a text before this event looks like events at this position and later"
        self.highest = max(self.highest, event.pos)

    def _start(self, header: re.Match[bytes]) -> tuple[PrintedEvent, int]:
        """The event of a header line, and its number in the text."""
        found = _KIND.match(header[5])
        kind = found[1].decode("ascii") if found else ""
        pos, number = self.positions.popleft() if kind in _HELD_BACK else self.positions.pop()
        event = PrintedEvent(
            pos=pos,
            end_log_pos=int(header[3]),
            server_id=int(header[2]),
            time=header[1].decode("ascii"),
            checksum=int(header[4], 16) if header[4] else None,
            kind=kind,
            head=header[5],
        )
        if self.outer is not None:
            event.outer, event.inner = self.outer, number - self.first_inner
        return event, number

    # Where does the text of an event end?

    def _is_boundary(self, event: PrintedEvent, distance: int, *, run: bool = True) -> bool:
        """Whether the line ``distance`` ahead begins another event: ``# at`` and a header follow.

        ``run``: several ``# at`` lines may stand there (events that were held back).
        """
        pos = self._announced(distance, run=run)
        return pos is not None and self._follows(event, pos)

    def _announced(self, distance: int, *, run: bool = True) -> int | None:
        """The position of the event that begins ``distance`` lines ahead, if one does."""
        found = _AT.fullmatch(self.lines.peek(distance) or b"")
        if not found:
            return None
        after = distance + 1
        while run and _AT.fullmatch(self.lines.peek(after) or b""):
            after += 1
        return int(found[1]) if _HEADER.fullmatch(self.lines.peek(after) or b"") else None

    def _follows(self, event: PrintedEvent, pos: int) -> bool:
        """Whether an event at ``pos`` can stand next."""
        if self.positions:
            return False
        if event.inner is not None:
            return pos == event.pos
        if not self.chained or event.end_log_pos <= event.pos & _UINT32:
            return pos > event.pos
        return pos & _UINT32 == event.end_log_pos or self.hints.known_position(pos)

    def _is_end(self, event: PrintedEvent, distance: int) -> bool:
        """Whether the statement can end before the line ``distance`` ahead."""
        line = self.lines.peek(distance)
        if line is None or line.startswith(_EPILOGUE) or self._is_boundary(event, distance):
            return True
        # Execute_load_query closes with its file's number; a held-back event has its header next;
        # the last `# at` of a text that breaks off has none.
        if event.kind == "Execute_load_query" and line.startswith(b"# file_id: "):
            return True
        if self.positions and _HEADER.fullmatch(line):
            return True
        return bool(_AT.fullmatch(line)) and self._is_tail(distance)

    def _is_tail(self, distance: int) -> bool:
        line = self.lines.peek(distance)
        while line is not None and _AT.fullmatch(line):
            distance += 1
            line = self.lines.peek(distance)
        return line is None or line.startswith(_EPILOGUE)

    # The kinds of text

    def _query(self, event: PrintedEvent) -> None:
        """Settings, each closed by the delimiter on its line; then the statement; then its end."""
        lines, hint = self.lines, self.hints.statement(event.key)
        while (line := lines.peek()) is not None:
            if hint is not None and self._matches(event, hint):
                self._take_statement(event, hint)
                return
            if not _PREAMBLE.match(line):
                break
            event.body.append(lines.take())
            while not event.body[-1].endswith(_DELIMITER) and lines.peek() is not None:
                event.body[-1] += b"\n" + lines.take()
        self._guess_statement(event)

    def _matches(self, event: PrintedEvent, hint: bytes) -> bool:
        wanted = hint.split(b"\n")
        if self.lines.peek() != wanted[0] or self.lines.peek(len(wanted)) != _DELIMITER:
            return False
        if not self._is_end(event, len(wanted) + 1):
            return False
        return all(self.lines.peek(i) == part for i, part in enumerate(wanted))

    def _take_statement(self, event: PrintedEvent, hint: bytes) -> None:
        for _ in range(hint.count(b"\n") + 2):
            self.lines.take()
        event.statement = hint
        parts = hint.split(b"\n")
        if any(part == _DELIMITER or _AT.fullmatch(part) for part in parts):
            event.doubt = "the statement holds lines that look like mysqlbinlog's own"

    def _guess_statement(self, event: PrintedEvent) -> None:
        lines = self.lines
        taken: list[bytes] = []
        while (line := lines.peek()) is not None:
            if line == _DELIMITER:
                if self._is_end(event, 1):
                    lines.take()
                    break
                event.doubt = "a line of the statement looks like its end"
            taken.append(lines.take())
        event.statement = b"\n".join(taken)

    def _rows_query(self, event: PrintedEvent) -> None:
        """Each line of the original statement after ``# ``: it cannot hold a header line."""
        taken: list[bytes] = []
        while (line := self.lines.peek()) is not None and line.startswith(b"# "):
            if self._is_boundary(event, 0, run=False) or line == _END_OF_PAYLOAD:
                break
            if line == b"# End of log file" or (_AT.fullmatch(line) and self._is_tail(0)):
                break
            taken.append(self.lines.take()[2:])
        event.statement = b"\n".join(taken)
        if any(part.startswith(b"at ") for part in taken):
            event.doubt = "the statement holds lines that look like mysqlbinlog's own"

    def _table_map(self, event: PrintedEvent) -> None:
        """Names stand raw, without doubled backticks: the closing words end them."""
        for _ in range(_NAME_LINES):
            found = _TABLE_MAP.fullmatch(event.head)
            if found or self.lines.peek() is None:
                break
            event.head += b"\n" + self.lines.take()
        if found:
            event.table = (found[1], found[2])
            # One `.` and one line: there is one way to read it.
            if event.head.count(b"`.`") != 1 or b"\n" in event.head:
                event.doubt = "names stand raw, so where the first ends is not said"

    def _body(self, event: PrintedEvent) -> None:
        while (line := self.lines.peek()) is not None:
            if line in (_END_OF_PAYLOAD, _START_OF_PAYLOAD):
                self.lines.take()
                if line == _END_OF_PAYLOAD:
                    self.outer = None
                return
            if self.positions and _HEADER.fullmatch(line):
                return
            if _AT.fullmatch(line) and (self._is_boundary_of_plain(event) or self._is_tail(0)):
                return
            event.body.append(self.lines.take())
            if not event.kind and (late := _LATE_KIND.match(event.body[-1])):
                event.kind = late[1].decode("ascii")

    def _is_boundary_of_plain(self, event: PrintedEvent) -> bool:
        """As :meth:`_is_boundary`, for events without free text: any later position will do."""
        pos = self._announced(0)
        return pos is not None and (event.inner is not None or pos > event.pos)
