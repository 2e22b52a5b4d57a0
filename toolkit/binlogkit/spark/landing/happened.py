"""What happened to tables by a landing's ledger, as ``log.boundaries()`` has it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pyarrow as pa

from binlogkit.frames.fields.field import to_table
from binlogkit.frames.fields.ledger import STATEMENT
from binlogkit.log.index.transactions import joined_boundaries, joined_statements

if TYPE_CHECKING:
    from binlogkit.spark.landing.ledger import Ledger


def happened_to_tables(ledger: Ledger) -> pa.Table:
    """A row for each of ``ledger.boundaries``, with its number (BOUNDARY)."""
    parts, joined, every = ledger.parts, ledger.joined, frozenset[str]()
    texts = joined_statements(parts, joined, every)
    if texts is None:
        texts = to_table([], STATEMENT)
    boundaries = joined_boundaries(parts, joined, every, ledger.files, texts)
    numbers = {_place(b.file, b.pos, b.inner, *b.name, b.action): b.seq for b in ledger.boundaries}
    columns = ("file", "pos", "inner", "db", "table", "action")
    places = zip(*(boundaries[name].to_pylist() for name in columns), strict=True)
    seqs = pa.array([numbers.get(_place(*place)) for place in places], pa.int64())
    at = boundaries.column_names.index("seq")
    return boundaries.set_column(at, boundaries.schema.field(at), seqs).filter(seqs.is_valid())


def _place(*place: Any) -> tuple[Any, ...]:
    """A boundary's place and name, which distinguish it."""
    file, pos, inner, db, table, action = place
    return file, pos, inner, db or "", table or "", str(action)
