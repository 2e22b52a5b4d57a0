"""The records' JSON Schemas, from their declared fields (``binlogkit.frames.fields``)."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import fields
from typing import Any

from binlogkit.analyses.undo import PLANS
from binlogkit.events.explain.parts import Detail
from binlogkit.frames.fields.field import Field
from binlogkit.frames.fields.ledger import EVENT, EXPLAIN, FINDING, TRANSACTION
from binlogkit.frames.fields.rows import ROW, STATE
from binlogkit.frames.schema import KINDS, OPS
from binlogkit.rows.soundness import CODES, Grade
from binlogkit.rows.transactions import Outcome
from binlogkit.schemas._bodies import FLAGS, bodies
from binlogkit.schemas._parts import BYTES, Schema, objects, or_null, summary, texts

__all__ = ["generate", "render"]

DIALECT = "https://json-schema.org/draft/2020-12/schema"
_TEXT: Schema = {"type": "string"}
_ANY: Schema = {"type": ["string", "number", "boolean", "array", "object", "null"]}
_NUMBER: Schema = {"type": "integer"}
_UINT64: Schema = {"type": "integer", "minimum": 0, "maximum": (1 << 64) - 1}
_IMAGE: Schema = {"type": "object", "additionalProperties": {"$ref": "#/$defs/cell"}}
_UNITS = {"seconds": "; seconds since 1970 UTC", "microseconds": "; microseconds since 1970 UTC"}
_TYPES: dict[str, Schema] = {
    **dict.fromkeys(("int16", "int32", "int64", "seconds", "microseconds"), _NUMBER),
    "string": _TEXT,
    "boolean": {"type": "boolean"},
    "uint64": _UINT64,
    "image": _IMAGE,
    "list<string>": {"type": "array", "items": _TEXT},
    "list<item>": {"type": "array", "items": {"$ref": "#/$defs/item"}},
}


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


def _state() -> Schema:
    return _record(
        "state",
        "One line of `binlogkit state --format jsonl`: one row that the table held.",
        STATE,
        {"unknown": {"type": "array", "items": _TEXT, "uniqueItems": True}},
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
    return _record(
        "plan",
        "One element of Log.undo() and Log.redo(): which statement takes a change back, or makes "
        "it again.",
        PLANS,
        {"kind": texts(OPS)},
        **{"$defs": {"item": objects(item)}},
    )
