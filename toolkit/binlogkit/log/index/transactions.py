"""The transactions of logs, from what an index keeps of each: as one reading of all tells them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from binlogkit.events.gtid_set import GtidSet
from binlogkit.frames.fields.field import arrow_schema
from binlogkit.frames.fields.ledger import TRANSACTION
from binlogkit.frames.wanted import wanted_transactions
from binlogkit.log.index.joined import Joined, Position
from binlogkit.log.index.part import Part
from binlogkit.rows.filters import Filters
from binlogkit.rows.prepared import Decision


def joined_transactions(
    parts: Sequence[Part], joined: Joined, wanted: Filters, files: Sequence[str]
) -> pa.Table:
    """The transactions that are wanted, in log order; ``parts`` have their ledger, and are not cut.

    ``files``: the names of all logs.
    """
    schema = arrow_schema(TRANSACTION)
    found = [_of(parts[p.part], p, joined.decisions) for p in joined.positions]
    table = pa.concat_tables([schema.empty_table(), *found])
    return table if wanted == Filters() else table.filter(wanted_transactions(table, wanted, files))


def _of(part: Part, position: Position, decisions: Mapping[int, Decision]) -> pa.Table:
    """The transactions of one part among all."""
    table = part.ledger["transactions"].select(arrow_schema(TRANSACTION).names)
    columns: dict[str, Any] = {name: table.column(name) for name in table.column_names}
    columns["tx"] = pc.add(columns["tx"], position.transactions)
    columns["source"] = pa.repeat(pa.scalar(position.source, pa.string()), table.num_rows)
    first = position.transactions
    own = {n - first: how for n, how in decisions.items() if 0 <= n - first < table.num_rows}
    if own:
        columns |= _decided(columns, own)
    made = pa.table([columns[name] for name in table.column_names], arrow_schema(TRANSACTION))
    return made if position.seen is None else made.filter(_first(made, position.seen))


def _decided(columns: Mapping[str, Any], decisions: Mapping[int, Decision]) -> dict[str, Any]:
    """What other logs decided."""
    names = ("outcome", "resolved_file", "resolved_pos")
    told = {name: columns[name].to_pylist() for name in names}
    for number, decision in decisions.items():
        for name, value in zip(told, decision, strict=True):
            told[name][number] = value
    return {name: pa.array(map(str, v) if name == "outcome" else v) for name, v in told.items()}


def _first(table: pa.Table, seen: GtidSet) -> pa.Array:
    """Which did not come before in another log."""
    gtids = table.column("gtid").to_pylist()
    return pa.array([gtid is None or gtid not in seen for gtid in gtids])
