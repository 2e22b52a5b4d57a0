"""The pinned artifacts: a wrong file is refused, and a missing tool is reported with what helps."""

from __future__ import annotations

import zipfile
from pathlib import Path

import pytest

from binlogkit.errors import LimitError, ServerError
from binlogkit_fixtures.servers import artifacts, cache, fetch
from binlogkit_fixtures.servers.artifacts import ARTIFACTS


def _repository(folder: Path, series: str, data: bytes) -> str:
    """A Maven repository on disk that holds ``data`` as the artifact of ``series``."""
    place = folder / ARTIFACTS[series].place
    place.parent.mkdir(parents=True)
    place.write_bytes(data)
    return folder.as_uri()


def test_a_checksum_mismatch_is_refused(
    own_cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, series: str
) -> None:
    jar = tmp_path / "x.jar"
    with zipfile.ZipFile(jar, "w") as bundle:
        bundle.writestr("mysql-Linux-amd64.tar.gz", b"not the server")
    url = _repository(tmp_path / "repository", series, jar.read_bytes())
    monkeypatch.setenv("BINLOGKIT_MAVEN_REPOSITORY", url)
    with pytest.raises(ServerError, match=r"SHA-256 .*pinned is .*rm -r"):
        artifacts.obtain(series)
    assert [path.name for path in own_cache.iterdir()] == ["locks"]


def test_an_artifact_that_is_not_there(
    own_cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("BINLOGKIT_MAVEN_REPOSITORY", tmp_path.as_uri())
    with pytest.raises(ServerError, match="BINLOGKIT_MAVEN_REPOSITORY"):
        artifacts.obtain("5.7")
    assert not list(own_cache.glob("mysql-*"))


def test_only_known_kinds_of_url(own_cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BINLOGKIT_MAVEN_REPOSITORY", "ftp://nowhere.invalid/")
    with pytest.raises(ServerError, match="http, https or file"):
        artifacts.obtain("5.7")


def test_a_download_has_a_limit(
    own_cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(fetch, "MAX_BYTES", 10)
    url = _repository(tmp_path, "5.7", b"x" * 11)
    monkeypatch.setenv("BINLOGKIT_MAVEN_REPOSITORY", url)
    with pytest.raises(LimitError, match="more than 10 bytes"):
        artifacts.obtain("5.7")


def test_without_mvn_the_message_names_the_command(
    own_cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv("BINLOGKIT_MAVEN_REPOSITORY", raising=False)
    with pytest.raises(ServerError, match="apt-get install maven"):
        artifacts.obtain("8.0")
    with pytest.raises(ServerError, match="apt-get install npm"):
        artifacts.obtain("5.6")


def test_a_series_that_is_not_pinned(own_cache: Path) -> None:
    with pytest.raises(ServerError, match="BINLOGKIT_MYSQLD_8_4=/path/to/mysqld"):
        artifacts.obtain("8.4")


@pytest.mark.server
@pytest.mark.parametrize("series", sorted(ARTIFACTS))
def test_the_pinned_server_is_whole(series: str) -> None:
    folder = artifacts.obtain(series)
    assert (folder / "bin" / "mysqld").is_file()
    assert (folder / "share" / "english" / "errmsg.sys").is_file()
    assert cache.others_reach(folder / "bin")
    assert {path.name for path in folder.iterdir()} <= {
        *("bin", "share", "lib", "docs"),
        *("README", "LICENSE", "COPYING"),
    }
