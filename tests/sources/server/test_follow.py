"""``bk.follow``: a server's events as they are written, by place and by GTID."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import pytest
from pymysql.err import OperationalError

import binlogkit as bk
from binlogkit.errors import LostConnectionError, UsageError
from binlogkit.events.base import Event
from binlogkit.events.gtid import Gtid
from binlogkit.events.query import Query
from binlogkit.sources.server.resume import Stop
from binlogkit_fixtures.servers import Server
from tests.sources.server.conftest_server import settings_of, shared_series
from tests.waiting import joined, until

pytestmark = pytest.mark.server


def kill_who_follows(cursor: Any) -> None:
    """End the connections that are sent the log, as soon as there is one."""

    def following() -> list[int]:
        cursor.execute(
            "SELECT id FROM information_schema.processlist WHERE command LIKE 'Binlog D%'"
        )
        return [thread for (thread,) in cursor.fetchall()]

    for thread in until(following, "somebody follows"):
        with suppress(OperationalError):  # it has ended by itself
            cursor.execute(f"KILL {thread}")


@contextmanager
def meanwhile(write: Callable[[], None], stop: Stop) -> Iterator[None]:
    """Somebody writes while the block runs, which waits for what is written."""

    def writes() -> None:
        try:
            write()
        except BaseException:
            stop.now()
            raise

    writer = threading.Thread(target=writes)
    writer.start()
    try:
        yield
    finally:
        joined(writer)


def gtids(events: list[Event]) -> list[str]:
    return [e.body.gtid for e in events if isinstance(e.body, Gtid) and e.body.gtid]


@pytest.mark.parametrize("series", ["5.7", "9"])
@pytest.mark.gate
def test_the_events_of_a_log(servers: Callable[[str], Server], series: str, tmp_path: Path) -> None:
    """What a reader of the captured files sees, what the server makes up left out."""
    server = servers(series)
    server.query("FLUSH BINARY LOGS")
    server.query(f"CREATE DATABASE IF NOT EXISTS follow{series[0]}")
    bk.capture(settings_of(server), tmp_path)
    names = server.binlog_names()[-2:]
    events = list(bk.follow(settings_of(server), start_log=names[0], wait=False))
    ours = [(e.raw.file, e.raw.pos, e.raw.end_pos, e.raw.checksum) for e in events]
    told = [
        (Path(r["file"]).name, r["pos"], r["end_pos"], r["checksum"])
        for name in names
        for r in bk.open(tmp_path / name).event_records()
    ]
    assert ours == told
    later = [e for e in events if e.raw.file == names[1]][-1]
    again = bk.follow(
        settings_of(server), start_log=names[1], start_position=later.raw.pos, wait=False
    )
    assert [e.raw.pos for e in again] == [later.raw.pos]


@pytest.mark.parametrize("by_gtid", [True, False])
def test_a_follower_survives_its_connection(by_gtid: bool) -> None:
    """Killed again and again while somebody writes: each transaction comes once, whole."""
    with shared_series("8.0", {}) as server:
        server.query("CREATE DATABASE one")
        before = server.query("SELECT @@GLOBAL.gtid_executed")[0][0]
        stop = Stop()
        told: list[Exception] = []
        found: list[Event] = []

        def write() -> None:
            with server.connect() as session, session.cursor() as cursor:
                for number in range(60):
                    cursor.execute(f"CREATE TABLE one.t{number} (a INT)")
                    if number % 15 == 7:
                        kill_who_follows(cursor)
                    if number % 20 == 10:
                        cursor.execute("FLUSH BINARY LOGS")
                cursor.execute("CREATE DATABASE the_end")

        start = {"gtid_set": before} if by_gtid else {"start_log": "binlog.000001"}
        with meanwhile(write, stop):
            for event in bk.follow(
                settings_of(server), stop=stop, lost=told.append, heartbeat=0.2, **start
            ):
                found.append(event)
                if isinstance(event.body, Query) and "the_end" in event.body.query:
                    stop.now()
    assert told and all(isinstance(error, LostConnectionError) for error in told)
    numbers = [int(gtid.rpartition(":")[2]) for gtid in gtids(found)]
    assert numbers == list(range(2 if by_gtid else 1, 63))
    places = [(e.raw.file, e.raw.pos) for e in found]
    assert len(set(places)) == len(places) and places == sorted(places)


def test_a_place_or_gtids() -> None:
    with pytest.raises(UsageError, match="not both"):
        next(bk.follow("mysql://h", start_log="a.000001", gtid_set=""))


@pytest.mark.parametrize("start", ["log", "place", "gtids"])
@pytest.mark.parametrize("series", ["5.7", "8.0"])
@pytest.mark.gate(2)
def test_rows_survive_their_connection(series: str, start: str, tmp_path: Path) -> None:
    """Killed again and again, over rotation: whole transactions, each once, as the captured logs
    have them."""
    with shared_series(series, {}) as server:
        server.query("CREATE DATABASE one")
        server.query("CREATE TABLE one.t (a INT PRIMARY KEY, b TEXT)")
        server.query("INSERT INTO one.t VALUES (-1, 'before')")
        before = server.query("SELECT @@GLOBAL.gtid_executed")[0][0]
        place = server.query("SHOW MASTER STATUS")[0][:2]
        server.query("INSERT INTO one.t VALUES (0, 'after')")
        stop = Stop()
        told: list[Exception] = []

        def write() -> None:
            with server.connect() as session, session.cursor() as cursor:
                for number in range(1, 61):
                    cursor.execute("BEGIN")
                    cursor.execute(f"INSERT INTO one.t VALUES ({number}, REPEAT('x', 5000))")
                    cursor.execute(f"UPDATE one.t SET b = '{number}' WHERE a = {number}")
                    cursor.execute("COMMIT")
                    if number % 15 == 7:
                        kill_who_follows(cursor)
                    if number % 20 == 10:
                        cursor.execute("FLUSH BINARY LOGS")

        how: dict[str, Any] = {
            "log": {"start_log": "binlog.000001"},
            "place": {"start_log": place[0], "start_position": place[1]},
            "gtids": {"gtid_set": before},
        }
        found = []
        following = bk.follow(
            settings_of(server), stop=stop, lost=told.append, heartbeat=0.2, **how[start]
        )
        with meanwhile(write, stop):
            for step in following.steps():
                rows = {n for one in step.batches for n in one.batch["tx"].to_pylist()}
                assert rows <= set(step.numbers)
                found += [row for one in step.batches for row in one.batch.to_pylist()]
                last = found[-1]["after"].values() if found else ()
                if 60 in last and found[-1]["op"] == "update":
                    stop.now()
        executed = server.query("SELECT @@GLOBAL.gtid_executed")[0][0]
        following.close()
        bk.capture(settings_of(server), tmp_path)
    assert told and all(isinstance(error, LostConnectionError) for error in told)
    expected = bk.open(tmp_path).rows("one.t", engine="pyarrow").to_pylist()
    expected = expected if start == "log" else expected[1:]
    places = [(row["file"].rpartition("/")[2], row["pos"], row["row"]) for row in found]
    assert places == [(Path(r["file"]).name, r["pos"], r["row"]) for r in expected]
    assert [row["gtid"] for row in found] == [row["gtid"] for row in expected]
    if start != "place":
        assert str(following.gtids) == executed.replace("\n", "")
    assert not following.gaps
