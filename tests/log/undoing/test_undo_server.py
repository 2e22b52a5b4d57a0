"""Undo scripts of real logs on the servers that wrote them: what SELECT shows afterwards."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pymysql
import pytest

import binlogkit as bk
from binlogkit.reports.sql import SqlOptions, script
from binlogkit_fixtures.clock import start_server
from binlogkit_fixtures.servers import Server, ServerSpec
from tests.servers import SERIES, each_server

pytestmark = pytest.mark.server

#: The verdict where rows refer to one that a statement would change or delete.
OTHERS_REFER = (
    "rolled back: foreign keys would change or delete other rows than those to be undone, or "
    "refuse because of them"
)

server = each_server()


class Story:
    """A database whose log begins anew; ``undo`` is of what was done after ``mark``."""

    def __init__(self, server: Server, folder: Path, db: str) -> None:
        self.server, self.folder, self.db = server, folder, db
        self.session = server.connect(autocommit=True)
        self.run("SET lock_wait_timeout = 60")  # a lock that a failed story left is an error
        self.run(f"DROP DATABASE IF EXISTS {db}", f"CREATE DATABASE {db}", f"USE {db}")
        self.run("FLUSH BINARY LOGS")
        self.name = server.binlog_names()[-1]
        self.pos = 4

    def run(self, *statements: str) -> list[tuple[Any, ...]]:
        rows: list[tuple[Any, ...]] = []
        with self.session.cursor() as cursor:
            for statement in statements:
                cursor.execute(statement)
                rows = list(cursor.fetchall())
        return rows

    def mark(self) -> None:
        self.pos = int(self.run(f"SHOW BINLOG EVENTS IN '{self.name}'")[-1][4])

    def log(self) -> bk.Log:
        return bk.open(str(self.server.copy_binlog(self.name, self.folder)))

    def undo(self, **filters: Any) -> tuple[Any, ...]:
        """Run the script; its verdict."""
        return carried_out(self, self.log().undo(start_position=self.pos, **filters))


def carried_out(
    story: Story, plans: Iterable[Any], said: list[Any] | None = None
) -> tuple[Any, ...]:
    """Run a script of plans in the story's session; its verdict. ``said``: all of them."""
    options = SqlOptions(commit=True, despite_refused=True)
    verdict: tuple[Any, ...] = ()
    for line in script(plans, options):
        if not line.startswith("--"):
            rows = story.run(line.rstrip(";\n"))
            verdict = rows[0] if rows else verdict
            if rows and said is not None:
                said.append(verdict[-1])
    return verdict


def test_tables_and_columns_that_were_renamed_or_are_gone(server: Server, tmp_path: Path) -> None:
    story = Story(server, tmp_path, "later")
    story.run(
        "CREATE TABLE a (id INT PRIMARY KEY, v INT, w VARCHAR(9), x INT)",
        "CREATE TABLE gone LIKE a", "CREATE TABLE emptied LIKE a",
        "INSERT INTO a VALUES (1, 1, 'one', 1), (2, 2, 'two', 2), (3, 3, 'three', 3)",
    )  # fmt: skip
    story.mark()
    story.run(
        "UPDATE a SET v = v + 10 WHERE id < 3", "UPDATE a SET w = 'other' WHERE id = 3",
        "UPDATE a SET x = 0 WHERE id = 1",
        "INSERT INTO gone VALUES (1, 1, '', 1)", "INSERT INTO emptied VALUES (1, 1, '', 1)",
        "RENAME TABLE a TO spare, gone TO a, spare TO gone",
        "DROP TABLE a", "TRUNCATE emptied",
        "ALTER TABLE gone CHANGE v n BIGINT, MODIFY w VARCHAR(20), DROP COLUMN x",
        "INSERT INTO gone VALUES (4, 4, 'four')",
        "ALTER TABLE gone RENAME TO kept, CHANGE n number BIGINT",
        "DELETE FROM kept WHERE id = 2",
    )  # fmt: skip
    verdict = story.undo()
    assert verdict[:3] == (7, 4, 0)  # three, and the ALTER TABLE that drops a column
    assert verdict[-1] == "committed 7 statements; 4 changes were refused and not carried out"
    rows = story.run("SELECT id, number, w FROM kept ORDER BY id")
    assert rows == [(1, 1, "one"), (2, 2, "two"), (3, 3, "three")]


