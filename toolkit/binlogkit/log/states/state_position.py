"""The position of a state, from which another log can continue."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from binlogkit.analyses.point_in_time.codes import Flags
from binlogkit.analyses.point_in_time.transaction_numbers import TransactionNumbers
from binlogkit.events.gtid_set import GtidSet
from binlogkit.log.states.places import Logs, among
from binlogkit.rows.gtid_ledger import GtidLedger
from binlogkit.rows.series import split_name

if TYPE_CHECKING:
    from binlogkit.log.states.bases.bases import Since

_START = 4  # of a log's first event
_AT_ONCE = 1 << 15  # GTIDs whose parts are held
_ENDED = ("committed", "rolled_back")

FilePos = tuple[str, int]


def state_position(
    log: Logs,
    at: FilePos | None,
    ends: Mapping[str, int],
    transactions: pa.Table,
    counted: TransactionNumbers,
    since: Since | None = None,
    *,
    left_out: Iterable[tuple[str | None, GtidSet]] = (),
) -> tuple[FilePos | None, GtidSet | None]:
    """The position after everything that the state holds, and its GTIDs; None if the logs do not
    determine them.

    ``at``: the position that was asked for, if one was; ``ends``: the ends of the logs that were
    read; ``counted``: the transactions that have ended by the point, in a base or not;
    ``left_out``: servers, and GTIDs that count and are not among ``transactions``.
    """
    inside = among(transactions, counted)
    more, place = [*left_out], None
    if len({*pc.unique(transactions.column("source")).to_pylist(), *(one for one, _ in more)}) <= 1:
        place = _place(log, at, ends, transactions, inside, since)
    found = transactions.column("gtid").filter(pa.array(inside))
    return place, _gtids(log, found, since, (gtids for _, gtids in more))


def _place(
    log: Logs,
    at: FilePos | None,
    ends: Mapping[str, int],
    transactions: pa.Table,
    inside: Flags,
    since: Since | None,
) -> FilePos | None:
    ended = np.asarray(pc.is_in(transactions.column("outcome"), pa.array(_ENDED)))
    counts = inside[ended]
    files = [name for name in log.files if name in ends]
    if not files:
        return None
    if at is not None:
        file, pos = at
        return _named(file, min(pos, ends.get(file, pos)))
    if counts.all():
        if since is not None and since.place is not None and since.place.file >= len(log.files) - 1:
            beyond = not since.place.given or (since.pos or 0) > ends[files[-1]]
            if beyond and since.file is not None and since.pos is not None:
                return since.file, since.pos
        following = log.file_facts[-1].next_name if log.file_facts else None
        if following is not None and split_name(following)[2] is not None:
            return _named(following, _START)
        return _named(files[-1], ends[files[-1]])
    number = int(counts.sum())
    if not counts[:number].all():
        return None  # the counted ones are not the first ones
    if not number:
        return _named(files[0], _START)
    last = int(np.flatnonzero(ended)[number - 1])
    file, pos = (transactions.column(name)[last].as_py() for name in ("end_file", "end_pos"))
    return _named(file, pos)


def _named(file: str, pos: int) -> FilePos | None:
    """With the log name that the server gave; None for a log without a name."""
    _, stem, number = split_name(file)
    if number is None:
        return None if file.startswith("<") else (stem, pos)
    return f"{stem}.{number:06}", pos


def _gtids(
    log: Logs, found: pa.ChunkedArray, since: Since | None, left_out: Iterable[GtidSet]
) -> GtidSet | None:
    first = log.file_facts[0].previous if log.file_facts else None
    held = None if since is None else since.gtids
    if (first is None and held is None) or found.null_count:
        return None
    ledger = GtidLedger(held if held is not None else first)
    for gtids in left_out:
        ledger.add_set(gtids)
    for begin in range(0, len(found), _AT_ONCE):
        some = found.slice(begin, _AT_ONCE).combine_chunks()
        parts = pc.list_flatten(pc.split_pattern(some, ":", max_splits=1, reverse=True))
        origins, numbers = parts[::2].dictionary_encode(), parts[1::2].cast(pa.int64()).to_numpy()
        for code, origin in enumerate(origins.dictionary.to_pylist()):
            ledger.add(origin, numbers[np.asarray(origins.indices) == code])
    return ledger.to_set() or None
