"""The compiled kernel alone, phase by phase, beside the floors of the same bytes.

    python tests/benchmarks/kernel_speed.py LOG … [--columns N,M] [--runs 5]

CPU seconds (user and system) of the thread, median of the runs: ``memcpy`` of the file in chunks,
``crc`` (CRC-32 of all bytes), ``hop`` (scan without checksums), ``scan`` (with them), ``decode``
(scanned before, rows to buffers), ``arrow`` (the buffers to record columns); ``all``: everything
in one pass, file reading left out; ``user``: the user seconds of ``all``. Logs as ``logs.py``
writes them.
"""

from __future__ import annotations

import argparse
import resource
import statistics
import time
from pathlib import Path

import numpy as np
import pyarrow as pa  # noqa: F401  (its import is not measured)

from binlogkit._kernel.cursor import Cursor
from binlogkit._kernel.native.batch import RowsPass
from binlogkit._kernel.native.builder import TableBuilder
from binlogkit._kernel.native.index import ENTRY, Index, crc
from binlogkit._kernel.native.scan import Scanner
from binlogkit.constants import EventType
from binlogkit.events.base import Event, OpaqueEvent, ParseContext, parser_of
from binlogkit.frames.kernel_columns import TakenBuffers
from binlogkit.rows.resolve import resolve_schema
from binlogkit.rows.schema import TableSchema, table_plan
from binlogkit.rows.settling import settle
from binlogkit.sources.log_format import LogFormat, format_of
from binlogkit.sources.raw import RawEvent, parse_header

CHUNK = 8 << 20


used = time.thread_time


class Pipeline:
    """A log of one server through both passes, chunk by chunk."""

    def __init__(self, data: bytes, columns: list[int] | None, checksums: bool = True) -> None:
        self.data = data
        self.columns = columns
        self.checksums = checksums
        self.scanner = Scanner()
        self.context = ParseContext()
        self.format = LogFormat()
        self.schemas: list[TableSchema] = []
        self.builders: list[TableBuilder] = []
        self.rows = self.batches = self.values = 0
        self.seconds = {"scan": 0.0, "decode": 0.0, "arrow": 0.0}

    def run(self, decode: bool = True) -> None:
        data, at, end = memoryview(self.data), 4, len(self.data)
        index = Index()
        while at < end:
            stop_at = min(at + CHUNK, end)
            index.clear()
            began = used()
            at = self._scan(index, data, at, stop_at)
            self.seconds["scan"] += used() - began
            if decode:
                self._decode(index, data)
            self.scanner.transactions.clear()
        for slot in range(len(self.builders)):
            self._take(slot)

    def _scan(self, index: Index, data: memoryview, at: int, end: int) -> int:
        take = False
        while True:
            stop = self.scanner.scan(index, data, at, end, 0, take)
            at, take = self.scanner.offset, False
            if stop == "format":
                self._take_format(data, at)
                take = True
            elif stop == "look":
                self._look(index, data)
            else:
                assert stop in ("end", "cut"), stop
                return at

    def _take_format(self, data: memoryview, pos: int) -> None:
        size = int.from_bytes(data[pos + 9 : pos + 13], "little")
        self.format = format_of("log", pos, bytes(data[pos : pos + size]))
        self.scanner.checksums = self.format.checksummed(EventType.QUERY_EVENT)
        self.scanner.verify = self.checksums
        self.scanner.format_checksum = self.format.checksummed(EventType.FORMAT_DESCRIPTION_EVENT)

    def _look(self, index: Index, data: memoryview) -> None:
        entry = np.frombuffer(index.copied(), np.dtype(list(ENTRY)))[-1]
        start, size = int(entry["offset"]), int(entry["size"])
        header = parse_header(bytes(data[start : start + 19]), 19)
        tail = 4 if self.format.checksummed(EventType.QUERY_EVENT) else 0
        raw = RawEvent("log", start, header, bytes(data[start + 19 : start + size - tail]))
        parser = parser_of(header.type_code)
        body = parser(Cursor(raw.body), raw, self.context) if parser else OpaqueEvent(raw.body)
        settle(self.scanner, index, 0, Event(raw, body), None)

    def _decode(self, index: Index, data: memoryview) -> None:
        for slot in range(len(self.builders), self.scanner.maps.count):
            self._new_table(slot)
        rows = RowsPass(self.scanner, index, data, 0)
        while True:
            began = used()
            said = rows.run([*self.builders])
            self.seconds["decode"] += used() - began
            if said is None:
                return
            assert len(said) == 1, said
            self._take(said[0])

    def _new_table(self, slot: int) -> None:
        body = bytes(6) + self.scanner.maps.body(slot)
        raw = RawEvent("log", 0, parse_header(bytes(19), 19), body)
        parser = parser_of(EventType.TABLE_MAP_EVENT)
        assert parser is not None
        schema = resolve_schema(parser(Cursor(body), raw, self.context), slot)  # type: ignore[arg-type]
        wanted = None
        if self.columns is not None:
            wanted = [i for i in self.columns if i < len(schema.columns)]
        self.schemas.append(schema)
        self.builders.append(table_plan(schema, self.format.server_version, wanted).builder())

    def _take(self, slot: int) -> None:
        began = used()
        taken = TakenBuffers(self.schemas[slot], self.builders[slot])
        taken.columns()
        self.seconds["arrow"] += used() - began
        self.rows += taken.rows
        self.batches += 1


def copied(data: bytes) -> float:
    source, target = memoryview(data), memoryview(bytearray(CHUNK))
    target[:] = bytes(CHUNK)
    began = used()
    for at in range(0, len(data), CHUNK):
        piece = source[at : at + CHUNK]
        target[: len(piece)] = piece
    return used() - began


def summed(data: bytes) -> float:
    source = memoryview(data)
    began = used()
    for at in range(0, len(data), CHUNK):
        crc(source[at : at + CHUNK])
    return used() - began


def measure(path: Path, columns: list[int] | None, runs: int) -> None:
    data = path.read_bytes()
    times: dict[str, list[float]] = {}
    for _ in range(runs):
        hop = Pipeline(data, columns, checksums=False)
        hop.run(decode=False)
        whole = Pipeline(data, columns)
        user = resource.getrusage(resource.RUSAGE_SELF).ru_utime
        began = used()
        whole.run()
        total = used() - began
        user = resource.getrusage(resource.RUSAGE_SELF).ru_utime - user
        found = {
            "memcpy": copied(data),
            "crc": summed(data),
            "hop": hop.seconds["scan"],
            **whole.seconds,
            "all": total,
            "user": user,
        }
        for name, value in found.items():
            times.setdefault(name, []).append(value)
    medians = {name: statistics.median(values) for name, values in times.items()}
    print(f"{path.name}: {len(data):,} bytes, {whole.rows:,} rows in {whole.batches} batches")
    print("  " + "  ".join(f"{name} {value:.4f}" for name, value in medians.items()), flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("logs", nargs="+", type=Path)
    parser.add_argument("--columns", type=lambda text: [int(i) for i in text.split(",")])
    parser.add_argument("--runs", type=int, default=5)
    chosen = parser.parse_args()
    for path in chosen.logs:
        measure(path, chosen.columns, chosen.runs)


if __name__ == "__main__":
    main()
