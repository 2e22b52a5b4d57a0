"""A cache of its own for tests that fill one, and the two series that run everywhere."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest


@pytest.fixture
def own_cache(monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """An empty cache that an unprivileged user can reach, unlike pytest's own folders."""
    folder = Path(tempfile.mkdtemp(prefix="binlogkit-test-"))
    folder.chmod(0o755)
    monkeypatch.setenv("BINLOGKIT_CACHE", str(folder / "cache"))
    yield folder / "cache"
    shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture(params=["5.7", "8.0"])
def series(request: pytest.FixtureRequest) -> str:
    """Each series that the registries have."""
    return str(request.param)