def test_a_table_without_a_key_with_inexact_values(server: Server, tmp_path: Path) -> None:
    """Only the changes of rows that hold such values are refused; a row comes back beside one that
    differs in such a column of the key alone."""
    story = Story(server, tmp_path, "keyless")
    story.run(
        "CREATE TABLE bare (a INT, f FLOAT, j JSON)",
        "INSERT INTO bare VALUES (1, 0.1, '{}'), (1, 0.1, '{}'), (2, NULL, NULL), (2, NULL, NULL)",
        "CREATE TABLE good (id INT PRIMARY KEY, v INT)", "INSERT INTO good VALUES (1, 1)",
        "CREATE TABLE near (id INT, d DOUBLE, PRIMARY KEY (id, d))",
        "INSERT INTO near VALUES (1, 1.5), (1, 2.5)",
    )  # fmt: skip
    story.mark()
    story.run(
        "DELETE FROM near WHERE d = 1.5",
        "UPDATE bare SET a = 5 WHERE a = 1 LIMIT 1", "UPDATE bare SET a = 6 WHERE a = 2 LIMIT 1",
        "DELETE FROM bare WHERE a = 1", "UPDATE good SET v = 2",
    )  # fmt: skip
    verdict = story.undo()
    assert verdict[:3] == (4, 1, 0)
    assert verdict[-1] == "committed 4 statements; 1 change was refused and not carried out"
    assert story.run("SELECT v FROM good") == [(1,)]
    assert story.run("SELECT * FROM near") == [(1, 1.5), (1, 2.5)]
    assert story.run("SELECT a, COUNT(*) FROM bare GROUP BY a ORDER BY a") == [
        (1, 1),
        (2, 2),
        (5, 1),
    ]


def test_a_trigger_that_changes_what_is_written(server: Server, tmp_path: Path) -> None:
    """Each statement changes one row, and the row is not what it was: nothing is kept."""
    story = Story(server, tmp_path, "triggers")
    story.run(
        "CREATE TABLE t (id INT PRIMARY KEY, v INT)", "INSERT INTO t VALUES (1, 1), (2, 2), (3, 3)",
        "CREATE TABLE bare (v INT, w VARCHAR(9))", "INSERT INTO bare VALUES (7, 'x'), (1, 'x')",
    )  # fmt: skip
    story.mark()
    story.run("UPDATE t SET v = v + 10 WHERE id < 3", "DELETE FROM t WHERE id = 3")
    story.run("DELETE FROM bare WHERE v = 1")
    story.run(
        "CREATE TRIGGER u BEFORE UPDATE ON t FOR EACH ROW SET NEW.v = IF(NEW.id = 2, 0, NEW.v)",
        "CREATE TRIGGER i BEFORE INSERT ON t FOR EACH ROW SET NEW.v = NEW.v + 1",
        "CREATE TRIGGER b BEFORE INSERT ON bare FOR EACH ROW SET NEW.v = 7",
    )  # fmt: skip
    verdict = story.undo()
    assert verdict[:5] == (4, 0, 0, 3, "1 2 3")
    assert verdict[-1] == "rolled back: not every row holds what was written to it"
    assert story.run("SELECT * FROM t ORDER BY id") == [(1, 11), (2, 12)]
    story.run("DROP TRIGGER u", "DROP TRIGGER i", "DROP TRIGGER b")
    assert story.undo()[-1] == "committed"
    assert story.run("SELECT * FROM t ORDER BY id") == [(1, 1), (2, 2), (3, 3)]
    assert story.run("SELECT * FROM bare ORDER BY v") == [(1, "x"), (7, "x")]


def test_a_trigger_that_writes_elsewhere(server: Server, tmp_path: Path) -> None:
    """What it does is not undone, and done once more: nothing is kept unless it is asked for."""
    story = Story(server, tmp_path, "elsewhere")
    story.run(
        "CREATE TABLE `o'ld` (id INT PRIMARY KEY, v INT)", "CREATE TABLE seen (v INT)",
        "CREATE TRIGGER `to``ld` AFTER UPDATE ON `o'ld` FOR EACH ROW "
        "INSERT INTO seen VALUES (OLD.v)",
        "CREATE TRIGGER other AFTER INSERT ON `o'ld` FOR EACH ROW INSERT INTO seen VALUES (0)",
        "INSERT INTO `o'ld` VALUES (1, 1)",
    )  # fmt: skip
    story.mark()
    story.run("UPDATE `o'ld` SET v = 2")
    for filters in ({"table": "elsewhere.o'ld"}, {}):  # of one table, of both
        verdict = story.undo(**filters)[-1]
        assert verdict.startswith("rolled back: triggers act on these statements: elsewhere.to`ld;")
    assert story.run("SELECT v FROM `o'ld`") == [(2,)]
    plans = story.log().undo(start_position=story.pos, table="elsewhere.o'ld")
    for line in plans.script(commit=True, despite_triggers=True).splitlines():
        if not line.startswith("--"):
            verdict = (story.run(line.rstrip(";")) or [verdict])[0]
    assert verdict[-1] == "committed"
    assert story.run("SELECT v FROM seen") == [(0,), (1,), (2,)]


