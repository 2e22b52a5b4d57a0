"""Importing the room does no work: heavy libraries load when they are used."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

SOURCE_ROOT = Path(__file__).parents[2] / "toolkit"
MODULES = ("output", "text", "sql", "plots", "html", "notebook", "model", "evidence")
HEAVY = ("matplotlib", "pandas", "pyarrow", "numpy", "narwhals", "rich", "pyspark")


def test_importing_loads_nothing_heavy() -> None:
    script = (
        f"import sys, binlogkit.reports, {', '.join(f'binlogkit.reports.{m}' for m in MODULES)}\n"
        f"print([name for name in {HEAVY!r} if name in sys.modules])"
    )
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", script], capture_output=True, text=True, check=True,
        env={"PYTHONPATH": str(SOURCE_ROOT), "PATH": os.environ["PATH"]},
    )  # fmt: skip
    assert done.stdout == "[]\n"
