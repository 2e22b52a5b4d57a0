"""Logs put together anew from a real log's events, each at its place and with its checksum."""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

import pytest

import binlogkit as bk
from binlogkit.log.verify import Verification

DATA = Path(__file__).parents[2] / "_data"
MAGIC = b"\xfebin"
SID = "80808080-0080-11ee-8080-808080808080"
FLAGS, LOG_POS = 17, 13
IN_USE = 1


@dataclass
class Piece:
    """An event's bytes without its checksum; ``keep_pos``: its log_pos stays as it is."""

    data: bytearray
    type: str
    keep_pos: bool = False


def pieces_of(data: bytes) -> list[Piece]:
    """The events of a log with checksums."""
    return [
        Piece(bytearray(data[e["pos"] : e["end_pos"] - 4]), str(e["type"]))
        for e in bk.open(data).event_records()
        if e["inner"] is None
    ]


def joined(pieces: Iterable[Piece]) -> bytes:
    """A log of these events as a server would have written it: positions and checksums right."""
    out = bytearray(MAGIC)
    for piece in pieces:
        data = bytearray(piece.data)
        data[9:13] = (len(data) + 4).to_bytes(4, "little")
        if not piece.keep_pos:
            data[LOG_POS : LOG_POS + 4] = (len(out) + len(data) + 4).to_bytes(4, "little")
        plain = bytearray(data)
        if piece.type == "FORMAT_DESCRIPTION_EVENT":
            plain[FLAGS] &= ~IN_USE & 0xFF
        out += data + zlib.crc32(plain).to_bytes(4, "little")
    return bytes(out)


@pytest.fixture(scope="session")
def pieces() -> Callable[[str], list[Piece]]:
    """The events of ``cell/scenario/log``, fresh for every test."""
    return lambda name: pieces_of((DATA / name).read_bytes())


@pytest.fixture(scope="session")
def join() -> Callable[[Iterable[Piece]], bytes]:
    """See :func:`joined`."""
    return joined


@pytest.fixture(scope="session")
def codes() -> Callable[[Verification], list[str]]:
    """The codes of findings that are more than notes, in order."""
    return lambda found: [f.code for f in found.findings if f.grade != "note"]


@pytest.fixture
def series(tmp_path: Path) -> list[Path]:
    """See :func:`write_series`."""
    return write_series(tmp_path)


def write_series(folder: Path, logs: int = 3, each: int = 20) -> list[Path]:
    """Write logs of one server as rotation leaves them; ``each``: transactions of one."""
    events = pieces_of((DATA / "8.0-row-full/keys/binlog.000001").read_bytes())
    starts = [i for i, piece in enumerate(events) if piece.type == "GTID_LOG_EVENT"]
    paths = []
    for n in range(logs):
        part = events[starts[each * n] : starts[each * n + each]]
        for i, piece in enumerate(p for p in part if p.type == "GTID_LOG_EVENT"):
            at = 19 + 26
            piece.data[at : at + 16] = i.to_bytes(8, "little") + (i + 1).to_bytes(8, "little")
        head, previous = events[0], Piece(bytearray(events[1].data[:19]), events[1].type)
        previous.data += previous_gtids(each * n)
        rotate = Piece(bytearray(events[-1].data[:27]), "ROTATE_EVENT")
        rotate.data += f"binlog.{n + 2:06}".encode()
        path = folder / f"binlog.{n + 1:06}"
        path.write_bytes(joined([head, previous, *part, rotate]))
        paths.append(path)
    return paths


def keys_log() -> tuple[list[Piece], list[list[Piece]]]:
    """The events of a log that creates and changes tables with all kinds of keys, and those of each
    of its transactions."""
    events = pieces_of((DATA / "8.0-row-full/keys/binlog.000001").read_bytes())
    starts = [i for i, piece in enumerate(events) if piece.type == "GTID_LOG_EVENT"]
    return events, [events[a:b] for a, b in pairwise(starts)]


def said(transaction: Iterable[Piece], old: bytes, new: bytes) -> list[Piece]:
    """A transaction with another statement, as long as before: its GTID event has its length."""
    new = new.ljust(len(old))
    return [Piece(piece.data.replace(old, new), piece.type) for piece in transaction]


def of_server(data: bytes, server_id: int) -> bytes:
    """A log as a replica writes it: its own events are of another server, those of transactions
    stay as they are."""
    pieces = pieces_of(data)
    for piece in pieces:
        if piece.type in ("FORMAT_DESCRIPTION_EVENT", "PREVIOUS_GTIDS_LOG_EVENT", "ROTATE_EVENT"):
            piece.data[5:9] = server_id.to_bytes(4, "little")
    return joined(pieces)


def log_of(transactions: Iterable[Iterable[Piece]], n: int = 0, before: int = 0) -> bytes:
    """The ``n``-th log of a server, of such transactions, whose GTIDs follow those ``before``."""
    events, _ = keys_log()
    pieces = [events[0], Piece(events[1].data[:19] + previous_gtids(before), events[1].type)]
    for number, (gtid, *rest) in enumerate(transactions, before + 1):
        data = bytearray(gtid.data)
        clock = number - before
        for at, value in (36, number), (45, clock - 1), (53, clock):
            data[at : at + 8] = value.to_bytes(8, "little")
        pieces += [Piece(data, gtid.type), *rest]
    rotate = Piece(events[-1].data[:27] + f"binlog.{n + 2:06}".encode(), "ROTATE_EVENT")
    return joined([*pieces, rotate])


def previous_gtids(last: int) -> bytes:
    """The body of PREVIOUS_GTIDS for 1 to ``last``."""
    if not last:
        return (0).to_bytes(8, "little")
    sid = bytes.fromhex(SID.replace("-", ""))
    numbers = (1, 1, last + 1)
    return (1).to_bytes(8, "little") + sid + b"".join(n.to_bytes(8, "little") for n in numbers)
