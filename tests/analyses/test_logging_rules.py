"""Row or statement, error or warning, cache and images: held to what servers gave, rule by rule.

The results are those of ``python -m binlogkit_fixtures.rules prove``; that servers still give them
is in tests/fixtures_gen/test_rules_server.py.
"""

from __future__ import annotations

from collections import Counter
from functools import cache

import pytest

from binlogkit.analyses.logging_rules import (
    Definitions,
    Engine,
    Settings,
    Statement,
    TableUse,
    Transaction,
    decide,
    failed,
    read_definitions,
    read_statement,
    settings_of,
    unrolled,
)
from binlogkit.analyses.logging_rules.caches import Caches
from binlogkit.analyses.logging_rules.decision import RULES, Decision
from binlogkit.analyses.logging_rules.document import SERVERS_OWN, results, sentences
from binlogkit.analyses.logging_rules.explained import explain
from binlogkit.analyses.logging_rules.references import LISTS
from binlogkit.analyses.logging_rules.texts import UNKNOWN, alike
from binlogkit.errors import SchemaError, UsageError
from binlogkit_fixtures.rules.proof import predict

VERSIONS = ("5.6.24", "5.7.22", "8.0.31", "9.7.4")
SCHEMA = """
CREATE DATABASE d; USE d;
CREATE TABLE t (id INT PRIMARY KEY, a INT, b TEXT);
CREATE TABLE auto (id INT AUTO_INCREMENT PRIMARY KEY, a INT);
CREATE TABLE late (a INT NOT NULL, id INT AUTO_INCREMENT, PRIMARY KEY (a, id)) ENGINE=MyISAM;
CREATE TABLE two (id INT PRIMARY KEY, u INT UNIQUE);
CREATE TABLE n (id INT PRIMARY KEY, a INT) ENGINE=MyISAM;
CREATE TABLE fired (id INT PRIMARY KEY, a INT, b TEXT);
CREATE TABLE made (id INT PRIMARY KEY, u CHAR(36) DEFAULT (UUID()));
CREATE TEMPORARY TABLE temp (id INT);
CREATE VIEW v AS SELECT id, a FROM t;
CREATE VIEW odd AS SELECT id, RAND() AS r FROM t;
CREATE FUNCTION lib RETURNS INTEGER SONAME 'lib.so';
DELIMITER //
CREATE TRIGGER fi BEFORE INSERT ON fired FOR EACH ROW BEGIN
  IF NEW.a > 0 THEN SET NEW.b = NEW.id; INSERT INTO auto (a) VALUES (1); END IF; END//
CREATE FUNCTION f() RETURNS INT BEGIN DECLARE x INT DEFAULT 0;
  WHILE x < 2 DO SET x = x + 1; UPDATE n SET a = x; END WHILE; RETURN x; END//
CREATE PROCEDURE p(q INT) BEGIN DECLARE EXIT HANDLER FOR SQLEXCEPTION BEGIN DELETE FROM n; END;
  INSERT INTO t VALUES (q, 1, UUID()); CASE q WHEN 1 THEN CALL inner_one(); ELSE
  UPDATE t SET a = 2; END CASE; END//
CREATE PROCEDURE inner_one() DELETE FROM t LIMIT 1//
"""


@cache
def defined(version: str) -> Definitions:
    """What SCHEMA defines."""
    return read_definitions(SCHEMA, version)


def statement(sql: str, version: str = "8.0.31", **settings: str) -> Statement:
    """A statement over SCHEMA."""
    return read_statement(sql, defined(version), settings_of(settings, version), "d")


# ---- the document ----------------------------------------------------------------------------


@pytest.mark.parametrize("version", VERSIONS)
def test_every_rule_gives_what_the_server_gave(version: str) -> None:
    wrong, asked = {}, 0
    for rule in sentences():
        given = results().get(rule.id, {}).get(version)
        told = None if given is None else predict(rule, version)
        asked += told is not None
        if told is None or given is None or told == given:
            continue
        if UNKNOWN not in told or not alike(told, given):
            wrong[rule.id] = (told, given)
    assert not wrong
    assert asked > 75


