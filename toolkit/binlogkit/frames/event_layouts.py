"""Where ordinary events of one form differ: the numbers in them, and the images of rows.

A layout names those places. Two events of one type and layout whose other bytes are the same say
the same but there. Layouts of bodies: ``events/gtid.py``, ``query.py``, ``table_map.py``,
``rows.py``, ``control.py``; only what the kernel's scan takes without Python has one.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from typing import Any, NamedTuple

import numpy as np

from binlogkit._kernel.native.templates import HEX, MOMENT, SIGNED, TEXT, UNSIGNED
from binlogkit._kernel.value_text import hex_text
from binlogkit.constants import HEADER_LENGTH, EventType
from binlogkit.rows.window import ROWS_EVENTS


class Blank(NamedTuple):
    """A value that differs: ``name`` in the record, ``kind`` as of ``templates.py``, ``at``: offset
    in the event, ``width``: in bytes, 0 up to the end."""

    name: str
    kind: int
    at: int
    width: int


Layout = tuple[Blank, ...]
_Numbers = np.ndarray[Any, Any]

_BODY = HEADER_LENGTH
_LOG_POS = Blank("log_pos", UNSIGNED, 13, 4)
_TABLE_ID = Blank("table_id", UNSIGNED, _BODY, 6)
_FLAGS_END = _BODY + 8  # of rows, after table id and flags
_FIXED: dict[int, Layout] = {
    EventType.QUERY_EVENT: (
        _LOG_POS, Blank("thread_id", UNSIGNED, _BODY, 4),
        Blank("exec_time", UNSIGNED, _BODY + 4, 4),
    ),
    EventType.XID_EVENT: (_LOG_POS, Blank("xid", UNSIGNED, _BODY, 8)),
    EventType.TABLE_MAP_EVENT: (_LOG_POS, _TABLE_ID),
}  # fmt: skip
_ROWS_QUERY = _LOG_POS, Blank("query", TEXT, _BODY + 1, 0)
_UPDATES = (24, 31, 39)
_FIRST_V2 = 30
_GTIDS = (EventType.GTID_LOG_EVENT, EventType.ANONYMOUS_GTID_LOG_EVENT)
_GNO = Blank("gno", SIGNED, _BODY + 17, 8)
_HAS_CLOCK, _HIGH_BIT, _LAST_ASCII = 2, 0x80, 0x7F
_CLOCK_AT = _BODY + 25
_CLOCK = (
    Blank("last_committed", SIGNED, _CLOCK_AT + 1, 8),
    Blank("sequence_number", SIGNED, _CLOCK_AT + 9, 8),
)
_COMMIT_AT = _CLOCK_AT + 17
_LENGTH_AT = _COMMIT_AT + 7, _COMMIT_AT + 14  # the second: after an original timestamp
# A packed number's first byte -> bytes of the number after it, 0: that byte itself.
_WIDTHS = np.zeros(256, np.int64)
_WIDTHS[[252, 253, 254]] = 2, 3, 8
_NULL = 251  # the first byte of no number
_PACKED_LENGTHS = 1, 3, 4, 9
# The fields of a payload by their types; the compression is the same in all of a layout.
_OF_PAYLOAD = {1: "payload_size", 2: "", 3: "uncompressed_size"}


def layouts(
    code: int, data: _Numbers, starts: _Numbers, ends: _Numbers
) -> Iterator[tuple[_Numbers, Layout]]:
    """The layouts of events of one type, and which of them have each; of other types none.

    ``data``: bytes; ``starts``, ``ends``: where each event lies in them, without its checksum.
    """
    if code in _FIXED:
        yield np.arange(len(starts)), _FIXED[code]
        return
    if code == EventType.ROWS_QUERY_LOG_EVENT:
        yield np.flatnonzero(_are_texts(data, starts + _BODY + 1, ends)), _ROWS_QUERY
        return
    if ROWS_EVENTS[code]:
        forms, made = _images_at(code, data, starts), _rows_layout
    elif code in _GTIDS:
        forms, made = _gtid_forms(data, starts, ends), _gtid_layout
    elif code == EventType.TRANSACTION_PAYLOAD_EVENT:
        forms, made = _payload_forms(data, starts, ends), _payload_layout
    else:
        return
    order = np.argsort(forms, kind="stable")
    order = order[np.searchsorted(forms[order], 0) :]
    if not len(order):
        return
    for some in np.split(order, np.flatnonzero(np.diff(forms[order])) + 1):
        yield some, made(int(forms[some[0]]))


def _are_texts(data: _Numbers, starts: _Numbers, ends: _Numbers) -> _Numbers:
    """Which bytes are UTF-8; none where ``starts`` is after ``ends``."""
    found: _Numbers = starts <= ends
    within = np.minimum(ends, len(data) - 1)
    places = np.stack([np.minimum(starts, within), within], axis=1).ravel()
    others = (np.maximum.reduceat(data, places)[::2] > _LAST_ASCII) | (ends > within)
    for i in np.flatnonzero(found & others).tolist():
        try:
            data[starts[i] : ends[i]].tobytes().decode()
        except UnicodeDecodeError:
            found[i] = False
    return found


def _images_at(code: int, data: _Numbers, starts: _Numbers) -> _Numbers:
    """Where the images of rows begin."""
    at = starts + _FLAGS_END
    if code >= _FIRST_V2:
        at = at + little_endian(data, at, 2)
    first = data[at].astype(np.int64)
    widths = _WIDTHS[first]
    counts = first
    for width in np.unique(widths[widths > 0]).tolist():
        counts = np.where(widths == width, little_endian(data, at + 1, width), counts)
    bitmaps = (counts + 7 >> 3) * (2 if code in _UPDATES else 1)
    found: _Numbers = at + 1 + widths + bitmaps - starts
    return found


@cache
def _rows_layout(at: int) -> Layout:
    return _LOG_POS, _TABLE_ID, Blank("data", HEX, at, 0)


def _gtid_forms(data: _Numbers, starts: _Numbers, ends: _Numbers) -> _Numbers:
    """What a GTID event has: bits for clock, commit time and an original one, and above them 1 and
    the width of the transaction's length, where that is there."""
    sizes = ends - starts

    def byte(at: _Numbers | int) -> _Numbers:
        found: _Numbers = data[np.minimum(starts + at, ends - 1)].astype(np.int64)
        return found

    clock = (sizes >= _COMMIT_AT) & (byte(_CLOCK_AT) == _HAS_CLOCK)
    commit = clock & (sizes >= _LENGTH_AT[0])
    original = commit & (byte(_LENGTH_AT[0] - 1) >= _HIGH_BIT)
    length_at = np.where(original, *_LENGTH_AT[::-1])
    length = commit & (sizes > length_at)
    forms: _Numbers = clock + 2 * commit + 4 * original
    return forms + np.where(length, 8 + 16 * _WIDTHS[byte(length_at)], 0)


