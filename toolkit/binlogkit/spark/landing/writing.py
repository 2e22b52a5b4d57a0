"""A task's work: splits -> Parquet files of landed tables, which do not count yet."""

from __future__ import annotations

import time
import uuid
from collections import OrderedDict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any
from urllib.parse import quote

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from binlogkit.errors import SchemaError, WriteError
from binlogkit.frames.arrays import filtered
from binlogkit.frames.row_batches import read_batches
from binlogkit.rows.filters import Filters, written_table_name
from binlogkit.rows.schema import TableSchema
from binlogkit.sources.carriers.carrier import reason_of
from binlogkit.spark.landing.landing_path import LandingPath, Sink
from binlogkit.spark.landing.shape import (
    BOUNDED,
    PARTITIONS,
    Generations,
    folder_of,
    landed_schema,
    own_fields,
    plain_schema,
    types_of,
)
from binlogkit.spark.landing.waiting import Met, Waiting, inside, stretches
from binlogkit.spark.masks import Masks
from binlogkit.spark.splits.changelog import changelog
from binlogkit.spark.splits.commits import Commits, Deciding, file_number
from binlogkit.spark.splits.plan import Scan, Split

#: The approximate size of a file; further rows of the same table and day go into the next one.
FILE_BYTES = 256 << 20
_GROUP_BYTES = 32 << 20  # of a row group in memory
_OPEN_FILES = 64
_LEAST = 256 << 10  # bytes of a small split: to open its log takes as long as to read so many
_NO_SOURCE = "__HIVE_DEFAULT_PARTITION__"


@dataclass(frozen=True, slots=True)
class WrittenFile:
    """A Parquet file in the ``folder`` of a landed ``table``; ``partition``: its partition values
    as text; ``types``: of the table's own columns, in order; ``stats``: in Delta's form."""

    table: str
    folder: str
    path: str
    size: int
    rows: int
    partition: dict[str, str | None]
    types: list[tuple[str, str]]
    stats: dict[str, Any]
    modified: int  # milliseconds


@dataclass(frozen=True, slots=True)
class Done:
    """The result of a task: its files, and the rows that wait."""

    files: list[WrittenFile] = field(default_factory=list)
    waiting: list[Waiting] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Job:
    """What all tasks of a batch share: the scan, where they write, what lands and how.

    ``mark``: of the landing, in the names of its files.
    ``held``: rows that wait whatever is known of them; ``again``: rows that have waited, None for
    a batch of others.
    """

    scan: Scan
    out: LandingPath
    mark: str
    wanted: Filters
    masks: Masks
    generations: Generations
    file_bytes: int = FILE_BYTES
    held: tuple[Waiting, ...] = ()
    again: tuple[Waiting, ...] | None = None


def written(job: Job, splits: Iterable[Split]) -> dict[str, Any]:
    """What :func:`write` returns, as :func:`done_of` takes it. A task that is retried writes other
    files, and only those of its result count."""
    return asdict(write(job, splits))


def done_of(result: Mapping[str, Any]) -> Done:
    """A task's result."""
    files, waiting = result["files"], result["waiting"]
    return Done([WrittenFile(**one) for one in files], [Waiting(**one) for one in waiting])


def write(job: Job, splits: Iterable[Split]) -> Done:
    """Read splits and write their committed changes.

    Errors: DamageError and InputError of the logs, SchemaError, WriteError.
    """
    files, waiting = _Files(job), list[Waiting]()
    try:
        for split in splits:
            waiting += _write_split(job, split, files)
        return Done(files.finish(), waiting)
    except BaseException:
        files.drop()
        raise


def _write_split(job: Job, split: Split, files: _Files) -> list[Waiting]:
    deciding = split.deciding or Deciding()
    commits, file = Commits(deciding), split.files[-1]
    log = deciding.server, deciding.begun, file_number(file)
    again = None if job.again is None else stretches(job.again, log)
    held, met = stretches(job.held, log), Met(file, log)
    reading = job.scan.reading(split)
    for window in read_batches(reading, job.wanted, views=[commits.feed]):
        for schema, batch in window:
            table = written_table_name(*schema.name)
            if again is not None:
                batch = batch.filter(pa.array(inside(batch, again.get(table, ()))))
            if table in held:
                batch = batch.filter(pa.array(~inside(batch, held[table])))
            shape = files.shape(schema)
            if isinstance(shape, str):
                own = batch.filter(pa.array(commits.committed(batch)))
                if own.num_rows:
                    met.add(table, own.column("pos"), shape)
                continue
            met.end(table)
            for flat in changelog(batch, shape.plain, commits):
                masked = job.masks.apply(schema.db, schema.table, flat)
                files.add(shape, masked, split.position.source)
    return met.finish()


@dataclass(slots=True)
class _Shape:
    """How one version of a table lands."""

    table: str
    folder: str
    plain: pa.Schema  # before masks
    landed: pa.Schema


