"""What is known of a server's tables at one moment: the state that statements change."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from copy import copy
from dataclasses import replace
from typing import Any, Self

from binlogkit.constants import TableId
from binlogkit.errors import SchemaError
from binlogkit.rows.ddl.charsets import UNKNOWN, Collated
from binlogkit.rows.ddl.session import Session
from binlogkit.rows.ddl.table import Tracked, from_definition
from binlogkit.rows.schema import ForeignKey, TableChange, TableDefinition, small_name

TemporaryName = tuple[int | None, str, str]


class TableStore:
    """Tables, unknown tables, databases and temporary tables by name.

    ``fold``: lower_case_table_names. Temporary tables belong to a thread and stand apart: they are
    in no row image. ``_version``: the server's, 80031 for 8.0.31.
    """

    _version = 0

    def __init__(self, fold: int = 0) -> None:
        self.fold = fold
        self.databases: dict[str, Collated] = {}
        self.temporary: dict[TemporaryName, Tracked | None] = {}
        self._tables: dict[TableId, Tracked] = {}
        self._definitions: dict[TableId, TableDefinition] = {}
        self._unknown: dict[TableId, str] = {}
        # What finds tables without looking at all of them: a statement costs what it changes.
        self._children: dict[TableId, set[TableId]] = {}  # by parent, as the foreign key names it
        self._in: dict[str, set[TableId]] = {}  # known and unknown tables by database
        self._capital: set[TableId] = set()  # known tables with capitals in their names
        # Which names are tables, by database, beside those of which something is known.
        self._there: dict[str, set[str]] = {}
        self._gone: dict[str, set[str]] = {}
        self._quiet: set[TableId] = set()  # tables that were made here, without triggers since
        self._whole: set[str] = set()  # databases that were made or dropped: no other tables

    def copy(self) -> Self:
        """An independent one with the same content."""
        twin = copy(self)
        for name, kept in vars(self).items():
            setattr(twin, name, _copied(kept))
        return twin

    def only(self, wanted: Callable[[TableId], bool]) -> Self:
        """One with the tables whose names are wanted, and all that is known beside tables.

        All of them where two names differ by capitals alone: that shows how names are compared.
        """
        twin = self.copy()
        names = self.names()
        if len({small_name(name) for name in names}) == len(names):
            for name in names:
                if not wanted(name):
                    twin.forget(name)
            for kept in (twin._there, twin._gone):
                for db, tables in kept.items():
                    tables -= {table for table in tables if not wanted((db, table))}
        return twin

    # -- names

    def compared(self, name: str) -> str:
        """A database's or table's name as it is compared."""
        return name.lower() if self.fold else name

    def stands_folded(self, name: TableId) -> bool:
        """Whether a table map's name is that of a known table but for its capitals.

        With lower_case_table_names=1 the server stores all names in small letters, while the
        log's statements are as they were typed. No two tables or databases may differ by capitals
        alone then.
        """
        if self.fold or not self._capital or name != small_name(name):
            return False
        if name in self._tables or name in self._unknown:
            return False
        return any(small_name(key) == name for key in self._capital) and self._may_be_folded()

    def _may_be_folded(self) -> bool:
        """Whether no two tables or databases differ by capitals alone."""
        tables = {small_name(key) for key in self._tables}
        databases = {db.lower() for db in self.databases}
        return len(tables) == len(self._tables) and len(databases) == len(self.databases)

    def take_references(self, table: Tracked, session: Session) -> None:
        """What the foreign keys of a table that was just made or altered show of names.

        With foreign_key_checks on the parent was there. If the table of that name is known but for
        its capitals, the server compares names without case.
        """
        if self.fold or not session.foreign_keys:
            return
        known, unknown = self._tables, self._unknown
        missing = {small_name(p) for p in _parents(table) if p not in known and p not in unknown}
        if not missing:
            return
        there = any(p in known for p in missing) or any(
            small_name(k) in missing for k in self._capital
        )
        if there and self._may_be_folded():
            self.fold_names()

    def fold_names(self) -> None:
        """Know every name in small letters from here on, as lower_case_table_names=1 does."""
        tables, unknown = list(self._tables.values()), dict(self._unknown)
        self.fold = 1
        self.databases = {db.lower(): default for db, default in self.databases.items()}
        self.temporary = {
            (thread, db.lower(), table.lower()): known
            for (thread, db, table), known in self.temporary.items()
        }
        for kept in (
            self._tables, self._definitions, self._unknown, self._children, self._in, self._capital,
        ):  # fmt: skip
            kept.clear()
        for table in tables:
            self.put(table)
        for name, reason in unknown.items():
            self._mark(name, reason)
        self._there, self._gone = _lowered(self._there), _lowered(self._gone)
        self._whole = {db.lower() for db in self._whole}
        self._quiet = {small_name(name) for name in self._quiet}

    def full(self, name: tuple[str | None, str], session: Session) -> TableId:
        """``(db, table)`` with the default database filled in; SchemaError where there is none."""
        db, table = name
        db = session.default_db if db is None else db
        if db is None:
            raise SchemaError("the table's database is not known: no default database")
        return self.named(db), self.named(table)

    def named(self, name: str) -> str:
        """A database's or table's name as the server stores it."""
        return name.lower() if self.fold == 1 else name

    def temporary_name(self, name: TableId, thread: int | None) -> TemporaryName:
        """The key of a temporary table of a connection."""
        return thread, *self._key(name)

    def is_temporary(self, name: TableId, thread: int | None) -> bool:
        """Whether the name means a temporary table to a connection."""
        return self.temporary_name(name, thread) in self.temporary

    def _key(self, name: TableId) -> TableId:
        return self.compared(name[0]), self.compared(name[1])

    # -- tables

    def tracked(self, name: TableId) -> Tracked | None:
        """What is known of a base table."""
        return self._tables.get(self._key(name))

    def table(self, db: str, table: str) -> TableDefinition | None:
        """The definition of a base table, None where it is not known; made once per change."""
        return self._definitions.get(self._key((db, table)))

    def tables(self) -> list[TableDefinition]:
        """Every known definition, by database and name."""
        return [self._definitions[key] for key in sorted(self._definitions)]

    def names(self) -> list[TableId]:
        """The tables of which something is known, or that are unknown."""
        return [*self._tables, *self._unknown]

    def take(self, other: TableStore, name: TableId) -> None:
        """Know a table as another store does."""
        known, reason, version = other.tracked(name), other.is_unknown(*name), self._version
        if known is not None:
            self._version = other._version
            self.put(known)
            self._version = version
        elif reason is not None:
            self.lose(self._key(name), reason)

    def is_unknown(self, db: str, table: str) -> str | None:
        """Why the schema of a table is not known from some statement on; None otherwise."""
        return self._unknown.get(self._key((db, table)))

    def exists(self, name: TableId) -> bool | None:
        """Whether the name is that of a base table; None where unknown."""
        db, table = key = self._key(name)
        if key in self._tables or key in self._unknown or table in self._there.get(db, ()):
            return True
        return False if table in self._gone.get(db, ()) or db in self._whole else None

    def meet(self, name: TableId) -> None:
        """A table of the name is there."""
        db, table = key = self._key(name)
        self._gone.get(db, set()).discard(table)
        if key not in self._tables:
            self._there.setdefault(db, set()).add(table)

    def drop(self, name: TableId) -> None:
        """No table of the name is there any more."""
        self.forget(name)
        db, table = self._key(name)
        self._gone.setdefault(db, set()).add(table)

    def doubt_names(self) -> None:
        """A statement was not understood that may have made any table."""
        self._gone.clear()
        self._whole.clear()
        self._quiet.clear()

    def begin(self, table: Tracked) -> None:
        """A table is made: it has no triggers."""
        self.put(table)
        self._quiet.add(self._key((table.db, table.table)))

    def take_trigger(self, name: TableId | None) -> None:
        """A table gets a trigger; None: which one is not known."""
        if name is None:
            self._quiet.clear()
        else:
            self._quiet.discard(self._key(name))

    def writes_alone(self, name: TableId, reads: Iterable[TableId] | None) -> bool:
        """Whether a statement that writes a table, and ``reads`` others (see :class:`TableChange`),
        certainly writes nothing else.

        No trigger can stand on tables of ``mysql`` (error 1465), and no foreign key of user tables
        refers to them. A MERGE table has its rows in others. What is read may be a view, which may
        call a function, unless it is known as a table.
        """
        if reads is None or not all(self.exists(one) for one in reads):
            return False
        key = self._key(name)
        known = self._tables.get(key)
        if self._children.get(key) or (known is not None and known.engine == "MRG_MYISAM"):
            return False
        return key[0] == "mysql" or key in self._quiet

    def put(self, table: Tracked) -> None:
        """Enter or replace a table."""
        if self.fold == 1:
            table = _in_small_letters(table)
        table = replace(table, foreign=tuple(self._spelled(fk, table) for fk in table.foreign))
        key = self._key((table.db, table.table))
        self._unlink(key)
        self._tables[key] = table
        self._definitions[key] = table.definition(self._version)
        self._unknown.pop(key, None)
        for names in (self._there, self._gone):
            names.get(key[0], set()).discard(key[1])
        self._in.setdefault(key[0], set()).add(key)
        if key != small_name(key):
            self._capital.add(key)
        for parent in _parents(table):
            self._children.setdefault(parent, set()).add(key)

    def _spelled(self, key: ForeignKey, child: Tracked) -> ForeignKey:
        """A foreign key with its parent's columns spelled as the parent does, if it is known."""
        name = (key.db or child.db, key.table)
        parent = child if name == (child.db, child.table) else self.tracked(name)
        return key if parent is None else key.spelled_by(parent.columns)

    def enter(self, definition: TableDefinition) -> None:
        """Enter or replace a table of which only a definition is known."""
        self.put(from_definition(definition))

    def forget(self, name: TableId) -> None:
        """Nothing is there any more, or nothing is known of it."""
        key = self._key(name)
        self._unlink(key)
        for known in (self._tables, self._definitions, self._unknown):
            known.pop(key, None)
        self._there.get(key[0], set()).discard(key[1])
        self._quiet.discard(key)
        self._in.get(key[0], set()).discard(key)
        self._capital.discard(key)

    def _unlink(self, key: TableId) -> None:
        """Forget of whom the table is a child."""
        table = self._tables.get(key)
        for parent in _parents(table) if table is not None else ():
            self._children.get(parent, set()).discard(key)

    def _mark(self, name: TableId, reason: str) -> None:
        key = self._key(name)
        self._unknown[key] = reason
        self._in.setdefault(key[0], set()).add(key)

    def lose(self, name: TableId, reason: str) -> TableChange:
        """The table's schema is unknown from here."""
        self.forget(name)
        self._mark(name, reason)
        return TableChange("unknown", *name, reason=reason)

    def rename(self, old: TableId, new: TableId) -> TableChange:
        """Move what is known of a table to its new name, also where it is a parent."""
        known, reason = self.tracked(old), self.is_unknown(*old)
        quiet = self._key(old) in self._quiet
        self.drop(old)
        self.forget(new)
        self.meet(new)
        if known is not None:
            self.put(_moved(known, new))
            self._quiet |= {self._key(new)} if quiet else set()
        elif reason is not None:
            self._mark(new, reason)
        self.refer_to(old, new)
        return TableChange("rename", *old, *new, definition=self.table(*new), reason=reason)

    def refer_to(
        self, old: TableId, new: TableId, columns: Mapping[str, str] | None = None
    ) -> None:
        """Let foreign keys follow their parent ``old``, which is called ``new``; ``columns``: what
        its columns are called now, by their names before in small letters."""
        for key in sorted(self._children.get(old, ())):
            child = self._tables[key]
            foreign = (fk.following(child.db, old, new, columns or {}) for fk in child.foreign)
            self.put(replace(child, foreign=tuple(foreign)))

    def children(self, names: Iterable[tuple[str | None, str | None]]) -> set[TableId]:
        """The tables with a foreign key to one of these."""
        wanted = (self._key((db, table)) for db, table in names if db and table)
        return {child for name in wanted for child in self._children.get(name, ())}

    # -- databases

    def put_database(self, db: str, default: Collated) -> None:
        """Enter a database's default character set."""
        self.databases[self.compared(db)] = default

    def database(self, db: str, session: Session) -> Collated:
        """The default character set of ``db``, unknown where nothing says."""
        known = self.databases.get(self.compared(db))
        if known is not None and known.charset is not None:
            return known
        current = session.default_db
        same = current is not None and self.compared(current) == self.compared(db)
        return session.database if same else UNKNOWN

    def has_database(self, db: str) -> bool | None:
        """Whether there is such a database; None where unknown."""
        wanted = self.compared(db)
        if wanted in self.databases or self._in.get(wanted):
            return True
        return False if wanted in self._whole else None

    def begin_database(self, db: str, default: Collated) -> None:
        """A database is made, with no tables."""
        self.put_database(db, default)
        self._no_other_tables(self.compared(db))

    def forget_database(self, db: str) -> None:
        """The database is gone with its tables."""
        wanted = self.compared(db)
        for key in self._in.pop(wanted, set()).copy():
            self.forget(key)
        self.databases.pop(wanted, None)
        self._no_other_tables(wanted)

    def _no_other_tables(self, db: str) -> None:
        """The database has no tables but those of which something is known."""
        self._there.pop(db, None)
        self._gone.pop(db, None)
        self._whole.add(db)


def _copied(kept: Any) -> Any:
    if isinstance(kept, dict):
        return {name: _copied(value) for name, value in kept.items()}
    return set(kept) if isinstance(kept, set) else kept


def _lowered(names: Mapping[str, set[str]]) -> dict[str, set[str]]:
    """Names of tables by database in small letters."""
    found: dict[str, set[str]] = {}
    for db, tables in names.items():
        found.setdefault(db.lower(), set()).update(table.lower() for table in tables)
    return found


def _in_small_letters(table: Tracked) -> Tracked:
    """``table`` as a server with lower_case_table_names=1 names it and its parents."""
    foreign = tuple(key.in_small_letters() for key in table.foreign)
    return replace(table, db=table.db.lower(), table=table.table.lower(), foreign=foreign)


def _parents(table: Tracked) -> set[TableId]:
    """The tables that the foreign keys of ``table`` name."""
    return {(fk.db or table.db, fk.table) for fk in table.foreign}


def _moved(table: Tracked, new: TableId) -> Tracked:
    """``table`` under a new name, which names of foreign keys follow as InnoDB has them do."""
    foreign = tuple(fk.of_renamed((table.db, table.table), new) for fk in table.foreign)
    return replace(table, db=new[0], table=new[1], foreign=foreign)
