"""A JSON document, and random changes of it as SQL, as partial updates log them."""

from __future__ import annotations

import random

__all__ = ["START", "change"]

START = (
    '\'{"a": {"b": [1, 2, {"c": 3}], "é è": "x"}, "n": null, "list": [[], {}, "s"], '
    '"zz": 1.5, "yyy": {"k": true}}\''
)
PATHS = (
    *("$.a", "$.a.b", "$.a.b[0]", "$.a.b[2].c", "$.a.b[3]", "$.a.b[9]", "$.list", "$.list[0]"),
    *("$.list[1].new", '$.a."é è"', '$."k\\\\"q"', "$.n", "$.zz", "$.yyy.k", "$.fresh", "$.yyy"),
    *("$.list[0][0]", "$.a.b[last]", "$.x1", "$.x2.y"),
    *("$.n[0]", "$.zz[last]", "$.n[1]", "$.list[last-1]", "$.a.b[last-7]", "$.yyy[0]"),
)
VALUES = (
    *("1", "-70000", "5000000000", "1.50", "1e0", "'text'", "REPEAT('long', 60)", "true", "NULL"),
    *("JSON_ARRAY(1, 'x', NULL)", "JSON_OBJECT('bb', 1, 'a', JSON_ARRAY())", "JSON_OBJECT()"),
    *("CAST('2015-01-15 23:24:25' AS DATETIME(6))", "CAST('abc' AS BINARY)", "'é😀'", "''"),
)


def change(source: random.Random, column: str = "c") -> str:
    """An expression that changes the document of a column."""
    name = source.choice(("JSON_SET", "JSON_REPLACE", "JSON_REMOVE", "JSON_SET"))
    pairs = [(source.choice(PATHS), source.choice(VALUES)) for _ in range(source.randint(1, 3))]
    if name == "JSON_REMOVE":
        return f"{name}({column}, {', '.join(_quoted(path) for path, _ in pairs)})"
    return f"{name}({column}, {', '.join(f'{_quoted(path)}, {value}' for path, value in pairs)})"


def _quoted(text: str) -> str:
    return f"'{text}'"
