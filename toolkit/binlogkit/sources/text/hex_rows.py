"""One row of a hexdump: its offset, its bytes, and their text column.

As these programs print rows: ``xxd``, ``hexdump -C``, ``hexdump``, ``od -A x -t x1z``, ``od -x``,
``mysqlbinlog --hexdump``; and hex digits alone, as ``xxd -p`` prints them or a hand writes them.
The picture of the bytes at a row's end may itself look like hex digits. It begins at the first
``|`` or ``>``; in xxd's rows, whose offsets have a colon, after a double space.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

_GROUP = re.compile(r"[0-9a-fA-F]+")
_SPACES = re.compile(r"[ \t]+")
_PICTURE = {"|": "|", ">": "<"}
_WORD = 4  # digits of a group that holds a 16-bit number in the byte order of an x86
_WIDEST = 256  # bytes of a row
_OFFSET_DIGITS = 6  # of an offset at least, and more than a group of bytes has


class RowError(ValueError):
    """The bytes of the row at ``offset`` cannot be read at ``index`` of the line."""

    def __init__(self, index: int, reason: str) -> None:
        super().__init__(reason)
        self.index = index
        self.offset = ""


@dataclass(frozen=True, slots=True)
class Row:
    """A row: its offset's digits, its bytes, and whether a ``*`` stands before it in its line."""

    offset: str
    data: bytes
    repeated: bool = False


@dataclass(frozen=True, slots=True)
class Style:
    """How rows begin: ``start`` matches up to the first byte, the offset's digits as group 1.

    ``spaced``: a double space ends the bytes; ``words``: groups of four digits are numbers.
    """

    start: re.Pattern[str]
    spaced: bool = False
    words: bool = False


_LEAD = r"[ \t]*(?:[>#*/]+[ \t]+)*"
# After the offset stand digits, or something with digits after it: a damaged row.
_DIGITS = r"[ \t]+(?=[0-9a-fA-F]{2}|\S{1,8}(?:[ \t]+[0-9a-fA-F]{2,8}(?=[ \t])){2})"
XXD = Style(re.compile(rf"{_LEAD}(?:0x)?([0-9a-fA-F]{{4,16}}):{_DIGITS}"), spaced=True)
LABELLED = Style(re.compile(rf"{_LEAD}([0-9a-fA-F]{{6,16}}){_DIGITS}"), words=True)
MYSQLBINLOG = Style(re.compile(r"# ([0-9a-f]{8,16}) (?=[0-9a-f]{2} )"))
_AFTER_WORDS = re.compile(r"(?<=\s)[0-9a-f]{6,16}(?=[ \t]+(?:[0-9a-f]{2}[ \t]+){2,16}[|>])")
_STAR = re.compile(r"[ \t]*\*(?=[ \t])")
_LAST = re.compile(rf"{_LEAD}(?:0x)?([0-9a-fA-F]{{6,16}}):?[ \t]*$")
_FEW = 4  # groups of digits after an offset make a row


def style_of(line: str) -> Style | None:
    """The style of a line that is a row with an offset, else None."""
    for style in (MYSQLBINLOG, XXD, LABELLED):
        begin = row_begins(line, style)
        start = style.start.match(line, begin) if begin is not None else None
        if start is not None and _looks_right(line[start.end() :], style):
            return style
    return None


def _looks_right(rest: str, style: Style) -> bool:
    """Whether digits in groups of one, two or more bytes follow, or all of a short row."""
    groups = re.split(r"[|>]|  " if style.spaced else r"[|>]", rest, maxsplit=1)[0].split()
    even = [g for g in groups[:_FEW] if _GROUP.fullmatch(g) and len(g) % 2 == 0]
    return bool(even) and len(even) == len(groups[:_FEW])


def offset_behind(row: Row, base: int) -> str:
    """The offset of the row that follows, as the dump would write it."""
    number = int(row.offset, base) + len(row.data)
    return format(number, {8: "o", 10: "d", 16: "x"}[base]).zfill(len(row.offset))


def last_offset(line: str) -> str | None:
    """The offset of a line that holds nothing else: where a dump ends."""
    found = _LAST.match(line)
    return found[1] if found else None


def row_begins(line: str, style: Style) -> int | None:
    """Where the first row of a line begins, None where there is none.

    A row may follow the command that printed it, when line breaks were lost; it then has its mark.
    """
    if style.start.match(line):
        return 0
    found = _AFTER_WORDS.search(line) if style is LABELLED else None
    return found.start() if found else None


def rows_of(line: str, begin: int, style: Style) -> Iterator[Row]:
    """The rows of a line: one, or a whole dump whose line breaks were lost.

    Errors: :class:`RowError`.
    """
    at, repeated = begin, False
    while True:
        star = _STAR.match(line, at)
        if star is not None:
            at, repeated = star.end(), True
        start = style.start.match(line, at)
        if start is None:
            break
        try:
            data, at = (_spaced if style.spaced else _marked)(line, start, style)
        except RowError as error:
            error.offset = start[1]
            raise
        yield Row(start[1], data, repeated)
        repeated = False
    last = _LAST.match(line, at) if at > begin else None
    if last is not None:
        yield Row(last[1], b"", repeated)


