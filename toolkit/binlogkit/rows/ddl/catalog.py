"""The tables of a server as the statements of a log make and change them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from binlogkit.errors import SchemaError
from binlogkit.rows.ddl.alter import AlterTable, alter_table, altered
from binlogkit.rows.ddl.charsets import Collated, collated
from binlogkit.rows.ddl.create import CreateTable, Options, build, create_table, table_options
from binlogkit.rows.ddl.keys import index_key
from binlogkit.rows.ddl.keywords import words
from binlogkit.rows.ddl.kind import StatementKind, statement_kind
from binlogkit.rows.ddl.modes import SqlMode, version_number
from binlogkit.rows.ddl.scan import leading_words
from binlogkit.rows.ddl.session import Session
from binlogkit.rows.ddl.table import Tracked, finish
from binlogkit.rows.ddl.tokens import Reader, read
from binlogkit.rows.ddl.written import written_tables
from binlogkit.rows.schema import TableDefinition

__all__ = ["Catalog", "TableChange"]

Key = tuple[str, str]


@dataclass(frozen=True, slots=True)
class TableChange:
    """What one statement did to one table.

    ``action``: create, drop, truncate, rename, alter, drop_database, statement_write or unknown;
    ``db``, ``table``: its name before (empty where it cannot be told; ``table`` is empty of
    drop_database); ``new_db``, ``new_table``: of rename; ``definition``: after the change, None
    where there is none or it is not known; ``reason``: of unknown, and what else there is to know
    (one sentence).
    """

    action: str
    db: str
    table: str
    new_db: str | None = None
    new_table: str | None = None
    definition: TableDefinition | None = None
    reason: str | None = None


class Catalog:
    """Table definitions by name, kept up to date by :meth:`apply`.

    ``server_version``: as the format description tells it, for versioned comments and defaults;
    ``default_charset``, ``default_collation``: of databases whose own are not known;
    ``lower_case_table_names``: 0 names differ by case, 1 and 2 they do not.
    """

    def __init__(
        self,
        server_version: str | None = None,
        default_charset: str | None = None,
        default_collation: str | None = None,
        lower_case_table_names: int = 0,
    ) -> None:
        self.server_version = server_version
        self._default = collated(default_charset, default_collation, self._version)
        self._fold = lower_case_table_names
        self._tables: dict[Key, Tracked] = {}
        self._unknown: dict[Key, str] = {}
        self._databases: dict[str, Collated] = {}
        self._temporary: dict[tuple[int | None, str, str], Tracked | None] = {}

    @property
    def server_version(self) -> str | None:
        """The version as it was given; a log that goes on under another server sets it anew."""
        return self._server_version

    @server_version.setter
    def server_version(self, version: str | None) -> None:
        self._server_version = version
        self._version = version_number(version)

    def copy(self) -> Catalog:
        """An independent catalog with the same content."""
        twin = Catalog.__new__(Catalog)
        twin.server_version = self.server_version
        twin._default = self._default
        twin._fold = self._fold
        twin._tables = dict(self._tables)
        twin._unknown = dict(self._unknown)
        twin._databases = dict(self._databases)
        twin._temporary = dict(self._temporary)
        return twin

    def at_version(self, server_version: str) -> None:
        """Read what follows as this server version does (versioned comments, defaults)."""
        self.server_version = server_version

    def table(self, db: str, table: str) -> TableDefinition | None:
        """The definition of a base table, None where it is not known."""
        found = self._tables.get(self._key(db, table))
        return None if found is None else found.definition()

    def tables(self) -> list[TableDefinition]:
        """Every known definition, by database and name."""
        return [self._tables[key].definition() for key in sorted(self._tables)]

    def is_unknown(self, db: str, table: str) -> str | None:
        """Why the schema of a table is not known from some statement on; None otherwise."""
        return self._unknown.get(self._key(db, table))

    def put(self, table: Tracked) -> None:
        """Enter a table that is known from elsewhere (a server's information_schema)."""
        self._set(table.db, table.table, table)

    def put_database(self, db: str, default: Collated) -> None:
        """Enter a database's default character set."""
        self._databases[self._name(db)] = default

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
    ) -> list[TableChange]:
        """What ``sql`` did, in order; the catalog holds it afterwards.

        The keyword arguments are what the Query event tells of its session, None where it tells
        nothing. No text raises: one that is not understood gives an ``unknown`` change, and its
        table is unknown until it is created or dropped.
        """
        if explicit_defaults_for_timestamp is None:
            explicit_defaults_for_timestamp = self._version >= 80002
        session = Session(
            version=self._version,
            mode=SqlMode(sql_mode or 0),
            default_db=default_db,
            server=collated(None, collation_server, self._version),
            database=collated(None, collation_database, self._version),
            explicit_timestamp=explicit_defaults_for_timestamp,
            utf8mb4_collation=default_collation_for_utf8mb4,
            thread=thread_id,
        )
        kind = statement_kind(sql, sql_mode, self._version)
        if kind is StatementKind.DML:
            return self._written(sql, session)
        if kind is not StatementKind.DDL:
            return []
        handler = _handler(leading_words(sql, 3, session.mode, session.version))
        if handler is None:
            return []
        return self._handled(handler, sql, session)

    def _handled(self, handler: _Handler, sql: str, session: Session) -> list[TableChange]:
        try:
            reader = read(sql, session.mode, session.version)
        except SchemaError as exc:
            return [TableChange("unknown", session.default_db or "", "", reason=str(exc))]
        try:
            return handler(self, reader, session)
        except SchemaError as exc:
            return self._not_understood(read(sql, session.mode, session.version), session, str(exc))

    def _not_understood(self, reader: Reader, session: Session, reason: str) -> list[TableChange]:
        """Mark the table that the statement names, if that much can be read."""
        reader.skip_until("TABLE", "TABLES", "ON")
        try:
            reader.take()
            reader.accept("IF", "NOT", "EXISTS")
            reader.accept("IF", "EXISTS")
            db, table = self._full(reader.qualified(), session)
        except SchemaError:
            return [TableChange("unknown", session.default_db or "", "", reason=reason)]
        return [self._lose(db, table, reason)]

    # -- names

    def _name(self, name: str) -> str:
        return name.lower() if self._fold else name

    def _key(self, db: str, table: str) -> Key:
        return self._name(db), self._name(table)

    def _full(self, name: tuple[str | None, str], session: Session) -> Key:
        """``(db, table)`` with the default database filled in."""
        db, table = name
        db = session.default_db if db is None else db
        if db is None:
            raise SchemaError("the table's database is not known: no default database")
        return (db.lower(), table.lower()) if self._fold == 1 else (db, table)

    def _set(self, db: str, table: str, tracked: Tracked) -> None:
        key = self._key(db, table)
        self._tables[key] = tracked
        self._unknown.pop(key, None)

    def _forget(self, db: str, table: str) -> None:
        key = self._key(db, table)
        self._tables.pop(key, None)
        self._unknown.pop(key, None)

    def _lose(self, db: str, table: str, reason: str) -> TableChange:
        """The table's schema is unknown from here."""
        self._forget(db, table)
        self._unknown[self._key(db, table)] = reason
        return TableChange("unknown", db, table, reason=reason)

    def _database(self, db: str, session: Session) -> Collated:
        """The default character set of ``db``, unknown where nothing says."""
        known = self._databases.get(self._name(db))
        if known is not None and known.charset is not None:
            return known
        current = session.default_db
        if current is None or self._name(current) != self._name(db):
            return self._default
        return self._default if session.database.charset is None else session.database

    def _temp_key(self, db: str, table: str, session: Session) -> tuple[int | None, str, str]:
        return session.thread, *self._key(db, table)

    # -- statements

    def _written(self, sql: str, session: Session) -> list[TableChange]:
        names = written_tables(sql, session.default_db, int(session.mode), session.version)
        if names is None:
            reason = "the statement does not tell which tables it writes"
            return [TableChange("statement_write", "", "", reason=reason)]
        changes = []
        for db, table in names:
            if db is not None and self._temp_key(db, table, session) in self._temporary:
                continue
            known = None if db is None else self.table(db, table)
            changes.append(TableChange("statement_write", db or "", table, definition=known))
        return changes

    def _create_table(self, reader: Reader, session: Session) -> list[TableChange]:
        parsed = create_table(reader, session)
        db, table = self._full((parsed.db, parsed.table), session)
        parsed.table = table
        if parsed.temporary:
            self._temporary[self._temp_key(db, table, session)] = self._made(parsed, db, session)
            return []
        known = self._tables.get(self._key(db, table))
        if parsed.if_not_exists and known is not None:
            return []
        made = self._made(parsed, db, session)
        if made is None:
            return [self._lose(db, table, _why_not(parsed))]
        self._set(db, table, made)
        reason = None
        if parsed.if_not_exists:
            reason = "IF NOT EXISTS: it may have existed before with another definition"
        return [TableChange("create", db, table, definition=made.definition(), reason=reason)]

    def _made(self, parsed: CreateTable, db: str, session: Session) -> Tracked | None:
        """The table that CREATE TABLE makes; None where the statement does not tell its columns."""
        if parsed.query:
            return None
        if parsed.like is None:
            return build(parsed, db, self._database(db, session), session)
        model_db, model = self._full(parsed.like, session)
        temporary = self._temporary.get(self._temp_key(model_db, model, session))
        source = temporary or self._tables.get(self._key(model_db, model))
        if source is None:
            return None
        return replace(source, db=db, table=parsed.table, foreign=())

    def _alter_table(self, reader: Reader, session: Session) -> list[TableChange]:
        parsed = alter_table(reader, session)
        db, table = self._full((parsed.db, parsed.table), session)
        temp_key = self._temp_key(db, table, session)
        if temp_key in self._temporary:
            self._alter_temporary(temp_key, parsed, session)
            return []
        changes = []
        known = self._tables.get(self._key(db, table))
        if known is not None:
            known = altered(known, parsed, self._database(db, session), session)
            self._set(db, table, known)
        definition = None if known is None else known.definition()
        only_renamed = parsed == AlterTable(parsed.db, parsed.table, new_name=parsed.new_name)
        if not (only_renamed and parsed.new_name is not None):
            reason = self._unknown.get(self._key(db, table))
            changes.append(TableChange("alter", db, table, definition=definition, reason=reason))
        changes.extend(self._moved_rows(parsed, db, table, session))
        if parsed.new_name is not None:
            changes.append(self._renamed((db, table), self._full(parsed.new_name, session)))
        return changes

    def _moved_rows(
        self, parsed: AlterTable, db: str, table: str, session: Session
    ) -> list[TableChange]:
        """Changes of rows that ALTER TABLE makes without row events."""
        names = [(db, table)] if parsed.rows else []
        if parsed.exchanged is not None:
            names.append(self._full(parsed.exchanged, session))
        return [
            TableChange(
                "statement_write", *name, definition=self.table(*name), reason=parsed.rows[0]
            )
            for name in names
        ]

    def _alter_temporary(
        self, key: tuple[int | None, str, str], parsed: AlterTable, session: Session
    ) -> None:
        known = self._temporary.pop(key)
        if known is not None:
            try:
                known = altered(known, parsed, self._database(known.db, session), session)
            except SchemaError:
                known = None
        if parsed.new_name is not None:
            db, table = self._full(parsed.new_name, session)
            key = self._temp_key(db, table, session)
        self._temporary[key] = known

    def _renamed(self, old: Key, new: Key) -> TableChange:
        """Move what is known of a table to its new name, and where it is a parent."""
        known = self._tables.get(self._key(*old))
        reason = self._unknown.get(self._key(*old))
        self._forget(*old)
        self._forget(*new)
        if known is not None:
            self._set(*new, _moved(known, new))
            known = self._tables[self._key(*new)]
        elif reason is not None:
            self._unknown[self._key(*new)] = reason
        for key, child in list(self._tables.items()):
            if any((fk.db or child.db, fk.table) == old for fk in child.foreign):
                self._tables[key] = _reparented(child, old, new)
        definition = None if known is None else known.definition()
        return TableChange("rename", *old, *new, definition=definition, reason=reason)

    def _rename_table(self, reader: Reader, session: Session) -> list[TableChange]:
        reader.expect("RENAME")
        if not reader.accept_any("TABLE", "TABLES"):
            reader.fail("TABLE expected")
        pairs = []
        while True:
            old = self._full(reader.qualified(), session)
            reader.expect("TO")
            pairs.append((old, self._full(reader.qualified(), session)))
            if not reader.accept(","):
                break
        if not reader.done:
            reader.fail("RENAME TABLE goes on")
        return [self._renamed(old, new) for old, new in pairs]

    def _drop_table(self, reader: Reader, session: Session) -> list[TableChange]:
        reader.expect("DROP")
        temporary = reader.accept("TEMPORARY")
        if not reader.accept_any("TABLE", "TABLES"):
            reader.fail("TABLE expected")
        reader.accept("IF", "EXISTS")
        names = [self._full(reader.qualified(), session)]
        while reader.accept(","):
            names.append(self._full(reader.qualified(), session))
        changes = []
        for name in names:
            was_temporary = self._temp_key(*name, session) in self._temporary
            self._temporary.pop(self._temp_key(*name, session), None)
            if temporary or was_temporary:
                continue
            self._forget(*name)
            changes.append(TableChange("drop", *name))
        return changes

    def _truncate(self, reader: Reader, session: Session) -> list[TableChange]:
        reader.expect("TRUNCATE")
        reader.accept("TABLE")
        name = self._full(reader.qualified(), session)
        if self._temp_key(*name, session) in self._temporary:
            return []
        return [TableChange("truncate", *name, definition=self.table(*name))]

    def _create_index(self, reader: Reader, session: Session) -> list[TableChange]:
        reader.expect("CREATE")
        reader.accept_any("ONLINE", "OFFLINE")
        kind = (reader.accept_any("UNIQUE", "FULLTEXT", "SPATIAL") or "index").lower()
        reader.expect("INDEX")
        name, key = index_key(reader, kind)
        return self._indexed(name, session, AlterTable(*name, keys=[key]))

    def _drop_index(self, reader: Reader, session: Session) -> list[TableChange]:
        reader.expect("DROP")
        reader.accept_any("ONLINE", "OFFLINE")
        reader.expect("INDEX")
        index = reader.identifier()
        reader.expect("ON")
        name = reader.qualified()
        return self._indexed(name, session, AlterTable(*name, dropped_keys=[index]))

    def _indexed(
        self, name: tuple[str | None, str], session: Session, change: AlterTable
    ) -> list[TableChange]:
        db, table = self._full(name, session)
        temp_key = self._temp_key(db, table, session)
        if temp_key in self._temporary:
            self._alter_temporary(temp_key, change, session)
            return []
        known = self._tables.get(self._key(db, table))
        if known is not None:
            known = altered(known, change, self._database(db, session), session)
            self._set(db, table, known)
        definition = None if known is None else known.definition()
        return [TableChange("alter", db, table, definition=definition)]

    def _create_database(self, reader: Reader, session: Session) -> list[TableChange]:
        reader.expect("CREATE")
        reader.take()
        exists = reader.accept("IF", "NOT", "EXISTS")
        db = reader.identifier()
        if exists and self._name(db) in self._databases:
            return []
        options = Options()
        table_options(reader, options)
        default = session.collated(options.charset, options.collation)
        if default.charset is None:
            default = session.server if session.server.charset is not None else self._default
        self._databases[self._name(db)] = default
        return []

    def _alter_database(self, reader: Reader, session: Session) -> list[TableChange]:
        reader.expect("ALTER")
        reader.take()
        db = session.default_db
        if not reader.sees_any(_DATABASE_OPTIONS):
            db = reader.identifier()
        options = Options()
        reader.accept("READ")
        if not reader.accept("ONLY"):
            table_options(reader, options)
        default = session.collated(options.charset, options.collation)
        if db is not None and default.charset is not None:
            self._databases[self._name(db)] = default
        return []

    def _drop_database(self, reader: Reader, _: Session) -> list[TableChange]:
        reader.expect("DROP")
        reader.take()
        reader.accept("IF", "EXISTS")
        db = reader.identifier()
        name = self._name(db)
        for key in [key for key in (*self._tables, *self._unknown) if key[0] == name]:
            self._tables.pop(key, None)
            self._unknown.pop(key, None)
        self._databases.pop(name, None)
        return [TableChange("drop_database", db, "")]


