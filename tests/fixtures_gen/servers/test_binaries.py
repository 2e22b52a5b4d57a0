"""Which mysqld is taken."""

from __future__ import annotations

from pathlib import Path

import pytest

from binlogkit.errors import ServerError
from binlogkit_fixtures.servers.artifacts import ARTIFACTS, obtain
from binlogkit_fixtures.servers.binaries import find_mysqld, named_mysqld


def test_a_program_that_is_no_mysqld(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BINLOGKIT_MYSQLD_5_7", "/bin/true")
    with pytest.raises(ServerError, match="no MySQL server that runs here"):
        find_mysqld("5.7")


def test_the_environment_names_a_program(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BINLOGKIT_MYSQLD_8_4", "/opt/x/mysqld")
    assert named_mysqld("8.4") == Path("/opt/x/mysqld")
    monkeypatch.delenv("BINLOGKIT_MYSQLD_8_4")
    assert named_mysqld("8.4") is None


@pytest.mark.server
def test_the_pinned_program(series: str) -> None:
    mysqld = find_mysqld(series, obtain(series) / "bin" / "mysqld")
    assert mysqld.version == ARTIFACTS[series].version
    assert mysqld.base == obtain(series)
    assert "HOME" not in mysqld.environment()


@pytest.mark.server
def test_a_program_of_another_series() -> None:
    with pytest.raises(ServerError, match=r"is MySQL 5\.7\.22, not 8\.0; set BINLOGKIT_MYSQLD_8_0"):
        find_mysqld("8.0", obtain("5.7") / "bin" / "mysqld")
