"""Transactions that are made up, played on a server: after each statement, what the log has new."""

from __future__ import annotations

import random
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from binlogkit.analyses.logging_rules import (
    Definitions,
    Outcome,
    Settings,
    read_definitions,
    settings_of,
    unrolled,
)
from binlogkit.analyses.logging_rules.caches import Caches, commits
from binlogkit.analyses.logging_rules.texts import alike
from binlogkit.rows.ddl.scan import ScriptStatements
from binlogkit_fixtures.rules.play import DISCONNECT, ENDINGS, KILL, Played, Session
from binlogkit_fixtures.servers import Server

__all__ = ["TABLES", "Step", "make_scripts", "once", "plain", "predicted", "run_scripts", "shown"]

TABLES = """CREATE DATABASE caches; USE caches;
CREATE TABLE t (id INT AUTO_INCREMENT PRIMARY KEY, a INT UNIQUE);
CREATE TABLE n (id INT AUTO_INCREMENT PRIMARY KEY, a INT UNIQUE) ENGINE=MyISAM;
INSERT INTO t (a) VALUES (-1);
INSERT INTO n (a) VALUES (-1);
CREATE TABLE u (a INT);
CREATE TABLE w (a INT) ENGINE=MyISAM;
DELIMITER //
CREATE FUNCTION f_u() RETURNS INT BEGIN INSERT INTO u VALUES (1); RETURN 1; END//
CREATE FUNCTION f_w(x INT) RETURNS INT BEGIN INSERT INTO w VALUES (x); RETURN x; END//
CREATE FUNCTION f_uw() RETURNS INT BEGIN INSERT INTO u VALUES (f_w(1)); RETURN 2; END//
CREATE PROCEDURE p_if() BEGIN IF f_u() THEN INSERT INTO u VALUES (3); END IF; END//
CREATE PROCEDURE p_declare() BEGIN DECLARE x INT DEFAULT f_w(4); SET x = f_u(); END//
CREATE PROCEDURE p_while() BEGIN DECLARE x INT DEFAULT 1;
  WHILE x = 1 AND f_uw() DO SET x = f_w(x) + 1; END WHILE; END//
CREATE PROCEDURE p_in(x INT) BEGIN INSERT INTO w VALUES (x); END//
DELIMITER ;"""
_STATEMENTS = (
    "INSERT INTO t (a) VALUES ({n})", "INSERT INTO t (a) VALUES ({n})",
    "INSERT INTO n (a) VALUES ({n})", "INSERT INTO n (a) VALUES ({n})",
    "UPDATE t SET a = {n} WHERE a = -1 - {n}", "SELECT COUNT(*) FROM t", "SELECT COUNT(*) FROM n",
    "INSERT INTO t (a) VALUES ({n}), (-1)", "INSERT INTO n (a) VALUES ({n}), (-1)",
    "INSERT INTO t (a) SELECT {n} FROM n WHERE a = -1",
    "INSERT INTO n (a) SELECT {n} FROM t WHERE a = -1",
    "CREATE TEMPORARY TABLE p{n} (a INT)", "CREATE TEMPORARY TABLE p{n} (a INT) ENGINE=MyISAM",
    "CREATE TEMPORARY TABLE p{n} SELECT a FROM t WHERE a = -1",
    "CREATE TEMPORARY TABLE px (a INT)", "CREATE TEMPORARY TABLE px (a INT) ENGINE=MyISAM",
    "SELECT f_u()", "SELECT f_w(3) + f_u()", "SET @x = f_u() + f_w(2)", "DO f_uw()",
    "CALL p_if()", "CALL p_declare()", "CALL p_while()", "CALL p_in({n})", "CALL p_in(f_u())",
    "CREATE TEMPORARY TABLE py (a INT) ENGINE=MyISAM", "CALL p_in(f_w(3))",
    "DROP TEMPORARY TABLE IF EXISTS px, py", "DROP TABLE IF EXISTS px, c1, py, absent",
    "CREATE TABLE IF NOT EXISTS c1 (a INT) ENGINE=MyISAM", "CREATE TABLE c{n} LIKE px",
    "TRUNCATE TABLE px", "ALTER TABLE px ADD b{n} INT", "DROP TEMPORARY TABLE px",
    "INSERT INTO px (a) VALUES ({n})", "CREATE TABLE c{n} (a INT)",
    "CREATE TABLE c{n} SELECT a FROM t WHERE a = -1", "TRUNCATE TABLE c1",
    "SAVEPOINT s1", "SAVEPOINT s2", "SAVEPOINT s1",
    "ROLLBACK TO s1", "ROLLBACK TO SAVEPOINT s2", "RELEASE SAVEPOINT s1", "BEGIN", "COMMIT",
    "SET autocommit = 0", "SET autocommit = 1",
)  # fmt: skip
_ENDS = ("COMMIT", "ROLLBACK", "ROLLBACK", "BEGIN", DISCONNECT, KILL)
#: Errors after which nothing was done: no such table or savepoint, a format that is impossible.
_NOTHING = (1146, 1305, *range(1661, 1668))


