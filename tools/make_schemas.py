"""Make again the JSON Schemas of the records: ``python tools/make_schemas.py``.

``toolkit/binlogkit/schemas/*.schema.json`` come from the records' declared fields
(``binlogkit.frames.fields``), those of events' own fields from the dataclasses of
``binlogkit.events``. A test compares them (tests/schemas).
"""

from __future__ import annotations

import json
import types
from collections.abc import Iterable, Mapping
from dataclasses import fields, is_dataclass
from enum import Enum
from pathlib import Path
from typing import Any, Union, get_args, get_origin, get_type_hints

from binlogkit.analyses.undoing.undo import PLANS
from binlogkit.constants import EventType, event_type_name
from binlogkit.events import payload, reader
from binlogkit.events.base import OpaqueEvent, parser_of
from binlogkit.events.control import Incident
from binlogkit.events.explain.parts import Detail
from binlogkit.events.format_description import FormatDescription
from binlogkit.events.group import TransactionContext
from binlogkit.events.load import CreateFile, DeleteFile, ExecLoad, Load
from binlogkit.events.query import ExecuteLoadQuery, Query
from binlogkit.events.reader import LoadedFile, Variable
from binlogkit.events.rows import RowsEvent
from binlogkit.events.variables import UserVar
from binlogkit.frames.event_records import SPARSE
from binlogkit.frames.fields.field import Field
from binlogkit.frames.fields.ledger import EVENT, EXPLAIN, FINDING, STATUS, TRANSACTION
from binlogkit.frames.fields.rows import DIFFERENCE, LIFE, ROW, STATE, TABLE_STATE
from binlogkit.frames.schema import KINDS, OPS
from binlogkit.log.audit import SECTIONS
from binlogkit.rows.soundness import CODES, Grade
from binlogkit.rows.transactions import Outcome

# Importing the reader and the payload registers every parser.
assert reader and payload

SCHEMAS = Path(__file__).resolve().parents[1] / "toolkit" / "binlogkit" / "schemas"
Schema = dict[str, Any]

BYTES: Schema = {"type": "string", "pattern": "^0x([0-9A-F]{2})*$"}


def objects(properties: Schema, optional: Iterable[str] = ()) -> Schema:
    """Objects with these keys and no other, all but the ``optional`` ones always there."""
    left_out = set(optional)
    return {
        "type": "object",
        "properties": properties,
        "required": [key for key in properties if key not in left_out],
        "additionalProperties": False,
    }


def or_null(schema: Schema) -> Schema:
    """What ``schema`` allows, and null."""
    if "type" in schema and "enum" not in schema:
        kinds = schema["type"] if isinstance(schema["type"], list) else [schema["type"]]
        return {**schema, "type": list(dict.fromkeys([*kinds, "null"]))}
    return {"anyOf": [schema, {"type": "null"}]}


def texts(values: Iterable[str]) -> Schema:
    """One of these texts."""
    return {"type": "string", "enum": list(values)}


def summary(kind: type[Any]) -> str:
    """The first paragraph of a class's docstring, on one line."""
    return " ".join((kind.__doc__ or "").split("\n\n")[0].split())


# ---- events' own fields ----------------------------------------------------------------------

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
    """What events/reader.py gives to statements."""
    variables = {"anyOf": [_of(kind, parts) for kind in get_args(Variable)]}
    return {
        "variables": {"type": "array", "minItems": 1, "items": variables},
        "file": _of(LoadedFile, parts),
    }


def _body_classes() -> set[type[Any]]:
    """The bodies of events: as a part of another one they have no ``log_pos``."""
    parsers = filter(None, map(parser_of, range(_TYPE_CODES)))
    return {get_type_hints(parser)["return"] for parser in parsers}


# ---- records --------------------------------------------------------------------------------

