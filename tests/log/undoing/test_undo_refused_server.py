"""What others need that cannot be taken back is refused as well: the rest of a script commits."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pymysql
import pytest

from binlogkit_fixtures.servers import Server
from tests.log.undoing.test_undo_server import Story, carried_out
from tests.servers import each_server

pytestmark = pytest.mark.server

TABLES = (
    "CREATE TABLE t (id INT PRIMARY KEY, v INT, w INT, f FLOAT)",
    "CREATE TABLE p (id INT PRIMARY KEY, e ENUM('a', 'b'))",
    "CREATE TABLE c (id INT PRIMARY KEY, p INT, FOREIGN KEY (p) REFERENCES p (id))",
    "CREATE TABLE u (id INT PRIMARY KEY, code INT UNIQUE, e ENUM('a'))",
    "CREATE TABLE bare (v INT, f FLOAT)",
    "INSERT INTO t VALUES (1, 1, 1, 0.1), (2, 2, 2, 0.1), (3, 3, 3, 3)",
    "SET sql_mode = ''",
    "INSERT INTO p VALUES (1, 'zzz'), (2, 'a')",
    "INSERT INTO c VALUES (1, 1), (2, 2)",
    "INSERT INTO u VALUES (1, 1, 'zzz'), (2, 2, 'a')",
)
#: What is done, what of it stays although all is to be undone, and how many statements commit.
CASES: list[tuple[tuple[str, ...], dict[str, str], int]] = [
    # A column that was converted since: what compares it stays; other columns do not need that.
    (("INSERT INTO t VALUES (4, 1, 1, 1)", "UPDATE t SET w = 2 WHERE id = 4",
      "UPDATE t SET v = 8 WHERE id = 4", "UPDATE t SET w = 9 WHERE id = 3",
      "ALTER TABLE t MODIFY v VARCHAR(9)"),
     {"SELECT v, w FROM t WHERE id IN (3, 4) ORDER BY id": "(('3', 3), ('8', 1))"}, 2),
    # A parent's row with ENUM's error value does not come back, and so not its child's.
    (("DELETE FROM c WHERE id = 1", "DELETE FROM p WHERE id = 1", "DELETE FROM c WHERE id = 2"),
     {"SELECT id FROM c": "((2,),)", "SELECT id FROM p": "((2,),)"}, 1),
    # Nor what gave up a value that a row has which stays.
    (("DELETE FROM u WHERE id = 2", "UPDATE u SET code = 2, e = 'a' WHERE id = 1",
      "UPDATE t SET v = 9 WHERE id = 1"),
     {"SELECT * FROM u": "((1, 2, 'a'),)", "SELECT v FROM t WHERE id = 1": "((1,),)"}, 1),
]  # fmt: skip


server = each_server()


@pytest.mark.parametrize("number", range(len(CASES)))
@pytest.mark.gate(3)
def test_only_what_can_succeed_is_carried_out(server: Server, number: int, tmp_path: Path) -> None:
    done, expected, count = CASES[number]
    story = Story(server, tmp_path, f"refused{number}")
    story.run(*TABLES)
    story.mark()
    story.run(*done)
    verdict: tuple[Any, ...] = story.undo()
    assert verdict[0] == count, verdict
    assert str(verdict[-1]).startswith("committed "), verdict
    for query, rows in expected.items():
        assert str(tuple(story.run(query))) == rows


@pytest.mark.parametrize("later", ["ADD PRIMARY KEY (a)", "MODIFY a INT NOT NULL"])
def test_a_null_of_a_column_that_takes_none_since(
    server: Server, later: str, tmp_path: Path
) -> None:
    story = Story(server, tmp_path, "filled")
    story.run("CREATE TABLE n (a INT, b INT)", "INSERT INTO n VALUES (NULL, 1), (2, 2)")
    story.mark()
    story.run("DELETE FROM n", f"ALTER TABLE n {later}")
    plans = story.log().undo(start_position=story.pos)
    reasons = {plan["refused"] for plan in plans}
    assert reasons == {"column a held NULL, and is NOT NULL since", None}
    assert str(story.undo()[-1]).startswith("committed 1 statement; 1 change was refused")
    assert story.run("SELECT * FROM n") == [(2, 2)]


@pytest.mark.parametrize("key", ["PRIMARY KEY (id)", "KEY (x)"])
@pytest.mark.parametrize(
    "later",
    [
        "ALTER TABLE d ADD UNIQUE (v)",
        "CREATE UNIQUE INDEX i ON d (v(1), x)",
        "RENAME TABLE d TO e; ALTER TABLE e CHANGE v w VARCHAR(9), ADD UNIQUE (w); "
        "RENAME TABLE e TO d",
        "ALTER TABLE d ADD UNIQUE (v); ALTER TABLE d CHANGE v w VARCHAR(9)",
        "ALTER TABLE d MODIFY v VARCHAR(9) COLLATE utf8mb4_general_ci",
    ],
)
@pytest.mark.sampled(4, 30)
@pytest.mark.gate(2)
def test_a_value_that_is_unique_since(server: Server, later: str, key: str, tmp_path: Path) -> None:
    """Another row has it, which no change touched, or which only a later statement would free."""
    story = Story(server, tmp_path, "doubled")
    kind = "utf8mb4_bin UNIQUE" if "MODIFY" in later else "utf8mb4_general_ci"
    story.run(
        f"CREATE TABLE d (id INT, v VARCHAR(9) COLLATE {kind}, x INT, {key}) "
        "DEFAULT CHARSET utf8mb4",
        "INSERT INTO d VALUES (1, 'a', 7), (2, 'A', 7), (3, 'b', 7), (4, NULL, 7), (5, NULL, 7)",
    )  # fmt: skip
    story.mark()
    story.run(
        "UPDATE d SET v = 'c' WHERE id = 1",
        "INSERT INTO d VALUES (6, 'B', 7)",
        "UPDATE d SET v = 'e' WHERE id = 3",
        "UPDATE d SET v = 'f' WHERE id = 4",
        "DELETE FROM d WHERE id = 5",
        *later.split("; "),
    )
    plans = story.log().undo(start_position=story.pos)
    reasons = [str(plan["refused"]).split(" of ")[0] for plan in plans]
    twice = "another row has its value"
    assert reasons == ["None", "None", twice, "None", twice]
    verdict = story.undo()
    assert verdict[-1] == "committed 3 statements; 2 changes were refused and not carried out"
    rows = [(1, "c"), (2, "A"), (3, "e"), (4, None), (5, None)]
    assert [row[:2] for row in story.run("SELECT * FROM d ORDER BY id")] == rows


def test_a_transaction_is_refused_as_a_whole(server: Server, tmp_path: Path) -> None:
    """Where transactions are units, so is what depends on them."""
    story = Story(server, tmp_path, "whole")
    story.run(*TABLES)
    story.mark()
    story.run(
        "UPDATE t SET v = 7 WHERE id = 2",
        "BEGIN", "UPDATE t SET v = 9 WHERE id < 3", "DELETE FROM u WHERE id = 1", "COMMIT",
        "UPDATE t SET w = 9 WHERE id = 1",
    )  # fmt: skip
    plans = story.log().undo(start_position=story.pos, by_transaction=True)
    reasons = [str(plan["refused"]) for plan in plans]
    assert reasons[0] == "None" and "error value" in reasons[1]
    assert reasons[2:4] == ["a change that belongs to it is refused"] * 2
    assert "a later change depends on it (same row)" in reasons[4]
    verdict = story.undo(by_transaction=True)
    assert verdict[-1] == "committed 1 statement; 4 changes were refused and not carried out"
    assert story.run("SELECT v, w FROM t WHERE id < 3 ORDER BY id") == [(9, 1), (9, 2)]


def test_force_refuses_a_transaction_with_a_keyless_row(server: Server, tmp_path: Path) -> None:
    """A later change depends on it, and rows without a key are not found whatever they became."""
    story = Story(server, tmp_path, "keyless")
    story.run(
        "CREATE TABLE t (id INT PRIMARY KEY, v INT)", "INSERT INTO t VALUES (1, 1)",
        "CREATE TABLE a (n INT)",
    )  # fmt: skip
    story.mark()
    start = story.pos
    story.run("BEGIN", "INSERT INTO a VALUES (5)", "UPDATE t SET v = 2", "COMMIT")
    story.mark()
    story.run("UPDATE t SET v = 9")
    for whole, free in ((True, set[str]()), (False, {"t", "a"})):
        plans = story.log().undo(
            start_position=start, stop_position=story.pos, mode="force", by_transaction=whole
        )
        assert {plan["table"] for plan in plans if plan["refused"] is None} == free


@pytest.mark.parametrize("later", ["DROP PRIMARY KEY", "DROP COLUMN id", "ADD COLUMN x INT"])
def test_force_and_a_table_that_lost_its_key_since(
    server: Server, later: str, tmp_path: Path
) -> None:
    story = Story(server, tmp_path, "lost_key")
    story.run(
        "CREATE TABLE t (id INT PRIMARY KEY, v INT, w INT)", "INSERT INTO t VALUES (1, 1, 1)",
        "CREATE TABLE b (id INT PRIMARY KEY, n INT)", "INSERT INTO b VALUES (1, 1)",
    )  # fmt: skip
    story.mark()
    start = story.pos
    story.run("BEGIN", "UPDATE b SET n = 5", "UPDATE t SET v = 2", "COMMIT")
    story.mark()
    story.run("UPDATE t SET v = 9", f"ALTER TABLE t {later}")
    kept = later.startswith("ADD")
    for whole in (True, False):
        plans = story.log().undo(
            start_position=start, stop_position=story.pos, mode="force", by_transaction=whole
        )
        refused = {plan["table"]: plan["refused"] for plan in plans}
        assert (refused["b"] is None) == (kept or not whole), refused
        assert (refused["t"] is None) == kept
        assert kept or refused["t"].startswith("a later change depends on it"), refused


def test_a_unique_key_of_a_table_that_has_no_rows_left(server: Server, tmp_path: Path) -> None:
    """All come back but the second of two."""
    story = Story(server, tmp_path, "none_left")
    story.run("CREATE TABLE d (id INT PRIMARY KEY, v INT)", "INSERT INTO d VALUES (1, 1), (2, 1)")
    story.mark()
    story.run("DELETE FROM d", "ALTER TABLE d ADD UNIQUE (v)")
    verdict = story.undo()[-1]
    assert verdict == "committed 1 statement; 1 change was refused and not carried out"
    assert story.run("SELECT * FROM d") == [(2, 1)]


@pytest.mark.parametrize("units", [False, True])
@pytest.mark.gate(1)
def test_cascade_leaves_what_depends_on_refused_changes(
    server: Server, units: bool, tmp_path: Path
) -> None:
    """A row that does not come back, and one that gave up a value to a row that stays."""
    story = Story(server, tmp_path, "stays")
    story.run(*TABLES, "INSERT INTO u VALUES (3, 3, 'a')")
    story.mark()
    story.run("UPDATE t SET v = 9 WHERE id = 1", "UPDATE u SET code = 4 WHERE id = 3",
              "DELETE FROM u WHERE id = 1", "SET binlog_format = STATEMENT",
              "DELETE FROM bare WHERE v = 1", "SET binlog_format = ROW")  # fmt: skip
    stop = int(story.run(f"SHOW BINLOG EVENTS IN '{story.name}'")[-1][4])
    story.run("UPDATE t SET v = 8 WHERE id = 1", "INSERT INTO u VALUES (1, 5, 'a')",
              "BEGIN", "DELETE FROM u WHERE id = 1", "INSERT INTO u VALUES (4, 3, 'a')", "COMMIT",
              "SET sql_mode = ''", "UPDATE u SET e = 'zzz' WHERE id = 4", "DELETE FROM u WHERE id "
              "= 4", "INSERT INTO u VALUES (5, 5, 'a')")  # fmt: skip
    rows = story.run("SELECT * FROM u ORDER BY id")
    made = story.log().undo(
        start_position=story.pos, stop_position=stop, mode="cascade", by_transaction=units
    )
    assert [bool(plan["refused"]) for plan in made] == [False, True, True, True, False]
    assert "1 later change depends on the chosen ones (1 same row): undone as well" in made.later
    assert carried_out(story, made)[-1] == (
        "committed 2 statements; 3 changes were refused and not carried out"
    )
    assert story.run("SELECT * FROM u ORDER BY id") == rows
    assert story.run("SELECT v FROM t WHERE id = 1") == [(1,)]


def test_cascade_needs_all_that_depends(server: Server, tmp_path: Path) -> None:
    """One of the later changes cannot be undone: nothing is."""
    story = Story(server, tmp_path, "needs")
    story.run(*TABLES)
    story.mark()
    story.run("UPDATE u SET code = 4 WHERE id = 2")
    stop = int(story.run(f"SHOW BINLOG EVENTS IN '{story.name}'")[-1][4])
    story.run("INSERT INTO u VALUES (4, 2, 'zzz')", "UPDATE u SET code = 5 WHERE id = 2",
              "DELETE FROM u WHERE id = 4")  # fmt: skip
    made = story.log().undo(start_position=story.pos, stop_position=stop, mode="cascade")
    (plan,) = made
    assert str(plan["refused"]).startswith("a later change depends on it (")


@pytest.mark.parametrize("mode", ["refuse", "skip", "cascade", "force"])
@pytest.mark.gate(1)
def test_a_transaction_that_a_text_wrote_to_later(
    server: Server, mode: str, tmp_path: Path
) -> None:
    """What a text may have built on stays, and so does the rest of its transaction."""
    story = Story(server, tmp_path, "torn")
    story.run(*TABLES)
    story.mark()
    story.run("BEGIN", "UPDATE t SET v = 9 WHERE id = 1", "DELETE FROM u WHERE id = 2", "COMMIT")
    stop = int(story.run(f"SHOW BINLOG EVENTS IN '{story.name}'")[-1][4])
    if mode == "force":  # by its key alone, its row is not sure to be found after a text
        story.run("UPDATE t SET v = 8 WHERE id = 1")
    story.run("SET binlog_format = STATEMENT", "UPDATE t SET w = w + v", "SET binlog_format = ROW")
    given: dict[str, Any] = {"start_position": story.pos, "stop_position": stop, "mode": mode}
    plans = story.log().undo(by_transaction=True, **given)
    assert sorted(str(plan["refused"])[:38] for plan in plans) == [
        "a change that belongs to it is refused", "a later statement that is logged as te",
    ]  # fmt: skip
    alone = [plan["table"] for plan in story.log().undo(**given) if not plan["refused"]]
    assert alone == ["u"]


#: What is done; why what it did before cannot be taken back, and whether force may.
UNTOLD: dict[str, tuple[tuple[str, ...], str, bool]] = {
    "a later text": (
        ("UPDATE t SET v = 9 WHERE id = 1", "SET binlog_format = STATEMENT",
         "UPDATE t SET w = w + v WHERE id < 3", "SET binlog_format = ROW"),
        "a later statement that is logged as text may depend on it", True),
    "a column dropped": (
        ("UPDATE t SET w = 9 WHERE id = 1", "ALTER TABLE t DROP COLUMN v"),
        "ALTER TABLE logs", False),
    "a column cut": (
        ("UPDATE t SET w = 9 WHERE id = 1", "SET sql_mode = ''", "ALTER TABLE t MODIFY v TINYINT"),
        "ALTER TABLE logs", False),
}  # fmt: skip


@pytest.mark.parametrize("what", UNTOLD)
@pytest.mark.gate(3)
def test_what_no_row_event_tells_of_is_refused(server: Server, what: str, tmp_path: Path) -> None:
    done, reason, forced = UNTOLD[what]
    story = Story(server, tmp_path, "untold")
    story.run(*TABLES)
    story.mark()
    story.run(*done)
    plans = {mode: list(story.log().undo(start_position=story.pos, mode=mode))
             for mode in ("refuse", "skip", "cascade", "force")}  # fmt: skip
    for mode, made in plans.items():
        refused = [str(plan["refused"]) for plan in made if plan["refused"]]
        told = any(one.startswith(reason) for one in refused)
        assert told != (forced and mode == "force"), mode
    own = [plan for plan in plans["refuse"] if plan["set"] or plan["where"]]
    assert (not own) == forced
    story.run("SET sql_mode = DEFAULT")


def test_force_finds_no_row_by_its_key_alone_after_a_text(server: Server, tmp_path: Path) -> None:
    """The row of that key may be another since: what a row event changed later is refused then."""
    story = Story(server, tmp_path, "texts")
    story.run("CREATE TABLE t (id INT PRIMARY KEY, v INT)")
    story.mark()
    story.run("INSERT INTO t VALUES (1, 1), (2, 2)")
    stop = int(story.run(f"SHOW BINLOG EVENTS IN '{story.name}'")[-1][4])
    story.run("UPDATE t SET v = 3 WHERE id = 2", "SET binlog_format = STATEMENT",
              "UPDATE t SET id = id + 1 ORDER BY id DESC", "SET binlog_format = ROW")  # fmt: skip
    given: dict[str, Any] = {"start_position": story.pos, "stop_position": stop, "mode": "force"}
    refused = {str(plan["refused"])[:33]: plan["where"] for plan in story.log().undo(**given)}
    assert refused.pop("a later statement that is logged ") == []
    ((_, where),) = refused.items()
    assert [item["column"] for item in where] == ["id", "v"]


@pytest.mark.parametrize(
    "alter", ["ADD n INT DEFAULT 4 FIRST", "ADD n INT AFTER id", "MODIFY w VARCHAR(9) FIRST"]
)
@pytest.mark.gate(1)
def test_partial_images_are_completed_in_another_order(
    server: Server, alter: str, tmp_path: Path
) -> None:
    """Rows from before an ALTER TABLE that moved columns."""
    story = Story(server, tmp_path, "moved")
    story.run("SET binlog_row_image = MINIMAL", "CREATE TABLE t (id INT PRIMARY KEY, v INT, "
              "w VARCHAR(9))", "INSERT INTO t VALUES (1, 1, 'a'), (2, 2, 'b')",
              f"ALTER TABLE t {alter}")  # fmt: skip
    rows = story.run("SELECT * FROM t ORDER BY id")
    story.mark()
    story.run("UPDATE t SET v = 9 WHERE id = 1", "DELETE FROM t")
    assert story.undo()[-1] == "committed"
    assert story.run("SELECT * FROM t ORDER BY id") == rows


def test_a_column_that_is_added_stays(server: Server, tmp_path: Path) -> None:
    """An ALTER TABLE that takes nothing away needs nothing."""
    story = Story(server, tmp_path, "added")
    story.run(*TABLES)
    story.mark()
    story.run("UPDATE t SET v = 9 WHERE id = 1", "ALTER TABLE t ADD COLUMN more INT DEFAULT 5",
              "ALTER TABLE t MODIFY v BIGINT")  # fmt: skip
    assert story.undo()[-1] == "committed"
    assert story.run("SELECT v, more FROM t WHERE id = 1") == [(1, 5)]


@pytest.mark.parametrize("image", ["FULL", "MINIMAL"])
def test_force_refuses_rows_that_have_another_key_since(
    server: Server, image: str, tmp_path: Path
) -> None:
    """By the key of then nothing, or another row, would be found."""
    story = Story(server, tmp_path, "moved")
    story.run(f"SET binlog_row_image = {image}", "CREATE TABLE r (id INT PRIMARY KEY, v INT)")
    story.mark()
    story.run("INSERT INTO r VALUES (1, 1), (2, 2)", "UPDATE r SET v = 9 WHERE id = 1")
    stop = int(story.run(f"SHOW BINLOG EVENTS IN '{story.name}'")[-1][4])
    story.run("UPDATE r SET id = 3 WHERE id = 1", "UPDATE r SET v = 8 WHERE id = 2")
    plans = story.log().undo(start_position=story.pos, stop_position=stop, mode="force")
    assert [(plan["kind"], plan["where"][0]["value"], bool(plan["refused"]))
            for plan in plans if plan["where"]] == [("delete", 2, False)]  # fmt: skip
    assert [bool(plan["refused"]) for plan in plans] == [True, False, True]
    assert str(carried_out(story, plans)[-1]).startswith("committed 1 statement")
    assert story.run("SELECT id, v FROM r") == [(3, 9)]


@pytest.mark.parametrize("later", ["INSERT INTO r VALUES (1, 7)", "UPDATE r SET k = 3"])
@pytest.mark.gate(1)
def test_force_refuses_rows_whose_key_has_another_name_and_is_taken_or_changed(
    server: Server, later: str, tmp_path: Path
) -> None:
    story = Story(server, tmp_path, "renamed")
    story.run("CREATE TABLE r (id INT PRIMARY KEY, v INT)", "INSERT INTO r VALUES (1, 1)")
    story.mark()
    story.run("UPDATE r SET id = 2")
    stop = int(story.run(f"SHOW BINLOG EVENTS IN '{story.name}'")[-1][4])
    story.run("ALTER TABLE r CHANGE id k INT", "UPDATE r SET v = 5")
    given: dict[str, Any] = {"start_position": story.pos, "stop_position": stop, "mode": "force"}
    assert [plan["refused"] for plan in story.log().undo(**given)] == [None]
    story.run(later)
    (plan,) = story.log().undo(**given)
    assert str(plan["refused"]).startswith("a later change depends on it (same row)")


PARENT = "CREATE TABLE p (id INT PRIMARY KEY)"
CHILD = (
    "CREATE TABLE c (id INT PRIMARY KEY, p INT, CONSTRAINT f FOREIGN KEY (p) REFERENCES p (id) "
    "ON DELETE CASCADE ON UPDATE CASCADE)"
)
#: What happens to rows that followed their parent's key, and why they cannot follow it back.
GONE: dict[str, tuple[tuple[str, ...], str]] = {
    "emptied": (("TRUNCATE c",), "the table was emptied later"),
    "emptied under another name": (
        ("RENAME TABLE c TO swap, other TO c, swap TO other", "TRUNCATE other"),
        "the table was emptied later",
    ),
    "made again": (("DROP TABLE c", CHILD), "the table was dropped later"),
    "emptied by a text": (
        ("SET binlog_format = STATEMENT", "DELETE FROM c", "SET binlog_format = ROW"),
        "the table was emptied later",
    ),
}


@pytest.mark.parametrize("what", GONE)
@pytest.mark.gate(1)
def test_rows_that_followed_and_are_gone(server: Server, what: str, tmp_path: Path) -> None:
    """Scripts counted them, found fewer, and rolled back without a reason."""
    later, reason = GONE[what]
    story = Story(server, tmp_path, "gone")
    story.run(PARENT, CHILD, "CREATE TABLE other (id INT)")
    story.run("INSERT INTO p VALUES (4), (5)", "INSERT INTO c VALUES (6, 4)")
    story.mark()
    story.run("UPDATE p SET id = 1 WHERE id = 4")
    stop = int(story.run(f"SHOW BINLOG EVENTS IN '{story.name}'")[-1][4])
    story.run(*later)
    for mode in ("refuse", "skip", "cascade", "merge"):
        plans = story.log().undo(start_position=story.pos, stop_position=stop, mode=mode)
        assert any(reason in str(plan["refused"]) for plan in plans), mode
        # From 9.6 on what followed has an event of its own, and is refused alone.
        assert server.version.startswith("9.") or all(plan["refused"] for plan in plans), mode
    assert "refused" in story.undo(stop_position=stop)[-1]
    if not server.version.startswith("9."):
        assert story.run("SELECT id FROM p ORDER BY id") == [(1,), (5,)]


def test_orphans_that_a_parent_took_in(server: Server, tmp_path: Path) -> None:
    """Rows that foreign_key_checks=0 let in before do not go with their parent's row."""
    story = Story(server, tmp_path, "orphans")
    story.run(
        PARENT, CHILD, "SET foreign_key_checks = 0", "INSERT INTO c VALUES (6, 4)",
        "SET foreign_key_checks = 1",
    )  # fmt: skip
    story.mark()
    story.run("INSERT INTO p VALUES (4), (5)")
    assert story.undo()[-1] == (
        "rolled back: foreign keys would refer to rows that are not there"
        if server.version.startswith("9.")
        else "committed"
    )
    assert story.run("SELECT * FROM c") == [(6, 4)]


