"""Writes TABLE_MAP with its optional metadata (layout: ``binlogkit.events.table_map``).

Servers write the optional metadata in the order of ``Table_map_log_event::init_metadata_fields``
(8.0.31): signedness, the character columns' collations, then with FULL names, labels, ENUM's and
SET's collations, geometry types, primary key, visibility.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from binlogkit.constants import EventType
from binlogkit.events.table_map import DefaultCharset, OptionalMetadata, TableMap
from binlogkit_fixtures.writer.base import Target, writes
from binlogkit_fixtures.writer.packer import Packer

__all__: list[str] = []

_EARLY_POST_HEADER = 6


def _bits(packer: Packer, value: tuple[bool, ...], _name: str) -> None:
    data = bytearray((len(value) + 7) // 8)
    for i, bit in enumerate(value):
        data[i // 8] |= bit << (7 - i % 8)
    packer.raw(data)


def _numbers(packer: Packer, value: tuple[int, ...], name: str) -> None:
    for number in value:
        packer.packed(number, name)


def _default_charset(packer: Packer, value: DefaultCharset, name: str) -> None:
    packer.packed(value.default, name)
    _pairs(packer, value.others, name)


def _pairs(packer: Packer, value: tuple[tuple[int, int], ...], name: str) -> None:
    for pair in value:
        _numbers(packer, pair, name)


def _names(packer: Packer, value: tuple[str, ...], name: str) -> None:
    for text in value:
        packer.packed_sized(packer.text(text), name)


def _labels(packer: Packer, value: tuple[tuple[bytes, ...], ...], name: str) -> None:
    for column in value:
        packer.packed(len(column), f"{name}_count")
        for label in column:
            packer.packed_sized(label, name)


def _simple_key(packer: Packer, value: tuple[tuple[int, int], ...], name: str) -> None:
    for column, prefix in value:
        if prefix:
            raise packer.fail(name, "this form of the key has no prefixes")
        packer.packed(column, name)


_FIELDS: dict[int, tuple[str, Callable[[Packer, Any, str], None]]] = {
    1: ("unsigned", _bits),
    2: ("default_charset", _default_charset),
    3: ("columns_charset", _numbers),
    4: ("column_names", _names),
    5: ("set_labels", _labels),
    6: ("enum_labels", _labels),
    10: ("enum_and_set_default_charset", _default_charset),
    11: ("enum_and_set_columns_charset", _numbers),
    7: ("geometry_types", _numbers),
    8: ("primary_key", _simple_key),
    9: ("primary_key", _pairs),
    12: ("visible", _bits),
    13: ("vector_dimensions", _numbers),
}
_SIMPLE_KEY, _PREFIX_KEY = 8, 9


def _usual_order(optional: OptionalMetadata) -> tuple[int, ...]:
    key = optional.primary_key or ()
    other_form = _SIMPLE_KEY if any(prefix for _, prefix in key) else _PREFIX_KEY
    known = [
        kind
        for kind, (name, _) in _FIELDS.items()
        if getattr(optional, name) is not None and kind != other_form
    ]
    return (*known, *(kind for kind, _ in optional.unknown or ()))


def _optional(packer: Packer, optional: OptionalMetadata) -> None:
    unknown = list(optional.unknown or ())
    left = {name for name, _ in _FIELDS.values() if getattr(optional, name) is not None}
    for kind in optional.order or _usual_order(optional):
        packer.uint(1, kind, "optional_metadata_type")
        name, write = _FIELDS.get(kind, ("", _bits))
        part = packer.sub()
        if name in left:
            left.remove(name)
            write(part, getattr(optional, name), name)
        elif unknown and unknown[0][0] == kind:
            part.raw(unknown.pop(0)[1])
        else:
            raise packer.fail("order", f"it names a field {kind} that is not there")
        packer.packed_sized(part.data, "optional_metadata")
    if left or unknown:
        raise packer.fail("order", "it leaves fields out")


@writes(TableMap, EventType.TABLE_MAP_EVENT)
def _table_map(packer: Packer, body: TableMap, target: Target) -> None:
    packer.uint(target.context.table_id_width(target.type_code), body.table_id, "table_id")
    packer.uint(2, body.flags, "flags")
    packer.end_post_header()
    for name in ("db", "table"):
        packer.packed_sized(packer.text(getattr(body, name)), name)
        packer.raw(b"\0")
    packer.packed(len(body.types), "column_count")
    packer.raw(body.types)
    if _ends_here(body, target):
        return
    packer.packed_sized(body.metadata, "metadata")
    packer.take((len(body.types) + 7) // 8, body.nullable, "nullable")
    if body.optional is not None:
        _optional(packer, body.optional)


def _ends_here(body: TableMap, target: Target) -> bool:
    """5.1.4 and before have nothing after the types."""
    if body.metadata or body.nullable or body.optional is not None:
        return False
    lengths = target.context.post_header_lengths
    return bool(body.types) or lengths.get(target.type_code) == _EARLY_POST_HEADER
