"""Statement text as the server's lexer sees it before tokens: comments and quoted text.

Rules: ``lex_one_token`` in ``sql/sql_lex.cc`` (5.7, 8.0, 8.4) and the manual's "Comments". The
scan is one pass of possessive patterns: linear in the text, without recursion.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache

from binlogkit.errors import SchemaError
from binlogkit.rows.ddl.modes import ASSUMED_VERSION, DEFAULT_MODE, SqlMode

__all__ = ["Script", "leading_words", "pieces", "plain"]

_BACKSLASH = r"(?:[^{q}\\]++|\\.|{q}{q})*+"
_NO_BACKSLASH = r"(?:[^{q}]++|{q}{q})*+"
_SIX_DIGITS_SINCE = 80034  # `/*!080034 …`: six digits when white space follows (manual, Comments)


def _quoted(mode: SqlMode) -> str:
    """The pattern of a string or a quoted name."""
    body = _NO_BACKSLASH if mode & SqlMode.NO_BACKSLASH_ESCAPES else _BACKSLASH
    single = "'" + body.format(q="'") + "'"
    double_body = _NO_BACKSLASH if mode & SqlMode.ANSI_QUOTES else body
    double = '"' + double_body.format(q='"') + '"'
    name = "`" + _NO_BACKSLASH.format(q="`") + "`"
    return f"{single}|{double}|{name}"


_LINE = r"\#[^\n]*+|--(?=[\x00-\x20]|\Z)[^\n]*+"
_PLAIN = r"[^'\"`#\-/*;]++|[-/*]"


@lru_cache(maxsize=8)
def _lexeme(mode: SqlMode) -> re.Pattern[str]:
    """One piece of text: a run without quotes and comments, a quoted text, or a comment's start."""
    return re.compile(
        rf"(?P<quoted>{_quoted(mode)})"
        rf"|(?P<line>{_LINE})"
        r"|(?P<open>/\*)"
        r"|(?P<close>\*/)"
        r"|(?P<semicolon>;)"
        rf"|(?P<plain>{_PLAIN})",
        re.DOTALL,
    )


@lru_cache(maxsize=8)
def _statement(mode: SqlMode) -> re.Pattern[str]:
    """Everything up to a semicolon outside of quotes and comments, in one match."""
    comment = r"/\*(?s:.*?)(?:\*/|\Z)"
    return re.compile(rf"(?:{_quoted(mode)}|{_LINE}|{comment}|{_PLAIN})*+", re.DOTALL)


_VERSIONED = re.compile(r"!(?:(\d{5})(?:(\d)(?=\s))?)?")
_COMMENT_EDGE = re.compile(r"/\*|\*/")


def pieces(
    sql: str, mode: SqlMode = DEFAULT_MODE, version: int = ASSUMED_VERSION, start: int = 0
) -> Iterator[tuple[str, str, int]]:
    """``(kind, text, end)`` of each piece of ``sql`` from ``start``; comments are gone.

    ``kind``: ``plain``, ``quoted`` or ``semicolon``; ``end``: offset behind the piece. A comment is
    one space; a versioned comment gives its content when ``version`` is old enough for it.
    SchemaError: a quote that is never closed.
    """
    lexeme = _lexeme(mode)
    position, inside = start, False
    while position < len(sql):
        found = lexeme.match(sql, position)
        if found is None:
            raise SchemaError(f"the quote at character {position} is never closed")
        kind = str(found.lastgroup)
        position = found.end()
        text = found.group()
        if kind == "open":
            position, opened = _comment(sql, position, version)
            inside = inside or opened
            kind, text = "plain", " "
        elif kind == "line":
            kind, text = "plain", " "
        elif kind == "close":
            kind, text = "plain", " " if inside else "*/"
            inside = False
        yield kind, text, position


def _comment(sql: str, position: int, version: int) -> tuple[int, bool]:
    """Where to go on behind the ``/*`` before ``position``, and whether its content counts."""
    versioned = _VERSIONED.match(sql, position)
    if versioned is None:
        end = sql.find("*/", position)
        return (len(sql) if end < 0 else end + 2), False
    digits, sixth = versioned.groups()
    if digits is None:
        return versioned.end(), True
    if sixth is not None and version >= _SIX_DIGITS_SINCE:
        wanted, content = int(digits + sixth), versioned.end()
    else:
        wanted, content = int(digits), versioned.end(1)
    if wanted <= version:
        return content, True
    return _skip_nested(sql, content), False


def _skip_nested(sql: str, position: int) -> int:
    """Behind the ``*/`` of a versioned comment that does not count; it may hold one level more."""
    depth = 1
    for edge in _COMMENT_EDGE.finditer(sql, position):
        if edge.group() == "/*":
            depth = 2
        elif depth == 1:
            return edge.end()
        else:
            depth = 1
    return len(sql)


def plain(sql: str, mode: SqlMode = DEFAULT_MODE, version: int = ASSUMED_VERSION) -> str:
    """``sql`` without comments, versioned ones applied. SchemaError: an open quote."""
    return "".join(text for _, text, _ in pieces(sql, mode, version))


_WORD = re.compile(r"[\w$]+|\S")


def leading_words(
    sql: str, count: int, mode: SqlMode = DEFAULT_MODE, version: int = ASSUMED_VERSION
) -> list[str]:
    """The first ``count`` words of ``sql`` in upper case, comments skipped; signs count as words.

    A quoted name or string gives its opening quote. Only the beginning of the text is read. An
    open quote ends the list.
    """
    words: list[str] = []
    try:
        for kind, text, _ in pieces(sql, mode, version):
            if kind == "quoted":
                words.append(text[0])
            else:
                for word in _WORD.finditer(text[:4096]):
                    words.append(word.group().upper())
                    if len(words) >= count:
                        break
            if len(words) >= count:
                return words[:count]
    except SchemaError:
        pass
    return words


_DELIMITER = re.compile(r"[ \t]*delimiter[ \t]+(\S+)[^\n]*(?:\n|\Z)", re.IGNORECASE)
_BLANK = re.compile(rf"(?:\s+|{_LINE}|/\*(?!!)(?s:.*?)(?:\*/|\Z))++")


class Script:
    """A script's statements as the mysql client splits it: ``;`` and ``DELIMITER``.

    ``mode`` can be set between two statements, as the script itself can. Text behind the last
    delimiter is a statement too; a quote that is never closed makes the rest one statement.
    """

    def __init__(self, sql: str, mode: SqlMode = DEFAULT_MODE) -> None:
        self.mode = mode
        self._sql = sql

    def __iter__(self) -> Iterator[str]:
        sql, position, delimiter = self._sql, 0, ";"
        while position < len(sql):
            blank = _BLANK.match(sql, position)
            if blank is not None:
                position = blank.end()
                continue
            command = _DELIMITER.match(sql, position)
            if command is not None:
                delimiter, position = command.group(1), command.end()
                continue
            end, after = _statement_end(sql, position, delimiter, self.mode)
            if end > position:
                yield sql[position:end]
            position = after


def _statement_end(sql: str, position: int, delimiter: str, mode: SqlMode) -> tuple[int, int]:
    """Where the statement at ``position`` ends, and where the next one starts."""
    if delimiter != ";":
        end = sql.find(delimiter, position)
        return (len(sql), len(sql)) if end < 0 else (end, end + len(delimiter))
    found = _statement(mode).match(sql, position)
    end = len(sql) if found is None else found.end()
    return (end, end + 1) if sql.startswith(";", end) else (len(sql), len(sql))
