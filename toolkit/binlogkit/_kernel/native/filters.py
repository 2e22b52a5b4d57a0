"""Filters of values: which may be among those that were put in, and which are surely not.

A value's hash is XXH64 of its bytes; a filter is a split-block Bloom filter as Parquet has them
(``xxh64.h``). Buffers are Arrow's: values of a fixed width, or offsets and data.
"""

import cython
from cython.cimports.binlogkit._kernel.native.values import View
from cython.cimports.cpython.buffer import (
    PyBUF_WRITABLE,
    PyBuffer_Release,
    PyObject_GetBuffer,
)

#: Bytes of a block.
BLOCK = 32
_BLOCK = cython.declare(int64_t, 32)
_MOST_BLOCKS = cython.declare(int64_t, 1 << 31)


class _Written:
    """Bytes that are written to, and stay where they are as long as this is there."""

    def __cinit__(self, data):
        PyObject_GetBuffer(data, cython.address(self.buffer), PyBUF_WRITABLE)
        self.at = cython.cast(cython.pointer(uint8_t), self.buffer.buf)
        self.size = self.buffer.len

    def __dealloc__(self):
        PyBuffer_Release(cython.address(self.buffer))


def hash_fixed(data, width: int64_t, out):
    """Hashes of values of ``width`` bytes each to ``out``, 8 bytes each."""
    view: View = View(data)
    found: _Written = _Written(out)
    rows: int64_t = found.size // 8
    i: int64_t
    if width < 1 or width > 1 << 20 or found.size % 8 or view.size < rows * width:
        raise ValueError("fewer values than hashes")
    hashes: cython.pointer(uint64_t) = cython.cast(cython.pointer(uint64_t), found.at)
    with cython.nogil:
        for i in range(rows):
            hashes[i] = xxh64(view.at + i * width, width)


def hash_texts(offsets, data, out):
    """Hashes of values of a variable number of bytes to ``out``; ``offsets``: int32, one more."""
    places: View = View(offsets)
    view: View = View(data)
    found: _Written = _Written(out)
    rows: int64_t = found.size // 8
    ends: offsets_p = cython.cast(offsets_p, places.at)
    i: int64_t
    if found.size % 8 or places.size < 4 * (rows + 1):
        raise ValueError("fewer offsets than hashes")
    for i in range(rows):
        if ends[i] < 0 or ends[i + 1] < ends[i] or ends[i + 1] > view.size:
            raise ValueError("offsets outside of the data")
    hashes: cython.pointer(uint64_t) = cython.cast(cython.pointer(uint64_t), found.at)
    with cython.nogil:
        for i in range(rows):
            hashes[i] = xxh64(view.at + ends[i], ends[i + 1] - ends[i])


def put(filter, hashes):
    """Put hashes, 8 bytes each, in a filter, which is of some blocks."""
    found: _Written = _Written(filter)
    view: View = View(hashes)
    blocks: int64_t = found.size // _BLOCK
    count: int64_t = view.size // 8
    given: hashes_p = cython.cast(hashes_p, view.at)
    i: int64_t
    if blocks < 1 or blocks > _MOST_BLOCKS or found.size % _BLOCK:
        raise ValueError("no filter has so many bytes")
    with cython.nogil:
        for i in range(count):
            put_hash(found.at, blocks, given[i])


def may_have(offsets, data, hashes, out):
    """Which filters may have any of some hashes: a 1 in ``out``, a byte for each; one of no bytes
    may have all, and so may one that is of no whole blocks.

    ``offsets``: int64, one more than there are filters in ``data``.
    """
    places: View = View(offsets)
    view: View = View(data)
    wanted: View = View(hashes)
    found: _Written = _Written(out)
    ends: places_p = cython.cast(places_p, places.at)
    given: hashes_p = cython.cast(hashes_p, wanted.at)
    count: int64_t = wanted.size // 8
    i: int64_t
    k: int64_t
    size: int64_t
    if places.size < 8 * (found.size + 1):
        raise ValueError("fewer offsets than filters")
    for i in range(found.size):
        if ends[i] < 0 or ends[i + 1] < ends[i] or ends[i + 1] > view.size:
            raise ValueError("offsets outside of the data")
    with cython.nogil:
        for i in range(found.size):
            size = ends[i + 1] - ends[i]
            found.at[i] = size == 0 or size % _BLOCK != 0 or size // _BLOCK > _MOST_BLOCKS
            for k in range(count):
                if found.at[i]:
                    break
                found.at[i] = has_hash(view.at + ends[i], size // _BLOCK, given[k])
