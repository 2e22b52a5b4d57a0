"""The files that LOAD DATA read, restored from their blocks in the log.

Names in a log are untrusted: files get numbers for names, in a folder that the caller names,
readable by the owner only. No existing file is overwritten. Each block is written as it comes, so
memory does not depend on a file's size.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from binlogkit.constants import EventType
from binlogkit.errors import UsageError, printable
from binlogkit.events.base import Event
from binlogkit.events.load import CreateFile, DeleteFile, ExecLoad
from binlogkit.events.query import ExecuteLoadQuery, LoadBlock
from binlogkit.frames.fields.field import names
from binlogkit.frames.fields.ledger import LOADED_FILE
from binlogkit.rows.reading import Reading

_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL
_MORE = os.O_WRONLY | os.O_APPEND
_NO_LINKS = getattr(os, "O_NOFOLLOW", 0)


@dataclass(slots=True)
class _Loading:
    file: str
    pos: int
    path: Path
    whole: bool
    name: str | None = None
    table: str | None = None
    size: int = 0


def write_loaded_files(reading: Reading, directory: Path) -> Iterator[dict[str, object]]:
    """One record for each file, when it ends: frames.fields.ledger.LOADED_FILE.

    Errors: UsageError where ``directory`` cannot be written to, and those of reading.
    """
    writer = _Writer(directory)
    for window in reading.windows():
        reading.damages.extend(error for _, error in window.damages)
        for item in window.looked:
            yield from writer.take(item.event)
    yield from writer.rest()


class _Writer:
    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self._open: dict[int, _Loading] = {}
        self._number = 0
        try:
            directory.mkdir(mode=0o700, parents=True, exist_ok=True)
        except OSError as exc:
            raise _unwritable(directory, exc) from exc

    def take(self, event: Event) -> Iterator[dict[str, object]]:
        """Write the event's part of a file; returns the record of a file that ends here."""
        body = event.body
        if isinstance(body, CreateFile):
            yield from self._again(body.file_id)
            loading = self._begin(event, body.file_id, True)
            loading.name, loading.table = body.load.file_name, f"{body.load.db}.{body.load.table}"
            self._write(loading, body.data)
        elif isinstance(body, LoadBlock):
            first = event.raw.header.type_code == EventType.BEGIN_LOAD_QUERY_EVENT
            if first:
                yield from self._again(body.file_id)
            known = self._open.get(body.file_id)
            self._write(known or self._begin(event, body.file_id, first), body.data)
        elif isinstance(body, (ExecuteLoadQuery, ExecLoad, DeleteFile)):
            done = self._open.pop(body.file_id, None)
            if done is not None:
                query = body.query if isinstance(body, ExecuteLoadQuery) else None
                outcome = "deleted" if isinstance(body, DeleteFile) else "executed"
                yield _record(done, body.file_id, query, outcome)

    def rest(self) -> Iterator[dict[str, object]]:
        """The files that are open where the logs end."""
        for file_id in list(self._open):
            yield from self._again(file_id)

    def _again(self, file_id: int) -> Iterator[dict[str, object]]:
        left = self._open.pop(file_id, None)
        if left is not None:
            yield _record(left, file_id, None, "open")

    def _begin(self, event: Event, file_id: int, whole: bool) -> _Loading:
        self._number += 1
        path = self._directory / f"{self._number:06}.data"
        loading = self._open[file_id] = _Loading(event.raw.file, event.raw.pos, path, whole)
        self._put(path, _NEW, b"")
        return loading

    def _write(self, loading: _Loading, data: bytes) -> None:
        loading.size += len(data)
        self._put(loading.path, _MORE, data)

    def _put(self, path: Path, flags: int, data: bytes) -> None:
        try:
            with os.fdopen(os.open(path, flags | _NO_LINKS, 0o600), "ab") as file:
                file.write(data)
        except OSError as exc:
            raise _unwritable(path, exc) from exc


def _record(loading: _Loading, file_id: int, query: str | None, outcome: str) -> dict[str, object]:
    values = (
        loading.file, loading.pos, file_id, loading.name, loading.table, query, outcome,
        loading.whole, loading.size, str(loading.path),
    )  # fmt: skip
    return dict(zip(names(LOADED_FILE), values, strict=True))


def _unwritable(path: Path, exc: OSError) -> UsageError:
    return UsageError(f"{printable(str(path))} cannot be written: {exc.strerror or exc}")
