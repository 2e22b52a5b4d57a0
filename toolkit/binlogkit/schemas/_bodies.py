"""The schemas of events' own fields, from the dataclasses of ``binlogkit.events``."""

from __future__ import annotations

import types
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from enum import Enum
from typing import Any, Union, get_args, get_origin, get_type_hints

from binlogkit.constants import EventType, event_type_name
from binlogkit.events import payload, reader
from binlogkit.events.base import OpaqueEvent, parser_of
from binlogkit.events.context import LoadedFile, Variable
from binlogkit.events.control import Incident
from binlogkit.events.format_description import FormatDescription
from binlogkit.events.group import TransactionContext
from binlogkit.events.load import CreateFile, DeleteFile, ExecLoad, Load
from binlogkit.events.query import ExecuteLoadQuery, Query
from binlogkit.events.rows import RowsEvent
from binlogkit.events.variables import UserVar
from binlogkit.frames.event_records import SPARSE
from binlogkit.schemas._parts import BYTES, Schema, objects, or_null, summary, texts

__all__ = ["FLAGS", "bodies"]

# Importing the reader and the payload registers every parser.
assert reader and payload

_TYPE_CODES = 256
FLAGS: Schema = {
    "type": "array",
    "description": "names of the set bits; bits without a name as numbers",
    "items": {"type": ["string", "integer"]},
}
_PLAIN: Mapping[Any, Schema] = {
    str: {"type": "string"},
    int: {"type": "integer"},
    bool: {"type": "boolean"},
    float: {"type": "number"},
    types.NoneType: {"type": "null"},
    bytes: BYTES,
}
_JOINED = {Query, ExecuteLoadQuery, Load, CreateFile, ExecLoad, DeleteFile}
_SHOWN: Mapping[type[Any], Schema] = {
    RowsEvent: {"flags": FLAGS},
    FormatDescription: {
        "post_header_lengths": {"type": "object", "additionalProperties": {"type": "integer"}}
    },
    Incident: {"incident": {"type": "string"}},
    TransactionContext: {"snapshot_gtids": {"type": ["string", "null"]}},
    UserVar: {
        "charset": {"type": ["string", "null"]},
        "decoded": {"type": ["string", "number", "null"]},
    },
}


def bodies() -> tuple[Schema, list[Schema], list[str]]:
    """The definitions of all bodies, rules that say which type has which, and the official types
    that are kept unread."""
    parts: Schema = {}
    log_pos = {"log_pos": {"type": "integer", "minimum": 0}}
    _define(OpaqueEvent, parts, log_pos)
    by_body: dict[str, list[str]] = {}
    for code in range(_TYPE_CODES):
        parser = parser_of(code)
        if parser is not None:
            body = get_type_hints(parser)["return"]
            _define(body, parts, log_pos)
            by_body.setdefault(body.__name__, []).append(event_type_name(code))
    rules = [_fields_of(body, names) for body, names in sorted(by_body.items())]
    read = [name for names in by_body.values() for name in names]
    rules.append(
        {
            "if": {"properties": {"type": {"not": {"enum": read}}}},
            "then": {"properties": {"fields": {"$ref": "#/$defs/OpaqueEvent"}}},
        }
    )
    return dict(sorted(parts.items())), rules, [t.name for t in EventType if t.name not in read]


def _fields_of(body: str, names: list[str]) -> Schema:
    """Of these types the fields are that body's, or the bytes where the event is damaged."""
    either = [{"$ref": f"#/$defs/{body}"}, {"$ref": "#/$defs/OpaqueEvent"}]
    return {
        "if": {"properties": {"type": {"enum": names}}},
        "then": {"properties": {"fields": {"anyOf": either}}},
    }


def _of(kind: Any, parts: Schema) -> Schema:
    """The schema of a value of ``kind`` as frames.event_records shows it."""
    origin = get_origin(kind)
    if origin in (Union, types.UnionType):
        options = [option for option in get_args(kind) if option is not types.NoneType]
        whole = [_of(option, parts) for option in options]
        known = whole[0] if len(whole) == 1 else {"anyOf": whole}
        return known if len(options) == len(get_args(kind)) else or_null(known)
    if origin is tuple:
        arguments = get_args(kind)
        if arguments[-1] is Ellipsis:
            return {"type": "array", "items": _of(arguments[0], parts)}
        count = len(arguments)
        items = [_of(argument, parts) for argument in arguments]
        return {"type": "array", "prefixItems": items, "minItems": count, "maxItems": count}
    if is_dataclass(kind) and isinstance(kind, type):
        name = f"{kind.__name__}Part" if kind in _body_classes() else kind.__name__
        _define(kind, parts, name=name)
        return {"$ref": f"#/$defs/{name}"}
    if isinstance(kind, type) and issubclass(kind, Enum):
        return texts(member.name for member in kind)
    return dict(_PLAIN[kind])


def _define(
    kind: type[Any], parts: Schema, first: Schema | None = None, name: str | None = None
) -> None:
    """Put the definition of a dataclass into ``parts``; ``first``: keys in front of its own."""
    name = name or kind.__name__
    if name in parts:
        return
    parts[name] = {}
    hints = get_type_hints(kind)
    properties = dict(first or {})
    sparse = kind in SPARSE
    shown = [item for item in fields(kind) if item.metadata.get("record", True)]
    for item in shown:
        schema = _of(hints[item.name], parts)
        if sparse:  # what is not carried is left out instead of null
            (bare,) = (option for option in get_args(hints[item.name]) if option is not type(None))
            schema = _of(bare, parts)
        properties[item.name] = schema
    properties |= _SHOWN.get(kind, {})
    optional = [item.name for item in shown] if sparse else []
    if first:
        more = {"unread": dict(BYTES), "unread_post_header": dict(BYTES)}
        if kind in _JOINED:
            more |= _joined(parts)
        properties |= more
        optional += more
    parts[name] = {"description": summary(kind), **objects(properties, optional)}


def _joined(parts: Schema) -> Schema:
    """What events/context.py gives to statements."""
    variables = {"anyOf": [_of(kind, parts) for kind in get_args(Variable)]}
    return {
        "variables": {"type": "array", "minItems": 1, "items": variables},
        "file": _of(LoadedFile, parts),
    }


def _body_classes() -> set[type[Any]]:
    """The bodies of events: as a part of another one they have no ``log_pos``."""
    parsers = filter(None, map(parser_of, range(_TYPE_CODES)))
    return {get_type_hints(parser)["return"] for parser in parsers}
