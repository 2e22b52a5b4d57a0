"""Which segments of logs can hold wanted row changes, by an index."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from binlogkit.constants import TableId
from binlogkit.frames.arrays import flags
from binlogkit.log.index.joined import Position, pairs
from binlogkit.log.index.keys import may_have_keys
from binlogkit.log.index.part import Part
from binlogkit.log.index.tables import of_tables
from binlogkit.rows.filters import Filters

if TYPE_CHECKING:
    from binlogkit.rows.schema import TableSchema

#: The tables of an index that are needed for it.
LEDGER = ("transactions", "changes", "filters")
_MICROSECOND = 1_000_000
#: Numbers of transactions in a log.
_Numbers: TypeAlias = "np.ndarray[tuple[int], np.dtype[np.int64]]"


def selected(
    positions: Sequence[Position],
    parts: Sequence[Part],
    wanted: Filters,
    schemas: Mapping[TableId, Sequence[TableSchema]],
) -> list[bool]:
    """Which segments are relevant; in doubt, a segment is.

    A damaged log always is, since damage is reported whatever is wanted. So is a log if it is not
    known what its transactions changed. ``schemas``: the tables' versions.
    """
    keyed = may_have_keys(parts, wanted, schemas)
    changed = [_changed(part, wanted, may) for part, may in zip(parts, keyed, strict=True)]
    found = []
    for position, following in pairs(positions):
        numbers = changed[position.part]
        may = numbers is None
        if numbers is not None and _in_place(position, following, len(parts), wanted):
            here = numbers >= position.segment.transactions
            if following is not None:
                here &= numbers < following.segment.transactions
            may = bool(here.any())
        found.append(may)
    return found


def with_statements(
    positions: Sequence[Position], parts: Sequence[Part], chosen: Sequence[bool]
) -> list[bool]:
    """The relevant segments, and those with statements that affect tables, or may.

    That includes all of a log with XA transactions, and the last segment of all.
    """
    found = list(chosen)
    for i, (position, following) in enumerate(pairs(positions)):
        part = parts[position.part]
        end = part.events if following is None else following.segment.events
        inside = (event for event in _statements(part) if position.segment.events <= event < end)
        xa = bool(part.alone.prepared or part.alone.decided)
        found[i] = found[i] or xa or next(inside, None) is not None
    return [*found[:-1], True] if found else found


def _statements(part: Part) -> Iterator[int]:
    yield from (one.event for one in part.said if not hasattr(one.body, "table_id"))
    yield from (one.event for one in part.wrote)


def _in_place(position: Position, following: Position | None, parts: int, wanted: Filters) -> bool:
    """Whether a segment is of a wanted source and between the wanted positions."""
    if wanted.sources and position.source is not None and position.source not in wanted.sources:
        return False
    start, stop = wanted.start_position, wanted.stop_position
    begun = position.part > 0 or following is None or start is None
    if not begun and following is not None and following.segment.pos <= (start or 0):
        return False
    last = position.part == parts - 1
    return stop is None or not last or position.segment.pos < stop


def _changed(part: Part, wanted: Filters, may: Sequence[bool] | None) -> _Numbers | None:
    """The transactions of a part that changed what is wanted; None if not known.

    ``may``: for each row of ``part.ledger["filters"]`` whether it may have a wanted key.
    """
    changes, transactions = part.ledger.get("changes"), part.ledger.get("transactions")
    if (
        changes is None
        or "filters" not in part.ledger
        or part.damages
        or part.unreadable is not None
    ):
        return None
    if wanted.tables:
        changes = changes.filter(of_tables(changes, wanted.tables))
    if _outside(part, changes, wanted):
        return None
    if wanted.gtids is not None and not wanted.gtids.intersect(part.alone.gtids):
        return np.zeros(0, np.int64)
    if not _in_time(part, wanted):
        return np.zeros(0, np.int64)
    if wanted.ops:
        changes = changes.filter(pc.is_in(changes["op"], pa.array(sorted(wanted.ops))))
    if may is not None:
        changes = changes.filter(_of_keys(changes, part.ledger["filters"], may))
    numbers: _Numbers = np.asarray(changes["tx"])
    if transactions is not None and wanted.of_transactions:
        numbers = numbers[np.isin(numbers, np.flatnonzero(_wanted(transactions, wanted)))]
    return numbers


def _outside(part: Part, changes: pa.Table, wanted: Filters) -> bool:
    """Whether a log has rows of the tables outside any transaction, which ``changes`` does not
    list."""
    filters = part.ledger["filters"]
    if wanted.tables:
        filters = filters.filter(of_tables(filters, wanted.tables))
    rows, counted = (pc.sum(table["rows"]).as_py() or 0 for table in (filters, changes))
    return bool(rows > counted)


def _in_time(part: Part, wanted: Filters) -> bool:
    """Whether a log's events, or the commits of its transactions, may be in the wanted time."""
    transactions = part.ledger.get("transactions")
    seconds = [
        second
        for file in part.alone.files
        for second in (file.first_timestamp, file.last_timestamp)
        if second is not None
    ]
    if transactions is None or not seconds:
        return True
    commits = pc.min_max(transactions["commit_timestamp"]).as_py()
    first = min([min(seconds) * _MICROSECOND, *filter(None, [commits["min"]])])
    last = max([(max(seconds) + 1) * _MICROSECOND, *filter(None, [commits["max"]])])
    return not (
        (wanted.stop_time is not None and first >= wanted.stop_time)
        or (wanted.start_time is not None and last < wanted.start_time)
    )


def _wanted(transactions: pa.Table, wanted: Filters) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
    """Which transactions may be wanted; one without a commit time always may."""
    found = np.ones(transactions.num_rows, bool)
    if wanted.threads:
        threads = np.asarray(pc.fill_null(transactions["thread_id"], -1))
        found &= np.isin(threads, list(wanted.threads))
    if wanted.at is not None:
        found &= np.asarray(transactions["pos"]) == wanted.at[1]
    commits = np.asarray(pc.fill_null(transactions["commit_timestamp"], -1))
    if wanted.start_time is not None:
        found &= (commits < 0) | (commits >= wanted.start_time)
    if wanted.stop_time is not None:
        found &= (commits < 0) | (commits < wanted.stop_time)
    if wanted.gtids is not None:
        texts = transactions["gtid"].to_pylist()
        found &= [text is not None and text in wanted.gtids for text in texts]
    return found


def _of_keys(changes: pa.Table, filters: pa.Table, may: Sequence[bool]) -> pa.Array:
    """Which changes are of a table that may have a wanted key, or has no filter."""
    tables = zip(filters["db"].to_pylist(), filters["table"].to_pylist(), strict=True)
    maybes: dict[tuple[str, str], bool] = {}
    for name, maybe in zip(tables, may, strict=True):
        maybes[name] = maybes.get(name, False) or maybe
    names = zip(changes["db"].to_pylist(), changes["table"].to_pylist(), strict=True)
    return flags(np.array([maybes.get(name, True) for name in names], bool))
