"""One cell of both sides, and what counts as the same writing of the same value."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from binlogkit.analyses.conformance.columns import ColumnFacts
from binlogkit.analyses.conformance.tokens import Form, Printed

__all__ = ["Cell", "family_of", "same"]

_UTF8 = frozenset(("utf8", "utf8mb3", "utf8mb4", "ascii"))
_WORD = re.compile(r"[A-Z]+")
_FAMILIES = {
    "TINYINT": "INT",
    "SHORTINT": "INT",
    "MEDIUMINT": "INT",
    "LONGINT": "INT",
    "VARSTRING": "STRING",
    "TINYBLOB": "STRING",
    "BLOB": "STRING",
    "MEDIUMBLOB": "STRING",
    "LONGBLOB": "STRING",
}


@dataclass(frozen=True, slots=True)
class Cell:
    """``ours``: the value in the contract's form; ``printed``: mysqlbinlog's.

    ``family``: see :class:`ColumnFacts`; ``type``: the whole printed type, empty with ``-v``;
    ``ours_before``, ``printed_before``: of the same column, for an update's after image;
    ``server``: the version that the log's format description names.
    """

    ours: Any
    printed: Printed
    family: str
    type: str
    column: ColumnFacts
    ours_before: Any = None
    printed_before: Printed | None = None
    server: str = ""


def family_of(printed_type: str, column: ColumnFacts) -> str:
    """The family by the printed type, else by the column."""
    word = _WORD.match(printed_type)
    if word is None:
        return column.family
    return _FAMILIES.get(word[0], word[0])


def is_integer(value: Any) -> bool:
    """Whether a JSON value is an integer (``true`` is none)."""
    return isinstance(value, int) and not isinstance(value, bool)


def is_number(value: Any) -> bool:
    """Whether a JSON value is a finite number."""
    return is_integer(value) or (isinstance(value, float) and math.isfinite(value))


def _integer(cell: Cell) -> bool:
    """The printed number; of two readings the signed one, where the column is not unsigned."""
    if not is_integer(cell.ours) or cell.ours != cell.printed.number:
        return False
    return cell.printed.unsigned is None or cell.column.unsigned is not True


def _text(cell: Cell) -> bool:
    return isinstance(cell.ours, str) and cell.ours == cell.printed.text


def _number(cell: Cell) -> bool:
    """The same digits, or one of an integer's two writings."""
    if not is_number(cell.ours):
        return False
    return cell.printed.text in (repr(cell.ours), repr(float(cell.ours)).removesuffix(".0"))


def _string(cell: Cell) -> bool:
    if not isinstance(cell.ours, str) or cell.printed.form is not Form.STRING:
        return False
    if cell.column.charset is not None and cell.column.charset not in _UTF8:
        # Only ASCII is the same in nearly every character set; the others have a rule.
        return (
            cell.column.charset not in ("binary", "ucs2", "utf16", "utf16le", "utf32")
            and cell.ours.isascii()
            and cell.printed.data == cell.ours.encode("ascii")
        )
    return cell.printed.data == cell.ours.encode("utf-8", "backslashreplace")


def _quoted(cell: Cell) -> bool:
    if cell.printed.form is Form.STRING:
        if not isinstance(cell.ours, str):
            return False
        return cell.printed.data == cell.ours.encode("utf-8", "backslashreplace")
    return _text(cell)


_SAME: dict[str, Callable[[Cell], bool]] = {
    "INT": _integer,
    "YEAR": _integer,
    "ENUM": _integer,
    "DECIMAL": _text,
    "FLOAT": _number,
    "DOUBLE": _number,
    "STRING": _string,
    "JSON": _quoted,
    "TIME": _quoted,
    "DATETIME": _quoted,
}
_BY_FORM: dict[Form, Callable[[Cell], bool]] = {
    Form.INTEGER: _integer,
    Form.NUMBER: lambda cell: _text(cell) or _number(cell),
    Form.STRING: _string,
    Form.PLAIN: _text,
}


def same(cell: Cell) -> bool:
    """Whether both sides write the same value the same way."""
    if cell.printed.form is Form.NULL or cell.ours is None:
        return cell.printed.form is Form.NULL and cell.ours is None
    how = _SAME.get(cell.family) or _BY_FORM.get(cell.printed.form)
    return how is not None and how(cell)
