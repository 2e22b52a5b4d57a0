"""Whether four times the input takes about four times as long, whatever a log is made of.

`python tests/benchmarks/growth.py [CASE …]` prints each case's CPU seconds for an input and for
four times as much, and the factor between them: 4 is linear, 16 quadratic. The best of some tries
counts, as other processes disturb the clock. Status 1 where a factor is over the limit.
"""

from __future__ import annotations

import struct
import sys
import time
import zlib
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from itertools import product
from pathlib import Path
from random import Random
from typing import Any

import zstandard

sys.path.insert(0, str(Path(__file__).parents[2]))

import binlogkit as bk
from binlogkit._kernel.json_binary import InvalidJson, to_text
from binlogkit._kernel.native.index import Index
from binlogkit._kernel.native.scan import Scanner
from binlogkit.analyses.conformance import parse_decoded
from binlogkit.errors import SchemaError
from binlogkit.events.gtid_set import GtidSet
from binlogkit.rows.ddl.dump import load_schema
from binlogkit.rows.ddl.scan import ScriptStatements, leading_words, plain
from binlogkit.rows.ddl.session import DEFAULT_MODE, SqlMode
from binlogkit.rows.ddl.written import written_tables
from tests._kernel import json_documents
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
PAYLOAD = 40
HEADER_FIELDS = struct.Struct("<IBIIIH")
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


