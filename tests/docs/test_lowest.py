"""The versions that CI tries at least are those that the package says it takes."""

from __future__ import annotations

import tomllib
from pathlib import Path

from packaging.requirements import Requirement

ROOT = Path(__file__).parents[2]


def test_the_lowest_versions_are_tried() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    needed = map(Requirement, project["dependencies"])
    least = {r.name: v for r in needed for v in map(str, r.specifier) if v.startswith(">=")}
    tried = {}
    for line in (ROOT / ".ci" / "lowest.txt").read_text("utf-8").splitlines():
        if not line.startswith("#"):
            name, _, version = line.partition("==")
            tried[name] = f">={version}"
    assert tried == least
