"""The codecs import nothing above the cellar: they are replaced by compiled ones."""

from __future__ import annotations

import ast
import sys
from pathlib import Path

import pytest

import binlogkit._kernel

ROOM = Path(binlogkit._kernel.__file__).parent
MODULES = sorted(ROOM.rglob("*.py"))
CELLAR = ("binlogkit._kernel", "binlogkit.constants", "binlogkit.errors", "cython")


@pytest.mark.parametrize("path", MODULES, ids=lambda p: str(p.relative_to(ROOM)))
def test_only_the_cellar_and_the_standard_library(path: Path) -> None:
    tree = ast.parse(path.read_text(encoding="utf-8"))
    names = [
        name
        for node in ast.walk(tree)
        for name in (
            [alias.name for alias in node.names]
            if isinstance(node, ast.Import)
            else [node.module or ""]
            if isinstance(node, ast.ImportFrom)
            else []
        )
    ]
    for name in names:
        assert name.startswith(CELLAR) or name.partition(".")[0] in sys.stdlib_module_names, name
