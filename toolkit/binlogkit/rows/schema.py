"""What is known of a table, and from where.

Two forms: a :class:`TableDefinition` is what SQL says of a table (DDL in the log, a schema file, a
live server); a :class:`TableSchema` is what the decoder uses for one version of a table: the table
map of the log, completed from metadata or from a definition, each fact with its :class:`Origin`.
"""

from __future__ import annotations

import re
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum

from binlogkit._kernel.cells import CellSpec
from binlogkit._kernel.columns import TablePlan
from binlogkit.constants import ColumnType, TableId
from binlogkit.sources.log_format import version_tuple

NAME_LENGTH = 64  # characters of a column's name (manual, "Identifier Length Limits")


class Origin(StrEnum):
    """Where a fact about a column comes from."""

    METADATA = "metadata"  # the table map's own optional metadata (8.0.1+)
    DDL = "ddl"  # a statement earlier in the log
    SCHEMA_FILE = "schema-file"  # --schema FILE.sql
    SERVER = "server"  # --schema-from DSN
    TABLE_MAP = "table-map"  # the table map's types, always there
    GIVEN = "given"  # --charset, --suppose
    ASSUMED = "assumed"  # nothing says so
    POSITION = "position"  # a name made from the position: @1, @2 …


@dataclass(frozen=True, slots=True)
class ColumnDefinition:
    """A column as SQL defines it.

    ``type``: lower-case base type as information_schema.columns.data_type names it
    (``int``, ``varchar``, ``datetime``, ``enum``, ``geometry``, ``point``, ``json`` …);
    ``length``: characters, bytes, digits (DECIMAL precision) or BIT width; ``scale``: DECIMAL
    scale, fraction digits of a temporal type, or d of FLOAT(m,d); ``charset``: MySQL's name
    (``binary`` for byte strings), None for a type that has none; ``labels``: of ENUM and SET, in
    order; ``generated``: ``stored``, ``virtual`` or None; ``default``: the text of a constant,
    bytes where it is written as x'…' or b'…', None for NULL or without one; ``computed``: the
    default is a function, an expression, or a constant that is not understood; ``evaluated``: it
    is one of the first two, ``default_now``: CURRENT_TIMESTAMP without an expression around it;
    ``on_update_now``: ON UPDATE CURRENT_TIMESTAMP; ``reads``: the table's
    columns that a generated column's expression names; ``expression``: its tokens, by which two
    expressions that are written alike are equal; ``charset_of_database``: the character set
    is its database's default, which no statement on the table names; ``zerofill``: how many digits
    ZEROFILL makes of a value in a text, 0 without it.
    """

    name: str
    type: str
    length: int | None = None
    scale: int | None = None
    unsigned: bool = False
    charset: str | None = None
    collation: str | None = None
    labels: tuple[str, ...] = ()
    nullable: bool = True
    auto_increment: bool = False
    generated: str | None = None
    invisible: bool = False
    default: str | bytes | None = None
    computed: bool = False
    evaluated: bool = False
    default_now: bool = False
    on_update_now: bool = False
    reads: tuple[str, ...] = ()
    expression: tuple[str, ...] = ()
    charset_of_database: bool = False
    zerofill: int = 0

    def written_with(self, signs: Container[str], functions: Container[str]) -> bool:
        """Whether a generated column's expression is known, and has only columns, constants, and
        these signs and functions."""
        names = {name.lower() for name in self.reads}
        for token in self.expression:
            kind, _, text = token.partition(" ")
            known = text in signs if kind == "sign" else text in functions or text in names
            if not known and kind not in ("string", "number"):
                return False
        return bool(self.expression)

    def stored_like(self, other: ColumnDefinition, version: int) -> bool:
        """Whether equal values of two columns that a foreign key joins have the same bytes, by
        which InnoDB compares them; of texts, whether blanks at the end count in none of them.

        ``version``: the server's, 50722 for 5.7.22: collations in which they count came with 8.0.

        Servers let a TIME refer to a DATETIME, a DECIMAL(7,2) to a DECIMAL(5,2), a DATETIME(3) to a
        DATETIME: 5.7.22 and 8.0.31 refuse rows that do (error 1452) but those written with
        foreign_key_checks off, and do not cascade to these.
        """
        types = {self.type, other.type}
        if types == {"char", "varchar"}:
            names = [column.collation or "" for column in (self, other)]
            return 0 < version < 80000 or all(name and "_0900_" not in name for name in names)
        if types <= {"binary", "varbinary"}:
            return True
        same = len(types) == 1 and self.unsigned == other.unsigned
        if self.type == "decimal":
            same &= self.length == other.length
        if self.type == "bit":
            same &= ((self.length or 1) + 7) // 8 == ((other.length or 1) + 7) // 8
        return same and (self.scale or 0) == (other.scale or 0)


