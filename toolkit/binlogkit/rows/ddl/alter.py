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
from binlogkit.rows.ddl.columns import ColumnSpec, constant, convert, resolve, skip_default
from binlogkit.rows.ddl.create import Elements, Options, table_options
from binlogkit.rows.ddl.keys import KEY_WORDS, Key, KeyPart
from binlogkit.rows.ddl.lexemes import Lexeme
from binlogkit.rows.ddl.session import Session
from binlogkit.rows.ddl.table import Tracked, finish
from binlogkit.rows.ddl.tokens import Reader
from binlogkit.rows.schema import ColumnDefinition

FIRST = ""  # the place before every column; no column has this name
ROW_ID = "my_row_id"  # of a generated invisible primary key (8.0.30+)


@dataclass(frozen=True, slots=True)
class ColumnChange:
    """A column that is added (``old`` None) or redefined; ``after``: FIRST, a name, or None."""

    spec: ColumnSpec
    old: str | None = None
    after: str | None = None


@dataclass(slots=True)
class AlterTable:
    """A parsed ALTER TABLE; what is dropped, renamed, shown or hidden by its name in small letters.

    ``defaults``: the tokens of new ones, none where a default is dropped.

    ``added``: also the columns that are redefined; ``rows``: sentences that say which rows come or
    go without row events (partitions, tablespaces); ``exchanged``: the other table of EXCHANGE
    PARTITION.
    """

    db: str | None
    table: str
    added: Elements = field(default_factory=Elements)
    changes: list[ColumnChange] = field(default_factory=list)
    dropped: dict[str, str] = field(default_factory=dict)
    renamed: dict[str, str] = field(default_factory=dict)
    visibility: dict[str, bool] = field(default_factory=dict)
    defaults: dict[str, tuple[Lexeme, ...]] = field(default_factory=dict)
    dropped_keys: set[str] = field(default_factory=set)
    dropped_foreign: set[str] = field(default_factory=set)
    renamed_keys: dict[str, str] = field(default_factory=dict)
    options: Options = field(default_factory=Options)
    convert: Options | None = None
    new_name: tuple[str | None, str] | None = None
    rows: list[str] = field(default_factory=list)
    exchanged: tuple[str | None, str] | None = None


def alter_table(reader: Reader) -> AlterTable:
    """Read ``ALTER TABLE …``."""
    reader.expect("ALTER")
    while reader.accept_any("ONLINE", "OFFLINE", "IGNORE"):
        pass
    reader.expect("TABLE")
    result = AlterTable(*reader.qualified())
    while not reader.done:
        before = reader.peek()
        action = _ACTIONS.get(before.word)
        if action is not None:
            reader.take()
            action(reader, result)
        else:
            table_options(reader, result.options)
        if reader.peek() is before:
            reader.fail("no part of ALTER TABLE begins so")
        reader.accept(",")
    return result


def _add(reader: Reader, result: AlterTable) -> None:
    columns = result.added.columns
    before = len(columns)
    if reader.accept("PARTITION"):
        reader.skip_until(",")
    elif not reader.accept("COLUMN") and reader.sees_any(KEY_WORDS):
        result.added.read(reader)
    elif reader.sees("("):
        reader.listed(result.added.read)
        result.changes += [ColumnChange(spec) for spec in columns[before:]]
    else:
        _changed(reader, result, None)


def _changed(reader: Reader, result: AlterTable, old: str | None, *, same: bool = False) -> None:
    """A column definition and its place; ``same``: the column is called as before."""
    spec, after = result.added.read_column(reader), None
    if reader.accept("FIRST"):
        after = FIRST
    elif reader.accept("AFTER"):
        after = reader.identifier()
    result.changes.append(ColumnChange(spec, spec.name if same else old, after))


def _change(reader: Reader, result: AlterTable) -> None:
    reader.accept("COLUMN")
    _changed(reader, result, reader.column())


def _modify(reader: Reader, result: AlterTable) -> None:
    reader.accept("COLUMN")
    _changed(reader, result, None, same=True)


def _drop(reader: Reader, result: AlterTable) -> None:
    if reader.accept("PARTITION"):
        result.rows.append("ALTER TABLE … DROP PARTITION removes rows without row events")
        reader.skip_until()
    elif reader.accept("FOREIGN", "KEY"):
        result.dropped_foreign.add(reader.identifier().lower())
    elif reader.accept("PRIMARY", "KEY"):
        result.dropped_keys.add("primary")
    elif reader.accept_any("INDEX", "KEY"):
        result.dropped_keys.add(reader.identifier().lower())
    elif reader.accept("CHECK"):
        reader.identifier()
    elif reader.accept("CONSTRAINT"):
        name = reader.identifier().lower()
        result.dropped_keys.add(name)
        result.dropped_foreign.add(name)
    else:
        reader.accept("COLUMN")
        name = reader.column()
        result.dropped[name.lower()] = name
        reader.accept_any("RESTRICT", "CASCADE")


def _alter(reader: Reader, result: AlterTable) -> None:
    if reader.accept_any("INDEX", "CHECK", "CONSTRAINT"):
        reader.skip_until(",")
        return
    reader.accept("COLUMN")
    name = reader.column().lower()
    if reader.accept("SET", "DEFAULT"):
        result.defaults[name] = reader.moved_over(skip_default)
    elif reader.accept("SET", "VISIBLE"):
        result.visibility[name] = True
    elif reader.accept("SET", "INVISIBLE"):
        result.visibility[name] = False
    else:
        reader.expect("DROP", "DEFAULT")
        result.defaults[name] = ()