def test_every_sentence_was_played_or_says_why_not() -> None:
    for rule in sentences():
        if rule.not_played:
            assert rule.id not in results() and not rule.play
            continue
        found = results()[rule.id]
        assert set(found) == set(VERSIONS), rule.id
        otherwise = {given for given in found.values() if given != rule.gives}
        assert bool(otherwise) == bool(rule.finding), (rule.id, otherwise)
    assert max(Counter(rule.id for rule in sentences()).values()) == 1
    assert set(results()) <= {rule.id for rule in sentences()}


def test_every_rule_that_decides_has_a_sentence() -> None:
    known = {rule.id for rule in sentences()} | set(SERVERS_OWN)
    assert {rule.id for rule in RULES} <= known


# ---- impossible statements -------------------------------------------------------------------

INNODB = Engine("InnoDB")
COMMITTED = Engine("InnoDB", statement=False)
TEXT_ONLY = Engine("Text", row=False)
ROWS_ONLY = Engine("Rows", statement=False)
NDB = Engine("NDB", self_logging=True)
UNSAFE = frozenset(("function:UUID",))


def writes(
    *engines: Engine, kind: str = "insert", traits: frozenset[str] = frozenset()
) -> Statement:
    """A statement that writes a table of each engine."""
    uses = tuple(TableUse("d", f"t{n}", engine, True) for n, engine in enumerate(engines))
    return Statement(kind, uses, traits=traits)


@pytest.mark.parametrize(
    ("made", "formats", "rule", "number"),
    [
        (writes(TEXT_ONLY, ROWS_ONLY), ("row", "statement", "mixed"), "error-both-engines", 1661),
        (writes(INNODB, TEXT_ONLY), ("row",), "error-row-mode", 1662),
        (writes(TEXT_ONLY, traits=UNSAFE), ("mixed",), "error-unsafe-engine", 1663),
        (writes(TEXT_ONLY, kind="binlog"), ("row", "mixed"), "error-injection-engine", 1664),
        (writes(COMMITTED), ("statement",), "error-statement-mode", 1665),
        (writes(INNODB, kind="binlog"), ("statement",), "error-injection-mode", 1666),
        (writes(NDB, INNODB), ("row", "statement", "mixed"), "error-self-logging", 1667),
    ],
)
def test_impossible_to_log(
    made: Statement, formats: tuple[str, ...], rule: str, number: int
) -> None:
    for name in formats:
        found = decide(made, settings_of({"binlog_format": name}))
        assert (found.outcome, found.rule, found.errno) == ("error", rule, number)


def test_engines_of_statements_alone_are_warned_of() -> None:
    found = decide(writes(TEXT_ONLY, traits=UNSAFE), settings_of({"binlog_format": "STATEMENT"}))
    assert (found.outcome, found.warnings) == ("statement", ("system_function",))


def test_what_fails_is_not_logged_unless_an_n_table_was_changed() -> None:
    for sql, changed, outcome in (
        ("INSERT INTO t (id) VALUES (1)", True, "not logged"),
        ("INSERT INTO n (id) VALUES (1)", True, "rows"),
        ("INSERT INTO n (id) VALUES (1)", False, "not logged"),
    ):
        made = statement(sql)
        assert failed(made, decide(made), changed=changed).outcome == outcome


def test_nothing_is_logged_without_sql_log_bin() -> None:
    found = decide(statement("DELETE FROM t"), Settings(sql_log_bin=False))
    assert (found.outcome, found.rule) == ("not logged", "server-sql-log-bin")


