"""What the rare logs share: their record, and a small table with its rows."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from binlogkit.constants import ColumnType
from binlogkit.events.query import Query
from binlogkit.events.rows import RowsEvent, RowsFlag
from binlogkit.events.status_vars import StatusVars
from binlogkit.events.table_map import TableMap
from binlogkit_fixtures.writer.log_writer import LogWriter

__all__ = ["START", "RareLog", "query", "row", "rows", "table"]

START = 1_000_000_000  # every log's first second: 2001-09-09 01:46:40 UTC
_ID_WIDTH = 4
_NOTE_LENGTH = 20


@dataclass(frozen=True, slots=True)
class RareLog:
    """A log that no server at hand writes.

    ``shows``: what is in it; ``source``: where its format is published.
    """

    name: str
    shows: str
    source: str
    build: Callable[[], LogWriter]

    @property
    def data(self) -> bytes:
        """Its bytes, the same every time (as far as zstd packs alike)."""
        return bytes(self.build().data)


def query(text: str, *, schema: str = "rare", status: StatusVars | None = None) -> Query:
    """A statement of connection 7."""
    return Query(7, 0, 0, schema, status or StatusVars(), text)


def table(table_id: int, name: str = "t") -> TableMap:
    """``CREATE TABLE rare.t (id INT NOT NULL, note VARCHAR(20))``."""
    types = bytes((ColumnType.LONG, ColumnType.VARCHAR))
    metadata = _NOTE_LENGTH.to_bytes(2, "little")
    return TableMap(table_id, 1, "rare", name, types, metadata, b"\x02", None)


def row(number: int, note: str | None) -> bytes:
    """A whole row image of :func:`table`; servers set the bits that no column has."""
    nulls = bytes((0xFC | (note is None) << 1,))
    text = b"" if note is None else bytes((len(note),)) + note.encode("ascii")
    return nulls + number.to_bytes(_ID_WIDTH, "little") + text


def rows(table_id: int, op: str, *images: bytes) -> RowsEvent:
    """A statement's rows event over both columns."""
    before = None if op == "insert" else b"\xff"
    after = None if op == "delete" else b"\xff"
    data = b"".join(images)
    return RowsEvent(table_id, RowsFlag.STMT_END, op, 2, before, after, None, data)
