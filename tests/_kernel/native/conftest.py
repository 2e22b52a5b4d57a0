"""The helpers beside these tests, which no package holds, as fixtures."""

from __future__ import annotations

import sys
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType

import pytest

HERE = Path(__file__).parent


def _load(name: str) -> ModuleType:
    spec = spec_from_file_location(f"binlogkit_native_tests_{name}", HERE / f"{name}.py")
    assert spec is not None and spec.loader is not None
    module = module_from_spec(spec)
    sys.modules[spec.name] = module  # dataclasses look their module up
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="session")
def twins() -> ModuleType:
    return _load("twins")


@pytest.fixture(scope="session")
def scans() -> ModuleType:
    return _load("scans")


@pytest.fixture(scope="session")
def row_events() -> ModuleType:
    return _load("row_events")


@pytest.fixture(scope="session")
def fuzz() -> ModuleType:
    return _load("fuzz")
