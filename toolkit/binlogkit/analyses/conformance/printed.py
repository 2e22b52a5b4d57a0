"""What mysqlbinlog's text holds: events and row changes, as its reader hands them on."""

from __future__ import annotations

from dataclasses import dataclass, field

__all__ = ["PrintedCell", "PrintedEvent", "PrintedRow", "TableName"]

TableName = tuple[bytes, bytes]


@dataclass(slots=True)
class PrintedEvent:
    """One event's header line and what follows it.

    ``pos``: the number of ``# at``; inside a payload that is the end of the payload, therefore
    ``inner`` counts the payload's events from 0 and ``outer`` is the payload's own position
    (None outside). ``end_log_pos``: as printed (the header's 32 bits); ``time``: as ``yymmdd
    hh:mm:ss`` in the program's own time zone; ``checksum``: the printed CRC, None where the log
    has none; ``kind``: the phrase that names the type (``Query``, ``Write_rows`` …, empty when
    there is none); ``head``: the header line from that phrase on; ``body``: the lines below,
    without line ends, empty for rows events, whose rows follow as :class:`PrintedRow`;
    ``statement``: SQL text of a Query or Rows_query (that one escaped, as it is printed);
    ``doubt``: why the text does not say for sure where this event ends.
    """

    pos: int
    end_log_pos: int
    server_id: int
    time: str
    checksum: int | None
    kind: str
    head: bytes
    outer: int | None = None
    inner: int | None = None
    body: list[bytes] = field(default_factory=list)
    statement: bytes | None = None
    table: TableName | None = None
    doubt: str | None = None

    @property
    def key(self) -> tuple[int, int]:
        """``(pos, inner)`` as our own records have them; -1 outside a payload."""
        if self.outer is not None and self.inner is not None:
            return (self.outer, self.inner)
        return (self.pos, -1)


@dataclass(frozen=True, slots=True)
class PrintedCell:
    """One ``@n=value`` line.

    ``index``: 0-based; ``token``: the bytes of the value; ``type``: the SQL type of the ``-vv``
    comment (empty with ``-v``), ``meta``, ``nullable``, ``is_null`` from the same place.
    """

    index: int
    token: bytes
    type: str = ""
    meta: int | None = None
    nullable: bool | None = None
    is_null: bool | None = None


@dataclass(slots=True)
class PrintedRow:
    """One row change.

    ``op``: ``insert``, ``update`` or ``delete``; ``before``, ``after``: cells by 0-based index,
    None without that image; ``fault``: the words with which mysqlbinlog gave this row up (it then
    also skips what is left of the event, silently); ``line``: its first line's number, 1-based.
    """

    table: TableName
    op: str
    before: dict[int, PrintedCell] | None = None
    after: dict[int, PrintedCell] | None = None
    fault: str | None = None
    line: int = 0
