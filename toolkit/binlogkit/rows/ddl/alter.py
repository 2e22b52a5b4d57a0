"""ALTER TABLE: reading the statement and applying it to a table.

The order of columns and keys afterwards is that of ``mysql_prepare_alter_table`` in
``sql/sql_table.cc`` (5.7, 8.0): kept and changed columns stay in
their places, then, in the order of the statement, columns are added and moved.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace

from binlogkit.errors import SchemaError, printable
from binlogkit.rows.ddl.charsets import Collated
from binlogkit.rows.ddl.columns import ColumnSpec, column, convert, resolve, skip_default
from binlogkit.rows.ddl.create import (
    MAX_COLUMNS,
    MAX_KEYS,
    Options,
    element,
    inline_keys,
    table_options,
)
from binlogkit.rows.ddl.keys import KEY_WORDS, Foreign, Key, KeyPart
from binlogkit.rows.ddl.keywords import words
from binlogkit.rows.ddl.session import Session
from binlogkit.rows.ddl.table import Tracked, finish
from binlogkit.rows.ddl.tokens import Reader
from binlogkit.rows.schema import ColumnDefinition

__all__ = ["AlterTable", "Change", "alter_table", "altered"]

FIRST = ""  # the place before every column; no column has this name
ROW_ID = "my_row_id"  # of a generated invisible primary key (8.0.30+)


@dataclass(frozen=True, slots=True)
class Change:
    """A column that is added (``old`` None) or redefined; ``after``: FIRST, a name, or None."""

    spec: ColumnSpec
    old: str | None = None
    after: str | None = None


@dataclass(slots=True)
class AlterTable:
    """A parsed ALTER TABLE.

    ``rows``: sentences that say which rows come or go without row events (partitions, tablespaces);
    ``exchanged``: the other table of EXCHANGE PARTITION.
    """

    db: str | None
    table: str
    changes: list[Change] = field(default_factory=list)
    dropped: list[str] = field(default_factory=list)
    renamed: dict[str, str] = field(default_factory=dict)
    visibility: dict[str, bool] = field(default_factory=dict)
    keys: list[Key] = field(default_factory=list)
    dropped_keys: list[str] = field(default_factory=list)
    dropped_constraints: list[str] = field(default_factory=list)
    renamed_keys: dict[str, str] = field(default_factory=dict)
    foreign: list[Foreign] = field(default_factory=list)
    dropped_foreign: list[str] = field(default_factory=list)
    options: Options = field(default_factory=Options)
    convert: Options | None = None
    new_name: tuple[str | None, str] | None = None
    rows: list[str] = field(default_factory=list)
    exchanged: tuple[str | None, str] | None = None


def alter_table(reader: Reader, session: Session) -> AlterTable:
    """Read ``ALTER TABLE …``."""
    reader.expect("ALTER")
    while reader.accept_any("ONLINE", "OFFLINE", "IGNORE"):
        pass
    reader.expect("TABLE")
    db, table = reader.qualified()
    result = AlterTable(db, table)
    while not reader.done:
        if len(result.changes) > MAX_COLUMNS or len(result.keys) > MAX_KEYS:
            reader.fail(f"more than {MAX_COLUMNS} columns or {MAX_KEYS} keys")
        before = reader.peek()
        action = _ACTIONS.get(before.word)
        if action is not None:
            reader.take()
            action(reader, session, result)
        else:
            table_options(reader, result.options)
        if reader.peek() is before:
            reader.fail("no part of ALTER TABLE begins so")
        reader.accept(",")
    return result


def _add(reader: Reader, session: Session, result: AlterTable) -> None:
    if reader.accept("PARTITION"):
        reader.skip_until(",")
        return
    named = reader.accept("COLUMN")
    if not named and reader.sees_any(KEY_WORDS):
        _collect(reader, session, result)
        return
    if reader.accept("("):
        _collect(reader, session, result)
        while reader.accept(","):
            _collect(reader, session, result)
        reader.expect(")")
        return
    _changed(reader, session, result, reader.identifier(), None)


def _collect(reader: Reader, session: Session, result: AlterTable) -> None:
    """A column or key in ADD (…), a key behind ADD."""
    columns: list[ColumnSpec] = []
    element(reader, session, columns, result.keys, result.foreign)
    result.changes.extend(Change(spec) for spec in columns)


def _changed(
    reader: Reader, session: Session, result: AlterTable, name: str, old: str | None
) -> None:
    """A column definition and its place."""
    spec = column(reader, session, name)
    after = None
    if reader.accept("FIRST"):
        after = FIRST
    elif reader.accept("AFTER"):
        after = reader.identifier()
    result.changes.append(Change(spec, old, after))
    result.keys.extend(inline_keys(spec))
    if spec.foreign is not None:
        result.foreign.append(spec.foreign)


def _change(reader: Reader, session: Session, result: AlterTable) -> None:
    reader.accept("COLUMN")
    old = reader.identifier()
    _changed(reader, session, result, reader.identifier(), old)


def _modify(reader: Reader, session: Session, result: AlterTable) -> None:
    reader.accept("COLUMN")
    name = reader.identifier()
    _changed(reader, session, result, name, name)


def _drop(reader: Reader, _: Session, result: AlterTable) -> None:
    if reader.accept("PARTITION"):
        result.rows.append("ALTER TABLE … DROP PARTITION removes rows without row events")
        reader.skip_until()
    elif reader.accept("FOREIGN", "KEY"):
        result.dropped_foreign.append(reader.identifier())
    elif reader.accept("PRIMARY", "KEY"):
        result.dropped_keys.append("PRIMARY")
    elif reader.accept_any("INDEX", "KEY"):
        result.dropped_keys.append(reader.identifier())
    elif reader.accept("CHECK"):
        reader.identifier()
    elif reader.accept("CONSTRAINT"):
        result.dropped_constraints.append(reader.identifier())
    else:
        reader.accept("COLUMN")
        result.dropped.append(reader.identifier())
        reader.accept_any("RESTRICT", "CASCADE")


def _alter(reader: Reader, _: Session, result: AlterTable) -> None:
    if reader.accept_any("INDEX", "CHECK", "CONSTRAINT"):
        reader.skip_until(",")
        return
    reader.accept("COLUMN")
    name = reader.identifier()
    if reader.accept("SET", "DEFAULT"):
        skip_default(reader)
    elif reader.accept("SET", "VISIBLE"):
        result.visibility[name.lower()] = True
    elif reader.accept("SET", "INVISIBLE"):
        result.visibility[name.lower()] = False
    else:
        reader.expect("DROP", "DEFAULT")


def _rename(reader: Reader, _: Session, result: AlterTable) -> None:
    if reader.accept("COLUMN"):
        old = reader.identifier()
        reader.expect("TO")
        result.renamed[old.lower()] = reader.identifier()
    elif reader.accept_any("INDEX", "KEY"):
        old = reader.identifier()
        reader.expect("TO")
        result.renamed_keys[old.lower()] = reader.identifier()
    else:
        reader.accept_any("TO", "AS", "=")
        result.new_name = reader.qualified()


def _convert(reader: Reader, _: Session, result: AlterTable) -> None:
    reader.expect("TO")
    options = Options()
    table_options(reader, options)
    if options.charset is None and not options.default_charset:
        reader.fail("CONVERT TO without a character set")
    result.convert = options


def _exchange(reader: Reader, _: Session, result: AlterTable) -> None:
    reader.expect("PARTITION")
    reader.identifier()
    reader.expect("WITH", "TABLE")
    result.exchanged = reader.qualified()
    result.rows.append("ALTER TABLE … EXCHANGE PARTITION swaps rows without row events")
    reader.skip_until()


def _truncate(reader: Reader, _: Session, result: AlterTable) -> None:
    reader.expect("PARTITION")
    result.rows.append("ALTER TABLE … TRUNCATE PARTITION removes rows without row events")
    reader.skip_until()


def _tablespace(reader: Reader, _: Session, result: AlterTable) -> None:
    result.rows.append("ALTER TABLE … TABLESPACE replaces the rows without row events")
    reader.skip_until(",")


def _skip_part(reader: Reader, _: Session, __: AlterTable) -> None:
    reader.skip_until(",")


def _skip_rest(reader: Reader, _: Session, __: AlterTable) -> None:
    reader.skip_until()


_Action = Callable[[Reader, Session, AlterTable], None]

_ACTIONS: dict[str, _Action] = {
    "ADD": _add,
    "ALTER": _alter,
    "CHANGE": _change,
    "CONVERT": _convert,
    "DISCARD": _tablespace,
    "DROP": _drop,
    "EXCHANGE": _exchange,
    "IMPORT": _tablespace,
    "MODIFY": _modify,
    "RENAME": _rename,
    "TRUNCATE": _truncate,
    **dict.fromkeys(
        words(
            "ALGORITHM DISABLE ENABLE FORCE LOCK SECONDARY_LOAD SECONDARY_UNLOAD UPGRADE WITH "
            "WITHOUT"
        ),
        _skip_part,
    ),
    **dict.fromkeys(
        words("ANALYZE CHECK COALESCE OPTIMIZE ORDER PARTITION REBUILD REMOVE REORGANIZE REPAIR"),
        _skip_rest,
    ),
}


def altered(table: Tracked, parsed: AlterTable, database: Collated, session: Session) -> Tracked:
    """``table`` after ``parsed``, still under its old name.

    SchemaError: the statement names a column that the table is not known to have, so what is
    known of it was wrong before.
    """
    default = _default(table, parsed, database, session)
    force = None if parsed.convert is None else default
    columns = _columns(table, parsed, default, force, session)
    if _has_row_id(table) and (parsed.options.engine or "InnoDB") == "InnoDB":
        columns.sort(key=lambda c: c.name.lower() != ROW_ID)
    names = _new_names(table, parsed)
    keys = [_renamed_key(key, names) for key in _kept_keys(table, parsed)]
    foreign = [_renamed_foreign(fk, names) for fk in _kept_foreign(table, parsed)]
    return finish(
        replace(
            table,
            columns=tuple(columns),
            keys=tuple(key for key in keys if key.parts) + tuple(parsed.keys),
            foreign=(*foreign, *parsed.foreign),
            collated=default,
            engine=parsed.options.engine or table.engine,
        )
    )


def _default(table: Tracked, parsed: AlterTable, database: Collated, session: Session) -> Collated:
    """The table's default character set afterwards."""
    for options in (parsed.convert, parsed.options):
        if options is None:
            continue
        if options.default_charset and options.collation is None:
            return database
        if options.charset is not None or options.collation is not None:
            return session.collated(options.charset, options.collation)
    return table.collated


