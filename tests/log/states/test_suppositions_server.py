"""What the log does not decide: who supposes it says so, and no script rests on it.

A CREATE … IF NOT EXISTS that did nothing is logged like one that did something, up to 8.0 but for
the number of its transaction; a character set that no byte tells is a guess.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import binlogkit as bk
from binlogkit.cli import run
from binlogkit_fixtures.servers import Server
from tests.log.undoing.test_undo_server import Story
from tests.servers import each_server

pytestmark = [pytest.mark.server, pytest.mark.gate]

server = each_server()

REAL = (
    "(id INT PRIMARY KEY, a VARCHAR(10), b VARCHAR(10), n TINYINT UNSIGNED, s ENUM('open', 'void'))"
)
OTHER = "(id INT PRIMARY KEY, b VARCHAR(10), a VARCHAR(10), n TINYINT, s ENUM('void', 'open'))"
NOTHING = {
    "the same table": f"CREATE TABLE IF NOT EXISTS t {OTHER}",
    "with an engine": f"CREATE TABLE IF NOT EXISTS t {OTHER} ENGINE=InnoDB",
    "like another": "CREATE TABLE IF NOT EXISTS t LIKE m",
}


def tells(server: Server) -> bool:
    """Whether its log tells what CREATE … IF NOT EXISTS did."""
    return not server.spec.version.startswith("5")


def later(server: Server, folder: Path, db: str, *before: str) -> Story:
    """A story whose log begins after the statements ``before``."""
    for name in ("cs1", "cs2"):
        server.query(f"DROP DATABASE IF EXISTS {name}")
    story = Story(server, folder, db)
    story.run(*before, "FLUSH BINARY LOGS")
    story.name = server.binlog_names()[-1]
    return story


def values(log: bk.Log) -> list[dict[str, Any] | None]:
    return [row["before"] or row["after"] for row in log.row_records()]


@pytest.mark.parametrize("what", NOTHING)
def test_a_create_that_did_nothing(server: Server, tmp_path: Path, what: str) -> None:
    story = later(server, tmp_path, "nothing", f"CREATE TABLE t {REAL}",
                  "INSERT INTO t VALUES (1, 'one', 'two', 200, 'open')")  # fmt: skip
    if "LIKE" in NOTHING[what]:
        story.run(f"CREATE TABLE m {OTHER}")
    story.run(NOTHING[what])
    story.mark()
    story.run("DELETE FROM t")
    log = story.log()
    rows = values(log)
    names = [one.name for one in log.suppositions]
    if tells(server):
        # The log says that the statement did nothing: nothing is known of the columns' names.
        assert rows == [{"@1": 1, "@2": "one", "@3": "two", "@4": 200, "@5": 1}]
        assert names == []
    else:
        assert rows == [{"id": 1, "b": "one", "a": "two", "n": -56, "s": "void"}]
        assert names == ["definition:nothing.t"]
    state = log.state("nothing.t")
    assert not state.determined
    assert "if_not_exists" in (found := state.findings["finding"].to_pylist()) or tells(server)
    assert ("supposition" in found) != tells(server)
    life = log.life("nothing.t", 1, key_columns=["@1"] if tells(server) else None)
    assert life.determined == tells(server)
    plans = list(log.undo())
    assert [plan["refused"] is None for plan in plans] == [False]
    assert story.undo()[0] == 0 and story.run("SELECT COUNT(*) FROM t") == [(0,)]


def test_what_is_supposed_can_be_accepted(server: Server, tmp_path: Path) -> None:
    """By its name: then the answer is what the name says, right or wrong."""
    story = later(server, tmp_path, "accepted", "CREATE TABLE t (id INT PRIMARY KEY, a INT)",
                  "CREATE TABLE u LIKE t", "INSERT INTO t VALUES (1, 2)",
                  "INSERT INTO u VALUES (1, 2)")  # fmt: skip
    for table in "tu":
        story.run(f"CREATE TABLE IF NOT EXISTS {table} (id INT PRIMARY KEY, a INT) ENGINE=MyISAM")
    story.run("DELETE FROM t", "DELETE FROM u")
    path = str(server.copy_binlog(story.name, tmp_path))
    log = bk.open(path, suppose=["definition:accepted.t"])
    refused = {plan["table"]: plan["refused"] for plan in log.undo()}
    assert refused["t"] is None and "definition:accepted.u" in str(refused["u"])
    assert [one.name for one in log.suppositions] == ["definition:accepted.u"]
    assert not log.state("accepted.u").determined
    with pytest.raises(bk.errors.UsageError, match="no supposition"):
        bk.open(path, suppose=["accepted.t"])


def test_a_create_that_made_the_table(server: Server, tmp_path: Path) -> None:
    """Where the log shows that there was none, or that it was made: nothing is supposed."""
    story = later(server, tmp_path, "made", f"CREATE TABLE old {OTHER}", f"CREATE TABLE o2 {OTHER}")
    story.run(
        "DROP TABLE old", f"CREATE TABLE IF NOT EXISTS old {REAL}",
        "RENAME TABLE o2 TO o3", f"CREATE TABLE IF NOT EXISTS o2 {REAL}",
        "CREATE DATABASE made2", f"CREATE TABLE IF NOT EXISTS made2.t {REAL}",
        "DROP DATABASE made2", "CREATE DATABASE IF NOT EXISTS made2 CHARACTER SET latin1",
        "CREATE TABLE IF NOT EXISTS made2.c (id INT PRIMARY KEY, a TEXT)",
        "INSERT INTO old VALUES (1, 'one', 'two', 200, 'open')",
        "INSERT INTO o2 VALUES (1, 'one', 'two', 200, 'open')",
        "SET NAMES utf8mb4", "INSERT INTO made2.c VALUES (1, 'é')", "DROP DATABASE made2",
    )  # fmt: skip
    log = story.log()
    wanted = {"id": 1, "a": "one", "b": "two", "n": 200, "s": "open"}
    assert values(log) == [wanted, wanted, {"id": 1, "a": "é"}]
    assert log.suppositions == []
    assert log.state("made.old").determined


def test_a_new_table_of_which_nothing_else_is_known(server: Server, tmp_path: Path) -> None:
    story = later(server, tmp_path, "fresh")
    story.run(f"CREATE TABLE IF NOT EXISTS t {REAL}",
              "INSERT INTO t VALUES (1, 'one', 'two', 200, 'open')")  # fmt: skip
    log = story.log()
    assert values(log) == [{"id": 1, "a": "one", "b": "two", "n": 200, "s": "open"}]
    assert bool(log.suppositions) != tells(server)
    assert log.state("fresh.t").determined == tells(server)


CHARSETS = [
    # What is stored, what is read, whether it is supposed; by the column's type.
    ("VARCHAR(10)", b"abc", "abc", False),
    ("VARCHAR(10)", b"\xc3\xa9", {"undecodable": "0xC3A9"}, False),
    ("TEXT", b"abc", "abc", False),
    ("TEXT", b"\xc3\xa9", "é", True),
    ("TEXT", b"\xe9", {"undecodable": "0xE9"}, False),
]


@pytest.mark.parametrize("column, stored, read, supposed", CHARSETS)
@pytest.mark.parametrize("again", [False, True])
def test_a_character_set_that_nothing_tells(
    server: Server,
    tmp_path: Path,
    column: str,
    stored: bytes,
    read: Any,
    supposed: bool,
    again: bool,
) -> None:
    """The table is made in this log, its database in an older one; or it is said to be ``again``,
    with another character set, which changes nothing."""
    story = later(server, tmp_path, "cs", "CREATE DATABASE cs1 CHARACTER SET latin1")
    if again:
        story.run("CREATE DATABASE IF NOT EXISTS cs1 CHARACTER SET utf8mb4")
    story.run(f"CREATE TABLE cs1.t (id INT PRIMARY KEY, c {column})")
    story.mark()
    story.run(f"INSERT INTO cs1.t VALUES (1, x'{stored.hex()}')")
    log = story.log()
    (row,) = values(log)
    found = row and row["c"]
    shown = [one.name for one in log.suppositions]
    (plan,) = log.undo(start_position=story.pos)
    if tells(server):
        assert found == stored.decode("latin1") and not shown and plan["refused"] is None
        return
    if isinstance(found, dict):
        found.pop("reason")
    assert found == read
    assert shown == ["charset:cs1.t.c"] * supposed
    (again_,) = log.redo(start_position=story.pos)
    assert plan["refused"] is None
    assert (again_["refused"] is None) == stored.isascii()
    assert plan["note"] == (None if stored.isascii() else "not compared: c")
    state = log.state("cs1.t")
    assert state.determined == (not supposed)
    schema = tmp_path / "schema.sql"
    schema.write_text("CREATE DATABASE cs1 CHARACTER SET latin1;")
    path = str(server.copy_binlog(story.name, tmp_path))
    for told in (bk.open(path, charset="latin1"), bk.open(path, schema=schema)):
        (row,) = values(told)
        assert row and row["c"] == stored.decode("latin1") and not told.suppositions


def test_a_default_that_the_table_map_contradicts(server: Server, tmp_path: Path) -> None:
    """The table was made while its database had another default: names, key and types stay."""
    story = later(
        server,
        tmp_path,
        "inherits",
        "CREATE DATABASE cs2 CHARACTER SET latin1",
        "CREATE TABLE cs2.m (id INT PRIMARY KEY, c VARCHAR(10), n TINYINT UNSIGNED)",
    )
    story.run("ALTER DATABASE cs2 CHARACTER SET utf8mb4")
    # As a server writes a copy of a temporary table: without the character set.
    story.run("SET sql_log_bin = 0", "ALTER DATABASE cs2 CHARACTER SET latin1",
              "SET sql_log_bin = 1",
              "CREATE TABLE cs2.t (id INT PRIMARY KEY, c VARCHAR(10), n TINYINT UNSIGNED)",
              "INSERT INTO cs2.t VALUES (1, 'abc', 200)")  # fmt: skip
    log = story.log()
    assert values(log) == [{"id": 1, "c": "abc", "n": 200}]
    assert any("character set" in problem for problem in log.problems) != tells(server)
    assert [plan["refused"] for plan in log.undo()] == [None]


def test_commands_name_what_they_suppose(
    server: Server, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    story = later(server, tmp_path, "doors", f"CREATE TABLE t {REAL}",
                  "INSERT INTO t VALUES (1, 'one', 'two', 200, 'open')")  # fmt: skip
    story.run(f"CREATE TABLE IF NOT EXISTS t {OTHER} ENGINE=MyISAM", "DELETE FROM t")
    path = str(server.copy_binlog(story.name, tmp_path))
    for command in (["rows"], ["life", "--table", "doors.t", "--key", "1"], ["audit"],
                    ["state", "--table", "doors.t"], ["undo"]):  # fmt: skip
        status = run([command[0], path, *command[1:]])
        said = capsys.readouterr()
        assert status == 1
        assert "definition:doors.t" in said.out + said.err, command
    assert run(["undo", path, "--suppose", "definition:doors.t"]) == 0


MADE_WITHOUT = {
    "like a temporary table": (
        "CREATE TEMPORARY TABLE x (id INT PRIMARY KEY, c VARCHAR(9)) CHARACTER SET utf8mb4",
        "CREATE TABLE t LIKE x", "INSERT INTO t VALUES (1, 'é')",
    ),
    "select under ANSI": (
        "CREATE TABLE x (id INT, c VARCHAR(9) CHARACTER SET utf8mb4)", "INSERT INTO x VALUES "
        "(1, 'é')", "SET sql_mode = 'ANSI'", "CREATE TABLE t CHARACTER SET utf8mb4 SELECT * FROM x",
    ),
}  # fmt: skip


@pytest.mark.parametrize("how", MADE_WITHOUT)
def test_a_create_that_is_logged_without_its_character_set(
    server: Server, tmp_path: Path, how: str
) -> None:
    """The database's is another: the table map of 8.0 tells the column's, that of 5.7 how many
    bytes it can hold, which is not the database's character set."""
    story = later(server, tmp_path, "nothing")
    story.run("ALTER DATABASE nothing CHARACTER SET latin1", "SET NAMES utf8mb4", "USE nothing",
              *MADE_WITHOUT[how])  # fmt: skip
    state = story.log().state("nothing.t")
    assert [row["c"] for row in state.rows["values"].to_pylist()] == ["é"]
    assert state.determined == tells(server)
    if not tells(server):
        assert {row["finding"] for row in state.findings.to_pylist()} == {"supposition"}


