"""Captures of real servers: the files are the servers' own, byte for byte."""

from __future__ import annotations

import shutil
import subprocess
import threading
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

import binlogkit as bk
from binlogkit.errors import LogGapError, LostConnectionError, ReplicationError, ServerError
from binlogkit.sources import mysqlbinlog
from binlogkit.sources.connection import ServerSettings
from binlogkit.sources.server.capture import CaptureStart, Progress, capture
from binlogkit.sources.server.client import ClientIdentity, ReplicationClient
from binlogkit.sources.server.resume import Stop
from binlogkit.sources.server.stream import FileStart, Idle, StreamEvent
from binlogkit_fixtures.servers import Server, ServerSpec, local
from binlogkit_fixtures.servers.local import LocalServer
from tests.sources.server.conftest_server import SERIES, settings_of, shared_series, start_series
from tests.waiting import joined, until

pytestmark = pytest.mark.server

Servers = Callable[[str], Server]
IN_USE = 4 + 17  # the flags of the format description, behind the magic

each_series = pytest.mark.parametrize("series", SERIES)


@pytest.fixture
def table(request: pytest.FixtureRequest) -> str:
    """A table's name for this test alone."""
    return f"cap.t{zlib.crc32(request.node.nodeid.encode())}"


@contextmanager
def writing(server: Server, table: str, pause: float = 0.002) -> Iterator[None]:
    """Somebody writes, rotates and changes the checksum while the block runs."""
    done = threading.Event()

    def write() -> None:
        with server.connect() as session:
            session.query("SET SESSION sql_log_bin = 1")
            for number in range(1, 5000):
                if done.is_set():
                    return
                session.query(
                    f"INSERT INTO {table} (b) VALUES (REPEAT('y', {number * 997 % 3000}))"
                )
                if number % 150 == 0:
                    session.query("FLUSH BINARY LOGS")
                if number % 100 == 60:
                    kind = "NONE" if number % 200 == 60 else "CRC32"
                    session.query(f"SET GLOBAL binlog_checksum = {kind}")
                done.wait(pause)

    writer = threading.Thread(target=write)
    writer.start()
    try:
        yield
    finally:
        done.set()
        writer.join()


def make(server: Server, table: str) -> None:
    server.query(f"CREATE TABLE {table} (a INT PRIMARY KEY AUTO_INCREMENT, b LONGBLOB) "
                 "ENGINE=MyISAM")  # fmt: skip


def same_as_the_server(server: Server, out: Path, names: list[str] | None = None) -> int:
    """Every log that ended is the server's own; the last one differs in the in-use flag alone."""
    names = names or server.binlog_names()
    for name in names:
        theirs, ours = bytearray(server.read_file(name)), (out / name).read_bytes()
        if name == names[-1]:
            assert theirs[IN_USE] & 1
            theirs[IN_USE] &= ~1
        assert ours == theirs, name
    return len(names)


@each_series
@pytest.mark.gate(2)
def test_files_are_the_servers_own_while_it_works(
    servers: Servers, series: str, table: str, tmp_path: Path
) -> None:
    """Across rotations by size and by statement, checksums changed between files, an event of
    17 MB, and a capture that was stopped and goes on."""
    server, stop = servers(series), Stop()
    make(server, table)
    server.query(f"INSERT INTO {table} (b) VALUES (REPEAT('x', 17000000))")
    reached: set[str] = set()

    def watch(progress: Progress) -> None:
        """Stop within a log that is not the first, however slow the machine is."""
        reached.add(progress.file)
        if len(reached) > 1:
            stop.now()

    with writing(server, table):
        first = capture(settings_of(server), tmp_path, follow=True, stop=stop, progress=watch)
        server.query(f"INSERT INTO {table} (b) VALUES ('between the two')")
        second = capture(settings_of(server), tmp_path)
    assert first.stopped and first.finished
    assert second.events and not second.stopped
    server.query("FLUSH BINARY LOGS")
    third = capture(settings_of(server), tmp_path)
    assert (
        same_as_the_server(server, tmp_path)
        == len(third.finished) + len(first.finished) + len(second.finished) + 1
    )
    assert not first.bad_checksums + second.bad_checksums + third.bad_checksums
    assert (tmp_path / "binlog.index").read_text().split() == [
        f"./{name}" for name in server.binlog_names()
    ]
    assert bk.open(tmp_path).files == [str(tmp_path / name) for name in server.binlog_names()]


