"""No module imports itself by way of others, in functions and for type checking neither."""

from __future__ import annotations

import sys
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import grimp
import pytest

PACKAGES = ("binlogkit", "binlogkit_fixtures", "binlogkit_pytest", "pyspark_binlog")


def prepare(*packages: str) -> None:
    """CycleError, with the modules of a circle in its arguments, if there is one."""
    graph = grimp.build_graph(*packages, exclude_type_checking_imports=False, cache_dir=None)
    found = {module: graph.find_modules_directly_imported_by(module) for module in graph.modules}
    TopologicalSorter(found).prepare()


def test_there_is_no_circle() -> None:
    prepare(*PACKAGES)


def test_a_circle_for_type_checking_is_found(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    package = tmp_path / "circular_example"
    package.mkdir()
    (package / "__init__.py").touch()
    guarded = "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    import circular_example.b\n"
    (package / "a.py").write_text(guarded)
    (package / "b.py").write_text("def f():\n    from circular_example import a\n")
    monkeypatch.setattr(sys, "path", [str(tmp_path), *sys.path])
    with pytest.raises(CycleError) as circle:
        prepare("circular_example")
    assert {*circle.value.args[1]} == {"circular_example.a", "circular_example.b"}
