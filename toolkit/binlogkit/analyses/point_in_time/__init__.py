"""A table's rows as of a point of its log, one row's life, the difference between two points."""

from binlogkit.analyses.point_in_time.boundary import lineage, read_boundaries
from binlogkit.analyses.point_in_time.counting import AtPosition, AtTime, UpToGtids
from binlogkit.analyses.point_in_time.difference import DIFFERENCE, compared, difference
from binlogkit.analyses.point_in_time.findings import FINDINGS
from binlogkit.analyses.point_in_time.result import STATE
from binlogkit.analyses.point_in_time.rewind import Span, rewind
from binlogkit.analyses.point_in_time.state import ReplayLedger, ReplayTable, State, replay, state
from binlogkit.analyses.point_in_time.story import STORY, story

__all__ = [
    "DIFFERENCE",
    "FINDINGS",
    "STATE",
    "STORY",
    "AtPosition",
    "AtTime",
    "ReplayLedger",
    "ReplayTable",
    "Span",
    "State",
    "UpToGtids",
    "compared",
    "difference",
    "lineage",
    "read_boundaries",
    "replay",
    "rewind",
    "state",
    "story",
]