FAMILY = (
    "CREATE TABLE p (id INT PRIMARY KEY, v INT)",
    "CREATE TABLE c (id INT PRIMARY KEY, p INT, t TEXT, d DATETIME(3), z DATE, "
    "FOREIGN KEY (p) REFERENCES p (id) ON DELETE CASCADE ON UPDATE CASCADE)",
    "CREATE TABLE g (c INT, n INT, PRIMARY KEY (c, n), "
    "FOREIGN KEY (c) REFERENCES c (id) ON DELETE CASCADE)",
    "CREATE TABLE o (id INT PRIMARY KEY, p INT, note VARCHAR(9), "
    "FOREIGN KEY (p) REFERENCES p (id) ON DELETE SET NULL ON UPDATE SET NULL)",
    "CREATE TABLE tree (id INT PRIMARY KEY, up INT, "
    "FOREIGN KEY (up) REFERENCES tree (id) ON DELETE CASCADE)",
)


@pytest.mark.parametrize("image", ["FULL", "MINIMAL", "NOBLOB"])
@pytest.mark.gate(3)
def test_rows_that_went_with_their_parents(server: Server, tmp_path: Path, image: str) -> None:
    """ON DELETE CASCADE over two tables, into the own one, and SET NULL.

    9.7 logs rows of the own table, and of a child's child, after those that they refer to: they
    would come back too early.
    """
    logged = server.query("SELECT VERSION()")[0][0].startswith("9")
    story = Story(server, tmp_path, f"family_{image.lower()}")
    tables = [sql.split()[2] for sql in FAMILY]
    story.run(f"SET binlog_row_image = {image}, sql_mode = ''", *FAMILY)
    story.run(
        "INSERT INTO p VALUES (1, 10), (2, 20), (3, 30), (4, 40)",
        "INSERT INTO c VALUES (1, 1, 'a', '2020-01-01 01:02:03.5', '0000-00-00'), "
        "(2, 1, NULL, NULL, NULL), (3, 2, 'c', NULL, NULL), (4, 3, 'd', NULL, NULL)",
        "INSERT INTO g VALUES (1, 1), (1, 2), (2, 1), (3, 1), (4, 1)",
        "INSERT INTO o VALUES (1, 1, 'x'), (2, 2, 'y'), (3, 3, 'z'), (4, 4, 'w')",
        "INSERT INTO tree VALUES (1, NULL), (2, 1), (3, 2), (4, 2), (5, NULL), (6, 5)",
        "UPDATE p SET id = 9 WHERE id = 3",
    )
    if logged:
        story.run("DELETE FROM g WHERE c <> 3")
    before = [story.run(f"SELECT * FROM {table} ORDER BY 1, 2") for table in tables]
    story.mark()
    story.run("DELETE FROM p WHERE id IN (1, 9)", "UPDATE c SET t = 'other' WHERE id = 3")
    story.run(
        "UPDATE p SET id = 5 WHERE id = 4", f"DELETE FROM tree WHERE id = {3 if logged else 1}"
    )
    assert story.run("SELECT COUNT(*) FROM g") == [(1,)]
    verdict = story.undo()
    assert verdict[-1] == "committed"
    after = [story.run(f"SELECT * FROM {table} ORDER BY 1, 2") for table in tables]
    assert after == before


