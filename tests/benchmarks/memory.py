"""Peak memory of `log.batches()` over logs that are made to need much: each in its own process.

``python tests/benchmarks/memory.py [--scale 1.0] [--threads 1,4] [CASE …]`` writes each log in some
seconds (with scale 1 up to 3 GB in the temporary folder, one at a time, deleted behind it) and
prints a table: the log's size, what was read, the peak of the process, and how much of it is
neither the interpreter's own nor the largest event's. docs/performance.md says what is promised.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import BinaryIO

import zstandard

from binlogkit_fixtures.writer import LogWriter

MB = 1 << 20
_QUERY, _XID, _TABLE_MAP, _ROWS_QUERY, _WRITE, _UPDATE, _PAYLOAD = 2, 16, 19, 29, 30, 31, 40
_LONG, _LONG_BLOB, _VARCHAR = b"\x03", b"\xfc\x04", b"\x0f"
_LIMITS = {"BINLOGKIT_LIMIT_PAYLOAD": str(4 << 30)}  # which these payloads are far beyond
_SHELL = """
import json, resource, sys
import binlogkit as bk
import pyarrow, pandas
def peak():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss >> 10
idle, rows, batches = peak(), 0, 0
for batch in bk.open(sys.argv[1], threads=int(sys.argv[2])).batches():
    rows += batch.batch.num_rows
    batches += 1
print(json.dumps({"idle": idle, "peak": peak(), "rows": rows, "batches": batches}))
"""


class Log:
    """Writes a log of 8.0.31 with checksums, event by event, in bounded memory."""

    def __init__(self, file: BinaryIO) -> None:
        self._file = file
        start = bytes(LogWriter("8.0.31").data)
        file.write(start)
        self.pos = len(start)
        self.largest = 0

    def event(self, code: int, *parts: bytes) -> None:
        """One event, of these parts."""
        size = 19 + sum(map(len, parts)) + 4
        self.pos += size
        head = bytearray(event_head(code, size, self.pos & 0xFFFFFFFF))
        crc = zlib.crc32(head)
        self._file.write(head)
        for part in parts:
            crc = zlib.crc32(part, crc)
            self._file.write(part)
        self._file.write(crc.to_bytes(4, "little"))
        self.largest = max(self.largest, size)

    def begin(self) -> None:
        """BEGIN."""
        self.event(_QUERY, query("BEGIN"))

    def commit(self, xid: int) -> None:
        """The transaction's end."""
        self.event(_XID, xid.to_bytes(8, "little"))


def event_head(code: int, size: int, pos: int) -> bytes:
    """The common header."""
    numbers = ((1_700_000_000, 4), (code, 1), (1, 4), (size, 4), (pos, 4), (0, 2))
    return b"".join(number.to_bytes(width, "little") for number, width in numbers)


def query(text: str) -> bytes:
    """The body of a QUERY_EVENT in the database d."""
    return (7).to_bytes(4, "little") + bytes(4) + b"\1" + bytes(4) + b"d\0" + text.encode()


def packed(number: int) -> bytes:
    """A packed integer."""
    if number <= 250:
        return bytes([number])
    width, mark = (2, 0xFC) if number < 1 << 16 else (3, 0xFD) if number < 1 << 24 else (8, 0xFE)
    return bytes([mark]) + number.to_bytes(width, "little")


