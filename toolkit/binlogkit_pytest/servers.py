"""The fixture ``mysql_server``: what its marker says, and the servers of one test session."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from binlogkit_fixtures.servers import Server

MARKER = "mysql_server"
DESCRIPTION = (
    f"{MARKER}(version='8.0', **options): the server that the fixture {MARKER} is: a version or a "
    "list of them, and mysqld's options with underscores"
)
MISSING = "mysql_server_missing"
_WORDS = ("fail", "skip")
_RUNNERS = ("auto", "docker", "local")


@dataclass(frozen=True, slots=True)
class Order:
    """Which server a test wants."""

    version: str
    options: tuple[tuple[str, str], ...]

    def __str__(self) -> str:
        return "-".join([self.version, *(f"{name}={value}" for name, value in self.options)])


def add_options(parser: pytest.Parser, group: Any) -> None:
    """The options of servers: where they run, and what to do if none is available."""
    parser.addini(MISSING, "what a test does whose MySQL server cannot be had: fail or skip",
                  default="fail")  # fmt: skip
    group.addoption("--mysql-server-missing", choices=_WORDS, help=f"in place of the ini {MISSING}")
    group.addoption("--mysql-runner", choices=_RUNNERS, default="auto",
                    help="where MySQL servers run; auto: whichever can be had")  # fmt: skip


def parametrize(metafunc: pytest.Metafunc) -> None:
    """One test for each version that its nearest marker names."""
    marker = metafunc.definition.get_closest_marker(MARKER)
    given: dict[str, Any] = dict(marker.kwargs) if marker else {}
    if marker and marker.args:
        raise pytest.UsageError(f"{metafunc.definition.nodeid}: {MARKER} takes keywords only")
    versions = given.pop("version", "8.0")
    options = tuple(sorted((name.replace("_", "-"), str(value)) for name, value in given.items()))
    orders = [Order(v, options) for v in ([versions] if isinstance(versions, str) else versions)]
    metafunc.parametrize(MARKER, orders, ids=str, indirect=True)


class Running:
    """The servers of a session: each order's is started once."""

    def __init__(self, config: pytest.Config) -> None:
        self._runner = config.getoption("--mysql-runner")
        self._missing = config.getoption("--mysql-server-missing") or config.getini(MISSING)
        if self._missing not in _WORDS:
            raise pytest.UsageError(f"{MISSING} is fail or skip, not {self._missing!r}")
        self._servers: dict[Order, Server] = {}
        self._none: dict[Order, str] = {}
        self._closing = ExitStack()

    def get(self, order: Order) -> Server:
        """The order's server. The test fails, or is skipped: none is available."""
        if order not in self._servers and order not in self._none:
            self._start(order)
        if order in self._servers:
            return self._servers[order]
        reason = f"no MySQL {order.version} for this test: {self._none[order]}"
        if self._missing == "skip":
            pytest.skip(reason)
        pytest.fail(f"{reason} ({MISSING} = skip skips such tests)", pytrace=False)

    def _start(self, order: Order) -> None:
        from binlogkit.errors import ServerError, UsageError
        from binlogkit_fixtures.servers import ServerSpec, start

        options: Mapping[str, str | None] = dict(order.options)
        try:
            server = start(ServerSpec(order.version, options), self._runner)
            self._servers[order] = self._closing.enter_context(server)
        except UsageError as exc:
            raise pytest.UsageError(f"{MARKER}: {exc}") from exc
        except ServerError as exc:
            self._none[order] = str(exc)

    def close(self) -> None:
        """End them all."""
        self._closing.close()
