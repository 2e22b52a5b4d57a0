"""The buffers of one version of a table: filled by rows events, handed over as columns."""

import cython
from cython.cimports.binlogkit._kernel.native.cells import reader_of
from cython.cimports.binlogkit._kernel.native.images import decode_rows
from cython.cimports.binlogkit._kernel.native.runs import first_tx_of, runs_of
from cython.cimports.binlogkit._kernel.native.values import (
    block_of,
    give_back,
    prepare,
    release,
)
from cython.cimports.cpython.buffer import PyBUF_SIMPLE, PyBuffer_Release, PyObject_GetBuffer
from cython.cimports.libc.stdlib import calloc, free

#: The kinds of columns by name, for the plan of a table.
KINDS = {
    "skip_fixed": K_SKIP_FIXED,
    "copy1": K_COPY1,
    "copy2": K_COPY2,
    "copy4": K_COPY4,
    "copy8": K_COPY8,
    "int24": K_INT24,
    "uint24": K_UINT24,
    "year": K_YEAR,
    "bit": K_BIT,
    "float": K_FLOAT,
    "double": K_DOUBLE,
    "decimal128": K_DECIMAL128,
    "decimal256": K_DECIMAL256,
    "date": K_DATE,
    "time2": K_TIME2,
    "datetime2": K_DATETIME2,
    "timestamp2": K_TIMESTAMP2,
    "old_time": K_OLD_TIME,
    "old_datetime": K_OLD_DATETIME,
    "old_timestamp": K_OLD_TIMESTAMP,
    "enum": K_ENUM,
    "set": K_SET,
    "skip_prefixed": K_SKIP_PREFIXED,
    "bytes": K_BYTES,
    "padded": K_PADDED,
    "utf8mb4": K_UTF8MB4,
    "utf8mb3": K_UTF8MB3,
    "single_byte": K_SINGLE_BYTE,
    "json": K_JSON,
    "bad": K_BAD,
}
#: What can be wrong with an event: the names of ``Fault.code``.
FAULTS = {
    E_NEEDS: "needs",
    E_NEEDS_LENGTH: "needs_length",
    E_SAYS: "says",
    E_TYPE: "type",
    E_EMPTY_ROW: "empty_row",
    E_PACKED: "packed",
    E_COLUMN_COUNT: "column_count",
    E_EXTRA_LENGTH: "extra_length",
    E_NDB_LENGTH: "ndb_length",
}
#: Fields of an event that are no column.
FIELDS = {
    F_TABLE_ID: "table_id",
    F_FLAGS: "flags",
    F_EXTRA_LENGTH: "extra_length",
    F_EXTRA_DATA: "extra_data",
    F_NDB_LENGTH: "ndb_length",
    F_NDB_FORMAT: "ndb_format",
    F_NDB: "ndb",
    F_PARTITION_ID: "partition_id",
    F_SOURCE_PARTITION_ID: "source_partition_id",
    F_COLUMN_COUNT: "column_count",
    F_COLUMNS_PRESENT: "columns_present",
    F_COLUMNS_PRESENT_AFTER: "columns_present_after",
    F_NULL_BITMAP: "null_bitmap",
    F_VALUE_OPTIONS: "value_options",
    F_PARTIAL_BITS: "partial_bits",
    F_ROWS: "rows",
}
_NARROW_DIGITS = cython.declare(cython.int, 18)  # of any number of 64 bits
_FIRST_ROWS = cython.declare(cython.int, 8)
_MAX_COLUMNS = cython.declare(cython.int, 0xFFFF)
_MAX_BATCH = cython.declare(int64_t, 1 << 30)  # so that 32-bit offsets tell every part of it
# (bytes of a cell, without a temporal type's fraction; bytes of its Arrow value); -1: any number.
_SIZES = {
    K_COPY1: (1, 1),
    K_COPY2: (2, 2),
    K_COPY4: (4, 4),
    K_COPY8: (8, 8),
    K_INT24: (3, 4),
    K_UINT24: (3, 4),
    K_YEAR: (1, 2),
    K_BIT: (-1, 8),
    K_FLOAT: (4, 4),
    K_DOUBLE: (8, 8),
    K_DECIMAL128: (-1, 16),
    K_DECIMAL256: (-1, 32),
    K_DATE: (3, 4),
    K_TIME2: (3, 8),
    K_DATETIME2: (5, 8),
    K_TIMESTAMP2: (4, 8),
    K_OLD_TIME: (3, 8),
    K_OLD_DATETIME: (8, 8),
    K_OLD_TIMESTAMP: (4, 8),
    K_ENUM: (-1, -1),
    K_SET: (-1, 8),
}


