"""The newest server, from Debian."""

from __future__ import annotations

import platform

import pytest

from binlogkit.errors import ServerError
from binlogkit_fixtures.clock import start_server
from binlogkit_fixtures.debian import newest_mysqld
from binlogkit_fixtures.servers import ServerSpec, apt


def test_other_machines_are_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(platform, "machine", lambda: "aarch64")
    with pytest.raises(ServerError, match="this machine is aarch64"):
        newest_mysqld()


@pytest.mark.server
@pytest.mark.slow
def test_it_runs() -> None:
    if reason := apt.available():
        pytest.skip(reason)
    server, clock = start_server(ServerSpec("9", {"secure-file-priv": ""}), "local", "real")
    with server:
        assert clock is None
        assert server.version.startswith("9.")
        assert server.query("SELECT VECTOR_DIM(STRING_TO_VECTOR('[1,2,3]'))") == [(3,)]