# ---- reading ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("sql", "unsafe"),
    [
        ("INSERT INTO t (b) VALUES ('UUID(), @@port LIMIT 1')", ""),
        ("INSERT INTO t (b) VALUES (uuid ( ))", "system_function"),
        ("INSERT INTO t (b) VALUES (d.uuid())", ""),
        ("INSERT INTO t (b) /* LIMIT 1 */ VALUES (`UUID`) -- RAND()", ""),
        ("INSERT INTO t (b) VALUES (CURRENT_USER)", "system_function"),
        ("INSERT INTO t (a) VALUES (@@session.timestamp)", ""),
        ("INSERT INTO t (a) VALUES (@@global.timestamp)", "system_variable"),
        ("INSERT INTO t (a) VALUES (@@`port`)", "system_variable"),
        ("INSERT INTO t (a) VALUES (@port)", ""),
        ("INSERT INTO t (a) VALUES (lib())", "udf"),
        ("UPDATE t SET a = 1 LIMIT 1", "limit"),
        ("UPDATE t SET a = (SELECT MAX(a) FROM two LIMIT 1)", "limit"),
        ("INSERT INTO t SELECT * FROM odd", "system_function"),
        ("INSERT INTO fired (id) VALUES (1)", "autoinc_columns"),
        ("INSERT INTO auto (a) SELECT a FROM t", "write_autoinc_select"),
        ("INSERT INTO auto (a) SELECT 1", ""),
        ("INSERT INTO auto (a) SELECT a FROM auto", "write_autoinc_select"),
        ("UPDATE auto SET a = 1", ""),
        ("UPDATE auto SET a = (SELECT MAX(a) FROM t)", "write_autoinc_select"),
        ("INSERT INTO late (a) VALUES (1)", "autoinc_not_first"),
        ("INSERT INTO two VALUES (1, 1) ON DUPLICATE KEY UPDATE u = 2", "insert_two_keys"),
        ("INSERT INTO t (id) VALUES (1) ON DUPLICATE KEY UPDATE a = 2", ""),
        ("INSERT INTO two SELECT 1, 1 ON DUPLICATE KEY UPDATE u = 2", "insert_select_update"),
        ("INSERT IGNORE INTO t (id) SELECT id FROM two", "insert_ignore_select"),
        ("INSERT IGNORE INTO t (id) VALUES ((SELECT 1))", ""),
        ("REPLACE INTO t (id) SELECT id FROM two", "replace_select"),
        ("UPDATE IGNORE t SET a = 1", "update_ignore"),
        ("CREATE TABLE x REPLACE SELECT * FROM t", "create_replace_select"),
        ("INSERT INTO t (id) SELECT COUNT(*) FROM mysql.slow_log", "system_table"),
        ("INSERT INTO t (id) SELECT COUNT(*) FROM mysql.user", "acl_table_read"),
        ("INSERT INTO made (id) VALUES (1)", "system_function"),
        ("INSERT INTO made VALUES (1, 'x')", ""),
        ("WITH k AS (SELECT id FROM t) DELETE FROM n USING n JOIN k ON k.id = n.id", ""),
        ("INSERT INTO t (id) SELECT id FROM two FOR UPDATE SKIP LOCKED", "skip_locked"),
    ],
)  # fmt: skip
def test_why_a_statement_is_unsafe(sql: str, unsafe: str) -> None:
    found = decide(statement(sql), settings_of({"binlog_format": "STATEMENT"}))
    assert [name for name in found.unsafe if name != "mixed_statement"] == unsafe.split()


def test_the_documents_functions() -> None:
    """ "System functions that may return a different value on slave", and those that may not."""
    assert len(LISTS["documented"]) == 16
    for name in LISTS["documented"]:
        assert decide(statement(f"DELETE FROM t WHERE a = {name}(1)")).unsafe == (
            "system_function",
        )
    for name in LISTS["safe"]:
        assert not decide(statement(f"DELETE FROM t WHERE a = {name}()")).unsafe


@pytest.mark.parametrize(
    ("sql", "tables"),
    [
        ("INSERT INTO v (id) VALUES (1)", {"t": "w"}),
        ("UPDATE v AS x, two SET x.a = 1 WHERE two.id = x.id", {"t": "w", "two": "r"}),
        ("DELETE x, y FROM t AS x JOIN n AS y ON x.id = y.id", {"t": "w", "n": "w"}),
        ("DELETE FROM x USING t AS x JOIN two USING (id)", {"t": "w", "two": "r"}),
        ("SELECT EXTRACT(YEAR FROM a), TRIM(LEADING 'x' FROM b) FROM t", {"t": "r"}),
        ("INSERT INTO t (id) SELECT x.id FROM (two AS x, n) LEFT JOIN auto USING (id)",
         {"t": "w", "two": "r", "n": "r", "auto": "r"}),
        ("DO f()", {"n": "w"}),
        ("WITH n AS (SELECT 1 AS id) SELECT * FROM n", {}),
        ("WITH k AS (SELECT id FROM n) UPDATE t, two SET t.a = 1 WHERE t.id IN (SELECT id FROM k)",
         {"t": "w", "two": "r", "n": "r"}),
        ("INSERT INTO t SELECT j.* FROM JSON_TABLE('[]', '$[*]' COLUMNS (a INT PATH '$')) AS j",
         {"t": "w"}),
    ],
)  # fmt: skip
def test_the_tables_of_a_statement(sql: str, tables: dict[str, str]) -> None:
    uses = statement(sql).uses
    assert {use.table: "w" if use.write else "r" for use in uses} == tables


