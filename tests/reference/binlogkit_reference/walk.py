"""Logs in order: each event with its transaction, its table and what it does to tables."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from binlogkit.constants import EventType
from binlogkit.errors import DamageError, InputError, MalformedEventError
from binlogkit.events.base import Event
from binlogkit.events.control import Incident, Rotate
from binlogkit.events.early import EarlyRows
from binlogkit.events.format_description import FormatDescription, StartV3
from binlogkit.events.gtid import PreviousGtids
from binlogkit.events.gtid_set import GtidSet
from binlogkit.events.load import CreateFile, Load
from binlogkit.events.query import ExecuteLoadQuery, Query, RowsQuery
from binlogkit.events.rows import RowsEvent, RowsFlag
from binlogkit.events.table_map import TableMap
from binlogkit.rows.ddl import TableChange
from binlogkit.rows.losses import Loss
from binlogkit.rows.options import ReadOptions
from binlogkit.rows.schema import TableSchema
from binlogkit.rows.series import AllSeries, Head, Series, SourceTables
from binlogkit.rows.table_history import TableHistory
from binlogkit.sources.carriers import Carrier
from binlogkit.sources.raw import RawEvent
from tests.reference.binlogkit_reference.memberships import Membership, Memberships, unread_map
from tests.reference.binlogkit_reference.stored import StoredEvent, StoredLog, read_log
from tests.reference.binlogkit_reference.tracker import Tracked

__all__ = ["Step", "Walk"]

ROWS_EVENTS = (23, 24, 25, 30, 31, 32, 39)

SEQ_SHIFT = 32
# A rows event for this id carries no rows: it only ends a statement (server's sources, rpl).
DUMMY_TABLE_ID = 0xFFFFFF
_NO_MAP = (
    "no TABLE_MAP_EVENT for table id {table_id} before it: the log begins inside a statement, and "
    "its rows for this id cannot be read"
)
_EARLY = (
    "the rows for table id {table_id} cannot be read: logs before 5.1.18 do not say how they "
    "are stored (events/early.py)"
)


@dataclass
class Step:
    """One event in its context.

    ``seq``: its place, shifted left by 32 bits so that the rows of an event follow; ``first``,
    ``last``: whether it stands in the first and the last log; ``schema``: of a rows event's table;
    ``query``: the original statement that a Rows_query event gave; ``changes``: what a statement
    does to tables; ``server_version``: of the log.
    """

    event: Event
    seq: int
    first: bool
    last: bool
    transaction: Tracked | None
    schema: TableSchema | None = None
    query: str | None = None
    changes: list[TableChange] = field(default_factory=list)
    server_version: str = ""


class Walk:
    """The steps of logs; ``damages``, ``losses``, ``loose`` and ``tables`` as of a Reading."""

    def __init__(self, carriers: Sequence[Carrier], options: ReadOptions | None = None) -> None:
        self.carriers = carriers
        self.options = options or ReadOptions()
        self.damages: list[DamageError] = []
        self.losses: list[Loss] = []
        self.loose: dict[str, int] = {}
        self.tables = TableHistory(self.options)
        self._server_version = ""
        self._maps: dict[int, TableSchema | None] = {}  # None: of a map that cannot be read
        self._in_statement = False
        self._before: Tracked | None = None  # of the last event
        self._unread: set[int] = set()
        self._ordinal = 0
        self._all_series = AllSeries(self.tables.catalog)
        self._series: Series | None = None  # of the log that is read
        self._source: SourceTables | None = None  # whose tables are known just now

    def __iter__(self) -> Iterator[Step]:
        logs = list(self._logs())
        unreadable: InputError | None = None
        for log, of_log in zip(logs, _memberships(logs), strict=True):
            last = len(logs) == len(self.carriers) and log is logs[-1]
            yield from self._steps(log, of_log, log is logs[0], last)
            if isinstance(log.error, InputError):
                unreadable = unreadable.and_also(log.error) if unreadable else log.error
            elif log.error is not None:
                raise log.error
        if unreadable is not None:
            raise unreadable

    def _logs(self) -> Iterator[StoredLog]:
        """The logs, up to one that ends the reading."""
        before: StoredLog | None = None
        for carrier in self.carriers:
            before = log = read_log(carrier, self.options.on_damage, before)
            yield log
            if log.error is not None and not isinstance(log.error, InputError):
                return

    def _steps(
        self, log: StoredLog, of_log: list[Membership], first: bool, last: bool
    ) -> Iterator[Step]:
        if not log.relay:
            self._in_statement = False
        self._forget_maps()
        if log.loose:
            self.loose.setdefault(log.carrier.name, 0)
        query: str | None = None
        if log.events:
            self._series = self._find_series(log)
        for stored, (transaction, ends) in zip(log.events, of_log, strict=True):
            if transaction is not self._before:
                self._before, query, self._in_statement = transaction, None, False
            step = Step(stored.event, self._ordinal << SEQ_SHIFT, first, last, transaction)
            self._ordinal += 1
            self._meet(stored)
            body = stored.event.body
            if stored.event.raw.header.type_code == EventType.ROWS_QUERY_LOG_EVENT:
                query = body.query if isinstance(body, RowsQuery) else None
            step.query = query
            self._take_or_tell(step)
            yield step
            if _ends_statement(stored.event):
                query = None
            ended = isinstance(body, RowsEvent) and body.flags & RowsFlag.STMT_END
            if ended and log.loose and transaction is not None and transaction.alone:
                self.loose[log.carrier.name] += 1
            if isinstance(body, Rotate) and step.event.raw.header.log_pos and self._series:
                at = step.event.raw.header.timestamp
                self._series.next_name, self._series.rotated = body.name, at
            if ends:
                self._in_statement = False
                if transaction is not None and transaction.gtid and self._series:
                    self._series.gtids.add_set(GtidSet.parse(transaction.gtid))
        self.damages += log.damages
        self.losses += log.losses

    def _find_series(self, log: StoredLog) -> Series:
        """Which logs this one goes on with; their tables are taken up."""
        begins = log.events[0].event
        following = log.events[1].event.body if len(log.events) > 1 else None
        previous = None
        if isinstance(begins.body, (FormatDescription, StartV3)) and isinstance(
            following, PreviousGtids
        ):
            previous = GtidSet.parse(following.gtid_set)
        header = begins.raw.header
        head = Head(
            log.carrier.name, self.options.source or log.carrier.source, header.server_id,
            log.relay, header.timestamp, previous,
        )  # fmt: skip
        series = self._all_series.of(head)
        if series.source is not self._source:
            if self._source is not None:
                self._source.catalog = self.tables.catalog
                self._source.tracked = self.tables.tracked
            self._source = series.source
            self.tables.take_over(series.source)
        return series

    def _meet(self, stored: StoredEvent) -> None:
        self.damages += stored.damages
        self.losses += stored.losses
        if stored.lost:
            self._in_statement = False  # what was open need not go on behind what was lost

    def _take_or_tell(self, step: Step) -> None:
        try:
            self._take(step, step.event.body)
        except DamageError as error:
            if self.options.on_damage == "stop":
                raise
            self.damages.append(error)

    def _take(self, step: Step, body: object) -> None:
        raw = step.event.raw
        step.server_version = self._server_version
        if isinstance(body, (FormatDescription, StartV3)):
            self._forget_maps()
            self._unread.clear()
            self._server_version = body.server_version
            self.tables.catalog.server_version = body.server_version
        elif isinstance(body, TableMap):
            self._take_map(raw, body)
        elif unread_map(step.event):
            self._in_statement = True
            self._maps[int.from_bytes(raw.body[:6], "little")] = None
        elif isinstance(body, RowsEvent):
            step.schema = self._maps.get(body.table_id)
            self._in_statement = not body.flags & RowsFlag.STMT_END
            if body.table_id not in self._maps and body.table_id != DUMMY_TABLE_ID:
                self._tell_unread(raw, body.table_id, _NO_MAP)
        elif isinstance(body, EarlyRows):
            self._tell_unread(raw, body.table_id, _EARLY)
        elif isinstance(body, (Load, CreateFile)):
            load = body if isinstance(body, Load) else body.load
            step.changes = [TableChange("statement_write", load.db, load.table)]
        elif isinstance(body, (Query, ExecuteLoadQuery)):
            second = raw.header.timestamp
            step.changes = self.tables.apply(body, second=second)
        elif isinstance(body, Incident):
            told = f"{body.incident}: {body.message}" if body.message else body.incident
            step.changes = [TableChange("incident", "", "", reason=told)]

    def _forget_maps(self) -> None:
        """Table ids are a log's own. A relay log may end inside a statement, and the next go on."""
        if not self._in_statement:
            self._maps.clear()

    def _take_map(self, raw: RawEvent, table_map: TableMap) -> None:
        self._in_statement = True
        self._maps[table_map.table_id] = None
        if table_map.types and not table_map.nullable:  # a server before 5.1.4
            self._tell_unread(raw, table_map.table_id, _EARLY)
        else:
            self._maps[table_map.table_id] = self.tables.schema(table_map, raw.file, raw.pos)
            self._unread.discard(table_map.table_id)

    def _tell_unread(self, raw: RawEvent, table_id: int, reason: str) -> None:
        """Rows that cannot be read though framing is intact: reported once per table id."""
        if table_id in self._unread:
            return
        self._unread.add(table_id)
        text = reason.format(table_id=table_id)
        self.damages.append(MalformedEventError(raw.file, raw.pos, text, "table_id"))


def _ends_statement(event: Event) -> bool:
    """Whether rows say that they are the last of their statement, also those that are damaged."""
    raw, body = event.raw, event.body
    flags = raw.body[6:7] if raw.header.type_code in ROWS_EVENTS else b""
    told = body.flags if isinstance(body, RowsEvent) else int.from_bytes(flags)
    return bool(told & RowsFlag.STMT_END)


def _memberships(logs: Sequence[StoredLog]) -> list[list[Membership]]:
    """Those of each log's events, as they are known when all logs were read."""
    found, of_all = [], Memberships()
    for log in logs:
        if not log.relay:
            of_all.open = None
        found.append([of_all.take(stored.event, lost=stored.lost) for stored in log.events])
        if not log.relay:
            of_all.open = None
    return found
