"""Snapshots of running servers, and states that begin with them, against SELECT."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import pytest

import binlogkit as bk
from binlogkit.cli import run as cli
from binlogkit.errors import ServerError, UsageError, WriteError
from binlogkit.frames.snapshots.server import ServerTables
from binlogkit.sources.connection import ServerSettings
from binlogkit.sources.server import consistent
from binlogkit_fixtures.servers import Server
from binlogkit_fixtures.truth import quote_name
from tests.livestate.shop import more_is_logged
from tests.log.states.bases.test_bases_server import LATER, begin, run, truth
from tests.servers import GTIDS, each_server
from tests.truth.truth_checks import judge_state
from tests.waiting import joined, until

pytestmark = pytest.mark.server

MORE = (
    "CREATE TABLE u.z (a INT(30) UNSIGNED ZEROFILL, b DECIMAL(20,5) ZEROFILL, f FLOAT, d DOUBLE, "
    "dm DOUBLE(10,3), c CHAR(9), `q``q` VARCHAR(9), bt BIT(64), e ENUM('a,b','','é') CHARSET "
    "latin1, PRIMARY KEY (c, a)) PARTITION BY KEY (a) PARTITIONS 3",
    "INSERT INTO u.z VALUES (7, 1.5, 3.4028234e38, -0.0, 0.001, 'x  ', ' `''\\\\', ~0, 'a,b'), "
    "(4294967295, 0, 1.17549435e-38, 5e-324, -9999999.999, '', '', 0, 'é'), "
    "(8, 2, 0.1, 0.30000000000000004, 1, 'y', NULL, 1, '')",
    "CREATE TABLE u.empty (a INT PRIMARY KEY)",
    "CREATE TABLE u.pa (id INT PRIMARY KEY, n INT) ENGINE=InnoDB",
    "CREATE TABLE u.ch (id INT PRIMARY KEY, p INT, FOREIGN KEY (p) REFERENCES u.pa (id) "
    "ON DELETE CASCADE ON UPDATE CASCADE) ENGINE=InnoDB",
    "INSERT INTO u.pa VALUES (1, 1), (2, 2), (3, 3)",
    "INSERT INTO u.ch VALUES (10, 1), (11, 1), (20, 2), (30, 3)",
)
MORE_LATER = (
    "UPDATE u.z SET f = 0.2, b = 9.5 WHERE a = 7",
    "UPDATE u.z SET c = 'yy' WHERE a = 8",
    "DELETE FROM u.pa WHERE id = 1",
    "UPDATE u.pa SET id = 5 WHERE id = 2",
    "INSERT INTO u.empty VALUES (1)",
)


server = each_server(options=GTIDS)


@pytest.fixture
def url(server: Server, monkeypatch: pytest.MonkeyPatch) -> str:
    """The server's, with its password in the environment."""
    monkeypatch.setenv("BINLOGKIT_PASSWORD", server.password)
    return f"mysql://{server.user}@{server.host}:{server.port}"


def settings(server: Server) -> ServerSettings:
    return ServerSettings(server.host, server.port, server.user, server.password)


def logs(server: Server, folder: Path, first: str) -> bk.Log:
    """The server's logs from one on."""
    names = server.binlog_names()
    paths = [server.copy_binlog(n, folder) for n in names[names.index(first) :]]
    return bk.open([str(path) for path in paths])


def judged(server: Server, states: Iterator[bk.TableState], notes: Counter[str]) -> list[str]:
    """What the states say, and the server does not."""
    found: list[str] = []
    for state in states:
        name = ".".join(state.table)
        found += judge_state(state, truth(server, name), name, notes)  # type: ignore[arg-type]
    return found


def rows(server: Server, tables: Sequence[str]) -> int:
    """How many the server has in these tables."""
    return sum(int(server.query(f"SELECT COUNT(*) FROM {table}")[0][0]) for table in tables)


def all_character_sets(server: Server) -> str:
    """A table with a text in every character set that the server has."""
    names = [name for name, *_ in server.query("SHOW CHARACTER SET") if name != "binary"]
    columns = ", ".join(f"{quote_name(n)} VARCHAR(20) CHARSET {n}" for n in names)
    run(server, (f"CREATE TABLE u.cs (id INT PRIMARY KEY, {columns})",))
    values = ", ".join(f"CONVERT('aé?日я' USING {n})" for n in names)
    run(server, (f"INSERT INTO u.cs VALUES (1, {values})",))
    return "u.cs"


