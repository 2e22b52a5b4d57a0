"""Texts of rows: what is constant, and between it numbers and bytes that a buffer holds.

A row's text is made by steps, which stand in one list; a row names its first one, and the steps end
with ``END``. What a step reads is an offset after the row's start.
"""

import cython
from cython.cimports.binlogkit._kernel.native.digits import put_number
from cython.cimports.binlogkit._kernel.native.json_out import escaped
from cython.cimports.binlogkit._kernel.native.layout import little, octets
from cython.cimports.binlogkit._kernel.native.values import Block, View, new_block
from cython.cimports.libc.stdint import int64_t, uint8_t, uint64_t
from cython.cimports.libc.string import memcpy

#: Kinds of steps: (END, 0, 0), (CONSTANT, offset, length), (UNSIGNED, offset, width), (SIGNED,
#: offset, width), (MOMENT, offset, 7): a number of 55 bits, (HEX, offset, 0): all bytes from there,
#: (TEXT, offset, 0): the same, which are UTF-8, as in a string of JSON.
END, CONSTANT, UNSIGNED, SIGNED, MOMENT, HEX, TEXT = range(7)
_END = cython.declare(cython.int, 0)
_CONSTANT = cython.declare(cython.int, 1)
_SIGNED = cython.declare(cython.int, 3)
_MOMENT = cython.declare(cython.int, 4)
_HEX = cython.declare(cython.int, 5)
_TEXT = cython.declare(cython.int, 6)
_ESCAPED = cython.declare(cython.int, 6)  # characters of a byte in JSON at most
_DIGITS = cython.declare(cython.int, 20)  # of a number of 64 bits, and a sign
_WIDEST = cython.declare(cython.int, 8)
_MOMENT_BITS = cython.declare(cython.int, 55)

_Step = cython.struct(kind=int64_t, at=int64_t, size=int64_t)
_Row = cython.struct(start=int64_t, end=int64_t, step=int64_t)
_Rows = cython.typedef(cython.pointer(_Row))
_Steps = cython.typedef(cython.pointer(_Step))


def filled(data, rows, steps, constants: bytes):
    """(offsets, characters) of the texts of some rows.

    ``rows``: (start, end, first step) of each as int64, ``steps``: (kind, offset, length) as int64.
    ValueError: a step reads what the row does not have, or there is no such step.
    """
    source: View = View(data)
    row_view: View = View(rows)
    step_view: View = View(steps)
    row: _Rows = cython.cast(_Rows, row_view.at)
    step: _Steps = cython.cast(_Steps, step_view.at)
    count: int64_t = row_view.size // cython.sizeof(_Row)
    known: int64_t = step_view.size // cython.sizeof(_Step)
    words: octets = cython.cast(octets, cython.cast(cython.p_char, constants))
    if not known or step[known - 1].kind != _END:
        raise ValueError("the steps do not end")
    size: int64_t = _measured(row, count, step, known, source.size, len(constants))
    if size < 0:
        raise ValueError("a step lies outside its row")
    offsets: Block = new_block((count + 1) * 8)
    texts: Block = new_block(size)
    with cython.nogil:
        texts.size = _fill(
            row, count, step, source.at, words, texts.memory,
            cython.cast(cython.pointer(int64_t), offsets.memory),
        )  # fmt: skip
    return offsets, texts


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _measured(
    row: _Rows, count: int64_t, step: _Steps, known: int64_t, data: int64_t, constants: int64_t
) -> int64_t:
    """Bytes that the texts have at most; -1 where something lies outside."""
    i: int64_t
    total: int64_t = 0
    left: int64_t
    s: _Steps
    for i in range(count):
        if not (0 <= row[i].start <= row[i].end <= data and 0 <= row[i].step < known):
            return -1
        left = row[i].end - row[i].start
        s = step + row[i].step
        while s.kind != _END:
            if s.at < 0 or s.size < 0:
                return -1
            if s.kind == _CONSTANT:
                if s.at > constants or s.size > constants - s.at:
                    return -1
                total += s.size
            elif s.kind < _END or s.kind > _TEXT or s.at > left:
                return -1
            elif s.kind >= _HEX:
                total += (2 if s.kind == _HEX else _ESCAPED) * (left - s.at)
            else:
                if not 0 < s.size <= _WIDEST or s.size > left - s.at:
                    return -1
                total += _DIGITS
            s += 1
    return total


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _fill(
    row: _Rows,
    count: int64_t,
    step: _Steps,
    data: octets,
    constants: octets,
    out: cython.pointer(uint8_t),
    offsets: cython.pointer(int64_t),
) -> int64_t:
    i: int64_t
    start: cython.pointer(uint8_t) = out
    p: octets
    s: _Steps
    offsets[0] = 0
    for i in range(count):
        p = data + row[i].start
        s = step + row[i].step
        while s.kind != _END:
            if s.kind == _CONSTANT:
                memcpy(out, constants + s.at, s.size)
                out += s.size
            elif s.kind == _HEX:
                out += _put_hex(out, p + s.at, row[i].end - row[i].start - s.at)
            elif s.kind == _TEXT:
                out += _put_text(out, p + s.at, row[i].end - row[i].start - s.at)
            else:
                out += _put_value(out, p + s.at, s.kind, cython.cast(cython.int, s.size))
            s += 1
        offsets[i + 1] = out - start
    return out - start


@cython.cfunc
@cython.inline
@cython.nogil
@cython.exceptval(check=False)
def _put_value(
    out: cython.pointer(uint8_t), p: octets, kind: int64_t, width: cython.int
) -> cython.int:
    """A little-endian number in decimal; how many characters."""
    value: uint64_t = little(p, width)
    if kind == _MOMENT:
        value &= (cython.cast(uint64_t, 1) << _MOMENT_BITS) - 1
    elif kind == _SIGNED and value >> (8 * width - 1):
        out[0] = 45  # hyphen
        value = (0 - value) & (~cython.cast(uint64_t, 0) >> (64 - 8 * width))
        return 1 + put_number(out + 1, value)
    return put_number(out, value)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _put_hex(out: cython.pointer(uint8_t), p: octets, size: int64_t) -> int64_t:
    """Bytes in hexadecimal, upper case; the loop has no branches, so that it becomes vectors."""
    i: int64_t
    high: uint8_t
    low: uint8_t
    for i in range(size):
        high = p[i] >> 4
        low = p[i] & 15
        out[2 * i] = high + 48 + (7 if high > 9 else 0)
        out[2 * i + 1] = low + 48 + (7 if low > 9 else 0)
    return 2 * size


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _put_text(out: cython.pointer(uint8_t), p: octets, size: int64_t) -> int64_t:
    """Bytes of UTF-8, escaped as JSON wants it."""
    i: int64_t
    start: cython.pointer(uint8_t) = out
    for i in range(size):
        if p[i] >= 0x20 and p[i] != 0x22 and p[i] != 0x5C:
            out[0] = p[i]
            out += 1
        else:
            out += escaped(p[i], cython.cast(cython.p_char, out))
    return out - start
