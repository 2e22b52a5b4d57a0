"""Scripts of dumps: tables' definitions and rows, and where they belong, without a server.

One is a dump of mysqldump's; other dumps are folders of them (``mydumper.py``, ``shell.py``). Each
is read once, statement by statement. What could have changed the wanted tables' rows and is not
understood is refused (:class:`InputError`).
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from binlogkit._kernel.charsets import CHARSETS, canonical, decode
from binlogkit.constants import TableId
from binlogkit.errors import InputError, SchemaError, printable
from binlogkit.frames.snapshots.coordinates import Coordinates
from binlogkit.frames.snapshots.inserts import rows_in, target_of
from binlogkit.frames.snapshots.literals import Dialect
from binlogkit.frames.snapshots.snapshot import Snapshot
from binlogkit.frames.snapshots.table_rows import TableRows
from binlogkit.frames.snapshots.values import Misread
from binlogkit.rows.ddl import Catalog, StatementKind, statement_kind
from binlogkit.rows.ddl.dump import HEADER, header_facts, mode_after, used_database
from binlogkit.rows.ddl.scan import leading_words, plain
from binlogkit.rows.ddl.session import version_number
from binlogkit.rows.ddl.stream import ScriptPart, ScriptStream
from binlogkit.rows.schema import TableDefinition

_SET_NAMES = re.compile(r"\bNAMES\s+'?(\w+)'?", re.I)
_SET_CLIENT = re.compile(r"(?<![@\w])character_set_client\s*=\s*(?:'?(\w+)'?|@\w+)", re.I)
_SET_ZONE = re.compile(r"(?<![@\w])(?:@@(?:session\.)?)?time_zone\s*=\s*(?:'([^']*)'|@\w+)", re.I)
_OFFSET = re.compile(r"([+-])(\d\d):(\d\d)")
_KEYS = re.compile(r"\A\s*ALTER\s+TABLE\s+\S+\s+(DISABLE|ENABLE)\s+KEYS\s*\Z", re.I)
_LONGEST_NAMED = 4096  # characters of a statement that has but names in it
_NO_DUMP = "it is no state (JSON lines, Parquet, Arrow), and no dump, or one that is cut off"
_COMPLETED = "-- Dump completed"
# The client may not use these: a byte of a character can be a quote or a backslash.
_UNSAFE = frozenset(
    {"big5", "cp932", "gb18030", "gbk", "sjis", "ucs2", "utf16", "utf16le", "utf32"}
)
_NO_CHARSET = ("", "binary")  # where names of tables are in UTF-8, as SHOW CREATE TABLE has them
_CUT = "The dump may end inside the table's rows: nothing in it comes after them."


class DumpReader:
    """Reads a dump's scripts; ``wanted``: whether a table's rows are. ``catalog``: the definitions,
    ``tables``: the rows of the wanted tables so far."""

    def __init__(self, wanted: Callable[[TableId], bool]) -> None:
        self.catalog = Catalog(None)
        self.tables: dict[TableId, TableRows] = {}
        self.completed = False  # whether a script said so
        self.coordinates = Coordinates(" (--source-data)")
        self._wanted = wanted
        self._version = version_number(None)
        self._last: TableRows | None = None  # whose rows may continue
        self._begin("", None)

    def _begin(self, source: str, db: str | None) -> None:
        self._source, self._db = source, db
        self._names = self._client = ""  # the session's character set, empty until it is known
        self._offset: int | None = None
        self._made: list[TableId] = []
        self._end()

    def script(
        self, source: str, read: Callable[[int], bytes], head: bytes, db: str | None = None
    ) -> list[TableId]:
        """Read a script in a session of its own; the tables that it made.

        ``source``: its name, for errors; ``read``: gives its bytes; ``head``: the first of them,
        which it gives as well; ``db``: the database of tables without one, where mysqldump's header
        does not say it. Errors: InputError, LimitError, SchemaError.
        """
        version, named = header_facts(head[:HEADER].decode("utf-8", "backslashreplace"))
        if version is not None:
            self.catalog.server_version = version
            self._version = version_number(version)
        self._begin(source, named if db is None else db)
        stream = ScriptStream(read)
        for part, text in stream:
            if part is ScriptPart.COMMENT:
                self.coordinates.take(text)
                self.completed = self.completed or text.lstrip().startswith(_COMPLETED)
            elif part is ScriptPart.CUT:
                why = "it ends inside a statement" if self.tables else _NO_DUMP
                raise InputError(self._source, f"the base cannot be read: {why}")
            else:
                self._statement(stream, text)
        return self._made

    def snapshot(self, source: str, coordinates: Coordinates) -> Snapshot:
        """What was read, as ``source`` at these coordinates."""
        place, gtids, unplaced = coordinates.found()
        try:
            tables = {name: table.finish() for name, table in self.tables.items()}
        except Misread as exc:
            raise self._refused(f"an INSERT of it cannot be read: {exc}") from exc
        file, pos = place or (None, None)
        return Snapshot(source, tables, file, pos, gtids, self.catalog, unplaced)

    # ---- statements ---------------------------------------------------------------------------

    def _statement(self, stream: ScriptStream, text: str) -> None:
        mode = stream.mode
        first = next(iter(leading_words(text, 1, mode, self._version)), "")
        if first in ("INSERT", "REPLACE"):
            self._insert(text, mode)
            return
        kind = statement_kind(text, int(mode), self._version)
        if kind is StatementKind.SET:
            self.coordinates.take(text)
            stream.mode = mode_after(text, mode, self._version)
            self._set(plain(text, mode, self._version))
        elif kind is StatementKind.USE:
            bare = self._decoded(plain(text, mode, self._version))
            self._end()
            self._db = used_database(bare) or self._db
        elif kind in (StatementKind.DDL, StatementKind.DML):
            bare = plain(text, mode, self._version) if len(text) < _LONGEST_NAMED else ""
            self._change(text, int(mode), bare)
        elif first == "UNLOCK":
            self._end()
        elif first == "CHANGE":
            self.coordinates.take(plain(text, mode, self._version))
        elif first in ("LOAD", "CALL", "IMPORT", "TABLE"):
            raise self._refused("a statement of it may write rows in ways that cannot be read")

    def _set(self, text: str) -> None:
        names, client = _SET_NAMES.search(text), _SET_CLIENT.search(text)
        if names is not None:
            self._names = self._client = self._charset(names[1])
        elif client is not None:
            self._client = self._names if client[1] is None else self._charset(client[1])
        zone = _SET_ZONE.search(text)
        if zone is not None:
            found = _OFFSET.fullmatch(zone[1] or "")
            self._offset = None
            if found is not None:
                minutes = int(found[2]) * 60 + int(found[3])
                self._offset = -minutes if found[1] == "-" else minutes

    def _charset(self, name: str) -> str:
        charset = canonical(name.lower())
        if charset not in CHARSETS or charset in _UNSAFE:
            reason = f"a dump in the character set {printable(name)} is not read"
            raise InputError(self._source, reason)
        return charset

    def _decoded(self, text: str) -> str:
        """A statement's text, whose bytes each stand as one character."""
        names = self._client if self._client not in _NO_CHARSET else "utf8mb4"
        data = text.encode("latin-1")
        try:
            return decode(names, data)
        except ValueError:
            return data.decode("utf-8", "backslashreplace")

    def _change(self, text: str, mode: int, bare: str) -> None:
        """DDL, or a write that is no INSERT; ``bare``: without comments, empty for a long one."""
        if _KEYS.match(bare):
            if "ENABLE" in bare.upper().split():
                self._end()
            return
        statement = self._decoded(text)
        for change in self.catalog.apply(statement, default_db=self._db, sql_mode=mode):
            if change.action == "statement_write" and not change.table:
                raise self._refused("a statement of it may write any table")
            if not change.db:
                why = f"{change.reason}; name the database of the dump's tables (USE)"
                raise SchemaError(f"{printable(self._source)}: {why}")
            name = change.db, change.table
            if self._last is None or name != self._name(self._last):
                self._end()
            if change.action == "create" and change.definition is not None:
                self._made.append(name)
                if self._wanted(name):
                    self.tables[name] = self._last = TableRows(change.definition)
            elif change.action == "drop":
                self.tables.pop(name, None)
            elif change.action == "drop_database":
                self.tables = {n: t for n, t in self.tables.items() if n[0] != change.db}
            elif name in self.tables:
                self._altered(name, change.definition if change.action == "alter" else None)
            elif self._wanted(name):
                raise self._refused(f"the table {'.'.join(name)} cannot be followed in it", change)

    def _altered(self, name: TableId, definition: TableDefinition | None) -> None:
        """What a dump does to a table it made: keys that it adds after the rows."""
        table = self.tables[name]
        if definition is None or definition.columns != table.definition.columns:
            raise self._refused(f"it changes {'.'.join(name)} after its CREATE TABLE")
        table.definition = definition

    def _insert(self, text: str, mode: Any) -> None:
        charset = self._client if self._client not in _NO_CHARSET else "utf8mb4"
        try:
            target = target_of(text, charset)
            if target is None:
                raise Misread("it is not understood")
            db = target.db or self._db
            name = (db or "", target.table)
            table = self.tables.get(name)
            if table is None:
                if self._wanted(name):
                    raise Misread(f"the dump has no CREATE TABLE of {'.'.join(name)}")
                self._end()
                return
            if table is not self._last:
                self._end()
                self._last = table
            table.ended = False
            rows = rows_in(text, target.at, mode)
            table.take(rows, target.columns, Dialect(self._client, self._offset))
        except (Misread, ValueError) as exc:
            raise self._refused(f"an INSERT of it cannot be read: {exc}") from exc

    def _end(self) -> None:
        """Something follows the rows of the last table."""
        if self._last is not None:
            self._last.ended = True
        self._last = None

    @staticmethod
    def _name(table: TableRows) -> TableId:
        return table.definition.db, table.definition.table

    def _refused(self, what: str, change: Any = None) -> InputError:
        more = f" ({change.reason})" if change is not None and change.reason else ""
        return InputError(self._source, what + more)


def read_dump(
    source: str, read: Callable[[int], bytes], head: bytes, wanted: Callable[[TableId], bool]
) -> Snapshot:
    """The snapshot of mysqldump's script; see :meth:`DumpReader.script`."""
    reader = DumpReader(wanted)
    reader.script(source, read, head)
    for table in reader.tables.values():
        if not reader.completed and not table.ended:
            table.doubts.append(_CUT)
    return reader.snapshot(source, reader.coordinates)
