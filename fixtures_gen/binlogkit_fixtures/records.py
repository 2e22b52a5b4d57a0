"""Frozen dataclasses to JSON values and back, strictly, and their JSON Schema.

Understands what the manifest needs: dataclasses, ``str``, ``int``, ``float``, ``bool``, None,
unions of these, ``tuple[X, ...]`` and ``Mapping[str, X]``. A file is a claim: unknown and missing
keys, wrong types and deep surprises are a :class:`RecordError` that names the place. A key whose
field has a default may be absent.
"""

from __future__ import annotations

import types
from collections.abc import Callable, Mapping
from dataclasses import MISSING, Field, fields, is_dataclass
from functools import cache
from typing import Any, TypeVar, Union, cast, get_args, get_origin, get_type_hints

__all__ = ["RecordError", "from_json", "json_schema", "to_json"]

T = TypeVar("T")
Reader = Callable[[Any], Any]

_PLAIN: Mapping[Any, str] = {
    str: "string",
    int: "integer",
    float: "number",
    bool: "boolean",
    types.NoneType: "null",
}


class RecordError(ValueError):
    """A JSON value that is not the record it should be; the message begins with the place."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason
        self.place = ""

    def within(self, step: str) -> RecordError:
        """The same error, seen from one level further out."""
        self.place = step + self.place
        return self

    def __str__(self) -> str:
        return f"${self.place}: {self.reason}"


def to_json(value: Any) -> Any:
    """A record as JSON values: objects in the order of the fields."""
    if is_dataclass(value) and not isinstance(value, type):
        return {f.name: to_json(getattr(value, f.name)) for f in fields(value)}
    if isinstance(value, Mapping):
        return {str(key): to_json(item) for key, item in value.items()}
    if isinstance(value, (tuple, list)):
        return [to_json(item) for item in value]
    return value


def from_json(kind: type[T], value: Any) -> T:
    """The record of class ``kind`` that ``value`` describes. RecordError: it is not one."""
    reader: Reader = _reader(cast(Any, kind))
    result: T = reader(value)
    return result


@cache
def _reader(kind: Any) -> Reader:
    """The function that reads a value of ``kind``, put together once."""
    origin = get_origin(kind)
    if is_dataclass(kind) and isinstance(kind, type):
        return _record_reader(kind)
    if origin is tuple:
        return _array_reader(_reader(get_args(kind)[0]))
    if origin is not None and isinstance(origin, type) and issubclass(origin, Mapping):
        return _mapping_reader(_reader(get_args(kind)[1]))
    options = get_args(kind) if origin in (Union, types.UnionType) else (kind,)
    return _plain_reader(options)


def _plain_reader(options: tuple[Any, ...]) -> Reader:
    """Of JSON's plain values; ``type`` and not ``isinstance``, because True is no integer."""
    allowed = {*options, int} if float in options else {*options}
    names = " or ".join(_PLAIN[option] for option in options)

    def read(value: Any) -> Any:
        if type(value) not in allowed:
            raise RecordError(f"not of type {names}")
        return value

    return read


def _array_reader(item: Reader) -> Reader:
    def read(value: Any) -> Any:
        if not isinstance(value, list):
            raise RecordError("not an array")
        found = []
        try:
            for each in value:
                found.append(item(each))
        except RecordError as exc:
            raise exc.within(f"[{len(found)}]") from None
        return tuple(found)

    return read


def _mapping_reader(item: Reader) -> Reader:
    def read(value: Any) -> Any:
        if not isinstance(value, dict):
            raise RecordError("not an object")
        return {key: _field(item, key, each) for key, each in value.items()}

    return read


def _field(reader: Reader, name: str, value: Any) -> Any:
    try:
        return reader(value)
    except RecordError as exc:
        raise exc.within(f".{name}") from None


def _record_reader(kind: type[Any]) -> Reader:
    hints = get_type_hints(kind)
    readers = {f.name: _reader(hints[f.name]) for f in fields(kind)}
    wanted = {f.name for f in fields(kind) if _wanted(f)}

    def read(value: Any) -> Any:
        if not isinstance(value, dict):
            raise RecordError("not an object")
        if odd := sorted((value.keys() - readers.keys()) | (wanted - value.keys())):
            state = "missing" if odd[0] in readers else "unknown"
            raise RecordError(f"key {odd[0]!r} is {state}")
        values = {
            name: _field(reader, name, value[name])
            for name, reader in readers.items()
            if name in value
        }
        try:
            return kind(**values)
        except ValueError as exc:
            raise RecordError(str(exc)) from exc

    return read


def _wanted(field: Field[Any]) -> bool:
    return field.default is MISSING and field.default_factory is MISSING


def json_schema(kind: type[Any], title: str) -> dict[str, Any]:
    """The JSON Schema (2020-12) of ``kind``, its parts under ``$defs``."""
    parts: dict[str, Any] = {}
    top = _schema(kind, parts)
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": title,
        **top,
        "$defs": dict(sorted(parts.items())),
    }


def _schema(kind: Any, parts: dict[str, Any]) -> dict[str, Any]:
    origin = get_origin(kind)
    if is_dataclass(kind) and isinstance(kind, type):
        _define(kind, parts)
        return {"$ref": f"#/$defs/{kind.__name__}"}
    if origin is tuple:
        return {"type": "array", "items": _schema(get_args(kind)[0], parts)}
    if origin is not None and isinstance(origin, type) and issubclass(origin, Mapping):
        return {"type": "object", "additionalProperties": _schema(get_args(kind)[1], parts)}
    if origin in (Union, types.UnionType):
        return _union_schema([_schema(option, parts) for option in get_args(kind)])
    return {"type": _PLAIN[kind]}


def _union_schema(options: list[dict[str, Any]]) -> dict[str, Any]:
    if all(option.keys() == {"type"} for option in options):
        return {"type": [option["type"] for option in options]}
    return {"anyOf": options}


def _define(kind: type[Any], parts: dict[str, Any]) -> None:
    if kind.__name__ in parts:
        return
    parts[kind.__name__] = {}
    hints = get_type_hints(kind)
    names = [f.name for f in fields(kind)]
    parts[kind.__name__] = {
        "type": "object",
        "description": " ".join((kind.__doc__ or "").split()),
        "properties": {name: _schema(hints[name], parts) for name in names},
        "required": [f.name for f in fields(kind) if _wanted(f)],
        "additionalProperties": False,
    }
