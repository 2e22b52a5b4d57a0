"""Every function, operator and system variable of a server in a statement that writes: which of
them it warns of."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field

import pymysql

from binlogkit.analyses.logging_rules import (
    Definitions,
    Settings,
    decide,
    read_definitions,
    read_statement,
    settings_of,
)
from binlogkit.analyses.logging_rules.references import LISTS
from binlogkit_fixtures.rules.reasons import reason_of
from binlogkit_fixtures.servers import Server

__all__ = ["Tried", "try_functions", "try_operators", "try_variables"]

TABLE = """CREATE TABLE names.k (b LONGTEXT);
CREATE TABLE names.j (d LONGTEXT, i VARCHAR(100), FULLTEXT (i));"""
#: What a function is called with, one after the other, until the server takes one.
_ARGUMENTS = (
    "",
    "1",
    "1,1",
    "1,1,1",
    "1,1,1,1",
    "'{}'",
    "'[]','$'",
    "'{}','$','1'",
    "'',0",
    "'',''",
)
#: Functions with a syntax of their own, and those that would wait.
_OWN = {
    "CAST": "1 AS CHAR", "CONVERT": "1, CHAR", "EXTRACT": "YEAR FROM NOW()", "SLEEP": "0",
    "DATE_ADD": "NOW(), INTERVAL 1 DAY", "DATE_SUB": "NOW(), INTERVAL 1 DAY",
    "GET_FORMAT": "DATE, 'USA'", "POSITION": "'a' IN 'b'", "TIMESTAMPADD": "DAY, 1, NOW()",
    "TIMESTAMPDIFF": "DAY, NOW(), NOW()", "JSON_CONTAINS_PATH": "'{}', 'one', '$'",
    "JSON_SEARCH": "'{}', 'one', 'a'",
    "UUID_TO_BIN": "'6ccd780c-baba-1026-9564-5b8c656024db'",
}  # fmt: skip
#: Operators and functions with a syntax of their own, by their names in the help tables.
_OPERATORS = {
    "BETWEEN AND": "1 BETWEEN 0 AND 2", "NOT BETWEEN": "1 NOT BETWEEN 0 AND 2",
    "NOT EXISTS": "NOT EXISTS (SELECT 1 FROM j)", "NOT IN": "1 NOT IN (1, 2)",
    "IS NOT": "1 IS NOT TRUE", "IS NULL": "1 IS NULL", "IS NOT NULL": "1 IS NOT NULL",
    "NOT LIKE": "'a' NOT LIKE 'b'", "NOT REGEXP": "'a' NOT REGEXP 'b'",
    "SOUNDS LIKE": "'a' SOUNDS LIKE 'b'", "ASSIGN-VALUE": "@a := 1", "ASSIGN-EQUAL": "@a = 1",
    "CASE OPERATOR": "CASE WHEN 1 THEN 2 ELSE 3 END", "- BINARY": "2 - 1", "- UNARY": "-(1)",
    "!": "!1", "~": "~1", "BINARY OPERATOR": "BINARY 'a'",
    "COUNT DISTINCT": "COUNT(DISTINCT d) FROM j", "->": "d->'$' FROM j", "->>": "d->>'$' FROM j",
    "MEMBER OF": "1 MEMBER OF ('[1]')",
    "MATCH AGAINST": "MATCH (i) AGAINST ('a' IN BOOLEAN MODE) FROM j",
    **{sign: f"3 {sign} 2" for sign in (
        "<=>", "!=", "<=", "<", ">=", ">", "+", "*", "/", "%", "|", "&", "^", "<<", ">>",
    )},
}  # fmt: skip
#: What the help tables have beside them in the same categories: statements.
_STATEMENTS = re.compile(r"(CREATE|DROP) FUNCTION (UDF|LOADABLE FUNCTION)")
_CALLED = re.compile(r"[A-Z_0-9]+(\(\))?")


@dataclass(slots=True)
class Tried:
    """``taken``: the names that the server took; ``unsafe``: those of which it warned;
    ``differences``: the calls of which our rules say otherwise."""

    taken: set[str] = field(default_factory=set)
    unsafe: set[str] = field(default_factory=set)
    differences: list[str] = field(default_factory=list)


def try_functions(server: Server) -> Tried:
    """All that the server's own help names with a syntax, and all that our lists name."""
    topics = server.query("SELECT name FROM mysql.help_topic WHERE description LIKE '%Syntax:%'")
    names = {str(row[0]).removesuffix("()") for row in topics if _CALLED.fullmatch(str(row[0]))}
    names |= LISTS["documented"] | LISTS["others"] | LISTS["safe"]
    calls = (
        (name, tuple(f"{name}({a})" for a in ((_OWN[name],) if name in _OWN else _ARGUMENTS)))
        for name in sorted(names)
    )
    return _tried(server, calls, "system_function")


