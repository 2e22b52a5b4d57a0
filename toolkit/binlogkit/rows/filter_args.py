"""The filters as keywords: their names, the values each takes, and the error for a wrong one."""

from __future__ import annotations

import operator
import re
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from difflib import get_close_matches
from typing import Any, TypeAlias, TypedDict

from binlogkit.errors import UsageError, printable
from binlogkit.events.gtid_set import GtidSet
from binlogkit.rows.where import WhereArg
from binlogkit.sources.carriers import shown

_NAMED, _LIKENESS = 3, 0.6  # of names that may be meant
_LISTED = 20  # of those that there are
_PART = re.compile(r'"((?:[^"]|"")*)"(?=,|\Z)|([^,]*)')


#: A position in a log: ``"FILE:POS"`` or (file, pos); POS alone if there is one file.
AtArg: TypeAlias = str | int | tuple[str, int] | None


class RowFilterArgs(TypedDict, total=False):
    """The filters beside the table; each is explained at :class:`binlogkit.Filters`."""

    exclude_table: str | Iterable[str] | None
    op: str | Iterable[str] | None
    gtid: str | GtidSet | None
    at: AtArg
    thread: int | Iterable[int] | None
    server_id: int | Iterable[int] | None
    source: str | Iterable[str] | None
    where: WhereArg
    start_position: int | None
    stop_position: int | None
    start_time: str | float | datetime | None
    stop_time: str | float | datetime | None
    timezone: str | None


class FilterArgs(RowFilterArgs, total=False):
    """All filters, as keywords."""

    table: str | Iterable[str] | None


def check_names(given: Iterable[str], known: Iterable[str], what: str) -> None:
    """UsageError: a name that is not known; ``what``: the kind of thing that it should be."""
    known = list(known)
    for name in given:
        if name not in known:
            shown = [printable(other) for other in known[:_LISTED]]
            there = ", ".join([*shown, *("…" for _ in known[_LISTED : _LISTED + 1])])
            like = meant(name, known)
            raise UsageError(f"there is no {what} {printable(name)}{like} (there are {there})")


def meant(name: str, known: Iterable[str]) -> str:
    """``; did you mean …`` where some of the ``known`` names are like ``name``, else nothing."""
    by_letters = {other.casefold(): other for other in known}
    like = get_close_matches(name.casefold(), by_letters, _NAMED, _LIKENESS)
    listed = " or ".join(printable(by_letters[text]) for text in like)
    return f"; did you mean {listed}?" if like else ""


def texts(name: str, value: str | Iterable[str] | None) -> list[str]:
    """One text, or a list of them."""
    if value is None:
        return []
    found = [value] if isinstance(value, str) else value
    if isinstance(found, Mapping) or not isinstance(found, Iterable):
        raise UsageError(f"{name} is a text or a list of texts, not {value!r}")
    found = list(found)
    for item in found:
        if not isinstance(item, str):
            raise UsageError(f"{name} is a text or a list of texts, not {item!r}")
    return found


def joined_by_commas(text: str) -> list[str]:
    """The parts of a text; one with a comma is in quotes, and a quote in it is doubled."""
    found, at = [], 0
    while at <= len(text):
        match = _PART.match(text, at)
        assert match is not None  # it takes any text
        found.append(match[2] if match[1] is None else match[1].replace('""', '"'))
        at = match.end() + 1
    return found


def numbers(name: str, value: int | Iterable[int] | None) -> frozenset[int]:
    """One number, or a list of them."""
    if value is None:
        return frozenset()
    several = isinstance(value, Iterable) and not isinstance(value, str)
    found = value if several else [value]
    assert isinstance(found, Iterable)
    return frozenset(_index(name, item, "a number or a list of numbers") for item in found)


def one_number(name: str, value: int | None) -> int | None:
    """A number that is not negative."""
    if value is None:
        return None
    number = _index(name, value, "a number")
    if number < 0:
        raise UsageError(f"{name} is not negative, as {number} is")
    return number


def file_in(files: Sequence[str], file: str) -> str:
    """The log's own name for a file given with or without its folder. UsageError."""
    file = shown(file)
    found = [f for f in files if f == file][:1] or [
        f for f in files if file in (f.rpartition("/")[2], f.replace("\\", "/").rpartition("/")[2])
    ]
    if len(found) != 1:
        raise UsageError(f"{file} is not one of the logs read ({', '.join(files)})")
    return found[0]


def place_in(files: Sequence[str], at: str | int | tuple[str, int]) -> tuple[str, int]:
    """The log's own name and the offset in it of a position; for one log the offset alone."""
    file, pos = place(at)
    if file:
        return file_in(files, file), pos
    if len(files) > 1:
        raise UsageError(f"position {pos} of which file? Write FILE:{pos}")
    return files[0], pos


def place(at: str | int | tuple[str, int]) -> tuple[str, int]:
    """File and offset of a position; the file is empty for an offset alone."""
    file, pos = at if isinstance(at, tuple) and len(at) == 2 else ("", at)
    if isinstance(pos, str) and not file:
        file, _, pos = pos.rpartition(":")
        pos = int(pos) if pos.isdecimal() else -1
    try:
        number = operator.index(pos)  # type: ignore[arg-type]
    except TypeError:
        number = -1
    if number < 0 or isinstance(pos, bool) or not isinstance(file, str):
        raise UsageError(f"not a position: {at!r} (write FILE:POS, or POS where there is one file)")
    return file, number


def _index(name: str, value: Any, what: str) -> int:
    try:
        if isinstance(value, bool):
            raise TypeError
        return operator.index(value)
    except TypeError:
        raise UsageError(f"{name} is {what}, not {value!r}") from None
