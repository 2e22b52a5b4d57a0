"""Rows that are changed outside the log, on real servers: every cause is found where its row is
touched again, and a state is not determined since the last change that fits."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import binlogkit as bk
from binlogkit.spark.landing import Landing
from binlogkit_fixtures.servers import Server
from tests.servers import each_server
from tests.spark.landing.landings import land

pytestmark = pytest.mark.server

TABLE = "CREATE TABLE u.t (id INT PRIMARY KEY, n INT, b TEXT, j JSON, f FLOAT, d DATETIME(6))"
ROW = "INSERT INTO u.t VALUES (1, 5, 'b', '{{\"k\": [1, 2]}}', 1.5, '2024-02-29 12:00:00')"
UNLOGGED = "SET sql_log_bin = 0; {}; SET sql_log_bin = 1"

#: By name: the statements after TABLE and ROW, whether the log shows it by an image, and the
#: columns that differ, None where the row itself came or went.
STORIES: dict[str, tuple[str, str, set[str] | None]] = {
    "a number": (UNLOGGED.format("UPDATE u.t SET n = 500"), "UPDATE u.t SET d = NOW()", {"n"}),
    "a number becomes NULL": (UNLOGGED.format("UPDATE u.t SET n = NULL"), "DELETE FROM u.t", {"n"}),
    "a text": (UNLOGGED.format("UPDATE u.t SET b = 'B'"), "UPDATE u.t SET n = 1", {"b"}),
    "a document": (
        UNLOGGED.format("UPDATE u.t SET j = JSON_SET(j, '$.k[0]', 7)"),
        "UPDATE u.t SET n = 1",
        {"j"},
    ),
    "several": (
        UNLOGGED.format("UPDATE u.t SET f = -1.5, d = '2000-01-01', b = NULL"),
        "UPDATE u.t SET n = 1",
        {"f", "d", "b"},
    ),
    "a key that goes": (
        UNLOGGED.format("UPDATE u.t SET id = 2"),
        "INSERT INTO u.t (id) VALUES (1)",
        None,
    ),
    "a key that comes": (UNLOGGED.format("UPDATE u.t SET id = 2"), "UPDATE u.t SET n = 3", None),
    "a delete": (UNLOGGED.format("DELETE FROM u.t"), ROW.format(), None),
    "an insert": (
        UNLOGGED.format("INSERT INTO u.t (id) VALUES (9)"),
        "DELETE FROM u.t WHERE id = 9",
        None,
    ),
    "an insert after a delete": (
        "DELETE FROM u.t; " + UNLOGGED.format(ROW.format()),
        "UPDATE u.t SET n = 6",
        None,
    ),
    "truncated": (UNLOGGED.format("TRUNCATE u.t"), ROW.format(), None),
    "after a rename": (
        UNLOGGED.format("UPDATE u.t SET n = 7")
        + "; RENAME TABLE u.t TO u.old, u.old TO u.t; ALTER TABLE u.t COMMENT 'x'",
        "UPDATE u.t SET f = 2",
        {"n"},
    ),
}


server = each_server()


def play(server: Server, *statements: str, image: str = "FULL") -> None:
    """Carry out statements, several in one divided by ``;``, in one session."""
    with server.connect(autocommit=True) as connection, connection.cursor() as cursor:
        cursor.execute(f"SET binlog_format = ROW, binlog_row_image = {image}")
        for statement in "; ".join(statements).split("; "):
            cursor.execute(statement)


def begun(server: Server) -> str:
    """The name of a new log."""
    play(server, "DROP DATABASE IF EXISTS u", "FLUSH BINARY LOGS", "CREATE DATABASE u")
    return str(server.binlog_names()[-1])


def unlogged(found: bk.Verification) -> list[Any]:
    """The findings of rows that were changed outside the log."""
    return [f for f in found.findings if f.code == "unlogged_change"]


@pytest.mark.parametrize("name", STORIES)
@pytest.mark.sampled(17, 17)
@pytest.mark.gate(3)
def test_a_change_outside_the_log(server: Server, name: str, tmp_path: Path) -> None:
    """Found with row and values; the state is what SELECT shows, and is not determined."""
    before, shows, columns = STORIES[name]
    file = begun(server)
    play(server, TABLE, ROW.format(), before)
    fits = server.copy_binlog(file, tmp_path / "before")
    play(server, shows)
    held = server.query("SELECT id, n, b FROM u.t ORDER BY id")
    log = bk.open(str(server.copy_binlog(file, tmp_path)))

    assert not unlogged(bk.open(str(fits)).verify(images=True)), "nothing shows it yet"
    assert bk.open(str(fits)).state("u.t").determined
    (found,) = unlogged(log.verify(images=True))
    assert found.tables == {"u.t"} and found.place.pos is not None
    for column in columns or ():
        assert f"{column}=" in found.found
    if columns is None:
        assert " as " not in found.found
    state = log.state("u.t")
    assert not state.determined
    assert "unlogged" in state.findings.column("finding").to_pylist()
    if columns is not None:  # the image after a change has the whole row
        frame = state.frame()[["id", "n", "b"]]
        rows = frame.astype(object).where(frame.notna(), None).values.tolist()
        assert rows == list(map(list, held))


#: Partial images, then a change outside the log, then whole images; the column that it changed.
PARTIAL = {
    "another column": ("MINIMAL", "UPDATE u.t SET f = 2", "UPDATE u.t SET n = 500", "n=5 "),
    "the same column": ("MINIMAL", "UPDATE u.t SET n = 6", "UPDATE u.t SET n = 500", "n=6 "),
    "a text": ("MINIMAL", "UPDATE u.t SET n = 6", "UPDATE u.t SET b = 'B'", "b=b "),
    "a text, NOBLOB": ("NOBLOB", "UPDATE u.t SET n = 6", "UPDATE u.t SET b = 'B'", "b=b "),
    "before": ("MINIMAL", UNLOGGED.format("UPDATE u.t SET n = 500") + "; UPDATE u.t SET f = 2",
               "DO 0", "n=5 "),
    "nothing": ("MINIMAL", "UPDATE u.t SET n = 6; UPDATE u.t SET b = 'B'", "DO 0", ""),
    "under a new key": ("MINIMAL", "UPDATE u.t SET id = 9", "DO 0", ""),
}  # fmt: skip


@pytest.mark.parametrize("name", PARTIAL)
@pytest.mark.sampled(7, 7)
def test_whole_images_after_partial_ones(server: Server, name: str, tmp_path: Path) -> None:
    """A whole image shows all columns: each is compared with what the log last said of it."""
    image, partly, hidden, left = PARTIAL[name]
    file = begun(server)
    play(server, TABLE, ROW.format())
    play(server, partly, UNLOGGED.format(hidden), image=image)
    play(server, "UPDATE u.t SET d = '2024-03-01'")
    log = server.copy_binlog(file, tmp_path)
    land(log, tmp_path / "lake")
    for verified in (bk.open(log).verify(images=True), Landing(tmp_path / "lake").unlogged()):
        found = unlogged(verified)
        assert len(found) == bool(left) and all(f"left as {left}" in one.found for one in found)
        (table,) = verified.images
        assert table.count == len(found) and table.compared >= (name != "under a new key")
    assert bk.open(log).state("u.t").determined != bool(left)


@pytest.mark.parametrize("image", ["MINIMAL", "NOBLOB"])
@pytest.mark.gate(3)
def test_images_that_lack_columns(server: Server, image: str, tmp_path: Path) -> None:
    """Keys tell rows that come and go; what both images have is compared; all else fits."""
    file = begun(server)
    play(
        server, TABLE, ROW.format(), ROW.format().replace("(1,", "(2,"),
        "UPDATE u.t SET n = n + 1", "UPDATE u.t SET b = 'c'", "UPDATE u.t SET j = '[]', n = NULL",
        "UPDATE u.t SET id = id + 10", "DELETE FROM u.t WHERE id = 11",
        image=image,
    )  # fmt: skip
    log = bk.open(str(server.copy_binlog(file, tmp_path)))
    found = log.verify(images=True)
    assert not unlogged(found)
    play(server, UNLOGGED.format("DELETE FROM u.t"), "INSERT INTO u.t (id) VALUES (12)")
    log = bk.open(str(server.copy_binlog(file, tmp_path)))
    (found_one,) = unlogged(log.verify(images=True))
    assert "id=12" in found_one.found


#: As STORIES, of a table without a key; whether it is shown.
KEYLESS: dict[str, tuple[str, str, bool]] = {
    "a delete": (
        UNLOGGED.format("INSERT INTO u.t VALUES (9)"),
        "DELETE FROM u.t WHERE n = 9",
        True,
    ),
    "one equal more": (
        UNLOGGED.format("INSERT INTO u.t VALUES (2)"),
        "DELETE FROM u.t WHERE n = 2",
        True,
    ),
    "an update": (UNLOGGED.format("UPDATE u.t SET n = 4"), "UPDATE u.t SET n = 5 LIMIT 1", True),
    "to a row that is there": (
        UNLOGGED.format("UPDATE u.t SET n = 2 WHERE n = 1"),
        "UPDATE u.t SET n = 5 WHERE n = 2",
        True,
    ),
    "a row that nobody touches again": (
        UNLOGGED.format("DELETE FROM u.t WHERE n = 1"),
        "DELETE FROM u.t",
        False,
    ),
    "nothing": ("DELETE FROM u.t LIMIT 1", "UPDATE u.t SET n = n + 1; DELETE FROM u.t", False),
    "made by ALTER": (
        UNLOGGED.format("INSERT INTO u.t VALUES (9)") + "; ALTER TABLE u.t ADD m INT DEFAULT 3",
        "DELETE FROM u.t WHERE n = 9",
        False,
    ),
    "truncated": (
        UNLOGGED.format("INSERT INTO u.t VALUES (8)")
        + "; TRUNCATE u.t; INSERT INTO u.t VALUES (8)",
        "DELETE FROM u.t",
        False,
    ),
}


@pytest.mark.parametrize("image", ["FULL", "MINIMAL", "NOBLOB"])
@pytest.mark.parametrize("name", KEYLESS)
@pytest.mark.sampled(31, 31)
def test_a_table_without_a_key(server: Server, name: str, image: str, tmp_path: Path) -> None:
    """How many equal rows there are is counted, so that one too many shows."""
    before, shows, shown = KEYLESS[name]
    file = begun(server)
    play(
        server,
        "CREATE TABLE u.t (n INT)",
        "INSERT INTO u.t VALUES (1), (2), (2), (3)",
        before,
        shows,
        image=image,
    )
    log = bk.open(str(server.copy_binlog(file, tmp_path)))
    found = log.verify(images=True)
    told = unlogged(found)
    assert bool(told) == shown
    assert all(f.tables == {"u.t"} and "n=" in f.found for f in told)
    state = log.state("u.t")
    assert not (shown and state.determined)
    if not shown and name != "a row that nobody touches again" and "ALTER" not in name:
        assert state.determined
        assert sorted(state.frame()["n"]) == [
            n for (n,) in server.query("SELECT n FROM u.t ORDER BY 1")
        ]


@pytest.mark.parametrize("kind", ["VARBINARY(200)", "VARBINARY(300)", "BLOB"])
def test_keys_that_are_alike(server: Server, kind: str, tmp_path: Path) -> None:
    """All values of up to two bytes are told from each other, however their length is stored."""
    file = begun(server)
    values = [""] + [n.to_bytes(size, "little").hex() for size in (1, 2) for n in range(256**size)]
    whole = "v" if kind != "BLOB" else "v(2)"
    play(server, f"CREATE TABLE u.t (v {kind} NOT NULL, PRIMARY KEY ({whole}))")
    for start in range(0, len(values), 20_000):
        rows = ", ".join(f"(x'{value}')" for value in values[start : start + 20_000])
        play(server, f"INSERT INTO u.t VALUES {rows}")
    play(server, "DELETE FROM u.t")
    found = bk.open(str(server.copy_binlog(file, tmp_path))).verify(images=True)
    assert not unlogged(found)
    (table,) = found.images
    assert (table.changes, table.compared) == (2 * len(values), len(values))


@pytest.mark.parametrize("later", ["", "; RENAME TABLE u.p TO u.q"], ids=["", "renamed later"])
def test_a_cascade(server: Server, later: str, tmp_path: Path) -> None:
    """Up to 9.5 InnoDB carries it out below the log; from 9.6 on it is logged."""
    file = begun(server)
    play(
        server,
        "CREATE TABLE u.p (id INT PRIMARY KEY)",
        "CREATE TABLE u.c (id INT PRIMARY KEY, p INT, s INT,"
        " FOREIGN KEY (p) REFERENCES u.p (id) ON DELETE SET NULL,"
        " FOREIGN KEY (s) REFERENCES u.p (id) ON DELETE CASCADE)",
        "INSERT INTO u.p VALUES (1), (2)",
        "INSERT INTO u.c VALUES (1, 1, NULL), (2, NULL, 2)",
        f"DELETE FROM u.p{later}",
        "UPDATE u.c SET s = NULL, p = NULL, id = 10 WHERE id = 1",
        "INSERT INTO u.c VALUES (2, NULL, NULL)",
    )
    found = unlogged(bk.open(str(server.copy_binlog(file, tmp_path))).verify(images=True))
    logged = server.query("SELECT VERSION()")[0][0].startswith("9")
    assert len(found) == (0 if logged else 2)
    assert all("a foreign key's cascade may" in f.found and f.grade == "note" for f in found)


CHILD = "INSERT INTO {} VALUES (1, 2, 9)"
DELETED = "DELETE FROM {} WHERE id = 1"
#: Renames of a child u.c, of its parent u.p, and of both; u.d is another table like the child.
RENAMED = {
    "the child, then": ("RENAME TABLE u.c TO u.e", DELETED.format("u.p"), CHILD.format("u.e")),
    "the child, after": (DELETED.format("u.p"), "RENAME TABLE u.c TO u.e", CHILD.format("u.e")),
    "both": ("RENAME TABLE u.p TO u.q, u.c TO u.e", DELETED.format("u.q"), CHILD.format("u.e")),
    "by ALTER": ("ALTER TABLE u.c RENAME TO u.e", DELETED.format("u.p"), CHILD.format("u.e")),
    "a swap": ("RENAME TABLE u.c TO u.e, u.d TO u.c, u.e TO u.d", DELETED.format("u.p"),
               CHILD.format("u.d")),
    "a swap, after": (DELETED.format("u.p"), "DROP TABLE u.d",
                      "CREATE TABLE u.d (id INT PRIMARY KEY, p INT, v INT)",
                      "RENAME TABLE u.c TO u.e, u.d TO u.c, u.e TO u.d", CHILD.format("u.d")),
    "other databases": ("RENAME TABLE u.p TO u2.p, u.c TO u2.c", DELETED.format("u2.p"),
                        CHILD.format("u2.c")),
}  # fmt: skip
FAMILY = (
    "DROP DATABASE IF EXISTS u2", "CREATE DATABASE u2",
    "CREATE TABLE u.p (id INT PRIMARY KEY)",
    "CREATE TABLE u.c (id INT PRIMARY KEY, p INT, v INT,"
    " FOREIGN KEY (p) REFERENCES u.p (id) ON DELETE CASCADE)",
    "CREATE TABLE u.d (id INT PRIMARY KEY, p INT, v INT)",
    "INSERT INTO u.p VALUES (1), (2)", "INSERT INTO u.c VALUES (1, 1, 0), (2, 2, 0)",
    "INSERT INTO u.d VALUES (1, 1, 500), (2, 2, 500)",
)  # fmt: skip


@pytest.mark.parametrize("name", RENAMED)
@pytest.mark.sampled(7, 7)
def test_a_cascade_and_renames(server: Server, name: str, tmp_path: Path) -> None:
    """What a cascade may explain is a note, whatever the tables are called, and is none of a
    landing, which follows cascades."""
    file = begun(server)
    play(server, *FAMILY, *RENAMED[name])
    log = server.copy_binlog(file, tmp_path)
    found = unlogged(bk.open(log).verify(images=True))
    logged = server.query("SELECT VERSION()")[0][0].startswith("9")
    assert [one.grade for one in found] == ([] if logged else ["note"])
    land(log, tmp_path / "lake")
    assert not Landing(tmp_path / "lake").unlogged().findings


def test_values_of_a_table_that_was_swapped(server: Server, tmp_path: Path) -> None:
    """What it was left as is not what the other table was left as that had its name."""
    file = begun(server)
    hidden = UNLOGGED.format("UPDATE u.d SET v = 77 WHERE id = 2")
    play(server, *FAMILY, RENAMED["a swap"][0], hidden, "UPDATE u.d SET v = 5 WHERE id = 2")
    log = server.copy_binlog(file, tmp_path)
    land(log, tmp_path / "lake")
    for verified in (bk.open(log).verify(images=True), Landing(tmp_path / "lake").unlogged()):
        (found,) = unlogged(verified)
        assert found.grade == "warning" and "u.d id=2: left as v=0 by" in found.found


def test_a_merge_table(server: Server, tmp_path: Path) -> None:
    file = begun(server)
    play(
        server,
        "CREATE TABLE u.one (id INT PRIMARY KEY, n INT) ENGINE=MyISAM",
        "CREATE TABLE u.m (id INT PRIMARY KEY, n INT) ENGINE=MERGE UNION=(u.one)",
        "INSERT INTO u.one VALUES (1, 1)",
        "UPDATE u.m SET n = 2",
        "DELETE FROM u.one",
    )
    (found,) = unlogged(bk.open(str(server.copy_binlog(file, tmp_path))).verify(images=True))
    assert found.tables == {"u.one"} and "n=1" in found.found and "n=2" in found.found


def test_a_missing_file_explains_it(server: Server, tmp_path: Path) -> None:
    """What may have happened in it is no change outside of the log."""
    first = begun(server)
    play(server, TABLE, ROW.format(), "FLUSH BINARY LOGS", "UPDATE u.t SET n = 9")
    play(server, "FLUSH BINARY LOGS", "UPDATE u.t SET b = 'z'")
    files = [server.copy_binlog(name, tmp_path) for name in server.binlog_names()]
    at = [file.name for file in files].index(first)
    found = bk.open([str(files[at]), str(files[at + 2])]).verify(images=True)
    assert not unlogged(found)
    assert "file_missing" in [f.code for f in found.findings]
    assert not unlogged(bk.open(list(map(str, files[at:]))).verify(images=True))


#: What alters ``r (id INT PRIMARY KEY, a INT NOT NULL, b INT)`` outside the log, and whether all
#: table maps show it, or those with FULL metadata alone.
ALTERED = {
    "two names are exchanged": ("CHANGE a b INT, CHANGE b a INT", False),
    "a column moves": ("MODIFY b INT FIRST", False),
    "another name": ("CHANGE a x INT", False),
    "another key": ("DROP PRIMARY KEY, ADD PRIMARY KEY (a)", False),
    "another type": ("MODIFY a BIGINT", True),
    "another column": ("ADD c INT FIRST", True),
    "one column less": ("DROP a", True),
}


@pytest.mark.parametrize("name", ALTERED)
@pytest.mark.gate(4)
def test_a_table_that_was_altered_outside_the_log(
    server: Server, name: str, tmp_path: Path
) -> None:
    """Table maps that fit no DDL of the log show it; other tables are as certain as before."""
    how, always = ALTERED[name]
    full = not server.version.startswith("5.7")
    if full:
        server.query("SET GLOBAL binlog_row_metadata = FULL")
    file = begun(server)
    for table in ("u.r", "u.other"):
        play(server, f"CREATE TABLE {table} (id INT PRIMARY KEY, a INT NOT NULL, b INT)",
             f"INSERT INTO {table} VALUES (1, 1, 2), (2, 3, 4), (3, 5, 6)",
             f"ALTER TABLE {table} ADD z INT FIRST", f"ALTER TABLE {table} DROP z",
             f"TRUNCATE {table}",
             f"INSERT INTO {table} VALUES (1, 1, 2), (2, 3, 4), (3, 5, 6)")  # fmt: skip
    play(server, UNLOGGED.format(f"ALTER TABLE u.r {how}"), "UPDATE u.r SET b = 9 WHERE id = 2")
    play(server, "UPDATE u.other SET b = 9 WHERE id = 2")
    log = bk.open(str(server.copy_binlog(file, tmp_path)))
    shown = always or full
    if shown:
        (told,) = [found for found in unlogged(log.verify(images=True)) if "no DDL" in found.found]
        assert told.tables == {"u.r"}
        assert not log.state("u.r").determined
    assert log.state("u.other").determined
    if full or not always:  # else the key is not known
        assert log.life("u.r", 3).determined is not shown
    assert log.life("u.other", 2).determined
