"""Every family of parsers as a target: a function of bytes, and seeds for it.

An input of an event family is ``which:1 context:1 body``: the type by its place among the
family's, the server's version and the reader's mode by the bits of the second byte.
"""

from __future__ import annotations

import io
import zlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cache, partial

from binlogkit.errors import DamageError
from binlogkit.events.base import ParseContext
from binlogkit.events.reader import read_events
from binlogkit.frames.event_records import event_fields
from binlogkit.sources.log_reader import LogReader
from binlogkit.sources.raw import EventHeader, RawEvent
from tests.fuzz.binlogkit_fuzz import doors, ends, seeds
from tests.fuzz.binlogkit_fuzz.framing import format_description
from tests.fuzz.binlogkit_fuzz.invariants import check_record, documented, is_safe
from tests.fuzz.binlogkit_fuzz.values import VALUE_TARGETS

__all__ = ["TARGETS", "Target"]


@dataclass(frozen=True)
class Target:
    """``run`` takes one input; ``framed``: inputs are whole logs, and the mutator knows framing;
    ``slice``: inputs in the quick tests; ``together``: takes many inputs in one call, where most of
    what one takes is the same for all."""

    name: str
    run: Callable[[bytes], None]
    seeds: Callable[[], Iterator[bytes]]
    framed: bool = False
    slice: int = 1500
    longest: int = 2048
    together: Callable[[Sequence[bytes]], None] | None = None


FAMILIES: dict[str, tuple[int, ...]] = {
    "query": (2, 18, 29),
    "table_map": (19,),
    "rows": (20, 21, 22, 23, 24, 25, 30, 31, 32, 39),
    "gtid": (33, 34, 42, 35),
    "payload": (40,),
    "format_description": (15, 1),
    "load": (6, 8, 9, 10, 11, 12, 17),
    "control": (3, 4, 7, 16, 26, 27, 28, 38, 41),
    "group": (36, 37),
    "variables": (5, 13, 14),
    "unknown": (0, 43, 99, 160, 161, 162, 163, 164, 255),
}
VERSIONS = (
    "8.0.31", "5.7.22-log", "5.1.4-beta", "4.1.22", "9.6.0", "5.1.3-a_drop5p1", "10.6.4-MariaDB",
    "3.23.58",
)  # fmt: skip
_FILE = "fuzz"


def _raw(code: int, body: bytes, version: int = 4, checksum: str = "ok") -> RawEvent:
    header = EventHeader(1, code, 1, 19 + len(body) + 4, 4 + 19 + len(body) + 4, 0)
    return RawEvent(_FILE, 4, header, body, checksum, version=version)


@cache
def _context(server: str) -> ParseContext:
    """What the format description of a server says."""
    lengths = bytes([6] * 30) if server.startswith("5.1") else None
    context = ParseContext()
    opening = _raw(15, format_description(server, post_header=lengths).body)
    assert len(list(read_events([opening], context=context))) == 1
    return context


def _told(error: DamageError) -> None:
    assert is_safe(str(error))


def _family(codes: tuple[int, ...], data: bytes) -> None:
    if len(data) < 2:
        return
    code, bits, body = codes[data[0] % len(codes)], data[1], data[2:]
    server = VERSIONS[bits & 7]
    version = {"4.1.22": 3, "3.23.58": 1}.get(server, 4)
    mode = "report" if bits & 8 else "stop"
    raw = _raw(code, body, version, "none" if bits & 16 else "ok")

    def run() -> None:
        context = replace(_context(server))
        for event in read_events([raw], on_damage=mode, sink=_told, context=context):
            if zlib.crc32(body) & 3 == 0:  # as long as the parser itself takes
                check_record({"type": event.type, "fields": event_fields(event)})

    outcome = documented(run)
    assert mode == "stop" or outcome is None, f"report mode raised {outcome!r}"


def _family_seeds(codes: tuple[int, ...]) -> Iterator[bytes]:
    for i, code in enumerate(codes):
        for part in seeds.events_of(code):
            yield bytes([i, 8]) + part.body
        yield bytes([i, 0]) + bytes(24)


def _framing(data: bytes) -> None:
    """Both modes of the framing reader; a report raises no damage, positions never go back."""
    documented(lambda: list(LogReader(_FILE, io.BytesIO(data))))
    told: list[DamageError] = []
    reader = LogReader(_FILE, io.BytesIO(data), on_damage="report", sink=told.append)
    last = 0
    for raw in _unless_input(reader):
        assert raw.pos >= last and raw.end_pos <= len(data)
        last = raw.end_pos
    for error in told:
        assert 0 <= error.offset <= len(data)


def _unless_input(reader: LogReader) -> Iterator[RawEvent]:
    from binlogkit.errors import InputError

    with suppress(InputError):
        yield from reader


_BY_FAMILY = [
    Target(name, partial(_family, codes), partial(_family_seeds, codes))
    for name, codes in FAMILIES.items()
]
_ENDS = [
    Target(name, run, seeds.small_logs, framed=True, slice=count, longest=4096)
    for name, (run, count) in ends.END_TARGETS.items()
]
_ENDS += [
    Target(name, run, seeds.small_logs, framed=True, slice=count, longest=4096)
    for name, run, count in (
        ("log_explain", doors.explained, 60),
        ("log_verify", doors.verified, 120),
    )
]
_TOGETHER = {"log_audit": ends.audit_together}
_ENDS = [replace(target, together=_TOGETHER.get(target.name)) for target in _ENDS]
_BESIDE = {**VALUE_TARGETS, **doors.DOOR_TARGETS}
_VALUES = [Target(name, run, inputs) for name, (run, inputs) in _BESIDE.items()]
_SLOWER = {"texts": 300, "compressed": 300, "packets": 300, "encryption": 300}
_AS_MOST_SEEDS = {"ddl": 1024, "images": 1024, "texts": 1024, "compressed": 1024, "packets": 1024}
_VALUES = [
    replace(t, slice=_SLOWER.get(t.name, t.slice), longest=_AS_MOST_SEEDS.get(t.name, 4096))
    for t in _VALUES
]

TARGETS: dict[str, Target] = {
    target.name: target
    for target in (
        Target("framing", _framing, seeds.small_logs, framed=True),
        *_BY_FAMILY,
        *_VALUES,
        *_ENDS,
    )
}
