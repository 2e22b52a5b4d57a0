"""What mysqlbinlog's text holds, as its reader delivers it: events, and their rows.

The ``### `` lines of rows are what ``print_verbose`` and ``print_verbose_one_row`` in
``sql/log_event.cc`` (8.0) write; read from mysqlbinlog 9.7.4. Names are quoted with doubled
backticks, except in ``VALUES ()``, where they stand as they are; a name may hold line ends.
"""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from datetime import datetime, tzinfo
from functools import lru_cache

TableName = tuple[bytes, bytes]


@dataclass(slots=True)
class PrintedEvent:
    """One event's header line and what follows it.

    ``pos``: the number of ``# at``; inside a payload that is the end of the payload, therefore
    ``inner`` counts the payload's events from 0 and ``outer`` is the payload's own position
    (None outside). ``end_log_pos``: as printed (the header's 32 bits); ``time``: as ``yymmdd
    hh:mm:ss`` in the program's own time zone; ``checksum``: the printed CRC, None where the log
    has none; ``kind``: the phrase that names the type (``Query``, ``Write_rows`` …, empty when
    there is none); ``head``: the header line from that phrase on; ``body``: the lines below,
    without line ends, empty for rows events, whose rows follow as :class:`PrintedRow`;
    ``statement``: SQL text of a Query or Rows_query (that one escaped, as it is printed);
    ``text``: all lines, where that was asked for;
    ``doubt``: why the text does not say for sure where this event ends.
    """

    pos: int
    end_log_pos: int
    server_id: int
    time: str
    checksum: int | None
    kind: str
    head: bytes
    outer: int | None = None
    inner: int | None = None
    body: list[bytes] = field(default_factory=list)
    statement: bytes | None = None
    table: TableName | None = None
    doubt: str | None = None
    text: bytes = b""

    @property
    def key(self) -> tuple[int, int]:
        """``(pos, inner)`` as our own records have them; -1 outside a payload."""
        if self.outer is not None and self.inner is not None:
            return (self.outer, self.inner)
        return (self.pos, -1)


@dataclass(frozen=True, slots=True)
class PrintedCell:
    """One ``@n=value`` line.

    ``index``: 0-based; ``token``: the bytes of the value; ``comment``: what ``-vv`` prints after
    them, with the blank in front (empty with ``-v``); ``type``: the SQL type in it, ``meta`` from
    the same place.
    """

    index: int
    token: bytes
    type: str = ""
    meta: int | None = None
    comment: bytes = b""


@dataclass(slots=True)
class PrintedRow:
    """One row change.

    ``op``: ``insert``, ``update`` or ``delete``; ``before``, ``after``: cells by 0-based index,
    None without that image; ``fault``: the words with which mysqlbinlog gave this row up (it then
    also skips what is left of the event, silently); ``line``: its first line's number, 1-based.
    """

    table: TableName
    op: str
    before: dict[int, PrintedCell] | None = None
    after: dict[int, PrintedCell] | None = None
    fault: str | None = None
    line: int = 0


@dataclass(frozen=True, slots=True)
class TakenEvents:
    """Events whose text was taken without being read: how many, where the first and the last of
    them stand, and the last one's ``end_log_pos``."""

    count: int
    first: int
    last: int
    end_log_pos: int


_VERBS = {
    b"### INSERT INTO ": "insert",
    b"### UPDATE ": "update",
    b"### DELETE FROM ": "delete",
}
_START = re.compile(rb"### (?:INSERT INTO|UPDATE|DELETE FROM) (?=`)")
_NAME = re.compile(rb"`((?:[^`]|``)*)`\.`((?:[^`]|``)*)`")
_EMPTY = re.compile(rb"`(.*)`\.`(.*)` VALUES \(\)", re.DOTALL)
_CELL = re.compile(rb"###   @(\d{1,20})=")
_COMMENT = re.compile(rb"(.*) meta=(-?\d{1,20}) nullable=[01] is_null=[01]")
_UNKNOWN_TABLE = re.compile(rb"### Row event for unknown table #(\d{1,20})(.*)", re.DOTALL)
_JSON_LINE = b"###      "
# Lines of the row before: cells, operations of JSON, an image more, words of failure.
_GOES_ON = (b"###   ", b"### SET", b"### WHERE", b"*** ")
_LONGEST_START = max(map(len, _GOES_ON))
_GIVEN_UP = (b"!! ", b"***Corrupted", b"*** Error")
_NAME_LINES = 130  # a name has at most 64 characters; two names, each of them line ends


