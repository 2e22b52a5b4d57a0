"""Importing an analysis loads no dataframe engine but Arrow: it comes with the frame."""

from __future__ import annotations

import subprocess
import sys

import pytest

from tests.waiting import LONG

MODULES = ("audit", "logging_rules", "point_in_time", "row_image", "undoing.undo")


@pytest.mark.parametrize("module", MODULES)
def test_importing_loads_no_engine(module: str) -> None:
    code = (
        f"import sys, binlogkit.analyses.{module}; "
        "print(sorted({'pandas', 'pyspark', 'matplotlib'} & set(sys.modules)))"
    )
    found = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=LONG
    )
    assert found.stdout.strip() == "[]"
