"""Undo of rows that refer to themselves, and of those written with foreign_key_checks off: what the
server would refuse, one statement after the other, and is right in the end."""

from __future__ import annotations

from pathlib import Path

import pytest

from binlogkit.sources.log_format import CASCADES_LOGGED, version_tuple
from binlogkit_fixtures.servers import Server
from tests.log.undoing.test_undo_server import OTHERS_REFER, Story, carried_out
from tests.servers import each_server

pytestmark = pytest.mark.server

OFF, ON = (f"SET foreign_key_checks = {number}" for number in (0, 1))
SELF = "CREATE TABLE s (id INT PRIMARY KEY, up INT{}, v INT, FOREIGN KEY (up) REFERENCES s (id){})"
PARENT = "CREATE TABLE p (id INT PRIMARY KEY)"
CHILD = "CREATE TABLE c (id INT PRIMARY KEY, up INT, FOREIGN KEY (up) REFERENCES p (id){})"
SHARED = (
    "SET @n = 0 /*!80400, restrict_fk_on_non_standard_key = 0 */",
    "CREATE TABLE s (id INT, n INT, up INT, PRIMARY KEY (id, n), FOREIGN KEY (up) REFERENCES s "
    "(id){})",
)
ORPHAN = (OFF, "INSERT INTO c VALUES (2, 5)", ON)
ADDED = (
    "CREATE TABLE c (id INT PRIMARY KEY, up INT)", "INSERT INTO c VALUES (2, 5)", OFF,
    "ALTER TABLE c ADD FOREIGN KEY (up) REFERENCES p (id)", ON,
)  # fmt: skip
#: What there is, and what is done and undone.
CASES: dict[str, tuple[tuple[str, ...], tuple[str, ...]]] = {
    "a row of itself": (
        (SELF.format("", ""), "INSERT INTO s VALUES (9, NULL, 9)"),
        ("INSERT INTO s VALUES (1, 1, 0), (2, 1, 0)",),
    ),
    "a row of itself that cannot be without": (
        (SELF.format(" NOT NULL", " ON DELETE RESTRICT ON UPDATE CASCADE"),),
        ("INSERT INTO s VALUES (1, 1, 0)",),
    ),
    "a row that was of itself": (
        (SELF.format("", " ON UPDATE SET NULL"),),
        ("INSERT INTO s VALUES (1, 1, 0)", "UPDATE s SET v = 2", "UPDATE s SET up = NULL"),
    ),
    "a row whose TIME refers to a DATETIME": (
        ("CREATE TABLE s (id DATETIME(3) PRIMARY KEY, up TIME, FOREIGN KEY (up) REFERENCES s "
         "(id))",),
        ("INSERT INTO s VALUES ('2024-01-01', NULL)",),
    ),
    "an orphan whose DECIMAL is longer than its parent's": (
        ("CREATE TABLE p (id DECIMAL(5,2) PRIMARY KEY)", "INSERT INTO p VALUES (1)",
         "CREATE TABLE c (id INT PRIMARY KEY, up DECIMAL(7,2), FOREIGN KEY (up) REFERENCES p (id) "
         "ON DELETE CASCADE)", OFF, "INSERT INTO c VALUES (1, 1)", ON),
        ("DELETE FROM c", "DELETE FROM p"),
    ),
    "two rows of each other that were deleted with one of them": (
        (SELF.format("", " ON DELETE CASCADE"), OFF,
         "INSERT INTO s VALUES (1, 2, 0), (2, 1, 0), (3, 2, 0)", ON),
        ("DELETE FROM s WHERE id = 1",),
    ),
    "rows of two tables of each other that were deleted with one of them": (
        ("CREATE TABLE p (id INT PRIMARY KEY, up INT)", CHILD.format(" ON DELETE CASCADE"),
         "ALTER TABLE p ADD FOREIGN KEY (up) REFERENCES c (id) ON DELETE SET NULL",
         "INSERT INTO p VALUES (1, NULL), (2, NULL)", "INSERT INTO c VALUES (5, 1), (6, 1), (7, 2)",
         "UPDATE p SET up = 5 WHERE id = 1", "UPDATE p SET up = 6 WHERE id = 2"),
        ("DELETE FROM p WHERE id = 1",),
    ),
    "rows of one another in a table that is emptied": (
        (SELF.format("", ""), "INSERT INTO s VALUES (3, NULL, 0), (1, 3, 0), (2, 1, 0)"),
        ("TRUNCATE s",),
    ),
    "two rows of each other": (
        ("CREATE TABLE s (id VARCHAR(9) PRIMARY KEY, up VARCHAR(9), FOREIGN KEY (up) REFERENCES s "
         "(id))",),
        (OFF, "INSERT INTO s VALUES ('a', 'B'), ('b', 'A'), ('c', 'C')", ON),
    ),
    "an orphan and its parent": (
        (PARENT, CHILD.format("")), (*ORPHAN, "INSERT INTO p VALUES (5)"),
    ),
    "an orphan and its parent, ON DELETE CASCADE": (
        (PARENT, CHILD.format(" ON DELETE CASCADE")),
        (*ORPHAN, "INSERT INTO p VALUES (5)", "INSERT INTO c VALUES (3, 5)"),
    ),
    "an orphan and a parent that got its key": (
        (PARENT, CHILD.format(""), "INSERT INTO p VALUES (1)"),
        (*ORPHAN, "UPDATE p SET id = 5"),
    ),
    "an orphan and a parent that got its key, ON UPDATE CASCADE": (
        (PARENT, CHILD.format(" ON UPDATE CASCADE"), "INSERT INTO p VALUES (1)"),
        (*ORPHAN, "UPDATE p SET id = 5"),
    ),
    "an orphan and a parent that got its key, with rows that followed": (
        (PARENT, CHILD.format(" ON DELETE CASCADE"), "INSERT INTO p VALUES (1)",
         "CREATE TABLE o (id INT PRIMARY KEY, up INT UNIQUE, FOREIGN KEY (up) REFERENCES p (id) "
         "ON UPDATE CASCADE)", "INSERT INTO o VALUES (1, 1)",
         "CREATE TABLE g (up INT PRIMARY KEY, FOREIGN KEY (up) REFERENCES o (up) ON UPDATE "
         "CASCADE)", "INSERT INTO g VALUES (1)"),
        (*ORPHAN, "UPDATE p SET id = 5"),
    ),
    "an orphan that got the key to which it refers": (
        (SELF.format("", " ON DELETE SET NULL ON UPDATE CASCADE"),),
        (OFF, "INSERT INTO s VALUES (1, 5, 0)", "UPDATE s SET id = 5", ON),
    ),
    "an orphan that came and went": (
        (PARENT, CHILD.format("")), (*ORPHAN, "UPDATE c SET up = NULL", "DELETE FROM c"),
    ),
    "an orphan that got another key": (
        (PARENT, CHILD.format(""), *ORPHAN), (OFF, "UPDATE c SET id = 3", ON),
    ),
    "a parent that went and came again": (
        (PARENT, CHILD.format(" ON DELETE CASCADE"), "INSERT INTO p VALUES (1)",
         "INSERT INTO c VALUES (1, 1)"),
        (OFF, "DELETE FROM p", ON, "INSERT INTO p VALUES (1)"),
    ),
    "a TIME to which a DATETIME refers": (
        (SHARED[0], "CREATE TABLE p (id TIME, n INT, PRIMARY KEY (id, n))",
         "CREATE TABLE c (id INT PRIMARY KEY, up DATETIME, FOREIGN KEY (up) REFERENCES p (id))"),
        ("INSERT INTO p VALUES ('838:59:59', 1)",),
    ),
    "rows that followed by a foreign key that restricts since": (
        (PARENT, CHILD.format(" ON UPDATE CASCADE"), "INSERT INTO p VALUES (1)",
         "INSERT INTO c VALUES (1, 1), (2, 1)"),
        ("UPDATE p SET id = 5", "ALTER TABLE c DROP FOREIGN KEY c_ibfk_1",
         "ALTER TABLE c ADD FOREIGN KEY (up) REFERENCES p (id)"),
    ),
    "a row whose value others have": (
        (SHARED[0], SHARED[1].format(""),
         "INSERT INTO s VALUES (1, 1, NULL), (5, 1, 1), (3, 1, 5), (7, 2, 5)"),
        ("INSERT INTO s VALUES (5, 3, 1)", "UPDATE s SET id = 5 WHERE id = 7"),
    ),
    "a row whose value others have, ON DELETE SET NULL": (
        (SHARED[0], SHARED[1].format(" ON DELETE SET NULL"), "INSERT INTO s VALUES (2, 1, NULL)"),
        ("UPDATE s SET id = 5", "INSERT INTO s VALUES (2, 2, 5), (2, 3, 5)",
         "INSERT INTO s VALUES (5, 2, 2)"),
    ),
}  # fmt: skip


