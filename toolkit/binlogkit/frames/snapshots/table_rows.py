"""A table's rows as a dump gives them, gathered in batches."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import pyarrow as pa

from binlogkit.frames.arrow_types import column_field
from binlogkit.frames.snapshots.inserts import Literal, columns_named
from binlogkit.frames.snapshots.literals import Dialect, Read, reader_of
from binlogkit.frames.snapshots.snapshot import TableSnapshot
from binlogkit.frames.snapshots.values import UNKNOWN, Columns, Misread
from binlogkit.rows.defined import column_of
from binlogkit.rows.schema import TableDefinition


class TableRows:
    """A wanted table's rows as far as they were read; ``doubts``: why some may be missing."""

    def __init__(self, definition: TableDefinition) -> None:
        self.definition = definition
        self.doubts: list[str] = []
        self.ended = False  # whether something follows them
        self.count = 0
        self._columns = Columns([column_field(column_of(c)) for c in definition.columns])
        self._batches: list[pa.RecordBatch] = []
        self._unknown: dict[str, int] = {}

    def take(
        self, rows: Iterable[Sequence[Literal]], names: Sequence[str] | None, dialect: Dialect
    ) -> None:
        """Take rows; ``names``: of the columns that they have, None for all that are visible.
        :class:`Misread`."""
        dialect.doubts = self._unknown
        columns = self.definition.columns
        given = columns_named(columns, names)
        fields = {field.name: field for field in self._columns.fields}
        reads: dict[str, tuple[int, Read]] = {}
        for i, column in enumerate(given):
            if column.generated:
                raise Misread("it has values of a generated column")
            reads[column.name] = i, reader_of(column, fields[column.name], dialect)
        order = [reads.get(column.name) for column in columns]
        omitted = [c.name for c in columns if c.name not in reads and not c.generated]
        if omitted:
            raise Misread(f"it leaves out column {omitted[0]}")
        for row in rows:
            if len(row) != len(given):
                raise Misread("a row has another number of values than columns")
            cells = [UNKNOWN if at is None else at[1](row[at[0]]) for at in order]
            self._columns.append(cells, sum(len(value) for _, value in row if value))
            self.count += 1
            if self._columns.full:
                self._batches.append(self._columns.flush())

    def finish(self) -> TableSnapshot:
        """All of it. :class:`Misread`."""
        if self._columns.waiting:
            self._batches.append(self._columns.flush())
        unknown = dict(self._unknown)
        generated = sum(1 for column in self.definition.columns if column.generated)
        if generated and self.count:
            unknown["a dump leaves out the values of generated columns"] = generated * self.count
        name = self.definition.db, self.definition.table
        rows = self._columns.table(self._batches)
        return TableSnapshot(
            name, rows, self.definition, unknown=unknown, doubts=tuple(self.doubts)
        )
