"""Which events, transactions and row changes are wanted; the same for every door."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta, timezone, tzinfo
from math import isfinite
from numbers import Real
from typing import Unpack

from binlogkit.errors import UsageError
from binlogkit.events.gtid_set import GtidSet
from binlogkit.rows.filter_args import (
    FilterArgs,
    check_names,
    numbers,
    one_number,
    place,
    texts,
)
from binlogkit.rows.where import ALL, Where, parse_where, unquoted

OPS = ("insert", "update", "delete")
_MICROSECOND = 1_000_000
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_OFFSET = re.compile(r"([+-])([01]\d|2[0-3]):([0-5]\d)")
_NAME = re.compile(r"`((?:[^`]|``)*)`|([^.`]+)")


@dataclass(frozen=True, slots=True)
class TableName:
    """A table to match; ``db`` None matches the table in any database."""

    db: str | None
    table: str

    def __call__(self, db: str, table: str) -> bool:
        return self.table == table and self.db in (None, db)


def parse_table_name(text: str) -> TableName:
    """``db.table`` or ``table``; backquotes around names that hold dots or backquotes."""
    first = _NAME.match(text)
    if first is not None:
        name = unquoted(first)
        if first.end() == len(text):
            return TableName(None, name)
        second = _NAME.match(text, first.end() + 1)
        if text[first.end()] == "." and second is not None and second.end() == len(text):
            return TableName(name, unquoted(second))
    raise UsageError(f"not a table name: {text!r} (write db.table, or `odd.db`.`odd.table`)")


def written_table_name(*names: str) -> str:
    """``db.table`` or ``table`` as :func:`parse_table_name` reads it; odd names in backquotes."""
    plain = re.compile(r"[^.`]+")
    return ".".join(name if plain.fullmatch(name) else backquoted(name) for name in names)


def backquoted(name: str) -> str:
    """A name in backquotes, as MySQL and Spark read it."""
    return "`" + name.replace("`", "``") + "`"


def parse_time(given: str | float | datetime, timezone: str | None = None) -> int:
    """Microseconds since the epoch of an ISO 8601 time, a datetime or a number of seconds.

    Without an offset the time is in ``timezone``: a name such as Europe/Berlin, or an offset such
    as +08:00; UTC by default.
    """
    if isinstance(given, str):
        try:
            moment = datetime.fromisoformat(given)
        except ValueError as exc:
            raise UsageError(f"not an ISO 8601 time: {given!r}") from exc
    elif isinstance(given, datetime) and given == given:  # pandas' NaT is neither
        moment = given
    elif isinstance(given, Real) and not isinstance(given, bool) and isfinite(given):
        return round(given * _MICROSECOND)
    else:
        raise UsageError(f"not a time: {given!r} (ISO 8601, a datetime, or seconds since 1970)")
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=_zone(timezone))
    return int((moment - _EPOCH) // timedelta(microseconds=1))


def _zone(name: str | None) -> tzinfo:
    if name is None:
        return UTC
    offset = _OFFSET.fullmatch(name)
    if offset is not None:
        hours = timedelta(hours=int(offset[2]), minutes=int(offset[3]))
        return timezone(-hours if offset[1] == "-" else hours)
    from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

    try:
        return ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError) as exc:
        raise UsageError(f"unknown time zone {name!r}") from exc


@dataclass(frozen=True, slots=True)
class Filters:
    """The wanted events; an empty field wants all. In parentheses: the keyword of :meth:`build`.

    ``tables`` (``table``), ``exclude_tables`` (``exclude_table``): ``db.table``, or ``table`` in
    any database.
    ``ops`` (``op``): ``insert``, ``update``, ``delete``.
    ``gtids`` (``gtid``): only transactions of this set.
    ``at``: the log and the position where the wanted transaction begins (of a
    :class:`binlogkit.Log`: begins, or has an event).
    ``threads`` (``thread``): numbers of connections.
    ``server_ids`` (``server_id``): numbers of the servers that wrote the events first.
    ``sources`` (``source``): names of servers' logs. A transaction that several of these have comes
    once, whatever others have.
    ``where``: conditions on the row's values, see rows/where.py.
    ``start_position``: bytes from the beginning of the first log.
    ``stop_position``: bytes from the beginning of the last log, exclusive.
    ``start_time``, ``stop_time`` (exclusive): µs since the epoch; keywords also take ISO 8601 and
    datetime, in ``timezone`` if they have no offset. The time is the transaction's commit where the
    log has it (8.0.1+), else the event's own second.

    Damage of framing, checksums and what precedes an event's rows is reported whatever is wanted.
    Rows that a filter leaves out (all but ``where``) are not decoded, which makes filters fast, so
    damage inside them is not reported in a log without checksums, or written broken.
    ``verify(rows=True)`` decodes every row.
    """

    tables: tuple[TableName, ...] = ()
    exclude_tables: tuple[TableName, ...] = ()
    ops: frozenset[str] = frozenset()
    gtids: GtidSet | None = None
    at: tuple[str, int] | None = None
    threads: frozenset[int] = frozenset()
    server_ids: frozenset[int] = frozenset()
    sources: frozenset[str] = frozenset()
    where: Where = ALL
    start_position: int | None = None
    stop_position: int | None = None
    start_time: int | None = None
    stop_time: int | None = None

    @classmethod
    def build(cls, **given: Unpack[FilterArgs]) -> Filters:
        """Filters from what a user gives; :class:`UsageError` for what means nothing."""
        check_names(given, FilterArgs.__annotations__, "filter")
        ops, gtid = frozenset(op.lower() for op in texts("op", given.get("op"))), given.get("gtid")
        if not ops <= set(OPS):
            others = ", ".join(sorted(ops - set(OPS)))
            raise UsageError(f"op is one of {', '.join(OPS)}, not {others}")
        if not isinstance(gtid, (str, GtidSet, type(None))):
            raise UsageError(f"gtid is a set of GTIDs, not {gtid!r}")
        at, zone = given.get("at"), given.get("timezone")
        start, stop = given.get("start_time"), given.get("stop_time")
        return cls(
            tables=tuple(map(parse_table_name, texts("table", given.get("table")))),
            exclude_tables=tuple(
                map(parse_table_name, texts("exclude_table", given.get("exclude_table")))
            ),
            ops=ops,
            gtids=GtidSet.parse(gtid) if isinstance(gtid, str) else gtid,
            at=None if at is None else place(at),
            threads=numbers("thread", given.get("thread")),
            server_ids=numbers("server_id", given.get("server_id")),
            sources=frozenset(texts("source", given.get("source"))),
            where=parse_where(given.get("where")),
            start_position=one_number("start_position", given.get("start_position")),
            stop_position=one_number("stop_position", given.get("stop_position")),
            start_time=None if start is None else parse_time(start, zone),
            stop_time=None if stop is None else parse_time(stop, zone),
        )

    def without_where(self, what: str) -> Filters:
        """Itself; UsageError where rows are to be chosen by value, which ``what`` have none of."""
        if self.where:
            raise UsageError(f"where chooses row changes by their values, and {what} have none")
        return self

    @property
    def of_transactions(self) -> bool:
        """Whether some of them ask for what an event's transaction knows."""
        times = self.start_time is not None or self.stop_time is not None
        return bool(self.gtids is not None or self.at or self.threads or times)

    def wants_file(self, file: str) -> bool:
        """Whether a wanted transaction may begin in this log."""
        return self.at is None or self.at[0] in ("", file)

    def wants_table(self, db: str, table: str) -> bool:
        """Whether changes of this table are wanted."""
        if any(name(db, table) for name in self.exclude_tables):
            return False
        return not self.tables or any(name(db, table) for name in self.tables)
