"""The sample log of the documents, where the package that has it is installed."""

from __future__ import annotations

from importlib.metadata import entry_points

from binlogkit.errors import UsageError

ENTRY_POINTS = "binlogkit.samples"


def sample() -> str:
    """The path of the sample log: half an hour of a small shop in which somebody's UPDATE lacked
    half of its condition (MySQL 8.0.31, 102 kB).

    Its providers are the entry points ``binlogkit.samples``. UsageError: none is installed.
    """
    for point in sorted(entry_points(group=ENTRY_POINTS), key=lambda p: p.name):
        return str(point.load()())
    raise UsageError("the sample log is not installed")
