"""Whether a binary JSON document equals a JSON text: the text's values, written back.

A document is gone through beside the value that is claimed, each scalar of which is written in the
form that the document has there and compared by its bytes (``json_binary.h``, 8.0). The order of an
object's keys in the text does not count.
"""

from __future__ import annotations

import json
import struct
from base64 import b64decode
from typing import Any

from binlogkit._kernel.json_tree import no_json
from binlogkit.analyses.conformance.stored_forms import DATETIME, TIME, write_decimal
from binlogkit.constants import ColumnType

_SMALL_OBJECT, _LARGE_OBJECT, _SMALL_ARRAY, _LARGE_ARRAY = range(4)
_LITERAL, _DOUBLE, _STRING, _OPAQUE = 0x04, 0x0B, 0x0C, 0x0F
_LITERALS: dict[int, Any] = {0: None, 1: True, 2: False}
# Type code: bytes, signed.
_INTEGERS = {5: (2, True), 6: (2, False), 7: (4, True), 8: (4, False), 9: (8, True), 10: (8, False)}
_INLINE = {2: (_LITERAL, 5, 6), 4: (_LITERAL, 5, 6, 7, 8)}
_MOMENTS = (ColumnType.DATE, ColumnType.DATETIME, ColumnType.TIMESTAMP)


class _Number(str):
    """A JSON number by its text."""


def document_says(document: bytes, text: str, *, as_5_7: bool = False) -> bool:
    """Whether ``document`` (type byte and value) is what ``text`` says.

    ``as_5_7``: 5.7 writes a double without a fraction as ``1``, later ones as ``1.0``, and line
    ends in base64 raw. ValueError, TypeError, struct.error: ``text`` is no JSON, or its value
    cannot have the stored form.
    """
    try:
        value = json.loads(
            text, parse_int=_Number, parse_float=_Number, parse_constant=no_json, strict=not as_5_7
        )
        return _says(document[0], memoryview(document)[1:], value, as_5_7)
    except (RecursionError, IndexError) as exc:
        raise ValueError("no document, or one nested too deeply") from exc


def _says(kind: int, data: memoryview, value: Any, as_5_7: bool) -> bool:
    if kind <= _LARGE_ARRAY:
        return _container(kind, data, value, as_5_7)
    if kind == _LITERAL:
        return data[0] in _LITERALS and value is _LITERALS[data[0]]
    if kind == _STRING:
        return _is_text(value) and _prefixed(data) == value.encode("utf-8", "surrogatepass")
    if kind == _OPAQUE:
        return _opaque(data[0], _prefixed(data[1:]), value)
    if not isinstance(value, _Number):
        return False
    if kind in _INTEGERS:
        size, signed = _INTEGERS[kind]
        return data[:size] == int(value).to_bytes(size, "little", signed=signed)
    if kind == _DOUBLE:
        written = as_5_7 or any(mark in value for mark in ".eE")
        return written and data[:8] == struct.pack("<d", float(value))
    raise ValueError(f"JSON type {kind}")


def _is_text(value: Any) -> bool:
    return isinstance(value, str) and not isinstance(value, _Number)


def _container(kind: int, data: memoryview, value: Any, as_5_7: bool) -> bool:
    width = 4 if kind in (_LARGE_OBJECT, _LARGE_ARRAY) else 2
    keyed = kind in (_SMALL_OBJECT, _LARGE_OBJECT)
    count = _uint(data, 0, width)
    if not isinstance(value, (dict, list)) or len(value) != count:
        return False
    if isinstance(value, dict) != keyed:
        return False
    entries = 2 * width
    if isinstance(value, dict):
        members = {name.encode("utf-8", "surrogatepass"): member for name, member in value.items()}
        names = [_name(data, entries + i * (width + 2), width) for i in range(count)]
        if set(names) != set(members):
            return False
        value = [members[name] for name in names]
        entries += count * (width + 2)
    return all(
        _entry(data, entries + i * (width + 1), width, member, as_5_7)
        for i, member in enumerate(value)
    )


def _uint(data: memoryview, at: int, size: int) -> int:
    if at + size > len(data):
        raise ValueError("the document ends too early")
    return int.from_bytes(data[at : at + size], "little")


def _name(data: memoryview, at: int, width: int) -> bytes:
    start = _uint(data, at, width)
    return bytes(data[start : start + _uint(data, at + width, 2)])


def _entry(data: memoryview, at: int, width: int, value: Any, as_5_7: bool) -> bool:
    kind = data[at]
    start = at + 1 if kind in _INLINE[width] else _uint(data, at + 1, width)
    return _says(kind, data[start:], value, as_5_7)


def _prefixed(data: memoryview) -> bytes:
    """The bytes after a length of seven bits a byte, the lowest first."""
    length = shift = at = 0
    while True:
        byte = data[at]
        length |= (byte & 0x7F) << shift
        at, shift = at + 1, shift + 7
        if byte < 0x80:
            break
    if at + length > len(data):
        raise ValueError("the document ends too early")
    return bytes(data[at : at + length])


def _opaque(code: int, content: bytes, value: Any) -> bool:
    """A value of a column's type: DECIMAL as a number, dates by their text, others as base64."""
    if code == ColumnType.NEWDECIMAL:
        if not isinstance(value, _Number):
            return False
        return write_decimal(value, content[0], content[1]) == content[2:]
    if not _is_text(value):
        return False
    if code in _MOMENTS:
        full = f"{value} 00:00:00.000000" if code == ColumnType.DATE else value
        return _moment(full).to_bytes(8, "little", signed=True) == content
    if code == ColumnType.TIME:
        return _clock(value).to_bytes(8, "little", signed=True) == content
    head, _, coded = value.rpartition(":")
    return head == f"base64:type{code}" and b64decode(coded) == content


def _moment(text: str) -> int:
    found = DATETIME.fullmatch(text)
    if found is None or len(found[7] or "") != 6:
        raise ValueError(text)
    year, month, day, hour, minute, second, micros = (int(part) for part in found.groups())
    whole = (year * 13 + month) << 22 | day << 17 | hour << 12 | minute << 6 | second
    return whole << 24 | micros


def _clock(text: str) -> int:
    found = TIME.fullmatch(text)
    if found is None or len(found[4] or "") != 6:
        raise ValueError(text)
    hours, minutes, seconds, micros = (int(part) for part in found.groups())
    packed = (hours << 12 | minutes << 6 | seconds) << 24 | micros
    return -packed if text[0] == "-" else packed
