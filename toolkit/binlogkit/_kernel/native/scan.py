"""The first pass over a log: frames, checksums, an index of events, and what each belongs to.

Events lie end to end after their common header (``sources/raw.py``); one that Python must decide
about ends the scan after it: a statement other than BEGIN and COMMIT, a payload, XA, whatever is
rare. Which events make a transaction is what ``rows/transactions.py`` says.
"""

import cython
from cython.cimports.binlogkit._kernel.native.rows_head import more_of_packed, rows_head
from cython.cimports.binlogkit._kernel.native.table_maps import Place, TableMaps
from cython.cimports.binlogkit._kernel.native.values import View
from cython.cimports.libc.string import memcmp, memcpy

#: Why a scan stopped.
STOPS = {stop.value: stop.name.removeprefix("STOP_").lower() for stop in Stop}
_MOST_EVENTS = cython.declare(int64_t, 1 << 31)  # of a reading
_HEADER = cython.declare(cython.int, 19)
_CHECKSUM = cython.declare(cython.int, 4)
_IN_USE = cython.declare(cython.int, 1)
# Type codes.
_QUERY = cython.declare(cython.int, 2)
_FORMAT = cython.declare(cython.int, 15)
_XID = cython.declare(cython.int, 16)
_TABLE_MAP = cython.declare(cython.int, 19)
_ROWS_QUERY = cython.declare(cython.int, 29)
_GTID = cython.declare(cython.int, 33)
_END_GNO = cython.declare(int64_t, 0x7FFFFFFFFFFFFFFF)
_ANONYMOUS = cython.declare(cython.int, 34)
_PAYLOAD = cython.declare(cython.int, 40)


@cython.cfunc
@cython.inline
@cython.nogil
@cython.exceptval(check=False)
def _is_rows(code: cython.int) -> cython.bint:
    return 23 <= code <= 25 or 30 <= code <= 32 or code == 39


