"""The helpers beside these tests, which no package holds, as fixtures."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType

import pytest

from binlogkit_fixtures.clock import start_server
from binlogkit_fixtures.servers import Server, ServerSpec

HERE = Path(__file__).parent
KERNEL_TESTS = HERE.parent / "_kernel"
SERIES = ("5.7", "8.0", "9")
COMMON = {
    "binlog-format": "ROW",
    "max-allowed-packet": "64M",
    "secure-file-priv": "",
    **dict.fromkeys(("sync-binlog", "innodb-flush-log-at-trx-commit"), "0"),
}


def _load(name: str, file: str, folder: Path = HERE) -> ModuleType:
    """A module beside this one, under a name that the others import it by."""
    if name not in sys.modules:
        spec = spec_from_file_location(name, folder / file)
        assert spec is not None and spec.loader is not None
        module = module_from_spec(spec)
        sys.modules[name] = module
        spec.loader.exec_module(module)
    return sys.modules[name]


@pytest.fixture(scope="session")
def workloads() -> ModuleType:
    """random_workload.py as a module."""
    _load("truth_columns", "random_columns.py")
    return _load("truth_workload", "random_workload.py")


@pytest.fixture(scope="session")
def checks(workloads: ModuleType) -> ModuleType:
    """truth_checks.py as a module."""
    return _load("truth_checks", "truth_checks.py")


@pytest.fixture(scope="session")
def boundary_cases() -> ModuleType:
    """The values at the edges of every type."""
    return _load("truth_boundary_cases", "boundary_cases.py", KERNEL_TESTS)


@pytest.fixture(scope="session")
def json_changes() -> ModuleType:
    """Random changes of a JSON document."""
    return _load("truth_json_changes", "json_changes.py", KERNEL_TESTS)


@pytest.fixture(scope="session")
def kernel_reads() -> ModuleType:
    """kernel_reads.py as a module."""
    return _load("truth_kernel_reads", "kernel_reads.py")


@pytest.fixture(scope="session")
def json_documents() -> ModuleType:
    """json_documents.py as a module."""
    return _load("truth_json_documents", "json_documents.py")


def _start(series: str, **options: str) -> Server:
    return start_server(ServerSpec(series, {**COMMON, **options}), "auto", "real")[0]


@pytest.fixture(scope="session")
def server_of() -> Callable[..., Server]:
    """Starts a server of a series, with options; the newest is Debian's, as a process."""
    return _start


@pytest.fixture(scope="module", params=SERIES)
def server(request: pytest.FixtureRequest) -> Iterator[Server]:
    """A real server of each series, one at a time."""
    with _start(request.param) as running:
        yield running
