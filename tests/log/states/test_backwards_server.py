"""States back from later rows, against what SELECT said at each mark: scripted and generated
histories, bases of every kind, logs without their beginning.

A third of ``BINLOGKIT_HISTORIES`` says how many generated ones of each kind; all of them run with
``BINLOGKIT_CAMPAIGNS=1``.
"""

from __future__ import annotations

import json
import random
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pymysql
import pytest

import binlogkit as bk
from binlogkit.cli import run as cli
from binlogkit.errors import UsageError
from binlogkit_fixtures.manifest import Table
from binlogkit_fixtures.servers import Server, ServerSpec
from binlogkit_fixtures.truth import read_tables
from tests.log.states.bases.test_bases_server import KEYLESS, LATER, ROWS, TYPES, dumped, position
from tests.log.states.test_cascades_server import HISTORIES, NAMES, begin, statement_of
from tests.servers import GTIDS, shared_server
from tests.truth.truth_checks import judge_state

pytestmark = pytest.mark.server


@pytest.fixture(scope="module", params=["5.7", "8.0", "9"])
def server(request: pytest.FixtureRequest) -> Iterator[Server]:
    """A server of each series; 5.7 without GTIDs."""
    options = {} if request.param == "5.7" else GTIDS
    with shared_server(ServerSpec(request.param, options)) as lent:
        yield lent


@pytest.fixture
def url(server: Server, monkeypatch: pytest.MonkeyPatch) -> str:
    """The server's, with its password in the environment."""
    monkeypatch.setenv("BINLOGKIT_PASSWORD", server.password)
    return f"mysql://{server.user}@{server.host}:{server.port}"


@dataclass(frozen=True, slots=True)
class Mark:
    """What SELECT said, and where in the log."""

    file: str
    pos: int
    tables: Mapping[str, Table]


class History:
    """Statements of one session, and marks between them."""

    def __init__(self, server: Server, image: str) -> None:
        self.server, self.marks = server, list[Mark]()
        self.connection = server.connect(autocommit=True)
        self.cursor = self.connection.cursor()
        self.run(f"SET sql_mode = '', time_zone = '+00:00', binlog_row_image = {image}")

    def run(self, *statements: str) -> None:
        for statement in statements:
            self.cursor.execute(statement)

    def mark(self) -> None:
        self.marks.append(Mark(*position(self.server), read_tables(self.connection, ["u"])))

    def logs(self, folder: Path) -> list[str]:
        """The logs since the first mark's: those before are purged."""
        first = self.marks[0].file
        self.run("FLUSH BINARY LOGS", f"PURGE BINARY LOGS TO '{first}'")
        return [str(self.server.copy_binlog(name, folder)) for name in self.server.binlog_names()]


Found = tuple["bk.TableState", list[str]]


def back(log: bk.Log, mark: Mark, base: Any, notes: Counter[str]) -> dict[str, Found]:
    """By table of a mark, its state back from the base, and what it says that SELECT did not."""
    found = {}
    states = log.states(list(mark.tables), at=(mark.file, mark.pos), back_from=base)
    for (name, table), state in zip(mark.tables.items(), states, strict=True):
        found[name] = state, list(judge_state(state, table, f"{mark.pos} {name}", notes))
    return found


def findings(state: bk.TableState) -> set[str]:
    """What makes a state undetermined."""
    return {f["finding"] for f in state.findings.to_pylist() if not f["determined"]}


