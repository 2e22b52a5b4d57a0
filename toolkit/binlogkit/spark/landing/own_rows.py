"""A table's current rows as the base of its next replay, where earlier changes have expired."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa

from binlogkit.analyses.point_in_time.boundary import Boundary
from binlogkit.analyses.point_in_time.transaction_numbers import TransactionNumbers
from binlogkit.constants import TableId
from binlogkit.frames.layouts import empty_batch
from binlogkit.frames.schema import CellState, batch_schema
from binlogkit.frames.snapshots.snapshot import TableSnapshot
from binlogkit.rows.soundness import Gap
from binlogkit.spark.landing.current_rows import as_inserts
from binlogkit.spark.landing.ledger import Ledger
from binlogkit.spark.landing.numbering import of_files
from binlogkit.spark.landing.restored import Ordered, Restored
from binlogkit.spark.landing.spans import Span

_FIRST = -2  # origins count down from it: no change has such a number
_FAR = (1 << 63) - 1


@dataclass(frozen=True, slots=True)
class Held:
    """What has landed up to a batch: the ``numbers`` of its transactions; ``ends``: where it ends
    in each log. The other attributes are those of a base without a position."""

    numbers: TransactionNumbers
    ends: Mapping[str, int]
    seq: int = -1
    place: None = None
    file: None = None
    pos: None = None
    gtids: None = None

    @classmethod
    def of(cls, ledger: Ledger, spans: Iterable[tuple[int, Sequence[Span]]], last: int) -> Held:
        """From the spans of each log; ``last``: the batch."""
        ends = {
            name: max((span.stop for span in own if span.batch <= last), default=0)
            for i, own in spans
            for name in ledger.parts[i].names
        }
        rows = ledger.transactions.select(["tx", "file", "end_pos"])
        stops = np.array([ends.get(name, 0) for name in ledger.files])
        held = np.asarray(rows["end_pos"]) <= stops[of_files(ledger.numbers, rows["file"])]
        numbers = TransactionNumbers(np.asarray(rows["tx"])[held])
        found = cls(numbers, ends)
        later = (b.seq for b in ledger.boundaries if not found.has(b.file, b.pos))
        return cls(numbers, ends, min(later, default=_FAR))

    def has(self, file: str, pos: int | None) -> bool:
        """Whether a place comes before its end."""
        return (pos or 0) < self.ends.get(file, 0)

    def holds(self, boundary: Boundary) -> bool:
        """Whether it includes what happened to a table."""
        return boundary.tx in self.numbers if boundary.tx is not None else boundary.seq < self.seq

    def after(self, gaps: Iterable[Gap]) -> list[Gap]:
        """The gaps after it."""
        return [gap for gap in gaps if not self.has(gap.file, gap.pos)]


@dataclass(frozen=True, slots=True)
class OwnRows:
    """Current rows as a base, of one table; ``held``: what they hold; ``origins``: the changes that
    wrote them, by number."""

    tables: dict[TableId, TableSnapshot]
    held: Held
    origins: Ordered
    catalog: None = field(default=None)

    @classmethod
    def taken(
        cls, name: TableId, rows: pa.Table, flat: pa.Schema, known: Mapping[str, Any],
        ledger: Ledger, held: Held,
    ) -> OwnRows:  # fmt: skip
        """``flat``: the columns of the table's changes; ``known``: the facts about the rows.

        SchemaError: versions of the table have no columns in common.
        """
        versions = [empty_batch(v) for v in ledger.joined.schemas[name] if v.named]
        inserts = as_inserts(rows, pa.schema([*flat, *(f for f in rows.schema if f not in flat)]))
        changes = Restored(name, inserts, versions, ledger.numbering, ledger.masks)
        whole = changes.united()
        fields = [whole.field("after").type.field(n) for n in known["columns"] or ()]
        places = np.arange(len(changes), dtype=np.int64)
        found = changes.table(places, batch_schema(fields, whole.metadata))
        names = [one.name for one in fields]
        states = (one or [0] * len(names) for one in found["after_state"].to_pylist())
        unknown = [
            [n for n, s in zip(names, own, strict=True) if s == CellState.NOT_IN_IMAGE]
            for own in states
        ]
        numbers = _FIRST - places
        state = pa.table({
            "values": found["after"], "unknown": pa.array(unknown, pa.list_(pa.string())),
            "value_state": found["after_state"], "raw": found["raw"], "origin": numbers,
        })  # fmt: skip
        snapshot = TableSnapshot(name, state, None, tuple(known["key"]) or None)
        return cls({name: snapshot}, held, (changes, numbers))

    def of(self, names: Iterable[TableId]) -> dict[TableId, TableSnapshot]:
        """The tables of these names."""
        return {name: self.tables[name] for name in names if name in self.tables}

    def named(self) -> str:
        """Their names, for messages."""
        return ", ".join(".".join(name) for name in self.tables)
