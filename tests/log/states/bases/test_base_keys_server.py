"""A base tells what its table's unique keys are called, so that DROP KEY drops the one it names."""

from __future__ import annotations

from pathlib import Path

import pytest

from binlogkit_fixtures.servers import Server
from tests.log.undoing.test_undo_server import Story
from tests.servers import each_server

pytestmark = pytest.mark.server

server = each_server()

MADE = "CREATE TABLE t (id INT NOT NULL, v INT NOT NULL, w INT NOT NULL, {})"
#: A table's keys, and what is done after the base.
CASES = {
    "the key of rows": (
        "UNIQUE KEY i (v)",
        ("ALTER TABLE t DROP KEY i", "INSERT INTO t VALUES (4, 1, 1)"),
    ),
    "one of two": (
        "UNIQUE KEY i (v), UNIQUE KEY j (w)",
        ("DROP INDEX i ON t", "INSERT INTO t VALUES (4, 1, 4)", "UPDATE t SET v = 6 WHERE w = 4"),
    ),
    "one that was renamed": (
        "UNIQUE KEY i (v), UNIQUE KEY j (w)",
        ("ALTER TABLE t RENAME KEY i TO k", "ALTER TABLE t DROP KEY k",
         "INSERT INTO t VALUES (4, 1, 4)", "UPDATE t SET v = 6 WHERE w = 4"),
    ),
}  # fmt: skip


@pytest.mark.parametrize("image", ["FULL", "MINIMAL"])
@pytest.mark.parametrize("case", CASES)
@pytest.mark.gate(1)
def test_a_unique_key_that_is_dropped_later(
    server: Server, case: str, image: str, tmp_path: Path
) -> None:
    keys, later = CASES[case]
    story, base = Story(server, tmp_path, "keys_"), tmp_path / "base.parquet"
    story.run(f"SET binlog_row_image = {image}", MADE.format(keys))
    story.run("INSERT INTO t VALUES (1, 1, 1), (2, 2, 2), (3, 3, 3)")
    story.log().state("keys_.t").to_parquet(base)
    story.run(*later)
    state = story.log().state("keys_.t", base=str(base))
    assert state.determined, state.findings.to_pylist()
    found = sorted(tuple(values.values()) for values in state.rows["values"].to_pylist())
    assert found == story.run("SELECT * FROM t ORDER BY 1, 2, 3")