STEPS: Sequence[Sequence[str]] = (
    LATER[:3],
    LATER[3:],
    ("UPDATE u.t SET v = 'a' WHERE id = 1", "INSERT INTO u.h VALUES (1, 'x', NULL)"),
    ("UPDATE u.h SET d = '2001-01-01' WHERE a = 3", "DELETE FROM u.h WHERE a = 2"),
    ("START TRANSACTION", "UPDATE u.t SET ti = 9", "SAVEPOINT s", "DELETE FROM u.t",
     "ROLLBACK TO s", "INSERT INTO u.h SELECT id, 'bulk', NULL FROM u.t", "COMMIT"),
    ("START TRANSACTION", "DELETE FROM u.t", "ROLLBACK"),
    ("XA START 'a'", "DELETE FROM u.t WHERE id = 1", "XA END 'a'", "XA PREPARE 'a'"),
    ("XA COMMIT 'a'", "UPDATE u.t SET id = id + 100"),
    ("INSERT INTO u.t (id, x, bl) VALUES (1, REPEAT('x', 3000), 'blob')",),
    ("UPDATE u.t SET bl = NULL, j = JSON_OBJECT('k', 1) WHERE id = 1",),
)  # fmt: skip


@pytest.mark.parametrize("image", ["FULL", "MINIMAL", "NOBLOB"])
@pytest.mark.sampled(5, 5)
def test_every_mark_from_every_base(server: Server, url: str, image: str, tmp_path: Path) -> None:
    """The logs' beginning was purged; what came after the base is in them too."""
    history = History(server, image)
    history.run("DROP DATABASE IF EXISTS u", "CREATE DATABASE u CHARSET utf8mb4", TYPES, ROWS,
                *KEYLESS, "FLUSH BINARY LOGS")  # fmt: skip
    history.mark()
    for i, step in enumerate(STEPS):
        history.run(*step)
        if i == 4:
            history.run("FLUSH BINARY LOGS")
        if not step[0].startswith("XA START"):
            history.mark()
    bk.snapshot(url, tmp_path / "taken", tables=["u.t", "u.h"])
    dump = tmp_path / "dump.sql"
    dump.write_bytes(dumped(server, "--databases", "u"))
    history.run("DELETE FROM u.t", "INSERT INTO u.h VALUES (1, 'late', NULL)")
    log = bk.open(history.logs(tmp_path))
    for i, base in enumerate((str(tmp_path / "taken"), str(dump), url)):
        for mark in history.marks if image == "FULL" else history.marks[i::3]:
            notes: Counter[str] = Counter()
            for name, (state, wrong) in back(log, mark, base, notes).items():
                assert wrong == []
                assert findings(state) == set(), (name, mark.pos)
                if image == "FULL" and base != str(dump):
                    assert state.determined, (name, mark.pos, state.unknown_cells)
            assert notes["rows determined"] == notes["rows"] > 0
    late = history.marks[-1].file, 1 << 40
    with pytest.raises(UsageError, match="later than the base"):
        log.state("u.t", at=late, back_from=str(dump))
    with pytest.raises(UsageError, match="give one"):
        log.state("u.t", back_from=url, base=url)


