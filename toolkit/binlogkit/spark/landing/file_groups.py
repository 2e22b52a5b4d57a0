"""The files of landed tables that a task of Spark's restores together: those that may share
transactions."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from operator import attrgetter

import pyarrow as pa

from binlogkit.constants import TableId
from binlogkit.spark.landing.numbering import Numbering
from binlogkit.spark.landing.passing import Folders
from binlogkit.spark.landing.reading import LARGEST, File, files, read_file
from binlogkit.spark.landing.restored import Restored
from binlogkit.spark.masks import Masks


@dataclass(frozen=True, slots=True)
class Group:
    """Files of a table, which a task restores together.

    ``schema``: what is read of their folder; ``versions``: of the table, there.
    """

    name: TableId
    files: tuple[File, ...]
    schema: pa.Schema
    versions: tuple[pa.RecordBatch, ...]

    @property
    def size(self) -> int:
        """In bytes."""
        return sum(file.size for file in self.files)

    def restored(self, numbering: Numbering, masks: Masks) -> Restored:
        """Their changes."""
        rows = pa.concat_tables(
            [self.schema.empty_table(), *(read_file(file, self.schema) for file in self.files)]
        )
        return Restored(self.name, rows, [*self.versions], numbering, masks)


def groups_of(
    name: TableId,
    folders: Folders,
    columns: Callable[[pa.Schema], pa.Schema],
    last: int = LARGEST,
) -> Iterator[Group]:
    """The groups of a table's files with changes up to a ``_commit_version``.

    ``folders``: of the table; ``columns``: what is read of a folder's schema.
    """
    for folder, versions in folders:
        schema, found = files(folder)
        for group in together([file for file in found if file.first <= last]):
            yield Group(name, tuple(group), columns(schema), tuple(versions))


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
