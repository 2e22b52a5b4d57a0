"""Events of one log into bytes, each for the format that the start event before it announces."""

from __future__ import annotations

from dataclasses import replace

from binlogkit.events.base import Event, ParseContext
from binlogkit.events.format_description import FormatDescription, StartV3
from binlogkit.sources.raw import EventHeader
from binlogkit_fixtures.writer import (  # noqa: F401 - importing a family registers its writers
    control,
    early,
    group,
    gtid,
    large_transaction,
    load,
    payload,
    query,
    rows,
    table_map,
    variables,
)
from binlogkit_fixtures.writer.base import Target, write_body
from binlogkit_fixtures.writer.errors import UnwritableError
from binlogkit_fixtures.writer.format_description import context_after
from binlogkit_fixtures.writer.header import write_checksum, write_header

__all__ = ["EventWriter"]


class EventWriter:
    """Writes the events of one log, in order.

    ``context``: the layout that holds now; it follows the start events that are written.
    """

    def __init__(self, context: ParseContext | None = None) -> None:
        self.context = context or ParseContext()

    def body(self, event: Event) -> bytes:
        """Post-header and body alone; start events are obeyed from here on."""
        context = self.context
        if isinstance(event.body, StartV3 | FormatDescription):
            context = context_after(event)
        data = write_body(
            event.body,
            Target(event.raw.header.type_code, context),
            unread=event.unread,
            unread_post_header=event.unread_post_header,
        )
        self.context = context
        return data

    def event(self, event: Event) -> bytes:
        """The whole event: header, body, checksum.

        An intact checksum is computed, a bad one is written as read. :class:`UnwritableError`:
        the header's size is not the event's.
        """
        raw = event.raw
        body = self.body(event)
        size = raw.header.length + len(body) + len(raw.stored_checksum)
        if raw.header.size != size:
            raise UnwritableError(
                event.type, "event_size", f"the header says {raw.header.size}, it has {size}"
            )
        data = write_header(self._stored_header(event), raw.extra_header) + body
        if not raw.stored_checksum:
            return data
        bad = raw.checksum == "bad"
        return data + (raw.stored_checksum if bad else write_checksum(data, raw.header.flags))

    def _stored_header(self, event: Event) -> EventHeader:
        """The header with the type's number in this log (``binlogkit.events.early``)."""
        header = event.raw.header
        numbers = {new: old for old, new in self.context.final_codes.items()}
        return replace(header, type_code=numbers.get(header.type_code, header.type_code))
