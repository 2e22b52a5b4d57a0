"""The bytes that a hexdump shows, row after row, ignoring other text between the rows.

Rows with offsets must follow each other as their offsets say: a row that is missing is damage. A
``*`` stands for rows equal to the one before it (hexdump, od), up to the next offset. Offsets are
hexadecimal, or octal or decimal as od writes them, which the second row shows. mysqlbinlog
--hexdump prints a dump per event; the events of a compressed payload follow it once more,
decompressed, and are left out, as the payload holds them. Digits without offsets are read from
lines of nothing but digits, else from any run long enough to be an event's header.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import BinaryIO

from binlogkit.constants import HEADER_LENGTH
from binlogkit.errors import DamageError
from binlogkit.limits import limit, limit_error
from binlogkit.sources.text.hex_rows import (
    MYSQLBINLOG,
    Row,
    RowError,
    Style,
    digits_of,
    last_offset,
    offset_behind,
    row_begins,
    rows_of,
    style_of,
)
from binlogkit.sources.text.scanner import TextWindow

_MAX_MISSING = 1 << 20  # bytes of missing rows that zeros stand for, so that positions hold
_PART = 1 << 16
_PAIRS = rf"(?:[0-9a-fA-F]{{2}}){{{HEADER_LENGTH},}}"
_RUN = re.compile(rf"(?<![0-9a-zA-Z])(?:0x|[xX]')?({_PAIRS})(?![0-9a-zA-Z])")
_ONLY_DIGITS = re.compile(r"(?:0x|\\x|[xX]'|[0-9a-fA-F]{2}|[\s,;:{}()\[\]'\"+_-])+")
_PAYLOAD_STARTS, _PAYLOAD_ENDS = "# Start of compressed events", "# End of compressed events"
_EVENT_STARTS = "# Position  Timestamp"
EVENT_DUMP = re.compile(rf"^{_EVENT_STARTS}", re.MULTILINE)
_BASES = (16, 8, 10)
_BYTES = re.compile(r"(?:\b[0-9a-fA-F]{2} {1,2}){6}")
_HEX = frozenset("0123456789abcdefABCDEF")
_MOSTLY = 0.8


@dataclass(frozen=True, slots=True)
class NewDump:
    """What follows does not continue what came before; ``offsets``: whether that had any."""

    offsets: bool


Item = bytes | NewDump | DamageError


class Dump:
    """The bytes of a text's dumps in order, with :class:`NewDump` between them, and damage."""

    def __init__(self, name: str, file: BinaryIO) -> None:
        self._window = TextWindow(name, file)
        self._style: Style | None = None
        self._row: Row | None = None
        self._base: int | None = None
        self._repeat = False
        self._reported = False
        self._repeated = 0
        self._payload = False
        self._digits = False

    def __iter__(self) -> Iterator[Item]:
        for line in self._lines():
            self._style = self._style or style_of(line)
            if self._style is None:
                yield from self._plain(line)
            elif (begin := row_begins(line, self._style)) is not None:
                if not self._payload:
                    yield from self._rows(line, begin, self._style)
            else:
                yield from self._between(line)
        yield from self._flush()

    def damage(self, reason: str, index: int = 0) -> DamageError:
        """Damage at ``index`` of the line that was read last."""
        return self._window.damage(reason, index)

    def _lines(self) -> Iterator[str]:
        """The lines without their breaks, each while the window stands at its beginning."""
        window = self._window
        while window.more():
            while (end := window.text.find("\n", window.at)) >= 0:
                yield window.text[window.at : end].rstrip("\r")
                window.skip_to(end + 1)
            if window.left > limit("TEXT_LINE"):
                raise limit_error(window.name, "TEXT_LINE", "a line of the hexdump is longer")
        if window.left:
            yield window.text[window.at :]

    # ---- rows with offsets ----------------------------------------------------------------

    def _rows(self, line: str, begin: int, style: Style) -> Iterator[Item]:
        try:
            for row in rows_of(line, begin, style):
                self._repeat = self._repeat or row.repeated
                yield from self._up_to(row.offset)
                self._row = row
        except RowError as error:
            yield from self._up_to(error.offset)
            yield self.damage(str(error), error.index)
            self._row, self._reported = Row(error.offset, b""), True

    def _between(self, line: str) -> Iterator[Item]:
        """A line that is no row: a repetition, the last offset, the next event, other text."""
        if line.strip() == "*":
            self._repeat = True
        elif self._style is MYSQLBINLOG:
            if line.startswith(_PAYLOAD_STARTS):
                self._payload = True
            elif line.startswith(_PAYLOAD_ENDS):
                self._payload = False
            elif line.startswith(_EVENT_STARTS):
                yield from self._flush()
        elif (offset := last_offset(line)) is not None:
            yield from self._up_to(offset)
        elif self._row is not None and _BYTES.search(line):
            following = offset_behind(self._row, self._base or _BASES[0])
            yield self._row.data
            yield self.damage("the offset of a row cannot be read")
            self._row, self._repeat, self._reported = Row(following, b""), False, True

    def _up_to(self, offset: str) -> Iterator[Item]:
        """The row that waits, as far as the next ``offset``, and what stands for rows between."""
        row = self._row
        if row is None:
            return
        if self._base is None:
            self._base = _base_of(row, offset)
        try:
            count = int(offset, self._base) - int(row.offset, self._base)
        except ValueError:
            count = -1
        # What a row said that could not be read, `*` cannot say again.
        repeat = self._repeat and bool(row.data)
        if count <= 0 or (not repeat and count > len(row.data) + _MAX_MISSING):
            yield from self._flush()
            return
        yield row.data[:count]
        missing = count - len(row.data)
        if missing > 0 and repeat:
            yield from self._repetition(row.data, missing)
        elif missing > 0:
            if not self._reported:
                yield self.damage(f"{missing} bytes are missing before offset {offset}", 0)
            yield bytes(missing)
        self._row, self._repeat, self._reported = None, False, False

    def _repetition(self, data: bytes, count: int) -> Iterator[bytes]:
        self._repeated += count
        if self._repeated > limit("REPEATED"):
            what = f"`*` stands for {self._repeated} bytes"
            raise limit_error(self._window.name, "REPEATED", what)
        part = data * max(1, _PART // len(data))
        while count > 0:
            yield part[:count]
            count -= len(part)

    def _flush(self) -> Iterator[Item]:
        """The row that waits is its dump's last."""
        if self._row is not None:
            yield self._row.data
        if self._row is not None or self._digits:
            yield NewDump(self._row is not None)
        self._row, self._base, self._repeat, self._digits = None, None, False, False

    # ---- digits alone ---------------------------------------------------------------------

    def _plain(self, line: str) -> Iterator[Item]:
        if line.strip() == "*" and self._digits:
            yield self.damage("rows are left out (*), and without offsets their number is unknown")
            return
        if (digits := _digits_alone(line)) is not None:
            self._digits = True
            yield digits
            return
        runs = list(_RUN.finditer(line))
        if not runs and self._digits and (damage := self._bad_digits(line)):
            yield damage
            return
        for run in runs:
            yield from self._flush()
            self._digits = True
            yield bytes.fromhex(run[1])
        yield from self._flush()

    def _bad_digits(self, line: str) -> DamageError | None:
        """What is wrong with a line that is digits for the most part, between lines of digits."""
        digits = sum(c in _HEX for c in line)
        if digits < _MOSTLY * len(line):
            return None
        try:
            digits_of(line)
        except RowError as error:
            return self.damage(str(error), error.index)
        return None


def _digits_alone(line: str) -> bytes | None:
    """The bytes of a line of nothing but hex digits; None where it holds other text or none."""
    if not line.strip() or not _ONLY_DIGITS.fullmatch(line):
        return None
    try:
        return digits_of(line)
    except RowError:  # in pairs only where a prefix stands inside a group: 100x12
        return None


def _base_of(row: Row, following: str) -> int:
    """The base in which the offsets of two rows in succession differ by the first one's bytes."""
    for base in _BASES:
        try:
            if int(following, base) - int(row.offset, base) == len(row.data):
                return base
        except ValueError:
            continue
    return _BASES[0]