DIALECT = "https://json-schema.org/draft/2020-12/schema"
_TEXT: Schema = {"type": "string"}
_ANY: Schema = {"type": ["string", "number", "boolean", "array", "object", "null"]}
_NUMBER: Schema = {"type": "integer"}
_UINT64: Schema = {"type": "integer", "minimum": 0, "maximum": (1 << 64) - 1}
_IMAGE: Schema = {"type": "object", "additionalProperties": {"$ref": "#/$defs/cell"}}
_UNITS = {"seconds": "; seconds since 1970 UTC", "microseconds": "; microseconds since 1970 UTC"}
_TYPES: dict[str, Schema] = {
    **dict.fromkeys(("int16", "int32", "int64", "seconds", "microseconds"), _NUMBER),
    "float64": {"type": "number"},
    "string": _TEXT,
    "boolean": {"type": "boolean"},
    "uint64": _UINT64,
    "image": _IMAGE,
    "list<string>": {"type": "array", "items": _TEXT},
    "list<item>": {"type": "array", "items": {"$ref": "#/$defs/item"}},
    "list<reference>": {"type": "array", "items": {"$ref": "#/$defs/reference"}},
    "list<check>": {"type": "array", "items": {"$ref": "#/$defs/check"}},
}


def generate() -> dict[str, Schema]:
    """Every schema by its name."""
    return {
        "audit": _sections("audit", SECTIONS),
        "decoded_row": _decoded_row(),
        "difference": _difference(),
        "event": _event(),
        "explain": _explain(),
        "finding": _finding(),
        "life": _life(),
        "plan": _plan(),
        "row": _row(),
        "state": _state(),
        "status": _sections("status", STATUS),
        "table_state": _table_state(),
        "transaction": _transaction(),
    }


def render(schema: Schema) -> str:
    """The text of a schema's file."""
    return json.dumps(schema, indent=1, ensure_ascii=False) + "\n"


def _record(
    name: str, description: str, declared: Iterable[Field], own: Schema | None = None, **more: Any
) -> Schema:
    """A record: all its keys are always there, and no other.

    ``own``: of keys of which more is known than their type.
    """
    return {
        "$schema": DIALECT,
        "title": f"binlogkit {name}",
        "description": description,
        **objects({field.name: _value(field, own or {}) for field in declared}),
        **more,
    }


def _value(field: Field, own: Schema) -> Schema:
    known = own[field.name] if field.name in own else _TYPES[field.type]
    return {
        **(or_null(known) if field.nullable else known),
        "description": field.meaning + _UNITS.get(field.type, ""),
    }


def _sections(command: str, known: Mapping[str, Iterable[Field]]) -> Schema:
    """One line of any section: its name, and its fields."""
    sections = [
        objects({"section": {"const": name}, **{f.name: _value(f, {}) for f in declared}})
        for name, declared in known.items()
    ]
    return {
        "$schema": DIALECT,
        "title": f"binlogkit {command}",
        "description": f"One line of `binlogkit {command} --format jsonl`: one row of a section.",
        "type": "object",
        "properties": {"section": texts(known)},
        "oneOf": sections,
    }


def _event() -> Schema:
    parts, rules, unread = bodies()
    own: Schema = {
        "flags": FLAGS,
        "checksum": texts(("ok", "bad", "none")),
        "fields": {
            "type": "object",
            "properties": {"log_pos": _NUMBER},
            "required": ["log_pos"],
        },
    }
    return _record(
        "event",
        "One line of `binlogkit events --format jsonl`. Types that are preserved unread: "
        f"{', '.join(unread)}, and every type without a name here.",
        EVENT,
        own,
        allOf=rules,
        **{"$defs": parts},
    )


def _explain() -> Schema:
    detail = {"name": _TEXT, "value": _ANY, "meaning": _TEXT}
    assert {item.name for item in fields(Detail)} == set(detail)
    own: Schema = {
        "raw": BYTES,
        "value": _ANY,
        "details": {"type": "array", "items": {"$ref": "#/$defs/Detail"}},
    }
    return _record(
        "explain",
        "One line of `binlogkit explain --format jsonl`: a field of an event, or a group of them.",
        EXPLAIN,
        own,
        **{"$defs": {"Detail": {"description": summary(Detail), **objects(detail)}}},
    )


def _cells() -> Schema:
    """``$defs``: a cell of an image, and the only two objects that it can be."""
    change = {
        "op": texts(("replace", "insert", "remove")),
        "path": {"type": "string", "pattern": "^\\$"},
        "value": {"type": ["string", "null"]},
    }
    return {
        "cell": {
            "description": "NULL is null; a column that is not in the image is absent",
            "anyOf": [
                {"type": ["string", "number", "null"]},
                {"$ref": "#/$defs/undecodable"},
                {"$ref": "#/$defs/json_diff"},
            ],
        },
        "undecodable": objects({"undecodable": BYTES, "reason": _TEXT}),
        "json_diff": objects({"json_diff": {"type": "array", "items": objects(change)}}),
    }