DDL: Sequence[tuple[str, ...]] = (
    ("INSERT INTO u.a VALUES (1, 'one', 1), (2, 'two', 2)", "INSERT INTO u.k VALUES (1, 'x')"),
    ("UPDATE u.a SET n = 7 WHERE id = 1", "ALTER TABLE u.a ADD m INT DEFAULT 5 AFTER id"),
    ("UPDATE u.a SET m = 6, s = 'zwei' WHERE id = 2", "INSERT INTO u.a VALUES (3, 4, 'three', 3)"),
    ("ALTER TABLE u.a CHANGE s label VARCHAR(20)", "DELETE FROM u.a WHERE id = 1"),
    ("UPDATE u.a SET label = 'drei' WHERE id = 3", "ALTER TABLE u.a ADD INDEX (n), ADD UNIQUE (m)"),
    ("RENAME TABLE u.a TO u.b", "UPDATE u.b SET n = n + 1"),
    ("ALTER TABLE u.k ADD i INT AUTO_INCREMENT PRIMARY KEY", "UPDATE u.k SET s = 'z' WHERE i = 1"),
    ("CREATE TABLE u.made (id INT PRIMARY KEY)", "INSERT INTO u.made VALUES (1), (2)"),
    ("DELETE FROM u.made WHERE id = 1", "INSERT INTO u.lost VALUES (2, 2)"),
    ("TRUNCATE u.lost", "INSERT INTO u.lost VALUES (3, 3)"),
    ("DROP TABLE u.dropped",),
    ("ALTER TABLE u.c MODIFY n TINYINT", "UPDATE u.c SET n = 1 WHERE id = 1"),
    ("ALTER TABLE u.less DROP b", "INSERT INTO u.less VALUES (9, 'c')"),
    ("CREATE TABLE u.again (id INT PRIMARY KEY)", "INSERT INTO u.again VALUES (1)"),
    ("DROP TABLE u.again", "CREATE TABLE u.again (x INT PRIMARY KEY)"),
    ("RENAME TABLE u.s1 TO u.tmp, u.s2 TO u.s1, u.tmp TO u.s2",),
    ("DELETE FROM u.s1", "INSERT INTO u.s2 VALUES (5)"),
    ("ALTER TABLE u.w CONVERT TO CHARACTER SET latin1", "INSERT INTO u.w VALUES (2, 'b')"),
    ("CREATE TABLE u.copy (id INT PRIMARY KEY)", "INSERT INTO u.copy SELECT * FROM u.copied"),
    ("DROP TABLE u.copied", "RENAME TABLE u.copy TO u.copied", "INSERT INTO u.copied VALUES (7)"),
)
DDL_TABLES = (
    "CREATE TABLE u.a (id INT PRIMARY KEY, s VARCHAR(9), n INT)",
    "CREATE TABLE u.k (a INT, s VARCHAR(9))",
    "CREATE TABLE u.lost (id INT PRIMARY KEY, v INT)",
    "CREATE TABLE u.dropped (id INT PRIMARY KEY)",
    "CREATE TABLE u.c (id INT PRIMARY KEY, n INT)",
    "CREATE TABLE u.less (id INT PRIMARY KEY, b VARCHAR(9), c VARCHAR(9))",
    "CREATE TABLE u.s1 (id INT PRIMARY KEY)", "CREATE TABLE u.s2 (id INT PRIMARY KEY)",
    "CREATE TABLE u.w (id INT PRIMARY KEY, s VARCHAR(9))",
    "CREATE TABLE u.copied (id INT PRIMARY KEY)", "INSERT INTO u.copied VALUES (1), (2)",
    "INSERT INTO u.k VALUES (7, 'y'), (7, 'y')", "INSERT INTO u.lost VALUES (1, 1)",
    "INSERT INTO u.dropped VALUES (1)", "INSERT INTO u.c VALUES (1, 1000), (2, 2)",
    "INSERT INTO u.less VALUES (1, 'b', 'c')", "INSERT INTO u.s1 VALUES (1), (2)",
    "INSERT INTO u.s2 VALUES (3)", "INSERT INTO u.w VALUES (1, 'ж')",
)  # fmt: skip
# By table the mark from which on nothing makes it uncertain; also where definitions are given.
CERTAIN = {"u.lost": 10, "u.dropped": 11, "u.c": 12, "u.again": 15, "u.w": 18, "u.copied": 20}
CERTAIN_ALONE = CERTAIN | {"u.a": 4, "u.less": 13}


