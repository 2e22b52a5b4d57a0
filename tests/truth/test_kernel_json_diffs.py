"""Partial JSON updates of real servers through the kernel: applied, or as diffs where they are all.

The server's own SELECT after each round of updates is what a document must be.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from pathlib import Path
from types import ModuleType
from typing import Any

import pyarrow as pa
import pytest

import binlogkit as bk
from binlogkit._kernel.json_diff import apply, parse_diffs
from binlogkit_fixtures.servers import Server

pytestmark = pytest.mark.server

ROWS, ROUNDS, SEED = 24, 90, 20261121
IMAGES = ("FULL", "MINIMAL", "NOBLOB")
_Books = list[tuple[str, str | None, str | None]]  # c, d, n of a row, None where NULL


class Rounds:
    """Updates in rounds, each with the row image it was logged in, and the tables between."""

    def __init__(self, server: Server, changes: ModuleType) -> None:
        self.server = server
        self.images: list[str] = []
        self.ends: list[int] = []
        self.books: list[_Books] = []
        source = random.Random(SEED)
        columns = "id INT PRIMARY KEY, c JSON NOT NULL, n VARCHAR(9), d JSON"
        server.query("CREATE DATABASE d CHARACTER SET utf8mb4")
        server.query(f"CREATE TABLE d.t ({columns})")
        rows = (
            f"({i}, {changes.START}, 'x', {changes.START if i % 3 else 'NULL'})"
            for i in range(ROWS)
        )
        server.query(f"INSERT INTO d.t VALUES {', '.join(rows)}")
        server.query("FLUSH BINARY LOGS")
        self._note("")
        for number in range(ROUNDS):
            self._round(source, changes, IMAGES[number % 3])

    def _round(self, source: random.Random, changes: ModuleType, image: str) -> None:
        query = self.server.query
        query(f"SET SESSION binlog_row_image = '{image}'")
        where = f"id % {source.randint(1, 5)} = 0"
        if source.random() < 0.15:
            query(f"UPDATE d.t SET c = {changes.START}, d = c WHERE {where}")
        else:
            sets = [f"{name} = {changes.change(source, name)}" for name in ("c", "d")]
            sets.append(f"n = '{source.randint(0, 99)}'")
            chosen = source.sample(sets, source.randint(1, 3))
            query(f"UPDATE IGNORE d.t SET {', '.join(chosen)} WHERE {where}")
        self._note(image)

    def _note(self, image: str) -> None:
        newer = tuple(map(int, self.server.version.split("."))) >= (8, 2)
        ((_, pos, *_),) = self.server.query(f"SHOW {'BINARY LOG' if newer else 'MASTER'} STATUS")
        select = "SELECT CAST(c AS CHAR), CAST(d AS CHAR), n FROM d.t ORDER BY id"
        self.images.append(image)
        self.ends.append(int(pos))
        self.books.append([(c, d, n) for c, d, n in self.server.query(select)])


@pytest.fixture(scope="module", params=[("8.0", "OFF"), ("8.0", "ON"), ("9", "OFF")])
def rounds(
    request: pytest.FixtureRequest,
    server_of: Callable[..., AbstractContextManager[Server]],
    json_changes: ModuleType,
) -> Iterator[Rounds]:
    series, compressed = request.param
    options = {
        "binlog-row-value-options": "PARTIAL_JSON",
        "binlog-transaction-compression": compressed,
        "binlog-row-metadata": "FULL",
    }
    with server_of(series, **options) as server:
        yield Rounds(server, json_changes)


def _changes(batches: list[bk.Batch]) -> Iterator[dict[str, Any]]:
    rows = (row for b in batches for row in pa.Table.from_batches([b.batch]).to_pylist())
    return iter(sorted(rows, key=lambda row: row["seq"]))


def test_documents_and_diffs(rounds: Rounds, kernel_reads: ModuleType, tmp_path: Path) -> None:
    log = bk.open(str(kernel_reads.flushed(rounds.server, tmp_path)))
    seen, number = Counter[tuple[str, int]](), 1
    for row in _changes(kernel_reads.kernel_alone(log)):
        while row["pos"] >= rounds.ends[number]:
            number += 1
        image = rounds.images[number]
        (key,) = {i["id"] for i in (row["before"], row["after"]) if i["id"] is not None}
        raws = {(cell["image"], cell["column"]): cell for cell in row["raw"] or ()}
        for side, name in enumerate(("before", "after")):
            books = rounds.books[number - 1 + side][key]
            states = row[f"{name}_state"] or [0] * 4
            for at, column, book in ((1, "c", books[0]), (3, "d", books[1]), (2, "n", books[2])):
                state, value = states[at], row[name][column]
                seen[f"{image} {name} {column}", state] += 1
                if state == kernel_reads.JSON_DIFF:
                    document = rounds.books[number - 1][key][0 if column == "c" else 1]
                    assert value is None and document is not None
                    cell = raws.pop((side, at))
                    assert apply(document, parse_diffs(cell["bytes"])) == book
                elif state != kernel_reads.NOT_IN_IMAGE:
                    assert value == book, (number, image, row["pos"], key, column)
        assert not raws
    told = {what for (what, state), count in seen.items() if state == kernel_reads.JSON_DIFF}
    # NOBLOB leaves no JSON out: a BLOB it is not (sql_class.h, type() == MYSQL_TYPE_BLOB).
    assert told == {"MINIMAL after c", "MINIMAL after d"}
    assert min(seen[what, kernel_reads.JSON_DIFF] for what in told) > 20
    assert seen["FULL after c", 0] > 100 and seen["NOBLOB before d", 0] > 50
    assert number == ROUNDS


def test_the_records_of_diffs(rounds: Rounds, kernel_reads: ModuleType, tmp_path: Path) -> None:
    log = bk.open(str(kernel_reads.flushed(rounds.server, tmp_path)))
    assert list(log.row_records()) == []  # nothing was written since
    name = rounds.server.binlog_names()[1]
    log = bk.open(str(rounds.server.copy_binlog(name, tmp_path)))
    found = [
        value
        for record in log.row_records(op="update")
        for value in record["after"].values()
        if isinstance(value, dict)
    ]
    assert sum(bool(value["json_diff"]) for value in found) > 40  # empty: a path is not there
    for value in found:
        assert value.keys() == {"json_diff"}
        for diff in value["json_diff"]:
            assert diff.keys() == {"op", "path", "value"}
            assert diff["op"] in ("replace", "insert", "remove")
            assert (diff["value"] is None) == (diff["op"] == "remove")
    assert kernel_reads.difference([str(tmp_path / name)])[1] == ""
