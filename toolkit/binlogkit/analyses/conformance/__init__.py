"""The judge: any decoder's output against mysqlbinlog, each difference classified and proved."""

from __future__ import annotations

from binlogkit.analyses.conformance.against_golden import against_golden, wrong_rows
from binlogkit.analyses.conformance.compare import against_mysqlbinlog
from binlogkit.analyses.conformance.decoded import Decoded, formats, parse_decoded, register
from binlogkit.analyses.conformance.expected_rules import EXPECTED_RULES
from binlogkit.analyses.conformance.our_records import EventBatches, RowWindows
from binlogkit.analyses.conformance.printed import TextBlocks
from binlogkit.analyses.conformance.result import (
    COLUMNS,
    ConformanceResult,
    ConformanceSummary,
    Verdict,
    baseline_lines,
    differences_schema,
    merge,
    read_baseline,
)
from binlogkit.analyses.conformance.rule import EVENT_RULES, Kind, Rule
from binlogkit.analyses.conformance.rules import RULES

__all__ = [
    "COLUMNS",
    "EVENT_RULES",
    "EXPECTED_RULES",
    "RULES",
    "ConformanceResult",
    "ConformanceSummary",
    "Decoded",
    "EventBatches",
    "Kind",
    "RowWindows",
    "Rule",
    "TextBlocks",
    "Verdict",
    "against_golden",
    "against_mysqlbinlog",
    "baseline_lines",
    "differences_schema",
    "formats",
    "merge",
    "parse_decoded",
    "read_baseline",
    "register",
    "wrong_rows",
]
