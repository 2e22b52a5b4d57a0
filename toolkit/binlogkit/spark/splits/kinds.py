"""A scan's other kinds of output besides one table's typed changes, each with a schema and records.

Each is the frame that :class:`binlogkit.Log` gives under the same name, split by split; what was
read before damage is delivered before the error is raised.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

import pyarrow as pa

from binlogkit.frames.events import event_batches
from binlogkit.frames.fields.field import Fields, arrow_schema, names, to_table
from binlogkit.frames.fields.ledger import BOUNDARY, DAMAGE, EVENT, GAP, STATEMENT, TRANSACTION
from binlogkit.frames.fields.rows import CHANGE, CHANGELOG, ROW
from binlogkit.frames.records import damage_record
from binlogkit.frames.row_batches import read_batches
from binlogkit.frames.statements import Boundaries, Statements
from binlogkit.frames.transactions import Transactions
from binlogkit.log.viewing import view
from binlogkit.spark.splits.plan import Scan, Split


@dataclass(frozen=True, slots=True)
class RecordKind:
    """``fields``: the records' columns; ``batches``: the records of a split in log order, None for
    row changes (spark/splits/decode.py)."""

    fields: Fields
    batches: Callable[[Scan, Split], Iterator[pa.RecordBatch]] | None = None

    def schema(self) -> pa.Schema:
        """The Arrow schema of the records."""
        return arrow_schema(self.fields)


def _events(scan: Scan, split: Split) -> Iterator[pa.RecordBatch]:
    """Every event; ``flags`` and ``fields`` as JSON text."""
    return event_batches(scan.reading(split), scan.asked.wanted(), compact=True)


def _transactions(scan: Scan, split: Split) -> Iterator[pa.RecordBatch]:
    """Every transaction; one prepared here and decided in a later file has that outcome."""
    transactions, reading = Transactions(), scan.reading(split)
    unreadable = view(reading, transactions.feed, counting=True)
    found = transactions.finish(scan.asked.wanted(), scan.files, split.decisions)
    yield from found.to_batches()
    if unreadable is not None:
        raise unreadable
    if reading.damages and scan.asked.on_damage == "stop":
        raise reading.damages[0]


def _statements(scan: Scan, split: Split) -> Iterator[pa.RecordBatch]:
    """The statements that the log holds as text."""
    statements = Statements(scan.asked.wanted())
    for window in scan.reading(split).windows():
        statements.feed(window)
        yield from statements.fresh().to_batches()


def _boundaries(scan: Scan, split: Split) -> Iterator[pa.RecordBatch]:
    """Where tables are created, dropped, emptied, renamed, altered, written by statements."""
    boundaries = Boundaries(scan.asked.wanted())
    for window in scan.reading(split).windows():
        known = len(boundaries.found)
        boundaries.feed(window)
        yield from boundaries.finish(first=known).to_batches()


def _damages(scan: Scan, split: Split) -> Iterator[pa.RecordBatch]:
    """Damage that ``onDamage=report`` skips, in every row and event; ``error``: the error's
    class."""
    options = replace(scan.options, on_damage="report")
    reading = replace(scan, options=options).reading(split)
    for _ in read_batches(reading, scan.asked.wanted()):
        pass
    damages = sorted(reading.damages, key=lambda damage: damage.offset)
    yield from to_table(map(damage_record, damages), DAMAGE).to_batches()


def _gaps(_: Scan, split: Split) -> Iterator[pa.RecordBatch]:
    """Where changes may be missing from any frame: known to the plan, delivered by the first
    split."""
    gaps = split.gaps
    records = ((g.code, g.file, g.pos, g.tables and sorted(g.tables), g.found) for g in gaps)
    keys = names(GAP)
    yield from to_table((dict(zip(keys, r, strict=True)) for r in records), GAP).to_batches()


#: By the value of the option ``records``.
KINDS = {
    "rows": RecordKind(ROW),
    "changes": RecordKind(CHANGE),
    "changelog": RecordKind(CHANGELOG),
    "events": RecordKind(EVENT, _events),
    "transactions": RecordKind(TRANSACTION, _transactions),
    "statements": RecordKind(STATEMENT, _statements),
    "boundaries": RecordKind(BOUNDARY, _boundaries),
    "damages": RecordKind(DAMAGE, _damages),
    "gaps": RecordKind(GAP, _gaps),
}
