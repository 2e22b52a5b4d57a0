"""The transactions, statements and boundaries of logs, from an index, as one reading of all would
give them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from binlogkit.analyses.point_in_time.codes import Flags
from binlogkit.analyses.point_in_time.counting import touching
from binlogkit.analyses.point_in_time.transaction_numbers import TransactionNumbers
from binlogkit.events.gtid_set import GtidSet
from binlogkit.frames.fields.field import arrow_schema, to_table
from binlogkit.frames.fields.ledger import BOUNDARY, INDEX, STATEMENT, TRANSACTION
from binlogkit.frames.statements import Record, boundary_records
from binlogkit.frames.wanted import wanted_transactions
from binlogkit.log.index.joined import Joined, Position
from binlogkit.log.index.later import batch_of, columns_of
from binlogkit.log.index.part import Part
from binlogkit.rows.filters import Filters
from binlogkit.rows.prepared import Decision
from binlogkit.rows.window import SEQ_SHIFT


def joined_transactions(
    parts: Sequence[Part], joined: Joined, wanted: Filters, files: Sequence[str]
) -> pa.Table:
    """The wanted transactions, in log order; ``parts`` have their ledger and are not cut.

    ``files``: the names of all logs.
    """
    table = _joined(parts, joined, arrow_schema(TRANSACTION).names)
    return table if wanted == Filters() else table.filter(wanted_transactions(table, wanted, files))


@dataclass(frozen=True, slots=True)
class Concerned:
    """Which transactions concern some tables: those that touch ``tables`` (``db.table``), have one
    of the ``numbers``, or are in one of the parts ``whole``."""

    tables: Sequence[str]
    numbers: TransactionNumbers
    whole: frozenset[int]

    def reads_all(self, position: Position, part: Part) -> bool:
        """Whether all transactions of a part are read: else those left out were committed, each
        with a GTID, in the part's own order."""
        return position.part in self.whole or position.seen is not None or not part.extent.plain

    def choose(self, transactions: pa.Table) -> Flags:
        """Which of these concern the tables."""
        numbers = self.numbers.among(np.asarray(transactions["tx"]))
        return touching(transactions, self.tables) | numbers


def narrow_transactions(
    parts: Sequence[Part],
    joined: Joined,
    columns: Sequence[str],
    repeated: Set[str],
    concerned: Concerned | None = None,
) -> pa.Table:
    """Some columns of all transactions, in log order, or of those ``concerned``; ``repeated``:
    columns whose texts repeat, which become dictionaries; ``columns``: at least tx, source, gtid,
    outcome, tables and the resolved ones."""
    return _joined(parts, joined, columns, repeated, concerned).unify_dictionaries()


def _joined(
    parts: Sequence[Part],
    joined: Joined,
    columns: Sequence[str],
    repeated: Set[str] = frozenset(),
    concerned: Concerned | None = None,
) -> pa.Table:
    """See :func:`narrow_transactions`; a batch of an index is read once."""
    whole, positions, found = arrow_schema(TRANSACTION), joined.positions, dict[int, pa.Table]()
    schema = pa.schema([whole.field(name) for name in columns])
    for i in sorted(range(len(positions)), key=lambda i: batch_of(parts[positions[i].part].ledger)):
        position = positions[i]
        part = parts[position.part]
        own = _of(part, position, joined.decisions, schema)
        if concerned is not None and not concerned.reads_all(position, part):
            own = own.filter(concerned.choose(own))
        found[i] = _encoded(own, repeated)
    empty = _encoded(schema.empty_table(), repeated)
    return pa.concat_tables([empty, *(found[i] for i in range(len(positions)))])


def _encoded(table: pa.Table, repeated: Set[str]) -> pa.Table:
    """A table with dictionaries in these columns."""
    for i, name in enumerate(table.column_names):
        if name in repeated:
            table = table.set_column(i, name, table[name].dictionary_encode())
    return table


def joined_statements(parts: Sequence[Part], joined: Joined, sources: Set[str]) -> pa.Table | None:
    """The statements of these servers' logs, of all if none is named, in log order; None: the index
    lacks their texts."""
    schema = arrow_schema(STATEMENT)
    found = [schema.empty_table()]
    for position in joined.positions:
        if sources and position.source not in sources:
            continue
        table = parts[position.part].ledger["statements"].select(schema.names)
        if table.column("query").null_count:
            return None
        source = pa.repeat(pa.scalar(position.source, pa.string()), table.num_rows)
        table = table.set_column(0, schema.field("source"), source).cast(schema)
        found.append(table if position.seen is None else table.filter(_first(table, position.seen)))
    return pa.concat_tables(found)


