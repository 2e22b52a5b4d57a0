"""Rows erased by key: from all tables, versions and texts of a landing, as if they had never been.

The order lets a killed erasure be repeated: first statements elsewhere that changed the rows or
have their values, then the rows (:mod:`.named_rows`), then files and versions that still have them.
"""

from __future__ import annotations

import json
import re
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from binlogkit.analyses.point_in_time.boundary import lineage
from binlogkit.analyses.point_in_time.codes import Flags
from binlogkit.constants import TableId
from binlogkit.errors import InputError, UsageError
from binlogkit.frames.fields.ledger import ERASURES
from binlogkit.frames.flat_cells import flat_name
from binlogkit.log.index import Index
from binlogkit.rows.filters import written_table_name
from binlogkit.spark.landing.compaction import delta_folders
from binlogkit.spark.landing.dead_files import under_way
from binlogkit.spark.landing.journal import ERASED, append_next, read_journal
from binlogkit.spark.landing.landing import LEDGER
from binlogkit.spark.landing.landing_path import LandingPath
from binlogkit.spark.landing.ledger import Ledger
from binlogkit.spark.landing.merging import known_of
from binlogkit.spark.landing.named_rows import (
    Matched,
    Named,
    Searched,
    Values,
    groups,
    match,
    replaced,
    without,
    written,
)
from binlogkit.spark.landing.reading import folders, has_current
from binlogkit.spark.landing.rewriting import Change, Stored, forget_versions, rewrite
from binlogkit.spark.landing.shape import current_folder, folder_of, landed_name, own_fields
from binlogkit.spark.landing.sought import kinds_of, sought
from binlogkit.spark.landing.store import place_of
from binlogkit.spark.landing.tables import opened
from binlogkit.spark.landing.views import write_views
from binlogkit.spark.landing.writing import WrittenFile

#: A row: its table, ``db.table``, and the values of its key's columns, as ``where`` takes them.
Row: TypeAlias = tuple[str, Mapping[str, Any]]
_SHORTEST = 4  # characters of a value that is looked for in statements
_ESCAPED = re.compile(r"[\x00\n\r\t\x08\x1a\"'\\]")  # what a statement may write otherwise


@dataclass(frozen=True, slots=True)
class Erased:
    """The result: by table how many images of changes were erased, ``rows``, and how many
    ``current`` ones; how many other rows lost their ``statements``; ``not_covered``: what the
    erasure does not cover."""

    rows: dict[str, int]
    current: dict[str, int]
    statements: int
    not_covered: list[str]


def erase(
    out: str | Path | LandingPath,
    rows: Iterable[Row],
    *,
    ledger: str | Path | None = None,
    target_options: Mapping[str, str] | None = None,
) -> Erased:
    """Erase rows of a landing by their keys, or by other columns that whole images have.

    ``rows``: ``("shop.customers", {"id": 42})`` each; a value is compared by its column's type as
    in ``where``, None is NULL, text is compared by its bytes. ``ledger``, ``target_options``: of a
    landing in a store. Errors: UsageError: a column that is not there, is
    masked, or has no such value; InputError: nothing has landed there, a landing is under way, or
    images lack a column; WriteError.
    """
    place = place_of(out, ledger, target_options)
    place.check_local()
    read_journal(place)  # InputError: nothing has landed
    with under_way(place, alone=True) as mark:
        known = Ledger(place)
        asked = [_asked(known, table, values) for table, values in rows]
        _tell_other_names(known, asked)
        matched = [match(one) for one in _searched(known, asked)]
        _begin(place, mark, sorted({one.table for one in asked}))
        statements = _forget_statements(place, matched, mark)
        Index(place.local / LEDGER, queries=False).forget_values()
        rows_of, current = ({one.table: 0 for one in asked} for _ in range(2))
        for found in matched:
            here = str(found.searched.folder).startswith(f"{place / 'current'}/")
            of = current if here else rows_of
            of[found.searched.table] += _take_out(found, mark)
        for name in delta_folders(place):
            forget_versions(place / name)
        write_views(place)
        notes = [text for one in asked for text in one.notes]
        notes += _uncovered(known, matched)
    return Erased(rows_of, current, statements, [*dict.fromkeys(notes)])


@dataclass(frozen=True, slots=True)
class _Asked:
    """Rows of a table by the values of columns; ``key``: whether they are of its key; ``notes``:
    what they do not cover."""

    table: str
    name: TableId
    values: Mapping[str, Any]
    key: bool
    notes: list[str] = field(default_factory=list)


