"""What a stream of batches takes does not grow with the log: tests/benchmarks/memory.py, small."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from typing import Any

import pytest

_PATH = Path(__file__).parents[1] / "benchmarks" / "memory.py"


def bench() -> Any:
    """The benchmark's module."""
    spec = importlib.util.spec_from_file_location("memory_benchmark", _PATH)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.slow
@pytest.mark.parametrize(
    ("case", "scale", "most"),
    [
        ("transaction", 0.1, 400),
        ("payload", 0.1, 450),
        ("maps", 0.05, 300),
        ("row", 0.05, 500),
        ("tables", 0.1, 250),
    ],
)
def test_peak(tmp_path: Path, case: str, scale: float, most: int) -> None:
    found = bench().measured(case, scale, 2, str(tmp_path))
    assert found["rows"] > 0
    assert found["peak"] - found["idle"] < most
    assert not list(tmp_path.iterdir())