@pytest.mark.parametrize(
    ("sql", "columns"),
    [
        ("INSERT INTO t (`id`, d.t.b) VALUES (1, 2)", "id b"),
        ("INSERT INTO t VALUES (1, 2, 3)", "id a b"),
        ("INSERT INTO t () VALUES ()", ""),
        ("INSERT INTO t SET a = (SELECT id FROM two WHERE u = 1), b = 2", "a b"),
        ("INSERT INTO t (id) VALUES (1) ON DUPLICATE KEY UPDATE a = id, b = IF(a, 1, 2)", "id a b"),
        ("UPDATE t SET t.a = b, b = (SELECT 1) WHERE id = 3", "a b"),
        ("UPDATE two AS a, t AS b SET a.u = 1, b.a = 2", "a"),
        ("LOAD DATA INFILE 'x' INTO TABLE t FIELDS TERMINATED BY ',' (id, @x) SET b = @x", "id b"),
        ("LOAD DATA INFILE 'x' INTO TABLE t", "id a b"),
    ],
)
def test_the_columns_that_a_statement_specifies(sql: str, columns: str) -> None:
    assert statement(sql).specified[("d", "t")] == tuple(columns.split())


@pytest.mark.parametrize(
    ("sql", "reads"),
    [
        ("DELETE x FROM auto AS x JOIN auto AS y ON x.id = y.id", True),
        ("DELETE x, y FROM auto AS x JOIN auto AS y ON x.id = y.id", False),
        ("DELETE FROM x, y USING auto AS x JOIN auto AS y ON x.id = y.id", False),
        ("DELETE FROM x USING auto AS x JOIN auto AS y ON x.id = y.id", True),
        ("DELETE FROM auto WHERE id > 3", False),
        ("UPDATE auto AS x, auto AS y SET x.a = 5 WHERE x.id = y.id", True),
        ("UPDATE auto AS x, auto AS y SET x.a = 5, y.a = 5 WHERE x.id = y.id", False),
        ("UPDATE auto SET a = 1, id = 2", False),
    ],
)
def test_a_table_that_is_joined_with_itself(sql: str, reads: bool) -> None:
    """As 5.7.22, 8.0.31 and 9.7.4 warn of it."""
    made = decide(statement(sql), settings_of({"binlog_format": "STATEMENT"}))
    assert ("write_autoinc_select" in made.warnings) == reads


def test_columns_that_before_triggers_name() -> None:
    found = statement("INSERT INTO fired (id) VALUES (1)").triggers
    assert set(found[("d", "fired")]) == {"a", "b", "id"}


def test_a_call_is_unrolled() -> None:
    """ "If a stored procedure A invokes a stored procedure B, then B is unrolled recursively" """
    definitions = read_definitions(SCHEMA, "8.0.31")
    found = unrolled("CALL p(1)", definitions, Settings(), "d")
    assert [(s.kind, *(u.table for u in s.uses)) for s in found] == [
        ("delete", "n"), ("insert", "t"), ("delete", "t"), ("update", "t"),
    ]  # fmt: skip
    with pytest.raises(SchemaError, match="not defined"):
        unrolled("CALL nothing()", definitions, Settings(), "d")


def test_temporary_tables_by_version() -> None:
    mixed = {"binlog_format": "MIXED"}
    for version, outcome in (("5.7.22", "statement"), ("8.0.31", "not logged")):
        for sql in ("INSERT INTO temp VALUES (1)", "CREATE TEMPORARY TABLE x (a INT)"):
            made = statement(sql, version, **mixed)
            assert decide(made, settings_of(mixed, version)).outcome == outcome
        selected = statement("INSERT INTO t (id) SELECT id FROM temp", version, **mixed)
        rows = "statement" if version == "5.7.22" else "rows"
        assert decide(selected, settings_of(mixed, version)).outcome == rows


