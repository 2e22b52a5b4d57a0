"""Run scenarios on the servers of cells, and bring home their binlogs with their manifests."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path

import pymysql

from binlogkit.errors import ServerError, UsageError, printable
from binlogkit_fixtures import manifest as mf
from binlogkit_fixtures.clock import StoryClock, start_server
from binlogkit_fixtures.host import Host
from binlogkit_fixtures.matrix import Cell
from binlogkit_fixtures.oracle import Oracle
from binlogkit_fixtures.run import Run
from binlogkit_fixtures.scenarios.model import Scenario, parse_version
from binlogkit_fixtures.servers import Server
from binlogkit_fixtures.servers.keyring import KEYRING, encrypts

__all__ = ["PARTIAL", "Captured", "How", "Job", "capture_cell", "capture_scenario", "check_empty"]

PARTIAL = ".partial"  # the folder, in that of the run, for what is not whole yet
Job = tuple[Cell, Sequence[Scenario]]  # a cell and the scenarios to run there
Running = tuple[Server, StoryClock | None]  # a server, and its clock if it keeps the story's time


@dataclass(frozen=True, slots=True)
class How:
    """How servers run, and what is kept.

    ``runner``, ``clock``: as :func:`~binlogkit_fixtures.clock.start_server` takes them;
    ``oracle``: mysqlbinlog for its text, or None; ``compress``: manifests as xz; ``expected``:
    write the expected events and rows as well, and prove them.
    """

    runner: str = "auto"
    clock: str = "auto"
    oracle: Oracle | None = None
    compress: bool = False
    expected: bool = False


@dataclass(frozen=True, slots=True)
class Captured:
    """What became of one scenario in one cell.

    ``folder``: its fixture's, or of several servers' the one that they are in, or None where the
    server cannot run it, and ``left_out`` says why; ``proved``: by fixture, counts of what the
    expected lines were proved by; ``problems``: a file of the folder, and what of it is not proved.
    """

    cell: str
    scenario: str
    folder: Path | None = None
    left_out: str = ""
    proved: Mapping[Path, dict[str, int]] = field(default_factory=dict)
    problems: tuple[tuple[str, str], ...] = ()

    @property
    def name(self) -> str:
        """``cell/scenario``."""
        return f"{self.cell}/{self.scenario}"


def check_empty(folder: Path) -> None:
    """UsageError: the folder is there, and not empty."""
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise UsageError(f"{folder} is not empty")


def capture_cell(
    cell: Cell,
    scenarios: Sequence[Scenario],
    out: Path,
    how: How,
    done: Callable[[Captured], None] = lambda _: None,
) -> list[Captured]:
    """Run scenarios one after another into ``out/<cell>/<scenario>/``, each there once it is whole.

    They share a server; one that ends with its server's end, or has several servers, has its own.
    ``done`` is called for each.
    Scenarios that the server cannot run are left out. ServerError: the server, or a statement that
    went otherwise than the story says. UsageError: a folder is there and not empty.
    """
    for scenario in scenarios:
        check_empty(out / cell.name / scenario.name)
    lasting = [s for s in scenarios if s.ending == "rotate" and not s.servers]
    alone = [[s] for s in scenarios if s.ending != "rotate" or s.servers]
    found = []
    partial = out / PARTIAL / cell.name
    try:
        for together in filter(None, [lasting, *alone]):
            with ExitStack() as stack:
                servers: dict[str, Running] = {}
                for name, member in cell.members(together[0]).items():
                    servers[name] = start_server(member.spec(), how.runner, how.clock)
                    stack.enter_context(servers[name][0])
                for scenario in together:
                    found.append(_captured(servers, cell, scenario, out, how))
                    done(found[-1])
    finally:
        shutil.rmtree(partial, ignore_errors=True)
    return found


def _captured(
    servers: Mapping[str, Running], cell: Cell, scenario: Scenario, out: Path, how: How
) -> Captured:
    """One scenario, made beside its place and then moved there."""
    version = next(iter(servers.values()))[0].version
    if not scenario.when.holds(cell.facts(parse_version(version))):
        reason = f"it requires {scenario.when}, and the server is {version}"
        return Captured(cell.name, scenario.name, left_out=reason)
    work, final = out / PARTIAL / cell.name / scenario.name, out / cell.name / scenario.name
    shutil.rmtree(work, ignore_errors=True)  # of a run that was killed
    proved: dict[Path, dict[str, int]] = {}
    problems: list[tuple[str, str]] = []
    for folder, manifest in capture_scenario(servers, cell, scenario, work, how.oracle).items():
        mf.write(manifest, folder, compress=how.compress)
        if how.expected:
            from binlogkit_fixtures.expected import index  # loads Arrow, which the rest need not

            counts, wrong = index.add_lines(folder, compress=how.compress)
            place = folder.relative_to(work)
            problems += [((place / problem.file).as_posix(), problem.what) for problem in wrong]
            if not wrong:
                proved[final / place] = counts.counts()
    final.parent.mkdir(parents=True, exist_ok=True)
    work.rename(final)
    return Captured(cell.name, scenario.name, final, "", proved, tuple(problems))


def capture_scenario(
    servers: Mapping[str, Running],
    cell: Cell,
    scenario: Scenario,
    folder: Path,
    oracle: Oracle | None = None,
) -> dict[Path, mf.Manifest]:
    """Run one scenario on its running servers and copy its logs to ``folder`` (which must be
    empty), or a folder in it for each server whose logs are kept.

    ``servers``: by their names in the story (``Cell.members``). The logs are reset before; the
    story's ending closes them, or not. The manifests, by their folders, are not yet written.
    """
    check_empty(folder)
    members = cell.members(scenario)
    try:
        with ExitStack() as stack:
            hosts = {
                name: Host(server, members[name].facts(parse_version(server.version)), stack, clock)
                for name, (server, clock) in servers.items()
            }
            run = Run(scenario, hosts)
            run.prepare()
            run.steps()
            logs = run.close_logs()
            shown = {
                kept: (hosts[kept.server].show_events(kept, names), hosts[kept.server].settings())
                for kept, names in logs.items()
            }
            run.finish()
    except pymysql.Error as exc:
        raise ServerError(f"scenario {scenario.name}: {printable(str(exc))}") from exc
    left_out = tuple(sorted(set(range(len(scenario.steps))) - run.numbers))
    found = {}
    for kept, (events, settings) in shown.items():
        server, clock = servers[kept.server]
        place = folder / kept.folder
        place.mkdir(parents=True, exist_ok=True)
        binlogs = tuple(_fetch(server, name, place) for name in logs[kept])
        read_by = oracle
        if encrypts(server.spec):  # mysqlbinlog does not read such files
            server.copy_binlog(KEYRING, place)
            read_by = None
        found[place] = mf.Manifest(
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
            mysqlbinlog=read_by.version if read_by else None,
            texts=tuple(read_by.write_text(place, n) for n in logs[kept]) if read_by else (),
            not_run=left_out,
            errors=tuple(run.errors[kept.server]),
            warnings=tuple(run.warnings[kept.server]),
            marks=tuple(run.marks[kept]),
            events=events,
            server=kept.server,
            relay=kept.relay,
        )
    return found


def _fetch(server: Server, name: str, folder: Path) -> mf.BinlogFile:
    data = server.copy_binlog(name, folder).read_bytes()
    return mf.BinlogFile(name, len(data), mf.sha256(data))
