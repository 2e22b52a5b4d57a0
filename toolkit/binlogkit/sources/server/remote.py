"""Logs of a running server as carriers: ``mysql://user@host:port/binlog.000012``, or all of them.

A carrier reads its log from the server each time that it is opened, up to the log's end as it is
then; its bytes are those that a capture would write. Settings of the connection: ``connection.py``.
"""

from __future__ import annotations

from collections.abc import Generator
from contextlib import closing
from functools import partial
from typing import BinaryIO, cast
from urllib.parse import quote, urlsplit, urlunsplit

from binlogkit.constants import BINLOG_MAGIC
from binlogkit.errors import EmptyInputError, InputError, ServerError
from binlogkit.sources.carriers.carrier import Carrier, shown
from binlogkit.sources.connection import ServerSettings, parse_url
from binlogkit.sources.layers import Pieces
from binlogkit.sources.server.client import ClientIdentity, ReplicationClient
from binlogkit.sources.server.resume import ResumePoint, SteadyStream
from binlogkit.sources.server.stream import FIRST_POSITION, FileStart, StreamEvent

_PATIENCE = 60.0


def server_logs(url: str) -> list[Carrier]:
    """The log that the URL names, or all that the server has, oldest first.

    Errors: UsageError, ServerError and its kinds, InputError (no such log, no right to list them).
    """
    settings, name = parse_url(url)
    client = ReplicationClient(settings, ClientIdentity())
    client.close()
    logs = client.facts.logs
    if logs is None and not name:
        raise ServerError(
            "this account may not list the logs (REPLICATION CLIENT); name one in the URL",
            server=settings.name,
        )
    sizes: dict[str, int | None] = {log.name: log.size for log in logs or ()}
    if name and logs is not None and name not in sizes:
        raise InputError(f"mysql://{settings.name}/{name}", "the server has no such log")
    wanted = [name] if name else list(sizes)
    if not wanted:
        raise EmptyInputError(f"mysql://{settings.name}/", "the server has no binary log")
    uuid = client.facts.uuid
    return [
        Carrier(
            shown(f"mysql://{settings.name}/{log}"),
            partial(_open, settings, log),
            sizes.get(log),
            location=urlunsplit(urlsplit(url)._replace(path=_path(log))),
            source=uuid and uuid.lower(),
        )
        for log in wanted
    ]


def _path(log: str) -> str:
    return f"/{quote(log, errors='surrogateescape')}"


def _open(settings: ServerSettings, name: str) -> BinaryIO:
    """The bytes of one log, read from its server; a lost connection is resumed."""
    log = _log(settings, name)
    return cast(BinaryIO, Pieces(log, log))


def _log(settings: ServerSettings, name: str) -> Generator[bytes, None, None]:
    connect = partial(ReplicationClient, settings, ClientIdentity())
    place = ResumePoint(name, FIRST_POSITION)
    magic = BINLOG_MAGIC
    with closing(iter(SteadyStream(connect, place, patience=_PATIENCE))) as items:
        for item in items:
            if isinstance(item, FileStart) and item.file != name:
                return
            if isinstance(item, StreamEvent) and not item.made_up:
                yield magic + item.data
                magic = b""
