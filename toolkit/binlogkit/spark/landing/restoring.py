"""Landed tables as the typed changes that analyses take, as ``log.changes()`` gives them.

What a landed table does not hold of a change (its transaction's number, types narrower than a long)
follows from the ledger beside it. The logs are not needed.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from copy import copy
from dataclasses import replace
from functools import cache
from operator import attrgetter
from pathlib import Path
from typing import TYPE_CHECKING, Any, Unpack

import pyarrow as pa
import pyarrow.compute as pc

from binlogkit.analyses.point_in_time.repeats import once
from binlogkit.constants import TableId
from binlogkit.errors import InputError, SchemaError, UnmetWarning, UsageError, printable
from binlogkit.frames.layouts import empty_batch
from binlogkit.log.filter_warnings import tables_not_met
from binlogkit.log.index.transactions import joined_transactions
from binlogkit.rows.filter_args import AtArg, FilterArgs, place_in
from binlogkit.rows.filters import Filters, written_table_name
from binlogkit.rows.schema import TableSchema
from binlogkit.spark.landing.landing_path import LandingPath
from binlogkit.spark.landing.ledger import Ledger
from binlogkit.spark.landing.passing import Passing, numbered
from binlogkit.spark.landing.reading import folders, lean, read, schema_of
from binlogkit.spark.landing.restored import Ordered, Restored
from binlogkit.spark.landing.shape import Generations, landed_name, landed_schema, types_of
from binlogkit.spark.landing.states import Changes, LandedStates, Sift
from binlogkit.spark.landing.store import place_of

if TYPE_CHECKING:
    from binlogkit.analyses._tasks import Sieve
    from binlogkit.log.audit import Audit
    from binlogkit.log.states.diff import TableDifference
    from binlogkit.log.states.life.life import RowLife
    from binlogkit.log.states.table_state import TableState
    from binlogkit.log.undoing.log_plans import LogPlans, Undo
    from binlogkit.log.undoing.source import UndoSource
    from binlogkit.log.verify import Verification


class Landing:
    """What has landed in a folder, or in a store: :meth:`transactions`, the :meth:`changes` of
    tables, and a table's :meth:`state`.

    ``ledger``: the local folder of a landing in a store; ``target_options``: of the store, no
    secrets. UsageError: there is no such landing, or the ledger is another's; InputError: nothing
    has landed there, the store does not give it.
    """

    _sift: Sift | None = None  # see LandedSource

    def __init__(
        self,
        out: str | Path | LandingPath,
        *,
        ledger: str | Path | None = None,
        target_options: Mapping[str, str] | None = None,
    ) -> None:
        self.out = place_of(out, ledger, target_options)
        self.ledger = Ledger(self.out)

    def transactions(self, **filters: Unpack[FilterArgs]) -> pa.Table:
        """The transactions of all logs of the ledger, as ``log.transactions()`` has them.

        ``filters``: but ``where``, since the ledger has no rows. UsageError.
        """
        ledger, wanted = self.ledger, self.wanted(**filters)
        if wanted.where:
            raise UsageError("where asks for rows: the transactions of a landing do not have them")
        return joined_transactions(ledger.parts, ledger.joined, wanted, ledger.files)

    def audit(self, **filters: Unpack[FilterArgs]) -> Audit:
        """Like ``log.audit()``, from the tables and the ledger; ``audit.lacking`` says which
        sections only the logs can give.

        ``filters``: but ``where``. UsageError.
        """
        from binlogkit.spark.landing.audit import audit_landing

        return audit_landing(self.ledger, self.transactions, filters)

    def wanted(self, **filters: Unpack[FilterArgs]) -> Filters:
        """The filters; ``at`` becomes the position where the transaction begins that begins there
        or has an event there."""
        wanted, at = Filters.build(**filters), filters.get("at")
        if at is None:
            return wanted
        file, pos = place_in(self.ledger.files, at)
        rows = self.ledger.transactions.select(["file", "pos", "end_pos"])
        rows = rows.filter(pc.equal(rows["file"], file))
        inside = pc.and_(pc.less_equal(rows["pos"], pos), pc.greater(rows["end_pos"], pos))
        begin = next(iter(rows["pos"].filter(inside).to_pylist()), pos)
        return replace(wanted, at=(file, begin))

    def undo(
        self,
        *,
        mode: str = "refuse",
        made_again: Iterable[str] = (),
        despite_gaps: bool = False,
        by_transaction: bool = False,
        **filters: Unpack[FilterArgs],
    ) -> Undo:
        """Plans that undo the chosen changes, as ``log.undo()`` makes them.

        The chosen changes are held in memory; those of all tables that the filters name, and of
        those that foreign keys join with them, are read file by file. Tables of them that did not
        land are a gap. Errors: those of ``log.undo()`` and of :meth:`state`; SchemaError: columns
        of such a table are masked.
        """
        from binlogkit.log.undoing.undo import undo_from

        source = self._source(filters, by_transaction=by_transaction)
        plans = undo_from(source, mode=mode, made_again=made_again, despite_gaps=despite_gaps)
        self._warn_of_unmet(plans, filters)
        return plans

    def redo(
        self,
        *,
        despite_gaps: bool = False,
        by_transaction: bool = False,
        **filters: Unpack[FilterArgs],
    ) -> LogPlans:
        """Plans that make the chosen changes again, as ``log.redo()`` makes them; see
        :meth:`undo`."""
        from binlogkit.log.undoing.undo import redo_from

        source = self._source(filters, by_transaction=by_transaction)
        plans = redo_from(source, despite_gaps=despite_gaps)
        self._warn_of_unmet(plans, filters)
        return plans

    def _source(self, filters: FilterArgs, *, by_transaction: bool) -> UndoSource:
        from binlogkit.spark.landing.undo import LandedSource

        return LandedSource(
            self.ledger,
            lambda names: self.passing(names, whole=True),
            self.transactions,
            self.wanted(**filters),
            filters,
            by_transaction=by_transaction,
            sift=self._sift,
        )

    def _warn_of_unmet(self, plans: LogPlans, filters: Mapping[str, Any]) -> None:
        """Warn of filters that no change passes, as of a table that the logs do not have."""
        from binlogkit.log.undoing.undo import NOT_CHOSEN

        texts = tables_not_met(self.ledger.met, filters) or [NOT_CHOSEN] * (not len(plans))
        for text in texts:
            warnings.warn(printable(text), UnmetWarning, stacklevel=3)

    def tables(self) -> list[str]:
        """The tables that have landed, ``db.table``."""
        return sorted(written_table_name(*n) for n in self.ledger.met if self.ledger.has(n))

    def changes(self, table: str) -> pa.Table:
        """The committed changes of a table as ``log.changes(table)`` has them, in log order.

        ``seq`` orders them; columns that are masked are left out. SchemaError: versions of the
        table have no columns in common;
        UsageError, InputError: as of :func:`binlogkit.spark.landing.landed`.
        """
        own = landed_name(table)
        (one, seqs), *more = self.ordered([own], whole=True)[own]
        if more:
            raise SchemaError(f"versions of {table} have types that have nothing in common")
        return one.table(seqs, one.united())

    def state(self, table: str, *, at: AtArg = None) -> TableState:
        """The table's rows as of a file and position, of all that has landed if None.

        Errors: those of :meth:`changes`; InputError: logs that the ledger knows have not landed;
        UsageError: no log has that name.
        """
        landing = self.concerning(table, at)
        return LandedStates(landing.ledger, landing.lean(), [table], [at]).state()

    def diff(self, table: str, a: AtArg, b: AtArg = None) -> TableDifference:
        """What differs in a table between two positions, as ``log.diff()`` gives it; ``b``: the end
        of all that has landed if None.

        Errors: those of :meth:`state`.
        """
        landing = self.concerning(table, a, b)
        return LandedStates(landing.ledger, landing.lean(), [table], [a, b]).difference()

    def life(self, table: str, key: Any, *, key_columns: Sequence[str] | None = None) -> RowLife:
        """One row's life, as ``log.life()`` gives it: its changes and the table's DDL between them.

        Errors: those of :meth:`state`; UsageError, also of a table without a key.
        """
        from binlogkit.spark.landing.life import LandedRows, landed_life

        rows = LandedRows(
            self.ledger,
            lambda names: self.passing(names, whole=True),
            LandedStates(self.ledger, self.lean(), [table], [None]),
            self.transactions(),
        )
        return landed_life(rows, table=table, value=key, key_columns=key_columns)

    def unlogged(self) -> Verification:
        """What ``log.verify(images=True)`` says of rows that were changed outside the logs: the
        findings, and in ``images`` of each table how many of its changes were compared, or why
        none. See docs/landing.md for what differs.

        Memory: the rows of the largest table, twice. Errors: those of :meth:`state`, but for
        tables that cannot be compared.
        """
        from binlogkit.spark.landing.images import unlogged_in

        return unlogged_in(self.ledger, self.compared_states)

    def compared_states(self, table: str) -> LandedStates:
        """A table's states, which compare images with all columns."""

        def sift(
            names: Sequence[TableId], _: Sequence[TableId], sieve: Sieve
        ) -> Iterator[pa.RecordBatch]:
            for batch in self.passing(names, whole=True):
                yield from sieve(once(batch))

        return LandedStates(self.ledger, self.lean(), [table], [None], sift=sift)

    def concerning(self, table: str, *points: AtArg) -> Landing:
        """This landing with the transactions only that the states of a table at some points need.
        UsageError: no log has that name."""
        ledger = self.ledger
        files = [place_in(ledger.files, at)[0] for at in points if at is not None]
        found = copy(self)
        found.ledger = ledger.concerning(landed_name(table), files)
        return found

    def passing(self, names: Iterable[TableId], *, whole: bool = False) -> Passing:
        """The changes of tables as they pass; ``whole``: with all columns."""
        own = {name: self.folders(name) for name in names}
        return Passing(self.ledger, own, (lambda schema: schema) if whole else lean)

    def lean(self) -> Changes:
        """The changes of tables as states need them, each time the same ones."""
        taken = cache(self.passing)
        return lambda names, _: taken(tuple(names))

    def ordered(
        self, names: Iterable[TableId], *, whole: bool = False
    ) -> dict[TableId, list[Ordered]]:
        """The rows of tables, numbered in one order, which boundaries share; ``whole``: all
        columns."""
        rows = {name: self._restored(name, whole=whole) for name in names}
        found = numbered(self.ledger.numbering, rows)
        self.ledger.check_expired()
        return found

    def _restored(self, name: TableId, *, whole: bool) -> list[Restored]:
        """The rows of each folder of a table."""
        return [
            Restored(name, read(folder, whole=whole), own, self.ledger.numbering, self.ledger.masks)
            for folder, own in self.folders(name)
        ]

    def folders(self, name: TableId) -> list[tuple[LandingPath, list[pa.RecordBatch]]]:
        """The folders of a table, and the existing versions, an empty batch each."""
        found = list(folders(self.out, name))
        if not found:
            table = written_table_name(*name)
            raise InputError(str(self.out), f"{table} has not landed there")
        generations = Generations({name: [types_of(schema_of(folder)) for folder in found]})
        versions: list[list[pa.RecordBatch]] = [[] for _ in found]
        for version in filter(attrgetter("named"), self.ledger.joined.schemas[name]):
            for i in self._generations_of(version, generations):
                versions[i].append(empty_batch(version))
        return list(zip(found, versions, strict=True))

    def _generations_of(self, version: TableSchema, generations: Generations) -> set[int]:
        """The existing folders in which rows of a table's version may have landed."""
        types = [types_of(landed_schema(version, masks)) for masks in self.ledger.masks_then]
        found = {generations.place(version.name, one) for one in types}
        return found & {*range(len(generations.known[version.name]))}
