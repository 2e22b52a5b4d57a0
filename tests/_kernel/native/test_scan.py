"""The scan: the same events and transactions as the reader and the tracker, and where it stops."""

from __future__ import annotations

import io
import zlib
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from binlogkit._kernel.native import index as native_index
from binlogkit._kernel.native.batch import RowsPass
from binlogkit._kernel.native.index import ENTRY, TRANSACTION, Index, Transactions, crc
from binlogkit._kernel.native.runs import RUN
from binlogkit._kernel.native.scan import Scanner
from binlogkit.errors import BinlogKitError
from binlogkit.events.early import final_codes
from binlogkit.rows.plans import table_plan
from binlogkit.sources.log_format import LogFormat
from binlogkit.sources.log_reader import LogReader

GOLDEN = Path(__file__).parents[2] / "_data"
CORPUS = Path(__file__).parents[4] / "shared" / "corpus"
CELLS = sorted({path.parent.parent.name for path in GOLDEN.glob("*/*/binlog.00000?")})
SMALL = next(GOLDEN.glob("8.0-row-full/keys/binlog.00000?"))
HEADER = 19
TABLE_MAP, WRITE_ROWS = 19, 30


@pytest.mark.parametrize("cell", CELLS)
def test_golden_logs(scans: ModuleType, cell: str) -> None:
    for path in sorted((GOLDEN / cell).glob("*/binlog.00000?")):
        for chunk in (1 << 30, 997):
            assert scans.same(path.read_bytes(), chunk).events


def test_corpus(scans: ModuleType) -> None:
    """Logs of the version the scan is for; older ones stay with the reader."""
    if not CORPUS.is_dir():
        pytest.skip(f"the shared corpus is not here ({CORPUS})")
    checked = 0
    for path in sorted(p for p in CORPUS.rglob("*") if p.is_file()):
        data = path.read_bytes()
        if not data.startswith(b"\xfebin") or not _plain(data):
            continue
        try:
            scans.by_reference(data)
        except BinlogKitError:
            continue  # damaged
        scans.same(data)
        checked += 1
    assert checked >= 8


def _plain(data: bytes) -> bool:
    reader = LogReader("log", io.BytesIO(data))
    first = next(iter(reader), None)
    known: LogFormat = reader.format
    return (
        first is not None
        and first.header.type_code == 15
        and known.version == 4
        and not final_codes(known.server_version)
        and int.from_bytes(first.body[56 + 19 : 56 + 20], "little") == 8  # table ids of 6 bytes
    )


def started(data: bytes) -> tuple[Scanner, Index]:
    """A scanner behind the format description of a log with checksums."""
    scanner, index = Scanner(), Index()
    assert scanner.scan(index, data, 4, len(data), 0) == "format"
    assert scanner.offset == 4 and not len(index)
    scanner.checksums = scanner.format_checksum = True
    size = int.from_bytes(data[13:17], "little")
    assert scanner.scan(index, data, 4, 4 + size, 0, True) == "end"
    return scanner, index


def entries(index: Index) -> Any:
    return np.frombuffer(index.copied(), np.dtype(list(ENTRY)))


def test_layouts_are_those_of_the_structs() -> None:
    assert np.dtype(list(ENTRY)).itemsize == Index().entry_size
    assert np.dtype(list(TRANSACTION)).itemsize == Transactions().entry_size


def test_a_log_cut_at_every_byte() -> None:
    data = SMALL.read_bytes()[:900]
    scanner, index = started(data)
    whole, bounds = scanner.offset, set()
    for size in range(whole, len(data)):
        at, stop = whole, "look"
        while stop == "look":
            stop = scanner.scan(index, data[:size], at, size, 0)
            at = scanner.offset
        bounds.add(at)
        assert stop == ("end" if at == size else "cut")
    assert len(bounds) > 2


@pytest.mark.parametrize("folding", [0, 16, 64])
def test_every_bit_of_an_event_is_under_its_checksum(folding: int) -> None:
    native_index.use_folding(folding)
    try:
        data = SMALL.read_bytes()
        scanner, _ = started(data)
        start = scanner.offset
        size = int.from_bytes(data[start + 9 : start + 13], "little")
        for at in (*range(start, start + 9), *range(start + 13, start + size)):
            for bit in (1, 0x80):
                changed = bytearray(data[: start + size])
                changed[at] ^= bit
                if changed[start + 4] == 15:
                    continue
                assert scanner.scan(Index(), changed, start, start + size, 0) == "checksum"
                assert scanner.offset == start
                assert scanner.computed == zlib.crc32(changed[start : start + size - 4])
                assert scanner.stored == int.from_bytes(changed[start + size - 4 :], "little")
    finally:
        native_index.use_folding(64)


def test_a_bad_checksum_taken_all_the_same() -> None:
    data = bytearray(SMALL.read_bytes())
    scanner, index = started(bytes(data))
    start = scanner.offset
    data[start + HEADER] ^= 1
    assert scanner.scan(index, data, start, len(data), 0) == "checksum"
    assert scanner.scan(index, data, start, len(data), 0, False, True) == "look"
    assert entries(index)[-1]["notes"] & 2
    assert scanner.offset > start


