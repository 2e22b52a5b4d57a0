"""What an audit is made from: a log's ledgers, from one reading."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Unpack

import numpy as np

from binlogkit.analyses.point_in_time.boundary import Boundary, read_boundaries
from binlogkit.errors import DamageError
from binlogkit.frames.fields.field import to_table
from binlogkit.frames.fields.ledger import AUDIT_FINDING
from binlogkit.log.states.images.checks import ImageChecks
from binlogkit.log.streams import Streams, view_log
from binlogkit.log.verify import FindingStream, Verification, verify_log
from binlogkit.rows.filter_args import FilterArgs
from binlogkit.rows.filters import Filters
from binlogkit.rows.soundness import Grade

if TYPE_CHECKING:
    import pyarrow as pa

    from binlogkit.rows.window import Window
    from binlogkit.sources.carriers import Carrier


@dataclass(frozen=True, slots=True)
class Ledgers:
    """A log's verification and ledgers.

    ``doubts``: what cannot be read for other reasons, in words; ``changes``: the row changes
    without their images (frames/activity.py); ``transactions``, ``statements``, ``boundaries``:
    those of the log; ``happened``: the boundaries with definitions; ``cascades``: the tables that
    foreign keys cascade into by a given schema; ``unchecked``: the rows events with
    foreign_key_checks off, by number.
    """

    verification: Verification
    doubts: list[str]
    changes: pa.Table
    transactions: pa.Table
    statements: pa.Table
    boundaries: pa.Table
    happened: list[Boundary]
    cascades: list[str]
    unchecked: np.ndarray[Any, Any]

    def integrity(self) -> pa.Table:
        """The verification's findings without notes, and the doubts (``audit["integrity"]``)."""
        found = [one.record() for one in self.verification.findings if one.grade != Grade.NOTE]
        return to_table(
            [*found, *({"grade": "unknown", "found": text} for text in self.doubts)],
            AUDIT_FINDING,
        )


class _Lists:
    """A view of windows: collects the transactions, statements and boundaries of an audit.

    ``unchecked``: the rows events with foreign_key_checks off, by number.
    """

    def __init__(self, wanted: Filters) -> None:
        from binlogkit.frames.statements import Boundaries, Statements
        from binlogkit.frames.transactions import Transactions

        self.transactions, self.statements = Transactions(), Statements(wanted)
        self.boundaries = Boundaries(wanted)
        self.unchecked = [np.zeros(0, np.int64)]

    def feed(self, window: Window, rows: np.ndarray[Any, Any] | None) -> None:
        """Take the next window. ``rows``: the row count of each entry, None where rows are not
        counted."""
        self.transactions.feed(window, rows)
        self.statements.feed(window)
        self.boundaries.feed(window)
        self.unchecked.append(window.unchecked())


def read_ledgers(log: Streams, carriers: list[Carrier], **filters: Unpack[FilterArgs]) -> Ledgers:
    """The ledgers, from one reading.

    If damage ends the reading, the verification reads all logs by itself.
    """
    from binlogkit.frames.activity import Activity
    from binlogkit.frames.row_counts import RowCounts
    from binlogkit.frames.transactions import those

    wanted, stream = log.wanted(**filters), FindingStream(log)
    reading, activity = log.reading(carriers, stream.gaps), Activity()
    lists, counts = _Lists(wanted), RowCounts(stops=False)
    images = None if filters else ImageChecks()

    def feed(window: Window) -> None:
        lists.feed(window, counts.of(window)[0] if filters else None)

    try:
        for batch in log.read_batches(reading, wanted, views=(feed,), images=images):
            activity.feed(batch.batch)
    except DamageError as error:
        # Events after it were taken with their windows: re-read what came before it.
        lists = _Lists(wanted)
        view_log(log, lists.feed, counting=True)
        if str(error) not in map(str, log.damages):
            log.damages.append(error)
        verification, changes = verify_log(log, images=not filters), activity.finish()
        if verification.unreadable is not None:
            raise verification.unreadable from error
    else:
        unlogged = [] if images is None else stream.unlogged(images, reading)
        findings = [*stream.fresh(), *unlogged, *stream.end(log.copies())]
        verification = Verification(findings, stream.files, stream.joints)
        changes = activity.finish()
        if not filters:
            lists.transactions.count(changes)
    found, changed = lists.transactions.finish(wanted, log.files), lists.boundaries.finish()
    doubts = [*map(str, log.problems), *map(str, log.suppositions)]
    if reading.undecodable:
        doubts.append(f"{reading.undecodable} cells are undecodable")
    return Ledgers(
        verification,
        doubts,
        changes,
        those(found, changes.column("tx").unique().to_pylist()) if wanted.where else found,
        lists.statements.finish(),
        changed,
        read_boundaries(changed, lists.boundaries.changes),
        sorted(".".join(name) for name, known in reading.schemas.items() if known[-1].cascades),
        np.concatenate(lists.unchecked),
    )
