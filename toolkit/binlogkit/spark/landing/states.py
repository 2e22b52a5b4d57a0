"""A landed table's rows as of a point, replayed from what has landed: the logs are not needed."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow.compute as pc

from binlogkit.analyses.point_in_time import AtPosition, State, lineage, replay
from binlogkit.analyses.point_in_time.boundary import parents
from binlogkit.analyses.point_in_time.codes import Flags, Integers
from binlogkit.analyses.point_in_time.findings import StateFindings
from binlogkit.analyses.point_in_time.until import Counting, Until
from binlogkit.constants import TableId
from binlogkit.errors import InputError, SchemaError, UsageError
from binlogkit.log.states.assembled import assembled
from binlogkit.log.states.doubts import doubt
from binlogkit.log.states.forwards import transactional_of
from binlogkit.log.states.gaps import Reach
from binlogkit.log.states.history import TableFacts
from binlogkit.log.states.reached import reached
from binlogkit.log.states.table_state import TableState
from binlogkit.rows.filters import parse_table_name, written_table_name
from binlogkit.rows.resolve import key_of
from binlogkit.sources.log_format import CASCADES_LOGGED, version_tuple

if TYPE_CHECKING:
    import pyarrow as pa

    from binlogkit.analyses.point_in_time.boundary import Boundary
    from binlogkit.spark.landing.ledger import Ledger

_ASSUMED = "All that the logs hold of the table has landed, under the same names."


#: The changes of tables, and which of them, by ``seq``, were made with foreign_key_checks off.
Changes = Callable[[Sequence[TableId], Until | None], tuple[Any, Callable[[Integers], Flags]]]


def state_of(
    ledger: Ledger,
    changes_of: Changes,
    tables: Sequence[str],
    table: str,
    at: tuple[str, int] | None,
) -> tuple[State[Any], Callable[[pa.Table], TableState]]:
    """See :meth:`Landing.state`.

    ``tables``: those that have landed; ``changes_of``: some tables' changes, at least up to a
    point. Returns the replayed state, whose rows may be with Spark's tasks, and a function that
    makes a :class:`TableState` of rows that are on this machine.
    """
    parsed = parse_table_name(table)
    if parsed.db is None:
        raise UsageError(f"{table} names no database: db.table")
    name = (parsed.db, parsed.table)
    ledger.check()
    until = None if at is None else AtPosition(_named(ledger.files, at[0]), at[1])
    transactions = ledger.transactions
    counting = Counting(transactions, until, StateFindings())
    counted = frozenset([*counting.committed.tolist(), *counting.rolled_back.tolist()])
    reach = Reach(ledger.files, transactions, counted, until)
    before = [b for b in ledger.boundaries if reach.counts(b.tx) and reach.holds(b.file, b.pos)]
    names = lineage(before, name)
    there = set(tables)
    facts = facts_of_table(ledger, name, before)
    if any(ledger.masks.masks_column(*name, column) for column in facts.key):
        raise SchemaError(f"{table}: its key is masked, so that its rows cannot be distinguished")
    version = max(version_tuple(file.server_version or "") for file in ledger.file_facts)
    logged = version >= CASCADES_LOGGED
    above = [] if logged else parents(before, name, facts.parents)
    stored = {".".join(one): one for one in ledger.joined.schemas}
    family = {stored[parent] for parent in above if parent in stored}
    whole = all(written_table_name(*one) in there for one in family)
    taken = dict.fromkeys([*names, *(family if whole else ())])
    changes, unchecked = changes_of([n for n in taken if written_table_name(*n) in there], until)
    state = replay(
        changes,
        ledger.boundaries,
        key=facts.key,
        transactions=transactions,
        table=name,
        until=until,
        columns=facts.columns,
        transactional=transactional_of(facts.engine),
        cascades=facts.parents,
        cascades_logged=logged,
        unchecked=unchecked if whole else None,
    )
    told = [".".join(one) for one in names]
    gaps = [
        gap
        for gap in ledger.joined.gaps
        if gap.concerns([*told, *above]) and reach.holds(gap.file, gap.pos)
    ]
    doubts = []
    if written_table_name(*name) not in there and not any(b.concerns(name) for b in before):
        doubts.append(doubt("unknown_table", "Nothing that has landed names this table."))
    ended = ledger.transactions.filter(pc.is_valid(ledger.transactions["end_file"]))
    ends = dict(zip(*(ended[c].to_pylist() for c in ("end_file", "end_pos")), strict=True))
    place = None if until is None else (until.file, until.pos)
    found = reached(ledger, place, ends, transactions, reach.counted)

    def made(rows: pa.Table) -> TableState:
        return assembled(
            name,
            rows,
            state.findings,
            columns=facts.columns,
            key=facts.key,
            replayed=state.determined,
            doubts=doubts,
            gaps=gaps,
            assumes=(_ASSUMED,),
            reach=reach,
            place=found,
            definition=state.definition,
        )

    return state, made


def among(unchecked: Integers, seqs: Integers) -> Flags:
    """Which changes have one of some numbers."""
    return np.isin(seqs, unchecked)


def _named(files: list[str], file: str) -> str:
    """The log with this name, given in full or by its last part."""
    found = [name for name in files if name == file or Path(name).name == file]
    if len(found) != 1:
        several = "several logs have this name" if found else "no log that has landed is called so"
        raise InputError(file, several)
    return found[0]


def facts_of_table(ledger: Ledger, name: TableId, boundaries: list[Boundary]) -> TableFacts:
    """The table's columns and key after some boundaries."""
    told = None
    for boundary in boundaries:
        if boundary.concerns(name) and name in (boundary.new_name or boundary.name,):
            told = boundary.definition or told
    versions = ledger.joined.schemas.get(name, [])
    if told is not None:
        columns = tuple(column.name for column in told.columns)
        return TableFacts(0, None, columns, key_of(told)[0], told.engine, told.cascades)
    if not versions:
        return TableFacts(-1, None, None, ())
    last, masks = versions[-1], ledger.masks
    columns = tuple(c.name for c in last.columns if not masks.masks_column(*name, c.name))
    return TableFacts(0, None, columns, last.key, None, last.cascades)
