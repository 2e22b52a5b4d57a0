"""Real servers under each runner that this machine has: the same contract."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pymysql
import pytest

from binlogkit.errors import ServerError
from binlogkit_fixtures.servers import Server, ServerSpec, start
from binlogkit_fixtures.servers.daemon import docker_available, image_at_hand
from binlogkit_fixtures.servers.docker import DockerServer
from binlogkit_fixtures.servers.local import LocalServer
from tests.fixtures_gen.runners import runners
from tests.waiting import LONG, until

pytestmark = pytest.mark.server

_UUID = "3e11fa47-71ca-11e1-9e33-c80aa9429562"
_GTID = {"gtid-mode": "ON", "enforce-gtid-consistency": "ON", "server-uuid": _UUID}
_MAGIC = b"\xfebin"
_IN_USE = 0x01  # LOG_EVENT_BINLOG_IN_USE_F, in the flags at byte 17 of the first event's header
_FLAGS_AT = 4 + 17


@pytest.fixture(params=runners())
def runner(request: pytest.FixtureRequest, series: str) -> str:
    """Each runner; Docker only where it answers and has an image."""
    if request.param == "docker":
        available = docker_available()
        if not available:
            pytest.skip(str(available.reason))
        if image_at_hand(series) is None:
            pytest.skip(f"no image of {series} is here")
    return str(request.param)


@pytest.fixture
def server(series: str, runner: str) -> Iterator[Server]:
    """A server with GTIDs and an identity that repeats."""
    with start(ServerSpec(series, _GTID), runner) as running:
        yield running


def _processes() -> str:
    return subprocess.run(["ps", "-eo", "args"], capture_output=True, text=True).stdout


@pytest.mark.gate
def test_the_contract(server: Server, series: str, runner: str, tmp_path: Path) -> None:
    assert server.runner == runner
    assert server.version.startswith(f"{series}.")
    assert server.binlog_names() == ["binlog.000001"]
    assert server.query("SELECT @@server_uuid, @@server_id, @@time_zone, CURRENT_USER()") == [
        (_UUID, 1, "+00:00", "root@%")
    ]
    assert server.query("SELECT @@GLOBAL.gtid_executed") == [("",)]
    server.query("CREATE DATABASE shop")
    assert server.query("SELECT @@GLOBAL.gtid_executed") == [(f"{_UUID}:1",)]
    server.query("FLUSH BINARY LOGS")
    assert server.binlog_names() == ["binlog.000001", "binlog.000002"]
    path = server.copy_binlog("binlog.000001", tmp_path)
    shown = server.query("SHOW BINARY LOGS")[0]
    assert shown[:2] == ("binlog.000001", path.stat().st_size)
    assert path.read_bytes()[:4] == _MAGIC
    with server.connect(database="shop") as session, session.cursor() as cursor:
        cursor.execute("SELECT DATABASE(), @@character_set_client")
        assert cursor.fetchone() == ("shop", "utf8mb4")


def test_errors_are_translated(server: Server) -> None:
    with pytest.raises(ServerError, match="1064") as caught:
        server.query("SELEC 1")
    assert isinstance(caught.value.__cause__, pymysql.err.ProgrammingError)
    with pytest.raises(ServerError, match=r"no file binlog\.000099"):
        server.read_file("binlog.000099")
    with pytest.raises(ServerError):  # a folder
        server.read_file("mysql")


def test_the_password_is_nowhere_to_be_read(server: Server) -> None:
    server.query("SELECT 1")
    assert server.password not in repr(server)
    assert server.password not in _processes()
    if isinstance(server, LocalServer):
        folder = server.data_folder.parent
        assert not list(folder.glob("run/init.sql"))
        assert server.data_folder.stat().st_mode & 0o777 == 0o700
        environment = Path(f"/proc/{server.pid}/environ").read_bytes()
        assert server.password.encode() not in environment
    if isinstance(server, DockerServer):
        shown = subprocess.run(
            ["docker", "inspect", server.container_id], capture_output=True, text=True
        ).stdout
        assert server.container_id in shown
        assert server.password not in shown
    with pytest.raises(ServerError, match="1045"):
        server.connect(password="")


def test_it_listens_on_the_loopback_only(server: Server) -> None:
    with socket.create_connection((server.host, server.port), timeout=LONG):
        pass
    listening = subprocess.run(["ss", "-Hltn"], capture_output=True, text=True).stdout
    places = [line.split()[3] for line in listening.splitlines()]
    assert [place for place in places if place.endswith(f":{server.port}")] == [
        f"127.0.0.1:{server.port}"
    ]


def test_a_stopped_server_has_closed_its_log(server: Server) -> None:
    server.query("CREATE DATABASE shop")
    server.stop()
    data = server.read_file(server.binlog_names()[-1])
    assert not data[_FLAGS_AT] & _IN_USE
    with pytest.raises(ServerError):
        server.query("SELECT 1")


@pytest.mark.gate(1)
def test_a_killed_server_leaves_its_log_open(server: Server) -> None:
    server.query("CREATE DATABASE shop")
    server.kill()
    data = server.read_file(server.binlog_names()[-1])
    assert data[_FLAGS_AT] & _IN_USE
    assert b"CREATE DATABASE shop" in data
    server.kill()
    server.stop()


def test_a_killed_server_starts_again_with_its_files(server: Server) -> None:
    server.query("CREATE DATABASE again")
    server.kill()
    server.start_again()
    assert server.query("SHOW DATABASES LIKE 'again'") == [("again",)]
    assert len(server.binlog_names()) > 1  # each life begins a file
    server.stop()
    server.start_again()
    assert server.query("SELECT 1") == [(1,)]


def test_an_option_the_server_refuses(series: str, runner: str) -> None:
    with pytest.raises(ServerError, match="no-such-option"):
        start(ServerSpec(series, {"no-such-option": "1"}), runner)


def test_init_sql_runs_in_one_session(series: str, runner: str) -> None:
    statements = ("SET @x = 5", "CREATE DATABASE shop", "SET GLOBAL max_connections = 20 + @x")
    with start(ServerSpec(series, init_sql=statements), runner) as running:
        assert running.query("SELECT @@max_connections") == [(25,)]
        assert ("shop",) in running.query("SHOW DATABASES")


def test_a_failing_init_sql_leaves_nothing(
    series: str, own_cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("BINLOGKIT_CACHE")
    monkeypatch.setattr(tempfile, "tempdir", str(own_cache.parent))
    with pytest.raises(ServerError, match="1064"):
        start(ServerSpec(series, init_sql=("SELEC 1",)), "local")
    assert list(own_cache.parent.iterdir()) == []


def test_two_servers_are_two_identities(series: str) -> None:
    with start(ServerSpec(series), "local") as one, start(ServerSpec(series), "local") as two:
        assert one.port != two.port
        assert one.password != two.password
        uuid = "SELECT @@server_uuid"
        assert one.query(uuid) != two.query(uuid)


def test_a_charset_and_a_page_size_shape_their_own_template(series: str) -> None:
    options = {"character-set-server": "latin1", "innodb-page-size": "8K"}
    with start(ServerSpec(series, options), "local") as running:
        assert running.query("SELECT @@character_set_server, @@innodb_page_size") == [
            ("latin1", 8192)
        ]


_CALLER = """
import sys, time
from binlogkit_fixtures.servers import ServerSpec, start
server = start(ServerSpec(sys.argv[1]), sys.argv[2])
print(getattr(server, "pid", 0), getattr(server, "container_id", ""), server.port, flush=True)
time.sleep(600)
"""


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGINT])
def test_the_server_dies_with_its_caller(runner: str, series: str, number: signal.Signals) -> None:
    caller = subprocess.Popen(
        [sys.executable, "-c", _CALLER, series, runner],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    with caller:
        assert caller.stdout is not None
        words = caller.stdout.readline().split()
        caller.send_signal(number)
        try:
            caller.wait(LONG)
        finally:
            caller.kill()
    port = int(words[-1])
    until(lambda: _closed(port), f"nothing listens on port {port}")
    if runner == "docker":
        until(lambda: not _container(words[1]), f"the container {words[1]} is gone")
    else:
        until(lambda: not Path(f"/proc/{words[0]}").exists(), f"process {words[0]} is gone")


def _closed(port: int) -> bool:
    """Whether nothing listens on the port any more."""
    try:
        socket.create_connection((Server.host, port), timeout=LONG).close()
    except OSError:
        return True
    return False


def _container(name: str) -> str:
    """The container, where there is one yet."""
    asked = ["docker", "ps", "-aq", "--no-trunc", "--filter", f"id={name}"]
    return subprocess.run(asked, capture_output=True, text=True).stdout


def test_the_old_series_runs_too(tmp_path: Path) -> None:
    options = _GTID | {"log-slave-updates": None}
    with start(ServerSpec("5.6", options), "local") as running:
        assert running.version == "5.6.24"
        running.query("CREATE DATABASE shop")
        assert running.query("SELECT @@GLOBAL.gtid_executed, CURRENT_USER()") == [
            (f"{_UUID}:1", "root@%")
        ]
        with pytest.raises(ServerError, match="1045"):
            running.connect(user="", password="")
        assert running.copy_binlog("binlog.000001", tmp_path).read_bytes()[:4] == _MAGIC


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root to become another user")
def test_never_as_root(series: str) -> None:
    with start(ServerSpec(series), "local") as running:
        assert isinstance(running, LocalServer)
        assert Path(f"/proc/{running.pid}").stat().st_uid != 0
