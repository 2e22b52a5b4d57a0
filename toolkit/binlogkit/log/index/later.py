"""Ledgers of parts that are read on demand, one batch of an index at a time."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from binlogkit.frames.fields.field import arrow_schema
from binlogkit.frames.fields.ledger import INDEX
from binlogkit.log.index.stored import called, ledgers

_SAME: Mapping[str, str] = {}
_REPEATED = {"part", "file", "end_file", "outcome", "resolved_file"}  # most values are alike


class LaterBatches:
    """Batches whose tables are read on demand.

    Their files are open from the beginning, so that an update that replaces them does no harm; the
    rows of the last batch read stay in memory.
    """

    def __init__(self) -> None:
        self._files: dict[tuple[str, str], pa.NativeFile] = {}
        self._known: dict[object, tuple[pa.Table, dict[str, pa.Table]]] = {}
        self._latest = ""

    def open(self, batch: str, paths: Mapping[str, Path]) -> None:
        """Open the files of a batch by the names of their tables. OSError, pyarrow's errors."""
        for name, path in paths.items():
            self._files[batch, name] = pa.OSFile(str(path))
            _parquet(self._files[batch, name], name)  # whose footer takes many times a log's bytes

    def names(self, batch: str) -> Iterator[str]:
        """The tables of a batch."""
        return (name for other, name in self._files if other == batch)

    def table(
        self, batch: str, name: str, key: str, columns: Sequence[str] | None = None
    ) -> pa.Table:
        """A part's rows of a table; ``columns``: only these, besides the part's own.

        KeyError: there is no such table; OSError, pyarrow's errors.
        """
        wanted = None if columns is None else ("part", *columns)
        if batch != self._latest:
            self._known, self._latest = {}, batch
            pa.default_memory_pool().release_unused()
        if (name, wanted) not in self._known:
            schema = arrow_schema(f for f in INDEX[name] if wanted is None or f.name in wanted)
            names = None if wanted is None else schema.names
            rows = _parquet(self._files[batch, name], name).read(names).cast(schema)
            self._known[name, wanted] = rows, ledgers(rows)
        rows, of = self._known[name, wanted]
        return of.get(key, rows[:0])


def _parquet(file: pa.NativeFile, name: str) -> pq.ParquetFile:
    texts = [field.name for field in INDEX[name] if field.name in _REPEATED]
    return pq.ParquetFile(file, read_dictionary=texts)


class LaterLedger(Mapping[str, pa.Table]):
    """The ledger of the part ``key`` in ``batch``; ``files``: its logs' names when they were read,
    with their present names."""

    __slots__ = ("_batches", "_files", "_key", "batch")

    def __init__(
        self, batches: LaterBatches, batch: str, key: str, files: Mapping[str, str]
    ) -> None:
        self._batches, self.batch, self._key = batches, batch, key
        self._files = files if [*files] != [*files.values()] else _SAME

    def __getitem__(self, name: str) -> pa.Table:
        return called(self._batches.table(self.batch, name, self._key), self._files)

    def columns(self, name: str, columns: Sequence[str]) -> pa.Table:
        """Some columns of a table, which alone are read."""
        found = self._batches.table(self.batch, name, self._key, columns)
        return called(found, self._files).select(columns)

    def __iter__(self) -> Iterator[str]:
        return self._batches.names(self.batch)

    def __len__(self) -> int:
        return sum(1 for _ in self)


def batch_of(ledger: Mapping[str, pa.Table]) -> str:
    """The batch of an index that is read for a part's ledger; "" if it is in memory."""
    return ledger.batch if isinstance(ledger, LaterLedger) else ""


def columns_of(ledger: Mapping[str, pa.Table], name: str, columns: Sequence[str]) -> pa.Table:
    """Some columns of a table of a part's ledger."""
    if isinstance(ledger, LaterLedger):
        return ledger.columns(name, columns)
    return ledger[name].select(columns)
