"""XA transactions: their ids, out of ``XA START X'…',X'…',1`` and its like, and their decisions.

The server writes ids as hex literals and a format id (``XA_COMMIT``, ``XA_ROLLBACK`` and
``XA_START`` in a log of 5.7.22 and 8.0.31).
"""

from __future__ import annotations

import re

__all__ = ["Prepared", "xa_id"]

_HEX_ID = re.compile(r"X'([0-9a-f]*)'\s*(?:,\s*X'([0-9a-f]*)'\s*(?:,\s*(\d+))?)?", re.IGNORECASE)


def xa_id(query: str) -> str | None:
    """``X'gtrid',X'bqual',format_id`` in lower-case hex; None when the statement has no such id."""
    match = _HEX_ID.search(query)
    if match is None:
        return None
    gtrid, bqual, format_id = match.groups()
    return f"X'{gtrid.lower()}',X'{(bqual or '').lower()}',{format_id or 1}"


class Prepared:
    """Transactions that were prepared and not decided yet, by the source of their logs and id."""

    def __init__(self) -> None:
        self._open: dict[tuple[str | None, str], int] = {}

    def add(self, source: str | None, xa: str, number: int, *, again: bool) -> None:
        """A transaction was prepared; ``again``: its GTID came before, in another source's log,
        whose transaction is decided with it."""
        if again:
            number = next((n for (_, known), n in self._open.items() if known == xa), number)
        self._open[source, xa] = number

    def decided(self, source: str | None, xa: str) -> int | None:
        """The number of the transaction that is decided now, None where none was prepared."""
        return self._open.pop((source, xa), None)
