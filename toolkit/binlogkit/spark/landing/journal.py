"""The journal of a landing: which batches have begun, and which are done.

The Delta table ``landings`` has a row for each span of logs in a batch, committed before anything
of the batch lands. ``landed`` has a row for each of its files, committed when the batch is in all
of them. A batch that has begun and is not done lands again, from the same spans; tables that have
the batch already do not take it twice. ``waiting`` has the places of its rows that wait
(waiting.py), committed before its files, so that a batch that is repeated leaves out the same ones.
``terms`` has the terms, and from which batch on they hold. They change with a batch of their own,
which has no spans: so no batch is begun meanwhile, and each has the terms before it. The first
terms are kept just before the first batch is begun.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, replace
from operator import itemgetter
from sys import intern
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from binlogkit.errors import InputError, UsageError, WriteError
from binlogkit.frames.fields.field import Fields, arrow_schema
from binlogkit.frames.fields.ledger import LANDED, LANDING, TERMS, WAITING
from binlogkit.spark.landing.landing_path import LandingPath
from binlogkit.spark.landing.spans import Span
from binlogkit.spark.landing.tables import (
    batch_of,
    commit,
    files_of,
    last_batch,
    make,
    opened,
    rows_of,
)
from binlogkit.spark.landing.terms import Terms, TermsSince
from binlogkit.spark.landing.waiting import Waiting, is_there
from binlogkit.spark.landing.writing import WrittenFile, parquet_name

_BEGUN, _DONE, _WAITING, _TERMS = "landings", "landed", "waiting", "terms"
ERASED = "erasures"  # the table of rows that were erased
_ROWS = 1024  # that are read at a time: as dictionaries they take many times their bytes


class Journal:
    """The journal of the landing in a folder; ``mark``: of the landing that writes.

    UsageError: the landing has other terms, and these are not to replace them.
    """

    def __init__(self, folder: LandingPath, terms: Terms, mark: str) -> None:
        self._folder, self._begun, self._done = folder, folder / _BEGUN, folder / _DONE
        self._terms, self._own = terms, mark
        self._known: dict[str, list[Span]] = {}
        check_terms(folder, terms)
        make(folder / _TERMS, arrow_schema(TERMS), [])
        make(self._begun, arrow_schema(LANDING), [])
        make(self._done, arrow_schema(LANDED), [])
        make(folder / _WAITING, arrow_schema(WAITING), [])
        check_terms(folder, terms)

    @property
    def ended(self) -> bool:
        """Whether the last batch that was begun is done."""
        return last_batch(self._done) >= last_begun(self._folder)

    @property
    def mark(self) -> str:
        """What distinguishes this journal from an earlier one that was deleted."""
        table = opened(self._begun)
        assert table is not None
        return str(table.metadata().id)

    @property
    def holds(self) -> bool:
        """Whether the landing's terms are these, or are to be."""
        last = read_terms(self._folder)[-1:]
        return all(replace(one, batch=1) == self._terms.kept for one in last)

    def check(self) -> None:
        """UsageError: another landing has changed the terms."""
        check_terms(self._folder, replace(self._terms, change=False))

    def change(self) -> tuple[TermsSince, TermsSince]:
        """Change the terms with a batch of its own; returns those before and now.

        UsageError: these are not to replace them; a batch that was begun under those before has
        not ended.
        """
        while True:
            last, done, _ = self.read()
            before = read_terms(self._folder)[-1]
            self._terms.check_change(before)  # another landing may have changed them meanwhile
            if not done:
                raise UsageError(
                    "a landing has begun with other terms and has not ended: land again with "
                    "those before they change"
                )
            now = replace(self._terms.kept, batch=last + 1)
            # Another landing may end the batch before the terms are kept.
            if self.begin(now.batch, []) and self._keep(now, now.batch + 1):
                self.finish(now.batch, [])
                return before, now

    def _keep(self, terms: TermsSince, number: int) -> bool:
        """Keep terms under a number, unless it is taken; returns whether they are kept."""
        row = asdict(terms) | {"changed_at": time.time_ns() // 1000}
        table = pa.Table.from_pylist([row], arrow_schema(TERMS))
        return append(self._folder / _TERMS, self._own, number, table)

    def read(self) -> tuple[int, bool, list[Span]]:
        """The number of the last batch that was begun, whether it is done, and all spans.

        A batch without spans is a change of terms; one that has not ended is ended here, and holds
        if its terms have been kept.
        """
        while True:
            last, done, spans = read_journal(self._folder, self._known)
            if done or any(span.batch == last for span in spans):
                return last, done, spans
            nothing = arrow_schema(TERMS).empty_table()
            append(self._folder / _TERMS, self._own, last + 1, nothing)
            self.finish(last, [])

    def begin(self, number: int, spans: Sequence[Span]) -> bool:
        """Begin a batch. Returns False if another landing has taken the number since it was
        read. UsageError: it was the first, with other terms."""
        if not read_terms(self._folder):  # mistaken ones, by which nothing could land, are not kept
            self._keep(self._terms.kept, 1)
            self.check()
        now = time.time_ns() // 1000
        rows = [asdict(replace(span, batch=number)) | {"begun_at": now} for span in spans]
        table = pa.Table.from_pylist(rows, arrow_schema(LANDING))
        return append(self._begun, self._own, number, table)

    def hold(self, batch: int, waiting: Sequence[Waiting]) -> bool:
        """Keep the places of a batch's rows that wait, unless that was done; returns whether these
        count."""
        rows = [asdict(replace(one, batch=batch)) for one in waiting]
        table = pa.Table.from_pylist(rows, arrow_schema(WAITING))
        return append(self._folder / _WAITING, self._own, batch, table)

    def held(self, batch: int) -> list[Waiting] | None:
        """The rows of a batch that wait; None if they have not been kept."""
        if last_batch(self._folder / _WAITING) < batch:
            return None
        return [one for one in read_held(self._folder) if one.batch == batch]

    def finish(self, batch: int, written: Sequence[WrittenFile]) -> None:
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
        append(self._done, self._own, batch, pa.Table.from_pylist(rows, arrow_schema(LANDED)))


def read_terms(folder: LandingPath) -> list[TermsSince]:
    """The terms of the landing in a folder, in the order in which they held; empty if none has
    begun. InputError: an earlier version of binlogkit made it."""
    table = opened(folder / _TERMS)
    if table is None and opened(folder / _BEGUN) is not None:
        raise _of_earlier_version(folder)
    paths = [] if table is None else files_of(table, folder / _TERMS)
    rows = [row for path in paths for row in pq.read_table(path.source()).to_pylist()]
    return [
        TermsSince(
            row["batch"], tuple(row["tables"]), tuple(row["exclude"]), tuple(row["masks"]),
            row["key"],
        )
        for row in sorted(rows, key=itemgetter("batch", "changed_at"))
    ]  # fmt: skip


def check_terms(folder: LandingPath, terms: Terms) -> None:
    """UsageError: the landing in a folder has other terms, and these are not to replace them."""
    for before in read_terms(folder)[-1:]:
        terms.check_change(before)


def read_journal(
    folder: LandingPath, known: dict[str, list[Span]] | None = None
) -> tuple[int, bool, list[Span]]:
    """The result of :meth:`Journal.read`; ``known``: the spans of files that were read, which are
    added. InputError: nothing has landed in the folder."""
    table = opened(folder / _BEGUN)
    if table is None:
        raise InputError(str(folder), "nothing has landed there")
    begun = batch_of(table, folder / _BEGUN)
    names = arrow_schema(LANDING).names
    if not {*names}.issubset(pa.schema(table.schema()).names):
        raise _of_earlier_version(folder)
    known, spans = {} if known is None else known, list[Span]()
    for path in files_of(table, folder / _BEGUN):
        if path.name not in known:
            with pq.ParquetFile(path.source()) as file:
                some = file.iter_batches(_ROWS, columns=names, use_threads=False)
                known[path.name] = [span for batch in some for span in _spans(batch)]
        spans += known[path.name]
    return begun, last_batch(folder / _DONE) >= begun, spans


def _spans(rows: pa.RecordBatch) -> Iterator[Span]:
    columns = {name: rows[name].to_pylist() for name in Span.__slots__}
    columns["file"] = map(intern, columns["file"])  # the ledger's parts have the same
    columns["tables"] = (tables and tuple(tables) for tables in columns["tables"])
    return map(Span, *columns.values())


def read_held(folder: LandingPath) -> list[Waiting]:
    """All rows that wait, or have waited."""
    return [Waiting(**row) for row in rows_of(folder / _WAITING, arrow_schema(WAITING))]


def read_waiting(folder: LandingPath, spans: Iterable[Span]) -> list[Waiting]:
    """The rows that wait; ``spans``: all of the journal."""
    settled = {span.again for span in spans}
    found = (one for one in read_held(folder) if one.batch not in settled)
    return sorted(found, key=lambda one: (one.table, one.batch, one.file, one.first_pos))


def logs_apart(folder: LandingPath, *, alone: bool) -> list[str]:
    """The logs that have rows that wait or were lost, and are where they were.

    InputError: there is none, and these are to land ``alone``.
    """
    if not (alone or last_begun(folder)):  # a first landing
        return []
    waiting = read_waiting(folder, read_journal(folder)[2])
    logs = [*dict.fromkeys(one.file for one in waiting)]
    found = [log for log in logs if is_there(log)]
    if alone and not found:
        text = (
            f"the logs of rows that wait are gone ({', '.join(logs)})" if logs else "no rows wait"
        )
        raise InputError(str(folder), f"{text}: nothing can be landed again")
    return found


def last_begun(folder: LandingPath) -> int:
    """The number of the last batch that was begun."""
    return last_batch(folder / _BEGUN)


def read_landed(folder: LandingPath) -> pa.Table:
    """The files that landed, a row each (docs/landing.md)."""
    table, schema = opened(folder / _DONE), arrow_schema(LANDED)
    paths = [] if table is None else files_of(table, folder / _DONE)
    found = [pq.read_table(path.source(), columns=schema.names).cast(schema) for path in paths]
    return pa.concat_tables([schema.empty_table(), *found])


def append(folder: LandingPath, mark: str, batch: int, table: pa.Table) -> bool:
    """Append rows to a table of the journal under a batch's number; ``mark``: of the landing.

    Returns whether they count: another one may have had the number. WriteError.
    """
    written = []
    path = folder / parquet_name(mark)
    if table.num_rows:
        with path.asked(WriteError):
            sink = path.sink()
            pq.write_table(table, sink.target, compression="zstd")
            sink.close()
        stats = {"numRecords": table.num_rows}
        now = time.time_ns() // 1_000_000
        size = sink.size
        written.append(
            WrittenFile("", folder.name, path.name, size, table.num_rows, {}, [], stats, now)
        )
    done = commit(folder, batch, written)
    if written and not done:
        path.delete()
    return done


def append_next(
    folder: LandingPath, mark: str, rows: Sequence[Mapping[str, Any]], declared: Fields
) -> None:
    """Append rows to a table under the next number; the table is made if it is not there."""
    schema = arrow_schema(declared)
    make(folder, schema, [])
    table = pa.Table.from_pylist([*rows], schema)
    while not append(folder, mark, last_batch(folder) + 1, table):
        pass  # another one had the number


def has_erased(out: LandingPath) -> bool:
    """Whether rows have been erased: then the ledger keeps no statements."""
    return opened(out / ERASED) is not None


def _of_earlier_version(folder: LandingPath) -> InputError:
    text = "was made by an earlier version of binlogkit: land the logs in a new folder"
    return InputError(str(folder), text)
