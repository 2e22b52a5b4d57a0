"""One function per kind of DDL statement: reads it, changes the store, returns what it did.

Each takes the store and a reader at the statement's first word; SchemaError says that the statement
is not understood.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial

from binlogkit.constants import TableId
from binlogkit.errors import SchemaError
from binlogkit.rows.ddl.alter import AlterTable, alter_table, altered, new_names
from binlogkit.rows.ddl.charsets import Collated
from binlogkit.rows.ddl.create import CreateTable, Options, build, create_table, table_options
from binlogkit.rows.ddl.keys import index_key
from binlogkit.rows.ddl.keywords import words
from binlogkit.rows.ddl.session import Acted, Session
from binlogkit.rows.ddl.store import TableStore
from binlogkit.rows.ddl.table import Tracked
from binlogkit.rows.ddl.tokens import Reader
from binlogkit.rows.schema import Supposition, TableChange

Handler = Callable[[TableStore, Reader], list[TableChange]]


def _ended(reader: Reader) -> None:
    """SchemaError unless the statement ends here."""
    if not reader.done:
        reader.fail("the statement should end here")


def _name(store: TableStore, reader: Reader) -> TableId:
    """The name of a table, which comes next."""
    return store.full(reader.qualified(), reader.session)


def _create_table(store: TableStore, reader: Reader) -> list[TableChange]:
    parsed, session = create_table(reader), reader.session
    if not parsed.query:
        _ended(reader)
    name = store.full((parsed.db, parsed.table), session)
    parsed.table = name[1]
    if parsed.temporary:
        made = _made(store, parsed, name[0], session)
        store.temporary[store.temporary_name(name, session.thread)] = made
        return []
    supposed = _supposed(store, parsed, name, session)
    if supposed is None:
        store.meet(name)
        return []
    made = _made(store, parsed, name[0], session)
    if made is None:
        lost = "LIKE a table whose definition is not known"
        if parsed.query:
            lost = "SELECT does not define the columns of the SELECT's result"
        return [store.lose(name, f"CREATE TABLE … {lost}")]
    made = replace(made, supposed=(*made.supposed, *supposed))
    (store.put if supposed or session.acted is Acted.AS_KNOWN else store.begin)(made)
    store.take_references(made, session)
    reason = supposed[0].why if supposed else None
    return [
        TableChange(
            "create", *name, definition=store.table(*name), reason=reason,
            conditional=bool(supposed), like=parsed.like and store.full(parsed.like, session),
        )
    ]  # fmt: skip


def _supposed(
    store: TableStore, parsed: CreateTable, name: TableId, session: Session
) -> tuple[Supposition, ...] | None:
    """What is supposed where a table is made; None: none is made, since it is there.

    An atomic DDL statement that did something has a transaction's number in its event (8.0.3), one
    that did nothing has none, and nor have those on engines without transactions. A CREATE TABLE …
    SELECT that did nothing is not logged. Seen on 5.7.22, 8.0.31 and 9.7.4.
    """
    acted, selects = session.acted, parsed.query or parsed.options.with_rows
    if not parsed.if_not_exists or (selects and acted is not Acted.AS_KNOWN):
        acted = Acted.YES
    elif acted is Acted.NO and parsed.options.engine not in (None, "InnoDB"):
        acted = Acted.UNKNOWN
    there = store.exists(name)
    if acted is Acted.YES or (there is False and acted is not Acted.NO):
        return ()
    if acted is Acted.NO or there:
        return None
    if acted is Acted.AS_KNOWN:
        return ()
    what = "the table is as CREATE TABLE IF NOT EXISTS says"
    why = f"{what}, which may have done nothing ({session.place or 'in the log'})"
    return (Supposition("definition", ".".join(name), why),)


def _made(store: TableStore, parsed: CreateTable, db: str, session: Session) -> Tracked | None:
    """The table that CREATE TABLE makes; None where the statement does not name its columns."""
    if parsed.query:
        return None
    if parsed.like is None:
        return build(parsed, db, store.database(db, session), session)
    model = store.full(parsed.like, session)
    source = store.temporary.get(store.temporary_name(model, session.thread)) or store.tracked(
        model
    )
    if source is None:
        return None
    return replace(source, db=db, table=parsed.table, foreign=())


def _alter_table(store: TableStore, reader: Reader) -> list[TableChange]:
    parsed, session = alter_table(reader), reader.session
    name = store.full((parsed.db, parsed.table), session)
    nothing_else = AlterTable(parsed.db, parsed.table, new_name=parsed.new_name)
    if store.is_temporary(name, session.thread) or parsed.new_name is None:
        return _altered(store, name, parsed, session)
    changes = [] if parsed == nothing_else else _altered(store, name, parsed, session)
    return [*changes, store.rename(name, store.full(parsed.new_name, session))]


def _altered(
    store: TableStore, name: TableId, parsed: AlterTable, session: Session
) -> list[TableChange]:
    """Change a table, if it is known; a base table's rows change without row events, too."""
    if store.is_temporary(name, session.thread):
        known = store.temporary.pop(store.temporary_name(name, session.thread))
        if known is not None:
            try:
                known = altered(known, parsed, store.database(known.db, session), session)
            except SchemaError:
                known = None  # it was wrong before; nothing but CREATE … LIKE asks for it
        if parsed.new_name is not None:
            name = store.full(parsed.new_name, session)
        store.temporary[store.temporary_name(name, session.thread)] = known
        return []
    known, before = store.tracked(name), store.table(*name)
    if known is not None:
        after = altered(known, parsed, store.database(name[0], session), session)
        store.put(after)
        store.take_references(after, session)
        store.refer_to(name, name, new_names(known, parsed))
    reason = store.is_unknown(*name)
    changes = [
        TableChange("alter", *name, definition=store.table(*name), reason=reason, before=before)
    ]
    names = [name] if parsed.rows else []
    if parsed.exchanged is not None:
        names.append(store.full(parsed.exchanged, session))
    for each in names:
        definition = store.table(*each)
        changes.append(
            TableChange("statement_write", *each, definition=definition, reason=parsed.rows[0])
        )
    return changes


