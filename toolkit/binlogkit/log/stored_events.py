"""A log's events with their bytes, for the judge (analyses/conformance)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from binlogkit.events.base import Event
from binlogkit.events.reader import read_events
from binlogkit.sources.log_reader import LogReader

if TYPE_CHECKING:
    from binlogkit.sources.carriers import Carrier


def stored_events(carrier: Carrier) -> Iterator[Event]:
    """The events of one log, those inside payloads too; damage is passed over: it is told of by
    whatever else reads the log, and its rows are judged by nobody."""

    def ignore(_: object) -> None:
        """Damage is no concern here."""

    with carrier.open() as file:
        reader = LogReader(carrier.name, file, on_damage="report", sink=ignore)
        yield from read_events(reader, on_damage="report", sink=ignore)
