"""JSON texts compared by what they say, and partial updates applied to them.

Numbers keep their digits (``1.50`` is not ``1.5``), the order of an object's keys does not count.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from copy import deepcopy
from dataclasses import dataclass
from typing import Any

from binlogkit.analyses.conformance.tokens import Diff

__all__ = ["Digits", "PathError", "apply", "dump", "parse"]

_LEG = re.compile(r'\.("(?:[^"\\]|\\.)*"|[^.\[\]"\s]+)|\[(\d{1,20})\]')


class PathError(ValueError):
    """A path that leads nowhere in the document; never leaves this package."""


@dataclass(frozen=True, slots=True)
class Digits:
    """A JSON number by its digits as written."""

    text: str


def parse(text: str) -> Any:
    """The value of a JSON text. Raises ValueError (also for what is nested too deeply)."""
    try:
        return json.loads(text, parse_float=Digits, parse_int=Digits, parse_constant=_refuse)
    except RecursionError as exc:
        raise ValueError("nested too deeply") from exc


def _refuse(name: str) -> None:
    raise ValueError(f"{name} is no JSON")


def dump(value: Any) -> str:
    """A value of :func:`parse` as text, spaced as the server does."""
    if isinstance(value, Digits):
        return value.text
    if isinstance(value, dict):
        members = (f"{json.dumps(k, ensure_ascii=False)}: {dump(v)}" for k, v in value.items())
        return "{" + ", ".join(members) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(map(dump, value)) + "]"
    return json.dumps(value, ensure_ascii=False)


def apply(document: Any, diffs: Sequence[Diff]) -> Any:
    """``document`` after the operations, in order. Raises :class:`PathError`, ValueError."""
    result = deepcopy(document)
    for diff in diffs:
        legs = _legs(diff.path.decode("utf-8"))
        if not legs:
            if diff.op != "replace":
                raise PathError(f"{diff.op} of the whole document")
            result = _value(diff)
            continue
        parent = result
        for leg in legs[:-1]:
            parent = _child(parent, leg)
        _change(parent, legs[-1], diff)
    return result


def _value(diff: Diff) -> Any:
    text = (diff.value or b"").decode("utf-8")
    return parse(text) if diff.json else text


def _legs(path: str) -> list[str | int]:
    if not path.startswith("$"):
        raise PathError(path)
    legs: list[str | int] = []
    at = 1
    while at < len(path):
        found = _LEG.match(path, at)
        if found is None:
            raise PathError(path)
        if found[2] is not None:
            legs.append(int(found[2]))
        else:
            legs.append(json.loads(found[1]) if found[1].startswith('"') else found[1])
        at = found.end()
    return legs


def _child(parent: Any, leg: str | int) -> Any:
    if isinstance(leg, str) and isinstance(parent, dict) and leg in parent:
        return parent[leg]
    if isinstance(leg, int) and isinstance(parent, list) and leg < len(parent):
        return parent[leg]
    raise PathError(str(leg))


def _change(parent: Any, leg: str | int, diff: Diff) -> None:
    if isinstance(leg, str) and isinstance(parent, dict):
        if (leg in parent) == (diff.op == "insert"):
            raise PathError(leg)
        if diff.op == "remove":
            del parent[leg]
        else:
            parent[leg] = _value(diff)
    elif isinstance(leg, int) and isinstance(parent, list):
        if diff.op == "insert":
            parent.insert(leg, _value(diff))
        elif leg >= len(parent):
            raise PathError(str(leg))
        elif diff.op == "remove":
            del parent[leg]
        else:
            parent[leg] = _value(diff)
    else:
        raise PathError(str(leg))
