"""A table as of a point: its rows, how far the log determines them, and its position."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from binlogkit.constants import TableId
from binlogkit.events.gtid_set import GtidSet
from binlogkit.frames.arrow_types import column_field, field_facts
from binlogkit.frames.flat_cells import has_cells, with_cells
from binlogkit.frames.flat_states import flat_schema, flat_states
from binlogkit.frames.generic import state_rows
from binlogkit.frames.snapshots.facts import StateFacts
from binlogkit.frames.snapshots.reading import snapshot_as
from binlogkit.frames.snapshots.values import Columns
from binlogkit.log.states.gaps import Reach
from binlogkit.overview import Overview, Overviewed, yes_or_no
from binlogkit.rows.defined import column_of, described
from binlogkit.rows.schema import TableDefinition

if TYPE_CHECKING:
    import pandas as pd
    import pyarrow as pa

    from binlogkit.frames.natural import Decimals
    from binlogkit.frames.snapshots.snapshot import Snapshot


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class TableState(Overviewed):
    """A table's rows as of a point.

    ``rows``, ``findings``: as in analyses.point_in_time; ``columns``, ``key``: the table's at that
    point; ``rows_determined``: whether the log determines which rows there are and every cell that
    is not in ``unknown``, under the assumptions in ``assumes``, a sentence each;
    ``determined_rows``: how many rows it determines: all, or after gaps those that were written as
    a whole since; ``reach``: how far it goes; ``position``: a file and a position after everything
    that it holds, ``gtids``: the transactions that it holds, each None if the logs do not determine
    it; ``definition``: the table's at that point, if known; ``names``: all names of the table.
    """

    table: TableId
    rows: pa.Table
    findings: pa.Table
    columns: tuple[str, ...] | None
    key: tuple[str, ...]
    rows_determined: bool
    assumes: tuple[str, ...]
    determined_rows: int
    reach: Reach
    position: tuple[str, int] | None = None
    gtids: GtidSet | None = None
    definition: TableDefinition | None = None
    names: frozenset[TableId] = frozenset()

    @property
    def determined(self) -> bool:
        """Whether the log determines all of it: the rows, and every cell of them."""
        return self.rows_determined and not self.unknown_cells

    @property
    def determined_cells(self) -> int:
        """How many cells of the determined rows the log determines."""
        if self.determined_rows < self.rows.num_rows and self.unknown_cells:
            return 0
        return self.determined_rows * len(self._names()) - self.unknown_cells

    @property
    def unknown_cells(self) -> int:
        """How many cells the log does not determine."""
        return sum(len(chunk.flatten()) for chunk in self.rows.column("unknown").chunks)

    def batches(self) -> Iterator[pa.RecordBatch]:
        """The rows as ``state`` writes them: ``values`` and ``unknown`` as JSON text."""
        return state_rows(self.rows)

    def typed(self) -> tuple[pa.Schema, Iterator[pa.RecordBatch]]:
        """The rows as ``state`` writes them in csv, Parquet and Arrow: the table's own columns, and
        ``_cells`` where :meth:`frame` has it. The schema has the facts (:meth:`facts`)."""
        facts = self.facts()
        schema = flat_schema(facts.fields, facts.metadata(), cells=has_cells(self.rows))
        return schema, flat_states([self.rows] if self.rows.num_rows else [], schema)

    def records(self) -> Iterator[dict[str, object]]:
        """One dict per row, as ``state --format jsonl``."""
        for batch in self.batches():
            for record in batch.to_pylist():
                yield {name: json.loads(text) for name, text in record.items()}

    def facts(self) -> StateFacts:
        """The facts in the state's Parquet file besides its rows."""
        fields = list(self.rows.schema.field("values").type)
        known = self.definition
        if known is not None and not fields:
            fields = [column_field(column_of(column)) for column in known.columns]
        names = [field.name for field in fields]
        if known is None or [column.name for column in known.columns] != names:
            described_fields = [described(field.name, field_facts(field)) for field in fields]
            columns = tuple(column for column in described_fields if column is not None)
            whole = len(columns) == len(fields) and not any(name.startswith("@") for name in names)
            known = None
            if whole and columns:
                known = TableDefinition(*self.table, columns, primary_key=self.key)
        file, pos = self.position or (None, None)
        return StateFacts(
            self.table, tuple(fields), self.key, self.rows_determined, file, pos, self.gtids, known
        )

    def overview(self) -> Overview:
        """Its first rows, ``?`` for what the log does not determine."""
        from binlogkit.reports.text import flat

        file, pos = self.position or (None, None)
        return Overview(
            f"state of {'.'.join(self.table)}",
            [
                ("rows", self.rows.num_rows),
                ("determined", yes_or_no(self.determined)),
                ("at", "not determined" if file is None else f"{file}:{pos}"),
            ],
            flat(self.batches()),
        )

    def snapshot(self) -> Snapshot:
        """As a base for other states."""
        facts = self.facts()
        rows = self.rows.select(["values", "unknown", "value_state", "raw"])
        if not rows.num_rows:  # no image has shown its columns
            rows = Columns(facts.fields).table([])
        return snapshot_as(f"the state of {'.'.join(self.table)}", facts, rows)

    def to_parquet(self, path: str | Path) -> None:
        """Write the file of ``state --format parquet``, with its position: a base for other states.

        Errors: UsageError for a path that cannot be written.
        """
        from binlogkit.reports.output import Output
        from binlogkit.reports.text import write_state

        write_state(self, Output("parquet", path))

    def frame(self, *, decimals: Decimals = "exact") -> pd.DataFrame:
        """The rows as pandas, one column per column of the table.

        A cell that is not known, or has no value here (a zero date), is missing; then a column
        ``_cells`` has such cells of each row, those of landed tables (docs/landing.md) as JSON
        text. ``decimals``: ``exact`` or ``float``.
        """
        from binlogkit.frames.natural import natural

        return natural(with_cells(self.rows), decimals=decimals)

    def _names(self) -> list[str]:
        return [field.name for field in self.rows.schema.field("values").type]
