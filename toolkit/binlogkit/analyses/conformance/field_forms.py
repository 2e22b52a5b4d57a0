"""Values of events' fields as the log writes them, and how long those are that stand at a place."""

from __future__ import annotations

from binascii import unhexlify
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeAlias

Write: TypeAlias = Callable[[Any], bytes]
FieldPlace: TypeAlias = tuple[
    str, Any, Write, bytes
]  # a field, what is said, its form, what is there

_PACKED = {252: 2, 253: 3, 254: 8}  # first byte of a packed integer -> bytes after it
_MANY_DATABASES = 254  # "more than 16", without their names
_VARIABLE = 9  # bytes of the longest variable-length integer


def written(value: Any, write: Write) -> bytes | None:
    """None: not a value that can stand there; a value that is not there writes nothing."""
    if value is None:
        return b""
    try:
        return write(value)
    except (TypeError, ValueError, AttributeError, OverflowError, KeyError):
        return None


def uint(size: int) -> Write:
    """An integer of so many bytes, the lowest first."""
    return lambda value: int(value).to_bytes(size, "little")


def text(value: str) -> bytes:
    """UTF-8, with bytes that are none as they were."""
    return value.encode("utf-8", "surrogateescape")


def string(value: str) -> bytes:
    """A text after a byte with its length."""
    return bytes([len(text(value))]) + text(value)


def names(value: list[str]) -> bytes:
    """Names of databases, each with a NUL at its end."""
    if not value:
        return bytes([_MANY_DATABASES])
    return bytes([len(value)]) + b"".join(text(name) + b"\0" for name in value)


def from_hex(value: str) -> bytes:
    """The bytes of ``0x…``."""
    return unhexlify(value.removeprefix("0x"))


def typed_field(kind: int, value: bytes) -> bytes:
    """A field's type, length and value."""
    return packed(kind) + packed(len(value)) + value


def typed(value: Sequence[tuple[int, str]]) -> bytes:
    """Fields of type and value."""
    return b"".join(typed_field(kind, from_hex(stored)) for kind, stored in value)


def code_of(codes: Mapping[str, int], size: int = 1) -> Write:
    """The code of a name."""
    return lambda name: codes[name].to_bytes(size, "little")


def packed(value: int) -> bytes:
    """An integer of one byte, or of 2, 3 or 8 after a byte that says so."""
    if 0 <= value < min(_PACKED) - 1:
        return bytes([value])
    first = next((first for first, size in _PACKED.items() if value < 1 << 8 * size), 254)
    return bytes([first]) + value.to_bytes(_PACKED[first], "little")


def variable(value: int) -> bytes:
    """An integer of the serialization library: as many 1 bits first as bytes follow."""
    size = max(1, min(_VARIABLE, -(-value.bit_length() // 7)))
    if size == _VARIABLE:
        return b"\xff" + value.to_bytes(8, "little")
    return (value << size | (1 << size - 1) - 1).to_bytes(size, "little")


def string_size(data: bytes, at: int) -> int:
    """Of a text after its length."""
    return 1 + data[at]


def names_size(data: bytes, at: int) -> int:
    """Of names of databases."""
    end = at + 1
    for _ in range(data[at] if data[at] != _MANY_DATABASES else 0):
        end = data.index(0, end) + 1
    return end - at


def packed_at(data: bytes, at: int) -> tuple[int, int]:
    """A packed integer, and where it ends."""
    size = _PACKED.get(data[at], 0)
    number = int.from_bytes(data[at + 1 : at + 1 + size], "little") if size else data[at]
    return number, at + 1 + size


def variable_at(data: bytes, at: int) -> tuple[int, int]:
    """A variable-length integer, and where it ends."""
    ones = format(data[at], "08b")[::-1].find("0")
    if ones < 0:
        return int.from_bytes(data[at + 1 : at + _VARIABLE], "little"), at + _VARIABLE
    end = at + 1 + ones
    return int.from_bytes(data[at:end], "little") >> ones + 1, end


def place_of(fields: Mapping[str, Any], name: str, write: Write, stored: bytes) -> list[FieldPlace]:
    """A field, where ``fields`` have it."""
    return [(name, fields[name], write, stored)] if name in fields else []
