"""MySQL's binary JSON (5.7.8+) and the text that the server prints for it.

A value is a type byte and its content. Containers come small or large (2- or 4-byte numbers): count
and size, a key entry (offset, length) per key, a value entry (type, offset or the value itself) per
value, then keys and values; offsets count from the container's own start (format: comment at the
top of the server's ``json_binary.h``).

The text is 8.0's, checked against 8.0.31. 5.7.22 prints two things differently: a double without
fraction or exponent has no ``.0`` there, and the line breaks in the base64 of a long opaque value
are not escaped.
"""

from __future__ import annotations

import math
import struct
from base64 import b64encode
from collections.abc import Callable
from dataclasses import dataclass

from binlogkit._kernel.numbers import decimal_size, read_decimal
from binlogkit._kernel.temporal import MAX_HOUR, clock_error, date_error
from binlogkit._kernel.value_text import decimal_text
from binlogkit.constants import ColumnType

#: Containers in each other; the server refuses documents beyond it.
MAX_DEPTH = 100
#: Characters of text per byte of document. The largest a server's own document can reach is
#: below 7 (a string of control characters); offsets made up to be shared could reach any number.
MAX_EXPANSION = 8
_SLACK = 64

SMALL_OBJECT, LARGE_OBJECT, SMALL_ARRAY, LARGE_ARRAY = 0x00, 0x01, 0x02, 0x03
LITERAL, INT16, UINT16, INT32, UINT32, INT64, UINT64, DOUBLE = range(0x04, 0x0C)
STRING, OPAQUE = 0x0C, 0x0F

_LITERALS = {0: "null", 1: "true", 2: "false"}
_NUMBERS = {
    INT16: struct.Struct("<h"),
    UINT16: struct.Struct("<H"),
    INT32: struct.Struct("<i"),
    UINT32: struct.Struct("<I"),
    INT64: struct.Struct("<q"),
    UINT64: struct.Struct("<Q"),
}
# Types whose value stands in the value entry itself, in a small and in a large container.
_INLINED = {2: (LITERAL, INT16, UINT16), 4: (LITERAL, INT16, UINT16, INT32, UINT32)}
_MAX_LENGTH_BYTES = 5
_MAX_LENGTH = 0xFFFFFFFF
_BASE64_LINE = 76
# The server's 9 words of 9 digits: the precision written with a value counts whole words, so it can
# pass the 65 digits of a column.
_MAX_DECIMAL_DIGITS = 81

_ESCAPES = {
    **{i: f"\\u{i:04x}" for i in range(0x20)},
    **{ord(char): rf"\{sign}" for char, sign in zip('\b\t\n\f\r"\\', 'btnfr"\\', strict=True)},
}


class InvalidJson(ValueError):
    """The bytes are no binary JSON document, or one beyond the limits."""


def to_text(data: bytes, *, as_5_7: bool = False) -> str:
    """The server's text of the document ``data``.

    ``as_5_7``: as 5.7 prints it (5.7.22: whole doubles without ``.0``, the line breaks of long
    base64 unescaped). InvalidJson: not a document, deeper than :data:`MAX_DEPTH` containers, or its
    text is longer than :data:`MAX_EXPANSION` characters per byte.
    """
    if not data:
        raise InvalidJson("a document without bytes")
    writer = _Writer(len(data) * MAX_EXPANSION + _SLACK, as_5_7)
    writer.value(data[0], memoryview(data)[1:])  # slices of a view copy nothing
    return "".join(writer.parts)


def quote(text: str) -> str:
    """``text`` as the server prints it inside a document: in double quotes, escaped."""
    return f'"{text.translate(_ESCAPES)}"'


def double_text(value: float) -> str:
    """A finite double as 8.0 prints it inside a document.

    The shortest digits that read back to it; plain from 1e-15 to below 1e15, and where a fraction
    is left above that (server's ``my_gcvt``), else with an exponent; ``.0`` where neither fraction
    nor exponent is there.
    """
    if not value:
        return "-0.0" if math.copysign(1, value) < 0 else "0.0"
    mantissa, _, exponent = f"{value!r}".partition("e")
    sign = "-" if mantissa.startswith("-") else ""
    whole, _, part = mantissa.lstrip("-").partition(".")
    digits = (whole + part).lstrip("0")
    point = len(whole) + int(exponent or 0) - (len(whole + part) - len(digits))
    digits = digits.rstrip("0")
    if -14 <= point <= 0:
        return f"{sign}0.{'0' * -point}{digits}"
    if point > 0 and (point <= 15 or point < len(digits)):
        return f"{sign}{digits[:point].ljust(point, '0')}.{digits[point:] or '0'}"
    tail = f".{digits[1:]}" if len(digits) > 1 else ""
    return f"{sign}{digits[0]}{tail}e{point - 1}"


