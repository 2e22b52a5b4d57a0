"""What a scan finds: an entry per event, and the transactions that they make."""

import cython
from cython.cimports.binlogkit._kernel.native.crc32 import crc_of, crc_prepare
from cython.cimports.binlogkit._kernel.native.memory import buffer_grow
from cython.cimports.binlogkit._kernel.native.values import View, block_copy, give_back
from cython.cimports.libc.string import memset

_FIRST = cython.declare(cython.int, 256)
_MOST_ROOM = cython.declare(cython.int, 1 << 20)

#: The layout of an entry, a transaction and a packed event's place, for numpy.
ENTRY = (
    ("offset", "<i8"),
    ("size", "<u4"),
    ("timestamp", "<u4"),
    ("server_id", "<u4"),
    ("log_pos", "<u4"),
    ("flags", "<u2"),
    ("type", "u1"),
    ("notes", "u1"),
    ("slot", "<i4"),
    ("tx", "<i8"),
)
TRANSACTION = (
    ("number", "<i8"),
    ("pos", "<i8"),
    ("end_pos", "<i8"),
    ("gno", "<i8"),
    ("last_committed", "<i8"),
    ("sequence_number", "<i8"),
    ("commit_timestamp", "<i8"),
    ("original_timestamp", "<i8"),
    ("thread_id", "<i8"),
    ("xid", "<u8"),
    ("events", "<i8"),
    ("size", "<i8"),
    ("row_events", "<i8"),
    ("length", "<i8"),
    ("timestamp", "<u4"),
    ("end_timestamp", "<u4"),
    ("server_id", "<u4"),
    ("digest", "<u4"),
    ("sid", "V16"),
    ("has", "u1"),
    ("outcome", "u1"),
    ("explicit", "u1"),
    ("open", "u1"),
    ("first_type", "u1"),
    ("last_type", "u1"),
    ("notes", "u1"),
    ("spare", "V1"),
)
SPOT = (
    ("pos", "<i8"),
    ("end_pos", "<i8"),
    ("inner", "<i8"),
    ("size", "<u4"),
    ("flags", "<u4"),
)


class Index:
    """The events of a buffer, in order; ``room``: how many there may be at first."""

    def __cinit__(self, room=0):
        self.room = min(max(room, _FIRST), _MOST_ROOM)

    def __dealloc__(self):
        give_back(self.entries)

    def add(self):
        """Room for one more entry; NULL: no memory."""
        entries: entry_p
        size: cython.longlong
        if self.count == self.capacity:
            size = 2 * self.capacity if self.capacity else self.room
            entries = cython.cast(
                entry_p,
                buffer_grow(
                    self.entries, self.count * cython.sizeof(Entry), size * cython.sizeof(Entry)
                ),
            )
            if entries is cython.NULL:
                return cython.NULL
            self.entries = entries
            self.capacity = size
        self.count += 1
        return self.entries + (self.count - 1)

    def begin_reading(self):
        """One reader more, who takes himself off ``users`` again; a writer counts -1, and alone."""
        if self.users < 0:
            raise RuntimeError("the index is being written in another thread")
        self.users += 1
        return 0

    def check_idle(self):
        """RuntimeError: somebody reads or writes the index just now."""
        if self.users:
            raise RuntimeError("the index is at work in another thread")
        return 0

    def clear(self):
        """Forget the entries, keep their room."""
        self.check_idle()
        self.count = 0

    def __len__(self):
        return self.count

    def copied(self, start=0):
        """The entries from ``start`` on as ``ENTRY`` says, as they are now."""
        first: cython.longlong = start
        if self.users < 0:
            self.check_idle()
        if not 0 <= first < self.count:
            return _copy(cython.NULL, 0)
        return _copy(self.entries + first, (self.count - first) * cython.sizeof(Entry))

    @property
    def entry_size(self):
        """Bytes of one entry."""
        return cython.sizeof(Entry)


class Transactions:
    """The transactions met so far that were not taken yet; the last one may be open."""

    def __cinit__(self, number=0):
        self.next_number = number

    def __dealloc__(self):
        give_back(self.items)

    def add(self):
        """A new transaction with the next number; NULL: no memory."""
        items: transaction_p
        size: cython.longlong
        if self.count == self.capacity:
            size = 2 * self.capacity if self.capacity else _FIRST
            items = cython.cast(
                transaction_p,
                buffer_grow(
                    self.items,
                    self.count * cython.sizeof(Transaction),
                    size * cython.sizeof(Transaction),
                ),
            )
            if items is cython.NULL:
                return cython.NULL
            self.items = items
            self.capacity = size
        items = self.items + self.count
        memset(items, 0, cython.sizeof(Transaction))
        items.number = self.next_number
        items.length = -1
        self.next_number += 1
        self.count += 1
        return items

    def check_idle(self):
        """RuntimeError: a scan adds transactions just now."""
        if self.busy:
            raise RuntimeError("the transactions are being written in another thread")
        return 0

    def copied(self):
        """The transactions as ``TRANSACTION`` says, as they are now."""
        self.check_idle()
        return _copy(self.items, self.count * cython.sizeof(Transaction))

    def clear(self):
        """Forget those that have ended; an open one stays."""
        self.check_idle()
        if self.count and self.items[self.count - 1].open:
            self.items[0] = self.items[self.count - 1]
            self.count = 1
        else:
            self.count = 0

    @property
    def number(self):
        """What the next transaction will be numbered."""
        return self.next_number

    @property
    def entry_size(self):
        """Bytes of one transaction."""
        return cython.sizeof(Transaction)


@cython.cfunc
def _copy(memory: cython.p_const_void, size: cython.longlong):
    return memoryview(block_copy(memory, size))


def crc32(crc, p, size):
    """The CRC-32 of bytes after those of which it is ``crc`` (0 at first)."""
    return crc_of(crc, p, size)


def crc(data, start=0):
    """The CRC-32 of ``data``, continued from ``start``."""
    view: View = View(data)
    value: uint32_t = start
    with cython.nogil:
        value = crc32(value, view.at, view.size)
    return int(value)


def use_folding(lane):
    """How many bytes the CRC may take at once by carry-less multiplication: 0 (by tables), 16 or
    64; returns what it takes on this CPU."""
    return crc_prepare(lane)


crc_prepare(64)