def test_a_session_with_temporary_tables_stays_with_rows() -> None:
    """Up to 5.7 (``reset_current_stmt_binlog_format_row``)."""
    mixed = settings_of({"binlog_format": "MIXED"}, "5.7.22")
    made, stays = statement("DELETE FROM t", "5.7.22"), Transaction(rows_since_temporary=True)
    assert decide(made, mixed).outcome == "statement"
    assert decide(made, mixed, stays).outcome == "rows"


class Played:
    """A session: statements one after the other, over what they define."""

    def __init__(self, version: str, **settings: str) -> None:
        self.definitions = read_definitions(ROUTINES, version)
        self.caches = Caches(settings_of(settings, version))

    def run(self, sql: str) -> list[Decision]:
        """The decisions of one statement, of a CALL several."""
        found = []
        for one in unrolled(sql, self.definitions, self.caches.settings, "d"):
            found.append(decide(one, self.caches.settings, self.caches.transaction))
            self.written = self.caches.take(one, found[-1]).written
        self.definitions.apply(sql, "d")
        return found

    def run_all(self, script: str) -> list[Decision]:
        """The decisions of the last statement of several."""
        return [self.run(sql) for sql in script.split("; ")][-1]


ROUTINES = """
CREATE DATABASE d; USE d;
CREATE TABLE t (id INT PRIMARY KEY, a CHAR(36));
CREATE TABLE n (id INT PRIMARY KEY, a INT) ENGINE=MyISAM;
DELIMITER //
CREATE PROCEDURE mixed() BEGIN DELETE FROM n; UPDATE t SET a = UUID(); DELETE FROM t; END//
CREATE PROCEDURE one() DELETE FROM n//
"""
#: What stands between two times, and whether CALL and EXECUTE keep then what the first gave them.
BETWEEN = [
    ("DELETE FROM n", True, True),
    ("CREATE TABLE other LIKE n", True, True),
    ("ALTER TABLE t COMMENT 'x'", True, True),
    ("CREATE VIEW w AS SELECT 1", False, True),
    ("CREATE PROCEDURE q() SELECT 1", False, True),
    ("CREATE TRIGGER q BEFORE INSERT ON t FOR EACH ROW SET @x = 1", False, True),
    ("CREATE TRIGGER q BEFORE INSERT ON n FOR EACH ROW SET @x = 1", False, False),
    ("TRUNCATE TABLE n", False, False),
    ("ALTER TABLE n COMMENT 'x'", False, False),
    ("FLUSH TABLES", False, False),
    ("CREATE TEMPORARY TABLE n (id INT)", False, False),
    ("PREPARE s FROM 'DELETE FROM n'", True, False),
]


@pytest.mark.parametrize("version", VERSIONS)
def test_a_call_stays_with_rows(version: str) -> None:
    session = Played(version, binlog_format="MIXED")
    rules = [(one.outcome, one.rule) for one in session.run("CALL mixed()")]
    assert rules == [
        ("statement", "statement-format-mixed"),
        ("rows", "row-format-mixed"),
        ("rows", "server-stays-rows"),
    ]
    assert [one.outcome for one in session.run("DELETE FROM t")] == ["statement"]


@pytest.mark.parametrize("sql", ["CALL one()", "EXECUTE s"])
@pytest.mark.parametrize(("between", "calls", "executes"), BETWEEN)
def test_what_is_kept_of_an_earlier_time(
    sql: str, between: str, calls: bool, executes: bool
) -> None:
    """That servers do so is in tests/fixtures_gen/test_rules_server.py."""
    session = Played("8.0.31", binlog_format="STATEMENT")
    session.run_all("PREPARE s FROM 'DELETE FROM n'; BEGIN; DELETE FROM t")
    assert session.run(sql)[0].warnings == ("nontrans_after_trans",)
    session.run_all(f"ROLLBACK; {between}")
    kept = executes if sql == "EXECUTE s" else calls
    assert session.run(sql)[0].warnings == (("nontrans_after_trans",) if kept else ())


