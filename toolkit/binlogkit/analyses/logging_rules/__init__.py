"""What the server logs of a statement: format, error or warning, caches; from the documents' rules.

:func:`read_statement` reads a statement by what is defined (:func:`read_definitions`),
:func:`decide` says what becomes of it.
"""

from __future__ import annotations

from binlogkit.analyses.logging_rules.decision import Decision, Outcome, decide, failed
from binlogkit.analyses.logging_rules.definitions import Definitions, read_definitions
from binlogkit.analyses.logging_rules.engines import Engine, engine_of
from binlogkit.analyses.logging_rules.model import (
    BinlogFormat,
    Settings,
    Statement,
    TableUse,
    Transaction,
    settings_after,
    settings_of,
)
from binlogkit.analyses.logging_rules.reading import read_statement
from binlogkit.analyses.logging_rules.unrolling import unrolled

__all__ = [
    "BinlogFormat",
    "Decision",
    "Definitions",
    "Engine",
    "Outcome",
    "Settings",
    "Statement",
    "TableUse",
    "Transaction",
    "decide",
    "engine_of",
    "failed",
    "read_definitions",
    "read_statement",
    "settings_after",
    "settings_of",
    "unrolled",
]
