"""The matrix: eighteen cells and the extra ones."""

from __future__ import annotations

import pytest

from binlogkit.errors import UsageError
from binlogkit_fixtures import matrix
from binlogkit_fixtures.scenarios import NAMES


def test_the_eighteen() -> None:
    names = [cell.name for cell in matrix.select()]
    assert len(names) == len(set(names)) == 18
    assert names[0] == "5.7-row-full"
    assert names[-1] == "8.0-mixed-noblob"


def test_the_matrix_is_narrowed() -> None:
    found = matrix.select(versions=["8.0"], formats=["row", "MIXED"], images=["minimal"])
    assert [cell.name for cell in found] == ["8.0-row-minimal", "8.0-mixed-minimal"]
    assert [c.name for c in matrix.select(cells=["5.7-row-v1-events"])] == ["5.7-row-v1-events"]


def test_what_does_not_exist_is_refused() -> None:
    with pytest.raises(UsageError, match="no cell 'x'"):
        matrix.select(cells=["x"])
    with pytest.raises(UsageError, match="no cell of the matrix matches"):
        matrix.select(cells=["8.0-row-full"], versions=["5.7"])


@pytest.mark.parametrize("cell", matrix.CELLS.values(), ids=lambda cell: cell.name)
def test_each_cell_is_one_server(cell: matrix.Cell) -> None:
    options = cell.options
    assert options["binlog-format"] == cell.format
    assert options["binlog-row-image"] == cell.image
    assert cell.spec().version == cell.series
    kept = (*cell.golden, *cell.apart)
    assert set(kept) <= set(NAMES)
    assert kept
    for name, value in cell.settings.items():
        assert options[name] == value
    assert cell.facts((8, 0, 31)).gtid == options["gtid-mode"]


def test_identities_tell_the_series() -> None:
    assert {c.options["server-id"] for c in matrix.CELLS.values()} == {"56", "57", "80", "90"}
