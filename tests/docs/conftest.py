"""The documents' blocks, and the folder that they run in."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).resolve().parents[2]


def load_tool() -> ModuleType:
    """tools/make_docs.py, which is no part of a package."""
    spec = importlib.util.spec_from_file_location("make_docs", ROOT / "tools" / "make_docs.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    import sys

    sys.modules["make_docs"] = module  # dataclasses look their module up
    spec.loader.exec_module(module)
    return module


TOOL = load_tool()


@pytest.fixture(scope="session")
def tool() -> ModuleType:
    """tools/make_docs.py."""
    return TOOL


@pytest.fixture
def workspace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of a reader who has come this far, as working directory."""
    TOOL.prepare(tmp_path)
    monkeypatch.chdir(tmp_path)
    return tmp_path
