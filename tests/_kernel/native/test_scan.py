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
from binlogkit._kernel.native.index import ENTRY, SPOT, TRANSACTION, Index, Transactions, crc
from binlogkit._kernel.native.runs import RUN
from binlogkit._kernel.native.scan import Scanner
from binlogkit.errors import BinlogKitError
from binlogkit.events.early import final_codes
from binlogkit.rows.schema import table_plan
from binlogkit.sources.log_format import LogFormat
from binlogkit.sources.log_reader import LogReader

SPOTS = np.dtype(list(SPOT))
GOLDEN = Path(__file__).parents[2] / "_data"
CORPUS = Path(__file__).parents[4] / "shared" / "corpus"
CELLS = sorted({path.parent.parent.name for path in GOLDEN.glob("*/*/binlog.00000?")})
SMALL = next(GOLDEN.glob("8.0-row-full/keys/binlog.00000?"))
HEADER = 19
QUERY, XID, TABLE_MAP, WRITE_ROWS, GTID = 2, 16, 19, 30, 33
NEW_MAP, NO_MAP, STRAY, MAP_CHANGED, STATEMENT_END = 4, 8, 16, 32, 64  # of an entry
ALONE, IN_STATEMENT, REPLACED = 1, 2, 4  # of a transaction
CUT, COMMITTED = 0, 1


@pytest.mark.sampled(6)
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
    assert SPOTS.itemsize == 32


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


def unplaced() -> tuple[Scanner, Index]:
    """For events without checksums and positions."""
    scanner = Scanner()
    scanner.positions = False
    return scanner, Index()


def table_map(table_id: int, body: bytes) -> bytes:
    return event(TABLE_MAP, table_id.to_bytes(6, "little") + body)


def write_rows(table_id: int, flags: int = 1) -> bytes:
    body = table_id.to_bytes(6, "little") + bytes([flags]) + b"\0\2\0\1\1\0\x05"
    return event(WRITE_ROWS, body)


def query(sql: bytes) -> bytes:
    return event(QUERY, bytes(13) + b"\0" + sql)


def gtid(gno: int, length: bytes = b"") -> bytes:
    """As 8.0 writes it; ``length``: of the transaction, packed."""
    clock = b"\2" + bytes(16) + (1).to_bytes(7, "little") if length else b""
    return event(GTID, b"\1" + bytes(16) + gno.to_bytes(8, "little") + clock + length)


def xid(number: int) -> bytes:
    return event(XID, number.to_bytes(8, "little"))


def placed(*events: bytes, start: int = 4) -> bytes:
    """Events that say where they stand."""
    data, at = b"", start
    for one in events:
        at += len(one)
        data += one[:13] + (at & 0xFFFFFFFF).to_bytes(4, "little") + one[17:]
    return data


def transactions(scanner: Scanner) -> Any:
    return np.frombuffer(scanner.transactions.copied(), np.dtype(list(TRANSACTION)))


def test_the_same_map_has_the_same_slot() -> None:
    names = [b"map %d" % (i % 300) for i in range(1000)]
    data = b"".join(table_map(i + 7, name) for i, name in enumerate(names))
    data += write_rows(7) + write_rows(306) + write_rows(307) + write_rows(5)
    scanner, index = unplaced()
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


# ---- table maps -----------------------------------------------------------------------------


def test_renewed_maps_have_a_slot_of_their_own() -> None:
    """Ids stand for what they did; what no id stands for is given up."""
    scanner, index = unplaced()
    data = b"".join(table_map(i, b"map %d" % i) for i in range(200)) + table_map(150, b"map 3")
    assert scanner.scan(index, data, 0, len(data), 0) == "end"
    assert sorted(scanner.maps.ids()) == [(i, 3 if i == 150 else i) for i in range(200)]
    kept = scanner.maps.renew()
    assert kept == [i for i in range(200) if i != 150]
    assert scanner.maps.count == 199
    assert [scanner.maps.body(i) for i in range(199)] == [b"map %d" % slot for slot in kept]
    assert dict(scanner.maps.ids()) == {i: kept.index(3 if i == 150 else i) for i in range(200)}
    index = Index()
    again = write_rows(7) + table_map(7, b"map 7") + write_rows(7) + table_map(8, b"map 7")
    assert scanner.scan(index, again, 0, len(again), 0) == "end"
    assert entries(index)["slot"].tolist() == [7, 199, 199, 199]
    assert [bool(n & NEW_MAP) for n in entries(index)["notes"]] == [False, True, False, False]
    assert len(scanner.maps.renew()) == 198
    scanner.maps.forget_ids()
    assert scanner.maps.renew() == [] and scanner.maps.count == 0
    with pytest.raises(IndexError):
        scanner.maps.body(0)


def test_ids_that_are_forgotten_take_no_room() -> None:
    """Of as many logs as there are: their servers' ids grow."""
    scanner, _ = unplaced()
    for log in range(50):
        data = b"".join(table_map(log * 1000 + i, b"map") for i in range(100))
        scanner.scan(Index(), data, 0, len(data), 0)
        assert len(scanner.maps.ids()) == 100
        scanner.maps.forget_ids()
    assert scanner.maps.count == 1