def joined_changes(parts: Sequence[Part], joined: Joined) -> pa.Table:
    """How many rows of which table each transaction changed, by operation: ``tx``, ``db``,
    ``table``, ``op``, ``rows`` and ``bytes``; ``joined`` is not cut."""
    names = ("tx", "db", "table", "op", "rows", "bytes")
    schema = arrow_schema(INDEX["changes"])
    found = [pa.schema([schema.field(name) for name in names]).empty_table()]
    for position in joined.positions:
        own = columns_of(parts[position.part].ledger, "changes", names)
        found.append(own.set_column(0, "tx", pc.add(own["tx"], position.transactions)))
    return pa.concat_tables(found)


def joined_boundaries(
    parts: Sequence[Part],
    joined: Joined,
    sources: Set[str],
    files: Sequence[str],
    statements: pa.Table,
) -> pa.Table:
    """The boundaries in these servers' logs, of all if none is named, in log order.

    ``joined`` with ``happened``; ``files``: the names of all logs; ``statements``: those of all
    servers (:func:`joined_statements`), from which come the texts; others are empty.
    """
    places = zip(*(statements.column(n).to_pylist() for n in ("file", "pos", "inner")), strict=True)
    texts = dict(zip(places, statements.column("query").to_pylist(), strict=True))
    table = joined_transactions(parts, joined, Filters(), files)
    facts = zip(*(table.column(n).to_pylist() for n in ("gtid", "commit_timestamp")), strict=True)
    of = dict(zip(table.column("tx").to_pylist(), facts, strict=True))
    found: list[Record] = []
    last, number = -1, 0
    for one in joined.happened or ():
        number = number + len(one.changes) if one.event == last else 0
        first, last = number, one.event
        if (sources and one.source not in sources) or (one.tx is not None and one.tx not in of):
            continue  # of another server, or the transaction is in another log
        gtid, commit = (None, None) if one.tx is None else of[one.tx]
        record: Record = {
            "source": one.source, "file": one.file, "pos": one.pos, "end_pos": one.end_pos,
            "inner": one.inner, "tx": one.tx, "timestamp": one.timestamp,
            "commit_timestamp": commit, "gtid": gtid,
        }  # fmt: skip
        text = one.statement or texts.get((one.file, one.pos, one.inner), "")
        seq = (one.event << SEQ_SHIFT) + first
        changes = [c.in_small_letters() if joined.folded else c for c in one.changes]
        found += boundary_records(record, seq, changes, text, one.sql_mode)
    return to_table(found, BOUNDARY)


def _of(
    part: Part, position: Position, decisions: Mapping[int, Decision], schema: pa.Schema
) -> pa.Table:
    """The columns of a schema, of the transactions of one part among all."""
    table = columns_of(part.ledger, "transactions", schema.names)
    columns: dict[str, Any] = {name: table.column(name) for name in table.column_names}
    columns["tx"] = pc.add(columns["tx"], position.transactions)
    columns["source"] = pa.repeat(pa.scalar(position.source, pa.string()), table.num_rows)
    first = position.transactions
    own = {n - first: how for n, how in decisions.items() if 0 <= n - first < table.num_rows}
    if own:
        columns |= _decided(columns, own)
    made = pa.table([columns[name] for name in schema.names], schema)
    return made if position.seen is None else made.filter(_first(made, position.seen))


def _decided(columns: Mapping[str, Any], decisions: Mapping[int, Decision]) -> dict[str, Any]:
    """Decisions by other logs."""
    names = ("outcome", "resolved_file", "resolved_pos")
    lists = {name: columns[name].to_pylist() for name in names}
    for number, decision in decisions.items():
        for name, value in zip(lists, decision, strict=True):
            lists[name][number] = value
    return {name: pa.array(map(str, v) if name == "outcome" else v) for name, v in lists.items()}


def _first(table: pa.Table, seen: GtidSet) -> pa.Array:
    """Which did not occur in an earlier log."""
    gtids = table.column("gtid").to_pylist()
    return pa.array([gtid is None or gtid not in seen for gtid in gtids])
