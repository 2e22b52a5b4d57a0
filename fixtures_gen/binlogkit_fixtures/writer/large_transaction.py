"""Writes LARGE_TRANSACTION_HEADER_EVENT (``binlogkit.events.control``)."""

from __future__ import annotations

from binlogkit.constants import EventType
from binlogkit.events.control import LargeTransactionHeader
from binlogkit_fixtures.writer.base import Target, writes
from binlogkit_fixtures.writer.packer import Packer

__all__: list[str] = []


@writes(LargeTransactionHeader, EventType.LARGE_TRANSACTION_HEADER_EVENT)
def _large_transaction(packer: Packer, body: LargeTransactionHeader, target: Target) -> None:
    packer.uint(1, body.version, "version")
    packer.uint(8, body.terminating_event_offset, "terminating_event_offset")
    packer.uint(1, body.terminating_event_code, "terminating_event_type")
    packer.raw(body.padding)
