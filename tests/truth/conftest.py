"""The helpers beside these tests, which no package holds, as fixtures."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from importlib import import_module
from types import ModuleType

import pytest

from binlogkit_fixtures.servers import Server, ServerSpec
from tests.servers import each_server, shared_server

COMMON = {
    "binlog-format": "ROW",
    "max-allowed-packet": "64M",
    **dict.fromkeys(("sync-binlog", "innodb-flush-log-at-trx-commit"), "0"),
}


@pytest.fixture(scope="session")
def workloads() -> ModuleType:
    """random_workload.py as a module."""
    return import_module("tests.truth.random_workload")


@pytest.fixture(scope="session")
def checks(workloads: ModuleType) -> ModuleType:
    """truth_checks.py as a module."""
    return import_module("tests.truth.truth_checks")


@pytest.fixture(scope="session")
def boundary_cases() -> ModuleType:
    """The values at the edges of every type."""
    return import_module("tests._kernel.boundary_cases")


@pytest.fixture(scope="session")
def json_changes() -> ModuleType:
    """Random changes of a JSON document."""
    return import_module("tests._kernel.json_changes")


@pytest.fixture(scope="session")
def kernel_reads() -> ModuleType:
    """kernel_reads.py as a module."""
    return import_module("tests.truth.kernel_reads")


@pytest.fixture(scope="session")
def json_documents() -> ModuleType:
    """json_documents.py as a module."""
    return import_module("tests.truth.json_documents")


def _lent(series: str, **options: str) -> AbstractContextManager[Server]:
    return shared_server(ServerSpec(series, {**COMMON, **options}))


@pytest.fixture(scope="session")
def server_of() -> Callable[..., AbstractContextManager[Server]]:
    """Lends a server of a series, with options; the newest is Debian's, as a process."""
    return _lent


server = each_server(options=COMMON)
