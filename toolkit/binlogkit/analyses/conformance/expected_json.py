"""JSON documents that are not the expected ones: rules by value."""

from __future__ import annotations

import json
import re
from base64 import b64decode
from decimal import Decimal, InvalidOperation
from typing import Any

from binlogkit.analyses.conformance.expected_cell import ANY_DECODER, ExpectedCell, text_of
from binlogkit.analyses.conformance.rule import Kind, Rules

JSON = Rules(ANY_DECODER)
_add = JSON.add
_OURS = Kind.OURS
_NEGATIVE = re.compile(r"-\d+:\d\d:\d\d\.\d{6}")
_ANY_TIME = re.compile(r"[-\d:.]+")
_OPAQUE = re.compile(r"base64:type\d+:(.*)")  # as servers write values that JSON has no type for


@_add(
    "json-diff-not-applied",
    "the before image holds the document, so what a partial update results in is known; ours lists "
    "the operations",
    "JSON",
    kind=_OURS,
)
def _diff_listed(cell: ExpectedCell) -> bool:
    return (
        isinstance(cell.ours, dict)
        and list(cell.ours) == ["json_diff"]
        and isinstance(cell.expected, str)
    )


def _document(ours: Any, **numbers: Any) -> Any:
    """What ours says of a document, as text or as a value of its own."""
    text = ours if isinstance(ours, str) else json.dumps(ours, ensure_ascii=False)
    return json.loads(text, **numbers)


@_add("json-as-value", "a JSON document as a value of its own instead of its text", "JSON")
def _json_value(cell: ExpectedCell) -> bool:
    if not isinstance(cell.expected, str):
        return False
    return json.dumps(cell.ours, sort_keys=True) == json.dumps(
        json.loads(cell.expected), sort_keys=True
    )


@_add("json-decimal-as-text", "the same document with its decimals as strings", "JSON", kind=_OURS)
def _json_decimals(cell: ExpectedCell) -> bool:
    mine = _document(cell.ours, parse_float=str, parse_int=str)
    theirs = json.loads(cell.expected, parse_float=str, parse_int=str)
    plain = _document(cell.ours) == json.loads(cell.expected)
    return bool(mine == theirs) and not plain


@_add(
    "json-rewritten", "the same JSON value in another text than the server prints", "JSON",
    kind=_OURS,
)  # fmt: skip
def _rewritten(cell: ExpectedCell) -> bool:
    kept: Any = {"parse_float": _Number, "parse_int": _Number}
    return bool(json.loads(cell.ours, **kept) == json.loads(cell.expected, **kept))


class _Number:
    """A number as it is written: equal to others of its value, or that the same double is."""

    __hash__ = None  # type: ignore[assignment]
    __slots__ = ("_text",)

    def __init__(self, text: str) -> None:
        self._text = text

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, _Number):
            return False
        texts = (self._text, other._text)
        if Decimal(texts[0]) == Decimal(texts[1]):
            return True
        shortest = any(repr(float(text)) in (text, f"{text}.0") or "e" in text for text in texts)
        return shortest and float(texts[0]) == float(texts[1])


@_add("json-broken", "ours is no JSON document", "JSON", kind=_OURS)
def _broken(cell: ExpectedCell) -> bool:
    try:
        json.loads(text_of(cell.ours))
    except ValueError:
        return True
    return False


@_add(
    "json-text-cut", "the same document, but for texts in it that end at their first NUL", "JSON",
    kind=_OURS,
)  # fmt: skip
def _cut(cell: ExpectedCell) -> bool:
    expected = json.loads(cell.expected)
    cut = _cut_texts(expected)
    return bool(expected != cut == _document(cell.ours))


def _cut_texts(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _cut_texts(one) for key, one in value.items()}
    if isinstance(value, list):
        return [_cut_texts(one) for one in value]
    return value.partition("\0")[0] if isinstance(value, str) else value


@_add(
    "json-opaque-otherwise",
    "the same document, but for values of MySQL's own types in it: a DATE with a time, a moment "
    "without its fraction, a DECIMAL as a string, a negative TIME as another one, bytes in Base64 "
    "alone or as text in which some are lost",
    "JSON",
    kind=_OURS,
)
def _opaque(cell: ExpectedCell) -> bool:
    numbers: Any = {"parse_float": str, "parse_int": str}
    return _alike(_document(cell.ours, **numbers), json.loads(cell.expected, **numbers))


def _alike(ours: Any, expected: Any) -> bool:
    if isinstance(expected, dict):
        return (
            isinstance(ours, dict)
            and ours.keys() == expected.keys()
            and all(_alike(ours[key], value) for key, value in expected.items())
        )
    if isinstance(expected, list):
        return (
            isinstance(ours, list)
            and len(ours) == len(expected)
            and all(map(_alike, ours, expected))
        )
    if ours == expected or not (isinstance(ours, str) and isinstance(expected, str)):
        return bool(ours == expected)
    if opaque := _OPAQUE.fullmatch(expected):
        text = b64decode(opaque[1]).decode("utf-8", "replace")
        return ours in (opaque[1], text, text.partition("\0")[0])
    if _NEGATIVE.fullmatch(expected):
        return _ANY_TIME.fullmatch(ours) is not None
    if ours in (f"{expected} 00:00:00.000000", expected.removesuffix(".000000")):
        return True
    return _same_number(ours, expected)


def _same_number(ours: str, expected: str) -> bool:
    try:
        return Decimal(ours) == Decimal(expected)
    except InvalidOperation:
        return False
