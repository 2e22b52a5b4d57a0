"""A table map's optional metadata, written back: what ``binlog_row_metadata`` adds to it.

Layout: type, packed length, value (libs/mysql/binlog/event/rows_event.h, Optional_metadata_fields).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from binlogkit.analyses.conformance.field_forms import (
    FieldPlace,
    Write,
    from_hex,
    packed,
    packed_at,
    place_of,
    text,
    typed,
    typed_field,
)

_BITS = 8


def _bits(value: Sequence[bool]) -> bytes:
    shown = "".join(str(int(bit)) for bit in value)
    return int("1" + shown, 2).to_bytes(len(value) // _BITS + 1, "big")[1:]


def _numbers(value: Sequence[int]) -> bytes:
    return b"".join(map(packed, value))


def _pairs(value: Sequence[Sequence[int]]) -> bytes:
    return b"".join(packed(number) for pair in value for number in pair)


def _default(value: Mapping[str, Any]) -> bytes:
    return packed(value["default"]) + _pairs(value["others"])


def _names(value: Sequence[str]) -> bytes:
    return b"".join(packed(len(text(name))) + text(name) for name in value)


def _labels(value: Sequence[Sequence[str]]) -> bytes:
    return b"".join(
        packed(len(column)) + b"".join(packed(len(one)) + one for one in map(from_hex, column))
        for column in value
    )


def _simple_key(value: Sequence[Sequence[int]]) -> bytes:
    if any(prefix for _, prefix in value):
        raise ValueError
    return _numbers([column for column, _ in value])


#: By their codes; those of other servers are not judged.
_PARTS: Mapping[int, tuple[str, Write]] = {
    1: ("unsigned", _bits),
    2: ("default_charset", _default),
    3: ("columns_charset", _numbers),
    4: ("column_names", _names),
    5: ("set_labels", _labels),
    6: ("enum_labels", _labels),
    7: ("geometry_types", _numbers),
    8: ("primary_key", _simple_key),
    9: ("primary_key", _pairs),
    10: ("enum_and_set_default_charset", _default),
    11: ("enum_and_set_columns_charset", _numbers),
    12: ("visible", _bits),
    13: ("vector_dimensions", _numbers),
}


def metadata_places(block: bytes, fields: Mapping[str, Any]) -> Iterator[FieldPlace]:
    """Every part that is stored in ``block``, and those that are said and are not."""
    said = fields.get("optional")
    if not isinstance(said, Mapping):
        yield from place_of(fields, "optional", from_hex, block)
        return
    seen, others, at = set(), b"", 0
    while at < len(block):
        kind = block[at]
        length, start = packed_at(block, at + 1)
        name, write = _PARTS.get(kind, ("", bytes))
        at = start + length
        if name and name not in seen:
            yield f"optional.{name}", said.get(name), write, block[start:at]
            seen.add(name)
        else:
            others += typed_field(kind, block[start:at])
    yield "optional.unknown", said.get("unknown"), typed, others
    for name, write in _PARTS.values():
        if said.get(name) is not None and name not in seen:
            yield f"optional.{name}", said[name], write, b""
            seen.add(name)
