"""The helpers beside these tests, which no package holds, as fixtures."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType

import pytest

from binlogkit_fixtures.clock import start_server
from binlogkit_fixtures.servers import Server, ServerSpec

HERE = Path(__file__).parent


def _load(name: str) -> ModuleType:
    spec = spec_from_file_location(f"binlogkit_kernel_tests_{name}", HERE / f"{name}.py")
    assert spec is not None and spec.loader is not None
    module = module_from_spec(spec)
    sys.modules[spec.name] = module  # dataclasses look their module up
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="session")
def boundary_cases() -> ModuleType:
    return _load("boundary_cases")


@pytest.fixture(scope="session")
def server_cells() -> ModuleType:
    return _load("server_cells")


@pytest.fixture(scope="session")
def cell_checks() -> ModuleType:
    return _load("cell_checks")


@pytest.fixture(scope="session", params=["5.7", "8.0", "9"])
def server(request: pytest.FixtureRequest) -> Iterator[Server]:
    """A real server of each series, one at a time; the newest is Debian's, as a process."""
    spec = ServerSpec(request.param, {"binlog-format": "ROW", "secure-file-priv": ""})
    with start_server(spec, "auto", "real")[0] as running:
        yield running


@pytest.fixture(scope="session")
def json_documents() -> ModuleType:
    return _load("json_documents")


@pytest.fixture(scope="session")
def json_changes() -> ModuleType:
    return _load("json_changes")


@pytest.fixture(scope="session")
def kernel_cells() -> ModuleType:
    return _load("kernel_cells")
