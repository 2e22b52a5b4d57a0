"""The files of landed tables that a task of Spark's restores together: those that may share
transactions."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from operator import attrgetter

import pyarrow as pa

from binlogkit.constants import TableId
from binlogkit.spark.landing.landing_path import LandingPath
from binlogkit.spark.landing.numbering import Numbering
from binlogkit.spark.landing.passing import ORDER, Folders
from binlogkit.spark.landing.reading import LARGEST, File, files, read_file
from binlogkit.spark.landing.restored import Restored
from binlogkit.spark.masks import Masks


@dataclass(frozen=True, slots=True)
class Part:
    """A file of a table's folder.

    ``schema``: what is read of the folder; ``versions``: of the table, there.
    """

    name: TableId
    folder: LandingPath
    file: File
    schema: pa.Schema
    versions: tuple[pa.RecordBatch, ...]


@dataclass(frozen=True, slots=True)
class Group:
    """Files that a task restores together."""

    parts: tuple[Part, ...]

    @property
    def size(self) -> int:
        """In bytes."""
        return sum(part.file.size for part in self.parts)

    def restored(self, numbering: Numbering, masks: Masks) -> dict[TableId, list[Restored]]:
        """The changes of each folder of each table."""
        found: dict[TableId, list[Restored]] = {}
        parts = sorted(self.parts, key=lambda part: (part.name, part.folder.uri))
        for (name, _), several in groupby(parts, key=lambda part: (part.name, part.folder.uri)):
            own = list(several)
            rows = pa.concat_tables([read_file(part.file, part.schema) for part in own])
            one = Restored(name, rows, [*own[0].versions], numbering, masks)
            found.setdefault(name, []).append(one)
        return found


def groups_of(
    tables: Mapping[TableId, Folders],
    columns: Callable[[pa.Schema], pa.Schema],
    last: int = LARGEST,
    besides: Mapping[TableId, Folders] | None = None,
) -> Iterator[Group]:
    """The groups of some tables' files with changes up to a ``_commit_version``.

    ``columns``: what is read of a folder's schema; ``besides``: tables of which only that is read
    which numbers changes.
    """
    parts = _parts(besides or {}, lambda schema: pa.schema([schema.field(one) for one in ORDER]))
    parts |= _parts(tables, columns)
    for group in together([part.file for part in parts.values() if part.file.first <= last]):
        own = tuple(parts[file.path.uri] for file in group)
        if any(part.name in tables for part in own):
            yield Group(own)


def _parts(
    tables: Mapping[TableId, Folders], columns: Callable[[pa.Schema], pa.Schema]
) -> dict[str, Part]:
    """The files of tables by their places."""
    found: dict[str, Part] = {}
    for name, folders in tables.items():
        for folder, versions in folders:
            schema, there = files(folder)
            own, known = columns(schema), tuple(versions)
            found |= {file.path.uri: Part(name, folder, file, own, known) for file in there}
    return found


def together(given: Sequence[File]) -> Iterator[list[File]]:
    """Groups of files that may share transactions: of one day and source, with overlapping
    commits."""

    def partition(file: File) -> tuple[str, ...]:
        return tuple(f"{name}={value}" for name, value in sorted(file.partition.items()))

    for _, several in groupby(sorted(given, key=partition), key=partition):
        found: list[File] = []
        last = -1
        for file in sorted(several, key=attrgetter("first", "last", "path")):
            if found and file.first > last:
                yield found
                found = []
            found.append(file)
            last = max(last, file.last)
        yield found
