"""The command line in this process, logs to run it on, and logs that are hostile or damaged."""

from __future__ import annotations

import json
import shutil
import sys
import zlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

import binlogkit as bk
from binlogkit.cli import run as run_command_line

DATA = Path(__file__).parents[1] / "_data"
MAGIC = 4
CHECKSUM = 4


@dataclass(frozen=True)
class Ran:
    """What a command did."""

    status: int
    out: bytes
    err: str

    @property
    def lines(self) -> list[str]:
        """Standard output's lines."""
        return self.out.decode("utf-8").split("\n")[:-1]

    @property
    def records(self) -> list[dict[str, Any]]:
        """Standard output as JSON lines."""
        return [json.loads(line) for line in self.lines]

    @property
    def complaint(self) -> str:
        """The one line on standard error."""
        assert self.err.endswith("\n")
        (line,) = self.err.split("\n")[:-1]
        return line


@pytest.fixture
def run(capsysbinary: pytest.CaptureFixture[bytes]) -> Callable[..., Ran]:
    """Run ``binlogkit`` with these arguments."""

    def runner(*arguments: object) -> Ran:
        capsysbinary.readouterr()
        status = run_command_line([str(argument) for argument in arguments])
        captured = capsysbinary.readouterr()
        return Ran(status, captured.out, captured.err.decode("utf-8"))

    return runner


@pytest.fixture(scope="session")
def program() -> str:
    """The installed command."""
    found = shutil.which("binlogkit", path=Path(sys.executable).parent)
    assert found, "the package is not installed"
    return found


@pytest.fixture(scope="session")
def golden_log() -> Callable[[str], Path]:
    """The path of ``cell/scenario`` or ``cell/scenario/log``."""

    def find(name: str) -> Path:
        path = DATA / name
        return path if path.is_file() else path / "binlog.000001"

    return find


@pytest.fixture(scope="session")
def log(golden_log: Callable[[str], Path]) -> Path:
    """A log of 8.0 with inserts, updates and deletes of tables with every kind of key."""
    return golden_log("8.0-row-full/keys")


@pytest.fixture(scope="session")
def small(golden_log: Callable[[str], Path], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The beginning of a log of 8.0, up to the first transaction that deletes rows."""
    data = golden_log("8.0-row-full/statements").read_bytes()
    found = frames(data)
    deletes = next(n for n, frame in enumerate(found) if frame.type == "DELETE_ROWS_EVENT")
    end = next(frame.end for frame in found[deletes:] if frame.type == "XID_EVENT")
    path = tmp_path_factory.mktemp("small") / "binlog.000001"
    path.write_bytes(data[:end])
    return path


@dataclass(frozen=True)
class Frame:
    """An event's place in a log's bytes."""

    pos: int
    end: int
    type: str


def frames(data: bytes) -> list[Frame]:
    """The events of a log, payloads whole."""
    return [
        Frame(event["pos"], event["end_pos"], event["type"])
        for event in bk.open(data).event_records()
        if event["inner"] is None
    ]


@pytest.fixture(scope="session")
def frames_of() -> Callable[[bytes], list[Frame]]:
    """The function that tells where the events of a log stand."""
    return frames


@pytest.fixture(scope="session")
def resealed() -> Callable[[bytes, bytes], bytes]:
    """Make the checksums of a changed log right again; its events stand where the original's do.

    So a server that lets its users choose names and values would have written it.
    """

    def reseal(original: bytes, changed: bytes) -> bytes:
        assert len(original) == len(changed)
        pieces = [changed[:MAGIC]]
        for frame in frames(original):
            event = changed[frame.pos : frame.end - CHECKSUM]
            pieces += [event, zlib.crc32(event).to_bytes(CHECKSUM, "little")]
        return b"".join(pieces)

    return reseal


@pytest.fixture(scope="session")
def picked() -> Callable[[bytes, Sequence[int]], bytes]:
    """The log of these events alone, by number."""

    def pick(data: bytes, numbers: Sequence[int]) -> bytes:
        found = frames(data)
        return data[:MAGIC] + b"".join(data[found[n].pos : found[n].end] for n in numbers)

    return pick
