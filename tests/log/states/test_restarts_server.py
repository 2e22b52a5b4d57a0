"""Tables of the MEMORY engine after their server has started again, against SELECT."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

import binlogkit as bk
from binlogkit.errors import UndeterminedError
from binlogkit.log.log import Log
from binlogkit_fixtures.clock import start_server
from binlogkit_fixtures.servers import Server, ServerSpec
from tests.servers import SERIES
from tests.sources.server.conftest_server import settings_of
from tests.waiting import until

pytestmark = [pytest.mark.server, pytest.mark.gate(1)]


@pytest.fixture(scope="module", params=SERIES)
def restarted(request: pytest.FixtureRequest) -> Iterator[Server]:
    """A server that was shut down, and killed later, with rows in two tables of two engines."""
    server = start_server(ServerSpec(request.param), "auto", "real")[0]
    try:
        server.query("CREATE DATABASE m")
        server.query("CREATE TABLE m.kept (id INT PRIMARY KEY)")
        for table in ("lost", "used"):
            server.query(f"CREATE TABLE m.{table} (id INT PRIMARY KEY) ENGINE=MEMORY")
            server.query(f"INSERT INTO m.{table} VALUES (1), (2)")
        server.query("INSERT INTO m.kept VALUES (1)")
        server.query("FLUSH BINARY LOGS")
        server.stop()
        server.start_again()
        server.query("INSERT INTO m.kept VALUES (2)")
        server.query("INSERT INTO m.used VALUES (3)")  # what emptied it is logged before
        server.kill()
        server.start_again()
        server.query("INSERT INTO m.kept VALUES (3)")
        yield server
    finally:
        server.close()


def test_their_rows_are_gone(restarted: Server, tmp_path: Path) -> None:
    log = _opened(restarted, tmp_path)
    # Of each table the rows at the end of each log that has transactions: FLUSH began the second.
    files = [log.files[0], *log.files[2:]]
    expected = {"lost": [2, 0, 0], "used": [2, 1, 0], "kept": [1, 2, 3]}
    for table, counts in expected.items():
        for file, count in zip(files, counts, strict=True):
            state = log.state(f"m.{table}", at=(file, Path(file).stat().st_size))
            assert (state.rows.num_rows, state.determined) == (count, True), (table, file)
    lost = log.state("m.lost")
    assert {row["finding"] for row in lost.findings.to_pylist()} == {"restarted"}
    # SELECT comes last: it is what makes the server log that a table was emptied.
    for table in expected:
        state = log.state(f"m.{table}")
        found = [tuple(values.values()) for values in state.rows["values"].to_pylist()]
        assert found == [*restarted.query(f"SELECT id FROM m.{table} ORDER BY id")]
        assert state.determined


def test_a_base_of_before_the_start(restarted: Server, tmp_path: Path) -> None:
    log = _opened(restarted, tmp_path)
    first = log.files[0]
    before = log.state("m.lost", at=(first, Path(first).stat().st_size))
    before.to_parquet(str(tmp_path / "base.parquet"))
    later = bk.open([*log.files[1:]])
    after = later.state("m.lost", base=str(tmp_path / "base.parquet"))
    assert (before.rows.num_rows, after.rows.num_rows) == (2, 0)


def test_live_tables(restarted: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("binlogkit.livestate.live._TOGETHER", 1)  # each transaction is a moment
    log, tables, compared = _opened(restarted, tmp_path), ["m.lost", "m.used", "m.kept"], 0
    with bk.live(log, tables, wait=False, history=1 << 20) as live:
        until(lambda: live.ended, "the logs' end")
        for moment in live.moments[1:]:
            for table in tables:
                with suppress(UndeterminedError):  # it was not there yet
                    state = live.state(table, at=moment)
                    wanted = log.state(table, at=(moment.file, moment.pos))
                    later = "made_later" in wanted.findings["finding"].to_pylist()
                    assert state.determined == wanted.determined or later, (table, moment)
                    assert [*state.records()] == [*wanted.records()], (table, moment)
                    compared += state.determined
    assert compared > 15


def test_live_tables_of_a_server_that_had_started_again(restarted: Server) -> None:
    """Its log, from whose beginning a server sends by GTID, began with a start that is past."""
    restarted.query("INSERT INTO m.used VALUES (7)")
    with bk.live(settings_of(restarted), ["m.used"], lock="held") as live:
        restarted.query("INSERT INTO m.used VALUES (8)")
        until(lambda: len(live["m.used"]) == 2, "the row comes")
        assert sorted(live["m.used"]["id"]) == [7, 8]
    restarted.query("DELETE FROM m.used")


def test_through_an_index(restarted: Server, tmp_path: Path) -> None:
    log = _opened(restarted, tmp_path)
    for _ in range(2):  # the first time it is made
        state = bk.open(list(log.files), index=str(tmp_path / "index")).state("m.lost")
        assert (state.rows.num_rows, state.determined) == (0, True)


def _opened(server: Server, folder: Path) -> Log:
    (folder / "logs").mkdir()
    for name in server.binlog_names():
        server.copy_binlog(name, folder / "logs")
    return bk.open(str(folder / "logs"))
