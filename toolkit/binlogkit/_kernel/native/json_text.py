"""Binary JSON as exactly the text that the server prints; see ``_kernel/json_binary.py``.

What is no document is reported from its bytes by the codec there, which has the words for it.
"""

import cython
from cython.cimports.binlogkit._kernel.native.json_opaque import put_opaque
from cython.cimports.binlogkit._kernel.native.json_out import (
    JsonOut,
    invalid,
    json_out_p,
    make_room,
    put,
    put_double,
    put_integer,
    quoted,
)
from cython.cimports.libc.stdint import int64_t, uint16_t, uint32_t, uint64_t
from cython.cimports.libc.string import memcpy

# Types of values.
_LARGE_OBJECT = cython.declare(cython.int, 1)
_LARGE_ARRAY = cython.declare(cython.int, 3)
_LITERAL = cython.declare(cython.int, 4)
_UINT16 = cython.declare(cython.int, 6)
_UINT32 = cython.declare(cython.int, 8)
_UINT64 = cython.declare(cython.int, 10)
_DOUBLE = cython.declare(cython.int, 11)
_STRING = cython.declare(cython.int, 12)
_OPAQUE = cython.declare(cython.int, 15)
_MAX_DEPTH = cython.declare(cython.int, 100)
# As in json_binary.py: characters of text per byte of document.
_MAX_EXPANSION = cython.declare(cython.int, 8)
_MORE = cython.declare(cython.int, 64)
_AT_ONCE = cython.declare(cython.int, 4096)


@cython.cfunc
@cython.inline
@cython.nogil
@cython.exceptval(check=False)
def _two(p: octets) -> uint16_t:
    value: uint16_t
    memcpy(cython.address(value), p, 2)
    return value


@cython.cfunc
@cython.inline
@cython.nogil
@cython.exceptval(check=False)
def _offset(p: octets, width: cython.int) -> uint32_t:
    """A number of a container: 2 bytes in a small one, 4 in a large one."""
    value: uint32_t
    if width == 2:
        return _two(p)
    memcpy(cython.address(value), p, 4)
    return value


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _literal(o: json_out_p, p: octets, size: int64_t) -> cython.bint:
    if size < 1 or p[0] > 2:
        return invalid(o)
    if p[0] == 0:
        return put(o, b"null", 4)
    if p[0] == 1:
        return put(o, b"true", 4)
    return put(o, b"false", 5)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _number(o: json_out_p, kind: cython.int, p: octets, size: int64_t) -> cython.bint:
    """INT16, UINT16 … UINT64: kinds 5 to 10, signed where odd."""
    width: cython.int = 2 if kind <= _UINT16 else 4 if kind <= _UINT32 else 8
    value: uint64_t
    if size < width:
        return invalid(o)
    if width < 8:
        value = _offset(p, width)
    else:
        memcpy(cython.address(value), p, 8)
    if kind & 1 and value >> (8 * width - 1):
        # The distance from 0 of a negative number of that width.
        value = ~value + 1
        if width < 8:
            value &= (cython.cast(uint64_t, 1) << (8 * width)) - 1
        return put_integer(o, value, True)
    return put_integer(o, value, False)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _value(
    o: json_out_p, kind: cython.int, p: octets, size: int64_t, depth: cython.int
) -> cython.bint:
    number: cython.double
    content: octets
    length: int64_t = 0
    if kind <= _LARGE_ARRAY:
        return _container(o, kind, p, size, depth + 1)
    if kind == _LITERAL:
        return _literal(o, p, size)
    if kind <= _UINT64:
        return _number(o, kind, p, size)
    if kind == _DOUBLE:
        if size < 8:
            return invalid(o)
        memcpy(cython.address(number), p, 8)
        return put_double(o, number)
    if kind == _STRING:
        content = counted(p, size, cython.address(length))
        return invalid(o) if content is cython.NULL else quoted(o, content, length)
    if kind == _OPAQUE and size:
        content = counted(p + 1, size - 1, cython.address(length))
        return invalid(o) if content is cython.NULL else put_opaque(o, p[0], content, length)
    return invalid(o)


def counted(p, size, length):
    """The bytes after a length of 7-bit groups, lowest first; NULL: they are not there."""
    i: cython.int
    value: uint64_t = 0
    for i in range(5):
        if i >= size:
            return cython.NULL
        value |= cython.cast(uint64_t, p[i] & 0x7F) << (7 * i)
        if not p[i] & 0x80:
            if value > cython.cast(uint64_t, size - i - 1) or value >> 32:
                return cython.NULL
            length[0] = value
            return p + i + 1
    return cython.NULL


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _key(
    o: json_out_p, frame: octets, size: int64_t, entry: octets, width: cython.int, header: int64_t
) -> cython.bint:
    offset: int64_t = _offset(entry, width)
    length: int64_t = _two(entry + width)
    if offset < header or offset > size or length > size - offset:
        return invalid(o)
    return quoted(o, frame + offset, length) and put(o, b": ", 2)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _container(
    o: json_out_p, kind: cython.int, p: octets, left: int64_t, depth: cython.int
) -> cython.bint:
    """An object or array: count, size, key entries, value entries, keys and values."""
    width: cython.int = 4 if kind & 1 else 2
    keyed: cython.bint = kind <= _LARGE_OBJECT
    count: int64_t
    size: int64_t
    values: int64_t
    header: int64_t
    i: int64_t
    offset: int64_t
    entry: octets
    of: cython.int
    if left < 2 * width or depth > _MAX_DEPTH:
        return invalid(o)
    count = _offset(p, width)
    size = _offset(p + width, width)
    values = 2 * width + (count * (width + 2) if keyed else 0)
    header = values + count * (1 + width)
    if size > left or header > size:
        return invalid(o)
    if not put(o, b"{" if keyed else b"[", 1):
        return False
    for i in range(count):
        if i and not put(o, b", ", 2):
            return False
        if keyed and not _key(o, p, size, p + 2 * width + i * (width + 2), width, header):
            return False
        entry = p + values + i * (1 + width)
        of = entry[0]
        entry += 1
        if _LITERAL <= of <= (_UINT16 if width == 2 else _UINT32):
            if not _value(o, of, entry, width, depth):
                return False
            continue
        offset = _offset(entry, width)
        if offset < header or offset >= size:
            return invalid(o)
        if not _value(o, of, p + offset, size - offset, depth):
            return False
    return put(o, b"}" if keyed else b"]", 1)


def put_json(v, p, size, end, as_5_7):
    """The text of a document after ``v.used``: a state, or below 0 a fault; ``end``: of the event.

    No bytes are ``null``: what INSERT IGNORE leaves in a NOT NULL column (8.0.31).
    """
    o: JsonOut
    done: cython.bint
    o.v = v
    o.out = o.limit = v.data + v.used
    o.end = end
    o.most = v.used + size * _MAX_EXPANSION + _MORE
    o.as_5_7 = as_5_7
    o.failure = 0
    # Room for what is usual; more is made where it is needed.
    if size <= _AT_ONCE and not make_room(cython.address(o), _MORE + 2 * size):
        return -o.failure
    if size:
        done = _value(cython.address(o), p[0], p + 1, size - 1, 0)
    else:
        done = put(cython.address(o), b"null", 4)
    if done:
        v.used = o.out - v.data
        return S_VALUE
    return S_UNDECODABLE if o.failure < 0 else -o.failure
