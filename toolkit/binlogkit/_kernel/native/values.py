"""The buffers that values go to: validity, offsets and data as Arrow has them.

A buffer is made when the first value of its column comes, and NULLs, cells that are not in the
image and images that are not there cost nothing until the next value: ``prepare`` then settles the
rows between. ``Values.rows`` counts the settled rows, -1 before there is any buffer.
"""

import cython
from cython.cimports.binlogkit._kernel.native.memory import (
    buffer_get,
    buffer_grow,
    buffer_put,
    buffer_size,
)
from cython.cimports.cpython.buffer import (
    PyBUF_SIMPLE,
    PyBuffer_FillInfo,
    PyBuffer_Release,
    PyObject_GetBuffer,
)
from cython.cimports.libc.stdint import int32_t, int64_t, uint8_t, uintptr_t
from cython.cimports.libc.stdlib import realloc
from cython.cimports.libc.string import memcpy, memset


class Block:
    """Memory that an Arrow buffer stands on; given back with its last user."""

    def __dealloc__(self):
        buffer_put(self.memory)

    def __getbuffer__(self, view: cython.pointer(Py_buffer), flags: cython.int):
        PyBuffer_FillInfo(view, self, self.memory, self.size, 1, flags)

    @property
    def address(self):
        return cython.cast(uintptr_t, self.memory)


class View:
    """The bytes of ``data``, which stay where they are as long as this is there."""

    def __cinit__(self, data):
        PyObject_GetBuffer(data, cython.address(self.buffer), PyBUF_SIMPLE)
        self.at = cython.cast(octets, self.buffer.buf)
        self.size = self.buffer.len

    def __dealloc__(self):
        PyBuffer_Release(cython.address(self.buffer))


def block_of(memory, size):
    """A block that owns ``memory``."""
    block: Block = Block.__new__(Block)
    block.memory = cython.cast(cython.pointer(uint8_t), memory)
    block.size = size
    return block


def new_block(size):
    """A block of ``size`` bytes, which say nothing yet."""
    memory: cython.p_void = buffer_get(max(size, 1))
    if memory is cython.NULL:
        raise MemoryError
    return block_of(memory, size)


def block_copy(memory, size):
    """A block with a copy of ``size`` bytes."""
    block: Block = new_block(size)
    if size:
        memcpy(block.memory, memory, size)
    return block


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _make(t: cython.pointer(Table), v: values_p) -> cython.bint:
    """The buffers of a column, without a row settled."""
    size: int64_t
    if v.element:
        size = t.capacity * v.element
    else:
        v.offsets = cython.cast(
            cython.pointer(int32_t), buffer_get((t.capacity + 1) * cython.sizeof(int32_t))
        )
        if v.offsets is cython.NULL:
            return False
        v.offsets[0] = 0
        size = max(v.capacity, FIRST_BYTES)
    v.data = cython.cast(cython.pointer(uint8_t), buffer_get(size))
    if v.data is cython.NULL:
        return False
    v.capacity = buffer_size(v.data)
    v.used = 0
    v.nulls = 0
    v.rows = 0
    return True


def prepare(t, v, row):
    """Settle the rows before ``row`` as NULL; the first call makes the buffers."""
    i: int64_t
    if v.rows < 0 and not _make(t, v):
        return False
    if v.rows == row:
        return True
    if v.validity is cython.NULL:
        v.validity = cython.cast(cython.pointer(uint8_t), buffer_get((t.capacity + 7) >> 3))
        if v.validity is cython.NULL:
            return False
        memset(v.validity, 0xFF, (t.capacity + 7) >> 3)
    for i in range(v.rows, row):
        v.validity[i >> 3] &= ~(1 << (i & 7))
    v.nulls += row - v.rows
    if v.element:
        memset(v.data + v.rows * v.element, 0, (row - v.rows) * v.element)
    else:
        for i in range(v.rows, row):
            v.offsets[i + 1] = cython.cast(int32_t, v.used)
    v.rows = row
    return True


def reserve(v, size):
    """Room for ``size`` more bytes of data."""
    wanted: int64_t = v.used + size + SLACK
    if wanted <= v.capacity:
        return True
    wanted = max(wanted, 2 * v.capacity)
    data: cython.pointer(uint8_t) = cython.cast(
        cython.pointer(uint8_t), buffer_grow(v.data, v.used, wanted)
    )
    if data is cython.NULL:
        return False
    v.data = data
    v.capacity = buffer_size(data)
    return True


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _grow(v: values_p, old: int64_t, new: int64_t) -> cython.bint:
    memory: cython.p_void
    if v.rows < 0:
        return True
    if v.element:
        memory = buffer_grow(v.data, old * v.element, new * v.element)
        if memory is cython.NULL:
            return False
        v.data = cython.cast(cython.pointer(uint8_t), memory)
    else:
        memory = buffer_grow(
            v.offsets, (old + 1) * cython.sizeof(int32_t), (new + 1) * cython.sizeof(int32_t)
        )
        if memory is cython.NULL:
            return False
        v.offsets = cython.cast(cython.pointer(int32_t), memory)
    if v.validity is not cython.NULL:
        memory = buffer_grow(v.validity, (old + 7) >> 3, (new + 7) >> 3)
        if memory is cython.NULL:
            return False
        v.validity = cython.cast(cython.pointer(uint8_t), memory)
        memset(v.validity + ((old + 7) >> 3), 0xFF, ((new + 7) >> 3) - ((old + 7) >> 3))
    return True