class TableBuilder:
    """Buffers for the rows of one version of a table.

    ``columns``: one tuple per column of the table: kind, place among the columns asked for or -1,
    whether it is JSON, width, fraction bytes, flag, limit, bytes of an Arrow value, decimal groups
    as (digits, bytes), characters of a single-byte set.
    """

    def __cinit__(self, plan, columns, max_rows, max_bytes):
        t: table_p = cython.address(self.t)
        side: cython.int
        i: cython.int
        count: cython.int = len(columns)
        if count > _MAX_COLUMNS:
            raise ValueError("more columns than a table can have")
        if max_rows < 1 or max_bytes < 1 or max_rows > _MAX_BATCH:
            raise ValueError("a batch holds at least one row, and 2**30 at most")
        self.plan = plan
        t.count = count
        t.max_rows = max_rows
        t.max_bytes = min(max_bytes, _MAX_BATCH)
        t.capacity = _FIRST_ROWS
        t.columns = cython.cast(column_p, _zeroed(count, cython.sizeof(Column)))
        t.diffs = cython.cast(cython.pointer(uint8_t), _zeroed(count, 1))
        for side in range(2):
            t.values[side] = cython.cast(values_p, _zeroed(count, cython.sizeof(Values)))
            t.steps[side] = cython.cast(step_p, _zeroed(count, cython.sizeof(Step)))
            t.seen[side] = cython.cast(cython.pointer(uint8_t), _zeroed(count, 1))
            t.present_count[side] = -1
            t.states[side].rows = -1
            for i in range(count):
                t.values[side][i].rows = -1
        for i in range(count):
            self._define(i, columns[i])
        if sorted([t.columns[i].out for i in range(count) if t.columns[i].out >= 0]) != list(
            range(t.wanted)
        ):
            raise ValueError("columns asked for whose places are not 0, 1, 2 …")

    def _define(self, i: cython.int, described):
        c: column_p = cython.address(self.t.columns[i])
        k: cython.int
        side: cython.int
        (
            c.kind,
            c.out,
            c.is_json,
            c.width,
            c.fraction,
            c.flag,
            c.limit,
            c.element,
            groups,
            points,
        ) = described
        if len(groups) > MAX_GROUPS or not _can_be(c, groups, points):
            raise ValueError("a column that cannot be")
        for k, (digits, size) in enumerate(groups):
            c.digits[k] = digits
            c.sizes[k] = size
            c.powers[k] = 10**digits
        c.groups = len(groups)
        digits = 0
        for k in range(c.groups):
            digits += c.digits[k]
            c.narrow += digits <= _NARROW_DIGITS
        c.read = reader_of(c.kind)
        if points is not None:
            c.points = cython.cast(cython.pointer(uint32_t), _zeroed(257, 4))
            for k in range(257):
                c.points[k] = points[k]
        if c.out >= 0:
            self.t.wanted += 1
            self.t.row_bytes += 2 * c.element
        self.t.json_count += c.is_json
        for side in range(2):
            self.t.values[side][i].element = c.element

    def __dealloc__(self):
        side: cython.int
        i: cython.int
        t: table_p = cython.address(self.t)
        for side in range(2):
            if t.values[side] is not cython.NULL:
                for i in range(t.count):
                    release(cython.address(t.values[side][i]))
            release(cython.address(t.states[side]))
            free(t.values[side])
            free(t.steps[side])
            free(t.seen[side])
        if t.columns is not cython.NULL:
            for i in range(t.count):
                free(t.columns[i].points)
        give_back(t.runs)
        free(t.columns)
        free(t.diffs)
        free(t.raws)
        free(t.heap)

    @property
    def rows(self):
        """Rows that wait to be taken."""
        return self.t.rows

    @property
    def first_tx(self):
        """The number of the first transaction of the rows that wait, -1 for none."""
        return first_tx_of(self.t.runs, self.t.run_count)

    def add_event(self, data, start, end, code, table_id_width, facts, at, row):
        """Decode the rows of one event, ``data[start:end]`` without header and checksum.

        ``facts``: in the order of ``runs.FACT_NAMES``; ``at``, ``row``: 0 at first, else what the
        last call said. Returns None when the event is done, ``(at, row)`` when the buffers are
        full, or ``(fault, field, wants, left, row)``.
        """
        view: Py_buffer
        e: RowsAt
        k: cython.int
        done: cython.bint
        origin: octets
        first: int64_t = start
        last: int64_t = end
        goes_on: int64_t = at
        t: table_p = cython.address(self.t)
        if len(facts) != FACTS:
            raise ValueError("as many facts as have names")
        for k in range(FACTS):
            e.facts[k] = facts[k]
        e.code = code
        e.table_id_width = table_id_width
        e.row = row
        claim(self, self)
        try:
            PyObject_GetBuffer(data, cython.address(view), PyBUF_SIMPLE)
            try:
                if not (0 <= first <= last <= view.len and 0 <= goes_on <= last - first):
                    raise ValueError("the event lies outside its buffer")
                origin = cython.cast(octets, view.buf) + first
                e.at = origin + goes_on if goes_on else cython.NULL
                with cython.nogil:
                    done = decode_rows(t, cython.address(e), origin, origin + (last - first))
                goes_on = e.at - origin if e.at is not cython.NULL else 0
            finally:
                PyBuffer_Release(cython.address(view))
        finally:
            self.user = None
        if done:
            return None
        if t.fault.code == E_MEMORY:
            raise MemoryError
        if t.fault.code == E_FULL:
            return goes_on, e.row
        return t.fault.code, t.fault.field, t.fault.wants, t.fault.left, e.row

    def take(self):
        """Hand over what was gathered, and begin anew.

        Returns ``(rows, runs, images, states, raws, heap)``: the events of the rows; per image and
        column asked for (nulls, validity, offsets, data) or None where there is no value at all;
        the states of both images in that form; the raw cells as tuples, and their bytes.
        """
        t: table_p = cython.address(self.t)
        rows: int64_t = t.rows
        i: cython.int
        side: cython.int
        k: int64_t  # noqa: F842  (ruff does not see a comprehension use it)
        images = ([], [])
        states = []
        # Should memory end on the way, what was taken is lost: the builder stays claimed.
        claim(self, self)
        for side in range(2):
            for i in range(t.count):
                if t.columns[i].out >= 0:
                    images[side].append(_taken(t, cython.address(t.values[side][i])))
            states.append(_taken(t, cython.address(t.states[side])))
        raws = [
            (
                t.raws[k].row,
                t.raws[k].image,
                t.raws[k].column,
                t.raws[k].state,
                t.raws[k].start,
                t.raws[k].length,
            )
            for k in range(t.raw_count)
        ]
        heap = cython.cast(cython.pointer(cython.char), t.heap)[: t.heap_used] if raws else b""
        runs = runs_of(t.runs, t.run_count, rows)
        t.runs = cython.NULL
        t.run_count = t.run_capacity = 0
        t.rows = t.raw_count = t.heap_used = t.bytes = 0
        free(t.heap)
        t.heap = cython.NULL
        t.heap_capacity = 0
        while t.capacity > _FIRST_ROWS and t.capacity >= 2 * rows:
            t.capacity //= 2
        self.user = None
        return rows, runs, images, states, raws, heap


