"""Tables that are read in chunks while they are written, carried forward: what SELECT says."""

from __future__ import annotations

import io
import random
import threading
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pymysql
import pytest

import binlogkit as bk
from binlogkit.errors import ServerError, UsageError
from binlogkit.frames.snapshots.server import ServerTables
from binlogkit.livestate.live import live
from binlogkit.log.server.chunked import batches_in_order, made_one
from binlogkit.log.server.snapshot import snapshot, written
from binlogkit_fixtures.servers import Server
from binlogkit_fixtures.truth import read_tables
from tests.livestate.shop import more_is_applied, more_is_logged, reached
from tests.sources.server.conftest_server import settings_of, shared_series, start_series
from tests.truth.truth_checks import judge_state

pytestmark = pytest.mark.server

OFF = {"gtid-mode": "OFF", "enforce-gtid-consistency": "OFF"}
MINIMAL = {"binlog-row-image": "MINIMAL", "binlog-transaction-compression": "ON"}
SETTINGS = {
    "5.7 noblob": ("5.7", {"binlog-row-image": "NOBLOB"}),
    "8.0 minimal, compressed, no GTIDs": ("8.0", OFF | MINIMAL),
    "9 partial JSON": ("9", {"binlog-row-value-options": "PARTIAL_JSON"}),
}
TABLES = ("u.t", "u.k", "u.j", "u.p", "u.c", "u.d")
BEFORE = (
    "CREATE DATABASE u CHARSET utf8mb4",
    "CREATE TABLE u.t (a INT, b VARCHAR(20), n INT DEFAULT 7, x TEXT, PRIMARY KEY (b, a))",
    "CREATE TABLE u.k (n INT, m INT)",
    "CREATE TABLE u.j (id BIGINT UNSIGNED PRIMARY KEY, j JSON)",
    "CREATE TABLE u.p (id INT PRIMARY KEY)",
    "CREATE TABLE u.c (id INT PRIMARY KEY, p INT, FOREIGN KEY (p) REFERENCES u.p (id) "
    "ON DELETE CASCADE ON UPDATE SET NULL)",
    "CREATE TABLE u.d (d DATE, v VARBINARY(9), e DECIMAL(9,3), n INT, PRIMARY KEY (e, d, v))",
)


def prepare(server: Server) -> None:
    """Tables of every kind that is read otherwise than others."""
    for statement in BEFORE:
        server.query(statement)
    for i in range(200):
        names = ("Kai", "kaj ", "Żółw", "x''\\\\")
        server.query(f"INSERT INTO u.t VALUES ({i}, '{names[i % 4]}', {i}, REPEAT('y', 30))")
        server.query(f"INSERT INTO u.k VALUES ({i % 10}, {i})")
        server.query(f"INSERT INTO u.j VALUES ({(1 << 64) - 1 - i}, '{{\"a\": [1, 2]}}')")
        server.query(f"INSERT INTO u.p VALUES ({i})")
        server.query(f"INSERT INTO u.c VALUES ({i}, {i // 2})")
        key = f"'2024-01-{i % 28 + 1:02}', 'v{i % 5}', {i % 7}.5"
        server.query(f"REPLACE INTO u.d VALUES ({key}, {i})")


def change(chance: random.Random) -> str:
    """A statement that changes rows."""
    i, j = chance.randrange(320), chance.randrange(320)
    return chance.choice([
        f"UPDATE u.t SET n = n + 1 WHERE a = {i}", f"DELETE FROM u.t WHERE a = {i}",
        f"REPLACE INTO u.t (a, b) VALUES ({i}, 'Kai')",
        f"UPDATE IGNORE u.t SET b = UPPER(b) WHERE a = {i}",
        f"UPDATE u.k SET n = n + 1 WHERE n = {i % 10} LIMIT 3", f"INSERT INTO u.k VALUES ({i}, 0)",
        f"UPDATE u.j SET j = JSON_ARRAY_INSERT(j, '$.a[0]', {j}) WHERE id % 300 = {i}",
        f"DELETE FROM u.p WHERE id = {i}", f"INSERT IGNORE INTO u.p VALUES ({i})",
        f"UPDATE IGNORE u.p SET id = {j} WHERE id = {i}",
        f"INSERT IGNORE INTO u.c VALUES ({i}, {j})",
        f"UPDATE u.d SET n = {i} WHERE n % 50 = {j % 50}",
    ])  # fmt: skip


