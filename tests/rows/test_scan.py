"""Parts of a log: stretches of intact events, and what stands between them."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import fsspec
import pytest
import zstandard

from binlogkit._kernel.native.scan import Scanner
from binlogkit.constants import EventType as T
from binlogkit.errors import DamageError
from binlogkit.events.base import Event
from binlogkit.rows.scan import LogScan, ScannedPart
from binlogkit.rows.window import Stretch
from binlogkit.sources import chunks
from binlogkit.sources.carriers import resolve
from tests.fuzz.binlogkit_fuzz import framing, seeds
from tests.fuzz.binlogkit_fuzz.framing import log_of
from tests.rows.window_checks import assert_same

LOG = seeds.logs()["8.0-row-full/transactions/binlog.000001"]
PAYLOADS = seeds.logs()["8.0-row-compressed/transactions/binlog.000001"]
PLAIN = seeds.logs()["8.0-row-no-checksum/keys/binlog.000001"]


class Scanned:
    """A log through a scan.

    ``places``: (offset, number inside a payload or -1, ordinal) of every event; ``looked``: the
    events that Python was given; ``damages``: offsets.
    """

    def __init__(self, source: Any, *, stops: bool = False, changes: bool = False) -> None:
        self.places: list[tuple[int, int, int]] = []
        self.looked: list[Event] = []
        self.damages: list[int] = []
        self.packed: list[int] = []
        self.largest = 0
        self.stretches = 0
        self._changes = changes
        self.scan = LogScan(resolve(source)[0], Scanner(), self._look, stops=stops)
        self.error: DamageError | None = None
        try:
            for part in self.scan:
                self._take(part)
        except DamageError as error:
            self.error = error

    def _look(self, scan: LogScan, i: int, event: Event, /) -> bool:
        assert scan.ordinal + i == len(self.places) + i
        self.looked.append(event)
        return self._changes

    def _take(self, part: ScannedPart) -> None:
        self.damages += [error.offset for _, error in part.damages]
        stretch = part.stretch
        assert stretch is not None or part.damages
        if stretch is not None:
            self.stretches += 1
            self.largest = max(self.largest, len(stretch.data))
            self.places += events_of(stretch)
            self.packed += stretch.positions.tolist() if stretch.raws is not None else []


def events_of(stretch: Stretch) -> list[tuple[int, int, int]]:
    places = zip(stretch.positions.tolist(), stretch.inners.tolist(), strict=True)
    return [(pos, inner, stretch.ordinal + i) for i, (pos, inner) in enumerate(places)]


@pytest.mark.parametrize("size", [64, 300, 5000, 1 << 20])
def test_every_event_once_in_its_order(monkeypatch: pytest.MonkeyPatch, size: int) -> None:
    monkeypatch.setattr(chunks, "SIZE", size)
    for data in (LOG, PAYLOADS):
        scanned = Scanned(data, stops=True)
        assert scanned.packed == []
        assert [ordinal for _, _, ordinal in scanned.places] == list(range(len(scanned.places)))
        assert [pos for pos, inner, _ in scanned.places if inner < 0] == framing.places(data)
    inner = [(pos, i) for pos, i, _ in scanned.places if i >= 0]
    assert inner == sorted(inner) and len(inner) > 20


@pytest.mark.parametrize("size", [64, 1 << 20])
def test_damage_stands_behind_all_that_is_intact(
    monkeypatch: pytest.MonkeyPatch, size: int
) -> None:
    monkeypatch.setattr(chunks, "SIZE", size)
    starts = framing.places(LOG)
    for at in starts[1::9]:
        broken = LOG[: at + 20] + bytes([LOG[at + 20] ^ 1]) + LOG[at + 21 :]
        stopped = Scanned(broken, stops=True)
        assert stopped.error is not None and stopped.error.offset == at
        assert [pos for pos, _, _ in stopped.places] == starts[: starts.index(at)]
        passed = Scanned(broken)
        assert (passed.error, passed.damages) == (None, [at])
        assert [pos for pos, _, _ in passed.places] == starts


def test_a_log_that_ends_inside_an_event() -> None:
    scanned = Scanned(LOG[:-1])
    assert scanned.damages == [framing.places(LOG)[-1]]
    assert len(scanned.places) == len(framing.places(LOG)) - 1
    assert Scanned(LOG[: framing.places(LOG)[-1]]).damages == []


def test_a_size_that_nothing_supports_is_not_read_ahead(monkeypatch: pytest.MonkeyPatch) -> None:
    """An event that claims a gigabyte, in a log in which so much might follow."""
    monkeypatch.setattr(chunks, "SIZE", 1000)
    at = framing.places(LOG)[5]
    claims = LOG[: at + 9] + (1 << 30).to_bytes(4, "little") + LOG[at + 13 :]
    scanned = Scanned(claims + bytes(1 << 16))
    assert scanned.damages[0] == at
    assert scanned.largest < 20_000


def test_a_change_of_tables_ends_a_stretch() -> None:
    def stretches(data: bytes, changes: bool) -> int:
        return Scanned(data, changes=changes).stretches

    ddl = seeds.logs()["5.7-row-full/ddl/binlog.000001"]
    assert stretches(ddl, True) > 20 > stretches(ddl, False)
    assert Scanned(ddl, changes=True).places == Scanned(ddl).places


def test_python_looks_at_what_is_not_ordinary() -> None:
    usual = {T.GTID_LOG_EVENT, T.TABLE_MAP_EVENT, T.XID_EVENT, *seeds.ROWS}
    looked = [event.raw.header.type_code for event in Scanned(LOG).looked]
    assert looked[0] == T.FORMAT_DESCRIPTION_EVENT and not usual & set(looked)
    statements = [p for p in framing.split(LOG).parts if p.code == T.QUERY_EVENT]
    assert 3 < looked.count(T.QUERY_EVENT) < len(statements)


# ---- payloads -------------------------------------------------------------------------------


def payload(inner: bytes, claimed: int | None = None) -> bytes:
    """The body of an event with these events in it, as they are; ``claimed``: what it says of
    their size when uncompressed."""
    size = len(inner).to_bytes(3, "little")
    claim = b"" if claimed is None else b"\3\4\xfd" + claimed.to_bytes(3, "little")
    return b"\2\3\xfc\xff\0" + claim + b"\1\4\xfd" + size + b"\0" + inner


def inside(*bodies: tuple[int, bytes]) -> bytes:
    plain = log_of([(int(code), body) for code, body in bodies], checksums=False)
    return plain[framing.places(plain)[1] :]


XIDS = inside(*[(T.XID_EVENT, bytes(8))] * 3)


NESTED = XIDS[:27] + inside((T.TRANSACTION_PAYLOAD_EVENT, payload(XIDS)), (T.XID_EVENT, bytes(8)))
INSIDE = {
    "whole": (payload(XIDS), 3, 0),
    "whole, with its size": (payload(XIDS, len(XIDS)), 3, 0),
    "empty": (payload(b""), 0, 0),
    "cut": (payload(XIDS[:-5]), 2, 1),
    "bytes behind": (payload(XIDS + b"x"), 3, 1),
    "claims more": (payload(XIDS, len(XIDS) + 7), 3, 1),
    "claims less": (payload(XIDS, len(XIDS) - 7), 3, 1),
    "bad size": (payload(XIDS[:9] + b"\xff\xff\0\0" + XIDS[13:]), 0, 1),
    "size of nothing": (payload(XIDS[: 27 + 9] + bytes(4) + XIDS[27 + 13 :]), 1, 1),
    "short event": (payload(inside((T.XID_EVENT, b"short"), (T.XID_EVENT, bytes(8)))), 2, 1),
    "payload in a payload": (payload(NESTED), 1, 1),
    "no payload": (payload(XIDS)[:9], 0, 1),
}


@pytest.mark.parametrize("name", INSIDE)
@pytest.mark.parametrize("size", [30, 1 << 20])
def test_payloads(monkeypatch: pytest.MonkeyPatch, name: str, size: int) -> None:
    """Events up to what is broken, once each; what follows the payload is read on."""
    monkeypatch.setattr(chunks, "SIZE", size)
    body, count, damages = INSIDE[name]
    data = log_of([(T.TRANSACTION_PAYLOAD_EVENT, body), (T.XID_EVENT, bytes(8))])
    scanned = Scanned(data)
    outer, behind = framing.places(data)[1:]
    assert [inner for pos, inner, _ in scanned.places if pos == outer] == list(range(-1, count))
    assert scanned.places[-1][:2] == (behind, -1)
    assert scanned.damages == [outer] * damages
    assert_same(data, "report")
    assert_same(data, "stop")


@pytest.mark.parametrize("size", [64, 1 << 20])
@pytest.mark.parametrize(
    ("name", "most", "count"), [("INNER_EVENTS", 5, 5), ("INNER_EVENTS", 7, 7), ("PAYLOAD", 140, 6)]
)
def test_a_payload_over_its_limit(
    monkeypatch: pytest.MonkeyPatch, size: int, name: str, most: int, count: int
) -> None:
    """Events up to the limit, then damage; what follows the payload is read on."""
    monkeypatch.setattr(chunks, "SIZE", size)
    monkeypatch.setenv("BINLOGKIT_LIMIT_EXPANSION", "0")
    monkeypatch.setenv(f"BINLOGKIT_LIMIT_{name}", str(most))
    packed = zstandard.compress(
        inside(*[(T.XID_EVENT, bytes(8)), (T.IGNORABLE_LOG_EVENT, b"")] * 9)
    )
    body = b"\2\1\0\1\4\xfd" + len(packed).to_bytes(3, "little") + b"\0" + packed
    data = log_of([(T.TRANSACTION_PAYLOAD_EVENT, body), (T.XID_EVENT, bytes(8))])
    scanned = Scanned(data)
    outer, behind = framing.places(data)[1:]
    inner = [inner for pos, inner, _ in scanned.places if pos == outer]
    assert inner == list(range(-1, count))
    assert scanned.places[-1][:2] == (behind, -1)
    assert scanned.damages == [outer]
    assert_same(data, "report")
    assert_same(data, "stop")


# ---- carriers -------------------------------------------------------------------------------


class ReadOnly:
    """A file object that can do nothing but read()."""

    def __init__(self, data: bytes) -> None:
        self._file = io.BytesIO(data)

    def read(self, size: int = -1) -> bytes:
        return self._file.read(size)


class Dripping(ReadOnly):
    """One that gives some bytes at a time."""

    def read(self, size: int = -1) -> bytes:
        return self._file.read(min(size, 57))


def carriers(folder: Path) -> Iterator[tuple[str, Any]]:
    yield "bytes", LOG
    yield "file object", io.BytesIO(LOG)
    yield "only read()", ReadOnly(LOG)
    yield "little at a time", Dripping(LOG)
    pack: list[tuple[str, Callable[[bytes], bytes]]] = [
        ("gz", gzip.compress), ("zst", zstandard.compress), ("bz2", bz2.compress),
        ("xz", lzma.compress),
    ]  # fmt: skip
    for suffix, compress in pack:
        path = folder / f"packed.{suffix}"
        path.write_bytes(compress(LOG))
        yield suffix, path
    with fsspec.open("memory://scan/binlog.000001", "wb") as file:
        file.write(LOG)
    yield "URL", "memory://scan/binlog.000001"
    yield "live log", LOG[: framing.places(LOG)[-1]]  # without its ROTATE_EVENT


def test_what_carries_a_log_does_not_matter(tmp_path: Path) -> None:
    for name, source in carriers(tmp_path):
        scanned = Scanned(source)
        assert (scanned.packed, scanned.damages) == ([], []), name
        assert [pos for pos, _, _ in scanned.places] == framing.places(LOG)[: len(scanned.places)]
        assert len(framing.places(LOG)) - len(scanned.places) == (name == "live log")


def test_texts_are_framed_one_by_one() -> None:
    scanned = Scanned(LOG.hex(" ").encode())
    assert scanned.packed == framing.places(LOG)
    assert scanned.scan.loose is False  # it shows a file
    assert Scanned(LOG[4:]).scan.loose


def test_beginning_at_a_transaction(tmp_path: Path) -> None:
    """The format description, and what stands from there on."""
    begin = [p for p in framing.places(LOG) if LOG[p + 4] == T.GTID_LOG_EVENT][5]
    path = tmp_path / "binlog.000001"
    path.write_bytes(LOG)
    for source in (path, LOG):
        scan = LogScan(resolve(source)[0], Scanner(7), lambda *_: False, stops=True, begin=begin)
        found = [p for part in scan if part.stretch for p in part.stretch.positions.tolist()]
        assert found == [4, *(p for p in framing.places(LOG) if p >= begin)]
        assert scan.transactions()["number"][0] == 7


def test_relay_logs_say_so() -> None:
    assert Scanned(LOG).scan.relay is False
    pieces = framing.split(LOG)
    first = replace(pieces.parts[0], flags=0x40)
    data = framing.join(replace(pieces, parts=[first, *pieces.parts[1:]]))
    assert Scanned(data).scan.relay is True
