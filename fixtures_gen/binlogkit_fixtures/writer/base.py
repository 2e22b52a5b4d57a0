"""The table that says which function writes which event."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeAlias

from binlogkit.constants import EventType, event_type_name
from binlogkit.events.base import OpaqueEvent, ParseContext
from binlogkit_fixtures.writer.errors import UnwritableError
from binlogkit_fixtures.writer.packer import Packer

__all__ = ["Target", "Writer", "type_of", "write_body", "writes"]


@dataclass(frozen=True, slots=True)
class Target:
    """What an event is written for: its type, and the log's layout."""

    type_code: int
    context: ParseContext

    @property
    def version(self) -> int:
        """The binlog version: 1, 3 or 4."""
        return self.context.version


Writer: TypeAlias = Callable[[Packer, Any, Target], None]

_WRITERS: dict[int, tuple[type, Writer]] = {}
_TYPES: dict[type, Callable[[Any], EventType]] = {}


def writes(
    body: type, *types: EventType, choose: Callable[[Any], EventType] | None = None
) -> Callable[[Writer], Writer]:
    """Register a writer of ``body`` for the given types.

    ``choose``: which of them a body is when nobody says so; the first one without it.
    """
    _TYPES.setdefault(body, choose or (lambda _: types[0]))

    def register(writer: Writer) -> Writer:
        for event_type in types:
            _WRITERS[int(event_type)] = (body, writer)
        return writer

    return register


def type_of(body: object) -> EventType:
    """The type that a body is written as when nobody says which."""
    choose = _TYPES.get(type(body))
    if choose is None:
        raise UnwritableError(type(body).__name__, "type", "it has no type of its own: say which")
    return choose(body)


def write_body(
    body: object,
    target: Target,
    *,
    unread: bytes = b"",
    unread_post_header: bytes = b"",
) -> bytes:
    """Post-header and body of an event, without header and checksum.

    ``unread``, ``unread_post_header``: as in :class:`binlogkit.events.base.Event`.
    :class:`UnwritableError`: the format of ``target`` cannot say it.
    """
    packer = Packer(event_type_name(target.type_code), unread_post_header, unread)
    if isinstance(body, OpaqueEvent):
        packer.raw(body.body)
    else:
        expected, writer = _WRITERS.get(target.type_code, (type(None), _no_writer))
        if not isinstance(body, expected):
            raise packer.fail("type", f"a {type(body).__name__} is no event of this type")
        writer(packer, body, target)
    if packer.post_header_rest:
        raise packer.fail("unread_post_header", "its post-header is not read")
    packer.raw(unread)
    return bytes(packer.data)


def _no_writer(packer: Packer, body: Any, target: Target) -> None:
    raise packer.fail("type", "it has no known fields; give its bytes as an OpaqueEvent")