server = each_server()


@pytest.mark.parametrize("case", CASES)
@pytest.mark.sampled(9, 27)
@pytest.mark.gate(3)
def test_what_the_server_would_refuse(server: Server, case: str, tmp_path: Path) -> None:
    given, done = CASES[case]
    story = Story(server, tmp_path, "unchecked")
    story.run(*given)
    tables = [name for (name,) in story.run("SHOW TABLES")]
    before = [story.run(f"SELECT * FROM {name} ORDER BY 1") for name in tables]
    story.mark()
    story.run(*done)
    assert story.undo()[-1] == "committed"
    assert [story.run(f"SELECT * FROM {name} ORDER BY 1") for name in tables] == before
    assert story.run("SELECT @@foreign_key_checks") == [(1,)]


@pytest.mark.parametrize("made", [(CHILD.format(""), *ORPHAN), ADDED], ids=["row", "key"])
@pytest.mark.parametrize(
    "done",
    [
        "DELETE FROM c",
        "TRUNCATE c",
        "UPDATE c SET up = NULL",
        "INSERT INTO p VALUES (5)",
        "UPDATE p SET id = 5 WHERE id = 6",
    ],
)
@pytest.mark.gate(1)
def test_an_orphan_that_was_there_before(
    server: Server, done: str, made: tuple[str, ...], tmp_path: Path
) -> None:
    """It comes back, with the row whose parent is there; or its parent goes again, unless others
    refer to it as well. It is one since the row came with foreign_key_checks off, or the key. From
    9.6 on a script compares all references, and does not know which may be others than before."""
    story = Story(server, tmp_path, "orphan")
    story.run(PARENT, "INSERT INTO p VALUES (1), (6)", *made, "INSERT INTO c VALUES (1, 1)")
    story.mark()
    story.run(done)
    dangling = "rolled back: foreign keys would refer to rows that are not there"
    if version_tuple(server.version) >= CASCADES_LOGGED:
        assert story.undo()[-1] == dangling
        return
    if " p " in done:
        story.run("SET sql_log_bin = 0", "INSERT INTO c VALUES (3, 5)")
        assert story.undo()[-1] == dangling
        story.run("DELETE FROM c WHERE id = 3", "SET sql_log_bin = 1")
    assert story.undo()[-1] == "committed"
    assert story.run("SELECT * FROM c ORDER BY id") == [(1, 1), (2, 5)]
    assert story.run("SELECT * FROM p ORDER BY id") == [(1,), (6,)]


