"""A snapshot: rows of tables, their position, and what is doubtful."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import pyarrow as pa

from binlogkit.constants import TableId
from binlogkit.events.gtid_set import GtidSet
from binlogkit.rows.ddl import Catalog
from binlogkit.rows.schema import TableDefinition


@dataclass(frozen=True, slots=True)
class TableSnapshot:
    """The rows of one table.

    ``rows``: with the columns ``values``, ``unknown``, ``value_state`` and ``raw`` of a state;
    ``definition``: None where unknown; ``key``: None where that is the definition's;
    ``unknown``: why cells are not known, and how many; ``doubts``: why rows may be missing or
    wrong, a sentence each.
    """

    name: TableId
    rows: pa.Table
    definition: TableDefinition | None = None
    key: tuple[str, ...] | None = None
    unknown: Mapping[str, int] = field(default_factory=dict)
    doubts: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Snapshot:
    """Tables as of one position.

    ``source``: what was read, as given; ``file``, ``pos``: after every transaction that ends by
    there, None where it does not say; ``gtids``: the transactions that are in it, None likewise;
    ``catalog``: the definitions, None where there are none; ``unplaced``: why the position is not
    known.
    """

    source: str
    tables: Mapping[TableId, TableSnapshot]
    file: str | None = None
    pos: int | None = None
    gtids: GtidSet | None = None
    catalog: Catalog | None = None
    unplaced: str | None = None
