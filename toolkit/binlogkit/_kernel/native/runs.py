"""The rows of a batch by the events that they came from: a run is what one event gave.

A row's facts are those of its event, so a run keeps them once; the columns that hold them are
written when the batch is handed over.
"""

import cython
from cython.cimports.binlogkit._kernel.native.digits import put_number
from cython.cimports.binlogkit._kernel.native.index import Transaction
from cython.cimports.binlogkit._kernel.native.values import Block, View, give_back, new_block
from cython.cimports.libc.stdlib import free, malloc
from cython.cimports.libc.string import memcmp, memcpy, memset

#: The layout of a run, for numpy: its first row, and the facts of that row.
RUN = (
    ("first", "<i8"),
    ("pos", "<i8"),
    ("end_pos", "<i8"),
    ("inner", "<i8"),
    ("row", "<i8"),
    ("timestamp", "<i8"),
    ("server_id", "<i8"),
    ("seq", "<i8"),
    ("tx", "<i8"),
    ("op", "<i8"),
)
#: The facts that a run has, in the order of ``Runs.fact``; after them is what its event does.
FACT_NAMES = ("pos", "end_pos", "inner", "row", "timestamp", "server_id", "seq", "tx")
OP = len(FACT_NAMES)
_Value = cython.fused_type(int32_t, int64_t)
_GTID_BYTES = cython.declare(cython.int, 57)  # of 36 characters, a colon and a number


class Runs:
    """Runs in the order of their rows; ``transactions``: how many the rows belong to.

    The events of a transaction follow one another, so that its runs do.
    """

    def __dealloc__(self):
        give_back(self.items)
        free(self.places)

    def tobytes(self):
        """As ``RUN`` says."""
        if not self.count:
            return b""
        return cython.cast(cython.p_char, self.items)[: self.count * cython.sizeof(Run)]

    def numbers(self):
        """The number of each transaction as int64, in order."""
        i: int64_t
        block: Block = new_block(self.transactions * 8)
        out: cython.pointer(int64_t) = cython.cast(cython.pointer(int64_t), block.memory)
        for i in range(self.count):
            out[self.places[i]] = self.items[i].facts[FACT_TX]
        return cython.cast(cython.p_char, block.memory)[: self.transactions * 8]

    def fact(self, which: cython.int):
        """A fact per row: int64, ``inner``, ``row`` and ``op`` as int32."""
        if not 0 <= which < FACTS:
            raise IndexError(which)
        narrow: cython.bint = which == FACT_INNER or which == FACT_ROW or which == FACT_OP
        block: Block = new_block(self.rows * (4 if narrow else 8))
        if narrow:
            _put_fact(self, which, cython.cast(cython.pointer(int32_t), block.memory))
        else:
            _put_fact(self, which, cython.cast(cython.pointer(int64_t), block.memory))
        return block

    def missing(self, which: cython.int):
        """(how many rows, their 0 bits) of the runs whose fact is below 0; no bits for none."""
        i: int64_t
        gone: Block = new_block(self.count)
        if not 0 <= which < FACTS:
            raise IndexError(which)
        for i in range(self.count):
            gone.memory[i] = self.items[i].facts[which] < 0
        return _nulls(self, gone)

    @property
    def first_seq(self):
        """The place in the walk of the first row, -1 for no row."""
        return self.items[0].facts[FACT_SEQ] if self.count else -1

    @property
    def first_tx(self):
        """The first transaction's number, -1 for none."""
        return self.items[0].facts[FACT_TX] if self.count else -1

    @property
    def last_tx(self):
        """The last transaction's number, -1 for none."""
        return self.items[self.count - 1].facts[FACT_TX] if self.count else -1

    def without(self, op: int64_t):
        """(how many rows, their 0 bits) of the runs that do ``op``; no bits where none does."""
        i: int64_t
        gone: Block = new_block(self.count)
        for i in range(self.count):
            gone.memory[i] = self.items[i].facts[FACT_OP] == op
        return _nulls(self, gone)

    def spread(self, values, element: cython.int):
        """``values``, of 4 or 8 bytes per transaction, per row."""
        view: View = View(values)
        block: Block = new_block(self.rows * element)
        if element != 4 and element != 8:
            raise ValueError("no such width")
        if view.size < self.transactions * element:
            raise ValueError("a value per transaction is needed")
        with cython.nogil:
            if element == 4:
                _spread(
                    self,
                    cython.cast(cython.pointer(int32_t), view.at),
                    cython.cast(cython.pointer(int32_t), block.memory),
                )
            else:
                _spread(
                    self,
                    cython.cast(cython.pointer(int64_t), view.at),
                    cython.cast(cython.pointer(int64_t), block.memory),
                )
        return block

    def valid(self, there):
        """(NULLs, validity) of the rows of transactions for which ``there`` has no 0 byte; no
        validity where there is no NULL."""
        i: int64_t
        gone: Block = new_block(self.count)
        view: View = View(there)
        if view.size < self.transactions:
            raise ValueError("a flag per transaction is needed")
        for i in range(self.count):
            gone.memory[i] = not view.at[self.places[i]]
        return _nulls(self, gone)