@pytest.mark.parametrize("series", SERIES)
@pytest.mark.parametrize("typed", ["p c P", "P C p", "P c p", "p C P"])
def test_names_that_are_stored_in_small_letters(series: str, typed: str, tmp_path: Path) -> None:
    """lower_case_table_names=1: the parent and the child as they are made, the parent as the
    child's foreign key names it. Once nothing but that name shows how names are stored."""
    parent, child, named = typed.split()
    key = f"p INT, FOREIGN KEY (p) REFERENCES {named} (id)"
    options = {"lower-case-table-names": "1"}  # the data folder is made so
    with start_server(ServerSpec(series, options), "auto", "real")[0] as server:
        story = Story(server, tmp_path, "small")
        story.run(
            f"CREATE TABLE {parent} (id INT PRIMARY KEY)",
            f"CREATE TABLE {child} (id INT PRIMARY KEY, {key} ON DELETE CASCADE)",
            f"INSERT INTO {parent} VALUES (1), (2)",
            f"CREATE TABLE later (id INT PRIMARY KEY, {key} ON DELETE SET NULL)",
            f"INSERT INTO {child.lower()} VALUES (1, 1), (2, 2)",
            "INSERT INTO later VALUES (1, 1), (2, 2)",
        )
        story.mark()
        story.run(f"DELETE FROM {parent} WHERE id = 1")
        for table in ("c", "later"):
            state = story.log().state(f"small.{table}")
            records: Any = state.records()
            rows = [tuple(record["values"].values()) for record in records]
            assert (state.determined, rows) == (True, story.run(f"SELECT * FROM {table}"))
        assert story.undo()[-1] == "committed"
        assert story.run("SELECT * FROM p") == [(1,), (2,)]
        for table in ("c", "later"):
            assert story.run(f"SELECT * FROM {table}") == [(1, 1), (2, 2)]


def test_rows_that_went_and_are_not_known(server: Server, tmp_path: Path) -> None:
    """A child whose rows were there before the log: its parent's deletes are refused."""
    if server.query("SELECT VERSION()")[0][0].startswith("9"):
        return  # the children's rows are in the log
    story = Story(server, tmp_path, "unknown_child")
    story.run(*FAMILY[:2], "INSERT INTO p VALUES (1, 1), (2, 2)")
    story.run("INSERT INTO c VALUES (1, 1, '', NULL, NULL)")
    story.run("FLUSH BINARY LOGS")
    story.name, story.pos = server.binlog_names()[-1], 4
    story.run("DELETE FROM p WHERE id = 1", "UPDATE p SET v = 5 WHERE id = 2")
    schema = tmp_path / "schema.sql"
    schema.write_text(
        f"CREATE DATABASE unknown_child; USE unknown_child; {FAMILY[0]}; {FAMILY[1]};"
    )
    plans = list(bk.open(str(story.log().files[0]), schema=str(schema)).undo())
    assert [bool(plan["refused"]) for plan in plans] == [False, True]
    assert plans[1]["refused"] == "unknown rows of unknown_child.c were deleted with it"


@pytest.mark.parametrize("image", ["MINIMAL", "NOBLOB"])
def test_images_that_hold_a_part_of_their_rows(server: Server, tmp_path: Path, image: str) -> None:
    """What was before is known from the log before: deletes, updates, keys that move."""
    story = Story(server, tmp_path, f"partial_{image.lower()}")
    story.run(
        f"SET binlog_row_image = {image}",
        "CREATE TABLE t (id INT PRIMARY KEY, v INT DEFAULT 3, t TEXT, j JSON, b BLOB)",
        "CREATE TABLE u (a VARCHAR(9), b INT, w DATETIME, PRIMARY KEY (a, b)) CHARSET utf8mb4",
    )
    for i in range(40):
        story.run(f"INSERT INTO t VALUES ({i}, {i * 2}, 'text {i}', '[{i}]', x'00{i:02}')")
    story.run("INSERT INTO t (id) VALUES (100), (101)", "UPDATE t SET t = NULL WHERE id < 3")
    story.run("INSERT INTO u VALUES ('ä', 1, '2020-01-01'), ('B', 1, NULL), ('x ', 2, NULL)")
    before = [story.run(f"SELECT * FROM {table} ORDER BY 1, 2") for table in "tu"]
    story.mark()
    story.run("DELETE FROM t WHERE id % 3 = 1", "UPDATE t SET t = 'all', v = 0")
    story.run("UPDATE t SET v = v + 1, id = id + 200 WHERE id < 9", "DELETE FROM t WHERE id = 200")
    story.run("UPDATE t SET b = NULL, t = 'again' WHERE id > 20", "DELETE FROM t WHERE id > 100")
    story.run("UPDATE u SET a = 'z', w = NOW() WHERE a = 'B'", "DELETE FROM u")
    assert story.undo()[-1] == "committed"
    assert [story.run(f"SELECT * FROM {table} ORDER BY 1, 2") for table in "tu"] == before


