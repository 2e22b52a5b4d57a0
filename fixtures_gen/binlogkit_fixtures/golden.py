"""The golden logs: binlogs of real servers, kept with their manifests, ready to be read.

::

    from binlogkit_fixtures import golden

    for case in golden.cases(version="8.0", format="ROW", scenario="keys"):
        case.binlogs, case.manifest.mark("updated").tables["keyed.pk"].records()

They lie in ``tests/_data/<cell>/<scenario>/`` of the source tree and inside the package when it is
installed. ``binlogkit fixtures regenerate-golden`` makes them again.
"""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from binlogkit.errors import InputError, UsageError
from binlogkit_fixtures import manifest as mf
from binlogkit_fixtures import matrices
from binlogkit_fixtures.capture import How
from binlogkit_fixtures.expected import files
from binlogkit_fixtures.matrix import Cell
from binlogkit_fixtures.oracle import find_oracle
from binlogkit_fixtures.scenarios import load
from binlogkit_fixtures.scenarios.model import Kept
from binlogkit_fixtures.servers.keyring import KEYRING, encrypts
from binlogkit_fixtures.workers import capture_matrix

__all__ = [
    "MAX_FILE",
    "MAX_SET",
    "GoldenCase",
    "case",
    "cases",
    "cases_in",
    "encrypted",
    "expect",
    "folder",
    "regenerate",
]

APART = "_encrypted"  # of the folder beside the golden set
MAX_FILE = 150_000  # bytes: what one golden file may have
MAX_SET = 25_000_000  # bytes: what all of them may have together


@dataclass(frozen=True, slots=True)
class GoldenCase:
    """One scenario in one cell; where it has several servers, the logs of one of them.

    ``path``: its folder; ``binlogs``: the logs in order; ``server``: of several servers, its name
    in the story, with ``-relay`` where these are its relay logs.
    """

    cell: str
    scenario: str
    path: Path
    binlogs: tuple[Path, ...]
    server: str = ""

    def __str__(self) -> str:
        return "/".join(filter(None, [self.cell, self.scenario, self.server]))

    @property
    def settings(self) -> Cell:
        """The cell of its matrix; UsageError: a case of one's own, whose manifest says all."""
        return matrices.cell(self.cell)

    @property
    def manifest(self) -> mf.Manifest:
        """The manifest, read when it is first asked for."""
        return _manifest(self.path)

    @property
    def mysqlbinlog_texts(self) -> dict[str, str]:
        """mysqlbinlog's text of each log by its name; bytes that are no UTF-8 as ``\\xNN``."""
        return {
            text.binlog: mf.read_packed(mf.find_text(self.path, text.name)).decode(
                "utf-8", "backslashreplace"
            )
            for text in self.manifest.texts
        }

    @property
    def keyring(self) -> Path | None:
        """The server's keyring where its logs are encrypted."""
        path = self.path / KEYRING
        return path if path.is_file() else None

    @property
    def events(self) -> list[dict[str, Any]]:
        """The expected events of all the logs (``events.jsonl``)."""
        return self._lines(files.EVENTS)

    @property
    def rows(self) -> list[dict[str, Any]]:
        """The expected row changes of all the logs (``rows.jsonl``)."""
        return self._lines(files.ROWS)

    def _lines(self, name: str) -> list[dict[str, Any]]:
        """The records of expected lines. InputError: the case has none, or they cannot be read."""
        path = files.find(self.path, name)
        if path is None:
            raise InputError(str(self.path / name), "no expected lines here")
        try:
            return list(files.read(path))
        except ValueError as exc:
            raise InputError(str(path), f"a line is no JSON: {exc}") from exc

    @property
    def mysqlbinlog_text(self) -> str:
        """mysqlbinlog's text of all the logs, one after another."""
        return "".join(self.mysqlbinlog_texts.values())


@cache
def _manifest(path: Path) -> mf.Manifest:
    return mf.read(path)


def folder() -> Path:
    """The folder of the golden set. UsageError: it is not there."""
    return _installed("_golden")


def _installed(name: str) -> Path:
    path = Path(__file__).resolve().parent / name
    if not path.is_dir():
        raise UsageError("the golden logs are not installed with this package")
    return path.resolve()


def cases(
    *,
    version: str | None = None,
    format: str | None = None,
    image: str | None = None,
    scenario: str | None = None,
    cell: str | None = None,
) -> list[GoldenCase]:
    """The golden cases that match, in the order of the matrices.

    ``version``: 5.6, 5.7, 8.0 or 9; ``format``: ROW, STATEMENT or MIXED; ``image``: full, minimal
    or noblob. Without arguments: all of them.
    """
    found = []
    for wanted in matrices.cells().values():
        if (
            not _apart(wanted)
            and version in (None, wanted.series)
            and (format is None or format.upper() == wanted.format)
            and image in (None, wanted.image)
            and cell in (None, wanted.name)
        ):
            found += [c for c in _cases_of(wanted) if scenario in (None, c.scenario)]
    return found