@pytest.mark.sampled(4, 4)
@pytest.mark.parametrize("image", ["FULL", "MINIMAL"])
@pytest.mark.gate(3)
def test_every_type_and_what_came_after(
    server: Server, url: str, image: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """By the command's folder and by reading directly: no cell is unknown, no row another."""
    begin(server)
    run(server, MORE)
    all_character_sets(server)
    if server.version.startswith("9"):
        run(server, ("CREATE TABLE u.v (id INT PRIMARY KEY, v VECTOR(3))",
                     "INSERT INTO u.v VALUES (1, STRING_TO_VECTOR('[1,-2.5,3]'))"))  # fmt: skip
        with server.connect(autocommit=True) as connection, connection.cursor() as cursor:
            cursor.execute("SET sql_generate_invisible_primary_key = ON")
            cursor.execute("CREATE TABLE u.gi (a INT, h INT INVISIBLE)")
            cursor.execute("INSERT INTO u.gi VALUES (1), (2)")
    tables = [f"u.{name}" for (name,) in server.query("SHOW TABLES IN u")]
    folder, start = tmp_path / "base", server.binlog_names()[-1]
    options = [word for table in tables for word in ("--table", table)]
    assert cli(["snapshot", url, "--out", str(folder), *options]) == 0
    told = capsys.readouterr().err
    assert f"u.t: {5} rows" in told and f"position {start}:" in told and "GTIDs " in told
    assert folder.stat().st_mode & 0o777 == 0o700
    with pytest.raises(WriteError, match="there already"):
        bk.snapshot(url, folder)
    log = logs(server, tmp_path, start)
    for base in (str(folder), url):
        notes: Counter[str] = Counter()
        assert judged(server, log.states(tables, base=base), notes) == []
        assert notes["rows determined"] == rows(server, tables), notes
        assert notes["unknown cells"] == 0 and not any("determined=False" in n for n in notes)
    run(server, (*LATER, *MORE_LATER), image)
    log = logs(server, tmp_path, start)
    notes = Counter()
    assert judged(server, log.states(tables, base=str(folder)), notes) == []
    assert notes["rows determined"] == rows(server, tables), notes
    assert notes["unknown cells"] <= (0 if image == "FULL" else 7), notes
    alone = log.state("u.ch", base=str(folder))  # with its parent, which changed it below the log
    assert alone.determined and judged(server, iter([alone]), notes) == []


@contextmanager
def writing(server: Server, writers: int) -> Iterator[None]:
    """Sessions that write u.w without a pause."""
    stop, errors = threading.Event(), list[BaseException]()

    def write(number: int) -> None:
        try:
            with server.connect(autocommit=True) as connection, connection.cursor() as cursor:
                i = 0
                while not stop.is_set():
                    i += 1
                    cursor.execute("START TRANSACTION")
                    cursor.execute(f"INSERT INTO u.w VALUES ({number}, {i}, 0)")
                    cursor.execute(f"UPDATE u.w SET n = n + 1 WHERE w = {number} AND i < {i}")
                    cursor.execute(f"DELETE FROM u.w WHERE w = {number} AND i = {i - 5}")
                    cursor.execute("COMMIT" if i % 7 else "ROLLBACK")
        except BaseException as error:
            errors.append(error)
            raise

    threads = [threading.Thread(target=write, args=(n,)) for n in range(writers)]
    for thread in threads:
        thread.start()
    try:
        yield
    finally:
        stop.set()
        for thread in threads:
            thread.join()
    assert not errors


@pytest.mark.sampled(4, 4)
@pytest.mark.parametrize("lock", ["tables", "global"])
def test_while_writers_write(server: Server, url: str, lock: str, tmp_path: Path) -> None:
    """Transactions that are in the log and not yet committed by their engine, as a slow disk has
    them: here the server waits that long. Each snapshot, carried forward, is what SELECT says."""
    run(server, ("DROP DATABASE IF EXISTS u", "CREATE DATABASE u",
                 "CREATE TABLE u.w (w INT, i INT, n INT, PRIMARY KEY (w, i))"))  # fmt: skip
    start = server.binlog_names()[-1]
    run(server, ("SET GLOBAL binlog_group_commit_sync_delay = 100000",))
    taken = []
    try:
        with writing(server, 3):
            for i in range(4):
                more_is_logged(server)
                taken.append(bk.snapshot(url, tmp_path / str(i), tables="u.w", lock=lock))
    finally:
        run(server, ("SET GLOBAL binlog_group_commit_sync_delay = 0",))
    log = logs(server, tmp_path, start)
    assert len({one.pos for one in taken}) == len({str(one.gtids) for one in taken}) == 4
    for one in taken:
        for place in ({}, {"base_at": (one.file, one.pos)}):  # by its GTIDs, and by its position
            state = log.state("u.w", base=str(one.folder), **place)  # type: ignore[arg-type]
            assert judged(server, iter([state]), Counter()) == []
            assert state.determined, state.findings.to_pylist()


def test_tables_without_transactions(server: Server, url: str, tmp_path: Path) -> None:
    """They are refused by name, or their writers wait until they are read."""
    run(server, ("DROP DATABASE IF EXISTS u", "CREATE DATABASE u",
                 "CREATE TABLE u.i (a INT PRIMARY KEY) ENGINE=InnoDB",
                 "CREATE TABLE u.m (a INT PRIMARY KEY) ENGINE=MyISAM",
                 "INSERT INTO u.m VALUES (1), (2)"))  # fmt: skip
    for lock in ("tables", "global"):
        with pytest.raises(UsageError, match=r"u\.m: MyISAM has no transactions"):
            bk.snapshot(url, tmp_path / "no", tables=["u.i", "u.m"], lock=lock)
    assert not list(tmp_path.iterdir())
    start = server.binlog_names()[-1]
    done = threading.Event()

    def write() -> None:
        run(server, ("INSERT INTO u.m VALUES (3)",))  # in a session of its own
        done.set()

    with ServerTables(settings(server), lambda name: name[0] == "u", "held") as found:
        writer = threading.Thread(target=write)
        writer.start()
        waits = "information_schema.processlist WHERE state LIKE 'Waiting for table%'"
        until(lambda: server.query(f"SELECT 1 FROM {waits}"), "the writer waits")
        base = found.snapshot()
        assert not done.is_set()
    joined(writer)
    assert [base.tables["u", name].rows.num_rows for name in "im"] == [0, 2]
    taken = bk.snapshot(url, tmp_path / "held", tables=["u.i", "u.m"], lock="held")
    for one in (base, taken.folder):
        state = logs(server, tmp_path, start).state("u.m", base=one)
        assert judged(server, iter([state]), Counter()) == [] and state.determined


def test_transactions_that_do_not_end(
    server: Server, url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Writers of the tables are waited for, and not for long; a lock of all does not wait."""
    monkeypatch.setattr(consistent, "_TRIES", 1)
    run(server, ("DROP DATABASE IF EXISTS u", "CREATE DATABASE u",
                 "CREATE TABLE u.i (a INT PRIMARY KEY) ENGINE=InnoDB",
                 "CREATE TABLE u.o (a INT PRIMARY KEY) ENGINE=InnoDB"))  # fmt: skip
    start = server.binlog_names()[-1]
    with server.connect() as connection, connection.cursor() as cursor:
        cursor.execute("START TRANSACTION")
        cursor.execute("INSERT INTO u.i VALUES (1)")
        with pytest.raises(ServerError, match="did not end"):
            bk.snapshot(url, tmp_path / "no", tables="u.i")
        assert bk.snapshot(url, tmp_path / "other", tables="u.o").tables == {"u.o": 0}
        taken = bk.snapshot(url, tmp_path / "all", tables="u.i", lock="global")
        assert taken.tables == {"u.i": 0}
        connection.commit()
    state = logs(server, tmp_path, start).state("u.i", base=str(tmp_path / "all"))
    assert judged(server, iter([state]), Counter()) == []
    assert state.determined and state.rows.num_rows == 1
    with pytest.raises(UsageError, match=r"no table u\.none"):
        bk.snapshot(url, tmp_path / "none", tables=["u.i", "u.none"])


def test_ddl_waits_for_the_reading(server: Server) -> None:
    """So that a table is what it was, also by its name; other tables' DDL does not wait."""
    run(server, ("DROP DATABASE IF EXISTS u", "CREATE DATABASE u",
                 "CREATE TABLE u.a (a INT PRIMARY KEY) ENGINE=InnoDB",
                 "CREATE TABLE u.b (a INT PRIMARY KEY) ENGINE=InnoDB",
                 "INSERT INTO u.a VALUES (1)"))  # fmt: skip
    with ServerTables(settings(server), lambda name: name == ("u", "a")) as found:
        run(server, ("ALTER TABLE u.b ADD c INT", "INSERT INTO u.a VALUES (2)"))
        with pytest.raises(Exception, match="Lock wait timeout"):
            run(server, ("SET lock_wait_timeout = 1", "RENAME TABLE u.a TO u.x, u.b TO u.a"))
        assert found.snapshot().tables["u", "a"].rows.num_rows == 1
    run(server, ("RENAME TABLE u.a TO u.x, u.b TO u.a",))
