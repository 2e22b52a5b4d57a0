"""What a running server says of its own logs: SHOW BINLOG EVENTS, SHOW RELAYLOG EVENTS."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing

from binlogkit.sources.connection import ServerSettings, connect, translated

#: Pos, Event_type, Server_id, End_log_pos, Info.
Listed = tuple[int, str, int, int, str]


def listed_events(
    server: ServerSettings | str, name: str, *, relay: bool = False
) -> Iterator[Listed]:
    """The events of the log of that name, in its order, streamed.

    Rights: REPLICATION SLAVE. Errors: ServerError and its kinds (there is no such log, an event
    that the server cannot read), UsageError.
    """
    import pymysql

    shown = "RELAYLOG" if relay else "BINLOG"
    with closing(connect(server, cursorclass=pymysql.cursors.SSCursor)) as session:
        host = server if isinstance(server, str) else server.name
        with translated(host.rpartition("@")[2].partition("/")[0]), session.cursor() as cursor:
            cursor.execute(f"SHOW {shown} EVENTS IN %s", (name,))
            for row in cursor:
                _, pos, kind, server_id, end_pos, info = row
                text = info.decode("utf-8", "replace") if isinstance(info, bytes) else info or ""
                yield int(pos), str(kind), int(server_id), int(end_pos), text
