"""What breaks live state of a real server: logs that are reset, a snapshot or a process that is
killed. An error that says so, or the server's rows; never rows that are old in silence."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pymysql
import pytest

from binlogkit.errors import ReplicationError, ServerError
from binlogkit.livestate.live import live
from binlogkit_fixtures.servers import Server
from tests.livestate.shop import more_is_applied, reached
from tests.sources.server.conftest_server import settings_of, shared_series
from tests.waiting import joined, until

pytestmark = pytest.mark.server

PROGRAM = """
import sys
from pathlib import Path
from binlogkit.livestate.live import live
from binlogkit.sources.connection import ServerSettings
folder = Path(sys.argv[3])
settings = ServerSettings("127.0.0.1", int(sys.argv[1]), sys.argv[2], sys.stdin.readline().strip())
with live(settings, ["u.t"], checkpoint=folder) as kept:
    print("begun", flush=True)
    while True:
        kept.checkpoint(folder)
        print("kept", flush=True)
"""


def prepare(server: Server, rows: int) -> None:
    server.query("CREATE DATABASE u")
    server.query("CREATE TABLE u.t (id INT PRIMARY KEY AUTO_INCREMENT, n INT, t VARCHAR(500))")
    values = ", ".join(f"({i}, REPEAT('x', 400))" for i in range(1000))
    for _ in range(rows // 1000):
        server.query(f"INSERT INTO u.t (n, t) VALUES {values}")


@contextmanager
def writing(server: Server) -> Iterator[None]:
    """Rows are inserted and changed meanwhile."""
    over = threading.Event()

    def write() -> None:
        with server.connect(autocommit=True) as session, session.cursor() as cursor:
            while not over.wait(0.002):
                cursor.execute("INSERT INTO u.t (n) VALUES (1)")
                cursor.execute("UPDATE u.t SET n = n + 1 WHERE id % 97 = 3")

    writer = threading.Thread(target=write)
    writer.start()
    try:
        yield
    finally:
        over.set()
        writer.join()


@pytest.mark.parametrize("series", ["5.7", "8.0", "9"])
def test_logs_that_are_reset_are_told(series: str) -> None:
    """The server has nothing to send then, and says so for ever."""
    with shared_series(series, {}) as server:
        prepare(server, 1000)
        with live(settings_of(server), ["u.t"]) as kept:
            server.query("DELETE FROM u.t WHERE id = 1")
            reached(server, kept)
            server.query("RESET BINARY LOGS AND GTIDS" if series == "9" else "RESET MASTER")
            server.query("DELETE FROM u.t WHERE id = 2")
            with pytest.raises(ReplicationError, match="its logs were reset"):
                until(kept.check, "the reset is told")


def test_a_snapshot_that_is_killed_is_an_error() -> None:
    """At random moments; what begins is the server's."""
    with shared_series("8.0", {}) as server:
        prepare(server, 20_000)
        chance, errors, begun = random.Random(5), 0, 0
        with writing(server), server.connect(autocommit=True) as session:
            over = threading.Event()

            def kill() -> None:
                with session.cursor() as cursor:
                    while not over.wait(chance.random() * 0.05):
                        cursor.execute(
                            "SELECT id FROM information_schema.processlist WHERE info LIKE "
                            "'SELECT%u%t%' AND info NOT LIKE '%SUM(n)%' AND id <> CONNECTION_ID()"
                        )
                        for (thread,) in cursor.fetchall():
                            with suppress(pymysql.err.OperationalError):  # it ended by itself
                                cursor.execute(f"KILL {thread}")

            def try_it() -> bool:
                nonlocal begun, errors
                try:
                    with live(settings_of(server), ["u.t"]) as kept:
                        begun += 1
                        more_is_applied(kept)
                        with server.connect() as lock, lock.cursor() as cursor:
                            cursor.execute("FLUSH TABLES WITH READ LOCK")
                            reached(server, kept)
                            cursor.execute("SELECT COUNT(*), SUM(n) FROM u.t")
                            ((count, total),) = cursor.fetchall()
                            assert (len(kept["u.t"]), kept["u.t"]["n"].sum()) == (count, total)
                except ServerError:
                    errors += 1
                return bool(errors)

            killer = threading.Thread(target=kill)
            killer.start()
            try:
                for _ in range(12):
                    try_it()
                until(lambda: errors or try_it(), "a snapshot that is killed")
            finally:
                over.set()
                joined(killer)
    assert errors + begun >= 12


def test_a_process_that_is_killed_goes_on_from_its_checkpoint(tmp_path: Path) -> None:
    """It writes checkpoint after checkpoint: whichever is there is whole."""
    folder, chance = tmp_path / "kept", random.Random(9)
    with shared_series("8.0", {"binlog-row-image": "MINIMAL"}) as server:
        prepare(server, 1000)
        settings = settings_of(server)
        arguments = [str(settings.port), settings.user, str(folder)]
        for _ in range(5):
            with writing(server):
                process = subprocess.Popen(
                    [sys.executable, "-c", PROGRAM, *arguments],
                    stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
                )  # fmt: skip
                assert process.stdin is not None and process.stdout is not None
                process.stdin.write(f"{settings.password}\n")
                process.stdin.flush()
                assert process.stdout.readline() == "begun\n"
                for _ in range(chance.randrange(1, 9)):
                    assert process.stdout.readline() == "kept\n"
                os.kill(process.pid, signal.SIGKILL)
                process.communicate()
            with live(settings, ["u.t"], checkpoint=folder) as kept:
                reached(server, kept)
                rows = server.query("SELECT id, n FROM u.t ORDER BY id")
                frame = kept["u.t"].sort_values("id")
                assert list(zip(frame["id"], frame["n"], strict=True)) == [tuple(r) for r in rows]
