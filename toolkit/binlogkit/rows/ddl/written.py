"""Which tables a statement-format DML statement writes."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from binlogkit.errors import SchemaError
from binlogkit.rows.ddl.forms import form_of
from binlogkit.rows.ddl.keywords import words
from binlogkit.rows.ddl.scan import leading_words, pieces
from binlogkit.rows.ddl.session import ASSUMED_VERSION, Session, SqlMode
from binlogkit.rows.ddl.tokens import Reader, read

WrittenName = tuple[str | None, str]
_FORMS: dict[tuple[str, str | None, int, int], WrittenByText] = {}
_MOST_FORMS = 1024


@dataclass(frozen=True, slots=True)
class WrittenByText:
    """What a statement does to tables, as far as its text alone says so.

    ``names``: see :func:`written_tables`; ``reads``: see :func:`read_tables`; ``everything``: see
    :func:`deletes_all`.
    """

    names: Sequence[WrittenName] | None
    reads: Sequence[WrittenName] | None
    everything: bool


def written(sql: str, default_db: str | None, mode: int, version: int) -> WrittenByText:
    """What a statement does to tables; found out once for all statements of its form."""
    form = form_of(sql, mode)
    key = (form or "", default_db, mode, version)
    known = _FORMS.get(key) if form is not None else None
    if known is None:
        session = default_db, mode, version
        names = written_tables(sql, *session)
        reads = None if names is None else read_tables(sql, *session)
        everything = names is not None and deletes_all(sql, mode, version)
        known = WrittenByText(names, reads, everything)
        if form is not None:
            if len(_FORMS) >= _MOST_FORMS:
                _FORMS.clear()
            _FORMS[key] = known
    return known


#: Characters that are read to find the tables; values after them can be many.
_HEAD = 1 << 18
_SHORT_HEAD = {"INSERT": 512, "REPLACE": 512, "TRUNCATE": 512, "LOAD": 8192}


def written_tables(
    sql: str,
    default_db: str | None,
    sql_mode: int | None = None,
    version: int = ASSUMED_VERSION,
) -> list[WrittenName] | None:
    """``(db, table)`` of each table that the statement itself writes, in order of naming.

    None: that is not known (CALL, DO, SELECT of a function, a text that is not understood). An
    empty list: none. What triggers and stored functions write besides is in no statement. When a
    multi-table UPDATE sets a column without naming its table, every table it joins is given.
    """
    session = Session(version, SqlMode(sql_mode or 0))
    try:
        names = _written(read(_head(sql, session.mode, version), session))
    except SchemaError:
        return None
    if names is None:
        return None
    return list(dict.fromkeys((db or default_db, table) for db, table in names))


#: Functions of the server, none of which writes (manual, "Built-In Function and Operator
#: Reference"); a stored function that has the name of one is called with its database only.
_FUNCTIONS = words(
    "ABS ADDDATE ADDTIME AVG BIN BIT_AND BIT_OR BIT_XOR CEIL CEILING CHAR CHAR_LENGTH "
    "COALESCE CONCAT CONCAT_WS CONNECTION_ID CONV CONVERT CONVERT_TZ COUNT CRC32 CURDATE "
    "CURRENT_DATE CURRENT_TIME CURRENT_TIMESTAMP CURRENT_USER CURTIME DATABASE DATE "
    "DATEDIFF DATE_ADD DATE_FORMAT DATE_SUB DAY DAYOFMONTH DAYOFWEEK DAYOFYEAR ELT FIELD "
    "FIND_IN_SET FLOOR FORMAT FROM_UNIXTIME GREATEST GROUP_CONCAT HEX HOUR IF IFNULL INSERT "
    "INSTR ISNULL JSON_ARRAY JSON_EXTRACT JSON_OBJECT JSON_SET LAST_DAY LAST_INSERT_ID "
    "LCASE LEAST LEFT LENGTH LOCALTIME LOCALTIMESTAMP LOCATE LOWER LPAD LTRIM MAX MD5 "
    "MICROSECOND MID MIN MINUTE MOD MONTH NOW NULLIF PI POW POWER QUARTER RAND REPEAT "
    "REPLACE REVERSE RIGHT ROUND RPAD RTRIM SECOND SHA SHA1 SHA2 SIGN SQRT STR_TO_DATE "
    "SUBDATE SUBSTR SUBSTRING SUBSTRING_INDEX SUBTIME SUM SYSDATE TIME TIMEDIFF TIMESTAMP "
    "TIMESTAMPADD TIMESTAMPDIFF TO_DAYS TRIM TRUNCATE UCASE UNHEX UNIX_TIMESTAMP UPPER USER "
    "UTC_DATE UTC_TIME UTC_TIMESTAMP UUID UUID_SHORT VALUES VERSION WEEK YEAR"
)
#: What can stand before a parenthesis and is no function's name.
_NO_FUNCTIONS = words(
    "VALUE IN AND OR XOR NOT WHERE SET AS CAST BINARY DECIMAL VARCHAR BETWEEN LIKE WHEN THEN "
    "ELSE CASE DIV INTERVAL ON UPDATE BY ALL ROW INDEX KEY USING DISTINCT"
)
_NAME = r"[^\s.(),=]+"
_COLUMNS = re.compile(
    rf"\s*(?:INSERT|REPLACE)\s+(?:(?:LOW_PRIORITY|DELAYED|HIGH_PRIORITY|IGNORE)\s+)*"
    rf"(?:INTO\s+)?{_NAME}(?:\s*\.\s*{_NAME})?\s*\(",
    re.IGNORECASE,
)
_CALL = re.compile(r"([^\s(),=<>!+*/%|&^~-]*)\s*\(")
_MAY_CALL = re.compile(r"\b(?:TABLE|CALL|WITH)\b", re.IGNORECASE)
_SELECT = re.compile(r"\bSELECT\b", re.IGNORECASE)
_VALUES_ALONE = (["INSERT"], ["REPLACE"])  # without a SELECT: most statements of a log
_LONGEST = 1 << 14  # of those that are looked at to their end


def read_tables(
    sql: str,
    default_db: str | None,
    sql_mode: int | None = None,
    version: int = ASSUMED_VERSION,
) -> list[WrittenName] | None:
    """``(db, table)`` of each table that a statement joins or selects from; where none of them is a
    view it writes nothing but the tables that it names, and what their triggers do.

    None: it may call a stored function, or what it reads is not known (subqueries, WITH, a long
    text).
    """
    if len(sql) > _LONGEST:
        return None
    session, kept = Session(version, SqlMode(sql_mode or 0)), []
    try:
        for kind, text in pieces(sql, session.mode, version):
            names = text[0] == "`" or (text[0] == '"' and bool(session.mode & SqlMode.ANSI_QUOTES))
            kept.append(text if kind != "quoted" else "`" if names else "''")
        plain = _COLUMNS.sub("(", "".join(kept), count=1)
        called = {found.upper() for found in _CALL.findall(plain)}
        if _MAY_CALL.search(plain) or called - _FUNCTIONS - _NO_FUNCTIONS - {""}:
            return None
        selects = len(_SELECT.findall(plain))
        if not selects and leading_words(sql, 1, session.mode, version) in _VALUES_ALONE:
            return []
        found = _read(read(sql, session), selects)
    except SchemaError:
        return None
    return None if found is None else [(db or default_db, table) for db, table in found]


def _read(reader: Reader, selects: int) -> list[WrittenName] | None:
    """See :func:`read_tables`; ``selects``: how many SELECT the statement has, if all are outside
    of parentheses."""
    verb, found = reader.take().word, list[WrittenName]()
    if verb in ("UPDATE", "DELETE"):
        if selects:
            return None
        while reader.accept_any("LOW_PRIORITY", "QUICK", "IGNORE"):
            pass
        if verb == "DELETE" and reader.accept("FROM"):
            reader.skip_until("USING", "WHERE", "ORDER", "LIMIT")
            if not reader.accept("USING"):
                return []
        elif verb == "DELETE":
            reader.skip_until("FROM")
            reader.expect("FROM")
        return list(_references(reader, "SET", "WHERE", "ORDER", "LIMIT").values())
    for _ in range(selects):
        reader.skip_until("SELECT")
        reader.expect("SELECT")
        reader.skip_until("FROM", "UNION")
        if reader.accept("FROM"):
            found += _references(reader, *_AFTER_FROM).values()
    return found


_AFTER_FROM = (
    "WHERE", "GROUP", "HAVING", "ORDER", "LIMIT", "UNION", "WINDOW", "FOR", "LOCK", "PROCEDURE",
    "INTO", "ON DUPLICATE",
)  # fmt: skip


def deletes_all(sql: str, sql_mode: int | None = None, version: int = ASSUMED_VERSION) -> bool:
    """Whether a statement deletes every row of the one table that it names."""
    session = Session(version, SqlMode(sql_mode or 0))
    if len(sql) > _LONGEST or leading_words(sql, 1, session.mode, version) != ["DELETE"]:
        return False
    try:
        reader = read(sql, session)
        reader.expect("DELETE")
        while reader.accept_any("LOW_PRIORITY", "QUICK"):
            pass
        reader.expect("FROM")
        reader.qualified()
    except SchemaError:
        return False
    return reader.done


def _head(sql: str, mode: SqlMode, version: int) -> str:
    """The beginning of ``sql`` without comments, cut between two pieces of text."""
    verb = leading_words(sql, 1, mode, version)
    limit = _SHORT_HEAD.get(verb[0], _HEAD) if verb else 0
    kept: list[str] = []
    size = 0
    for kind, text in pieces(sql, mode, version):
        long = kind == "quoted" and text[0] != "`" and len(text) > 1024
        text = text[0] * 2 if long else text
        kept.append(text[: limit - size] if kind == "plain" else text)
        size += len(text)
        if size >= limit:
            break
    return "".join(kept)


def _written(reader: Reader) -> list[WrittenName] | None:
    if reader.accept("WITH"):
        reader.skip_until("UPDATE", "DELETE", "SELECT", "INSERT", "REPLACE")
    verb = reader.peek().word
    if verb in ("CALL", "DO", "SELECT", "(", "HANDLER", "EXECUTE"):
        return None
    if reader.accept_any("INSERT", "REPLACE"):
        while reader.accept_any("LOW_PRIORITY", "DELAYED", "HIGH_PRIORITY", "IGNORE"):
            pass
        reader.accept("INTO")
        return [reader.qualified()]
    if reader.accept("TRUNCATE", "TABLE") or reader.accept("TRUNCATE"):
        return [reader.qualified()]
    if reader.accept("LOAD"):
        if reader.accept("INDEX"):
            return []
        reader.skip_until("INTO")
        reader.expect("INTO", "TABLE")
        return [reader.qualified()]
    if reader.accept("UPDATE"):
        return _update(reader)
    if reader.accept("DELETE"):
        return _delete(reader)
    return []


def _update(reader: Reader) -> list[WrittenName]:
    while reader.accept_any("LOW_PRIORITY", "IGNORE"):
        pass
    tables = _references(reader, "SET")
    if len(tables) == 1:
        return list(tables.values())
    reader.expect("SET")
    written: list[WrittenName] = []
    while True:
        name = _assigned(reader, tables)
        if name is None:
            return list(tables.values())
        written.append(name)
        reader.skip_until(",", "WHERE", "ORDER", "LIMIT")
        if not reader.accept(","):
            return written


def _assigned(reader: Reader, tables: dict[str, WrittenName]) -> WrittenName | None:
    """The table whose column is set next; None where the column's name does not show it."""
    parts = [reader.identifier()]
    while reader.accept("."):
        parts.append(reader.identifier())
    if len(parts) < 2:
        return None
    if len(parts) == 3:
        return parts[0], parts[1]
    return tables.get(parts[0].lower())