@pytest.mark.parametrize("later", ["RENAME TABLE p TO p2", "ALTER TABLE p CHANGE id k INT"])
def test_an_orphan_of_a_parent_with_another_name_since(
    server: Server, later: str, tmp_path: Path
) -> None:
    """What there was before a change is looked for under the names of that time."""
    story = Story(server, tmp_path, "renamed")
    story.run(PARENT, CHILD.format(" ON DELETE CASCADE"), "INSERT INTO p VALUES (6)", *ORPHAN)
    story.run("ALTER TABLE c RENAME c2, CHANGE up upper INT")
    story.mark()
    story.run(OFF, "UPDATE p SET id = 5", ON, later, "RENAME TABLE c2 TO c3")
    if version_tuple(server.version) >= CASCADES_LOGGED:
        dangling = "rolled back: foreign keys would refer to rows that are not there"
        assert story.undo()[-1] == dangling
        return
    assert story.undo()[-1] == "committed"
    assert story.run(f"SELECT * FROM {'p2' if 'p2' in later else 'p'}") == [(6,)]
    assert story.run("SELECT * FROM c3") == [(2, 5)]


def test_an_orphan_that_is_not_known(server: Server, tmp_path: Path) -> None:
    """The script says what the server would refuse where the log does not show who was there."""
    story = Story(server, tmp_path, "unknown")
    story.run(PARENT, CHILD.format(""), "SET binlog_format = STATEMENT")
    story.run("INSERT INTO c SELECT 1, NULL", "SET binlog_format = ROW", *ORPHAN)
    story.mark()
    story.run("INSERT INTO p VALUES (5)")
    assert story.undo()[-1] == "rolled back: foreign keys would refer to rows that are not there"
    story.run("SET sql_log_bin = 0", "DELETE FROM c")
    assert story.undo()[-1] == "committed"


