"""Four times the input takes about four times as long, whatever a log is made of."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator
from random import Random
from typing import Any

import pytest

import binlogkit as bk
from binlogkit._kernel.json_binary import to_text
from binlogkit.analyses.conformance import parse_decoded
from binlogkit.events.gtid_set import GtidSet
from tests.fuzz.binlogkit_fuzz.framing import (
    HEADER,
    Pieces,
    format_description,
    join,
    log_of,
)

# Time may grow so much for four times the input: 4 is linear, 16 quadratic.
MOST = 9.0
AGAIN = 3
QUERY, STOP, XID, TABLE_MAP, WRITE_ROWS, PREVIOUS_GTIDS, BEGIN_LOAD = 2, 3, 16, 19, 30, 35, 17
Events = Iterable[tuple[int, bytes]]


def packed(number: int) -> bytes:
    return bytes([number]) if number < 251 else b"\xfc" + number.to_bytes(2, "little")


def table_map(number: int, table: bytes = b"t", types: bytes = b"\3", meta: bytes = b"") -> bytes:
    names = b"\1d\0" + bytes([len(table)]) + table + b"\0"
    columns = packed(len(types)) + types + packed(len(meta)) + meta + bytes((len(types) + 7) // 8)
    return number.to_bytes(6, "little") + b"\1\0" + names + columns


def write_rows(number: int, count: int) -> bytes:
    return number.to_bytes(6, "little") + b"\1\0\2\0" + b"\1\xff" + b"\0\1\0\0\0" * count


def query(sql: str) -> bytes:
    return bytes(8) + b"\1" + bytes(4) + b"d\0" + sql.encode()


def interval(start: int) -> bytes:
    return start.to_bytes(8, "little") + (start + 1).to_bytes(8, "little")


def each_table(count: int) -> Iterator[tuple[int, bytes]]:
    for i in range(count):
        yield TABLE_MAP, table_map(i, b"t%d" % i)
        yield WRITE_ROWS, write_rows(i, 1)


def versions(count: int) -> Iterator[tuple[int, bytes]]:
    for i in range(count):
        yield TABLE_MAP, table_map(1, types=b"\x0f", meta=(i + 1).to_bytes(2, "little"))


def children(count: int) -> Iterator[tuple[int, bytes]]:
    for i in range(count):
        foreign = f"FOREIGN KEY (a) REFERENCES p{i} (a)"
        yield QUERY, query(f"CREATE TABLE t{i} (a INT, {foreign})")
    for i in range(count):
        yield QUERY, query(f"RENAME TABLE p{i} TO q{i}")


def databases(count: int) -> Iterator[tuple[int, bytes]]:
    for i in range(count):
        yield QUERY, query(f"CREATE TABLE x{i}.t (a INT)")
    for i in range(count):
        yield QUERY, query(f"DROP DATABASE x{i}")


def gtids(count: int) -> Iterator[tuple[int, bytes]]:
    head = (1).to_bytes(8, "little") + bytes(range(16)) + count.to_bytes(8, "little")
    yield PREVIOUS_GTIDS, head + b"".join(interval(2 * i + 1) for i in range(count))


def blocks(count: int) -> Iterator[tuple[int, bytes]]:
    for i in range(count):
        yield BEGIN_LOAD, i.to_bytes(4, "little") + b"x"


def claims(count: int) -> bytes:
    """Headers that each claim all that is left, and say so in ``log_pos`` as well."""
    out = bytearray(join(Pieces([format_description()])))
    total = len(out) + HEADER * count
    for _ in range(count):
        size = (total - len(out)).to_bytes(4, "little")
        out += bytes(4) + b"\2" + bytes(4) + size + total.to_bytes(4, "little") + bytes(2)
    return bytes(out)


def wrong(count: int) -> bytes:
    """Every checksum but the first is wrong."""
    data = bytearray(log_of([(XID, bytes(8))] * count))
    for i in range(count):
        data[len(data) - 31 * (i + 1) + 20] ^= 1
    return bytes(data)


def junk(count: int, *, checksums: bool) -> bytes:
    start = [format_description(checksums=checksums)]
    return join(Pieces(start, HEADER, checksums)) + Random(1).randbytes(count)


def logged(events: Callable[[int], Events]) -> Callable[[int], bytes]:
    return lambda count: log_of(list(events(count)))


def drain(name: str) -> Callable[[bytes], None]:
    def read(data: bytes) -> None:
        for _ in getattr(bk.open(data, on_damage="report"), name)():
            pass

    return read


def audit(data: bytes) -> None:
    bk.open([data, data]).audit()


def printed(count: int) -> list[bytes]:
    """mysqlbinlog's text of variables that are held back, and of a statement that looks like it."""
    head = b"#240502 10:02:06 server id 1  end_log_pos %d \t"
    lines: list[bytes] = []
    for i in range(count):
        lines += [b"# at %d\n" % (i + 4), head % (i + 5) + b"Query\tthread_id=1\texec_time=0\n"]
    return lines


