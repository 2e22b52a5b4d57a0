"""What tests of live state share: how they wait, and how they ask a server."""

from __future__ import annotations

from typing import Any

from binlogkit.livestate.live import Live
from binlogkit.livestate.query import Query
from binlogkit_fixtures.servers import Server


def reached(server: Server, kept: Live) -> None:
    """Wait until everything that the server has logged is applied."""
    gtids = str(server.query("SELECT @@GLOBAL.gtid_executed")[0][0]).replace("\n", "")
    if gtids:
        kept.wait_for(gtids, 120)
        return
    version = tuple(map(int, server.query("SELECT VERSION()")[0][0].split("-")[0].split(".")))
    name = "BINARY LOG" if version >= (8, 2) else "MASTER"
    file, position = server.query(f"SHOW {name} STATUS")[0][:2]
    kept.wait_for((file, int(position)), 120)


def answers(server: Server, query: Query) -> tuple[list[Any], list[Any]]:
    """A query's rows here and on the server, in one order."""
    ours, theirs = query.rows(), [tuple(row) for row in server.query(query.sql)]
    if "ORDER BY" not in query.sql:
        ours, theirs = sorted(ours, key=repr), sorted(theirs, key=repr)
    return ours, theirs
