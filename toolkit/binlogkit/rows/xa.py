"""The id of an XA transaction, out of ``XA START X'…',X'…',1`` and its like.

The server writes ids as hex literals and a format id (``XA_COMMIT``, ``XA_ROLLBACK`` and
``XA_START`` in a log of 5.7.22 and 8.0.31).
"""

from __future__ import annotations

import re

__all__ = ["xa_id"]

_HEX_ID = re.compile(r"X'([0-9a-f]*)'\s*(?:,\s*X'([0-9a-f]*)'\s*(?:,\s*(\d+))?)?", re.IGNORECASE)


def xa_id(query: str) -> str | None:
    """``X'gtrid',X'bqual',format_id`` in lower-case hex; None when the statement has no such id."""
    match = _HEX_ID.search(query)
    if match is None:
        return None
    gtrid, bqual, format_id = match.groups()
    return f"X'{gtrid.lower()}',X'{(bqual or '').lower()}',{format_id or 1}"
