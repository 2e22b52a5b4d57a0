"""What a live server's information_schema (5.7, 8.0 and later) says of its tables."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Sequence
from typing import Any

from binlogkit.errors import SchemaError
from binlogkit.rows.ddl.catalog import Catalog
from binlogkit.rows.ddl.charsets import collated
from binlogkit.rows.ddl.keys import NO_ACTION, Key, KeyPart
from binlogkit.rows.ddl.session import Session, version_number
from binlogkit.rows.ddl.table import Tracked, engine_name
from binlogkit.rows.ddl.tokens import read
from binlogkit.rows.ddl.types import TEXT_CAPACITY, data_type
from binlogkit.rows.schema import ColumnDefinition, ForeignKey

Query = Callable[[str], Sequence[tuple[Any, ...]]]
Name = tuple[str, str]

_SYSTEM = ("information_schema", "mysql", "performance_schema", "sys")
_BYTES = frozenset(("binary", "varbinary", "enum", "set", *TEXT_CAPACITY))
_SIZED = frozenset(("char", "varchar", "binary", "varbinary"))
_TEMPORAL = frozenset(("time", "datetime", "timestamp"))


def from_server(query: Query) -> Catalog:
    """The base tables of a server as a catalog.

    ``query`` runs one statement and gives its rows as tuples, text as ``str``. Hidden columns of
    functional indexes are not shown by the server, nor needed: no table map has them.
    """
    version_text = str(query("SELECT VERSION()")[0][0])
    fold = int(query("SELECT @@lower_case_table_names")[0][0])
    version = version_number(version_text)
    catalog = Catalog(version_text, lower_case_table_names=fold)
    for db, charset, collation in query(
        "SELECT schema_name, default_character_set_name, default_collation_name "
        "FROM information_schema.schemata"
    ):
        catalog.put_database(str(db), collated(str(charset), str(collation), version))
    where = "table_schema NOT IN (" + ", ".join(f"'{name}'" for name in _SYSTEM) + ")"
    columns = _columns(query, where, version)
    keys = _keys(query, where, version)
    foreign = _foreign(query, where)
    for db, table, engine, collation in query(
        "SELECT table_schema, table_name, engine, table_collation FROM information_schema.tables "
        f"WHERE table_type = 'BASE TABLE' AND {where}"
    ):
        name = (str(db), str(table))
        catalog.put(
            Tracked(
                *name,
                columns=tuple(columns[name]),
                keys=tuple(keys[name]),
                foreign=tuple(foreign[name]),
                collated=collated(None, collation, version),
                engine=engine and engine_name(str(engine)),
            )
        )
    return catalog


def _columns(query: Query, where: str, version: int) -> dict[Name, list[ColumnDefinition]]:
    result: dict[Name, list[ColumnDefinition]] = defaultdict(list)
    for row in query(
        "SELECT table_schema, table_name, column_name, data_type, column_type, "
        "character_maximum_length, numeric_precision, numeric_scale, datetime_precision, "
        "character_set_name, collation_name, is_nullable, extra FROM information_schema.columns "
        f"WHERE {where} ORDER BY table_schema, table_name, ordinal_position"
    ):
        result[str(row[0]), str(row[1])].append(_column(row[2:], version))
    return result


def _column(row: tuple[Any, ...], version: int) -> ColumnDefinition:
    name, kind, text, characters, precision, scale, fraction, charset, collation, null, extra = row
    kind, extra = str(kind).lower(), str(extra).lower()
    try:
        spec = data_type(read(str(text), Session(version)))
    except SchemaError as exc:
        raise SchemaError(f"the server's column {name} has the type {text}") from exc
    known = collated(charset, collation, version)
    if kind in _BYTES and known.charset is None:
        known = collated("binary", "binary", version)
    length: int | None = TEXT_CAPACITY.get(kind)
    if kind in _SIZED:
        length = int(characters)
    elif kind in ("decimal", "bit"):
        length = int(precision)
    elif kind == "vector":
        length = spec.length
    digits = (
        fraction if kind in _TEMPORAL else scale if kind in ("decimal", "float", "double") else None
    )
    generated = "virtual" if "virtual generated" in extra else None
    return ColumnDefinition(
        name=str(name),
        type=kind,
        length=length,
        scale=None if digits is None else int(digits),
        unsigned=spec.unsigned,
        charset=known.charset,
        collation=known.collation,
        labels=tuple(label for label in spec.labels if isinstance(label, str)),
        nullable=null == "YES",
        auto_increment="auto_increment" in extra,
        generated="stored" if "stored generated" in extra else generated,
        invisible="invisible" in extra,
        zerofill=spec.zerofill,
    )


def _keys(query: Query, where: str, version: int) -> dict[Name, list[Key]]:
    """Keys in the server's order."""
    parts: dict[Name, dict[str, list[KeyPart]]] = defaultdict(lambda: defaultdict(list))
    kinds: dict[tuple[Name, str], str] = {}
    # Before 8.0 the rows come in the order of the keys unless they are sorted.
    order = " ORDER BY table_schema, table_name, index_name, seq_in_index"
    order = order if version >= 80000 else ""
    for db, table, index, free, column, prefix, kind in query(
        "SELECT table_schema, table_name, index_name, non_unique, column_name, sub_part, "
        f"index_type FROM information_schema.statistics WHERE {where}{order}"
    ):
        name = (str(db), str(table))
        part = KeyPart(column and str(column), None if prefix is None else int(prefix))
        parts[name][str(index)].append(part)
        kinds[name, str(index)] = _kind(str(index), int(free), str(kind))
    result: dict[Name, list[Key]] = defaultdict(list)
    for name, indexes in parts.items():
        ordered = _in_order(query, name, list(indexes)) if version >= 80000 else list(indexes)
        result[name] = [Key(kinds[name, i], tuple(indexes[i]), i) for i in ordered]
    return result


