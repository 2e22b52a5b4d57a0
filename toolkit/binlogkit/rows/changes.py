"""Row changes as column buffers, one set per version of a table: what goes to the frames room.

Changes are gathered into windows. A window closes when it holds enough rows, bytes or cells, also
inside an event, and all its tables are handed over together: so memory is bounded, and the log's
order can be restored within a window (``seq``) and between windows (they come in order).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import TypeAlias

from binlogkit.errors import DamageError, InputError
from binlogkit.events.rows import RowsEvent
from binlogkit.rows.filters import Filters
from binlogkit.rows.images import Decoders, Image, RawCell, RowDecoder
from binlogkit.rows.schema import TableSchema
from binlogkit.rows.walk import LogWalk, Step

__all__ = ["ColumnBatch", "read_windows"]

MAX_ROWS = 16_384
MAX_BYTES = 32 << 20
MAX_CELLS = 1 << 20
_BEFORE, _AFTER = 0, 1

_Change: TypeAlias = "tuple[tuple[object, ...], Image | None, Image | None]"  # provenance, images


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


class _Window:
    """What is gathered until it is handed over, all its tables together."""

    def __init__(self, source: str | None, max_rows: int, max_bytes: int) -> None:
        self._source = source
        self._most = (max_rows, max_bytes, MAX_CELLS)
        self._batches: dict[tuple[str, str, int], ColumnBatch] = {}
        self.rows = self.size = self._cells = 0

    @property
    def full(self) -> bool:
        """Whether there are enough rows, bytes or cells (a row of no bytes can have 4096)."""
        rows, size, cells = self._most
        return self.rows >= rows or self.size >= size or self._cells >= cells

    def add(self, schema: TableSchema, change: _Change) -> None:
        """Take one row change."""
        key = (schema.db, schema.table, schema.version)
        batch = self._batches.get(key)
        if batch is None:
            batch = self._batches[key] = ColumnBatch.empty(schema, self._source)
        batch.add(*change)
        self.rows += 1
        self._cells += len(schema.columns)

    def take(self) -> list[ColumnBatch]:
        """The batches; the window is empty then."""
        batches, self._batches = list(self._batches.values()), {}
        self.rows = self.size = self._cells = 0
        return batches


def read_windows(
    walk: LogWalk,
    filters: Filters,
    *,
    steps: Iterable[Step] | None = None,
    max_rows: int = MAX_ROWS,
    max_bytes: int = MAX_BYTES,
) -> Iterator[list[ColumnBatch]]:
    """Windows of batches in log order, of ``walk`` or of some of its ``steps``.

    A damaged rows event is an error, or collected by ``walk``.

    The row-value filter (``where``) is not applied here: the frames room does, which knows values.
    What was read before an error is handed over before it is raised.
    """
    decoders = Decoders()
    window = _Window(walk.options.source, max_rows, max_bytes)
    try:
        for step in walk if steps is None else steps:
            if not _wanted(step, filters):
                continue
            assert step.schema is not None
            for change in _decode(step, decoders.of(step.schema, step.server_version), walk):
                window.add(step.schema, change)
                if window.full:
                    yield window.take()
            window.size += step.event.raw.header.size
            if window.full and window.rows:
                yield window.take()
    except (DamageError, InputError):
        if window.rows:
            yield window.take()
        raise
    if window.rows:
        yield window.take()


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


def _decode(step: Step, decoder: RowDecoder, walk: LogWalk) -> Iterator[_Change]:
    """The changes of a rows event, one at a time."""
    raw, body, t = step.event.raw, step.event.body, step.transaction
    assert isinstance(body, RowsEvent)
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
    try:
        for row, (before, after) in enumerate(decoder.rows(step.event)):
            yield (*head, row, *tail, step.seq + row, number), before, after
    except DamageError as error:
        if walk.options.on_damage == "stop":
            raise
        walk.damages.append(error)
