"""Our events and rows by their keys, in order, read only as far as asked."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from binlogkit.analyses.conformance.cell import TableVersion
from binlogkit.analyses.conformance.event_fields import our_statement
from binlogkit.analyses.conformance.printed import PrintedRow
from binlogkit.errors import UsageError

if TYPE_CHECKING:
    import pyarrow as pa  # a test's comparison needs none

Key = tuple[int, int]
Record = Mapping[str, Any]
Window = Sequence["pa.RecordBatch"]

_LOOKAHEAD = 64


@dataclass(frozen=True, slots=True)
class RowWindows:
    """``windows``: row changes as batches (frames/schema.py), in the log's order from one to the
    next, as ``Streams.row_windows`` gives them."""

    windows: Iterable[Window]


@dataclass(frozen=True, slots=True)
class EventBatches:
    """``batches``: events as ``Streams.event_batches`` gives them, compact."""

    batches: Iterable[pa.RecordBatch]


def key_of(record: Record) -> Key:
    """``(pos, inner)`` of an event or row record; -1 outside a payload."""
    inner = record.get("inner")
    return (int(record["pos"]), -1 if inner is None else int(inner))


class Stream:
    """Records that are read no further than asked."""

    def __init__(self, records: Iterable[Record]) -> None:
        self._records: Iterator[Record] = iter(records)
        self._ahead: deque[tuple[Key, Record]] = deque()

    def _fill(self, count: int) -> bool:
        """Hold at least ``count`` records; whether there are so many."""
        while len(self._ahead) < count:
            record = next(self._records, None)
            if record is None:
                return False
            if not isinstance(record.get("pos"), int):
                raise UsageError(
                    "mysqlbinlog judges rows by their places, and a row has no pos: "
                    "without one only expected rows judge it (--against golden)"
                )
            self._ahead.append((key_of(record), record))
        return True

    def rest(self) -> Iterator[Record]:
        """Take what is left."""
        while self._fill(1):
            yield self.take_first()

    def take_first(self) -> Record:
        """Take the next record, which must be held."""
        return self._ahead.popleft()[1]


class OurEvents(Stream):
    """Our events; also the hints that the text's reader asks for."""

    def statement(self, key: Key) -> bytes | None:
        """The statement of our event at ``key``."""
        found = self._find(key)
        return None if found is None else our_statement(found.get("fields") or {})

    def known_position(self, pos: int) -> bool:
        """Whether we have an event at ``pos``."""
        return self._find((pos, -1)) is not None

    def _find(self, key: Key) -> Record | None:
        at = 0
        while self._fill(at + 1):
            have, record = self._ahead[at]
            if have == key:
                return record
            # Positions that a hostile text invents must not make us read the whole log.
            if have > key or at > _LOOKAHEAD:
                return None
            at += 1
        return None

    def before(self, key: Key) -> Iterator[Record]:
        """Take the events that stand before ``key``."""
        while self._fill(1) and self._ahead[0][0] < key:
            yield self.take_first()

    def take(self, key: Key) -> Record | None:
        """Take the event at ``key``, None where there is none; call :meth:`before` first."""
        if self._fill(1) and self._ahead[0][0] == key:
            return self.take_first()
        return None


class OurRows(Stream):
    """Our rows, taken in order up to a key."""

    def learn(self, row: PrintedRow, facts: TableVersion | None) -> None:
        """Look at a printed row that agrees with ours, which is of the version ``facts``."""

    def peek(self, last: Key, distance: int = 0) -> Record | None:
        """The row ``distance`` ahead if it stands at or before ``last``."""
        if not self._fill(distance + 1):
            return None
        key, record = self._ahead[distance]
        return record if key <= last else None
