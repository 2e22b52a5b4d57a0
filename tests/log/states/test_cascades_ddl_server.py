"""Foreign keys that DDL makes, drops or renames among the changes: what holds is the key as of each
change, under the names of then."""

from __future__ import annotations

from pathlib import Path

import pymysql
import pytest

from binlogkit_fixtures.servers import Server
from tests.log.undoing.test_undo_server import Story
from tests.servers import each_server

pytestmark = [pytest.mark.server, pytest.mark.gate]

server = each_server()

KEY = "CONSTRAINT f FOREIGN KEY (p) REFERENCES p (id)"
TABLES = (
    "CREATE TABLE p (id INT PRIMARY KEY, v INT)",
    f"CREATE TABLE c (id INT PRIMARY KEY, p INT, v INT, {KEY} ON DELETE CASCADE ON UPDATE CASCADE)",
    "CREATE TABLE g (id INT PRIMARY KEY, c INT, CONSTRAINT h FOREIGN KEY (c) REFERENCES c (id) "
    "ON DELETE CASCADE ON UPDATE CASCADE)",
    "INSERT INTO p VALUES (1, 1), (2, 2), (3, 3), (4, 4), (5, 5)",
    "INSERT INTO c VALUES (10, 1, 1), (20, 2, 2), (30, 3, 3), (40, 4, 4), (50, 5, 5)",
    "INSERT INTO g VALUES (100, 10), (200, 20), (300, 30), (400, 40), (500, 50)",
)
DROP, DELETE = "ALTER TABLE c DROP FOREIGN KEY f", "DELETE FROM p WHERE id = 1"
AGAIN = f"ALTER TABLE c ADD {KEY}"
SHOUTED = "ALTER TABLE c ADD CONSTRAINT f FOREIGN KEY (P) REFERENCES p (ID)"

