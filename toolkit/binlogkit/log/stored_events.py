"""A log's events and fields with their bytes, for the judge (analyses/conformance)."""

from __future__ import annotations

from collections.abc import Container, Iterator
from typing import TYPE_CHECKING

from binlogkit.constants import EventType
from binlogkit.events.base import Event
from binlogkit.events.reader import read_events
from binlogkit.sources.log_reader import LogReader

if TYPE_CHECKING:
    from binlogkit.log.streams import Streams
    from binlogkit.sources.carriers import Carrier


#: What mysqlbinlog's judge takes from the bytes of these is not what they say.
UNREAD = frozenset((
    EventType.QUERY_EVENT, EventType.ROWS_QUERY_LOG_EVENT, EventType.XID_EVENT,
    EventType.GTID_LOG_EVENT, EventType.ANONYMOUS_GTID_LOG_EVENT, EventType.GTID_TAGGED_LOG_EVENT,
))  # fmt: skip


class StoredEvents:
    """The events of one log, including those inside payloads, once; ``unread``: types whose bodies
    stay bytes.

    Damage is skipped: the normal reading reports it, and damaged rows are not judged.
    """

    def __init__(self, carrier: Carrier, unread: Container[int] = ()) -> None:
        self._carrier = carrier
        self._unread = unread
        self._reader: LogReader | None = None

    def __iter__(self) -> Iterator[Event]:
        unread = self._unread
        with self._carrier.open() as file:
            self._reader = reader = LogReader(
                self._carrier.name, file, on_damage="report", sink=lambda _: None
            )
            yield from read_events(reader, on_damage="report", sink=lambda _: None, unread=unread)

    @property
    def offset(self) -> int | None:
        """Where the next event begins that was not read, None where it is in no file of events."""
        reader = self._reader
        return None if reader is None or not reader.in_file else reader.offset

    @property
    def checksummed(self) -> bool:
        """Whether the events that come have checksums."""
        return self._reader is not None and self._reader.format.checksummed(EventType.XID_EVENT)

    def ahead(self, size: int) -> bytes:
        """The bytes from :attr:`offset` on, fewer at the end."""
        return b"" if self._reader is None else self._reader.ahead(size)

    def pass_over(self, size: int) -> None:
        """Resume after whole events of so many bytes, which :meth:`ahead` has shown."""
        if self._reader is not None:
            self._reader.pass_over(size)


def field_bytes(log: Streams, carrier: Carrier, pos: int, inner: int | None) -> dict[str, str]:
    """The bytes of an event's fields as ``"0x…"`` by name; the whole event's under ``""``.

    Of fields with the same name the first counts. UsageError: no event at ``pos``.
    """
    from binlogkit.log import Log

    found: dict[str, str] = {}
    whole = []
    place = pos if inner is None else (pos, inner)
    for record in Log([carrier], log.options).explain(place).records():
        if isinstance(record["raw"], str):
            found.setdefault(str(record["field"]), record["raw"])
            whole.append(record["raw"][2:])
    return {**found, "": "0x" + "".join(whole)}
