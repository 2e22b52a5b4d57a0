"""CREATE TABLE: reading the statement and making the table of it."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from binlogkit.rows.ddl.charsets import Collated
from binlogkit.rows.ddl.columns import ColumnSpec, column, promoted, resolve
from binlogkit.rows.ddl.keys import KEY_WORDS, Key, KeyPart, key_or_foreign
from binlogkit.rows.ddl.keywords import words
from binlogkit.rows.ddl.session import Session
from binlogkit.rows.ddl.table import Tracked, engine_name, finish
from binlogkit.rows.ddl.tokens import Reader
from binlogkit.rows.ddl.types import accept_charset
from binlogkit.rows.schema import ForeignKey

_QUERY_WORDS = frozenset(("SELECT", "WITH", "VALUES", "TABLE"))
_BEFORE_QUERY = frozenset(("AS", "IGNORE", "REPLACE"))
#: Where table options end: at a query, the next part of an ALTER, or partitions.
_OPTIONS_END = _QUERY_WORDS | _BEFORE_QUERY | {"PARTITION", ",", ")", "("}

#: Columns that a table can have (manual, "Limits on Table Column Count").
_MAX_COLUMNS = 4096
#: Keys and foreign keys that a statement may name: a limit of this reader against hostile text;
#: the server has 64 keys, 255 where it was built so (MAX_INDEXES).
_MAX_KEYS = 1024


@dataclass(slots=True)
class Options:
    """The table options that are tracked; None where the statement does not name one.

    ``with_rows``: START TRANSACTION, which the server writes (8.0.21): rows follow, of the SELECT
    that gave the columns.
    """

    charset: str | None = None
    collation: str | None = None
    default_charset: bool = False
    engine: str | None = None
    with_rows: bool = False


@dataclass(slots=True)
class Elements:
    """Columns and keys in the order of the statement."""

    columns: list[ColumnSpec] = field(default_factory=list)
    keys: list[Key] = field(default_factory=list)
    foreign: list[ForeignKey] = field(default_factory=list)

    def read(self, reader: Reader) -> None:
        """One column, key or check between the parentheses."""
        if not reader.sees_any(KEY_WORDS):
            self.read_column(reader)
            return
        found = key_or_foreign(reader)
        if isinstance(found, ForeignKey):
            self.foreign.append(found)
        elif found is not None:
            self.keys.append(found)
        self._check(reader)

    def read_column(self, reader: Reader) -> ColumnSpec:
        """A column, and the keys that its own attributes make."""
        spec = column(reader)
        self.columns.append(spec)
        if spec.primary:
            self.keys.append(Key("primary", (KeyPart(spec.name),), "PRIMARY"))
        if spec.unique:
            self.keys.append(Key("unique", (KeyPart(spec.name),)))
        if spec.foreign is not None:
            self.foreign.append(spec.foreign)
        self._check(reader)
        return spec

    def _check(self, reader: Reader) -> None:
        if len(self.columns) > _MAX_COLUMNS or len(self.keys) + len(self.foreign) > _MAX_KEYS:
            reader.fail(f"more than {_MAX_COLUMNS} columns or {_MAX_KEYS} keys")


@dataclass(slots=True)
class CreateTable:
    """A parsed CREATE TABLE. ``like``: the table to copy; ``query``: a SELECT gives columns."""

    db: str | None
    table: str
    temporary: bool = False
    if_not_exists: bool = False
    elements: Elements = field(default_factory=Elements)
    options: Options = field(default_factory=Options)
    like: tuple[str | None, str] | None = None
    query: bool = False


def create_table(reader: Reader) -> CreateTable:
    """Read ``CREATE [TEMPORARY] TABLE …``."""
    reader.expect("CREATE")
    temporary = reader.accept("TEMPORARY")
    reader.expect("TABLE")
    if_not_exists = reader.accept("IF", "NOT", "EXISTS")
    db, table = reader.qualified()
    result = CreateTable(db, table, temporary, if_not_exists)
    if reader.accept("LIKE"):
        result.like = reader.qualified()
    elif reader.accept("(", "LIKE"):
        result.like = reader.qualified()
        reader.expect(")")
    else:
        _body(reader, result)
    return result


def _body(reader: Reader, result: CreateTable) -> None:
    """Columns, options, partitions, query."""
    if reader.sees("(") and reader.peek(1).word not in {*_QUERY_WORDS, "("}:
        reader.listed(result.elements.read)
    while not reader.done:
        before = reader.peek()
        table_options(reader, result.options)
        if reader.accept(","):
            continue
        if reader.accept("PARTITION"):
            reader.skip_until(*_QUERY_WORDS, *_BEFORE_QUERY)
        if reader.done:
            break
        if reader.sees("(") or reader.sees_any(_QUERY_WORDS | _BEFORE_QUERY):
            result.query = True
            return
        if reader.peek() is before:
            reader.fail("nothing is known that could stand here")
    if not result.elements.columns:
        reader.fail("a table without columns")


def table_options(reader: Reader, options: Options) -> None:
    """Read table options up to the next part of the statement; those not tracked are skipped."""
    while not (reader.done or reader.sees_any(_OPTIONS_END) or reader.sees("READ", "ONLY")):
        if reader.accept("UNION"):
            reader.accept("=")
            reader.skip_parentheses()
        elif accept_charset(reader):
            reader.accept("=")
            if reader.accept("DEFAULT"):
                options.default_charset = True
            else:
                options.charset = reader.text_value()
        elif reader.accept("COLLATE"):
            reader.accept("=")
            if not reader.accept("DEFAULT"):
                options.collation = reader.text_value()
        elif reader.accept_any("ENGINE", "TYPE"):
            reader.accept("=")
            options.engine = engine_name(reader.text_value())
        elif reader.accept("START", "TRANSACTION"):
            options.with_rows = True
        else:
            _other_option(reader)


#: Table options that take one value and change nothing that is tracked (manual 5.7 to 9.x).
_OTHER_OPTIONS = words(
    "AUTOEXTEND_SIZE AUTO_INCREMENT AVG_ROW_LENGTH CHECKSUM COMMENT COMPRESSION "
    "CONNECTION DELAY_KEY_WRITE DIRECTORY ENCRYPTION ENGINE_ATTRIBUTE INSERT_METHOD "
    "KEY_BLOCK_SIZE MAX_ROWS MIN_ROWS PACK_KEYS PASSWORD ROW_FORMAT SECONDARY_ENGINE "
    "SECONDARY_ENGINE_ATTRIBUTE STATS_AUTO_RECALC STATS_PERSISTENT STATS_SAMPLE_PAGES "
    "STORAGE TABLESPACE TABLE_CHECKSUM"
)


def _other_option(reader: Reader) -> None:
    if reader.accept("DEFAULT"):
        return
    if reader.peek(1).word == "DIRECTORY":
        reader.accept_any("DATA", "INDEX")
    if not reader.sees_any(_OTHER_OPTIONS):
        reader.fail("a table option expected")
    reader.take()
    reader.accept("=")
    reader.take()


def build(parsed: CreateTable, db: str, database: Collated, session: Session) -> Tracked:
    """The table that the server makes of ``parsed`` in a database with those defaults."""
    options = parsed.options
    default = session.collated(options.charset, options.collation)
    if default.charset is None:
        default = replace(database, of_database=True)
    return finish(
        Tracked(
            db,
            parsed.table,
            tuple(
                resolve(spec, default, session)
                for spec in promoted(parsed.elements.columns, session)
            ),
            tuple(parsed.elements.keys),
            tuple(parsed.elements.foreign),
            default,
            options.engine,
        )
    )
