"""A real 9.7 server that encrypts its logs: key rotation, copies, its own tools."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

import binlogkit as bk
from binlogkit.errors import InputError
from binlogkit_fixtures.clock import start_server
from binlogkit_fixtures.matrices import cell
from binlogkit_fixtures.servers import Server
from binlogkit_fixtures.servers.mysqlbinlog import ensure
from tests.waiting import LONG

pytestmark = [pytest.mark.server, pytest.mark.oracle]


def _copy(server: Server, folder: Path) -> tuple[list[Path], Path]:
    folder.mkdir()
    logs = [server.copy_binlog(name, folder) for name in server.binlog_names()]
    return logs, server.copy_binlog("keyring", folder)


def _places(logs: list[Path], keyring: Path) -> list[tuple[str, object, object]]:
    records = bk.open([str(p) for p in logs], keyring=keyring).event_records()
    return [(Path(str(e["file"])).name, e["pos"], e["end_pos"]) for e in records]


def _listed(server: Server, names: list[str]) -> list[tuple[str, object, object]]:
    lines = [line for n in names for line in server.query(f"SHOW BINLOG EVENTS IN '{n}'")]
    return [(str(line[0]), int(line[1]), int(line[4])) for line in lines]


@pytest.mark.gate
def test_rotations_and_the_servers_own_view(tmp_path: Path) -> None:
    server, _ = start_server(cell("9-row-encrypted").spec(), "local", "real")
    with server:
        for sql in (
            "CREATE DATABASE d",
            "CREATE TABLE d.t (id INT PRIMARY KEY, v VARCHAR(300))",
            "INSERT INTO d.t VALUES (1, REPEAT('a', 300)), (2, 'b')",
        ):
            server.query(sql)
        before, old_keyring = _copy(server, tmp_path / "before")
        server.query("ALTER INSTANCE ROTATE BINLOG MASTER KEY")
        server.query("INSERT INTO d.t VALUES (3, 'c')")
        server.query("ALTER INSTANCE ROTATE BINLOG MASTER KEY")
        server.query("UPDATE d.t SET v = 'x' WHERE id = 3")
        after, keyring = _copy(server, tmp_path / "after")

        assert all(path.read_bytes()[:4] == b"\xfdbin" for path in [*before, *after])
        names = server.binlog_names()
        assert len(names) == 3
        assert _places(after, keyring) == _listed(server, names)
        rows = list(bk.open([str(p) for p in after], keyring=keyring).row_records())
        assert [r["op"] for r in rows] == ["insert", "insert", "insert", "update"]

        # A copy from before the rotation wants the keyring of its time.
        assert _places(before, old_keyring)[0][1:] == (4, 127)
        with pytest.raises(InputError, match=r"which is not in .*: the server's key was rotated"):
            _places(before, keyring)

        # mysqlbinlog cannot read such a file; from the server it prints the same events.
        for path in after:
            printed = _remote(server, path.name, tmp_path)
            ours = [end for file, _, end in _places([path], keyring) if file == path.name]
            assert _ends(printed)[: len(ours)] == ours


def _remote(server: Server, name: str, folder: Path) -> str:
    options = folder / "options"
    options.touch(0o600)
    options.write_text(
        f"[client]\nhost={server.host}\nport={server.port}\nprotocol=tcp\n"
        f"user={server.user}\npassword={server.password}\n"
    )
    argv = [*ensure().argv, f"--defaults-file={options}", "--read-from-remote-server", name]
    done = subprocess.run(
        argv, capture_output=True, check=True, env={**os.environ, "TZ": "UTC"}, timeout=LONG
    )
    return done.stdout.decode("latin-1")


def _ends(printed: str) -> list[int]:
    """Each event's end as mysqlbinlog tells it."""
    lines = [line.split() for line in printed.splitlines() if " end_log_pos " in line]
    return [int(words[words.index("end_log_pos") + 1]) for words in lines]