@pytest.mark.oracle
@pytest.mark.parametrize("series", ["8.0", "9"])
@pytest.mark.gate(1)
def test_mysqlbinlog_takes_the_same_files(
    servers: Servers, series: str, table: str, tmp_path: Path
) -> None:
    """The newest one has no mysql_native_password any more, so it cannot ask 5.7's root."""
    server, out, theirs = servers(series), tmp_path / "ours", tmp_path / "theirs"
    make(server, table)
    server.query("FLUSH BINARY LOGS")
    capture(settings_of(server), out)
    theirs.mkdir()
    options = tmp_path / "my.cnf"
    options.write_text(f'[client]\npassword="{server.password}"\n')
    options.chmod(0o600)
    first = server.binlog_names()[0]
    subprocess.run(
        [*mysqlbinlog.find().argv, f"--defaults-file={options}", "--read-from-remote-server",
         "--raw", "--to-last-log", "--host=127.0.0.1", f"--port={server.port}", "--user=root",
         f"--result-file={theirs}/", "--get-server-public-key", first],
        check=True, timeout=120, capture_output=True,
    )  # fmt: skip
    for name in server.binlog_names():
        assert (theirs / name).read_bytes() == (out / name).read_bytes()


@each_series
def test_a_start_by_log_position_and_gtid(
    servers: Servers, series: str, table: str, tmp_path: Path
) -> None:
    server = servers(series)
    make(server, table)
    server.query("FLUSH BINARY LOGS")
    done = server.query("SELECT @@GLOBAL.gtid_executed")[0][0].replace("\n", "")
    server.query(f"INSERT INTO {table} (b) VALUES ('one')")
    server.query("FLUSH BINARY LOGS")
    server.query(f"INSERT INTO {table} (b) VALUES ('two')")
    first, *rest = server.binlog_names()[-2:]
    capture(settings_of(server), tmp_path / "log", start=CaptureStart(first))
    assert same_as_the_server(server, tmp_path / "log", [first, *rest]) == 2
    bk.capture(settings_of(server), tmp_path / "gtid", gtid_set=done)
    assert same_as_the_server(server, tmp_path / "gtid", [first, *rest]) == 2
    last = bk.open(tmp_path / "log" / rest[0]).events(engine="pyarrow").to_pylist()[-1]
    bk.capture(settings_of(server), tmp_path / "pos", start_log=rest[0], start_position=last["pos"])
    types = bk.open(tmp_path / "pos").events(engine="pyarrow").column("type").to_pylist()
    assert types == ["FORMAT_DESCRIPTION_EVENT", last["type"]]
    with pytest.raises(ReplicationError):
        bk.capture(
            settings_of(server), tmp_path / "no", start_log=rest[0], start_position=last["pos"] + 1
        )


@each_series
@pytest.mark.gate(2)
def test_a_server_is_a_source(servers: Servers, series: str, table: str, tmp_path: Path) -> None:
    """mysql://… gives the events that the captured files give, positions as the server counts."""
    server = servers(series)
    make(server, table)
    server.query(f"INSERT INTO {table} (b) VALUES ('one')")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("BINLOGKIT_PASSWORD", server.password)
        url = f"mysql://root@127.0.0.1:{server.port}/"
        capture(settings_of(server), tmp_path)
        name = server.binlog_names()[-1]
        ours = bk.open(tmp_path / name).events(engine="pyarrow").drop(["file"])
        assert bk.open(url + name).events(engine="pyarrow").drop(["file"]) == ours
        every = bk.open(url)
        assert [file.rsplit("/", 1)[1] for file in every.files] == server.binlog_names()
        assert server.password not in repr(every)
        rows = bk.open(url).rows(table, engine="pyarrow")
        assert rows.column("after.b").to_pylist()[-1] == b"one"
        shown = server.query(f"SHOW BINLOG EVENTS IN '{name}'")
        assert [(r["pos"], r["end_pos"]) for r in ours.to_pylist()] == [
            (row[1], row[4]) for row in shown
        ]


