"""The buffers of one version of a table: filled by rows events, handed over as columns."""

import cython
from cython.cimports.binlogkit._kernel.native.numbers import (
    read_as_stored,
    read_bit,
    read_decimal128,
    read_decimal256,
    read_double,
    read_enum,
    read_float,
    read_int24,
    read_set,
    read_year,
)
from cython.cimports.binlogkit._kernel.native.runs import runs_of
from cython.cimports.binlogkit._kernel.native.times import (
    read_date,
    read_datetime2,
    read_old_datetime,
    read_old_time,
    read_old_timestamp,
    read_time2,
    read_timestamp2,
)
from cython.cimports.binlogkit._kernel.native.values import (
    block_of,
    give_back,
    prepare,
    release,
)
from cython.cimports.libc.stdlib import calloc, free

_NARROW_DIGITS = cython.declare(cython.int, 18)  # of any number of 64 bits
_FIRST_ROWS = cython.declare(cython.int, 8)
_MAX_COLUMNS = cython.declare(cython.int, 0xFFFF)
_MAX_BATCH = cython.declare(int64_t, 1 << 30)  # so that 32-bit offsets reach every part of it
_Fixed = cython.struct(width=cython.int, element=cython.int, read=reader_p)
_FIXED = cython.declare(_Fixed[K_SKIP_PREFIXED])


@cython.cfunc
def _kind(kind: cython.int, width: cython.int, element: cython.int, read: reader_p):
    """Cells of a fixed number of bytes: theirs, without a temporal type's fraction, those of the
    Arrow value, and their reader; 0: the column says how many."""
    _FIXED[kind].width = width
    _FIXED[kind].element = element
    _FIXED[kind].read = read


_kind(K_COPY1, 1, 1, read_as_stored)
_kind(K_COPY2, 2, 2, read_as_stored)
_kind(K_COPY4, 4, 4, read_as_stored)
_kind(K_COPY8, 8, 8, read_as_stored)
_kind(K_INT24, 3, 4, read_int24)
_kind(K_UINT24, 3, 4, read_int24)
_kind(K_YEAR, 1, 2, read_year)
_kind(K_BIT, 0, 8, read_bit)
_kind(K_FLOAT, 4, 4, read_float)
_kind(K_DOUBLE, 8, 8, read_double)
_kind(K_DECIMAL128, 0, 16, read_decimal128)
_kind(K_DECIMAL256, 0, 32, read_decimal256)
_kind(K_DATE, 3, 4, read_date)
_kind(K_TIME2, 3, 8, read_time2)
_kind(K_DATETIME2, 5, 8, read_datetime2)
_kind(K_TIMESTAMP2, 4, 8, read_timestamp2)
_kind(K_OLD_TIME, 3, 8, read_old_time)
_kind(K_OLD_DATETIME, 8, 8, read_old_datetime)
_kind(K_OLD_TIMESTAMP, 4, 8, read_old_timestamp)
_kind(K_ENUM, 0, 4, read_enum)
_kind(K_SET, 0, 8, read_set)


class TableBuilder:
    """Buffers for the rows of one version of a table.

    ``columns``: one tuple per column of the table: kind, place among the columns asked for or -1,
    whether it is JSON, bytes of an ENUM or SET or of the length in front, fraction bytes, flag,
    digests, limit, decimal groups as (digits, bytes), characters of a single-byte set.
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
            t.states[side].rows = t.digests[side].rows = -1
            t.digests[side].element = DIGESTS * cython.sizeof(uint64_t)
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
            c.digests,
            c.limit,
            groups,
            points,
        ) = described
        if len(groups) > MAX_GROUPS or not _sized(c, groups, points):
            raise ValueError("a column that cannot be")
        if c.out < 0 and c.kind != K_BAD:
            c.kind = K_SKIP_PREFIXED if c.kind > K_SKIP_PREFIXED else K_SKIP_FIXED
        for k, (digits, size) in enumerate(groups):
            c.digits[k] = digits
            c.sizes[k] = size
            c.powers[k] = 10**digits
        c.groups = len(groups)
        digits = 0
        for k in range(c.groups):
            digits += c.digits[k]
            c.narrow += digits <= _NARROW_DIGITS
        if points is not None:
            c.points = cython.cast(cython.pointer(uint32_t), _zeroed(257, 4))
            for k in range(257):
                c.points[k] = points[k]
        if c.out >= 0:
            self.t.wanted += 1
            self.t.row_bytes += 2 * c.element
        self.t.json_count += c.is_json
        if c.digests and not self.t.digested:
            self.t.row_bytes += 2 * DIGESTS * cython.sizeof(uint64_t)
        self.t.digested |= c.digests
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
            release(cython.address(t.digests[side]))
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
        return self.t.runs[0].facts[FACT_TX] if self.t.run_count else -1

    def take(self):
        """Hand over what was gathered, and restart.

        Returns ``(rows, runs, images, states, digests, raws, heap)``: the events of the rows; per
        image and column asked for (nulls, validity, offsets, data) or None where there is no value
        at all; the states and the digests of both images in that form; the raw cells as tuples, and
        their bytes.
        """
        t: table_p = cython.address(self.t)
        rows: int64_t = t.rows
        i: cython.int
        side: cython.int
        k: int64_t  # noqa: F842  (ruff does not see a comprehension use it)
        images = ([], [])
        states = []
        digests = []
        # Should memory end on the way, what was taken is lost: the builder stays claimed.
        claim(self, self)
        for side in range(2):
            for i in range(t.count):
                if t.columns[i].out >= 0:
                    images[side].append(_taken(t, cython.address(t.values[side][i])))
            states.append(_taken(t, cython.address(t.states[side])))
            digests.append(_taken(t, cython.address(t.digests[side])))
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
        return rows, runs, images, states, digests, raws, heap


def claim(builder: TableBuilder, user):
    """Keep a builder for one user, who sets ``user`` to None again. RuntimeError: it has one."""
    if builder.user is not None:
        raise RuntimeError("the builder is at work in another thread, or ran out of memory")
    builder.user = user
    return 0


@cython.cfunc
def _sized(c: column_p, groups, points) -> cython.bint:
    """Set the bytes of a cell and of its Arrow value; False: a cell would not keep to them."""
    kind: cython.int = c.kind
    if kind <= K_SKIP_FIXED or kind == K_SKIP_PREFIXED or kind > K_BAD:
        return False
    if kind > K_SKIP_PREFIXED:
        c.element = kind == K_BAD
        return kind == K_BAD or (
            1 <= c.width <= 4
            and 0 <= c.limit <= 0xFFFF
            and (kind != K_SINGLE_BYTE or points is not None)
        )
    c.element, c.read = _FIXED[kind].element, _FIXED[kind].read
    if _FIXED[kind].width:
        c.width = _FIXED[kind].width
    if K_TIME2 <= kind <= K_TIMESTAMP2:
        c.width += c.fraction
        return 0 <= c.fraction <= 3
    if kind == K_BIT:
        c.width = (c.limit + 7) // 8
        return 1 <= c.limit <= 64
    if kind == K_ENUM:
        c.element = 2 if c.limit < 0 else 4
        return 1 <= c.width <= 2
    if kind == K_DECIMAL128 or kind == K_DECIMAL256:
        sizes = [size for _, size in groups]
        c.width = sum(sizes)
        digits = sum([digits for digits, _ in groups])
        return {*sizes} <= {1, 2, 3, 4} and 1 <= digits <= (38 if kind == K_DECIMAL128 else 65)
    return 1 <= c.width <= 8


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
