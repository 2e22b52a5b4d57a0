"""Conformance with mysqlbinlog on Spark: each log is a task's, which runs mysqlbinlog where it is.

The driver reads no log; it gets each log's differences and counts.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from socket import gethostname
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from binlogkit.analyses._tasks import Batches, SparkTasks, packed, row, unpacked
from binlogkit.errors import BinlogKitError, InputError, OracleError, together
from binlogkit.log.opening import open_log
from binlogkit.sources.carriers import Carrier, resolve
from binlogkit.sources.carriers.storage import StorageOptions
from binlogkit.sources.carriers.storage import storage_options as given_options
from binlogkit.spark.indexing import task_texts
from binlogkit.spark.workers import own_interpreter

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from binlogkit.analyses.conformance import ConformanceResult
    from binlogkit.rows.options import ReadOptions
    from binlogkit.sources.keyring import KeyFiles

#: A log's result: its number, facts as JSON, its differences.
_JUDGED = pa.schema([("log", pa.int64()), ("facts", pa.string()), ("differences", pa.binary())])


def shared_conformance(
    spark: SparkSession,
    paths: str | Path | Iterable[str | Path],
    *,
    program: str | None = None,
    baseline: Sequence[Mapping[str, Any]] = (),
    storage_options: Mapping[str, Any] | None = None,
    **opening: Any,
) -> ConformanceResult:
    """What ``binlogkit conform`` finds of logs, each judged by a task: the merged result.

    ``paths``, ``storage_options``, ``opening``: what :func:`binlogkit.open` takes, except bytes and
    open files; ``program``: the workers' mysqlbinlog, by default found on each as
    :func:`binlogkit.sources.mysqlbinlog.find` does; ``baseline``: known differences to leave out.
    Errors: OracleError names a worker without mysqlbinlog; InputError.
    """
    from binlogkit.analyses.conformance import merge

    named = paths if isinstance(paths, (str, Path)) else list(paths)
    storage = given_options(storage_options)
    log = open_log(named, storage_options=storage, **opening)
    given = log.carriers, log.options, storage
    results, unread, _ = judged_by_tasks(spark, *given, baseline, program)
    if unread:
        raise together(unread)
    return merge(results)


def judged_by_tasks(
    spark: SparkSession,
    carriers: Sequence[Carrier],
    options: ReadOptions,
    storage: StorageOptions,
    baseline: Sequence[Mapping[str, Any]] = (),
    program: str | None = None,
) -> tuple[list[ConformanceResult], list[InputError], list[str]]:
    """The same for logs that were found: each one's result, those that cannot be read, and the
    versions of mysqlbinlog that judged."""
    from binlogkit.analyses.conformance import ConformanceResult, ConformanceSummary, Verdict
    from binlogkit.spark.landing.format import raise_error

    tasks = [
        (text, carrier.name) for text, carrier in zip(task_texts(carriers), carriers, strict=True)
    ]
    alone = replace(options, threads=1)  # Spark gives a task one core
    work = _judging(tasks, carriers[0].keys, storage, alone, baseline, program)
    with own_interpreter(spark):
        numbers = SparkTasks(spark.range(0, len(tasks), 1, len(tasks)))
        judged = sorted(numbers.map(work, _JUDGED).records(), key=lambda one: one["log"])
    results, unread = list[ConformanceResult](), list[InputError]()
    versions = dict[str, None]()
    for one in judged:
        facts = json.loads(one["facts"])
        try:
            raise_error(facts)
        except InputError as error:
            unread.append(error)
            continue
        versions[facts.pop("version") or ""] = None
        summary = ConformanceSummary(**facts | {"verdict": Verdict(facts["verdict"])})
        differences = pa.Table.from_batches([unpacked(one["differences"])])
        results.append(ConformanceResult(differences, summary))
    return results, unread, [*filter(None, versions)]


def _judging(
    tasks: Sequence[tuple[str, str]],
    keys: KeyFiles,
    storage: StorageOptions,
    options: ReadOptions,
    baseline: Sequence[Mapping[str, Any]],
    program: str | None,
) -> Callable[[Batches], Batches]:
    """A task's work on the numbers of its logs; a store's options are in no text."""

    def work(batches: Batches) -> Iterator[pa.RecordBatch]:
        from binlogkit.spark.landing.format import error_record

        for batch in batches:
            for number in batch[0].to_pylist():
                place, name = tasks[number]
                try:
                    (carrier,) = resolve([place], keys, storage)
                    facts, differences = _judged(carrier, name, options, baseline, program)
                except BinlogKitError as error:
                    facts, differences = error_record(error), None
                yield row(_JUDGED, number, json.dumps(facts), differences)

    return work


def _judged(
    carrier: Carrier,
    name: str,
    options: ReadOptions,
    baseline: Sequence[Mapping[str, Any]],
    program: str | None,
) -> tuple[dict[str, Any], bytes]:
    """One log's summary, with the judge's version, and its differences."""
    from binlogkit.log.conforming import by_mysqlbinlog, own_records
    from binlogkit.sources.mysqlbinlog import find

    try:
        oracle = find(program)
    except OracleError as exc:
        text = f"worker {gethostname()}: each worker needs mysqlbinlog on its PATH: {exc}"
        raise OracleError(text) from exc
    records = own_records(carrier, carrier, options)
    found = by_mysqlbinlog(oracle, carrier, records, file=name, baseline=baseline, decoder="ours")
    (batch,) = found.differences.combine_chunks().to_batches() or [
        pa.RecordBatch.from_pylist([], schema=found.differences.schema)
    ]
    return asdict(found.summary) | {"version": oracle.version}, packed(batch)
