"""The partial JSON updates of PARTIAL_UPDATE_ROWS_EVENT (8.0.3): what they say, and their effect.

A cell holds diffs end to end: operation (1 byte), path (length as packed integer, utf8mb4 text)
and, except for REMOVE, the value (length as packed integer, binary JSON). Source: the server's
``json_diff.h`` and ``json_diff.cc`` (``Json_diff_vector::read_binary``, ``apply_json_diffs``).
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable
from typing import TypedDict

from binlogkit._kernel.json_binary import InvalidJson, to_text
from binlogkit._kernel.json_tree import Node, parse, tree_text
from binlogkit.errors import printable

REPLACE, INSERT, REMOVE = "replace", "insert", "remove"
_OPERATIONS = (REPLACE, INSERT, REMOVE)
_PACKED_WIDTHS = {252: 2, 253: 3, 254: 8}

# A leg of a path: .name, ."name as a JSON string", [index], [last], [last-n]. A diff has the path
# as the statement wrote it, but never a wildcard.
_LEG = re.compile(
    r"""\s*(?:\.\s*(?:(?P<quoted>"(?:[^"\\]|\\.)*")|(?P<name>[^\s."\[\]*]+))"""
    r"""|\[\s*(?P<index>[0-9]{1,10}|(?P<last>last)(?:\s*-\s*(?P<before>[0-9]{1,10}))?)\s*\])\s*""",
    re.DOTALL,
)


class JsonDiff(TypedDict):
    """One diff. ``op``: replace, insert or remove; ``value``: JSON text, None for remove."""

    op: str
    path: str
    value: str | None


class DiffRejected(ValueError):
    """A diff does not fit the document: it was made for another one."""


def parse_diffs(data: bytes) -> list[JsonDiff]:
    """The diffs of a cell, in the order in which they apply. InvalidJson: malformed."""
    diffs: list[JsonDiff] = []
    p = 0
    while p < len(data):
        if data[p] >= len(_OPERATIONS):
            raise InvalidJson(f"operation {data[p]} of a JSON diff is unknown")
        op = _OPERATIONS[data[p]]
        path, p = _counted(data, p + 1)
        value = None
        if op is not REMOVE:
            raw, p = _counted(data, p)
            value = to_text(raw)
        diffs.append({"op": op, "path": _path_text(path), "value": value})
    return diffs


def diff_text(data: bytes) -> str:
    """The diffs of a cell as JSON: ``[{"op", "path", "value"}, …]``. InvalidJson: malformed."""
    return json.dumps(parse_diffs(data), ensure_ascii=False)


def apply(before: str | Node, diffs: Iterable[JsonDiff]) -> str:
    """The text of the document ``before`` (its text, or a tree) after ``diffs``.

    A str is text, never the tree of a string. DiffRejected: a path is not there, or is there where
    it must not be; ``before`` is left as it was. ValueError: the result is deeper than MAX_DEPTH.
    """
    holder: list[Node] = [parse(before if isinstance(before, str) else tree_text(before))]
    for diff in diffs:
        legs = parse_path(diff["path"])
        value = None if diff["value"] is None else parse(diff["value"])
        *above, last = (0, *legs)
        parent: Node = holder
        for leg in above:
            parent = _step(parent, leg, diff)
        if not legs and diff["op"] != REPLACE:
            raise _rejected(diff)
        _EFFECTS[diff["op"]](parent, last, value, diff)
    return tree_text(holder[0])


def parse_path(path: str) -> tuple[str | int, ...]:
    """The legs of a path: member names and array indexes, from -1 down counted from the end.

    InvalidJson: no path of a diff.
    """
    if not path.startswith("$"):
        raise InvalidJson("a path that does not begin with $")
    legs: list[str | int] = []
    p = 1
    while p < len(path):
        match = _LEG.match(path, p)
        if match is None:
            raise InvalidJson(f"no leg of a path at its character {p}")
        legs.append(_leg(match))
        p = match.end()
    return tuple(legs)


def _leg(match: re.Match[str]) -> str | int:
    if match["last"] is not None:
        return -1 - int(match["before"] or 0)
    if match["index"] is not None:
        return int(match["index"])
    if match["name"] is not None:
        return match["name"]
    try:
        return str(json.loads(match["quoted"], strict=False))
    except ValueError as exc:
        raise InvalidJson("a quoted name in a path is no JSON string") from exc


def _step(node: Node, leg: str | int, diff: JsonDiff) -> Node:
    if isinstance(node, dict) and isinstance(leg, str) and leg in node:
        return node[leg]
    if isinstance(node, list) and isinstance(leg, int) and -len(node) <= leg < len(node):
        return node[leg]
    raise _rejected(diff)


def _replace(parent: Node, leg: str | int, value: Node, diff: JsonDiff) -> None:
    _step(parent, leg, diff)
    parent[leg] = value  # type: ignore[index]


def _insert(parent: Node, leg: str | int, value: Node, diff: JsonDiff) -> None:
    if isinstance(parent, list) and isinstance(leg, int):
        # Past the end: appended; before the beginning: in front.
        parent.insert(leg, value)
    elif isinstance(parent, dict) and isinstance(leg, str) and leg not in parent:
        parent[leg] = value
    else:
        raise _rejected(diff)


def _remove(parent: Node, leg: str | int, _value: Node, diff: JsonDiff) -> None:
    _step(parent, leg, diff)
    del parent[leg]  # type: ignore[union-attr,arg-type]


def _rejected(diff: JsonDiff) -> DiffRejected:
    return DiffRejected(f"{diff['op']} at {printable(diff['path'])} does not fit the document")


_EFFECTS: dict[str, Callable[[Node, str | int, Node, JsonDiff], None]] = {
    REPLACE: _replace,
    INSERT: _insert,
    REMOVE: _remove,
}


def _path_text(raw: bytes) -> str:
    try:
        path = raw.decode("utf-8")
    except UnicodeDecodeError as exc:
        raise InvalidJson(f"a path is no UTF-8 at its byte {exc.start}") from exc
    parse_path(path)
    return path


def _counted(data: bytes, p: int) -> tuple[bytes, int]:
    """Bytes after their length, a packed integer, and where they end."""
    if p >= len(data):
        raise InvalidJson("a JSON diff is cut")
    length, start = data[p], p + 1
    if length > 250:
        width = _PACKED_WIDTHS.get(length)
        if width is None or width > len(data) - start:
            raise InvalidJson("a length in a JSON diff is malformed")
        length = int.from_bytes(data[start : start + width], "little")
        start += width
    if length > len(data) - start:
        raise InvalidJson(f"a JSON diff says {length} bytes where {len(data) - start} are left")
    return data[start : start + length], start + length
