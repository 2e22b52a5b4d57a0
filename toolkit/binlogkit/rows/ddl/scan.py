"""Statement text as the server's lexer sees it before tokens: comments and quoted text.

Rules: ``lex_one_token`` in ``sql/sql_lex.cc`` (5.7, 8.0, 8.4) and the manual's "Comments". The scan
goes from edge to edge. No pattern can backtrack over what it has matched: time is linear in the
text, and memory does not depend on it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache

from binlogkit.errors import SchemaError
from binlogkit.rows.ddl.session import ASSUMED_VERSION, DEFAULT_MODE, SqlMode

# Where something else than plain text begins. Every branch begins with a literal, so that `re`
# looks for the next one character by character in C.
_LINE = r"\#[^\n]*|--(?=[\x00-\x20]|\Z)[^\n]*"
_EDGE = re.compile(rf"'|\"|`|;|{_LINE}|/\*|\*/")
_SIX_DIGITS_SINCE = 80034  # `/*!080034 …`: six digits when white space follows (manual, Comments)

_BACKSLASH = {quote: re.compile(rf"\\.|{quote}{quote}?", re.DOTALL) for quote in "'\""}
_NO_BACKSLASH = {quote: re.compile(f"{quote}{quote}?") for quote in "'\"`"}


def quote_end(sql: str, position: int, quote: str, mode: SqlMode) -> int | None:
    """After the end of the text whose opening quote stands before ``position``."""
    escapes = quote != "`" and not mode & SqlMode.NO_BACKSLASH_ESCAPES
    if quote == '"' and mode & SqlMode.ANSI_QUOTES:
        escapes = False
    for found in (_BACKSLASH if escapes else _NO_BACKSLASH)[quote].finditer(sql, position):
        if found.group() == quote:
            return found.end()
    return None


def _comment_end(sql: str, position: int) -> int:
    """After the next ``*/``, or the text's end."""
    found = sql.find("*/", position)
    return len(sql) if found < 0 else found + 2


_VERSIONED = re.compile(r"!(?:(\d{5})(?:(\d)(?=\s))?)?")
_COMMENT_EDGE = re.compile(r"/\*|\*/")


def pieces(
    sql: str, mode: SqlMode = DEFAULT_MODE, version: int = ASSUMED_VERSION
) -> Iterator[tuple[str, str]]:
    """``(kind, text)`` of each piece of ``sql``: ``plain``, ``quoted`` or ``semicolon``.

    A comment is one space; a versioned comment gives its content when ``version`` is old enough
    for it. SchemaError: a quote that is never closed.
    """
    position, inside = 0, False
    while found := _EDGE.search(sql, position):
        if found.start() > position:
            yield "plain", sql[position : found.start()]
        edge, position = found.group(), found.end()
        if edge == ";":
            yield "semicolon", edge
        elif edge in _NO_BACKSLASH:
            end = quote_end(sql, position, edge, mode)
            if end is None:
                raise SchemaError(f"the quote at character {found.start()} is never closed")
            yield "quoted", sql[found.start() : end]
            position = end
        elif edge == "*/":
            yield "plain", " " if inside else edge
            inside = False
        elif edge == "/*":
            position, opened = _comment(sql, position, version)
            inside = inside or opened
            yield "plain", " "
        else:
            yield "plain", " "
    if position < len(sql):
        yield "plain", sql[position:]


def _comment(sql: str, position: int, version: int) -> tuple[int, bool]:
    """Where to resume after the ``/*`` before ``position``, and whether its content counts."""
    versioned = _VERSIONED.match(sql, position)
    if versioned is None:
        return _comment_end(sql, position), False
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
    """After the ``*/`` of a versioned comment that does not count; it may hold one level more."""
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
    return "".join(text for _, text in pieces(sql, mode, version))


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
        for kind, text in pieces(sql, mode, version):
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


DELIMITER = re.compile(r"[ \t]*delimiter[ \t]+(\S+)[^\n]*(?:\n|\Z)", re.IGNORECASE)
BLANK = re.compile(rf"\s+|{_LINE}|/\*(?!!)(?s:.*?)(?:\*/|\Z)")


class ScriptStatements:
    """A script's statements as the mysql client splits it: ``;`` and ``DELIMITER``.

    ``mode`` can be set between two statements, as the script itself can. Text after the last
    delimiter is a statement too; a quote that is never closed makes the rest one statement.
    """

    def __init__(self, sql: str, mode: SqlMode = DEFAULT_MODE) -> None:
        self.mode = mode
        self._sql = sql

    def __iter__(self) -> Iterator[str]:
        sql, position, delimiter = self._sql, 0, ";"
        while position < len(sql):
            blank = BLANK.match(sql, position)
            if blank is not None:
                position = blank.end()
                continue
            command = DELIMITER.match(sql, position)
            if command is not None:
                delimiter, position = command.group(1), command.end()
                continue
            end, after = statement_end(sql, position, delimiter, self.mode)
            if end > position:
                yield sql[position:end]
            position = after


def _short(quote: str, escape: str) -> str:
    """The pattern of a quoted text with few escapes; `re` keeps a place for each of them."""
    text = rf"[^{quote}{escape}]*"
    escaped = rf"{quote}{quote}|{escape}." if escape else quote + quote
    return rf"{quote}{text}(?:(?:{escaped}){text}){{0,100}}{quote}(?!{quote})"


@lru_cache(maxsize=8)
def _stretch(mode: SqlMode) -> re.Pattern[str]:
    """Much text without comments and semicolons in one match, which may be empty."""
    single = "" if mode & SqlMode.NO_BACKSLASH_ESCAPES else r"\\"
    double = "" if mode & SqlMode.ANSI_QUOTES else single
    quoted = "|".join([_short("'", single), _short('"', double), _short("`", "")])
    return re.compile(rf"(?:[^'\"`#\-/*;]+|{quoted}){{0,1000}}", re.DOTALL)


def _stretch_end(sql: str, position: int, mode: SqlMode) -> int:
    found = _stretch(mode).match(sql, position)
    return position if found is None else found.end()


def statement_end(sql: str, position: int, delimiter: str, mode: SqlMode) -> tuple[int, int]:
    """Where the statement at ``position`` ends, and where the next one starts."""
    if delimiter != ";":
        end = sql.find(delimiter, position)
        return (len(sql), len(sql)) if end < 0 else (end, end + len(delimiter))
    while found := _EDGE.search(sql, _stretch_end(sql, position, mode)):
        edge, position = found.group(), found.end()
        if edge == ";":
            return found.start(), position
        if edge in _NO_BACKSLASH:
            position = quote_end(sql, position, edge, mode) or len(sql)
        elif edge == "*/":
            position -= 1  # `*/*` begins a comment for the client
        elif edge == "/*":
            position = _comment_end(sql, position)
    return len(sql), len(sql)
