"""Archives: what would leave the folder is refused."""

from __future__ import annotations

import io
import os
import tarfile
from pathlib import Path

import pytest

from binlogkit.errors import LimitError, ServerError
from binlogkit_fixtures.servers import archives


def _archive(path: Path, member: tarfile.TarInfo, data: bytes = b"") -> Path:
    member.size = len(data)
    with tarfile.open(path, "w:gz") as tar:
        tar.addfile(member, io.BytesIO(data))
    return path


def _link(name: str, target: str) -> tarfile.TarInfo:
    member = tarfile.TarInfo(name)
    member.type, member.linkname = tarfile.SYMTYPE, target
    return member


def _special(name: str, kind: bytes) -> tarfile.TarInfo:
    member = tarfile.TarInfo(name)
    member.type = kind
    return member


@pytest.mark.parametrize(
    "member",
    [
        tarfile.TarInfo("../out"),
        tarfile.TarInfo("/out"),
        tarfile.TarInfo("a/../../out"),
        _link("a", "/etc/passwd"),
        _link("a", "../../x"),
        _link("b/a", "../../x"),
        _special("a", tarfile.CHRTYPE),
        _special("a", tarfile.FIFOTYPE),
        _special("a", tarfile.LNKTYPE),
    ],
    ids=lambda member: f"{member.name} {member.linkname} {member.type!r}",
)
def test_hostile_archives_are_refused(tmp_path: Path, member: tarfile.TarInfo) -> None:
    archive = _archive(tmp_path / "x.tar.gz", member)
    (tmp_path / "into").mkdir()
    with pytest.raises(ServerError, match="cannot unpack"):
        archives.unpack(archive, tmp_path / "into")
    assert not [path for path in (tmp_path / "into").rglob("*") if not path.is_dir()]
    assert {path.name for path in tmp_path.iterdir()} == {"x.tar.gz", "into"}


def test_named_members_are_left_out(tmp_path: Path) -> None:
    archive = _archive(tmp_path / "x.tar.gz", _link("bin/a", "/gone"))
    (tmp_path / "into").mkdir()
    archives.unpack(archive, tmp_path / "into", frozenset({"bin/a"}))
    assert list((tmp_path / "into").iterdir()) == []


def test_a_program_is_unpacked_readable_by_all(tmp_path: Path) -> None:
    member = tarfile.TarInfo("bin/mysqld")
    member.mode = 0o700
    (tmp_path / "into").mkdir()
    old = os.umask(0o077)
    try:
        archives.unpack(_archive(tmp_path / "x.tar.gz", member, b"x"), tmp_path / "into")
    finally:
        os.umask(old)
    assert (tmp_path / "into" / "bin").stat().st_mode & 0o777 == 0o755
    assert (tmp_path / "into" / "bin" / "mysqld").stat().st_mode & 0o777 == 0o755


def test_claims_of_size_have_a_limit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(archives, "MAX_UNPACKED", 3)
    archive = _archive(tmp_path / "x.tar.gz", tarfile.TarInfo("a"), b"four")
    (tmp_path / "into").mkdir()
    with pytest.raises(LimitError, match="more than 3 bytes"):
        archives.unpack(archive, tmp_path / "into")


def test_nothing_is_written_through_a_link(tmp_path: Path) -> None:
    archive = tmp_path / "x.tar"
    with tarfile.open(archive, "w") as tar:
        tar.addfile(_link("a", "b"))
        tar.addfile(_link("b", "a"))
        member = tarfile.TarInfo("a/file")
        tar.addfile(member)
    (tmp_path / "into").mkdir()
    with pytest.raises(ServerError, match="cannot unpack"):
        archives.unpack(archive, tmp_path / "into")


def test_links_inside_are_kept(tmp_path: Path) -> None:
    archive = tmp_path / "x.tar"
    with tarfile.open(archive, "w") as tar:
        tar.addfile(_link("lib/private/libssl.so", "../libssl.so.1.1"))
    (tmp_path / "into").mkdir()
    archives.unpack(archive, tmp_path / "into")
    assert (tmp_path / "into/lib/private/libssl.so").readlink() == Path("../libssl.so.1.1")


@pytest.mark.parametrize("data", [b"", b"no tar file", b"\x1f\x8b\x08\x00cut"])
def test_what_is_no_archive(tmp_path: Path, data: bytes) -> None:
    (tmp_path / "x.tar.gz").write_bytes(data)
    (tmp_path / "into").mkdir()
    with pytest.raises(ServerError, match="cannot unpack"):
        archives.unpack(tmp_path / "x.tar.gz", tmp_path / "into")
