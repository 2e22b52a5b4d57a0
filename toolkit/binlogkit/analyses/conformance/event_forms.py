"""Events that are like one that was judged: their record and their text follow from their bytes.

An event that was compared field by field and found right is an example. One that has the same bytes
but for numbers whose places are known must have the same record and the same text, but for these
numbers. Where the numbers stand: libs/mysql/binlog/event/control_events.h (GTIDs, XID),
statement_events.h (QUERY), rows_event.h (8.0); sql/log_event.cc prints them.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC
from enum import IntEnum
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from binlogkit.analyses.conformance.printed import clock
from binlogkit.analyses.conformance.stored_fields import (
    PAYLOAD_SIZE,
    UNCOMPRESSED,
    payload_fields,
    status_places,
    tagged_places,
)
from binlogkit.constants import HEADER_LENGTH, EventType
from binlogkit.events.rows import RowsFlag
from binlogkit.events.table_map import TableMap

Bytes = npt.NDArray[np.uint8]
Numbers = npt.NDArray[np.uint64]
Places = npt.NDArray[np.int64]


class EventRole(IntEnum):
    """What an event is in a transaction."""

    GTID = 0
    PAYLOAD = 1
    BEGIN = 2
    ROWS_QUERY = 3
    TABLE_MAP = 4
    ROWS = 5
    LAST_ROWS = 6
    END = 7


@dataclass(frozen=True, slots=True)
class NumberBlank:
    """A number of ``bits`` bits below ``limit`` at the byte ``at`` of an event, after ``skipped``
    bits of that; ``names``: of the record's fields that hold it."""

    names: tuple[str, ...]
    at: int
    bits: int
    limit: int = 1 << 64
    skipped: int = 0

    @property
    def width(self) -> int:
        """In bytes."""
        return -(-(self.bits + self.skipped) // 8)

    def values(self, data: Bytes) -> Numbers:
        """The numbers in events, one a row."""
        found = numbers_at(data, self.at, self.width) >> np.uint64(self.skipped)
        return found & np.uint64((1 << self.bits) - 1)


def numbers_at(data: Bytes, at: int, width: int) -> Numbers:
    """A number of ``width`` bytes of each event, one a row."""
    whole = np.zeros((len(data), 8), np.uint8)
    whole[:, :width] = data[:, at : at + width]
    return whole.view("<u8")[:, 0]


_TIMESTAMP, _LOG_POS = NumberBlank(("timestamp",), 0, 32), NumberBlank(("log_pos",), 13, 32)
_SIZE = NumberBlank(("size",), 9, 32)
_LAST_MOMENT = 253_402_300_800_000_000  # microseconds; the year 10000 begins
_GNO, _CLOCK, _TIMES = (HEADER_LENGTH + n for n in (17, 25, 42))
_LOGICAL_CLOCK = 2
_WHOLE = 8  # bytes of a variable-length number, of which the first says how many follow
#: Fields of a tagged GTID that differ, by their numbers: name, and whether a sign is in it.
_OF_TAGGED = {
    2: ("gno", 1), 4: ("last_committed", 1), 5: ("sequence_number", 1),
    6: ("immediate_commit_timestamp", 0), 7: ("original_commit_timestamp", 0),
    8: ("transaction_length", 0),
}  # fmt: skip
_PACKED = {0xFC: 16, 0xFD: 24, 0xFE: 64}
_POST_HEADER = HEADER_LENGTH + 8  # of rows: the table's id, flags
_STATUS, _STATUS_LENGTH = HEADER_LENGTH + 13, HEADER_LENGTH + 11
_GTIDS = (
    EventType.GTID_LOG_EVENT, EventType.ANONYMOUS_GTID_LOG_EVENT, EventType.GTID_TAGGED_LOG_EVENT,
)  # fmt: skip
_UPDATES = (EventType.UPDATE_ROWS_EVENT_V1, EventType.UPDATE_ROWS_EVENT)
_V1 = (
    EventType.WRITE_ROWS_EVENT_V1, EventType.UPDATE_ROWS_EVENT_V1, EventType.DELETE_ROWS_EVENT_V1,
)  # fmt: skip
_V2 = (EventType.WRITE_ROWS_EVENT, EventType.UPDATE_ROWS_EVENT, EventType.DELETE_ROWS_EVENT)
ROWS = frozenset((*_V1, *_V2))
STARTS = frozenset((*_GTIDS, EventType.QUERY_EVENT))


def _gtid(data: bytes) -> tuple[NumberBlank, ...]:
    blanks = [NumberBlank(("gno",), _GNO, 64)]
    if data[_CLOCK : _CLOCK + 1] == bytes([_LOGICAL_CLOCK]):
        blanks += [NumberBlank(("last_committed",), _CLOCK + 1, 64),
                   NumberBlank(("sequence_number",), _CLOCK + 9, 64)]  # fmt: skip
    if len(data) >= _TIMES + 7:
        names, at = ("immediate_commit_timestamp", "original_commit_timestamp"), _TIMES
        two = data[_TIMES + 6] >> 7
        for some in (names[:1], names[1:]) if two else (names,):
            blanks.append(NumberBlank(some, at, 55, _LAST_MOMENT))
            at += 7
        blanks += _packed(("transaction_length",), data, at)
    return tuple(blanks)


def _tagged(data: bytes) -> Iterator[NumberBlank]:
    fields = tagged_places(data, HEADER_LENGTH)
    for number, (name, is_signed) in _OF_TAGGED.items():
        if number not in fields:
            continue
        names: tuple[str, ...] = (name,)
        if name == "immediate_commit_timestamp" and number + 1 not in fields:
            names = (name, "original_commit_timestamp")
        at, length = fields[number].start, fields[number].stop - fields[number].start
        at, skipped = (at + 1, 0) if length > _WHOLE else (at, length)
        bits = 64 if length > _WHOLE else 8 * length - skipped
        limit = _LAST_MOMENT if name.endswith("timestamp") else 1 << 64
        yield NumberBlank(names, at, bits - is_signed, limit, skipped + is_signed)


def _packed(names: tuple[str, ...], data: bytes, at: int) -> Iterator[NumberBlank]:
    if at < len(data):
        wide = _PACKED.get(data[at])
        yield NumberBlank(names, at, 8, 0xFB) if wide is None else NumberBlank(names, at + 1, wide)


def _query(data: bytes) -> tuple[NumberBlank, ...] | None:
    end = _STATUS + int.from_bytes(data[_STATUS_LENGTH:_STATUS], "little")
    if data[end + data[HEADER_LENGTH + 8] + 1 :] != b"BEGIN":
        return None
    blanks = [
        NumberBlank(("thread_id",), HEADER_LENGTH, 32),
        NumberBlank(("exec_time",), HEADER_LENGTH + 4, 32),
    ]
    place = status_places(data[_STATUS:end])[0].get("microseconds")
    if place is not None:
        blanks.append(
            NumberBlank(("status_vars.microseconds",), _STATUS + place.start, 24, 1_000_000)
        )
    return tuple(blanks)


def _payload(data: bytes) -> tuple[NumberBlank, ...]:
    names = {PAYLOAD_SIZE: "payload_size", UNCOMPRESSED: "uncompressed_size"}
    fields = dict(payload_fields(data, HEADER_LENGTH)[0])
    return tuple(
        blank
        for kind, name in names.items()
        if kind in fields
        for blank in _packed((name,), data, fields[kind].start)
    )


def blanks_of(data: bytes) -> tuple[NumberBlank, ...] | None:
    """The numbers of an event (header to body) that others like it may have otherwise; None: none
    is like it."""
    code = data[4]
    head = (_TIMESTAMP, _LOG_POS)
    try:
        if code in ROWS:
            return (*head, _SIZE)
        if code == EventType.GTID_TAGGED_LOG_EVENT:
            return (*head, *_tagged(data))
        if code in _GTIDS:
            return head + _gtid(data)
        if code == EventType.TRANSACTION_PAYLOAD_EVENT:
            return (*head, _SIZE, *_payload(data))
        if code == EventType.QUERY_EVENT:
            found = _query(data)
            return None if found is None else head + found
    except IndexError:
        return None
    if code == EventType.XID_EVENT:
        return (*head, NumberBlank(("xid",), HEADER_LENGTH, 64))
    if code == EventType.ROWS_QUERY_LOG_EVENT:
        return (*head, _SIZE, NumberBlank((), HEADER_LENGTH, 8))  # a length that says nothing
    return head if code == EventType.TABLE_MAP_EVENT else None


def prefixes(code: int, data: Bytes, starts: Places, sizes: Places) -> Places:
    """How many bytes events of a type have before their rows, statement or payload; 0 where that is
    not known. ``sizes``: without checksums."""
    if code == EventType.TRANSACTION_PAYLOAD_EVENT:
        pairs = zip(starts.tolist(), sizes.tolist(), strict=True)
        return np.array([_before_payload(data[at : at + size].tobytes()) for at, size in pairs])
    if code == EventType.ROWS_QUERY_LOG_EVENT:
        return np.where(sizes > HEADER_LENGTH, HEADER_LENGTH + 1, 0)
    if code not in ROWS:
        return sizes
    known = sizes > _POST_HEADER + 2
    starts = np.where(known, starts, 0)
    at = np.full(len(starts), _POST_HEADER)
    if code in _V2:
        at += data[starts + at].astype(np.int64) + (data[starts + at + 1].astype(np.int64) << 8)
    known &= at < sizes
    columns = data[starts + np.where(known, at, 0)].astype(np.int64)
    ends = at + 1 + (columns + 7) // 8 * (2 if code in _UPDATES else 1)
    return np.where(known & (columns < 0xFB) & (ends <= sizes), ends, 0)


def _before_payload(event: bytes) -> int:
    try:
        at = payload_fields(event, HEADER_LENGTH)[1]
    except IndexError:
        return 0
    return at if at <= len(event) else 0


# ---- texts with blanks --------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Filled:
    """A place in a text: the number ``name`` written as ``how`` says."""

    how: str
    name: str


Template = tuple[bytes | Filled, ...]

_HEADER = (
    rb"\A# at (?P<number__pos>\d+)\n#(?P<clock__timestamp>\d{6} [ \d]\d:\d\d:\d\d) server id \d+  "
    rb"end_log_pos (?P<number__end>\d+) (?:CRC32 0x(?P<crc__crc>[0-9a-f]{8}) )?\t"
)
_OF_GTID = (
    rb"\tlast_committed=(?P<number__last_committed>\d+)",
    rb"\tsequence_number=(?P<number__sequence_number>\d+)",
    rb"\toriginal_committed_timestamp=(?P<number__original_commit_timestamp>\d+)",
    rb"\timmediate_commit_timestamp=(?P<number__immediate_commit_timestamp>\d+)",
    rb"\ttransaction_length=(?P<number__transaction_length>\d+)",
    rb"\n# original_commit_timestamp=(?P<number__original_commit_timestamp>\d+) "
    rb"\((?P<moment__original_commit_timestamp>[-0-9:. ]+) UTC\)",
    rb"\n# immediate_commit_timestamp=(?P<number__immediate_commit_timestamp>\d+) "
    rb"\((?P<moment__immediate_commit_timestamp>[-0-9:. ]+) UTC\)",
    rb"SET @@session\.original_commit_timestamp=(?P<number__original_commit_timestamp>\d+)",
    rb"GTID_NEXT= '[^']*:(?P<number__gno>\d+)'",
)
_OF_QUERY = (
    rb"\tthread_id=(?P<number__thread_id>\d+)\texec_time=(?P<number__exec_time>\d+)\t",
    rb"\nSET TIMESTAMP=(?P<number__timestamp>\d+)(?:\.(?P<six__microseconds>\d{6}))?/\*!\*/;",
)
_OF_ROWS_QUERY = (rb"(?s)\tRows_query\n# (?P<statement__query>.*)\n\Z",)
_OF_PAYLOAD = (
    rb"\tpayload_size=(?P<number__payload_size>\d+)\t",
    rb"\tuncompressed_size=(?P<number__uncompressed_size>\d+)\n",
)
_PRINTED: Mapping[int, tuple[re.Pattern[bytes], ...]] = {
    code: tuple(map(re.compile, (_HEADER, *patterns)))
    for codes, patterns in (
        (_GTIDS, _OF_GTID),
        ((EventType.QUERY_EVENT,), _OF_QUERY),
        ((EventType.ROWS_QUERY_LOG_EVENT,), _OF_ROWS_QUERY),
        ((EventType.TRANSACTION_PAYLOAD_EVENT,), _OF_PAYLOAD),
        ((EventType.XID_EVENT,), (rb"\tXid = (?P<number__xid>\d+)\n",)),
        ((EventType.TABLE_MAP_EVENT, *ROWS), ()),
    )
    for code in codes
}
#: The types of which events have forms.
CODES = frozenset(_PRINTED)
#: What is printed of an event that is none of its fields.
PLACES = ("pos", "end", "crc")
_IN_RECORD = re.compile(r'"<<(\w+)>>"')


def _text_template(code: int, text: bytes, known: Mapping[str, Any]) -> Template:
    """The printed text of an event; ``known``: the numbers that there are."""
    spans = sorted(
        (*found.span(group), Filled(*group.split("__")))
        for pattern in _PRINTED[code]
        for found in pattern.finditer(text)
        for group, value in found.groupdict().items()
        if value is not None and group.split("__")[1] in known
    )
    parts: list[bytes | Filled] = []
    at = 0
    for start, end, filled in spans:
        parts += [text[at:start], filled]
        at = end
    return (*parts, text[at:])


#: What has no form, by type: the field, and how it is written.
_TAILS: Mapping[int, tuple[str, str]] = {
    **dict.fromkeys(ROWS, ("data", "hex")),
    EventType.ROWS_QUERY_LOG_EVENT: ("query", "json"),
    EventType.TRANSACTION_PAYLOAD_EVENT: ("payload", "hex"),
}
# Statements that are escaped when they are printed, or that look like the text's own lines.
_ODD = r"[\x00-\x09\x0b-\x1f\\]|(?:^|\n)(?:at|End of|Start of) "


def _record_template(fields: str, blanks: Sequence[NumberBlank], code: int) -> Template:
    """The JSON text of an event's fields."""
    tail, how = _TAILS.get(code, ("", ""))
    said = json.loads(fields)
    for blank in blanks:
        for name in blank.names:
            *outer, last = name.split(".")
            inside = said[outer[0]] if outer else said
            if last in inside and name not in ("timestamp", "size"):
                inside[last] = f"<<{last}>>"
    if tail:
        said[tail] = f"<<{tail}>>"
    text = json.dumps(said, ensure_ascii=False, separators=(",", ":"))
    parts = _IN_RECORD.split(text)
    return tuple(
        (Filled(how if part == tail else "number", part) if i % 2 else part.encode())
        for i, part in enumerate(parts)
    )


# ---- forms --------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, eq=False)
class EventForm:
    """What events like an example have in common.

    ``type``, ``flags``: as the record has them; ``record``: its fields; ``gtid``: what stands
    before the number, None without one; ``table_id``: of a table map or of rows; ``body``: the
    example's, as it was read from its bytes; ``rules``: how many differences each rule explains.
    """

    part: EventRole
    blanks: Mapping[str, NumberBlank]
    type: str
    flags: str
    record: Template
    gtid: str | None
    table_id: int
    body: object
    rules: Mapping[str, int]

    @property
    def names(self) -> tuple[str, ...] | None:
        """A table map's columns, None where it does not have their names."""
        optional = self.body.optional if isinstance(self.body, TableMap) else None
        return None if optional is None else optional.column_names


def _part(data: bytes) -> EventRole:
    code = data[4]
    if code in _GTIDS:
        return EventRole.GTID
    if code in ROWS:
        ends = int.from_bytes(data[_POST_HEADER - 2 : _POST_HEADER], "little") & RowsFlag.STMT_END
        return EventRole.LAST_ROWS if ends else EventRole.ROWS
    return {
        EventType.QUERY_EVENT: EventRole.BEGIN,
        EventType.ROWS_QUERY_LOG_EVENT: EventRole.ROWS_QUERY,
        EventType.TABLE_MAP_EVENT: EventRole.TABLE_MAP,
        EventType.TRANSACTION_PAYLOAD_EVENT: EventRole.PAYLOAD,
    }.get(EventType(code), EventRole.END)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Example:
    """An event that was judged: its bytes, header to body, and whether they stand in a payload;
    the places and the checksum that are printed of it; its record's ``type``, ``flags``, ``gtid``
    and ``fields``, these as compact JSON; what is printed of it; how many differences each rule
    explains; its body as it was read from its bytes."""

    data: bytes
    inner: bool
    pos: int
    end: int
    crc: int
    type: str
    flags: str
    gtid: str | None
    fields: str
    text: bytes
    rules: Mapping[str, int]
    body: object

    @property
    def prefix(self) -> int:
        """How many of its bytes have a form, 0 where that is not known."""
        data, size = np.frombuffer(self.data, np.uint8), np.array([len(self.data)])
        return int(prefixes(self.data[4], data, np.zeros(1, np.int64), size)[0])

    def alike(self, form: EventForm) -> Alike:
        """It alone, as an event of a form."""
        data, prefix = np.frombuffer(self.data, np.uint8), self.prefix
        printed = {name: np.array([getattr(self, name)], np.uint64) for name in PLACES}
        ends = np.array([prefix]), np.array([len(data)])
        return Alike(form, data[None, :prefix], printed, data, *ends)


_MOST_BYTES = 16 << 20  # of examples
_FEW = 8  # forms that are compared one after the other


_Kind = tuple[int, bool, int]  # type, whether in a payload, bytes that have a form


class EventForms:
    """The forms that are known.

    ``texts``: what is printed of an event by its form and that of the statement before it: of a
    statement's settings mysqlbinlog prints those that changed (``print_query_header`` in
    ``sql/log_event.cc``, 8.0); ``before``: the form of the last statement. Forms are numbers, -1
    where there is none; so is what stands before other events.
    """

    def __init__(self) -> None:
        self._forget()

    def _forget(self) -> None:
        self.forms: list[EventForm] = []
        self.texts: dict[tuple[int, int], Template] = {}
        self.before = -1
        self._known: dict[_Kind, dict[tuple[NumberBlank, ...], dict[bytes, int]]] = {}
        self._bytes = 0

    def learn(self, example: Example) -> bool:
        """Take an example, the event after the one before; whether it says anything new."""
        if self._bytes > _MOST_BYTES:
            self._forget()
        known = len(self.forms)
        form, before = self._form(example), -1
        if example.data[4] == EventType.QUERY_EVENT:
            before, self.before = self.before, form
        if form < 0:
            return False
        blanks = {**self.forms[form].blanks, **dict.fromkeys(PLACES), "query": None}
        text = _text_template(example.data[4], example.text, blanks)
        if self.texts.get((before, form)) == text:
            return len(self.forms) > known
        events = example.alike(self.forms[form])
        if events.filled(text).to_pylist() != [example.text]:
            return False
        self.texts[before, form] = text
        self._bytes += len(example.text)
        return True

    def _form(self, example: Example) -> int:
        """The form of an example, -1 where it has none."""
        blanks = blanks_of(example.data)
        prefix = 0 if blanks is None else example.prefix
        if blanks is None or not prefix:
            return -1
        kind = (example.data[4], example.inner, prefix)
        forms = self._known.setdefault(kind, {}).setdefault(blanks, {})
        data = np.frombuffer(example.data, np.uint8, prefix)
        key = (data & _kept(blanks, prefix)).tobytes()
        if key not in forms:
            form = _made(example, blanks)
            self._bytes += len(key) + len(example.fields)
            forms[key] = len(self.forms) if _says(form, example) else -1
            self.forms += [form] * (forms[key] >= 0)
        return forms[key]

    def of(self, code: int, inner: bool, prefix: int, data: Bytes) -> Places:
        """The form of each event of a type, ``inner`` in a payload, whose first ``prefix`` bytes
        are a row of ``data``; -1 for none."""
        found = np.full(len(data), -1, np.int64)
        for blanks, forms in self._known.get((code, inner, prefix), {}).items():
            whole = data & _kept(blanks, prefix)
            if len(forms) <= _FEW:
                these = np.full(len(data), -1, np.int64)
                for key, form in forms.items():
                    these[(whole == np.frombuffer(key, np.uint8)).all(axis=1)] = form
            else:
                text = whole.tobytes()
                keys = (text[at : at + prefix] for at in range(0, len(text), prefix))
                these = np.fromiter((forms.get(key, -1) for key in keys), np.int64, len(data))
            for blank in blanks:
                if blank.limit < 1 << blank.bits:
                    these[blank.values(data) >= blank.limit] = -1
            found = np.where(these >= 0, these, found)
        return found


def _kept(blanks: Sequence[NumberBlank], prefix: int) -> Bytes:
    """The bits that all events of a form have in common."""
    kept = np.full(prefix, 0xFF, np.uint8)
    for blank in blanks:
        bits = ((1 << 8 * blank.width) - 1) ^ ((1 << blank.bits) - 1 << blank.skipped)
        kept[blank.at : blank.at + blank.width] = [*bits.to_bytes(blank.width, "little")]
    return kept


def _made(example: Example, blanks: Sequence[NumberBlank]) -> EventForm:
    by_name = {name.rpartition(".")[2]: blank for blank in blanks for name in blank.names}
    code, gtid = example.data[4], example.gtid
    table_id = example.data[HEADER_LENGTH : HEADER_LENGTH + 6]
    return EventForm(
        _part(example.data), by_name, example.type, example.flags,
        _record_template(example.fields, blanks, code),
        None if gtid is None or code not in _GTIDS else gtid.rpartition(":")[0] + ":",
        int.from_bytes(table_id, "little"), example.body, example.rules,
    )  # fmt: skip


def _says(form: EventForm, example: Example) -> bool:
    """Whether the form, filled with the example's own numbers, says what its record does."""
    events = example.alike(form)
    return events.filled(form.record).to_pylist() == [example.fields.encode()] and (
        form.part != EventRole.GTID or events.gtids().to_pylist() == [example.gtid]
    )


@dataclass(frozen=True, slots=True)
class Alike:
    """Events of one form: ``data``: their first bytes, one event a row; ``printed``: the places and
    the checksum that are printed of each; ``whole[starts[i]:ends[i]]``: what has no form; ``text``:
    what is printed."""

    form: EventForm
    data: Bytes
    printed: Mapping[str, Numbers]
    whole: Bytes
    starts: Places
    ends: Places
    text: Template = ()

    def numbers(self, name: str) -> Numbers:
        """A number of each event."""
        found = self.printed.get(name)
        return self.form.blanks[name].values(self.data) if found is None else found

    def gtids(self) -> pa.Array:
        """The GTID that each GTID event gives."""
        if self.form.gtid is None:
            return pa.nulls(len(self.data), pa.string())
        number = pa.array(self.numbers("gno")).cast(pa.string())
        return pc.binary_join_element_wise(self.form.gtid, number, "")

    def filled(self, template: Template) -> pa.Array:
        """The texts, as bytes."""
        parts = [self._part(p) if isinstance(p, Filled) else pa.scalar(p) for p in template]
        if not any(isinstance(part, pa.Array) for part in parts):
            parts.append(pa.array([b""] * len(self.data)))
        return pc.binary_join_element_wise(*parts, pa.scalar(b""))

    def _part(self, filled: Filled) -> pa.Array:
        if filled.how == "hex":
            return self._hex()
        if filled.how == "statement":
            return pc.replace_substring(self.tails(), "\n", "\n# ")
        if filled.how == "json":
            text = pc.replace_substring(self.tails(), '"', '\\"')
            text = pc.replace_substring(text, "\n", "\\n")
            return pc.binary_join_element_wise(b'"', text, b'"', b"")
        numbers = self.numbers(filled.name)
        if filled.how == "crc":
            digits = _LOWER[numbers.astype(">u4").view(np.uint8)]
            return _binary(8 * np.arange(len(numbers) + 1), digits)
        if filled.how == "clock":
            known, places = np.unique(numbers, return_inverse=True)
            texts = [clock(int(number), UTC).encode() for number in known]
            return pa.array(texts).take(pa.array(places))
        if filled.how == "moment":
            moments = pa.array(numbers.astype(np.int64)).cast(pa.timestamp("us"))
            return moments.cast(pa.string()).cast(pa.binary())
        texts = pa.array(numbers).cast(pa.string())
        if filled.how == "six":
            texts = pc.utf8_lpad(texts, 6, "0")
        return texts.cast(pa.binary())

    def _bytes(self) -> tuple[Places, Bytes]:
        """What has no form: where each event's begins and ends, and all of it."""
        lengths = self.ends - self.starts
        offsets = np.append(0, np.cumsum(lengths))
        places = np.arange(offsets[-1]) + np.repeat(self.starts - offsets[:-1], lengths)
        return offsets, self.whole[places]

    def _hex(self) -> pa.Array:
        """``"0x…"`` of what has no form."""
        offsets, data = self._bytes()
        return pc.binary_join_element_wise(b'"0x', _binary(2 * offsets, _UPPER[data]), b'"', b"")

    def tails(self) -> pa.Array:
        """What has no form, as bytes."""
        return _binary(*self._bytes())

    def odd(self) -> npt.NDArray[np.bool_]:
        """Statements that are not printed as they are."""
        if self.form.part != EventRole.ROWS_QUERY:
            return np.zeros(len(self.data), bool)
        return np.asarray(pc.match_substring_regex(self.tails(), _ODD))


def _binary(offsets: Places, data: npt.NDArray[Any]) -> pa.Array:
    buffers = [None, pa.py_buffer(offsets.astype(np.int32)), pa.py_buffer(data)]
    return pa.Array.from_buffers(pa.binary(), len(offsets) - 1, buffers)


def _digit_pairs(digits: str) -> npt.NDArray[np.uint16]:
    pairs = "".join(a + b for a in digits for b in digits)
    return np.frombuffer(pairs.encode(), np.uint16)


_UPPER, _LOWER = _digit_pairs("0123456789ABCDEF"), _digit_pairs("0123456789abcdef")
