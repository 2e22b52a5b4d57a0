"""Rows that wait, masks that follow renames, and reserved names, in logs of real servers."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from binlogkit.errors import InputError
from binlogkit.spark.landing import current, keep_current
from binlogkit.spark.landing.reading import landed
from binlogkit.spark.landing.restoring import Landing
from binlogkit.spark.landing.terms import Terms
from binlogkit.spark.masks import parse_masks
from binlogkit_fixtures.servers import Server, ServerSpec
from tests.servers import shared_server
from tests.spark.landing.landings import land

pytestmark = pytest.mark.server

#: A log each.
LOGS = (
    (
        "CREATE DATABASE shop",
        "CREATE TABLE shop.late (id INT PRIMARY KEY, v VARCHAR(20), w INT)",
        "INSERT INTO shop.late VALUES (1, 'secret-1', 10)",
        "CREATE TABLE shop.reserved (id INT PRIMARY KEY, _day VARCHAR(20), _Sequence INT)",
        "INSERT INTO shop.reserved VALUES (1, 'secret-6', 3), (2, NULL, NULL)",
    ),
    (
        "ALTER TABLE shop.late CHANGE v mail VARCHAR(20)",
        "CREATE TABLE shop._late_gho LIKE shop.late",
        "INSERT INTO shop._late_gho VALUES (1, 'secret-1', 10)",
        "UPDATE shop.late SET mail = 'secret-2' WHERE id = 1",
        "UPDATE shop._late_gho SET mail = 'secret-2' WHERE id = 1",
        "RENAME TABLE shop.late TO shop._late_del, shop._late_gho TO shop.late",
    ),
    (
        "INSERT INTO shop.late VALUES (2, 'secret-3', 20)",
        "DELETE FROM shop.late WHERE id = 1",
        "UPDATE shop.reserved SET _day = 'secret-7' WHERE id = 2",
    ),
)


@pytest.fixture(params=["5.7", "8.0", "9"])
def logs(request: pytest.FixtureRequest, tmp_path: Path) -> Any:
    """The server, and its log of each of these."""
    with shared_server(ServerSpec(request.param, {})) as server:
        found = []
        server.query("FLUSH BINARY LOGS")
        for statements in LOGS:
            name = server.binlog_names()[-1]
            for statement in statements:
                server.query(statement)
            server.query("FLUSH BINARY LOGS")
            path = tmp_path / name
            server.copy_binlog(name, path)
            found.append(str(path))
        yield server, found


def rows_of(server: Server, table: str) -> list[tuple[Any, ...]]:
    return sorted(tuple(row) for row in server.query(f"SELECT * FROM {table}"))


def test_late_logs_masks_and_reserved_names(logs: Any, tmp_path: Path) -> None:
    server, (first, second, third) = logs
    plain = tmp_path / "plain"
    arrived = land(third, plain)
    waiting = {one.table: one.rows for one in arrived.waiting}
    assert waiting == {"shop.late": 2, "shop.reserved": 1} and not arrived.rows
    for table in waiting:
        with pytest.raises(InputError, match="wait"):
            Landing(plain).state(table)
    assert not land([second, third], plain).rows.keys() & waiting.keys()
    assert not land([first, second, third], plain).waiting
    for table in waiting:
        state = Landing(plain).state(table)
        values = [tuple(row["values"].values()) for row in state.rows.to_pylist()]
        assert state.determined and sorted(values) == rows_of(server, table)
        assert not [name for name in landed(plain, table).column_names if name[1:].isdigit()]
    keep_current(plain)
    kept = current(plain, "shop.reserved").select(["id", "@005fday", "@005fSequence"])
    assert sorted(tuple(row.values()) for row in kept.to_pylist()) == rows_of(
        server, "shop.reserved"
    )
    gap = tmp_path / "gap"
    land(first, gap)
    assert {one.table: one.rows for one in land([first, third], gap).waiting} == waiting
    assert not land([first, second, third], gap).waiting
    assert Landing(gap).state("shop.late").rows == Landing(plain).state("shop.late").rows
    terms = Terms(masks=parse_masks(["late.v=drop", "reserved._day=drop"]))
    for named in ([first], [first, third]):
        land(named, tmp_path / "masked", terms)
    assert "secret" not in str(landed(tmp_path / "masked", "shop.late").to_pydict())
    for masks in (["late.v=drop", "reserved._day=drop"], ["late.mail=drop", "reserved._day=drop"]):
        terms, out = Terms(masks=parse_masks(masks)), tmp_path / masks[0]
        for named in ([first], [first, second], [first, second, third]):
            if masks[0] == "late.mail=drop" and len(named) == 1:
                continue  # no log has this column yet: an error
            land(named, out, terms)
        files = [*out.glob("tables/**/*.parquet")]
        assert len(files) > 3
        for path in files:
            assert "secret" not in str(pq.read_table(path, partitioning=None).to_pydict()), path


#: A log each: the second one swaps the names of two columns.
SWAPPED = (
    ("CREATE DATABASE shop", "CREATE TABLE shop.t (id INT, a INT, b INT)",
     "INSERT INTO shop.t VALUES (1, 10, 100)"),
    ("ALTER TABLE shop.t CHANGE a c INT, CHANGE b a INT", "ALTER TABLE shop.t CHANGE c b INT",
     "INSERT INTO shop.t (id, a, b) VALUES (2, 20, 200)"),
    ("INSERT INTO shop.t (id, a, b) VALUES (3, 30, 300)",),
    ("INSERT INTO shop.t (id, a, b) VALUES (4, 40, 400)",),
)  # fmt: skip
#: Which logs land together, of which folders; and how many rows wait in the end.
ORDERS = (
    ("x1 x2 x3 x4", 0), ("x1,y2,z3,x4", 0), ("z1,y2,x3,w4", 0), ("z1 y2 x3 w4", 0),
    ("x3 x2 x1", 0), ("x1,y3", 1), ("x1 y3", 1), ("x1,y3,x1 y3 z2", 0), ("y2 y3,z1", 2),
    ("x1 x2,y1 y2,x3", 0), ("x1 x2,y1 y2,y3", 0), ("x1 x2,y2,x3", 0), ("x1 x2,y2,y3", 0),
    ("x1 x2,y2,z3,x4", 0), ("y1 y2,x1 x2,x3", 0), ("x1 y1 x2 y2 x3 y3", 0),
)  # fmt: skip


@pytest.mark.parametrize(("series", "mode"), [("5.7", "ON"), ("8.0", "OFF")])
def test_logs_and_their_copies_in_several_folders(series: str, mode: str, tmp_path: Path) -> None:
    """A row that lands has the values that it was inserted with."""
    options = {"gtid-mode": mode, "enforce-gtid-consistency": mode}
    with shared_server(ServerSpec(series, options)) as server:
        server.query("FLUSH BINARY LOGS")
        logs = []
        for statements in SWAPPED:
            name = server.binlog_names()[-1]
            for statement in statements:
                server.query(statement)
            server.query("FLUSH BINARY LOGS")
            logs.append((name, server.copy_binlog(name, tmp_path / name).read_bytes()))
    for order, wait in ORDERS:
        folder = tmp_path / order
        for together in order.split(","):
            paths = []
            for one in together.split(" "):
                name, data = logs[int(one[1]) - 1]
                path = folder / one[0] / name
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_bytes(data)
                paths.append(str(path))
            arrived = land(paths, folder / "lake", name="s")
        assert (order, sum(one.rows for one in arrived.waiting)) == (order, wait)
        found = landed(folder / "lake", "shop.t").to_pylist()
        rows = [(row["id"], row["a"], row["b"]) for row in found]
        assert (order, sorted(rows)) == (order, [(i, i * 10, i * 100) for i, *_ in sorted(rows)])
        assert len(rows) + wait == len({one[1] for one in order.replace(",", " ").split(" ")})