@contextmanager
def writing(server: Server) -> Iterator[None]:
    """Two sessions change rows meanwhile."""
    over, errors = threading.Event(), list[BaseException]()

    def write(seed: int) -> None:
        chance = random.Random(seed)
        with server.connect() as session, session.cursor() as cursor:
            while not over.wait(0.01):
                try:
                    for _ in range(chance.randrange(1, 4)):
                        cursor.execute(change(chance))
                    cursor.execute("ROLLBACK" if chance.random() < 0.2 else "COMMIT")
                except pymysql.Error as error:
                    cursor.execute("ROLLBACK")
                    if error.args[0] not in (1205, 1213, 1452, 1062):  # deadlocks, foreign keys
                        errors.append(error)

    threads = [threading.Thread(target=write, args=(seed,)) for seed in (1, 2)]
    for thread in threads:
        thread.start()
    try:
        yield
    finally:
        over.set()
        for thread in threads:
            thread.join()
    assert not errors


def differences(server: Server, state: bk.TableState) -> list[str]:
    """What a state says, and the server does not."""
    name = ".".join(state.table)
    with server.connect(autocommit=True) as session, session.cursor() as cursor:
        cursor.execute("SET time_zone = '+00:00'")
        found = list(judge_state(state, read_tables(session, ["u"])[name], name, Counter()))
    return found if state.determined else [*found, str(state.findings.to_pylist())]


@pytest.fixture(scope="module", params=SETTINGS)
def server(request: pytest.FixtureRequest) -> Iterator[Server]:
    """A server of each setting."""
    series, options = SETTINGS[request.param]
    with shared_series(series, options) as found:
        prepare(found)
        yield found


@pytest.mark.gate(1)
def test_while_it_is_written(server: Server, tmp_path: Path) -> None:
    """Snapshots and live state; keyless tables, cascades, partial JSON, texts as keys."""
    taken = []
    with writing(server):
        for i, rows in enumerate((7, 60)):
            out = tmp_path / str(i)
            more_is_logged(server)
            taken.append(snapshot(settings_of(server), out, tables=TABLES, chunk_rows=rows))
        with live(settings_of(server), TABLES, chunk_rows=40) as kept:
            more_is_applied(kept)
            with server.connect() as session, session.cursor() as cursor:
                cursor.execute("FLUSH TABLES WITH READ LOCK")
                reached(server, kept)
                states = [kept.state(name) for name in TABLES]
                assert [d for state in states for d in differences(server, state)] == []
    bk.capture(settings_of(server), tmp_path / "logs")
    log = bk.open(tmp_path / "logs")
    for one in taken:
        found = log.states(TABLES, base=str(one.folder))
        assert [d for state in found for d in differences(server, state)] == []
    assert taken[0].pos != taken[1].pos


def in_the_middle(
    server: Server, folder: Path, rows: int, happen: Callable[[], object]
) -> list[bk.TableState]:
    """The tables as chunks with something that happens behind the first one of ``u.t``."""

    def with_more(batches: Iterator[Any]) -> Iterator[Any]:
        yield next(batches)
        happen()
        yield from batches

    with ServerTables(settings_of(server), lambda name: name[0] == "u") as found:
        tables = batches_in_order(found, rows)
        (folder / "read").mkdir(parents=True)
        told = ((n, with_more(b) if n == ("u", "t") else b) for n, b in tables)
        written(found, told, folder / "read")
        return list(made_one(settings_of(server), found, folder / "read", folder / "logs"))


@pytest.fixture(scope="module")
def one() -> Iterator[Server]:
    """One server for what happens in the middle."""
    with shared_series("8.0", {}) as found:
        yield found


def begin(server: Server, image: str, values: str) -> None:
    """A small table; what follows in this session is logged with such images."""
    for statement in (
        f"SET SESSION binlog_row_image = '{image}'", "DROP DATABASE IF EXISTS u",
        "CREATE DATABASE u", "CREATE TABLE u.t (id INT PRIMARY KEY, n INT DEFAULT 5, x INT)",
        f"INSERT INTO u.t (id, n) VALUES {values}", "CREATE TABLE u.swap LIKE u.t",
    ):  # fmt: skip
        server.query(statement)