class _Files:
    """The open files, by folder, columns, day and source."""

    def __init__(self, job: Job) -> None:
        self._job = job
        self._shapes: dict[int, tuple[TableSchema, _Shape | str]] = {}
        self._open: OrderedDict[Any, _File] = OrderedDict()
        self._done: list[WrittenFile] = []

    def shape(self, schema: TableSchema) -> _Shape | str:
        """Of a version of a table; why it cannot land."""
        known = self._shapes.get(id(schema))
        if known is None:
            known = self._shapes[id(schema)] = schema, self._shaped(schema)
        return known[1]

    def _shaped(self, schema: TableSchema) -> _Shape | str:
        try:
            landed = landed_schema(schema, self._job.masks)
        except SchemaError as error:
            return str(error)
        name = schema.name
        folder = folder_of(name, self._job.generations.place(name, types_of(landed)))
        return _Shape(written_table_name(*name), folder, plain_schema(schema), landed)

    def add(self, shape: _Shape, batch: pa.RecordBatch, source: str | None) -> None:
        """Write flat rows into the files of their days."""
        days = np.asarray(batch.column("_commit_timestamp").cast(pa.timestamp("us"))).astype(
            "datetime64[D]"
        )
        batch = batch.select([name for name in batch.schema.names if name not in PARTITIONS])
        for day in np.unique(days):
            own = days == day
            rows = filtered(batch, own)
            self._file(shape, str(day), source).add(rows)
        while len(self._open) > _OPEN_FILES:
            self._close(next(iter(self._open)))

    def _file(self, shape: _Shape, day: str, source: str | None) -> _File:
        key = shape.folder, shape.landed, day, source
        file = self._open.get(key)
        if file is not None and file.size > self._job.file_bytes:
            self._close(key)
            file = None
        if file is None:
            file = _File(self._job, shape, day, source)
            self._open[key] = file
        self._open.move_to_end(key)
        return file

    def _close(self, key: Any) -> None:
        self._done.append(self._open.pop(key).close())

    def finish(self) -> list[WrittenFile]:
        """Close the open files."""
        while self._open:
            self._close(next(iter(self._open)))
        return self._done

    def drop(self) -> None:
        """Delete what was written."""
        for file in self._open.values():
            file.drop()
        for written in self._done:
            (self._job.out / written.folder / written.path).delete()


class _File:
    """One Parquet file, made when its first rows are written."""

    def __init__(self, job: Job, shape: _Shape, day: str, source: str | None) -> None:
        self._shape = shape
        self._partition: dict[str, str | None] = {"_day": day, "_source": source}
        name = quote(_NO_SOURCE if source is None else source, safe="")
        self._path = f"_day={day}/_source={name}/{parquet_name(job.mark)}"
        self._file = job.out / shape.folder / self._path
        self._sink: Sink | None = None
        self._writer: pq.ParquetWriter | None = None
        self._waiting: list[pa.RecordBatch] = []
        self._bytes = self._rows = 0
        self._bounds: list[int] = []

    @property
    def size(self) -> int:
        """The bytes that were written."""
        return self._sink.size if self._sink is not None else 0

    def add(self, rows: pa.RecordBatch) -> None:
        """Take rows."""
        self._waiting.append(rows)
        self._bytes += rows.nbytes
        if self._bytes > _GROUP_BYTES:
            self._flush()

    def _flush(self) -> None:
        if not self._waiting:
            return
        table = pa.Table.from_batches(self._waiting)
        self._waiting, self._bytes = [], 0
        try:
            if self._sink is None:
                self._sink = self._file.sink()
            if self._writer is None:
                self._writer = pq.ParquetWriter(self._sink.target, table.schema, compression="zstd")
            self._writer.write_table(table, row_group_size=len(table))
        except OSError as exc:
            raise WriteError(str(self._file), reason_of(exc)) from exc
        self._rows += len(table)
        bounds = pc.min_max(table[BOUNDED]).as_py()
        self._bounds += [bounds["min"], bounds["max"]]

    def close(self) -> WrittenFile:
        """Write the rest; returns the file's facts."""
        self._flush()
        assert self._writer is not None and self._sink is not None
        try:
            self._writer.close()
            self._sink.close()
            size = self._sink.size
        except OSError as exc:
            raise WriteError(str(self._file), reason_of(exc)) from exc
        return WrittenFile(
            self._shape.table,
            self._shape.folder, self._path, size, self._rows, self._partition,
            [(one.name, str(one.type)) for one in own_fields(self._shape.landed)],
            stats_of(self._rows, self._bounds),
            time.time_ns() // 1_000_000,
        )  # fmt: skip

    def drop(self) -> None:
        """Delete it."""
        if self._writer is not None:
            self._writer.close()
        if self._sink is not None:
            self._sink.drop()


def stats_of(rows: int, bounds: Sequence[int]) -> dict[str, Any]:
    """Statistics in Delta's form; ``bounds``: among them the least and greatest of BOUNDED."""
    return {
        "numRecords": rows,
        "minValues": {BOUNDED: min(bounds)},
        "maxValues": {BOUNDED: max(bounds)},
    }


def parquet_name(mark: str) -> str:
    """A name for a file that the landing with this mark writes (dead_files.py)."""
    return f"{mark}-{uuid.uuid4().hex}.parquet"


def by_folder(written: Iterable[WrittenFile]) -> Mapping[str, list[WrittenFile]]:
    """Files by their table."""
    found: dict[str, list[WrittenFile]] = {}
    for one in written:
        found.setdefault(one.folder, []).append(one)
    return found


def tasks_of(splits: Iterable[Split], least: int) -> Iterator[list[Split]]:
    """Splits, combined so that a task reads at least so many bytes of logs."""
    found: list[Split] = []
    size = 0
    for split in splits:
        found.append(split)
        size += least if split.stop is None else max(split.stop - split.start, _LEAST)
        if size >= least:
            yield found
            found, size = [], 0
    if found:
        yield found
