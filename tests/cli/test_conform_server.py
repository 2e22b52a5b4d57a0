"""``conform --against server``: the server that wrote a log judges its events and its tables."""

from __future__ import annotations

import json
import struct
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import binlogkit as bk
from binlogkit.cli import run
from binlogkit_fixtures.servers import Server
from tests.sources.server.conftest_server import shared_series

pytestmark = pytest.mark.server

STORY = (
    "CREATE DATABASE shop",
    "CREATE TABLE shop.t (id INT PRIMARY KEY, n DECIMAL(9,2), note VARCHAR(40) CHARSET utf8mb4)",
    "INSERT INTO shop.t VALUES (1, 1.50, 'é'), (2, NULL, 'two'), (3, -3, '')",
    "FLUSH BINARY LOGS",
    "CREATE TABLE shop.keyless (a INT, b BLOB)",
    "INSERT INTO shop.keyless VALUES (1, x'00ff'), (1, x'00ff'), (2, NULL)",
    "UPDATE shop.t SET note = 'zwei' WHERE id = 2",
    "DELETE FROM shop.keyless WHERE a = 2",
)


@pytest.fixture(params=[pytest.param("5.7", marks=pytest.mark.slow), "8.0", "9"])
def server(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[Server]:
    with shared_series(request.param, {}) as running:
        for statement in STORY:
            running.query(statement)
        monkeypatch.setenv("BINLOGKIT_PASSWORD", running.password)
        yield running


def logs_of(server: Server, folder: Path) -> list[str]:
    return [str(server.copy_binlog(name, folder)) for name in server.binlog_names()]


def judged(
    server: Server, logs: list[str], capsys: pytest.CaptureFixture[str]
) -> tuple[int, list[dict[str, Any]], str]:
    words = ["conform", "--against", "server", "--server", f"mysql://root@127.0.0.1:{server.port}"]
    capsys.readouterr()
    status = run([*words, *logs, "--format", "jsonl"])
    said = capsys.readouterr()
    return status, [json.loads(line) for line in said.out.splitlines()], said.err


@pytest.mark.gate(1)
def test_a_server_judges_its_logs(
    server: Server, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    logs = logs_of(server, tmp_path)
    events = sum(len(list(bk.open(log).event_records())) for log in logs)
    status, found, said = judged(server, logs, capsys)
    assert (status, found) == (0, []), said
    assert f"agree: {events} events, 5 rows, 13 cells compared with the server" in said
    # The last one alone does not have the first rows.
    status, found, said = judged(server, logs[-1:], capsys)
    assert (status, [f["column"] for f in found]) == (1, ["shop.t"])
    assert "the log does not determine its rows" in found[0]["reason"]
    # The server goes on: events behind the copy are no difference, tables cannot be compared.
    server.query("INSERT INTO shop.t VALUES (4, 4, 'four')")
    status, found, said = judged(server, logs, capsys)
    assert status == 1 and "unjudged" in said
    assert {f["kind"] for f in found} == {"under_determined"}
    assert "these logs do not reach there" in found[0]["reason"]


def test_what_is_not_so(server: Server, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A change outside the log, a header that says another thing, an event that is not there."""
    server.query("SET SESSION sql_log_bin = 0")
    server.query("UPDATE shop.t SET n = 99 WHERE id = 1")
    server.query("DELETE FROM shop.keyless LIMIT 1")
    server.query("SET SESSION sql_log_bin = 1")
    logs = logs_of(server, tmp_path)
    status, found, said = judged(server, logs, capsys)
    assert status == 1 and "differ: " in said
    rows = {f["column"]: f for f in found}
    assert rows.keys() == {"shop.t.n", "shop.keyless"}
    assert '"n": "1.50"' in rows["shop.t.n"]["ours"] and "99" in rows["shop.t.n"]["theirs"]
    assert rows["shop.keyless"]["theirs"] is None
    data = bytearray(Path(logs[0]).read_bytes())
    records = list(bk.open(logs[0]).event_records())
    xid = next(r for r in records if r["type"] == "XID_EVENT")
    data[xid["pos"] + 5 : xid["pos"] + 9] = struct.pack("<I", 77)
    end = xid["end_pos"] - 4
    struct.pack_into("<I", data, end, zlib.crc32(data[xid["pos"] : end]))
    Path(logs[0]).write_bytes(data[: records[-1]["pos"]])
    status, found, said = judged(server, logs, capsys)
    ours = {f["column"]: f for f in found if f["pos"] is not None}
    assert (ours["server_id"]["pos"], ours["server_id"]["ours"]) == (xid["pos"], "77")
    assert status == 1 and ours.keys() == {"server_id"}  # the copy ends before ROTATE
    Path(logs[1]).rename(tmp_path / "binlog.000009")
    assert judged(server, [str(tmp_path / "binlog.000009")], capsys)[0] == 2


def test_what_goes_together(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    log = str(tmp_path / "binlog.000001")
    Path(log).write_bytes(b"\xfebin")
    assert run(["conform", "--against", "server", log]) == 2
    assert "--against server and --server go together" in capsys.readouterr().err
