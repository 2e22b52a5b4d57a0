"""Run scenarios on the servers of cells, and bring home their binlogs with their manifests."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path

from binlogkit.errors import UsageError
from binlogkit_fixtures import manifest as mf
from binlogkit_fixtures.clock import StoryClock, start_server
from binlogkit_fixtures.matrix import Cell
from binlogkit_fixtures.oracle import Oracle
from binlogkit_fixtures.run import Run
from binlogkit_fixtures.scenarios import load
from binlogkit_fixtures.scenarios.model import Scenario, parse_version
from binlogkit_fixtures.servers import Server
from binlogkit_fixtures.servers.keyring import KEYRING, encrypts

__all__ = ["Job", "capture_cell", "capture_matrix", "capture_scenario"]

Progress = Callable[[str], None]
Job = tuple[Cell, Sequence[str]]  # a cell and the scenarios to run there


def _silent(_: str) -> None:
    """No progress is wanted."""


def capture_matrix(
    jobs: Sequence[Job],
    out: Path,
    *,
    runner: str = "auto",
    clock: str = "auto",
    oracle: Oracle | None = None,
    compress: bool = False,
    servers: int = 2,
    progress: Progress = _silent,
) -> list[Path]:
    """Run each cell's scenarios, ``servers`` cells at a time; the rest as :func:`capture_cell`.

    After the first error no further cell is begun, and it is raised when those that run are done.
    UsageError: a folder that is to be written is there already and not empty.
    """
    for cell, scenarios in jobs:
        for name in scenarios:
            _check_empty(out / cell.name / name)
    failed = threading.Event()

    def one(job: Job) -> list[Path]:
        cell, scenarios = job
        if failed.is_set():
            return []
        try:
            return capture_cell(
                cell,
                scenarios,
                out,
                runner=runner,
                clock=clock,
                oracle=oracle,
                compress=compress,
                progress=progress,
            )
        except BaseException:
            failed.set()
            raise

    with ThreadPoolExecutor(max_workers=servers) as pool:
        try:
            return [folder for folders in pool.map(one, jobs) for folder in folders]
        except BaseException:  # Ctrl-C too: what has not begun is not to begin
            failed.set()
            raise


def _check_empty(folder: Path) -> None:
    if folder.exists() and any(folder.iterdir()):
        raise UsageError(f"{folder} is not empty")


def capture_cell(
    cell: Cell,
    scenarios: Sequence[str],
    out: Path,
    *,
    runner: str = "auto",
    clock: str = "auto",
    oracle: Oracle | None = None,
    compress: bool = False,
    progress: Progress = _silent,
) -> list[Path]:
    """Run scenarios one after another into ``out/<cell>/<scenario>/``.

    They share a server; one that ends with its server's end has its own.

    ``runner``, ``clock``: as :func:`~binlogkit_fixtures.clock.start_server` takes them;
    ``oracle``: mysqlbinlog for its text, or None; ``compress``: manifests as xz; ``progress``
    is told ``cell/scenario`` when it is done. Scenarios that the server cannot run are left
    out. Returns the folders. ServerError: the server, or a statement that went otherwise than the
    story says.
    """
    lasting = [name for name in scenarios if load(name).ending == "rotate"]
    ending = [[name] for name in scenarios if name not in lasting]
    folders = []
    for together in [lasting, *ending]:
        if together:
            server, story_clock = start_server(cell.spec(), runner, clock)
            with server:
                for name in together:
                    folder = out / cell.name / name
                    scenario = load(name)
                    if scenario.when.holds(cell.facts(parse_version(server.version))):
                        captured = capture_scenario(
                            server, cell, scenario, folder, oracle, story_clock
                        )
                        mf.write(captured, folder, compress=compress)
                        folders.append(folder)
                    progress(f"{cell.name}/{name}")
    return folders


def capture_scenario(
    server: Server,
    cell: Cell,
    scenario: Scenario,
    folder: Path,
    oracle: Oracle | None = None,
    clock: StoryClock | None = None,
) -> mf.Manifest:
    """Run one scenario on a running server and copy its logs to ``folder`` (which must be empty).

    The log is reset before; the story's ending closes it, or not. The manifest is not yet written.
    """
    _check_empty(folder)
    folder.mkdir(parents=True, exist_ok=True)
    with ExitStack() as stack:
        run = Run(server, scenario, cell.facts(parse_version(server.version)), stack, clock)
        run.prepare()
        run.steps()
        logs = run.close_log()
        events = run.show_events(logs)
        settings = run.settings()
        run.finish()
    binlogs = tuple(_fetch(server, name, folder) for name in logs)
    if encrypts(server.spec):  # mysqlbinlog does not read such files
        server.copy_binlog(KEYRING, folder)
        oracle = None
    return mf.Manifest(
        format_version=mf.FORMAT_VERSION,
        scenario=scenario.name,
        story=scenario.story,
        cell=cell.name,
        server_version=server.version,
        runner=server.runner,
        clock="story" if clock else "real",
        ending=scenario.ending,
        settings=settings,
        binlogs=binlogs,
        mysqlbinlog=oracle.version if oracle else None,
        texts=tuple(oracle.write_text(folder, name) for name in logs) if oracle else (),
        not_run=tuple(sorted(set(range(len(scenario.steps))) - run.numbers)),
        errors=tuple(run.errors),
        warnings=tuple(run.warnings),
        marks=tuple(run.marks),
        events=events,
    )


def _fetch(server: Server, name: str, folder: Path) -> mf.BinlogFile:
    data = server.copy_binlog(name, folder).read_bytes()
    return mf.BinlogFile(name, len(data), mf.sha256(data))