def test_notes_of_statements() -> None:
    scanner, index = unplaced()
    data = b"".join(
        (
            table_map(1, b"a"), table_map(2, b"b"), table_map(2, b"b"), table_map(1, b"c"),
            write_rows(1, 0), write_rows(2, 1), write_rows(1, 0), write_rows(0xFFFFFF, 1),
            write_rows(9, 1),
        )
    )  # fmt: skip
    assert scanner.scan(index, data, 0, len(data), 0) == "end"
    assert entries(index)["notes"].tolist() == [
        NEW_MAP, NEW_MAP, 0, NEW_MAP | MAP_CHANGED,
        0, STATEMENT_END, STRAY, NO_MAP | STATEMENT_END,
        NO_MAP | STRAY | STATEMENT_END,
    ]  # fmt: skip


def test_a_statement_is_open_from_its_map_to_its_end() -> None:
    scanner, _ = unplaced()
    steps = (
        (query(b"BEGIN"), False), (table_map(1, b"a"), True), (write_rows(1, 0), True),
        (write_rows(1, 1), False), (write_rows(1, 0), True), (xid(3), False),
    )  # fmt: skip
    scanner.know_status(b"")
    for data, is_open in steps:
        assert scanner.scan(Index(), data, 0, len(data), 0) == "end"
        assert scanner.in_statement == is_open
    assert transactions(scanner)["notes"].tolist() == [IN_STATEMENT]


def test_behind_what_was_lost_no_statement_goes_on() -> None:
    scanner, index = unplaced()
    data = table_map(1, b"a") + write_rows(1, 0)
    scanner.scan(index, data, 0, len(data), 0)
    scanner.lost()
    assert not scanner.in_statement
    scanner.scan(index, write_rows(1, 0), 0, len(write_rows(1)), 0)
    last = entries(index)[-1]
    assert (last["slot"], last["notes"]) == (0, STRAY)
    assert scanner.open_transaction == (False, False)


# ---- transactions ---------------------------------------------------------------------------


def test_what_is_told_of_a_transaction() -> None:
    scanner, _ = unplaced()
    scanner.know_status(b"")
    data = b"".join(
        (
            gtid(5, b"\xfc\x34\x12"), query(b"BEGIN"), table_map(1, b"a"), write_rows(1), xid(9),
            gtid(6), query(b"BEGIN"), query(b"COMMIT"), table_map(1, b"a"), write_rows(1),
        )
    )  # fmt: skip
    assert scanner.scan(Index(), data, 0, len(data), 0) == "end"
    found = transactions(scanner)
    assert found["length"].tolist() == [0x1234, -1, -1]
    assert found["first_type"].tolist() == [GTID, GTID, TABLE_MAP]
    assert found["last_type"].tolist() == [XID, QUERY, WRITE_ROWS]
    assert found["events"].tolist() == [5, 3, 2]
    assert found["notes"].tolist() == [0, 0, ALONE]
    assert found["outcome"].tolist() == [COMMITTED] * 3
    assert found["xid"].tolist() == [9, 0, 0]


def test_begin_inside_a_transaction_that_began_so() -> None:
    """The one before has no end: it is cut, and a new one begins."""
    scanner, index = unplaced()
    scanner.know_status(b"")
    data = b"".join(
        (query(b"BEGIN"), table_map(1, b"a"), query(b"BEGIN"), gtid(1), query(b"BEGIN"), xid(1))
    )
    assert scanner.scan(index, data, 0, len(data), 0) == "end"
    assert entries(index)["tx"].tolist() == [0, 0, 1, 2, 2, 2]
    found = transactions(scanner)
    assert found["notes"].tolist() == [REPLACED | IN_STATEMENT, REPLACED, 0]
    assert found["outcome"].tolist() == [CUT, CUT, COMMITTED]


def test_settling_gives_the_number() -> None:
    scanner = Scanner(7)
    scanner.positions = False
    data = query(b"SAVEPOINT a")

    def settle(**said: Any) -> int:
        index = Index()
        assert scanner.scan(index, data, 0, len(data), 0) == "look"
        number = scanner.settle(index, 0, **said)
        assert entries(index)[-1]["tx"] == number
        return number

    assert settle(join=False) == -1
    assert settle() == settle() == settle(join=False) == 7
    assert settle(start=True, length=99) == 8
    assert settle(ends=True, outcome=3, xid=(1 << 64) - 1) == 8
    assert settle(tagged=True, thread_id=5, explicit=True) == 9
    assert scanner.open_transaction == (True, True)
    scanner.finish()
    assert scanner.open_transaction is None
    found = transactions(scanner)
    assert found["number"].tolist() == [7, 8, 9]
    assert found["length"].tolist() == [-1, 99, -1]
    assert found["xid"].tolist() == [0, (1 << 64) - 1, 0]
    assert found["has"].tolist() == [0, 16, 1 | 8]
    assert found["outcome"].tolist() == [0, 3, 0]
    assert found["notes"].tolist() == [REPLACED, 0, 0]
    with pytest.raises(OverflowError):
        settle(xid=1 << 64)