@each_series
def test_waiting_and_heartbeats(servers: Servers, series: str) -> None:
    server = servers(series)
    name = server.binlog_names()[-1]
    client = ReplicationClient(settings_of(server), ClientIdentity(), heartbeat=0.1)
    size = next(log.size for log in client.facts.logs or () if log.name == name)
    beats = []
    for item in client.dump(name, size, wait=True):
        if isinstance(item, Idle):
            beats.append(item)
        if len(beats) == 2:
            client.interrupt()
            break
    client.close()
    assert beats == [Idle(name, size)] * 2


@pytest.mark.parametrize("series", ["5.6", "8.0", "9"])
def test_a_dump_by_gtid_skips(servers: Servers, series: str, table: str) -> None:
    """Only what is outside the set comes, at its place; from 8.3 on with tags."""
    server = servers(series)
    make(server, table)
    server.query("FLUSH BINARY LOGS")
    name = server.binlog_names()[-1]
    for number in range(4):
        server.query(f"INSERT INTO {table} VALUES ({number + 1}, '')")
    gtids = bk.GtidSet.parse(server.query("SELECT @@GLOBAL.gtid_executed")[0][0])
    if series == "9":
        with server.connect() as session:
            session.query("SET gtid_next = 'AUTOMATIC:shop'")
            session.query(f"INSERT INTO {table} VALUES (8, '')")
        tagged = bk.GtidSet.parse(server.query("SELECT @@GLOBAL.gtid_executed")[0][0])
        assert ":shop:" in str(tagged)
        gtids = tagged
    server.query(f"INSERT INTO {table} VALUES (9, '')")
    client = ReplicationClient(settings_of(server), ClientIdentity())
    sent = [i for i in client.dump_gtid(gtids.wire(), wait=False) if isinstance(i, StreamEvent)]
    client.close()
    events = [i for i in sent if i.file == name and not i.made_up]
    data = server.read_file(name)
    assert sum(i.header.type_code in (33, 42) for i in events) == 1
    for item in events[1:]:
        assert data[item.pos : item.end_pos] == item.data


