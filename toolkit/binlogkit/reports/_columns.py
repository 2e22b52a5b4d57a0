"""Which columns of a record are shown, in which order: ``--columns A,B``.

A name means a top-level column. Otherwise the part before its first dot is a column that holds an
object, and the rest is a name in it: ``after.id``.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from binlogkit.errors import SchemaError, UsageError, printable


class _Absent:
    """A column that is not in this record's object (not in the image), unlike one that is NULL."""

    def __repr__(self) -> str:
        return "ABSENT"


ABSENT = _Absent()
Picker = Callable[[Mapping[str, Any]], list[Any]]
_BLANKS = re.compile(r"\s*")
_NAME = re.compile(r"`((?:[^`]|``)*)`|([^,`]+)")  # quoted or not


def parse_columns(text: str) -> list[str]:
    """The names in ``A,B``; backticks around a name keep commas, blanks and doubled backticks.

    UsageError: an empty or doubled name, or an unclosed backtick.
    """
    names: list[str] = []
    at = -1
    while at < len(text):
        name, start = "", _BLANKS.match(text, at + 1).end()  # type: ignore[union-attr]
        at = start
        while found := _NAME.match(text, at):
            name += found[2] if found[1] is None else found[1].replace("``", "`")
            at = found.end()
        if text[at : at + 1] == "`":
            raise UsageError(f"--columns {printable(text)} has a backtick that is not closed")
        name = name if "`" in text[start:at] else name.rstrip()
        if not name or name in names:
            problem = "names a column twice" if name else "names an empty column"
            raise UsageError(f"--columns {printable(text)} {problem}")
        names.append(name)
    return names


def picker(columns: Sequence[str], known: Iterable[str]) -> Picker:
    """A function from a record to its cells in the order of ``columns``.

    ``known``: the names of the first record, or of the declared schema. A cell missing in the
    record's object is :data:`ABSENT`.
    UsageError: an unknown top-level name.
    """
    names = list(known)
    paths = [_path(column, names) for column in columns]

    def pick(record: Mapping[str, Any]) -> list[Any]:
        return [_follow(record, top, inner) for top, inner in paths]

    return pick


def _path(column: str, names: list[str]) -> tuple[str, str | None]:
    top, dot, inner = column.partition(".")
    if column in names:
        return column, None
    if dot and top in names:
        return top, inner
    there = ", ".join(printable(name) for name in names)
    raise UsageError(f"no column {printable(column)}; there are: {there}")


def _follow(record: Mapping[str, Any], top: str, inner: str | None) -> Any:
    value = record.get(top, ABSENT)
    if inner is None or value is ABSENT:
        return value
    if value is None:
        return ABSENT
    if not isinstance(value, Mapping):
        raise SchemaError(f"column {printable(top)} holds no object to take a name from")
    return value.get(inner, ABSENT)
