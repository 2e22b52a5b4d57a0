"""Objects of a store are read in ranges: each byte once, a part by its own bytes, never cut."""

from __future__ import annotations

import zlib
from collections.abc import Iterator
from typing import Any

import pytest

import binlogkit as bk
from binlogkit.errors import InputError
from binlogkit.rows.options import ReadOptions, Start
from binlogkit.rows.reading import Reading
from binlogkit.sources.carriers import resolve
from binlogkit.sources.carriers.carrier import Carrier, can_seek, up_to
from binlogkit.sources.carriers.remote import ATTEMPTS, BLOCK, HEAD
from binlogkit.sources.carriers.storage import StorageOptions
from tests.sources.carried import DATA
from tests.sources.stores.conftest import Bucket
from tests.sources.stores.gate import Gate

LOG = (DATA / "5.7-row-no-gtid" / "transactions" / "binlog.000001").read_bytes()
_STARTS = bk.open(LOG).transactions()["pos"].tolist()
FIRST = int(_STARTS[0])
BODY = LOG[FIRST : int(_STARTS[-1])]
SIZE = 20 << 20


@pytest.fixture(scope="module")
def large() -> bytes:
    """A log's transactions again and again, each event at its place with its checksum."""
    return LOG[:FIRST] + b"".join(_again(i) for i in range(SIZE // len(BODY)))


def _again(number: int) -> bytes:
    """The body as it stands after ``number`` others."""
    body, at = bytearray(BODY), 0
    while at < len(body):
        size = int.from_bytes(body[at + 9 : at + 13], "little")
        place = FIRST + number * len(BODY) + at + size
        body[at + 13 : at + 17] = place.to_bytes(4, "little")
        sealed = zlib.crc32(body[at : at + size - 4])
        body[at + size - 4 : at + size] = sealed.to_bytes(4, "little")
        at += size
    return bytes(body)


@pytest.fixture
def carrier(bucket: Bucket, options: dict[str, Any], large: bytes) -> Carrier:
    """It, in a store."""
    url = bucket.put("logs/binlog.000001", large)
    (found,) = resolve(url, storage=StorageOptions(options))
    return found


def numbers(carrier: Carrier, start: Start | None = None) -> Iterator[int]:
    """The numbers of a reading's transactions."""
    reading = Reading([carrier], ReadOptions(threads=1), start=start)
    for window in reading.windows():
        yield from window.transactions["number"].tolist()


def test_a_carrier_of_a_store_can_seek_and_has_a_size(carrier: Carrier, large: bytes) -> None:
    assert carrier.size == len(large)
    assert can_seek(carrier)
    with carrier.open() as file:
        file.seek(len(large) // 2)
        assert file.read(100) == large[len(large) // 2 :][:100]
        file.seek(0)
        assert file.read(10) == large[:10]


@pytest.mark.slow
def test_a_whole_reading_takes_each_byte_once(carrier: Carrier, gate: Gate, large: bytes) -> None:
    assert can_seek(carrier)
    assert sum(1 for _ in numbers(carrier)) > 100
    ranges = gate.ranges()
    assert ranges[0] == (0, HEAD - 1)
    assert [first for first, _ in ranges] == [0, *(last + 1 for _, last in ranges[:-1])]
    assert ranges[-1][1] == len(large) - 1
    assert len(ranges) <= 6
    assert not [r for r in gate.requests if r.method == "GET" and r.range is None]


@pytest.mark.slow
def test_a_part_reads_its_own_bytes(carrier: Carrier, gate: Gate, large: bytes) -> None:
    begin = FIRST + len(BODY) * (len(large) // len(BODY) // 2)
    stop = begin + len(BODY) * ((4 << 20) // len(BODY))
    part = [*numbers(up_to(carrier, stop), Start(begin=begin))]
    assert len(part) > 100
    sent = sum(r.sent for r in gate.requests)
    assert stop - begin <= sent <= stop - begin + HEAD + BLOCK
    beyond = [(a, b) for a, b in gate.ranges()[1:] if a < begin or b >= stop + BLOCK]
    assert not beyond
    assert len(gate.requests) <= 8


def test_a_cut_answer_is_asked_for_again(carrier: Carrier, gate: Gate) -> None:
    with carrier.content() as file:
        whole = file.readall()
    gate.cut = 2
    with carrier.content() as file:
        assert file.readall() == whole


def test_a_fault_in_the_middle_goes_on_at_the_same_byte(
    bucket: Bucket, options: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Injected: the file system's own ranged fetch fails, or brings half of it."""
    from s3fs.core import S3File

    url = bucket.put("binlog.000001", LOG)
    fetch, calls = S3File._fetch_range, []

    def flaky(self: Any, start: int, end: int) -> bytes:
        calls.append(start)
        if len(calls) % 3 == 1:
            raise TimeoutError("gone")
        data: bytes = fetch(self, start, end)
        return data[: len(data) // 2] if len(calls) % 3 == 2 else data

    monkeypatch.setattr(S3File, "_fetch_range", flaky)
    found = bk.open(url, storage_options=options).events().drop(columns=["file", "source"])
    assert found.equals(bk.open(LOG).events().drop(columns=["file", "source"]))
    assert len(set(calls)) > 1


def test_what_never_comes_is_an_error(
    bucket: Bucket, options: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Injected: behind its first 100 bytes the object gives nothing."""
    from s3fs.core import S3File

    url = bucket.put("binlog.000001", LOG)
    fetch, calls = S3File._fetch_range, []

    def short(self: Any, start: int, end: int) -> bytes:
        calls.append(start)
        data: bytes = fetch(self, start, end)
        return data[: max(100 - start, 0)]

    monkeypatch.setattr(S3File, "_fetch_range", short)
    with pytest.raises(InputError) as caught:
        bk.open(url, storage_options=options).events()
    assert str(caught.value).startswith(url)
    assert f"interrupted at byte 100 of {len(LOG)}" in str(caught.value)
    assert calls == [0, *[100] * ATTEMPTS]


def test_an_object_that_was_replaced_is_an_error(carrier: Carrier, bucket: Bucket) -> None:
    with carrier.open() as file:
        file.read(HEAD)
        bucket.put("logs/binlog.000001", LOG * 100)
        with pytest.raises(InputError, match="it was replaced while it was read"):
            while file.read(BLOCK):
                pass
