"""Current-state tables beside running servers' SELECTs, while rows, keys and columns change."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from binlogkit.spark.landing import current, keep_current
from binlogkit_fixtures.servers import Server, ServerSpec
from tests.servers import shared_server
from tests.spark.landing.landings import land

pytestmark = pytest.mark.server

CREATED = (
    "CREATE DATABASE shop",
    "CREATE TABLE shop.t (a INT UNSIGNED, b VARCHAR(20), c DECIMAL(12,3), d DATETIME(6), "
    "e BLOB, PRIMARY KEY (a, b))",
    "INSERT INTO shop.t VALUES (1, 'one', 1.5, '2024-02-29 12:00:00.000001', x'00FF'), "
    "(2, 'two', -2.25, NULL, NULL), (3, 'three', NULL, '1000-01-01', ''), "
    "(4294967295, 'é', 0, NULL, 'x')",
)
#: After each of these the table is compared; how it came about.
STAGES: list[tuple[tuple[str, ...], str]] = [
    (("UPDATE shop.t SET c = c + 1 WHERE a < 3",), "merged"),
    (("UPDATE shop.t SET a = 30 WHERE a = 3", "DELETE FROM shop.t WHERE a = 2"), "merged"),
    (("INSERT INTO shop.t VALUES (3, 'three', 7, NULL, 'again')", "FLUSH BINARY LOGS",
      "UPDATE shop.t SET e = 'new' WHERE a IN (1, 3)"), "merged"),
    (("ALTER TABLE shop.t ADD COLUMN f INT NOT NULL DEFAULT 5",
      "UPDATE shop.t SET f = 6 WHERE a = 1"), "replayed"),
    (("DELETE FROM shop.t WHERE a = 1", "INSERT INTO shop.t (a, b) VALUES (1, 'one')"), "merged"),
    (("TRUNCATE TABLE shop.t", "INSERT INTO shop.t (a, b, c) VALUES (9, 'n', 9)"), "replayed"),
    (("UPDATE shop.t SET c = 10",), "merged"),
    (("DROP TABLE shop.t",), "replayed"),
]  # fmt: skip


@pytest.fixture(params=["5.7", "8.0", "9"])
def server(request: pytest.FixtureRequest) -> Any:
    options = {"binlog-row-image": "MINIMAL"} if request.param != "9" else {}
    with shared_server(ServerSpec(request.param, options)) as running:
        for statement in CREATED:
            running.query(statement)
        yield running


def selected(server: Server) -> list[tuple[Any, ...]]:
    with server.connect() as session, session.cursor() as cursor:
        cursor.execute("SELECT * FROM shop.t ORDER BY a, b")
        return list(cursor.fetchall())


def kept(out: Path) -> list[tuple[Any, ...]]:
    rows = current(out, "shop.t")
    columns = [name for name in rows.column_names if not name.startswith("_")]
    assert all(cells is None for cells in rows["_cells"].to_pylist())
    return sorted(tuple(row.values()) for row in rows.select(columns).to_pylist())


def test_it_is_the_servers_select(server: Server, tmp_path: Path) -> None:
    options = tmp_path / "my.cnf"
    options.write_text(f"[client]\nuser = root\npassword = '{server.password}'\n")
    options.chmod(0o600)
    url, out = f"mysql://127.0.0.1:{server.port}/?defaults-file={options}", tmp_path / "lake"
    land(url, out)
    [told] = keep_current(out, ["shop.t"])
    assert (told.how, told.determined) == ("replayed", True)
    assert kept(out) == selected(server)
    for statements, how in STAGES:
        for statement in statements:
            server.query(statement)
        land(url, out)
        [told] = keep_current(out, ["shop.t"])
        assert (told.how, told.determined) == (how, True), (statements, told)
        assert kept(out) == ([] if "DROP" in statements[0] else selected(server)), statements
