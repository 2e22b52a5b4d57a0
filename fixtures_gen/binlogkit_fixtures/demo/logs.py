"""The logs that the demo works on: freshly made by real servers, else the golden ones."""

from __future__ import annotations

import os
import shutil
from collections.abc import Container, Sequence
from dataclasses import dataclass
from pathlib import Path

from binlogkit.errors import BinlogKitError, OracleError
from binlogkit_fixtures import golden, matrices
from binlogkit_fixtures import manifest as mf
from binlogkit_fixtures.capture import How
from binlogkit_fixtures.oracle import Oracle, find_oracle
from binlogkit_fixtures.progress import progress_bar
from binlogkit_fixtures.scenarios import load
from binlogkit_fixtures.servers import choose_runner
from binlogkit_fixtures.workers import capture_matrix

__all__ = ["SCENARIOS", "Case", "Logs", "find_judge", "make_logs"]

SCENARIOS = ("incident", "transactions", "ddl", "keys")


@dataclass(frozen=True, slots=True)
class Case:
    """One scenario in one cell: its logs and the truth recorded beside them."""

    cell: str
    scenario: str
    folder: Path
    logs: tuple[Path, ...]

    @property
    def manifest(self) -> mf.Manifest:
        """What the server said while the scenario ran."""
        return mf.read(self.folder)


@dataclass(frozen=True, slots=True)
class Logs:
    """``cases``: in the matrix's order; ``runner``: docker, local, or None for the golden logs;
    ``reason``: why no server could be had."""

    cases: tuple[Case, ...]
    runner: str | None
    reason: str = ""

    def case(self, cell: str, scenario: str) -> Case:
        """One of them."""
        return next(c for c in self.cases if (c.cell, c.scenario) == (cell, scenario))


def find_judge() -> tuple[Oracle | None, str]:
    """mysqlbinlog, or None and why there is none."""
    try:
        return find_oracle(), ""
    except OracleError as error:
        return None, str(error)


def make_logs(out: Path, oracle: Oracle | None, runner: str, only: Sequence[str] = ()) -> Logs:
    """Play the scenarios on both servers in all eighteen cells, or in those of ``only``, into
    ``out``; what was there before is deleted.

    The golden logs are taken instead only where no server is available at all: a runner that the
    user names must work.
    """
    cells = [cell for cell in matrices.select() if not only or cell.name in only]
    asked = runner != "auto" or bool(os.environ.get("BINLOGKIT_RUNNER"))
    try:
        chosen = choose_runner(cells[0].spec(), runner)
        for cell in cells:
            shutil.rmtree(out / cell.name, ignore_errors=True)
        with progress_bar(len(cells) * len(SCENARIOS)) as progress:
            made = capture_matrix(
                [(cell, [load(name) for name in SCENARIOS]) for cell in cells],
                out,
                How(chosen, oracle=oracle),
                done=lambda captured: progress(captured.name),
            )
    except BinlogKitError as error:
        if asked:
            raise
        return Logs(tuple(_golden({cell.name for cell in cells})), None, str(error))
    return Logs(tuple(_case(one.folder) for one in made if one.folder), chosen)


def _case(folder: Path) -> Case:
    logs = tuple(sorted(p for p in folder.iterdir() if p.suffix[1:].isdecimal()))
    return Case(folder.parent.name, folder.name, folder, logs)


def _golden(cells: Container[str]) -> Sequence[Case]:
    """The golden cases of these cells that the demo plays."""
    return [
        Case(case.cell, case.scenario, case.path, case.binlogs)
        for case in golden.cases()
        if case.scenario in SCENARIOS and case.cell in cells
    ]
