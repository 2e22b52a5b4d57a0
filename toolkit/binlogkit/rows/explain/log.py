"""The events of a log, each with the way to explain it where it stands.

A rows event is explained by the table map before it, and names come from where ``rows`` has them:
so a log is walked from its start, and its events are explained when somebody asks for one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial

from binlogkit.errors import DamageError, InputError
from binlogkit.events.base import Event, OpaqueEvent, ParseContext
from binlogkit.events.explain.walk import EventWalk, walk_event, walk_fragment
from binlogkit.events.format_description import FormatDescription, StartV3
from binlogkit.events.query import ExecuteLoadQuery, Query
from binlogkit.events.reader import read_events
from binlogkit.events.rows import RowsEvent, RowsFlag
from binlogkit.events.table_map import TableMap
from binlogkit.rows.explain.columns import explain_table_map
from binlogkit.rows.explain.images import explain_rows
from binlogkit.rows.options import ReadOptions
from binlogkit.rows.schema import TableSchema
from binlogkit.rows.slots import DUMMY_TABLE_ID
from binlogkit.rows.table_history import TableHistory
from binlogkit.sources.carriers import Carrier
from binlogkit.sources.layers import ByteStream
from binlogkit.sources.log_reader import LogReader
from binlogkit.sources.raw import RawEvent

_STEP = 1 << 20
_MOST_FRAGMENT = 16 << 20  # bytes of damage that are shown


@dataclass(frozen=True, slots=True)
class ExplainableEvent:
    """An event at its place; ``explain`` holds good until the walk continues.

    ``raw``: None for a damaged range that is no event; ``damage``: why it could not be read.
    """

    file: str
    pos: int
    inner: int | None
    end_pos: int
    raw: RawEvent | None
    explain: Callable[[], EventWalk]
    damage: DamageError | None = None


class ExplainingWalk:
    """Logs event by event, with what the explanation of each needs; ``damages``: what was met."""

    _reader: LogReader
    _stored: RawEvent
    _context: ParseContext

    def __init__(self, carriers: Sequence[Carrier], options: ReadOptions) -> None:
        self.carriers = carriers
        self.damages: list[DamageError] = []
        self.maps: dict[int, TableSchema] = {}
        self._tables = TableHistory(options)
        self._server_version = ""
        self._in_statement = False

    def _all(self) -> Iterator[Event]:
        """The events of all logs; an unreadable log is raised after the others were read."""
        unreadable: InputError | None = None
        for carrier in self.carriers:
            try:
                for event in self._events(carrier):
                    try:
                        self._take(event)
                    except DamageError as error:
                        self.damages.append(error)
                    yield event
            except InputError as error:
                unreadable = unreadable.and_also(error) if unreadable else error
        if unreadable is not None:
            raise unreadable

    def _events(self, carrier: Carrier) -> Iterator[Event]:
        self._context = ParseContext()
        self._forget_maps()
        sink = self.damages.append
        with carrier.open() as file:
            self._reader = LogReader(carrier.name, file, on_damage="report", sink=sink)
            yield from read_events(
                self._kept(self._reader), on_damage="report", sink=sink, context=self._context
            )

    def _kept(self, events: Iterable[RawEvent]) -> Iterator[RawEvent]:
        for raw in events:
            self._stored = raw
            yield raw

    def _take(self, event: Event) -> None:
        """Keep track of tables, as a reading does (reading.py, slots.py)."""
        body, raw = event.body, event.raw
        if isinstance(body, (FormatDescription, StartV3)):
            self._forget_maps()
            self._server_version = self._tables.catalog.server_version = body.server_version
        elif isinstance(body, TableMap):
            self._in_statement = True
            self.maps.pop(body.table_id, None)
            if body.nullable or not body.types:
                self.maps[body.table_id] = self._tables.schema(body, raw.file, raw.pos)
        elif isinstance(body, RowsEvent):
            self._in_statement = not body.flags & RowsFlag.STMT_END
        elif isinstance(body, (Query, ExecuteLoadQuery)):
            self._tables.apply(body, raw.file, raw.pos)

    def _forget_maps(self) -> None:
        if not self._in_statement:
            self.maps.clear()

    def events(self) -> Iterator[ExplainableEvent]:
        """Every event, and every damaged range that is none, in order.

        What stands in ``damages`` when an event is given came before it or is its own.
        """
        reported, last = 0, ("", -1)
        for event in self._all():
            raw = event.raw
            for error in self.damages[reported:]:
                if (error.file == raw.file and error.offset < raw.pos) or error.file != raw.file:
                    yield from self._damaged(error, last)
            damage = self._damage_of(event, self.damages[reported:])
            reported, last = len(self.damages), (raw.file, raw.pos)
            yield ExplainableEvent(
                raw.file, raw.pos, raw.inner, raw.end_pos, raw, partial(self._explained, event),
                damage,
            )  # fmt: skip
        for error in self.damages[reported:]:
            yield from self._damaged(error, last)

    @staticmethod
    def _damage_of(event: Event, errors: Sequence[DamageError]) -> DamageError | None:
        """Why an event was not read; not that rows have no table map, which stops nothing."""
        if not (isinstance(event.body, OpaqueEvent) and event.body.reason):
            return None
        return next((error for error in errors if error.offset == event.raw.pos), None)

    def _explained(self, event: Event) -> EventWalk:
        raw = event.raw
        stored = raw if raw.inner is not None else self._stored
        walk = walk_event(stored, raw, self._context)
        body = walk.body
        if isinstance(body, TableMap):
            explain_table_map(walk, self.maps.get(body.table_id), self._server_version)
        elif isinstance(body, RowsEvent):
            self._explain_rows(walk, body)
        return walk

    def _explain_rows(self, walk: EventWalk, body: RowsEvent) -> None:
        schema = self.maps.get(body.table_id)
        if schema is not None:
            explain_rows(walk, schema, self._server_version)
        elif body.table_id == DUMMY_TABLE_ID:
            walk.notes.append("this table id stands for no table: the event only ends a statement")
        else:
            walk.problems.append(
                f"no TABLE_MAP_EVENT for table id {body.table_id} is known here, so the rows "
                "cannot be told apart"
            )

    def _damaged(self, error: DamageError, last: tuple[str, int]) -> Iterator[ExplainableEvent]:
        """A range that is no event, reported by an error after the last event.

        Of a text only the place and the reason are known (sources/loose_events.py).
        """
        if error.end is None and type(error) is not DamageError:
            return  # of an event, which has reported it
        if error.end is not None and error.file == last[0] and error.offset <= last[1]:
            return
        end = error.offset if error.end is None else error.end
        yield ExplainableEvent(
            error.file, error.offset, None, end, None, partial(self._fragment, error), error
        )

    def _fragment(self, error: DamageError) -> EventWalk:
        data = b"" if error.end is None else self._bytes_of(error)
        version = self._reader.format.version
        return walk_fragment(
            data, error.file, error.offset, version, self._context, str(error.reason)
        )

    def _bytes_of(self, error: DamageError) -> bytes:
        """The first bytes of a damaged range."""
        assert error.end is not None
        carrier = next(c for c in self.carriers if c.name == error.file)
        with carrier.open() as file:
            stream = ByteStream(file)
            while stream.offset < error.offset:
                if not stream.read(min(error.offset - stream.offset, _STEP)):
                    break
            return stream.read(min(error.end - error.offset, _MOST_FRAGMENT))