TEXT, ROWS = (f"SET binlog_format = {name}" for name in ("STATEMENT", "ROW"))


@pytest.mark.parametrize("emptied", [(OFF, "TRUNCATE p", ON), (TEXT, "DELETE FROM p", ROWS)])
@pytest.mark.gate(2)
def test_a_parent_that_was_emptied(
    server: Server, emptied: tuple[str, ...], tmp_path: Path
) -> None:
    """A row would refer again to one that is gone: the script says so."""
    story = Story(server, tmp_path, "emptied")
    story.run(PARENT, CHILD.format(""), "INSERT INTO p VALUES (1)", "INSERT INTO c VALUES (1, 1)")
    story.mark()
    story.run("UPDATE c SET up = NULL", *emptied)
    gone = "rolled back: foreign keys would refer to rows that are not there"
    assert str(story.undo(table="c")[-1]).startswith(gone)
    story.run("SET sql_log_bin = 0", "INSERT INTO p VALUES (1)")
    assert story.undo(table="c")[-1] == "committed"


def test_a_parent_that_went_with_its_own(server: Server, tmp_path: Path) -> None:
    """The log lacks that up to 9.5: the script says that a row would refer to nothing."""
    story = Story(server, tmp_path, "above")
    story.run(PARENT, CHILD.format(" ON DELETE CASCADE"), "INSERT INTO p VALUES (1), (2)",
              "CREATE TABLE g (id INT PRIMARY KEY, up INT, FOREIGN KEY (up) REFERENCES c (id))",
              "INSERT INTO c VALUES (1, 1), (2, 2)",
              "INSERT INTO g VALUES (1, 1), (2, 2)")  # fmt: skip
    story.mark()
    story.run("DELETE FROM g")
    stop = int(story.run(f"SHOW BINLOG EVENTS IN '{story.name}'")[-1][4])
    story.run("DELETE FROM p WHERE id = 1")
    verdict = str(story.undo(stop_position=stop)[-1])
    if version_tuple(server.version) < CASCADES_LOGGED:
        gone = "rolled back: foreign keys would refer to rows that are not there"
        assert verdict == gone
        story.run("SET sql_log_bin = 0", "INSERT INTO p VALUES (1)", "INSERT INTO c VALUES (1, 1)")
        verdict = str(story.undo(stop_position=stop)[-1])
        assert verdict == "committed"
    else:
        assert verdict.startswith("committed 1 statement; 1 change was refused")


