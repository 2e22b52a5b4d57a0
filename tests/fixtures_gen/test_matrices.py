"""The matrices of the package: eighteen cells, single ones, and all pairs."""

from __future__ import annotations

import re

import pytest

from binlogkit.errors import UsageError
from binlogkit_fixtures import matrices
from binlogkit_fixtures.matrix import Cell
from binlogkit_fixtures.scenarios import NAMES, load


def test_the_eighteen() -> None:
    names = [cell.name for cell in matrices.select()]
    assert len(names) == len(set(names)) == 18
    assert names[0] == "5.7-row-full"
    assert names[-1] == "8.0-mixed-noblob"


def test_the_matrix_is_narrowed() -> None:
    found = matrices.select(versions=["8.0"], formats=["row", "MIXED"], images=["minimal"])
    assert [cell.name for cell in found] == ["8.0-row-minimal", "8.0-mixed-minimal"]
    assert [c.name for c in matrices.select(names=["5.7-row-v1-events"])] == ["5.7-row-v1-events"]


def test_what_does_not_exist_is_refused() -> None:
    with pytest.raises(UsageError, match="no cell 'x'"):
        matrices.select(names=["x"])
    with pytest.raises(UsageError, match="no cell of the matrix matches"):
        matrices.select(names=["8.0-row-full"], versions=["5.7"])


@pytest.mark.parametrize("cell", matrices.cells().values(), ids=lambda cell: cell.name)
def test_each_cell_is_one_server_that_plays_something(cell: Cell) -> None:
    options = cell.options
    assert options["binlog-format"] == cell.format
    assert options["binlog-row-image"] == cell.image
    assert cell.spec().version == cell.series
    assert set(cell.scenarios) <= set(NAMES)
    assert cell.scenarios
    for name, value in cell.settings.items():
        assert options[name] == value
    assert cell.facts((8, 0, 31)).gtid == options["gtid-mode"]


def test_identities_tell_the_series() -> None:
    assert {c.options["server-id"] for c in matrices.cells().values()} == {"56", "57", "80", "90"}


def test_each_server_of_a_story_has_an_identity() -> None:
    alone = matrices.cell("8.0-row-full")
    assert alone.members(load("keys")) == {"": alone}
    members = alone.members(load("chain"))
    assert list(members) == ["source", "middle", "replica"]
    options = [member.options for member in members.values()]
    assert [o["server-id"] for o in options] == ["80", "8002", "8003"]
    assert [str(o["server-uuid"])[-4:] for o in options] == ["8080", "8002", "8003"]
    assert [o.get("max-relay-log-size") for o in options] == [None, None, "4096"]
    assert {o["relay-log-purge"] for o in options} == {"OFF"}


def test_every_scenario_of_the_package_is_golden_somewhere() -> None:
    played = {name for cell in matrices.cells().values() for name in cell.scenarios}
    assert played == set(NAMES)


def test_names_that_a_file_speaks_of_are_cells() -> None:
    """A slip in a name would leave its scenarios unplayed, and nobody would know."""
    text = matrices.matrix_path("single").read_text(encoding="utf-8")
    lists = re.findall(r"^name = (\[[^]]*\]|.+)$", text, re.M)
    named = {name for line in lists for name in re.findall(r'"([^"]+)"', line)}
    assert named <= set(matrices.cells())
