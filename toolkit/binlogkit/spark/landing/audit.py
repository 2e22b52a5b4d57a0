"""The audit of a landing: the logs' own, from its tables and its ledger."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from binlogkit.analyses.audit.limits import LIMITS
from binlogkit.frames.fields.field import to_table
from binlogkit.frames.fields.ledger import BOUNDARY, FILE, STATEMENT
from binlogkit.frames.wanted import wanted_transactions
from binlogkit.log.audit import SECTIONS, Audit, assumes_of, counted, file_record
from binlogkit.log.index.transactions import joined_boundaries, joined_statements
from binlogkit.rows.filter_args import FilterArgs
from binlogkit.rows.filters import Filters
from binlogkit.spark.landing.activity import activity
from binlogkit.spark.landing.numbering import places_of

if TYPE_CHECKING:
    from binlogkit.spark.landing.ledger import Ledger

#: Why a landing's audit has no such section.
_LACKING = {
    "suspects": "they are weighed by the logs' rows, also by those that were rolled back",
    "continuity": "whether a log follows another one is read from both: verify the logs",
    "integrity": "no byte of the logs is read: verify them",
}
_NO_STATEMENTS = "its ledger keeps no statement texts, since columns are masked or rows were erased"
_STATEMENTS = ("by_statement", "statements", "settings")


def audit_landing(
    ledger: Ledger, transactions_of: Callable[..., pa.Table], filters: FilterArgs
) -> Audit:
    """See :meth:`binlogkit.spark.landing.Landing.audit`; ``transactions_of``: gives those that
    filters want."""
    every = transactions_of()
    transactions = transactions_of(**filters) if filters else every
    changes = activity(ledger, every)
    chosen = _Chosen(ledger, every, transactions_of, filters)
    here = chosen.of(changes, np.asarray(changes["tx"].fill_null(-1)))
    changes = chosen.tables(changes.filter(here))
    parts, joined, all_sources = ledger.parts, ledger.joined, frozenset[str]()
    statements = joined_statements(parts, joined, all_sources)
    lacking = dict(_LACKING)
    if statements is None:
        lacking |= dict.fromkeys(_STATEMENTS, _NO_STATEMENTS)
        statements, boundaries = to_table([], STATEMENT), to_table([], BOUNDARY)
    else:
        boundaries = joined_boundaries(parts, joined, all_sources, ledger.files, statements)
        statements, boundaries = (
            rows.filter(chosen.of(rows, chosen.numbers(rows))) for rows in (statements, boundaries)
        )
    others = pc.sum(changes.filter(pc.invert(changes["landed"]))["rows"]).as_py() or 0
    sources = {position.part: position.source for position in ledger.joined.positions}
    files = [
        replace(file, source=sources[i])
        for i, part in enumerate(ledger.parts)
        for file in part.alone.files
    ]
    found = counted(
        transactions,
        changes,
        statements,
        boundaries,
        sorted(".".join(name) for name, known in ledger.met.items() if known[-1].cascades),
        {f.name: f.alone for f in files if f.loose},
    ) | {
        "files": to_table((file_record(f, f.size, None) for f in files), FILE),
        "assumes": assumes_of(ledger, files),
    }
    found["limits"] = pa.concat_tables([found["limits"], _limits(lacking, others)])
    sections = {name: found[name] for name in SECTIONS if name not in lacking}
    return Audit(sections, ledger.files, lacking)


def _limits(lacking: dict[str, str], others: int) -> pa.Table:
    """What a landing cannot show of its logs."""
    asked = "asked of a landing, not of its logs"
    rows = [
        {"limit": name, "grade": "applies", "meaning": f"No {name}: {why}.", "evidence": asked}
        for name, why in lacking.items()
    ]
    if others:
        rows.append({
            "limit": "not_in_tables",
            "grade": "applies",
            "meaning": "Place, time to the second, statement and cells of changes that are not in "
            "the landing's tables, since they were rolled back, were left out, wait, expired or "
            "were erased: they are counted at the beginning of their transaction.",
            "evidence": f"{others} row changes are known by their number alone",
        })  # fmt: skip
    return to_table(rows, LIMITS)


class _Chosen:
    """Which rows of frames filters want, by what the ledger says of their transactions."""

    def __init__(
        self,
        ledger: Ledger,
        transactions: pa.Table,
        transactions_of: Callable[..., pa.Table],
        filters: FilterArgs,
    ) -> None:
        wanted, self._ledger = Filters.build(**filters), ledger
        self._wanted, self._transactions = wanted, transactions
        names = ("gtid", "at", "thread", "source")
        of_tx: Any = {name: filters[name] for name in names if filters.get(name)}  # type: ignore[literal-required]
        chosen = transactions_of(**of_tx)["tx"] if of_tx else None
        self._numbers = None if chosen is None else np.asarray(chosen)
        self._event = replace(
            wanted, tables=(), exclude_tables=(), ops=frozenset(), gtids=None, at=None,
            threads=frozenset(), sources=frozenset(),
        )  # fmt: skip

    def numbers(self, rows: pa.Table) -> np.ndarray[Any, Any]:
        """The transactions of events, -1 outside."""
        named = {f"_{name}": rows[name] for name in ("file", "pos", "inner")}
        named["_row"] = pa.repeat(0, len(rows))
        numbering = self._ledger.numbering
        at = numbering.transactions(*places_of(named, self._ledger.numbers)[:2])
        return np.append(numbering.tx, -1)[at]

    def of(self, rows: pa.Table, tx: np.ndarray[Any, Any]) -> pa.Array:
        """Which events are wanted, tables and operations left aside; ``tx``: of each."""
        good = np.ones(len(rows), bool)
        if self._numbers is not None:
            good &= np.isin(tx, self._numbers)
        if self._event != Filters():
            known = self._transactions
            at = pc.index_in(pa.array(tx), known["tx"].combine_chunks())
            columns = {
                "file": rows["file"], "pos": rows["pos"], "end_timestamp": rows["timestamp"],
                "commit_timestamp": known["commit_timestamp"].take(at),
                "server_id": (rows if "server_id" in rows.column_names else known.take(at))[
                    "server_id"
                ],
            }  # fmt: skip
            told = wanted_transactions(pa.table(columns), self._event, self._ledger.files)
            good &= np.asarray(told)
        return pa.array(good)

    def tables(self, changes: pa.Table) -> pa.Table:
        """The changes of wanted tables and operations."""
        wanted, ops = self._wanted, pa.array(sorted(self._wanted.ops))
        if wanted.ops:
            changes = changes.filter(pc.is_in(changes["op"].cast(pa.string()), ops))
        names = [*zip(changes["db"].to_pylist(), changes["table"].to_pylist(), strict=True)]
        which = {name: wanted.wants_table(*name) for name in {*names}}
        return changes.filter(pa.array([which[name] for name in names], pa.bool_()))
