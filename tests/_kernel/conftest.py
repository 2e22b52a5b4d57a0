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


def load(path: Path) -> ModuleType:
    """A module that no package holds."""
    spec = spec_from_file_location(f"binlogkit_kernel_tests_{path.stem}", path)
    assert spec is not None and spec.loader is not None
    module = module_from_spec(spec)
    sys.modules[spec.name] = module  # dataclasses look their module up
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="session")
def load_module() -> Callable[[Path], ModuleType]:
    """How the folders below get theirs."""
    return load


@pytest.fixture(scope="session")
def boundary_cases() -> ModuleType:
    return load(HERE / "boundary_cases.py")


@pytest.fixture(scope="session")
def server_cells() -> ModuleType:
    return load(HERE / "server_cells.py")


@pytest.fixture(scope="session")
def cell_checks() -> ModuleType:
    return load(HERE / "cell_checks.py")


@pytest.fixture(scope="session", params=["5.7", "8.0", "9"])
def server(request: pytest.FixtureRequest) -> Iterator[Server]:
    """A real server of each series, one at a time; the newest is Debian's, as a process."""
    spec = ServerSpec(request.param, {"binlog-format": "ROW", "secure-file-priv": ""})
    with start_server(spec, "auto", "real")[0] as running:
        yield running


@pytest.fixture(scope="session")
def json_documents() -> ModuleType:
    return load(HERE / "json_documents.py")


@pytest.fixture(scope="session")
def json_changes() -> ModuleType:
    return load(HERE / "json_changes.py")


@pytest.fixture(scope="session")
def kernel_cells() -> ModuleType:
    return load(HERE / "kernel_cells.py")