def try_operators(server: Server) -> Tried:
    """All topics of the help tables' categories of functions and operators that are no plain
    call. Each must have an expression here; MEMBER OF is MySQL 8.0.17's."""
    routines = server.query(
        "SELECT t.name FROM mysql.help_topic AS t JOIN mysql.help_category AS c "
        "USING (help_category_id) WHERE t.description LIKE '%Syntax:%' AND "
        "(c.name LIKE '%Function%' OR c.name LIKE '%operator%')"
    )
    names = {str(row[0]) for row in routines}
    topics = sorted(n for n in names if not (_CALLED.fullmatch(n) or _STATEMENTS.fullmatch(n)))
    calls: list[tuple[str, tuple[str, ...]]] = []
    missing = []
    for topic in topics:
        name = topic.removesuffix(" FUNCTION")
        if topic in _OPERATORS:
            calls.append((topic, (_OPERATORS[topic],)))
        elif name != topic:
            calls.append((topic, tuple(f"{name}({a})" for a in (*_ARGUMENTS, "'a',1,1,'b'"))))
        else:
            missing.append(topic)
    found = _tried(server, calls, "system_function")
    found.differences += [f"{topic}: no expression of it is known" for topic in missing]
    found.differences += [f"{name}: not taken" for name, _ in calls if name not in found.taken]
    return found


def try_variables(server: Server) -> Tried:
    """All of SHOW VARIABLES, as they are and with each scope."""
    names = [str(row[0]) for row in server.query("SHOW VARIABLES")]
    calls = (
        (f"{scope}{name}", (f"@@{scope}{name}",))
        for name in names
        for scope in ("", "session.", "global.")
    )
    return _tried(server, calls, "system_variable")


def _tried(server: Server, calls: Iterable[tuple[str, tuple[str, ...]]], reason: str) -> Tried:
    server.query("DROP DATABASE IF EXISTS names")
    server.query("CREATE DATABASE names")
    for statement in TABLE.split(";")[:-1]:
        server.query(statement)
    definitions = read_definitions(TABLE, server.version)
    settings = settings_of({"binlog_format": "STATEMENT"}, server.version)
    found = Tried()
    with (
        server.connect(database="names", ssl_disabled=True) as connection,
        connection.cursor() as cursor,
    ):
        cursor.execute("SET binlog_format = 'STATEMENT', sql_mode = ''")
        for name, ways in calls:
            for sql in (f"INSERT INTO k SELECT {way}" for way in ways):
                if (warned := _warned(cursor, sql, reason)) is None:
                    continue
                found.taken.add(name)
                found.unsafe |= {name} if warned else set()
                if warned != _predicted(sql, reason, definitions, settings):
                    found.differences.append(f"{sql}: {warned}")
    return found


def _warned(cursor: pymysql.cursors.Cursor, sql: str, reason: str) -> bool | None:
    """Whether the server warns of the statement for this reason; None: it does not take it."""
    try:
        cursor.execute(sql)
    except pymysql.err.MySQLError:
        return None
    if not cursor.warning_count:
        return False
    cursor.execute("SHOW WARNINGS")
    return any(int(row[1]) == 1592 and reason_of(str(row[2])) == reason for row in cursor)


def _predicted(sql: str, reason: str, definitions: Definitions, settings: Settings) -> bool:
    return reason in decide(read_statement(sql, definitions, settings, "names"), settings).warnings
