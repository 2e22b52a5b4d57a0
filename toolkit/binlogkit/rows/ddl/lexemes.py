"""Tokens of a statement, and those of an ordinary one cut by a pattern alone.

Most DDL is made of plain words, names in backticks, plain strings and numbers, of which there is
one way to cut them whatever the SQL mode; sqlglot, which knows the others, takes as long to load
as all that a small log needs besides.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

__all__ = ["Lexeme", "ordinary"]

# A word or a number that something else than a space or a sign follows may be part of another
# token (`N'…'`, `1e5`, `1$a`), a quoted text that another quote follows is not at its end.
_TOKEN = re.compile(
    r"""[ \t\r\n]*(?:
    (?P<word>[A-Za-z_][A-Za-z0-9_]*)(?=[ \t\r\n(),;=.]|\Z)
    |`(?P<name>[^`\\\x00-\x1f]+)`(?=[ \t\r\n(),;=.]|\Z)
    |'(?P<string>[^'\\\x00-\x1f]*)'(?=[ \t\r\n(),;]|\Z)
    |(?P<number>[0-9]+(?:\.[0-9]+)?)(?=[ \t\r\n(),;=]|\Z)
    |(?P<sign>[(),;]|=(?!=)|(?<=[`A-Za-z0-9_])\.(?=[`A-Za-z_]))
    |(?P<end>\Z))""",
    re.VERBOSE,
)


@dataclass(frozen=True, slots=True)
class Lexeme:
    """One token. ``kind``: word, name (quoted), string, number, hex, bits, or sign.

    ``text``: without quotes, escapes resolved; ``word``: upper case for an unquoted word or a
    sign, else empty.
    """

    kind: str
    text: str
    word: str


def ordinary(text: str) -> list[Lexeme] | None:
    """The tokens of a text without comments, None where more must be known to cut it."""
    found: list[Lexeme] = []
    at = 0
    while True:
        match = _TOKEN.match(text, at)
        if match is None or match.lastgroup is None:
            return None
        kind, at = match.lastgroup, match.end()
        if kind == "end":
            return found
        token = match[kind]
        found.append(Lexeme(kind, token, token.upper() if kind in ("word", "sign") else ""))
