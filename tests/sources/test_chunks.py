"""A log's bytes in one buffer: whatever a file gives at once, nothing is lost or doubled."""

from __future__ import annotations

import io
import random
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import BinaryIO, cast

import pytest

from binlogkit.errors import DamageError
from binlogkit.sources import chunks
from binlogkit.sources.chunks import Chunks
from binlogkit.sources.layers import Lookahead
from binlogkit.sources.tasks import Task

DATA = random.Random(1).randbytes(100_000)


class Dribble(io.RawIOBase):
    """A pipe: some bytes at a time, by read() or readinto()."""

    def __init__(self, data: bytes, most: int) -> None:
        self._file, self._most = io.BytesIO(data), most

    def readable(self) -> bool:
        return True

    def read(self, size: int = -1) -> bytes:
        return self._file.read(min(size, self._most))

    def readinto(self, room: object) -> int:
        view = memoryview(room)[: self._most]  # type: ignore[arg-type]
        return self._file.readinto(view)


class Plain(io.RawIOBase):
    """A file that has read() alone; what it inherits as readinto() only raises."""

    def __init__(self, data: bytes) -> None:
        self._file = io.BytesIO(data)

    def read(self, size: int = -1) -> bytes:
        return self._file.read(size)


def taken(file: object, step: int) -> bytes:
    """All bytes, of which ``step`` are taken at a time; where each stands is checked."""
    found, whole = Chunks(cast(BinaryIO, file)), bytearray()
    while found.more():
        while found.end - found.start >= step:
            assert found.origin + found.start == len(whole)
            whole += found.buffer[found.start : found.start + step]
            found.start += step
    return bytes(whole + found.buffer[found.start : found.end])


@pytest.mark.sampled(8)
@pytest.mark.parametrize("size", [1, 64, 1000, 1 << 20])
@pytest.mark.parametrize("step", [1, 63, 64, 65, 5000])
def test_every_byte_once(monkeypatch: pytest.MonkeyPatch, size: int, step: int) -> None:
    monkeypatch.setattr(chunks, "SIZE", size)
    data = DATA[: 2000 if step == 1 else 20_000]
    for most in (1, 7, 1 << 20):
        assert taken(Dribble(data, most), step) == data
        assert taken(Lookahead(cast(BinaryIO, Dribble(data, most))), step) == data
    assert taken(Lookahead(cast(BinaryIO, Plain(data))), step) == data


def test_nothing_is_there() -> None:
    empty = Chunks(io.BytesIO())
    assert not empty.more()
    assert (empty.start, empty.end) == (0, 0)
    assert not empty.more()


def test_a_small_log_has_a_small_buffer() -> None:
    found = Chunks(io.BytesIO(DATA[:1000]))
    while found.more():
        assert len(found.buffer) < len(DATA)
    again = Chunks(io.BytesIO(b"more"), found)
    assert again.more()
    assert bytes(again.buffer[again.start : again.end]) == b"more"


def test_the_buffer_does_not_grow_beyond_its_size(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(chunks, "SIZE", 1 << 12)
    found = Chunks(io.BytesIO(DATA))
    while found.more():
        found.start = found.end
        assert len(found.buffer) == 1 << 12


def test_what_was_looked_at_ahead_comes_first() -> None:
    file = Lookahead(io.BytesIO(DATA))
    assert file.peek(10) == DATA[:10]
    assert taken(file, 100) == DATA


class Damaged(Plain):
    """Some bytes, then damage, again and again."""

    def read(self, size: int = -1) -> bytes:
        data = super().read(size)
        if not data:
            raise DamageError("f", 5, "broken")
        return data


def test_damage_that_was_met_while_looking_ahead_ends_the_bytes_before_it() -> None:
    file = Lookahead(cast(BinaryIO, Damaged(b"12345")))
    assert file.peek(10) == b"12345"
    found = Chunks(cast(BinaryIO, file))
    assert found.more() and not found.more()
    assert bytes(found.buffer[found.start : found.end]) == b"12345"
    assert isinstance(found.failure, DamageError)
    rest = found.rest(0)
    assert rest.read(5) == b"12345"
    with pytest.raises(DamageError, match="broken"):
        rest.read(1)


@pytest.mark.parametrize("step", [1, 64, 300, 5000])
def test_what_is_lent_stays_and_what_is_read_ahead_comes_in_order(
    monkeypatch: pytest.MonkeyPatch, step: int
) -> None:
    monkeypatch.setattr(chunks, "SIZE", 1 << 10)
    data = DATA[: 2000 if step == 1 else 50_000]
    with ThreadPoolExecutor(1) as pool:
        found = Chunks(io.BytesIO(data), ahead=partial(Task, pool))
        whole, lent = bytearray(), []
        while found.more():
            begin = found.start
            found.start += (found.end - begin) // step * step
            whole += found.buffer[begin : found.start]
            lent.append((found.lend(), begin, bytes(found.buffer[begin : found.start])))
            if len(lent) > 3:
                buffer, at, there = lent.pop(0)
                assert buffer[at : at + len(there)] == there
                found.give_back(buffer)
        found.close()
    assert whole + found.buffer[found.start : found.end] == data
    for buffer, at, there in lent:
        assert buffer[at : at + len(there)] == there