@pytest.mark.parametrize(
    ("size", "stop"), [(0, "size"), (18, "size"), (19, "short"), (22, "short")]
)
def test_an_event_that_claims_too_little(size: int, stop: str) -> None:
    data = bytearray(SMALL.read_bytes())
    scanner, _ = started(bytes(data))
    start = scanner.offset
    data[start + 9 : start + 13] = size.to_bytes(4, "little")
    assert scanner.scan(Index(), data, start, len(data), 0) == stop
    assert scanner.offset == start


def test_an_active_log_and_a_closed_one() -> None:
    """The checksum of a format description is that without IN_USE."""
    data = bytearray(SMALL.read_bytes())
    started(bytes(data))
    data[4 + 17] |= 1
    started(bytes(data))
    data[4 + 17] |= 2
    with pytest.raises(AssertionError):
        started(bytes(data))


def event(code: int, body: bytes) -> bytes:
    return (
        bytes(4)
        + bytes([code])
        + bytes(4)
        + (HEADER + len(body)).to_bytes(4, "little")
        + (bytes(6) + body)
    )


def table_map(table_id: int, body: bytes) -> bytes:
    return event(TABLE_MAP, table_id.to_bytes(6, "little") + body)


def write_rows(table_id: int) -> bytes:
    return event(WRITE_ROWS, table_id.to_bytes(6, "little") + b"\1\0\2\0\1\1\0\x05")


def test_the_same_map_has_the_same_slot() -> None:
    names = [b"map %d" % (i % 300) for i in range(1000)]
    data = b"".join(table_map(i + 7, name) for i, name in enumerate(names))
    data += write_rows(7) + write_rows(306) + write_rows(307) + write_rows(5)
    scanner, index = Scanner(), Index()
    assert scanner.scan(index, data, 0, len(data), 0) == "end"
    found = entries(index)
    assert scanner.maps.count == 300
    assert [scanner.maps.body(slot) for slot in found["slot"][:1000]] == names
    assert found["slot"][1000:].tolist() == [0, 299, 0, -1]
    assert [bool(n & 4) for n in found["notes"][:1000]] == [i < 300 for i in range(1000)]
    assert found["notes"][-1] & 8
    scanner.maps.forget_ids()
    assert scanner.maps.ids() == []
    again = write_rows(306) + table_map(9, names[5]) + write_rows(9) + write_rows(306)
    scanner.scan(index, again, 0, len(again), 0)
    assert entries(index)["slot"][-4:].tolist() == [-1, 5, 5, -1]
    assert not entries(index)["notes"][-3] & 4
    assert (scanner.maps.count, scanner.maps.ids()) == (300, [(9, 5)])


def test_rows_pass_hands_over_what_is_full(row_events: ModuleType) -> None:
    from binlogkit._kernel.cells import CellSpec
    from binlogkit.constants import ColumnType as T

    data = table_map(1, b"a") + table_map(2, b"b")
    data += b"".join(write_rows(1 + i % 2) for i in range(20))
    scanner, index = Scanner(), Index()
    assert scanner.scan(index, data, 0, len(data), 1000) == "end"
    plan = table_plan(row_events.schema_of([CellSpec(T.TINY)]))
    builder = plan.builder(4)
    rows = RowsPass(scanner, index, data, 1000, 50)
    taken = []
    while (said := rows.run([builder, None])) is not None:
        assert said == (0,)
        taken.append(builder.take()[0])
    assert taken == [4, 4] and builder.rows == 2
    runs = np.frombuffer(builder.take()[1].tobytes(), np.dtype(list(RUN)))
    first = len(table_map(1, b"a")) * 2 + 16 * len(write_rows(1))
    assert runs["pos"].tolist() == [1000 + first, 1000 + first + 2 * len(write_rows(1))]
    assert runs["seq"].tolist() == [(50 + 18) << 32, (50 + 20) << 32]


def test_a_malformed_event_is_told_and_passed(row_events: ModuleType) -> None:
    from binlogkit._kernel.cells import CellSpec
    from binlogkit.constants import ColumnType as T

    cut = event(WRITE_ROWS, (1).to_bytes(6, "little") + b"\1\0\2\0\1\1\0\x05\0")
    data = table_map(1, b"a") + cut + write_rows(1)
    scanner, index = Scanner(), Index()
    assert scanner.scan(index, data, 0, len(data), 0) == "end"
    plan = table_plan(row_events.schema_of([CellSpec(T.TINY)]))
    builder = plan.builder()
    rows = RowsPass(scanner, index, data, 0)
    said = rows.run([builder])
    assert said is not None and len(said) == 6
    fault = plan.fault(*said[1:])
    assert (fault.field, fault.reason, fault.row) == ("c0", "needs 1 bytes, 0 are left", 1)
    assert rows.run([builder]) is None
    assert builder.rows == 2


@pytest.mark.parametrize("folding", [0, 16, 64])
@given(data=st.binary(max_size=900), split=st.integers(0, 900))
def test_crc_is_zlibs(folding: int, data: bytes, split: int) -> None:
    native_index.use_folding(folding)
    try:
        assert crc(data) == zlib.crc32(data)
        assert crc(data[split:], crc(data[:split])) == zlib.crc32(data)
    finally:
        native_index.use_folding(64)


def test_crc_of_much() -> None:
    data = bytes(range(256)) * 1000
    for size in (1 << 10, 65_535, 65_536, 255_999):
        assert crc(memoryview(data)[3:size]) == zlib.crc32(data[3:size])


def test_nothing_waits_for_a_decision() -> None:
    with pytest.raises(ValueError, match="no event waits"):
        Scanner().settle(Index(), 0)
