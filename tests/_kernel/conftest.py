"""The helpers beside these tests, which no package holds, as fixtures."""

from __future__ import annotations

import sys
from collections.abc import Callable
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType

import pytest

from tests.servers import each_server

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


server = each_server()


@pytest.fixture(scope="session")
def json_documents() -> ModuleType:
    return load(HERE / "json_documents.py")


@pytest.fixture(scope="session")
def json_changes() -> ModuleType:
    return load(HERE / "json_changes.py")


@pytest.fixture(scope="session")
def kernel_cells() -> ModuleType:
    return load(HERE / "kernel_cells.py")