def _rename_table(store: TableStore, reader: Reader) -> list[TableChange]:
    def pair(reader: Reader) -> tuple[TableId, TableId]:
        old = _name(store, reader)
        reader.expect("TO")
        return old, _name(store, reader)

    reader.expect("RENAME")
    if not reader.accept_any("TABLE", "TABLES"):
        reader.fail("TABLE expected")
    pairs = reader.separated(pair)
    _ended(reader)
    return [store.rename(old, new) for old, new in pairs]


def _drop_table(store: TableStore, reader: Reader) -> list[TableChange]:
    reader.expect("DROP")
    temporary = reader.accept("TEMPORARY")
    if not reader.accept_any("TABLE", "TABLES"):
        reader.fail("TABLE expected")
    reader.accept("IF", "EXISTS")
    names = reader.separated(partial(_name, store))
    reader.accept_any("RESTRICT", "CASCADE")
    _ended(reader)
    changes = []
    for name in names:
        was_temporary = store.is_temporary(name, reader.session.thread)
        store.temporary.pop(store.temporary_name(name, reader.session.thread), None)
        if not (temporary or was_temporary):
            store.drop(name)
            changes.append(TableChange("drop", *name))
    return changes


def _truncate(store: TableStore, reader: Reader) -> list[TableChange]:
    reader.expect("TRUNCATE")
    reader.accept("TABLE")
    name = _name(store, reader)
    _ended(reader)
    if store.is_temporary(name, reader.session.thread):
        return []
    return [TableChange("truncate", *name, definition=store.table(*name))]


