"""The helpers beside these tests, which no package holds, as fixtures."""

from __future__ import annotations

import sys
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType

import pytest

HERE = Path(__file__).parent


def load(name: str) -> ModuleType:
    """A module beside this one."""
    full = f"binlogkit_writer_tests_{name}"
    if full not in sys.modules:
        spec = spec_from_file_location(full, HERE / f"{name}.py")
        assert spec is not None and spec.loader is not None
        sys.modules[full] = module_from_spec(spec)
        spec.loader.exec_module(sys.modules[full])
    return sys.modules[full]


@pytest.fixture(scope="session")
def event_strategies() -> ModuleType:
    """event_strategies.py as a module."""
    return load("event_strategies")
