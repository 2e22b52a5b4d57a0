"""The ledger beside landed tables: logs, transactions, what happened to tables."""

from __future__ import annotations

from dataclasses import replace
from functools import cached_property
from pathlib import Path

import numpy as np
import pyarrow as pa

from binlogkit.analyses.point_in_time.boundary import Boundary, boundary_of
from binlogkit.errors import InputError
from binlogkit.frames.statements import Record
from binlogkit.log.index import Index, Joined
from binlogkit.log.index.transactions import joined_transactions
from binlogkit.rows.filters import Filters
from binlogkit.rows.soundness import FileFacts
from binlogkit.spark.landing.journal import read_journal, read_terms
from binlogkit.spark.landing.landing import LEDGER
from binlogkit.spark.landing.masks import told_masks
from binlogkit.spark.landing.numbering import Numbering, cuts_of
from binlogkit.spark.landing.spans import Landed, Spans


class Ledger:
    """The ledger's content for the landing in a folder. InputError: nothing has landed there.

    ``parts``: of each log, ``joined`` in their order; ``masks``: of the landing.
    """

    def __init__(self, out: str | Path) -> None:
        self._out = Path(out)
        index = Index(self._out / LEDGER)
        self.parts = index.besides([], ["transactions", "unchecked"])
        self.joined = Joined(self.parts, happening=True)
        if not self.parts:
            raise InputError(str(out), "nothing has landed there")
        self.masks = told_masks(read_terms(self._out))

    @cached_property
    def files(self) -> list[str]:
        """The names of all logs, in order."""
        return [name for part in self.parts for name in part.names]

    @cached_property
    def numbers(self) -> dict[str, int]:
        """The number of each log."""
        return {name: i for i, name in enumerate(self.files)}

    @cached_property
    def transactions(self) -> pa.Table:
        """The transactions of all logs, as ``log.transactions()`` has them."""
        return joined_transactions(self.parts, self.joined, Filters(), self.files)

    @cached_property
    def unchecked(self) -> set[tuple[int, int, int]]:
        """The places of rows events of statements with foreign_key_checks off."""
        rows = (row for part in self.parts for row in part.ledger["unchecked"].to_pylist())
        return {
            (self.numbers[r["file"]], r["pos"], -1 if r["inner"] is None else r["inner"])
            for r in rows
        }

    def _plain(self, boundary: Boundary) -> Boundary:
        """A boundary without masked columns."""
        altered, name = boundary.alteration, boundary.new_name or boundary.name
        if not self.masks.masks:
            return boundary

        def lands(column: str) -> bool:
            return not any(self.masks.masks_column(*one, column) for one in (name, boundary.name))

        if altered is not None:
            altered = replace(
                altered,
                renamed={a: b for a, b in altered.renamed.items() if lands(a) and lands(b)},
                dropped={column for column in altered.dropped if lands(column)},
                changed={n: how for n, how in altered.changed.items() if lands(n)},
                lost={column for column in altered.lost if lands(column)},
                added={n: how for n, how in altered.added.items() if lands(n)},
            )
        definition, before = (
            one and replace(one, columns=tuple(c for c in one.columns if lands(c.name)))
            for one in (boundary.definition, boundary.before)
        )
        return replace(boundary, alteration=altered, definition=definition, before=before)

    def check(self) -> None:
        """InputError: a landing has not ended, or logs in the ledger have not landed."""
        *_, done, known = read_journal(self._out)
        gone = {name: name for name in self.files}
        spans = Spans(self.parts, self.joined, Landed(known), gone)
        if not done or next(spans.fresh(), None) is not None:
            raise InputError(str(self._out), "not all that its ledger knows has landed: land again")

    @property
    def file_facts(self) -> list[FileFacts]:
        """What is known of each log."""
        return [file for part in self.parts for file in part.alone.files]

    @cached_property
    def boundaries(self) -> list[Boundary]:
        """What happened to tables, in log order, if its transaction counts."""
        happened = self.joined.happened or []
        files = np.array([self.numbers[one.file] for one in happened], np.int64)
        at = self._begun.transactions(files, np.array([one.pos for one in happened], np.int64))
        found: list[Boundary] = []
        copied = {self.parts[p.part].names[0] for p in self.joined.positions if p.seen is not None}
        for one, place in zip(happened, at.tolist(), strict=True):
            if place < 0 and one.file in copied:  # the transaction is in another log
                continue
            for told_change in one.changes:
                change = told_change.in_small_letters() if self.joined.folded else told_change
                told: Record = {
                    "seq": len(found), "tx": None if place < 0 else int(self._begun.tx[place]),
                    "file": one.file, "pos": one.pos, "inner": one.inner, "db": change.db,
                    "table": change.table, "action": change.action, "new_db": change.new_db,
                    "new_table": change.new_table, "statement": one.statement,
                    "sql_mode": one.sql_mode,
                }  # fmt: skip
                found.append(self._plain(boundary_of(told, change)))
        cuts = [(self.numbers[b.file], b.pos, -1 if b.inner is None else b.inner) for b in found]
        numbers = replace(self._begun, cuts=cuts_of(cuts)).happenings().tolist()
        placed = [replace(b, seq=number) for b, number in zip(found, numbers, strict=True)]
        return sorted(placed, key=lambda boundary: boundary.seq)

    def boundaries_of(self, name: tuple[str, str]) -> list[Boundary]:
        """Those of one table."""
        return [boundary for boundary in self.boundaries if boundary.concerns(name)]

    @cached_property
    def _begun(self) -> Numbering:
        """Of the transactions alone."""
        return Numbering.of(self.numbers, self.transactions)

    @cached_property
    def numbering(self) -> Numbering:
        """What orders changes and boundaries."""
        happened = self.boundaries
        cuts = [(self.numbers[b.file], b.pos, -1 if b.inner is None else b.inner) for b in happened]
        return replace(self._begun, cuts=cuts_of(cuts))
