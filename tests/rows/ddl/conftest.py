"""Gives the tests the recorder, which is a script beside them and no module of a package."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from types import ModuleType

import pytest


@pytest.fixture(scope="session")
def recorder() -> ModuleType:
    """recorder.py as a module."""
    path = Path(__file__).with_name("recorder.py")
    spec = importlib.util.spec_from_file_location("ddl_recorder", path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module
