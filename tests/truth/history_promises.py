"""What undo promises, held against a server's tables as its script leaves them.

Undo. A script that does not commit promises nothing but that InnoDB's tables stay as they are. One
that commits, with nothing refused, promises by mode:

``whole`` (mode ``refuse``, of all since the mark): the tables are what they were at the mark, in
the columns that are there at both; columns that were added hold what ADD COLUMN gave to rows that
were there; tables that were made since are empty. The other modes are tried on changes between the
mark and a later one, and compared by key in tables of the same definition at all three times:

``refuse``: what those changes touched, and later ones did not, is as at the mark; all else is as
it was before the script. A cell, or row, that both touched is not undone: the change was refused.
``skip``: likewise, but a change may be left out, so that each cell is of the one time or the other,
or as a change that was left out left it (where a foreign key acted below the log, as at any mark
between the two).
``cascade``: all that the changes touched is as at the mark, whatever came later, and what nobody
touched is as it was; what was only touched later is as it was before the script, or before a later
change that was undone as well (or at any time since, where a foreign key acted below the log).
``force``: all that the changes touched is as at the mark, all else as it was before the script.
``merge``: a cell that later changes touched, or nobody, is as it was before the script; one that
only the changes touched is as at the mark, or as it was: it may belong to a key of which a later
change touched another column, or a later change may have put its value back. A row that was not
there at one of the times, or had another key, is there or not as at the mark, or before the script,
with cells of these times.

A script that commits although changes were refused may leave these out as ``skip`` does; where
``cascade`` undid later changes of such a row nevertheless, it is as before one of these.

A row is followed through changes of its key: one that gets its key back is compared with itself.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence, Set
from dataclasses import dataclass
from typing import Any

from binlogkit_fixtures.manifest import Table
from tests.truth.history_rows import Cells, Change, Followed, Key, completed, key_of, keyed

_COMMENT = re.compile(r"COMMENT(?:=| )'(\w+)'")
_INTEGERS = ("tinyint", "smallint", "mediumint", "int", "bigint")

_NULLED = re.compile(r"FOREIGN KEY \(`(\w+)`\) REFERENCES `(\w+)` [^\n]* SET NULL")
_STRUCK = re.compile(r" ON (?:DELETE|UPDATE) (?:CASCADE|SET NULL)")


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
    changes: Mapping[str, Sequence[Change]],
    *,
    rest: bool = False,
) -> Iterator[str]:
    """What a mode does not promise of tables with one definition all the time; ``changes``: those
    of the log's events by table, since the mark; ``rest``: whether refused ones were left out."""
    end = marks[-1]
    since = [mark for mark in marks if mark.step >= start.step]
    for name, table in tables.items():
        olds = [m.tables.get(name) for m in (start, stop, end)]
        if any(o is None or o.create != table.create for o in olds) or not table.primary_key:
            continue
        said = [(m.pos, m.tables.get(name)) for m in since]
        every = [change for those in changes.values() for change in those]
        amid = since if any(change.left for change in every) else []
        after = since if any(change.undone and change.later for change in every) else []
        rows = Rows(
            [keyed(t) for t in (*olds, table) if t is not None],
            table,
            [*completed(_own(changes, name, table, since), table, said)],
            [t for m in after if m.step >= stop.step and (t := m.tables.get(name)) is not None],
            [t for m in amid if m.step < stop.step and (t := m.tables.get(name)) is not None],
            {
                column
                for column, parent in _NULLED.findall(table.create)
                if any(c.left and not c.later for c in changes.get(parent, ()))
            },
        )
        for text in rows.broken((mode, "skip") if rest else (mode,)):
            yield f"{name} {text}"


def _own(
    changes: Mapping[str, Sequence[Change]], name: str, table: Table, since: Sequence[Mark]
) -> list[Change]:
    """The changes of a table, also under names that it had for a time."""
    own = identity(table)
    others = {n for mark in since for n, t in mark.tables.items() if own and identity(t) == own}
    found = [change for one in {name, *others} for change in changes.get(one, ())]
    return sorted(found, key=lambda change: change.pos)


