"""What an index of many logs answers, how soon, and what making it costs.

The logs are one real log (``oltp`` of ``logs.py``) again and again, each under a name, with GTIDs
and with keys of its own: what an index keeps of it is rewritten, so that no byte of ten thousand
logs need be there. ``python tests/benchmarks/index_questions.py [--files N]`` prints the figures of
docs/performance.md.
"""

from __future__ import annotations

import argparse
import os
import shutil
import sys
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TypeVar

import numpy as np
import pyarrow as pa

sys.path.insert(0, str(Path(__file__).parents[2]))

import binlogkit as bk
from binlogkit._kernel.native.filters import BLOCK, hash_fixed, put
from binlogkit.frames.fields.ledger import INDEX
from binlogkit.frames.key_filters import BITS
from binlogkit.log.index import Index
from binlogkit.log.index.kept import as_one
from binlogkit.log.index.stamps import Stamp
from binlogkit.log.index.touched import touched
from tests.benchmarks.logs import make

T = TypeVar("T")
_BATCH = 500  # logs
_GTIDS = ("gtids", "ended_gtids", "intact_gtids", "gtid")
_UUID, _GTIDS_A_LOG = "01234567-89ab-cdef-0123-456789abcdef", 1000


def timed(what: str, call: Callable[[], T]) -> T:
    """The result of a call, whose times are printed."""
    wall, cpu = time.perf_counter(), time.process_time()
    found = call()
    cpu, wall = time.process_time() - cpu, time.perf_counter() - wall
    print(f"{what}: {cpu:.2f} s of CPU, {wall:.2f} s")
    return found


def size_of(folder: Path) -> int:
    """Bytes of all files below a folder."""
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())


def making(log: Path, folder: Path) -> None:
    """How fast an index is made, and how large it is."""
    size = log.stat().st_size
    for name in ("first", "again"):
        opened = bk.open(log, threads=1)
        cpu = time.process_time()
        Index(folder / name).update(opened.carriers, opened.options)
        cpu = time.process_time() - cpu
    kept = size_of(folder / name)
    print(f"{log.name}: {size / cpu / 1e6:.0f} MB/s a core, {100 * kept / size:.2f} % of its size")


def filter_of(first: int, count: int) -> bytes:
    """A filter of ``count`` integers from ``first`` on."""
    hashes = np.zeros(count, np.uint64)
    hash_fixed(np.arange(first, first + count, dtype=np.int64), 8, hashes)
    found = bytearray(BLOCK * -(-count * BITS // (8 * BLOCK)))
    put(found, hashes)
    return bytes(found)


def replicated(log: Path, out: Path, files: int, keys: int) -> Index:
    """An index of ``files`` logs, each like ``log`` but for its ``keys`` keys."""
    opened = bk.open(log)
    Index(out / "one").update(opened.carriers, opened.options)
    one = Index(out / "one")
    tables = {name: one.table(name) for name in INDEX}
    written = Index(out / "all")
    for first in range(0, files, _BATCH):
        parts, entries = [], {}
        for i in range(first, min(first + _BATCH, files)):
            key, name = f"{i:032x}", f"/logs/binlog.{i + 1:06}"
            entries[key] = [Stamp(name, 1, f"{i}")]
            own = {t: _renamed(table, key, name, i) for t, table in tables.items()}
            at = own["filters"].column_names.index("filter")
            told = pa.array([filter_of(i * keys, keys)] * own["filters"].num_rows, pa.binary())
            own["filters"] = own["filters"].set_column(at, "filter", told)
            parts.append(own)
        written.commit({written.write_batch(as_one(parts)): entries}, set())
    return Index(out / "all")


def _renamed(table: pa.Table, key: str, name: str, i: int) -> pa.Table:
    """A table of the log that is the ``i``-th of its server."""
    for at, column in enumerate(table.column_names):
        told = {"part": key, "file": name, "end_file": name, "next_name": f"binlog.{i + 2:06}"}
        if column in told:
            values: list[str | None] = [told[column]] * table.num_rows
        elif column in _GTIDS or column == "previous_gtids":
            values = [_later(text, i, column) for text in table[column].to_pylist()]
        else:
            continue
        table = table.set_column(at, table.schema.field(at), pa.array(values, pa.string()))
    return table


def _later(text: str | None, i: int, column: str) -> str | None:
    """GTIDs of the ``i``-th log, which has less than ``_GTIDS_A_LOG``."""
    first = i * _GTIDS_A_LOG
    if column == "previous_gtids":
        return f"{_UUID}:1-{first}" if i else ""
    if not text:
        return text
    if column == "gtid":
        return f"{_UUID}:{first + int(text.rpartition(':')[2]) % _GTIDS_A_LOG}"
    return f"{_UUID}:{first + 1}-{first + _GTIDS_A_LOG}"


def main() -> None:
    """Print the figures."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--files", type=int, default=10_000)
    parser.add_argument("--logs", type=Path, default=Path("out/bench/logs"))
    parser.add_argument("--keys", type=int, default=20_000, help="of each log")
    wanted = parser.parse_args()
    with tempfile.TemporaryDirectory() as text:
        folder = Path(text)
        for name in ("oltp", "compressed"):
            making(make(name, wanted.logs, 0.3), folder / name)
        small = make("oltp", wanted.logs, 0.02)
        index = timed("replicated", lambda: replicated(small, folder, wanted.files, wanted.keys))
        print(f"{wanted.files} logs: an index of {size_of(index.folder) / 1e6:.0f} MB")
        questions(index, wanted.files, wanted.keys)
        shutil.rmtree(folder / "one")
    print(os.cpu_count(), "processors")


def questions(index: Index, files: int, keys: int) -> None:
    """The questions, and how often a log passes that has not the key."""

    def logs_with(key: int) -> list[str]:
        found = touched(index.folder, table="bench.sbtest", where=f"id={key}")
        names: list[str] = found["file"].to_pylist()
        return names

    for _ in range(2):
        timed("which logs touched a key", partial(logs_with, files // 3 * keys + 7))
    timed("totals by table and operation", partial(touched, index.folder))
    timed("totals by minute", partial(touched, index.folder, minutes=True))
    passed = sum(len(set(logs_with(files * keys + i))) for i in range(20))
    print(f"false positives: {100 * passed / (20 * files):.3f} %")
    missed = [
        i
        for i in range(0, files, max(1, files // 50))
        if f"/logs/binlog.{i + 1:06}" not in logs_with(i * keys + i % keys)
    ]
    print(f"missed: {len(missed)}")


if __name__ == "__main__":
    main()
