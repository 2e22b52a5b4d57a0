"""A server of each series for a module, and the helpers beside these tests."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack

import pytest

from binlogkit_fixtures.servers import Server


@pytest.fixture(scope="module")
def servers() -> Iterator[Callable[[str], Server]]:
    """One server of each series with small logs, lent when it is first asked for."""
    from tests.sources.server.conftest_server import shared_series

    running: dict[str, Server] = {}
    with ExitStack() as stack:

        def get(series: str) -> Server:
            if series not in running:
                options: dict[str, str | None] = {
                    "max-binlog-size": "65536",
                    "max-allowed-packet": "64M",
                }
                running[series] = stack.enter_context(shared_series(series, options))
                running[series].query("CREATE DATABASE cap")
            return running[series]

        yield get
