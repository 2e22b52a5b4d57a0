"""Notebooks whose cells assert what they say, against a server or the whole log."""

from __future__ import annotations

import base64
from pathlib import Path

import pytest

from tests.notebooks.executing import executed

pytestmark = pytest.mark.notebook

NOTEBOOKS = Path(__file__).resolve().parents[2] / "notebooks"
PNG = b"\x89PNG\r\n\x1a\n"
_PER_CELL = 180  # seconds


@pytest.mark.parametrize(
    ("name", "plots", "shown"),
    [
        pytest.param(
            "cache", 1, ("TABLE_MAP_EVENT", "WRITE_ROWS_EVENT", "Marcelo"),
            marks=pytest.mark.server,
        ),
        pytest.param(
            "damaged", 1, ("ChecksumError", "GapError", "-- GAP", "missing:", "shop.orders"),
        ),
        pytest.param(
            "dropped", 1, ("TRUNCATE TABLE stock", "rolled back, all well", "committed"),
            marks=pytest.mark.server,
        ),
        pytest.param(
            "judging", 1, ("Verdict.DIFFER", "json-rewritten", "53 known differences, 0 new ones"),
        ),
    ],
)  # fmt: skip
def test_it_runs_and_shows(name: str, plots: int, shown: tuple[str, ...], tmp_path: Path) -> None:
    run = executed(NOTEBOOKS / f"{name}.ipynb", tmp_path, "print(0)", _PER_CELL)
    outputs = [output for cell in run.notebook.cells for output in cell.get("outputs", ())]
    data = [output.data for output in outputs if "data" in output]
    texts = [str(output.get("text", "")) for output in outputs]
    texts += [str(one.get("text/plain", "")) + str(one.get("text/html", "")) for one in data]
    assert [text for text in shown if not any(text in found for found in texts)] == []
    images = [base64.b64decode(one["image/png"]) for one in data if "image/png" in one]
    assert [image[:8] for image in images] == [PNG] * plots
    assert run.outputs("stderr") == []