# ---- positions and packs --------------------------------------------------------------------


def test_without_checksums_events_stand_where_they_say() -> None:
    data = placed(xid(1), xid(2), xid(3), start=(1 << 32) - 40)
    scanner, index = Scanner(), Index()
    origin = (1 << 32) - 40
    assert scanner.scan(index, data, 0, len(data), origin) == "end"
    assert scanner.scan(Index(), data, 0, len(data), origin + 1) == "position"
    moved = data[:27] + xid(2) + data[54:]
    assert scanner.scan(index, moved, 0, len(data), origin) == "position"
    assert scanner.offset == 27
    assert len(index) == 4  # the first again
    scanner.outer_pos, scanner.outer_end = 1000, 2000
    assert scanner.scan(index, moved, 0, len(data), 0) == "end"
    scanner.outer_pos = scanner.outer_end = -1
    scanner.positions = False
    assert scanner.scan(index, moved, 0, len(data), 0) == "end"


def test_packed_events_are_where_their_spots_say(row_events: ModuleType) -> None:
    from binlogkit._kernel.cells import CellSpec
    from binlogkit.constants import ColumnType as T

    data = table_map(1, b"a") + write_rows(1, 0) + write_rows(1) + xid(4)
    spots = np.zeros(4, SPOTS)
    spots["pos"] = [1 << 40, 2 << 40, 2 << 40, 3 << 40]
    spots["end_pos"] = spots["pos"] + 100
    spots["inner"] = [-1, 0, 1, -1]
    spots["size"] = [50, 60, 70, 80]
    scanner, index = Scanner(), Index()
    assert scanner.scan(index, data, 0, len(data), 0, False, spots.data) == "end"
    assert entries(index)["offset"].tolist()[0] == 0
    (first, second) = transactions(scanner)
    assert (first["pos"], first["end_pos"], first["size"]) == (1 << 40, (2 << 40) + 100, 50)
    assert (second["pos"], second["size"]) == (3 << 40, 80)
    plan = table_plan(row_events.schema_of([CellSpec(T.TINY)]))
    builder = plan.builder()
    rows = RowsPass(scanner, index, data, 0, 0, spots.data)
    assert rows.run([builder]) is None
    runs = np.frombuffer(builder.take()[1].tobytes(), np.dtype(list(RUN)))
    assert runs["pos"].tolist() == [2 << 40] * 2
    assert runs["end_pos"].tolist() == [(2 << 40) + 100] * 2
    assert runs["inner"].tolist() == [0, 1]


@pytest.mark.parametrize(("flags", "notes"), [(1, 1 | 2), (2, 1), (3, 1 | 2)])
def test_spots_that_python_must_look_at(flags: int, notes: int) -> None:
    data = table_map(1, b"a") + xid(1)
    spots = np.zeros(2, SPOTS)
    spots["inner"], spots["pos"], spots["end_pos"] = -1, [10, 60], [60, 99]
    spots["flags"][0] = flags
    scanner, index = Scanner(), Index()
    assert scanner.scan(index, data, 0, len(data), 0, False, spots.data) == "look"
    (entry,) = entries(index)
    assert (entry["notes"], entry["slot"]) == (notes, -1)
    assert scanner.maps.count == 0
    assert scanner.settle(index, 0, spots=spots.data) == 0
    assert scanner.scan(index, data, scanner.offset, len(data), 0, False, spots.data) == "end"
    (found,) = transactions(scanner)
    assert (found["pos"], found["end_pos"], found["events"]) == (10, 99, 2)


@pytest.mark.parametrize("count", [0, 1, 2])
def test_no_event_is_taken_for_which_there_is_no_spot(count: int) -> None:
    data = query(b"SAVEPOINT a") + xid(1) + xid(2)
    spots = np.zeros(count, SPOTS)
    scanner, index, stop, at = Scanner(), Index(), "look", 0
    while stop == "look":
        stop = scanner.scan(index, data, at, len(data), 0, False, spots.tobytes())
        at = scanner.offset
        if stop == "look":
            with pytest.raises(ValueError, match="a spot per event"):
                scanner.settle(index, 0, spots=b"")
            with pytest.raises(ValueError, match="a spot per event"):
                scanner.settle(index, 0, spots=bytes(31))
            scanner.settle(index, 0, spots=spots.tobytes())
    assert (stop, len(index)) == ("size", count)
    rows = RowsPass(scanner, index, data, 0, 0, b"")
    assert rows.run([]) is None and rows.entry == 0


def test_rows_pass_hands_over_what_is_full(row_events: ModuleType) -> None:
    from binlogkit._kernel.cells import CellSpec
    from binlogkit.constants import ColumnType as T

    data = table_map(1, b"a") + table_map(2, b"b")
    data += b"".join(write_rows(1 + i % 2) for i in range(20))
    scanner, index = unplaced()
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
    scanner, index = unplaced()
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
