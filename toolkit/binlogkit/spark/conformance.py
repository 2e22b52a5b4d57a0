"""Conformance with mysqlbinlog on Spark: each log is a task's, which runs mysqlbinlog where it is.

The driver reads no log; it gets each log's differences and counts.
"""

from __future__ import annotations

from base64 import b64decode, b64encode
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, replace
from functools import partial
from operator import itemgetter
from pathlib import Path
from socket import gethostname
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from binlogkit.analyses._tasks import packed, unpacked
from binlogkit.errors import InputError, OracleError, together
from binlogkit.log.opening import open_log
from binlogkit.sources.carriers import Carrier, resolve
from binlogkit.sources.carriers.storage import StorageOptions
from binlogkit.sources.carriers.storage import storage_options as given_options
from binlogkit.spark.indexing import task_texts

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from binlogkit.analyses.conformance import ConformanceResult
    from binlogkit.rows.options import ReadOptions
    from binlogkit.sources.keyring import KeyFiles


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
    from binlogkit.spark.task_source import run_tasks

    texts = zip(task_texts(carriers), carriers, strict=True)
    tasks = [(i, text, carrier.name) for i, (text, carrier) in enumerate(texts)]
    alone = replace(options, threads=1)  # Spark gives a task one core
    work = partial(_judge, carriers[0].keys, storage, alone, baseline, program)
    results, unread = list[ConformanceResult](), list[InputError]()
    versions = dict[str, None]()
    for one in sorted(run_tasks(spark, work, tasks), key=itemgetter("log")):
        if "unread" in one:
            unread.append(InputError(*one["unread"]))
            continue
        facts = one["facts"]
        versions[one["version"] or ""] = None
        summary = ConformanceSummary(**facts | {"verdict": Verdict(facts["verdict"])})
        differences = pa.Table.from_batches([unpacked(b64decode(one["differences"]))])
        results.append(ConformanceResult(differences, summary))
    return results, unread, [*filter(None, versions)]


def _judge(
    keys: KeyFiles,
    storage: StorageOptions,
    options: ReadOptions,
    baseline: Sequence[Mapping[str, Any]],
    program: str | None,
    task: tuple[int, str, str],
) -> dict[str, Any]:
    """A task's work: its log's number, summary and differences, with the judge's version; a store's
    options are in no text."""
    from binlogkit.log.conforming import by_mysqlbinlog, own_records
    from binlogkit.sources.mysqlbinlog import find

    number, place, name = task
    try:
        (carrier,) = resolve([place], keys, storage)
        try:
            oracle = find(program)
        except OracleError as exc:
            text = f"worker {gethostname()}: each worker needs mysqlbinlog on its PATH: {exc}"
            raise OracleError(text) from exc
        records = own_records(carrier, carrier, options)
        found = by_mysqlbinlog(
            oracle, carrier, records, file=name, baseline=baseline, decoder="ours"
        )
    except InputError as error:
        return {"log": number, "unread": list(error.args)}
    (batch,) = found.differences.combine_chunks().to_batches() or [
        pa.RecordBatch.from_pylist([], schema=found.differences.schema)
    ]
    return {
        "log": number, "facts": asdict(found.summary), "version": oracle.version,
        "differences": b64encode(packed(batch)).decode(),
    }  # fmt: skip
