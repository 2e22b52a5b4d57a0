"""Raw events -> typed events, in order, payloads unpacked; nothing is dropped."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace

from binlogkit._kernel.cursor import Cursor
from binlogkit.constants import HEADER_LENGTH, EventType
from binlogkit.errors import DamageError, LimitError

# Importing a family's module registers its parsers.
from binlogkit.events import (  # noqa: F401
    control,
    early,
    format_description,
    group,
    gtid,
    gtid_tagged,
    large_transaction,
    load,
    query,
    rows,
    table_map,
    variables,
)
from binlogkit.events.base import Event, OpaqueEvent, ParseContext, parser_of
from binlogkit.events.context import Joiner
from binlogkit.events.payload import TransactionPayload, inner_events
from binlogkit.sources.raw import RawEvent

__all__ = ["EventParser", "payload_limit", "read_events", "with_final_code"]

_FORMATS = (EventType.FORMAT_DESCRIPTION_EVENT, EventType.START_EVENT_V3)


class EventParser:
    """Raw events of one log -> typed events, in order.

    ``failed``: is told of an event that cannot be read, which is then an :class:`OpaqueEvent`, or
    raises; ``context``: kept up to date with the events.
    """

    def __init__(
        self, failed: Callable[[DamageError], None], context: ParseContext | None = None
    ) -> None:
        self.context = ParseContext() if context is None else context
        self._failed = failed
        self._joiner = Joiner()

    def forget_variables(self) -> None:
        """What INTVAR and the like said is not for the events that come."""
        self._joiner.forget_variables()

    def parse(self, raw: RawEvent) -> Event:
        """The next event."""
        if raw.checksum == "bad":
            return Event(raw, OpaqueEvent(raw.body, "its checksum is wrong"))
        parser = parser_of(raw.header.type_code)
        if parser is None:
            return Event(raw, OpaqueEvent(raw.body))
        cursor = Cursor(raw.body, raw.file, raw.pos)
        context = self.context
        if raw.inner is not None and raw.header.type_code in _FORMATS:
            context = replace(context)  # of the log it says nothing
        context.post_header_rest = b""
        try:
            body = parser(cursor, raw, context)
        except DamageError as error:
            self._failed(_with_header_length(error, raw))
            return Event(raw, OpaqueEvent(raw.body, error.reason))
        return Event(
            raw,
            body,
            cursor.data[cursor.pos :],
            context.post_header_rest,
            self._joiner.take(body, raw.header.type_code, raw.pos),
            self._joiner.file(body),
        )


def read_events(
    raw_events: Iterable[RawEvent],
    *,
    on_damage: str = "stop",
    sink: Callable[[DamageError], None] | None = None,
    context: ParseContext | None = None,
) -> Iterator[Event]:
    """Typed events of one log; a payload event is followed by the events inside it.

    ``on_damage``: ``stop`` raises :class:`DamageError`; ``report`` gives it to ``sink`` and yields
    the event as :class:`OpaqueEvent`. ``context``: to be kept up to date with the events.
    """

    def failed(error: DamageError) -> None:
        if on_damage == "stop":
            raise error
        if sink is not None:
            sink(error)

    parser = EventParser(failed, context)
    for stored in raw_events:
        raw = with_final_code(stored, parser.context)
        event = parser.parse(raw)
        yield event
        if isinstance(event.body, TransactionPayload):
            try:
                for inner in inner_events(raw, event.body):
                    yield parser.parse(inner)
            except DamageError as error:
                failed(error)
            except LimitError as error:
                failed(payload_limit(raw, error))


def payload_limit(raw: RawEvent, error: LimitError) -> DamageError:
    """What to report of a payload that goes over a limit."""
    return DamageError(raw.file, raw.pos, str(error), "payload")


def _with_header_length(error: DamageError, raw: RawEvent) -> DamageError:
    """The error; where headers are longer than every server's, that this may be what is wrong."""
    if raw.header.length <= HEADER_LENGTH:
        return error
    told = f"the format description says that headers have {raw.header.length} bytes"
    return type(error)(error.file, error.offset, f"{error.reason}; {told}", error.field)


def with_final_code(raw: RawEvent, context: ParseContext) -> RawEvent:
    """The event by the code that its type has had since early.py's trees."""
    code = context.final_codes.get(raw.header.type_code)
    return raw if code is None else replace(raw, header=replace(raw.header, type_code=code))