def subtracted(count: int) -> tuple[GtidSet, GtidSet]:
    sid = "00010203-0405-0607-0809-0a0b0c0d0e0f"
    one = GtidSet({sid: [(3 * i + 1, 3 * i + 2) for i in range(count)]})
    return one, GtidSet({sid: [(3 * i + 2, 3 * i + 3) for i in range(count)]})


def shared(count: int) -> bytes:
    """A JSON array whose entries all point at one string."""
    text = b"\x7f" + b"x" * 127
    size = 8 + 5 * count + len(text)
    entry = b"\x0c" + (8 + 5 * count).to_bytes(4, "little")
    return b"\3" + count.to_bytes(4, "little") + size.to_bytes(4, "little") + entry * count + text


def refused(data: bytes) -> None:
    with pytest.raises(ValueError, match="proportion"):
        to_text(data)


CASES: dict[str, tuple[Callable[[int], Any], Callable[[Any], object], int]] = {
    "tiny events": (logged(lambda n: [(STOP, b"")] * n), drain("event_records"), 1500),
    "distinct tables, rows": (logged(each_table), drain("row_records"), 150),
    "distinct tables, batches": (logged(each_table), drain("batches"), 150),
    "versions of one table": (logged(versions), drain("row_records"), 500),
    "children renamed": (logged(children), drain("row_records"), 250),
    "databases dropped": (logged(databases), drain("row_records"), 300),
    "gtid intervals": (logged(gtids), drain("event_records"), 10_000),
    "gtid continuity": (logged(gtids), audit, 4_000),
    "gtid difference": (subtracted, lambda pair: pair[0].subtract(pair[1]), 20_000),
    "load data files": (logged(blocks), drain("event_records"), 1500),
    "headers that claim the rest": (claims, drain("event_records"), 20_000),
    "wrong checksums": (wrong, drain("event_records"), 1000),
    "junk, checksums": (lambda n: junk(n, checksums=True), drain("event_records"), 1 << 20),
    "junk, none": (lambda n: junk(n, checksums=False), drain("event_records"), 1 << 20),
    "zeros": (lambda n: junk(0, checksums=True) + bytes(n), drain("event_records"), 1 << 22),
    "shared JSON": (shared, refused, 20_000),
    "mysqlbinlog's text": (
        printed,
        lambda lines: list(parse_decoded(lines, "mysqlbinlog").events or ()),
        500,
    ),
}


def seconds(call: Callable[[Any], object], given: Any) -> float:
    began = time.process_time()
    call(given)
    return time.process_time() - began


@pytest.mark.slow
@pytest.mark.parametrize("name", CASES)
def test_time_is_linear(name: str) -> None:
    """The best of some tries, as other processes disturb the clock."""
    make, call, count = CASES[name]
    small, large = make(count), make(4 * count)
    seconds(call, small)  # what is loaded once
    ratios = []
    for _ in range(AGAIN):
        ratios.append(seconds(call, large) / max(seconds(call, small), 0.005))
        if ratios[-1] < MOST:
            return
    raise AssertionError(f"four times the input took {ratios} times as long")


def test_events_are_counted() -> None:
    """The cases are what they say: nothing ends them early."""
    assert len(list(bk.open(logged(each_table)(50)).row_records())) == 50
    assert len(list(bk.open(logged(blocks)(50)).event_records())) == 51
    log = bk.open(wrong(50), on_damage="report")
    assert len(list(log.event_records())) == 51 and len(log.damages) == 50
