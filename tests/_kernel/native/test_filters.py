"""Hashes and filters are those that Parquet's have: what DuckDB writes decides."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from pathlib import Path

import duckdb
import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from binlogkit._kernel.native import filters


def _hashed(values: list[bytes]) -> np.ndarray[tuple[int], np.dtype[np.uint64]]:
    _, offsets, data = pa.array(values, pa.binary()).buffers()
    out = np.zeros(len(values), np.uint64)
    filters.hash_texts(offsets, data, out)
    return out


def _may(found: bytes, hashes: np.ndarray[tuple[int], np.dtype[np.uint64]]) -> list[bool]:
    told = np.zeros(1, np.uint8)
    offsets = np.array([0, len(found)], np.int64)
    answers = []
    for one in hashes:
        filters.may_have(offsets, found, one.tobytes(), told)
        answers.append(bool(told[0]))
    return answers


@pytest.mark.parametrize(
    ("text", "hash_"),
    [  # of the reference implementation
        (b"", 0xEF46DB3751D8E999),
        (b"a", 0xD24EC4F1A98C6E5B),
        (b"abc", 0x44BC2CF5AD770999),
        (b"Nobody inspects the spammish repetition", 0xFBCEA83C8A378BF1),
    ],
)
def test_the_hash_is_xxh64(text: bytes, hash_: int) -> None:
    assert _hashed([text]).tolist() == [hash_]


def _varint(data: bytes, at: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        byte = data[at]
        value |= (byte & 0x7F) << shift
        shift, at = shift + 7, at + 1
        if byte < 0x80:
            return value, at


def _filters_in(path: Path) -> Iterator[bytes]:
    """The Bloom filters of a Parquet file: in front of each stands a Thrift header whose first
    field is their size, and which ends with four empty structs (parquet.thrift)."""
    data = path.read_bytes()
    at = 0
    unions = bytes.fromhex("1c1c00001c1c00001c1c000000")
    while (at := data.find(unions, at)) >= 0:
        begin = data.rfind(b"\x15", 0, at)
        size, _ = _varint(data, begin + 1)
        at += len(unions)
        yield data[at : at + (size >> 1)]


@pytest.mark.parametrize(
    ("kind", "values"),
    [
        ("bigint", [i * 7919 for i in range(3000)]),
        ("varchar", [f"key {i} of some length, more than 32 bytes" for i in range(3000)]),
    ],
)
def test_the_filter_is_parquets(kind: str, values: list[int | str], tmp_path: Path) -> None:
    path = tmp_path / "values.parquet"
    with duckdb.connect() as connection:
        told = pa.table({"v": values})  # noqa: F841  DuckDB reads it
        connection.sql(
            f"copy (select v::{kind} as v from told, range(3)) to '{path}' (format parquet, "
            "dictionary_size_limit 100000, row_group_size 100000)"
        )
    found = list(_filters_in(path))
    assert len(found) == 1 and len(found[0]) % filters.BLOCK == 0 < len(found[0])
    plain = [struct.pack("<q", v) if isinstance(v, int) else v.encode() for v in values]
    own = bytearray(len(found[0]))
    filters.put(own, _hashed(plain))
    assert bytes(own) == found[0]


@given(st.sets(st.binary(max_size=40), min_size=1, max_size=60), st.integers(1, 9))
def test_what_was_put_in_is_never_missed(values: set[bytes], blocks: int) -> None:
    hashes = _hashed(sorted(values))
    found = bytearray(filters.BLOCK * blocks)
    filters.put(found, hashes)
    assert all(_may(bytes(found), hashes))


def test_widths_and_texts_hash_the_same_bytes_alike() -> None:
    values = np.arange(100, dtype=np.int64)
    out = np.zeros(100, np.uint64)
    filters.hash_fixed(values, 8, out)
    assert out.tolist() == _hashed([v.tobytes() for v in values]).tolist()


def test_a_filter_of_no_bytes_or_no_whole_blocks_may_have_all() -> None:
    hashes = _hashed([b"x"])
    assert _may(b"", hashes) == _may(b"123", hashes) == [True]
    assert _may(bytes(32), hashes) == [False]


@pytest.mark.parametrize(
    "call",
    [
        lambda: filters.hash_fixed(b"1234567", 8, np.zeros(1, np.uint64)),
        lambda: filters.hash_fixed(b"12345678", 0, np.zeros(1, np.uint64)),
        lambda: filters.hash_fixed(b"12345678", -8, np.zeros(1, np.uint64)),
        lambda: filters.hash_fixed(b"12345678", 8, bytearray(7)),
        lambda: filters.hash_texts(np.array([0, 4], np.int32), b"123", np.zeros(1, np.uint64)),
        lambda: filters.hash_texts(np.array([0, -1], np.int32), b"123", np.zeros(1, np.uint64)),
        lambda: filters.hash_texts(np.array([2, 1], np.int32), b"123", np.zeros(1, np.uint64)),
        lambda: filters.hash_texts(np.array([0], np.int32), b"123", np.zeros(1, np.uint64)),
        lambda: filters.put(bytearray(31), bytes(8)),
        lambda: filters.put(bytearray(0), bytes(8)),
        lambda: filters.may_have(np.array([0, 9], np.int64), b"", bytes(8), bytearray(1)),
        lambda: filters.may_have(np.array([0], np.int64), b"", bytes(8), bytearray(1)),
    ],
)
def test_buffers_that_do_not_fit_are_an_error(call: object) -> None:
    assert callable(call)
    with pytest.raises(ValueError, match=r"than|outside|no filter"):
        call()


def test_what_cannot_be_written_is_an_error() -> None:
    with pytest.raises((BufferError, ValueError, TypeError)):
        filters.put(bytes(32), bytes(8))
