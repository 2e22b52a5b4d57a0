"""Raw events -> typed events, in order, payloads unpacked; nothing is dropped.

What other events say for a statement comes with it. INTVAR, RAND and USER_VAR stand before the
statement that they are for. LOAD DATA's file stands in blocks before it: BEGIN_LOAD_QUERY and
APPEND_BLOCK before EXECUTE_LOAD_QUERY (5.0.3+), CREATE_FILE and APPEND_BLOCK before EXEC_LOAD or
DELETE_FILE (4.0 to 5.0.2); the file's id joins them.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Iterator
from dataclasses import dataclass, replace
from typing import TypeAlias

from binlogkit._kernel.cursor import Cursor
from binlogkit.constants import HEADER_LENGTH, EventType
from binlogkit.errors import DamageError, LimitError, teller

# Importing a family's module registers its parsers.
from binlogkit.events import (  # noqa: F401
    control,
    early,
    format_description,
    group,
    gtid,
    rows,
    table_map,
)
from binlogkit.events.base import Event, OpaqueEvent, ParseContext, parser_of
from binlogkit.events.load import CreateFile, DeleteFile, ExecLoad, Load
from binlogkit.events.payload import TransactionPayload, inner_events
from binlogkit.events.query import ExecuteLoadQuery, LoadBlock, Query
from binlogkit.events.variables import Intvar, Rand, UserVar
from binlogkit.sources.raw import RawEvent

#: The types that say how later events are read.
FORMATS = (EventType.FORMAT_DESCRIPTION_EVENT, EventType.START_EVENT_V3)


Variable: TypeAlias = Intvar | Rand | UserVar
_STATEMENTS = (Query, ExecuteLoadQuery, Load, CreateFile)
_FILE_ENDS = (ExecuteLoadQuery, ExecLoad, DeleteFile)


@dataclass(frozen=True, slots=True)
class LoadedFile:
    """The file of a LOAD DATA, as its log has it.

    ``pos``: of the event with its first block; ``size``: in bytes; ``whole``: False where the
    first block is not in this log.
    """

    file_id: int
    pos: int
    blocks: int
    size: int
    whole: bool


class EventParser:
    """Raw events of one log -> typed events, in order.

    ``failed``: takes an event that cannot be read, which is then an :class:`OpaqueEvent`, or
    raises; ``context``: kept up to date with the events.
    """

    def __init__(
        self, failed: Callable[[DamageError], None], context: ParseContext | None = None
    ) -> None:
        self.context = ParseContext() if context is None else context
        self._failed = failed
        self._variables: list[Variable] = []
        self._files: dict[int, LoadedFile] = {}

    def forget_variables(self) -> None:
        """What INTVAR and the like said is not for the events that come."""
        self._variables.clear()

    def parse(self, raw: RawEvent) -> Event:
        """The next event."""
        if raw.checksum == "bad":
            return Event(raw, OpaqueEvent(raw.body, "its checksum is wrong"))
        parser = parser_of(raw.header.type_code)
        if parser is None:
            return Event(raw, OpaqueEvent(raw.body))
        cursor = Cursor(raw.body, raw.file, raw.pos)
        context = self.context
        if raw.inner is not None and raw.header.type_code in FORMATS:
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
            self._variables_of(body),
            self._file_of(body, raw),
        )

    def _variables_of(self, body: object) -> tuple[Variable, ...]:
        """The variables of a statement, in their order; () for every other event."""
        if isinstance(body, Variable):
            self._variables.append(body)
        if not isinstance(body, _STATEMENTS):
            return ()
        found = tuple(self._variables)
        self._variables.clear()
        return found

    def _file_of(self, body: object, raw: RawEvent) -> LoadedFile | None:
        """The file that ends with ``body``: the statement, or the note that it failed."""
        if isinstance(body, (CreateFile, LoadBlock)):
            first = raw.header.type_code != EventType.APPEND_BLOCK_EVENT
            new = LoadedFile(body.file_id, raw.pos, 0, 0, first)
            file = new if first else self._files.get(body.file_id, new)
            size = file.size + len(body.data)
            self._files[body.file_id] = replace(file, blocks=file.blocks + 1, size=size)
        return self._files.pop(body.file_id, None) if isinstance(body, _FILE_ENDS) else None


def read_events(
    raw_events: Iterable[RawEvent],
    *,
    on_damage: str = "stop",
    sink: Callable[[DamageError], None] | None = None,
    context: ParseContext | None = None,
    unread: Container[int] = (),
) -> Iterator[Event]:
    """Typed events of one log; a payload event is followed by the events inside it.

    ``on_damage``: ``stop`` raises :class:`DamageError`; ``report`` gives it to ``sink`` and yields
    the event as :class:`OpaqueEvent`. ``context``: to be kept up to date with the events;
    ``unread``: types that are yielded as such, too.
    """
    failed = teller(on_damage, sink)
    parser = EventParser(failed, context)

    def typed(raw: RawEvent) -> Event:
        if raw.header.type_code in unread:
            return Event(raw, OpaqueEvent(raw.body))
        return parser.parse(raw)

    for stored in raw_events:
        raw = with_final_code(stored, parser.context)
        event = typed(raw)
        yield event
        if isinstance(event.body, TransactionPayload):
            try:
                yield from map(typed, inner_events(raw, event.body))
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
    text = f"the format description says that headers have {raw.header.length} bytes"
    return type(error)(error.file, error.offset, f"{error.reason}; {text}", error.field)


def with_final_code(raw: RawEvent, context: ParseContext) -> RawEvent:
    """The event by the code that its type has had since early.py's trees."""
    code = context.final_codes.get(raw.header.type_code)
    return raw if code is None else replace(raw, header=replace(raw.header, type_code=code))