def test_a_table_that_was_emptied(server: Server, tmp_path: Path) -> None:
    """TRUNCATE logs no rows: the state has them. What was done to them before is undone, too."""
    story = Story(server, tmp_path, "emptied")
    story.run(
        "CREATE TABLE t (id INT PRIMARY KEY, v INT)", "CREATE TABLE bare (v INT)",
        "CREATE TABLE none LIKE t", "INSERT INTO t VALUES (1, 1), (2, 2)",
        "INSERT INTO bare VALUES (1), (1), (NULL)",
    )  # fmt: skip
    story.mark()
    story.run("UPDATE t SET v = 5 WHERE id = 1", "INSERT INTO t VALUES (3, 3)")
    story.run("TRUNCATE t", "TRUNCATE TABLE bare", "TRUNCATE none", "INSERT INTO t VALUES (1, 7)")
    assert story.undo()[-1] == "committed"
    assert story.run("SELECT * FROM t ORDER BY id") == [(1, 1), (2, 2)]
    assert story.run("SELECT v FROM bare ORDER BY v") == [(None,), (1,), (1,)]
    # Of the log from the mark on, the rows are not known.
    story.run("FLUSH BINARY LOGS")
    story.name, story.pos = server.binlog_names()[-1], 4
    story.run("TRUNCATE t")
    (plan,) = story.log().undo()
    assert plan["refused"] == "TRUNCATE logs no rows: what the table held is not in this event"


@pytest.mark.parametrize("keyed", [True, False])
def test_a_table_that_was_emptied_and_another_that_has_its_name(
    server: Server, tmp_path: Path, keyed: bool
) -> None:
    """Its rows are known by its own key, or as equal ones: it was taken for one without rows."""
    story = Story(server, tmp_path, "other_name")
    story.run("CREATE TABLE t (id INT PRIMARY KEY, v INT)", "CREATE TABLE u (k INT PRIMARY KEY)")
    story.run("INSERT INTO t VALUES (1, 1)", "UPDATE t SET v = 2")
    if not keyed:
        story.run("ALTER TABLE t DROP PRIMARY KEY", "INSERT INTO t VALUES (1, 2)")
    story.mark()
    story.run("TRUNCATE t", "RENAME TABLE t TO spare, u TO t, spare TO u")
    story.undo()
    assert story.run("SELECT * FROM u") == [(1, 2)] * (1 if keyed else 2)


@pytest.mark.gate
def test_a_table_that_was_dropped(server: Server, tmp_path: Path) -> None:
    """The state has its rows, the log the statements that made it; other tables are refused."""
    story = Story(server, tmp_path, "dropped")
    story.run(
        "CREATE TABLE first (id INT PRIMARY KEY, v INT)", "INSERT INTO first VALUES (1, 1), (2, 2)",
        "ALTER TABLE first ADD w VARCHAR(9) DEFAULT 'e', RENAME TO t",
        "CREATE TABLE again LIKE t", "CREATE TABLE bare (v INT)",
        "INSERT INTO bare VALUES (1), (1), (NULL)", "INSERT INTO again VALUES (1, 1, NULL)",
    )  # fmt: skip
    story.mark()
    story.run("UPDATE t SET v = 5 WHERE id = 1", "INSERT INTO t VALUES (3, 3, 'x')")
    story.run("DROP TABLE t, bare", "DROP TABLE again", "CREATE TABLE again (id INT PRIMARY KEY)")
    plans = story.log().undo(start_position=story.pos)
    needs = "\n".join(plans.needs)
    assert "dropped.t, dropped in" in needs and "CREATE TABLE first" in needs
    assert needs.index("CREATE TABLE first") < needs.index("ALTER TABLE first")
    assert "CREATE TABLE bare (v INT)" in needs
    assert all(f"-- NEEDED: {need}" in plans.script() for need in plans.needs)
    refused = {p["table"]: p["refused"] for p in plans}
    assert refused.keys() == {"t", "bare", "again"}
    assert all("drop" in str(reason).lower() for reason in refused.values())

    names = ["dropped.t", "dropped.bare"]
    with pytest.raises(pymysql.err.ProgrammingError, match="1146"):
        story.undo(made_again=names)
    story.run("ROLLBACK", "CREATE TABLE bare (v INT)")
    story.run("CREATE TABLE t (id INT PRIMARY KEY, v INT, w VARCHAR(9) DEFAULT 'e')")
    assert "1 change was refused" in story.undo(made_again=names)[-1]
    assert story.run("SELECT * FROM t ORDER BY id") == [(1, 1, "e"), (2, 2, "e")]
    assert story.run("SELECT v FROM bare ORDER BY v") == [(None,), (1,), (1,)]


