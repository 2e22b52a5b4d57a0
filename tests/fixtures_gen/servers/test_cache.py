"""The cache: whole entries only, one builder at a time."""

from __future__ import annotations

import os
import threading
from pathlib import Path

import pytest

from binlogkit.errors import ServerError
from binlogkit_fixtures.servers import cache


def test_the_setting_names_the_cache(own_cache: Path) -> None:
    assert cache.cache_dir() == own_cache
    assert own_cache.is_dir()


def test_xdg_names_the_cache(own_cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("BINLOGKIT_CACHE")
    monkeypatch.setenv("XDG_CACHE_HOME", str(own_cache.parent))
    assert cache.cache_dir() == own_cache.parent / "binlogkit"


@pytest.mark.skipif(os.geteuid() != 0, reason="only root needs another user's way to the cache")
def test_root_is_told_when_the_server_cannot_reach_the_cache(
    own_cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    own_cache.parent.chmod(0o700)
    with pytest.raises(ServerError, match="export BINLOGKIT_CACHE="):
        cache.cache_dir()


def test_a_failed_build_leaves_nothing(own_cache: Path) -> None:
    def build(folder: Path) -> None:
        (folder / "half").write_text("x")
        raise ServerError("no more")

    with pytest.raises(ServerError):
        cache.entry("thing", build)
    assert [path.name for path in own_cache.iterdir()] == ["locks"]


def test_many_threads_build_once(own_cache: Path) -> None:
    built = []

    def build(folder: Path) -> None:
        built.append(folder)
        (folder / "done").write_text("x")

    threads = [threading.Thread(target=cache.entry, args=("thing", build)) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(built) == 1
    assert (own_cache / "thing" / "done").read_text() == "x"
    assert not built[0].exists()
