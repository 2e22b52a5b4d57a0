"""What event types, their fields, bits and codes mean: ``meanings.toml``, one line each.

The fields are by the class that an event's parser gives; a part with a section of its own (status
variables, GTID sets) is looked up there first.
"""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from binlogkit.constants import EventType, event_type_name
from binlogkit.events.explain import values


@dataclass(frozen=True, slots=True)
class ExplainedField:
    """``meaning``: one clause; ``since``: the version that brought it; ``says``: what a value says;
    ``bits``: the names of its bits; ``codes``: of its values."""

    meaning: str
    since: str = ""
    says: Callable[[Any], str] | None = None
    bits: values.Bits | None = None
    codes: Mapping[int, str] | None = None


_STORED = tomllib.loads(Path(__file__).with_name("meanings.toml").read_text("utf-8"))
#: By name: the version that brought the type, and what it is.
EVENT_TYPES: dict[str, tuple[str, str]] = {
    name: (since, meaning) for name, (since, meaning) in _STORED["types"].items()
}
BITS: dict[str, values.Bits] = {
    table: {
        1 << int(number): (said, "") if isinstance(said, str) else (said[0], said[1])
        for number, said in bits.items()
    }
    for table, bits in _STORED["bits"].items()
}
CODES: dict[str, dict[int, str]] = {
    table: {int(number): said for number, said in codes.items()}
    for table, codes in _STORED["codes"].items()
}
#: By column type: how its values are stored.
COLUMNS: dict[str, str] = _STORED["columns"]
#: By column type: what its metadata says, of a column's type, length, precision and scale.
METADATA: dict[str, str] = _STORED["metadata"]


def _field(stored: str | dict[str, str]) -> ExplainedField:
    if isinstance(stored, str):
        return ExplainedField(stored)
    return ExplainedField(
        stored.get("is", ""),
        stored.get("since", ""),
        getattr(values, stored["says"]) if "says" in stored else None,
        BITS[stored["bits"]] if "bits" in stored else None,
        CODES[stored["codes"]] if "codes" in stored else None,
    )


def _section(stored: dict[str, Any]) -> dict[str, ExplainedField]:
    own = {name: _field(field) for name, field in stored.items() if name != "like"}
    return _section(_STORED["fields"][stored["like"]]) | own if "like" in stored else own


FIELDS: dict[str, dict[str, ExplainedField]] = {
    name: _section(fields) for name, fields in _STORED["fields"].items()
}


def section_of(name: str) -> dict[str, ExplainedField]:
    """The fields of a class or part; empty for one that has no section."""
    return FIELDS.get(name, {})


def type_since(code: int) -> str:
    """The name of a type, and the version that brought it."""
    name = event_type_name(code)
    return f"{name} (since {EVENT_TYPES[name][0]})" if name in EVENT_TYPES else name


def type_meaning(code: int) -> str:
    """The name of a type, the version that brought it, and what it is."""
    name = event_type_name(code)
    if name in EVENT_TYPES:
        since, meaning = EVENT_TYPES[name]
        return f"{name}: {meaning} (since {since})"
    if code > max(EventType) and name.startswith("MARIADB"):
        return f"{name}: of MariaDB, preserved unread"
    return f"{name}: of a type that this version does not know, preserved unread"