def test_a_sign_that_nothing_tells(server: Server, tmp_path: Path) -> None:
    """Up to 5.7 only the definition says what is unsigned: a negative number may be none."""
    table = "CREATE TABLE t (id INT PRIMARY KEY, small TINYINT UNSIGNED, plain INT, big BIGINT)"
    story = later(server, tmp_path, "nothing", table)
    story.run("INSERT INTO t VALUES (1, 129, 7, -1)")
    path = str(server.copy_binlog(story.name, tmp_path))
    log = bk.open(path)
    (row,) = values(log)
    found, signs = [*row.values()] if row else [], [one.name for one in log.suppositions]
    if tells(server):
        assert found == [1, 129, 7, -1] and signs == []
        return
    assert found == [1, -127, 7, -1] and signs == ["sign:nothing.t.@2", "sign:nothing.t.@4"]
    assert not log.state("nothing.t").determined
    assert run(["rows", path]) == 1
    accepted = bk.open(path, suppose=["sign:nothing.t.@4"])
    assert values(accepted) and [one.name for one in accepted.suppositions] == signs[:1]
    schema = tmp_path / "schema.sql"
    schema.write_text(f"CREATE DATABASE nothing; USE nothing; {table};")
    (row,) = values(told := bk.open(path, schema=schema))
    assert row and [*row.values()] == [1, 129, 7, -1] and not told.suppositions
