"""The helpers beside these tests, which no package holds, as fixtures."""

from __future__ import annotations

import sys
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType

import pytest

HERE = Path(__file__).parent


def _load(name: str, file: str) -> ModuleType:
    """A module beside this one, under a name that the others import it by."""
    if name not in sys.modules:
        spec = spec_from_file_location(name, HERE / file)
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
