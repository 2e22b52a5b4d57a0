"""The events of a dump as the rooms above take them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace

from binlogkit.constants import CHECKSUM_LENGTH, HEADER_LENGTH
from binlogkit.sources.carriers import shown
from binlogkit.sources.raw import RawEvent
from binlogkit.sources.server.stream import Item, StreamEvent


def raw_events(stream: Iterable[Item]) -> Iterator[RawEvent]:
    """The events of a dump as the rooms above take them.

    What is made up is needed to read what follows; its ``log_pos`` is 0.
    """
    for item in stream:
        if not isinstance(item, StreamEvent):
            continue
        header = replace(item.header, log_pos=0) if item.made_up else item.header
        checksummed = item.format.checksummed(header.type_code)
        yield RawEvent(
            file=shown(item.file),
            pos=item.pos,
            header=header,
            body=item.body,
            checksum=item.checksum,
            version=item.format.version,
            extra_header=item.data[HEADER_LENGTH : header.length],
            stored_checksum=item.data[-CHECKSUM_LENGTH:] if checksummed else b"",
        )