def _columns(
    table: Tracked,
    parsed: AlterTable,
    default: Collated,
    force: Collated | None,
    session: Session,
) -> list[ColumnDefinition]:
    """The columns in their new order."""
    names = {column.name.lower() for column in table.columns}
    dropped = {name.lower() for name in parsed.dropped}
    by_old = {change.old.lower(): change for change in parsed.changes if change.old is not None}
    for name in (*dropped, *by_old, *parsed.renamed, *parsed.visibility):
        if name not in names:
            raise SchemaError(f"ALTER TABLE names an unknown column, '{printable(name)}'")
    result: list[ColumnDefinition] = []
    moved: dict[int, ColumnDefinition] = {}
    for old in table.columns:
        key = old.name.lower()
        change = by_old.get(key)
        if key in dropped:
            continue
        if change is None:
            result.append(_kept(old, parsed, force))
        else:
            result.append(resolve(change.spec, default, session, force))
            moved[id(change)] = result[-1]
    for change in parsed.changes:
        if change.old is None:
            _place(result, resolve(change.spec, default, session, force), change.after)
        elif change.after is not None:
            redefined = moved[id(change)]
            result = [column for column in result if column is not redefined]
            _place(result, redefined, change.after)
    return result


def _has_row_id(table: Tracked) -> bool:
    """Whether the primary key is one that the server generated, whose column stays first.

    It is told as the server tells it (``table_has_generated_invisible_primary_key`` in
    ``sql/sql_gipk.cc``): by its place, name, type and invisibility.
    """
    first = next(iter(table.columns), None)
    keys = [key.columns for key in table.keys if key.kind == "primary"]
    return (
        first is not None
        and first.name.lower() == ROW_ID
        and (first.type, first.unsigned, first.auto_increment) == ("bigint", True, True)
        and first.invisible
        and [tuple(name.lower() for name in key) for key in keys] == [(ROW_ID,)]
        and table.engine in (None, "InnoDB")
    )