@dataclass(frozen=True, slots=True)
class TextBlocks:
    """A text as blocks of bytes that end anywhere."""

    blocks: Iterable[bytes]


@lru_cache(256)
def clock(timestamp: int, zone: tzinfo) -> str:
    """A timestamp as mysqlbinlog prints it."""
    moment = datetime.fromtimestamp(timestamp, zone)
    return f"{moment:%y%m%d} {moment.hour:2d}:{moment:%M:%S}"


class LineSource:
    """The lines of a text, as bytes without line ends, read no further ahead than asked.

    ``text``: its lines, or blocks; ``number``: how many lines were taken. Text lines are read as
    UTF-8 with surrogate escapes, so that text which was decoded that way gives its bytes back.
    """

    def __init__(self, text: Iterable[bytes | str] | TextBlocks) -> None:
        given = text.blocks if isinstance(text, TextBlocks) else map(_whole, text)
        self._blocks: Iterator[bytes] = iter(given)
        self._ahead: deque[bytes] = deque()
        self._block, self._at = b"", 0  # what follows them
        self.number = 0
        self.taken: list[bytes] | None = None  # lines, while someone wants them

    def peek(self, distance: int = 0) -> bytes | None:
        """The line ``distance`` lines ahead (0: the next one), None after the end."""
        while len(self._ahead) <= distance:
            end = self._block.find(b"\n", self._at)
            if end < 0 and self._read(len(self._block) - self._at + 1):
                continue
            if end < 0 and self._at == len(self._block):
                return None
            end = len(self._block) if end < 0 else end
            self._ahead.append(self._block[self._at : end])
            self._at = min(end + 1, len(self._block))
        return self._ahead[distance]

    def _read(self, size: int) -> bool:
        """Hold so many bytes after the lines ahead; whether there are so many."""
        held = len(self._block) - self._at
        if held >= size:
            return True
        parts = [self._block[self._at :]]
        while held < size and (block := next(self._blocks, None)) is not None:
            parts.append(block)
            held += len(block)
        self._block, self._at = b"".join(parts), 0
        return held >= size

    def take(self) -> bytes:
        """The next line; call it only after ``peek``."""
        line = self._ahead.popleft()
        self.number += 1
        if self.taken is not None:
            self.taken.append(line)
        return line

    def take_rows(self, text: bytes) -> bool:
        """Take the next lines if they are ``text``, which ends with the end of a row: whether they
        are, and the row ends there."""
        return self._take_text(text, _GOES_ON)

    def take_events(self, text: bytes) -> bool:
        """Take the next lines if they are ``text``: whether they are."""
        return self._take_text(text, ())

    def _take_text(self, text: bytes, without: tuple[bytes, ...]) -> bool:
        ahead = b"".join(line + b"\n" for line in self._ahead)
        if len(ahead) > len(text):
            self._block, self._at, ahead = ahead + self._block[self._at :], 0, b""
            self._ahead.clear()
        if not text.startswith(ahead):
            return False
        size = len(text) - len(ahead)
        self._read(size + _LONGEST_START)
        end = self._at + size
        if self._block[self._at : end] != text[len(ahead) :]:
            return False
        if self._block.startswith(without, end):
            return False
        self._ahead.clear()
        self._at = end
        self.number += text.count(b"\n")
        return True

    def give_back(self, line: bytes) -> None:
        """Put a line in front of the rest: the tail of the line just taken."""
        self._ahead.appendleft(line)
        self.number -= 1


