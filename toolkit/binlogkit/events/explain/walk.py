"""The annotated walk of one event: header, post-header, body, checksum, every byte exactly once.

The body is read by the event's own parser over a :class:`Recorder`. What the parser leaves at the
end is shown as bytes that this version does not know; where it fails, the fields up to there are
shown, and the rest with the reason.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass, field
from typing import get_type_hints

from binlogkit.constants import CHECKSUM_LENGTH, HEADER_LENGTH, EventFlag, EventType
from binlogkit.errors import DamageError
from binlogkit.events.base import Body, ParseContext, parser_of
from binlogkit.events.explain.cursor import Recorder
from binlogkit.events.explain.expand import expand
from binlogkit.events.explain.fields import section_of, type_meaning, type_since
from binlogkit.events.explain.parts import FieldPart, fill
from binlogkit.events.explain.shape import meaning_of, shaped, typed_values
from binlogkit.sources.crc import crc_of
from binlogkit.sources.raw import V1_HEADER_LENGTH, EventHeader, RawEvent, parse_header

_WRAP = 1 << 32
_FIELDS_V1 = (("timestamp", 4), ("event_type", 1), ("server_id", 4), ("event_size", 4))
_FIELDS_V3 = (*_FIELDS_V1, ("log_pos", 4), ("flags", 2))
_OPAQUE = "the body of an event whose type is not read"


@dataclass(slots=True)
class EventWalk:
    """One event, explained.

    ``raw``: the event; ``data``: all its bytes; ``root``: the walk, from 0 to the event's size;
    ``body``: what its parser made of it, None where it could not; ``problems``: what is wrong with
    it, each a sentence; ``notes``: what a reader should know besides.
    """

    raw: RawEvent
    data: bytes
    root: FieldPart
    body: Body | None = None
    problems: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    @property
    def place(self) -> str:
        """``POS`` or ``POS/INNER``."""
        raw = self.raw
        return str(raw.pos) if raw.inner is None else f"{raw.pos}/{raw.inner}"


def stored_bytes_of(raw: RawEvent) -> bytes:
    """The bytes of an event as they stood in its log."""
    h = raw.header
    if h.length < HEADER_LENGTH:
        head = struct.pack("<IBII", h.timestamp, h.type_code, h.server_id, h.size)
    else:
        head = struct.pack(
            "<IBIIIH", h.timestamp, h.type_code, h.server_id, h.size, h.log_pos, h.flags
        )
    return head + raw.extra_header + raw.body + raw.stored_checksum


def walk_event(stored: RawEvent, read: RawEvent, context: ParseContext) -> EventWalk:
    """Explain an event.

    ``stored``: as it stands in the log; ``read``: the same by the code that its type has since
    (events/early.py); ``context``: of its log, as it is after the event.
    """
    data = stored_bytes_of(stored)
    header, end = read.header, len(data) - len(stored.stored_checksum)
    meaning = type_meaning(header.type_code)
    root = FieldPart(meaning.partition(":")[0], 0, len(data), meaning=meaning)
    walk = EventWalk(stored, data, root)
    root.parts = [_header(walk, read)]
    root.parts += _body(walk, read, context, header.length, end)
    if stored.stored_checksum:
        root.parts.append(_checksum(walk, stored.header, end))
    fill(root)
    return walk


def walk_fragment(
    data: bytes, file: str, pos: int, version: int, context: ParseContext, reason: str
) -> EventWalk:
    """Explain what there is of an event that its log does not hold whole, or that claims nonsense.

    ``data``: its bytes as far as they are there; ``reason``: what is wrong.
    """
    length = V1_HEADER_LENGTH if version == 1 else HEADER_LENGTH
    if len(data) >= length:
        header = parse_header(data, length)
        raw = RawEvent(file, pos, header, data[length:], version=version)
        if header.size > len(data):
            walk = walk_event(raw, raw, context)
            walk.problems.insert(0, reason)
            return walk
    else:
        raw = RawEvent(file, pos, EventHeader(0, 0, 0, 0, 0, 0, 0), data, version=version)
    root = FieldPart("damaged event", 0, len(data), meaning=reason)
    walk = EventWalk(raw, data, root, problems=[reason])
    if not data:
        return walk
    recorder = Recorder(data, file, pos)
    for name, width in _FIELDS_V1 if version == 1 else _FIELDS_V3:
        if recorder.left >= width:
            recorder.uint(width, name)
    for part in recorder.parts:
        _explain_header(part, walk, raw)
    root.parts = [FieldPart("header", 0, recorder.pos, parts=recorder.parts)]
    fill(root, "rest", "not read", reason)
    return walk


def _header(walk: EventWalk, read: RawEvent) -> FieldPart:
    raw = walk.raw
    length = raw.header.length
    recorder = Recorder(walk.data[:length])
    for name, width in _FIELDS_V1 if length < HEADER_LENGTH else _FIELDS_V3:
        recorder.uint(width, name)
    if recorder.left:
        recorder.rest("extra_header")
    part = FieldPart("header", 0, length, parts=recorder.parts, meaning="the same for every type")
    for child in part.parts:
        _explain_header(child, walk, read)
    return part


def _explain_header(part: FieldPart, walk: EventWalk, read: RawEvent) -> None:
    meaning_of(part, section_of("header")[part.field])
    if part.field == "event_type":
        part.meaning = type_since(read.header.type_code)
        if read.header.type_code != part.value:
            part.meaning += "; its servers numbered the types otherwise (events/early.py)"
    elif part.field == "log_pos":
        part.meaning = _log_pos(walk.raw)
    elif part.field == "flags" and part.details:
        part.meaning = ", ".join(d.meaning.partition(":")[0] for d in part.details)


def _log_pos(raw: RawEvent) -> str:
    """What ``log_pos`` means in this version, and whether it holds."""
    log_pos = raw.header.log_pos
    own = raw.version == 3
    where = raw.pos if own else raw.pos + raw.header.size
    meaning = "where this event begins (so in v3)" if own else "where the next event begins"
    if raw.inner is not None:
        return "inside a payload: not a place in the file"
    if log_pos == where % _WRAP:
        return meaning + (" modulo 2**32" if where >= _WRAP else "")
    if not log_pos:
        return "0: the event was made for the network, or its place is not given"
    return f"{meaning}, in the log where it was written first: here that is {where}"


def _body(
    walk: EventWalk, read: RawEvent, context: ParseContext, start: int, end: int
) -> list[FieldPart]:
    code = read.header.type_code
    parser = parser_of(code)
    if walk.raw.checksum == "bad":
        walk.problems.append("the checksum is wrong: some byte of the event is not as written")
    if parser is None:
        if start == end:
            return []
        return [FieldPart("body", start, end, read.body, _OPAQUE)]
    recorder = Recorder(read.body, read.file, read.pos, base=start)
    section = get_type_hints(parser)["return"].__name__
    error: DamageError | None = None
    try:
        walk.body = parser(recorder, read, context)
    except DamageError as caught:
        error = caught
        where = f"{caught.field}: " if caught.field else ""
        walk.problems.append(f"{where}{caught.reason}")
    section = "gtid_set" if section == "PreviousGtids" else section
    parts = shaped(recorder.parts, section, typed_values(walk.body))
    whole = FieldPart("body", start, end, parts=parts)
    if error is not None:
        rest = FieldPart("", start, end, parts=parts or [FieldPart("", start, start)])
        fill(rest, "rest", "not read", walk.problems[-1])
        whole.parts = [part for part in rest.parts if part.field]
    fill(whole)
    for _, part in list(whole.walk()):
        expand(part, read, walk.body)
    if not whole.parts and start < end:
        fill_all = FieldPart("unread", start, end, meaning="the type has no body in this version")
        whole.parts = [fill_all]
    return _split(whole, start + context.post_header_lengths.get(code, 0))


def _split(whole: FieldPart, boundary: int) -> list[FieldPart]:
    """Post-header and body, where the format description's length fits the fields."""
    if whole.size == 0:
        return []
    first = [part for part in whole.parts if part.start < boundary]
    rest = [part for part in whole.parts if part.start >= boundary]
    if not first or first[-1].end != boundary:
        return [whole]
    post = FieldPart(
        "post-header", whole.start, boundary, parts=first, meaning="of a fixed length by type"
    )
    if not rest:
        return [post]
    body = FieldPart("body", boundary, whole.end, whole.value, whole.meaning, rest, whole.details)
    return [post, body]


def _checksum(walk: EventWalk, header: EventHeader, start: int) -> FieldPart:
    stored = int.from_bytes(walk.data[start:], "little")
    computed = crc_of(header, walk.data, start)
    part = FieldPart("checksum", start, start + CHECKSUM_LENGTH, f"0x{stored:08X}")
    over = "the CRC32 of all bytes before"
    if header.type_code == EventType.FORMAT_DESCRIPTION_EVENT and header.flags & EventFlag.IN_USE:
        over += ", IN_USE left out"
    if stored == computed:
        part.meaning = f"right: {over}"
    else:
        part.meaning = f"wrong: {over} is 0x{computed:08X}"
        part.problem = "the checksum is wrong"
    return part
