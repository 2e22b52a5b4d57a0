"""One tracked table: its TableDefinition, and what later statements need beyond it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

from binlogkit.rows.ddl.charsets import UNKNOWN, Collated
from binlogkit.rows.ddl.keys import Key, KeyPart, name_keys, sort_keys
from binlogkit.rows.ddl.types import TEXT_CAPACITY
from binlogkit.rows.schema import ColumnDefinition, ForeignKey, Supposition, TableDefinition

#: Engines whose names the server writes otherwise than in capitals.
_ENGINES = {
    "innodb": "InnoDB",
    "myisam": "MyISAM",
    "heap": "MEMORY",
    "merge": "MRG_MYISAM",
    "ndb": "ndbcluster",
    "ndbcluster": "ndbcluster",
}
#: Engines that read foreign keys and forget them (manual, "FOREIGN KEY Constraints").
_NO_FOREIGN_KEYS = frozenset(
    ("MyISAM", "MEMORY", "MRG_MYISAM", "CSV", "ARCHIVE", "BLACKHOLE", "FEDERATED", "EXAMPLE")
)


def engine_name(name: str) -> str:
    """A storage engine's name as information_schema writes it."""
    return _ENGINES.get(name.lower(), name.upper())


@dataclass(frozen=True, slots=True)
class Tracked:
    """A table in a catalog. ``keys``: in the server's order; ``collated``: the table's default."""

    db: str
    table: str
    columns: tuple[ColumnDefinition, ...]
    keys: tuple[Key, ...] = ()
    foreign: tuple[ForeignKey, ...] = ()
    collated: Collated = UNKNOWN
    engine: str | None = None
    supposed: tuple[Supposition, ...] = ()

    def definition(self, version: int = 0) -> TableDefinition:
        """What crosses the doorstep; ``version``: the server's."""
        primary = next((key for key in self.keys if key.kind == "primary"), None)
        every = [key for key in self.keys if key.kind == "unique"]
        unique = [key for key in every if not key.functional]
        return TableDefinition(
            db=self.db,
            table=self.table,
            columns=self.columns,
            primary_key=() if primary is None else primary.columns,
            unique_keys=tuple(key.columns for key in unique),
            charset=self.collated.charset,
            collation=self.collated.collation,
            engine=self.engine,
            foreign=tuple(replace(fk, db=fk.db or self.db) for fk in self.foreign),
            partial_keys=tuple(
                (place, tuple(part.length for part in key.parts))
                for place, key in enumerate([primary, *unique], -1)
                if key is not None and key.partial
            ),
            indexed=tuple(dict.fromkeys(column for key in self.keys for column in key.columns)),
            supposed=self.supposed,
            unique_names=tuple(key.name or "" for key in unique),
            expression_keys=tuple(
                tuple(name for part in key.parts for name in (part.column, *part.reads) if name)
                for key in every
                if key.functional
            ),
            version=version,
        )


def finish(table: Tracked) -> Tracked:
    """``table`` as the server stores it: keys named and sorted, their parts as the columns are.

    Columns of the primary key become NOT NULL; foreign keys go where the engine has none.
    """
    by_name = {column.name.lower(): column for column in table.columns}
    keys = name_keys(_stored(key, by_name) for key in table.keys)
    primary = {column.lower() for key in keys if key.kind == "primary" for column in key.columns}
    columns = tuple(_finished(c, by_name, primary) for c in table.columns)
    by_name = {column.name.lower(): column for column in columns}
    if table.engine in _NO_FOREIGN_KEYS:
        table = replace(table, foreign=())
    return replace(
        table,
        columns=columns,
        keys=sort_keys(_supported(keys, table.foreign), by_name),
        foreign=tuple(_spelled(fk, by_name) for fk in _named_foreign(table)),
    )


def _spelled(key: ForeignKey, columns: dict[str, ColumnDefinition]) -> ForeignKey:
    """``key`` with its own columns spelled as the table does."""
    known = (columns.get(name.lower()) for name in key.columns)
    names = (c.name if c else name for c, name in zip(known, key.columns, strict=True))
    return replace(key, columns=tuple(names))


def _finished(
    column: ColumnDefinition, columns: dict[str, ColumnDefinition], primary: set[str]
) -> ColumnDefinition:
    """``column`` with what its table says of it."""
    if column.name.lower() in primary and column.nullable:
        column = replace(column, nullable=False)
    if column.reads:
        known = (columns.get(name.lower()) for name in column.reads)
        column = replace(column, reads=tuple(dict.fromkeys(c.name for c in known if c)))
    return column


def _named_foreign(table: Tracked) -> tuple[ForeignKey, ...]:
    """The foreign keys; those without a name get InnoDB's, ``TABLE_ibfk_N``."""
    prefix = f"{table.table}_ibfk_".lower()
    numbers = [0] + [
        int(fk.name[len(prefix) :])
        for fk in table.foreign
        if fk.name and fk.name.lower().startswith(prefix) and fk.name[len(prefix) :].isdecimal()
    ]
    following = max(numbers)
    named = []
    for fk in table.foreign:
        if fk.name is None:
            following += 1
            fk = replace(fk, name=f"{table.table}_ibfk_{following}")
        named.append(fk)
    return tuple(named)


def _stored(key: Key, columns: dict[str, ColumnDefinition]) -> Key:
    """``key`` with its columns spelled as the table does, and whole columns without a length."""
    parts = []
    for part in key.parts:
        column = None if part.column is None else columns.get(part.column.lower())
        if column is not None:
            part = KeyPart(column.name, part.length if _partial(part, column) else None)
        elif part.reads:
            read = (columns.get(name.lower()) for name in part.reads)
            part = replace(part, reads=tuple(dict.fromkeys(c.name for c in read if c)))
        parts.append(part)
    return Key(key.kind, tuple(parts), key.name)


def _partial(part: KeyPart, column: ColumnDefinition) -> bool:
    """Whether only the beginning of the column is in the key (mysql_prepare_alter_table)."""
    if part.length is None:
        return False
    if column.type in TEXT_CAPACITY:
        return True
    return column.length is not None and part.length < column.length


def _supported(keys: list[Key], foreign: Iterable[ForeignKey]) -> list[Key]:
    """``keys`` and one for each foreign key that no key supports yet (InnoDB makes it itself)."""
    result = list(keys)
    for fk in foreign:
        wanted = tuple(column.lower() for column in fk.columns)
        covered = any(
            tuple(c.lower() for c in key.columns[: len(wanted)]) == wanted and not key.functional
            for key in result
        )
        if not covered:
            parts = tuple(KeyPart(column) for column in fk.columns)
            result = name_keys([*result, Key("index", parts, fk.name or fk.index)])
    return result


def from_definition(definition: TableDefinition) -> Tracked:
    """A table of which only a definition is known: not the keys that are neither primary nor
    unique."""
    partial = dict(definition.partial_keys)
    names_of = dict(enumerate(definition.unique_names))
    keys = [Key("unique", (KeyPart(None, reads=reads),)) for reads in definition.expression_keys]
    for place, names in enumerate([definition.primary_key, *definition.unique_keys], -1):
        lengths = partial.get(place, (None,) * len(names))
        parts = tuple(map(KeyPart, names, lengths))
        if place >= 0:
            keys.append(Key("unique", parts, names_of.get(place)))
        elif names:
            keys.append(Key("primary", parts, "PRIMARY"))
    default = Collated(definition.charset, definition.collation)
    return Tracked(
        definition.db, definition.table, definition.columns, tuple(name_keys(keys)),
        definition.foreign, default, definition.engine, definition.supposed,
    )  # fmt: skip
