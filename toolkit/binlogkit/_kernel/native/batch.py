"""The second pass: the rows events of an index, each into the buffers of its table."""

import cython
from cython.cimports.binlogkit._kernel.native.builder import TableBuilder, claim
from cython.cimports.binlogkit._kernel.native.cells import fail
from cython.cimports.binlogkit._kernel.native.images import decode_rows
from cython.cimports.binlogkit._kernel.native.scan import Scanner
from cython.cimports.cpython.buffer import PyBUF_SIMPLE, PyBuffer_Release, PyObject_GetBuffer
from cython.cimports.libc.stdlib import calloc, free

_SEQ_SHIFT = cython.declare(cython.int, 32)
_MAX_EVENTS = cython.declare(int64_t, 1 << 31)  # whose seq an int64 holds


class RowsPass:
    """How far the rows of an index are decoded.

    ``builders``: by slot; a slot beyond the list, or None in it, is left out. ``seq``: the place of
    the index's first event in the walk. Events are read as the scanner's format is now, whatever
    it is set to later. ``spots``: where each event stood, if they are packed (scan.py).
    """

    def __cinit__(self, scanner: Scanner, index: Index, data, origin, seq=0, spots=None):
        if seq < 0 or seq + index.count > _MAX_EVENTS:
            raise OverflowError("a walk of more than 2**31 events")
        scanner.check_format()
        self.header_length = scanner.header_length
        self.tail = 4 if scanner.checksums else 0
        self.table_id_width = scanner.table_id_width
        self.outer_pos = scanner.outer_pos
        self.outer_end = scanner.outer_end
        self.scanner = scanner
        self.index = index
        self.data = data
        self.origin = origin
        self.seq = seq
        self.places = spots
        self.entry = self.at = self.row = 0

    def run(self, builders: list, last=-1):
        """Decode up to entry ``last`` (exclusive; -1: all); None when there.

        Else ``(slot,)`` of a builder that is full and must be taken, or ``(slot, code, field,
        wants, left, row)`` of an event that is malformed; a further call goes on behind it.
        """
        tables: cython.pointer(table_p)
        builder: TableBuilder
        held: list = []  # whose builders must outlive the pass, whatever the caller's list does
        slots: int64_t = len(builders)
        i: int64_t
        fault: cython.int
        slot: cython.int = -1
        stop: int64_t = -1 if last < 0 else last
        t: table_p
        if self.running:
            raise RuntimeError("the pass is at work in another thread")
        tables = cython.cast(cython.pointer(table_p), calloc(slots + 1, cython.sizeof(table_p)))
        if tables is cython.NULL:
            raise MemoryError
        self.running = True
        try:
            for i, given in enumerate(builders):
                if i >= slots:
                    break
                if given is None:
                    continue
                builder = given
                if builder.user is not held:
                    claim(builder, held)
                    held.append(builder)
                tables[i] = cython.address(builder.t)
            fault = self.decode(tables, slots, stop, cython.address(slot))
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
            for given in held:
                builder = given
                builder.user = None
            self.running = False
            free(tables)

    def decode(self, tables, slots, stop, slot):
        """Decode up to entry ``stop`` (-1: all) or a fault, which is that of the table ``slot``."""
        view: Py_buffer
        places: Py_buffer
        fault: cython.int = E_NONE
        self.index.begin_reading()
        try:
            if stop < 0 or stop > self.index.count:
                stop = self.index.count
            if self.places is not None:
                PyObject_GetBuffer(self.places, cython.address(places), PyBUF_SIMPLE)
                self.spots = cython.cast(spots_p, places.buf)
                stop = min(stop, cython.cast(int64_t, places.len // cython.sizeof(Spot)))
            PyObject_GetBuffer(self.data, cython.address(view), PyBUF_SIMPLE)
            try:
                with cython.nogil:
                    while self.entry < stop:
                        fault = self.event(tables, slots, cython.cast(octets, view.buf), view.len)
                        if fault != E_NONE:
                            slot[0] = self.index.entries[self.entry].slot
                            break
                        self.entry += 1
                        self.at = self.row = 0
            finally:
                PyBuffer_Release(cython.address(view))
        finally:
            if self.spots is not cython.NULL:
                PyBuffer_Release(cython.address(places))
                self.spots = cython.NULL
            self.index.users -= 1
        return fault

    def event(self, tables, slots, data, size):
        """Decode one event; E_NONE when it is done or none of ours."""
        item: entry_p = self.index.entries + self.entry
        e: RowsAt
        code: cython.int = item.type
        first: octets
        left: int64_t = cython.cast(int64_t, item.size) - self.tail - self.header_length
        if not (23 <= code <= 25 or 30 <= code <= 32 or code == 39):
            return E_NONE
        if item.slot < 0 or item.slot >= slots or item.notes & N_BAD_CHECKSUM:
            return E_NONE
        if tables[item.slot] is cython.NULL:
            return E_NONE
        if item.offset < 0 or item.offset > size or item.size > size - item.offset:
            return E_NONE
        if left < 0 or self.at > left:
            fail(tables[item.slot], E_NEEDS, F_TABLE_ID, self.table_id_width, left)
            return E_NEEDS
        first = data + item.offset + self.header_length
        e.code = code
        e.table_id_width = self.table_id_width
        if self.outer_pos < 0 and self.spots is not cython.NULL:
            e.facts[FACT_POS] = self.spots[self.entry].pos
            e.facts[FACT_END_POS] = self.spots[self.entry].end_pos
            e.facts[FACT_INNER] = self.spots[self.entry].inner
        elif self.outer_pos < 0:
            e.facts[FACT_POS] = self.origin + item.offset
            e.facts[FACT_END_POS] = self.origin + item.offset + item.size
            e.facts[FACT_INNER] = -1
        else:
            e.facts[FACT_POS] = self.outer_pos
            e.facts[FACT_END_POS] = self.outer_end
            e.facts[FACT_INNER] = self.inner + self.entry
        e.facts[FACT_ROW] = 0
        e.facts[FACT_TIMESTAMP] = item.timestamp
        e.facts[FACT_SERVER_ID] = item.server_id
        e.facts[FACT_SEQ] = (self.seq + self.entry) << _SEQ_SHIFT
        e.facts[FACT_TX] = item.tx
        e.at = first + self.at if self.at else cython.NULL
        e.row = self.row
        if decode_rows(tables[item.slot], cython.address(e), first, first + left):
            return E_NONE
        self.at = e.at - first if e.at is not cython.NULL else 0
        self.row = e.row
        return tables[item.slot].fault.code