def _marked(line: str, start: re.Match[str], style: Style) -> tuple[bytes, int]:
    """A row's bytes, and the index after it; its picture, if any, stands between marks."""
    at, data = start.end(), bytearray()
    while at < len(line):
        gap = _SPACES.match(line, at)
        if gap is not None:
            at = gap.end()
        elif line[at] in _PICTURE:
            return bytes(data), _behind_picture(line, at, len(data))
        else:
            group = _GROUP.match(line, at)
            if group is None or len(group[0]) % 2:
                if data and not any(mark in line for mark in _PICTURE):
                    return bytes(data), len(line)  # a picture without marks
                raise _bad(line, at, group)
            if len(group[0]) >= _OFFSET_DIGITS:  # the next row's
                return bytes(data), at
            part = bytes.fromhex(group[0])
            data += part[::-1] if style.words and len(group[0]) == _WORD else part
            at = group.end()
    return bytes(data), at


def _behind_picture(line: str, at: int, count: int) -> int:
    """The index after the picture of ``count`` bytes that begins at ``at``."""
    closing = _PICTURE[line[at]]
    if line[at + count + 1 : at + count + 2] == closing:
        return at + count + 2
    found = re.compile(
        rf"{re.escape(closing)}(?=[ \t]+[0-9a-fA-F]{{6,16}}(?:[ \t]|$)|[ \t]*$)"
    ).search(line, at + 1)  # spaces of the picture were lost
    return found.end() if found else len(line)


def _spaced(line: str, start: re.Match[str], _: Style) -> tuple[bytes, int]:
    """The same for xxd's rows, whose picture has no marks."""
    picture = line.find("  ", start.end())
    if picture >= 0 and len(line[picture:].lstrip()) <= len(line[start.end() : picture]) // 2:
        return _all_digits(line, start.end(), picture), len(line)
    following = _next_offset(line, start)
    if following is not None:
        end, count = following
        return _some_digits(line, start.end(), end, count), end
    return _some_digits(line, start.end(), len(line), _WIDEST), len(line)


def _all_digits(line: str, at: int, end: int) -> bytes:
    """The bytes of a stretch that must be hex digits all through."""
    data = bytearray()
    for group in re.finditer(r"\S+", line[at:end]):
        digits = _GROUP.fullmatch(group[0])
        if digits is None or len(group[0]) % 2:
            raise _bad(line, at + group.start(), _GROUP.match(line, at + group.start(), end))
        data += bytes.fromhex(group[0])
    return bytes(data)


def _some_digits(line: str, at: int, end: int, count: int) -> bytes:
    """At most ``count`` bytes; where spaces were lost the picture is as long as the bytes."""
    data = bytearray()
    for group in re.finditer(r"\S+", line[at:end]):
        if _GROUP.fullmatch(group[0]) is None or len(group[0]) % 2:
            break
        data += bytes.fromhex(group[0])
        rest = line[at + group.end() : end].strip()
        if len(data) >= count or (count == _WIDEST and len(rest) == len(data)):
            break
    return bytes(data[:count])


def _next_offset(line: str, start: re.Match[str]) -> tuple[int, int] | None:
    """Where in the line the next row begins, and how many bytes lie before it."""
    first, width = int(start[1], 16), len(start[1])
    for found in re.finditer(rf"(?<=\s)[0-9a-fA-F]{{{width}}}(?=:\s)", line[start.end() :]):
        count = int(found[0], 16) - first
        if 0 < count <= _WIDEST:
            return start.end() + found.start(), count
    return None


def _bad(line: str, at: int, group: re.Match[str] | None) -> RowError:
    if group is not None and (group.end() == len(line) or line[group.end()].isspace()):
        return RowError(at, f"{group[0]} is an odd number of hex digits")
    at = group.end() if group is not None else at
    return RowError(at, f"{line[at]!r} is no hex digit")


_PREFIX = re.compile(r"0x|\\x|[xX]'|%", re.IGNORECASE)
_BETWEEN = re.compile(r"[\s,;:{}()\[\]'\"+_-]+")


def digits_of(line: str) -> bytes:
    """The bytes of hex digits, in pairs, however they are set apart (``0xfe, 0x62``, ``\\xfe``).

    Errors: :class:`RowError`.
    """
    at, data = 0, bytearray()
    while at < len(line):
        skipped = _BETWEEN.match(line, at) or _PREFIX.match(line, at)
        if skipped is not None:
            at = skipped.end()
            continue
        if line[at] in _PICTURE and data:
            break
        group = _GROUP.match(line, at)
        if group is None or len(group[0]) % 2:
            raise _bad(line, at, group)
        data += bytes.fromhex(group[0])
        at = group.end()
    return bytes(data)
