"""An index of logs (log/index), made by Spark's tasks: the driver reads no logs."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from binlogkit.log.index import Index, Updated, parts_of
from binlogkit.log.index.batches import Batches
from binlogkit.log.index.part import has_next
from binlogkit.log.index.stamps import Stamp, place_of, stamp_or_none
from binlogkit.log.opening import open_log
from binlogkit.sources.carriers import Carrier, resolve
from binlogkit.sources.carriers.storage import StorageOptions
from binlogkit.sources.carriers.storage import storage_options as given_options
from binlogkit.sources.carriers.urls import is_url
from binlogkit.sources.keyring import KeyFiles

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

#: Minimum bytes of logs that one task reads, unless a log alone has more.
TASK_BYTES = 256 << 20
_LEAST = 1 << 20  # of a small log: to open it takes as long as to read so many bytes


def index(
    spark: SparkSession,
    paths: str | Path | Iterable[str | Path],
    out: str | Path,
    *,
    keyring: str | Path | None = None,
    key_file: str | Path | None = None,
    storage_options: Mapping[str, Any] | None = None,
    task_bytes: int = TASK_BYTES,
    queries: bool = True,
) -> Updated:
    """Bring an index up to date: each task reads some of the logs that are new to it or changed.

    ``paths``: what :func:`binlogkit.open` takes, except bytes and open files; ``out``: a folder
    that the driver and all workers share, as the logs are; ``task_bytes``: minimum bytes of logs
    for a task; ``queries``: whether to keep the first statement of each transaction; ``keyring``,
    ``key_file``, ``storage_options``: as there. The driver reads only both ends of each log, or a
    store's listing. Relay logs that share a transaction belong together; the driver reads those
    itself. Errors: UsageError (``out`` is a landing), InputError, EmptyInputError, WriteError.
    """
    named = paths if isinstance(paths, (str, Path)) else list(paths)
    storage = given_options(storage_options)
    opening: dict[str, Any] = {"keyring": keyring, "key_file": key_file}
    log = open_log(named, storage_options=storage, **opening)
    return index_logs(spark, log.carriers, out, storage, task_bytes=task_bytes, queries=queries)


def index_logs(
    spark: SparkSession | None,
    carriers: Sequence[Carrier],
    out: str | Path,
    storage: StorageOptions,
    *,
    task_bytes: int = TASK_BYTES,
    queries: bool = True,
) -> Updated:
    """The same for logs that were found; ``storage``: the options for a store's logs. Without a
    session this process reads them."""
    kept = Index(Path(out).absolute(), queries=queries)
    if spark is None:
        return kept.update(carriers)
    fresh = kept.unknown(carriers)
    tasks = list(_tasks(fresh, task_bytes))
    read = partial(_read, str(kept.folder), queries, carriers[0].keys, storage)
    batches, left, going_on = _run(spark, tasks, read)
    kept.commit(batches, set(map(place_of, fresh)))
    for chain in _chains(carriers, going_on):
        kept.commit({}, {place_of(carrier) for carrier in chain})
        indexed = kept.update(chain)
        others = {place_of(carrier) for carrier in chain}
        left = {file: why for file, why in left.items() if file not in others} | indexed.left
    return kept.updated(carriers, len(fresh), left)


def _tasks(carriers: Sequence[Carrier], least: int) -> Iterator[list[str]]:
    """The logs that each task reads, with what opens them."""
    found: list[str] = []
    size = 0
    for carrier, text in zip(carriers, task_texts(carriers), strict=True):
        found.append(text)
        size += least if carrier.size is None else max(carrier.size, _LEAST)
        if size >= least:
            yield found
            found, size = [], 0
    if found:
        yield found


def task_texts(carriers: Iterable[Carrier]) -> Iterator[str]:
    """What opens each log on a worker."""
    for carrier in carriers:
        place = carrier.location or carrier.name
        yield str(place) if is_url(place) else place_of(carrier)


def _run(
    spark: SparkSession, tasks: Sequence[list[str]], read: Callable[[Sequence[str]], dict[str, Any]]
) -> tuple[Batches, dict[str, str], set[str]]:
    """The tasks' batches; the logs that cannot be kept, with the reason; and those that continue in
    the next."""
    from binlogkit.spark.task_source import run_tasks

    batches: Batches = {}
    left: dict[str, str] = {}
    going_on: set[str] = set()
    for found in run_tasks(spark, read, tasks):
        for batch, parts in found["batches"].items():
            batches[batch] = {part: [Stamp(*s) for s in of] for part, of in parts.items()}
        left |= found["left"]
        going_on |= set(found["going_on"])
    return batches, left, going_on


def _read(
    folder: str, queries: bool, keys: KeyFiles, storage: StorageOptions, logs: Sequence[str]
) -> dict[str, Any]:
    """Read one task's logs, which :func:`task_texts` has, and write a batch of the index; a store's
    options are in no text."""
    carriers, kept = resolve(logs, keys, storage), Index(folder, queries=queries)
    stamps = {carrier.name: stamp_or_none(carrier) for carrier in carriers}
    going_on: list[str] = []

    def parts() -> Iterator[Any]:
        for part in parts_of(carriers, counting=True):
            if part.goes_on and part.names[-1] == carriers[-1].name:
                going_on.extend(part.names)
            yield part

    batches, left = kept.write(parts(), stamps)
    found = {b: {p: list(of) for p, of in parts.items()} for b, parts in batches.items()}
    return {"batches": found, "left": left, "going_on": going_on}


def _chains(carriers: Sequence[Carrier], going_on: set[str]) -> Iterator[list[Carrier]]:
    """Consecutive logs of which the first continues in the next."""
    held: list[Carrier] = []
    for i, carrier in enumerate(carriers):
        held.append(carrier)
        if held[0].name in going_on and has_next(carriers, i):
            continue
        if len(held) > 1:
            yield held
        held = []