def encrypted() -> list[GoldenCase]:
    """The cases of servers that encrypt their logs, each with its ``keyring``.

    They stand apart from the set (``tests/_encrypted``), because a reader must be given the
    keyring.
    """
    return [
        found for cell in matrices.cells().values() if _apart(cell) for found in _cases_of(cell)
    ]


def cases_in(place: Path) -> list[GoldenCase]:
    """The cases of a folder of one's own, by their paths: all folders in it with a manifest.

    UsageError: it is no folder. InputError: a manifest cannot be read.
    """
    if not place.is_dir():
        raise UsageError(f"{place} is no folder of golden logs")
    found = {path.parent for name in mf.NAMES for path in place.resolve().rglob(name)}
    return [_case_in(path) for path in sorted(found)]


def _case_in(path: Path) -> GoldenCase:
    manifest = _manifest(path)
    logs = tuple(path / f.name for f in manifest.binlogs)
    return GoldenCase(
        manifest.cell, manifest.scenario, path, logs, Kept(manifest.server, manifest.relay).folder
    )


def _cases_of(cell: Cell) -> list[GoldenCase]:
    found = []
    home = _home(cell)
    for name in cell.scenarios:
        for kept in load(name).keeps:
            path = home / name / kept.folder
            if mf.find(path) is not None:
                logs = tuple(sorted(p for p in path.iterdir() if p.suffix[1:].isdecimal()))
                found.append(GoldenCase(cell.name, name, path, logs, kept.folder))
    return found


def _there(cell: Cell, name: str) -> bool:
    return any(case.scenario == name for case in _cases_of(cell))


def case(cell: str, scenario: str, server: str = "") -> GoldenCase:
    """One golden case. UsageError: the set has none such."""
    for found in cases(cell=cell, scenario=scenario):
        if found.server == server:
            return found
    wanted = "/".join(filter(None, [cell, scenario, server]))
    raise UsageError(f"the golden set has no {wanted}")


def sample() -> Path:
    """The sample log of the documents. UsageError: the golden set is not installed."""
    (path,) = case("8.0-row-full", "incident").binlogs
    return path


def regenerate(
    cells: Sequence[Cell],
    *,
    missing: bool = False,
    servers: int = 2,
    progress: Callable[[str], None] = lambda _: None,
) -> list[Path]:
    """Make the golden cases of these cells again, ``servers`` cells at a time; their folders.

    ``missing``: only those that are not there. They come from the local runner, with the story's
    clock; those of encrypting servers go to ``tests/_encrypted``, because reading them needs their
    keyring. The old ones are replaced when all of the new are there. UsageError: the golden set is
    not part of a source tree. ServerError, OracleError: as capture and mysqlbinlog have it.
    """
    target = folder()
    if target.name != "_data":
        raise UsageError("the golden set of an installed package is not to be changed")
    wanted = [
        (cell, name)
        for cell in cells
        for name in cell.scenarios
        if not missing or not _there(cell, name)
    ]
    jobs = [(c, [load(name) for cell, name in wanted if cell is c]) for c in cells]
    with tempfile.TemporaryDirectory() as work:
        capture_matrix(
            [job for job in jobs if job[1]],
            Path(work),
            How("local", "story", find_oracle(), compress=True),
            servers=servers,
            done=lambda captured: progress(captured.name),
        )
        for cell, name in wanted:
            final = _home(cell) / name
            shutil.rmtree(final, ignore_errors=True)
            shutil.copytree(Path(work) / cell.name / name, final, copy_function=_copy_readable)
    expect([c for cell, name in wanted for c in _cases_of(cell) if c.scenario == name])
    return [_home(cell) / name for cell, name in wanted]


def expect(
    chosen: Sequence[GoldenCase], *, progress: Callable[[str], None] = lambda _: None
) -> Path:
    """Write the expected lines of golden cases again, prove them, and write the set's index.

    Returns the index's path. InputError: a case's lines are not proved; the index then stays as it
    was. UsageError: the set is not part of a source tree.
    """
    from binlogkit_fixtures.expected import index  # loads Arrow, which a project's tests need not

    target = folder()
    if target.name != "_data":
        raise UsageError("the golden set of an installed package is not to be changed")
    for case in chosen:
        if case.keyring is not None:  # no part of the set's index
            for problem in index.add_lines(case.path, compress=True)[1]:
                raise InputError(str(case.path / problem.file), problem.what)
    paths = [c.path for c in chosen if c.keyring is None]
    for problem in index.update(target, paths, compress=True, progress=progress):
        raise InputError(str(target / problem.file), problem.what)
    return target / index.INDEX


def _apart(cell: Cell) -> bool:
    return cell.name in _encrypting()


@cache
def _encrypting() -> frozenset[str]:
    """The names of the cells whose servers encrypt their logs."""
    return frozenset(name for name, cell in matrices.cells().items() if encrypts(cell.spec()))


def _home(cell: Cell) -> Path:
    return _installed(f"_golden{APART}" if _apart(cell) else "_golden") / cell.name


def _copy_readable(source: str, target: str) -> None:
    """Copy a file's bytes: golden logs hold nothing secret, so they need not be 0600."""
    shutil.copyfile(source, target)
