"""The second pass: the rows events of an index, each into the buffers of its table."""

import cython
from cython.cimports.binlogkit._kernel.native.builder import TableBuilder, claim
from cython.cimports.binlogkit._kernel.native.cells import fail
from cython.cimports.binlogkit._kernel.native.images import decode_rows
from cython.cimports.binlogkit._kernel.native.scan import Scanner
from cython.cimports.binlogkit._kernel.native.values import View
from cython.cimports.libc.stdlib import calloc, free

_SEQ_SHIFT = cython.declare(cython.int, 32)
_MAX_EVENTS = cython.declare(int64_t, 1 << 31)  # whose seq an int64 holds


class RowsPass:
    """How far the rows of an index are decoded.

    ``builders``: by slot; a slot beyond the list, or None in it, is left out. ``seq``: the place of
    the index's first event in the walk. Events are read as the scanner's format is now, whatever
    it is set to later. ``spots``: where each event stood, if they are packed (scan.py).
    ``wanted``: has a 0 for each event that is left out; those after its end are not.
    """

    def __cinit__(
        self, scanner: Scanner, index: Index, data, origin, seq=0, spots=None, wanted=b""
    ):
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
        self.wanted = wanted
        self.words = self.wanted
        self.chosen = len(self.wanted)
        self.entry = self.at = self.row = 0

    def run(self, builders: list, last=-1):
        """Decode up to entry ``last`` (exclusive; -1: all); None when there.

        Else ``(slot,)`` of a builder that is full and must be taken, or ``(slot, code, field,
        wants, left, row)`` of an event that is malformed; a further call resumes after it.
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
        view: View = View(self.data)
        places: View = None if self.places is None else View(self.places)
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
            self.index.begin_reading()
            if stop < 0 or stop > self.index.count:
                stop = self.index.count
            if places is not None:
                self.spots = cython.cast(spots_p, places.at)
                stop = min(stop, cython.cast(int64_t, places.size // cython.sizeof(Spot)))
            with cython.nogil:
                fault = self.decode(tables, slots, stop, view.at, view.size)
            self.spots = cython.NULL
            self.index.users -= 1
            if fault == E_NONE:
                return None
            slot = self.index.entries[self.entry].slot
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

    def decode(self, tables, slots, stop, data, size):
        """Decode up to entry ``stop`` or a fault."""
        fault: cython.int
        while self.entry < stop:
            fault = self.event(tables, slots, data, size)
            if fault != E_NONE:
                return fault
            self.entry += 1
            self.at = self.row = 0
        return E_NONE

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
        if self.entry < self.chosen and not self.words[self.entry]:
            return E_NONE
        if tables[item.slot] is cython.NULL:
            return E_NONE
        if item.offset < 0 or item.offset > size or item.size > size - item.offset:
            return E_NONE
        if left < 0 or self.at > left:
            fail(tables[item.slot], E_HEAD, F_ROWS, 0, left)
            return E_HEAD
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