def _why_not(parsed: CreateTable) -> str:
    """Why CREATE TABLE does not tell the columns."""
    if parsed.query:
        return "CREATE TABLE … SELECT does not tell the columns that the SELECT gives"
    return "CREATE TABLE … LIKE a table whose definition is not known"


def _moved(table: Tracked, new: Key) -> Tracked:
    """``table`` under a new name; names that InnoDB made of the old one follow it."""
    foreign = tuple(
        replace(
            fk,
            db=fk.db or (table.db if table.db != new[0] else None),
            name=fk.name and (new[1] + fk.name[len(table.table) :] if fk.generated else fk.name),
        )
        for fk in table.foreign
    )
    return replace(table, db=new[0], table=new[1], foreign=foreign)


def _reparented(child: Tracked, old: Key, new: Key) -> Tracked:
    """``child`` with foreign keys to ``old`` going to ``new``."""
    foreign = tuple(
        replace(fk, db=new[0], table=new[1]) if (fk.db or child.db, fk.table) == old else fk
        for fk in child.foreign
    )
    return finish(replace(child, foreign=foreign))


_DATABASE_OPTIONS = frozenset(words("DEFAULT CHARACTER CHARSET CHAR COLLATE ENCRYPTION READ"))

_Handler = Callable[[Catalog, Reader, Session], list[TableChange]]