def columns(count: int) -> Iterator[tuple[int, bytes]]:
    """One row of many NULLs."""
    every = b"\xff" * (count // 8)
    yield TABLE_MAP, table_map(1, types=b"\3" * count)
    yield WRITE_ROWS, (1).to_bytes(6, "little") + b"\1\0\2\0" + packed(count) + every * 2


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


def unpacked(count: int) -> Iterator[tuple[int, bytes]]:
    """A payload of some hundred bytes with events that Python reads."""
    head = HEADER_FIELDS.pack(0, 99, 1, HEADER, 0, 0)
    packed = zstandard.compress(head * count)
    yield PAYLOAD, b"\2\1\0\1\4\xfd" + len(packed).to_bytes(3, "little") + b"\0" + packed


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


def state(data: bytes) -> None:
    bk.open(data).state("d.t")


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
    with suppress(InvalidJson):
        to_text(data)


def crafted_headers(count: int) -> bytes:
    """Headers at their right places that all claim to reach to the same end, with no checksum."""
    log = log_of([])
    at = len(log) + 1
    end = at + HEADER * count
    claimed = (HEADER_FIELDS.pack(0, 30, 1, end - pos, end, 0) for pos in range(at, end, HEADER))
    return log + b"\xff" + b"".join(claimed) + b"\xff" * 9


def many_damages(count: int) -> bytes:
    """Intact events, each after a header that claims 100,000 bytes, at a place not its own."""
    out = bytearray(log_of([]))
    for _ in range(count):
        pos = len(out)
        out += HEADER_FIELDS.pack(0, 30, 1, 100_000, pos + 99_999, 0) + b"\x5a" * 3
        pos = len(out)
        event = HEADER_FIELDS.pack(0, XID, 1, HEADER + 12, pos + HEADER + 12, 0) + bytes(8)
        out += event + zlib.crc32(event).to_bytes(4, "little")
    return bytes(out) + Random(2).randbytes(110_000)


def colliding(count: int) -> bytes:
    """Table maps that differ in pairs of words whose differences a plain product keeps.

    A difference in the highest bit of a word stays one in any product with an odd number.
    """
    top, half = 1 << 63, 1 << 31
    pairs = [(bytes(16), top.to_bytes(8, "little") + (top | half).to_bytes(8, "little"))]
    bodies = product(*(pairs * (count.bit_length() - 1)))
    return b"".join(
        HEADER_FIELDS.pack(0, TABLE_MAP, 0, HEADER + len(body), 0, 0) + body
        for body in (i.to_bytes(6, "little") + b"".join(words) for i, words in enumerate(bodies))
    )


def scan_maps(data: bytes) -> None:
    scanner = Scanner()
    scanner.checksums = scanner.positions = False
    scanner.scan(Index(), data, 0, len(data), 4)


def split_text(text: str) -> None:
    """Whatever reads a statement's text."""
    for mode in (DEFAULT_MODE, SqlMode.NO_BACKSLASH_ESCAPES, SqlMode.ANSI_QUOTES):
        with suppress(SchemaError):
            plain(text, mode)
        list(ScriptStatements(text, mode))
        leading_words(text, 4, mode)


def repeated(before: str, unit: str) -> Callable[[int], str]:
    return lambda count: before + unit * (count // len(unit))


def dumped(count: int) -> str:
    row = "(1,'some text with \\'quotes\\' and ; signs',NULL,_binary '\\0\\0',0x0011),"
    return "CREATE TABLE d.t (a INT);\n" + f"INSERT INTO t VALUES {row * 200}(2);\n" * count


def long_values(count: int) -> list[str]:
    rows = ",".join(f"({i},'{'x' * 50}')" for i in range(count))
    image = "'" + "y" * 80 * count + "'"
    return [
        f"INSERT INTO t VALUES {rows}",
        f"UPDATE t SET a = {image}, b = {image} WHERE c = 1",
        f"UPDATE t JOIN u SET t.a = {image}, u.b = 1",
    ]


HOSTILE_TEXT = [
    "'" * 3, "/*", "`a", "\\'", "-", "/*!", "-- \n", "''", "*/", "'a'", "'\\'", '"\\', "'a", "\"'`",
    "'" + "''" * 101 + "' ",
]  # fmt: skip


CASES: dict[str, tuple[Callable[[int], Any], Callable[[Any], object], int]] = {
    "tiny events": (logged(lambda n: [(STOP, b"")] * n), drain("event_records"), 1500),
    "distinct tables, rows": (logged(each_table), drain("row_records"), 150),
    "distinct tables, batches": (logged(each_table), drain("batches"), 150),
    "columns, state": (logged(columns), state, 512),
    "versions of one table": (logged(versions), drain("row_records"), 500),
    "children renamed": (logged(children), drain("row_records"), 250),
    "databases dropped": (logged(databases), drain("row_records"), 300),
    "gtid intervals": (logged(gtids), drain("event_records"), 10_000),
    "gtid continuity": (logged(gtids), audit, 4_000),
    "gtid difference": (subtracted, lambda pair: pair[0].subtract(pair[1]), 20_000),
    "load data files": (logged(blocks), drain("event_records"), 1500),
    "events of a payload": (logged(unpacked), drain("event_records"), 3000),
    "headers that claim the rest": (claims, drain("event_records"), 20_000),
    "wrong checksums": (wrong, drain("event_records"), 1000),
    "junk, checksums": (lambda n: junk(n, checksums=True), drain("event_records"), 1 << 20),
    "junk, none": (lambda n: junk(n, checksums=False), drain("event_records"), 1 << 20),
    "zeros": (lambda n: junk(0, checksums=True) + bytes(n), drain("event_records"), 1 << 22),
    "shared JSON": (shared, refused, 20_000),
    "mysqlbinlog's text": (
        printed,
        lambda lines: list(parse_decoded(lines, "mysqlbinlog").events or ()),
        20_000,
    ),
    "crafted headers": (crafted_headers, drain("event_records"), 20_000),
    "many damages": (many_damages, drain("event_records"), 500),
    "table maps that collide": (colliding, scan_maps, 1 << 14),
    "a JSON document": (lambda n: json_documents.write(["abc"] * n), to_text, 15_000),
    "a dump's data": (dumped, load_schema, 60),
    "long values": (
        long_values,
        lambda statements: [written_tables(sql, "d") for sql in statements],
        25_000,
    ),
    **{
        f"text of {before + unit[:10]!r}": (repeated(before, unit), split_text, 60_000)
        for unit in HOSTILE_TEXT
        for before in ("", "'", '"')
    },
}


def seconds(call: Callable[[Any], object], given: Any) -> float:
    began = time.process_time()
    call(given)
    return time.process_time() - began


def growth(name: str) -> tuple[float, float]:
    """The CPU seconds that a case takes, and four times the case: the try of the least factor."""
    make, call, count = CASES[name]
    small, large = make(count), make(4 * count)
    seconds(call, small)  # what is loaded once
    tries = []
    for _ in range(AGAIN):
        tries.append((max(seconds(call, small), 0.005), seconds(call, large)))
        if tries[-1][1] < MOST * tries[-1][0]:
            break
    return min(tries, key=lambda pair: pair[1] / pair[0])


def main(names: list[str]) -> int:
    over = 0
    for name in names or CASES:
        small, large = growth(name)
        over += large >= MOST * small
        print(f"{name:32} {small:8.3f} {large:8.3f} {large / small:6.1f}", flush=True)
    return int(over > 0)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
