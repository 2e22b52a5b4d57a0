"""What a replay needs besides the changes. One process carries it out, or many, each some keys.

What counts, what happened to the tables and where rows begin is settled before (state.py); here is
the remaining work and its result. It is plain data, so that a task of a cluster can have it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa

from binlogkit.analyses._savepoints import Undone
from binlogkit.analyses.point_in_time.batches import counted_batches
from binlogkit.analyses.point_in_time.boundary import Boundary
from binlogkit.analyses.point_in_time.codes import Flags, Integers
from binlogkit.analyses.point_in_time.erased import Logged
from binlogkit.analyses.point_in_time.findings import StateFindings
from binlogkit.analyses.point_in_time.fold import Fold
from binlogkit.analyses.point_in_time.replay import Replay
from binlogkit.analyses.point_in_time.result import base_changes, state_table
from binlogkit.analyses.point_in_time.unlogged import Broken, Tally
from binlogkit.constants import TableId
from binlogkit.rows.schema import TableDefinition


@dataclass(frozen=True, slots=True)
class ReplayInputs:
    """What a replay needs besides the changes.

    ``names``: of the lineage, the wanted table last; ``happened``: the boundaries that count;
    ``family``: the tables from which cascades are carried out, None for none; ``numbers``: the
    transactions that count, None for all; ``outside``: the place from which changes outside any
    count; ``bases``: rows to begin with; ``columns``: the table's at the point, None for all seen
    ones; the rest as in ``replay``.
    """

    key: tuple[str, ...]
    names: tuple[TableId, ...]
    happened: Sequence[Boundary]
    given: Mapping[TableId, TableDefinition]
    family: Mapping[TableId, tuple[str, ...]] | None
    numbers: Integers | None
    undone: Sequence[Undone]
    outside: int
    unchecked: Callable[[Integers], Flags] | None
    erased: Mapping[TableId, Logged]
    bases: Mapping[TableId, pa.Table]
    columns: tuple[str, ...] | None
    keep_cascaded: bool = False
    compares: bool = False

    @property
    def followed(self) -> list[TableId]:
        """The tables whose changes are needed."""
        return list(dict.fromkeys([*self.names, *(self.family or ())]))

    def counted(self, changes: Any) -> Iterator[pa.RecordBatch]:
        """The changes that count."""
        return counted_batches(
            changes, self.followed, self.key, self.numbers, self.undone, self.outside
        )

    def begun(self) -> Replay:
        """The replay before any change."""
        run = Replay(self.key, self.names, self.happened, self.given, self.family)
        run.compares = self.compares
        run.erased, run.numbers = self.erased, self.numbers
        if self.family is not None and self.unchecked is not None:
            run.follow(self.unchecked, keep=self.keep_cascaded)
        for name in self.followed:
            if name in self.bases:
                run.begin(base_changes(self.bases[name]), name)
        return run

    def definition(self) -> TableDefinition | None:
        """The wanted table's columns at the end, once changes have met it."""
        run = self.begun()
        found = run.finish()
        return (run.table(run.wanted) if found is None else found).definition

    def outcome(self, run: Replay) -> ReplayOutcome:
        """The result of a finished replay."""
        found = run.finish()
        complete = found.complete if found is not None else run.wanted in run.absent
        met = found is not None
        found = Fold(self.key) if found is None else found
        rows = state_table(found.settled(), self.columns, found.key)
        return ReplayOutcome(
            rows, found.key, met, complete, found.rejected, found.findings, found.definition,
            tuple(run.broken), run.tallies[run.wanted],
        )  # fmt: skip


@dataclass(frozen=True, slots=True)
class ReplayOutcome:
    """The result of a replay: ``rows`` (STATE), by ``key``.

    ``met``: whether the table was found; ``complete``: whether all of its rows are known, or it is
    known not to exist; ``rejected``: JSON diffs that did not fit; ``broken``: changes that did not
    continue what was known, if images were compared, as ``tally`` counts.
    """

    rows: pa.Table
    key: tuple[str, ...]
    met: bool
    complete: bool
    rejected: int
    findings: StateFindings
    definition: TableDefinition | None
    broken: tuple[Broken, ...] = ()
    tally: Tally = field(default_factory=Tally)

    def tell(self, findings: StateFindings) -> None:
        """The findings, after those about transactions."""
        if not self.complete:
            findings.add("no_beginning")
        if self.rejected:
            findings.add("json_diff", determined=True, times=self.rejected)
        findings.update(self.findings)
