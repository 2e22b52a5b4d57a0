"""Logs landed as tables, and the analyses of what landed held against the logs' own."""

from __future__ import annotations

import shutil
import warnings
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc

import binlogkit as bk
from binlogkit.errors import UnmetWarning
from binlogkit.rows.filters import parse_table_name, written_table_name
from binlogkit_fixtures.demo.logs import Case, Logs
from binlogkit_fixtures.demo.truth import check_tables, compared
from binlogkit_fixtures.manifest import MarkPoint

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from binlogkit.spark.landing import Landing

#: The cells whose logs land: they hold rows. Servers of several cells share GTIDs, so that each log
#: lands in a folder of its own.
CELLS = ("5.7-row-full", "8.0-row-full", "8.0-row-minimal")
#: The scenario whose tables are asked for at every mark; others at the last.
DRILL = "incident"


@dataclass(frozen=True, slots=True)
class Arrival:
    """What came of one scenario's logs. ``counts``: logs, tables, changes, states that are equal to
    the server's SELECT or not determined; ``failures``: where an answer is another than the logs'
    own."""

    case: Case
    counts: Counter[str]
    failures: list[str]


def arrivals(spark: SparkSession, logs: Logs, out: Path, drill: bool) -> Iterator[Arrival]:
    """Scenarios of these cells landed by Spark below ``out``: all, or the incident alone."""
    for case in logs.cases:
        if case.cell in CELLS and (not drill or case.scenario == DRILL):
            yield arrival(spark, case, out)


def arrival(spark: SparkSession | None, case: Case, out: Path) -> Arrival:
    """Land one scenario's logs below ``out``, and ask the tables what the logs are asked.

    ``spark``: None lands them in this process.
    """
    from binlogkit.spark.landing import Landing, land

    folder = out.absolute() / case.cell / case.scenario
    shutil.rmtree(folder, ignore_errors=True)
    land(spark, [str(path.absolute()) for path in case.logs], folder)
    return _arrival(case, Landing(folder))


def marks_of(case: Case) -> Sequence[MarkPoint]:
    """Where a scenario's tables are compared: the incident's at every mark, others' at the end."""
    marks = case.manifest.marks
    return marks if case.scenario == DRILL else marks[-1:]


def _arrival(case: Case, landing: Landing) -> Arrival:
    log = bk.open([str(path.absolute()) for path in case.logs])
    tables = landing.tables()
    counts = Counter(logs=len(case.logs), tables=len(tables))
    failures = []
    transactions = landing.transactions()
    if not transactions.equals(log.transactions(engine="pyarrow")):
        failures.append("transactions differ")
    if tables != sorted(log.table_names()):
        failures.append(f"tables are {', '.join(tables)}")
    committed = pc.equal(transactions["outcome"], "committed")
    counted = transactions["tx"].filter(committed).combine_chunks()
    for table in tables:
        name = parse_table_name(table)
        own = name.db or "", name.table
        mine = [*landing.passing([own], whole=True)]
        with warnings.catch_warnings():  # of tables that statements logged as text changed, too
            warnings.simplefilter("ignore", UnmetWarning)
            read = [one.batch for one in log.batches(table=table)]
        theirs = [batch.filter(pc.is_in(batch["tx"], counted)) for batch in read]
        counts["changes"] += sum(batch.num_rows for batch in mine)
        if _rows(mine) != _rows(theirs):
            failures.append(f"{table}: its rows differ")
        if _audited(mine) != _audited(theirs):
            failures.append(f"{table}: its audit differs")
    for mark in marks_of(case):
        for check in check_tables(case, mark, mark.tables):
            written = written_table_name(*check.table.split(".", 1))
            verdict = compared(check.table, mark, landing.state(written, at=(mark.file, mark.pos)))
            counts[verdict.verdict] += 1
            if verdict != check:
                failures.append(f"{check.table} at {mark.name}: {verdict}, of the logs {check}")
    return Arrival(case, counts, failures)


def _rows(batches: Sequence[pa.RecordBatch]) -> list[str]:
    """What changed, as text, in log order."""
    names = ("file", "pos", "inner", "row", "op", "before", "after")
    found = [[row[name] for name in names] for batch in batches for row in batch.to_pylist()]
    return [str(row) for row in sorted(found, key=lambda row: (*row[:2], row[2] or 0, row[3]))]


def _audited(batches: Sequence[pa.RecordBatch]) -> list[dict[str, Any]]:
    """The audit of a table's changes, whatever their columns."""
    images = ("before", "after", "before_state", "after_state", "raw")
    narrow = [pa.Table.from_batches([batch]).drop_columns(images) for batch in batches]
    if not narrow:
        return []
    found: pa.Table = bk.audit.by_table(pa.concat_tables(narrow, promote_options="default"))
    records: list[dict[str, Any]] = found.to_pylist()
    return records