def _whole(line: bytes | str) -> bytes:
    raw = line.encode("utf-8", "surrogateescape") if isinstance(line, str) else line
    return raw if raw.endswith(b"\n") else raw + b"\n"


def read_rows(lines: LineSource) -> Iterator[PrintedRow]:
    """The row changes that start at the next line, up to the first line that is none of theirs.

    Who takes a row may then take lines of further ones.
    """
    row: PrintedRow | None = None
    while (line := lines.peek()) is not None and line.startswith(b"#"):
        if line == b"### SET" or line == b"### WHERE":
            if row is None:
                return
            lines.take()
            image: dict[int, PrintedCell] = {}
            if line == b"### SET":
                row.after = image
            else:
                row.before = image
            _read_image(lines, row, image)
        elif _START.match(line):
            if row is not None:
                yield row
                row = None
                continue
            row = _read_start(lines)
        elif line.startswith(b"### Extra row "):
            lines.take()
        elif found := _UNKNOWN_TABLE.match(line):
            if row is not None:
                yield row
            yield _unknown_table(lines, found)
            row = None
        else:
            break
    if row is not None:
        yield row


def _unknown_table(lines: LineSource, found: re.Match[bytes]) -> PrintedRow:
    """The words end without a line end, so the next line hangs on them."""
    number = lines.number + 1
    lines.take()
    if found[2]:
        lines.give_back(found[2])
    text = f"row event for unknown table #{found[1].decode('ascii')}"
    return PrintedRow((b"", b""), "", fault=text, line=number)


def _read_start(lines: LineSource) -> PrintedRow:
    number = lines.number + 1
    first = lines.take()
    verb = next(v for v in _VERBS if first.startswith(v))
    rest = first[len(verb) :]
    for _ in range(_NAME_LINES):
        if found := _NAME.fullmatch(rest):
            return PrintedRow(_name(found), _VERBS[verb], line=number)
        following = lines.peek()
        if rest.endswith(b"` VALUES ()") and (found := _EMPTY.fullmatch(rest)):
            return PrintedRow((found[1], found[2]), _VERBS[verb], after={}, line=number)
        if following is None:
            break
        rest += b"\n" + lines.take()
    return PrintedRow((rest, b""), _VERBS[verb], fault="a name that does not end", line=number)


def _name(found: re.Match[bytes]) -> TableName:
    return (found[1].replace(b"``", b"`"), found[2].replace(b"``", b"`"))


def _read_image(lines: LineSource, row: PrintedRow, image: dict[int, PrintedCell]) -> None:
    while (line := lines.peek()) is not None and (found := _CELL.match(line)):
        lines.take()
        text = line[found.end() :]
        if text.startswith(_GIVEN_UP):
            row.fault = text.decode("utf-8", "backslashreplace").strip()
            return
        if text.startswith((b"Invalid JSON", b"Error ")):
            following = lines.peek()
            if following is not None and following.startswith(b" /* "):
                text += lines.take()
        else:
            while (following := lines.peek()) is not None and following.startswith(_JSON_LINE):
                text += b"\n" + lines.take()
        cell = _cell(int(found[1]) - 1, text)
        image[cell.index] = cell
    if line is not None and line.startswith(b"*** Error reading binlog_row_value_options"):
        lines.take()
        row.fault = line.decode("utf-8", "backslashreplace").strip()


def _cell(index: int, text: bytes) -> PrintedCell:
    """Split the ``-vv`` comment off; it is the last on its line, whatever the value holds."""
    at = text.rfind(b" /* ")
    if at >= 0 and text.endswith(b" */"):
        found = _COMMENT.fullmatch(text, at + 4, len(text) - 3)
        if found:
            kind = found[1].decode("ascii", "backslashreplace")
            return PrintedCell(index, text[:at], kind, int(found[2]), text[at:])
    return PrintedCell(index, text)