#: What is undone, what came later, and in which modes that is refused: the value of an expression
#: may be taken.
EXPRESSIONS: dict[str, tuple[str, str, tuple[str, ...]]] = {
    "a row in its place": (
        "DELETE FROM x WHERE id = 1", "INSERT INTO x VALUES (9, 'a', 1)", ("refuse", "force"),
    ),
    "another row": (
        "UPDATE x SET v = 'd' WHERE id = 1", "UPDATE x SET v = 'a' WHERE id = 2",
        ("refuse", "force"),
    ),
    "the row itself": (
        "UPDATE x SET v = 'd' WHERE id = 1", "UPDATE x SET v = 'e' WHERE id = 1", ("refuse",),
    ),
    "another column": ("UPDATE x SET v = 'd' WHERE id = 1", "UPDATE x SET w = 5 WHERE id = 2", ()),
}  # fmt: skip


@pytest.mark.parametrize("what", EXPRESSIONS)
@pytest.mark.gate(1)
def test_unique_keys_over_expressions(server: Server, what: str, tmp_path: Path) -> None:
    """Scripts ended with the server's error 1062."""
    done, later, refused = EXPRESSIONS[what]
    story = Story(server, tmp_path, "texts")
    made = "CREATE TABLE x (id INT PRIMARY KEY, v VARCHAR(9), w INT, UNIQUE KEY i ((LOWER(V))))"
    if server.version.startswith("5.7"):  # before 8.0.13
        with pytest.raises(pymysql.err.ProgrammingError, match="1064"):
            story.run(made)
        return
    story.run(made, "INSERT INTO x VALUES (1, 'A', 1), (2, 'B', 2), (3, 'C', 3)")
    story.mark()
    story.run(done)
    stop = int(story.run(f"SHOW BINLOG EVENTS IN '{story.name}'")[-1][4])
    story.run(later)
    for mode in ("refuse", "force"):
        (plan,) = story.log().undo(start_position=story.pos, stop_position=stop, mode=mode)
        told = str(plan["refused"]).startswith("a later change depends on it (")
        assert told == (mode in refused), mode
    verdict = story.undo(stop_position=stop, mode="force")[-1]
    if "force" not in refused:
        assert verdict == "committed"
        assert story.run("SELECT v FROM x WHERE id = 1") == [("A",)]
        return
    assert verdict.startswith("nothing to commit")
    assert story.undo()[-1] == "committed"
    assert story.run("SELECT * FROM x ORDER BY id") == [(1, "A", 1), (2, "B", 2), (3, "C", 3)]