@dataclass(frozen=True, slots=True)
class ForeignKey:
    """A foreign key of a table, the child.

    ``db``, ``table``: the parent; without ``db`` it is in the child's; ``referenced``: its columns,
    empty for those of its primary key; ``on_delete``, ``on_update``: CASCADE, SET NULL or
    NO ACTION; ``index``: what its key is called where it has no ``name`` itself.
    """

    columns: tuple[str, ...]
    db: str | None
    table: str
    referenced: tuple[str, ...]
    on_delete: str
    on_update: str
    name: str | None = None
    index: str | None = None

    @property
    def cascades(self) -> bool:
        """Whether changes of the parent change the child."""
        return not {self.on_delete, self.on_update}.isdisjoint(("CASCADE", "SET NULL"))

    def following(
        self, db: str, old: TableId, new: TableId, columns: Mapping[str, str]
    ) -> ForeignKey:
        """It once its parent ``old`` is called ``new``; any other stays.

        ``db``: the child's; ``columns``: what the parent's columns are called now, by their names
        before in small letters.
        """
        if (self.db or db, self.table) != old:
            return self
        referenced = tuple(columns.get(name.lower(), name) for name in self.referenced)
        return replace(self, db=new[0], table=new[1], referenced=referenced)

    def spelled_by(self, columns: Iterable[ColumnDefinition]) -> ForeignKey:
        """It with its parent's columns, which are given, spelled as they are."""
        names = {column.name.lower(): column.name for column in columns}
        return replace(self, referenced=tuple(names.get(n.lower(), n) for n in self.referenced))

    def of_renamed(self, old: TableId, new: TableId) -> ForeignKey:
        """It once its table ``old``, the child, is called ``new``: a name of InnoDB's follows."""
        made = re.compile(rf"\A{re.escape(old[1])}(?=_ibfk_)", re.IGNORECASE)
        name = self.name and made.sub(lambda _: new[1], self.name)
        return replace(self, db=self.db or (old[0] if old[0] != new[0] else None), name=name)

    def in_small_letters(self) -> ForeignKey:
        """It as a server with lower_case_table_names=1 names the parent."""
        return replace(self, db=self.db and self.db.lower(), table=self.table.lower())


#: The kinds of suppositions.
SUPPOSED = ("definition", "charset", "sign")


@dataclass(frozen=True, slots=True)
class Supposition:
    """What is taken for true of a table, or of a column, though no byte decides it.

    ``kind``: ``definition`` (a CREATE TABLE IF NOT EXISTS that may have done nothing), ``charset``
    (a text column's character set) or ``sign`` (whether an integer column is unsigned); ``of``:
    ``db.table`` or ``db.table.column``; ``why``: what is supposed, and what it rests on, one
    sentence.
    """

    kind: str
    of: str
    why: str

    @property
    def name(self) -> str:
        """By which it is accepted (``--suppose``)."""
        return f"{self.kind}:{self.of}"

    def __str__(self) -> str:
        return f"supposed ({self.name}): {self.why}"

    @classmethod
    def of_charset(cls, db: str, table: str, column: str) -> Supposition:
        """That a column of unknown character set is UTF-8."""
        why = (
            f"{column} has more than ASCII, read as UTF-8; the log does not name its character set"
        )
        return cls("charset", f"{db}.{table}.{column}", why)

    @classmethod
    def of_sign(cls, db: str, table: str, column: str) -> Supposition:
        """That a column of unknown sign is signed."""
        why = f"{column} is read as signed, with negative values; the log does not say if it is"
        return cls("sign", f"{db}.{table}.{column}", why)