def table_map(number: int, name: str, types: bytes, metadata: bytes) -> bytes:
    """The body of a TABLE_MAP_EVENT."""
    text = name.encode()
    nullable = b"\xff" * ((len(types) + 7) // 8)
    return b"".join(
        (
            number.to_bytes(6, "little"), b"\1\0", b"\1d\0", bytes([len(text)]), text, b"\0",
            packed(len(types)), types, packed(len(metadata)), metadata, nullable,
        )
    )  # fmt: skip


def rows_head(number: int, columns: int, end: bool = True, update: bool = False) -> bytes:
    """The body of a rows event up to its rows."""
    bitmap = b"\xff" * ((columns + 7) // 8)
    flags = int(end).to_bytes(2, "little")
    head = number.to_bytes(6, "little") + flags + b"\2\0" + packed(columns)
    return head + bitmap * (1 + update)


def small_row(i: int) -> bytes:
    """A row of an INT and a VARCHAR(64)."""
    text = b"row %d" % i
    return b"\0" + (i & 0x7FFFFFFF).to_bytes(4, "little") + bytes([len(text)]) + text


_SMALL = (_LONG + _VARCHAR, b"\x40\0")


def one_transaction(log: Log, scale: float) -> None:
    """A transaction of 3 GB of row events of 8 KB."""
    log.begin()
    rows = b"".join(small_row(i) for i in range(450))
    head = rows_head(1, 2, end=False)
    while log.pos < 3000 * MB * scale:
        log.event(_TABLE_MAP, table_map(1, "t", *_SMALL))
        for _ in range(64):
            log.event(_WRITE, head, rows)
    log.event(_WRITE, rows_head(1, 2), rows)
    log.commit(1)


def one_row(log: Log, scale: float) -> None:
    """A LONGBLOB of 1 GB, between other rows."""
    blob = bytes(int(1000 * MB * scale))
    for i in range(20):
        log.begin()
        log.event(_TABLE_MAP, table_map(1, "t", _LONG + _LONG_BLOB[:1], _LONG_BLOB[1:]))
        size = len(blob) if i == 10 else 1000
        cell = size.to_bytes(4, "little")
        log.event(_WRITE, rows_head(1, 2), b"\0\1\0\0\0" + cell, blob[:size])
        log.commit(i)


def many_tables(log: Log, scale: float) -> None:
    """10,000 tables of 20 columns, whose rows come in turns."""
    tables = int(10_000 * scale)
    types, row = _LONG * 20, bytes(3) + b"\1\0\0\0" * 20
    for turn in range(20):
        for i in range(tables):
            log.begin()
            log.event(_TABLE_MAP, table_map(i + 1, f"t{i}", types, b""))
            log.event(_WRITE, rows_head(i + 1, 20), row)
            log.commit(turn * tables + i)


def many_maps(log: Log, scale: float) -> None:
    """One table whose map changes 10,000 times, under 10,000 numbers."""
    for i in range(int(10_000 * scale)):
        log.begin()
        columns = 2 + i % 9
        widths = b"".join((1 + (i + k) % 250).to_bytes(2, "little") for k in range(columns))
        log.event(_TABLE_MAP, table_map(i + 1, "t", _VARCHAR * columns, widths))
        row = bytes((columns + 7) // 8) + b"\1x" * columns
        log.event(_WRITE, rows_head(i + 1, columns), row * 50)
        log.commit(i)


def payload(log: Log, scale: float, marks: int = 0) -> None:
    """A payload of some hundred KB that stands for 2 GB; ``marks``: rows in each event of 400 KB
    that do not compress."""
    rows = b"".join(small_row(i % 40) for i in range(30_000))

    def inner() -> Iterator[bytes]:
        for code, body in (
            (_QUERY, query("BEGIN")),
            (_TABLE_MAP, table_map(1, "t", *_SMALL)),
        ):
            yield event_head(code, 19 + len(body), 0) + body
        sent = 0
        while sent < 2000 * MB * scale:
            noise = b"".join(
                b"\0\1\0\0\0\x40" + os.urandom(32).hex().encode() for _ in range(marks)
            )
            body = rows_head(1, 2, end=False) + rows + noise
            yield event_head(_WRITE, 19 + len(body), 0) + body
            sent += len(body)
        body = rows_head(1, 2) + small_row(1)
        yield event_head(_WRITE, 19 + len(body), 0) + body
        yield event_head(_XID, 27, 0) + bytes(8)

    packer = zstandard.ZstdCompressor(level=1).compressobj()
    size, parts = 0, []
    for event in inner():
        size += len(event)
        parts.append(packer.compress(event))
    data = b"".join([*parts, packer.flush()])
    fields = [
        bytes([kind]) + packed(len(value)) + value
        for kind, value in ((2, b"\0"), (3, packed(size)), (1, packed(len(data))))
    ]
    log.event(_PAYLOAD, *fields, b"\0", data)


def hundredfold(log: Log, scale: float) -> None:
    """A payload of some 20 MB that stands for 2 GB."""
    payload(log, scale, marks=100)


def other_events(log: Log, scale: float) -> None:
    """Statements of 200 MB, as events of their own and beside rows."""
    text = b"/* " + b"x" * int(200 * MB * scale) + b" */ INSERT INTO other VALUES (1)"
    for i in range(4):
        log.event(_QUERY, query(""), text)
        log.begin()
        log.event(_ROWS_QUERY, b"\xff", text)
        log.event(_TABLE_MAP, table_map(1, "t", *_SMALL))
        log.event(_WRITE, rows_head(1, 2), small_row(i))
        log.commit(i)


CASES: dict[str, Callable[[Log, float], None]] = {
    "transaction": one_transaction,
    "row": one_row,
    "tables": many_tables,
    "maps": many_maps,
    "payload": payload,
    "hundredfold": hundredfold,
    "statements": other_events,
}


def measured(name: str, scale: float, threads: int, folder: str) -> dict[str, int]:
    """MB of a case's log, its largest event and the reading process, and what came."""
    path = Path(folder, f"{name}.000001")
    try:
        with path.open("wb") as file:
            log = Log(file)
            CASES[name](log, scale)
        command = [sys.executable, "-c", _SHELL, str(path), str(threads)]
        done = subprocess.run(
            command, capture_output=True, text=True, check=True, env={**os.environ, **_LIMITS}
        )
        found: dict[str, int] = json.loads(done.stdout)
        return found | {"log": log.pos >> 20, "event": log.largest >> 20}
    finally:
        path.unlink(missing_ok=True)


def main() -> None:
    """Measure what the command line names."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("case", nargs="*", default=list(CASES), help=", ".join(CASES))
    parser.add_argument("--scale", type=float, default=1.0, help="of the logs' size")
    parser.add_argument("--threads", default="1,4", help="how many decode, one or more numbers")
    wanted = parser.parse_args()
    print("| log | MB | largest event | threads | rows | batches | peak MB | beyond idle, MB |")
    print("|---|---|---|---|---|---|---|---|")
    with tempfile.TemporaryDirectory() as folder:
        for name in wanted.case:
            for threads in map(int, wanted.threads.split(",")):
                f = measured(name, wanted.scale, threads, folder)
                print(
                    f"| {name} | {f['log']:,} | {f['event']:,} | {threads} | {f['rows']:,} "
                    f"| {f['batches']:,} | {f['peak']:,} | {f['peak'] - f['idle']:,} |",
                    flush=True,
                )


if __name__ == "__main__":
    main()