class Scanner:
    """Scans the buffers of one log in order.

    ``header_length``, ``checksums`` (of all but a format description, which has its own
    ``format_checksum``) and ``table_id_width`` are as the format description says; ``variables``:
    whether such came that are for the statement that follows, which Python looks at; ``verify``:
    whether checksums are computed; ``positions``: whether events without them must stand where
    they say; ``most_events``: of an index, after which it stops; ``maps`` and ``transactions``
    gather what was met.
    """

    def __cinit__(self, number=0):
        self.maps = TableMaps()
        self.transactions = Transactions(number)
        self.header_length = _HEADER
        self.table_id_width = 6
        self.verify = self.positions = True
        self.outer_pos = self.outer_end = -1
        self.most_events = _MOST_EVENTS

    def scan(self, index: Index, data, start, end, origin, take_format=False, spots=None):
        """Take the events of ``data[start:end]``; a name of ``STOPS``.

        ``origin``: the log's offset of the buffer's first byte; ``offset`` is after the last event
        that was taken. ``take_format``: the first event is a format description that Python knows;
        ``spots``: where each of the index's events stood, if they are packed: as ``SPOT`` says.
        """
        stop: cython.int
        first: int64_t = start
        last: int64_t = end
        base: int64_t = origin
        forced: cython.bint = take_format
        view: View = View(data)
        places: View = None if spots is None else View(spots)
        self.check_idle()
        self.check_format()
        index.check_idle()
        if not 0 <= first <= last <= view.size:
            raise ValueError("the events lie outside their buffer")
        self.id_width, self.length = self.table_id_width, self.header_length
        self.spots = cython.NULL
        if places is not None:
            self.spots = cython.cast(spots_p, places.at)
            self.spot_count = places.size // cython.sizeof(Spot)
        index.users = -1
        self.maps.busy = self.transactions.busy = True
        with cython.nogil:
            stop = self.scan_events(index, view.at, first, last, base, forced)
        self.maps.busy = self.transactions.busy = False
        index.users = 0
        if stop == STOP_MEMORY:
            raise MemoryError
        return STOPS[stop]

    def check_idle(self):
        """RuntimeError: it scans just now."""
        self.maps.check_idle()
        return self.transactions.check_idle()

    def check_format(self):
        """ValueError: no log has such a format."""
        if not _HEADER <= self.header_length <= 0xFF or self.table_id_width not in (4, 6):
            raise ValueError("no such format")
        return 0

    def scan_events(self, index, data, at, end, origin, forced):
        """The loop of ``scan``; ``forced``: whether it takes a format description first."""
        p: octets
        e: entry_p
        spot: spot_p = cython.NULL
        size: uint32_t
        code: cython.int
        flags: cython.int
        header: cython.int
        tail: cython.int
        left: int64_t
        while True:
            self.offset = at
            left = end - at
            if left <= 0:
                return STOP_END
            if index.count >= self.most_events:
                return STOP_FULL
            if left < _HEADER:
                return STOP_CUT
            p = data + at
            code = p[4]
            size = cython.cast(uint32_t, little(p + 9, 4))
            flags = p[17] | p[18] << 8
            header = _HEADER if code == _FORMAT else self.length
            if code == _FORMAT and not forced:
                return STOP_FORMAT
            if size < cython.cast(uint32_t, header):
                return STOP_SIZE
            if size > left:
                return STOP_CUT
            tail = 0
            if self.format_checksum if code == _FORMAT else self.checksums:
                tail = _CHECKSUM
                if size < cython.cast(uint32_t, header + tail):
                    return STOP_SHORT
                if self.verify and not self.checksum_holds(p, size, code, flags):
                    return STOP_CHECKSUM
            if self.spots is not cython.NULL:
                if index.count >= self.spot_count:
                    return STOP_SIZE
                spot = self.spots + index.count
            elif not tail and self.positions and self.outer_pos < 0:
                if cython.cast(uint32_t, origin + at + size) != little(p + 13, 4):
                    return STOP_POSITION
            e = index.add()
            if e is cython.NULL:
                return STOP_MEMORY
            e.offset = at
            e.size = size
            e.type = cython.cast(uint8_t, code)
            e.timestamp = cython.cast(uint32_t, little(p, 4))
            e.server_id = cython.cast(uint32_t, little(p + 5, 4))
            e.log_pos = cython.cast(uint32_t, little(p + 13, 4))
            e.flags = p[17] | p[18] << 8
            e.notes = 0
            e.slot = -1
            e.tx = -1
            self.content = crc32(0, p + header, size - header - tail)
            if spot is not cython.NULL and spot.flags & (SPOT_BAD | SPOT_LOOK):
                e.notes = N_LOOK | (N_BAD_CHECKSUM if spot.flags & SPOT_BAD else 0)
            elif not self.take_event(e, p + header, p + (size - tail), origin + at, spot):
                return STOP_MEMORY
            at += size
            forced = 0
            if e.notes & N_LOOK:
                self.offset = at
                return STOP_LOOK

    def checksum_holds(self, p, size, type, flags):
        """Whether the CRC-32 after an event is that of its bytes.

        The server computes a format description's without IN_USE.
        """
        plain: uint8_t
        body: uint32_t = size - _CHECKSUM
        self.stored = cython.cast(uint32_t, little(p + body, 4))
        if type == _FORMAT and flags & _IN_USE:
            plain = p[17] & 0xFE
            self.computed = crc32(0, p, 17)
            self.computed = crc32(self.computed, cython.address(plain), 1)
            self.computed = crc32(self.computed, p + 18, body - 18)
        else:
            self.computed = crc32(0, p, body)
        return self.computed == self.stored

    # ---- transactions ---------------------------------------------------------------------

    def current(self):
        """The transaction that is open, or NULL."""
        t: transaction_p
        if not self.transactions.count:
            return cython.NULL
        t = self.transactions.items + (self.transactions.count - 1)
        return t if t.open else cython.NULL

    def start(self, e, pos, spot):
        """Begin a transaction with an event; one that is open is cut. NULL: no memory."""
        t: transaction_p = self.current()
        if t is not cython.NULL:
            t.notes |= T_REPLACED
            self.end(t, t.outcome)
        self.torn = False
        t = self.transactions.add()
        if t is not cython.NULL:
            t.open = 1
            t.pos = pos if self.outer_pos < 0 else self.outer_pos
            if spot is not cython.NULL and self.outer_pos < 0:
                t.pos = spot.pos
            t.timestamp = e.timestamp
            t.server_id = e.server_id
            t.first_type = e.type
        return t

    def begin(self, e, pos, spot):
        """Begin a transaction with an event that gives no GTID; where one would have stood before
        it, its BEGIN is lost, too. NULL: no memory."""
        torn: cython.bint = self.torn
        t: transaction_p = self.start(e, pos, spot)
        if t is not cython.NULL and torn:
            t.explicit = 1
        return t

    def count(self, t, e, pos, spot):
        """An event more in a transaction."""
        e.tx = t.number
        t.events += 1
        if self.outer_pos >= 0:
            t.end_pos = self.outer_end
        elif spot is cython.NULL:
            t.size += e.size
            t.end_pos = pos + e.size
        else:
            t.size += spot.size if spot.inner < 0 else 0
            t.end_pos = spot.end_pos
        if self.outer_pos < 0 and (spot is cython.NULL or spot.inner < 0):
            t.digest = crc32(t.digest, cython.cast(octets, cython.address(self.content)), 4)
        t.end_timestamp = e.timestamp
        t.last_type = e.type

    def end(self, t, outcome):
        """A transaction ends."""
        t.outcome = cython.cast(uint8_t, outcome)
        t.open = 0
        if self.in_statement:
            t.notes |= T_IN_STATEMENT
        self.in_statement = False
        self.maps.statement += 1

    def take_event(self, e, p, end, pos, spot):
        """Say what an event belongs to; False: no memory. ``p``: after the header."""
        code: cython.int = e.type
        t: transaction_p
        place: cython.pointer(Place)
        new: cython.bint = False
        slot: int32_t
        columns: uint64_t
        width: cython.int = self.id_width
        size: int64_t = end - p
        if code == _GTID or code == _ANONYMOUS:
            self.numbered = True
            return self.take_gtid(e, p, end, pos, spot)
        if code == _QUERY:
            return self.take_query(e, p, end, pos, spot)
        t = self.current()
        if code == _FORMAT:
            self.numbered = self.torn = False
            if t is not cython.NULL:
                self.count(t, e, pos, spot)
            return True
        if code == _TABLE_MAP and size >= width:
            slot = self.maps.intern(p + width, size - width, cython.address(new))
            place = cython.NULL if slot < 0 else self.maps.put(little(p, width), slot)
            if place is cython.NULL:
                return False
            e.slot = slot
            e.notes |= (N_NEW_MAP if new else 0) | (N_MAP_CHANGED if place.changed else 0)
            self.in_statement = True
        elif (
            _is_rows(code)
            and rows_head(code, width, p, end, cython.address(columns)) is not cython.NULL
        ):
            self.take_rows(e, p)
        elif not (
            (code == _XID and size >= 8)
            or (code == _ROWS_QUERY and size)
            or (code == _PAYLOAD and spot is not cython.NULL and spot.flags & SPOT_SPLICED)
        ):
            e.notes |= N_LOOK
            return True
        if t is cython.NULL:
            t = self.begin(e, pos, spot)
            if t is cython.NULL:
                return False
        self.count(t, e, pos, spot)
        if code == _XID:
            t.xid = little(p, 8)
            t.has |= HAS_XID
            self.end(t, O_COMMITTED)
        elif code == _PAYLOAD:
            t.notes |= T_COMPRESSED
        elif _is_rows(code):
            t.row_events += 1
            if p[width] & 1 and not (t.explicit or t.has & HAS_GTID or t.first_type == _ANONYMOUS):
                t.notes |= T_ALONE
                self.end(t, O_COMMITTED)
        return True

    def take_rows(self, e, p):
        """Say which table the rows of an event are of; ``p``: after the header."""
        number: uint64_t = little(p, self.id_width)
        e.slot = self.maps.slot_of(number)
        if e.slot < 0:
            e.notes |= N_NO_MAP
        if number != DUMMY_TABLE_ID and not self.maps.in_statement(number):
            e.notes |= N_STRAY
        self.in_statement = not p[self.id_width] & 1
        if not self.in_statement:
            e.notes |= N_STATEMENT_END
            self.maps.statement += 1

    def take_gtid(self, e, p, end, pos, spot):
        """GTID_LOG_EVENT and ANONYMOUS_GTID_LOG_EVENT, as ``events/gtid.py`` reads them."""
        t: transaction_p
        has: cython.int = 0
        commit: uint64_t = 0
        original: uint64_t = 0
        length: int64_t = -1
        width: cython.int
        logical: octets = p + 25
        if end - p < 25:
            e.notes |= N_LOOK
            return True
        sid: octets = p + 1
        if e.type == _GTID:
            has = HAS_GTID
            # No transaction has such a number: the event's reader says so.
            if not 0 < cython.cast(int64_t, little(sid + 16, 8)) < _END_GNO:
                e.notes |= N_LOOK
                return True
        p += 25
        if p == end or p[0] != 2:
            p = end  # another clock, or none: what is after it is not known
        elif end - p < 17:
            e.notes |= N_LOOK
            return True
        else:
            has |= HAS_CLOCK
            p += 17
        if end - p >= 7:
            has |= HAS_COMMIT
            commit = original = little(p, 7)
            p += 7
            if commit >> 55:
                commit &= (cython.cast(uint64_t, 1) << 55) - 1
                if end - p < 7:
                    e.notes |= N_LOOK
                    return True
                original = little(p, 7)
                p += 7
        if p < end:  # transaction_length
            width = more_of_packed(p[0])
            if width < 0 or width >= end - p:
                e.notes |= N_LOOK
                return True
            length = cython.cast(int64_t, little(p + 1, width)) if width else p[0]
            p += 1 + width
        if end - p >= 4 and p[3] & 0x80 and end - p < 8:  # the server's versions
            e.notes |= N_LOOK
            return True
        t = self.start(e, pos, spot)
        if t is cython.NULL:
            return False
        t.has = cython.cast(uint8_t, has)
        memcpy(t.sid, sid, 16)
        t.gno = cython.cast(int64_t, little(sid + 16, 8))
        if has & HAS_CLOCK:
            t.last_committed = cython.cast(int64_t, little(logical + 1, 8))
            t.sequence_number = cython.cast(int64_t, little(logical + 9, 8))
        t.commit_timestamp = cython.cast(int64_t, commit)
        t.original_timestamp = cython.cast(int64_t, original)
        t.length = length
        self.count(t, e, pos, spot)
        return True

    def take_query(self, e, p, end, pos, spot):
        """BEGIN and COMMIT with status variables that Python has read before; else Python looks."""
        t: transaction_p
        size: int64_t = end - p
        status: cython.int
        text: octets
        left: int64_t
        if size < 13:
            e.notes |= N_LOOK
            return True
        status = p[11] | p[12] << 8
        if self.variables or size < 13 + status + p[8] + 1 or not self.knows(p + 13, status):
            self.variables = False
            e.notes |= N_LOOK
            return True
        text = p + 13 + status + p[8] + 1
        left = end - text
        t = self.current()
        if left == 5 and memcmp(text, b"BEGIN", 5) == 0:
            if t is cython.NULL or t.explicit:
                t = self.start(e, pos, spot)
                if t is cython.NULL:
                    return False
            self.count(t, e, pos, spot)
            t.explicit = 1
            t.thread_id = cython.cast(int64_t, little(p, 4))
            t.has |= HAS_THREAD
        elif left == 6 and memcmp(text, b"COMMIT", 6) == 0:
            if t is cython.NULL:
                t = self.start(e, pos, spot)
                if t is cython.NULL:
                    return False
            self.count(t, e, pos, spot)
            self.end(t, O_COMMITTED)
        else:
            e.notes |= N_LOOK
        return True

    def knows(self, p, size):
        """Whether these status variables were read by Python before."""
        i: cython.int
        for i in range(STATUS_BLOCKS):
            if self.status_size[i] == size + 1 and memcmp(self.status[i], p, size) == 0:
                return True
        return False

    def know_status(self, block: bytes):
        """Status variables that Python has read: a BEGIN or COMMIT with them needs no look."""
        size: cython.int = min(len(block), STATUS_BYTES + 1)
        self.check_idle()
        if size > STATUS_BYTES:
            return
        memcpy(self.status[self.status_next], cython.cast(cython.p_char, block), size)
        self.status_size[self.status_next] = size + 1
        self.status_next = (self.status_next + 1) % STATUS_BLOCKS

    def settle(
        self, index: Index, origin, start=False, join=True, explicit=False, thread_id=-1,
        tagged=False, ends=False, outcome=0, spots=None, length=-1, xid=None, compressed=False,
    ):  # fmt: skip
        """Say what the event after which the scan stopped does to transactions; its number or -1.

        ``start``: it begins one whatever is open; ``join``: it belongs to the open one, or begins
        one; ``explicit``: as BEGIN does; ``tagged``: it gives a GTID; ``length``, ``xid``: that
        it gives; ``ends``: with ``outcome``; ``spots``: as in :meth:`scan`; ``compressed``: it is a
        payload.
        """
        t: transaction_p
        e: entry_p
        pos: int64_t
        spot: spot_p = cython.NULL
        places: View = None if spots is None else View(spots)
        self.check_idle()
        index.check_idle()
        if not index.count or not index.entries[index.count - 1].notes & N_LOOK:
            raise ValueError("no event waits for a decision")
        e = index.entries + (index.count - 1)
        pos = origin + e.offset
        t = cython.NULL if start else self.current()
        if t is cython.NULL and not (start or join):
            return -1
        if places is not None:
            if index.count > cython.cast(int64_t, places.size // cython.sizeof(Spot)):
                raise ValueError("a spot per event is needed")
            spot = cython.cast(spots_p, places.at) + (index.count - 1)
        if t is cython.NULL:
            t = self.start(e, pos, spot) if start else self.begin(e, pos, spot)
        if t is cython.NULL:
            raise MemoryError
        self.count(t, e, pos, spot)
        if explicit:
            t.explicit = 1
        if tagged:
            t.has |= HAS_GTID
            self.numbered = True
        if compressed:
            t.notes |= T_COMPRESSED
        if length >= 0:
            t.length = length
        if xid is not None:
            t.xid = xid
            t.has |= HAS_XID
        if thread_id >= 0:
            t.thread_id = thread_id
            t.has |= HAS_THREAD
        if ends:
            self.end(t, outcome)
        return t.number

    @property
    def open_transaction(self):
        """(explicit, has a GTID) of the transaction that is open, None where there is none."""
        t: transaction_p
        self.check_idle()
        t = self.current()
        if t is cython.NULL:
            return None
        return t.explicit != 0, t.has & HAS_GTID != 0

    def finish(self):
        """The log ends: a transaction that is open is cut."""
        t: transaction_p
        self.check_idle()
        t = self.current()
        if t is not cython.NULL:
            self.end(t, t.outcome)

    def lost(self):
        """A range was lost: the statement that was open need not continue after it."""
        self.check_idle()
        self.torn = self.numbered
        self.in_statement = False
        self.maps.statement += 1