def claim(builder: TableBuilder, user):
    """Keep a builder for one user, who sets ``user`` to None again. RuntimeError: it has one."""
    if builder.user is not None:
        raise RuntimeError("the builder is at work in another thread, or ran out of memory")
    builder.user = user
    return 0


@cython.cfunc
def _can_be(c: column_p, groups, points) -> cython.bint:
    """Whether no cell of such a column is read or written beyond what belongs to it."""
    kind: cython.int = c.kind
    if kind == K_BAD:
        return True
    if kind == K_SKIP_FIXED:
        return 0 <= c.width <= 64
    if K_SKIP_PREFIXED <= kind < K_BAD:
        return (
            1 <= c.width <= 4
            and (kind == K_SKIP_PREFIXED or c.element == 0)
            and 0 <= c.limit <= 0xFFFF
            and (kind != K_SINGLE_BYTE or points is not None)
        )
    if kind not in _SIZES or not 0 <= c.fraction <= 3:
        return False
    width, element = _SIZES[kind]
    if kind == K_DECIMAL128 or kind == K_DECIMAL256:
        digits = sum([digits for digits, _ in groups])
        sizes = [size for _, size in groups]
        width = sum(sizes)
        if min(sizes, default=0) < 1 or max(sizes) > 4:
            return False
        if not 1 <= digits <= (38 if kind == K_DECIMAL128 else 65):
            return False
    elif kind == K_ENUM:
        width, element = min(max(c.width, 1), 2), 2 if c.limit < 0 else 4
    elif kind == K_SET:
        width = min(max(c.width, 1), 8)
    elif kind == K_BIT:
        width = (c.limit + 7) // 8
        if not 1 <= c.limit <= 64:
            return False
    return c.width == width + c.fraction and c.element == element


@cython.cfunc
def _zeroed(count: int64_t, size: cython.size_t) -> cython.p_void:
    memory: cython.p_void = calloc(max(count, 1), size)
    if memory is cython.NULL:
        raise MemoryError
    return memory


@cython.cfunc
def _taken(t: table_p, v: values_p):
    """A column's buffers, its rows settled to the end."""
    if v.rows < 0:
        return None
    if not prepare(t, v, t.rows):
        raise MemoryError
    validity = offsets = None
    if v.validity is not cython.NULL:
        validity = block_of(v.validity, (t.rows + 7) >> 3)
        v.validity = cython.NULL
    if v.offsets is not cython.NULL:
        offsets = block_of(v.offsets, (t.rows + 1) * 4)
        v.offsets = cython.NULL
    data = block_of(v.data, t.rows * v.element if v.element else v.used)
    v.data = cython.NULL
    v.capacity = v.used + (v.used >> 3)  # what the next batch may need
    v.rows = -1
    return v.nulls, validity, offsets, data