GUARDED = (
    "CREATE TABLE p (id INT PRIMARY KEY, v INT)",
    "CREATE TABLE c (id INT PRIMARY KEY, p INT, "
    "FOREIGN KEY (p) REFERENCES p (id) ON DELETE CASCADE ON UPDATE CASCADE)",
    "CREATE TABLE o (id INT PRIMARY KEY, p INT, "
    "FOREIGN KEY (p) REFERENCES p (id) ON DELETE SET NULL ON UPDATE SET NULL)",
    "CREATE TABLE `b``um` (id INT PRIMARY KEY, up INT, "
    "FOREIGN KEY (up) REFERENCES `b``um` (id) ON DELETE CASCADE)",
)


@pytest.mark.parametrize("logged", [True, False])
@pytest.mark.parametrize(
    ("chosen", "later"),
    [
        ("INSERT INTO p VALUES (1, 1)", "INSERT INTO c VALUES (1, 1)"),
        ("INSERT INTO p VALUES (1, 1)", "INSERT INTO o VALUES (1, 1)"),
        ("INSERT INTO `b``um` VALUES (1, 1)", "INSERT INTO `b``um` VALUES (2, 1)"),
        ("UPDATE p SET id = 5 WHERE id = 4", "INSERT INTO o VALUES (1, 5)"),
    ],
)
@pytest.mark.sampled(13, 13)
def test_later_rows_that_would_go_along(
    server: Server, tmp_path: Path, chosen: str, later: str, logged: bool
) -> None:
    """They were not chosen: nothing is kept, whether the log shows them or the server does. Where
    they are chosen too, all is taken back."""
    server.query("DROP DATABASE IF EXISTS guarded")
    story = Story(server, tmp_path, "guarded")
    story.run(*GUARDED, "INSERT INTO p VALUES (4, 4)", "INSERT INTO `b``um` VALUES (8, NULL)")
    tables = ["p", "c", "o", "`b``um`"]

    def rows() -> list[list[tuple[Any, ...]]]:
        return [story.run(f"SELECT * FROM {table} ORDER BY 1") for table in tables]

    before = rows()
    story.mark()
    story.run(chosen)
    stop = int(story.run(f"SHOW BINLOG EVENTS IN '{story.name}'")[-1][4])
    story.run(f"SET sql_log_bin = {int(logged)}", later, "SET sql_log_bin = 1")
    after = rows()
    verdict = story.undo(stop_position=stop)
    if logged:
        assert verdict[:3] == (0, 1, 0)
        assert verdict[-1] == "nothing to commit: 1 change was refused and not carried out"
    elif server.version.startswith("9."):
        assert verdict[:3] == (1, 0, 0)
        assert verdict[-1] == "rolled back: foreign keys would refer to rows that are not there"
    else:
        assert verdict[:3] == (1, 0, 1)
        assert verdict[-1] == OTHERS_REFER
    assert rows() == after
    if logged:
        assert story.undo()[-1] == "committed"
        assert rows() == before


ADDED = {  # what is done to the table afterwards, and whether a row that was deleted comes back
    "a constant": (("ADD n INT DEFAULT 5", "ADD m INT NOT NULL"), True),
    "another constant since": (("ADD n INT DEFAULT 5", "ALTER n SET DEFAULT 6"), True),
    "none since": (("ADD n INT NOT NULL DEFAULT 5", "ALTER n DROP DEFAULT"), True),
    "a label": (("ADD n ENUM('a', 'é') NOT NULL", "ADD m VARCHAR(9) DEFAULT 'it''s'"), True),
    "renamed": (("ADD n INT DEFAULT 5", "CHANGE n k INT DEFAULT 5"), True),
    "another type since": (("ADD n INT DEFAULT 5", "MODIFY n VARCHAR(9) DEFAULT '7'"), False),
    "taken away again": (("ADD n INT DEFAULT 5", "ALTER n SET DEFAULT 6", "DROP n"), True),
    "the time": (("ADD n DATETIME(2) DEFAULT NOW(2)", "ADD m TIMESTAMP NULL DEFAULT NOW()"), True),
    "the time of a zone": (("ADD n DATETIME DEFAULT CURRENT_TIMESTAMP",), True),
    "the time of a zone that no log tells": (("ADD n DATETIME DEFAULT NOW()",), False),
    "a calculation": (("ADD n DATETIME DEFAULT (NOW() + INTERVAL 1 DAY)",), False),
    "calculated": (("ADD n INT AS (v + 1) STORED",), True),
    "numbered": (("ADD n INT AUTO_INCREMENT UNIQUE",), True),
}