@cache
def _gtid_layout(form: int) -> Layout:
    blanks = [_LOG_POS, _GNO]
    if form & 1:
        blanks += _CLOCK
    if form & 2:
        commit = Blank("immediate_commit_timestamp", MOMENT, _COMMIT_AT, 7)
        original = Blank("original_commit_timestamp", UNSIGNED, _COMMIT_AT + 7, 7)
        blanks += [commit, original if form & 4 else commit._replace(name=original.name)]
    if form & 8:
        at, width = _LENGTH_AT[form >> 2 & 1], form >> 4
        name = "transaction_length"
        blanks.append(Blank(name, UNSIGNED, at + 1 if width else at, width or 1))
    return tuple(blanks)


def _payload_forms(data: _Numbers, starts: _Numbers, ends: _Numbers) -> _Numbers:
    """Type and length of each field of payload events, 4 bits each, the first lowest; -1 for other
    fields than servers write, or a payload of another size than they say."""
    at, (forms, sizes, seen) = starts + _BODY, np.zeros((3, len(starts)), np.int64)
    known, over = np.ones(len(starts), bool), np.zeros(len(starts), bool)
    for shift in range(0, 8 * len(_OF_PAYLOAD), 8):
        kind, length = little_endian(data, at, 1), little_endian(data, at + 1, 1)
        over |= kind == 0
        first = little_endian(data, at + 2, 1)
        width = np.where(length > 1, length - 1, 1)
        known &= over | ((kind <= len(_OF_PAYLOAD)) & (seen >> kind & 1 == 0))
        known &= over | np.isin(length, _PACKED_LENGTHS)
        seen |= np.where(over, 0, 1 << (kind & 15))
        known &= over | np.where(length > 1, _WIDTHS[first] == width, first < _NULL)
        for wide in (1, 2, 3, 8):
            there = ~over & (kind == 1) & (width == wide)
            sizes[there] = little_endian(data, at[there] + 2 + (wide > 1), wide)
        forms += np.where(over, 0, (kind & 15) + ((length & 15) << 4) << shift)
        at = np.where(over, at, at + 2 + length)
    known &= (little_endian(data, at, 1) == 0) & (at < ends) & (sizes == ends - at - 1)
    found: _Numbers = np.where(known, forms, -1)
    return found


@cache
def _payload_layout(form: int) -> Layout:
    blanks, at = [_LOG_POS], _BODY
    while form:
        kind, length = form & 15, form >> 4 & 15
        if name := _OF_PAYLOAD[kind]:
            blanks.append(Blank(name, UNSIGNED, at + 2 + (length > 1), max(length - 1, 1)))
        at, form = at + 2 + length, form >> 8
    return (*blanks, Blank("payload", HEX, at + 1, 0))


@cache
def spans_of(layout: Layout) -> tuple[tuple[int, int], ...]:
    """The bytes of a body outside of the blanks: offsets of their begin and end, 0 for that of the
    event. The first byte of a packed number, whose width is the layout's, is in none."""
    spans, at = [], _BODY
    for blank in sorted(layout[1:], key=lambda blank: blank.at):
        begin = blank.at - (blank.name == "transaction_length" and blank.width > 1)
        if begin > at:
            spans.append((at, begin))
        if not blank.width:
            return tuple(spans)
        at = max(at, blank.at + blank.width)
    return (*spans, (at, 0))


def blank_value(blank: Blank, event: bytes) -> object:
    """What the record of an event has in a blank."""
    if blank.kind == HEX:
        return hex_text(event[blank.at :])
    if blank.kind == TEXT:
        return event[blank.at :].decode()
    stored = event[blank.at : blank.at + blank.width]
    value = int.from_bytes(stored, "little", signed=blank.kind == SIGNED)
    return value & (1 << 55) - 1 if blank.kind == MOMENT else value


def little_endian(data: _Numbers, at: _Numbers, width: int) -> _Numbers:
    """The little-endian numbers at some places, 0 where they are not there."""
    found = np.zeros(len(at), np.int64)
    for i in range(width):
        found |= data[np.minimum(at + i, len(data) - 1)].astype(np.int64) << 8 * i
    return found