def test_a_foreign_key_that_was_made_since(server: Server, tmp_path: Path) -> None:
    """A row that goes may have referred to nothing, in a table that has another name since."""
    story = Story(server, tmp_path, "late")
    story.run(PARENT, "CREATE TABLE c (id INT PRIMARY KEY, up INT)", "INSERT INTO p VALUES (1)",
              "INSERT INTO c VALUES (1, 1), (2, 5)")  # fmt: skip
    story.mark()
    story.run("DELETE FROM c", "ALTER TABLE c ADD FOREIGN KEY (up) REFERENCES p (id)")
    story.run("RENAME TABLE c TO d")
    assert story.undo()[-1] == "rolled back: foreign keys would refer to rows that are not there"
    story.run("SET sql_log_bin = 0", "INSERT INTO p VALUES (5)")
    assert story.undo()[-1] == "committed"


def test_a_child_that_a_text_wrote(server: Server, tmp_path: Path) -> None:
    """It may refer to a row that goes: the script says so."""
    story = Story(server, tmp_path, "written")
    story.run(PARENT, CHILD.format(""))
    story.mark()
    story.run("INSERT INTO p VALUES (5)", TEXT, "INSERT INTO c VALUES (1, 5)", ROWS)
    gone = "rolled back: foreign keys would refer to rows that are not there"
    assert str(story.undo(table="p")[-1]).startswith(gone)
    story.run("SET sql_log_bin = 0", "DELETE FROM c")
    assert story.undo(table="p")[-1] == "committed"


def test_a_key_of_a_row_that_refers_to_nothing_since(server: Server, tmp_path: Path) -> None:
    """The mode merge keeps what the row refers to since."""
    story = Story(server, tmp_path, "since")
    story.run(PARENT, CHILD.format(""), "INSERT INTO c VALUES (1, NULL)")
    story.mark()
    start = story.pos
    story.run("UPDATE c SET id = 2")
    story.mark()
    stop, story.pos = story.pos, start
    story.run(OFF, "UPDATE c SET up = 5", ON)
    assert story.undo(mode="merge", stop_position=stop)[-1] == "committed"
    assert story.run("SELECT * FROM c") == [(1, 5)]


@pytest.mark.parametrize("logged", [1, 0])
def test_a_parent_that_was_dropped(server: Server, logged: int, tmp_path: Path) -> None:
    """From 9.6 on the script compares references, and not with a table that is gone, be it that
    the log does not show it."""
    story = Story(server, tmp_path, "dropped")
    story.run(PARENT, CHILD.format(""))
    story.mark()
    story.run("INSERT INTO c VALUES (1, NULL)", f"SET sql_log_bin = {logged}", OFF, "DROP TABLE p")
    story.run(ON, "SET sql_log_bin = 1")
    refused = "committed 1 statement; 1 change was refused" if logged else "committed"
    assert str(story.undo()[-1]).startswith(refused)
    assert story.run("SELECT * FROM c") == []


@pytest.mark.parametrize("done", ["DELETE FROM c", "TRUNCATE c", "UPDATE c SET up = NULL"])
def test_a_row_whose_parents_were_dropped(server: Server, done: str, tmp_path: Path) -> None:
    """It is refused: the server looks for the table, or the script does."""
    story = Story(server, tmp_path, "lost")
    story.run(PARENT, CHILD.format(""), "INSERT INTO p VALUES (1)", "INSERT INTO c VALUES (1, 1)")
    story.mark()
    story.run(done, OFF, "DROP TABLE p", ON)
    dropped, plan = story.log().undo(start_position=story.pos)
    assert str(dropped["refused"]).startswith("DROP TABLE logs no rows")
    assert plan["refused"] == "it would refer to lost.p, which is not there any more"
    assert str(story.undo()[-1]).startswith("nothing to commit: 2 changes were refused")
    again = story.log().undo(start_position=story.pos, made_again=["lost.p"])
    story.run("SET sql_log_bin = 0", PARENT)
    assert carried_out(story, again)[-1] == "committed"
    assert story.run("SELECT * FROM c JOIN p ON c.up = p.id") == [(1, 1, 1)]