@dataclass(frozen=True, slots=True)
class Container:
    """The frame of one object or array. ``data`` begins at its count and ends with it;
    ``width``: bytes of its numbers; ``keyed``: whether it is an object."""

    data: memoryview
    width: int
    count: int
    keyed: bool

    @classmethod
    def read(cls, kind: int, data: memoryview) -> Container:
        """The container of type ``kind`` that ``data`` begins with."""
        width = 4 if kind in (LARGE_OBJECT, LARGE_ARRAY) else 2
        keyed = kind in (SMALL_OBJECT, LARGE_OBJECT)
        if len(data) < 2 * width:
            raise InvalidJson("a container ends inside its header")
        count = int.from_bytes(data[:width], "little")
        size = int.from_bytes(data[width : 2 * width], "little")
        if size > len(data):
            raise InvalidJson(f"a container of {size} bytes where {len(data)} are left")
        self = cls(data[:size], width, count, keyed)
        if self.header > size:
            raise InvalidJson(f"{count} entries in a container of {size} bytes")
        return self

    @property
    def values(self) -> int:
        """Where the value entries begin."""
        return 2 * self.width + (self.count * (self.width + 2) if self.keyed else 0)

    @property
    def header(self) -> int:
        """Where the entries end and keys and values may begin."""
        return self.values + self.count * (1 + self.width)

    def key_entry(self, i: int) -> tuple[int, int, int]:
        """Where the entry of key ``i`` begins; where the key does, and its bytes."""
        p = 2 * self.width + i * (self.width + 2)
        after = p + self.width
        offset = int.from_bytes(self.data[p:after], "little")
        return p, offset, int.from_bytes(self.data[after : after + 2], "little")

    def key(self, i: int) -> str:
        """The name of member ``i``."""
        _, offset, length = self.key_entry(i)
        if offset < self.header or offset + length > len(self.data):
            raise InvalidJson("a key lies outside its object")
        return _utf8(self.data[offset : offset + length])

    def entry(self, i: int) -> tuple[int, memoryview]:
        """The type of value ``i`` and bytes that begin with it."""
        p = self.values + i * (1 + self.width)
        kind = self.data[p]
        field = self.data[p + 1 : p + 1 + self.width]
        if kind in _INLINED[self.width]:
            return kind, field
        offset = int.from_bytes(field, "little")
        if not self.header <= offset < len(self.data):
            raise InvalidJson("a value lies outside its container")
        return kind, self.data[offset:]


class _Writer:
    """Collects the text; ``room`` is how many characters it may still take."""

    def __init__(self, room: int, as_5_7: bool) -> None:
        self.as_5_7 = as_5_7
        self.parts: list[str] = []
        self.room = room

    def put(self, text: str) -> None:
        self.room -= len(text)
        if self.room < 0:
            raise InvalidJson("its text is out of all proportion to its bytes")
        self.parts.append(text)

    def value(self, kind: int, data: memoryview, depth: int = 0) -> None:
        scalar = _SCALARS.get(kind)
        if scalar is not None:
            text = scalar(kind, data)
            self.put(_text_of_5_7(kind, text) if self.as_5_7 else text)
        elif kind <= LARGE_ARRAY:
            self.container(Container.read(kind, data), depth + 1)
        else:
            raise InvalidJson(f"value type {kind:#04x} is unknown")

    def container(self, frame: Container, depth: int) -> None:
        if depth > MAX_DEPTH:
            raise InvalidJson(f"deeper than {MAX_DEPTH} containers")
        self.put("{" if frame.keyed else "[")
        for i in range(frame.count):
            if i:
                self.put(", ")
            if frame.keyed:
                self.put(f"{quote(frame.key(i))}: ")
            self.value(*frame.entry(i), depth)
        self.put("}" if frame.keyed else "]")


def _text_of_5_7(kind: int, text: str) -> str:
    if kind == DOUBLE:
        return text.removesuffix(".0")
    if kind == OPAQUE and text.startswith('"base64:'):
        return text.replace("\\n", "\n")
    return text


def _utf8(raw: memoryview) -> str:
    try:
        return str(raw, "utf-8")
    except UnicodeDecodeError as exc:
        raise InvalidJson(f"a string is no UTF-8 at its byte {exc.start}") from exc


def _literal(_kind: int, data: memoryview) -> str:
    text = _LITERALS.get(data[0]) if data else None
    if text is None:
        raise InvalidJson("a literal is none of null, true, false")
    return text


def _number(kind: int, data: memoryview) -> str:
    form = _NUMBERS[kind]
    if len(data) < form.size:
        raise InvalidJson("a number is cut")
    return str(form.unpack_from(data)[0])


