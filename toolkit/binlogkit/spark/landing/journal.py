"""The journal of a landing: which batches have begun, and which are done.

The Delta table ``landings`` has a row for each span of logs in a batch, committed before anything
of the batch lands. ``landed`` has a row for each of its files, committed when the batch is in all
of them. A batch that has begun and is not done lands again, from the same spans; tables that have
the batch already do not take it twice. ``waiting`` has the places of its rows that wait
(waiting.py), committed before its files, so that a batch that is repeated leaves out the same ones.
"""

from __future__ import annotations

import json
import time
import uuid
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from binlogkit.errors import InputError, UsageError
from binlogkit.frames.fields.field import arrow_schema
from binlogkit.frames.fields.ledger import LANDED, LANDING, WAITING
from binlogkit.spark.landing.spans import Span
from binlogkit.spark.landing.tables import APPLICATION, commit, files_of, last_batch, make, opened
from binlogkit.spark.landing.waiting import Waiting
from binlogkit.spark.landing.writing import Written

_BEGUN, _DONE, _WAITING = "landings", "landed", "waiting"


class Journal:
    """The journal of the landing in a folder; ``told``: the landing's settings, which never change.

    UsageError: the landing was begun with others.
    """

    def __init__(self, folder: Path, told: Mapping[str, Any]) -> None:
        self._folder, self._begun, self._done = folder, folder / _BEGUN, folder / _DONE
        text = json.dumps(told, sort_keys=True)
        make(self._begun, arrow_schema(LANDING), [], text)
        make(self._done, arrow_schema(LANDED), [])
        make(folder / _WAITING, arrow_schema(WAITING), [])
        check_terms(folder, told)

    def read(self) -> tuple[int, bool, list[Span]]:
        """The number of the last batch that was begun, whether it is done, and all spans."""
        return read_journal(self._folder)

    def begin(self, number: int, spans: Sequence[Span]) -> bool:
        """Begin a batch. Returns False if another landing has taken the number since it was
        read."""
        now = time.time_ns() // 1000
        rows = [asdict(replace(span, batch=number)) | {"begun_at": now} for span in spans]
        return _append(self._begun, number, pa.Table.from_pylist(rows, arrow_schema(LANDING)))

    def hold(self, batch: int, waiting: Sequence[Waiting]) -> bool:
        """Keep the places of a batch's rows that wait, unless that was done; returns whether these
        count."""
        rows = [asdict(replace(one, batch=batch)) for one in waiting]
        table = pa.Table.from_pylist(rows, arrow_schema(WAITING))
        return _append(self._folder / _WAITING, batch, table)

    def held(self, batch: int) -> list[Waiting] | None:
        """The rows of a batch that wait; None if they have not been kept."""
        if last_batch(self._folder / _WAITING) < batch:
            return None
        return [one for one in read_held(self._folder) if one.batch == batch]

    def finish(self, batch: int, written: Sequence[Written]) -> None:
        """A batch is in all tables; ``written``: its files, or others with the same rows."""
        now = time.time_ns() // 1000
        rows = [
            {
                "batch": batch, "table": one.table, "path": one.path, "rows": one.rows,
                "size": one.size, "day": one.partition["_day"],
                "source": one.partition["_source"], "done_at": now,
            }
            for one in written
        ]  # fmt: skip
        _append(self._done, batch, pa.Table.from_pylist(rows, arrow_schema(LANDED)))


def read_terms(folder: Path) -> dict[str, Any]:
    """The settings of the landing in a folder; empty if none has begun."""
    table = opened(folder / _BEGUN)
    told: dict[str, Any] = json.loads((table and table.metadata().description) or "{}")
    return told


def check_terms(folder: Path, told: Mapping[str, Any]) -> None:
    """UsageError: the landing in a folder was begun with other settings."""
    before = read_terms(folder)
    for name, value in told.items() if before else ():
        if before.get(name) != value:
            raise UsageError(
                f"this landing was begun with {name} {_said(before.get(name))}, not "
                f"{_said(value)}: land it elsewhere"
            )


def read_journal(folder: Path) -> tuple[int, bool, list[Span]]:
    """The result of :meth:`Journal.read`. InputError: nothing has landed in the folder."""
    table = opened(folder / _BEGUN)
    if table is None:
        raise InputError(str(folder), "nothing has landed there")
    begun = table.transaction_version(APPLICATION) or 0
    names = arrow_schema(LANDING).names
    if not {*names}.issubset(pa.schema(table.schema()).names):
        raise InputError(
            str(folder),
            "was made by an earlier version of binlogkit: land the logs in a new folder",
        )
    found = [pq.read_table(path, columns=names) for path in files_of(table, folder / _BEGUN)]
    rows = [row for one in found for row in one.to_pylist()]
    for row in rows:
        row["tables"] = row["tables"] and tuple(row["tables"])
    spans = [Span(**{name: row[name] for name in Span.__slots__}) for row in rows]
    return begun, last_batch(folder / _DONE) >= begun, spans


def read_held(folder: Path) -> list[Waiting]:
    """All rows that wait, or have waited."""
    table, schema = opened(folder / _WAITING), arrow_schema(WAITING)
    paths = [] if table is None else files_of(table, folder / _WAITING)
    found = [pq.read_table(path, schema=schema) for path in paths]
    return [Waiting(**row) for one in found for row in one.to_pylist()]


def read_waiting(folder: Path, spans: Iterable[Span]) -> list[Waiting]:
    """The rows that wait; ``spans``: all of the journal."""
    settled = {span.again for span in spans}
    found = (one for one in read_held(folder) if one.batch not in settled)
    return sorted(found, key=lambda one: (one.table, one.batch, one.file, one.first_pos))


def last_begun(folder: Path) -> int:
    """The number of the last batch that was begun."""
    return last_batch(folder / _BEGUN)


def read_landed(folder: Path) -> pa.Table:
    """The files that landed, a row each (docs/landing.md)."""
    table, schema = opened(folder / _DONE), arrow_schema(LANDED)
    paths = [] if table is None else files_of(table, folder / _DONE)
    found = [pq.read_table(path, columns=schema.names).cast(schema) for path in paths]
    return pa.concat_tables([schema.empty_table(), *found])


def _append(folder: Path, batch: int, table: pa.Table) -> bool:
    """Append rows to a table of the journal under a batch's number."""
    written = []
    path = folder / f"{uuid.uuid4().hex}.parquet"
    if table.num_rows:
        pq.write_table(table, path, compression="zstd")
        stats = {"numRecords": table.num_rows}
        now = time.time_ns() // 1_000_000
        size = path.stat().st_size
        written.append(
            Written("", folder.name, path.name, size, table.num_rows, {}, [], stats, now)
        )
    done = commit(folder, batch, written)
    if not done:
        path.unlink(missing_ok=True)
    return done


def _said(value: Any) -> str:
    return json.dumps(value) if value else "none"