#: What foreign keys did later to a row that is to be overwritten, without logging it, and whether
#: its change can still be undone by its key.
BELOW: dict[str, tuple[tuple[str, ...], bool]] = {
    "deleted": (("DELETE FROM s WHERE id = 1",), False),
    "deleted by way of another row": (("DELETE FROM s WHERE id = 2",), False),
    "another row deleted": (
        ("UPDATE s SET v = 8 WHERE id = 4", "DELETE FROM s WHERE id = 5"), True,
    ),
    "a row above updated": (
        ("UPDATE s SET v = 8 WHERE id = 4", "UPDATE s SET v = 7 WHERE id = 1"), True,
    ),
}  # fmt: skip


@pytest.mark.parametrize("what", BELOW)
@pytest.mark.gate(1)
def test_force_refuses_rows_that_foreign_keys_took(
    server: Server, what: str, tmp_path: Path
) -> None:
    """Scripts rolled back without a reason."""
    later, there = BELOW[what]
    story = Story(server, tmp_path, "below")
    story.run(
        "CREATE TABLE s (id INT PRIMARY KEY, up INT, v INT, FOREIGN KEY (up) REFERENCES s (id) "
        "ON DELETE CASCADE)",
        "INSERT INTO s VALUES (1, NULL, 1), (2, 1, 2), (3, 2, 3), (4, 3, 4), (5, 1, 5)",
    )
    story.mark()
    story.run("UPDATE s SET v = 9 WHERE id = 4")
    stop = int(story.run(f"SHOW BINLOG EVENTS IN '{story.name}'")[-1][4])
    story.run(*later)
    (plan,) = story.log().undo(start_position=story.pos, stop_position=stop, mode="force")
    reason = str(plan["refused"])
    assert (reason == "None") == there
    assert there or reason.startswith("a later change depends on it ("), reason
    if there:
        assert story.undo(stop_position=stop, mode="force")[-1] == "committed"
        assert story.run("SELECT v FROM s WHERE id = 4") == [(4,)]