@pytest.mark.parametrize("what", ADDED)
def test_columns_that_were_added_later(server: Server, tmp_path: Path, what: str) -> None:
    """A row comes back as it would be had it stayed, or is refused; ON UPDATE does nothing."""
    alters, comes_back = ADDED[what]
    if what == "a calculation" and server.version.startswith("5.7"):
        alters, comes_back = ("ADD n POINT",), True  # it has no such defaults
    story = Story(server, tmp_path, "added")
    zone = "SYSTEM" if "no log" in what else "-03:30" if "zone" in what else "+00:00"
    story.run(f"SET time_zone = '{zone}', timestamp = 1700000000.987654")
    story.run("CREATE TABLE t (id INT PRIMARY KEY, v INT)", "INSERT INTO t VALUES (1, 1), (2, 2)")
    story.mark()
    story.run("DELETE FROM t WHERE id = 1", "UPDATE t SET v = 20 WHERE id = 2")
    stop = int(story.run(f"SHOW BINLOG EVENTS IN '{story.name}'")[-1][4])
    story.run(
        "ALTER TABLE t ADD at_ DATETIME(6) DEFAULT '2001-01-01' ON UPDATE CURRENT_TIMESTAMP(6)"
    )
    story.run(*(f"ALTER TABLE t {alter}" for alter in alters))
    state, held = story.log().state("added.t"), story.run("SELECT * FROM t ORDER BY id")
    if state.determined:
        assert [(v["id"], v["v"]) for v in state.rows["values"].to_pylist()] == [held[0][:2]]
        if "time" in what:
            (values,) = state.rows["values"].to_pylist()
            told = [value.replace(tzinfo=None) for value in list(values.values())[2:]]
            assert told == list(held[0][2:])
    converted = what == "another type since"
    if converted:
        assert [v["n"] for v in state.rows["values"].to_pylist()] == [held[0][3]] == ["5"]
    known = comes_back and what not in ("calculated", "numbered")
    assert state.determined == (known or converted)
    # What rows would hold that had stayed.
    story.run(
        "SET sql_log_bin = 0",
        "CREATE TABLE same (id INT PRIMARY KEY, v INT)",
        "INSERT INTO same VALUES (1, 1), (2, 2)",
        "ALTER TABLE same ADD at_ DATETIME(6) DEFAULT '2001-01-01'",
        *(f"ALTER TABLE same {alter}" for alter in alters),
        "SET sql_log_bin = 1",
    )
    try:
        verdict = story.undo(stop_position=stop)
    finally:
        story.run("ROLLBACK")
    assert verdict[-1].startswith("committed")
    assert verdict[1] == (0 if comes_back else 1)
    wanted = story.run("SELECT * FROM same ORDER BY id")
    numbered = what == "numbered"  # which number the server gives is its own
    found = story.run("SELECT * FROM t ORDER BY id")
    cut = slice(None, -1) if numbered else slice(None)
    assert [row[cut] for row in found] == [row[cut] for row in wanted[not comes_back :]]


@pytest.mark.parametrize(
    ("was", "now", "more"),
    [
        ("x INT", "x INT AS (v + 1) STORED", 1),
        ("x INT AS (v + 1) STORED", "x INT", 1),
        ("x INT AS (v + 1) STORED", "x INT AS (v + 2) STORED", 2),
    ],
    ids=["became generated", "is no longer generated", "is computed in another way"],
)
def test_a_column_is_generated_only_before_or_after(
    server: Server, tmp_path: Path, was: str, now: str, more: int
) -> None:
    """Rows come back as they would be had they stayed; what set the column is refused where it
    became a generated one."""
    story, plain = Story(server, tmp_path, "computed"), " AS " not in was
    story.run(f"CREATE TABLE t (id INT PRIMARY KEY, v INT, {was})")
    story.run("INSERT INTO t (id, v) VALUES (1, 1), (2, 2)")
    story.mark()
    story.run("DELETE FROM t WHERE id = 1", "UPDATE t SET v = 20 WHERE id = 2")
    if plain:
        story.run("UPDATE t SET x = 5 WHERE id = 2")
    stop = int(story.run(f"SHOW BINLOG EVENTS IN '{story.name}'")[-1][4])
    story.run(f"ALTER TABLE t MODIFY {now}")
    verdict = story.undo(stop_position=stop)
    assert verdict[-1].startswith("committed") and verdict[1] == plain
    rows = [tuple(row) for row in story.run("SELECT * FROM t ORDER BY id")]
    assert rows == [(1, 1, 1 + more), (2, 2, 2 + more)]


