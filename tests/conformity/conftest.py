"""Every log that the cross-checks walk, and what is known to be wrong with some of them.

A test that takes ``log`` runs once for each log of the golden set, of other tests' folders and of
the shared corpus; one that takes ``case`` once for each golden case.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TypeAlias

import pytest

from binlogkit.errors import ChecksumError, DamageError, MalformedEventError
from binlogkit_fixtures.golden import cases

TESTS = Path(__file__).parents[1]
CORPUS = TESTS.parents[1] / "shared" / "corpus"

# Class, offset of the event, field, reason.
Error: TypeAlias = tuple[type[DamageError], int, str, str]

# Logs that are broken, each with the exact errors that reading it must report.
BROKEN: dict[str, tuple[Error, ...]] = {
    "duplicate_xid.000001": (
        (
            ChecksumError,
            672,
            "checksum",
            "the CRC32 of the event is 0x17b54116, the log says 0x993a46f5",
        ),
    ),
    "corrupt-relay-bin.000624": (
        (MalformedEventError, 91204, "status_vars", "needs 16949 bytes, 139 are left"),
    ),
}


@dataclass(frozen=True, slots=True)
class Log:
    """A log of the walk: ``name`` is short and unique, ``errors`` what reading it reports."""

    name: str
    path: Path

    def __str__(self) -> str:
        return self.name

    @property
    def errors(self) -> list[Error]:
        """Empty for a sound log."""
        return list(BROKEN.get(self.path.name, ()))


def _others() -> list[Log]:
    """Logs that other tests keep: real servers wrote them too."""
    kept = [
        path
        for folder in ("rows", "truth", "analyses")
        for path in sorted((TESTS / folder).rglob("_data/**/*"))
        if path.is_file() and (path.suffix == ".binlog" or path.suffix[1:].isdecimal())
    ]
    return [Log("/".join(path.parts[-2:]), path) for path in kept]


@cache
def logs() -> list[Log]:
    """All of them; the corpus' only where it is."""
    golden = [Log(f"{case}/{path.name}", path) for case in cases() for path in case.binlogs]
    found = sorted(path for path in CORPUS.glob("*/*") if path.is_file())
    return [*golden, *_others(), *(Log(path.name, path) for path in found)]


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if "log" in metafunc.fixturenames:
        metafunc.parametrize("log", logs(), ids=str)
    if "case" in metafunc.fixturenames:
        metafunc.parametrize("case", cases(), ids=str)


@pytest.fixture(scope="session")
def corpus() -> Path:
    """The folder of the shared corpus; in CI it must be there."""
    if not CORPUS.is_dir():
        assert not os.environ.get("CI"), f"{CORPUS} is missing"
        pytest.skip(f"the shared corpus is not here ({CORPUS})")
    return CORPUS
