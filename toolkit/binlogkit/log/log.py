"""The front door: a log, or many read together, as frames.

``binlogkit.open(source)`` gives a :class:`Log`; nothing is read before it is asked for.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, Unpack, overload

from binlogkit.constants import TableId
from binlogkit.errors import UsageError
from binlogkit.log.filter_warnings import warn_of_unknown, warn_of_unmet
from binlogkit.log.signatures import name_all
from binlogkit.log.states.point import PointArgs, TableArgs
from binlogkit.log.streams import Streams, viewed
from binlogkit.rows.filter_args import FilterArgs, RowFilterArgs, check_names
from binlogkit.rows.filters import written_table_name

if TYPE_CHECKING:
    import pandas as pd
    import pyarrow as pa

    from binlogkit.events.gtid_set import GtidSet
    from binlogkit.frames.fields.field import Fields
    from binlogkit.frames.natural import Decimals
    from binlogkit.log.audit import Audit
    from binlogkit.log.explain import EventPlace, Explanation
    from binlogkit.log.states.diff import TableDifference
    from binlogkit.log.states.life.life import RowLife
    from binlogkit.log.states.point import PointArg
    from binlogkit.log.states.table_state import TableState
    from binlogkit.log.states.table_states import TableStates
    from binlogkit.log.transactions_as_written import Following
    from binlogkit.log.undoing.log_plans import LogPlans, Undo
    from binlogkit.log.verify import Verification
    from binlogkit.rows.schema import TableSchema
    from binlogkit.sources.server.resume import Stop

Engine: TypeAlias = Literal["pandas", "pyarrow"]
Frame: TypeAlias = "pd.DataFrame | pa.Table"

_GLANCE = 16 << 20  # bytes of logs that a notebook reads at most to show their tables


class Log(Streams):
    """One log, or several read together in order: as frames, states, plans and reports.

    For its attributes see :class:`Streams`.
    """

    # ---- frames -------------------------------------------------------------------------

    @overload
    def events(
        self, *, engine: Literal["pandas"] = ..., **filters: Unpack[FilterArgs]
    ) -> pd.DataFrame: ...
    @overload
    def events(self, *, engine: Literal["pyarrow"], **filters: Unpack[FilterArgs]) -> pa.Table: ...
    def events(self, *, engine: Engine = "pandas", **filters: Unpack[FilterArgs]) -> Frame:
        """The events as a frame: the keys of the record; ``flags`` and ``fields`` as JSON text."""
        import pyarrow as pa

        from binlogkit.frames.fields.field import arrow_schema
        from binlogkit.frames.fields.ledger import EVENT

        found = pa.Table.from_batches(self._events(filters, compact=False), arrow_schema(EVENT))
        return self._frame(found, EVENT, engine, filters)

    @overload
    def rows(
        self,
        table: str | Sequence[str] | None = None,
        *,
        engine: Literal["pandas"] = ...,
        columns: Iterable[str] | None = None,
        decimals: Decimals | None = None,
        **filters: Unpack[RowFilterArgs],
    ) -> pd.DataFrame: ...
    @overload
    def rows(
        self,
        table: str | Sequence[str] | None = None,
        *,
        engine: Literal["pyarrow"],
        columns: Iterable[str] | None = None,
        **filters: Unpack[RowFilterArgs],
    ) -> pa.Table: ...
    def rows(
        self,
        table: str | Sequence[str] | None = None,
        *,
        engine: Engine = "pandas",
        columns: Iterable[str] | None = None,
        decimals: Decimals | None = None,
        **filters: Unpack[RowFilterArgs],
    ) -> Frame:
        """Row changes as a frame.

        Without ``table``, or with a list of tables, ``before`` and ``after`` are JSON text. With
        one table there are typed columns ``before.id``, ``after.id`` …, from all versions of its
        schema, united by name, with ``timestamp``, ``thread_id``, ``op``, ``changed`` (the columns
        that an update changed) and the other columns of a batch.

        ``table``: one ``db.table``, or several; by default all.
        ``columns``: only these columns of the one ``table``, as in :meth:`batches`.
        ``engine``: ``pandas`` or ``pyarrow``.
        ``decimals``: in pandas ``exact``, or ``float``.
        ``filters``: which row changes: the fields of :class:`binlogkit.Filters`.

        Errors: UsageError, SchemaError (versions of the table cannot be united), and those of
        reading.
        """
        import pyarrow as pa

        from binlogkit.frames.fields.rows import BATCH, ROW
        from binlogkit.frames.tables import flat_table, generic_schema

        if isinstance(table, str):
            found = flat_table(self._changes(table, columns, filters))
            return self._frame(found, BATCH, engine, {**filters, "table": table}, decimals)
        if columns is not None:
            raise UsageError("columns are those of a table: name it")
        if decimals is not None:
            raise UsageError("decimals are those of a table's columns: name it")
        if table is not None and not table:
            raise UsageError("no table is named")
        wanted: FilterArgs = {**filters, "table": () if table is None else table}
        found = pa.Table.from_batches(self._rows(wanted, compact=False), generic_schema())
        return self._frame(found, ROW, engine, wanted, decimals)

    def changes(
        self,
        table: str,
        *,
        columns: Iterable[str] | None = None,
        **filters: Unpack[RowFilterArgs],
    ) -> pa.Table:
        """One table's changes in the canonical batch schema, the input of the analyses.

        ``columns``: as in :meth:`batches`.
        """
        found = self._changes(table, columns, filters)
        warn_of_unmet(self, {**filters, "table": table}, nothing=not found.num_rows)
        return found

    def _changes(
        self, table: str, columns: Iterable[str] | None, filters: RowFilterArgs
    ) -> pa.Table:
        from binlogkit.frames.tables import united
        from binlogkit.log.typed_rows import without_rows

        found = [b.batch for b in self._batches(table, columns, filters)]
        asked = None if columns is None else set(columns)
        return united(found or without_rows(self, table, asked), table)

    @overload
    def transactions(
        self, *, engine: Literal["pandas"] = ..., **filters: Unpack[FilterArgs]
    ) -> pd.DataFrame: ...
    @overload
    def transactions(
        self, *, engine: Literal["pyarrow"], **filters: Unpack[FilterArgs]
    ) -> pa.Table: ...
    def transactions(self, *, engine: Engine = "pandas", **filters: Unpack[FilterArgs]) -> Frame:
        """The transactions as a frame, one row each, with the outcome."""
        from binlogkit.frames.fields.ledger import TRANSACTION

        table = self.transaction_table(**filters)
        if self.unreadable is not None:
            raise self.unreadable
        return self._frame(table, TRANSACTION, engine, filters)

    @overload
    def statements(
        self, *, engine: Literal["pandas"] = ..., **filters: Unpack[FilterArgs]
    ) -> pd.DataFrame: ...
    @overload
    def statements(
        self, *, engine: Literal["pyarrow"], **filters: Unpack[FilterArgs]
    ) -> pa.Table: ...
    def statements(self, *, engine: Engine = "pandas", **filters: Unpack[FilterArgs]) -> Frame:
        """The statements that the log holds as text, one row each."""
        from binlogkit.frames.fields.ledger import STATEMENT

        wanted = self.wanted(**filters).without_where("statements")
        return self._frame(self.statement_table(wanted), STATEMENT, engine, filters)

    @overload
    def boundaries(
        self, *, engine: Literal["pandas"] = ..., **filters: Unpack[FilterArgs]
    ) -> pd.DataFrame: ...
    @overload
    def boundaries(
        self, *, engine: Literal["pyarrow"], **filters: Unpack[FilterArgs]
    ) -> pa.Table: ...
    def boundaries(self, *, engine: Engine = "pandas", **filters: Unpack[FilterArgs]) -> Frame:
        """Where tables are created, dropped, emptied, renamed, altered, written by statements."""
        from binlogkit.frames.fields.ledger import BOUNDARY

        wanted = self.wanted(**filters).without_where("boundaries")
        return self._frame(self.boundary_table(wanted), BOUNDARY, engine, filters)

    @overload
    def tables(self, *, engine: Literal["pandas"] = ...) -> pd.DataFrame: ...
    @overload
    def tables(self, *, engine: Literal["pyarrow"]) -> pa.Table: ...
    def tables(self, *, engine: Engine = "pandas") -> Frame:
        """The columns of every table with row changes: one row per column and schema version."""
        from binlogkit.frames.fields.ledger import COLUMN
        from binlogkit.frames.tables import schema_table

        return self._frame(schema_table(self.table_schemas()), COLUMN, engine, {})

    def _frame(
        self,
        table: pa.Table,
        declared: Fields,
        engine: Engine,
        filters: Mapping[str, Any],
        decimals: Decimals | None = None,
    ) -> Frame:
        """Return ``table`` in the wanted engine and warn about filters that matched nothing.

        Gaps are reported with it: sentences in ``frame.attrs["gaps"]``, or as JSON in the metadata
        ``binlogkit:gaps`` of an Arrow table's schema.
        """
        from binlogkit.frames.tables import to_engine

        warn_of_unmet(self, filters, nothing=not table.num_rows, level=4)
        gaps = [str(gap) for gap in self.gaps]
        if gaps and engine == "pyarrow":
            metadata = {**(table.schema.metadata or {}), b"binlogkit:gaps": json.dumps(gaps)}
            table = table.replace_schema_metadata(metadata)
        frame = to_engine(table, engine, declared, decimals)
        if gaps and engine == "pandas":
            frame.attrs["gaps"] = gaps
        return frame

    def table_schemas(self) -> list[TableSchema]:
        """Every version of every table with row changes."""
        return [schema for versions in viewed(self).schemas.values() for schema in versions]

    def table_pairs(self) -> list[TableId]:
        """(db, table) of every table with row changes, sorted."""
        return sorted(viewed(self).schemas)

    def table_names(self) -> list[str]:
        """The tables with row changes that pass the filters: ``db.table``, quoted where needed."""
        return [written_table_name(*pair) for pair in self.table_pairs()]

    def state(self, table: str, **point: Unpack[PointArgs]) -> TableState:
        """A table's rows as of a point: after every transaction that ends at or before it.

        The point, by default the end of the log:

        ``at``: ``"FILE:POS"`` or (file, pos); POS alone if there is one file.
        ``until_gtid``: the last transaction of this set, in log order.
        ``until_time``: the last transaction committed at this time or before it.
        ``timezone``: of an ``until_time`` without an offset.

        Where the rows start, if the log does not reach back to the table's creation:

        ``base``: an earlier state, or its file; a dump of mysqldump; a folder of mydumper, MySQL
        Shell or :func:`binlogkit.snapshot`; a running server (``mysql://user@host:port``); or a
        list of them. Transactions that it already holds, by its position or GTID set, are not
        applied.
        ``back_from``: a base taken later than the point. The changes between the two are undone;
        the log before the point is not needed.
        ``base_at`` (``"FILE:POS"``), ``base_gtid``: the base's position, if it has none itself.

        Facts about the table that the log may lack:

        ``transactional``: whether its engine is transactional.
        ``key``: the columns of its key.
        ``source``: which server's logs, if unrelated servers have a table of this name.

        Errors: UsageError, and those of reading the log and the base.
        """
        return next(self.states([table], **point))

    def states(
        self, tables: Iterable[str] | None = None, **point: Unpack[PointArgs]
    ) -> TableStates:
        """Several tables as of one point; see :meth:`state`. An iterator: each state is made when
        it is taken. All rows are in memory. The logs are read twice: which changes count is only
        known at their end.

        By default all tables that the log names in changes, DDL or statements, by name, except
        those that it dropped or renamed before the point, or created after it.
        """
        from binlogkit.log.states.point import PointArgs
        from binlogkit.log.states.table_states import TableStates

        check_names(point, PointArgs.__annotations__, "argument")
        return TableStates(self, tables, **point)

    def diff(
        self,
        table: str,
        a: PointArg,
        b: PointArg = None,
        *,
        timezone: str | None = None,
        **how: Unpack[TableArgs],
    ) -> TableDifference:
        """The rows of a table that were added, removed and changed between two points.

        ``a``, ``b``: the points, in this order. Each is a position (``"FILE:POS"``, (file, pos),
        POS alone if there is one file), a GTID set, a time, or None for the log's end.
        ``timezone``: of a time without an offset.
        ``base``: as for :meth:`state`; not newer than ``a``.
        ``back_from``: as for :meth:`state`; not older than ``b``.
        ``transactional``, ``key``, ``source``: as for :meth:`state`.

        Both states come from one reading of the log and are in memory. Rows are compared by the
        table's key; without one, or if the key differs at ``b``, in all columns, with counts.

        Errors: UsageError, and those of reading.
        """
        from binlogkit.log.states.diff import difference_of
        from binlogkit.log.states.point import TableArgs

        check_names(how, TableArgs.__annotations__, "argument")
        return difference_of(self, table, a, b, timezone, how)

    def life(
        self,
        table: str,
        key: Any,
        *,
        key_columns: Sequence[str] | None = None,
        transactional: bool | None = None,
        source: str | Iterable[str] | None = None,
    ) -> RowLife:
        """One row's life: its effective changes in log order, and the table's DDL between them.

        ``key``: the value of the primary key, or of a unique one without NULL; of several columns a
        list, or a text joined by commas. It is compared by the columns' types as in ``where``, text
        by its bytes, whatever the collation.
        ``key_columns``: the key's columns, where the log does not name them.
        ``transactional``, ``source``: as for :meth:`state`.

        The row is followed through updates of its key, forwards and back, and its table through
        renames. Another row that had the key at another time is another ``life``. Cells that images
        leave out (MINIMAL, NOBLOB) have the values of earlier changes, else they are ``unknown``.

        The log is read once without rows, and once with those of the table; again if its changes
        take more than 64 MB and the row had another key before.

        Errors: UsageError (also: the table has no key), and those of reading.
        """
        from binlogkit.log.states.life.life import life_of

        found = life_of(
            self, table, key, key_columns, {"transactional": transactional, "source": source}
        )
        warn_of_unknown(found.findings, written_table_name(*found.table))
        return found

    def loaded_files(self, directory: str | Path) -> Iterator[dict[str, object]]:
        """Write the files that LOAD DATA read into ``directory``; one record for each.

        They are named by numbers; see log.loaded_files.write_loaded_files.
        """
        from binlogkit.log.loaded_files import write_loaded_files

        return write_loaded_files(self.reading(), Path(directory))

    def follow(
        self,
        *,
        at: str | tuple[str, int] | None = None,
        gtid_set: str | GtidSet | None = None,
        wait: bool = True,
        stop: Stop | None = None,
    ) -> Following:
        """Follow the log's files: whole transactions, in order, as they are written.

        The result has ``rows()``, ``batches()``, ``transactions()`` and ``steps()``.

        ``at``: start at this place, ``FILE:POS`` at a transaction's end; by default at the log's
        beginning.
        ``gtid_set``: instead, only the transactions outside this set.
        ``stop``: its ``now()`` ends the waiting.
        ``wait``: wait for new events until ``stop.now()``, else stop at the end of the last log.

        Local files only; for a server see :func:`binlogkit.follow`. Errors: UsageError.
        """
        from binlogkit.log.follow_folder import follow_folder

        return follow_folder(self, at=at, gtid_set=gtid_set, wait=wait, stop=stop)

    def undo(
        self,
        *,
        mode: str = "refuse",
        despite_gaps: bool = False,
        by_transaction: bool = False,
        made_again: Iterable[str] = (),
        **filters: Unpack[FilterArgs],
    ) -> Undo:
        """Plans that undo the chosen changes, last first; reports.sql makes a script of them.

        A sequence of mappings, each made when it is asked for (``PLANS`` in
        analyses/undoing/undo.py); one that is ``refused`` says why. Its ``chosen`` says which
        transactions and connections made the changes: filters by table or time may choose several
        transactions, or parts of them.

        ``mode``: what to do with a chosen change if changes that are not chosen depend on it
        (analyses/undoing/dependents):

        - ``refuse``: the change is refused.
        - ``skip``: it is left out, and the script can still commit.
        - ``cascade``: the dependent changes are undone as well.
        - ``force``: it is undone even if its row changed later. It is refused where later changes
          touched other rows, or a statement that is logged as text may have.
        - ``merge``: an update is undone in the columns that no later change set; the others keep
          their later values, and each plan lists them (``later``). Columns of one key go together.
          A column with ON UPDATE CURRENT_TIMESTAMP keeps the time of the row's last update. It is
          refused where the row was deleted later, and so are inserts and deletes. Changes are
          units by themselves, also with ``by_transaction``.

        ``despite_gaps``: make plans although changes of the chosen tables may be missing; otherwise
        that is a GapError. The script names the gaps.
        ``by_transaction``: undo all changes of the transactions that the filters touch. Each
        transaction is then a unit.
        ``made_again``: dropped tables (``db.table``) that exist again, empty, before the script is
        run. Their rows come from the state before DROP TABLE, like those of TRUNCATE; ``needs``
        lists the statements of the log that created them.
        ``filters``: which changes, as for :meth:`rows`.

        If later changes may depend on the chosen ones, the log is read again and the changes of
        those tables are held in memory. ``later``, ``dependents()`` and ``conflicts()`` report the
        result. Errors: GapError, UsageError, and those of reading.
        """
        from binlogkit.log.undoing.source import LogSource
        from binlogkit.log.undoing.undo import NOT_CHOSEN, undo_from

        log = self._whole()
        source = LogSource(log, log.wanted(**filters), by_transaction=by_transaction)
        plans = undo_from(source, mode=mode, made_again=made_again, despite_gaps=despite_gaps)
        warn_of_unmet(log, filters, nothing=not len(plans), otherwise=NOT_CHOSEN)
        return plans

    def _whole(self) -> Log:
        """This log without its index: undo reads the log itself."""
        return self if self.index is None else Log(self.carriers, self.options)

    def redo(
        self,
        *,
        despite_gaps: bool = False,
        by_transaction: bool = False,
        **filters: Unpack[FilterArgs],
    ) -> LogPlans:
        """Plans that make the chosen changes again, first change first; see :meth:`undo`."""
        from binlogkit.log.undoing.source import LogSource
        from binlogkit.log.undoing.undo import NOT_CHOSEN, redo_from

        log = self._whole()
        source = LogSource(log, log.wanted(**filters), by_transaction=by_transaction)
        plans = redo_from(source, despite_gaps=despite_gaps)
        warn_of_unmet(log, filters, nothing=not len(plans), otherwise=NOT_CHOSEN)
        return plans

    def audit(self, **filters: Unpack[FilterArgs]) -> Audit:
        """Who changed what and when, and what this log cannot show; see log.audit.SECTIONS.

        Damage ends the reading; it is a finding, not an exception.
        """
        from binlogkit.log.audit import audit_log

        audit = audit_log(self, **filters)
        warn_of_unmet(self, filters, nothing=not audit["by_table"].num_rows)
        return audit

    @overload
    def suspects(
        self, *, engine: Literal["pandas"] = ..., **filters: Unpack[FilterArgs]
    ) -> pd.DataFrame: ...
    @overload
    def suspects(
        self, *, engine: Literal["pyarrow"], **filters: Unpack[FilterArgs]
    ) -> pa.Table: ...
    def suspects(self, *, engine: Engine = "pandas", **filters: Unpack[FilterArgs]) -> Frame:
        """The most suspicious changes first: what was changed, why it is suspicious, and the
        command that undoes it.

        What is usual follows from the log itself. The rules are in
        analyses/suspects/rules.toml; an audit has the same table as ``suspects``.
        """
        from binlogkit.analyses.suspects import SUSPECTS
        from binlogkit.log.suspects import suspects_of

        return self._frame(suspects_of(self, **filters), SUSPECTS, engine, filters)

    def verify(self, *, rows: bool = False, images: bool = False) -> Verification:
        """Verify the logs: structure, checksums, positions, transactions, continuity.

        ``rows``: decode all rows, not only those without a checksum.
        ``images``: compare each before image with the row's last values in the log, for tables with
        a key. That finds rows that were changed outside the log.

        Damage is among the findings; with ``on_damage="stop"`` it ends a file's reading. Inputs
        that cannot be read are in ``unreadable``.

        Errors: UsageError only.
        """
        from binlogkit.log.verify import verify_log

        return verify_log(self, rows=rows, images=images)

    def explain(self, at: EventPlace | Iterable[EventPlace] | None = None) -> Explanation:
        """Events as annotated walks over their bytes; see :func:`binlogkit.explain`."""
        from binlogkit.log.explain import Explanation, explanations

        return Explanation(tuple(explanations(self, at)))

    # ---- notebooks ----------------------------------------------------------------------

    def __getitem__(self, table: str) -> pd.DataFrame:
        """``log["shop.orders"]``: the table's typed row changes, as ``log.rows("shop.orders")``."""
        return self.rows(table)

    def _ipython_key_completions_(self) -> list[str]:
        return self.table_names()

    def _repr_html_(self) -> str:
        from binlogkit.reports.notebook import overview

        facts = [("files", str(len(self.carriers)))]
        size = sum(carrier.size or 0 for carrier in self.carriers)
        if size:
            facts.append(("size", f"{size:,} bytes"))
        if size <= _GLANCE:
            facts.append(("tables", ", ".join(self.table_names()) or "none with row changes"))
        rows = [{"file": c.name, "size": c.size} for c in self.carriers]
        return overview("binary log", facts, rows)

    def __repr__(self) -> str:
        return f"<binlogkit.Log {json.dumps(self.files, ensure_ascii=True)}>"


name_all(Log, FilterArgs, RowFilterArgs, PointArgs, TableArgs)
