"""A running server's tables as of one moment, row by row, as decoded rows have them.

Values come as texts of the server's, and are read like those of a dump: but each text in its own
column's character set, and numbers with all their digits.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import cached_property

import pyarrow as pa

from binlogkit.constants import TableId
from binlogkit.errors import ServerError, UsageError
from binlogkit.events.gtid_set import GtidSet
from binlogkit.frames.arrow_types import column_field
from binlogkit.frames.snapshots.facts import StateFacts
from binlogkit.frames.snapshots.inserts import NULL, STRING
from binlogkit.frames.snapshots.literals import Dialect, reader_of
from binlogkit.frames.snapshots.snapshot import Snapshot, TableSnapshot
from binlogkit.frames.snapshots.values import Columns, Misread
from binlogkit.rows.ddl.server import from_server
from binlogkit.rows.defined import column_of
from binlogkit.rows.resolve import key_of
from binlogkit.rows.schema import ColumnDefinition, TableDefinition
from binlogkit.sources.connection import ServerSettings, parse_url, quoted
from binlogkit.sources.server.consistent import ConsistentTables, Lock, shown

# A FLOAT's own text has six digits (5.7) or is rounded to its width; that of a DOUBLE reads back to
# the same value, unless it is declared with digits.
_EXACT = {"float": "{} * 1e0", "double": "{} * 1e0"}
_NULL = (NULL, None)


class ServerTables:
    """The tables of a server that are ``wanted``, and those above them by foreign keys.

    ``definitions``: by name, sorted; ``file``, ``pos``, ``gtids``: where they are, each None where
    the server does not log or has none. To be closed; until then DDL on these tables waits.
    Errors: ServerError and its kinds, UsageError (a table that cannot be read so).
    """

    def __init__(
        self,
        server: str | ServerSettings,
        wanted: Callable[[TableId], bool] = lambda _: True,
        lock: Lock | str = Lock.TABLES,
    ) -> None:
        if isinstance(server, str):
            settings, path = parse_url(server)
            if path:
                raise UsageError("tables of a server are named apart from its address")
        else:
            settings = server
        if lock not in list(Lock):
            raise UsageError(f"lock is one of {', '.join(Lock)}, not {lock!r}")
        lock = Lock(lock)
        self._tables = tables = ConsistentTables(settings, wanted, lock)
        self._query = tables.query
        self.name = f"mysql://{tables.server}"
        self.file, self.pos = tables.file, tables.pos
        self.gtids = GtidSet.parse(tables.gtids) if tables.gtids.strip() else None
        try:
            self.catalog = from_server(self._query, tables.names)
            known = {(one.db, one.table): one for one in self.catalog.tables()}
            for name in tables.names:
                if name not in known:
                    raise ServerError(f"{shown(name)} is not understood", server=tables.server)
                self._check(known[name], held=lock is Lock.HELD)
            self.definitions = {name: known[name] for name in tables.names}
        except BaseException:
            self.close()
            raise

    def _check(self, table: TableDefinition, *, held: bool) -> None:
        """Whether the snapshot holds for a table."""
        name = shown((table.db, table.table))
        engine = (table.engine or "").upper()
        if not held and engine not in self._tables.transactional:
            raise UsageError(
                f"{name}: {table.engine or 'its engine'} has no transactions: only a lock that is "
                "held until the table is read makes its rows those of one moment (lock: held)"
            )
        missing = {".".join(n) for n in self._tables.names}.isdisjoint
        for parent in table.cascades:
            if self._tables.follows_parents and missing([parent]):
                raise ServerError(
                    f"{name} was altered meanwhile; try again", server=self._tables.server
                )

    @property
    def has_gtids(self) -> bool:
        """Whether all that the server logs has GTIDs."""
        mode = self._query("SHOW GLOBAL VARIABLES LIKE 'gtid_mode'")
        return bool(mode) and mode[0][1] == "ON"

    def batches(self, name: TableId, doubts: dict[str, int]) -> Iterator[pa.RecordBatch]:
        """A table's rows in the order of its primary key, as batches like those of a state;
        ``doubts`` get why cells are unknown, and how many."""
        return self._batches(name, doubts, self._tables.rows(_select(self.definitions[name])))

    def in_chunks(self, name: TableId, key: Sequence[str]) -> bool:
        """Whether a table can be read in chunks, and what was written meanwhile be carried out on
        them: its rows are distinguished and ordered by a ``key`` of such types, and changed by
        what is logged only, whole values of it (no unlogged cascades, no partial JSON)."""
        definition, follows = self.definitions[name], self._tables.follows_parents
        kinds = {c.name: c for c in definition.columns}
        if not key or any(not _is_bound(kinds[column]) for column in key):
            return False
        above = {parent for one in self.definitions.values() for parent in one.cascades}
        if follows and (definition.cascades or ".".join(name) in above):
            return False
        has_json = any(column.type == "json" for column in definition.columns)
        return not (has_json and self._partial_json)

    @cached_property
    def _partial_json(self) -> bool:
        """Whether the server logs differences of JSON values (8.0.3)."""
        found = self._query("SHOW GLOBAL VARIABLES LIKE 'binlog_row_value_options'")
        return bool(found and found[0][1])

    def release(self) -> None:
        """End the moment: DDL may resume; what is read from here on is as it is then."""
        self._query("COMMIT")

    def end(self) -> tuple[str, int]:
        """Where the log ends now. ServerError: it is written no more."""
        file, pos = self._tables.end()
        if file is None or pos is None:
            raise ServerError("it has no binary log any more", server=self._tables.server)
        return file, pos

    def chunks(
        self, name: TableId, key: Sequence[str], rows: int, doubts: dict[str, int]
    ) -> Iterator[pa.RecordBatch]:
        """A table's rows, so many at a time: each chunk as it is when it is read, after the key
        with which the one before ended."""
        definition = self.definitions[name]
        kinds = {column.name: column for column in definition.columns}
        places = [list(kinds).index(column) for column in key]
        last: list[str] | None = None
        count = rows
        while count == rows:
            sql = _select(definition, key, _behind(key, last), rows)
            found = list(self._tables.rows(sql))
            count = len(found)
            yield from self._batches(name, doubts, iter(found))
            if found:
                values = [found[-1][place] for place in places]
                last = [_bound(kinds[c], v or b"") for c, v in zip(key, values, strict=True)]

    def _batches(
        self, name: TableId, doubts: dict[str, int], rows: Iterator[tuple[bytes | None, ...]]
    ) -> Iterator[pa.RecordBatch]:
        definition = self.definitions[name]
        columns = Columns([column_field(column_of(c)) for c in definition.columns])
        dialect = Dialect("binary", 0, doubts, exact=True)
        reads = [
            reader_of(column, made, dialect)
            for column, made in zip(definition.columns, columns.fields, strict=True)
        ]
        try:
            for row in rows:
                cells = [
                    read(_NULL if value is None else (STRING, value))
                    for read, value in zip(reads, row, strict=True)
                ]
                columns.append(cells, sum(map(len, filter(None, row))))
                if columns.full:
                    yield columns.flush()
            if columns.waiting:
                yield columns.flush()
        except Misread as exc:
            text = f"a value of {shown(name)} cannot be read: {exc}"
            raise ServerError(text, server=self._tables.server) from exc

    def facts(self, name: TableId) -> StateFacts:
        """What its Parquet file says of a table."""
        definition = self.definitions[name]
        fields = tuple(column_field(column_of(column)) for column in definition.columns)
        key = key_of(definition)[0]
        return StateFacts(name, fields, key, True, self.file, self.pos, self.gtids, definition)

    def snapshot(self) -> Snapshot:
        """All of it, in memory."""
        tables = {}
        for name, definition in self.definitions.items():
            doubts: dict[str, int] = {}
            rows = Columns([column_field(column_of(c)) for c in definition.columns]).table(
                list(self.batches(name, doubts))
            )
            tables[name] = TableSnapshot(name, rows, definition, unknown=doubts)
        unplaced = None
        if self.file is None and self.gtids is None:
            unplaced = "the server has no binary log"
        place = (self.file, self.pos, self.gtids)
        return Snapshot(self.name, tables, *place, self.catalog, unplaced)

    def close(self) -> None:
        """Let DDL and writers on."""
        self._tables.close()

    def __enter__(self) -> ServerTables:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def _select(
    table: TableDefinition, key: Sequence[str] | None = None, where: str = "", rows: int = 0
) -> str:
    named = [(_EXACT.get(c.type, "{}"), quoted([c.name])) for c in table.columns]
    wanted = ", ".join(form.format(name) for form, name in named)
    order = ", ".join(quoted([name]) for name in (table.primary_key if key is None else key))
    sql = f"SELECT {wanted} FROM {quoted((table.db, table.table))}{where}"
    sql += f" ORDER BY {order}" if order else ""
    return f"{sql} LIMIT {rows}" if rows else sql


def _behind(key: Sequence[str], last: Sequence[str] | None) -> str:
    """The rows after a key, in a form of which servers use the index."""
    if last is None:
        return ""
    names = [quoted([name]) for name in key]
    parts = []
    for i in reversed(range(len(key))):
        same = [f"{n} = {v}" for n, v in zip(names[:i], last, strict=False)]
        parts.append(f"({' AND '.join([*same, f'{names[i]} > {last[i]}'])})")
    return f" WHERE {names[0]} >= {last[0]} AND ({' OR '.join(parts)})"


def _is_bound(column: ColumnDefinition) -> bool:
    """Whether a chunk can begin after a column's value."""
    known = column.type in _NUMBERS or column.type in _TIMES or column.type in _BINARIES
    return known or (column.type in _TEXTS and bool(column.charset))


def _bound(column: ColumnDefinition, value: bytes) -> str:
    """A key's value in SQL, as it was sent."""
    if column.type in _NUMBERS:
        return value.decode("ascii")
    if column.type in _TIMES:
        return f"'{value.decode('ascii')}'"
    text = f"x'{value.hex()}'"
    return f"_{column.charset} {text}" if column.type in _TEXTS else text


_NUMBERS = frozenset({"tinyint", "smallint", "mediumint", "int", "bigint", "decimal"})
_TIMES = frozenset({"date", "datetime", "timestamp"})
_TEXTS, _BINARIES = frozenset({"char", "varchar"}), frozenset({"binary", "varbinary"})
