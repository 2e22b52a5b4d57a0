"""The records' JSON Schemas from what the code declares: dataclasses, keys, types, outputs."""

from __future__ import annotations

import json
import types
from collections.abc import Iterable, Mapping
from dataclasses import fields, is_dataclass
from enum import Enum
from typing import Any, Union, get_args, get_origin, get_type_hints

from binlogkit.analyses.undo import PLANS
from binlogkit.analyses.verify import FINDINGS
from binlogkit.constants import EventType, event_type_name
from binlogkit.events import payload, reader
from binlogkit.events.base import OpaqueEvent, parser_of
from binlogkit.events.context import LoadedFile, Variable
from binlogkit.events.control import Incident
from binlogkit.events.explain_parts import Detail
from binlogkit.events.format_description import FormatDescription
from binlogkit.events.group import TransactionContext
from binlogkit.events.load import CreateFile, DeleteFile, ExecLoad, Load
from binlogkit.events.query import ExecuteLoadQuery, Query
from binlogkit.events.rows import RowsEvent
from binlogkit.events.variables import UserVar
from binlogkit.frames.event_records import EVENT_KEYS, event_schema
from binlogkit.frames.explain_records import EXPLAIN_KEYS
from binlogkit.frames.ledgers import TRANSACTION_KEYS
from binlogkit.frames.records import RECORD_KEYS
from binlogkit.frames.schema import KINDS, OPS, provenance_fields
from binlogkit.frames.tables import generic_schema
from binlogkit.rows.soundness import CODES, Grade
from binlogkit.rows.transactions import Outcome, Transaction

__all__ = ["generate", "render"]

# Importing the reader and the payload registers every parser.
assert reader and payload

Schema = dict[str, Any]

DIALECT = "https://json-schema.org/draft/2020-12/schema"
BYTES: Schema = {"type": "string", "pattern": "^0x([0-9A-F]{2})*$"}
#: The keys whose records may hold null, where no dataclass says so.
_NULL_EVENT = frozenset({"inner", "gtid"})
_NULL_ROW = frozenset(
    {"inner", "commit_timestamp", "gtid", "thread_id", "xid", "xa", "before", "after", "query"}
)
_NULL_PLAN = frozenset({"source", "inner", "gtid", "refused", "note"})
_UINT64 = (1 << 64) - 1
_TYPE_CODES = 256


def generate() -> dict[str, Schema]:
    """Every schema by its name."""
    return {
        "event": _event(),
        "explain": _explain(),
        "finding": _finding(),
        "plan": _plan(),
        "row": _row(),
        "state": _state(),
        "transaction": _transaction(),
    }


def render(schema: Schema) -> str:
    """The text of a schema's file."""
    return json.dumps(schema, indent=1, ensure_ascii=False) + "\n"


def _record(name: str, description: str, properties: Schema, **more: Any) -> Schema:
    """A record: all its keys are always there, and no other."""
    return {
        "$schema": DIALECT,
        "title": f"binlogkit {name}",
        "description": description,
        **_object(properties),
        **more,
    }


def _object(properties: Schema, optional: Iterable[str] = ()) -> Schema:
    left_out = set(optional)
    return {
        "type": "object",
        "properties": properties,
        "required": [key for key in properties if key not in left_out],
        "additionalProperties": False,
    }


def _or_null(schema: Schema) -> Schema:
    if "type" in schema and "enum" not in schema:
        kinds = schema["type"] if isinstance(schema["type"], list) else [schema["type"]]
        return {**schema, "type": [*kinds, "null"]}
    return {"anyOf": [schema, {"type": "null"}]}


def _texts(values: Iterable[str]) -> Schema:
    return {"type": "string", "enum": list(values)}


# ---- values of dataclasses -----------------------------------------------------------------

_PLAIN: Mapping[Any, Schema] = {
    str: {"type": "string"},
    int: {"type": "integer"},
    bool: {"type": "boolean"},
    float: {"type": "number"},
    types.NoneType: {"type": "null"},
    bytes: BYTES,
}


def _of(kind: Any, parts: Schema) -> Schema:
    """The schema of a value of ``kind`` as frames.event_records shows it."""
    origin = get_origin(kind)
    if origin in (Union, types.UnionType):
        options = [option for option in get_args(kind) if option is not types.NoneType]
        whole = [_of(option, parts) for option in options]
        known = whole[0] if len(whole) == 1 else {"anyOf": whole}
        return known if len(options) == len(get_args(kind)) else _or_null(known)
    if origin is tuple:
        arguments = get_args(kind)
        if arguments[-1] is Ellipsis:
            return {"type": "array", "items": _of(arguments[0], parts)}
        count = len(arguments)
        items = [_of(argument, parts) for argument in arguments]
        return {"type": "array", "prefixItems": items, "minItems": count, "maxItems": count}
    if is_dataclass(kind) and isinstance(kind, type):
        name = f"{kind.__name__}Part" if kind in _bodies() else kind.__name__
        _define(kind, parts, name=name)
        return {"$ref": f"#/$defs/{name}"}
    if isinstance(kind, type) and issubclass(kind, Enum):
        return _texts(member.name for member in kind)
    return dict(_PLAIN[kind])


