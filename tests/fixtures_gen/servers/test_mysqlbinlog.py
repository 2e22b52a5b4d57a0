"""A real mysqlbinlog: found, fetched, and an error when there is none."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from binlogkit.errors import OracleError
from binlogkit_fixtures.servers import ServerSpec, cache, mysqlbinlog, start
from binlogkit_fixtures.servers.mysqlbinlog import MysqlBinlog, ensure, find


@pytest.fixture
def bare(own_cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A machine with nothing on PATH, nothing named, nothing in the cache."""
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv("BINLOGKIT_MYSQLBINLOG", raising=False)
    return tmp_path


def test_none_is_here(bare: Path) -> None:
    assert find() is None


def test_none_can_be_fetched_without_apt(bare: Path) -> None:
    with pytest.raises(OracleError, match=r"apt-get is not here.*BINLOGKIT_MYSQLBINLOG="):
        ensure()


@pytest.mark.parametrize("named", ["/bin/true", "/no/such/program"])
def test_a_named_one_must_run(bare: Path, monkeypatch: pytest.MonkeyPatch, named: str) -> None:
    monkeypatch.setenv("BINLOGKIT_MYSQLBINLOG", named)
    with pytest.raises(OracleError, match=named):
        find()


@pytest.mark.oracle
def test_it_reads_a_real_log(series: str, tmp_path: Path) -> None:
    oracle = ensure()
    assert isinstance(oracle, MysqlBinlog)
    with start(ServerSpec(series), "local") as server:
        server.query("CREATE DATABASE shop")
        path = server.copy_binlog("binlog.000001", tmp_path)
    done = subprocess.run([*oracle.argv, str(path)], capture_output=True, text=True, check=True)
    assert "CREATE DATABASE shop" in done.stdout


def never(*_: object, **__: object) -> None:
    raise AssertionError("something was run or fetched")


def test_the_one_in_the_cache_is_taken_as_it_is(
    bare: Path, own_cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nothing runs and nothing is fetched: its version stands beside it."""
    folder = own_cache / mysqlbinlog._ENTRY
    folder.mkdir(parents=True)
    (folder / "version").write_text("9.7.4\n")
    monkeypatch.setattr(subprocess, "run", never)
    monkeypatch.setattr(cache, "entry", never)
    found = ensure()
    assert found == find() and found.version == "9.7.4"
    assert found.argv[-1] == str(folder / "usr" / "bin" / "mysqlbinlog")


@pytest.mark.oracle
def test_the_second_time_nothing_is_fetched(monkeypatch: pytest.MonkeyPatch) -> None:
    first = ensure()
    monkeypatch.setattr(cache, "entry", never)
    found = ensure()
    assert found == first
    assert found.version.split(".")[0].isdigit()
