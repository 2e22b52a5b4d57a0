"""Logs into tables: ``binlogkit land`` and ``binlogkit.spark.land``.

A batch has five steps: update the ledger (log/index), begin the batch in the journal with what has
not landed, let tasks write files, commit the files table by table, finish the batch. Whatever
interrupts a landing between two of them, or runs beside it, the next landing continues the batch
that was begun, and no row is doubled or lost.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import accumulate
from pathlib import Path
from typing import Any, TypeAlias

import pyarrow as pa

from binlogkit.errors import BinlogKitError, InputError, SchemaError, WriteError
from binlogkit.log import Log
from binlogkit.log.index import Index, Joined, Part, Updated
from binlogkit.log.index.batches import mark_of, write_whole
from binlogkit.log.index.stamps import absolute, place_of
from binlogkit.log.index.stored import NO_FORMAT, can_be_kept
from binlogkit.rows.ddl.catalog_text import catalog_text
from binlogkit.rows.filters import Filters
from binlogkit.sources.carriers import resolve
from binlogkit.sources.carriers.carrier import reason_of
from binlogkit.sources.carriers.storage import NO_OPTIONS, StorageOptions
from binlogkit.spark.landing.compaction import Compacted
from binlogkit.spark.landing.dead_files import under_way
from binlogkit.spark.landing.given import Given, keep_given, newly_given, read_given, with_given
from binlogkit.spark.landing.journal import Journal, read_waiting
from binlogkit.spark.landing.kept import KeptTable
from binlogkit.spark.landing.landing_path import LandingPath
from binlogkit.spark.landing.shape import (
    Generations,
    folder_of,
    landed_name,
    landed_schema,
    types_of,
)
from binlogkit.spark.landing.spans import Landed, Span, Spans, begins
from binlogkit.spark.landing.summary import Summaries, Summary
from binlogkit.spark.landing.tables import land_files, opened
from binlogkit.spark.landing.terms import Terms, said_of
from binlogkit.spark.landing.waiting import LogId, Waiting, is_there
from binlogkit.spark.landing.writing import FILE_BYTES, Done, Job, WrittenFile, by_folder, tasks_of
from binlogkit.spark.masks import Masks
from binlogkit.spark.options import ScanOptions
from binlogkit.spark.renames import follow
from binlogkit.spark.splits.plan import Scan, Split

#: The approximate bytes of logs that land in one batch.
BATCH_BYTES = 16 << 30
#: The minimum bytes of logs that a task reads.
TASK_BYTES = 64 << 20
#: The folder of the ledger.
LEDGER = "ledger"
_COMPLETE = "complete"  # in the ledger's folder: the note that all of it has landed
#: Runs tasks: each one's work on its splits; returns their results.
Run: TypeAlias = Callable[[Job, Sequence[Sequence[Split]]], Iterable[Done]]


@dataclass(frozen=True, slots=True)
class Arrived:
    """The result of a landing.

    ``batches``: how many; ``rows``: by table; ``files``: Parquet files; ``spans``: of logs;
    ``updated``: the result of the ledger's update; ``waiting``: the rows that wait, of this and
    earlier landings; ``lost``: those that this landing found lost, since their logs are gone;
    ``changed``: what a change of terms means, in sentences; ``current``, ``compacted``: the results
    for current-state tables and small files, if requested.
    """

    updated: Updated
    batches: int = 0
    rows: dict[str, int] = field(default_factory=dict)
    files: int = 0
    spans: list[Span] = field(default_factory=list)
    waiting: list[Waiting] = field(default_factory=list)
    lost: list[Waiting] = field(default_factory=list)
    changed: list[str] = field(default_factory=list)
    current: list[KeptTable] = field(default_factory=list)
    compacted: list[Compacted] = field(default_factory=list)

    def and_then(self, later: Arrived) -> Arrived:
        """The result of this landing and a later one of these logs and more."""
        rows = Counter(self.rows)
        rows.update(later.rows)
        read = self.updated.read + later.updated.read
        return replace(
            later, updated=replace(later.updated, knew=self.updated.knew, read=read),
            batches=self.batches + later.batches, rows=dict(rows), files=self.files + later.files,
            spans=[*self.spans, *later.spans],
            lost=[*self.lost, *later.lost], changed=[*self.changed, *later.changed],
        )  # fmt: skip


def land_logs(
    log: Log,
    out: LandingPath,
    terms: Terms,
    *,
    run: Run,
    updated: Callable[[Path], Updated],
    storage: StorageOptions = NO_OPTIONS,
    reached: Callable[[int, int], None] = lambda _done, _all: None,
    batch_bytes: int = BATCH_BYTES,
    task_bytes: int = TASK_BYTES,
    file_bytes: int = FILE_BYTES,
) -> Arrived:
    """Land what has not landed of a log; ``run``: runs tasks; ``updated``: updates the ledger in a
    folder; ``storage``: what opens logs in a store that are not named; ``reached``: called with how
    many bytes of a batch's logs are done, and how many it has.

    Errors: those of :func:`binlogkit.spark.land`.
    """
    out.check_local(landing=True)
    with under_way(out, terms=terms.text) as mark:
        journal = Journal(out, terms, mark)  # its terms are these: else no statement is kept
        indexed = updated(out.local / LEDGER)
        complete = _Complete(out.local / LEDGER, log, journal)
        if complete.noted and not indexed.left and journal.ended and journal.holds:
            return Arrived(indexed)
        given, catalog = read_given(out), log.options.catalog
        summaries = Summaries(out.local / LEDGER, log, journal.mark, given)
        plain = journal.ended and journal.holds and not read_waiting(out, journal.read()[2])
        stops = log.options.on_damage == "stop"
        summary, rest = (plain and summaries.read()) or (Summary(), summaries.parts())
        rest = list(_landing(rest, stops=stops))
        parts, options = [*summary.parts, *rest], replace(log.options, catalog=None)
        # By names that DDL tells and changes.
        named = bool(terms.tables or terms.exclude or terms.masks.masks)
        join = partial(Joined, options=options, size=task_bytes, happening=named, forgets=True)
        joined, new = join(parts), list[Given]()
        if catalog is not None:
            behind = [joined.unnamed.get(i, {}) for i in range(len(summary.parts))]
            if any(terms.wanted.wants_table(*name) for names in behind for name in names):
                summary, rest = Summary(), list(_landing(summaries.parts(), stops=stops))
                parts = rest
                joined = join(parts)
            begun = {(span.server_id, span.begun) for span in journal.read()[2]}
            new = newly_given(catalog, given, parts, joined, join, named=log.files, landed=begun)
            if new:
                summaries.given, rest = [*given, *new], [*with_given(rest, new)]
                parts = [*summary.parts, *rest]
                joined = join(parts)
        terms.check(joined)
        masks = follow(terms.masks, joined, lambda name: opened(out / folder_of(name)) is not None)
        keep_given(out, mark, new)
        generations = _generations(joined, terms.wanted, masks, out)
        names = {
            carrier.name: absolute(carrier.location or carrier.name) for carrier in log.carriers
        }
        for part in summary.parts:  # it is none of the logs
            names.pop(part.names[0], None)
        asked = ScanOptions((), kind="changelog", on_damage=log.options.on_damage, **_opening(log))
        scan = Scan(asked, options, (log.files[0], log.files[-1]))
        job = Job(scan, out, mark, terms.wanted, masks, generations, file_bytes)
        arrived, batches, tried = Arrived(indexed), 0, set[Waiting]()
        summed = summaries.names(summary)
        if not journal.holds:
            terms_before, now = journal.change()
            arrived.changed.extend(said_of(terms_before, now, joined.schemas))
        while True:
            last, done, known = journal.read()
            journal.check()
            number = last + 1 if done else last
            before = (span for span in known if span.batch < number)
            landed = Landed(before, (summary.batch, summary.gtids), parts, summed)
            spans = Spans(parts, joined, landed, names)
            if not done:
                batch = [span for span in known if span.batch == number]
            else:
                batch = spans.settled(_first(list(spans.fresh()), batch_bytes))
                waiting = [] if batch else _wanted(terms, read_waiting(out, known))
                batch = batch or _gone(known, waiting, spans)
                batch = batch or _ready(known, waiting, spans, masks, joined, tried)
                if not batch:
                    waiting = [one for one in waiting if not one.lost]
                    if not indexed.left and not waiting:
                        complete.note()
                    if not waiting:
                        summaries.write(summary, rest, joined, known, landed)
                    return replace(arrived, batches=batches, waiting=waiting)
                if log.options.on_damage == "stop":
                    spans.check(batch)
                if not journal.begin(number, batch):  # another landing has begun it
                    continue
            lost, again = list[Waiting](), batch[0].again
            splits: Iterable[Split] = ()
            if again is None:
                besides = dict[str, str]()
                for part in spans.apart(batch):
                    besides |= _where_it_was(part, log, out.local / LEDGER, storage)
                spans = Spans(parts, joined, landed, {**names, **besides})
                lost, splits = _wanted(terms, spans.lost(batch)), spans.splits(batch)
            elif not batch[0].lost:
                origin = _origin(known, again)
                whole = [span for span in known if span.batch == origin]
                then = Landed(span for span in known if span.batch < origin)
                splits = Spans(parts, joined, then, names).splits(whole, batch)
            tasks = list(tasks_of(splits, task_bytes))
            written, held = _land(
                job, _watched(run, reached), tasks, journal, number, batch, lost
            )  # fmt: skip
            now_lost = (one for one in held if one.lost and (again is None or _is_of(one, batch)))
            arrived.lost.extend(now_lost)
            journal.finish(number, written)
            batches += 1
            for one in written:
                arrived.rows[one.table] = arrived.rows.get(one.table, 0) + one.rows
            arrived.spans.extend(replace(span, batch=number) for span in batch)
            arrived = replace(arrived, files=arrived.files + len(written))


def _landing(parts: Iterable[Part], *, stops: bool) -> Iterator[Part]:
    """The parts without those that no ledger can keep, whose format description is damaged.

    DamageError, InputError: there are such, or some that cannot be read, if damage ``stops``.
    """
    for part in parts:
        error = part.unreadable
        if error is not None or part.head is None or part.read_at is not None or can_be_kept(part):
            if error is not None and stops:
                raise error
            yield part
        elif stops:
            raise next(iter(part.damages), InputError(part.names[-1], NO_FORMAT))


def _wanted(terms: Terms, waiting: Iterable[Waiting]) -> list[Waiting]:
    """The waiting rows of tables that still land."""
    return [one for one in waiting if terms.wanted.wants_table(*landed_name(one.table))]


def _where_it_was(part: Part, log: Log, ledger: Path, storage: StorageOptions) -> dict[str, str]:
    """The locations of a log that is not named, by name, if it is where it was when it was read;
    it may have grown."""
    keys = log.carriers[0].keys
    try:
        found = [one for name in part.names for one in resolve(name, keys, storage)]
        now = [*Index(ledger).parts(found, log.options, ["transactions"])]
    except BinlogKitError:  # it is gone, or what is there is no log
        return {}
    if len(now) != 1 or len(found) != len(part.names) or not begins(now[0], part):
        return {}
    places = (absolute(one.location or one.name) for one in found)
    return dict(zip(part.names, places, strict=True))


class _Complete:
    """A note by an earlier landing that everything in the ledger of some logs has landed.

    Then nothing of it need be read. The note holds for the ledger's present content; any change
    invalidates it.
    """

    def __init__(self, ledger: Path, log: Log, journal: Journal) -> None:
        self._path = ledger / _COMPLETE
        logs = map(place_of, log.carriers)
        catalog = log.options.catalog
        given = "" if catalog is None else catalog_text(catalog)
        facts = [mark_of(ledger), journal.mark, log.options.on_damage, given, *logs]
        text = "\0".join(map(str, facts))
        self._now = hashlib.sha256(text.encode("utf-8", "replace")).hexdigest()

    @property
    def noted(self) -> bool:
        """Whether the note holds."""
        try:
            return self._path.read_text("ascii") == self._now
        except (OSError, ValueError):
            return False

    def note(self) -> None:
        """Write the note. WriteError."""
        try:
            write_whole(self._path, self._now)
        except OSError as exc:
            raise WriteError(str(self._path.parent), reason_of(exc)) from exc


def _ready(
    known: Sequence[Span],
    waiting: Sequence[Waiting],
    spans: Spans,
    masks: Masks,
    joined: Joined,
    tried: set[Waiting],
) -> list[Span]:
    """The spans of a batch that has tables whose waiting rows can land now, with these tables.

    ``tried``: the rows that this landing has tried already, which are added.
    """

    def lands(one: Waiting) -> bool:
        part, name = spans.part_of(one.log), landed_name(one.table)
        if part is None or name in joined.unnamed.get(part, ()) or replace(one, batch=0) in tried:
            return False
        try:
            for version in joined.schemas.get(name, ()):
                masks.check(version)
        except SchemaError:
            return False
        return True

    for batch in sorted({one.batch for one in waiting}):
        own = [one for one in waiting if one.batch == batch]
        own = [one for one in own if not one.lost or spans.part_of(one.log) is not None]
        stay = {one.table for one in own if not lands(one)}
        tables = tuple(sorted({one.table for one in own} - stay))
        found = _spans_of(known, [one for one in own if one.table in tables])
        if found and all(map(spans.is_there, found)):
            tried.update(replace(one, batch=0) for one in own)
            return [replace(span, again=batch, tables=tables, lost=False) for span in found]
    return []


def _gone(known: Sequence[Span], waiting: Sequence[Waiting], spans: Spans) -> list[Span]:
    """The spans of a batch that has waiting rows whose logs are gone: they are neither among the
    logs nor where they were."""
    gone = [
        one for one in waiting
        if not one.lost and spans.part_of(one.log) is None and not is_there(one.file)
    ]  # fmt: skip
    batch = min((one.batch for one in gone), default=0)
    own = [one for one in gone if one.batch == batch]
    tables, found = tuple(sorted({one.table for one in own})), _spans_of(known, own)
    return [replace(span, again=batch, tables=tables, lost=True) for span in found]


def _spans_of(known: Sequence[Span], rows: Sequence[Waiting]) -> list[Span]:
    """The spans of waiting rows: those of their batch, or, if an XA transaction has them that this
    batch commits, those with which the log landed that prepared it."""
    found, by_log = set[Span](), dict[LogId, list[Span]]()
    for span in known:
        if span.again is None:
            by_log.setdefault(span.log, []).append(span)
    origins = {batch: _origin(known, batch) for batch in {one.batch for one in rows}}
    for one in rows:
        own = [span for span in by_log.get(one.log, ()) if one.first_pos < span.stop]
        of = origins[one.batch]
        found |= {*sorted(own, key=lambda span: (span.batch != of, span.stop))[:1]}
    return [span for span in known if span in found]


def _origin(known: Iterable[Span], batch: int) -> int:
    """The batch with whose spans rows came that wait with a batch: rows that still waited when
    others of theirs landed wait with the batch of these."""
    before = {span.batch: span.again for span in known if span.again is not None}
    while batch in before:
        batch = before[batch]
    return batch


def _is_of(one: Waiting, spans: Iterable[Span]) -> bool:
    """Whether waiting rows are those of a batch that lands, or loses, such rows."""
    return any(one.log == s.log and one.table in (s.tables or ()) for s in spans)


def _land(
    job: Job,
    run: Run,
    tasks: Sequence[Sequence[Split]],
    journal: Journal,
    number: int,
    batch: Sequence[Span],
    lost: Sequence[Waiting],
) -> tuple[list[WrittenFile], list[Waiting]]:
    """Write a batch and commit it, table by table; its files, and its rows that wait or are
    ``lost``."""
    out, stay, span = job.out, list(lost), batch[0]
    if span.again is not None:
        before = journal.held(span.again) or []
        again = [one for one in before if _is_of(one, batch)]
        stay = [one for one in before if not _is_of(one, batch)]
        stay += [replace(one, lost=True) for one in again if span.lost]
        job = replace(job, again=tuple(again), wanted=Filters.build(table=span.tables))
    while True:
        held = journal.held(number)
        done = list(run(replace(job, held=tuple(held or ())), tasks))
        waiting = [one for each in done for one in each.waiting]
        written = [one for each in done for one in each.files]
        if held is not None:
            known = {(one.table, one.log, one.first_pos) for one in held}
            waiting += [o for o in lost if (o.table, o.log, o.first_pos) not in known]
            if waiting:
                _drop(out, written)
                text = "could land when its batch was begun, and cannot now"
                raise InputError(waiting[0].file, f"{waiting[0].table} {text}: {waiting[0].reason}")
            break
        if journal.hold(number, held := [*stay, *waiting]):
            break
        _drop(out, written)  # another landing was faster
    for folder, files in by_folder(written).items():
        if not land_files(out / folder, number, files):  # it is there already
            _drop(out, files)
    return written, held


def _watched(run: Run, reached: Callable[[int, int], None]) -> Run:
    """The same, and how far it is."""

    def watched(job: Job, tasks: Sequence[Sequence[Split]]) -> Iterator[Done]:
        sizes = (sum((one.stop or one.start) - one.start for one in task) for task in tasks)
        ends = list(accumulate(sizes))
        for done, end in zip(run(job, tasks), ends, strict=True):
            reached(end, ends[-1])
            yield done

    return watched


def _drop(out: LandingPath, files: Iterable[WrittenFile]) -> None:
    """Delete files that do not count."""
    for one in files:
        (out / one.folder / one.path).delete()


def _first(spans: Sequence[Span], most: int) -> list[Span]:
    """The first spans, up to the size of a batch."""
    found: list[Span] = []
    size = 0
    for span in spans:
        if found and size + span.stop > most:
            break
        found.append(span)
        size += span.stop
    return found


def _opening(log: Log) -> dict[str, Any]:
    """The arguments with which a task opens the logs again."""
    keys = log.carriers[0].keys
    return {"keyring": keys.keyring, "key_file": keys.key_file}


def _generations(joined: Joined, wanted: Filters, masks: Masks, out: LandingPath) -> Generations:
    """The folders of all versions of the tables that land."""
    generations = Generations()
    for name, versions in joined.schemas.items():
        if not wanted.wants_table(*name):
            continue
        while table := opened(out / folder_of(name, len(generations.known.get(name, ())))):
            types = types_of(pa.schema(table.schema()))
            generations.known.setdefault(name, []).append(types)
        for schema in versions:
            with suppress(SchemaError):  # its rows wait
                generations.add(name, types_of(landed_schema(schema, masks)))
    return generations