def _define(
    kind: type[Any], parts: Schema, first: Schema | None = None, name: str | None = None
) -> None:
    """Put the definition of a dataclass into ``parts``; ``first``: keys in front of its own."""
    from binlogkit.frames.event_records import _SPARSE

    name = name or kind.__name__
    if name in parts:
        return
    parts[name] = {}
    hints = get_type_hints(kind)
    properties = dict(first or {})
    sparse = kind in _SPARSE
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
    parts[name] = {"description": _summary(kind), **_object(properties, optional)}


def _joined(parts: Schema) -> Schema:
    """What events/context.py gives to statements."""
    variables = {"anyOf": [_of(kind, parts) for kind in get_args(Variable)]}
    return {
        "variables": {"type": "array", "minItems": 1, "items": variables},
        "file": _of(LoadedFile, parts),
    }


def _bodies() -> set[type[Any]]:
    """The bodies of events: as a part of another one they have no ``log_pos``."""
    parsers = filter(None, map(parser_of, range(_TYPE_CODES)))
    return {get_type_hints(parser)["return"] for parser in parsers}


def _summary(kind: type[Any]) -> str:
    return " ".join((kind.__doc__ or "").split("\n\n")[0].split())


def _flags() -> Schema:
    return {
        "type": "array",
        "description": "names of the set bits; bits without a name as numbers",
        "items": {"type": ["string", "integer"]},
    }


