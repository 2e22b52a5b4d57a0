"""What a parser read, in the shape that a reader expects: items together, values as typed.

A parser reads a list of fields one after the other; here a status variable, a field of optional
metadata, an entry of a GTID set becomes a group. The values are those of the event's dataclass
where it has a field of that name, so that an explanation and a record say the same.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields, is_dataclass
from enum import Enum
from typing import Any

from binlogkit.events.explain.fields import CODES, ExplainedField, section_of
from binlogkit.events.explain.parts import FieldPart, fill, grouped
from binlogkit.events.explain.values import bits_of
from binlogkit.events.gtid_set import format_uuid

# Parts that only say "a value of so many bytes": what is in them counts.
_SPLICED = frozenset({"field", "optional_metadata"})
# The UUID of a tagged GTID is 16 integers.
_MERGED = frozenset({"sid"})


@dataclass(frozen=True, slots=True)
class _Items:
    """Groups that begin with the field ``starter``.

    ``name``, ``value``: of a group; ``whole``: whether nothing more belongs to one.
    """

    starter: str
    name: Callable[[list[FieldPart]], str]
    whole: Callable[[list[FieldPart]], bool] = lambda _: False
    value: Callable[[list[FieldPart]], object] = lambda _: None


def _coded(names: Mapping[int, str]) -> Callable[[list[FieldPart]], str]:
    return lambda parts: names.get(int(str(parts[0].value)), f"type {parts[0].value}")


def _last(parts: list[FieldPart]) -> str:
    return parts[-1].field if len(parts) > 1 else "end"


def _field_whole(parts: list[FieldPart]) -> bool:
    return len(parts) == 3 or not parts[0].value


def _pair(parts: list[FieldPart]) -> bool:
    return len(parts) == 2


def _interval(parts: list[FieldPart]) -> object:
    if not _pair(parts):  # damage cut it
        return None
    first, after = (int(str(part.value)) for part in parts)
    return f"{first}-{after - 1}" if after - first > 1 else str(first)


def _server(parts: list[FieldPart]) -> object:
    """The GTIDs of an entry of a set as the server prints them."""
    for part in parts:
        if part.field == "sid" and isinstance(part.value, bytes):
            part.value = format_uuid(part.value)
    named = [part.value for part in parts if part.field in ("sid", "tag", "interval")]
    return ":".join(str(value) for value in named if value)


_ITEMS: dict[str, tuple[_Items, ...]] = {
    "status_vars": (_Items("status_var_code", _coded(CODES["status_vars"])),),
    "TableMap": (_Items("optional_metadata_type", _coded(CODES["optional_metadata"])),),
    "extra_data": (_Items("extra_type", _coded(CODES["extra_row_types"])),),
    "HeartbeatV2": (_Items("field_type", _last, _field_whole),),
    "TransactionPayload": (_Items("field_type", _last, _field_whole),),
    "Gtid": (_Items("field_id", _last),),
    "ViewChange": (_Items("key_length", lambda _: "entry"),),
    "gtid_set": (
        _Items("interval_start", lambda _: "interval", _pair, _interval),
        _Items("sid", lambda _: "server", value=_server),
    ),
    "TransactionContext": (
        _Items("write_set_length", lambda _: "write", _pair),
        _Items("read_set_length", lambda _: "read", _pair),
    ),
}


def shaped(parts: list[FieldPart], section: str, typed: Mapping[str, list[Any]]) -> list[FieldPart]:
    """The parts of a group with their own below them, grouped and explained.

    ``section``: of fields.py, where those of no section of their own are looked up;
    ``typed``: see :func:`typed_values`.
    """
    parts = _merged(_spliced(parts))
    seen = Counter(part.field for part in parts if not part.parts)
    at: Counter[str] = Counter()
    for part in parts:
        _explain(part, section, typed, seen, at)
    for items in _ITEMS.get(section, ()):
        parts = grouped(parts, items.starter, items.name, items.whole)
        for part in parts:
            if part.parts and part.parts[0].field == items.starter:
                part.value = items.value(part.parts)
    return parts


def _explain(
    part: FieldPart,
    section: str,
    typed: Mapping[str, list[Any]],
    seen: Counter[str],
    at: Counter[str],
) -> None:
    if part.parts:
        own = part.field if section_of(part.field) or part.field in _ITEMS else section
        part.parts = shaped(part.parts, own, typed)
        fill(part)
    stored = part.value
    if not part.parts and len(typed.get(part.field, ())) == seen[part.field]:
        value = typed[part.field][at[part.field]]
        part.value = stored if value is None else value
    at[part.field] += 1
    known = section_of(section).get(part.field)
    if known is not None:
        meaning_of(part, known, stored)
    if isinstance(part.value, Enum):
        part.value = part.value.name


def meaning_of(part: FieldPart, known: ExplainedField, stored: object = None) -> None:
    """Say what a part's value means; ``stored``: its number, where the value is none."""
    number = next((v for v in (part.value, stored) if isinstance(v, int)), None)
    said = known.says(part.value) if known.says is not None and part.value is not None else ""
    if known.bits is not None and number is not None:
        part.details = bits_of(number, known.bits)
        said = said or ("" if part.details else "none set")
    if known.codes is not None and number is not None:
        said = known.codes.get(number, "a code that has no name in this version")
    text = f"{said}: {known.meaning}" if said and known.meaning else said or known.meaning
    part.meaning = f"{text} (since {known.since})" if text and known.since else text


def _spliced(parts: list[FieldPart]) -> list[FieldPart]:
    """Without the wrappings of values that have parts."""
    out: list[FieldPart] = []
    for part in parts:
        if part.field in _SPLICED and part.parts:
            fill(part)
            out += part.parts
        else:
            out.append(part)
    return out


def _merged(parts: list[FieldPart]) -> list[FieldPart]:
    """One part for the neighbours that are a field together."""
    out: list[FieldPart] = []
    for part in parts:
        if out and part.field in _MERGED and out[-1].field == part.field:
            out[-1] = FieldPart(part.field, out[-1].start, part.end)
        else:
            out.append(part)
    return out


def typed_values(body: object) -> dict[str, list[Any]]:
    """The values of a dataclass and those in it, by the name of their field, in order.

    A tuple of plain values gives each of them, what else is a tuple nothing.
    """
    out: dict[str, list[Any]] = {}
    if not is_dataclass(body) or isinstance(body, type):
        return out
    for item in fields(body):
        value = getattr(body, item.name)
        if is_dataclass(value):
            out.update(typed_values(value))
        elif isinstance(value, tuple):
            if all(isinstance(each, str | bytes | int) for each in value):
                out[item.name] = list(value)
        else:
            out[item.name] = [value]
    return out
