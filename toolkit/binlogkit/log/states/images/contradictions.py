"""Rows that were changed outside the log: values that the log does not explain.

Tables whose images contradict the log (checks.py) are read again, and values are compared.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from itertools import chain
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from binlogkit.analyses._tasks import Sieve
from binlogkit.analyses.continuity import Break, Digests, digests, listed, sentence
from binlogkit.analyses.point_in_time.cascades import Cascaded
from binlogkit.analyses.point_in_time.codes import Flags, Integers
from binlogkit.analyses.point_in_time.identity import Called, Renames
from binlogkit.analyses.point_in_time.unlogged import Broken
from binlogkit.constants import TableId
from binlogkit.errors import DamageError, InputError
from binlogkit.frames.arrays import filtered
from binlogkit.frames.records import cell_values, struct_records
from binlogkit.frames.schema import generated_columns, key_columns, table_of
from binlogkit.log.states.images.checks import ChangePlace, Checked, ImageChecks, SourceTable
from binlogkit.rows.filters import Filters, TableName, written_table_name
from binlogkit.rows.reading import Reading
from binlogkit.rows.soundness import Finding, Gap, Grade, Place
from binlogkit.rows.soundness.finding import finding
from binlogkit.sources.log_format import VIRTUAL_AS_STORED

if TYPE_CHECKING:
    import pyarrow as pa

    from binlogkit.analyses.point_in_time.boundary import Boundary
    from binlogkit.log.streams import Streams

UNLOGGED = "unlogged_change"  # the findings' code
Record = dict[str, Any]  # an image, as in records of rows


@dataclass(frozen=True, slots=True)
class Contradiction(Gap):
    """A row that was changed outside the log, or a table that was altered outside it.

    For other answers it is a gap: changes are missing since the last fitting one.

    ``kind``: None for a table; ``key``: its key's columns, as in records; all columns where there
    is no key (``keyless``). ``known``: the last fitting change before, None without one or without
    a key; ``since``: that change, or what emptied the table; ``shown``: the change whose image
    shows it; ``columns``: the differing columns, by name what the log last said and what the before
    image says; empty if the row itself appeared or disappeared; ``cascades``: whether a foreign key
    may have done it, which no log up to 9.5 shows.
    """

    name: SourceTable
    kind: Break | None
    key: dict[str, Any]
    known: ChangePlace | None
    since: ChangePlace
    shown: ChangePlace
    columns: dict[str, tuple[Any, Any]]
    cascades: bool
    keyless: bool = False

    @classmethod
    def of(
        cls,
        name: SourceTable,
        kind: Break | None,
        key: dict[str, Any],
        known: ChangePlace | None,
        since: ChangePlace,
        shown: ChangePlace,
        columns: dict[str, tuple[Any, Any]],
        *,
        cascades: bool = False,
        keyless: bool = False,
    ) -> Contradiction:
        """With what it says as a gap."""
        table, by = written_table_name(*name[1:]), ""
        if kind is None:
            at = f"{shown.file} at {shown.pos}"
            text = f"{table}: it has other columns from {at} on, and no DDL that alters it"
        else:
            by = "" if known is None else f" by {known.file} at {known.pos}"
            gone = f"was deleted{by}" if by else "was never inserted"
            why = sentence(kind, columns, by, gone=gone, keyless=keyless)
            text = f"{table} {listed(key)}: {why}"
        if cascades:
            text += ": a foreign key's cascade may have done it"
        return cls(
            UNLOGGED, since.file, since.pos, since.seq + 1, frozenset([".".join(name[1:])]), text,
            name, kind, key, known, since, shown, columns, cascades, keyless,
        )  # fmt: skip

    @property
    def table(self) -> str:
        """``db.table``."""
        return ".".join(self.name[1:])

    def finding(self) -> Finding:
        """As a finding of ``verify``."""
        shown = self.shown
        what = "row change" if self.kind is not None else "table map"
        place = Place(shown.file, shown.pos, gtid=shown.gtid, type=what)
        grade = Grade.NOTE if self.cascades else None
        found = finding(UNLOGGED, place, self.found, grade=grade)
        return replace(found, tables=self.tables)


def contradictions(log: Streams, checks: ImageChecks) -> Iterator[Contradiction]:
    """The contradictions by value, table by table; those tables are read again.

    Images that differ in bytes but not in values (a JSON document stored in another way) do not
    contradict each other.
    """
    from binlogkit.frames.row_batches import read_batches

    again = _again(checks)
    if not again:
        return
    named: dict[SourceTable, dict[Called[SourceTable], _Again]] = {}
    for table, found in again.items():
        for name, *_ in table:
            named.setdefault(name, {})[table] = found
    tables = tuple({TableName(*name[1:]) for name in named})
    reading = Reading(log.carriers, replace(log.options, on_damage="report"))
    try:
        for window in read_batches(reading, Filters(tables=tables), digests=True):
            for schema, batch in window:
                name, counts = checks.name_of(schema), checks.counts(batch)
                for table, found in named.get(name, {}).items():
                    if (own := counts & called(table, name, batch)).any():
                        found.take_counted(name, batch, own)
    except (DamageError, InputError):
        pass  # the first reading already reported it
    for found in again.values():
        yield from found.found


def _again(checks: ImageChecks) -> dict[Called[SourceTable], _Again]:
    """Of what the checks of a log found, by table: a key's number is its digest."""
    found: dict[Called[SourceTable], _Again] = {}
    virtual = checks.version < VIRTUAL_AS_STORED

    def again(name: SourceTable, seq: int) -> _Again:
        table = checks.renames.table(name, seq)
        if table not in found:
            cascades = partial(checks.may_cascade, [own for own, *_ in table])
            found[table] = _Again([], {}, cascades, but_virtual=virtual)
        return found[table]

    for name, checked in checks.checked.items():
        for seq, kind, key in checked.broken:
            again(name, seq).broken[seq, key] = kind
        for seq, key, since in checked.lacking:
            again(name, seq).lack(checked, seq, key, since)
    for name, checked in checks.checked.items() if found else ():
        for place in checked.begun:
            if (own := found.get(checks.renames.table(name, place.seq))) is not None:
                own.begun.append(place)
    return found


