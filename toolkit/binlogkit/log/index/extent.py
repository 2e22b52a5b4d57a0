"""How far the transactions of a log reach, and the digest that identifies them.

With it, putting many logs in order needs the transactions only of logs that have unusual ones or
have grown.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from binlogkit.rows.transactions import Outcome

#: What a log's digest is made of.
DIGESTED = (
    "pos", "end_pos", "timestamp", "end_timestamp", "server_id", "xid", "events", "size",
    "digest",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Extent:
    """The transactions of a log that have ended: all except a last one cut by its end.

    ``ended``: how many; ``end``: the position after the last, 0 without one; ``digest``: identifies
    the log (:func:`digest_of`); ``plain``: each has a GTID and committed by itself, so that its
    outcome is known.
    """

    ended: int = 0
    end: int = 0
    digest: str = ""
    plain: bool = False


def extent_of(transactions: pa.Table) -> Extent:
    """The extent of a log from its transactions, of which the last may be cut."""
    count = transactions.num_rows
    ended = int(count - (count > 0 and transactions["outcome"][-1].as_py() == Outcome.CUT))
    whole = transactions.slice(0, ended)
    committed = pc.all(pc.equal(whole["outcome"], str(Outcome.COMMITTED)), min_count=0).as_py()
    resolved = len(whole) - whole["resolved_file"].null_count
    plain = bool(committed) and not resolved and not whole["gtid"].null_count
    end = whole["end_pos"][-1].as_py() if ended else 0
    return Extent(ended, end, digest_of(transactions, ended), plain)


def digest_of(transactions: pa.Table, end: int) -> str:
    """A hash of a log's first transactions: position, time, size and content of each, not file
    names. Many logs have transactions alike in all but their content."""
    found = hashlib.sha256()
    table = transactions.slice(0, end)
    for name in DIGESTED:
        found.update(np.asarray(table[name].fill_null(0)).astype("<u8").tobytes())
    return found.hexdigest()