_HANDLERS: dict[tuple[str, str], _Handler] = {
    ("CREATE", "TABLE"): Catalog._create_table,
    ("CREATE", "TEMPORARY"): Catalog._create_table,
    ("ALTER", "TABLE"): Catalog._alter_table,
    ("ALTER", "ONLINE"): Catalog._alter_table,
    ("ALTER", "OFFLINE"): Catalog._alter_table,
    ("ALTER", "IGNORE"): Catalog._alter_table,
    ("DROP", "TABLE"): Catalog._drop_table,
    ("DROP", "TABLES"): Catalog._drop_table,
    ("DROP", "TEMPORARY"): Catalog._drop_table,
    ("RENAME", "TABLE"): Catalog._rename_table,
    ("RENAME", "TABLES"): Catalog._rename_table,
    **{
        ("CREATE", word): Catalog._create_index
        for word in words("INDEX UNIQUE FULLTEXT SPATIAL ONLINE OFFLINE")
    },
    **{("DROP", word): Catalog._drop_index for word in words("INDEX ONLINE OFFLINE")},
    **{("CREATE", word): Catalog._create_database for word in ("DATABASE", "SCHEMA")},
    **{("ALTER", word): Catalog._alter_database for word in ("DATABASE", "SCHEMA")},
    **{("DROP", word): Catalog._drop_database for word in ("DATABASE", "SCHEMA")},
}


def _handler(words: list[str]) -> _Handler | None:
    """What reads a statement that begins so; None where it changes no table."""
    if words[:1] == ["TRUNCATE"]:
        return Catalog._truncate
    return _HANDLERS.get((words[0], words[1])) if len(words) > 1 else None
