"""Values at the edges of every type: the cells that real servers wrote for them.

``boundary_cells.json`` is written by ``make_boundary_cells.py``, from the servers it names.
"""

from __future__ import annotations

import json
from collections import defaultdict
from dataclasses import replace
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from binlogkit._kernel.cells import CellOverrun
from binlogkit._kernel.codecs import decoder_for
from binlogkit._kernel.json_binary import to_text

CELLS: list[dict[str, Any]] = json.loads(
    Path(__file__).with_name("boundary_cells.json").read_text(encoding="utf-8")
)
COLUMNS: dict[str, list[dict[str, Any]]] = defaultdict(list)
for _cell in CELLS:
    COLUMNS[f"{_cell['column']}-{_cell['charset']}"].append(_cell)


def as_8_0_prints(cell: dict[str, Any]) -> bool:
    return cell["kind"] != "json" or any(not s.startswith("5.") for s in cell["servers"])


@pytest.mark.parametrize("column", COLUMNS)
def test_value_is_the_servers(column: str, cell_checks: ModuleType) -> None:
    cells = [c for c in COLUMNS[column] if as_8_0_prints(c)]
    assert [cell_checks.decoded(c) for c in cells] == [c["answer"] for c in cells]


@pytest.mark.parametrize("column", COLUMNS)
def test_the_kernel_stores_the_servers_value(
    column: str, cell_checks: ModuleType, kernel_cells: ModuleType
) -> None:
    by_spec = defaultdict(list)
    for record in COLUMNS[column]:
        spec = replace(cell_checks.spec_of(record), as_5_7=not as_8_0_prints(record))
        by_spec[spec].append(record)
    for spec, records in by_spec.items():
        stored = kernel_cells.through_kernel(spec, [bytes.fromhex(r["cell"]) for r in records])
        found = [cell_checks.in_servers_form(spec, cell.as_codec()) for cell in stored]
        assert found == [record["answer"] for record in records]


def test_5_7_prints_json_as_json_binary_says() -> None:
    """Without ``.0``, and with bare line breaks in long base64; nothing else differs."""
    cells = [c for c in COLUMNS["JSON-None"] if not as_8_0_prints(c)]
    assert cells
    for cell in cells:
        data = bytes.fromhex(cell["cell"])
        assert to_text(data[4:], as_5_7=True) == cell["answer"]


@pytest.mark.parametrize("column", COLUMNS)
def test_cell_among_others_ends_where_it_does(column: str, cell_checks: ModuleType) -> None:
    for cell in COLUMNS[column]:
        decode, data = decoder_for(cell_checks.spec_of(cell)), bytes.fromhex(cell["cell"])
        assert decode(b"\xff" + data + b"\xff", 1, len(data) + 2)[1] == len(data) + 1
        assert decode(memoryview(data), 0, len(data))[1] == len(data)


@pytest.mark.parametrize("column", COLUMNS)
def test_cell_that_is_cut_overruns(column: str, cell_checks: ModuleType) -> None:
    for cell in COLUMNS[column]:
        decode, data = decoder_for(cell_checks.spec_of(cell)), bytes.fromhex(cell["cell"])
        for end in {0, 1, len(data) // 2, len(data) - 1} - {len(data)}:
            with pytest.raises(CellOverrun):
                decode(data, 0, max(0, end))


def test_both_series_are_there() -> None:
    assert {s for c in CELLS for s in c["servers"]} >= {"5.7.22", "8.0.31"}
