"""Record batches that are read again, last first: in memory up to 64 MB, else in a temporary file.

The file has no name and is deleted with the process.
"""

from __future__ import annotations

from collections.abc import Iterator
from tempfile import SpooledTemporaryFile
from typing import IO

import pyarrow as pa

_MOST = 64 << 20


class KeptBatches:
    """Batches by a number that the caller assigns."""

    def __init__(self) -> None:
        self._file: IO[bytes] = SpooledTemporaryFile(_MOST, prefix="binlogkit-")  # noqa: SIM115
        self._places: dict[int, list[tuple[int, int]]] = {}

    def add(self, number: int, batch: pa.RecordBatch) -> None:
        """Keep one more batch of a number."""
        sink = pa.BufferOutputStream()
        with pa.ipc.new_stream(sink, batch.schema) as writer:
            writer.write_batch(batch)
        data, start = sink.getvalue(), self._file.seek(0, 2)
        self._file.write(data)
        self._places.setdefault(number, []).append((start, len(data)))

    def __getitem__(self, number: int) -> Iterator[pa.RecordBatch]:
        """The batches of a number in order."""
        return map(self._read, self._places.get(number, []))

    def last_first(self, number: int) -> Iterator[pa.RecordBatch]:
        """The batches of a number, the last one first."""
        return map(self._read, self._places.get(number, [])[::-1])

    def close(self) -> None:
        """End; nothing is read any more."""
        self._file.close()

    def _read(self, place: tuple[int, int]) -> pa.RecordBatch:
        self._file.seek(place[0])
        with pa.ipc.open_stream(pa.py_buffer(self._file.read(place[1]))) as reader:
            return reader.read_next_batch()