def called(table: Called[Any], name: Any, batch: pa.RecordBatch) -> Flags:
    """Which changes of a batch of the table with this name are of a table."""
    seqs = batch["seq"].to_numpy()
    inside = [(first <= seqs) & (seqs < last) for own, first, last in table if own == name]
    found: Flags = np.logical_or.reduce(inside) if inside else np.zeros(len(seqs), bool)
    return found


def unlogged(log: Streams, checks: ImageChecks, gaps: Sequence[Gap]) -> Iterator[Contradiction]:
    """The contradictions without those that ``gaps`` of the log explain."""
    return unexplained(chain(_redefined(checks), contradictions(log, checks)), gaps)


def unexplained(found: Iterable[Contradiction], gaps: Sequence[Gap]) -> Iterator[Contradiction]:
    """Those without a gap between what was last known and what shows otherwise."""
    for one in found:
        between = (gap for gap in gaps if one.since.seq < gap.seq < one.shown.seq)
        if not any(gap.concerns([one.table]) for gap in between):
            yield one


def of_replay(
    read: Callable[[Sieve], Iterable[pa.RecordBatch]],
    broken: Sequence[Broken],
    boundaries: Sequence[Boundary],
    version: tuple[int, ...],
) -> Iterator[Contradiction]:
    """The contradictions of a replay, which follows cascades itself.

    ``read``: gives those of its changes that a sieve wants, each batch of one table, in log order
    per table; ``boundaries``: what happened to the tables; ``version``: of the newest server.
    """
    virtual = version < VIRTUAL_AS_STORED
    kinds = {seq: (kind, key) for seq, kind, key in broken}
    renames = Renames([(b.seq, b.name, b.new_name) for b in boundaries if b.new_name is not None])
    emptied = [
        (renames.table(b.name, b.seq), ChangePlace(b.file, b.pos, b.seq, None))
        for b in boundaries if b.empties
    ]  # fmt: skip
    numbers: dict[_Identified, dict[tuple[Any, ...], int]] = {}
    again: dict[_Identified, _Again] = {}
    for batch in read(_Numbered(frozenset(kinds))):
        for i, seq in enumerate(batch["seq"].to_pylist()):
            (kind, key), table = kinds[seq], renames.table(table_of(batch), seq)
            keys = _keys(batch.slice(i, 1), key, "after" if kind == Break.MADE_AGAIN else "before")
            own = numbers.setdefault((table, key), {})
            number = own.setdefault(keys[0], 2 * len(own) + 1)
            begun = [place for one, place in emptied if one == table]
            found = again.setdefault(
                (table, key), _Again(begun, {}, but_virtual=virtual, sure=True)
            )
            found.broken[seq, number] = kind
    rows = _OfRows(numbers)
    for batch in read(rows):
        for (table, key), was, now in rows.numbers(batch):
            name = (None, *table_of(batch))
            again[table, key].feed(name, batch, key, was, now, np.flatnonzero(was | now))
    for found in again.values():
        yield from found.found