def _asked(ledger: Ledger, table: str, values: Mapping[str, Any]) -> _Asked:
    name = landed_name(table)
    shown = written_table_name(*name)
    if not _there(ledger.out, name):
        ledger.refuse_waiting([name])
        raise InputError(str(ledger.out), f"{shown} has not landed there")
    if not values:
        raise UsageError(f"{shown}: no column is named")
    for column in values:
        if ledger.masks.masks_column(*name, column):
            raise UsageError(f"{shown}: {column} is masked, so that its rows cannot be found")
    wanted = {*map(str.lower, values)}
    having = [
        one for one in ledger.history.layouts.get(name, ())
        if one.columns is None or wanted <= {*map(str.lower, one.columns)}
    ]  # fmt: skip
    key = bool(having) and all(wanted <= {*map(str.lower, one.key)} for one in having)
    found = _Asked(shown, name, values, key)
    waiting = [w for w in ledger.waiting if w.table == shown and not w.lost]
    if waiting:
        found.notes.append(
            f"{sum(w.rows for w in waiting)} changes of {shown} wait, and are not here yet: "
            "erase again once they have landed"
        )
    return found


def _there(out: LandingPath, name: TableId) -> bool:
    return opened(out / folder_of(name)) is not None or has_current(out, name)


def _tell_other_names(ledger: Ledger, asked: Sequence[_Asked]) -> None:
    """Report which names of the landed tables were not asked for."""
    names = {one.name for one in asked}
    for one in asked:
        before = {*lineage(ledger.boundaries, one.name)} - {one.name}
        later = {b.new_name for b in ledger.boundaries if b.new_name is not None} - before
        later = {other for other in later if one.name in lineage(ledger.boundaries, other)}
        for others, when in ((before, "before"), (later, "later")):
            for other in sorted(others - names):
                if _there(ledger.out, other):
                    text = f"{one.table} was called {written_table_name(*other)} {when}"
                    one.notes.append(f"{text}: erase its rows there, too")


def _searched(ledger: Ledger, asked: Iterable[_Asked]) -> list[Searched]:
    """The folders that may have the rows. UsageError: one has no such column."""
    by_name: dict[TableId, list[_Asked]] = {}
    out = ledger.out
    for one in asked:
        by_name.setdefault(one.name, []).append(one)
    found = []
    for name, several in by_name.items():
        met = set[int]()
        for folder in (*folders(out, name), out / current_folder(name)):
            table = opened(folder)
            if table is None:
                continue
            schema = pa.schema(table.schema())
            if not own_fields(schema):  # no table has its name any more: it has no rows
                continue
            versions = ledger.met.get(name, ())
            kinds = {one.name: kinds_of(one, versions) for one in own_fields(schema)}
            values = {i: _values_of(one, schema, kinds) for i, one in enumerate(several)}
            own = {i: known for i, known in values.items() if known is not None}
            met |= own.keys()
            names = tuple(Named(known, several[i].key) for i, known in own.items())
            labels = frozenset(n for n, of in kinds.items() if of.keys() <= {"enum", "set"})
            found.append(Searched(several[0].table, folder, names, labels))
        for i, one in enumerate(several):
            if i not in met:
                raise UsageError(f"{one.table} has no column {', '.join(one.values)}")
    return found


def _values_of(
    asked: _Asked, schema: pa.Schema, kinds: Mapping[str, Mapping[str, str]]
) -> Values | None:
    """What is looked for in a folder's columns (``kinds``: of each); None if it has none that is so
    called, and rows are named by the key."""
    known = {one.name.lower(): one for one in own_fields(schema)}
    found = {}
    for column, value in asked.values.items():
        one = known.get(flat_name(column).lower())
        if one is None:
            if asked.key:
                asked.notes.append(_older(asked.table, column))
                return None
            text = f"{asked.table} has no column {column} in all of its versions"
            raise UsageError(f"{text}: {', '.join(one.name for one in known.values())}")
        found[one.name] = sought(asked.table, one, value, kinds[one.name])
    return found


def _older(table: str, column: str) -> str:
    return (
        f"rows of {table} from when it had no column {column} stay: if it was called otherwise, "
        "erase them by that name, too"
    )


def _uncovered(ledger: Ledger, matched: Iterable[Matched]) -> Iterator[str]:
    """What an erasure has not reached, in sentences."""
    for one in matched:
        table = one.searched.table
        yield from (_older(table, column) for column in sorted(one.older))
        if one.incomparable:
            yield (
                f"{one.incomparable} images of {table} have no value that can be compared, and stay"
            )
    try:
        ledger.check()
    except InputError:
        yield "a landing has not ended: land again, and then erase again"


