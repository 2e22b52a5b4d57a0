"""The form of a statement: its text with its values left out, alike for most statements of a log.

What a statement writes and reads is in no value, so that it is found out once for all statements of
a form (written.py). A form leaves out strings, and numbers that are no part of a name; everything
else is in it to the letter, and no value can look like something else.
"""

from __future__ import annotations

import re

from binlogkit.rows.ddl.session import SqlMode

_ANSI_QUOTES, _NO_ESCAPES = int(SqlMode.ANSI_QUOTES), int(SqlMode.NO_BACKSLASH_ESCAPES)
LONGEST = 1 << 12  # characters of a statement whose form is worth knowing

# Every character is in one match. A literal's group is empty: what is kept is never empty. Only
# ASCII signs end a number, since most other characters can be part of a name.
_BEFORE, _AFTER = r"(?<=[ \t\r\n(,=<>+*/%-])", r"(?=[ \t\r\n),;=<>+*/%-]|\Z)"
_NUMBER = rf"{_BEFORE}[0-9]+(?:\.[0-9]+)?{_AFTER}"
_KEPT = r"(`[^`]*`|[^'\"`0-9]+|[0-9]+|['\"`])"
_ESCAPED = r"'[^'\\]*(?:(?:\\.|'')[^'\\]*)*'"
_PLAIN = r"'[^']*(?:''[^']*)*'"


def _pattern(string: str) -> re.Pattern[str]:
    both = rf"{string}|{string.replace(chr(39), chr(34))}"
    return re.compile(rf"(?:{both}|{_NUMBER})|{_KEPT}", re.DOTALL)


_WITH_ESCAPES, _WITHOUT_ESCAPES = _pattern(_ESCAPED), _pattern(_PLAIN)
# Comments, NULL as a backslash and N, quotes without an end, and what may be hexadecimal or not.
_ODD = re.compile(r"/\*|\*/|--|#|\\|\x00['\"`]\x00|[XxBb]\x00\x00")


def form_of(sql: str, mode: int) -> str | None:
    """The form of a statement; None where it must be read by itself: it is long, or has comments,
    a NUL, an open quote, or double quotes that may be names'."""
    if len(sql) > LONGEST or "\x00" in sql or (mode & _ANSI_QUOTES and '"' in sql):
        return None
    pattern = _WITHOUT_ESCAPES if mode & _NO_ESCAPES else _WITH_ESCAPES
    form = "\x00".join(["", *pattern.findall(sql), ""])
    return None if _ODD.search(form) else form
