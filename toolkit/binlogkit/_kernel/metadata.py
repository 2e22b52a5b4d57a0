"""The column metadata of a table map: how many bytes each type has there, and what they say.

Sources: ``Field::do_save_field_metadata`` and its readers in the server's ``field.cc`` and
``rpl_utility.cc`` (5.7.22, 8.0.31), as observed in the table maps of those servers. Kinds
that none of them writes any more follow the description at ``Table_map_event``.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from binlogkit.constants import ColumnType as T

MAX_FSP = 6
MAX_DECIMAL_PRECISION = 65
MAX_DECIMAL_SCALE = 30
MAX_BIT_WIDTH = 64
SET_WIDTHS = (1, 2, 3, 4, 8)

# CHAR longer than 255 bytes: bits 8 and 9 of the length stand inverted in bits 4 and 5 of the
# real type, which is 1 in both bits for every type that can be there (STRING, ENUM, SET).
_LENGTH_BITS = 0x30

_FRACTIONS = (T.TIMESTAMP2, T.DATETIME2, T.TIME2)
_PREFIXED = (
    T.TINY_BLOB, T.MEDIUM_BLOB, T.LONG_BLOB, T.BLOB, T.GEOMETRY, T.JSON, T.VECTOR,
)  # fmt: skip
_LABELLED = (T.STRING, T.ENUM, T.SET)
_METADATA_LENGTH = {
    **dict.fromkeys((T.FLOAT, T.DOUBLE, *_FRACTIONS, *_PREFIXED), 1),
    **dict.fromkeys((T.VARCHAR, T.VAR_STRING, T.BIT, T.NEWDECIMAL, *_LABELLED), 2),
}
_FIXED_LENGTH_PREFIX = {T.TINY_BLOB: 1, T.MEDIUM_BLOB: 3, T.LONG_BLOB: 4}


class Resolved(NamedTuple):
    """A column's real type and what its metadata says, each as in ``cells.CellSpec``."""

    type: T
    length: int
    precision: int
    scale: int


def metadata_length(type_code: int, data: bytes | memoryview = b"", p: int = 0) -> int:
    """The number of metadata bytes of a column of type ``type_code``.

    A TYPED_ARRAY (8.0.17) names its element type first, so for it alone the metadata must be at
    hand: ``data`` from ``p`` on. ValueError: the type is unknown, or that byte is missing.
    """
    kind = _known(type_code)
    if kind is not T.TYPED_ARRAY:
        return _METADATA_LENGTH.get(kind, 0)
    if p >= len(data):
        raise ValueError("the element type of a typed array is missing")
    element = _known(data[p])
    if element is T.TYPED_ARRAY:
        raise ValueError("a typed array cannot hold typed arrays")
    # The length of a VARCHAR element takes 3 bytes; the server's description of the table map says
    # that "the following 0, 1, 2, or 3 bytes" hold the element's metadata.
    return 1 + (3 if element is T.VARCHAR else _METADATA_LENGTH.get(element, 0))


def resolve(type_code: int, meta: bytes) -> Resolved:
    """The real type, length, precision and scale of a column of a table map.

    ValueError: the type is unknown or its metadata claims what no server writes.
    """
    kind = _known(type_code)
    wanted = metadata_length(type_code, meta)
    if len(meta) != wanted:
        raise ValueError(f"{kind.name} has {wanted} bytes of metadata, not {len(meta)}")
    rule = _RULES.get(kind)
    return rule(kind, meta) if rule else Resolved(kind, 0, 0, 0)


def _known(type_code: int) -> T:
    try:
        kind = T(type_code)
    except ValueError:
        raise ValueError(f"column type {type_code} is unknown") from None
    if kind in (T.INVALID, T.BOOL):
        raise ValueError(f"column type {kind.name} never stands in a table map")
    return kind


