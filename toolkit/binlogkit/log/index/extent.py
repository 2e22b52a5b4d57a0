"""How far the transactions of a log reach, and by what they are known again.

So that who puts many logs in order needs the transactions only of those that have odd ones, or
have grown.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from binlogkit.rows.transactions import Outcome

_MARKED = ("pos", "end_pos", "timestamp", "end_timestamp", "server_id", "xid", "events", "size")


@dataclass(frozen=True, slots=True)
class Extent:
    """The transactions of a log that have ended, all but a last one that its end cuts.

    ``ended``: how many; ``end``: the position after the last, 0 without one; ``mark``: what tells
    the log from all that are alike (:func:`mark_of`); ``plain``: each has a GTID and was committed
    by itself, so that nothing more need be known of its outcome.
    """

    ended: int = 0
    end: int = 0
    mark: str = ""
    plain: bool = False


def extent_of(transactions: pa.Table) -> Extent:
    """The extent of a log by its transactions, of which the last may be cut."""
    count = transactions.num_rows
    ended = int(count - (count > 0 and transactions["outcome"][-1].as_py() == Outcome.CUT))
    whole = transactions.slice(0, ended)
    committed = pc.all(pc.equal(whole["outcome"], str(Outcome.COMMITTED)), min_count=0).as_py()
    resolved = len(whole) - whole["resolved_file"].null_count
    plain = bool(committed) and not resolved and not whole["gtid"].null_count
    end = whole["end_pos"][-1].as_py() if ended else 0
    return Extent(ended, end, mark_of(transactions, ended), plain)


def mark_of(transactions: pa.Table, end: int) -> str:
    """A hash of a log's first transactions: where each stands, when it was made, how large it is.
    Names of files do not count."""
    found = hashlib.sha256()
    table = transactions.slice(0, end)
    for name in _MARKED:
        found.update(np.asarray(table[name].fill_null(0)).astype("<u8").tobytes())
    return found.hexdigest()
