"""Frozen dataclasses to JSON values and back, strictly, and their JSON Schema.

Understands what the manifest needs: dataclasses, ``str``, ``int``, ``float``, ``bool``, None,
unions of these, ``tuple[X, ...]`` and ``Mapping[str, X]``. A file is a claim: unknown and missing
keys, wrong types and deep surprises are a :class:`RecordError` that names the place.
"""

from __future__ import annotations

import types
import typing
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from typing import Any, TypeVar, Union, get_args, get_origin, get_type_hints

__all__ = ["RecordError", "from_json", "json_schema", "to_json"]

T = TypeVar("T")

_PLAIN: Mapping[Any, str] = {
    str: "string",
    int: "integer",
    float: "number",
    bool: "boolean",
    types.NoneType: "null",
}


class RecordError(ValueError):
    """A JSON value that is not the record it should be; the message begins with the place."""


def to_json(value: Any) -> Any:
    """A record as JSON values: objects in the order of the fields."""
    if is_dataclass(value) and not isinstance(value, type):
        return {f.name: to_json(getattr(value, f.name)) for f in fields(value)}
    if isinstance(value, Mapping):
        return {str(key): to_json(item) for key, item in value.items()}
    if isinstance(value, (tuple, list)):
        return [to_json(item) for item in value]
    return value


def from_json(kind: type[T], value: Any, where: str = "$") -> T:
    """The record of class ``kind`` that ``value`` describes. RecordError: it is not one."""
    result: T = _read(kind, value, where)
    return result


def _read(kind: Any, value: Any, where: str) -> Any:
    origin = get_origin(kind)
    if is_dataclass(kind) and isinstance(kind, type):
        return _read_record(kind, value, where)
    if origin is tuple:
        if not isinstance(value, list):
            raise RecordError(f"{where}: not an array")
        item = get_args(kind)[0]
        return tuple(_read(item, v, f"{where}[{n}]") for n, v in enumerate(value))
    if origin is not None and isinstance(origin, type) and issubclass(origin, Mapping):
        if not isinstance(value, dict):
            raise RecordError(f"{where}: not an object")
        return {k: _read(get_args(kind)[1], v, f"{where}.{k}") for k, v in value.items()}
    if origin in (Union, types.UnionType):
        return _read_union(kind, value, where)
    if not _is_plain(kind, value):
        raise RecordError(f"{where}: not of type {_PLAIN[kind]}")
    return value


def _is_plain(kind: Any, value: Any) -> bool:
    if kind is float:
        return type(value) in (int, float)
    return type(value) is kind


def _read_union(kind: Any, value: Any, where: str) -> Any:
    for option in get_args(kind):
        try:
            return _read(option, value, where)
        except RecordError as exc:
            last = exc
    raise last


def _read_record(kind: type[Any], value: Any, where: str) -> Any:
    if not isinstance(value, dict):
        raise RecordError(f"{where}: not an object")
    hints = get_type_hints(kind)
    names = [f.name for f in fields(kind)]
    if odd := sorted(value.keys() ^ set(names)):
        state = "missing" if odd[0] in names else "unknown"
        raise RecordError(f"{where}: key {odd[0]!r} is {state}")
    try:
        return kind(**{n: _read(hints[n], value[n], f"{where}.{n}") for n in names})
    except RecordError:
        raise
    except ValueError as exc:
        raise RecordError(f"{where}: {exc}") from exc


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
    hints = typing.get_type_hints(kind)
    names = [f.name for f in fields(kind)]
    parts[kind.__name__] = {
        "type": "object",
        "description": " ".join((kind.__doc__ or "").split()),
        "properties": {name: _schema(hints[name], parts) for name in names},
        "required": names,
        "additionalProperties": False,
    }
