"""The cache: whole entries only, one builder at a time, archives that stay in their folder."""

from __future__ import annotations

import io
import os
import tarfile
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


def _archive(path: Path, member: tarfile.TarInfo, data: bytes = b"") -> Path:
    member.size = len(data)
    with tarfile.open(path, "w:gz") as tar:
        tar.addfile(member, io.BytesIO(data))
    return path


def _link(name: str, target: str) -> tarfile.TarInfo:
    member = tarfile.TarInfo(name)
    member.type, member.linkname = tarfile.SYMTYPE, target
    return member


@pytest.mark.parametrize(
    "member",
    [tarfile.TarInfo("../out"), _link("a", "/etc/passwd"), _link("a", "../../x")],
    ids=["parent", "absolute link", "relative link"],
)
def test_hostile_archives_are_refused(tmp_path: Path, member: tarfile.TarInfo) -> None:
    archive = _archive(tmp_path / "x.tar.gz", member)
    (tmp_path / "into").mkdir()
    with pytest.raises(ServerError, match="cannot unpack"):
        cache.unpack(archive, tmp_path / "into")
    assert list((tmp_path / "into").iterdir()) == []


def test_named_members_are_left_out(tmp_path: Path) -> None:
    archive = _archive(tmp_path / "x.tar.gz", _link("bin/a", "/gone"))
    (tmp_path / "into").mkdir()
    cache.unpack(archive, tmp_path / "into", frozenset({"bin/a"}))
    assert list((tmp_path / "into").iterdir()) == []


def test_a_program_is_unpacked_readable_by_all(tmp_path: Path) -> None:
    member = tarfile.TarInfo("bin/mysqld")
    member.mode = 0o700
    (tmp_path / "into").mkdir()
    old = os.umask(0o077)
    try:
        cache.unpack(_archive(tmp_path / "x.tar.gz", member, b"x"), tmp_path / "into")
    finally:
        os.umask(old)
    assert (tmp_path / "into" / "bin").stat().st_mode & 0o777 == 0o755
    assert (tmp_path / "into" / "bin" / "mysqld").stat().st_mode & 0o777 == 0o755


def test_claims_of_size_have_a_limit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cache, "_MAX_UNPACKED", 3)
    archive = _archive(tmp_path / "x.tar.gz", tarfile.TarInfo("a"), b"four")
    (tmp_path / "into").mkdir()
    with pytest.raises(ServerError, match="more than 3 bytes"):
        cache.unpack(archive, tmp_path / "into")
