"""Ledgers of parts that are read on demand, one batch of an index at a time."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from binlogkit.frames.fields.field import arrow_schema
from binlogkit.frames.fields.ledger import INDEX
from binlogkit.log.index.stored import called, ledgers


class LaterBatches:
    """Batches whose tables are read on demand.

    Their files are open from the beginning, so that an update that replaces them does no harm; the
    rows of the last batch read stay in memory.
    """

    def __init__(self) -> None:
        self._files: dict[tuple[str, str], pq.ParquetFile] = {}
        self._known: dict[tuple[str, str], dict[str, pa.Table]] = {}
        self._latest = ""

    def open(self, batch: str, paths: Mapping[str, Path]) -> None:
        """Open the files of a batch by the names of their tables. OSError, pyarrow's errors."""
        self._files |= {(batch, name): pq.ParquetFile(path) for name, path in paths.items()}

    def names(self, batch: str) -> Iterator[str]:
        """The tables of a batch."""
        return (name for other, name in self._files if other == batch)

    def table(self, batch: str, name: str, key: str) -> pa.Table:
        """A part's rows of a table. KeyError: there are none; OSError, pyarrow's errors."""
        if batch != self._latest:
            self._known, self._latest = {}, batch
        if (batch, name) not in self._known:
            schema = arrow_schema(INDEX[name])
            self._known[batch, name] = ledgers(self._files[batch, name].read().cast(schema))
        found = self._known[batch, name].get(key)
        return arrow_schema(INDEX[name]).empty_table() if found is None else found


class Later(Mapping[str, pa.Table]):
    """The ledger of the part ``key`` in a batch; ``before``: its logs' names when they were read,
    ``now``: their present names."""

    def __init__(
        self, batches: LaterBatches, batch: str, key: str, before: Iterable[str], now: Iterable[str]
    ) -> None:
        self._batches, self._batch, self._key = batches, batch, key
        self._files = dict(zip(before, now, strict=True))

    def __getitem__(self, name: str) -> pa.Table:
        return called(self._batches.table(self._batch, name, self._key), self._files)

    def __iter__(self) -> Iterator[str]:
        return self._batches.names(self._batch)

    def __len__(self) -> int:
        return sum(1 for _ in self)