@dataclass(frozen=True, slots=True)
class TableDefinition:
    """A table as SQL defines it, columns in the server's order.

    ``primary_key``: column names, empty without one; ``unique_keys``: each unique key's column
    names in order, in the order the server keeps them; ``foreign``: each with its parent's ``db``;
    ``partial_keys``: those that hold only the beginning of a column, by their places in
    ``unique_keys`` (-1: the primary key), each with how many characters or bytes of its columns
    (None: all); ``indexed``: the columns of any key; ``supposed``: what it rests on that is not
    known; ``unique_names``: what the unique keys are called, empty if not known;
    ``expression_keys``: the columns of each unique key over expressions, which is not among those;
    ``version``: the server's, 50722 for 5.7.22, or 0 if not known.
    """

    db: str
    table: str
    columns: tuple[ColumnDefinition, ...]
    primary_key: tuple[str, ...] = ()
    unique_keys: tuple[tuple[str, ...], ...] = ()
    charset: str | None = None
    collation: str | None = None
    engine: str | None = None
    foreign: tuple[ForeignKey, ...] = ()
    partial_keys: tuple[tuple[int, tuple[int | None, ...]], ...] = ()
    indexed: tuple[str, ...] = ()
    supposed: tuple[Supposition, ...] = ()
    unique_names: tuple[str, ...] = ()
    expression_keys: tuple[tuple[str, ...], ...] = ()
    version: int = field(default=0, compare=False)

    @property
    def uniques(self) -> list[tuple[tuple[str, ...], tuple[int | None, ...]]]:
        """The columns of the primary key, if there is one, and of each unique key, with how much of
        each counts: characters, bytes; None for all."""
        partial = dict(self.partial_keys)
        keys = enumerate([self.primary_key, *self.unique_keys], -1)
        return [(names, partial.get(at, (None,) * len(names))) for at, names in keys if names]

    @property
    def cascades(self) -> tuple[str, ...]:
        """The tables whose changes reach this one by a foreign key's CASCADE or SET NULL (in no
        log up to 9.5), as ``db.table``."""
        return tuple(map(".".join, self.parents))

    @property
    def parents(self) -> tuple[TableId, ...]:
        """The same tables as (db, table)."""
        found = ((fk.db or self.db, fk.table) for fk in self.foreign if fk.cascades)
        return tuple(dict.fromkeys(found))

    def renamed(self, new: TableId) -> TableDefinition:
        """It once it is called ``new``."""
        foreign = tuple(key.of_renamed((self.db, self.table), new) for key in self.foreign)
        return replace(self, db=new[0], table=new[1], foreign=foreign)

    def referring(self, old: TableId, new: TableId, columns: Mapping[str, str]) -> TableDefinition:
        """It with its foreign keys following a parent; see :meth:`ForeignKey.following`."""
        foreign = tuple(key.following(self.db, old, new, columns) for key in self.foreign)
        return self if foreign == self.foreign else replace(self, foreign=foreign)

    def in_small_letters(self) -> TableDefinition:
        """It as a server with lower_case_table_names=1 names it and its parents."""
        foreign = tuple(key.in_small_letters() for key in self.foreign)
        return replace(self, db=self.db.lower(), table=self.table.lower(), foreign=foreign)


@dataclass(frozen=True, slots=True)
class StatementTime:
    """When a statement was carried out: ``second``, since 1970 UTC, its ``microseconds``, and the
    session's ``time_zone``; each None where the log lacks it."""

    second: int | None = None
    microseconds: int | None = None
    time_zone: str | None = None


@dataclass(frozen=True, slots=True)
class TableChange:
    """What one statement did to one table.

    ``action``: create, drop, truncate, rename, alter, drop_database, statement_write, unknown, or
    incident (no statement: the server says that changes are missing from the log here);
    ``db``, ``table``: its name before (empty where it is not known; ``table`` is empty of
    drop_database); ``new_db``, ``new_table``: of rename; ``definition``: after the change, and
    ``before`` of alter, None where there is none or it is not known; ``reason``: of unknown, and
    what else there is to know (one sentence); ``conditional``: of create, whether it may have done
    nothing, as the table was there; ``reads``: of statement_write, the tables that the statement
    reads besides, None where it may call what writes; ``alone``: whether it wrote this table and no
    other; ``deletes_all``: whether it left no row in it; ``moment``: when alter was carried out;
    ``unchecked``: whether that was with foreign_key_checks off; ``like``: the table that create
    copied.
    """

    action: str
    db: str
    table: str
    new_db: str | None = None
    new_table: str | None = None
    definition: TableDefinition | None = None
    reason: str | None = None
    before: TableDefinition | None = None
    conditional: bool = False
    reads: tuple[TableId, ...] | None = None
    alone: bool = False
    deletes_all: bool = False
    moment: StatementTime = StatementTime()
    unchecked: bool = False
    like: TableId | None = None

    def in_small_letters(self) -> TableChange:
        """It as a server with lower_case_table_names=1 names tables."""
        return replace(
            self,
            db=self.db.lower(),
            table=self.table.lower(),
            new_db=self.new_db and self.new_db.lower(),
            new_table=self.new_table and self.new_table.lower(),
            definition=self.definition and self.definition.in_small_letters(),
            before=self.before and self.before.in_small_letters(),
            like=self.like and small_name(self.like),
        )


