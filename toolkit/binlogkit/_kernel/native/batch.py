"""The second pass: the rows events of an index, each into the buffers of its table."""

import cython
from cython.cimports.binlogkit._kernel.native.builder import TableBuilder
from cython.cimports.binlogkit._kernel.native.images import decode_rows
from cython.cimports.binlogkit._kernel.native.index import (
    N_BAD_CHECKSUM,
    Index,
    entry_p,
)
from cython.cimports.binlogkit._kernel.native.layout import (
    E_FULL,
    E_MEMORY,
    E_NONE,
    FACT_END_POS,
    FACT_INNER,
    FACT_POS,
    FACT_ROW,
    FACT_SEQ,
    FACT_SERVER_ID,
    FACT_TIMESTAMP,
    FACT_TX,
    RowsAt,
    octets,
    table_p,
)
from cython.cimports.binlogkit._kernel.native.scan import Scanner
from cython.cimports.cpython.buffer import PyBUF_SIMPLE, PyBuffer_Release, PyObject_GetBuffer
from cython.cimports.libc.stdint import int64_t
from cython.cimports.libc.stdlib import calloc, free


class RowsPass:
    """How far the rows of an index are decoded.

    ``builders``: by slot; a slot beyond the list, or None in it, is left out. ``seq``: the place of
    the index's first event in the walk.
    """

    def __cinit__(self, scanner: Scanner, index: Index, data, origin, seq=0):
        self.scanner = scanner
        self.index = index
        self.data = data
        self.origin = origin
        self.seq = seq
        self.entry = self.at = self.row = 0

    def run(self, builders: list, last=-1):
        """Decode up to entry ``last`` (exclusive; -1: all); None when there.

        Else ``(slot,)`` of a builder that is full and must be taken, or ``(slot, code, field,
        wants, left, row)`` of an event that is malformed; a further call goes on behind it.
        """
        view: Py_buffer
        tables: cython.pointer(table_p)
        builder: TableBuilder
        slots: int64_t = len(builders)
        i: int64_t
        fault: cython.int = E_NONE
        slot: cython.int = -1
        stop: int64_t = self.index.count if last < 0 else min(last, self.index.count)
        t: table_p
        tables = cython.cast(cython.pointer(table_p), calloc(slots + 1, cython.sizeof(table_p)))
        if tables is cython.NULL:
            raise MemoryError
        try:
            for i in range(slots):
                if builders[i] is not None:
                    builder = builders[i]
                    tables[i] = cython.address(builder.t)
            PyObject_GetBuffer(self.data, cython.address(view), PyBUF_SIMPLE)
            try:
                with cython.nogil:
                    while self.entry < stop:
                        fault, slot = E_NONE, -1
                        fault = self.event(tables, slots, cython.cast(octets, view.buf), view.len)
                        if fault != E_NONE:
                            slot = self.index.entries[self.entry].slot
                            break
                        self.entry += 1
                        self.at = self.row = 0
            finally:
                PyBuffer_Release(cython.address(view))
            if fault == E_NONE:
                return None
            if fault == E_MEMORY:
                raise MemoryError
            if fault == E_FULL:
                return (slot,)
            t = tables[slot]
            said = (slot, fault, t.fault.field, t.fault.wants, t.fault.left, self.row)
            self.entry += 1
            self.at = self.row = 0
            return said
        finally:
            free(tables)

    def event(self, tables, slots, data, size):
        """Decode one event; E_NONE when it is done or none of ours."""
        item: entry_p = self.index.entries + self.entry
        e: RowsAt
        code: cython.int = item.type
        first: octets
        last: octets
        tail: cython.int = 4 if self.scanner.checksums else 0
        if not (23 <= code <= 25 or 30 <= code <= 32 or code == 39):
            return E_NONE
        if item.slot < 0 or item.slot >= slots or item.notes & N_BAD_CHECKSUM:
            return E_NONE
        if tables[item.slot] is cython.NULL:
            return E_NONE
        if item.offset < 0 or item.offset > size or item.size > size - item.offset:
            return E_NONE
        first = data + item.offset + self.scanner.header_length
        last = data + item.offset + (item.size - tail)
        e.code = code
        e.table_id_width = self.scanner.table_id_width
        if self.scanner.outer_pos < 0:
            e.facts[FACT_POS] = self.origin + item.offset
            e.facts[FACT_END_POS] = self.origin + item.offset + item.size
            e.facts[FACT_INNER] = -1
        else:
            e.facts[FACT_POS] = self.scanner.outer_pos
            e.facts[FACT_END_POS] = self.scanner.outer_end
            e.facts[FACT_INNER] = self.inner + self.entry
        e.facts[FACT_ROW] = 0
        e.facts[FACT_TIMESTAMP] = item.timestamp
        e.facts[FACT_SERVER_ID] = item.server_id
        e.facts[FACT_SEQ] = (self.seq + self.entry) << 32
        e.facts[FACT_TX] = item.tx
        e.at = first + self.at if self.at else cython.NULL
        e.row = self.row
        if decode_rows(tables[item.slot], cython.address(e), first, last):
            return E_NONE
        self.at = e.at - first if e.at is not cython.NULL else 0
        self.row = e.row
        return tables[item.slot].fault.code