@pytest.mark.parametrize(("image", "given"), [("FULL", True), ("MINIMAL", False)])
@pytest.mark.sampled(4, 4)
def test_what_happened_to_tables_on_the_way(
    server: Server, url: str, image: str, given: bool, tmp_path: Path
) -> None:
    """Names and columns of before; what nothing tells any more is not determined."""
    history = History(server, image)
    history.run("DROP DATABASE IF EXISTS u", "CREATE DATABASE u CHARSET utf8mb4", *DDL_TABLES,
                "FLUSH BINARY LOGS")  # fmt: skip
    history.mark()
    for step in DDL:
        history.run(*step)
        history.mark()
    bk.snapshot(url, tmp_path / "taken")
    schema, base = tmp_path / "schema.sql", str(tmp_path / "taken")
    made = (f"{s};\n" for s in DDL_TABLES if s.startswith("CREATE"))
    schema.write_text("CREATE DATABASE u CHARSET utf8mb4;\n" + "".join(made))
    log = bk.open(history.logs(tmp_path), schema=str(schema) if given else None)
    for i, mark in enumerate(history.marks):
        notes: Counter[str] = Counter()
        states = log.states(at=(mark.file, mark.pos), back_from=base)
        there = {".".join(state.table): state for state in states}
        assert there.keys() == mark.tables.keys(), i
        for name, state in there.items():
            wrong = list(judge_state(state, mark.tables[name], f"{mark.pos} {name}", notes))
            assert wrong == [], (i, name)
            certain = i >= (CERTAIN if given else CERTAIN_ALONE).get(name, 0)
            assert state.rows_determined == certain, (i, name, state.findings.to_pylist())
            assert certain or findings(state) & {"emptied", "stopped"}
            if certain and image == "FULL":
                assert state.determined or name == "u.less"
    (first, *_), last = history.marks, (history.marks[-1].file, history.marks[-1].pos)
    with pytest.raises(UsageError, match=r"u\.b was called u\.a at that point"):
        log.state("u.b", at=(first.file, first.pos), back_from=base)
    assert log.state("u.b", at=last, back_from=base).determined


#: ALTERs that leave every value as it reads, of a table u.t that the log makes.
KEEPING = (
    "ALTER COLUMN v SET DEFAULT 9", "MODIFY w VARCHAR(9) COLLATE utf8mb4_bin", "MODIFY v BIGINT",
    "CONVERT TO CHARACTER SET utf8mb4 COLLATE utf8mb4_bin", "MODIFY v INT COMMENT 'x'",
    "RENAME INDEX k TO l", "DROP INDEX k", "ADD INDEX z (v)", "ENGINE = InnoDB",
    "ADD x INT DEFAULT 4", "ALTER COLUMN v SET INVISIBLE", "ALTER COLUMN i SET VISIBLE",
)  # fmt: skip


def test_alters_that_keep_values(server: Server, url: str, tmp_path: Path) -> None:
    history = History(server, "FULL")
    hidden = server.version > "8.0.23"
    for number, alter in enumerate(KEEPING):
        if "VISIBLE" in alter and not hidden:
            continue
        history.marks.clear()
        history.run(
            "DROP DATABASE IF EXISTS u", "FLUSH BINARY LOGS", "CREATE DATABASE u CHARSET utf8mb4",
            "CREATE TABLE u.t (id INT PRIMARY KEY, v INT, w VARCHAR(9), i INT "
            f"{'INVISIBLE' if hidden else ''}, KEY k (w))", "CREATE TABLE u.other (id INT)",
            "INSERT INTO u.t (id, v, w, i) VALUES (1, 1, 'a', 1), (2, 2, 'B', 2)",
        )  # fmt: skip
        history.mark()
        history.run(
            "UPDATE u.t SET v = 5 WHERE id = 1", f"ALTER TABLE u.t {alter}",
            "DELETE FROM u.t WHERE id = 2", "INSERT INTO u.t (id, v, w, i) VALUES (3, 3, 'c', 3)",
        )  # fmt: skip
        bk.snapshot(url, tmp_path / f"taken{number}")
        log = bk.open(history.logs(tmp_path))
        found = back(log, history.marks[0], str(tmp_path / f"taken{number}"), Counter())
        state, wrong = found["u.t"]
        assert (wrong, state.determined) == ([], True), alter
        mark = history.marks[0]
        with pytest.raises(UsageError, match="no base has"):  # what was altered is not what is new
            log.state("u.t", at=(mark.file, mark.pos), back_from=log.state("u.other"))


