"""Which statements take a part of a log back, or make it again, over all its tables."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, Unpack

from binlogkit.errors import GapError
from binlogkit.log.gaps import assumed
from binlogkit.rows.filter_args import FilterArgs
from binlogkit.rows.filters import Filters
from binlogkit.rows.soundness import Gap
from binlogkit.sources.log_format import version_tuple

if TYPE_CHECKING:
    import pyarrow as pa

    from binlogkit.analyses.plans import Plans
    from binlogkit.log.streams import Streams


def plans_of(
    log: Streams, *, backwards: bool, despite_gaps: bool = False, **filters: Unpack[FilterArgs]
) -> Plans:
    """See :meth:`binlogkit.log.log.Log.undo`."""
    from binlogkit.analyses.undo import plans
    from binlogkit.frames.statements import Boundaries, Statements
    from binlogkit.frames.transactions import Transactions

    wanted = Filters.build(**filters)
    transactions, statements = Transactions(), Statements(Filters(sources=wanted.sources))
    boundaries, reading = Boundaries(wanted), log.reading()
    versions = set[str]()
    views = (
        transactions.take,
        statements.take,
        boundaries.take,
        lambda window: versions.add(window.server_version),
    )
    changes = [batch.batch for batch in log.read_batches(reading, wanted, views=views)]
    sources = {source for c in changes for source in c.column("source").unique().to_pylist()}
    log.one_history(sources, "the changes are")
    happened = boundaries.finish(folded=reading.folded)
    found = plans(
        changes,
        _refused(happened, wanted),
        transactions=transactions.finish(Filters(sources=wanted.sources)),
        statements=statements.finish(),
        backwards=backwards,
    )
    found.assumes = assumed(log, max(map(version_tuple, versions), default=(0, 0, 0)))
    found.gaps = tuple(str(gap) for gap in log.gaps if _concerns(gap, wanted))
    if found.gaps and not despite_gaps:
        raise GapError(found.gaps)
    return found


def _concerns(gap: Gap, wanted: Filters) -> bool:
    """Whether changes of a wanted table may be missing.

    Where the gap stands does not matter: before the chosen changes it may hold others that were
    meant, or what names the columns; after them, what changed the rows again.
    """
    if gap.tables is None:
        return True
    names = (name.split(".") for name in gap.tables)  # a name may have dots of its own
    return any(
        wanted.wants_table(".".join(parts[:i]), ".".join(parts[i:]))
        for parts in names
        for i in range(1, len(parts))
    )


def _refused(boundaries: pa.Table, wanted: Filters) -> Iterator[dict[str, Any]]:
    """The statements that changed rows without saying which, each with the reason for no plan.

    The tables of one statement have one ``seq``: their order is the statement's, also backwards.
    """
    first: dict[str, Any] = {}
    for boundary in boundaries.select(_KEYS).to_pylist():
        if any(boundary[name] != first.get(name) for name in _EVENT):
            first = dict(boundary)
        reason = _REASONS.get(boundary.pop("action"))
        db, table = boundary["db"], boundary["table"]
        if reason is None or not wanted.wants_table(db or "", table or ""):
            continue
        if (db is None or table is None) and (wanted.tables or wanted.ops):
            continue
        yield {
            **boundary, "db": db or "", "table": table or "", "seq": first["seq"], "row": 0,
            "refused": reason,
        }  # fmt: skip


_EVENT = ("file", "pos", "inner")
_KEYS = ["source", *_EVENT, "gtid", "timestamp", "db", "table", "seq", "action"]
_REASONS = {
    "statement_write": "the change is logged as a statement: which rows it touched is not known",
    "truncate": "TRUNCATE logs no rows: what the table held is not in this event",
    "drop": "DROP TABLE logs no rows: what the table held is not in this event",
    "drop_database": "DROP DATABASE logs no rows: what its tables held is not in this event",
    "unknown": "the statement could not be understood",
}