@pytest.mark.parametrize("alter", ["CHANGE v n INT", "ADD n INT DEFAULT 5", "ADD n INT FIRST"])
def test_a_row_without_key_that_changed_behind_an_alter(
    server: Server, alter: str, tmp_path: Path
) -> None:
    """Its columns are others then: scripts looked for a row that was gone, and said no reason."""
    story = Story(server, tmp_path, "keyless")
    story.run("CREATE TABLE t (v INT, w INT)")
    story.mark()
    story.run("INSERT INTO t VALUES (1, 1), (2, 2)")
    stop = int(story.run(f"SHOW BINLOG EVENTS IN '{story.name}'")[-1][4])
    story.run(f"ALTER TABLE t {alter}", "UPDATE t SET w = 9 WHERE w = 1")
    plans = list(story.log().undo(start_position=story.pos, stop_position=stop))
    blocked = [str(plan["refused"]).startswith("a later change depends on it") for plan in plans]
    assert blocked == [not alter.startswith("CHANGE"), True]  # a new name is known, a value is not
    assert story.undo(stop_position=stop, mode="cascade")[-1] == "committed"
    assert story.run("SELECT * FROM t") == []


#: What is undone, and what a later text does to it: to the row itself, or by a foreign key.
BY_TEXT: dict[str, tuple[str, str]] = {
    "emptied": ("INSERT INTO p VALUES (7)", "the table was emptied later"),
    "by a foreign key": (
        "INSERT INTO c VALUES (7, 4)", "a later statement that is logged as text may",
    ),
}  # fmt: skip


