"""Targets from end to end: the bytes of a log through the front door."""

from __future__ import annotations

import zlib
from collections.abc import Callable
from typing import Any

import binlogkit as bk
from binlogkit.reports.sql import script
from tests.fuzz.binlogkit_fuzz.invariants import check_record, documented

__all__ = ["END_TARGETS"]


def _open(data: bytes) -> Any:
    """The log, in either mode, by a bit that no mutator steers."""
    return bk.open(data, on_damage="report" if zlib.crc32(data) & 1 else "stop")


def _records(call: Callable[[Any], Any], data: bytes) -> None:
    def run() -> None:
        for record in call(_open(data)):
            check_record(record)

    documented(run)


def events(data: bytes) -> None:
    _records(lambda log: log.event_records(), data)


def rows(data: bytes) -> None:
    _records(lambda log: log.row_records(), data)


def transactions(data: bytes) -> None:
    _records(lambda log: log.transaction_records(), data)


def frames(data: bytes) -> None:
    """Arrow tables of everything: what no record shows must fit its column."""

    def run() -> None:
        log = _open(data)
        for frame in (log.events, log.transactions, log.statements, log.boundaries, log.tables):
            frame(engine="pyarrow")
        for name in log.table_names():
            log.rows(name, engine="pyarrow")

    documented(run)


def audit(data: bytes) -> None:
    def run() -> None:
        for record in _open(data).audit().records():
            assert record

    documented(run)


def undo(data: bytes) -> None:
    def run() -> None:
        log = _open(data)
        for plans in (log.undo(), log.redo()):
            text = "".join(script(plans))
            assert not any(ord(c) < 32 and c not in "\n\t" for c in text)

    documented(run)


def state(data: bytes) -> None:
    """Each table at the log's end, as the command writes it."""

    def run() -> None:
        log = _open(data)
        for found in log.states(log.table_names()):
            for record in found.records():
                check_record(record)

    documented(run)


#: By name, with the number of inputs in the quick tests.
END_TARGETS: dict[str, tuple[Callable[[bytes], None], int]] = {
    "log_events": (events, 400),
    "log_rows": (rows, 250),
    "log_transactions": (transactions, 250),
    "log_frames": (frames, 60),
    "log_audit": (audit, 25),
    "log_undo": (undo, 60),
    "log_state": (state, 60),
}