@pytest.mark.parametrize("first", ["DROP TABLE p", "UPDATE c SET v = 2"])
def test_another_column_of_a_row_whose_parents_were_dropped(
    server: Server, first: str, tmp_path: Path
) -> None:
    """From 9.6 on the server refuses any UPDATE of such a row."""
    story = Story(server, tmp_path, "orphaned")
    story.run(PARENT, CHILD.format(""), "INSERT INTO p VALUES (1)", "INSERT INTO c VALUES (1, 1)")
    story.run("ALTER TABLE c ADD v INT NOT NULL DEFAULT 1")
    story.mark()
    story.run(OFF, *sorted(["DROP TABLE p", "UPDATE c SET v = 2"], key=first.__ne__), ON)
    assert story.undo(table="c")[-1] == "committed"
    assert story.run("SELECT * FROM c") == [(1, 1, 1)]


def test_rows_that_may_have_followed(server: Server, tmp_path: Path) -> None:
    """Where a text may have written them, the script says which rows are in the way."""
    story = Story(server, tmp_path, "may_be")
    story.run(PARENT, CHILD.format(" ON UPDATE CASCADE"), "INSERT INTO p VALUES (1)")
    story.run(TEXT, "INSERT INTO c SELECT 9, NULL", ROWS)
    story.mark()
    story.run(OFF, "INSERT INTO c VALUES (1, 5)", "UPDATE p SET id = 5")
    story.run("INSERT INTO c VALUES (2, 6)", ON, "UPDATE p SET id = 6")
    verdict = story.undo()[-1]
    if version_tuple(server.version) >= CASCADES_LOGGED:
        assert verdict == "committed"
        return
    assert verdict == OTHERS_REFER


def test_a_row_that_needs_one_that_is_left(server: Server, tmp_path: Path) -> None:
    """The script says why that one is, instead of the server's error of the next statement."""
    story = Story(server, tmp_path, "needs")
    story.run(PARENT, CHILD.format(" ON UPDATE CASCADE"), "INSERT INTO p VALUES (1)")
    story.run(TEXT, "INSERT INTO c SELECT 9, NULL", ROWS, "INSERT INTO c VALUES (1, 1)", *ORPHAN)
    story.mark()
    story.run("UPDATE p SET id = 5")
    gone = "rolled back: foreign keys would refer to rows that are not there"
    logged = version_tuple(server.version) >= CASCADES_LOGGED
    assert story.undo()[-1] == (gone if logged else OTHERS_REFER)
    assert story.run("SELECT @@foreign_key_checks") == [(1,)]


def test_what_still_refers_to_a_row_keeps_it(server: Server, tmp_path: Path) -> None:
    """The server does not check the statements: the script does, also where the log does not show
    who refers to a row, or by which foreign key."""
    story = Story(server, tmp_path, "kept")
    story.run(SELF.format("", ""))
    story.mark()
    story.run("INSERT INTO s VALUES (1, 1, 0)")
    story.run("SET sql_log_bin = 0", "INSERT INTO s VALUES (2, 1, 0)")
    assert story.undo()[-1] == "rolled back: foreign keys would refer to rows that are not there"
    story.run("DELETE FROM s WHERE id = 2")
    story.run("CREATE TABLE c (id INT, CONSTRAINT other FOREIGN KEY (id) REFERENCES s (id))")
    unknown = "rolled back: foreign keys that are not in the log act on these statements"
    story.run("INSERT INTO c VALUES (1)")
    assert str(story.undo()[-1]).startswith(f"{unknown}: kept.c.other")
    assert story.run("SELECT * FROM s") == [(1, 1, 0)]
    story.run("DROP TABLE c")
    assert story.undo()[-1] == "committed"
    story.run("SET sql_log_bin = 1")