def _rename(reader: Reader, result: AlterTable) -> None:
    what = reader.accept_any("COLUMN", "INDEX", "KEY")
    if what is None:
        reader.accept_any("TO", "AS", "=")
        result.new_name = reader.qualified()
        return
    old = reader.identifier().lower()
    reader.expect("TO")
    (result.renamed if what == "COLUMN" else result.renamed_keys)[old] = reader.identifier()


def _convert(reader: Reader, result: AlterTable) -> None:
    reader.expect("TO")
    options = result.convert = Options()
    table_options(reader, options)
    if options.charset is None and not options.default_charset:
        reader.fail("CONVERT TO without a character set")


def _exchange(reader: Reader, result: AlterTable) -> None:
    reader.expect("PARTITION")
    reader.identifier()
    reader.expect("WITH", "TABLE")
    result.exchanged = reader.qualified()
    result.rows.append("ALTER TABLE … EXCHANGE PARTITION swaps rows without row events")
    reader.skip_until()


def _truncate(reader: Reader, result: AlterTable) -> None:
    reader.expect("PARTITION")
    result.rows.append("ALTER TABLE … TRUNCATE PARTITION removes rows without row events")
    reader.skip_until()


def _tablespace(reader: Reader, result: AlterTable) -> None:
    result.rows.append("ALTER TABLE … TABLESPACE replaces the rows without row events")
    reader.skip_until(",")


_PARTS = "ALGORITHM DISABLE ENABLE FORCE LOCK SECONDARY_LOAD SECONDARY_UNLOAD UPGRADE WITH WITHOUT"
_RESTS = "ANALYZE CHECK COALESCE OPTIMIZE ORDER PARTITION REBUILD REMOVE REORGANIZE REPAIR"
_ACTIONS: dict[str, Callable[[Reader, AlterTable], None]] = {
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
    **dict.fromkeys(_PARTS.split(), lambda reader, _: reader.skip_until(",")),
    **dict.fromkeys(_RESTS.split(), lambda reader, _: reader.skip_until()),
}


def altered(table: Tracked, parsed: AlterTable, database: Collated, session: Session) -> Tracked:
    """``table`` after ``parsed``, still under its old name.

    SchemaError: the statement names a column that the table is not known to have, so what is
    known of it was wrong before.
    """
    default = _default(table, parsed, database, session)
    columns = _columns(table, parsed, default, session)
    if _has_row_id(table) and (parsed.options.engine or "InnoDB") == "InnoDB":
        columns.sort(key=lambda c: c.name.lower() != ROW_ID)
    names = new_names(table, parsed)
    keys = [_renamed_key(key, parsed, names) for key in table.keys if not _gone(key, parsed)]
    foreign = [
        replace(fk, columns=tuple(names.get(name.lower(), name) for name in fk.columns))
        for fk in table.foreign
        if (fk.name or "").lower() not in parsed.dropped_foreign
    ]
    return finish(
        replace(
            table,
            columns=tuple(columns),
            keys=(*(key for key in keys if key.parts), *parsed.added.keys),
            foreign=(*foreign, *parsed.added.foreign),
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
    table: Tracked, parsed: AlterTable, default: Collated, session: Session
) -> list[ColumnDefinition]:
    """The columns in their new order."""
    force = None if parsed.convert is None else default
    names = {column.name.lower() for column in table.columns}
    by_old = {change.old.lower(): change for change in parsed.changes if change.old is not None}
    for name in (*parsed.dropped, *by_old, *parsed.renamed, *parsed.visibility, *parsed.defaults):
        if name not in names:
            raise SchemaError(f"ALTER TABLE names an unknown column, '{printable(name)}'")
    result: list[ColumnDefinition] = []
    moved: dict[int, ColumnDefinition] = {}
    for old in table.columns:
        change = by_old.get(old.name.lower())
        if old.name.lower() in parsed.dropped:
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

    It is recognized as the server does (``table_has_generated_invisible_primary_key`` in
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
    if key in parsed.defaults:
        kept = replace(kept, **constant(parsed.defaults[key]))
    return kept if force is None else convert(kept, force)


def _place(columns: list[ColumnDefinition], new: ColumnDefinition, after: str | None) -> None:
    """Put ``new`` at the end, first, or after the column ``after``."""
    names = [FIRST, *(present.name.lower() for present in columns)]
    if after is not None and after.lower() not in names:
        raise SchemaError(f"ALTER TABLE puts a column after an unknown one, '{printable(after)}'")
    columns.insert(len(columns) if after is None else names.index(after.lower()), new)


def _gone(key: Key, parsed: AlterTable) -> bool:
    return (key.name or "").lower() in parsed.dropped_keys


def new_names(table: Tracked, parsed: AlterTable) -> dict[str, str]:
    """What each kept column is called afterwards, by its lower-case name before."""
    names = {c.name.lower(): c.name for c in table.columns if c.name.lower() not in parsed.dropped}
    names |= parsed.renamed
    return names | {c.old.lower(): c.spec.name for c in parsed.changes if c.old is not None}


def _renamed_key(key: Key, parsed: AlterTable, names: dict[str, str]) -> Key:
    """``key`` with its new name, its columns' new names, without those that are gone."""
    parts = (
        part if part.column is None else KeyPart(names.get(part.column.lower(), ""), part.length)
        for part in key.parts
    )
    name = parsed.renamed_keys.get((key.name or "").lower(), key.name)
    return replace(key, parts=tuple(part for part in parts if part.column != ""), name=name)
