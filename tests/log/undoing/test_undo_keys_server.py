"""Foreign keys that only the server knows: a script asks for them, and keeps nothing."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import binlogkit as bk
from binlogkit.reports.sql import SqlOptions, script
from binlogkit_fixtures.servers import Server
from tests.log.undoing.test_undo_server import Story
from tests.servers import each_server

pytestmark = pytest.mark.server

PARENT = "CREATE TABLE `p'` (id INT PRIMARY KEY, code INT UNIQUE, v INT, up INT)"
ROWS = "INSERT INTO `p'` VALUES (1, 1, 1, NULL), (2, 2, 2, NULL)"
#: The child, what is undone, and whether the foreign key acts on that; of 9.6 and later logs, too.
CASES: list[tuple[str, str, bool]] = [
    ("CREATE TABLE c (id INT PRIMARY KEY, p INT, CONSTRAINT fk FOREIGN KEY (p) REFERENCES `p'` (id)"
     " ON DELETE CASCADE)", "INSERT INTO `p'` VALUES (9, 9, 9, NULL)", True),
    ("CREATE TABLE c (id INT PRIMARY KEY, p INT, CONSTRAINT fk FOREIGN KEY (p) REFERENCES `p'` (id)"
     " ON DELETE CASCADE)", "UPDATE `p'` SET code = 5 WHERE id = 1", False),
    ("CREATE TABLE c (id INT PRIMARY KEY, p INT, CONSTRAINT fk FOREIGN KEY (p) REFERENCES `p'` "
     "(code) ON UPDATE SET NULL)", "UPDATE `p'` SET code = 5 WHERE id = 1", True),
    ("CREATE TABLE c (id INT PRIMARY KEY, p INT, CONSTRAINT fk FOREIGN KEY (p) REFERENCES `p'` "
     "(code) ON UPDATE CASCADE)", "UPDATE `p'` SET v = 5 WHERE id = 1", False),
    ("CREATE TABLE c (id INT PRIMARY KEY, p INT, CONSTRAINT fk FOREIGN KEY (p) REFERENCES `p'` "
     "(code) ON UPDATE CASCADE ON DELETE SET NULL)", "INSERT INTO `p'` VALUES (9, 9, 9, NULL)",
     True),
    ("CREATE TABLE c (id INT PRIMARY KEY, p INT, CONSTRAINT fk FOREIGN KEY (p) REFERENCES `p'` "
     "(id))", "INSERT INTO `p'` VALUES (9, 9, 9, NULL)", False),
    ("ALTER TABLE `p'` ADD CONSTRAINT fk FOREIGN KEY (up) REFERENCES `p'` (id) ON DELETE CASCADE",
     "INSERT INTO `p'` VALUES (9, 9, 9, NULL)", True),
]  # fmt: skip


server = each_server()


@pytest.mark.parametrize("number", range(len(CASES)))
@pytest.mark.sampled(11, 11)
@pytest.mark.gate(3)
def test_keys_that_the_log_does_not_tell_of(server: Server, number: int, tmp_path: Path) -> None:
    child, done, acts = CASES[number]
    story = Story(server, tmp_path, f"keys{number}")
    story.run(PARENT, child, ROWS, "FLUSH BINARY LOGS")
    story.name = server.binlog_names()[-1]
    story.run(done)
    before = story.run("SELECT * FROM `p'` ORDER BY id")
    schema = tmp_path / "schema.sql"
    schema.write_text(f"USE {story.db};\n{PARENT};\n", "utf-8")
    path = str(server.copy_binlog(story.name, tmp_path))

    def undo(schema: Path) -> str:
        verdict: tuple[Any, ...] = ()
        for line in script(bk.open(path, schema=schema).undo(), SqlOptions(commit=True)):
            if not line.startswith("--"):
                rows = story.run(line.rstrip(";\n"))
                verdict = rows[0] if rows else verdict
        return str(verdict[-1])

    verdict = undo(schema)
    if acts:
        table = "p'" if child.startswith("ALTER") else "c"
        unknown = "foreign keys that are not in the log act on these statements"
        assert f"{unknown}: {story.db}.{table}.fk" in verdict
        assert story.run("SELECT * FROM `p'` ORDER BY id") == before
        schema.write_text(f"USE {story.db};\n{PARENT};\n{child};\n", "utf-8")
        verdict = undo(schema)
    assert verdict == "committed"
    assert len(story.run("SELECT * FROM `p'` WHERE v < 5 AND code < 5")) == 2


def test_a_key_whose_action_was_changed_is_another(server: Server, tmp_path: Path) -> None:
    """The log has the table's definition, and not what was done to it with sql_log_bin=0."""
    story = Story(server, tmp_path, "changed")
    story.run(
        PARENT, "CREATE TABLE c (p INT, CONSTRAINT fk FOREIGN KEY (p) REFERENCES `p'` (id))",
        "INSERT INTO `p'` VALUES (1, 1, 1, NULL)",
    )  # fmt: skip
    story.mark()
    story.run(
        "INSERT INTO `p'` VALUES (2, 2, 2, NULL)", "SET sql_log_bin = 0",
        "ALTER TABLE c DROP FOREIGN KEY fk", "ALTER TABLE c ADD CONSTRAINT fk FOREIGN KEY (p) "
        "REFERENCES `p'` (id) ON DELETE CASCADE", "INSERT INTO c VALUES (2)",
        "SET sql_log_bin = 1",
    )  # fmt: skip
    verdict = str(story.undo()[-1])
    if server.version.startswith("9."):  # where the script minds foreign keys itself
        assert verdict == "rolled back: foreign keys would refer to rows that are not there"
    else:
        assert "not in the log act on these statements: changed.c.fk" in verdict
    assert story.run("SELECT * FROM c") == [(2,)]


