"""What schemas are put together from."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

__all__ = ["BYTES", "Schema", "objects", "or_null", "summary", "texts"]

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