def _delete(reader: Reader) -> list[WrittenName] | None:
    while reader.accept_any("LOW_PRIORITY", "QUICK", "IGNORE"):
        pass
    targets_first = not reader.accept("FROM")
    targets = reader.separated(_target)
    if targets_first:
        reader.expect("FROM")
    elif not reader.accept("USING"):
        return targets
    tables = _references(reader, "WHERE")
    return [
        tables.get(table.lower(), (db, table)) if db is None else (db, table)
        for db, table in targets
    ]


def _target(reader: Reader) -> WrittenName:
    """A table to delete from: ``t``, ``db.t``, ``t.*``."""
    first = reader.identifier()
    if not reader.accept("."):
        return None, first
    if reader.accept("*"):
        return None, first
    second = reader.identifier()
    if reader.accept("."):
        reader.expect("*")
    return first, second


#: Words that can follow a table's name without being its alias.
_NO_ALIAS = words(
    "SET WHERE JOIN INNER CROSS LEFT RIGHT NATURAL STRAIGHT_JOIN ON USING FORCE USE "
    "IGNORE PARTITION ORDER LIMIT AS UNION GROUP HAVING WINDOW FOR LOCK PROCEDURE INTO"
)
_BETWEEN = ("JOIN", "STRAIGHT_JOIN", ",")