#: What is done, and by which names parent, child and grandchild are called in the end.
CASES: dict[str, tuple[tuple[str, ...], tuple[str, str, str]]] = {
    "dropped": ((DELETE, DROP, "DELETE FROM p WHERE id = 2"), ("p", "c", "g")),
    "another action": (
        (DELETE, DROP, f"{AGAIN} ON DELETE SET NULL ON UPDATE CASCADE",
         "DELETE FROM p WHERE id = 2", "UPDATE p SET id = 33 WHERE id = 3"), ("p", "c", "g")),
    "added later": (
        (DROP, DELETE, "UPDATE c SET p = NULL WHERE p = 1", f"{AGAIN} ON DELETE CASCADE",
         "DELETE FROM p WHERE id = 2"), ("p", "c", "g")),
    "parent renamed": (
        (DELETE, "RENAME TABLE p TO p2", "UPDATE p2 SET id = 22 WHERE id = 2",
         "DELETE FROM p2 WHERE id = 3"), ("p2", "c", "g")),
    "parent renamed and back": (
        ("UPDATE c SET v = 7", "RENAME TABLE p TO p2", "UPDATE c SET v = 8",
         "RENAME TABLE p2 TO p", "UPDATE c SET v = 9 WHERE id > 20", DELETE), ("p", "c", "g")),
    "parent renamed and its column": (
        ("RENAME TABLE p TO p2", "ALTER TABLE p2 CHANGE id key_ INT",
         "UPDATE p2 SET key_ = 22 WHERE key_ = 2", "DELETE FROM p2 WHERE key_ = 3"),
        ("p2", "c", "g")),
    "parents exchanged": (
        ("CREATE TABLE q LIKE p", "INSERT INTO q VALUES (1, 1), (2, 2)",
         "RENAME TABLE p TO p2, q TO p", "DELETE FROM p", "DELETE FROM p2 WHERE id = 2"),
        ("p2", "c", "g")),
    "grandparent's key dropped": (
        (DELETE, "ALTER TABLE g DROP FOREIGN KEY h", "DELETE FROM p WHERE id = 2",
         "DELETE FROM p WHERE id = 3"), ("p", "c", "g")),
    "middle renamed": (
        (DELETE, "RENAME TABLE c TO c2", "DELETE FROM p WHERE id = 2",
         "UPDATE c2 SET id = 33 WHERE id = 30"), ("p", "c2", "g")),
    "grandchild renamed": (
        (DELETE, "RENAME TABLE g TO g2", "DELETE FROM p WHERE id = 2", "UPDATE c SET id = 33 "
         "WHERE id = 30", "RENAME TABLE g2 TO g", "DELETE FROM c WHERE id = 33"), ("p", "c", "g")),
    "children exchanged": (
        (DELETE, "CREATE TABLE new LIKE c", "INSERT INTO new SELECT * FROM c",
         "RENAME TABLE c TO old, new TO c", "DELETE FROM p WHERE id = 2", "INSERT INTO c VALUES "
         "(60, 5, 5)", "DELETE FROM p WHERE id = 5"), ("p", "old", "g")),
    "column of the child renamed": (
        (DELETE, "ALTER TABLE c CHANGE p of_ INT", "DELETE FROM p WHERE id = 2",
         "UPDATE p SET id = 33 WHERE id = 3"), ("p", "c", "g")),
    "the child dropped and made again": (
        (DELETE, "DROP TABLE g", "DROP TABLE c", "CREATE TABLE c (id INT PRIMARY KEY, p INT)",
         "CREATE TABLE g (id INT PRIMARY KEY)", "INSERT INTO c VALUES (1, 2)",
         "DELETE FROM p WHERE id = 2"), ("p", "c", "g")),
    "columns in another case": (
        (DROP, f"{SHOUTED} ON DELETE CASCADE ON UPDATE CASCADE", "UPDATE p SET id = 22 WHERE "
         "id = 2", DELETE), ("p", "c", "g")),
    "columns in another case, made before the parent": (
        ("SET foreign_key_checks = 0", "DROP TABLE p", DROP, f"{SHOUTED} ON DELETE SET NULL ON "
         "UPDATE CASCADE", TABLES[0], "SET foreign_key_checks = 1", TABLES[3],
         "UPDATE p SET id = 22 WHERE id = 2", DELETE), ("p", "c", "g")),
}  # fmt: skip


@pytest.mark.parametrize("what", CASES)
def test_states(server: Server, what: str, tmp_path: Path) -> None:
    done, names = CASES[what]
    story = Story(server, tmp_path, "keys_")
    story.run(*TABLES, *done)
    for name in names:
        state = story.log().state(f"keys_.{name}")
        rows = [tuple(values.values()) for values in state.rows["values"].to_pylist()]
        assert state.determined, (name, state.findings.to_pylist())
        assert rows == story.run(f"SELECT * FROM {name} ORDER BY 1"), name


@pytest.mark.parametrize("what", ["dropped", "parent renamed", "another action", "touched"])
def test_the_state_before(server: Server, what: str, tmp_path: Path) -> None:
    """Images of a later time show what foreign keys did after the point, and nothing else."""
    done = CASES[what][0] if what in CASES else (DELETE, "UPDATE p SET id = 22 WHERE id = 2")
    story = Story(server, tmp_path, "keys_")
    story.run(*TABLES)
    story.mark()
    before = {name: story.run(f"SELECT * FROM {name} ORDER BY 1") for name in ("p", "c", "g")}
    story.run(*done, "UPDATE c SET v = v + 1", "UPDATE g SET c = NULL WHERE id > 300")
    log = story.log()
    for name, rows in before.items():
        state = log.state(f"keys_.{name}", at=(log.files[0], story.pos))
        assert state.determined, (name, state.findings.to_pylist())
        assert [tuple(values.values()) for values in state.rows["values"].to_pylist()] == rows


UNDONE = [what for what in CASES if "made again" not in what and "made before" not in what]


