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

from binlogkit.errors import UsageError
from binlogkit_fixtures import manifest as mf
from binlogkit_fixtures.capture import capture_matrix
from binlogkit_fixtures.matrix import CELLS, Cell
from binlogkit_fixtures.oracle import find_oracle

__all__ = ["MAX_FILE", "MAX_SET", "GoldenCase", "case", "cases", "folder", "regenerate"]

APART = "_encrypted"  # the folder beside the golden set
MAX_FILE = 150_000  # bytes: what one golden file may have
MAX_SET = 6_000_000  # bytes: what all of them may have together


@dataclass(frozen=True, slots=True)
class GoldenCase:
    """One scenario in one cell.

    ``path``: its folder; ``binlogs``: the logs in order; ``server`` is the series.
    """

    cell: str
    scenario: str
    path: Path
    binlogs: tuple[Path, ...]

    def __str__(self) -> str:
        return f"{self.cell}/{self.scenario}"

    @property
    def settings(self) -> Cell:
        """The cell of the matrix."""
        return CELLS[self.cell]

    @property
    def manifest(self) -> mf.Manifest:
        """The manifest, read when it is first asked for."""
        return _manifest(self.path)

    @property
    def mysqlbinlog_texts(self) -> dict[str, str]:
        """mysqlbinlog's text of each log by its name; bytes that are no UTF-8 as ``\\xNN``."""
        return {
            text.binlog: mf.read_packed(self.path / text.name).decode("utf-8", "backslashreplace")
            for text in self.manifest.texts
        }

    @property
    def mysqlbinlog_text(self) -> str:
        """mysqlbinlog's text of all the logs, one after another."""
        return "".join(self.mysqlbinlog_texts.values())


@cache
def _manifest(path: Path) -> mf.Manifest:
    return mf.read(path)


def folder() -> Path:
    """The folder of the golden set. UsageError: it is not there."""
    path = Path(__file__).resolve().parent / "_golden"
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
    """The golden cases that match, in the order of the matrix.

    ``version``: 5.7 or 8.0; ``format``: ROW, STATEMENT or MIXED; ``image``: full, minimal or
    noblob. Without arguments: all of them.
    """
    found = []
    for wanted in CELLS.values():
        if (
            version in (None, wanted.series)
            and (format is None or format.upper() == wanted.format)
            and image in (None, wanted.image)
            and cell in (None, wanted.name)
        ):
            found += [c for c in _cases_of(wanted) if scenario in (None, c.scenario)]
    return found


def _cases_of(cell: Cell) -> list[GoldenCase]:
    found = []
    for name in cell.golden:
        path = folder() / cell.name / name
        if mf.find(path) is not None:
            logs = tuple(sorted(p for p in path.iterdir() if p.suffix[1:].isdecimal()))
            found.append(GoldenCase(cell.name, name, path, logs))
    return found


def case(cell: str, scenario: str) -> GoldenCase:
    """One golden case. UsageError: the set has none such."""
    found = cases(cell=cell, scenario=scenario)
    if not found:
        raise UsageError(f"the golden set has no {cell}/{scenario}")
    return found[0]


def regenerate(
    cells: Sequence[Cell],
    *,
    servers: int = 2,
    progress: Callable[[str], None] = lambda _: None,
) -> list[Path]:
    """Make the golden cases of these cells again, ``servers`` cells at a time; their folders.

    They come from the local runner, with the story's clock; those of cells with ``apart`` go to
    ``tests/_encrypted``.

    The old ones are replaced when all of the new are there. UsageError: the golden set is not part
    of a source tree. ServerError, OracleError: as capture and mysqlbinlog have it.
    """
    target = folder()
    if target.name != "_data":
        raise UsageError("the golden set of an installed package is not to be changed")
    with tempfile.TemporaryDirectory() as work:
        capture_matrix(
            [(cell, (*cell.golden, *cell.apart)) for cell in cells],
            Path(work),
            runner="local",
            clock="story",
            oracle=find_oracle(),
            compress=True,
            servers=servers,
            progress=progress,
        )
        for cell in cells:
            final = _home(target, cell)
            shutil.rmtree(final, ignore_errors=True)
            shutil.copytree(Path(work) / cell.name, final, copy_function=_copy_readable)
    return [_home(target, cell) for cell in cells]


def _home(target: Path, cell: Cell) -> Path:
    return (target.parent / APART if cell.apart else target) / cell.name


def _copy_readable(source: str, target: str) -> None:
    """Copy a file's bytes: golden logs hold nothing secret, so they need not be 0600."""
    shutil.copyfile(source, target)