def _kept(old: ColumnDefinition, parsed: AlterTable, force: Collated | None) -> ColumnDefinition:
    """A column that is not redefined."""
    key = old.name.lower()
    name = parsed.renamed.get(key, old.name)
    invisible = not parsed.visibility[key] if key in parsed.visibility else old.invisible
    kept = replace(old, name=name, invisible=invisible)
    return kept if force is None else convert(kept, force)


def _place(columns: list[ColumnDefinition], new: ColumnDefinition, after: str | None) -> None:
    """Put ``new`` at the end, first, or behind the column ``after``."""
    if after is None:
        columns.append(new)
        return
    if after == FIRST:
        columns.insert(0, new)
        return
    for index, present in enumerate(columns):
        if present.name.lower() == after.lower():
            columns.insert(index + 1, new)
            return
    raise SchemaError(f"ALTER TABLE puts a column after an unknown one, '{printable(after)}'")


def _kept_keys(table: Tracked, parsed: AlterTable) -> list[Key]:
    gone = {name.lower() for name in (*parsed.dropped_keys, *parsed.dropped_constraints)}
    kept = [key for key in table.keys if (key.name or "").lower() not in gone]
    return [
        replace(key, name=parsed.renamed_keys.get((key.name or "").lower(), key.name))
        for key in kept
    ]


def _new_names(table: Tracked, parsed: AlterTable) -> dict[str, str]:
    """What each kept column is called afterwards, by its lower-case name before."""
    dropped = {name.lower() for name in parsed.dropped}
    names = {c.name.lower(): c.name for c in table.columns if c.name.lower() not in dropped}
    names |= parsed.renamed
    names |= {c.old.lower(): c.spec.name for c in parsed.changes if c.old is not None}
    return names


def _renamed_key(key: Key, names: dict[str, str]) -> Key:
    """``key`` with its columns' new names, without those that are gone."""
    parts = (
        part if part.column is None else KeyPart(names.get(part.column.lower(), ""), part.length)
        for part in key.parts
    )
    return replace(key, parts=tuple(part for part in parts if part.column != ""))


def _kept_foreign(table: Tracked, parsed: AlterTable) -> list[Foreign]:
    """The foreign keys that stay."""
    gone = {name.lower() for name in (*parsed.dropped_foreign, *parsed.dropped_constraints)}
    return [fk for fk in table.foreign if (fk.name or "").lower() not in gone]


def _renamed_foreign(fk: Foreign, names: dict[str, str]) -> Foreign:
    return replace(fk, columns=tuple(names.get(name.lower(), name) for name in fk.columns))