def _references(reader: Reader, *ends: str) -> dict[str, WrittenName]:
    """The tables of a join by lower-case alias; derived tables are left out."""
    tables: dict[str, WrittenName] = {}
    depth = 0
    expected = True
    while not reader.done and not (depth == 0 and any(reader.sees(*e.split()) for e in ends)):
        if expected and reader.sees("(") and reader.peek(1).word in ("SELECT", "WITH", "("):
            if reader.peek(1).word == "(":
                reader.take()
                depth += 1
                continue
            reader.skip_parentheses()
            expected = False
        elif expected and reader.accept("("):
            depth += 1
        elif reader.accept(")"):
            depth -= 1
        elif expected and reader.accept("LATERAL"):
            continue
        elif expected:
            _reference(reader, tables)
            expected = False
        elif reader.sees("("):
            reader.skip_parentheses()
        else:
            expected = reader.take().word in _BETWEEN
    return tables


def _reference(reader: Reader, tables: dict[str, WrittenName]) -> None:
    """One table of a join with its alias."""
    db, table = reader.qualified()
    if reader.accept("PARTITION"):
        reader.skip_parentheses()
    alias = table
    if reader.accept("AS") or (
        reader.peek().kind in ("word", "name") and not reader.sees_any(_NO_ALIAS)
    ):
        alias = reader.identifier()
    tables[alias.lower()] = (db, table)
