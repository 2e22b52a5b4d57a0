"""``binlogkit.spark.land``: a landing, its tasks on Spark or in this process."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import replace
from functools import partial, reduce
from pathlib import Path, PurePath
from typing import TYPE_CHECKING, Any

from binlogkit.errors import BinlogKitError, InputError, UsageError
from binlogkit.frames.share_decoding import thread_count
from binlogkit.log import Log, open_log
from binlogkit.log.index import Index, Updated
from binlogkit.log.index.part import part_of
from binlogkit.log.index.stamps import absolute
from binlogkit.log.index.stamps import place_of as log_place
from binlogkit.rows.transactions import Outcome
from binlogkit.sources.carriers import Carrier
from binlogkit.sources.carriers.carrier import up_to
from binlogkit.sources.carriers.storage import StorageOptions
from binlogkit.sources.carriers.storage import storage_options as given_options
from binlogkit.sources.carriers.urls import natural_key
from binlogkit.spark.indexing import index_logs
from binlogkit.spark.landing.compaction import compact as compacted
from binlogkit.spark.landing.current_tables import keep
from binlogkit.spark.landing.dead_files import under_way
from binlogkit.spark.landing.journal import (
    check_terms,
    has_erased,
    last_begun,
    logs_apart,
    read_journal,
    read_terms,
    read_waiting,
)
from binlogkit.spark.landing.kept import KeptTable
from binlogkit.spark.landing.landing import (
    BATCH_BYTES,
    LEDGER,
    TASK_BYTES,
    Arrived,
    Run,
    land_logs,
)
from binlogkit.spark.landing.landing_path import Folder, LandingPath
from binlogkit.spark.landing.merging import Merge, merge_here, merge_on, merges
from binlogkit.spark.landing.spans import Landed
from binlogkit.spark.landing.store import place_of
from binlogkit.spark.landing.terms import Terms
from binlogkit.spark.landing.views import VIEWS, write_views
from binlogkit.spark.landing.writing import FILE_BYTES, Done, Job, done_of, write, written
from binlogkit.spark.masks import parse_masks
from binlogkit.spark.splits.commits import file_number
from binlogkit.spark.splits.plan import Split

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_TOGETHER = 1000  # logs
_HEAD = 256  # bytes of a log that have its first event


def land(
    spark: SparkSession | None,
    paths: str | Path | Iterable[str | Path],
    out: str | Path | LandingPath,
    *,
    ledger: str | Path | None = None,
    target_options: Mapping[str, str] | None = None,
    tables: str | Iterable[str] = (),
    exclude: str | Iterable[str] = (),
    masks: Iterable[str] = (),
    mask_key_file: str | Path | None = None,
    change_terms: bool = False,
    retry: bool = False,
    batch_bytes: int = BATCH_BYTES,
    task_bytes: int = TASK_BYTES,
    file_bytes: int = FILE_BYTES,
    current: bool = False,
    compact: bool = False,
    keyring: str | Path | None = None,
    key_file: str | Path | None = None,
    storage_options: Mapping[str, Any] | None = None,
    **options: Any,
) -> Arrived:
    """Land the committed changes of logs in ``out``, except those that have landed there.

    ``spark``: whose tasks read and write; None: threads of this process, which needs no PySpark.
    ``paths``: what :func:`binlogkit.open` takes, except bytes and open files; ``options``: its
    other arguments; ``out``: a folder that the driver and all workers share, as the logs are, or a
    prefix in a store, ``s3://bucket/prefix`` (docs/landing.md); ``ledger``: the local folder of a
    landing in a store; ``target_options``: of that store, no secrets.
    ``tables``, ``exclude``: ``db.table`` or ``table``; ``masks``: ``db.table.column=drop``,
    ``=hash`` (by the key in ``mask_key_file``) or ``=truncate:N``: these stay the same for all
    landings in a folder, until ``change_terms`` sets others from the next batch on
    (``=clear`` takes a mask off). ``retry``: also land the logs whose rows wait or were lost, which
    are found where they were; then there need be no others. ``batch_bytes``: bytes of logs that
    land together; ``task_bytes``: minimum bytes for a task; ``file_bytes``: approximate size of a
    Parquet file. ``current``: also keep current-state tables; ``compact``: then merge small files.

    Errors: UsageError (other tables or masks than before, deltalake is not installed), InputError,
    EmptyInputError, WriteError, and DamageError before anything of a damaged log lands, unless
    ``on_damage`` is ``report``.
    """
    terms = Terms(_texts(tables), _texts(exclude), parse_masks(masks, mask_key_file), change_terms)
    place = place_of(out, ledger, target_options)
    check(place, terms)
    named = [paths] if isinstance(paths, (str, Path)) else list(paths)
    named = [*logs_apart(place, alone=not named), *named] if retry else named
    storage = given_options(storage_options)
    log = open_log(
        named, storage_options=storage, keyring=keyring, key_file=key_file, **options
    )  # fmt: skip
    return land_on(
        spark, log, place, terms, storage, retry=retry, current=current, compact=compact,
        batch_bytes=batch_bytes, task_bytes=task_bytes, file_bytes=file_bytes,
    )  # fmt: skip


def land_on(
    spark: SparkSession | None,
    log: Log,
    out: LandingPath,
    terms: Terms,
    storage: StorageOptions,
    *,
    retry: bool = False,
    current: bool = False,
    compact: bool = False,
    reached: Callable[[int, int], None] = lambda _done, _all: None,
    **sizes: int,
) -> Arrived:
    """The same for a log that is open; ``storage``: options for files in a store; ``retry``: what
    is still lost is reported again; ``reached``: as for :func:`land_logs`."""
    folder = out.absolute() if isinstance(out, Folder) else out
    log.carriers = list(map(_absolute, log.carriers))
    if retry:  # some were found, and may be named, too
        found = {PurePath(one.name): one for one in log.carriers}
        log.carriers = [found[name] for name in sorted(found, key=natural_key)]
    run = in_threads(thread_count(log.options.threads)) if spark is None else on_spark(spark)

    def updated(ledger: Path) -> Updated:
        masked = bool(terms.masks.masks)
        if masked and not any(one.masks for one in read_terms(folder)[-1:]):
            # A landing without masks may have been killed before all that it read had landed.
            Index(ledger, queries=False).forget_values(_landed_whole(folder))
        queries = not (masked or has_erased(folder))
        return index_logs(spark, log.carriers, ledger, storage, queries=queries)

    folder.check_local(landing=True)
    every = log.carriers
    fresh = fresh_logs(log, folder) if last_begun(folder) or len(every) > _TOGETHER else every
    _check_replaced(fresh, folder)

    def lands() -> Arrived:
        found = list[Arrived]()
        for end in _rounds(log, fresh, terms):
            log.carriers = every[:end]
            found.append(land_logs(
                log, folder, terms, run=run, updated=updated, storage=storage, reached=reached,
                **sizes,
            ))  # fmt: skip
        return reduce(Arrived.and_then, found)

    # To the end, so that no row is erased that is about to be written.
    with _forgetting(log, folder, terms), under_way(folder, terms=terms.text):
        arrived, now = lands(), None
        if retry:
            waiting = read_waiting(folder, read_journal(folder)[2])
            arrived = replace(arrived, lost=[one for one in waiting if one.lost])
        if current and last_begun(folder):
            merge: Merge = merge_here
            if spark is not None and isinstance(folder, Folder) and merges(spark):
                merge = merge_on(spark)
            kept, now = keep(folder, (), merge=merge, again=lands)
            arrived = replace(arrived, current=kept)
        if compact:
            made = sizes.get("file_bytes", FILE_BYTES)
            arrived = replace(arrived, compacted=compacted(folder, file_bytes=made))
        changed = arrived.batches or arrived.changed or current or compact
        if changed or not (folder / VIEWS).exists():
            write_views(folder, now)
    return arrived


def keep_current(
    out: str | Path | LandingPath,
    tables: Iterable[str] = (),
    *,
    ledger: str | Path | None = None,
    target_options: Mapping[str, str] | None = None,
    merge: Merge = merge_here,
    again: Callable[[], object] = lambda: None,
) -> list[KeptTable]:
    """Bring the current-state tables of a landing up to date with what has landed.

    ``tables``: ``db.table``, by default all that have landed; ``merge``: merges rows into a Delta
    table; ``again``: lands the rest if another landing has begun. Errors: UsageError (deltalake is
    not installed, a name without a database); InputError: nothing has landed, or not everything in
    the ledger; WriteError.
    """
    place = place_of(out, ledger, target_options)
    place.check_local()
    read_journal(place)  # InputError: nothing has landed
    with under_way(place):
        found, now = keep(place, tables, merge=merge, again=again)
        write_views(place, now)
    return found


def _rounds(log: Log, fresh: Iterable[Carrier], terms: Terms) -> list[int]:
    """How many of the logs are indexed and land in turn: what each of the ``fresh`` ones says is in
    memory until it has landed. Whether names of tables are mistyped, only all logs together say."""
    count, ends = len(log.carriers), list[int]()
    if count > _TOGETHER and not (terms.tables or terms.exclude or terms.masks.masks):
        new = set(map(id, fresh))
        ends = [i for i, one in enumerate(log.carriers, 1) if id(one) in new]
    return [*ends[_TOGETHER - 1 : -1 : _TOGETHER], count]


def _landed_whole(out: LandingPath) -> set[str]:
    """The ledger's parts all of whose transactions have landed, and none of whose rows wait."""
    if not read_terms(out):
        return set()
    index, spans = Index(out.local / LEDGER), read_journal(out)[2]
    waits = {one.log[:2] for one in read_waiting(out, spans)}
    ends = {
        (span.server_id, span.begun, span.end, span.digest)
        for span in spans
        if (span.server_id, span.begun) not in waits
    }
    own = ("server_id", "begun", "part_transactions", "digest")
    found = index.table("logs", columns=["part", *own])
    outcomes = index.table("transactions", columns=["part", "outcome"]).to_pylist()
    open_ones = {one["part"] for one in outcomes if one["outcome"] == Outcome.PREPARED}
    logs = ((one["part"], tuple(one[name] for name in own)) for one in found.to_pylist())
    return {part for part, log in logs if log in ends} - open_ones


