"""Snapshots from what a user names: states that were written before, or dumps.

They are recognised by their bytes, and by what is in a folder. A state in JSON lines does
not describe itself: its position, and its table's columns, come from elsewhere.
"""

from __future__ import annotations

import io
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO, cast

import pyarrow as pa

from binlogkit.constants import TableId
from binlogkit.errors import DamageError, InputError, UsageError
from binlogkit.events.gtid_set import GtidSet
from binlogkit.frames.flat_states import states_of_flat
from binlogkit.frames.snapshots import mydumper, shell
from binlogkit.frames.snapshots.dump import read_dump
from binlogkit.frames.snapshots.facts import KEY, StateFacts, facts_in
from binlogkit.frames.snapshots.folder import DumpFolder
from binlogkit.frames.snapshots.json_lines import records_of_lines, state_rows_of
from binlogkit.frames.snapshots.snapshot import Snapshot, TableSnapshot
from binlogkit.frames.snapshots.values import Misread
from binlogkit.limits import limit, limit_error
from binlogkit.rows.ddl import Catalog
from binlogkit.sources.carriers import Carrier
from binlogkit.sources.layers import Lookahead

if TYPE_CHECKING:
    from binlogkit.sources.carriers import Source

#: The fields of a table's columns, by which a state without types is read.
Fields = Callable[[], tuple[TableId, Sequence[pa.Field]]]
SnapshotPlace = tuple[str | None, int | None, GtidSet | None]

_HEAD = 1 << 16
_PARQUET, _STREAM = b"PAR1", b"\xff\xff\xff\xff"
_UNDETERMINED = "The base is a state that its log did not determine."


def read_snapshots(
    source: Source | Sequence[Source],
    wanted: Collection[TableId | str] | None,
    fields: Fields,
    at: SnapshotPlace = (None, None, None),
) -> list[Snapshot]:
    """The snapshots of the tables ``wanted`` (of any database, where only a table is named).

    ``source``: a file, a folder of mydumper's or MySQL Shell's, of any other folder all Parquet
    files; ``fields``: gives the table that a state in JSON lines is of, and its columns;
    ``at``: a position that is given beside it. Errors: InputError, LimitError, SchemaError,
    UsageError.
    """
    dump = None
    if isinstance(source, (str, Path)) and Path(source).is_dir():
        dump = _dump_in(DumpFolder(Path(source)), wanted)
    if dump is not None:
        return [_at(dump, at)]
    return [_read_snapshot(carrier, wanted, fields, at) for carrier in _carriers_of(source)]


def _dump_in(folder: DumpFolder, wanted: Collection[TableId | str] | None) -> Snapshot | None:
    if not folder.names.isdisjoint((mydumper.METADATA, mydumper.PARTIAL)):
        return mydumper.read_mydumper(folder, _is_in(wanted))
    if shell.BEGUN in folder.names:
        return shell.read_shell_dump(folder, _is_in(wanted))
    return None


def _is_in(wanted: Collection[TableId | str] | None) -> Callable[[TableId], bool]:
    return lambda name: wanted is None or name in wanted or name[1] in wanted


def _at(snapshot: Snapshot, at: SnapshotPlace) -> Snapshot:
    """A snapshot at the position that is given beside it, if one is."""
    if all(part is None for part in at):
        return snapshot
    return replace(snapshot, file=at[0], pos=at[1], gtids=at[2], unplaced=None)


def _read_snapshot(
    carrier: Carrier, wanted: Collection[TableId | str] | None, fields: Fields, at: SnapshotPlace
) -> Snapshot:
    try:
        with carrier.content() as file:
            return _read(carrier.name, file, wanted, fields, at)
    except DamageError as exc:
        raise InputError(carrier.name, exc.reason) from exc
    except Misread as exc:
        raise InputError(carrier.name, f"the base cannot be read: {exc}") from exc


