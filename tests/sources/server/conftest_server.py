"""Real servers for these tests: how they start and how root reaches them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from binlogkit.sources.connection import ServerSettings
from binlogkit_fixtures.clock import start_server
from binlogkit_fixtures.servers import Server, ServerSpec, apt, start

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
    """A server with GTIDs; 5.6 and the newest run as local processes only."""
    spec = ServerSpec(series, GTIDS | _NEEDED.get(series, {}) | dict(options))
    if series in ("5.6", "9"):
        if reason := apt.available():
            pytest.skip(reason)
        return start_server(spec, "local", "real")[0]
    return start(spec)


_NEEDED: dict[str, dict[str, str | None]] = {
    "5.6": {"log-slave-updates": "ON"},
    "5.7": {"log-slave-updates": "ON"},
}
