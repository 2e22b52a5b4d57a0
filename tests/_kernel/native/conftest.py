"""The helpers beside these tests, which no package holds, as fixtures."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import pytest

HERE = Path(__file__).parent
Load = Callable[[Path], ModuleType]


@pytest.fixture(scope="session")
def twins(load_module: Load) -> ModuleType:
    return load_module(HERE / "twins.py")


@pytest.fixture(scope="session")
def scans(load_module: Load) -> ModuleType:
    return load_module(HERE / "scans.py")


@pytest.fixture(scope="session")
def row_events(load_module: Load) -> ModuleType:
    return load_module(HERE / "row_events.py")


@pytest.fixture(scope="session")
def fuzz(load_module: Load) -> ModuleType:
    return load_module(HERE / "fuzz.py")
