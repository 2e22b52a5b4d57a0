"""The tables of a server as the statements of a log make and change them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from binlogkit.errors import SchemaError
from binlogkit.rows.ddl.charsets import collated
from binlogkit.rows.ddl.kind import StatementKind, statement_kind
from binlogkit.rows.ddl.scan import leading_words
from binlogkit.rows.ddl.session import Acted, Session, SqlMode, version_number
from binlogkit.rows.ddl.store import TableStore
from binlogkit.rows.ddl.tokens import Reader, read
from binlogkit.rows.schema import TableChange, TableDefinition

if TYPE_CHECKING:
    from binlogkit.rows.ddl.statements import Handler

_EXPLICIT_TIMESTAMPS_SINCE = 80002  # explicit_defaults_for_timestamp is on by default (manual)


class Catalog(TableStore):
    """Table definitions by name, kept up to date by :meth:`apply`.

    ``server_version``: as the format description has it, for versioned comments and defaults;
    ``lower_case_table_names``: 0 names differ by case, 1 and 2 they do not.
    """

    def __init__(
        self, server_version: str | None = None, *, lower_case_table_names: int = 0
    ) -> None:
        self.server_version = server_version
        super().__init__(lower_case_table_names)

    @property
    def server_version(self) -> str | None:
        """The version as it was given; a log that continues under another server sets it anew."""
        return self._server_version

    @server_version.setter
    def server_version(self, version: str | None) -> None:
        self._server_version = version
        self._version = version_number(version)

    def mapped(self, db: str, table: str) -> TableDefinition | None:
        """The definition of a table by the name that a table map gives it.

        A name in small letters that only a statement in capitals explains shows a server with
        lower_case_table_names=1: names are folded from there on, and :attr:`folded` says so.
        """
        if self.stands_folded((db, table)):
            self.fold_names()
        return self.table(db, table)

    @property
    def folded(self) -> bool:
        """Whether names are compared without case."""
        return bool(self.fold)

    def apply(
        self,
        sql: str,
        *,
        default_db: str | None,
        sql_mode: int | None = None,
        collation_server: str | None = None,
        collation_database: str | None = None,
        explicit_defaults_for_timestamp: bool | None = None,
        default_collation_for_utf8mb4: str | None = None,
        thread_id: int | None = None,
        foreign_key_checks: bool | None = None,
        acted: Acted = Acted.AS_KNOWN,
        place: str = "",
    ) -> list[TableChange]:
        """What ``sql`` did, in order; the catalog holds it afterwards.

        The keyword arguments are what the Query event says of its session, None where it says
        nothing. No text raises: one that is not understood gives an ``unknown`` change, and its
        table is unknown until it is created or dropped.
        """
        kind = statement_kind(sql, sql_mode, self._version)
        if kind is StatementKind.DML:
            return self._written(sql, default_db, sql_mode or 0, thread_id)
        if kind is not StatementKind.DDL:
            return []
        if explicit_defaults_for_timestamp is None:
            explicit_defaults_for_timestamp = self._version >= _EXPLICIT_TIMESTAMPS_SINCE
        session = Session(
            version=self._version,
            mode=SqlMode(sql_mode or 0),
            default_db=default_db,
            server=collated(None, collation_server, self._version),
            database=collated(None, collation_database, self._version),
            explicit_timestamp=explicit_defaults_for_timestamp,
            utf8mb4_collation=default_collation_for_utf8mb4,
            thread=thread_id,
            foreign_keys=bool(foreign_key_checks),
            acted=acted,
            place=place,
        )
        from binlogkit.rows.ddl.statements import handler_for

        handler = handler_for(leading_words(sql, 2, session.mode, session.version))
        return [] if handler is None else self._handled(handler, sql, session)

    def _handled(self, handler: Handler, sql: str, session: Session) -> list[TableChange]:
        try:
            reader = read(sql, session)
        except SchemaError as exc:
            self.doubt_names()
            return [TableChange("unknown", session.default_db or "", "", reason=str(exc))]
        try:
            return handler(self, reader)
        except SchemaError as exc:
            reader.rewind()
            return [self._not_understood(reader, str(exc))]

    def _not_understood(self, reader: Reader, reason: str) -> TableChange:
        """Mark the table that the statement names, if that much can be read."""
        try:
            if not reader.accept("TRUNCATE"):
                reader.skip_until("TABLE", "TABLES", "ON")
            reader.accept_any("TABLE", "TABLES", "ON")
            reader.accept("IF", "NOT", "EXISTS")
            reader.accept("IF", "EXISTS")
            name = self.full(reader.qualified(), reader.session)
        except SchemaError:
            self.doubt_names()
            return TableChange("unknown", reader.session.default_db or "", "", reason=reason)
        return self.lose(name, reason)

    def _written(
        self, sql: str, default_db: str | None, mode: int, thread: int | None
    ) -> list[TableChange]:
        from binlogkit.rows.ddl.written import written

        done = written(sql, default_db, mode, self._version)
        names, read = done.names, done.reads
        if names is None:
            reason = "the statement does not name the tables that it writes"
            return [TableChange("statement_write", "", "", reason=reason)]
        reads = (
            None if read is None else tuple((d or "", t) for d, t in read if (d, t) not in names)
        )
        changes = []
        for db, table in names:
            name = (db or "", table)
            if not self.is_temporary(name, thread):
                changes.append(
                    TableChange(
                        "statement_write",
                        *name,
                        definition=self.table(*name),
                        reads=reads,
                        alone=self.writes_alone(name, reads),
                        deletes_all=done.everything,
                    )
                )
        return changes
