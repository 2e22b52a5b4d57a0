"""Targets from end to end: the bytes of a log through the front door."""

from __future__ import annotations

import re
import zlib
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import binlogkit as bk
from binlogkit.reports.sql import script
from tests.fuzz.binlogkit_fuzz.invariants import check_record, documented

__all__ = ["END_TARGETS", "audit_together"]


_CONTROL = re.compile(r"[\0-\x08\x0b-\x1f]")


def _open(data: bytes, threads: int | None = None) -> Any:
    """The log, in either mode, by a bit that no mutator steers."""
    return bk.open(data, on_damage="report" if zlib.crc32(data) & 1 else "stop", threads=threads)


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


def audit_together(logs: Sequence[bytes]) -> None:
    """Logs as a user has many: of one series where their GTIDs and servers say so."""
    bits = zlib.crc32(b"".join(logs))

    def run() -> list[dict[str, Any]]:
        log = bk.open(
            list(logs),
            on_damage="report" if bits & 3 else "stop",
            duplicates="keep" if bits & 4 else "drop",
        )
        found = list(log.audit().records())
        if log.damages:
            assert any(f["section"] == "integrity" and f["grade"] == "damage" for f in found)
        return found

    documented(run)


def undo(data: bytes) -> None:
    def run(threads: int | None = None) -> str:
        log = _open(data, threads)
        texts = []
        for plans in (log.undo(), log.redo()):
            texts.append("".join(script(plans)))
            assert _CONTROL.search(texts[-1]) is None
        return "".join(texts)

    _with_threads(run, data)


def state(data: bytes) -> None:
    """Each table at the log's end, as the command writes it: those named, or all that it names."""
    named = zlib.crc32(data) & 2

    def run(threads: int | None = None) -> list[dict[str, Any]]:
        log = _open(data, threads)
        records = []
        for found in log.states(log.table_names() if named else None):
            for record in found.records():
                check_record(record)
                records.append(record)
        return records

    _with_threads(run, data)


def _with_threads(run: Callable[..., Any], data: bytes) -> None:
    """What an answer is, and of one input in 64 that it is the same with one thread and four."""
    found = documented(run)
    if zlib.crc32(data) >> 8 & 63 == 0:
        others = [documented(partial(run, threads)) for threads in (1, 4)]
        assert all(repr(found) == repr(other) for other in others)


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
