"""A log's tables compared with those of the running server that wrote it, at one position."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

import pyarrow as pa

from binlogkit.analyses.conformance.against_server import Served
from binlogkit.analyses.point_in_time import compared
from binlogkit.analyses.point_in_time.difference import difference_table
from binlogkit.frames.snapshots.server import ServerTables
from binlogkit.log.states.diff import TableDifference
from binlogkit.rows.filters import parse_table_name, written_table_name
from binlogkit.rows.series import split_name
from binlogkit.sources.connection import SYSTEM_DATABASES

if TYPE_CHECKING:
    from binlogkit.frames.snapshots.snapshot import Snapshot
    from binlogkit.log.log import Log
    from binlogkit.log.states.table_state import TableState
    from binlogkit.sources.connection import ServerSettings


def served_tables(
    log: Log, server: ServerSettings | str, ends: Mapping[str, int]
) -> Iterator[Served]:
    """Compare every table that exists at the server's position in the log with the server's own.

    A table that cannot be compared says why. ``ends``: where each of the logs ends. The server's
    tables are read as of one moment; writers of these tables wait for it. Privileges: as for
    ``snapshot``. Errors: ServerError and its kinds, UsageError, and those of reading the log.
    """
    names = [parse_table_name(table) for table in log.table_names()]
    wanted = {(name.db, name.table) for name in names if name.db not in SYSTEM_DATABASES}
    if not wanted:
        return
    with ServerTables(server, wanted.__contains__) as found:
        snapshot = found.snapshot()
    at = _place(snapshot, ends)
    states = log.states() if at is None else log.states(at=at)
    for state in states:
        if state.table in wanted:
            yield _served(state, snapshot, placed=at is not None)


def _place(snapshot: Snapshot, ends: Mapping[str, int]) -> tuple[str, int] | None:
    """The server's position, if it is in one of the logs."""
    if snapshot.file is None or snapshot.pos is None:
        return None
    wanted = split_name(snapshot.file)[1:]
    for name, end in ends.items():
        if split_name(name)[1:] == wanted and snapshot.pos <= end:
            return name, snapshot.pos
    return None


def _served(state: TableState, snapshot: Snapshot, *, placed: bool) -> Served:
    name, theirs = written_table_name(*state.table), snapshot.tables.get(state.table)
    rows = 0 if theirs is None else theirs.rows.num_rows
    columns = len(state.columns or ())
    doubt = None
    if not placed and (snapshot.gtids is None or state.gtids != snapshot.gtids):
        where = f"{snapshot.file} at {snapshot.pos}" if snapshot.file else "at no place in its logs"
        doubt = f"the server is {where}, and these logs do not reach there"
    elif theirs is None:
        doubt = "the server has no such table"
    elif not state.rows_determined:
        meanings = (f["meaning"] for f in state.findings.to_pylist() if not f["determined"])
        doubt = f"the log does not determine its rows: {next(meanings, 'see state')}"
    if doubt is not None or theirs is None:
        return Served(name, max(rows, state.rows.num_rows), columns, (), doubt)
    return Served(name, rows, columns, _differences(state, theirs.rows))


def _differences(state: TableState, rows: pa.Table) -> Iterator[Mapping[str, object]]:
    theirs = rows.append_column("seq", pa.nulls(rows.num_rows, pa.int64()))
    found = compared(state.rows, theirs, state.key)
    table = difference_table(found, state.rows, theirs)
    other = replace(state, rows=theirs)
    difference = TableDifference(state.table, table, state.findings, state, other, state.key, found)
    return difference.records()
