"""Who changed what and when, and what this log cannot show.

By topic: :mod:`.activity` (from row changes), :mod:`.ledger` (from transactions), :mod:`.rhythm`
(bursts, silences, holes), :mod:`.settings` (from statements), :mod:`.limits`.
"""

from binlogkit.analyses.audit.activity import by_key, by_minute, by_statement, by_table
from binlogkit.analyses.audit.ledger import (
    by_gtid_source,
    by_thread,
    format_changes,
    formats,
    summary,
)
from binlogkit.analyses.audit.limits import limits
from binlogkit.analyses.audit.rhythm import bursts, missing_gtids, quiet
from binlogkit.analyses.audit.settings import settings, statement_dml
from binlogkit.analyses.transactions import largest, longest

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
    "largest",
    "limits",
    "longest",
    "missing_gtids",
    "quiet",
    "settings",
    "statement_dml",
    "summary",
]
