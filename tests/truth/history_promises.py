"""What undo promises, held against a server's tables as its script leaves them.

Undo. A script that does not commit promises nothing but that InnoDB's tables stay as they are. One
that commits, with nothing refused, promises by mode:

``whole`` (mode ``refuse``, of all since the mark): the tables are what they were at the mark, in
the columns that are there at both; columns that were added hold what ADD COLUMN gave to rows that
were there; tables that were made since are empty. The other modes are tried on changes between the
mark and a later one, and compared by key in tables of the same definition at all three times:

``refuse``: what those changes touched, and later ones did not, is as at the mark; all else is as
it was before the script. A cell, or row, that both touched is not undone: the change was refused.
``skip``: likewise, but a change may be left out, so that each cell is of the one time or the other;
a row whose key the changes made or moved may be as it was between them.
``cascade``: all that the changes touched is as at the mark, whatever came later, and what nobody
touched is as it was; what was only touched later may be of any of the times, those between the
changes of one statement included.
``force``: all that the changes touched is as at the mark; all else is as it was before the script.
A row that gets its old key back may keep what later changes set in it.
``merge``: a cell that later changes touched, or nobody, is as it was before the script; one that
only the changes touched is as at the mark, or as it was: it may belong to a key of which a later
change touched another column, or a later change may have put its value back. A row that was not
there at one of the times, or had another key, is there or not as at the mark, or before the script.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from binlogkit_fixtures.manifest import Table

_COMMENT = re.compile(r"COMMENT(?:=| )'(\w+)'")
_INTEGERS = ("tinyint", "smallint", "mediumint", "int", "bigint")

Cells = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Image:
    """A row in an event: ``of``, by which it is found, ``row`` or None if it was not there then.

    ``later``: whether the event comes after the changes that are undone; ``moved``: whether the row
    has another key then.
    """

    of: Cells
    row: Cells | None
    later: bool
    moved: bool = False


@dataclass(frozen=True, slots=True)
class Mark:
    """What SELECT said, where in the log, and after how many steps."""

    file: str
    pos: int
    tables: Mapping[str, Table]
    step: int

    @property
    def at(self) -> str:
        return f"{self.file}:{self.pos}"


def _identity(text: str) -> str:
    found = _COMMENT.findall(text)
    return found[-1] if found else ""


def identity(table: Table) -> str:
    """What it is, whatever it is called."""
    return _identity(table.create.splitlines()[-1])


def _lines(table: Table) -> dict[str, str]:
    """What SHOW CREATE TABLE says of each column."""
    found = re.findall(r"^  `(\w+)` (.*?),?$", table.create, re.MULTILINE)
    return dict(found)


def _by_identity(table: Table) -> dict[str, int]:
    """The columns' places by what they are, whatever their names."""
    lines = _lines(table)
    found = ((_identity(lines.get(c.name, "")), i) for i, c in enumerate(table.columns))
    return {name: i for name, i in found if name not in ("", "c0")}


def whole(marks: Sequence[Mark], start: Mark, tables: Mapping[str, Table]) -> Iterator[str]:
    """What is not as at the mark; tables and columns are found by their comments."""
    before = {identity(t): t for t in start.tables.values()}
    since = [m for m in marks if m.step >= start.step]
    for name, table in tables.items():
        own = identity(table)
        old = before.get(own)
        if old is None:
            if table.rows and own not in ("", "t0"):
                yield f"{name} was made since and has {list(table.rows)[:2]}"
            continue
        new, was = _by_identity(table), _by_identity(old)
        common = [c for c in was if c in new and _comparable(old, was[c], table, new[c])]
        given = _given(since, own, [c for c in new if c not in was], table)
        want = Counter(
            (*(repr(r[was[c]]) for c in common), *map(repr, given.values())) for r in old.rows
        )
        have = Counter(tuple(repr(r[new[c]]) for c in (*common, *given)) for r in table.rows)
        if want != have:
            columns = [table.columns[new[c]].name for c in (*common, *given)]
            yield f"{name} {columns}: {[*(have - want)][:2]} for {[*(want - have)][:2]}"


