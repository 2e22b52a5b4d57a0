"""Landed changes in log order, read row group by row group of their files.

A change can be numbered once all changes of its transaction are there (numbering.py). So each group
is first asked for the transactions that it has; rows wait until no group that was not read yet may
have changes of the same transaction, or of an earlier one.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import zip_longest
from operator import attrgetter
from typing import TYPE_CHECKING, TypeAlias

import numpy as np
import pyarrow as pa

from binlogkit.analyses.point_in_time.boundary import Boundary
from binlogkit.analyses.point_in_time.codes import Integers
from binlogkit.constants import TableId
from binlogkit.frames.log_order import in_log_order
from binlogkit.frames.schema import table_of
from binlogkit.spark.landing.landing_path import LandingPath
from binlogkit.spark.landing.numbering import PLACES, Numbering, of_files
from binlogkit.spark.landing.reading import File, OpenFile, files
from binlogkit.spark.landing.restored import Ordered, Restored

if TYPE_CHECKING:
    from binlogkit.spark.landing.ledger import Ledger

#: About the bytes of files that are read at once. The changes of fewer are kept for the next time.
AT_ONCE = 4 << 20
_PLACE = ("_file", "_pos")
#: The columns that number changes.
ORDER = (*PLACES, "_sequence", "_change_type")

#: The folders of a table, and its versions there, an empty batch each.
Folders: TypeAlias = Sequence[tuple[LandingPath, list[pa.RecordBatch]]]
#: What is read of a folder's schema.
Columns: TypeAlias = Callable[[pa.Schema], pa.Schema]


class Passing:
    """The changes of tables, in log order per table, each batch with the columns that its table had
    then. They are read each time that they are asked for, unless they are few.

    ``folders``: of each table; ``columns``: what is read of a folder's schema. InputError, as they
    pass: some have expired since the ledger was read.
    """

    def __init__(
        self, ledger: Ledger, folders: Mapping[TableId, Folders], columns: Columns
    ) -> None:
        self._ledger, self._folders, self._columns = ledger, folders, columns
        self._kept: list[pa.RecordBatch] | None = None

    def __iter__(self) -> Iterator[pa.RecordBatch]:
        return self.those({*self._folders})

    def of(self, names: Iterable[TableId]) -> Iterable[pa.RecordBatch]:
        """The changes of some of the tables, numbered among those of all."""
        return _Some(self, {*names})

    def those(self, names: set[TableId]) -> Iterator[pa.RecordBatch]:
        """The same, once."""
        if self._kept is None and sum(one.size for one in self._files) <= AT_ONCE:
            self._kept = [*self._read({*self._folders})]
        if self._kept is None:
            return self._read(names)
        return (batch for batch in self._kept if table_of(batch) in names)

    @cached_property
    def _files(self) -> list[_Part]:
        """The files of all tables."""
        found = []
        for name, several in self._folders.items():
            for number, (folder, _) in enumerate(several):
                schema, there = files(folder)
                schema = self._columns(schema)
                found += [_Part(name, number, one, schema, one.size) for one in there]
        self._ledger.check_expired()
        return found

    @cached_property
    def _parts(self) -> list[_Part]:
        """Their row groups, in the order of their first transactions."""
        found = []
        for one in self._files:
            opened = OpenFile(one.file)
            begun = self._begun(opened.rows(one.columns(_PLACE)))
            for group, end in enumerate(np.cumsum(opened.groups).tolist()):
                own = begun[end - opened.groups[group] : end]
                size = one.size // len(opened.groups)
                if len(own):
                    found.append(replace(one, size=size, group=group, first=int(own.min())))
        return sorted(found, key=attrgetter("first"))

    def _begun(self, rows: pa.Table) -> Integers:
        """For each row, how many transactions have begun by then."""
        numbering = self._ledger.numbering
        pos = np.asarray(rows["_pos"]).astype(np.int64)
        place = numbering.first_places(of_files(numbering.files, rows["_file"]), pos)
        return numbering.begun(*place)

    def steps(self, names: set[TableId]) -> Iterator[dict[TableId, list[Restored]]]:
        """The changes of one stretch of the logs after the other; of other tables than ``names``
        only what numbers them."""
        return map(self._restored, self._steps(names))

    def _read(self, names: set[TableId]) -> Iterator[pa.RecordBatch]:
        for step in self.steps(names):
            ordered = numbered(self._ledger.numbering, step)
            self._ledger.check_expired()
            own = {name: ordered[name] for name in sorted(names) if name in ordered}
            del step, ordered
            yield from batches(self._ledger.boundaries_of, own)

    def _restored(self, step: list[_Rows]) -> dict[TableId, list[Restored]]:
        """The changes of a step, which is emptied: its rows are not to be held twice."""
        rows: dict[tuple[TableId, int], list[pa.Table]] = {}
        for one in step:
            rows.setdefault((one.name, one.folder), []).append(one.rows)
        step.clear()
        found: dict[TableId, list[Restored]] = {}
        known = self._ledger.numbering, self._ledger.masks
        for name, folder in sorted(rows):
            versions = self._folders[name][folder][1]
            own = pa.concat_tables(rows.pop((name, folder)))
            found.setdefault(name, []).append(Restored(name, own, versions, *known))
        return found

    def _steps(self, names: set[TableId]) -> Iterator[list[_Rows]]:
        """The rows of :meth:`steps`."""
        held, taken = list[_Rows](), 0
        opened, left = dict[str, OpenFile](), Counter(part.file.path.uri for part in self._parts)
        for part, then in zip_longest(self._parts, self._parts[1:]):
            place = part.file.path.uri
            file = opened.pop(place, None) or OpenFile(part.file)
            left[place] -= 1
            if left[place]:
                opened[place] = file
            schema = part.schema if part.name in names else part.columns(ORDER)
            rows = file.rows(schema, part.group)
            held.append(_Rows.sorted(part, rows, self._begun(rows)))
            taken += part.size
            if then is None or taken > AT_ONCE:
                edge = None if then is None else then.first
                ready = [own for one in held if len((own := one.part(None, edge)).begun)]
                later = [] if edge is None else [one.part(edge, None) for one in held]
                held, taken = [one for one in later if len(one.begun)], 0
                del file, rows, later
                if ready:
                    yield ready


@dataclass(frozen=True, slots=True)
class _Part:
    """A file of a table's folder, by the folder's number and schema, or one of its row groups, with
    its first transaction; ``size``: in bytes."""

    name: TableId
    folder: int
    file: File
    schema: pa.Schema
    size: int
    group: int = 0
    first: int = 0

    def columns(self, names: Iterable[str]) -> pa.Schema:
        """Some of the columns."""
        return pa.schema([self.schema.field(name) for name in names])


@dataclass(frozen=True, slots=True)
class _Rows:
    """Rows of a folder in the order of their transactions: ``begun`` says how many had begun by
    each."""

    name: TableId
    folder: int
    rows: pa.Table
    begun: Integers

    @classmethod
    def sorted(cls, part: _Part, rows: pa.Table, begun: Integers) -> _Rows:
        """From rows in any order."""
        if np.any(begun[1:] < begun[:-1]):
            order = np.argsort(begun, kind="stable")
            rows, begun = rows.take(pa.array(order)), begun[order]
        return cls(part.name, part.folder, rows, begun)

    def part(self, first: int | None, end: int | None) -> _Rows:
        """Those from a transaction up to another one."""
        here = slice(*(None if at is None else int(np.searchsorted(self.begun, at))
                       for at in (first, end)))  # fmt: skip
        return replace(self, rows=self.rows[here], begun=self.begun[here])


@dataclass(frozen=True, slots=True)
class _Some:
    """The changes of some tables."""

    passing: Passing
    names: set[TableId]

    def __iter__(self) -> Iterator[pa.RecordBatch]:
        return self.passing.those(self.names)


def numbered(
    numbering: Numbering, restored: Mapping[TableId, list[Restored]]
) -> dict[TableId, list[Ordered]]:
    """Rows of tables, numbered in one order, which boundaries share."""
    every = [one for several in restored.values() for one in several]
    if not every:
        return {}
    file, pos, inner, row = zip(*(one.places for one in every), strict=True)
    joined = (np.concatenate(file), np.concatenate(pos), np.concatenate(inner))
    numbers = numbering.numbers((*joined, np.concatenate(row)))
    ends = np.cumsum([len(one) for one in every])[:-1]
    own = iter(np.split(numbers, ends))
    return {name: [(one, next(own)) for one in several] for name, several in restored.items()}


def batches(
    boundaries_of: Callable[[TableId], Sequence[Boundary]],
    rows: Mapping[TableId, list[Ordered]],
) -> Iterator[pa.RecordBatch]:
    """Changes from numbered rows, table by table in log order; ``boundaries_of``: gives what
    happened to a table."""
    for name, several in rows.items():
        own = boundaries_of(name)
        made = ((b for b in one.batches(seqs, own) if b.num_rows) for one, seqs in several)
        if len(several) == 1:
            yield from next(made)
            continue
        yield from (batch for _, batch in in_log_order([b for each in made for b in each]))