@dataclass(frozen=True, slots=True)
class Step:
    """A statement that was played, and what the log had new after it, predicted and found."""

    script: tuple[str, ...]
    sql: str
    predicted: tuple[str, ...]
    found: tuple[str, ...]

    @property
    def agrees(self) -> bool:
        """Whether what was found is what was predicted."""
        same = len(self.predicted) == len(self.found)
        return same and all(map(alike, self.predicted, self.found))


def make_scripts(seed: int, count: int) -> Iterator[tuple[str, ...]]:
    """Settings, then statements; the same for the same seed."""
    chance, number = random.Random(seed), 1000  # noqa: S311  repeatable, not secret
    for _ in range(count):
        script = [f"SET binlog_format = {chance.choice(('ROW', 'STATEMENT', 'MIXED'))}"]
        begun = chance.choice(
            ("BEGIN", "BEGIN", "START TRANSACTION", "SET autocommit = 0", "SELECT 1")
        )
        script.append(begun)
        for _ in range(chance.randrange(2, 8)):
            number += 1
            script.append(chance.choice(_STATEMENTS).format(n=number))
        yield (*script, chance.choice(_ENDS), "SET autocommit = 1", "ROLLBACK")


def run_scripts(server: Server, scripts: Iterable[Sequence[str]]) -> list[Step]:
    """Play each script; every statement's prediction beside what was found."""
    server.query("DROP DATABASE IF EXISTS caches")
    for statement in ScriptStatements(TABLES):
        server.query(statement)
    server.query("CREATE TABLE caches.c1 (a INT)")
    session = Session(server, "caches")
    first = session
    sessions: list[tuple[tuple[str, ...], list[Played]]] = []
    steps: list[Step] = []
    for script in scripts:  # an ending in one begins a connection for what follows
        steps_of = [session.run(sql) for sql in script]
        session.run("ROLLBACK")
        sessions.append((tuple(script), steps_of))
        temporary = [sql.split()[3] for sql in script if sql.startswith("CREATE TEMPORARY")]
        for name in temporary:
            session.run(f"DROP TEMPORARY TABLE IF EXISTS {name}")
    first.read()
    definitions = read_definitions(TABLES + "\nCREATE TABLE c1 (a INT);", server.version)
    caches = Caches(Settings(server.version))
    for script, played in sessions:
        settings = settings_of({"binlog_format": script[0].split()[-1]}, server.version)
        # What is open was rolled back; what a statement kept stays with the session.
        caches = Caches(settings, marks=caches.marks)
        steps += predicted(script, played, definitions, caches)
    session.close()
    return steps


def predicted(
    script: tuple[str, ...], played: Sequence[Played], definitions: Definitions, caches: Caches
) -> Iterator[Step]:
    """Each step of a script that was played, with what is predicted of it."""
    definitions.catalog.temporary.clear()
    for step in played[1:]:
        if step.sql in ENDINGS:
            yield Step(script, step.sql, once(caches.disconnect().written), shown(step))
            continue
        wanted = _taken(step, definitions, caches)
        yield Step(script, step.sql, wanted, shown(step))
        if step.error is None and step.sql.split()[0] in ("CREATE", "DROP"):
            definitions.apply(step.sql, "caches")


def _taken(step: Played, definitions: Definitions, caches: Caches) -> tuple[str, ...]:
    settings = caches.settings
    statements = unrolled(step.sql, definitions, settings, "caches")
    written: list[str] = []
    for one in statements:
        statement, decision = caches.decided(one)
        failed = step.error is not None
        if step.error is not None and step.error[0] in _NOTHING and not commits(statement):
            return ()
        rows = step.rows > 0 or failed or statement.kind == "create_select" or len(statements) > 1
        if decision.outcome == Outcome.STATEMENT or statement.invoked:
            rows = True
        written += caches.take(statement, decision, changed=rows, failed=failed).written
    return once(written)


def once(texts: Iterable[str]) -> tuple[str, ...]:
    """Rows of one table after another count once: a table's map may serve several statements."""
    found: list[str] = []
    for text in texts:
        if not (text.startswith("rows of ") and found[-1:] == [text]):
            found.append(text)
    return tuple(found)


_TABLE = re.compile(r"CREATE TABLE `?(\w+)`?.*", re.S)


def plain(text: str) -> str:
    """A statement as it is compared; servers write some anew."""
    text = text.replace("`", "").replace(" /* generated by server */", "")
    if text.startswith("CREATE TABLE"):
        return _TABLE.sub(r"CREATE TABLE \1", text)
    return text


def shown(step: Played) -> tuple[str, ...]:
    """What a step brought into the log, as :class:`binlogkit.analyses.logging_rules.caches.Logged`
    says it."""
    found: list[str] = []
    maps = step.maps
    for event in step.events:
        kind, fields = event["type"], event["fields"]
        if kind == "QUERY_EVENT":
            found.append(str(fields["query"]))
        elif kind == "XID_EVENT":
            found.append("COMMIT")
        elif event in maps:
            found.append(f"rows of {fields['db']}.{fields['table']}")
        if found[-2:] == ["BEGIN", "COMMIT"]:  # table maps alone
            del found[-2:]
    return once(found)