_JOINED = {Query, ExecuteLoadQuery, Load, CreateFile, ExecLoad, DeleteFile}
_SHOWN: Mapping[type[Any], Schema] = {
    RowsEvent: {"flags": _flags()},
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


# ---- events --------------------------------------------------------------------------------


def _event() -> Schema:
    parts: Schema = {}
    known = _arrow(event_schema())
    properties = {key: known[key] for key in EVENT_KEYS}
    properties["flags"] = _flags()
    properties["checksum"] = _texts(("ok", "bad", "none"))
    properties["fields"] = {
        "type": "object",
        "description": "the event's own, after the header's position",
        "properties": {"log_pos": {"type": "integer"}},
        "required": ["log_pos"],
    }
    for key in _NULL_EVENT:
        properties[key] = _or_null(properties[key])
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
    unread = [t.name for t in EventType if t.name not in read]
    return _record(
        "event",
        "One line of `binlogkit events --format jsonl`. Types that are preserved unread: "
        f"{', '.join(unread)}, and every type without a name here.",
        properties,
        allOf=rules,
        **{"$defs": dict(sorted(parts.items()))},
    )


def _fields_of(body: str, names: list[str]) -> Schema:
    """Of these types the fields are that body's, or the bytes where the event is damaged."""
    either = [{"$ref": f"#/$defs/{body}"}, {"$ref": "#/$defs/OpaqueEvent"}]
    return {
        "if": {"properties": {"type": {"enum": names}}},
        "then": {"properties": {"fields": {"anyOf": either}}},
    }


def _arrow(schema: Any) -> Schema:
    """The JSON type of each Arrow field."""
    import pyarrow as pa

    return {
        field.name: {"type": "integer" if pa.types.is_integer(field.type) else "string"}
        for field in schema
    }


def _explain() -> Schema:
    text: Schema = {"type": "string"}
    number: Schema = {"type": "integer", "minimum": 0}
    value: Schema = {"description": "what the bytes say; bytes as 0x…"}
    detail = {"name": text, "value": value, "meaning": text}
    own: Schema = {
        "file": text,
        "pos": number,
        "inner": _or_null(number),
        "type": text,
        "depth": number,
        "path": {"type": "array", "items": text},
        "field": text,
        "offset": number,
        "length": number,
        "raw": _or_null(BYTES),
        "value": value,
        "meaning": text,
        "details": {"type": "array", "items": {"$ref": "#/$defs/Detail"}},
        "problem": _or_null(text),
    }
    assert {item.name for item in fields(Detail)} == set(detail)
    return _record(
        "explain",
        "One line of `binlogkit explain --format jsonl`: a field of an event, or a group of them.",
        {key: own[key] for key in EXPLAIN_KEYS},
        **{"$defs": {"Detail": {"description": _summary(Detail), **_object(detail)}}},
    )


# ---- rows and states -----------------------------------------------------------------------


def _cells() -> Schema:
    """``$defs``: a cell of an image, and the only two objects that it can be."""
    return {
        "cell": {
            "description": "NULL is null; a column that is not in the image is absent",
            "anyOf": [
                {"type": ["string", "number", "null"]},
                {"$ref": "#/$defs/undecodable"},
                {"$ref": "#/$defs/json_diff"},
            ],
        },
        "undecodable": _object({"undecodable": BYTES, "reason": {"type": "string"}}),
        "json_diff": _object(
            {
                "json_diff": {
                    "type": "array",
                    "items": _object(
                        {
                            "op": _texts(("replace", "insert", "remove")),
                            "path": {"type": "string", "pattern": "^\\$"},
                            "value": {"type": ["string", "null"]},
                        }
                    ),
                }
            }
        ),
    }


_IMAGE: Schema = {"type": "object", "additionalProperties": {"$ref": "#/$defs/cell"}}


def _row() -> Schema:
    import pyarrow as pa

    known = _arrow(pa.schema(provenance_fields())) | _arrow(generic_schema())
    properties: Schema = {key: known[key] for key in RECORD_KEYS}
    properties["op"] = _texts(OPS)
    properties["xid"] |= {"minimum": 0, "maximum": _UINT64}
    properties["before"] = properties["after"] = _IMAGE
    for key in _NULL_ROW:
        properties[key] = _or_null(properties[key])
    null, image = {"type": "null"}, {"type": "object"}
    shapes = {"insert": (null, image), "update": (image, image), "delete": (image, null)}
    rules = [
        {
            "if": {"properties": {"op": {"const": op}}},
            "then": {"properties": {"before": before, "after": after}},
        }
        for op, (before, after) in shapes.items()
    ]
    return _record(
        "row",
        "One line of `binlogkit rows --format jsonl`: one row change.",
        properties,
        allOf=rules,
        **{"$defs": _cells()},
    )


def _state() -> Schema:
    properties: Schema = {
        "values": _IMAGE,
        "unknown": {
            "type": "array",
            "description": "columns that the log does not determine",
            "items": {"type": "string"},
            "uniqueItems": True,
        },
    }
    return _record(
        "state",
        "One line of `binlogkit state --format jsonl`: one row that the table held.",
        properties,
        **{"$defs": _cells()},
    )


def _finding() -> Schema:
    known = {"string": "string", "int64": "integer"}
    properties: Schema = {
        o.name: {"type": [known[o.type], "null"], "description": o.meaning} for o in FINDINGS
    }
    for name in ("file", "found", "meaning"):
        properties[name]["type"] = "string"
    properties["grade"] = _texts(str(grade) for grade in Grade)
    properties["code"] = _texts(sorted(CODES))
    return _record(
        "finding", "One line of `binlogkit verify --format jsonl`: one finding.", properties
    )


# ---- transactions and plans ----------------------------------------------------------------


def _transaction() -> Schema:
    parts: Schema = {}
    hints = get_type_hints(Transaction)
    own: Schema = {
        "tx": {"type": "integer", "minimum": 0},
        "source": {"type": ["string", "null"]},
        "outcome": _texts(str(outcome) for outcome in Outcome),
        "rows": {"type": "integer", "minimum": 0},
        "tables": {"type": "array", "items": {"type": "string"}},
        "format": _texts(("row", "statement", "mixed", "none")),
    }
    properties = {
        key: own[key] if key in own else _of(hints[key], parts) for key in TRANSACTION_KEYS
    }
    assert not parts
    return _record(
        "transaction",
        "One line of `binlogkit transactions --format jsonl`.",
        properties,
    )


_OUTPUT_TYPES: Mapping[str, Schema] = {
    "int64": {"type": "integer"},
    "string": {"type": "string"},
    "boolean": {"type": "boolean"},
    "list<item>": {"type": "array", "items": {"$ref": "#/$defs/item"}},
}


def _plan() -> Schema:
    properties: Schema = {}
    for output in PLANS:
        schema = dict(_OUTPUT_TYPES[output.type])
        if output.name in _NULL_PLAN:
            schema = _or_null(schema)
        properties[output.name] = {**schema, "description": output.meaning}
    properties["kind"]["enum"] = list(OPS)
    item = _object(
        {
            "column": {"type": "string"},
            "value": {"type": ["string", "number", "null"]},
            "type": _texts(KINDS),
            "generated": {"type": "boolean"},
        }
    )
    return _record(
        "plan",
        "One element of Log.undo() and Log.redo(): which statement takes a change back, or makes "
        "it again.",
        properties,
        **{"$defs": {"item": item}},
    )