def test_a_refused_statement_keeps_nothing_new() -> None:
    session = Played("9.7.4", binlog_format="STATEMENT")
    made = "PREPARE s FROM 'UPDATE t, n SET t.a = 1, n.a = 1'"
    session.run(made)
    session.caches.settings = settings_of(
        {"binlog_format": "STATEMENT", "transaction_isolation": "READ-COMMITTED"}, "9.7.4"
    )
    assert session.run_all("BEGIN; EXECUTE s")[0].errno == 1665
    session.caches.settings = settings_of({"binlog_format": "STATEMENT"}, "9.7.4")
    assert session.run_all("COMMIT; EXECUTE s")[0].warnings == ()


@pytest.mark.parametrize(
    ("version", "binlog_format", "dropped"),
    [
        ("5.7.22", "ROW", ["`x3`,`x1`", "`x2`"]),
        ("5.7.22", "STATEMENT", ["`x3`,`x1`", "`x2`"]),
        ("8.0.31", "STATEMENT", ["`x3`,`x1`", "`x2`"]),
        ("8.0.31", "MIXED", []),
        ("9.7.4", "ROW", []),
    ],
)
def test_a_session_ends(version: str, binlog_format: str, dropped: list[str]) -> None:
    session = Played(version, binlog_format=binlog_format)
    session.run_all(
        "CREATE TEMPORARY TABLE x1 (a INT); CREATE TEMPORARY TABLE x2 (a INT) ENGINE=MyISAM; "
        "CREATE TEMPORARY TABLE x3 (a INT); CREATE TEMPORARY TABLE x4 LIKE n; "
        "DROP TEMPORARY TABLE x4; BEGIN; DELETE FROM t"
    )
    texts = [f"DROP /*!40005 TEMPORARY */ TABLE IF EXISTS {names}" for names in dropped]
    assert list(session.caches.disconnect().written) == texts
    assert not session.caches.open and session.caches.disconnect().written == ()


@pytest.mark.parametrize(
    ("sql", "outcome"),
    [
        ("FLUSH TABLES", "statement"), ("FLUSH LOGS", "not logged"),
        ("FLUSH LOCAL STATUS", "not logged"), ("FLUSH TABLES WITH READ LOCK", "not logged"),
        ("CHECK TABLE t", "not logged"), ("OPTIMIZE TABLE t", "statement"),
        ("SET PASSWORD = 'x'", "statement"), ("SET DEFAULT ROLE r TO u", "statement"),
        ("SET ROLE NONE", "not logged"), ("LOAD INDEX INTO CACHE n", "not logged"),
        ("CREATE SERVER s FOREIGN DATA WRAPPER mysql OPTIONS (HOST 'x')", "not logged"),
        ("CREATE EVENT e ON SCHEDULE EVERY 1 DAY DO SELECT 1", "statement"),
    ],
)  # fmt: skip
def test_statements_beside_changes(sql: str, outcome: str) -> None:
    """As 5.7.22, 8.0.31 and 9.7.4 gave it in STATEMENT."""
    assert decide(statement(sql), settings_of({"binlog_format": "STATEMENT"})).outcome == outcome


@pytest.mark.parametrize(
    "settings",
    [{"binlog_format": "rows"}, {"binlog_row_image": "x"}, {"max_connections": "1"}],
)
def test_settings_that_no_rule_asks(settings: dict[str, str]) -> None:
    with pytest.raises(UsageError):
        settings_of(settings)


@pytest.mark.parametrize("sql", ["", "INSERT INTO", "UPDATE", "GARBAGE", "'x'"])
def test_what_is_not_understood(sql: str) -> None:
    with pytest.raises(SchemaError):
        statement(sql)


def test_an_explanation_says_every_rule() -> None:
    definitions = Definitions("8.0.31")
    settings = settings_of({"binlog_format": "STATEMENT"}, "8.0.31")
    made = unrolled("DELETE FROM d.t LIMIT 1", definitions, settings)
    found = list(explain(made, settings))
    held = [(r["step"], r["result"]) for r in found if r["holds"]]
    assert ("unsafe", "limit") in held and ("format", "statement") in held
    assert ("warning", "1592: limit") in held
    assert sum(r["step"] == "impossible" and not r["holds"] for r in found) == 7
    assert all(r["sentence"] for r in found)