@pytest.mark.parametrize(
    "ddl",
    [
        "ALTER TABLE u.t ADD more INT FIRST", "ALTER TABLE u.t CHANGE n m INT",
        "ALTER TABLE u.t DROP COLUMN x", "RENAME TABLE u.t TO u.old, u.swap TO u.t",
    ],
)  # fmt: skip
def test_ddl_meanwhile_is_an_error(one: Server, ddl: str, tmp_path: Path) -> None:
    begin(one, "FULL", "(1, 1), (2, 2), (3, 3), (4, 4)")
    with pytest.raises(ServerError, match=r"u\.(t|swap) was altered while it was read"):
        in_the_middle(one, tmp_path, 1, lambda: one.query(ddl))


CHANGES = (
    "UPDATE u.t SET n = 10 * id", "DELETE FROM u.t WHERE id IN (1, 4)",
    "FLUSH BINARY LOGS", "INSERT INTO u.t (id) VALUES (0), (3), (9)",
    "UPDATE u.t SET id = 8 WHERE id = 2",
)  # fmt: skip
EMPTIED = (
    "INSERT INTO u.t VALUES (7, 7, 7)",
    "TRUNCATE TABLE u.t",
    "INSERT INTO u.t (id) VALUES (6)",
)


@pytest.mark.parametrize("story", [CHANGES, EMPTIED])
def test_what_happens_between_chunks(one: Server, story: Sequence[str], tmp_path: Path) -> None:
    """Rows that go, come, and are changed before and behind the place of the reading; TRUNCATE."""
    begin(one, "MINIMAL", "(1, 1), (2, 2), (4, 4), (5, 5)")
    for state in in_the_middle(one, tmp_path, 2, lambda: [*map(one.query, story)]):
        assert differences(one, state) == []


REFUSED = {
    "JSON was logged in part": (
        "SET SESSION binlog_row_value_options = 'PARTIAL_JSON'",
        "UPDATE u.t SET j = JSON_REMOVE(j, '$[0]')",
        "SET SESSION binlog_row_value_options = ''",
    ),
    "a statement logged as text": (
        "SET SESSION binlog_format = 'STATEMENT'", "UPDATE u.t SET n = n + 1",
        "SET SESSION binlog_format = 'ROW'",
    ),
    r"u\.(t|swap) was altered": ("DROP DATABASE u",),
}  # fmt: skip


@pytest.mark.parametrize("why", REFUSED)
def test_what_cannot_be_carried_out_is_an_error(one: Server, why: str, tmp_path: Path) -> None:
    begin(one, "MINIMAL", "(1, 1), (2, 2), (4, 4)")
    one.query("ALTER TABLE u.t ADD j JSON")
    one.query("UPDATE u.t SET j = '[1, 2, 3]'")
    with pytest.raises(ServerError, match=why):
        in_the_middle(one, tmp_path, 1, lambda: [*map(one.query, REFUSED[why])])


def test_damage_between_chunks_is_an_error(tmp_path: Path) -> None:
    """An event that cannot be read is named, with its place."""
    with start_series("8.0", {}) as server:
        begin(server, "FULL", "(1, 1), (2, 2)")
        server.query("ALTER TABLE u.t ADD v VARCHAR(20)")

        def damage() -> None:
            server.query("UPDATE u.t SET v = 'ZEBRA' WHERE id = 1")
            (name,) = server.binlog_names()
            server.put(name, io.BytesIO(server.read_file(name).replace(b"ZEBRA", b"HORSE")))

        with pytest.raises(ServerError, match=r"in chunks: binlog\.000001 at \d+: .* the CRC32"):
            in_the_middle(server, tmp_path, 1, damage)


def test_a_row_that_moves_where_it_was_read_already(one: Server, tmp_path: Path) -> None:
    """From a place that is read later to one that was read: only whole images tell it."""
    move = "UPDATE u.t SET id = 1 WHERE id = 5"
    begin(one, "MINIMAL", "(2, 2), (4, 4), (5, 5)")
    with pytest.raises(ServerError, match="does not hold completely"):
        in_the_middle(one, tmp_path / "minimal", 1, lambda: one.query(move))
    begin(one, "FULL", "(2, 2), (4, 4), (5, 5)")
    for state in in_the_middle(one, tmp_path / "full", 1, lambda: one.query(move)):
        assert differences(one, state) == []


def test_no_rows_at_a_time(one: Server, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="chunk_rows"):
        snapshot(settings_of(one), tmp_path / "out", chunk_rows=0)
    assert not any(tmp_path.iterdir())
