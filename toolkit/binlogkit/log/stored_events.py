"""A log's events and fields with their bytes, for the judge (analyses/conformance)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from binlogkit.events.base import Event
from binlogkit.events.reader import read_events
from binlogkit.sources.log_reader import LogReader

if TYPE_CHECKING:
    from binlogkit.log.streams import Streams
    from binlogkit.sources.carriers import Carrier


def stored_events(carrier: Carrier) -> Iterator[Event]:
    """The events of one log, those inside payloads too; damage is passed over: it is told of by
    whatever else reads the log, and its rows are judged by nobody."""

    def ignore(_: object) -> None:
        """Damage is no concern here."""

    with carrier.open() as file:
        reader = LogReader(carrier.name, file, on_damage="report", sink=ignore)
        yield from read_events(reader, on_damage="report", sink=ignore)


def field_bytes(log: Streams, carrier: Carrier, pos: int, inner: int | None) -> dict[str, str]:
    """The bytes of an event's fields as ``"0x…"`` by their names, the whole event's by ``""``.

    Of fields of one name the first counts. UsageError: there is no event at ``pos``.
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
