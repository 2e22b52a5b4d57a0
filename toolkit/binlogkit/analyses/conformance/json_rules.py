"""When two writings of a JSON cell are the same value.

Texts are compared by what they say: numbers keep their digits (``1.50`` is not ``1.5``), the order
of an object's keys does not count. Partial updates are applied as they are printed.
"""

from __future__ import annotations

import json
import re
from base64 import b64decode
from collections.abc import Callable
from copy import deepcopy
from dataclasses import dataclass
from typing import Any

from binlogkit._kernel.json_tree import no_json
from binlogkit.analyses.conformance.cell import Cell
from binlogkit.analyses.conformance.rule import Kind, Rules
from binlogkit.analyses.conformance.tokens import Diff, Printed, TokenForm

JSON_RULES = Rules()
_rule = JSON_RULES.add

_LEG = re.compile(r'\.("(?:[^"\\]|\\.)*"|[^.\[\]"\s]+)|\[(\d{1,20})\]')
#: How a server writes the opaque values that 5.7 makes of byte strings: type code 253, VAR_STRING.
_VAR_STRING = "base64:type253:"


class PathError(ValueError):
    """A path that leads nowhere in the document; never leaves this package."""


@dataclass(frozen=True, slots=True)
class _Digits:
    """A JSON number by its digits as written."""

    text: str


def _parse(text: object) -> Any:
    """The value of a JSON text. ValueError for none, also for what is nested too deeply."""
    if not isinstance(text, str):
        raise ValueError("no JSON text")
    try:
        return json.loads(text, parse_float=_Digits, parse_int=_Digits, parse_constant=no_json)
    except RecursionError as exc:
        raise ValueError("nested too deeply") from exc


def dump(value: Any) -> str:
    """A value of :func:`applied` as text, spaced as the server does."""
    if isinstance(value, _Digits):
        return value.text
    if isinstance(value, dict):
        members = (f"{json.dumps(k, ensure_ascii=False)}: {dump(v)}" for k, v in value.items())
        return "{" + ", ".join(members) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(map(dump, value)) + "]"
    return json.dumps(value, ensure_ascii=False)


def _mapped(value: Any, leaf: Callable[[Any], Any]) -> Any:
    """A document whose leaves are changed."""
    if isinstance(value, dict):
        return {name: _mapped(member, leaf) for name, member in value.items()}
    if isinstance(value, list):
        return [_mapped(member, leaf) for member in value]
    return leaf(value)


# Partial updates


def applied(printed: Printed, before: Printed) -> Any:
    """The document after the printed operations. PathError: they do not fit ``before``."""
    text = before.data.decode("utf-8")
    try:
        document = _parse(text)
    except ValueError:  # one string stands without its quotes
        document = text
    result = deepcopy(document)
    for diff in printed.diffs:
        legs = _legs(diff.path.decode("utf-8"))
        if not legs:
            if diff.op != "replace":
                raise PathError(f"{diff.op} of the whole document")
            result = _value(diff)
            continue
        parent = result
        for leg in legs[:-1]:
            if not _there(parent, leg):
                raise PathError(str(leg))
            parent = parent[leg]
        _change(parent, legs[-1], diff)
    return result


def _value(diff: Diff) -> Any:
    text = (diff.value or b"").decode("utf-8")
    return _parse(text) if diff.json else text


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


def _fits(parent: Any, leg: str | int) -> bool:
    return isinstance(parent, dict if isinstance(leg, str) else list)


def _there(parent: Any, leg: str | int) -> bool:
    if isinstance(leg, str):
        return isinstance(parent, dict) and leg in parent
    return isinstance(parent, list) and leg < len(parent)


def _change(parent: Any, leg: str | int, diff: Diff) -> None:
    inserts = diff.op == "insert"
    if not _fits(parent, leg):
        raise PathError(str(leg))
    if inserts and isinstance(leg, int):
        parent.insert(leg, _value(diff))
    elif _there(parent, leg) == inserts:
        raise PathError(str(leg))
    elif diff.op == "remove":
        del parent[leg]
    else:
        parent[leg] = _value(diff)


# The rules


def _printed(cell: Cell, errors: str = "strict") -> str:
    """The printed text. ValueError for other forms than strings."""
    if cell.printed.form is not TokenForm.STRING:
        raise ValueError("no string is printed")
    return cell.printed.data.decode("utf-8", errors)


def _before(cell: Cell) -> Printed | None:
    """The printed document before a printed partial update."""
    before = cell.printed_before
    return before if before is not None and before.form is TokenForm.STRING else None


