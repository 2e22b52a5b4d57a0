"""Row changes as column buffers, one set per version of a table: what goes to the frames room.

Changes are gathered into windows. A window closes when it holds enough rows or bytes, and all its
tables are handed over together: so memory is bounded, and the log's order can be restored within
a window (``seq``) and between windows (they come in order).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from binlogkit.errors import DamageError, InputError
from binlogkit.events.rows import RowsEvent
from binlogkit.rows.filters import Filters
from binlogkit.rows.images import Decoders, Image, RawCell
from binlogkit.rows.schema import TableSchema
from binlogkit.rows.walk import LogWalk, Step

__all__ = ["ColumnBatch", "read_windows"]

MAX_ROWS = 16_384
MAX_BYTES = 32 << 20
_BEFORE, _AFTER = 0, 1


@dataclass(slots=True)
class ImageColumns:
    """One image of a batch: ``values[column][row]``; ``present[row]``; states as in Image."""

    values: list[list[object]]
    present: list[bool] = field(default_factory=list)
    states: list[bytes | None] = field(default_factory=list)

    def add(self, image: Image | None) -> None:
        """Append one row's image, or that it has none."""
        self.present.append(image is not None)
        self.states.append(image.states if image is not None else None)
        if image is None:
            for column in self.values:
                column.append(None)
        else:
            for column, value in zip(self.values, image.values, strict=True):
                column.append(value)


@dataclass(slots=True)
class ColumnBatch:
    """Row changes of one version of a table, as columns.

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
        count = len(schema.columns)
        return cls(
            schema,
            source,
            ImageColumns([[] for _ in range(count)]),
            ImageColumns([[] for _ in range(count)]),
        )

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


def read_windows(
    walk: LogWalk,
    filters: Filters,
    *,
    max_rows: int = MAX_ROWS,
    max_bytes: int = MAX_BYTES,
) -> Iterator[list[ColumnBatch]]:
    """Windows of batches in log order; a damaged rows event is an error, or collected by ``walk``.

    The row-value filter (``where``) is not applied here: the frames room does, which knows values.
    What was read before an error is handed over before it is raised.
    """
    decoders = Decoders()
    window: dict[tuple[str, str, int], ColumnBatch] = {}
    rows = size = 0
    steps = iter(walk)
    while True:
        try:
            step = next(steps, None)
            if step is not None and _wanted(step, filters):
                rows += _decode(step, decoders, window, walk)
                size += step.event.raw.header.size
        except (DamageError, InputError):
            if rows:
                yield list(window.values())
            raise
        if step is None or rows >= max_rows or size >= max_bytes:
            if rows:
                yield list(window.values())
            window, rows, size = {}, 0, 0
        if step is None:
            return


def _wanted(step: Step, filters: Filters) -> bool:
    body, raw = step.event.body, step.event.raw
    if not isinstance(body, RowsEvent) or step.schema is None or raw.checksum == "bad":
        return False
    if filters.ops and body.op not in filters.ops:
        return False
    return (
        filters.wants_table(*step.schema.name)
        and filters.wants_position(raw.pos, step.first, step.last)
        and filters.wants(raw, step.transaction)
    )


def _decode(
    step: Step,
    decoders: Decoders,
    window: dict[tuple[str, str, int], ColumnBatch],
    walk: LogWalk,
) -> int:
    schema, raw, body = step.schema, step.event.raw, step.event.body
    assert schema is not None and isinstance(body, RowsEvent)
    key = (schema.db, schema.table, schema.version)
    batch = window.get(key)
    if batch is None:
        batch = window[key] = ColumnBatch.empty(schema, walk.options.source)
    decoder = decoders.of(schema, step.server_version)
    t = step.transaction
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
    number = t.number if t else None
    row = 0
    try:
        for row, (before, after) in enumerate(decoder.rows(step.event)):
            batch.add((*head, row, *tail, step.seq + row, number), before, after)
    except DamageError as error:
        if walk.options.on_damage == "stop":
            raise
        walk.damages.append(error)
    return row + 1