@pytest.mark.parametrize("what", UNDONE)
def test_undo(server: Server, what: str, tmp_path: Path) -> None:
    """What is committed leaves the rows that there were, or is refused."""
    done, names = CASES[what]
    story = Story(server, tmp_path, "keys_")
    story.run(*TABLES)
    before = [story.run(f"SELECT COUNT(*) FROM {name}") for name in ("p", "c", "g")]
    story.mark()
    story.run(*done)
    plans = list(story.log().undo(start_position=story.pos))
    refused = [plan["refused"] for plan in plans if plan["refused"]]
    try:
        verdict = str(story.undo()[-1])
    except pymysql.err.IntegrityError as error:
        # The key did not hold when the child's row gave up its parent, which comes back later.
        assert (what, error.args[0]) == ("added later", 1452)
        return
    finally:
        story.run("ROLLBACK")
    assert verdict.startswith("committed")
    if not refused:
        assert [story.run(f"SELECT COUNT(*) FROM {name}") for name in names] == before


@pytest.mark.parametrize("of", ["g", "c", "p"])
def test_a_base_of_one_table_of_a_family(server: Server, of: str, tmp_path: Path) -> None:
    """What its parents' rows were is in no base: the child is certain where the rows of the table
    between are known, or the server logs what foreign keys do."""
    story = Story(server, tmp_path, "keys_")
    story.run(*TABLES)
    base = str(tmp_path / "base.parquet")
    story.log().state(f"keys_.{of}").to_parquet(base)
    untouched = story.log().state(f"keys_.{of}", base=base)
    assert (untouched.rows.num_rows, untouched.determined) == (5, True)
    story.run(DELETE, "INSERT INTO p VALUES (6, 6)")
    state = story.log().state(f"keys_.{of}", base=base)
    assert state.determined == (of != "g" or server.version.startswith("9."))
    if state.determined:
        rows = story.run(f"SELECT * FROM {of} ORDER BY 1")
        assert [tuple(values.values()) for values in state.rows["values"].to_pylist()] == rows


def test_a_base_of_a_table_that_refers_to_itself(server: Server, tmp_path: Path) -> None:
    story, base = Story(server, tmp_path, "keys_"), str(tmp_path / "base.parquet")
    story.run(
        "CREATE TABLE t (id INT PRIMARY KEY, boss INT, "
        "FOREIGN KEY (boss) REFERENCES t (id) ON DELETE CASCADE)",
        "INSERT INTO t VALUES (1, NULL), (2, 1), (3, 2), (4, NULL)",
    )
    story.log().state("keys_.t").to_parquet(base)
    story.run("DELETE FROM t WHERE id = 1")
    state = story.log().state("keys_.t", base=base)
    assert (state.determined, state.rows.num_rows) == (True, 1)
    assert story.run("SELECT id FROM t") == [(4,)]


@pytest.mark.parametrize("image", ["FULL", "MINIMAL"])
def test_a_later_image_shows_what_a_parents_key_did(
    server: Server, image: str, tmp_path: Path
) -> None:
    """It is no change outside the log, at points before it either, nor to the grandchildren."""
    story = Story(server, tmp_path, "keys_")
    story.run(f"SET binlog_row_image = {image}", *TABLES)
    points = list[tuple[int, list[tuple[object, ...]]]]()
    for step in ("SELECT 1", "UPDATE p SET id = 11 WHERE id = 1", "UPDATE c SET id = 11, v = 7 "
                 "WHERE id = 10", "DELETE FROM p WHERE id = 11"):  # fmt: skip
        story.run(step)
        story.mark()
        points.append((story.pos, story.run("SELECT * FROM g ORDER BY id")))
    story.run("ALTER TABLE g DROP FOREIGN KEY h", "ALTER TABLE g DROP COLUMN c, ADD n INT")
    story.run("INSERT INTO g VALUES (9, 9)")
    for pos, rows in points:
        state = story.log().state("keys_.g", at=pos)
        assert state.determined, (pos, state.findings.to_pylist())
        assert [tuple(values.values()) for values in state.rows["values"].to_pylist()] == rows
