"""Real servers for these tests: how they start and how root reaches them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import pytest

from binlogkit.sources.connection import ServerSettings
from binlogkit_fixtures.clock import start_server
from binlogkit_fixtures.servers import Server, ServerSpec, apt, start
from tests.servers import shared_server

SERIES = ("5.6", "5.7", "8.0", "9")
GTIDS: dict[str, str | None] = {
    "gtid-mode": "ON",
    "enforce-gtid-consistency": "ON",
    "binlog-format": "ROW",
}


def settings_of(server: Server, **more: Any) -> ServerSettings:
    """How root reaches a server."""
    return ServerSettings("127.0.0.1", server.port, "root", server.password, **more)


def start_series(series: str, options: Mapping[str, str | None]) -> Server:
    """A server with GTIDs, of its own; 5.6 and the newest run as local processes only."""
    spec = _spec(series, options)
    if series in _LOCAL:
        return start_server(spec, "local", "real")[0]
    return start(spec)


@contextmanager
def shared_series(series: str, options: Mapping[str, str | None]) -> Iterator[Server]:
    """The same as one that other tests have had (tests/servers.py)."""
    with shared_server(_spec(series, options)) as lent:
        yield lent


def _spec(series: str, options: Mapping[str, str | None]) -> ServerSpec:
    if series in _LOCAL and (reason := apt.available()):
        pytest.skip(reason)
    return ServerSpec(series, GTIDS | _NEEDED.get(series, {}) | dict(options))


_LOCAL = ("5.6", "9")
_NEEDED: dict[str, dict[str, str | None]] = {
    "5.6": {"log-slave-updates": "ON"},
    "5.7": {"log-slave-updates": "ON"},
}
