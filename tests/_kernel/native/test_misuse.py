"""What a caller, another thread or a lack of memory could do to the kernel's buffers: an error."""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from binlogkit._kernel.cells import CellSpec
from binlogkit._kernel.columns import TablePlan
from binlogkit._kernel.native.batch import RowsPass
from binlogkit._kernel.native.builder import TableBuilder
from binlogkit._kernel.native.index import Index
from binlogkit._kernel.native.layout import Kind
from binlogkit._kernel.native.scan import Scanner
from binlogkit.constants import ColumnType as T

ROWS_HEAD = (7).to_bytes(6, "little") + b"\1\0\2\0"


def described(kind: str, **changed: Any) -> tuple[Any, ...]:
    """A column as TableBuilder takes it."""
    fields = {
        "out": 0, "is_json": False, "length": 0, "fraction": 0, "flag": 0, "digests": 0,
        "limit": 0, "groups": (), "points": None,
    }  # fmt: skip
    return (Kind[f"K_{kind.upper()}"], *(fields | changed).values())


def event(code: int, body: bytes) -> bytes:
    return bytes(4) + bytes([code]) + bytes(4) + (len(body) + 19).to_bytes(4, "little") + (
        bytes(6) + body
    )  # fmt: skip


@pytest.mark.parametrize(
    "column",
    [
        described("bit", limit=65),
        described("bit", limit=0),
        described("set", length=0),
        described("set", length=9),
        described("enum", length=0),
        described("enum", length=3, limit=-1),
        described("time2", fraction=4),
        described("time2", fraction=-1),
        described("decimal128"),
        described("decimal128", groups=((9, 4),) * 5),
        described("decimal256", groups=((9, 9),)),
        described("decimal256", groups=((9, 0),)),
        described("decimal256", groups=((9, 4),) * 10),
        described("bytes", length=5),
        described("bytes", length=0),
        described("padded", length=1, limit=1 << 40),
        described("json", length=8),
        described("single_byte", length=1),
        described("skip_prefixed", length=1),
        described("skip_fixed", length=1),
        described("copy4", out=1),
        described("copy4", out=7),
    ],
)
def test_columns_that_cannot_be(column: tuple[Any, ...]) -> None:
    with pytest.raises(ValueError, match=r"cannot be|places"):
        TableBuilder(None, (column,), 1, 1)


def test_two_columns_of_one_place() -> None:
    with pytest.raises(ValueError, match="places"):
        TableBuilder(None, (described("copy4"), described("copy4")), 1, 1)


def scanned(*events: bytes) -> tuple[Scanner, Index, bytes]:
    scanner, index, data = Scanner(), Index(), b"".join(events)
    scanner.checksums = scanner.positions = False
    assert scanner.scan(index, data, 0, len(data), 4) in ("end", "look")
    return scanner, index, data


def test_an_event_shorter_than_the_format_that_it_is_read_with() -> None:
    """The scan took them by another header's length: there is nothing to read."""
    scanner, index, data = scanned(event(19, bytes(20)), event(30, ROWS_HEAD + b"\1\1\0\5"))
    plan = TablePlan([CellSpec(T.TINY)], ["t"])
    for length, checksums in ((200, False), (30, True), (255, True)):
        scanner.header_length, scanner.checksums = length, checksums
        rows, builder = RowsPass(scanner, index, data, 4), plan.builder()
        index_of_map = rows.run([builder])
        assert index_of_map is None or plan.fault(*index_of_map[1:]).reason.startswith(
            "what stands before"
        )
        assert builder.rows == 0


@pytest.mark.parametrize(("length", "width"), [(18, 6), (256, 6), (-1, 6), (19, 5), (19, 1000)])
def test_no_format_of_any_log(length: int, width: int) -> None:
    scanner, index, data = scanned(event(16, bytes(8)))
    scanner.header_length, scanner.table_id_width = length, width
    with pytest.raises(ValueError, match="no such format"):
        scanner.scan(index, data, 0, len(data), 4)
    with pytest.raises(ValueError, match="no such format"):
        RowsPass(scanner, index, data, 4)


@pytest.mark.parametrize("seq", [-1, 1 << 31, (1 << 31) - 1])
def test_more_events_than_can_be_numbered(seq: int) -> None:
    scanner, index, data = scanned(event(16, bytes(8)), event(16, bytes(8)))
    with pytest.raises(OverflowError, match=r"2\*\*31 events|negative"):
        RowsPass(scanner, index, data, 4, seq)


