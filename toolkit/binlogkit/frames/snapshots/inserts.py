"""The rows of an INSERT as mysqldump and mydumper write it, as literals.

What stands in a dump: ``dump_table`` in the server's ``client/mysqldump.cc``, mydumper's
``write_sql_column_into_string``; how a literal is read: the manual, "String Literals" and
"Hexadecimal Literals".
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from binlogkit._kernel.charsets import decode
from binlogkit.frames.snapshots.values import Misread
from binlogkit.rows.ddl.scan import quote_end
from binlogkit.rows.ddl.session import SqlMode
from binlogkit.rows.schema import ColumnDefinition

#: Of what a literal is: NULL, a number's text, bytes of a string, bytes of 0x….
NULL, NUMBER, STRING, HEX = range(4)
Literal = tuple[int, Any]

_NAME = r"(?:`(?:[^`]|``)+`|[\w$\x80-\xff]+)"
_INSERT = re.compile(
    rf"\s*(?:INSERT|REPLACE)\s+(?:IGNORE\s+)?INTO\s+({_NAME})(?:\s*\.\s*({_NAME}))?\s*", re.I
)
_COLUMNS = re.compile(rf"\(\s*({_NAME}(?:\s*,\s*{_NAME})*)\s*\)\s*")
_VALUES = re.compile(r"VALUES?\s*", re.I)
_VALUE = re.compile(
    r"\s*(?:(NULL)|(0x(?:[0-9A-Fa-f]{2})*)(?![\w$])|(-?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?)"
    r"|(?:_binary\s*|(CONVERT)\s*\(\s*)?(['\"]))",
    re.I,
)
_AFTER = re.compile(r"\s*([,)])\s*")
_ROW = re.compile(r"\s*([,(])\s*")
_CONVERTED = re.compile(r"\s+USING\s+utf8mb4\s*\)", re.I)  # a JSON document of mydumper's
_ESCAPED = {quote: re.compile(rf"\\(.)|{quote * 2}", re.DOTALL) for quote in "'\""}
_MEANS = {
    "0": "\0", "n": "\n", "r": "\r", "t": "\t", "b": "\b", "Z": "\x1a", "%": "\\%", "_": "\\_",
}  # fmt: skip
_PLAIN_STRING = {
    (q, escapes): re.compile(
        rf"[^{q}{escape}]*(?:(?:{q}{q}{escaped})[^{q}{escape}]*){{0,100}}{q}(?!{q})", re.DOTALL
    )
    for q in "'\""
    for escapes, escape, escaped in ((True, r"\\", r"|\\."), (False, "", ""))
}


@dataclass(frozen=True, slots=True)
class Target:
    """Whose rows an INSERT has: names as written, None where it names none."""

    db: str | None
    table: str
    columns: tuple[str, ...] | None
    at: int  # where its rows begin


def target_of(statement: str, charset: str) -> Target | None:
    """Of an INSERT or REPLACE; None for one that is not understood. ``charset``: of names."""
    found = _INSERT.match(statement)
    if found is None:
        return None
    first, second = (_name(part, charset) for part in found.groups())
    listed = _COLUMNS.match(statement, found.end())
    at = found.end() if listed is None else listed.end()
    values = _VALUES.match(statement, at)
    if values is None or first is None:
        return None
    columns = None
    if listed is not None:
        names = re.findall(_NAME, listed[1])
        columns = tuple(_name(name, charset) or "" for name in names)
    db, table = (None, first) if second is None else (first, second)
    return Target(db, table, columns, values.end())


def _name(written: str | None, charset: str) -> str | None:
    if written is None:
        return None
    name = written[1:-1].replace("``", "`") if written.startswith("`") else written
    return decode(charset, name.encode("latin-1"))


def rows_in(statement: str, at: int, mode: SqlMode) -> Iterator[list[Literal]]:
    """The rows of an INSERT whose first parenthesis stands at ``at``; :class:`Misread`."""
    escapes = not mode & SqlMode.NO_BACKSLASH_ESCAPES
    expected = "("
    while at < len(statement):
        opened = _ROW.match(statement, at)
        if opened is None or opened[1] != expected:
            raise Misread("its rows cannot be separated")
        at = opened.end()
        if expected == ",":
            opened = _ROW.match(statement, at)
            if opened is None or opened[1] != "(":
                raise Misread("its rows cannot be separated")
            at = opened.end()
        expected = ","
        row: list[Literal] = []
        while True:
            found = _VALUE.match(statement, at)
            if found is None:
                raise Misread("a value is no literal")
            at, kind = found.end(), found.lastindex
            if kind == 5:
                start, quote = at, found[5]
                if quote == '"' and mode & SqlMode.ANSI_QUOTES:
                    raise Misread("a value is no literal")
                short = _PLAIN_STRING[quote, escapes].match(statement, at)
                end = short.end() if short else quote_end(statement, at, quote, mode)
                if end is None:
                    raise Misread("a string is never closed")
                at = end
                row.append((STRING, _bytes(statement[start : end - 1], quote, escapes=escapes)))
                if found[4]:
                    closed = _CONVERTED.match(statement, at)
                    if closed is None:
                        raise Misread("a value is no literal")
                    at = closed.end()
            elif kind == 1:
                row.append((NULL, None))
            elif kind == 2:
                row.append((HEX, bytes.fromhex(found[2][2:])))
            else:
                row.append((NUMBER, found[3]))
            after = _AFTER.match(statement, at)
            if after is None:
                raise Misread("a value is no literal")
            at = after.end()
            if after[1] == ")":
                break
        yield row
    if expected == "(":
        raise Misread("it has no rows")


def _bytes(text: str, quote: str, *, escapes: bool) -> bytes:
    if escapes and "\\" in text:
        text = _ESCAPED[quote].sub(_meant, text)
    elif quote * 2 in text:
        text = text.replace(quote * 2, quote)
    return text.encode("latin-1")


def _meant(found: re.Match[str]) -> str:
    escaped = found[1]
    return found[0][0] if escaped is None else _MEANS.get(escaped, escaped)


def columns_named(
    definition: Sequence[ColumnDefinition], named: Sequence[str] | None
) -> list[ColumnDefinition]:
    """The columns whose values an INSERT has; :class:`Misread`: a name that is no column's."""
    if named is None:
        return [column for column in definition if not column.invisible]
    by_name = {column.name.lower(): column for column in definition}
    found = [by_name.get(name.lower()) for name in named]
    if None in found or len({column.name for column in found if column}) < len(found):
        raise Misread("it names columns that the table does not have")
    return [column for column in found if column is not None]