def _create_index(store: TableStore, reader: Reader) -> list[TableChange]:
    reader.expect("CREATE")
    reader.accept_any("ONLINE", "OFFLINE")
    kind = (reader.accept_any("UNIQUE", "FULLTEXT", "SPATIAL") or "index").lower()
    reader.expect("INDEX")
    table, key = index_key(reader, kind)
    name, change = store.full(table, reader.session), AlterTable(*table)
    change.added.keys.append(key)
    return _altered(store, name, change, reader.session)


def _drop_index(store: TableStore, reader: Reader) -> list[TableChange]:
    reader.expect("DROP")
    reader.accept_any("ONLINE", "OFFLINE")
    reader.expect("INDEX")
    index = reader.identifier().lower()
    reader.expect("ON")
    name = _name(store, reader)
    return _altered(store, name, AlterTable(*name, dropped_keys={index}), reader.session)


def _create_database(store: TableStore, reader: Reader) -> list[TableChange]:
    reader.expect("CREATE")
    reader.take()
    if_not_exists = reader.accept("IF", "NOT", "EXISTS")
    db = store.compared(reader.identifier())
    default = _database_default(reader)
    if default.charset is None:
        default = reader.session.server
    acted, there = reader.session.acted, store.has_database(db)
    made = acted is Acted.YES or (acted is Acted.UNKNOWN and there is False)
    if not if_not_exists or made:
        store.begin_database(db, default)
    elif acted is Acted.AS_KNOWN and not there:
        store.put_database(db, default)
    return []


def _alter_database(store: TableStore, reader: Reader) -> list[TableChange]:
    reader.expect("ALTER")
    reader.take()
    db = reader.session.default_db
    if not reader.sees_any(_DATABASE_OPTIONS):
        db = reader.identifier()
    default = _database_default(reader)
    if db is not None and default.charset is not None:
        store.put_database(db, default)
    return []


def _database_default(reader: Reader) -> Collated:
    options = Options()
    while not reader.done:
        before = reader.peek()
        if reader.accept("READ", "ONLY"):  # 8.0.22
            reader.accept("=")
            reader.take()
        else:
            table_options(reader, options)
        if reader.peek() is before:
            reader.fail("a database option expected")
    return reader.session.collated(options.charset, options.collation)


def _drop_database(store: TableStore, reader: Reader) -> list[TableChange]:
    reader.expect("DROP")
    reader.take()
    reader.accept("IF", "EXISTS")
    db = store.named(reader.identifier())
    _ended(reader)
    store.forget_database(db)
    return [TableChange("drop_database", db, "")]


def _create_trigger(store: TableStore, reader: Reader) -> list[TableChange]:
    """CREATE TRIGGER; another statement with a DEFINER makes no table and no trigger."""
    try:
        reader.skip_until("TRIGGER", "PROCEDURE", "FUNCTION", "VIEW", "EVENT")
        if reader.accept("TRIGGER"):
            reader.accept("IF", "NOT", "EXISTS")
            reader.qualified()
            reader.skip_until("ON")
            reader.expect("ON")
            store.take_trigger(_name(store, reader))
    except SchemaError:
        store.take_trigger(None)
    return []


#: What ALTER DATABASE can begin with when it names no database.
_DATABASE_OPTIONS = words("DEFAULT CHARACTER CHARSET CHAR COLLATE ENCRYPTION READ")

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
    **{("CREATE", word): _create_trigger for word in ("TRIGGER", "DEFINER", "OR")},
    **{("CREATE", word): _create_database for word in ("DATABASE", "SCHEMA")},
    **{("ALTER", word): _alter_database for word in ("DATABASE", "SCHEMA")},
    **{("DROP", word): _drop_database for word in ("DATABASE", "SCHEMA")},
}


def handler_for(leading: list[str]) -> Handler | None:
    """What reads a statement that begins with these words; None where it changes no table."""
    if leading[:1] == ["TRUNCATE"]:
        return _truncate
    return _HANDLERS.get((leading[0], leading[1])) if len(leading) > 1 else None
