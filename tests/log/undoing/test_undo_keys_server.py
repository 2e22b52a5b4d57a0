"""Foreign keys that only the server knows: a script asks for them, and keeps nothing."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import binlogkit as bk
from binlogkit.reports.sql import SqlOptions, script
from binlogkit.sources.log_format import CASCADES_LOGGED, version_tuple
from binlogkit_fixtures.servers import Server
from tests.log.undoing.test_undo_server import Story, carried_out
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
        if "ON UPDATE SET NULL" in child and version_tuple(server.version) < CASCADES_LOGGED:
            # Which rows of before the log lost their reference is not known.
            assert verdict == "nothing to commit: 1 change was refused and not carried out"
            return
    assert verdict == "committed"
    assert len(story.run("SELECT * FROM `p'` WHERE v < 5 AND code < 5")) == 2


def test_a_key_whose_action_was_changed_is_another(server: Server, tmp_path: Path) -> None:
    """The log has the table's definition, and not what was done to it with sql_log_bin=0."""
    story = Story(server, tmp_path, "changed")
    story.run(
        PARENT, "CREATE TABLE c (p INT, CONSTRAINT fk FOREIGN KEY (p) REFERENCES `p'` (id))",
        "INSERT INTO `p'` VALUES (1, 1, 1, NULL)", "CREATE TABLE other (id INT PRIMARY KEY)",
    )  # fmt: skip
    story.mark()
    story.run(
        "INSERT INTO `p'` VALUES (2, 2, 2, NULL)", "INSERT INTO other VALUES (1)",
        "SET sql_log_bin = 0",
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


_PARENT = "CREATE TABLE p (id INT PRIMARY KEY, v INT)"
_CHILD = ("CREATE TABLE c (id INT PRIMARY KEY, up INT, CONSTRAINT f FOREIGN KEY (up) REFERENCES p "
          "(id) ON UPDATE CASCADE)")  # fmt: skip
_BELOW = ("CREATE TABLE g (id INT PRIMARY KEY, up INT, FOREIGN KEY (up) REFERENCES c (up) "
          "ON UPDATE {})")  # fmt: skip
_UNIQUE = "ALTER TABLE c ADD UNIQUE (up)"
_OFF, _ON = "SET foreign_key_checks = 0", "SET foreign_key_checks = 1"
_MOVED = "UPDATE p SET id = 5 WHERE id = 1"
_REFUSED = "nothing to commit: 1 change was refused"
#: Tables and rows besides a row of p and one of c that refers to it; what is done and undone; the
#: verdict up to 9.5.
FOLLOWED: dict[str, tuple[list[str], list[str], str]] = {
    "they follow": (["INSERT INTO c VALUES (11, 1), (12, 2)"], [_MOVED], "committed"),
    "twice": ([], [_MOVED, "INSERT INTO c VALUES (20, 5)", "UPDATE p SET id = 9 WHERE id = 5"],
              "committed"),
    "another had the value": ([_OFF, "INSERT INTO c VALUES (50, 5)", _ON], [_MOVED], _REFUSED),
    "none followed": ([_OFF, "INSERT INTO c VALUES (50, 5)"], [_MOVED, _ON], "committed"),
    "two levels": ([_UNIQUE, _BELOW.format("CASCADE"), "INSERT INTO g VALUES (30, 1)"], [_MOVED],
                   "committed"),
    "another below": (
        [_UNIQUE, _BELOW.format("CASCADE"), _OFF, "INSERT INTO g VALUES (30, 5)", _ON], [_MOVED],
        _REFUSED),
    "one below loses it": (
        [_UNIQUE, _BELOW.format("SET NULL"), _OFF, "INSERT INTO g VALUES (30, 5)", _ON], [_MOVED],
        _REFUSED),
    "the key is gone": ([], [_MOVED, "ALTER TABLE c DROP FOREIGN KEY f"], "committed"),
    "gone, with new names": (
        [], [_MOVED, "ALTER TABLE c DROP FOREIGN KEY f", "RENAME TABLE c TO c2, p TO p2",
             "RENAME TABLE c2 TO c, p2 TO p"], "committed"),
    "gone above": ([_UNIQUE, _BELOW.format("CASCADE"), "INSERT INTO g VALUES (30, 1)"],
                   [_MOVED, "ALTER TABLE c DROP FOREIGN KEY f"], "committed"),
    "below one that restricts since": (
        [_UNIQUE, _BELOW.format("CASCADE"), "INSERT INTO g VALUES (30, 1)"],
        [_MOVED, "ALTER TABLE g DROP FOREIGN KEY g_ibfk_1",
         "ALTER TABLE g ADD FOREIGN KEY (up) REFERENCES c (up)"], "committed"),
    "below one that sets NULL since": (
        [_UNIQUE, _BELOW.format("CASCADE"), "INSERT INTO g VALUES (30, 1), (31, NULL)"],
        [_MOVED, "ALTER TABLE g DROP FOREIGN KEY g_ibfk_1",
         "ALTER TABLE g ADD FOREIGN KEY (up) REFERENCES c (up) ON UPDATE SET NULL"], "committed"),
    "made again": (
        [], [_MOVED, "ALTER TABLE c DROP FOREIGN KEY f", "ALTER TABLE c ADD FOREIGN KEY (up) "
             "REFERENCES p (id) ON UPDATE CASCADE"], "committed"),
}  # fmt: skip


@pytest.mark.parametrize("case", FOLLOWED)
@pytest.mark.parametrize("image", ["FULL", "MINIMAL"])
@pytest.mark.sampled(13, 78)
@pytest.mark.gate(4)
def test_rows_that_followed_a_key_follow_it_back(
    server: Server, image: str, case: str, tmp_path: Path
) -> None:
    """And no others: what is committed is as it was."""
    more, done, wanted = FOLLOWED[case]
    story = Story(server, tmp_path, "followed")
    rows = "INSERT INTO p VALUES (1, 1), (2, 2)", "INSERT INTO c VALUES (10, 1)"
    story.run(f"SET binlog_row_image = {image}", _PARENT, _CHILD, *rows, *more)
    story.mark()
    tables = ["p", "c", *("g" for text in more if text.startswith("CREATE TABLE g"))]
    before = [story.run(f"SELECT * FROM {table} ORDER BY id") for table in tables]
    story.run(*done)
    after = [story.run(f"SELECT * FROM {table} ORDER BY id") for table in tables]
    verdict = str(story.undo()[-1])
    now = [story.run(f"SELECT * FROM {table} ORDER BY id") for table in tables]
    assert now == (before if verdict.startswith("committed") else after)
    assert server.version.startswith("9.") or verdict.startswith(wanted)


@pytest.mark.parametrize("image", ["FULL", "MINIMAL"])
@pytest.mark.parametrize("done", ["id < 3", "id < 9", "id < 9 ORDER BY id DESC"])
def test_rows_of_one_event_that_lose_their_reference_to_others_of_it(
    server: Server, image: str, done: str, tmp_path: Path
) -> None:
    """The row that is deleted second refers to nothing then, as its image shows."""
    story = Story(server, tmp_path, "ring")
    rows = [(1, None), (2, 1), (3, 2), (4, 4), (5, 4), (6, 1)]
    values = ", ".join(map(str, rows)).replace("None", "NULL")
    story.run(f"SET binlog_row_image = {image}", "CREATE TABLE s (id INT PRIMARY KEY, up INT, "
              "FOREIGN KEY (up) REFERENCES s (id) ON DELETE SET NULL)",
              f"INSERT INTO s VALUES {values}")  # fmt: skip
    story.mark()
    story.run(f"DELETE FROM s WHERE {done}")
    left = story.run("SELECT * FROM s ORDER BY id")
    state = story.log().state("ring.s")
    logged = server.version.startswith("9.")  # the server tells itself what happened
    assert state.determined or logged
    assert [tuple(row.values()) for row in state.rows["values"].to_pylist()] == left
    verdict = story.undo()[-1]
    assert verdict == "committed" or logged
    assert story.run("SELECT * FROM s ORDER BY id") == (rows if verdict == "committed" else left)


@pytest.mark.parametrize("image", ["FULL", "MINIMAL"])
def test_rows_that_went_from_a_table_that_swapped_its_name_since(
    server: Server, image: str, tmp_path: Path
) -> None:
    """They come back into the table that it is now."""
    story = Story(server, tmp_path, "swapped")
    child = _CHILD.replace("UPDATE", "DELETE").replace("c (id", "c (cid")
    story.run(f"SET binlog_row_image = {image}", _PARENT, child,
              "CREATE TABLE s (sid INT PRIMARY KEY, up INT)", "INSERT INTO p VALUES (1, 1), (2, 2)",
              "INSERT INTO c VALUES (10, 1), (11, 2)", "INSERT INTO s VALUES (7, 7)")  # fmt: skip
    story.mark()
    story.run("DELETE FROM p WHERE id = 1", "RENAME TABLE c TO swap, s TO c, swap TO s")
    verdict = str(story.undo()[-1])
    logged = server.version.startswith("9.")  # with images that need the rows before
    assert verdict == "committed" or (logged and image == "MINIMAL" and "refused" in verdict)
    back = [(10, 1)] if verdict == "committed" else []
    assert story.run("SELECT * FROM s ORDER BY cid") == [*back, (11, 2)]
    assert story.run("SELECT * FROM c") == [(7, 7)]


def test_a_row_that_had_the_value_in_a_table_that_swapped_its_name_since(
    server: Server, tmp_path: Path
) -> None:
    story = Story(server, tmp_path, "swapped2")
    story.run("CREATE TABLE p (id VARCHAR(8) CHARSET latin1 NOT NULL, PRIMARY KEY (id))",
              "CREATE TABLE c (cid INT, up VARCHAR(8) CHARSET latin1 NULL, PRIMARY KEY (cid), "
              "CONSTRAINT f FOREIGN KEY (up) REFERENCES p (id) ON DELETE SET NULL "
              "ON UPDATE SET NULL)",
              "CREATE TABLE s (sid INT, up INT NULL, PRIMARY KEY (sid), "
              "CONSTRAINT f2 FOREIGN KEY (up) REFERENCES s (sid))",
              "INSERT INTO p VALUES ('')",
              "ALTER TABLE c CHANGE up above VARCHAR(8) CHARSET latin1 NULL")  # fmt: skip
    story.mark()
    story.run(_OFF, "INSERT INTO c VALUES (1, 'e')", "UPDATE p SET id = 'e'",
              "RENAME TABLE c TO swap, s TO c, swap TO s")  # fmt: skip
    assert story.undo()[-1] == "committed"
    assert (story.run("SELECT * FROM p"), story.run("SELECT * FROM s")) == ([("",)], [])


def test_rows_from_before_the_log_are_not_taken_along(server: Server, tmp_path: Path) -> None:
    """Nothing shows which of them followed; with none there is nothing to ask."""
    story = Story(server, tmp_path, "older")
    story.run(_PARENT, _CHILD, "INSERT INTO p VALUES (1, 1), (2, 2)", _OFF,
              "INSERT INTO c VALUES (50, 5)", _ON, "FLUSH BINARY LOGS")  # fmt: skip
    story.name = server.binlog_names()[-1]
    schema = tmp_path / "schema.sql"
    schema.write_text(f"USE {story.db};\n{_PARENT};\n{_CHILD};\n", "utf-8")
    free = "UPDATE p SET id = 6 WHERE id = 2"
    for moved, verdict in ((_MOVED, "rolled back"), (free, "committed")):
        story.mark()
        story.run(moved)
        path = str(server.copy_binlog(story.name, tmp_path))
        plans = bk.open(path, schema=schema).undo(start_position=story.pos)
        told = str(carried_out(story, plans)[-1])
        assert told.startswith(verdict) or server.version.startswith("9.")
    assert story.run("SELECT up FROM c") == [(5,)]


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


@pytest.mark.parametrize("later", [
    ["ALTER TABLE p RENAME p2"],
    ["RENAME TABLE p TO p2, c TO c2", "ALTER TABLE p2 RENAME p3",
     "ALTER TABLE c2 DROP FOREIGN KEY f"],
], ids=["the parent", "both, and the key dropped"])  # fmt: skip
@pytest.mark.sampled(2, 2)
def test_a_row_that_lost_its_parent_whose_table_was_renamed_is_refused(
    server: Server, later: list[str], tmp_path: Path
) -> None:
    """The cascade is in no log up to 9.5, and the row is no more as it was inserted."""
    story = Story(server, tmp_path, f"renamed{len(later)}")
    child = _CHILD.replace("ON UPDATE CASCADE", "ON DELETE SET NULL")
    story.run(_PARENT, child, "INSERT INTO p VALUES (1, 1)")
    story.mark()
    story.run("INSERT INTO c VALUES (1, 1)", "DELETE FROM p", *later)
    (plan,) = story.log().undo(at=f"{story.name}:{story.pos}")
    assert "a later change depends on it" in str(plan["refused"])


def test_a_reference_that_only_the_collation_takes_for_the_parent_s_key(
    server: Server, tmp_path: Path
) -> None:
    """It went along with the parent's row, and would come back as that one is spelled."""
    story = Story(server, tmp_path, "spelled")
    text = "VARCHAR(4) CHARACTER SET ascii"
    story.run(f"CREATE TABLE p (id {text} PRIMARY KEY)", "INSERT INTO p VALUES ('B')",
              f"CREATE TABLE c (id INT PRIMARY KEY, up {text}, FOREIGN KEY (up) REFERENCES p (id) "
              "ON UPDATE CASCADE)", "INSERT INTO c VALUES (1, 'b'), (2, 'B')")  # fmt: skip
    story.mark()
    story.run("UPDATE p SET id = 'x'")
    if version_tuple(server.version) < CASCADES_LOGGED:
        (plan,) = story.log().undo(start_position=story.pos)
        assert "may have had its value before" in str(plan["refused"])
        return
    assert story.undo()[-1] == "committed"
    assert story.run("SELECT up FROM c ORDER BY id") == [("b",), ("B",)]


def test_a_key_in_another_case_to_a_parent_made_before_the_log(
    server: Server, tmp_path: Path
) -> None:
    """Table maps alone say how the parent's columns are spelled: undo missed the child's row."""
    story = Story(server, tmp_path, "shouted")
    named = not server.version.startswith("5.7")
    if named:
        story.run("SET GLOBAL binlog_row_metadata = FULL")
    story.run("CREATE TABLE p (Id INT PRIMARY KEY)", "FLUSH BINARY LOGS")
    story.name, story.pos = server.binlog_names()[-1], 4
    story.run("CREATE TABLE c (id INT PRIMARY KEY, p INT, FOREIGN KEY (p) REFERENCES p (ID))")
    story.mark()
    story.run("INSERT INTO p VALUES (1)")
    stop = int(story.run(f"SHOW BINLOG EVENTS IN '{story.name}'")[-1][4])
    story.run("INSERT INTO c VALUES (1, 1)")
    (plan,) = story.log().undo(start_position=story.pos, stop_position=stop)
    reason = "a later change depends on it (" if named else "the name of column @1 is not known"
    assert str(plan["refused"]).startswith(reason)


@pytest.mark.parametrize("action", ["ON DELETE RESTRICT", "ON DELETE SET NULL"])
@pytest.mark.gate(1)
def test_a_key_added_to_a_table_made_before_the_log(
    server: Server, action: str, tmp_path: Path
) -> None:
    """The script ended with the server's error 1451, or rolled back for a key not in the log."""
    story = Story(server, tmp_path, "added")
    named = not server.version.startswith("5.7")
    if named:
        story.run("SET GLOBAL binlog_row_metadata = FULL")
    story.run("CREATE TABLE p (id INT PRIMARY KEY)", "CREATE TABLE c (id INT PRIMARY KEY, p INT)")
    story.run("FLUSH BINARY LOGS")
    story.name, story.pos = server.binlog_names()[-1], 4
    story.run(f"ALTER TABLE c ADD CONSTRAINT f FOREIGN KEY (p) REFERENCES p (id) {action}")
    story.run("ALTER TABLE c CHANGE p up INT", "RENAME TABLE c TO d", "INSERT INTO p VALUES (2)")
    story.mark()
    story.run("INSERT INTO p VALUES (1)")
    stop = int(story.run(f"SHOW BINLOG EVENTS IN '{story.name}'")[-1][4])
    story.run("INSERT INTO d VALUES (1, 1), (2, 2)")
    (plan,) = story.log().undo(start_position=story.pos, stop_position=stop)
    if not named:
        assert str(plan["refused"]).startswith("the name of column @1 is not known")
        return
    assert str(plan["refused"]).startswith("a later change depends on it (child row)")
    assert story.undo()[-1] == "committed"
    assert story.run("SELECT * FROM p") == [(2,)]


def test_a_key_that_the_log_lacks_changes_a_row_before_its_statement(
    server: Server, tmp_path: Path
) -> None:
    """The statement finds no row then; the verdict names the key, not that alone."""
    story = Story(server, tmp_path, "lacking")
    made = "CREATE TABLE s (id INT PRIMARY KEY, up INT"
    key = "CONSTRAINT f FOREIGN KEY (up) REFERENCES s (id) ON DELETE SET NULL"
    story.run(f"{made}, {key})", "FLUSH BINARY LOGS")
    story.name = server.binlog_names()[-1]
    schema = tmp_path / "schema.sql"
    schema.write_text(f"USE lacking;\n{made});\n", "utf-8")
    story.run("SET foreign_key_checks = 0", "INSERT INTO s VALUES (3, 5), (5, NULL)",
              "SET foreign_key_checks = 1")  # fmt: skip
    path = str(server.copy_binlog(story.name, tmp_path))
    verdict = carried_out(story, bk.open(path, schema=schema).undo())[-1]
    unknown = "foreign keys that are not in the log act on these statements"
    assert verdict.startswith(f"rolled back: {unknown}: lacking.s.f")
    assert story.run("SELECT * FROM s ORDER BY id") == [(3, 5), (5, None)]


_UNKEYED = "ALTER TABLE s DROP PRIMARY KEY"
_TAKEN = "INSERT INTO s VALUES (1, 5, 4)"


@pytest.mark.parametrize(
    ("later", "wanted"),
    [
        ([_UNKEYED, _TAKEN, "UPDATE s SET v = 7 WHERE w = 2"], None),
        ([_UNKEYED, "UPDATE s SET v = 7 WHERE w = 2", _TAKEN], None),
        ([_UNKEYED, "DELETE FROM s WHERE w = 2", _TAKEN], None),
        ([_UNKEYED, _TAKEN], "committed"),
        (["DROP INDEX `PRIMARY` ON s", _TAKEN], "committed"),
        ([f"{_UNKEYED}, ADD PRIMARY KEY (w)", _TAKEN], "committed"),
        ([f"{_UNKEYED}, ADD UNIQUE KEY (id)"], "committed"),
    ],
)
@pytest.mark.parametrize("known", [True, False])
@pytest.mark.sampled(9, 42)
@pytest.mark.gate(3)
def test_a_row_whose_key_others_may_have_since(
    server: Server, later: list[str], wanted: str | None, known: bool, tmp_path: Path
) -> None:
    """It is found by its whole image, or by another key: another row has its key's value now. Be
    the key known by CREATE TABLE, or by the table maps."""
    story = Story(server, tmp_path, "unkeyed")
    story.run("CREATE TABLE s (id INT, v INT, w INT NOT NULL, PRIMARY KEY (id))",
              "INSERT INTO s VALUES (1, NULL, 2)")  # fmt: skip
    if not known and not server.version.startswith("5.7"):
        story.run("SET GLOBAL binlog_row_metadata = FULL", "FLUSH BINARY LOGS")
        story.name = server.binlog_names()[-1]
    story.mark()
    story.run("UPDATE s SET v = 5")
    stop = int(story.run(f"SHOW BINLOG EVENTS IN '{story.name}'")[-1][4])
    story.run(*later)
    rows = sorted(story.run("SELECT * FROM s"), key=repr)
    verdict = str(story.undo(stop_position=stop)[-1])
    assert verdict.startswith(wanted or "nothing to commit: 1 change was refused")
    back = [(1, None, 2) if row == (1, 5, 2) else row for row in rows]
    assert sorted(story.run("SELECT * FROM s"), key=repr) == sorted(back, key=repr)


def test_equal_rows_that_differ_in_a_column_since(server: Server, tmp_path: Path) -> None:
    """Nothing shows which of them it was."""
    story = Story(server, tmp_path, "alike")
    for number, (column, wanted) in enumerate((
        ("n INT AUTO_INCREMENT PRIMARY KEY", "rolled back: not every statement changed exactly"),
        ("n INT DEFAULT 5", "committed"),
    )):  # fmt: skip
        table = f"t{number}"
        story.run(f"CREATE TABLE {table} (v INT)", f"INSERT INTO {table} VALUES (1)")
        story.mark()
        story.run(f"INSERT INTO {table} VALUES (1)", f"ALTER TABLE {table} ADD {column}")
        assert wanted in str(story.undo()[-1])


def test_cells_without_an_arrow_value_of_rows_that_a_key_changed(
    server: Server, tmp_path: Path
) -> None:
    """Zero dates: the row after the cascade had NULL there, and its statement found none."""
    story = Story(server, tmp_path, "zero_dates")
    story.run(
        "SET sql_mode = ''", "CREATE TABLE p (id INT PRIMARY KEY)",
        "CREATE TABLE c (id INT, up INT, d DATETIME(3) NOT NULL, PRIMARY KEY (id, d), "
        "FOREIGN KEY (up) REFERENCES p (id) ON UPDATE SET NULL)",
        "INSERT INTO p VALUES (1)", "INSERT INTO c (id, up) VALUES (3, 1)",
    )  # fmt: skip
    story.mark()
    story.run("UPDATE p SET id = 2")
    assert story.undo()[-1] == "committed"
    assert story.run("SELECT id, up, d + 0 FROM c") == [(3, 1, 0)]


def test_rows_that_stand_in_another_order_once_they_followed(
    server: Server, tmp_path: Path
) -> None:
    """Each goes back to what it was itself."""
    story = Story(server, tmp_path, "otherwise")
    story.run(
        "CREATE TABLE p (id CHAR(4) PRIMARY KEY) COLLATE utf8mb4_general_ci",
        "CREATE TABLE c (up CHAR(4), n INT, PRIMARY KEY (up, n), CONSTRAINT f FOREIGN KEY (up) "
        "REFERENCES p (id) ON UPDATE CASCADE) COLLATE utf8mb4_general_ci",
        "INSERT INTO p VALUES ('b')", "INSERT INTO c VALUES ('b', 1), ('B', 9)",
    )  # fmt: skip
    story.mark()
    story.run("UPDATE p SET id = 'f'", "ALTER TABLE c DROP FOREIGN KEY f")
    plans = story.log().undo(start_position=story.pos)
    back = [plan for plan in plans if plan["table"] == "c"]
    if not server.version.startswith("9."):  # whose log has these rows itself
        assert all([item["column"] for item in plan["set"]] == ["up"] for plan in back)
    assert story.undo()[-1] == "committed"
    assert story.run("SELECT up, n FROM c ORDER BY n") == [("b", 1), ("B", 9)]


@pytest.mark.parametrize("image", ["FULL", "MINIMAL"])
@pytest.mark.parametrize("action", ["SET NULL", "CASCADE"])
def test_rows_that_refer_to_themselves_and_to_each_other(
    server: Server, tmp_path: Path, action: str, image: str
) -> None:
    """From 9.6 on a log has some of their changes twice, and the second image contradicts the
    first."""
    story = Story(server, tmp_path, "circles")
    story.run(
        f"SET binlog_row_image = {image}",
        "CREATE TABLE s (id INT PRIMARY KEY, up INT, v INT, CONSTRAINT f FOREIGN KEY (up) "
        f"REFERENCES s (id) ON DELETE {action})",
        "SET foreign_key_checks = 0",
        "INSERT INTO s VALUES (1, 1, 0), (2, 3, 0), (3, 4, 0), (4, 2, 0), (5, 1, 0), (6, 6, 0)",
        "SET foreign_key_checks = 1",
    )
    before = story.run("SELECT * FROM s")
    story.mark()
    story.run("DELETE FROM s WHERE id IN (1, 2, 4)")
    log = story.log()
    (state,) = (one for one in log.states() if one.table == ("circles", "s"))
    assert state.determined
    rows = [[*row.values()] for row in state.rows["values"].to_pylist()]
    assert rows == [[*row] for row in story.run("SELECT * FROM s ORDER BY id")]
    found = (one.found for one in log.verify(images=True).findings if one.code == "unlogged_change")
    assert all(text.endswith("a foreign key's cascade may have done it") for text in found)
    assert story.undo()[-1] == "committed"
    assert story.run("SELECT * FROM s") == before
