"""Debian packages without root: what is reported when it cannot be done, and that it can."""

from __future__ import annotations

from pathlib import Path

import pytest

from binlogkit.errors import ServerError
from binlogkit_fixtures.servers import apt


def test_without_apt(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(ServerError, match="apt-get is not here"):
        apt.unpack_packages("bookworm", ["libaio1"], tmp_path)


@pytest.mark.server
def test_a_package_is_unpacked(tmp_path: Path) -> None:
    if apt.available() is not None:
        pytest.skip(str(apt.available()))
    apt.unpack_packages("bookworm", ["libaio1"], tmp_path)
    assert list(tmp_path.rglob("libaio.so.1"))


@pytest.mark.server
def test_a_package_that_does_not_exist(tmp_path: Path) -> None:
    if apt.available() is not None:
        pytest.skip(str(apt.available()))
    with pytest.raises(ServerError, match="no-such-package"):
        apt.unpack_packages("bookworm", ["no-such-package"], tmp_path)