@pytest.mark.slow
@pytest.mark.parametrize("series", ["5.7", "8.0"])
def test_a_server_that_is_killed_comes_back(
    series: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A follower finds it again; the crashed log differs in nothing once the server mended it."""
    server = local.start_local(ServerSpec(series, {"sync-binlog": "1"}))
    port, stop = server.port, Stop()
    told: list[LostConnectionError] = []
    with server:
        server.query("CREATE DATABASE cap")
        make(server, "cap.t")
        run = threading.Thread(
            target=lambda: capture(
                settings_of(server), tmp_path, follow=True, stop=stop, lost=told.append
            )
        )
        first, insert = tmp_path / server.binlog_names()[0], "INSERT INTO cap.t (b) VALUES"

        def under_way() -> bool:
            server.query(f"{insert} (REPEAT('z', 500))")
            return first.exists() and first.stat().st_size > 50_000

        run.start()
        try:
            until(under_way, "the log comes while it is written")
            for _ in range(200):
                server.query(f"{insert} (REPEAT('z', 500))")
            server.kill()
            monkeypatch.setattr(local, "_free_port", lambda: port)
            revive(server)
            server.query(f"{insert} ('after')")
            server.query("FLUSH BINARY LOGS")
            last = tmp_path / server.binlog_names()[-1]
            until(last.exists, "the follower finds the server again")
        finally:
            stop.now()
            joined(run)
        assert told
        capture(settings_of(server), tmp_path)
        assert same_as_the_server(server, tmp_path) == 3


def revive(server: LocalServer) -> None:
    """Start the same server on the same data once more."""
    local._write_private(server._folder / "run" / "init.sql", "DO 1;\n", server._identity)
    server._start()


@pytest.mark.slow
def test_purged_logs_are_a_gap(tmp_path: Path) -> None:
    with shared_series("8.0", {}) as server:
        capture(settings_of(server), tmp_path)
        server.query("FLUSH BINARY LOGS")
        server.query("FLUSH BINARY LOGS")
        server.query("PURGE BINARY LOGS TO 'binlog.000003'")
        with pytest.raises(LogGapError, match=r"binlog\.000001 is not among its logs any more"):
            capture(settings_of(server), tmp_path)
        other = tmp_path / "other"
        capture(settings_of(server), other)
        server.query("FLUSH BINARY LOGS")
        capture(settings_of(server), other)
        server.query("FLUSH BINARY LOGS")
        server.query("PURGE BINARY LOGS TO 'binlog.000004'")
        server.query("CREATE DATABASE cap")
        capture(settings_of(server), other)  # 000003 had ended: nothing is missing
        assert sorted(p.name for p in other.glob("binlog.0*")) == [
            "binlog.000003", "binlog.000004", "binlog.000005",
        ]  # fmt: skip
        server.query("RESET MASTER")
        for _ in range(4):
            server.query("FLUSH BINARY LOGS")
        with pytest.raises(ReplicationError, match=r"binlog\.000005 (is not the one|has only)"):
            capture(settings_of(server), other)


@pytest.mark.slow
@pytest.mark.parametrize("gtids", ["ON", "OFF"])
@pytest.mark.parametrize("end", ["rotation", "shutdown"])
def test_a_reset_to_the_next_number_is_noticed(
    tmp_path: Path, end: str, gtids: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The captured log has ended, and is purged, or gone with RESET MASTER TO the next one."""
    ours, other = tmp_path / "ours", tmp_path / "other"
    options = {"gtid-mode": gtids, "enforce-gtid-consistency": gtids}
    with local.start_local(ServerSpec("8.0", {"log-bin": "binlog"} | options)) as server:
        server.query("CREATE DATABASE cap")
        bk.capture(settings_of(server), ours)
        if end == "rotation":
            server.query("FLUSH BINARY LOGS")
        else:
            server.stop()
            revive(server)
        whole = bytearray(server.read_file("binlog.000001"))
        whole[IN_USE] &= ~1
        (ours / "binlog.000001").write_bytes(whole)  # as one that followed had it
        shutil.copytree(ours, other)
        server.query("PURGE BINARY LOGS TO 'binlog.000002'")
        bk.capture(settings_of(server), ours)
        assert (ours / "binlog.000002").exists()
        server.query("RESET MASTER TO 2")
        said = "PREVIOUS_GTIDS lack" if gtids == "ON" else "begun anew, and not by the rotation"
        if (end, gtids) == ("shutdown", "OFF"):  # as if the server had been up for long
            monkeypatch.setattr("binlogkit.log.server.capture._STARTS_WITHIN", -1)
            said = "begun anew while the server ran"
        with pytest.raises(ReplicationError, match=f"is not what followed binlog.000001.*{said}"):
            bk.capture(settings_of(server), other)
        assert not (other / "binlog.000002").exists()


@pytest.mark.slow
def test_compressed_payloads_and_encrypted_logs(tmp_path: Path) -> None:
    """An encrypted server sends its logs decrypted: the events, not the file, are its own."""
    options = {"binlog-encryption": "ON", "binlog-transaction-compression": "ON"}
    with start_series("9", options) as server:
        server.query("CREATE DATABASE cap")
        server.query("CREATE TABLE cap.t (a INT PRIMARY KEY, b LONGBLOB)")
        server.query("INSERT INTO cap.t VALUES (1, REPEAT('x', 5000))")
        server.query("FLUSH BINARY LOGS")
        capture(settings_of(server), tmp_path)
        name = server.binlog_names()[0]
        client = ReplicationClient(settings_of(server), ClientIdentity())
        client.close()
        log = (client.facts.logs or ())[0]
        ours = (tmp_path / name).read_bytes()
        assert server.read_file(name)[:4] == b"\xfdbin"
        assert (log.encrypted, log.size) == (True, len(ours))
        shown = server.query(f"SHOW BINLOG EVENTS IN '{name}'")
        events = bk.open(tmp_path / name).events(engine="pyarrow").to_pylist()
        outer = {(e["pos"], e["end_pos"]) for e in events if e["inner"] is None}
        assert outer <= {(row[1], row[4]) for row in shown}  # which tells of inner ones too
        assert any(e["type"] == "TRANSACTION_PAYLOAD_EVENT" for e in events)
        assert {e["checksum"] for e in events} <= {"ok", "none"}


@pytest.mark.parametrize("series", ["5.7", "8.0", "9"])
def test_rights(servers: Servers, series: str, tmp_path: Path) -> None:
    """REPLICATION SLAVE is enough; without it the server's words are reported."""
    server = servers(series)
    for user in ("rep", "nobody"):
        server.query(f"DROP USER IF EXISTS {user}")
        server.query(f"CREATE USER {user} IDENTIFIED BY 'pä55'")
    server.query("GRANT REPLICATION SLAVE ON *.* TO rep")
    as_user = ServerSettings("127.0.0.1", server.port, "rep", "pä55")
    capture(as_user, tmp_path / "rep")
    same_as_the_server(server, tmp_path / "rep")
    with pytest.raises(ServerError, match="REPLICATION SLAVE") as caught:
        capture(ServerSettings("127.0.0.1", server.port, "nobody", "pä55"), tmp_path / "no")
    assert "pä55" not in str(caught.value)
    with pytest.raises(ServerError, match="Access denied"):
        capture(ServerSettings("127.0.0.1", server.port, "rep", "wrong"), tmp_path / "no2")


def test_a_killed_dump_is_no_end(servers: Servers, tmp_path: Path) -> None:
    """An administrator's KILL: a follower comes again; one that may not gets an error."""
    server = servers("8.0")
    dumps = "SELECT id FROM information_schema.processlist WHERE command LIKE 'Binlog Dump%'"
    stop = Stop()
    told: list[LostConnectionError] = []

    def kill() -> bool:
        """Also those that others left behind, and which end when they have something to send."""
        for (thread,) in server.query(dumps):
            with suppress(ServerError):  # it has ended by itself
                server.query(f"KILL {thread}")
        return bool(told)

    def watch() -> None:
        try:
            until(kill, "the follower is told")
        finally:
            stop.now()

    def lost(error: LostConnectionError) -> None:
        told.append(error)
        stop.now()

    watcher = threading.Thread(target=watch)
    watcher.start()
    done = capture(settings_of(server), tmp_path, follow=True, stop=stop, lost=lost)
    joined(watcher)
    assert done.stopped and isinstance(told[0], LostConnectionError)


def test_the_first_item_names_the_log(servers: Servers) -> None:
    server = servers("5.7")
    client = ReplicationClient(settings_of(server), ClientIdentity())
    assert next(client.dump("", 4, wait=False)) == FileStart(server.binlog_names()[0], 4)
    client.close()


@each_series
def test_a_server_forgets_who_was_there(servers: Servers, series: str) -> None:
    """5.7.22 crashes in SHOW SLAVE HOSTS over who registered and left without a dump."""
    server = servers(series)
    show = "SHOW REPLICAS" if series in ("8.0", "9") else "SHOW SLAVE HOSTS"
    who = ClientIdentity()
    ReplicationClient(settings_of(server), who).close()
    client = ReplicationClient(settings_of(server), who)
    for item in client.dump("", 4, wait=True):
        if isinstance(item, StreamEvent):
            break
    assert who.server_id in [row[0] for row in server.query(show)]
    client.close()

    def forgotten() -> bool:
        server.query("FLUSH BINARY LOGS")  # it notices when it has something to send
        return who.server_id not in [row[0] for row in server.query(show)]

    until(forgotten, "the server lists it no more")