@contextmanager
def _forgetting(log: Log, out: LandingPath, terms: Terms) -> Iterator[None]:
    """If a landing without masks fails before anything lands, its ledger is forgotten: it has
    statements, with values that the next attempt may mask. If one is refused, as by a mistyped
    table, its logs are of which nothing began to land: else there would be no state until they do.
    Not while another one is under way."""
    try:
        yield
    except BaseException as error:
        with suppress(BinlogKitError), under_way(out, alone=True):
            index = Index(out.local / LEDGER)
            if not terms.masks.masks and not last_begun(out):
                index.clear()
            elif isinstance(error, UsageError):
                index.commit({}, _not_begun(log, out, index))
        raise


def _not_begun(log: Log, out: LandingPath, index: Index) -> set[str]:
    """The places of logs that are in the ledger, have transactions, and did not begin to land."""
    spans = read_journal(out)[2] if last_begun(out) else []
    begun, places = {span.log for span in spans}, set(map(log_place, log.carriers))
    stamps, found = index.stamps, set[str]()
    columns = ["part", "server_id", "begun", "ended_transactions"]
    for one in index.table("logs", columns=columns).to_pylist():
        own = [stamp.place for stamp in stamps[one["part"]]]
        log_id = one["server_id"], one["begun"], file_number(own[-1])
        if one["ended_transactions"] and log_id not in begun:
            found.update(own)
    return found & places


