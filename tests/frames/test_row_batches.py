"""Row changes through the kernel are those that are read event by event, for every log."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import zstandard

import binlogkit as bk
from binlogkit._kernel.columns import MAX_BYTES, MAX_ROWS
from binlogkit.frames import row_batches, share_gathering
from binlogkit.frames.row_batches import RowChanges, read_batches
from binlogkit.frames.share_decoding import SHARE_MOST, Workers
from binlogkit.rows import scan
from binlogkit.rows.filters import Filters
from binlogkit.sources import chunks
from tests.frames.readings import assert_same, by_kernel, read
from tests.fuzz.binlogkit_fuzz import framing, seeds

SMALL = 150_000  # bytes of a log that is damaged again and again
MODES = ("stop", "report")
PAYLOAD, WRITE, ZSTD = 40, 30, b"\x28\xb5\x2f\xfd"


def series() -> Iterator[tuple[str, list[str]]]:
    """The golden logs that belong together, and other projects' by themselves."""
    for folder in sorted({path.parent for path in seeds.DATA.glob("*/*/binlog.0*")}):
        logs = sorted(str(path) for path in folder.glob("binlog.0*") if path.suffix[1:].isdigit())
        yield str(folder.relative_to(seeds.DATA)), logs
    for path in sorted(seeds.CORPUS.glob("*/*")):
        if path.is_file():
            yield path.name, [str(path)]


ALL = dict(series())


@pytest.mark.sampled(3, 24)
@pytest.mark.parametrize("name", ALL)
def test_every_log(name: str) -> None:
    for mode in MODES:
        assert_same(ALL[name], mode)


def damaged(data: bytes, chance: random.Random) -> bytes:
    """One of the ways in which logs break."""
    broken = bytearray(data)
    if len(broken) <= 200:
        return data
    at, size = chance.randrange(4, len(broken)), chance.randrange(1, 60)
    match chance.choice(("none", "flip", "flip", "cut", "zero", "insert", "drop")):
        case "flip":
            broken[at] ^= 1 << chance.randrange(8)
        case "cut":
            del broken[at:]
        case "zero":
            broken[at : at + size] = bytes(len(broken[at : at + size]))
        case "insert":
            broken[at:at] = chance.randbytes(size)
        case "drop":
            del broken[at : at + size]
    return bytes(broken)


def filters(length: int, chance: random.Random) -> dict[str, Any]:
    uuid = "3e11fa47-71ca-11e1-9e33-c80aa9429562"
    if chance.random() < 0.6:
        return {}
    return chance.choice(
        (
            {"op": "update"},
            {"op": ["insert", "delete"]},
            {"server_id": 1},
            {"start_position": chance.randrange(length)},
            {"stop_position": chance.randrange(length)},
            {"start_time": 1_700_000_000 + chance.randrange(10**7)},
            {"stop_time": 1_767_225_600 + chance.randrange(10_000)},
            {"thread": chance.randrange(1, 30)},
            {"table": "account"},
            {"exclude_table": "account"},
            {"gtid": f"{uuid}:1-{chance.randrange(1, 40)}"},
        )
    )


def one_round(chance: random.Random, monkeypatch: pytest.MonkeyPatch) -> None:
    name = chance.choice([n for n, data in seeds.logs().items() if len(data) <= SMALL])
    plain = seeds.logs()[name]
    data = damaged(plain, chance)
    monkeypatch.setattr(chunks, "SIZE", chance.choice((64, 200, 1000, 5000, 1 << 20)))
    monkeypatch.setattr(scan, "_ENOUGH", chance.choice((1, 5, 20, 256)))
    chosen = filters(len(data), chance)
    source: Any = data if chance.random() < 0.6 else [data, plain]
    for mode in MODES:
        assert_same(source, mode, **chosen)


