"""``log.life`` and ``log.diff`` against real servers' SELECT after every change."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import binlogkit as bk
from binlogkit_fixtures.servers import Server
from tests.servers import each_server

pytestmark = pytest.mark.server

CREATE = (
    "CREATE TABLE s.t (a INT, b VARCHAR(9), v INT DEFAULT 4, w VARCHAR(9), d DECIMAL(7,2), "
    "PRIMARY KEY (a, b)) CHARSET utf8mb4"
)
#: The row is (1, 'é') at first, then (7, 'é'), (7, 'z'), gone, and there again; others are beside.
CHANGES = (
    "INSERT INTO s.t (a, b, w) VALUES (1, 'é', 'x'), (2, 'o', NULL)",
    "UPDATE s.t SET v = 5 WHERE a = 1",
    "UPDATE s.t SET a = 7, d = 1.5 WHERE a = 1",
    "INSERT INTO s.t VALUES (1, 'é', 1, 'other', 2)",
    "ALTER TABLE s.t ADD n INT DEFAULT 3, MODIFY d DECIMAL(9,3)",
    "UPDATE s.t SET b = 'z', w = NULL WHERE a = 7",
    "UPDATE s.t SET v = v + 1",
    "RENAME TABLE s.t TO s.u",
    "UPDATE s.u SET w = 'again' WHERE a = 7",
    "DELETE FROM s.u WHERE a = 7",
    "INSERT INTO s.u VALUES (7, 'z', 9, 'new', 9, 9)",
    "RENAME TABLE s.u TO s.t",
    "TRUNCATE s.t",
)
KEYLESS = (
    "INSERT INTO s.bare VALUES (1), (1), (2)",
    "DELETE FROM s.bare LIMIT 1",
    "INSERT INTO s.bare VALUES (3), (3)",
)


server = each_server()


def text(value: Any) -> Any:
    return value if value is None or isinstance(value, int) else str(value)


def run(server: Server, image: str, folder: Path) -> tuple[bk.Log, list[tuple[int, list[Any]]]]:
    """The log, and after each change its end and the rows of both tables as SELECT has them."""
    seen = []
    with server.connect(autocommit=True) as connection, connection.cursor() as cursor:
        cursor.execute("DROP DATABASE IF EXISTS s")
        cursor.execute("FLUSH BINARY LOGS")
        for statement in (
            "CREATE DATABASE s", f"SET binlog_format = ROW, binlog_row_image = {image}",
            "SET binlog_rows_query_log_events = 1", CREATE, "CREATE TABLE s.bare (a INT)",
        ):  # fmt: skip
            cursor.execute(statement)
        table = "s.t"
        for statement in (*CHANGES, *KEYLESS):
            cursor.execute(statement)
            if statement.startswith("RENAME"):
                table = statement.rpartition(" ")[2]
            found = []
            for name in (table, "s.bare"):
                cursor.execute(f"SELECT * FROM {name} ORDER BY 1, 2" if name != "s.bare" else
                               "SELECT * FROM s.bare ORDER BY 1")  # fmt: skip
                columns = [column[0] for column in cursor.description]
                found.append([dict(zip(columns, map(text, row), strict=True)) for row in cursor])
            shown = "MASTER" if not server.version.startswith("9") else "BINARY LOG"
            cursor.execute(f"SHOW {shown} STATUS")
            seen.append((int(cursor.fetchone()[1]), found))
    log = bk.open(str(server.copy_binlog(server.binlog_names()[-1], folder)))
    return log, seen


@pytest.mark.parametrize("image", ["FULL", "MINIMAL"])
@pytest.mark.gate(3)
def test_a_life_is_what_selects_saw(server: Server, image: str, tmp_path: Path) -> None:
    log, seen = run(server, image, tmp_path)
    found = log.life("s.t", "7,z")
    records = list(found.records())
    assert [(r["life"], r["op"]) for r in records] == [
        (1, "insert"), (1, "update"), (1, "update"), (None, "alter"), (1, "update"), (1, "update"),
        (None, "rename"), (1, "update"), (1, "delete"), (2, "insert"), (None, "rename"),
        (2, "truncate"),
    ]  # fmt: skip
    ends = [end for end, _ in seen]
    keys = [(1, "é"), (1, "é"), (7, "é"), (7, "z"), (7, "z"), (7, "z"), None, (7, "z")]
    changes = [r for r in records if r["row"] is not None]
    for record, key in zip(changes, keys, strict=True):
        rows = seen[next(i for i, end in enumerate(ends) if end > record["pos"])][1][0]
        selected = next((row for row in rows if (row["a"], row["b"]) == key), None)
        after = record["after"]
        if after is not None and selected is not None and image == "MINIMAL":
            lost = set(record["unknown"])  # what the ALTER added and converted
            assert lost <= {"n", "d"}
            selected = {name: value for name, value in selected.items() if name not in lost}
        assert after == selected, record
    assert changes[2]["query"] == CHANGES[2] and changes[2]["changed"] == ["a", "d"]
    if image == "FULL":
        assert found.determined, found.findings.to_pylist()
    assert {r["table"] for r in changes} == {"t", "u"} and all(r["thread_id"] for r in changes)
    other = [
        (r["op"], r["life"]) for r in log.life("s.t", (1, "é")).records() if r["row"] is not None
    ]
    assert other.count(("insert", 2)) == 1 and other.count(("insert", 1)) == 1


@pytest.mark.sampled(4, 4)
@pytest.mark.parametrize("image", ["FULL", "MINIMAL"])
def test_a_diff_is_that_of_two_selects(server: Server, image: str, tmp_path: Path) -> None:
    log, seen = run(server, image, tmp_path)
    compared = 0
    for i, (start, first) in enumerate(seen):
        for end, second in seen[i : i + 5]:
            found = log.diff("s.bare", start, end)
            assert found.determined
            total = {r["a"]: 0 for r in first[1] + second[1]}
            for record in found.records():
                row = record["before"] or record["after"]
                total[row["a"]] += record["count"] * (-1 if record["after"] is None else 1)
            values = [[row["a"] for row in rows[1]] for rows in (first, second)]
            assert total == {a: values[1].count(a) - values[0].count(a) for a in total}
            renamed = 7 <= i < 11 or 7 <= [e for e, _ in seen].index(end) < 11
            if renamed or any(set(r) != set(s) for r in first[0] for s in second[0]):
                continue
            found = log.diff("s.t", start, end)
            assert found.determined, found.findings.to_pylist()
            sides = [{(r["a"], r["b"]): r for r in rows[0]} for rows in (first, second)]
            expected = [
                (sides[0].get(key), sides[1].get(key))
                for key in {**sides[0], **sides[1]}
                if sides[0].get(key) != sides[1].get(key)
            ]
            told = [(r["before"], r["after"]) for r in found.records()]
            assert sorted(map(repr, told)) == sorted(map(repr, expected)), (i, end)
            compared += len(told)
    assert compared > 20