def _read(
    name: str,
    file: Lookahead,
    wanted: Collection[TableId | str] | None,
    fields: Fields,
    at: SnapshotPlace,
) -> Snapshot:
    head = file.peek(_HEAD)
    if head.startswith((_PARQUET, _STREAM)):
        form = "parquet" if head.startswith(_PARQUET) else "arrow"
        with _batches(name, file, form) as (schema, batches):
            text = (schema.metadata or {}).get(KEY)
            if text is None:
                raise InputError(name, "it is no state that binlogkit wrote: it has no position")
            facts = facts_in(text)
            if not _is_in(wanted)(facts.name):
                return replace(snapshot_as(name, facts, pa.table({}), at), tables={})
            return snapshot_as(name, facts, states_of_flat(batches, facts.fields), at)
    if head.lstrip()[:1] == b"{":
        table, columns = fields()
        records = records_of_lines(cast(BinaryIO, io.BufferedReader(file)))
        facts = StateFacts(table, tuple(columns), (), True)
        try:
            return snapshot_as(name, facts, state_rows_of(records, columns), at)
        except UnicodeDecodeError as exc:
            raise Misread("it is no UTF-8") from exc
    if not head:
        raise InputError(name, "the base is empty")
    return _at(read_dump(name, file.read, head, _is_in(wanted)), at)


def snapshot_as(
    name: str, facts: StateFacts, rows: pa.Table, at: SnapshotPlace = (None, None, None)
) -> Snapshot:
    """The snapshot of one table's rows; ``at``: its position, where that is given beside it."""
    doubts = () if facts.determined else (_UNDETERMINED,)
    key = facts.key if facts.key or facts.definition is None else None
    table = TableSnapshot(facts.name, rows, facts.definition, key, doubts=doubts)
    catalog = None
    if facts.definition is not None:
        catalog = Catalog(None)
        catalog.enter(facts.definition)
    file, pos, gtids = at if any(part is not None for part in at) else _place(facts)
    missing = file is None and gtids is None
    unplaced = "it does not say at which position it is" if missing else None
    return Snapshot(name, {facts.name: table}, file, pos, gtids, catalog, unplaced)


def _place(facts: StateFacts) -> SnapshotPlace:
    placed = facts.file is not None and facts.pos is not None
    return (facts.file, facts.pos, facts.gtids) if placed else (None, None, facts.gtids)


@contextmanager
def _batches(
    name: str, file: Lookahead, form: str
) -> Iterator[tuple[pa.Schema, Iterator[pa.RecordBatch]]]:
    """The schema and batches of a Parquet file or an Arrow stream, whose errors are
    :class:`Misread`."""
    try:
        if form == "arrow":
            reader = pa.ipc.open_stream(pa.PythonFile(cast(BinaryIO, file), mode="r"))
            yield reader.schema, iter(reader)
            return
        import pyarrow.parquet as pq

        parquet = pq.ParquetFile(io.BytesIO(_held(name, file)))
        # pyarrow 19 cannot iterate over none
        yield parquet.schema_arrow, parquet.iter_batches() if parquet.num_row_groups else iter(())
    except (pa.ArrowException, OSError, EOFError) as exc:
        raise Misread(f"it is damaged: {str(exc)[:200]}") from exc


def _held(name: str, file: Lookahead) -> bytes:
    """All bytes. LimitError."""
    most = limit("SNAPSHOT")
    data = file.read(most + 1)
    while len(data) <= most and (more := file.read(most + 1 - len(data))):
        data += more
    if len(data) > most:
        raise limit_error(name, "SNAPSHOT", f"the base is larger than {most} bytes")
    return data


def _carriers_of(source: Source | Sequence[Source]) -> list[Carrier]:
    """What a user names as bases; of a folder all Parquet files."""
    from binlogkit.sources.carriers import resolve

    if isinstance(source, (str, Path)) and Path(source).is_dir():
        files = sorted(Path(source).glob("*.parquet"))
        if not files:
            raise InputError(str(source), "there is no base in this folder")
        return [one for file in files for one in resolve(file)]
    found = resolve(source)
    if not found:
        raise UsageError("no base is named")
    return found
