"""The notebook of the cache runs, on a server of its own, and its cells hold what they assert."""

from __future__ import annotations

import base64
import os
from pathlib import Path
from typing import Any

import nbformat
import pytest
from nbclient import NotebookClient

import binlogkit
import binlogkit_fixtures

pytestmark = [pytest.mark.notebook, pytest.mark.server]

NOTEBOOK = Path(__file__).resolve().parents[2] / "notebooks" / "cache.ipynb"
PNG = b"\x89PNG\r\n\x1a\n"
_SOURCES = {str(Path(p.__path__[0]).parent) for p in (binlogkit, binlogkit_fixtures)}
_nbformat: Any = nbformat  # its functions have no types


def test_the_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = os.pathsep.join([*_SOURCES, *filter(None, [os.environ.get("PYTHONPATH")])])
    monkeypatch.setenv("PYTHONPATH", path)
    monkeypatch.setenv("IPYTHONDIR", str(tmp_path / "ipython"))
    notebook = _nbformat.read(NOTEBOOK, as_version=4)
    client = NotebookClient(
        notebook, timeout=120, kernel_name="python3", resources={"metadata": {"path": tmp_path}}
    )
    client.execute()
    outputs = [o for cell in notebook.cells for o in cell.get("outputs", ())]
    assert not [o for o in outputs if o.output_type == "error"]
    shown = [o.data for o in outputs if "data" in o]
    texts = " ".join(str(data.get("text/plain", "")) + str(data.get("text/html", ""))
                     for data in shown)  # fmt: skip
    assert "WRITE_ROWS_EVENT" in texts and "TABLE_MAP_EVENT" in texts and "Marcelo" in texts
    images = [base64.b64decode(data["image/png"]) for data in shown if "image/png" in data]
    assert images and all(image.startswith(PNG) for image in images)