def _row() -> Schema:
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
        ROW,
        {"op": texts(OPS)},
        allOf=rules,
        **{"$defs": _cells()},
    )


def _decoded_row() -> Schema:
    """The least that another decoder's row must have, to be judged."""
    declared = {field.name: field for field in ROW}
    image = {"type": ["object", "null"], "description": "columns by name, or as @1, @2 …"}
    wanted = ("db", "table", "op")
    there, none = {"type": "object"}, {"type": "null"}
    shapes = {"insert": (none, there), "update": (there, there), "delete": (there, none)}
    rules = [
        {
            "if": {"properties": {"op": {"const": op}}},
            "then": {
                "properties": {"before": before, "after": after},
                "required": [
                    which for which, shape in (("before", before), ("after", after))
                    if shape is there
                ],
            },
        }
        for op, (before, after) in shapes.items()
    ]  # fmt: skip
    return {
        "$schema": DIALECT,
        "title": "binlogkit decoded row",
        "description": "One line of `conform --as rows`: a row change as any decoder gives it. "
        "`pos` is needed where mysqlbinlog judges; other keys of `row` are compared with it, and "
        "keys that it has not are ignored.",
        "type": "object",
        "properties": {
            **{name: _value(declared[name], {"op": texts(OPS)}) for name in wanted},
            "before": image,
            "after": image,
            **{name: _value(declared[name], {}) for name in ("pos", "inner", "row")},
        },
        "required": [*wanted],
        "allOf": rules,
    }


def _state() -> Schema:
    return _record(
        "state",
        "One line of `binlogkit state --format jsonl`: one row that the table held.",
        STATE,
        {"unknown": {"type": "array", "items": _TEXT, "uniqueItems": True}},
        **{"$defs": _cells()},
    )


def _table_state() -> Schema:
    return _record(
        "table_state",
        "One line of `binlogkit state --format jsonl` of several tables: one row that one held.",
        TABLE_STATE,
        {"unknown": {"type": "array", "items": _TEXT, "uniqueItems": True}},
        **{"$defs": _cells()},
    )


def _difference() -> Schema:
    return _record(
        "difference",
        "One line of `binlogkit diff --format jsonl`: one row that differs between two points.",
        DIFFERENCE,
        {"difference": texts(("added", "removed", "changed", "uncertain"))},
        **{"$defs": _cells()},
    )


def _life() -> Schema:
    return _record(
        "life",
        "One line of `binlogkit life --format jsonl`: one change of a row, or a statement on its "
        "table.",
        LIFE,
        **{"$defs": _cells()},
    )


def _finding() -> Schema:
    return _record(
        "finding",
        "One line of `binlogkit verify --format jsonl`: one finding.",
        FINDING,
        {"grade": texts(map(str, Grade)), "code": texts(sorted(CODES))},
    )


def _transaction() -> Schema:
    return _record(
        "transaction",
        "One line of `binlogkit transactions --format jsonl`.",
        TRANSACTION,
        {
            "outcome": texts(map(str, Outcome)),
            "format": texts(("row", "statement", "mixed", "none")),
        },
    )


def _plan() -> Schema:
    item = {
        "column": _TEXT,
        "value": {"type": ["string", "number", "null"]},
        "type": texts(KINDS),
        "generated": {"type": "boolean"},
    }
    names = {"type": "array", "items": _TEXT}
    reference = {"db": _TEXT, "table": _TEXT, "columns": names, "referenced": names}
    check = {
        **reference,
        "parent_db": _TEXT,
        "parent_table": _TEXT,
        "written": {"type": "boolean"},
        "dangled": {"type": "boolean"},
        "orphans": {"type": "integer"},
    }
    return _record(
        "plan",
        "One element of Log.undo() and Log.redo(): which statement takes a change back, or makes "
        "it again.",
        PLANS,
        {"kind": texts(OPS)},
        **{
            "$defs": {
                "item": objects(item),
                "reference": objects({**reference, "rows": {"type": "integer"}}),
                "check": objects(check),
            }
        },
    )


def main() -> None:
    """Write the files."""
    for name, schema in generate().items():
        (SCHEMAS / f"{name}.schema.json").write_text(render(schema), "utf-8")


if __name__ == "__main__":
    main()
