"""The front door: a log, or many read together, as frames.

``binlogkit.open(source)`` gives a :class:`Log`; nothing is read before it is asked for.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from binlogkit.errors import UsageError
from binlogkit.log.streams import Streams
from binlogkit.rows.filters import Filters, written_table_name

if TYPE_CHECKING:
    import pyarrow as pa

    from binlogkit.analyses.plans import Plans
    from binlogkit.log.audit import Audit
    from binlogkit.log.explain import Explanation
    from binlogkit.log.state import TableState
    from binlogkit.log.verify import Verification

__all__ = ["Log"]

_GLANCE = 16 << 20  # bytes of logs that a notebook reads through only to show their tables


class Log(Streams):
    """One log, or several read together in order: as frames, and what is made of them.

    Its attributes: see :class:`Streams`.
    """

    # ---- frames -------------------------------------------------------------------------

    def events(self, *, engine: str = "pandas", **filters: Any) -> Any:
        """The events as a frame: the keys of the record; ``flags`` and ``fields`` as JSON text."""
        from binlogkit.frames.event_records import event_schema
        from binlogkit.frames.tables import nested_as_text, table_of, to_engine

        records = (nested_as_text(r) for r in self.event_records(**filters))
        return to_engine(table_of(records, event_schema()), engine)

    def rows(
        self,
        table: str | None = None,
        *,
        engine: str = "pandas",
        columns: Iterable[str] | None = None,
        **filters: Any,
    ) -> Any:
        """Row changes as a frame.

        Without ``table`` every change, ``before`` and ``after`` as JSON text (contract's values).
        With it typed columns ``before.id``, ``after.id`` …, the versions of the table's schema
        united by name; :class:`SchemaError` names the versions that cannot be. ``columns``: only
        these of the table's, as in :meth:`batches`; they need a ``table``.
        """
        import pyarrow as pa

        from binlogkit.frames.tables import flat_table, generic_schema, to_engine

        if table is None:
            if columns is not None:
                raise UsageError("columns are those of a table: name it")
            found = self.generic_batches(**filters)
            return to_engine(pa.Table.from_batches(found, generic_schema()), engine)
        return to_engine(flat_table(self.changes(table, columns=columns, **filters)), engine)

    def changes(
        self, table: str, *, columns: Iterable[str] | None = None, **filters: Any
    ) -> pa.Table:
        """One table's changes in the canonical batch schema: what the analyses take.

        ``columns``: as in :meth:`batches`.
        """
        from binlogkit.frames.tables import united

        found = self.batches(table, columns=columns, **filters)
        return united([b.batch for b in found], table)

    def transactions(self, *, engine: str = "pandas", **filters: Any) -> Any:
        """The transactions as a frame, one row each, with the outcome."""
        from binlogkit.frames.ledgers import TRANSACTION_KEYS, to_table
        from binlogkit.frames.tables import to_engine

        records = self.transaction_records(**filters)
        return to_engine(to_table(records, TRANSACTION_KEYS), engine)

    def statements(self, *, engine: str = "pandas", **filters: Any) -> Any:
        """The statements that the log holds as text, one row each."""
        from binlogkit.frames.ledgers import STATEMENT_KEYS, plain_record, to_table
        from binlogkit.frames.tables import to_engine
        from binlogkit.rows.ledger import statement_of

        wanted = Filters.build(**filters)
        found = (statement_of(s) for s in self.steps() if wanted.wants_step(s))
        records = (plain_record(s, STATEMENT_KEYS, self.options.source) for s in found if s)
        return to_engine(to_table(records, STATEMENT_KEYS), engine)

    def boundaries(self, *, engine: str = "pandas", **filters: Any) -> Any:
        """Where tables are created, dropped, emptied, renamed, altered, written by statements."""
        from binlogkit.frames.ledgers import BOUNDARY_KEYS, plain_record, to_table
        from binlogkit.frames.tables import to_engine
        from binlogkit.rows.ledger import boundaries_of, in_small_letters

        wanted, walk = Filters.build(**filters), self.walk()
        steps = (step for step in self.until_damage(walk) if wanted.wants_step(step))
        found = [boundary for step in steps for boundary in boundaries_of(step)]
        if walk.folded:
            found = [in_small_letters(boundary) for boundary in found]
        records = (plain_record(b, BOUNDARY_KEYS, self.options.source) for b in found)
        return to_engine(to_table(records, BOUNDARY_KEYS), engine)

    def tables(self, *, engine: str = "pandas") -> Any:
        """The columns of every table with row changes: one row per column and schema version."""
        from binlogkit.frames.tables import schema_table, to_engine

        walk = self.walk(ahead=False)
        for _ in self.until_damage(walk):
            pass
        schemas = [schema for versions in walk.schemas.values() for schema in versions]
        return to_engine(schema_table(schemas), engine)

    def table_pairs(self) -> list[tuple[str, str]]:
        """(db, table) of every table with row changes, sorted."""
        walk = self.walk(ahead=False)
        for _ in self.until_damage(walk):
            pass
        return sorted(walk.schemas)

    def table_names(self) -> list[str]:
        """The tables with row changes as the filters want them: ``db.table``, odd ones quoted."""
        return [written_table_name(*pair) for pair in self.table_pairs()]

    def state(self, table: str, **point: Any) -> TableState:
        """A table's rows as of a point: after every transaction that ends at or before it.

        ``at``: ``"FILE:POS"`` or (file, pos); ``until_gtid``: up to the last member of the set in
        log order; ``until_time``: commit time at or before it (``timezone`` for one without an
        offset); by default the end of the log. ``transactional``: whether the table's engine is,
        where the log must not be left to guess; ``key``: columns of a key that nothing tells.
        Errors: UsageError, and those of reading.
        """
        return next(self.states([table], **point))

    def states(self, tables: Iterable[str], **point: Any) -> Iterator[TableState]:
        """Several tables as of one point; see :meth:`state`."""
        from binlogkit.log.state import table_states

        return table_states(self, tables, **point)

    def loaded_files(self, directory: str | Path) -> Iterator[dict[str, object]]:
        """Write the files that LOAD DATA read into ``directory``, one record for each.

        They are called by numbers; see log.loaded_files.write_loaded_files.
        """
        from binlogkit.log.loaded_files import write_loaded_files

        events = (step.event for step in self.walk(ahead=False))
        return write_loaded_files(events, Path(directory))

    def undo(self, **filters: Any) -> Plans:
        """Plans that take the chosen changes back, last first: what reports.sql makes a script of.

        A sequence of mappings as analyses.undo.PLANS says, each made when it is asked for; one that
        is ``refused`` says why.
        """
        from binlogkit.log.undo import plans_of

        return plans_of(self, backwards=True, **filters)

    def redo(self, **filters: Any) -> Plans:
        """Plans that make the chosen changes again, first first; see :meth:`undo`."""
        from binlogkit.log.undo import plans_of

        return plans_of(self, backwards=False, **filters)

    def audit(self, **filters: Any) -> Audit:
        """Who changed what and when, and what this log cannot show; see log.audit.SECTIONS.

        Damage ends the reading and is among the findings; it is not raised.
        """
        from binlogkit.log.audit import audit_log

        return audit_log(self, **filters)

    def verify(self, *, rows: bool = False) -> Verification:
        """Whether the logs are whole: structure, checksums, positions, transactions, continuity.

        ``rows``: decode all rows, not only those whose bytes no checksum vouches for. Damage is
        among the findings; with ``on_damage="stop"`` it ends a file's reading. Nothing is raised
        but what concerns the call; ``unreadable`` holds an input that could not be read.
        """
        from binlogkit.log.verify import verify_log

        return verify_log(self, rows=rows)

    def explain(self, at: Any = None) -> Explanation:
        """Events as annotated walks over their bytes; see :func:`binlogkit.explain`."""
        from binlogkit.log.explain import Explanation, explanations

        return Explanation(tuple(explanations(self, at)))

    # ---- notebooks ----------------------------------------------------------------------

    def __getitem__(self, table: str) -> Any:
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
