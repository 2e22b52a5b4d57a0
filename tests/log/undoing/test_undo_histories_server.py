"""Undo of generated histories with foreign keys: the tables are what they were at the mark.

``BINLOGKIT_HISTORIES`` says how many of each kind; a campaign is
``BINLOGKIT_HISTORIES=170 pytest tests/log/undoing/test_undo_histories_server.py``.
"""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import pymysql
import pytest

import binlogkit as bk
from binlogkit.reports.sql import SqlOptions, script
from binlogkit_fixtures.servers import Server
from binlogkit_fixtures.truth import read_tables
from tests.log.states.test_cascades_server import HISTORIES, NAMES, begin, statement_of
from tests.servers import each_server

pytestmark = pytest.mark.server

BEFORE, AFTER = 40, 20  # statements


server = each_server()  # foreign keys act below the log up to 9.5


def _rows(cursor: Any) -> dict[str, list[Any]]:
    found = {}
    for name in NAMES:
        cursor.execute(f"SELECT * FROM {name}")
        found[name] = sorted(cursor.fetchall(), key=repr)
    return found


@pytest.mark.parametrize("image", ["FULL", "MINIMAL", "NOBLOB"])
@pytest.mark.parametrize("seed", range(HISTORIES))
@pytest.mark.gate(3)
def test_all_that_happened_since(server: Server, image: str, seed: int, tmp_path: Path) -> None:
    chance = random.Random(f"undo {image}/{seed}")
    with server.connect(autocommit=True) as connection, connection.cursor() as cursor:
        begin(cursor, image)
        _change(cursor, chance, BEFORE)
        expected = _rows(cursor)
        name = server.binlog_names()[-1]
        cursor.execute(f"SHOW BINLOG EVENTS IN '{name}'")
        mark = int(cursor.fetchall()[-1][4])
        _change(cursor, chance, AFTER)
        log = bk.open(str(server.copy_binlog(name, tmp_path)))
        plans = log.undo(start_position=mark)
        assert [plan["refused"] for plan in plans if plan["refused"]] == []
        verdict: tuple[Any, ...] = ()
        for line in script(plans, SqlOptions(commit=True)):
            if not line.startswith("--"):
                cursor.execute(line.rstrip(";\n"))
                verdict = (cursor.fetchall() or [verdict])[0]
        if len(plans):
            assert verdict[-1] == "committed"
        assert _rows(cursor) == expected


@pytest.mark.parametrize("image", ["FULL", "MINIMAL"])
@pytest.mark.parametrize("seed", range(HISTORIES))
@pytest.mark.gate(2)
def test_a_refused_change_shows_its_row_as_it_is(
    server: Server, image: str, seed: int, tmp_path: Path
) -> None:
    chance = random.Random(f"refused {image}/{seed}")
    with server.connect(autocommit=True) as connection, connection.cursor() as cursor:
        begin(cursor, image)
        name, places = server.binlog_names()[-1], list[int]()
        for count in (BEFORE, 10, AFTER):
            _change(cursor, chance, count)
            cursor.execute(f"SHOW BINLOG EVENTS IN '{name}'")
            places.append(int(cursor.fetchall()[-1][4]))
        rows = read_tables(connection, ["u"])
    log = bk.open(str(server.copy_binlog(name, tmp_path)))
    frame = log.undo(start_position=places[0], stop_position=places[1]).frame()
    for change in frame[frame["refused"].notna() & frame["now"].notna()].to_dict("records"):
        key, now = json.loads(change["key"]), json.loads(change["now"])
        there = [
            row for row in rows[f"u.{change['table']}"].records() if key.items() <= row.items()
        ]
        assert len(there) == 1 and now.items() <= there[0].items(), change


def _change(cursor: Any, chance: random.Random, count: int) -> None:
    for _ in range(count):
        try:
            cursor.execute(statement_of(chance))
        except pymysql.err.MySQLError:
            continue
