"""One walk over logs in order: each event with its transaction, schema and what it does to tables.

Every door stands on this walk. A second reader of the same log runs ahead to each transaction's
end, so that a row knows the XID and outcome that the log tells only later; memory stays bounded.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, TypeAlias, TypeVar

from binlogkit.errors import (
    DamageError,
    InputError,
    LimitError,
    MalformedEventError,
    TruncatedEventError,
    printable,
)
from binlogkit.events.base import Event
from binlogkit.events.control import Incident
from binlogkit.events.early import EarlyRows
from binlogkit.events.format_description import FormatDescription, StartV3
from binlogkit.events.load import CreateFile, Load
from binlogkit.events.query import ExecuteLoadQuery, Query, RowsQuery
from binlogkit.events.reader import read_events
from binlogkit.events.rows import RowsEvent, RowsFlag
from binlogkit.events.table_map import TableMap
from binlogkit.rows.ddl import TableChange
from binlogkit.rows.detours import Detour
from binlogkit.rows.losses import Loss, Losses
from binlogkit.rows.options import ReadOptions
from binlogkit.rows.schema import TableSchema
from binlogkit.rows.spans import Place, Span, Spans, place_of
from binlogkit.rows.stretches import Facts
from binlogkit.rows.table_history import TableHistory
from binlogkit.rows.transactions import Transaction, track_transactions
from binlogkit.sources.carriers import Carrier
from binlogkit.sources.log_reader import LogReader
from binlogkit.sources.loose_events import LooseEvents
from binlogkit.sources.raw import RawEvent

if TYPE_CHECKING:
    from binlogkit.rows.boundaries import Boundary, WayBack
    from binlogkit.rows.pieces import Piece
    from binlogkit.sources.tasks import Submit

__all__ = ["LogWalk", "Step", "Steps"]

_Item = TypeVar("_Item")

SEQ_SHIFT = 32
MOST_EVENTS = 1 << 31  # of a walk: what the place of a row, an int64, can tell
# A rows event for this id carries no rows: it only ends a statement (server's sources, rpl).
DUMMY_TABLE_ID = 0xFFFFFF
_NO_MAP = (
    "no TABLE_MAP_EVENT for table id {table_id} before it: the log begins inside a statement, and "
    "its rows for this id cannot be read"
)
_EARLY = (
    "the rows for table id {table_id} cannot be read: before 5.1.18 the log did not tell how they "
    "are stored (events/early.py)"
)


@dataclass(slots=True)
class Step:
    """One event in its context.

    ``seq``: its place in the walk, shifted left by 32 bits so that the rows of an event follow;
    ``first``, ``last``: whether it stands in the first and the last log; ``schema``: of a rows
    event's table; ``query``: the original statement that a Rows_query event gave; ``changes``: what
    a statement does to tables; ``server_version``: of the log.
    """

    event: Event
    seq: int
    first: bool
    last: bool
    transaction: Transaction | None = None
    schema: TableSchema | None = None
    query: str | None = None
    changes: list[TableChange] = field(default_factory=list)
    server_version: str = ""


#: Of one log, and where the kernel can go on with it, if they end before it does.
Steps: TypeAlias = "Generator[Step, None, Boundary | None]"


class LogWalk:
    """Walks over carriers in order; ``damages`` and ``problems`` collect what it met.

    ``loose``: carriers of events without a file around them, and how many statements in each
    have nothing but their rows there; ``losses``: what may be missing where damage was gone past;
    ``detours``: what of ``pieces`` came as steps.
    With ``ahead`` False no second reader runs, transactions are what is known at the event, and
    losses are not looked for. ``begin``: offset of the first event that is read of a log, but for
    its format description, and no transaction is open there; 0 for all.
    """

    def __init__(
        self, carriers: Sequence[Carrier], options: ReadOptions | None = None, *, ahead: bool = True
    ) -> None:
        self.carriers = carriers
        self.options = options or ReadOptions()
        self.damages: list[DamageError] = []
        self.losses: list[Loss] = []
        self.detours: list[Detour] = []
        self.loose: dict[str, int] = {}
        self.unreadable: InputError | None = None
        self.begin = 0
        self.tables = TableHistory(self.options)
        self._server_version = ""
        self._ahead = ahead
        self.maps: dict[int, TableSchema] = {}
        self._in_statement = False
        self._unmapped: set[int] = set()
        self.ordinal = 0
        self.facts = Facts()
        self.interrupted: Transaction | None = None
        self._transactions = 0
        self._spans: Spans | None = None

    def __iter__(self) -> Iterator[Step]:
        """The steps of all logs; an unreadable one is told after the others were read."""
        return self._through(self._walk)

    def pieces(self, ahead: Submit | None = None) -> Generator[Piece | Step, None, None]:
        """The same logs as stretches for the kernel; as steps from where it gives one up.

        ``ahead``: lets their bytes be read in another thread.
        """
        from binlogkit.rows.pieces import pieces_of

        return self._through(partial(pieces_of, self, ahead))

    def _through(
        self, read: Callable[[Carrier, bool, bool], Iterator[_Item]]
    ) -> Generator[_Item, None, None]:
        for i, carrier in enumerate(self.carriers):
            try:
                yield from read(carrier, *self._ends(i))
            except InputError as error:
                self.unreadable = self.unreadable.and_also(error) if self.unreadable else error
        if self.unreadable is not None:
            raise self.unreadable

    def _ends(self, i: int) -> tuple[bool, bool]:
        """Whether a log is the first, and the last."""
        return i == 0, i == len(self.carriers) - 1

    @property
    def schemas(self) -> dict[tuple[str, str], list[TableSchema]]:
        """Every version of each table met so far."""
        return self.tables.schemas

    @property
    def problems(self) -> list[str]:
        """What does not fit together in what is known of tables."""
        return self.tables.problems

    @property
    def folded(self) -> bool:
        """Whether names of databases and tables turned out to be compared without case."""
        return self.tables.catalog.folded

    # ---- what the pieces need (rows/pieces.py) ------------------------------------------------

    @property
    def next_number(self) -> int | None:
        """Of the next log's first transaction; None where one goes on into it (relay logs)."""
        if self._spans is None:
            return self._transactions
        return None if self._spans.carried else self._spans.number

    @next_number.setter
    def next_number(self, number: int) -> None:
        self._spans = Spans(number)

    @staticmethod
    def check_count(events: int, file: str) -> None:
        """LimitError: the walk has more events than can be numbered."""
        if events > MOST_EVENTS:
            raise LimitError(
                f"{printable(file)}: more than {MOST_EVENTS:,} events in one reading; "
                "read fewer logs at once"
            )

    def steps_of(
        self,
        carrier: Carrier,
        first: bool,
        last: bool,
        behind: Place = (0, -1),
        start: Boundary | None = None,
        back: WayBack | None = None,
    ) -> Steps:
        """The steps of one log, from the place on up to which it was read otherwise.

        ``interrupted`` is then the transaction of the last event before that place. ``start``:
        where reading begins, before that place; ``back``: says where the steps end before the log
        does, which is what they return.
        """
        self.interrupted = None
        if start is not None:
            self.next_number = start.number
        return self._walk(carrier, first, last, behind, start.offset if start else 0, back)

    def transactions_of(
        self, carrier: Carrier, number: int, start: int = 0
    ) -> Iterator[Transaction]:
        """The transactions of one log from the offset ``start`` on, numbered from ``number``;
        damage that stops ends them."""
        return track_transactions(self._quietly(carrier, start), number)

    def look(self, step: Step) -> None:
        """Take an event as a step does."""
        self._take(step, step.event.body)

    def tell_unmapped(self, file: str, pos: int, table_id: int) -> None:
        """Rows without a table map."""
        if table_id != DUMMY_TABLE_ID:
            self._tell_unread(file, pos, table_id, _NO_MAP)

    def tell_gone(self, file: str, pos: int) -> None:
        """Bytes that were there from ``pos`` on, and are not any more."""
        error = TruncatedEventError(file, pos, "the file ends before it: it was made shorter")
        if self.options.on_damage == "stop":
            raise error
        self.damages.append(error)

    # --------------------------------------------------------------------------------------------

    def _events(
        self, carrier: Carrier, sink: Callable[[DamageError], None], start: int = 0
    ) -> Iterator[Event]:
        mode = self.options.on_damage
        with carrier.open() as file:
            if isinstance(file, LooseEvents):
                self.loose.setdefault(carrier.name, 0)
            reader = LogReader(carrier.name, file, on_damage=mode, sink=sink, start=start)
            yield from read_events(reader, on_damage=mode, sink=sink)

    def _watched(self, carrier: Carrier, start: int) -> Iterator[Event]:
        """The events of a log, what damage may have taken away noted."""
        if not self._ahead or self.options.on_damage == "stop":
            yield from self._events(carrier, self.damages.append, start)
            return
        losses, met = Losses(), list[DamageError]()

        def tell(error: DamageError) -> None:
            self.damages.append(error)
            met.append(error)

        for event in self._events(carrier, tell, start):
            self.losses += losses.after(met, event)
            met.clear()
            yield event
        self.losses += losses.after(met, None)

    def _transactions_of(self, carrier: Carrier, start: int) -> Iterator[Span]:
        """Where the transactions of one log lie; damage that stops reading ends them."""
        at = next(i for i, other in enumerate(self.carriers) if other is carrier)
        if self._spans is None:
            self._spans = Spans(self._transactions)
        following = [partial(self._quietly, other) for other in self.carriers[at + 1 :]]
        return self._spans.of(self._quietly(carrier, start), following)

    def _quietly(self, carrier: Carrier, start: int = 0) -> Iterator[Event]:
        """The events of a log up to damage, of which the walk itself tells."""
        with suppress(DamageError, InputError):
            yield from self._events(carrier, lambda _: None, start)

    def _walk(
        self,
        carrier: Carrier,
        first: bool,
        last: bool,
        behind: Place = (0, -1),
        start: int = 0,
        back: WayBack | None = None,
    ) -> Steps:
        """The steps of one log; ``behind``: the place up to which it was read otherwise."""
        if behind == (0, -1) and not start:
            self._forget_maps()
        ahead = self._transactions_of(carrier, start) if self._ahead else iter(())
        current = next(ahead, None)
        query: str | None = None
        for event in self._watched(carrier, start):
            raw = event.raw
            while current is not None and place_of(raw) >= current.end:
                current = next(ahead, None)
                query = None
            if place_of(raw) < behind:
                query = _query_behind(event, query)
                self.interrupted = _over(current, raw)
                continue
            if back is not None and (found := back.at(raw, current, len(self.damages))):
                return found
            self.check_count(self.ordinal + 1, carrier.name)
            step = Step(event, self.ordinal << SEQ_SHIFT, first, last)
            step.transaction = _over(current, raw)
            self.ordinal += 1
            body = event.body
            step.query = body.query if isinstance(body, RowsQuery) else query
            try:
                self._take(step, body)
            except DamageError as error:
                if self.options.on_damage == "stop":
                    raise
                self.damages.append(error)
            yield step
            query = _query_behind(event, query)
            if isinstance(body, RowsEvent) and body.flags & RowsFlag.STMT_END:
                alone = step.transaction is not None and step.transaction.alone
                if alone and carrier.name in self.loose:
                    self.loose[carrier.name] += 1
        return None

    def _take(self, step: Step, body: object) -> None:
        raw = step.event.raw
        if isinstance(body, (FormatDescription, StartV3)):
            self._forget_maps()
            self._unmapped.clear()
            self._server_version = body.server_version
            self.tables.catalog.server_version = body.server_version
        elif isinstance(body, TableMap):
            self._take_map(raw, body)
        elif isinstance(body, RowsEvent):
            step.schema = self.maps.get(body.table_id)
            step.server_version = self._server_version
            self._in_statement = not body.flags & RowsFlag.STMT_END
            if step.schema is None and body.table_id != DUMMY_TABLE_ID:
                self._tell_unread(raw.file, raw.pos, body.table_id, _NO_MAP)
        elif isinstance(body, EarlyRows):
            self._tell_unread(raw.file, raw.pos, body.table_id, _EARLY)
        elif isinstance(body, (Load, CreateFile)):
            load = body if isinstance(body, Load) else body.load
            step.changes = [TableChange("statement_write", load.db, load.table)]
        elif isinstance(body, (Query, ExecuteLoadQuery)):
            step.changes = self._apply(body)
        elif isinstance(body, Incident):
            told = f"{body.incident}: {body.message}" if body.message else body.incident
            step.changes = [TableChange("incident", "", "", reason=told)]

    def _forget_maps(self) -> None:
        """Table ids are a log's own; its format description may be lost. A relay log may end inside
        a statement, and the next go on with it."""
        if not self._in_statement:
            self.maps.clear()

    def _apply(self, body: Query | ExecuteLoadQuery) -> list[TableChange]:
        return self.tables.apply(body)

    def _take_map(self, raw: RawEvent, table_map: TableMap) -> None:
        self._in_statement = True
        self.maps.pop(table_map.table_id, None)
        self._unmapped.discard(table_map.table_id)
        if table_map.types and not table_map.nullable:
            self._tell_unread(
                raw.file, raw.pos, table_map.table_id, _EARLY
            )  # a server before 5.1.4
        else:
            self.maps[table_map.table_id] = self.tables.schema(table_map, raw.file, raw.pos)

    def _tell_unread(self, file: str, pos: int, table_id: int, reason: str) -> None:
        """Rows that cannot be read though framing is sound: told once per table id."""
        if table_id in self._unmapped:
            return
        self._unmapped.add(table_id)
        text = reason.format(table_id=table_id)
        self.damages.append(MalformedEventError(file, pos, text, "table_id"))


def _over(span: Span | None, raw: RawEvent) -> Transaction | None:
    """The transaction of an event that ``span`` does not end before."""
    return span.transaction if span is not None and span.start <= place_of(raw) else None


def _query_behind(event: Event, query: str | None) -> str | None:
    """The original statement that counts behind ``event``."""
    body = event.body
    if isinstance(body, RowsEvent) and body.flags & RowsFlag.STMT_END:
        return None
    return body.query if isinstance(body, RowsQuery) else query
