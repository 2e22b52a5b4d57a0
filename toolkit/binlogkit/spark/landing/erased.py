"""Rows that were erased: of which tables, and what the ledger still counts of these."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from binlogkit.analyses.point_in_time.erased import Logged
from binlogkit.constants import TableId
from binlogkit.frames.fields.field import arrow_schema
from binlogkit.frames.fields.ledger import ERASURES
from binlogkit.spark.landing.journal import ERASED
from binlogkit.spark.landing.landing_path import LandingPath
from binlogkit.spark.landing.numbering import AFTER, BEFORE, SHIFT, Numbering, of_files
from binlogkit.spark.landing.shape import landed_name
from binlogkit.spark.landing.tables import rows_of


def erased_tables(out: LandingPath) -> set[TableId]:
    """The tables of which rows were erased."""
    erasures = rows_of(out / ERASED, arrow_schema(ERASURES))
    return {landed_name(table) for one in erasures for table in one["tables"]}


def logged_of(
    name: TableId, changes: pa.Table, transactions: pa.Table, numbering: Numbering
) -> Logged:
    """What the logs have changed of a table; ``changes``: how many rows of which table each
    transaction changed, by operation."""
    own = changes.filter(
        pc.and_(pc.equal(changes["db"], name[0]), pc.equal(changes["table"], name[1]))
    )
    where = transactions.select(["tx", "file", "pos", "end_file", "end_pos"])
    where = where.filter(pc.is_in(where["tx"], own["tx"]))
    places = (("file", "pos", 0, BEFORE), ("end_file", "end_pos", 1, AFTER))
    begins, ends = (
        numbering.numbers((
            of_files(numbering.files, where[file]),
            np.asarray(where[pos]).astype(np.int64) - back, *np.full((2, len(where)), row),
        )) >> SHIFT
        for file, pos, back, row in places
    )  # fmt: skip
    order, tx = np.argsort(begins, kind="stable"), np.asarray(where["tx"])
    ranks = np.argsort(tx)
    counts = np.zeros((2, len(tx)), np.int64)
    for count, op in zip(counts, ("update", "delete"), strict=True):
        of = own.filter(pc.and_(pc.equal(own["op"], op), pc.is_in(own["tx"], where["tx"])))
        at = ranks[np.searchsorted(tx, np.asarray(of["tx"]), sorter=ranks)]
        np.add.at(count, at, np.asarray(of["rows"]))
    files = where["file"].cast(pa.string()).take(pa.array(order)).to_pylist()
    pos, first, last = np.asarray(where["pos"]), begins << SHIFT, (ends + 1 << SHIFT) - 1
    columns = (one[order] for one in (pos, tx, first, last, *counts))
    return Logged(files, *columns)
