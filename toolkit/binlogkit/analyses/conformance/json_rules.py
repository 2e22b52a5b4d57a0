"""When two writings of a JSON cell are the same value."""

from __future__ import annotations

from base64 import b64decode
from typing import Any

from binlogkit.analyses.conformance import json_value
from binlogkit.analyses.conformance.cell import Cell
from binlogkit.analyses.conformance.tokens import Diff, Form, Printed

__all__ = [
    "applied",
    "diff_applied",
    "diff_listed",
    "diff_not_applied",
    "diff_without_before",
    "opaque_as_text",
    "rewritten",
    "scalar_unquoted",
    "whole_double_of_5",
]


#: How a server writes the opaque values that 5.7 makes of byte strings: type code 253, VAR_STRING.
_VAR_STRING = "base64:type253:"


def _document(text: object) -> Any:
    if not isinstance(text, str):
        raise ValueError("no JSON text")
    return json_value.parse(text)


def scalar_unquoted(cell: Cell) -> bool:
    """Ours is the JSON string of the printed characters."""
    if cell.printed.form is not Form.STRING:
        return False
    try:
        value = _document(cell.ours)
    except ValueError:
        return False
    return isinstance(value, str) and value.encode("utf-8", "surrogatepass") == cell.printed.data


def opaque_as_text(cell: Cell) -> bool:
    """Equal where the bytes of opaque VAR_STRING values stand as they are."""
    if cell.printed.form is not Form.STRING:
        return False
    printed = cell.printed.data.decode("utf-8", "surrogateescape")
    try:
        ours = _document(cell.ours)
        plain = _with_bytes(ours)
        if plain == ours:
            return False
        return plain == printed or bool(plain == json_value.parse(printed))
    except ValueError:
        return False


def _with_bytes(value: Any) -> Any:
    if isinstance(value, str) and value.startswith(_VAR_STRING):
        stored = b64decode(value.removeprefix(_VAR_STRING))
        return stored.decode("utf-8", "surrogateescape")
    if isinstance(value, dict):
        return {name: _with_bytes(member) for name, member in value.items()}
    if isinstance(value, list):
        return [_with_bytes(member) for member in value]
    return value


def whole_double_of_5(cell: Cell) -> bool:
    """Equal where the printed numbers lose a ``.0``, in a log that 5.7 wrote."""
    if cell.printed.form is not Form.STRING or not cell.server.startswith("5."):
        return False
    try:
        theirs = _document(cell.printed.data.decode("utf-8"))
        return bool(_document(cell.ours) == _without_fraction(theirs))
    except ValueError:
        return False


def _without_fraction(value: Any) -> Any:
    if isinstance(value, json_value.Digits):
        return json_value.Digits(value.text.removesuffix(".0"))
    if isinstance(value, dict):
        return {name: _without_fraction(member) for name, member in value.items()}
    if isinstance(value, list):
        return [_without_fraction(member) for member in value]
    return value


def rewritten(cell: Cell) -> bool:
    """Both parse, to the same value."""
    if cell.printed.form is not Form.STRING:
        return False
    try:
        return bool(_document(cell.ours) == _document(cell.printed.data.decode("utf-8")))
    except ValueError:
        return False


def diff_listed(cell: Cell) -> bool:
    """``{"json_diff": [{"op", "path", "value"}]}`` with the printed operations in order."""
    if cell.printed.form is not Form.JSON_DIFF or not isinstance(cell.ours, dict):
        return False
    listed = cell.ours.get("json_diff")
    if not isinstance(listed, list) or len(listed) != len(cell.printed.diffs):
        return False
    pairs = zip(listed, cell.printed.diffs, strict=True)
    return all(isinstance(a, dict) and _same_operation(a, b) for a, b in pairs)


def diff_not_applied(cell: Cell) -> bool:
    """The printed operations are listed, though the before image is there."""
    before = cell.printed_before
    return before is not None and before.form is Form.STRING and diff_listed(cell)


def _same_operation(ours: dict[str, Any], theirs: Diff) -> bool:
    if ours.get("op") != theirs.op or ours.get("path") != theirs.path.decode("utf-8", "replace"):
        return False
    if theirs.value is None:
        return ours.get("value") is None
    try:
        wanted = json_value.parse(theirs.value.decode()) if theirs.json else theirs.value.decode()
        return bool(_document(ours.get("value")) == wanted)
    except ValueError:
        return False


def applied(printed: Printed, before: Printed) -> Any:
    """The document after the printed operations; ValueError: they do not fit ``before``."""
    return json_value.apply(_before(before.data.decode("utf-8")), printed.diffs)


def _before(text: str) -> Any:
    """The printed before image; one string stands without its quotes, so it may not parse."""
    try:
        return json_value.parse(text)
    except ValueError:
        return text


def diff_applied(cell: Cell) -> bool:
    """The printed operations on the printed before image give ours."""
    before = cell.printed_before
    if cell.printed.form is not Form.JSON_DIFF or before is None or before.form is not Form.STRING:
        return False
    try:
        return bool(_document(cell.ours) == applied(cell.printed, before))
    except ValueError:
        return False


def diff_without_before(cell: Cell) -> bool:
    """Ours is a whole document, theirs a diff on what is not printed."""
    if cell.printed.form is not Form.JSON_DIFF or cell.printed_before is not None:
        return False
    try:
        _document(cell.ours)
    except ValueError:
        return False
    return True
