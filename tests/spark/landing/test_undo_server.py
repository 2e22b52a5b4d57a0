"""Undo of landed changes of a table whose key is another one since."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from binlogkit.spark.landing import Landing
from binlogkit_fixtures.servers import Server
from tests.log.undoing.test_undo_server import Story
from tests.servers import each_server
from tests.spark.landing.landings import land
from tests.spark.landing.test_undo import MODES, made

pytestmark = pytest.mark.server

server = each_server()
_FOUND_BY = ("where", "limit_one")


def test_plans_are_the_logs_after_a_key_was_dropped(server: Server, tmp_path: Path) -> None:
    """The log has the table's CREATE; or its table maps alone name the key: then a landing finds
    rows by their whole images, since it does not keep which of its versions a change had."""
    for beginning in ("CREATE", *(() if server.version.startswith("5.7") else ("FULL",))):
        story = Story(server, tmp_path, f"unkeyed_{beginning.lower()}")
        story.run("CREATE TABLE s (id INT PRIMARY KEY, v INT, w INT NOT NULL)")
        if beginning == "FULL":
            story.run("SET GLOBAL binlog_row_metadata = FULL", "FLUSH BINARY LOGS")
            story.name = server.binlog_names()[-1]
        story.mark()
        story.run("INSERT INTO s VALUES (1, NULL, 2), (3, 3, 3)", "UPDATE s SET v = 5 WHERE id = 1",
                  "ALTER TABLE s DROP PRIMARY KEY", "INSERT INTO s VALUES (1, 5, 4)",
                  "UPDATE s SET v = 7 WHERE w = 2", "DELETE FROM s WHERE w = 4",
                  "ALTER TABLE s ADD PRIMARY KEY (w)", "INSERT INTO s VALUES (1, 9, 9)",
                  "UPDATE s SET v = 8 WHERE w = 2")  # fmt: skip
        log, lake = story.log(), tmp_path / beginning
        land(tmp_path / story.name, lake)
        for how in ({"start_position": story.pos}, *MODES):
            found, wanted = (made(asked, **how) for asked in (Landing(lake), log))
            if beginning == "FULL":
                found, wanted = map(_found_alike, (found[0], wanted[0]))
            assert found == wanted, how


def _found_alike(plans: list[str]) -> list[dict[str, Any]]:
    """Plans without how their rows are found."""
    return [
        {name: value for name, value in json.loads(plan).items() if name not in _FOUND_BY}
        for plan in plans
    ]
