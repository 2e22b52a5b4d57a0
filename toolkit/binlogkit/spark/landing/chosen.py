"""What filters want of a landing's rows: by their places, and by what the ledger says of their
transactions."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from binlogkit.frames.wanted import wanted_transactions
from binlogkit.rows.filter_args import FilterArgs
from binlogkit.rows.filters import Filters

if TYPE_CHECKING:
    from binlogkit.spark.landing.ledger import Ledger


class Chosen:
    """Which rows of frames filters want, by what the ledger says of their transactions."""

    def __init__(
        self,
        ledger: Ledger,
        transactions: pa.Table,
        transactions_of: Callable[..., pa.Table],
        filters: FilterArgs,
    ) -> None:
        self._wanted = wanted = Filters.build(**filters)
        self._numbering, self._files = ledger.numbering, ledger.files
        names = ("gtid", "at", "thread", "source")
        of_tx: Any = {name: filters[name] for name in names if filters.get(name)}  # type: ignore[literal-required]
        chosen = transactions_of(**of_tx)["tx"] if of_tx else None
        self._numbers = None if chosen is None else np.asarray(chosen)
        self._event = replace(
            wanted, tables=(), exclude_tables=(), ops=frozenset(), gtids=None, at=None,
            threads=frozenset(), sources=frozenset(),
        )  # fmt: skip
        needed = ("tx", "commit_timestamp", "server_id") if self._event != Filters() else ()
        self._transactions = transactions.select(needed).combine_chunks()

    @property
    def all(self) -> bool:
        """Whether everything is wanted."""
        return self._wanted == Filters()

    def numbers(self, rows: pa.Table) -> np.ndarray[Any, Any]:
        """The transactions of events, -1 outside."""
        named = {f"_{name}": rows[name] for name in ("file", "pos", "inner")}
        named["_row"] = pa.repeat(0, len(rows))
        numbering = self._numbering
        at = numbering.transactions(*numbering.places(named)[:2])
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
            wanted = wanted_transactions(pa.table(columns), self._event, self._files)
            good &= np.asarray(wanted)
        return pa.array(good)

    def changes(self, changes: pa.Table) -> pa.Table:
        """The wanted changes."""
        here = self.of(changes, np.asarray(changes["tx"].fill_null(-1)))
        return self._tables(changes.filter(here))

    def _tables(self, changes: pa.Table) -> pa.Table:
        """The changes of wanted tables and operations."""
        wanted, ops = self._wanted, pa.array(sorted(self._wanted.ops))
        if wanted.ops:
            changes = changes.filter(pc.is_in(changes["op"].cast(pa.string()), ops))
        names = [*zip(changes["db"].to_pylist(), changes["table"].to_pylist(), strict=True)]
        which = {name: wanted.wants_table(*name) for name in {*names}}
        return changes.filter(pa.array([which[name] for name in names], pa.bool_()))
