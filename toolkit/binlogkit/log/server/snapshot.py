"""Snapshots: a server's tables as of one moment, kept as bases for states."""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from binlogkit.constants import TableId
from binlogkit.errors import UsageError, WriteError
from binlogkit.frames.flat_states import flat_schema, flat_states
from binlogkit.frames.snapshots.server import ServerTables
from binlogkit.log.server.chunked import batches_in_order, made_one
from binlogkit.rows.filter_args import texts
from binlogkit.rows.filters import parse_table_name, written_table_name

if TYPE_CHECKING:
    import pyarrow as pa

    from binlogkit.events.gtid_set import GtidSet
    from binlogkit.sources.connection import ServerSettings
    from binlogkit.sources.server.consistent import Lock

_PARTIAL = ".partial"
_ODD = re.compile(r"[^0-9A-Za-z_.]")
_LONGEST = 80  # characters of a table's name in its file name


@dataclass(frozen=True, slots=True)
class SnapshotTables:
    """A snapshot's content: ``tables``: rows by table, as ``--table`` takes it; ``file``, ``pos``,
    ``gtids``: its place in the server's logs, each None where the server has none."""

    folder: Path
    tables: dict[str, int]
    file: str | None
    pos: int | None
    gtids: GtidSet | None


def snapshot(
    server: str | ServerSettings,
    out: str | os.PathLike[str],
    *,
    tables: str | Iterable[str] | None = None,
    lock: Lock | str = "tables",
    chunk_rows: int | None = None,
) -> SnapshotTables:
    """Write a server's tables as of one moment into the new folder ``out``: a base for states.

    Each table is a Parquet file with its place in the server's logs.

    ``server``: ``mysql://user@host:port`` (password: environment variable BINLOGKIT_PASSWORD, or
    ``?defaults-file=…``) or settings.
    ``out``: the folder; it is made with mode 0700.
    ``tables``: one ``db.table``, or several; by default all. Up to 9.5 the tables from which
    foreign keys change them are added.
    ``lock``: which writers wait for the moment of the snapshot:

    - ``tables``: writers of these tables.
    - ``held``: the same until the tables are read. Tables of engines without transactions need it.
    - ``global``: all writers, by FLUSH TABLES WITH READ LOCK, for when transactions on the tables
      do not end.

    ``chunk_rows``: read so many rows at a time, so that no transaction stays open for long. The log
    then brings the tables to one moment (log/server/chunked.py), in memory. Without it DDL on the
    tables waits until they are read, and memory is bounded.

    Privileges: SELECT, LOCK TABLES, REPLICATION CLIENT, RELOAD for ``global``, and REPLICATION
    SLAVE for ``chunk_rows``.

    Errors: UsageError, WriteError, ServerError and its kinds.
    """
    names = None if tables is None else [parse_table_name(t) for t in texts("tables", tables)]

    def wanted(name: TableId) -> bool:
        return names is None or any(one(*name) for one in names)

    folder = Path(out)
    partial = folder.with_name(folder.name + _PARTIAL)
    if folder.exists() or partial.exists():
        raise WriteError(str(folder), "it is there already")
    with ServerTables(server, wanted, lock) as found:
        there = found.definitions
        missing = [n for n in names or () if not any(n(*name) for name in there)]
        if missing or not there:
            listed = ", ".join(written_table_name(n.db or "", n.table) for n in missing)
            raise UsageError(f"the server has no table {listed}" if listed else "it has no tables")
        try:
            partial.mkdir(0o700)
            if chunk_rows is None:
                batches = ((name, found.batches(name, {})) for name in there)
                taken = written(found, batches, partial)
            else:
                taken = _in_chunks(server, found, partial, chunk_rows)
            partial.rename(folder)
        except OSError as exc:
            raise WriteError(str(folder), exc.strerror or str(exc)) from exc
        finally:
            shutil.rmtree(partial, ignore_errors=True)
        return replace(taken, folder=folder)


def written(
    found: ServerTables, tables: Iterable[tuple[TableId, Iterator[pa.RecordBatch]]], folder: Path
) -> SnapshotTables:
    """Write tables as they come."""
    counts = {
        written_table_name(*name): _write(found, name, batches, folder / file_name(i, name))
        for i, (name, batches) in enumerate(tables, 1)
    }
    return SnapshotTables(folder, counts, found.file, found.pos, found.gtids)


def _in_chunks(
    server: str | ServerSettings, found: ServerTables, folder: Path, rows: int
) -> SnapshotTables:
    """Write tables in chunks of rows. Errors: see :func:`snapshot`."""
    if rows < 1:
        raise UsageError("chunk_rows is a number of rows")
    if found.file is None:
        raise UsageError("the server writes no binary log: without it there are no chunks")
    read, logs = folder / "read", folder / "logs"
    read.mkdir(0o700)
    written(found, batches_in_order(found, rows), read)
    taken = SnapshotTables(folder, {}, found.file, found.pos, found.gtids)
    for i, state in enumerate(made_one(server, found, read, logs), 1):
        state.to_parquet(folder / file_name(i, state.table))
        file, pos = state.position or (None, None)
        counts = taken.tables | {written_table_name(*state.table): state.rows.num_rows}
        taken = SnapshotTables(folder, counts, file, pos, state.gtids)
    for done in (read, logs):
        shutil.rmtree(done)
    return taken


def file_name(number: int, name: TableId) -> str:
    """A unique file name for a table, whatever it is called."""
    return f"{number:04}-{_ODD.sub('_', '.'.join(name))[:_LONGEST]}.parquet"


def _write(
    found: ServerTables, name: TableId, batches: Iterator[pa.RecordBatch], path: Path
) -> int:
    from binlogkit.reports.output import Output, write_batches

    facts = found.facts(name)
    schema = flat_schema(facts.fields, facts.metadata(), cells=True)
    return write_batches(schema, flat_states(batches, schema), Output("parquet", path))