def _double(_kind: int, data: memoryview) -> str:
    if len(data) < 8:
        raise InvalidJson("a double is cut")
    (value,) = struct.unpack_from("<d", data)
    if not math.isfinite(value):
        raise InvalidJson(f"{value} is no JSON number")
    return double_text(value)


def _string(_kind: int, data: memoryview) -> str:
    start, stop = counted(data, 0)
    return quote(_utf8(data[start:stop]))


def _opaque(_kind: int, data: memoryview) -> str:
    if not data:
        raise InvalidJson("an opaque value without type")
    start, stop = counted(data, 1)
    content = bytes(data[start:stop])
    special = _OPAQUES.get(data[0])
    return special(content) if special else _base64(data[0], content)


def counted(data: memoryview, p: int) -> tuple[int, int]:
    """Where the bytes begin and end that stand after a length of 7-bit groups, lowest first."""
    length = 0
    for i in range(_MAX_LENGTH_BYTES):
        if p + i >= len(data):
            raise InvalidJson("a length is cut")
        length |= (data[p + i] & 0x7F) << 7 * i
        if not data[p + i] & 0x80:
            start = p + i + 1
            if length > len(data) - start or length > _MAX_LENGTH:
                raise InvalidJson(f"{length} bytes where {len(data) - start} are left")
            return start, start + length
    raise InvalidJson("a length of more than 5 bytes")


def scalar_text(kind: int, data: memoryview) -> str:
    """The text of a value of type ``kind`` that is no container and that ``data`` begins with."""
    read = _SCALARS.get(kind)
    if read is None:
        raise InvalidJson(f"value type {kind:#04x} is unknown")
    return read(kind, data)


def _base64(field_type: int, content: bytes) -> str:
    text = b64encode(content).decode("ascii")
    lines = (text[i : i + _BASE64_LINE] for i in range(0, len(text), _BASE64_LINE))
    return quote(f"base64:type{field_type}:" + "\n".join(lines))


def _decimal(content: bytes) -> str:
    if len(content) < 2:
        raise InvalidJson("a DECIMAL without precision and scale")
    precision, scale = content[0], content[1]
    try:
        if not scale <= precision <= _MAX_DECIMAL_DIGITS or not precision:
            raise InvalidJson(f"a DECIMAL of {precision} digits, {scale} of them fraction")
        if len(content) - 2 < decimal_size(precision, scale):
            raise InvalidJson("a DECIMAL is cut")
        value = read_decimal(content[2:], precision, scale)
    except ValueError as exc:
        raise InvalidJson(str(exc)) from exc
    return decimal_text(value)


def _packed(content: bytes) -> tuple[bool, int, int]:
    """(negative, whole part, microseconds) of a packed time: 40 bits and 24 bits, signed."""
    if len(content) != 8:
        raise InvalidJson(f"a date or time of {len(content)} bytes")
    packed = int.from_bytes(content, "little", signed=True)
    return packed < 0, abs(packed) >> 24, abs(packed) & 0xFFFFFF


def _ymdhms(content: bytes) -> tuple[str, str]:
    negative, whole, micros = _packed(content)
    day, clock = whole >> 17, whole & 0x1FFFF
    (year, month), day = divmod(day >> 5, 13), day & 31
    hour, minute, second = clock >> 12, clock >> 6 & 63, clock & 63
    error = date_error(year, month, day) or clock_error(hour, minute, second, micros)
    if negative or error:
        raise InvalidJson(error or "a negative date")
    return (
        f"{year:04d}-{month:02d}-{day:02d}",
        f"{hour:02d}:{minute:02d}:{second:02d}.{micros:06d}",
    )


def _time(content: bytes) -> str:
    negative, whole, micros = _packed(content)
    hour, minute, second = whole >> 12, whole >> 6 & 63, whole & 63
    if hour > MAX_HOUR or minute > 59 or second > 59 or micros > 999_999:
        raise InvalidJson(f"hour {hour}, minute {minute}, second {second}")
    return f'"{"-" * negative}{hour:02d}:{minute:02d}:{second:02d}.{micros:06d}"'


_SCALARS: dict[int, Callable[[int, memoryview], str]] = {
    LITERAL: _literal,
    **dict.fromkeys(_NUMBERS, _number),
    DOUBLE: _double,
    STRING: _string,
    OPAQUE: _opaque,
}
_OPAQUES: dict[int, Callable[[bytes], str]] = {
    ColumnType.NEWDECIMAL: _decimal,
    ColumnType.DATE: lambda content: '"{}"'.format(*_ymdhms(content)),
    ColumnType.TIME: _time,
    **dict.fromkeys(
        (ColumnType.DATETIME, ColumnType.TIMESTAMP),
        lambda content: '"{} {}"'.format(*_ymdhms(content)),
    ),
}