#: A table, and the columns that identify its rows.
_Identified: TypeAlias = tuple[Called[TableId], tuple[str, ...]]


@dataclass(frozen=True, slots=True)
class _Numbered(Sieve):
    """Of changes those with some numbers."""

    seqs: frozenset[int]

    def __call__(self, batch: pa.RecordBatch) -> Iterator[pa.RecordBatch]:
        yield filtered(batch, np.isin(batch["seq"].to_numpy(), [*self.seqs]))


@dataclass(frozen=True, slots=True)
class _OfRows(Sieve):
    """Of changes those of some rows: for each table and key, the rows' numbers by their keys."""

    rows: Mapping[_Identified, Mapping[tuple[Any, ...], int]]

    def __call__(self, batch: pa.RecordBatch) -> Iterator[pa.RecordBatch]:
        sides = [side for _, *both in self.numbers(batch) for side in both]
        if sides:
            yield filtered(batch, np.any(sides, axis=0))

    def numbers(self, batch: pa.RecordBatch) -> Iterator[tuple[_Identified, Digests, Digests]]:
        """The numbers of a batch's rows before and after, by each key of the table; 0: none."""
        for (table, key), known in self.rows.items():
            own = called(table, table_of(batch), batch) if batch.num_rows else np.zeros(0, bool)
            if own.any():
                was, now = (
                    np.array([known.get(one, 0) for one in _keys(batch, key, side)], np.uint64)
                    for side in ("before", "after")
                )
                yield (table, key), np.where(own, was, 0), np.where(own, now, 0)


def _keys(batch: pa.RecordBatch, key: Sequence[str], side: str) -> list[tuple[Any, ...]]:
    """The values of the key's columns, of all without a key, in one side's images."""
    images = batch[side]
    wanted = [field for field in images.type if field.name in key or not key]
    columns = [cell_values(images.field(field.name), field) for field in wanted]
    return list(zip(*columns, strict=True)) if columns else [()] * len(batch)


def _redefined(checks: ImageChecks) -> Iterator[Contradiction]:
    for checked in checks.checked.values():
        if checked.redefined is not None:
            since, shown = checked.redefined
            yield Contradiction.of(checked.name, None, {}, since, since, shown, {})


def explains(cascaded: Iterable[Cascaded], found: Contradiction, columns: Container[str]) -> bool:
    """Whether foreign keys explain what was found; ``columns``: those that they may change."""
    if found.kind is None or any(name not in columns for name in found.columns):
        return False
    between = (
        done
        for done in cascaded
        if done.child == found.name[1:] and found.since.seq < done.at.seq < found.shown.seq
    )
    return any(found.key in done.keys(tuple(found.key)) for done in between)


