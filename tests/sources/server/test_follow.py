"""``bk.follow``: a server's events as they are written, by place and by GTID."""

from __future__ import annotations

import threading
from collections.abc import Callable
from pathlib import Path

import pytest

import binlogkit as bk
from binlogkit.errors import LostConnectionError, UsageError
from binlogkit.events.base import Event
from binlogkit.events.gtid import Gtid
from binlogkit.events.query import Query
from binlogkit.sources.server.resume import Stop
from binlogkit_fixtures.servers import Server
from tests.sources.server.conftest_server import settings_of, start_series

pytestmark = pytest.mark.server


def gtids(events: list[Event]) -> list[str]:
    return [e.body.gtid for e in events if isinstance(e.body, Gtid) and e.body.gtid]


@pytest.mark.parametrize("series", ["5.7", "9"])
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
    with start_series("8.0", {}) as server:
        server.query("CREATE DATABASE one")
        before = server.query("SELECT @@GLOBAL.gtid_executed")[0][0]
        stop = Stop()
        told: list[Exception] = []
        found: list[Event] = []

        def write() -> None:
            killer = "SELECT id FROM information_schema.processlist WHERE command LIKE 'Binlog D%'"
            with server.connect() as session, session.cursor() as cursor:
                for number in range(60):
                    cursor.execute(f"CREATE TABLE one.t{number} (a INT)")
                    if number % 15 == 7:
                        cursor.execute(killer)
                        for (thread,) in cursor.fetchall():
                            cursor.execute(f"KILL {thread}")
                    if number % 20 == 10:
                        cursor.execute("FLUSH BINARY LOGS")
                    stop.sleep(0.02)
                cursor.execute("CREATE DATABASE the_end")

        writer = threading.Thread(target=write)
        writer.start()
        start = {"gtid_set": before} if by_gtid else {"start_log": "binlog.000001"}
        for event in bk.follow(
            settings_of(server), stop=stop, lost=told.append, heartbeat=0.2, **start
        ):
            found.append(event)
            if isinstance(event.body, Query) and "the_end" in event.body.query:
                stop.now()
        writer.join()
    assert told and all(isinstance(error, LostConnectionError) for error in told)
    numbers = [int(gtid.rpartition(":")[2]) for gtid in gtids(found)]
    assert numbers == list(range(2 if by_gtid else 1, 63))
    places = [(e.raw.file, e.raw.pos) for e in found]
    assert len(set(places)) == len(places) and places == sorted(places)


def test_a_place_or_gtids() -> None:
    with pytest.raises(UsageError, match="not both"):
        next(bk.follow("mysql://h", start_log="a.000001", gtid_set=""))
