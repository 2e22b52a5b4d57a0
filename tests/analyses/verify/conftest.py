"""Logs put together anew from a real log's events, each at its place and with its checksum."""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path

import pytest

import binlogkit as bk
from binlogkit.log.verify import Verification

DATA = Path(__file__).parents[2] / "_data"
MAGIC = b"\xfebin"
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
