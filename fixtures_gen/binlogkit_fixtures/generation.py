"""A run of the generator in a folder of its own: what was asked, what is there, what is missing.

``run.json`` in the folder says what was asked. A fixture is there whole or not at all, so a run
that was interrupted is resumed by making those that are missing; one that asks for something else
is refused.
"""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path

from binlogkit.errors import UsageError
from binlogkit_fixtures import manifest as mf
from binlogkit_fixtures.capture import Captured, How, check_empty
from binlogkit_fixtures.expected import index
from binlogkit_fixtures.expected.proofs import Problem, Proved
from binlogkit_fixtures.matrix import Cell
from binlogkit_fixtures.records import to_json
from binlogkit_fixtures.scenarios.model import Scenario
from binlogkit_fixtures.workers import capture_matrix

__all__ = ["RUN", "Asked", "Made", "Order", "alone", "generate"]

RUN = "run.json"
FORMAT_VERSION = 1


@dataclass(frozen=True, slots=True)
class Order:
    """What is to be made: each scenario in each cell that does not name others.

    UsageError: a condition that asks for an option that no cell sets, or one name for two.
    """

    cells: tuple[Cell, ...]
    scenarios: tuple[Scenario, ...]
    how: How

    def __post_init__(self) -> None:
        for kind, things in (("cells", self.cells), ("scenarios", self.scenarios)):
            names = [thing.name for thing in things]
            twice = sorted({name for name in names if names.count(name) > 1})
            if twice:
                raise UsageError(f"two {kind} are called '{twice[0]}'")
        options = {name for cell in self.cells for name in cell.options}
        for scenario in self.scenarios:
            unknown = sorted(scenario.asked - options)
            if unknown:
                raise UsageError(
                    f"scenario {scenario.name} asks for '{unknown[0]}', which no cell sets"
                )

    @property
    def cases(self) -> list[tuple[Cell, Scenario]]:
        """What is to be made."""
        return [
            (cell, scenario)
            for cell in self.cells
            for scenario in self.scenarios
            if not cell.scenarios or scenario.name in cell.scenarios
        ]

    def asked(self) -> Asked:
        """The order as it is written down."""
        runner = self.how.runner
        if runner == "auto":
            runner = os.environ.get("BINLOGKIT_RUNNER") or runner
        return Asked(
            cells={cell.name: {"server": cell.series, **cell.options} for cell in self.cells},
            scenarios={scenario.name: _digest(scenario) for scenario in self.scenarios},
            runner=runner,
            clock=self.how.clock,
            mysqlbinlog=self.how.oracle is not None,
            plays={cell.name: cell.scenarios for cell in self.cells if cell.scenarios},
        )


def _digest(scenario: Scenario) -> str:
    """SHA-256 of what a scenario does; comments and blank lines of its file do not matter."""
    return hashlib.sha256(json.dumps(to_json(scenario)).encode("utf-8")).hexdigest()


@dataclass(frozen=True, slots=True)
class Asked:
    """What a run was asked for: cells with their options, scenarios with their SHA-256; ``plays``:
    of cells that do not play all scenarios, which."""

    cells: Mapping[str, Mapping[str, str | None]]
    scenarios: Mapping[str, str]
    runner: str
    clock: str
    mysqlbinlog: bool
    plays: Mapping[str, tuple[str, ...]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class _Run:
    """``run.json``; ``left_out``: what servers turned out not to run, and why."""

    format_version: int
    asked: Asked
    left_out: Mapping[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if self.format_version != FORMAT_VERSION:
            raise ValueError(f"format version {self.format_version} is not {FORMAT_VERSION}")


@dataclass(frozen=True, slots=True)
class Made:
    """All fixtures of the run, those of earlier starts too; by ``cell/scenario`` what was left out
    and why; and what of the expected lines is not proved."""

    folders: tuple[Path, ...]
    left_out: Mapping[str, str]
    problems: tuple[Problem, ...]


def generate(
    order: Order,
    out: Path,
    *,
    resume: bool = False,
    servers: int = 2,
    progress: Callable[[str], None] = lambda _: None,
) -> Made:
    """Make what the order asks for, in ``out``; with ``resume`` what of it is missing there.

    ``progress`` is called for each of the order's cases, ``cell/scenario``. UsageError: the folder
    is not empty; another run is in it; or, to be resumed, it was asked for something else.
    InputError: its ``run.json`` cannot be read. ServerError: as in capture; what is whole stays.
    """
    if not resume and (out / RUN).is_file():
        raise UsageError(f"a run was begun in {out}: resume it, or begin one in another folder")
    if not resume or not out.is_dir():
        check_empty(out)
    out.mkdir(parents=True, exist_ok=True)
    with alone(out):
        run = _begun(order, out, resume)
        proved = {}

        def done(captured: Captured) -> None:
            nonlocal run
            if captured.folder is None:
                left_out = {**run.left_out, captured.name: captured.left_out}
                run = replace(run, left_out=left_out)
                _write(run, out)
            proved.update({place: Proved(**n) for place, n in captured.proved.items()})
            progress(captured.name)

        jobs: dict[str, tuple[Cell, list[Scenario]]] = {}
        for cell, scenario in order.cases:
            if _there(run, out, cell, scenario):
                progress(f"{cell.name}/{scenario.name}")
            else:
                jobs.setdefault(cell.name, (cell, []))[1].append(scenario)
        capture_matrix(
            list(jobs.values()), out, replace(order.how, expected=True), servers=servers, done=done
        )
        problems = index.update(out, [], proved=proved)
    places = [out / cell.name / scenario.name for cell, scenario in order.cases]
    folders = tuple(folder for place in places for folder in index.fixtures(place))
    return Made(folders, run.left_out, tuple(problems))


def _there(run: _Run, out: Path, cell: Cell, scenario: Scenario) -> bool:
    name = f"{cell.name}/{scenario.name}"
    return name in run.left_out or bool(index.fixtures(out / cell.name / scenario.name))


@contextmanager
def alone(out: Path) -> Iterator[None]:
    """UsageError: another process has a run in this folder."""
    descriptor = os.open(out, os.O_RDONLY)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        yield
    except BlockingIOError as exc:
        raise UsageError(f"another run is at work in {out}") from exc
    finally:
        os.close(descriptor)


def _begun(order: Order, out: Path, resume: bool) -> _Run:
    """The run that the folder has, or a new one, written down."""
    asked = order.asked()
    if resume and any(out.iterdir()):
        run = mf.read_record(_Run, out / RUN, "the file of a run")
        other = [key for key in Asked.__slots__ if getattr(run.asked, key) != getattr(asked, key)]
        if other:
            raise UsageError(
                f"the run in {out} was begun with other {' and '.join(other)}: "
                "resume it with those, or begin one in another folder"
            )
        return run
    run = _Run(FORMAT_VERSION, asked)
    _write(run, out)
    return run


def _write(run: _Run, out: Path) -> None:
    text = json.dumps(to_json(run), indent=1, ensure_ascii=False) + "\n"
    index.replace_file(out / RUN, text.encode("utf-8"))