def test_generated_columns_that_no_definition_tells_of(server: Server, tmp_path: Path) -> None:
    """Table maps name columns, and do not say which are generated: the script asks the server."""
    if server.version.startswith("5.7"):
        pytest.skip("binlog_row_metadata is new in 8.0")
    story = Story(server, tmp_path, "maps")
    create = "CREATE TABLE t (id INT PRIMARY KEY, v INT, g INT AS (v + 1) STORED, `t``s` INT)"
    story.run(create, "INSERT INTO t (id, v) VALUES (1, 1)")
    story.run("SET GLOBAL binlog_row_metadata = FULL", "FLUSH BINARY LOGS")
    story.name, story.pos = server.binlog_names()[-1], 4
    story.run("UPDATE t SET `t``s` = 7", "INSERT INTO t (id) VALUES (2)")
    assert carried_out(story, story.log().undo())[-1] == "committed"  # they write none
    assert story.run("SELECT * FROM t") == [(1, 1, 2, None)]
    story.mark()
    story.run("DELETE FROM t", "SET GLOBAL binlog_row_metadata = MINIMAL")
    plans = story.log().undo(start_position=story.pos)
    assert "These logs lack the CREATE TABLE of maps.t." in "".join(script(plans))
    verdict = list[Any]()
    with pytest.raises(pymysql.OperationalError, match="generated column 'g'"):
        carried_out(story, plans, verdict)
    assert verdict == [
        "not run: a statement would write generated columns: maps.t.g; "
        "make the script with the definitions of their tables"
    ]
    schema = tmp_path / "schema.sql"
    schema.write_text(f"USE maps;\n{create};\n", "utf-8")
    path = str(server.copy_binlog(story.name, tmp_path))
    plans = bk.open(path, schema=schema).undo(start_position=story.pos)
    assert "These logs lack" not in "".join(script(plans))
    assert carried_out(story, plans)[-1] == "committed"
    assert story.run("SELECT * FROM t") == [(1, 1, 2, None)]


def test_what_no_event_holds_is_a_transaction_too(server: Server, tmp_path: Path) -> None:
    story = Story(server, tmp_path, "units")
    story.run("CREATE TABLE t (id INT PRIMARY KEY)", "INSERT INTO t VALUES (1)")
    story.run("CREATE TABLE u LIKE t")
    story.mark()
    story.run("TRUNCATE t", "INSERT INTO u VALUES (1)", "DROP TABLE u")
    plans = story.log().undo(start_position=story.pos, by_transaction=True)
    assert [(plan["table"], plan["kind"], bool(plan["refused"])) for plan in plans] == [
        ("u", "update", True), ("u", "delete", True), ("t", "insert", False),
    ]  # fmt: skip
    assert str(carried_out(story, plans)[-1]).startswith("committed 1 statement; 2 changes were")
    assert story.run("SELECT * FROM t") == [(1,)]


def test_a_row_that_is_already_as_it_was(server: Server, tmp_path: Path) -> None:
    """With force its statement changes nothing, and that is right if the row is there."""
    story = Story(server, tmp_path, "same")
    story.run("CREATE TABLE t (id INT PRIMARY KEY, v INT)", "INSERT INTO t VALUES (1, 1), (2, 2)")
    story.mark()
    story.run("UPDATE t SET v = 9")
    stop = int(story.run(f"SHOW BINLOG EVENTS IN '{story.name}'")[-1][4])
    story.run("UPDATE t SET v = 1 WHERE id = 1")
    assert story.undo(stop_position=stop, mode="force")[-1] == "committed"
    assert story.run("SELECT * FROM t") == [(1, 1), (2, 2)]
    story.run(
        "UPDATE t SET v = 9 WHERE id = 2", "SET sql_log_bin = 0", "DELETE FROM t WHERE id = 1"
    )
    verdict = story.undo(stop_position=stop, mode="force")
    assert verdict[-1] == "rolled back: not every row holds what was written to it"
    story.run("SET sql_log_bin = 1")
