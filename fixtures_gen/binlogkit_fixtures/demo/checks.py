"""One scenario's logs, held against everything that can contradict them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field
from functools import partial
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import binlogkit as bk
from binlogkit_fixtures.demo.logs import Case
from binlogkit_fixtures.demo.pipeline import CELLS, arrival, marks_of
from binlogkit_fixtures.demo.truth import check_tables
from binlogkit_fixtures.oracle import Oracle

__all__ = ["Checked", "check_all"]

_WORKERS = 2


@dataclass(frozen=True, slots=True)
class Checked:
    """What was compared, and what differs.

    ``counts``: events, rows, cells; ``equal`` and ``not determined`` tables; ``landed`` changes, in
    the cells whose logs land. ``failures``: by the check, a sentence each.
    """

    case: Case
    counts: Counter[str] = field(default_factory=Counter)
    failures: dict[str, list[str]] = field(default_factory=dict)

    def expect(self, check: str, holds: bool, failure: str) -> None:
        """Remember a failure of a check."""
        if not holds:
            name = f"{self.case.cell}/{self.case.scenario}"
            self.failures.setdefault(check, []).append(f"{name}: {failure}")


def check_all(cases: Sequence[Case], oracle: Oracle | None, lake: Path) -> Iterator[Checked]:
    """Every case, in order, checked by two processes."""
    with ProcessPoolExecutor(_WORKERS, mp_context=get_context("spawn")) as pool:
        yield from pool.map(partial(_checked, oracle=oracle, lake=lake), cases)


def _checked(case: Case, oracle: Oracle | None, lake: Path) -> Checked:
    done = Checked(case)
    for path in case.logs:
        summary = compare(case, path, oracle)
        done.counts.update(events=summary.events, rows=summary.rows, cells=summary.cells)
        wrong = f"{path.name}: {summary.verdict} {dict(summary.rules)}"
        done.expect("mysqlbinlog", summary.exit_status == 0, wrong)
    for mark in marks_of(case):
        for check in check_tables(case, mark, mark.tables):
            done.counts[check.verdict] += 1
            wrong = f"{check.table} at {check.mark} differs"
            done.expect("SELECT", check.verdict != "different", wrong)
    if case.cell in CELLS:
        arrived = arrival(None, case, lake)
        done.counts["landed"] += arrived.counts["changes"]
        for failure in arrived.failures:
            done.expect("landed", holds=False, failure=failure)
    return done


def compare(case: Case, path: Path, oracle: Oracle | None) -> Any:
    """The summary of one log's comparison with mysqlbinlog, or with its recorded text."""
    from binlogkit.analyses.conformance import against_mysqlbinlog
    from binlogkit.log.stored_events import StoredEvents
    from binlogkit_fixtures.golden import case as golden_case

    log = bk.open(path)
    if oracle is None:
        text = golden_case(case.cell, case.scenario).mysqlbinlog_texts[path.name]
        lines: Any = text.splitlines(keepends=True)
    else:
        from binlogkit.sources.mysqlbinlog import Mysqlbinlog, read

        lines = read(path, using=Mysqlbinlog(tuple(oracle.argv), oracle.version))
    (carrier,) = log.carriers
    result = against_mysqlbinlog(
        log.event_records(), log.row_records(), log.table_schemas(), lines,
        stored=StoredEvents(carrier),
    )  # fmt: skip
    return result.summary
