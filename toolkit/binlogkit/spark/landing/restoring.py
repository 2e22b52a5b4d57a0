"""Landed tables as the typed changes that analyses take, as ``log.changes()`` gives them.

What a landed table does not hold of a change (its transaction's number, types narrower than a long)
follows from the ledger beside it. The logs are not needed.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from binlogkit.analyses.point_in_time.boundary import Boundary
from binlogkit.errors import InputError, SchemaError, UsageError
from binlogkit.frames.layouts import empty_batch
from binlogkit.rows.filters import parse_table_name, written_table_name
from binlogkit.spark.landing.ledger import Ledger
from binlogkit.spark.landing.reading import folders, read
from binlogkit.spark.landing.restored import Histories, Restored
from binlogkit.spark.landing.shape import Generations, landed_schema, types_of
from binlogkit.spark.landing.states import state_of

if TYPE_CHECKING:
    from binlogkit.log.table_state import TableState

Name: TypeAlias = tuple[str, str]
#: Rows, and the numbers of their changes.
_Ordered: TypeAlias = "tuple[Restored, np.ndarray[Any, Any]]"


class Landing:
    """What has landed in a folder: :meth:`transactions`, the :meth:`changes` of tables, and a
    table's :meth:`state`."""

    def __init__(self, out: str | Path) -> None:
        self._out = Path(out)
        self._ledger = Ledger(self._out)

    def transactions(self) -> pa.Table:
        """The transactions of all logs of the ledger, as ``log.transactions()`` has them."""
        return self._ledger.transactions

    def tables(self) -> list[str]:
        """The tables that have landed, ``db.table``."""
        names = [n for n in self._ledger.joined.schemas if any(True for _ in folders(self._out, n))]
        return sorted(written_table_name(*name) for name in names)

    def changes(self, table: str) -> pa.Table:
        """The committed changes of a table as ``log.changes(table)`` has them, in log order.

        ``seq`` counts them; columns that are masked are left out. SchemaError: versions of the
        table have no columns in common;
        UsageError, InputError: as of :func:`binlogkit.spark.landing.landed`.
        """
        name = parse_table_name(table)
        if name.db is None:
            raise UsageError(f"{table} names no database: db.table")
        own = name.db, name.table
        (one, seqs), *more = self._ordered([own])[0][own]
        if more:
            raise SchemaError(f"versions of {table} have types that have nothing in common")
        return one.table(seqs, one.united())

    def state(self, table: str, *, at: tuple[str, int] | None = None) -> TableState:
        """The table's rows as of a file and position, of all that has landed if None.

        Errors: those of :meth:`changes`; InputError: logs that the ledger knows have not landed,
        or there is no such file.
        """
        return state_of(self._ledger, self.histories, self.tables(), table, at)

    def histories(self, names: Iterable[Name]) -> Histories:
        """Tables as they changed. Errors: those of :meth:`changes`."""
        rows, boundaries = self._ordered(names)
        off = [np.zeros(0, np.int64)]
        changes = {}
        for name, several in rows.items():
            own = [b for b in boundaries if b.concerns(name)]
            found = []
            for one, seqs in several:
                events = zip(*(part.tolist() for part in one.places[:3]), strict=True)
                off.append(seqs[[event in self._ledger.unchecked for event in events]])
                found += [batch for batch in one.batches(seqs, own) if batch.num_rows]
            changes[name] = sorted(found, key=lambda batch: int(batch["seq"][0].as_py()))
        return Histories(changes, boundaries, np.concatenate(off))

    def _ordered(self, names: Iterable[Name]) -> tuple[dict[Name, list[_Ordered]], list[Boundary]]:
        """The rows of tables and the boundaries of all, with numbers in one order."""
        restored = {name: self._restored(name) for name in names}
        own = self._ledger.boundaries
        inners = [-1 if b.inner is None else b.inner for b in own]
        files = np.array([self._ledger.numbers[b.file] for b in own], np.int64)
        places = [one.places for several in restored.values() for one in several]
        places.append((files, [b.pos for b in own], inners, np.full(len(own), -1)))
        file, pos, inner, row = (np.concatenate(part) for part in zip(*places, strict=True))
        order = np.lexsort([row, inner, pos, file])
        ranks = np.empty(len(order), np.int64)
        ranks[order] = np.arange(len(order))
        rows: dict[Name, list[_Ordered]] = {}
        at = 0
        for name, several in restored.items():
            for one in several:
                rows.setdefault(name, []).append((one, ranks[at : at + len(one)]))
                at += len(one)
        boundaries = [replace(b, seq=int(seq)) for b, seq in zip(own, ranks[at:], strict=True)]
        return rows, sorted(boundaries, key=lambda b: b.seq)

    def _restored(self, name: Name) -> list[Restored]:
        """The rows of each folder of a table."""
        table, found = written_table_name(*name), list(folders(self._out, name))
        if not found:
            raise InputError(str(self._out), f"{table} has not landed there")
        rows = [read(folder) for folder in found]
        generations = Generations({name: [types_of(one.schema) for one in rows]})
        versions: list[list[pa.RecordBatch]] = [[] for _ in rows]
        for version in self._ledger.joined.schemas[name]:
            i = generations.place(name, types_of(landed_schema(version, self._ledger.masks)))
            versions[i].append(empty_batch(version))
        return [
            Restored(name, one.take(pc.sort_indices(one["_sequence"])), own, self._ledger)
            for one, own in zip(rows, versions, strict=True)
        ]
