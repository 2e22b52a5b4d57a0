"""A table before the statement that made it: not there if that statement proves it, else not known.

Against SELECT at the beginning of a log in the middle of a series.
"""

from __future__ import annotations

from pathlib import Path

import pytest

import binlogkit as bk
from binlogkit_fixtures.servers import Server
from tests.log.undoing.test_undo_server import Story
from tests.servers import each_server

pytestmark = [pytest.mark.server, pytest.mark.gate(1)]

server = each_server()
TABLE = "(id INT PRIMARY KEY)"

#: Statements before the log, those in it, and whether it shows that the table was not there.
CASES: dict[str, tuple[tuple[str, ...], tuple[str, ...], bool]] = {
    "made": ((), (f"CREATE TABLE made.t {TABLE}", "INSERT INTO made.t VALUES (9)"), True),
    "renamed": (
        (f"CREATE TABLE made.u {TABLE}", "INSERT INTO made.u VALUES (1)"),
        ("RENAME TABLE made.u TO made.t",),
        True,
    ),
    "dropped if it exists": (
        (f"CREATE TABLE made.t {TABLE}", "INSERT INTO made.t VALUES (1)"),
        ("DROP TABLE IF EXISTS made.t", f"CREATE TABLE made.t {TABLE}"),
        False,
    ),
    "dropped": (
        (f"CREATE TABLE made.t {TABLE}", "INSERT INTO made.t VALUES (1)"),
        ("DROP TABLE made.t", f"CREATE TABLE made.t {TABLE}"),
        False,
    ),
    "made if it is not there": (
        (f"CREATE TABLE made.t {TABLE}", "INSERT INTO made.t VALUES (1)"),
        (f"CREATE TABLE IF NOT EXISTS made.t {TABLE}",),
        False,
    ),
    "database dropped": (
        (f"CREATE TABLE made.t {TABLE}", "INSERT INTO made.t VALUES (1)"),
        ("DROP DATABASE made", "CREATE DATABASE made", f"CREATE TABLE made.t {TABLE}"),
        False,
    ),
    "temporary": (
        (f"CREATE TABLE made.t {TABLE}", "INSERT INTO made.t VALUES (1)"),
        ("SET binlog_format = STATEMENT", f"CREATE TEMPORARY TABLE made.t {TABLE}",
         "INSERT INTO made.t VALUES (5)"),
        False,
    ),
}  # fmt: skip


@pytest.mark.filterwarnings("ignore::binlogkit.errors.UnmetWarning")  # no row event, no DDL
@pytest.mark.parametrize("case", CASES)
def test_what_the_log_shows(server: Server, case: str, tmp_path: Path) -> None:
    before, after, shown = CASES[case]
    story = Story(server, tmp_path, "made")
    story.run(*before, "FLUSH BINARY LOGS")
    story.name = server.binlog_names()[-1]
    there = story.run("SHOW TABLES LIKE 't'")
    count = story.run("SELECT COUNT(*) FROM t")[0][0] if there else 0
    story.run(*after)
    state = story.log().state("made.t", at=4)
    assert state.determined == shown, state.findings.to_pylist()
    assert not shown or state.rows.num_rows == count


def test_a_log_is_missing_before_it(server: Server, tmp_path: Path) -> None:
    """In it the table may have been dropped, and was."""
    story = Story(server, tmp_path, "made")
    story.run(f"CREATE TABLE t {TABLE}", "INSERT INTO t VALUES (1)", "CREATE TABLE u (id INT)")
    names = list[str]()
    for statement in ("INSERT INTO u VALUES (1)", "DROP TABLE t", f"CREATE TABLE t {TABLE}"):
        story.run("FLUSH BINARY LOGS")
        names.append(server.binlog_names()[-1])
        story.run(statement)
    logs = [str(server.copy_binlog(name, tmp_path)) for name in names]
    state = bk.open([logs[0], logs[2]]).state("made.t", at=(logs[0], Path(logs[0]).stat().st_size))
    assert not state.determined


@pytest.mark.filterwarnings("ignore::binlogkit.errors.UnmetWarning")
def test_such_a_state_is_a_base(server: Server, tmp_path: Path) -> None:
    """It has no columns, and was called damaged."""
    story, base = Story(server, tmp_path, "made"), tmp_path / "base.parquet"
    story.mark()
    story.run(f"CREATE TABLE t {TABLE}", "INSERT INTO t VALUES (9)")
    story.log().state("made.t", at=story.pos).to_parquet(base)
    state = story.log().state("made.t", base=str(base))
    assert (state.determined, state.rows["values"].to_pylist()) == (True, [{"id": 9}])
