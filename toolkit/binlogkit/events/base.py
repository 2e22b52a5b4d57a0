"""A typed event, and the table that says which parser reads which type code."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TypeAlias

from binlogkit._kernel.cursor import Cursor
from binlogkit.constants import EventType, event_type_name
from binlogkit.sources.raw import RawEvent

__all__ = ["Body", "Event", "OpaqueEvent", "ParseContext", "Parser", "parser_of", "reads"]


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
    early.py.
    """

    version: int = 4
    server_version: str = ""
    post_header_lengths: dict[int, int] = field(default_factory=dict)
    final_codes: dict[int, int] = field(default_factory=dict)

    def table_id_width(self, type_code: int) -> int:
        """6 bytes; 4 in the first row-based servers (5.1.4 and before), whose post-header is 6."""
        return 4 if self.post_header_lengths.get(type_code) == 6 else 6


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
    """An event: where it stood (``raw``) and what it says (``body``)."""

    raw: RawEvent
    body: Body

    @property
    def type(self) -> str:
        """The official name of its type."""
        return event_type_name(self.raw.header.type_code)