@pytest.mark.parametrize("what", BY_TEXT)
def test_texts_that_delete_more_than_they_name(server: Server, what: str, tmp_path: Path) -> None:
    """No server logs what foreign keys do with a text's rows."""
    done, reason = BY_TEXT[what]
    story = Story(server, tmp_path, "texts")
    story.run(PARENT, CHILD, "INSERT INTO p VALUES (4), (5)")
    story.mark()
    story.run(done)
    stop = int(story.run(f"SHOW BINLOG EVENTS IN '{story.name}'")[-1][4])
    story.run("SET binlog_format = STATEMENT", "DELETE FROM p", "SET binlog_format = ROW")
    assert story.run("SELECT * FROM c") == []
    for mode in ("refuse", "skip", "cascade", "merge", "force")[: 5 if what == "emptied" else 4]:
        (plan,) = story.log().undo(start_position=story.pos, stop_position=stop, mode=mode)
        assert str(plan["refused"]).startswith(reason), mode


@pytest.mark.parametrize(("emptied", "count"), [("TRUNCATE t", 2), ("DELETE FROM t", 1)])
@pytest.mark.parametrize("image", ["FULL", "MINIMAL"])
@pytest.mark.gate(2)
def test_rows_that_others_took_the_place_of(
    server: Server, emptied: str, count: int, image: str, tmp_path: Path
) -> None:
    """Scripts that give an emptied table its rows back ended with the server's error 1062."""
    story = Story(server, tmp_path, "emptied")
    story.run(f"SET binlog_row_image = {image}", "CREATE TABLE t (id INT PRIMARY KEY, v INT)",
              "INSERT INTO t VALUES (1, 1), (2, 2)")  # fmt: skip
    story.mark()
    story.run(emptied)
    stop = int(story.run(f"SHOW BINLOG EVENTS IN '{story.name}'")[-1][4])
    story.run("INSERT INTO t VALUES (1, 7)")
    for mode in ("refuse", "force", "merge"):
        plans = story.log().undo(start_position=story.pos, stop_position=stop, mode=mode)
        reasons = [str(plan["refused"])[:42] for plan in plans if plan["refused"]]
        # A TRUNCATE is one change, whatever it took.
        assert reasons == ["a later change depends on it (unique key):"] * count, mode
        assert plans.conflicts().num_rows == 1, mode
    verdict = story.undo(stop_position=stop, mode="skip")[-1]
    if count == 1:
        assert verdict == "committed 1 statement; 1 change was skipped"
        assert story.run("SELECT * FROM t ORDER BY id") == [(1, 7), (2, 2)]
    else:
        assert verdict == "nothing to commit: 2 changes were skipped"