class Rows:
    """Rows of a table by their keys, at four ``times``: at the mark, after the changes, before the
    script and after it. ``changes``: in its events, since the mark; ``later``: the table at marks
    after the changes, and right after them, if later changes are undone; ``amid``: at marks between
    them, if some are left out; ``nulled``: the columns in which these may have left NULL, by a
    foreign key, within the statement that removed the row."""

    def __init__(
        self,
        times: Sequence[Mapping[Key, Cells]],
        table: Table,
        changes: Sequence[Change],
        later: Sequence[Table],
        amid: Sequence[Table],
        nulled: Set[str] = frozenset(),
    ) -> None:
        self.start, self.stop, self.end, self.now = times
        self.table = table
        self.chosen = Followed.of(self.start, (c for c in changes if not c.later), table)
        self.since = Followed.of(self.stop, (c for c in changes if c.later), table)
        self._chosen, self._nulled = [c for c in changes if not c.later], nulled
        self._left = [c for c in self._chosen if c.left]
        self._later = [c for c in changes if c.later]
        struck = _STRUCK.search(table.create) is not None
        self._struck = struck and any(change.undone for change in self._later)
        self._unlogged, self._amid = (
            [keyed(t) for t in some if struck and t.create == table.create]
            for some in (later, amid)
        )

    def broken(self, modes: Sequence[str]) -> Iterator[str]:
        """What none of the modes promises."""
        for key in sorted({*self.start, *self.stop, *self.end, *self.now}, key=repr):
            found = [self._faults(mode, key) for mode in modes]
            names = set[str].intersection(*found)
            if all(found) and (names or any("" in one for one in found)):
                yield f"{key} {sorted(names)}: {self.now.get(key)}; it was {self._row(key)}"

    def _faults(self, mode: str, key: Key) -> set[str]:
        """The columns in which a row is not as promised; an empty name for the whole row."""
        now, old = self.now.get(key), self._row(key)
        alone = self.chosen.now.get(key) == key and self.start.get(key) == self.stop.get(key)
        if alone and self.since.now.get(key) != key and now == self.end.get(key):
            return set()  # as before the script: another row may have got the key since
        other = mode in ("skip", "merge") and self.chosen.now.get(key) != key
        if now is None or None in old or other:  # another row may have the key then
            return set() if self._may_be(mode, key, now) else {""}
        cells = {c: [row[c] for row in old if row is not None] for c in now}
        return {c for c in now if now[c] not in self._cells(mode, key, c, cells[c])}

    def _row(self, key: Key) -> tuple[Cells | None, ...]:
        """A row of the mark at the three times, under the keys that it has then; one that is there
        only since by its key."""
        if key not in self.start:
            return None, self.stop.get(key), self.end.get(key)
        behind = self.chosen.now.get(key)
        last = None if behind is None else self.since.now.get(behind)
        return (
            self.start[key],
            None if behind is None else self.stop.get(behind),
            None if last is None else self.end.get(last),
        )

    def _cells(self, mode: str, key: Key, column: str, cells: Sequence[Any]) -> Sequence[Any]:
        """What a cell may be that was there all the time."""
        if mode == "force" and column in self.chosen.set.get(key, ()):
            return cells[:1]
        start, stop, end = cells
        own = [key, *(key_of(row, self.table) for row in self._row(key)[1:] if row is not None)]
        others = (row for one in own for row in self._others(one))
        later = [row[column] for row in others if row is not None and column in row]
        found = _promised(mode, start, stop, end, later)
        return [*found, *(row.get(column) for row in self._rows_left(mode, key))]

    def _rows_left(self, mode: str, key: Key) -> list[Cells]:
        """A row as changes that were left out left it."""
        if mode != "skip":
            return []
        rows = [c.after for c in self._left if c.after is not None]
        unlogged = [row for rows in self._amid if (row := rows.get(key)) is not None]
        keys = [key_of(row, self.table) for row in rows]
        own = (row for row, k in zip(rows, keys, strict=True) if key in (k, self.since.now.get(k)))
        return [*own, *unlogged]

    def _made(self, key: Key) -> Iterator[Cells | None]:
        """A row that a change which was left out made with this key, as it was before the script,
        whatever its key was then."""
        for number, one in enumerate(self._chosen, 1):
            if one.left and self._keys(one) == [None, key]:
                chosen = Followed.of([key], self._chosen[number:], self.table)
                yield self.end.get(self.since.now.get(chosen.now.get(key, ()), ()))

    def _others(self, key: Key) -> list[Cells | None]:
        """A row before later changes that are undone as well, and where these may be unlogged."""
        found = [rows.get(key) for rows in self._unlogged]
        for one in self._later:
            before, after = self._keys(one)
            if one.undone and key in (before, after):
                found.append(one.before if key == before else None)
            if self._struck and key == after:  # until the same statement struck it
                found.append(one.after)
        return found

    def _keys(self, one: Change) -> list[Key | None]:
        """A row's key before and after a change."""
        return [None if r is None else key_of(r, self.table) for r in (one.before, one.after)]

    def _may_be(self, mode: str, key: Key, now: Cells | None) -> bool:
        """Whether a row may be so, or be missing, that was not there at one of the times."""
        old = self.start.get(key), self.stop.get(key), self.end.get(key)
        if mode == "force" and key in self.start and key not in self.chosen.now:
            return now == old[0]
        others = self._others(key)
        if now in _promised(mode, *old, others):
            return True
        touched = self.chosen.set.get(key, set())
        if now is not None and mode == "cascade" and (touched or old[0] == old[1]):
            rest = {c: v for c, v in now.items() if c not in touched}
            if all(now[c] == self.start[key][c] for c in touched & now.keys()) and any(
                row is not None and all(row.get(c, v) == v for c, v in rest.items())
                for row in others  # DEFAULTs are not in MINIMAL images
            ):
                return True
        left = self._rows_left(mode, key)
        if now is None:
            left_at = map(self._keys, self._left)
            went = mode == "skip" and (
                any(before == key != after for before, after in left_at)
                or any(key not in rows for rows in self._amid)
            )
            return went or (mode == "merge" and None in old[::2] and old[0] != old[1])
        rows = [*left, old[2], *self._made(key)] if left else []
        if mode == "skip" and self._nulled and key in self.start:
            rows += [self.start[key], dict.fromkeys(self._nulled)]
        if mode == "merge":
            came = [k for k, b in self.chosen.now.items() if self.since.now.get(b) == key]
            rows += [self.start[k] for k in came]
            rows += [*_promised("skip", *old, ()), *self._row(key)[::2]]
        return bool(rows) and all(
            any(row is not None and row.get(c, v) == v for row in rows) for c, v in now.items()
        )


def _promised(mode: str, start: Any, stop: Any, end: Any, later: Sequence[Any]) -> Sequence[Any]:
    """What may be afterwards, of a cell or a row; see the module."""
    if start == stop:
        return [end, *later] if mode == "cascade" else [end]
    if mode == "merge" and stop != end:
        return [end]
    if mode in ("skip", "merge"):
        return [start, end, *later]
    if mode == "refuse" and stop != end:
        return []
    return [start]
