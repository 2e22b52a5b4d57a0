"""The suspects of a log: found by every rule, put together, ranked."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from binlogkit.analyses.point_in_time.boundary import Boundary
from binlogkit.analyses.suspects.counted import RowSuspects
from binlogkit.analyses.suspects.jobs import Jobs
from binlogkit.analyses.suspects.rules import SUSPECTS, Suspect
from binlogkit.analyses.suspects.stated import StatedSuspects, gaps, stated
from binlogkit.analyses.suspects.units import OPS, WINDOW, integers
from binlogkit.constants import TableId
from binlogkit.frames.fields.field import to_table
from binlogkit.rows.filters import written_table_name

_LEAST = 25  # a lower score is no suspicion
_MOST = 100  # suspects
_KEPT = 1000  # statements among which they are
_READ = 16  # of which the images are read, at most
_NAMED = 5  # tables of one suspect
_STATED = 4  # statements of one, and what they did


def candidates(
    transactions: pa.Table,
    changes: pa.Table,
    boundaries: Sequence[Boundary] = (),
    statements: pa.Table | None = None,
    findings: Iterable[Mapping[str, Any]] = (),
    unchecked: Collection[int] = (),
) -> list[Suspect]:
    """The suspects, before any image is looked at, the most suspicious first.

    ``changes``: those of all tables, with ``tx`` and ``seq``; a row may stand for several
    (``rows``). ``findings``: as ``audit["integrity"]``; ``unchecked``: the rows events with
    foreign_key_checks off, by their number (``seq`` without the row's).
    """
    undone = transactions.filter(pc.equal(transactions["outcome"], "rolled_back"))
    renamed = {name for b in boundaries if b.new_name is not None for name in (b.name, b.new_name)}
    empty = {b.name: b.tx for b in boundaries if b.empties and b.name not in renamed}
    since = {name: tx for name, tx in empty.items() if tx is not None}
    rows = RowSuspects(changes, integers(undone["tx"]), since, unchecked)
    of, jobs = _Transactions(transactions), Jobs(transactions, rows.counted, boundaries)
    touched = {*rows.counted.tables}
    by_text = StatedSuspects(
        boundaries,
        of.numbered(b.tx for b in boundaries),
        jobs.filled,
        touched.__contains__,
        transactions.num_rows,
    )
    texts = [] if statements is None else _texts(statements)
    spoken = sorted([*by_text.find(), *stated(texts, transactions.num_rows)], key=_order)[:_KEPT]
    written: dict[tuple[str | None, int | None], list[TableId]] = {}
    for b in boundaries:
        written.setdefault((b.file, b.pos), []).append(b.name)
    for suspect in spoken:
        suspect.names = suspect.names or written.get(suspect.at, [])
        suspect.txs = suspect.txs or of.around(*suspect.at)
    in_order = sorted(spoken, key=lambda suspect: min(suspect.txs, default=-1))
    found = [*rows.find(), *_joined(in_order, of), *gaps(findings)]
    jobs.weigh(found)
    ends = _ends(boundaries, touched)
    for suspect in found:
        last = max(suspect.txs, default=-1)
        gone = any(ends.get(name, -1) > last for name in suspect.names)
        if suspect.op in ("drop", "truncate"):  # of what the log shows
            suspect.names_back = [name for name in suspect.names if name in touched]
        suspect.lost = gone or (suspect.names_back == [] and suspect.op in ("drop", "truncate"))
    return sorted(found, key=_order)


def _ends(boundaries: Iterable[Boundary], tables: Collection[TableId]) -> dict[TableId, int]:
    """By table, the last transaction that emptied, dropped or converted it."""
    found: dict[TableId, int] = {}
    for b in boundaries:
        done = b.alteration
        changed = done is not None and bool(done.dropped | done.converted)
        if b.tx is not None and (b.action in ("drop", "truncate") or changed):
            found[b.name] = b.tx
        elif b.tx is not None and b.action == "drop_database":
            found |= {name: b.tx for name in tables if name[0] == b.name[0]}
    return found


def read_first(found: Iterable[Suspect]) -> list[Suspect]:
    """Those of which the images decide: what their updates and deletes did."""
    return [s for s in found if s.op in OPS and max(s.found.values()) > 0.2][:_READ]


def ranked(
    found: Iterable[Suspect],
    transactions: pa.Table,
    files: Sequence[str] = (),
    how: Sequence[str] = (),
) -> pa.Table:
    """The suspects as a table (:data:`SUSPECTS`), the most suspicious first.

    ``files``: the logs, as the commands that undo name them; ``how``: with these options.
    """
    of = _Transactions(transactions)
    ordered = [s for s in sorted(found, key=_order) if s.score >= _LEAST][:_MOST]
    records = (_record(i, suspect, of, files, how) for i, suspect in enumerate(ordered, 1))
    return to_table(records, SUSPECTS)


def _order(suspect: Suspect) -> tuple[Any, ...]:
    return -suspect.score, -(suspect.rows or 0), min(suspect.txs, default=0), suspect.at


def _record(
    rank: int, suspect: Suspect, of: _Transactions, files: Sequence[str], how: Sequence[str]
) -> dict[str, Any]:
    known = of.numbered(suspect.txs)
    done = [known[tx] for tx in sorted(known)]
    first: Mapping[str, Any] = done[0] if done else {}
    names = [name for name in dict.fromkeys(suspect.names) if any(name)]
    db, table = names[0] if names else (None, None)
    what, comma = list(dict.fromkeys(suspect.what)), "; " if suspect.rows is None else ", "
    if suspect.rows is None and len(what) > _STATED:
        what[_STATED:] = [f"{len(what) - _STATED} more"]
    if len(names) > 1:
        listed = ", ".join(written_table_name(*name) for name in names[:_NAMED])
        what.insert(0, listed + (f" and {len(names) - _NAMED} more" if names[_NAMED:] else ""))
    return {
        "rank": rank, "score": suspect.score, "rule": suspect.best,
        "source": first.get("source"), "timestamp": first.get("timestamp"),
        "thread_id": first.get("thread_id"), "db": db, "table": table or None, "op": suspect.op,
        "rows": suspect.rows, "transactions": len(done), "what": comma.join(what),
        "why": suspect.reasons(), "gtid": first.get("gtid"),
        "file": first.get("file", suspect.at[0]), "pos": first.get("pos", suspect.at[1]),
        "undo": suspect.undo(done, files, how),
    }  # fmt: skip


class _Transactions:
    """The ledger of transactions, by number and by place."""

    def __init__(self, transactions: pa.Table) -> None:
        self._table = transactions.select(
            ["tx", "source", "file", "pos", "end_pos", "gtid", "thread_id", "timestamp"]
        )
        self._tx = integers(transactions["tx"])
        self._starts: dict[str, tuple[Any, Any]] = {}  # by file: places and positions

    def numbered(self, wanted: Iterable[int | None]) -> dict[int, dict[str, Any]]:
        """Some transactions by number."""
        numbers = np.array(sorted({tx for tx in wanted if tx is not None}), np.int64)
        here = np.searchsorted(self._tx, numbers)
        here = here[here < len(self._tx)]
        rows = self._table.take(pa.array(here)).to_pylist()
        return {row["tx"]: row for row in rows}

    def around(self, file: str | None, pos: int | None) -> list[int]:
        """The transaction in which a position is."""
        if file is None or pos is None:
            return []
        if file not in self._starts:
            here = np.flatnonzero(np.asarray(pc.equal(self._table["file"], file)))
            self._starts[file] = here, integers(self._table["pos"])[here]
        here, starts = self._starts[file]
        at = int(np.searchsorted(starts, pos, side="right")) - 1
        found: list[int] = self._tx[here[at : at + 1]].tolist() if at >= 0 else []
        return found


def _texts(statements: pa.Table) -> list[dict[str, Any]]:
    names = ["kind", "query", "error_code", "thread_id", "timestamp", "file", "pos"]
    wanted = pc.is_in(statements["kind"], pa.array(["account", "dml", "ddl"]))
    found: list[dict[str, Any]] = statements.filter(wanted).select(names).to_pylist()
    return found


def _joined(found: Iterable[Suspect], of: _Transactions) -> Iterator[Suspect]:
    """What a connection did by one rule, one after the other, is one suspect."""
    last: dict[tuple[Any, ...], tuple[int, Suspect]] = {}
    done = list(found)
    known = of.numbered(tx for suspect in done for tx in suspect.txs)
    for suspect in done:
        row = known.get(min(suspect.txs, default=-1), {})
        kind, time = (suspect.best, row.get("thread_id")), row.get("timestamp") or 0
        when, before = last.get(kind, (0, suspect))
        last[kind] = time, before
        if before is suspect or abs(time - when) > WINDOW:
            last[kind] = time, suspect
            yield suspect
        else:
            before.join(suspect)
