"""Partial JSON updates as 8.0 logs them, applied to the value before: the server's value."""

from __future__ import annotations

import random
from collections.abc import Iterator
from types import ModuleType

import pytest

from binlogkit._kernel.json_binary import to_text
from binlogkit._kernel.json_diff import apply, parse_diffs
from binlogkit_fixtures.servers import Server, ServerSpec
from tests.servers import shared_server

pytestmark = pytest.mark.server
SEED = 20261121
DIFF = 1


@pytest.fixture(scope="module")
def partial() -> Iterator[Server]:
    with shared_server(ServerSpec("8.0", {"binlog-row-value-options": "PARTIAL_JSON"})) as lent:
        yield lent


def updates(log: bytes, server_cells: ModuleType) -> Iterator[tuple[str, str, bool]]:
    """(text before, text after, was it a diff) of every update of the one-column table."""
    for code, body in server_cells.events(log):
        if code not in (server_cells.UPDATE_ROWS, server_cells.PARTIAL_UPDATE_ROWS):
            continue
        # Table id 6, flags 2, extra data, column count 1, two bitmaps 1, null bitmap 1.
        p = 8 + int.from_bytes(body[8:10], "little") + 4
        before, p = cell(body, p)
        partial = False
        if code == server_cells.PARTIAL_UPDATE_ROWS:
            partial = body[p] == DIFF and bool(body[p + 1] & 1)
            p += 2 if body[p] == DIFF else 1
        after, p = cell(body, p + 1)
        assert p == len(body)
        text = to_text(before)
        yield text, apply(text, parse_diffs(after)) if partial else to_text(after), partial


def cell(body: bytes, p: int) -> tuple[bytes, int]:
    end = p + 4 + int.from_bytes(body[p : p + 4], "little")
    return body[p + 4 : end], end


@pytest.mark.gate
def test_diffs_give_the_servers_value(
    partial: Server, server_cells: ModuleType, json_changes: ModuleType
) -> None:
    source = random.Random(SEED)
    partial.query("CREATE DATABASE d")
    partial.query("CREATE TABLE d.t (c JSON)")
    partial.query(f"INSERT INTO d.t VALUES ({json_changes.START})")
    partial.query("FLUSH BINARY LOGS")
    values = [value(partial)]
    for i in range(600):
        if i % 40 == 39:
            partial.query(f"UPDATE d.t SET c = {json_changes.START}")
        else:
            partial.query(f"UPDATE d.t SET c = {json_changes.change(source)}")
        if (now := value(partial)) != values[-1]:
            values.append(now)
    found = list(updates(partial.read_file(log_name(partial)), server_cells))
    assert [before for before, _, _ in found] == values[:-1]
    assert [after for _, after, _ in found] == values[1:]
    assert sum(was_diff for _, _, was_diff in found) > 200


def value(server: Server) -> str:
    return str(server.query("SELECT CAST(c AS CHAR) FROM d.t")[0][0])


def log_name(server: Server) -> str:
    return str(server.query("SHOW BINARY LOGS")[-1][0])
