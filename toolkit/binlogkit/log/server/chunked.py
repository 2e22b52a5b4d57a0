"""A server's tables read in chunks while they are written, then brought to one moment by its log.

The algorithm is that of DBLog's watermarks (A. Andreakis, I. Papapanagiotou, "DBLog: A Watermark
Based Change-Data-Capture Framework", 2020). A low watermark is set before a chunk is read and a
high one after it. What is logged between them replaces the rows of the chunk with the same keys.
DBLog writes its watermarks into a table of the server; here they are positions in its log, so
nothing is written.

The low watermark of all chunks is the moment of :class:`ServerTables`, at which writers were
blocked (sources/server/consistent.py): every transaction up to there is in every chunk. The high
watermark is the log's end after the last chunk. A transaction is in the log before its engine
commits it, so every transaction that a chunk shows lies between the two, whether or not all chunks
show it. The changes in between are applied to the chunks by key. The last change of a key leaves
its row as it is at the end, no matter how many of them the chunk had seen; a key without a change
was the same all the time.

That holds for changes of whole values by key. Tables without a key, those that foreign keys change
without logging it, and partial JSON are read first, in one transaction at the moment itself. DDL
between the watermarks is an error, except TRUNCATE.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow.compute as pc

from binlogkit.constants import TableId
from binlogkit.errors import ServerError
from binlogkit.frames.schema import CellState
from binlogkit.log.opening import open_log
from binlogkit.log.server.capture import capture
from binlogkit.rows.filter_args import file_in
from binlogkit.rows.filters import Filters, TableName, written_table_name
from binlogkit.rows.resolve import key_of
from binlogkit.rows.series import in_order
from binlogkit.sources.server.resume import Stop

if TYPE_CHECKING:
    import pyarrow as pa

    from binlogkit.frames.snapshots.server import ServerTables
    from binlogkit.log.log import Log
    from binlogkit.log.states.table_state import TableState
    from binlogkit.sources.connection import ServerSettings
    from binlogkit.sources.server.capture import Progress

_CARRIED_OUT = frozenset({"duplicate", "unseen"})  # changes that a chunk already shows
_JUDGED = frozenset({"truncate", "statement_write", "incident"})  # no DDL, or DDL that was executed
_ALTERED = (1049, 1054, 1146)  # unknown database, column, table


def batches_in_order(
    found: ServerTables, rows: int
) -> Iterator[tuple[TableId, Iterator[pa.RecordBatch]]]:
    """Each table with its batches: first those read at the moment itself, then those in chunks of
    ``rows`` rows.

    ServerError: a table was altered meanwhile.
    """
    keys = {name: key_of(definition)[0] for name, definition in found.definitions.items()}
    chunked = [name for name, key in keys.items() if found.in_chunks(name, key)]
    for name in keys:
        if name not in chunked:
            yield name, found.batches(name, {})
    found.release()
    for name in chunked:
        yield name, _chunks(found, name, keys[name], rows)


def _chunks(
    found: ServerTables, name: TableId, key: tuple[str, ...], rows: int
) -> Iterator[pa.RecordBatch]:
    try:
        yield from found.chunks(name, key, rows, {})
    except ServerError as error:
        if error.code in _ALTERED:
            raise _altered(found, name) from error
        raise


def made_one(
    server: str | ServerSettings, found: ServerTables, read: Path, logs: Path
) -> Iterator[TableState]:
    """The tables in the folder ``read`` as of the log's end now. They were read since the moment of
    ``found``; the logs from that moment on are captured into ``logs``.

    ServerError: a table was altered meanwhile, or the log lacks a part of its changes.
    """
    assert found.file is not None
    high, stop = found.end(), Stop()

    def reached(progress: Progress) -> None:
        if in_order((progress.file, progress.position)) >= in_order(high):
            stop.now()

    capture(server, logs, start_log=found.file, stop=stop, progress=reached)
    log = open_log(logs)
    _check_ddl(found, log)
    _check_json(found, log)
    names = [written_table_name(*name) for name in found.definitions]
    for state in log.states(names, base=str(read), at=high):
        yield _proved(found, state)


def _check_ddl(found: ServerTables, log: Log) -> None:
    for row in log.boundaries(engine="pyarrow").to_pylist():
        place = file_in(log.files, row["file"]), row["pos"]
        since = place[0] != file_in(log.files, str(found.file)) or place[1] >= (found.pos or 0)
        names = {(row["db"], row["table"]), (row["new_db"], row["new_table"])}
        met = {name for name in found.definitions if name in names or (name[0], None) in names}
        if since and met and row["action"] not in _JUDGED:
            raise _altered(found, min(met))


def _check_json(found: ServerTables, log: Log) -> None:
    """Whether sessions logged JSON diffs although the server's default does not."""
    written = {*log.table_pairs()}
    for name, definition in found.definitions.items():
        kinds = {column.name for column in definition.columns if column.type == "json"}
        if name not in written or not kinds or not found.in_chunks(name, key_of(definition)[0]):
            continue
        wanted = Filters(tables=(TableName(*name),), start_position=found.pos)
        for one in log.read_batches(log.reading_of(wanted), wanted, frozenset(kinds)):
            if pc.any(
                pc.equal(pc.list_flatten(one.batch["after_state"]), int(CellState.JSON_DIFF))
            ).as_py():
                text = f"{'.'.join(name)} cannot be read in chunks: JSON was logged in part"
                raise ServerError(text, server=found.name)


def _proved(found: ServerTables, state: TableState) -> TableState:
    """A state in which the log decides every row that it changed."""
    undetermined = [one for one in state.findings.to_pylist() if not one["determined"]]
    doubts = [_placed(one) for one in undetermined if one["finding"] not in _CARRIED_OUT]
    if state.unknown_cells:
        doubts.append("Keys were changed in rows that the log does not hold completely.")
    if doubts:
        raise ServerError(
            f"{'.'.join(state.table)} cannot be read in chunks: {doubts[0]}", server=found.name
        )
    return replace(state, rows_determined=True)


def _placed(finding: Mapping[str, Any]) -> str:
    if finding["pos"] is None:
        return str(finding["meaning"])
    return f"{Path(finding['file']).name} at {finding['pos']}: {finding['meaning']}"


def _altered(found: ServerTables, name: TableId) -> ServerError:
    text = f"{'.'.join(name)} was altered while it was read in chunks; try again"
    return ServerError(text, server=found.name)
