"""CREATE TABLE: reading the statement and making the table of it."""

from __future__ import annotations

from dataclasses import dataclass, field

from binlogkit.rows.ddl.charsets import Collated
from binlogkit.rows.ddl.columns import ColumnSpec, column, resolve
from binlogkit.rows.ddl.keys import KEY_WORDS, Foreign, Key, KeyPart, key_or_foreign
from binlogkit.rows.ddl.keywords import words
from binlogkit.rows.ddl.session import Session
from binlogkit.rows.ddl.table import Tracked, engine_name, finish
from binlogkit.rows.ddl.tokens import Reader
from binlogkit.rows.ddl.types import accept_charset

__all__ = [
    "MAX_COLUMNS",
    "MAX_KEYS",
    "CreateTable",
    "Options",
    "build",
    "create_table",
    "element",
    "inline_keys",
    "table_options",
]

_QUERY_WORDS = frozenset(words("SELECT WITH VALUES TABLE"))
#: Where table options end: at a query, the next part of an ALTER, or partitions.
_OPTIONS_END = _QUERY_WORDS | {"AS", "IGNORE", "REPLACE", "PARTITION", ",", ")", "("}


@dataclass(slots=True)
class Options:
    """The table options that are tracked; None where the statement does not name one."""

    charset: str | None = None
    collation: str | None = None
    default_charset: bool = False
    engine: str | None = None


@dataclass(slots=True)
class CreateTable:
    """A parsed CREATE TABLE. ``like``: the table to copy; ``query``: a SELECT gives columns."""

    db: str | None
    table: str
    temporary: bool = False
    if_not_exists: bool = False
    columns: list[ColumnSpec] = field(default_factory=list)
    keys: list[Key] = field(default_factory=list)
    foreign: list[Foreign] = field(default_factory=list)
    options: Options = field(default_factory=Options)
    like: tuple[str | None, str] | None = None
    query: bool = False


def create_table(reader: Reader, session: Session) -> CreateTable:
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
        _body(reader, session, result)
    return result


def _body(reader: Reader, session: Session, result: CreateTable) -> None:
    """Columns, options, partitions, query."""
    query_first = reader.sees("(") and (
        reader.peek(1).word in _QUERY_WORDS or reader.peek(1).word == "("
    )
    if not query_first and reader.accept("("):
        element(reader, session, result.columns, result.keys, result.foreign)
        while reader.accept(","):
            element(reader, session, result.columns, result.keys, result.foreign)
        reader.expect(")")
    while not reader.done:
        before = reader.peek()
        table_options(reader, result.options)
        if reader.accept(","):
            continue
        if reader.accept("PARTITION"):
            reader.skip_until(*_QUERY_WORDS, "AS", "IGNORE", "REPLACE")
        if reader.done:
            break
        if reader.sees("(") or reader.sees_any(_QUERY_WORDS | {"AS", "IGNORE", "REPLACE"}):
            result.query = True
            return
        if reader.peek() is before:
            reader.fail("nothing is known that could stand here")
    if not result.columns:
        reader.fail("a table without columns")


#: Columns that a table can have (manual, "Limits on Table Column Count").
MAX_COLUMNS = 4096
#: Keys and foreign keys that a statement may name: a limit of this reader against hostile text;
#: the server has 64 keys, 255 where it was built so (MAX_INDEXES).
MAX_KEYS = 1024


def element(
    reader: Reader,
    session: Session,
    columns: list[ColumnSpec],
    keys: list[Key],
    foreign: list[Foreign],
) -> None:
    """One column, key or check between the parentheses; keys keep the order of the statement."""
    if len(columns) > MAX_COLUMNS or len(keys) + len(foreign) > MAX_KEYS:
        reader.fail(f"more than {MAX_COLUMNS} columns or {MAX_KEYS} keys")
    if reader.sees_any(KEY_WORDS):
        found = key_or_foreign(reader)
        if isinstance(found, Foreign):
            foreign.append(found)
        elif found is not None:
            keys.append(found)
        return
    spec = column(reader, session, reader.identifier())
    columns.append(spec)
    keys.extend(inline_keys(spec))
    if spec.foreign is not None:
        foreign.append(spec.foreign)


def inline_keys(spec: ColumnSpec) -> list[Key]:
    """The keys that a column's own attributes make."""
    keys = []
    if spec.primary:
        keys.append(Key("primary", (KeyPart(spec.name),), "PRIMARY"))
    if spec.unique:
        keys.append(Key("unique", (KeyPart(spec.name),)))
    return keys


def table_options(reader: Reader, options: Options) -> None:
    """Read table options up to the next part of the statement; those not tracked are skipped."""
    while not (reader.done or reader.sees_any(_OPTIONS_END) or reader.sees("READ", "ONLY")):
        if reader.accept("UNION"):
            reader.accept("=")
            reader.skip_parentheses()
        elif accept_charset(reader):
            reader.accept("=")
            _charset_value(reader, options)
        elif reader.accept("COLLATE"):
            reader.accept("=")
            if not reader.accept("DEFAULT"):
                options.collation = reader.text_value()
        elif reader.accept_any("ENGINE", "TYPE"):
            reader.accept("=")
            options.engine = engine_name(reader.text_value())
        else:
            _other_option(reader)


#: Table options that take one value and change nothing that is tracked (manual 5.7 to 9.x).
_OTHER_OPTIONS = frozenset(
    words(
        "AUTOEXTEND_SIZE AUTO_INCREMENT AVG_ROW_LENGTH CHECKSUM COMMENT COMPRESSION CONNECTION "
        "DELAY_KEY_WRITE DIRECTORY ENCRYPTION ENGINE_ATTRIBUTE INSERT_METHOD KEY_BLOCK_SIZE "
        "MAX_ROWS MIN_ROWS PACK_KEYS PASSWORD ROW_FORMAT SECONDARY_ENGINE "
        "SECONDARY_ENGINE_ATTRIBUTE STATS_AUTO_RECALC STATS_PERSISTENT STATS_SAMPLE_PAGES STORAGE "
        "TABLESPACE TABLE_CHECKSUM"
    )
)


def _other_option(reader: Reader) -> None:
    if reader.accept("DEFAULT") or reader.accept("START", "TRANSACTION"):
        return
    if reader.peek(1).word == "DIRECTORY":
        reader.accept_any("DATA", "INDEX")
    if not reader.sees_any(_OTHER_OPTIONS):
        reader.fail("a table option expected")
    reader.take()
    reader.accept("=")
    reader.take()


def _charset_value(reader: Reader, options: Options) -> None:
    if reader.accept("DEFAULT"):
        options.default_charset = True
    else:
        options.charset = reader.text_value()


def build(parsed: CreateTable, db: str, database: Collated, session: Session) -> Tracked:
    """The table that the server makes of ``parsed`` in a database with those defaults."""
    options = parsed.options
    default = session.collated(options.charset, options.collation)
    if default.charset is None:
        default = database
    columns = tuple(resolve(spec, default, session) for spec in parsed.columns)
    return finish(
        Tracked(
            db=db,
            table=parsed.table,
            columns=columns,
            keys=tuple(parsed.keys),
            foreign=tuple(parsed.foreign),
            collated=default,
            engine=options.engine,
        )
    )
