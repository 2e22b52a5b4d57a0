"""Real servers of every series, and fake ones."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack
from pathlib import Path
from typing import Any

import pytest

from binlogkit.sources.connection import ServerSettings
from binlogkit_fixtures.clock import start_server
from binlogkit_fixtures.servers import Server, ServerSpec, apt, start

sys.path.insert(0, str(Path(__file__).parent))

SERIES = ("5.6", "5.7", "8.0", "9")
GTIDS = {"gtid-mode": "ON", "enforce-gtid-consistency": "ON"}


def settings_of(server: Server, **more: Any) -> ServerSettings:
    """How root reaches a server."""
    return ServerSettings("127.0.0.1", server.port, "root", server.password, **more)


def start_series(series: str, options: dict[str, str | None]) -> Server:
    """A server with GTIDs; 5.6 and the newest run as local processes only."""
    spec = ServerSpec(series, GTIDS | _NEEDED.get(series, {}) | options)
    if series in ("5.6", "9"):
        if reason := apt.available():
            pytest.skip(reason)
        return start_server(spec, "local", "real")[0]
    return start(spec)


_NEEDED: dict[str, dict[str, str | None]] = {
    "5.6": {"log-slave-updates": "ON"},
    "5.7": {"log-slave-updates": "ON"},
    "9": {"secure-file-priv": ""},
}


@pytest.fixture(scope="session")
def servers() -> Iterator[Callable[[str], Server]]:
    """One lasting server of each series with small logs, started when it is first asked for."""
    running: dict[str, Server] = {}
    with ExitStack() as stack:

        def get(series: str) -> Server:
            if series not in running:
                options: dict[str, str | None] = {
                    "max-binlog-size": "65536",
                    "max-allowed-packet": "64M",
                }
                running[series] = stack.enter_context(start_series(series, options))
                running[series].query("CREATE DATABASE cap")
            return running[series]

        yield get


FakeStart = Callable[..., AbstractContextManager[Any]]
