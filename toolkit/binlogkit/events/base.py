"""A typed event, and the table that says which parser reads which type code."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, fields
from enum import IntEnum
from typing import Any, TypeAlias

from binlogkit._kernel.cursor import Cursor, decoded
from binlogkit.constants import EventType, event_type_name
from binlogkit.sources.raw import RawEvent


def hidden(default: Any = ()) -> Any:
    """A field that only whoever writes the event again needs; records leave it out."""
    return field(default=default, metadata={"record": False})


def code_name(enum: type[IntEnum], code: int) -> str:
    """The name of a code, or its number where it has none."""
    return enum(code).name if code in enum._value2member_map_ else str(code)


def padded_text(cursor: Cursor, length: int, field: str, encoding: str = "utf-8") -> str:
    """A text in ``length`` bytes, after which NULs fill the room."""
    stored = cursor.read(length, field)
    shown = stored.split(b"\0", 1)[0]
    padding = not stored[len(shown) :].strip(b"\0")
    return decoded(shown if padding else stored, encoding, shown)


def ended_text(cursor: Cursor, length: int, field: str) -> str:
    """A text of ``length`` bytes, after which stands a NUL."""
    text = cursor.text(length, field)
    cursor.skip(1, f"{field}_end")
    return text


FieldReader: TypeAlias = Callable[[Cursor, str], Any]


def stored(*readers: tuple[int, FieldReader], variant: str = "") -> Any:
    """A field that may be there, None where it is not: its codes, and what reads it after each.

    ``variant``: whose the codes are, where others have another meaning for them.
    """
    return field(default=None, metadata={"readers": readers, "variant": variant})


def readers_of(kind: type, variant: str = "") -> dict[int, list[tuple[str, FieldReader]]]:
    """By its code the fields that :func:`stored` declares, in their order."""
    found: dict[int, list[tuple[str, FieldReader]]] = {}
    declared = [f for f in fields(kind) if "readers" in f.metadata]
    own = {code for f in declared if f.metadata["variant"] for code, _ in f.metadata["readers"]}
    for f in declared:
        for code, read in f.metadata["readers"]:
            if f.metadata["variant"] == (variant if code in own else ""):
                found.setdefault(code, []).append((f.name, read))
    return found


@dataclass(frozen=True, slots=True)
class OpaqueEvent:
    """An event whose body is preserved as it is.

    ``reason``: why it was not read: the type is unknown, or the event is damaged.
    """

    body: bytes
    reason: str = ""


@dataclass(slots=True)
class ParseContext:
    """What earlier events say about the layout of later ones.

    ``post_header_lengths``: by type code, from the format description; ``final_codes``: see
    early.py; ``post_header_rest``: what :meth:`end_post_header` left for the event being read.
    """

    version: int = 4
    server_version: str = ""
    post_header_lengths: dict[int, int] = field(default_factory=dict)
    final_codes: dict[int, int] = field(default_factory=dict)
    post_header_rest: bytes = b""

    def table_id_width(self, type_code: int) -> int:
        """6 bytes; 4 in the first row-based servers (5.1.4 and before), whose post-header is 6."""
        return 4 if self.post_header_lengths.get(type_code) == 6 else 6

    def end_post_header(self, cursor: Cursor, type_code: int) -> None:
        """Go over what a newer server's post-header has after the fields that are read here."""
        more = self.post_header_lengths.get(type_code, 0) - cursor.pos
        self.post_header_rest = cursor.read(more, "post_header") if more > 0 else b""


Body: TypeAlias = object
Parser: TypeAlias = Callable[[Cursor, RawEvent, ParseContext], Body]

_PARSERS: dict[int, Parser] = {}


def reads(*types: EventType) -> Callable[[Parser], Parser]:
    """Register a parser for the given types."""

    def register(parser: Parser) -> Parser:
        for event_type in types:
            _PARSERS[int(event_type)] = parser
        return parser

    return register


def parser_of(type_code: int) -> Parser | None:
    """The parser for a type code, None for a type that is preserved unread."""
    return _PARSERS.get(type_code)


@dataclass(frozen=True, slots=True)
class Event:
    """An event: where it stood (``raw``) and what it says (``body``).

    ``unread``: bytes after the last field that is known, which a newer server may have added;
    ``unread_post_header``: the same after the last known field of its post-header;
    ``variables``, ``file``: what events before it say for a statement (reader.py).
    """

    raw: RawEvent
    body: Body
    unread: bytes = b""
    unread_post_header: bytes = b""
    variables: tuple[Body, ...] = ()
    file: Body | None = None

    @property
    def type(self) -> str:
        """The official name of its type."""
        return event_type_name(self.raw.header.type_code)


_END = 0


@dataclass(frozen=True, slots=True)
class TypedFields:
    """Fields of ``type:packed length:packed value`` up to type 0, as HEARTBEAT_LOG_EVENT_V2 and
    TRANSACTION_PAYLOAD_EVENT have them (server's sources, ``codecs/binary.cpp``).

    ``fields``: type and value as stored; ``ended``: whether the end's mark was there.
    """

    fields: tuple[tuple[int, Cursor], ...]
    ended: bool

    @classmethod
    def read(cls, cursor: Cursor) -> TypedFields:
        """All fields up to the end's mark, or to the cursor's end."""
        fields: list[tuple[int, Cursor]] = []
        while cursor.left:
            kind = cursor.packed("field_type")
            if kind == _END:
                return cls(tuple(fields), True)
            fields.append((kind, cursor.sub(cursor.packed("field_length"), "field")))
        return cls(tuple(fields), False)

    @property
    def last(self) -> dict[int, Cursor]:
        """The value of each type; of one that is there twice, the last."""
        return dict(self.fields)

    @property
    def order(self) -> tuple[int, ...]:
        """The types in their order."""
        return (*(kind for kind, _ in self.fields), *((_END,) if self.ended else ()))

    def others(self, *known: int) -> tuple[tuple[int, bytes], ...]:
        """Type and value of fields of no known type, and of those that a later one replaces."""
        last = self.last
        return tuple(
            (kind, part.data)
            for kind, part in self.fields
            if kind not in known or part is not last[kind]
        )


def whole_packed(part: Cursor, field: str) -> int:
    """The packed integer that ``part`` is."""
    value = part.packed(field)
    if part.left:
        raise part.fail(field, f"{part.left} bytes follow the number in its own field")
    return value
