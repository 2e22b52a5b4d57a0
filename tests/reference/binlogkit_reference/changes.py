"""The row changes of a walk, in columns."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TypeAlias

import pyarrow as pa

from binlogkit.errors import DamageError, InputError
from binlogkit.events.rows import RowsEvent
from binlogkit.rows.filters import Filters
from binlogkit.rows.schema import TableSchema
from tests.reference.binlogkit_reference.batches import record_batch
from tests.reference.binlogkit_reference.images import Decoders, Image, RawCell
from tests.reference.binlogkit_reference.walk import Step, Walk

__all__ = ["ColumnBatch", "ImageColumns", "read_windows"]

_BEFORE, _AFTER = 0, 1
_MICROSECOND = 1_000_000
_MAX_ROWS = 16_384

Windows: TypeAlias = "Iterator[list[tuple[TableSchema, pa.RecordBatch]]]"
Change: TypeAlias = "tuple[tuple[object, ...], Image | None, Image | None]"


@dataclass
class ImageColumns:
    """One image of a batch: ``values[column][row]``; ``present[row]``; states as in Image."""

    values: list[list[object]]
    present: list[bool] = field(default_factory=list)
    states: list[bytes | None] = field(default_factory=list)

    def add(self, image: Image | None) -> None:
        """Append one row's image, or that it has none."""
        self.present.append(image is not None)
        self.states.append(image.states if image is not None else None)
        values = [None] * len(self.values) if image is None else image.values
        for column, value in zip(self.values, values, strict=True):
            column.append(value)


@dataclass
class ColumnBatch:
    """Row changes of one version of a table.

    ``provenance``: one tuple per row: file, pos, end_pos, inner, row, timestamp,
    commit_timestamp, server_id, gtid, thread_id, xid, xa, op, query, seq, tx; ``raw``: per row the
    cells that need more than their value, with the image they are in (0 before, 1 after).
    """

    schema: TableSchema
    source: str | None
    before: ImageColumns
    after: ImageColumns
    provenance: list[tuple[object, ...]] = field(default_factory=list)
    raw: list[list[tuple[int, RawCell]] | None] = field(default_factory=list)

    @classmethod
    def empty(cls, schema: TableSchema, source: str | None) -> ColumnBatch:
        """A batch without rows."""
        before, after = (ImageColumns([[] for _ in schema.columns]) for _ in range(2))
        return cls(schema, source, before, after)

    def add(
        self, provenance: tuple[object, ...], before: Image | None, after: Image | None
    ) -> None:
        """Append one row change."""
        self.provenance.append(provenance)
        self.before.add(before)
        self.after.add(after)
        raw = [(_BEFORE, cell) for cell in before.raw] if before else []
        raw += [(_AFTER, cell) for cell in after.raw] if after else []
        self.raw.append(raw or None)

    def __len__(self) -> int:
        return len(self.provenance)


def read_windows(walk: Walk, filters: Filters) -> Windows:
    """Windows of (schema, batch) in log order; what was read before an error comes before it."""
    decoders = Decoders()
    batches: dict[tuple[str, str, int], ColumnBatch] = {}
    rows, source = 0, walk.options.source or _stem(walk.carriers[0].name)

    def taken() -> list[tuple[TableSchema, pa.RecordBatch]]:
        found = [(batch.schema, record_batch(batch)) for batch in batches.values()]
        batches.clear()
        return found

    try:
        for step in walk:
            schema = step.schema
            if schema is None or not _wanted(step, filters):
                continue
            key = (schema.db, schema.table, schema.version)
            for change in _changes(step, decoders, walk):
                if key not in batches:
                    batches[key] = ColumnBatch.empty(schema, source)
                batches[key].add(*change)
                rows += 1
                if rows % _MAX_ROWS == 0:
                    yield taken()
    except (DamageError, InputError):
        yield taken()
        raise
    yield taken()


def _stem(name: str) -> str:
    """What logs beside each other are called together, of which one has this name."""
    return re.sub(r"\.\d{6,}(\.gz|\.zst)?$", "", name)


def _wanted(step: Step, f: Filters) -> bool:
    """What ``rows/filters.py`` says of a row change."""
    raw, body, schema = step.event.raw, step.event.body, step.schema
    if not isinstance(body, RowsEvent) or schema is None or raw.checksum == "bad":
        return False
    t = step.transaction
    gtid = t.gtid if t else None
    moment = t.commit_timestamp if t else None
    if moment is None:
        moment = raw.header.timestamp * _MICROSECOND
    return (
        (not f.ops or body.op in f.ops)
        and (not f.tables or any(name(*schema.name) for name in f.tables))
        and not any(name(*schema.name) for name in f.exclude_tables)
        and (not step.first or f.start_position is None or raw.pos >= f.start_position)
        and (not step.last or f.stop_position is None or raw.pos < f.stop_position)
        and (not f.server_ids or raw.header.server_id in f.server_ids)
        and (f.gtids is None or (gtid is not None and gtid in f.gtids))
        and (not f.threads or (t is not None and t.thread_id in f.threads))
        and (f.start_time is None or moment >= f.start_time)
        and (f.stop_time is None or moment < f.stop_time)
    )


def _changes(step: Step, decoders: Decoders, walk: Walk) -> Iterator[Change]:
    """The changes of a rows event, one at a time."""
    raw, body, t = step.event.raw, step.event.body, step.transaction
    assert isinstance(body, RowsEvent) and step.schema is not None
    head = (raw.file, raw.pos, raw.end_pos, raw.inner)
    tail = (
        raw.header.timestamp,
        t.commit_timestamp if t else None,
        raw.header.server_id,
        t.gtid if t else None,
        t.thread_id if t else None,
        t.xid if t else None,
        t.xa if t else None,
        body.op,
        step.query,
    )
    decoder = decoders.of(step.schema, step.server_version)
    try:
        for row, (before, after) in enumerate(decoder.rows(step.event)):
            yield (*head, row, *tail, step.seq + row, t.number if t else None), before, after
    except DamageError as error:
        if walk.options.on_damage == "stop":
            raise
        walk.damages.append(error)