def check(out: LandingPath, terms: Terms) -> None:
    """UsageError, InputError: a landing with these settings cannot go there; before Spark is
    started."""
    out.check_local(landing=True)
    check_terms(out, terms)


def _check_replaced(fresh: Iterable[Carrier], out: LandingPath) -> None:
    """InputError: another log has the name of one that has landed, which the ledger would lose, or
    is that log as it was before it was damaged, of which rows have landed."""
    index = Index(out.local / LEDGER)
    places = {stamp.place: part for part, stamps in index.stamps.items() for stamp in stamps}
    changed = [one for one in fresh if log_place(one) in places] if places else []
    if not changed or not last_begun(out):
        return
    landed = Landed(spans := read_journal(out)[2])
    begun = {(span.server_id, span.begun) for span in spans}
    table = index.table("logs", columns=["part", "server_id", "begun"])
    heads = {one["part"]: (one["server_id"], one["begun"]) for one in table.to_pylist()}
    damaged = {*index.table("damages", columns=["part"])["part"].to_pylist()}
    for carrier in changed:
        key = places[log_place(carrier)]
        head, known = part_of([up_to(carrier, _HEAD)]).head, heads[key]
        if known not in begun or head is None:
            continue
        why = "is another log than the one of this name that has landed (RESET MASTER?)"
        if (head.server_id, head.begun) == known:
            if key not in damaged or landed.of(part_of([carrier], counting=True)):
                continue
            why = "has other transactions than when it landed: it was damaged then, or is now"
        raise InputError(carrier.name, f"{why}; land it in another folder")


def _absolute(carrier: Carrier) -> Carrier:
    """A log whose name, and so its source's, does not depend on the working directory."""
    name = carrier.name if carrier.location is not None else absolute(carrier.name)
    return carrier if name == carrier.name else replace(carrier, name=name)


def fresh_logs(log: Log, out: LandingPath) -> list[Carrier]:
    """The logs that the ledger of a landing does not know as they are now."""
    return Index(out.local / LEDGER).unknown(log.carriers)


def _texts(given: str | Iterable[str]) -> tuple[str, ...]:
    return (given,) if isinstance(given, str) else tuple(given)


def in_threads(threads: int) -> Run:
    """Runs tasks in threads of this process: decoding and Parquet do not hold the interpreter."""

    def run(job: Job, tasks: Sequence[Sequence[Split]]) -> Iterator[Done]:
        with ThreadPoolExecutor(threads) as pool:
            try:
                yield from pool.map(partial(write, job), tasks)
            finally:
                pool.shutdown(cancel_futures=True)

    return run


def on_spark(spark: SparkSession) -> Run:
    """Runs tasks on Spark, a partition each."""
    from binlogkit.spark.task_source import run_tasks

    def run(job: Job, tasks: Sequence[Sequence[Split]]) -> Iterator[Done]:
        for one in run_tasks(spark, partial(written, job), tasks):
            yield done_of(one)

    return run
