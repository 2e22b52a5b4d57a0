"""LARGE_TRANSACTION_HEADER_EVENT (servers after 9.7): how long a log's only transaction is.

``version:1 terminating_event_offset:8 terminating_event_type:1 padding`` (server's sources,
``large_transaction_header_event.h``). It stands in a log that was a transaction's cache before it
became a log: its padding fills the room that was kept for the events in front.
"""

from __future__ import annotations

from dataclasses import dataclass

from binlogkit._kernel.cursor import Cursor
from binlogkit.constants import EventType, event_type_name
from binlogkit.events.base import ParseContext, hidden, reads
from binlogkit.sources.raw import RawEvent

__all__ = ["LargeTransactionHeader"]


@dataclass(frozen=True, slots=True)
class LargeTransactionHeader:
    """Where the transaction ends: for recovery, which need not read all of it.

    ``version``: of this layout; ``terminating_event_type``: name of the type; ``padding``: without
    meaning.
    """

    version: int
    terminating_event_offset: int
    terminating_event_type: str
    padding_size: int
    padding: bytes = hidden(b"")
    terminating_event_code: int = hidden(0)


@reads(EventType.LARGE_TRANSACTION_HEADER_EVENT)
def _large_transaction(
    cursor: Cursor, raw: RawEvent, context: ParseContext
) -> LargeTransactionHeader:
    version = cursor.uint(1, "version")
    offset = cursor.uint(8, "terminating_event_offset")
    code = cursor.uint(1, "terminating_event_type")
    padding = cursor.rest("padding")
    return LargeTransactionHeader(
        version, offset, event_type_name(code), len(padding), padding, code
    )
