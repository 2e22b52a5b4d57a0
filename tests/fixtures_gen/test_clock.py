"""A server whose clock tells the story's time."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta

import pytest

from binlogkit.errors import UsageError
from binlogkit_fixtures import clock as module
from binlogkit_fixtures.clock import start_server
from binlogkit_fixtures.servers import Server, ServerSpec

NOON = 1_714_564_800_000_000  # 2024-05-01T12:00:00Z


def _now(server: Server) -> datetime:
    text = server.query("SELECT CAST(SYSDATE(6) AS CHAR)")[0][0]
    return datetime.fromisoformat(text).replace(tzinfo=UTC)


def _is_the_real_time(server: Server) -> bool:
    before = datetime.now(UTC)
    return before <= _now(server) <= datetime.now(UTC)


def _shows(server: Server, since: datetime, tell: Callable[[], None]) -> bool:
    """Whether its clock shows ``since`` once it is told so, and what has passed since then."""
    before = datetime.now(UTC)
    tell()
    shown = _now(server) - since
    return timedelta(0) <= shown <= datetime.now(UTC) - before


@pytest.mark.server
@pytest.mark.parametrize("series", ["5.7", "8.0"])
@pytest.mark.gate(1)
def test_the_server_sees_the_storys_time(series: str) -> None:
    noon = datetime(2024, 5, 1, 12, tzinfo=UTC)
    server, clock = start_server(ServerSpec(series), "local", "story")
    with server:
        assert clock is not None
        assert _is_the_real_time(server)
        assert _shows(server, noon, lambda: clock.begin(NOON))
        later = noon + timedelta(hours=1)
        assert _shows(server, later, lambda: clock.advance(NOON + 3_600_000_000))
        clock.advance(NOON)  # it does not go back within a story
        assert _now(server) - noon >= timedelta(hours=1)
        assert _shows(server, noon, lambda: clock.begin(NOON))


@pytest.mark.server
def test_the_real_clock() -> None:
    server, clock = start_server(ServerSpec("5.7"), "local", "real")
    with server:
        assert clock is None
        assert _is_the_real_time(server)


def test_a_container_keeps_the_real_clock() -> None:
    with pytest.raises(UsageError, match="needs the local runner"):
        start_server(ServerSpec("8.0"), "docker", "story")


def test_an_unknown_clock() -> None:
    with pytest.raises(UsageError, match="none of auto, story, real"):
        start_server(ServerSpec("8.0"), "local", "atomic")


def test_paths_are_quoted_in_the_wrapper() -> None:
    from pathlib import Path

    from binlogkit_fixtures.servers.binaries import Mysqld

    real = Mysqld(Path("/a b/bin/my'sqld"), "8.0.31", None)
    script = module._script(real, Path("/c $(d)/libfaketimeMT.so.1"))
    assert """exec '/a b/bin/my'"'"'sqld' "$@"\n""" in script
    assert "LD_PRELOAD='/c $(d)/libfaketimeMT.so.1'\n" in script
