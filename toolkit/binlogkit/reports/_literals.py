"""Values and names as SQL that no session can misread, for MySQL 5.7 and 8.0.

All of it is printable ASCII without backslashes, and a quoted string holds no quote of its own
kind, so neither sql_mode (NO_BACKSLASH_ESCAPES, ANSI_QUOTES) nor a client's character set (in gbk,
sjis and big5 a byte of a letter can be a backslash or swallow the quote after it) changes where a
literal ends. Other text is hexadecimal with its introducer (manual, "Character Set Introducers"). A
name that is not printable ASCII has no such form: the whole statement is then written in
hexadecimal and run with PREPARE (:func:`prepared`).
"""

from __future__ import annotations

import math
import re
import struct
from collections.abc import Callable, Iterable, Sequence

from binlogkit.errors import UsageError, printable

#: One line of printable ASCII without a backslash: may be in a script as it is.
SAFE = r"[ -\[\]-~]*"
#: The same without the quote that ends a literal.
PLAIN = r"[ -&(-\[\]-~]*"
_PLAIN = re.compile(PLAIN)
_DECIMAL = re.compile(r"-?\d+(\.\d+)?", re.ASCII)
_HEX = re.compile(r"0x([0-9A-Fa-f]*)")
_MOST_DIGITS = 65  # a longer decimal literal is read as a DOUBLE (manual, "Precision Math")
_INTEGERS = range(-(1 << 63), 1 << 64)

_Form = Callable[[object], "str | None"]


def literal(value: object, kind: str) -> str:
    """``value`` (contract's JSON form) of a column of ``kind`` (frames/schema.py KINDS) as SQL.

    UsageError: SQL cannot express it (an undecodable value, a JSON diff, NaN or infinity).
    """
    if value is None:
        return "NULL"
    if kind not in _FORMS:
        raise UsageError(f"no kind of column is called {printable(kind)}")
    text = _FORMS[kind](value)
    if text is None:
        raise UsageError(f"a value of a {kind} column cannot be written in SQL")
    return text


def writable(value: object, kind: str) -> bool:
    """Whether a strict server accepts ``value``: all but ENUM's error value (index 0).

    Tried on 5.7.22 and 8.0.31: error 1265 in strict mode, whether 0 or an empty string is written.
    """
    return not (kind == "enum" and isinstance(value, int) and value == 0)


def _integer(value: object) -> str | None:
    whole = isinstance(value, int) and not isinstance(value, bool) and value in _INTEGERS
    return str(value) if whole else None


def _double(value: object) -> str | None:
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        return None
    text = repr(float(value))
    return text if "e" in text else f"{text}e0"  # without an exponent it would be a DECIMAL


def _float(value: object) -> str | None:
    """A FLOAT by all digits of its double: the shortest form of FLT_MAX is out of range."""
    if _double(value) is None:
        return None
    try:
        return _double(struct.unpack("<f", struct.pack("<f", value))[0])
    except OverflowError:
        return None


def _decimal(value: object) -> str | None:
    if not isinstance(value, str) or not _DECIMAL.fullmatch(value):
        return None
    return value if sum(c.isdigit() for c in value) <= _MOST_DIGITS else f"'{value}'"


def _text(value: object) -> str | None:
    if not isinstance(value, str):
        return None
    if _PLAIN.fullmatch(value):
        return f"'{value}'"
    try:
        return f"_utf8mb4 X'{value.encode('utf-8').hex().upper()}'"
    except UnicodeEncodeError:  # a lone surrogate is no text of any server
        return None


def _binary(value: object) -> str | None:
    found = _HEX.fullmatch(value) if isinstance(value, str) else None
    return None if found is None or len(found[1]) % 2 else f"X'{found[1].upper()}'"


def _labels(value: object) -> str | None:
    return _text(value) if isinstance(value, str) else _integer(value)


def _json(value: object) -> str | None:
    text = _text(value)
    return None if text is None else f"CAST({text} AS JSON)"


_FORMS: dict[str, _Form] = {
    **dict.fromkeys(("integer", "bit", "year"), _integer),
    "float": _float,
    "double": _double,
    "decimal": _decimal,
    **dict.fromkeys(("date", "time", "datetime", "timestamp", "text"), _text),
    **dict.fromkeys(("enum", "set"), _labels),
    "json": _json,
    # SRID and WKB as stored are the server's internal format, which a geometry column takes as it
    # is: no axis order, which 8.0 gave to WKB functions, comes between.
    **dict.fromkeys(("binary", "geometry", "vector"), _binary),
}


def identifier(name: str) -> str:
    """``name`` in backquotes, which quote in every sql_mode; a backquote in it is doubled.

    UsageError: an empty name, or one with a NUL, which no server has.
    """
    if not name or "\0" in name:
        raise UsageError(f"'{printable(name)}' is not the name of a table or column")
    return quoted(name)


def quoted(name: str) -> str:
    """``name`` as :func:`identifier` has it, whatever it is."""
    doubled = name.replace("`", "``")
    return f"`{doubled}`"


def among(columns: Sequence[str], rows: Iterable[tuple[str, ...]]) -> str:
    """The condition that columns hold one of some rows of texts.

    Not as ``(a, b) IN ((…), (…))``: of several rows 5.7.22 finds none in information_schema.
    """
    pairs = (zip(columns, (literal(text, "text") for text in row), strict=True) for row in rows)
    alike = (" AND ".join(f"{column} = {value}" for column, value in row) for row in pairs)
    return f"({' OR '.join(f'({row})' for row in alike)})"


def prepared(statement: str) -> list[str]:
    """The statements that run ``statement``: itself, if it can be in a script as it is.

    With a character in a name that is not printable ASCII, or a backslash (an old client takes it
    for a command), it is prepared from hexadecimal; the row count is then that of the EXECUTE,
    the second statement.
    """
    if statement.isascii() and statement.isprintable() and "\\" not in statement:
        return [statement]
    before, after = PREPARED
    return f"{before}{_hex(statement)}{after}".split(";\n")


def _hex(statement: str) -> str:
    try:
        return statement.encode("utf-8").hex().upper()
    except UnicodeEncodeError as exc:
        raise UsageError("a name holds a lone surrogate, which no server's name does") from exc


def prepared_lines(statement: str) -> str:
    """The same as lines of a script."""
    return "".join(f"{part};\n" for part in prepared(statement))


def chosen_lines(condition: str, statement: str, other: str) -> str:
    """The lines of a script that run a statement if a condition holds, else the other."""
    hexes = (_hex(one) for one in (statement, other))
    first, second = (f"_utf8mb4 X'{one}'" for one in hexes)
    chosen = f"SET @bk_sql = IF({condition}, {first}, {second})"
    return f"{prepared_lines(chosen)}PREPARE bk_statement FROM @bk_sql;\nEXECUTE bk_statement;\n"


#: The text around the hexadecimal of a prepared statement.
PREPARED = (
    "SET @bk_sql = _utf8mb4 X'",
    "';\nPREPARE bk_statement FROM @bk_sql;\nEXECUTE bk_statement",
)


def comment(text: str) -> str:
    """``text`` as one comment line of printable ASCII, which nothing in it can end."""
    return f"-- {escaped(text)}".rstrip()


def escaped(text: str) -> str:
    """``text`` in printable ASCII on one line."""
    return "".join(c if " " <= c <= "~" else c.encode("unicode_escape").decode() for c in text)