def _kind(index: str, non_unique: int, kind: str) -> str:
    if index == "PRIMARY":
        return "primary"
    if not non_unique:
        return "unique"
    return kind.lower() if kind in ("FULLTEXT", "SPATIAL") else "index"


def _in_order(query: Query, name: Name, indexes: list[str]) -> list[str]:
    """The indexes in the order the server keeps them, which 8.0 tells only by SHOW INDEX."""
    if len(indexes) < 2:
        return indexes
    db, table = (part.replace("`", "``") for part in name)
    return list(dict.fromkeys(str(row[2]) for row in query(f"SHOW INDEX FROM `{db}`.`{table}`")))


def _action(rule: Any) -> str:
    return str(rule) if rule in ("CASCADE", "SET NULL") else NO_ACTION


def _foreign(query: Query, where: str) -> dict[Name, list[ForeignKey]]:
    rules = {
        (str(db), str(table), str(name)): (_action(delete), _action(update))
        for db, table, name, update, delete in query(
            "SELECT constraint_schema, table_name, constraint_name, update_rule, delete_rule "
            "FROM information_schema.referential_constraints WHERE "
            + where.replace("table_schema", "constraint_schema")
        )
    }
    columns: dict[tuple[str, str, str, str, str], list[tuple[str, str]]] = defaultdict(list)
    for db, table, name, column, parent_db, parent, referenced in query(
        "SELECT table_schema, table_name, constraint_name, column_name, referenced_table_schema, "
        "referenced_table_name, referenced_column_name FROM information_schema.key_column_usage "
        f"WHERE referenced_table_name IS NOT NULL AND {where} "
        "ORDER BY table_schema, table_name, constraint_name, ordinal_position"
    ):
        found = columns[str(db), str(table), str(name), str(parent_db), str(parent)]
        found.append((str(column), str(referenced)))
    result: dict[Name, list[ForeignKey]] = defaultdict(list)
    for (db, table, name, parent_db, parent), pairs in columns.items():
        own, theirs = zip(*pairs, strict=True)
        other_db = None if parent_db == db else parent_db
        actions = rules[db, table, name]
        result[db, table].append(ForeignKey(own, other_db, parent, theirs, *actions, name))
    return result