def refused(work: Callable[[], object], meanwhile: Callable[[], object]) -> set[type[Exception]]:
    """What ``meanwhile`` raises again and again while another thread does ``work``."""
    met: set[type[Exception]] = set()
    for _ in range(50):
        thread = threading.Thread(target=work)
        thread.start()
        while thread.is_alive() and not met:
            try:
                meanwhile()
            except (RuntimeError, BufferError) as error:
                met.add(type(error))
        thread.join()
        if met:
            break
    return met


def test_a_builder_at_work_in_another_thread() -> None:
    plan = TablePlan([CellSpec(T.LONG, unsigned=True)], ["n"])
    builder = plan.builder(1 << 24, 1 << 30)
    body = ROWS_HEAD + b"\1\1" + b"\0\1\2\3\4" * 3_000_000
    scanner, index, data = scanned(event(19, (7).to_bytes(6, "little") + b"map"), event(30, body))
    changing = bytearray(data)

    def work() -> None:
        with contextlib.suppress(RuntimeError):  # the other one was first
            RowsPass(scanner, index, changing, 4).run([builder])

    assert refused(work, builder.take) == {RuntimeError}
    assert refused(work, lambda: changing.append(0)) == {BufferError}
    builder.take()
    del changing[len(data) :]
    work()
    assert builder.take()[0] == 3_000_000


@pytest.mark.slow
def test_a_scan_in_another_thread() -> None:
    scanner, index = Scanner(), Index()
    scanner.checksums = scanner.positions = False
    data = event(19, bytes(20)) + event(16, bytes(8)) * 400_000
    scanner.scan(index, data, 0, 39, 4)

    def work() -> None:
        index.clear()
        scanner.scan(index, data, 0, len(data), 4)

    for meanwhile in (
        index.copied, index.clear, scanner.transactions.copied,
        scanner.transactions.clear, lambda: scanner.maps.body(0), scanner.maps.ids,
        scanner.maps.forget_ids, scanner.maps.renew, scanner.finish, scanner.lost,
        lambda: scanner.know_status(b""),
    ):  # fmt: skip
        assert refused(work, meanwhile) == {RuntimeError}


def test_one_builder_for_two_passes() -> None:
    """The second is refused; a builder twice in one list is its own."""
    body = ROWS_HEAD + b"\1\1" + b"\0\1" * 3_000_000
    scanner, index, data = scanned(event(19, (7).to_bytes(6, "little") + b"map"), event(30, body))
    builder = TablePlan([CellSpec(T.TINY)], ["t"]).builder(1 << 24, 1 << 30)
    passes = [RowsPass(scanner, index, data, 4) for _ in range(2)]

    def work() -> None:
        with contextlib.suppress(RuntimeError):
            passes[0].run([builder, builder])

    refused(work, lambda: passes[1].run([builder]))
    assert builder.rows in (3_000_000, 6_000_000)


MEMORY = """
import resource, sys
from binlogkit._kernel.cells import CellSpec
from binlogkit._kernel.columns import TablePlan
from binlogkit.constants import ColumnType as T
from tests._kernel.native.row_passes import rows_event, rows_pass

plan = TablePlan([CellSpec(T.LONG_BLOB, length=4, charset=c) for c in ("binary", "latin1")], "ab")
size = 8 << 20
cell = size.to_bytes(4, "little") + bytes(size)
data = (7).to_bytes(6, "little") + bytes((1, 0, 2, 0, 2, 3)) + (b"\\0" + cell + cell) * 2
used = int(open("/proc/self/statm").read().split()[0]) * resource.getpagesize()
failed = 0
for more in range(0, 288 << 20, 16 << 20):
    resource.setrlimit(resource.RLIMIT_AS, (used + more, resource.RLIM_INFINITY))
    builder = plan.builder(100, 1 << 30)
    try:
        assert rows_pass(rows_event(data, 30)).run([builder]) is None
        rows = builder.take()[0]
    except MemoryError:
        failed += 1
    else:
        assert rows == 2
    del builder
print(failed)
"""


@pytest.mark.skipif("libasan" in os.environ.get("LD_PRELOAD", ""), reason="it maps terabytes")
def test_memory_that_ends_at_any_time() -> None:
    done = subprocess.run(
        [sys.executable, "-c", MEMORY],
        cwd=Path(__file__).parents[3],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert 1 <= int(done.stdout) < 18
