"""One function per sort of DDL statement: reads it, changes the store, tells what it did.

Each takes the store, a reader at the statement's first word, and the session; SchemaError says that
the statement is not understood.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from binlogkit.errors import SchemaError
from binlogkit.rows.ddl.alter import AlterTable, alter_table, altered
from binlogkit.rows.ddl.changes import TableChange
from binlogkit.rows.ddl.create import CreateTable, Options, build, create_table, table_options
from binlogkit.rows.ddl.keys import index_key
from binlogkit.rows.ddl.keywords import words
from binlogkit.rows.ddl.session import Session
from binlogkit.rows.ddl.store import Name, Store
from binlogkit.rows.ddl.table import Tracked
from binlogkit.rows.ddl.tokens import Reader

__all__ = ["Handler", "handler_for"]

Handler = Callable[[Store, Reader, Session], list[TableChange]]


def _ended(reader: Reader) -> None:
    """SchemaError unless the statement ends here."""
    if not reader.done:
        reader.fail("the statement should end here")


def _create_table(store: Store, reader: Reader, session: Session) -> list[TableChange]:
    parsed = create_table(reader, session)
    if not parsed.query:
        _ended(reader)
    name = store.full((parsed.db, parsed.table), session)
    parsed.table = name[1]
    if parsed.temporary:
        made = _made(store, parsed, name[0], session)
        store.temporary[store.temporary_name(name, session)] = made
        return []
    if parsed.if_not_exists and (store.table(name) or store.unknown(name)):
        return []
    made = _made(store, parsed, name[0], session)
    if made is None:
        return [store.lose(name, _why_not(parsed))]
    store.put(made)
    reason = None
    if parsed.if_not_exists:
        reason = "IF NOT EXISTS: it may have existed before with another definition"
    return [TableChange("create", *name, definition=store.definition(name), reason=reason)]


def _made(store: Store, parsed: CreateTable, db: str, session: Session) -> Tracked | None:
    """The table that CREATE TABLE makes; None where the statement does not tell its columns."""
    if parsed.query:
        return None
    if parsed.like is None:
        return build(parsed, db, store.database(db, session), session)
    model = store.full(parsed.like, session)
    source = store.temporary.get(store.temporary_name(model, session)) or store.table(model)
    if source is None:
        return None
    return replace(source, db=db, table=parsed.table, foreign=())


def _why_not(parsed: CreateTable) -> str:
    """Why CREATE TABLE does not tell the columns."""
    if parsed.query:
        return "CREATE TABLE … SELECT does not tell the columns that the SELECT gives"
    return "CREATE TABLE … LIKE a table whose definition is not known"


def _alter_table(store: Store, reader: Reader, session: Session) -> list[TableChange]:
    parsed = alter_table(reader, session)
    name = store.full((parsed.db, parsed.table), session)
    if store.is_temporary(name, session):
        _alter_temporary(store, name, parsed, session)
        return []
    changes = []
    nothing_else = AlterTable(parsed.db, parsed.table, new_name=parsed.new_name)
    if parsed.new_name is None or parsed != nothing_else:
        changes.append(_altered(store, name, parsed, session))
        changes.extend(_moved_rows(store, name, parsed, session))
    if parsed.new_name is not None:
        changes.append(store.rename(name, store.full(parsed.new_name, session)))
    return changes


def _altered(store: Store, name: Name, parsed: AlterTable, session: Session) -> TableChange:
    """Change a base table, if it is known."""
    known = store.table(name)
    if known is not None:
        store.put(altered(known, parsed, store.database(name[0], session), session))
    reason = store.unknown(name)
    return TableChange("alter", *name, definition=store.definition(name), reason=reason)


def _moved_rows(
    store: Store, name: Name, parsed: AlterTable, session: Session
) -> list[TableChange]:
    """Changes of rows that ALTER TABLE makes without row events."""
    if not parsed.rows:
        return []
    names = [name]
    if parsed.exchanged is not None:
        names.append(store.full(parsed.exchanged, session))
    return [
        TableChange(
            "statement_write", *each, definition=store.definition(each), reason=parsed.rows[0]
        )
        for each in names
    ]


def _alter_temporary(store: Store, name: Name, parsed: AlterTable, session: Session) -> None:
    known = store.temporary.pop(store.temporary_name(name, session))
    if known is not None:
        try:
            known = altered(known, parsed, store.database(known.db, session), session)
        except SchemaError:
            known = None  # it was wrong before; nothing but CREATE … LIKE asks for it
    if parsed.new_name is not None:
        name = store.full(parsed.new_name, session)
    store.temporary[store.temporary_name(name, session)] = known


def _rename_table(store: Store, reader: Reader, session: Session) -> list[TableChange]:
    reader.expect("RENAME")
    if not reader.accept_any("TABLE", "TABLES"):
        reader.fail("TABLE expected")
    pairs = []
    while True:
        old = store.full(reader.qualified(), session)
        reader.expect("TO")
        pairs.append((old, store.full(reader.qualified(), session)))
        if not reader.accept(","):
            break
    _ended(reader)
    return [store.rename(old, new) for old, new in pairs]


def _drop_table(store: Store, reader: Reader, session: Session) -> list[TableChange]:
    reader.expect("DROP")
    temporary = reader.accept("TEMPORARY")
    if not reader.accept_any("TABLE", "TABLES"):
        reader.fail("TABLE expected")
    reader.accept("IF", "EXISTS")
    names = [store.full(reader.qualified(), session)]
    while reader.accept(","):
        names.append(store.full(reader.qualified(), session))
    reader.accept_any("RESTRICT", "CASCADE")
    _ended(reader)
    changes = []
    for name in names:
        was_temporary = store.is_temporary(name, session)
        store.temporary.pop(store.temporary_name(name, session), None)
        if not (temporary or was_temporary):
            store.forget(name)
            changes.append(TableChange("drop", *name))
    return changes


def _truncate(store: Store, reader: Reader, session: Session) -> list[TableChange]:
    reader.expect("TRUNCATE")
    reader.accept("TABLE")
    name = store.full(reader.qualified(), session)
    _ended(reader)
    if store.is_temporary(name, session):
        return []
    return [TableChange("truncate", *name, definition=store.definition(name))]


def _create_index(store: Store, reader: Reader, session: Session) -> list[TableChange]:
    reader.expect("CREATE")
    reader.accept_any("ONLINE", "OFFLINE")
    kind = (reader.accept_any("UNIQUE", "FULLTEXT", "SPATIAL") or "index").lower()
    reader.expect("INDEX")
    name, key = index_key(reader, kind)
    return _indexed(store, AlterTable(*name, keys=[key]), session)


def _drop_index(store: Store, reader: Reader, session: Session) -> list[TableChange]:
    reader.expect("DROP")
    reader.accept_any("ONLINE", "OFFLINE")
    reader.expect("INDEX")
    index = reader.identifier()
    reader.expect("ON")
    return _indexed(store, AlterTable(*reader.qualified(), dropped_keys=[index]), session)


def _indexed(store: Store, change: AlterTable, session: Session) -> list[TableChange]:
    name = store.full((change.db, change.table), session)
    if store.is_temporary(name, session):
        _alter_temporary(store, name, change, session)
        return []
    return [_altered(store, name, change, session)]


def _create_database(store: Store, reader: Reader, session: Session) -> list[TableChange]:
    reader.expect("CREATE")
    reader.take()
    if_not_exists = reader.accept("IF", "NOT", "EXISTS")
    db = store.folded(reader.identifier())
    options = Options()
    _database_options(reader, options)
    default = session.collated(options.charset, options.collation)
    if default.charset is None:
        default = store.default if session.server.charset is None else session.server
    if not (if_not_exists and db in store.databases):
        store.databases[db] = default
    return []


def _alter_database(store: Store, reader: Reader, session: Session) -> list[TableChange]:
    reader.expect("ALTER")
    reader.take()
    db = session.default_db
    if not reader.sees_any(_DATABASE_OPTIONS):
        db = reader.identifier()
    options = Options()
    _database_options(reader, options)
    default = session.collated(options.charset, options.collation)
    if db is not None and default.charset is not None:
        store.databases[store.folded(db)] = default
    return []


def _database_options(reader: Reader, options: Options) -> None:
    while not reader.done:
        before = reader.peek()
        if reader.accept("READ", "ONLY"):  # 8.0.22
            reader.accept("=")
            reader.take()
        else:
            table_options(reader, options)
        if reader.peek() is before:
            reader.fail("a database option expected")


def _drop_database(store: Store, reader: Reader, _: Session) -> list[TableChange]:
    reader.expect("DROP")
    reader.take()
    reader.accept("IF", "EXISTS")
    db = store.named(reader.identifier())
    _ended(reader)
    store.forget_database(db)
    return [TableChange("drop_database", db, "")]


#: What ALTER DATABASE can begin with when it names no database.
_DATABASE_OPTIONS = frozenset(words("DEFAULT CHARACTER CHARSET CHAR COLLATE ENCRYPTION READ"))

_HANDLERS: dict[tuple[str, str], Handler] = {
    **{("CREATE", word): _create_table for word in ("TABLE", "TEMPORARY")},
    **{("ALTER", word): _alter_table for word in ("TABLE", "ONLINE", "OFFLINE", "IGNORE")},
    **{("DROP", word): _drop_table for word in ("TABLE", "TABLES", "TEMPORARY")},
    **{("RENAME", word): _rename_table for word in ("TABLE", "TABLES")},
    **{
        ("CREATE", word): _create_index
        for word in ("INDEX", "UNIQUE", "FULLTEXT", "SPATIAL", "ONLINE", "OFFLINE")
    },
    **{("DROP", word): _drop_index for word in ("INDEX", "ONLINE", "OFFLINE")},
    **{("CREATE", word): _create_database for word in ("DATABASE", "SCHEMA")},
    **{("ALTER", word): _alter_database for word in ("DATABASE", "SCHEMA")},
    **{("DROP", word): _drop_database for word in ("DATABASE", "SCHEMA")},
}


def handler_for(leading: list[str]) -> Handler | None:
    """What reads a statement that begins with these words; None where it changes no table."""
    if leading[:1] == ["TRUNCATE"]:
        return _truncate
    return _HANDLERS.get((leading[0], leading[1])) if len(leading) > 1 else None