class _Again:
    """A table's rows with contradictions, read again; ``found``: those confirmed by values.

    ``begun``: where the table was known to be empty; ``broken``: how a change contradicts what was
    known, by its ``seq`` and its key's number; ``cascades``: whether a foreign key may have changed
    its rows between two places; ``but_virtual``: virtual columns may differ from the last image.
    ``sure``: values were compared before, with more than images show. Nothing is known of rows from
    before the places ``_since``.
    """

    def __init__(
        self,
        begun: list[ChangePlace],
        broken: dict[tuple[int, int], Break],
        cascades: Callable[[int, int], bool] = lambda _since, _until: False,
        *,
        but_virtual: bool = False,
        sure: bool = False,
    ) -> None:
        self._sure = sure
        self.begun, self.broken = begun, broken
        self._cascades, self._but_virtual = cascades, but_virtual
        self._uncompared = self._generated = frozenset[str]()
        self._known: dict[int, tuple[ChangePlace, Record | None]] = {}
        self._lacking: dict[tuple[int, int], Checked] = {}
        self._since = set[int]()
        self.found: list[Contradiction] = []

    @cached_property
    def _keys(self) -> np.ndarray[Any, Any]:
        return np.unique(np.array([key for _, key in self.broken], np.uint64))

    def lack(self, checked: Checked, seq: int, key: int, since: int) -> None:
        """Compare also a change of whose row not all columns may be known."""
        self.broken[seq, key] = Break.CHANGED
        self._lacking[seq, key] = checked
        self._since.add(since)

    def take_counted(self, name: SourceTable, batch: pa.RecordBatch, counts: Flags) -> None:
        """Take a batch of the table with this name, with digests; ``counts``: which changes
        count."""
        was, now = (digests(batch, side)[:, 0] for side in range(2))
        rows = np.flatnonzero(counts & (np.isin(was, self._keys) | np.isin(now, self._keys)))
        if len(rows):
            self.feed(name, batch, key_columns(batch.schema), was, now, rows)

    def feed(
        self, name: SourceTable, batch: pa.RecordBatch, key: Sequence[str], was: Digests,
        now: Digests, rows: Integers,
    ) -> None:  # fmt: skip
        """Take some rows of a batch; ``was``, ``now``: the numbers of its rows' keys."""
        self._name = name
        part = batch.take(rows)
        generated = generated_columns(part["after"].type)
        self._generated = frozenset(generated)
        if self._but_virtual:
            self._uncompared = frozenset(n for n, kind in generated.items() if kind == b"virtual")
        images = [
            struct_records(part[name], part[f"{name}_state"], part["raw"], side)
            for side, name in enumerate(("before", "after"))
        ]
        with_gtids = "gtid" in part.schema.names  # a landing reads what states need
        gtids = part["gtid"].to_pylist() if with_gtids else [None] * len(rows)
        places = zip(*(part[n].to_pylist() for n in ("file", "pos", "seq")), gtids, strict=True)
        digested = zip(was[rows].tolist(), now[rows].tolist(), strict=True)
        for place, (old, new), before, after in zip(places, digested, *images, strict=True):
            self._change(ChangePlace(*place), key, old, new, before, after)

    def _change(
        self,
        at: ChangePlace,
        key: Sequence[str],
        old: int,
        new: int,
        before: Record | None,
        after: Record | None,
    ) -> None:
        new = new if new & 1 else 0
        known = self._left(old if before is not None else new, at)
        if before is not None:
            self._check(at, key, old, before, known)
        if after is not None and (before is None or (new and new != old)):
            self._check(at, key, new, after, self._left(new, at), begins=True)
        if before is not None and (after is None or (new and new != old)):
            self._known[old] = at, None
        if after is not None:
            so_far = {} if known is None or before is None else known[1] or {}
            row = {**so_far, **(before or {}), **after}
            self._known[new or old] = at, {n: v for n, v in row.items() if not _is_diff(v)}

    def _left(self, number: int, at: ChangePlace) -> tuple[ChangePlace, Record | None] | None:
        """What is known of a row by the last change before, unless the table was emptied since, or
        its rows may have been changed."""
        known, begun = self._known.get(number), self._emptied(at)
        places = [since for since in self._since if since <= at.seq]
        places += [begun.seq] if begun else []
        return None if known and known[0].seq < max(places, default=-1) else known

    def _emptied(self, at: ChangePlace) -> ChangePlace | None:
        """Where the table was known to be empty last."""
        return next((one for one in reversed(self.begun) if one.seq < at.seq), None)

    def _check(
        self,
        at: ChangePlace,
        key: Sequence[str],
        digest: int,
        image: Record,
        known: tuple[ChangePlace, Record | None] | None,
        *,
        begins: bool = False,
    ) -> None:
        kind = self.broken.get((at.seq, digest))
        if kind is None or (kind == Break.MADE_AGAIN) != begins:
            return
        left = None if known is None else known[1]
        columns, lacking = {}, self._lacking.get((at.seq, digest))
        if kind == Break.CHANGED and left is not None:
            uncompared = self._uncompared if lacking is None else self._generated
            columns = {
                name: (left[name], value)
                for name, value in image.items()
                if name in left and left[name] != value and name not in uncompared
            }
            if lacking is not None:
                lacking.compared += bool(columns) or image.keys() <= left.keys() | uncompared
                lacking.count += bool(columns)
            if not columns and not self._sure:
                return
        elif lacking is not None:
            return
        values = {name: image.get(name) for name in key or image}
        place = None if known is None or not key else known[0]
        since = place or self._emptied(at) or at
        self.found.append(
            Contradiction.of(
                self._name,
                kind,
                values,
                place,
                since,
                at,
                columns,
                cascades=self._cascades(since.seq, at.seq),
                keyless=not key,
            )
        )


def _is_diff(value: Any) -> bool:
    """Whether a value says only how a document changed."""
    return isinstance(value, dict) and value.keys() == {"json_diff"}
