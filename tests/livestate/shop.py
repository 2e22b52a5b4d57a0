"""What tests of live state share: how they wait, and how they ask a server."""

from __future__ import annotations

from typing import Any

from binlogkit.livestate.live import Live
from binlogkit.livestate.query import KeptQuery
from binlogkit_fixtures.servers import Server
from tests.waiting import LONG, until


def logged(server: Server) -> str | tuple[str, int]:
    """Everything that the server has logged: its GTIDs, or where its log ends."""
    gtids = str(server.query("SELECT @@GLOBAL.gtid_executed")[0][0]).replace("\n", "")
    if gtids:
        return gtids
    version = tuple(map(int, server.query("SELECT VERSION()")[0][0].split("-")[0].split(".")))
    name = "BINARY LOG" if version >= (8, 2) else "MASTER"
    file, position = server.query(f"SHOW {name} STATUS")[0][:2]
    return file, int(position)


def reached(server: Server, kept: Live) -> None:
    """Wait until everything that the server has logged is applied."""
    kept.wait_for(logged(server), LONG)


def more_is_logged(server: Server) -> None:
    """Wait until those who write have committed something."""
    before = logged(server)
    until(lambda: logged(server) != before, "somebody writes")


def more_is_applied(kept: Live) -> None:
    """Wait until a change that others wrote has come."""
    before = kept.moment
    until(lambda: kept.moment != before, "a change comes")


def to_the_end(kept: Live) -> Live:
    """Wait until the logs' end is reached. What ended the following before is raised."""
    until(lambda: kept.ended, "the end of the logs is reached")
    kept.check()
    return kept


def answers(server: Server, query: KeptQuery) -> tuple[list[Any], list[Any]]:
    """A query's rows here and on the server, in one order."""
    ours, theirs = query.rows(), [tuple(row) for row in server.query(query.sql)]
    if "ORDER BY" not in query.sql:
        ours, theirs = sorted(ours, key=repr), sorted(theirs, key=repr)
    return ours, theirs