def _comparable(old: Table, i: int, new: Table, j: int) -> bool:
    """Whether values are written alike: of equal types, all integers, all texts."""
    a, b = old.columns[i], new.columns[j]
    kinds = {c.type.split("(")[0].split(" ")[0] for c in (a, b)}
    if a.generated or b.generated:
        return _lines(old)[a.name] == _lines(new)[b.name]
    return a.type == b.type or kinds <= {*_INTEGERS} or kinds <= {"varchar", "text", "longtext"}


def _given(marks: Sequence[Mark], own: str, added: Sequence[str], now: Table) -> dict[str, Any]:
    """What rows that were there got in columns that were added, where rows tell it."""
    found = dict[str, Any]()
    for column in added:
        for mark in marks:
            for table in mark.tables.values():
                places = _by_identity(table)
                if identity(table) != own or column not in places:
                    continue
                place, last = places[column], _by_identity(now)[column]
                values = {row[place] for row in table.rows}
                if len(values) == 1 and _comparable(table, place, now, last):
                    found.setdefault(column, next(iter(values)))
                found.setdefault(column, None if not values else found)
                break
            if column in found:
                break
    return {c: v for c, v in found.items() if v is not found and v is not None}


def between(
    mode: str,
    marks: Sequence[Mark],
    start: Mark,
    stop: Mark,
    tables: Mapping[str, Table],
    images: Mapping[str, Sequence[Image]],
) -> Iterator[str]:
    """What a mode does not promise of tables with one definition all the time; ``images``: those of
    the log's events by table, since the mark."""
    end = marks[-1]
    since = [mark.tables for mark in marks if mark.step > stop.step]
    for name, table in tables.items():
        olds = [m.tables.get(name) for m in (start, stop, end)]
        if any(o is None or o.create != table.create for o in olds) or not table.primary_key:
            continue
        times = [_keyed(t) for t in (*olds, table) if t is not None]
        later = [_keyed(t[name]) for t in since if name in t and t[name].create == table.create]
        for key in sorted(set().union(*times), key=repr):
            a, b, c, now = (t.get(key) for t in times)
            own = [image for image in images.get(name, ()) if _key(image.of, table) == key]
            others = [*(t.get(key) for t in later), *(i.row for i in own if i.later)]
            between_them = [i.row for i in own if not i.later]
            if a is not None and b is not None and c is not None and now is not None:
                for column in a:
                    cells = a[column], b[column], c[column]
                    some = [r[column] for r in others if r is not None and column in r]
                    if now[column] not in _promised(mode, *cells, some):
                        yield f"{name} {key} {column}: {now[column]!r}; it was {cells}"
            elif mode == "merge":
                if (now is None) not in {one is None for one in _promised("skip", a, b, c, others)}:
                    yield f"{name} {key}: {now}; it was {[a, b, c]}"
            elif mode == "skip" and now in between_them:
                pass
            elif (
                mode == "force"
                and a is not None
                and now is not None
                and any(i.moved for i in own if not i.later)
            ):
                some = [i.row for i in images[name] if i.later and i.row is not None]
                for column in a:
                    if now[column] not in [r[column] for r in (a, *some) if column in r]:
                        yield f"{name} {key} {column}: {now[column]!r}; it was {a[column]!r}"
            elif now not in _promised(mode, a, b, c, others):
                yield f"{name} {key}: {now}; it was {[a, b, c]}"


def _promised(mode: str, start: Any, stop: Any, end: Any, later: Sequence[Any]) -> Sequence[Any]:
    """What may be afterwards, of a cell or a row; see the module."""
    if start == stop:
        return [start, end, *later] if mode == "cascade" else [end]
    if mode == "merge" and stop != end:
        return [end]
    if mode in ("skip", "merge"):
        return [start, end]
    if mode == "refuse" and stop != end:
        return []
    return [start]


def _keyed(table: Table) -> dict[Any, Cells]:
    return {_key(row, table): row for row in table.records()}


def _key(row: Cells, table: Table) -> tuple[Any, ...]:
    return tuple(row.get(k) for k in table.primary_key)
