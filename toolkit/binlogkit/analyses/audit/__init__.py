"""Who changed what and when, and what this log cannot show.

By topic: :mod:`.activity` (from row changes), :mod:`.ledger` (from transactions and statements),
:mod:`.hops` (transactions through several servers), :mod:`.rhythm` (bursts, silences, holes),
:mod:`.limits`.
"""

from binlogkit.analyses.audit.activity import by_key, by_minute, by_statement, by_table
from binlogkit.analyses.audit.hops import hops
from binlogkit.analyses.audit.ledger import (
    by_gtid_source,
    by_thread,
    format_changes,
    formats,
    largest,
    longest,
    settings,
    statement_dml,
    summary,
)
from binlogkit.analyses.audit.limits import limits
from binlogkit.analyses.audit.rhythm import bursts, missing_gtids, quiet

__all__ = [
    "bursts",
    "by_gtid_source",
    "by_key",
    "by_minute",
    "by_statement",
    "by_table",
    "by_thread",
    "format_changes",
    "formats",
    "hops",
    "largest",
    "limits",
    "longest",
    "missing_gtids",
    "quiet",
    "settings",
    "statement_dml",
    "summary",
]
