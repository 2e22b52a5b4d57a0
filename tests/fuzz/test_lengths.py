"""Lengths and counts are claims: at their greatest they make no parser allocate.

For every event type of the logs here: each run of 4 bytes set to its greatest value, in turn, and
each byte to a packed integer of 8, so that every length and count is among them, and the memory
measured. ``BINLOGKIT_FUZZ_FULL=1``: runs of 1, 2, 3, 4 and 8 bytes, further into the event.
"""

from __future__ import annotations

import os
import tracemalloc
from collections.abc import Callable, Iterator

import pytest

import binlogkit as bk
from binlogkit.constants import EventType, event_type_name
from tests.fuzz.binlogkit_fuzz import seeds
from tests.fuzz.binlogkit_fuzz.framing import FORMAT_DESCRIPTION, MAGIC, log_of, split
from tests.fuzz.binlogkit_fuzz.invariants import documented

# What reading one small log takes, whatever it claims: the reader's chunk is 1 MiB.
CONSTANT = 8 << 20
FACTOR = 200  # bytes of memory for a byte of the log
FULL = bool(os.environ.get("BINLOGKIT_FUZZ_FULL"))
WIDTHS = (1, 2, 3, 4, 8) if FULL else (4,)
PACKED = (b"\xfe" + b"\xff" * 7 + b"\x7f", b"\xfe" + b"\xff" * 8, b"\xfd\xff\xff\xff")[
    : 3 * FULL or 1
]
LONGEST = 120 if FULL else 48
TYPES = sorted(
    code
    for code in range(64)
    if seeds.events_of(code) and code not in (FORMAT_DESCRIPTION, EventType.START_EVENT_V3)
)


def claims(body: bytes) -> Iterator[bytes]:
    """``body`` with each of its fields at its greatest."""
    for at in range(min(len(body), LONGEST)):
        for width in WIDTHS:
            yield body[:at] + b"\xff" * width + body[at + width :]
        for packed in PACKED:
            yield body[:at] + packed + body[at + 1 :]


def peak(call: Callable[[], object]) -> int:
    """Bytes that ``call`` had at once, over those before it."""
    tracemalloc.start()
    try:
        before = tracemalloc.get_traced_memory()[0]
        call()
        return tracemalloc.get_traced_memory()[1] - before
    finally:
        tracemalloc.stop()


def read_all(data: bytes) -> None:
    def run() -> None:
        log = bk.open(data, on_damage="report")
        for _ in log.event_records():
            pass
        for _ in log.row_records():
            pass

    documented(run)


@pytest.fixture(scope="module", autouse=True)
def _loaded() -> None:
    """What is loaded once is no memory of an input's."""
    read_all(seeds.logs()["8.0-row-full/crash/binlog.000002"])


@pytest.mark.sampled(1, 6)
@pytest.mark.parametrize("code", TYPES, ids=event_type_name)
def test_no_field_of_an_event_allocates(code: int) -> None:
    """The event is the smallest of its type, behind the table maps of its log."""
    part = min(
        (p for p in seeds.events_of(code) if p.body), key=lambda p: len(p.body), default=None
    )
    if part is None:
        return
    maps = [(19, p.body) for p in seeds.events_of(19)[:3]]
    read_all(log_of([*maps, (code, part.body)]))  # what is loaded once is not counted
    for body in claims(part.body):
        data = log_of([*maps, (code, body)])
        taken = peak(lambda data=data: read_all(data))  # type: ignore[misc]
        assert taken < CONSTANT + FACTOR * len(data), body.hex()


@pytest.mark.slow
@pytest.mark.parametrize("name", ["5.7-row-full/shutdown/binlog.000002", "versions"])
def test_no_field_of_a_header_allocates(name: str) -> None:
    """Also of the format description, and of the first event of a v1 and a v3 log."""
    logs = [data for n, data in seeds.logs().items() if n == name]
    if name == "versions":
        start = (4).to_bytes(2, "little") + b"3.23.58".ljust(50, b"\0") + bytes(4)
        for header, version in ((13, 1), (19, 3)):
            body = version.to_bytes(2, "little") + start[2:]
            size = header + len(body)
            head = bytes(4) + b"\1" + bytes(4) + size.to_bytes(4, "little") + bytes(header - 13)
            logs.append(MAGIC + (head + body) * 2)
    for data in logs:
        read_all(data)  # what is loaded once, with damage or without, is not counted
        read_all(MAGIC + next(claims(data[len(MAGIC) :])))
        for changed in claims(data[len(MAGIC) :]):
            taken = peak(lambda changed=changed: read_all(MAGIC + changed))  # type: ignore[misc]
            assert taken < CONSTANT + FACTOR * len(data), changed.hex()


def test_a_size_of_4_gib_reads_no_more_than_there_is() -> None:
    data = seeds.logs()["8.0-row-full/crash/binlog.000002"]
    first = split(data).parts[0]
    at = len(MAGIC) + 19 + len(first.body) + 4
    changed = data[: at + 9] + b"\xff\xff\xff\xff" + data[at + 13 :]
    assert peak(lambda: read_all(changed)) < CONSTANT


def test_a_payload_that_expands_without_end() -> None:
    """300 MiB of zeros take 30 KB: an inner event may not be as large as it likes."""
    import zstandard

    size = 300 << 20
    head = bytes(4) + b"\2" + bytes(4) + size.to_bytes(4, "little") + bytes(6)
    packer = zstandard.ZstdCompressor(3).compressobj()
    packed = packer.compress(head)
    zeros = bytes(1 << 20)
    packed += b"".join(packer.compress(zeros) for _ in range(300)) + packer.flush()
    assert len(packed) < 60_000
    body = b"\2\1\0\1\4\xfd" + len(packed).to_bytes(3, "little") + b"\0" + packed
    log = bk.open(log_of([(40, body)]), on_damage="report")
    taken = peak(lambda: list(log.event_records()))
    assert taken < 16 << 20
    assert "BINLOGKIT_LIMIT_PAYLOAD" in str(log.damages[0])


def zstd_payload(plain: bytes) -> bytes:
    """The body of a payload event of these events."""
    import zstandard

    packed = zstandard.compress(plain)
    return b"\2\1\0\1\4\xfd" + len(packed).to_bytes(3, "little") + b"\0" + packed


def inner(code: int, size: int) -> bytes:
    """An event without a checksum, of zero bytes."""
    header = bytes(4) + bytes([code, 1, 0, 0, 0]) + size.to_bytes(4, "little") + bytes(6)
    return header + bytes(size - len(header))


@pytest.mark.parametrize("code", [EventType.ROWS_QUERY_LOG_EVENT, 99])
def test_an_event_of_a_payload_is_held_a_few_times(code: int) -> None:
    """Some kB that stand for an event of 24 MiB: what no record shows of it costs little."""
    size = 24 << 20
    data = log_of([(40, zstd_payload(inner(code, size)))])
    assert len(data) < 10_000
    assert peak(lambda: bk.open(data).verify()) < 5 * size


@pytest.mark.slow
def test_events_of_a_payload_are_not_held_together() -> None:
    """Half a kB that stands for 50,000 events which Python reads."""
    data = log_of([(40, zstd_payload(inner(99, 20) * 50_000))])
    assert len(data) < 1000
    assert peak(lambda: bk.open(data).verify()) < 24 << 20