def _string(kind: T, meta: bytes) -> Resolved:
    real, length = meta[0], meta[1]
    if real and real & _LENGTH_BITS != _LENGTH_BITS:
        length |= ((real & _LENGTH_BITS) ^ _LENGTH_BITS) << 4
        real |= _LENGTH_BITS
    if not real:  # a log older than the real type in the metadata
        return Resolved(kind, length, 0, 0)
    if real == T.ENUM and length not in (1, 2):
        raise ValueError(f"an ENUM of {length} bytes")
    if real == T.SET and length not in SET_WIDTHS:
        raise ValueError(f"a SET of {length} bytes")
    if real not in (T.STRING, T.VAR_STRING, T.ENUM, T.SET):
        raise ValueError(f"the metadata of {kind.name} names the real type {real}")
    return Resolved(T(real), length, 0, 0)


def _bit(kind: T, meta: bytes) -> Resolved:
    width = meta[1] * 8 + meta[0]
    if meta[0] > 7 or not 1 <= width <= MAX_BIT_WIDTH:
        raise ValueError(f"a BIT of {meta[1]} bytes and {meta[0]} bits")
    return Resolved(kind, width, 0, 0)


def _varchar(kind: T, meta: bytes) -> Resolved:
    return Resolved(kind, int.from_bytes(meta, "little"), 0, 0)


def _var_string(kind: T, meta: bytes) -> Resolved:
    # VARCHAR of a table made before 5.0: a CHAR to the server, whose metadata begins with the type.
    if meta[0] | _LENGTH_BITS in (T.STRING, T.VAR_STRING):
        return Resolved(kind, _string(T.STRING, meta).length, 0, 0)
    return _varchar(kind, meta)


def _prefix(kind: T, meta: bytes) -> Resolved:
    width = _FIXED_LENGTH_PREFIX.get(kind, meta[0])
    if not 1 <= width <= 4:
        raise ValueError(f"{kind.name} with {width} length bytes")
    return Resolved(kind, width, 0, 0)


def _floating(kind: T, meta: bytes) -> Resolved:
    expected = 4 if kind is T.FLOAT else 8
    if meta[0] != expected:
        raise ValueError(f"a {kind.name} of {meta[0]} bytes")
    return Resolved(kind, expected, 0, 0)


def _decimal(kind: T, meta: bytes) -> Resolved:
    precision, scale = meta
    check_decimal(precision, scale)
    return Resolved(kind, 0, precision, scale)


def _fsp(kind: T, meta: bytes) -> Resolved:
    check_fsp(meta[0])
    return Resolved(kind, 0, 0, meta[0])


def check_decimal(precision: int, scale: int) -> None:
    """ValueError: DECIMAL(precision, scale) does not exist (manual, "Fixed-Point Types")."""
    if not (1 <= precision <= MAX_DECIMAL_PRECISION and 0 <= scale <= MAX_DECIMAL_SCALE):
        raise ValueError(f"DECIMAL({precision},{scale}) does not exist")
    if scale > precision:
        raise ValueError(f"DECIMAL({precision},{scale}) has more fraction digits than digits")


def check_fsp(fsp: int) -> None:
    """ValueError: no temporal type has ``fsp`` fraction digits."""
    if not 0 <= fsp <= MAX_FSP:
        raise ValueError(f"{fsp} fraction digits, at most {MAX_FSP} exist")


_RULES: dict[T, Callable[[T, bytes], Resolved]] = {
    **dict.fromkeys((T.FLOAT, T.DOUBLE), _floating),
    T.VARCHAR: _varchar,
    T.VAR_STRING: _var_string,
    T.BIT: _bit,
    **dict.fromkeys(_FRACTIONS, _fsp),
    T.TYPED_ARRAY: lambda kind, _: Resolved(kind, 4, 0, 0),  # stored as JSON
    T.NEWDECIMAL: _decimal,
    **dict.fromkeys(_LABELLED, _string),
    **dict.fromkeys(_PREFIXED, _prefix),
}