@_rule(
    "json-scalar-unquoted",
    "a JSON document that is one string, date or opaque value is printed without its double "
    "quotes (Json_wrapper::to_string, json_quoted=false)",
    "JSON",
)
def _scalar_unquoted(cell: Cell) -> bool:
    if cell.printed.form is not TokenForm.STRING:
        return False
    value = _parse(cell.ours)
    return isinstance(value, str) and value.encode("utf-8", "surrogatepass") == cell.printed.data


@_rule(
    "json-opaque-text",
    "byte strings in JSON of 5.7 are opaque values of type 253; that server and ours write "
    "base64:type253:…, mysqlbinlog 9.7.4 their bytes",
    "JSON",
)
def _opaque_as_text(cell: Cell) -> bool:
    printed, ours = _printed(cell, "surrogateescape"), _parse(cell.ours)
    plain = _mapped(ours, _with_bytes)
    return plain != ours and bool(plain == printed or plain == _parse(printed))


def _with_bytes(value: Any) -> Any:
    if isinstance(value, str) and value.startswith(_VAR_STRING):
        return b64decode(value.removeprefix(_VAR_STRING)).decode("utf-8", "surrogateescape")
    return value


@_rule(
    "json-whole-double",
    "5.7 writes a JSON double without a fraction as 1, 8.0 and mysqlbinlog 9.7.4 as 1.0; the "
    "log is 5.7's and ours is what that server prints",
    "JSON",
)
def _whole_double_of_5(cell: Cell) -> bool:
    if not cell.server.startswith("5."):
        return False
    return bool(_parse(cell.ours) == _mapped(_parse(_printed(cell)), _without_fraction))


def _without_fraction(value: Any) -> Any:
    return _Digits(value.text.removesuffix(".0")) if isinstance(value, _Digits) else value


def _listed(cell: Cell) -> bool:
    """``{"json_diff": [{"op", "path", "value"}]}`` with the printed operations in order."""
    if cell.printed.form is not TokenForm.JSON_DIFF or not isinstance(cell.ours, dict):
        return False
    listed = cell.ours.get("json_diff")
    if not isinstance(listed, list) or len(listed) != len(cell.printed.diffs):
        return False
    pairs = zip(listed, cell.printed.diffs, strict=True)
    return all(isinstance(a, dict) and _same_operation(a, b) for a, b in pairs)


def _same_operation(ours: dict[str, Any], theirs: Diff) -> bool:
    if ours.get("op") != theirs.op or ours.get("path") != theirs.path.decode("utf-8", "replace"):
        return False
    if theirs.value is None:
        return ours.get("value") is None
    return bool(_parse(ours.get("value")) == _value(theirs))


@_rule(
    "json-diff",
    "a partial update is printed as calls of JSON_REPLACE, JSON_INSERT, JSON_ARRAY_INSERT and "
    "JSON_REMOVE; ours lists the same operations",
    "JSON",
)
def _diff_listed(cell: Cell) -> bool:
    return _before(cell) is None and _listed(cell)


@_rule(
    "json-diff-applied",
    "a partial update is printed as calls; ours is their result on the before image",
    "JSON",
)
def _diff_applied(cell: Cell) -> bool:
    before = _before(cell)
    if cell.printed.form is not TokenForm.JSON_DIFF or before is None:
        return False
    return bool(_parse(cell.ours) == applied(cell.printed, before))


@_rule(
    "json-diff-no-before",
    "a partial update is printed as calls and its before image does not hold the column: "
    "what it results in cannot be read from the text",
    "JSON",
    kind=Kind.UNDER_DETERMINED,
)
def _diff_without_before(cell: Cell) -> bool:
    if cell.printed.form is not TokenForm.JSON_DIFF or cell.printed_before is not None:
        return False
    _parse(cell.ours)
    return True


@_rule(
    "json-diff-not-applied",
    "the before image holds the document, so what a partial update results in is known; only "
    "without it are the operations listed",
    "JSON",
    kind=Kind.OURS,
)
def _diff_not_applied(cell: Cell) -> bool:
    return _before(cell) is not None and _listed(cell)


@_rule(
    "json-rewritten", "the same JSON value in another text than the server prints", "JSON",
    kind=Kind.OURS,
)  # fmt: skip
def _rewritten(cell: Cell) -> bool:
    return bool(_parse(cell.ours) == _parse(_printed(cell)))