def grow_rows(t):
    """Room for more rows in every buffer that is there; capacities are multiples of 8."""
    i: cython.int
    side: cython.int
    new: int64_t = t.capacity * 2
    for side in range(2):
        for i in range(t.count):
            if not _grow(cython.address(t.values[side][i]), t.capacity, new):
                return False
        if not _grow(cython.address(t.states[side]), t.capacity, new):
            return False
        if not _grow(cython.address(t.digests[side]), t.capacity, new):
            return False
    t.capacity = new
    return True


def keep_raw(t, image, column, state, start, length):
    """Keep the stored bytes of a cell that has no Arrow value."""
    size: int64_t
    memory: cython.p_void
    cell: cython.pointer(RawCell)
    if t.raw_count == t.raw_capacity:
        size = max(2 * t.raw_capacity, FIRST_RAWS)
        memory = realloc(t.raws, size * cython.sizeof(RawCell))
        if memory is cython.NULL:
            return False
        t.raws = cython.cast(cython.pointer(RawCell), memory)
        t.raw_capacity = size
    if length > t.heap_capacity - t.heap_used:
        size = max(2 * t.heap_capacity, t.heap_used + length)
        size = max(size, FIRST_BYTES)
        memory = realloc(t.heap, size)
        if memory is cython.NULL:
            return False
        t.heap = cython.cast(cython.pointer(uint8_t), memory)
        t.heap_capacity = size
    cell = cython.address(t.raws[t.raw_count])
    cell.row = cython.cast(int32_t, t.rows)
    cell.image = image
    cell.column = column
    cell.state = state
    cell.start = t.heap_used
    cell.length = length
    if length:
        memcpy(t.heap + t.heap_used, start, length)
    t.heap_used += length
    t.raw_count += 1
    t.bytes += length + cython.sizeof(RawCell)
    return True


def put_states(t, image, nulls, raws):
    """One state per column for an image in which a cell is neither value nor NULL.

    ``raws``: the number of raw cells before this image.
    """
    i: cython.int
    out: cython.int
    row: int64_t = t.rows
    raw: int64_t
    v: values_p = cython.address(t.states[image])
    states: cython.pointer(uint8_t)
    if not prepare(t, v, row) or not reserve(v, t.wanted):
        return False
    states = v.data + v.used
    memset(states, S_NOT_IN_IMAGE, t.wanted)
    for i in range(t.present_count[image]):
        out = t.steps[image][i].column.out
        if out >= 0:
            states[out] = S_NULL if nulls[i >> 3] >> (i & 7) & 1 else S_VALUE
    for raw in range(raws, t.raw_count):
        if t.raws[raw].image == image:
            states[t.raws[raw].column] = cython.cast(uint8_t, t.raws[raw].state)
    v.used += t.wanted
    v.offsets[row + 1] = cython.cast(int32_t, v.used)
    v.rows = row + 1
    t.bytes += t.wanted
    return True


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _cut(v: values_p, row: int64_t) -> cython.void:
    if v.rows > row:
        v.rows = row
        if not v.element:
            v.used = v.offsets[row]


def undo_row(t, raws, heap, size):
    """Take back what was stored of the row that is not finished."""
    i: cython.int
    side: cython.int
    for side in range(2):
        for i in range(t.count):
            _cut(cython.address(t.values[side][i]), t.rows)
        _cut(cython.address(t.states[side]), t.rows)
        _cut(cython.address(t.digests[side]), t.rows)
    t.raw_count = raws
    t.heap_used = heap
    t.bytes = size


def release(v):
    """Free the buffers of a column."""
    buffer_put(v.validity)
    buffer_put(v.offsets)
    buffer_put(v.data)
    v.validity = cython.NULL
    v.offsets = cython.NULL
    v.data = cython.NULL
    v.rows = -1


def grow_runs(t):
    """Room for one more run; False: no memory."""
    size: int64_t = max(2 * t.run_capacity, FIRST_RUNS)
    memory: cython.p_void = buffer_grow(
        t.runs, t.run_count * cython.sizeof(Run), size * cython.sizeof(Run)
    )
    if memory is cython.NULL:
        return False
    t.runs = cython.cast(run_p, memory)
    t.run_capacity = size
    return True


def give_back(memory):
    """Give a buffer back."""
    buffer_put(memory)
