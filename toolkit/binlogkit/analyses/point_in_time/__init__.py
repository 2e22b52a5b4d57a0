"""A table's rows as of a point of its log, one row's life, the difference of two points."""

from binlogkit.analyses.point_in_time.findings import FINDINGS
from binlogkit.analyses.point_in_time.result import STATE
from binlogkit.analyses.point_in_time.state import State, replay, state
from binlogkit.analyses.point_in_time.until import AtPosition, AtTime, UpToGtids

__all__ = [
    "FINDINGS",
    "STATE",
    "AtPosition",
    "AtTime",
    "State",
    "UpToGtids",
    "replay",
    "state",
]
