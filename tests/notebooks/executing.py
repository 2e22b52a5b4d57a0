"""A notebook, executed as a reader does, and what its cells left behind."""

from __future__ import annotations

import json
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import nbformat
from nbclient import NotebookClient

import binlogkit
import binlogkit_fixtures

_SOURCES = {str(Path(p.__path__[0]).parent) for p in (binlogkit, binlogkit_fixtures)}
_nbformat: Any = nbformat  # its functions have no types


@dataclass(frozen=True)
class Run:
    """An executed notebook: ``found`` is what its cells left behind (the probe's keys)."""

    notebook: nbformat.NotebookNode
    found: dict[str, Any]

    def outputs(self, kind: str) -> list[Any]:
        """The outputs of all cells that have data of a MIME type, or are a stream of a name."""
        outputs = [o for cell in self.notebook.cells for o in cell.get("outputs", [])]
        return [o for o in outputs if kind in o.get("data", {}) or o.get("name") == kind]


def executed(path: Path, folder: Path, probe: str, seconds: int, **variables: str) -> Run:
    """Execute a notebook with environment variables, in an empty folder.

    ``probe``: a last cell, which prints JSON; ``seconds``: that a cell may take.
    """
    notebook = _nbformat.read(path, as_version=4)
    notebook.cells.append(_nbformat.v4.new_code_cell(probe))
    places = [*_SOURCES, *filter(None, [os.environ.get("PYTHONPATH")])]
    own = {"PYTHONPATH": os.pathsep.join(places), "IPYTHONDIR": str(folder / ".ipython")}
    client = NotebookClient(
        notebook,
        timeout=seconds,
        kernel_name="python3",
        resources={"metadata": {"path": str(folder)}},
    )
    client.execute(env={**os.environ, **own, **variables})
    last = notebook.cells.pop()
    return Run(notebook, json.loads("".join(o.text for o in last.outputs)))
