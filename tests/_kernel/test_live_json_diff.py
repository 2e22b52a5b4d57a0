"""Partial JSON updates as 8.0 logs them, applied to the value before: the server's value."""

from __future__ import annotations

import random
from collections.abc import Iterator
from types import ModuleType

import pytest

from binlogkit._kernel.json_binary import to_text
from binlogkit._kernel.json_diff import apply, parse_diffs
from binlogkit_fixtures.servers import Server, ServerSpec, start

pytestmark = pytest.mark.server
SEED = 20261121
DIFF = 1
START = (
    '\'{"a": {"b": [1, 2, {"c": 3}], "é è": "x"}, "n": null, "list": [[], {}, "s"], '
    '"zz": 1.5, "yyy": {"k": true}}\''
)
PATHS = (
    *("$.a", "$.a.b", "$.a.b[0]", "$.a.b[2].c", "$.a.b[3]", "$.a.b[9]", "$.list", "$.list[0]"),
    *("$.list[1].new", '$.a."é è"', '$."k\\\\"q"', "$.n", "$.zz", "$.yyy.k", "$.fresh", "$.yyy"),
    *("$.list[0][0]", "$.a.b[last]", "$.x1", "$.x2.y"),
    *("$.n[0]", "$.zz[last]", "$.n[1]", "$.list[last-1]", "$.a.b[last-7]", "$.yyy[0]"),
)
VALUES = (
    *("1", "-70000", "5000000000", "1.50", "1e0", "'text'", "REPEAT('long', 60)", "true", "NULL"),
    *("JSON_ARRAY(1, 'x', NULL)", "JSON_OBJECT('bb', 1, 'a', JSON_ARRAY())", "JSON_OBJECT()"),
    *("CAST('2015-01-15 23:24:25' AS DATETIME(6))", "CAST('abc' AS BINARY)", "'é😀'", "''"),
)


@pytest.fixture(scope="module")
def partial() -> Iterator[Server]:
    options = {"binlog-format": "ROW", "binlog-row-value-options": "PARTIAL_JSON"}
    with start(ServerSpec("8.0", options)) as running:
        yield running


def change(source: random.Random) -> str:
    name = source.choice(("JSON_SET", "JSON_REPLACE", "JSON_REMOVE", "JSON_SET"))
    pairs = [(source.choice(PATHS), source.choice(VALUES)) for _ in range(source.randint(1, 3))]
    if name == "JSON_REMOVE":
        return f"{name}(c, {', '.join(repr_sql(path) for path, _ in pairs)})"
    return f"{name}(c, {', '.join(f'{repr_sql(path)}, {value}' for path, value in pairs)})"


def repr_sql(text: str) -> str:
    return f"'{text}'"


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


def test_diffs_give_the_servers_value(partial: Server, server_cells: ModuleType) -> None:
    source = random.Random(SEED)
    partial.query("CREATE DATABASE d")
    partial.query("CREATE TABLE d.t (c JSON)")
    partial.query(f"INSERT INTO d.t VALUES ({START})")
    partial.query("FLUSH BINARY LOGS")
    values = [value(partial)]
    for i in range(600):
        if i % 40 == 39:
            partial.query(f"UPDATE d.t SET c = {START}")
        else:
            partial.query(f"UPDATE d.t SET c = {change(source)}")
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