def test_a_key_that_cascades_updates_and_was_added_later(server: Server, tmp_path: Path) -> None:
    """No row followed the change then, so none may follow it back; and one that did follows."""
    story = Story(server, tmp_path, "laterkey")
    story.run("CREATE TABLE p (id INT PRIMARY KEY)", "CREATE TABLE c (id INT PRIMARY KEY, up INT)",
              "INSERT INTO p VALUES (1), (2)", "INSERT INTO c VALUES (50, 5)")  # fmt: skip
    story.mark()
    story.run(
        "UPDATE p SET id = 5 WHERE id = 1",
        "ALTER TABLE c ADD FOREIGN KEY (up) REFERENCES p (id) ON UPDATE CASCADE",
    )
    assert str(story.undo()[-1]).startswith("rolled back")
    assert story.run("SELECT up FROM c") == [(5,)]
    story.mark()
    story.run("UPDATE p SET id = 6 WHERE id = 5")
    assert story.undo()[-1] == "committed"
    assert story.run("SELECT up FROM c") == [(5,)]
    assert story.run("SELECT id FROM p ORDER BY id") == [(2,), (5,)]


def test_what_stays_although_others_are_undone_with_it(server: Server, tmp_path: Path) -> None:
    """A change that is refused has a dependent that is not undone either."""
    story = Story(server, tmp_path, "stays")
    story.run(
        "CREATE TABLE p (id INT PRIMARY KEY)",
        "CREATE TABLE c (id INT PRIMARY KEY, FOREIGN KEY (id) REFERENCES p (id))",
    )
    story.mark()
    story.run("INSERT INTO p VALUES (1)", "INSERT INTO c VALUES (1)")
    stop = int(story.run(f"SHOW BINLOG EVENTS IN '{story.name}'")[-1][4])
    story.run("TRUNCATE c")
    plans = story.log().undo(start_position=story.pos, stop_position=stop, mode="cascade")
    assert [bool(plan["refused"]) for plan in plans] == [True, True]
    assert "1 chosen change is refused" in plans.later[0]