@pytest.mark.sampled(1, 12)
@pytest.mark.parametrize("seed", range(500))
def test_damaged_logs_in_chunks_with_filters(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    chance = random.Random(seed)
    for _ in range(4):
        one_round(chance, monkeypatch)


@pytest.mark.slow
def test_no_checksums_and_positions_that_are_wrong(monkeypatch: pytest.MonkeyPatch) -> None:
    """A statement that changes tables is not applied twice where the scan gives up behind it."""
    name = next(n for n in ALL if n.startswith("5.6-row-full/"))
    for logs in (ALL[name], next(ALL[n] for n in ALL if "alter" in n or "ddl" in n)):
        pieces = framing.split(Path(logs[0]).read_bytes())
        first, *others = pieces.parts
        first = replace(first, body=first.body[:-1] + b"\0")
        plain = framing.join(framing.Pieces([first, *others], checksums=False))
        for at in range(200, len(plain), max(1, len(plain) // 7)):
            monkeypatch.setattr(chunks, "SIZE", 1 << 20)
            moved = bytearray(plain)
            moved[at] ^= 0x10
            for mode in MODES:
                assert_same(bytes(moved), mode)


LARGE = str(seeds.DATA / "8.0-row-full" / "transactions" / "binlog.000001")


def test_windows_hold_as_many_rows_as_they_may() -> None:
    reading, most = bk.open(LARGE).reading(), 7
    counts = [
        [batch.num_rows for _, batch in window]
        for window in read_batches(reading, Filters(), max_rows=most)
    ]
    assert max(map(max, counts)) == most
    assert sum(map(sum, counts)) == sum(b.batch.num_rows for b in bk.open(LARGE).batches())


def test_windows_hold_as_many_bytes_as_they_may() -> None:
    reading = bk.open(LARGE).reading()
    sizes = [
        batch.num_rows
        for window in read_batches(reading, Filters(), max_bytes=200)
        for _, batch in window
    ]
    assert len(sizes) > 5
    assert sum(sizes) == sum(b.batch.num_rows for b in bk.open(LARGE).batches())


def test_windows_hold_as_many_cells_as_they_may(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(share_gathering, "_MAX_CELLS", 50)
    for window in read_batches(bk.open(LARGE).reading(), Filters()):
        for schema, batch in window:
            assert batch.num_rows <= max(1, 50 // len(schema.columns))


def multi_xid() -> str:
    """A log with a transaction that is more than one rows event long."""
    for logs in ALL.values():
        for record in bk.open(logs, on_damage="report").transaction_records():
            rows = int(record["inserts"]) + int(record["updates"])
            if rows > 5 and record["xid"] is not None:
                return logs[0]
    raise AssertionError("no such log")


@pytest.mark.parametrize("on_damage", MODES)
def test_a_transaction_too_long_to_wait_for_is_read_ahead(
    monkeypatch: pytest.MonkeyPatch, on_damage: str
) -> None:
    """Also where damage stands between its rows and its end."""
    path = multi_xid()
    data = bytearray(Path(path).read_bytes())
    broken = bytearray(data)
    broken[-60] ^= 1
    for log in (bytes(data), bytes(broken)):
        slow = assert_same(log, on_damage)
        monkeypatch.setattr(row_batches, "WAITING", 1)
        monkeypatch.setattr(chunks, "SIZE", 300)
        monkeypatch.setattr(share_gathering, "_MAX_CELLS", 8)
        fast = read(by_kernel, log, on_damage)
        monkeypatch.undo()
        assert dict(fast.rows) == dict(slow.rows)
        assert (fast.error, fast.damages) == (slow.error, slow.damages)


def test_transactions_that_end_inside_a_payload() -> None:
    """A server writes one into each; a crafted one may begin with a statement that stands alone."""
    pieces = framing.split(Path(ALL["8.0-row-compressed/keys"][0]).read_bytes())
    changed = [
        replace(part, body=_stored(part.body, _without_begin)) if part.code == PAYLOAD else part
        for part in pieces.parts
    ]
    slow = assert_same(framing.join(replace(pieces, parts=changed)), "stop")
    rows = [row for rows in slow.rows.values() for row in rows]
    assert rows
    assert {(row["gtid"], row["thread_id"]) for row in rows} == {(None, None)}
    assert len({row["tx"] for row in rows}) > 5


def _without_begin(plain: bytes) -> bytes:
    return plain.replace(b"BEGIN", b"BEGIM")


def test_rows_that_cannot_be_decoded_in_a_payload_lose_no_event_behind_them() -> None:
    pieces = framing.split(Path(ALL["8.0-row-compressed/keys"][0]).read_bytes())
    parts = list(pieces.parts)
    k = max(
        i for i, part in enumerate(parts) if part.code == PAYLOAD and WRITE in _codes(part.body)
    )
    parts[k] = replace(parts[k], body=_stored(parts[k].body, _cut_rows))
    slow = assert_same(framing.join(replace(pieces, parts=parts)), "report")
    assert len(slow.damages) == 1
    assert slow.losses == []


def _stored(payload: bytes, change: Callable[[bytes], bytes]) -> bytes:
    """A payload uncompressed, whose events are changed."""
    plain = change(decompressed(payload))
    size = len(plain).to_bytes(3, "little")
    return b"\2\3\xfc\xff\0" + b"\1\4\xfd" + size + b"\0" + plain


def _inner(plain: bytes) -> Iterator[bytes]:
    while plain:
        size = int.from_bytes(plain[9:13], "little")
        yield plain[:size]
        plain = plain[size:]


def _codes(payload: bytes) -> list[int]:
    return [event[4] for event in _inner(decompressed(payload))]


def _cut_rows(plain: bytes) -> bytes:
    """The last byte of each rows event is gone."""
    out = b""
    for event in _inner(plain):
        cut = event[:-1] if event[4] == WRITE else event
        out += cut[:9] + len(cut).to_bytes(4, "little") + cut[13:]
    return out


def decompressed(payload: bytes) -> bytes:
    data = payload[payload.index(ZSTD) :]
    return zstandard.ZstdDecompressor().decompressobj().decompress(data)


def test_views_of_one_reading_have_their_own_filters() -> None:
    """What one leaves out of a window the other has."""
    log = bk.open(ALL["8.0-row-full/keys"], threads=1)
    wanted = [
        Filters.build(op="insert"),
        Filters.build(op=["update", "delete"]),
    ]
    reading, most = log.reading(), (MAX_ROWS, MAX_BYTES, SHARE_MOST)
    views = [
        RowChanges(reading, filters, None, most, Workers(1), digests=False) for filters in wanted
    ]
    together: list[list[dict[str, Any]]] = [[] for _ in views]

    def take(number: int, windows: Iterator[row_batches.Batches]) -> None:
        for window in windows:
            together[number] += [row for _, batch in window for row in batch.to_pylist()]

    for window in reading.windows():
        for number, view in enumerate(views):
            take(number, view.feed(window))
    for number, view in enumerate(views):
        take(number, view.finish())
    for filters, rows in zip(wanted, together, strict=True):
        alone = [b for window in read_batches(log.reading(), filters) for _, b in window]
        assert rows == [row for batch in alone for row in batch.to_pylist()] != []
