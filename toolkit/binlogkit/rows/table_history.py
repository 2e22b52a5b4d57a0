"""What is known of tables at a point of a walk: their definitions in SQL, table maps' schemas."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from binlogkit._kernel.charsets import COLLATIONS
from binlogkit.constants import TableId
from binlogkit.errors import MalformedEventError
from binlogkit.events.query import ExecuteLoadQuery, Query
from binlogkit.events.table_map import TableMap
from binlogkit.limits import limit, over
from binlogkit.rows.ddl import Catalog, TableChange
from binlogkit.rows.ddl.session import Acted
from binlogkit.rows.options import KnownTables, ReadOptions
from binlogkit.rows.resolve import resolve_schema
from binlogkit.rows.schema import Origin, StatementTime, TableDefinition, TableSchema
from binlogkit.rows.series import SourceTables
from binlogkit.sources.log_format import is_mariadb, version_tuple

_NO_FOREIGN_KEY_CHECKS = 1 << 26  # of a Query event's flags2
#: What a statement does to rows, and the table: database and name.
Text = tuple[str, str, str]
_TEXTS = ("statement_write", "truncate", "drop")
# Seen on 8.0.31 and 9.7.4. Before 8.0.21 CREATE TABLE … SELECT was logged as a CREATE like others.
_TELLS_WHETHER_IT_ACTED = (8, 0, 21)


class Problem(str):
    """A sentence on what does not fit together; ``table``: of which table."""

    __slots__ = ("table",)
    table: TableId

    @classmethod
    def of(cls, table: TableId, sentence: str) -> Problem:
        """Make one."""
        made = cls(sentence)
        made.table = table
        return made


class TableHistory:
    """Tables as a walk proceeds.

    ``schemas``: every version of each table met so far; ``problems``: what does not fit together;
    ``texts``: how many statements changed rows of a table without row events, and where the first
    is, by table and kind; ``generation``: grows with each change of what tables are; ``catalog``:
    what SQL says, and ``tracked`` of which tables the log's own; ``given``: the definitions that
    :meth:`give` brought of other tables.
    """

    def __init__(self, options: ReadOptions) -> None:
        self._options, self._taken_at = options, dict(options.taken_at)
        self.schemas: dict[TableId, list[TableSchema]] = {}
        self.problems: list[Problem] = []
        self.texts: dict[Text, tuple[int, str]] = {}
        self.generation = 0
        self.given: dict[TableId, TableDefinition] = {}
        self.catalog = options.catalog.copy() if options.catalog else Catalog()
        self.tracked: set[tuple[str | None, str | None]] = set()
        self._interned: dict[object, TableSchema] = {}
        self._versions: dict[TableSchema, TableSchema] = {}
        self._columns = 0
        self._source: str | None = None

    def take_over(self, source: SourceTables) -> None:
        """Take a source's tables for those that there are, and forget what maps stood for."""
        self.catalog, self.tracked, self._source = source.catalog, source.tracked, source.name
        self._interned.clear()

    def _changed(self) -> None:
        """Tables are others now: maps that come are resolved anew."""
        self._interned.clear()
        self.generation += 1

    def lose(self, reason: str, same: Iterable[TableId] = ()) -> None:
        """Something is missing here: what was said of tables before may not hold any more, unless
        it is accepted, or given for all logs; but for some that are the ``same`` after it."""
        kept, compared = self._options.catalog is not None, self.catalog.compared
        known = {(compared(db), compared(table)) for db, table in same}
        for table in self.catalog.tables():
            name = table.db, table.table
            accepted = f"definition:{table.db}.{table.table}" in self._options.supposed
            held = accepted or (compared(table.db), compared(table.table)) in known
            if not (held or (kept and name not in self.tracked)):
                self.catalog.lose(name, reason)
        self._changed()

    def know(self, known: KnownTables) -> None:
        """Take what is known of tables here for what was known before."""
        self.catalog, self.tracked = known.catalog.copy(), set(known.tracked)
        self._changed()

    def give(self, given: Catalog, *, anew: bool) -> None:
        """Take definitions that hold from here on for tables of which statements do not say what
        they are; ``anew``: of none do they, since logs are missing right before."""
        catalog, folded = self.catalog, self.catalog.folded
        if given.folded and not folded:
            catalog.fold_names()
            catalog.fold = given.fold
            self._fold_since(folded)
        for db, default in given.databases.items():
            catalog.databases.setdefault(catalog.compared(db), default)
        for name in given.names():
            own = catalog.compared(name[0]), catalog.compared(name[1])
            told = own in self.tracked
            if anew or not told or catalog.is_unknown(*own):
                catalog.take(given, name)
                self.tracked.discard(own)
                if not told and (definition := catalog.table(*own)) is not None:
                    self.given[own] = definition
        self._changed()

    def take_versions(self, schemas: dict[TableId, list[TableSchema]]) -> None:
        """Take what another walk met for the versions of the tables: the same maps are the same
        versions here."""
        self.schemas = schemas
        for versions in schemas.values():
            self._versions |= {replace(schema, version=0): schema for schema in versions}

    def apply(
        self,
        body: Query | ExecuteLoadQuery,
        file: str = "",
        offset: int = 0,
        second: int | None = None,
    ) -> list[TableChange]:
        """Take the statement of an event that stands there, of that time; what it does to
        tables."""
        status, flags = body.status_vars, body.status_vars.flags2
        unchecked = None if flags is None else bool(flags & _NO_FOREIGN_KEY_CHECKS)
        folded = self.catalog.folded
        changes = self.catalog.apply(
            body.query,
            default_db=body.schema or None,
            sql_mode=status.sql_mode,
            collation_server=_collation(status.server_collation),
            collation_database=_collation(status.database_collation),
            explicit_defaults_for_timestamp=status.explicit_defaults_for_timestamp,
            default_collation_for_utf8mb4=_collation(status.utf8mb4_collation),
            thread_id=body.thread_id,
            foreign_key_checks=None if unchecked is None else not unchecked,
            acted=self._acted(status.ddl_xid),
            place=f"{file} at {offset}",
        )
        moment = StatementTime(second, status.microseconds, status.time_zone)
        changes = [
            replace(c, moment=moment, unchecked=bool(unchecked)) if c.action == "alter" else c
            for c in changes
        ]
        for change in changes:
            self.note_text(change.action, change.db, change.table, file, offset)
            if change.action != "statement_write":
                self._changed()
                self.tracked.add((change.db, change.table))
                self.tracked.add((change.new_db or change.db, change.new_table))
        if changes and offset < self._taken_at.get(file, 0):
            self._restore(changes)
        self._fold_since(folded)
        return changes

    def _restore(self, changes: Iterable[TableChange]) -> None:
        """Know the given tables as they are after all of these changes and more."""
        given = self._options.catalog or Catalog()
        for change in changes:
            names = {(change.db, change.table), (change.new_db or change.db, change.new_table)}
            for table in given.tables() if change.action == "drop_database" else ():
                names |= {(table.db, table.table)} if table.db == change.db else set()
            self.tracked -= names
            for db, name in names | given.children(names):
                if name and (definition := given.table(db, name)) is not None:
                    self.catalog.enter(definition)

    def note_text(self, action: str, db: str, table: str, file: str, offset: int) -> None:
        """Count a change of rows that are in no event."""
        if action in _TEXTS and table:
            count, first = self.texts.get((action, db, table), (0, f"{file} at {offset}"))
            self.texts[action, db, table] = count + 1, first

    def _acted(self, ddl_xid: int | None) -> Acted:
        """Whether a CREATE … IF NOT EXISTS did something."""
        version = self.catalog.server_version or ""
        if ddl_xid is not None:
            return Acted.YES
        if is_mariadb(version) or version_tuple(version) < _TELLS_WHETHER_IT_ACTED:
            return Acted.UNKNOWN
        return Acted.NO

    def _fold_since(self, folded: bool) -> None:
        """Take names in small letters from where the server showed to store them so."""
        if self.catalog.folded and not folded:
            small = {(db and db.lower(), tab and tab.lower()) for db, tab in self.tracked}
            self.tracked.clear()
            self.tracked |= small  # the source's, too

    def _definitions(self, name: TableId) -> list[tuple[Origin, TableDefinition]]:
        """What SQL says of a table here: the given definition, until DDL in the log touches it."""
        folded = self.catalog.folded
        tracked = self.catalog.mapped(*name)
        self.catalog.meet(name)
        if tracked is None:
            return []
        self._fold_since(folded)
        return [(Origin.DDL if name in self.tracked else self._options.catalog_origin, tracked)]

    def schema(self, table_map: TableMap, file: str, offset: int) -> TableSchema:
        """The schema of a table map here; DamageError where there is none."""
        name = (table_map.db, table_map.table)
        version = self.catalog.server_version or ""
        key = (
            name, table_map.types, table_map.metadata, table_map.nullable, table_map.optional,
            version,
        )  # fmt: skip
        known = self._interned.get(key)
        if known is not None:
            return known
        definitions = self._definitions(name)
        if len(table_map.types) > limit("COLUMNS"):
            reason = over("COLUMNS", f"{len(table_map.types)} columns")
            raise MalformedEventError(file, offset, reason, "column_count")
        versions = self.schemas.get(name, [])
        schema = resolve_schema(
            table_map, len(versions), definitions, file=file, offset=offset,
            charset=self._options.charset, lost=self.catalog.is_unknown(*name),
            server_version=version, accepted=self._options.supposed,
        )  # fmt: skip
        schema = replace(schema, source=self._source)
        same = self._versions.get(replace(schema, version=0))
        if same is None:
            self._columns += len(schema.columns)
            if self._columns > limit("SCHEMA_COLUMNS"):
                reason = over("SCHEMA_COLUMNS", f"all tables together have {self._columns} columns")
                raise MalformedEventError(file, offset, reason, "column_count")
            self._versions[replace(schema, version=0)] = schema
            self.schemas.setdefault(name, versions).append(schema)
            self.problems.extend(
                Problem.of(
                    schema.name, f"{file} at {offset}: {schema.db}.{schema.table}: {problem}"
                )
                for problem in schema.problems
            )
        self._interned[key] = same or schema
        return same or schema


def _collation(collation_id: int | None) -> str | None:
    known = COLLATIONS.get(collation_id) if collation_id is not None else None
    return known[1] if known else None