def test_rows_that_lost_a_reference_which_is_not_known(server: Server, tmp_path: Path) -> None:
    """Only the server's collation says that a row refers to the parent's: its reference did not
    come back, and the script committed."""
    story = Story(server, tmp_path, "unset")
    story.run(
        "CREATE TABLE p (id VARCHAR(8) PRIMARY KEY, v INT) CHARSET latin1",
        "CREATE TABLE c (id INT PRIMARY KEY, up VARCHAR(8), FOREIGN KEY (up) REFERENCES p (id) "
        "ON UPDATE SET NULL) CHARSET latin1",
        "INSERT INTO p VALUES ('e', 1)", "INSERT INTO c VALUES (1, 'é')",
    )  # fmt: skip
    story.mark()
    story.run("UPDATE p SET v = 2", "UPDATE p SET id = 'b', v = 3")
    verdict = story.undo()[-1]
    if server.version.startswith("9."):  # its log has the row of c
        assert verdict == "committed" and story.run("SELECT up FROM c") == [("é",)]
        return
    plans = list(story.log().undo(start_position=story.pos))
    why = "unknown rows of unset.c lost their reference with it"
    assert plans[0]["refused"] == why and "a later change" in plans[1]["refused"]
    assert verdict.startswith("nothing to commit") and story.run("SELECT id FROM p") == [("b",)]