def _take_out(found: Matched, mark: str) -> int:
    """Take rows out of a folder; returns how many images."""

    def choose(files: list[Stored]) -> Change:
        nonlocal found
        if {one.path for one in files} != found.seen:
            found = match(found.searched)
        gone, made = list[Stored](), list[WrittenFile]()
        for file in files:
            if file.path in found.files:
                gone.append(file)
                parts = (without(found, rows) for rows in groups(file))
                made += written(found.searched.folder, file, mark, parts)
        return gone, made

    known = known_of(found.searched.folder) if found.files else None
    gone, made = rewrite(found.searched.folder, choose, known)
    return sum(one.rows for one in gone) - sum(one.rows for one in made)


# ---- statements ----------------------------------------------------------------------------------


def _forget_statements(out: LandingPath, matched: Sequence[Matched], mark: str) -> int:
    """Take statements from rows that stay, if they changed rows that go, or have a text of these in
    them; returns how many rows lost theirs."""
    texts, values, count = set[str](), set[str](), 0
    for found in matched:
        for file in (one for one in found.searched.files if one.path in found.files):
            for rows in groups(file):
                going = rows.filter(pa.array(found.going(rows)[0]))
                if "_query" in going.column_names:
                    texts |= {*going["_query"].unique().to_pylist()}
                plain = [n for n in going.column_names if n not in found.searched.labels]
                values |= {*_values(going.select(plain))}
    texts.discard(None)
    for name in out.below("tables/*/*") if texts or values else ():
        folder = out / name
        own = [one for one in matched if one.searched.folder == folder]
        if opened(folder) is not None:
            count += _forget_in(folder, own, texts, values, mark)
    return count


def _forget_in(
    folder: LandingPath, matched: Sequence[Matched], texts: set[str], values: set[str], mark: str
) -> int:
    """The same of one folder; ``matched``: what was found there."""
    count = 0

    def losing(rows: pa.Table, hit: pa.Array) -> Flags:
        which = np.asarray(pc.is_in(rows["_query"], hit))
        for found in matched:
            which &= ~found.going(rows)[0]
        return which

    def forgotten(file: Stored, hit: pa.Array) -> Iterator[pa.Table]:
        nonlocal count
        for rows in groups(file):
            which = losing(rows, hit)
            count += int(which.sum())
            nothing = pa.scalar(None, pa.string())
            yield replaced(rows, "_query", pc.if_else(pa.array(which), nothing, rows["_query"]))

    def choose(files: list[Stored]) -> Change:
        nonlocal count
        count, gone, made = 0, list[Stored](), list[WrittenFile]()
        for file in files:
            queries = {text for rows in groups(file, ["_query"]) for text in _texts(rows)}
            hit = _hit(pa.array(sorted(queries), pa.string()), texts, values)
            if len(hit) and any(losing(rows, hit).any() for rows in groups(file)):
                gone.append(file)
                made += written(folder, file, mark, forgotten(file, hit))
        return gone, made

    rewrite(folder, choose)
    return count


def _texts(rows: pa.Table) -> Iterator[str]:
    """The statements of rows."""
    for column in rows.columns:  # none where no statement landed
        yield from column.unique().drop_null().to_pylist()


def _hit(statements: pa.Array, texts: set[str], values: Iterable[str]) -> pa.Array:
    """The statements that are among texts, or have one of the values in them."""
    found = np.asarray(pc.is_in(statements, pa.array(sorted(texts), pa.string())))
    for value in values:
        if _ESCAPED.search(value):
            pattern = "(?s)" + "(?:.{1,2})".join(map(re.escape, _ESCAPED.split(value)))
            own = pc.match_substring_regex(statements, pattern)
        else:
            own = pc.match_substring(statements, value)
        found = found | np.asarray(own)
    return statements.filter(pa.array(found))


def _values(rows: pa.Table) -> Iterator[str]:
    """The texts of rows that may be found in statements, also those in bytes and documents."""
    for one in own_fields(rows.schema):
        if pa.types.is_string(one.type) or pa.types.is_binary(one.type):
            for value in rows[one.name].unique().drop_null().to_pylist():
                with suppress(UnicodeDecodeError):  # bytes that are no text
                    text = value if isinstance(value, str) else value.decode()
                    yield from (v for v in (text, *_strings(text)) if len(v) >= _SHORTEST)


def _strings(text: str) -> Iterator[str]:
    """The texts in a JSON document; none in another text."""
    if not text.startswith(("{", "[", '"')):
        return
    with suppress(ValueError, RecursionError):
        parts = [json.loads(text)]
        for one in parts:
            if isinstance(one, str):
                yield one
            elif isinstance(one, (dict, list)):
                parts += one.values() if isinstance(one, dict) else one


def _begin(out: LandingPath, mark: str, tables: Sequence[str]) -> None:
    """Note that rows of tables are erased; no key is kept."""
    row = {"tables": tables, "erased_at": time.time_ns() // 1000}
    append_next(out / ERASED, mark, [row], ERASURES)
