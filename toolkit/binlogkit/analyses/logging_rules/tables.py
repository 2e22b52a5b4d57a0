"""A statement's kind, and what its tables are: engines, what is temporary, what is not logged."""

from __future__ import annotations

from dataclasses import replace

from binlogkit.analyses.logging_rules.clauses import created, first_verb, query_at, unlogged
from binlogkit.analyses.logging_rules.definitions import Definitions, Tokens, qualified
from binlogkit.analyses.logging_rules.engines import engine_of
from binlogkit.analyses.logging_rules.model import Settings, TableUse
from binlogkit.analyses.logging_rules.references import LISTS, references
from binlogkit.constants import TableId
from binlogkit.errors import SchemaError
from binlogkit.rows.schema import small_name

KINDS = {
    "INSERT": "insert", "REPLACE": "replace", "UPDATE": "update", "DELETE": "delete",
    "LOAD": "load", "SELECT": "select", "VALUES": "select", "TABLE": "select", "(": "select",
    "DO": "do", "SET": "set", "CALL": "call", "BINLOG": "binlog", "TRUNCATE": "truncate",
    **dict.fromkeys(
        ("BEGIN", "START", "COMMIT", "ROLLBACK", "SAVEPOINT", "RELEASE", "USE", "SHOW", "EXPLAIN",
         "DESC", "DESCRIBE", "LOCK", "UNLOCK", "XA", "HANDLER", "KILL", "PREPARE", "EXECUTE",
         "DEALLOCATE", "CHECKSUM", "HELP", "PURGE", "SIGNAL", "RESIGNAL", "GET", "SHUTDOWN",
         "RESTART", "CLONE"),
        "control",
    ),
    **dict.fromkeys(
        ("CHECK", "CACHE", "RESET", "CHANGE", "STOP", "INSTALL", "UNINSTALL", "IMPORT"), "admin"
    ),
    **dict.fromkeys(
        ("CREATE", "DROP", "ALTER", "RENAME", "GRANT", "REVOKE", "ANALYZE", "OPTIMIZE", "REPAIR",
         "FLUSH"),
        "ddl",
    ),
}  # fmt: skip
_NO_NAMES = ("TEMPORARY", "TABLE", "TABLES", "IF", "EXISTS", "RESTRICT", "CASCADE")