@dataclass(frozen=True, slots=True)
class Column:
    """A column of one version of a table, as the decoder uses it.

    ``type``: the real type (ENUM and SET resolved); ``meta``: the table map's metadata bytes for
    the column; ``length``: bytes a CHAR or BINARY, BLOB or VARCHAR can hold, bits of a BIT,
    bytes of an ENUM or SET; ``precision``, ``scale``: DECIMAL; ``scale`` is also the fraction
    digits of a temporal type. ``labels``: None where not known. ``mysql_type``: the type as SQL
    would write it, as far as it is known. ``no_utf8``: the character set is unknown, and by how
    many bytes it can hold it is not UTF-8: text beyond ASCII cannot be decoded.
    """

    index: int
    name: str
    type: ColumnType
    meta: bytes
    mysql_type: str
    nullable: bool = True
    unsigned: bool = False
    length: int = 0
    precision: int = 0
    scale: int = 0
    charset: str | None = None
    collation: str | None = None
    labels: tuple[str, ...] | None = None
    generated: str | None = None
    visible: bool = True
    name_origin: Origin = Origin.POSITION
    sign_origin: Origin = Origin.TABLE_MAP
    charset_origin: Origin = Origin.TABLE_MAP
    labels_origin: Origin = Origin.TABLE_MAP
    no_utf8: bool = False

    @property
    def small(self) -> bool:
        """Whether what is made for it may be kept for other tables: no labels, a usual name."""
        return self.labels is None and len(self.name) <= NAME_LENGTH


@dataclass(frozen=True, slots=True)
class TableSchema:
    """One version of a table in a log.

    ``version``: 0, 1, … per table name in log order; ``source``: whose log. ``key``: the column
    names of the primary key, else of the first unique key without nullable columns, else empty;
    ``key_kind``: ``primary``, ``unique``, ``none`` (it is known that there is none) or ``unknown``;
    ``key_origin``: where that is known from. ``cascades``: see :class:`TableDefinition`;
    ``twice``: whether its server logs such changes, and some of its own rows twice
    (docs/traps.md, "Cascades"). ``problems``: what contradicts (a definition that does not
    fit the table map), each one sentence; ``supposed``: what it rests on that is not known.
    """

    db: str
    table: str
    version: int
    columns: tuple[Column, ...]
    key: tuple[str, ...] = ()
    key_kind: str = "unknown"
    key_origin: Origin = Origin.ASSUMED
    cascades: tuple[str, ...] = ()
    problems: tuple[str, ...] = field(default=())
    source: str | None = None
    supposed: tuple[Supposition, ...] = ()
    twice: bool = False

    @property
    def name(self) -> TableId:
        """``(db, table)``."""
        return (self.db, self.table)

    @property
    def named(self) -> bool:
        """Whether all of its columns' names are known."""
        return all(column.name_origin is not Origin.POSITION for column in self.columns)


def table_plan(
    schema: TableSchema,
    server_version: str = "",
    wanted: Sequence[int] | None = None,
    *,
    digests: bool = False,
) -> TablePlan:
    """The plan of a table; ``wanted``: indexes of the columns asked for, None for all.

    ``server_version``: of the log, as its format description has it: 5.7 prints JSON otherwise.
    ``digests``: also of the images' bytes; a table without a key has all its columns as one.
    """
    as_5_7 = version_tuple(server_version)[:2] == (5, 7)
    specs = [cell_spec(column, as_5_7) for column in schema.columns]
    names = [column.name for column in schema.columns]
    key = [i for i, name in enumerate(names) if name in schema.key] or range(len(names))
    return TablePlan(specs, names, wanted, key if digests else None)


def columns_in(bitmap: bytes, columns: Iterable[Column]) -> list[Column]:
    """The columns whose bits are set."""
    return [one for one in columns if bitmap[one.index // 8] >> (one.index % 8) & 1]


def cell_spec(column: Column, as_5_7: bool = False) -> CellSpec:
    """What the decoder of a column needs."""
    return CellSpec(
        column.type,
        column.meta,
        column.unsigned,
        column.length,
        column.precision,
        column.scale,
        column.charset,
        column.labels,
        as_5_7,
        column.no_utf8,
    )


def small_name(name: TableId) -> TableId:
    """A table's name in small letters, as servers with lower_case_table_names=1 store it."""
    return name[0].lower(), name[1].lower()


def joined_columns(
    child: TableDefinition | None,
    columns: Iterable[str],
    parent: TableDefinition | None,
    referenced: Iterable[str],
) -> Iterator[tuple[ColumnDefinition, ColumnDefinition]]:
    """The pairs of columns that a foreign key joins, as far as both tables are known."""
    if child is not None and parent is not None:
        own, theirs = ({c.name.lower(): c for c in t.columns} for t in (child, parent))
        for column, other in zip(columns, referenced, strict=True):
            if column.lower() in own and other.lower() in theirs:
                yield own[column.lower()], theirs[other.lower()]
