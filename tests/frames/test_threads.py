"""Threads change nothing but the time: windows, their order, damages and errors are the same."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import binlogkit as bk
from binlogkit.errors import DamageError, UsageError
from binlogkit.frames import share_decoding
from binlogkit.frames.row_batches import read_batches
from binlogkit.rows.filters import Filters
from binlogkit.sources import chunks
from tests.waiting import LONG

DATA = Path(__file__).parents[1] / "_data"
CELLS = ("8.0-row-full", "8.0-row-full-metadata", "8.0-row-compressed", "5.7-row-minimal")
LOGS = [
    str(path)
    for cell in sorted(DATA.iterdir())
    if cell.name.startswith(CELLS)
    for path in sorted(cell.glob("*/binlog.0*"))
    if path.suffix[1:].isdigit()
]


@pytest.fixture(autouse=True)
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """Chunks and shares so small that a log of some KB keeps several threads at work."""
    monkeypatch.setattr(chunks, "SIZE", 1 << 13)
    monkeypatch.setattr(share_decoding, "SHARE_BYTES", 1 << 12)
    monkeypatch.setattr(share_decoding, "SHARE_BYTES_A_TABLE", 0)
    monkeypatch.setattr(share_decoding, "AT_ONCE", 1 << 12)


def written(batch: pa.RecordBatch) -> bytes:
    """The batch as bytes."""
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, batch.schema) as out:
        out.write_batch(batch)
    return bytes(sink.getvalue())


def read(source: Any, threads: int, **options: Any) -> tuple[list[list[bytes]], list[str]]:
    """The windows, and what was told of damage; the error that ended the reading last."""
    log = bk.open(source, threads=threads, **options)
    reading = log.reading()
    windows: list[list[bytes]] = []
    told: list[str] = []
    try:
        for window in read_batches(reading, Filters.build(), max_rows=50):
            windows.append([written(batch) for _, batch in window])
    except DamageError as error:
        told.append(f"raised: {error}")
    return windows, [*map(str, reading.damages), *told]


def test_there_are_logs() -> None:
    assert len(LOGS) > 10


@pytest.mark.slow
@pytest.mark.parametrize("threads", [2, 4])
def test_all_logs_together_read_the_same(threads: int) -> None:
    one = read(LOGS, 1, on_damage="report", duplicates="keep")
    assert len(one[0]) > 20
    assert read(LOGS, threads, on_damage="report", duplicates="keep") == one


def damaged(at: float) -> bytes:
    """A log of which one byte is another, so far in."""
    largest = max(LOGS, key=lambda name: Path(name).stat().st_size)
    data = bytearray(Path(largest).read_bytes())
    data[int(len(data) * at)] ^= 0x41
    return bytes(data)


@pytest.mark.sampled(2)
@pytest.mark.parametrize("on_damage", ["stop", "report"])
@pytest.mark.parametrize("at", [0.2, 0.45, 0.7, 0.95])
def test_damage_is_told_in_the_same_place(at: float, on_damage: str) -> None:
    data = damaged(at)
    one = read(data, 1, on_damage=on_damage)
    assert one[1]
    assert read(data, 2, on_damage=on_damage) == one
    assert read(data, 4, on_damage=on_damage) == one


def no_checksums() -> bytes:
    """Rows that do not fit their table, where no checksum says so: one byte of a null bitmap."""
    path = max(DATA.glob("5.7-row-no-checksum/*/binlog.00000?"), key=lambda p: p.stat().st_size)
    return path.read_bytes()


def with_malformed_rows(behind: bytes) -> Iterator[bytes]:
    """Logs, in each of which the last bytes of a rows event, and ``behind`` them, are others."""
    data = no_checksums()
    rows = [r for r in bk.open(data).event_records() if "ROWS_EVENT" in str(r["type"])]
    for record in rows[len(rows) // 3 :: max(len(rows) // 6, 1)]:
        changed = bytearray(data)
        end = int(str(record["end_pos"]))
        changed[end - 6 : end + len(behind)] = b"\xff" * 6 + behind
        yield bytes(changed)


@pytest.mark.parametrize("on_damage", ["stop", "report"])
def test_malformed_rows_are_told_in_the_same_place(on_damage: str) -> None:
    met = 0
    for changed in with_malformed_rows(b""):
        one = read(changed, 1, on_damage=on_damage)
        met += bool(one[1])
        assert read(changed, 3, on_damage=on_damage) == one
    assert met


def test_malformed_rows_are_told_before_damage_behind_them() -> None:
    """Threads may still be at them when the next damage is met."""
    met = 0
    for changed in with_malformed_rows(bytes(13)):
        one = read(changed, 1, on_damage="report")
        met += len(one[1]) > 1
        assert read(changed, 3, on_damage="report") == one
    assert met


def alive() -> list[str]:
    """The threads that decode or read ahead."""
    return [t.name for t in threading.enumerate() if t.name.startswith("binlogkit")]


def test_no_thread_outlives_its_reader() -> None:
    for windows_taken in (1, 2, 3):
        reader = read_batches(bk.open(LOGS, threads=3).reading(), Filters.build(), max_rows=20)
        for _ in range(windows_taken):
            next(reader)
        assert alive()
        reader.close()  # type: ignore[attr-defined]
        assert not alive()


def test_an_interrupted_reader_ends() -> None:
    def reading() -> Iterator[None]:
        for _ in read_batches(bk.open(LOGS, threads=2).reading(), Filters.build(), max_rows=20):
            yield

    reader = reading()
    next(reader)
    with pytest.raises(KeyboardInterrupt):
        reader.throw(KeyboardInterrupt)  # type: ignore[attr-defined]
    assert not alive()


@pytest.mark.slow
def test_who_waits_for_a_share_decodes_the_next(monkeypatch: pytest.MonkeyPatch) -> None:
    """The caller is one of the threads: while another has the first share, it takes the next."""
    one = read(LOGS, 1)
    run, caller = share_decoding.Share.run, threading.get_ident()
    other_began, caller_decoded = threading.Event(), threading.Event()
    waited: list[bool] = []

    def watched(share: share_decoding.Share, most: int) -> list[share_decoding.Found]:
        if threading.get_ident() != caller:
            other_began.set()
            waited.append(caller_decoded.wait(LONG))
            return run(share, most)
        assert other_began.wait(LONG)
        caller_decoded.set()
        return run(share, most)

    monkeypatch.setattr(share_decoding.Share, "run", watched)
    assert read(LOGS, 2) == one
    assert waited and all(waited)


def test_one_thread_is_the_callers_own() -> None:
    reader = read_batches(bk.open(LOGS, threads=1).reading(), Filters.build())
    next(reader)
    assert not alive()


def test_how_many(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("BINLOGKIT_THREADS", raising=False)
    assert 1 <= share_decoding.thread_count(None) <= 4
    assert share_decoding.thread_count(None, 1 << 20) == 1  # a small log
    assert share_decoding.thread_count(7, 1 << 20) == 7
    monkeypatch.setenv("BINLOGKIT_THREADS", "3")
    assert share_decoding.thread_count(None, 1 << 20) == 3
    assert share_decoding.thread_count(1) == 1
    for text in ("0", "-1", "two", "100", "", "٣"):
        monkeypatch.setenv("BINLOGKIT_THREADS", text)
        with pytest.raises(UsageError, match="BINLOGKIT_THREADS is a number from 1 to 99"):
            share_decoding.thread_count(None)
    with pytest.raises(UsageError, match="threads is a number"):
        list(bk.open(LOGS[0], threads=0).batches())