class NamedTables:
    """What definitions and settings say of the tables that a statement names."""

    def __init__(self, definitions: Definitions, settings: Settings, db: str) -> None:
        self.definitions, self.settings, self.db = definitions, settings, db

    def kind_of(self, tokens: Tokens) -> tuple[str, bool]:
        """Its kind, and whether it makes, drops or empties a temporary table."""
        word = tokens[0].word
        if word == "WITH":
            word = first_verb(tokens)
        if word not in KINDS:
            raise SchemaError(f"no statement begins with {word or 'this'}")
        words = [token.word for token in tokens[:8]]
        if unlogged(words):
            return "admin", False
        if words[:2] == ["SET", "PASSWORD"] or words[:3] == ["SET", "DEFAULT", "ROLE"]:
            return "ddl", False
        if word not in ("CREATE", "DROP", "ALTER", "TRUNCATE", "RENAME"):
            return KINDS[word], False
        temporary = "TEMPORARY" in words[1:2]
        if word in ("DROP", "CREATE") and "TABLE" not in words[1:3]:
            return "ddl", False
        if word == "CREATE":
            query = query_at(tokens) is not None
            return ("create_select" if query else "create"), temporary
        at = 1 + (words[1] == "TEMPORARY")
        at += tokens[at].word in ("TABLE", "TABLES")
        at += 2 if [t.word for t in tokens[at : at + 2]] == ["IF", "EXISTS"] else 0
        if word == "DROP":
            named = self.dropped("drop", tokens)
            return "drop", temporary or (bool(named) and all(use.temporary for use in named))
        name, _ = qualified(tokens, at, self.db)
        kind = "truncate" if word == "TRUNCATE" else "ddl"
        return kind, temporary or self.temporary(name)

    def dropped(self, kind: str, tokens: Tokens) -> tuple[TableUse, ...]:
        """The tables that DROP TABLE names, and those that DROP DATABASE drops one by one."""
        if kind == "drop":
            found = references(tuple(t for t in tokens[1:] if t.word not in _NO_NAMES), joins=True)
            return tuple(self.use_of((one[0] or self.db, one[1])) for one in found.tables)
        words = [token.word for token in tokens[:4]]
        if words[:2] not in (["DROP", "DATABASE"], ["DROP", "SCHEMA"]):
            return ()
        (_, db), _ = qualified(tokens, 4 if words[2:] == ["IF", "EXISTS"] else 2, "")
        catalog = self.definitions.catalog
        names = sorted((one.db, one.table) for one in catalog.tables() if one.db == db)
        tables = (replace(self.use_of(name), temporary=False) for name in names)
        return tuple(use for use in tables if use.engine.name != "InnoDB")

    def existence(self, kind: str, tokens: Tokens) -> set[str]:
        """The traits of what a statement says about what is there."""
        words = [token.word for token in tokens[:6]]
        found = {"keyword"} if "TEMPORARY" in words[1:2] else set()
        if kind not in ("drop", "create", "create_select"):
            return set()
        if "EXISTS" in words:
            found.add("if_exists")
        if kind == "drop":
            return found
        name, at = created(tokens, self.db)
        kept = self.definitions.catalog.tracked(name) is not None
        there = self.temporary(name) if "keyword" in found else kept
        if kind == "create_select" and there and "if_exists" in found:
            found.add("exists")
        liked = self.liked(tokens, at)
        if liked is not None and self.temporary(liked):
            found.add("like_temporary")
        return found

    def liked(self, tokens: Tokens, at: int) -> TableId | None:
        """The table that CREATE TABLE … LIKE names."""
        for place, token in enumerate(tokens[at : at + 2], at):
            if token.word == "LIKE":
                return qualified(tokens, place + 1, self.db)[0]
        return None

    def temporary(self, name: TableId) -> bool:
        """Whether the name is that of a temporary table of the session."""
        return (None, *name) in self.definitions.catalog.temporary

    def use_of(self, name: TableId) -> TableUse:
        """A table that is neither read nor written yet."""
        catalog = self.definitions.catalog
        temporary = self.temporary(name)
        tracked = catalog.temporary.get((None, *name)) if temporary else catalog.tracked(name)
        definition = None if tracked is None else tracked.definition()
        schema, table = small_name(name)
        engine = None if tracked is None else tracked.engine
        if schema == "performance_schema":
            engine = "PERFORMANCE_SCHEMA"
        elif schema == "mysql" and table in ("general_log", "slow_log"):
            engine = "CSV"
        elif schema == "mysql" and self.definitions.version < 80000:
            engine = "MyISAM" if table in LISTS["grant_tables"] else engine
        counted = [c.name for c in definition.columns if c.auto_increment] if definition else []
        firsts = {key.columns[:1] for key in tracked.keys} if tracked else set()
        return TableUse(
            *name,
            engine_of(engine, self.settings.isolation),
            temporary=temporary,
            unreplicated=schema == "performance_schema"
            or (schema == "mysql" and table in LISTS["log_tables"]),
            grants=schema == "mysql" and table in LISTS["grant_tables"],
            auto_increment=bool(counted),
            not_first=bool(counted) and (counted[0],) not in firsts,
            unique_keys=sum(key.unique for key in tracked.keys) if tracked else 0,
            unsafe_default=bool(self.unsafe_defaults(name)),
            definition=definition,
        )

    def unsafe_defaults(self, name: TableId) -> dict[str, str]:
        """The columns of a table whose default calls an unsafe function."""
        unsafe = LISTS["documented"] | LISTS["others"]
        return {
            column: function
            for column, functions in self.definitions.defaults.get(name, {}).items()
            for function in functions
            if function in unsafe
        }
