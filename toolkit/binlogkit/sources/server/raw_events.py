"""The events of a dump as the rooms above take them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace

from binlogkit.constants import CHECKSUM_LENGTH
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
        end = len(item.data) - (CHECKSUM_LENGTH if checksummed else 0)
        file, version = shown(item.file), item.format.version
        yield RawEvent.framed(file, item.pos, header, item.data, end, item.checksum, version)
