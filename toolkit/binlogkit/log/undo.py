"""Which statements take a part of a log back, or make it again, over all its tables."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, Unpack

from binlogkit.rows.filter_args import FilterArgs

if TYPE_CHECKING:
    import pyarrow as pa

    from binlogkit.log.log import Log

__all__ = ["plans_of"]

Plan = dict[str, Any]


def plans_of(log: Log, *, backwards: bool, **filters: Unpack[FilterArgs]) -> list[Plan]:
    """See :meth:`binlogkit.log.log.Log.undo`."""
    from binlogkit.analyses import undo as analysis

    plan = analysis.undo if backwards else analysis.redo
    transactions = log.transactions(engine="pyarrow")
    statements = log.statements(engine="pyarrow")
    files = {name: number for number, name in enumerate(log.files)}
    plans: list[Plan] = []
    for changes in _by_version(log, **filters):
        plans.extend(
            analysis.mappings(plan(changes, transactions=transactions, statements=statements))
        )
    plans.extend(_refused(log, **filters))

    def place(plan: Plan) -> tuple[int, ...]:
        inner = -1 if plan["inner"] is None else plan["inner"]
        return (files[plan["file"]], plan["pos"], inner, plan["row"])

    return sorted(plans, key=place, reverse=backwards)


def _by_version(log: Log, **filters: Unpack[FilterArgs]) -> Iterator[pa.Table]:
    """The changes of each version of each table."""
    import pyarrow as pa

    found: dict[tuple[tuple[str, str], int], list[pa.RecordBatch]] = {}
    for batch in log.batches(**filters):
        found.setdefault((batch.table, batch.schema_version), []).append(batch.batch)
    for batches in found.values():
        yield pa.Table.from_batches(batches).unify_dictionaries()


def _refused(log: Log, **filters: Unpack[FilterArgs]) -> Iterator[Plan]:
    """A refused plan for each statement that changed rows without saying which."""
    from binlogkit.rows.filters import Filters

    wanted = Filters.build(**filters)
    for boundary in log.boundary_table(wanted).to_pylist():
        reason, db, table = _REASONS.get(boundary["action"]), boundary["db"], boundary["table"]
        if reason is None or not wanted.wants_table(db or "", table or ""):
            continue
        if (db is None or table is None) and (wanted.tables or wanted.ops):
            continue
        yield {
            "step": 0, "source": log.options.source, "file": boundary["file"],
            "pos": boundary["pos"], "inner": boundary["inner"], "row": 0,
            "gtid": boundary["gtid"], "timestamp": boundary["timestamp"], "db": db or "",
            "table": table or "", "kind": "update", "set": [], "where": [],
            "limit_one": False, "refused": reason, "note": None,
        }  # fmt: skip


_REASONS = {
    "statement_write": "the change is logged as a statement: which rows it touched is not known",
    "truncate": "TRUNCATE logs no rows: what the table held is not in this event",
    "drop": "DROP TABLE logs no rows: what the table held is not in this event",
    "drop_database": "DROP DATABASE logs no rows: what its tables held is not in this event",
    "unknown": "the statement could not be understood",
}