@pytest.mark.parametrize("image", ["FULL", "MINIMAL"])
@pytest.mark.parametrize("seed", range(max(1, HISTORIES // 3)))
@pytest.mark.sampled(4, 4)
def test_histories_with_foreign_keys(
    server: Server, url: str, image: str, seed: int, tmp_path: Path
) -> None:
    """Up to 9.5 what a parent's change did to children is gone: they are not determined."""
    chance = random.Random(f"back {image}/{seed}")
    history = History(server, image)
    begin(history.cursor, image)
    done: Counter[str] = Counter()
    for i in range(60):
        if i % 10 == 0:
            history.mark()
        try:
            history.run(statement_of(chance))
        except pymysql.err.MySQLError:
            done["refused"] += 1
    bk.snapshot(url, tmp_path / "taken", tables=NAMES)
    logged = server.version.startswith("9")
    log = bk.open(history.logs(tmp_path))
    for mark in history.marks:
        for name, (state, wrong) in back(log, mark, str(tmp_path / "taken"), done).items():
            assert wrong == [], (mark.pos, name)
            if logged or name == "u.p":
                assert findings(state) == set(), (mark.pos, name)
            else:
                assert findings(state) <= {"cascades", "unlogged", "unseen", "duplicate",
                                           "contradicted"}, (mark.pos, name)  # fmt: skip
            done["certain"] += state.rows_determined
    assert done["certain"] >= len(history.marks)


def _change(chance: random.Random, columns: list[str], state: dict[str, int]) -> str:
    """A change of u.x, keyed, or u.y, without a key; now and then their columns change."""
    table, number = chance.choice("xy"), chance.randrange(15)
    column = chance.choice(columns)
    text = "'" + chance.choice(("a", "b", "bb" * chance.randrange(1, 200), "")) + "'"
    kind = chance.random()
    if kind < 0.35:
        return f"INSERT IGNORE INTO u.{table} (id, t) VALUES ({number}, {text}), ({number}, {text})"
    if kind < 0.6:
        return f"UPDATE u.{table} SET {column} = {number} WHERE id % 3 = {number % 3} LIMIT 3"
    if kind < 0.7:
        return f"UPDATE IGNORE u.{table} SET id = {number} WHERE id > {number} LIMIT 1"
    if kind < 0.78:
        return f"UPDATE u.{table} SET t = {text} WHERE id < {number}"
    if kind < 0.95:
        return f"DELETE FROM u.{table} WHERE id = {number} LIMIT 1"
    state["columns"] += 1
    return f"ALTER TABLE u.x ADD c{state['columns']} INT DEFAULT {number}"


@pytest.mark.parametrize("image", ["FULL", "MINIMAL", "NOBLOB"])
@pytest.mark.parametrize("seed", range(max(1, HISTORIES // 3)))
@pytest.mark.sampled(5, 5)
def test_generated_histories(
    server: Server, url: str, image: str, seed: int, tmp_path: Path
) -> None:
    """A keyed table and one without a key, generated columns, a trigger; columns are added."""
    chance = random.Random(f"back too {image}/{seed}")
    history = History(server, image)
    history.run(
        "DROP DATABASE IF EXISTS u", "CREATE DATABASE u CHARSET utf8mb4",
        "CREATE TABLE u.x (id INT PRIMARY KEY, t TEXT, n INT, m INT, "
        "twice INT AS (n * 2) VIRTUAL, sum INT AS (n + m) STORED, "
        "at TIMESTAMP(6) DEFAULT CURRENT_TIMESTAMP(6) ON UPDATE CURRENT_TIMESTAMP(6))",
        "CREATE TABLE u.y (id INT, t TEXT, n INT, m INT, twice INT AS (n * 2) VIRTUAL)",
        "CREATE TRIGGER u.tr BEFORE UPDATE ON u.x FOR EACH ROW SET NEW.m = OLD.m + 1",
        "FLUSH BINARY LOGS",
    )  # fmt: skip
    known = {"columns": 0}
    for i in range(60):
        if i % 6 == 0:
            history.mark()
        history.run(_change(chance, ["n", "m"], known))
    bk.snapshot(url, tmp_path / "taken", tables=["u.x", "u.y"])
    log = bk.open(history.logs(tmp_path))
    notes: Counter[str] = Counter()
    for mark in history.marks:
        for name, (state, wrong) in back(log, mark, str(tmp_path / "taken"), notes).items():
            assert wrong == [], (mark.pos, name)
            assert findings(state) == set(), (mark.pos, name)
            assert image != "FULL" or state.determined
    assert notes["rows determined"] == notes["rows"] > 0


def test_missing_logs_and_changes_that_nobody_logged(
    server: Server, url: str, tmp_path: Path
) -> None:
    """What may be missing counts between the point and the base alone."""
    history = History(server, "FULL")
    history.run("DROP DATABASE IF EXISTS u", "CREATE DATABASE u", "FLUSH BINARY LOGS",
                "CREATE TABLE u.q (id INT PRIMARY KEY, v INT)",
                "CREATE TABLE u.other (id INT PRIMARY KEY, v INT)")  # fmt: skip
    history.mark()
    for i in range(5):
        history.run(f"INSERT INTO u.q VALUES ({i}, 0)", f"INSERT INTO u.other VALUES ({i}, 0)",
                    "UPDATE u.q SET v = v + 1")  # fmt: skip
        history.mark()
        history.run("FLUSH BINARY LOGS")
    base = str(bk.snapshot(url, tmp_path / "taken", tables="u.q").folder)
    history.run("UPDATE u.q SET v = 9")
    history.run("FLUSH BINARY LOGS", "DELETE FROM u.q")
    paths = history.logs(tmp_path)

    def found(logs: Sequence[str], mark: Mark) -> bk.TableState:
        state = bk.open(list(logs)).state("u.q", at=(mark.file, mark.pos), back_from=base)
        assert (
            not state.determined
            or list(judge_state(state, mark.tables["u.q"], "", Counter())) == []
        )
        return state

    third = history.marks[3]
    assert found(paths, third).determined
    assert found(paths[2:], third).determined
    assert found([paths[0], *paths[2:]], third).determined  # a gap before the point
    assert found([*paths[:7]], third).determined
    assert found([*paths[:6], paths[7]], third).determined  # and one after the base
    for lacking in ([*paths[:3], *paths[4:]], paths[:4]):
        state = found(lacking, third)
        assert not state.determined and findings(state) & {"gap", "base_gap", "contradicted"}
    data = bytearray(Path(paths[3]).read_bytes())
    first = next(r for r in bk.open(paths[3]).row_records(table="u.q"))
    data[first["pos"] + 25] ^= 0xFF
    damaged = tmp_path / Path(paths[3]).name
    damaged.write_bytes(data)
    log = bk.open(paths, on_damage="report")
    fourth = history.marks[4]
    assert not log.state("u.q", at=(third.file, third.pos), back_from=base).determined
    assert log.state("u.q", at=(fourth.file, fourth.pos), back_from=base).determined
    with pytest.raises(UsageError, match="no base has"):
        log.state("u.other", at=(fourth.file, fourth.pos), back_from=base)


def test_a_row_that_was_changed_without_being_logged(
    server: Server, url: str, tmp_path: Path
) -> None:
    history = History(server, "FULL")
    history.run("DROP DATABASE IF EXISTS u", "CREATE DATABASE u", "FLUSH BINARY LOGS",
                "CREATE TABLE u.q (id INT PRIMARY KEY, v INT)")  # fmt: skip
    history.run("INSERT INTO u.q VALUES (1, 1), (2, 2)")
    history.mark()
    history.run("UPDATE u.q SET v = 5 WHERE id = 1")
    history.run("SET sql_log_bin = 0", "UPDATE u.q SET v = 6 WHERE id = 1", "SET sql_log_bin = 1")
    base = str(bk.snapshot(url, tmp_path / "taken").folder)
    log, mark = bk.open(history.logs(tmp_path)), history.marks[0]
    state = log.state("u.q", at=(mark.file, mark.pos), back_from=base)
    assert findings(state) == {"contradicted"}


@pytest.mark.gate(3)
def test_inserts_that_leave_out_columns(server: Server, url: str, tmp_path: Path) -> None:
    """Without a key, their image may mean several rows: constant defaults tell which."""
    history = History(server, "MINIMAL")
    history.run("DROP DATABASE IF EXISTS u", "CREATE DATABASE u", "FLUSH BINARY LOGS",
                "CREATE TABLE u.q (a INT, n INT)",
                "INSERT INTO u.q VALUES (1, 7), (1, NULL)")  # fmt: skip
    history.mark()
    history.run("INSERT INTO u.q (a) VALUES (1)")
    base = bk.snapshot(url, tmp_path / "taken").folder
    log, mark = bk.open(history.logs(tmp_path)), history.marks[0]
    state = log.state("u.q", at=(mark.file, mark.pos), back_from=str(base))
    assert list(judge_state(state, mark.tables["u.q"], "u.q", Counter())) == []
    assert state.determined


@pytest.mark.gate(3)
def test_xa_transactions_that_were_prepared_before_the_logs(
    server: Server, url: str, tmp_path: Path
) -> None:
    """Their rows are not here: what their COMMIT did cannot be taken back."""
    history = History(server, "FULL")
    history.run("DROP DATABASE IF EXISTS u", "CREATE DATABASE u",
                "CREATE TABLE u.q (id INT PRIMARY KEY)", "INSERT INTO u.q VALUES (1)",
                "XA START 'a'", "INSERT INTO u.q VALUES (2)", "XA END 'a'",
                "XA PREPARE 'a'")  # fmt: skip
    server.query("FLUSH BINARY LOGS")  # in another session
    at = position(server)
    history.run("XA COMMIT 'a'", "INSERT INTO u.q VALUES (3)")
    base = str(bk.snapshot(url, tmp_path / "taken").folder)
    names = server.binlog_names()
    paths = [str(server.copy_binlog(name, tmp_path)) for name in names[names.index(at[0]) - 1 :]]
    whole = bk.open(paths).state("u.q", at=at, back_from=base)
    assert whole.determined and [r["values"] for r in whole.records()] == [{"id": 1}]
    state = bk.open(paths[1:]).state("u.q", at=at, back_from=base)
    assert findings(state) == {"base_gap"}


def test_the_commands(
    server: Server, url: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """`state` and `diff`, and a state that is a base itself."""
    history = History(server, "FULL")
    history.run("DROP DATABASE IF EXISTS u", "CREATE DATABASE u",
                "CREATE TABLE u.q (id INT PRIMARY KEY, v INT)",
                "INSERT INTO u.q VALUES (1, 1), (2, 2)", "FLUSH BINARY LOGS")  # fmt: skip
    history.mark()
    history.run("UPDATE u.q SET v = 5 WHERE id = 1")
    history.mark()
    history.run("DELETE FROM u.q WHERE id = 2", "INSERT INTO u.q VALUES (3, 3)")
    history.mark()
    paths = history.logs(tmp_path)
    at = [f"{mark.file}:{mark.pos}" for mark in history.marks]
    path = tmp_path / "first.parquet"
    more = ["--table", "u.q", "--back-from", url]
    assert cli(["state", *paths, *more, "--at", at[0], "--format", "parquet", "--output",
                str(path)]) == 0  # fmt: skip
    forth = bk.open(paths).state("u.q", base=str(path))
    assert forth.determined
    assert list(judge_state(forth, history.marks[2].tables["u.q"], "", Counter())) == []
    capsys.readouterr()
    assert cli(["state", *paths, "--back-from", url, "--at", at[1], "--format", "jsonl"]) == 0
    assert capsys.readouterr().out.count('"u","table":"q"') == 2
    assert cli(["diff", *paths, *more, "--from", at[0], "--to", at[2], "--format", "jsonl"]) == 0
    told = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [(r["difference"], r["changed"]) for r in told] == [
        ("changed", ["v"]), ("removed", []), ("added", [])]  # fmt: skip
    history.run("UPDATE u.q SET v = 0")
    assert cli(["state", *paths, *more, "--at", at[0]]) == 1
    assert "the base is newer than these logs" in capsys.readouterr().err