def runs_of(items, count, rows):
    """Runs that own ``items``, unless memory ends."""
    runs: Runs = Runs.__new__(Runs)
    i: int64_t
    runs.places = cython.cast(
        cython.pointer(int32_t), malloc(max(count, 1) * cython.sizeof(int32_t))
    )
    if runs.places is cython.NULL:
        raise MemoryError
    runs.items = items
    runs.count = count
    runs.rows = rows
    for i in range(count):
        if not i or items[i].facts[FACT_TX] != items[i - 1].facts[FACT_TX]:
            runs.transactions += 1
        runs.places[i] = cython.cast(int32_t, runs.transactions - 1)
    return runs


def gtid_texts(records, has: cython.int):
    """(offsets, characters) of the GTIDs of transactions (``index.TRANSACTION``), as
    ``uuid:number``; empty where the bit ``has`` is not set."""
    view: View = View(records)
    count: int64_t = view.size // cython.sizeof(Transaction)
    if count * _GTID_BYTES > 0x7FFFFFFF:
        raise ValueError("more than 32-bit offsets can tell")
    offsets: Block = new_block((count + 1) * 4)
    texts: Block = new_block(count * _GTID_BYTES)
    texts.size = _put_gtids(
        cython.cast(cython.pointer(Transaction), view.at),
        count,
        has,
        cython.cast(cython.pointer(int32_t), offsets.memory),
        texts.memory,
    )
    return offsets, texts


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _put_gtids(
    t: cython.pointer(Transaction),
    count: int64_t,
    has: cython.int,
    offsets: cython.pointer(int32_t),
    out: cython.pointer(uint8_t),
) -> int64_t:
    i: int64_t
    start: cython.pointer(uint8_t) = out
    known: cython.bint = False
    uuid: uint8_t[36]
    sid: cython.pointer(uint8_t) = cython.NULL
    number: uint64_t
    offsets[0] = 0
    for i in range(count):
        if t[i].has & has:
            if not known or memcmp(sid, t[i].sid, 16) != 0:
                sid = t[i].sid
                _put_uuid(uuid, sid)
                known = True
            memcpy(out, uuid, 36)
            out[36] = 58  # colon
            out += 37
            number = cython.cast(uint64_t, t[i].gno)
            if t[i].gno < 0:
                number = 0 - number
                out[0] = 45  # hyphen
                out += 1
            out += put_number(out, number)
        offsets[i + 1] = cython.cast(int32_t, out - start)
    return out - start


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _put_uuid(out: cython.pointer(uint8_t), sid: cython.pointer(uint8_t)) -> cython.void:
    i: cython.int
    half: cython.int
    digit: cython.int
    for i in range(16):
        if i == 4 or i == 6 or i == 8 or i == 10:
            out[0] = 45  # hyphen
            out += 1
        for half in range(2):
            digit = sid[i] >> 4 if half == 0 else sid[i] & 15
            out[half] = cython.cast(uint8_t, 48 + digit if digit < 10 else 87 + digit)
        out += 2


@cython.cfunc
def _nulls(runs: Runs, gone: Block):
    """(how many rows, their 0 bits) of the runs that ``gone`` marks; no bits for none."""
    i: int64_t
    nulls: int64_t = 0
    bits: Block
    for i in range(runs.count):
        if gone.memory[i]:
            nulls += _behind(runs, i) - runs.items[i].first
    if not nulls:
        return 0, None
    bits = new_block((runs.rows + 7) >> 3)
    memset(bits.memory, 0xFF, bits.size)
    for i in range(runs.count):
        if gone.memory[i]:
            _clear(bits.memory, runs.items[i].first, _behind(runs, i))
    return nulls, bits


@cython.cfunc
@cython.inline
@cython.nogil
@cython.exceptval(check=False)
def _clear(bits: cython.pointer(uint8_t), first: int64_t, behind: int64_t) -> cython.void:
    i: int64_t = first
    while i < behind and i & 7:
        bits[i >> 3] &= ~(1 << (i & 7))
        i += 1
    if behind - i >= 8:
        memset(bits + (i >> 3), 0, (behind - i) >> 3)
        i += (behind - i) & ~7
    while i < behind:
        bits[i >> 3] &= ~(1 << (i & 7))
        i += 1


@cython.cfunc
@cython.inline
@cython.nogil
@cython.exceptval(check=False)
def _behind(runs: Runs, i: int64_t) -> int64_t:
    """The row after a run."""
    return runs.items[i + 1].first if i + 1 < runs.count else runs.rows


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _put_fact(runs: Runs, which: cython.int, out: cython.pointer(_Value)) -> cython.void:
    i: int64_t
    k: int64_t
    value: _Value
    step: _Value = 1 if which == FACT_SEQ or which == FACT_ROW else 0  # from row to row
    for i in range(runs.count):
        value = runs.items[i].facts[which]
        for k in range(runs.items[i].first, _behind(runs, i)):
            out[k] = value
            value += step


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _spread(runs: Runs, values: cython.pointer(_Value), out: cython.pointer(_Value)) -> cython.void:
    i: int64_t
    k: int64_t
    value: _Value
    for i in range(runs.count):
        value = values[runs.places[i]]
        for k in range(runs.items[i].first, _behind(runs, i)):
            out[k] = value
