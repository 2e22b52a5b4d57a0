"""The ``### `` lines of a rows event -> row changes, as a stream.

``print_verbose`` and ``print_verbose_one_row`` in ``sql/log_event.cc`` (8.0) write them; read from
mysqlbinlog 9.7.4. Names are quoted with doubled backticks, except in ``VALUES ()``, where they
stand as they are; a name may hold line ends.
"""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Iterable, Iterator

from binlogkit.analyses.conformance.printed import PrintedCell, PrintedRow, TableName

__all__ = ["LineSource", "read_rows"]

_VERBS = {
    b"### INSERT INTO ": "insert",
    b"### UPDATE ": "update",
    b"### DELETE FROM ": "delete",
}
_START = re.compile(rb"### (?:INSERT INTO|UPDATE|DELETE FROM) (?=`)")
_NAME = re.compile(rb"`((?:[^`]|``)*)`\.`((?:[^`]|``)*)`")
_EMPTY = re.compile(rb"`(.*)`\.`(.*)` VALUES \(\)", re.DOTALL)
_CELL = re.compile(rb"###   @(\d{1,20})=")
_COMMENT = re.compile(rb"(.*) meta=(-?\d{1,20}) nullable=([01]) is_null=([01])")
_UNKNOWN_TABLE = re.compile(rb"### Row event for unknown table #(\d{1,20})(.*)", re.DOTALL)
_JSON_LINE = b"###      "
_GIVEN_UP = (b"!! ", b"***Corrupted", b"*** Error")
_NAME_LINES = 130  # a name has at most 64 characters; two names, each of them line ends


class LineSource:
    """The lines of a text, as bytes without line ends, read no further ahead than asked.

    ``number``: how many lines were taken. Text lines are read as UTF-8 with surrogate escapes, so
    that text which was decoded that way gives its bytes back.
    """

    def __init__(self, lines: Iterable[bytes | str]) -> None:
        self._lines: Iterator[bytes | str] = iter(lines)
        self._ahead: deque[bytes] = deque()
        self.number = 0

    def peek(self, distance: int = 0) -> bytes | None:
        """The line ``distance`` lines ahead (0: the next one), None behind the end."""
        while len(self._ahead) <= distance:
            line = next(self._lines, None)
            if line is None:
                return None
            self._ahead.append(_clean(line))
        return self._ahead[distance]

    def take(self) -> bytes:
        """The next line; ``StopIteration`` never: call it only after ``peek``."""
        line = self._ahead.popleft() if self._ahead else _clean(next(self._lines))
        self.number += 1
        return line

    def give_back(self, line: bytes) -> None:
        """Put a line in front of the rest: the tail of the line just taken."""
        self._ahead.appendleft(line)
        self.number -= 1


def _clean(line: bytes | str) -> bytes:
    raw = line.encode("utf-8", "surrogateescape") if isinstance(line, str) else line
    return raw[:-1] if raw.endswith(b"\n") else raw


def read_rows(lines: LineSource) -> Iterator[PrintedRow]:
    """The row changes that start at the next line, up to the first line that is none of theirs."""
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
            return PrintedCell(
                index, text[:at], kind, int(found[2]), found[3] == b"1", found[4] == b"1"
            )
    return PrintedCell(index, text)
