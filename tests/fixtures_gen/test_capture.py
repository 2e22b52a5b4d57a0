"""Captures from real servers: the golden logs come again, and what the generator must refuse."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from binlogkit.errors import ServerError, UsageError
from binlogkit_fixtures import golden
from binlogkit_fixtures import manifest as mf
from binlogkit_fixtures.capture import How, capture_scenario
from binlogkit_fixtures.differences import UNEXPLAINED, explain_differences
from binlogkit_fixtures.matrices import cell as cell_of
from binlogkit_fixtures.matrix import Cell
from binlogkit_fixtures.scenarios import load
from binlogkit_fixtures.scenarios.model import Failure, Mark, Scenario, Sql
from binlogkit_fixtures.servers import Server, start
from binlogkit_fixtures.verify import verify
from binlogkit_fixtures.workers import capture_matrix

pytestmark = pytest.mark.server

NOON = 1_714_564_800_000_000  # 2024-05-01T12:00:00Z


@pytest.mark.sampled(0, 1)
@pytest.mark.parametrize(
    "name", ["5.7-mixed-full", "8.0-row-minimal", "8.0-row-compressed", "8.0-row-durable"]
)
def test_a_cell_comes_again_as_it_was(name: str, tmp_path: Path) -> None:
    """Every difference from the golden logs has a reason, and none is in what was written."""
    cell = cell_of(name)
    heard: list[str] = []
    scenarios = [load(scenario) for scenario in cell.scenarios]
    made = capture_matrix(
        [(cell, scenarios)], tmp_path, How(), done=lambda captured: heard.append(captured.name)
    )
    folders = [captured.folder for captured in made if captured.folder is not None]
    assert [folder.name for folder in folders] == list(cell.scenarios)
    assert heard == [f"{name}/{scenario}" for scenario in cell.scenarios]
    for old in golden.cases(cell=name):
        folder = tmp_path / str(old)
        fresh = mf.read(folder)
        if fresh.server_version != old.manifest.server_version:
            pytest.skip(f"the golden logs are of {old.manifest.server_version}")
        found = explain_differences(old.path, folder)
        unexplained = [d.where for d in found if d.kind == UNEXPLAINED]
        assert unexplained == []
        assert Counter(d.kind for d in found)["commit-clock"] > 0  # it is no copy
        assert list(verify(folder)) == []


def _captured(server: Server, cell: Cell, scenario: Scenario, folder: Path) -> mf.Manifest:
    return capture_scenario({"": (server, None)}, cell, scenario, folder)[folder]


def _scenario(*texts: str, fails: tuple[Failure, ...] = ()) -> Scenario:
    steps = [Sql(text, "main", NOON) for text in texts[:-1]]
    last = Sql(texts[-1], "main", NOON, fails)
    return Scenario("small", "", ("small",), (*steps, last, Mark("end", NOON)))


def test_a_statement_that_goes_otherwise_stops_the_story(tmp_path: Path) -> None:
    cell = cell_of("5.7-row-full")
    make = "CREATE DATABASE small"
    wrong = _scenario(make, "SELEC 1")
    unmet = _scenario(make, "SELECT 1", fails=(Failure(1064),))
    right = _scenario(make, "SELEC 1", fails=(Failure(1064),))
    with start(cell.spec()) as server:
        with pytest.raises(ServerError, match=r"step 1 in session main.*error 1064"):
            _captured(server, cell, wrong, tmp_path / "a")
        with pytest.raises(ServerError, match="error 1064 did not come"):
            _captured(server, cell, unmet, tmp_path / "b")
        found = _captured(server, cell, right, tmp_path / "c")
        with pytest.raises(UsageError, match="is not empty"):
            _captured(server, cell, right, tmp_path / "c")
    assert [(e.step, e.code, e.sql) for e in found.errors] == [(1, 1064, "SELEC 1")]
    assert found.mysqlbinlog is None
    assert found.texts == ()
    assert found.mark("end").unix_time == NOON // 1_000_000


def test_one_capture_leaves_nothing_for_the_next(tmp_path: Path) -> None:
    """A transaction prepared, a database and a session are gone; the log begins anew."""
    cell = cell_of("8.0-row-full")
    story = _scenario(
        "CREATE DATABASE small",
        "CREATE TABLE small.t (id INT PRIMARY KEY)",
        "XA START 'left'",
        "INSERT INTO small.t VALUES (1)",
        "XA END 'left'",
        "XA PREPARE 'left'",
    )
    with start(cell.spec()) as server:
        first = _captured(server, cell, story, tmp_path / "first")
        assert server.query("XA RECOVER") == []
        assert server.query("SHOW DATABASES LIKE 'small'") == []
        second = _captured(server, cell, story, tmp_path / "second")
    assert first.mark("end").prepared == ("X'6C656674',X'',1",)
    assert first.mark("end").gtid_executed == second.mark("end").gtid_executed
    assert [b.size for b in first.binlogs] == [b.size for b in second.binlogs]


def test_nothing_is_overwritten(tmp_path: Path) -> None:
    """The whole matrix is refused before a server starts."""
    mine = tmp_path / "5.7-row-minimal" / "keys" / "mine"
    mine.parent.mkdir(parents=True)
    mine.write_text("not to be lost")
    cells = [cell_of("5.7-row-full"), cell_of("5.7-row-minimal")]
    with pytest.raises(UsageError, match="is not empty"):
        capture_matrix([(cell, [load("keys")]) for cell in cells], tmp_path, How())
    assert mine.read_text() == "not to be lost"
    assert not (tmp_path / "5.7-row-full").exists()


def test_the_first_error_stops_the_matrix(tmp_path: Path) -> None:
    cells = [cell_of("5.7-row-full"), cell_of("5.7-row-minimal")]
    jobs = [(cells[0], [_scenario("SELEC 1")]), (cells[1], [load("keys")])]
    with pytest.raises(ServerError, match="error 1064"):
        capture_matrix(jobs, tmp_path, How(), servers=1)
    assert list(tmp_path.iterdir()) == []
