"""Every answer takes an undamaged log's bytes once; states twice, for the ledger and the rows; an
audit once more if there are suspects."""

from __future__ import annotations

import io
from collections.abc import Callable
from pathlib import Path
from typing import BinaryIO, cast

import pytest

import binlogkit as bk
from binlogkit.cli import run
from binlogkit.sources.carriers import Carrier

DATA = Path(__file__).parents[1] / "_data"
#: Each large enough that two readings are more than one, 5 % and 64 KiB.
LOGS = {
    "8.0-row-full-metadata/types": "types.wide",
    "8.0-row-full/json": "docs.doc",
    "5.7-row-full/incident": "shop.orders",
}
FRAMES: dict[str, Callable[[bk.Log, str], object]] = {
    "events": lambda log, _: log.events(engine="pyarrow"),
    "rows": lambda log, _: log.rows(engine="pyarrow"),
    "rows of a table": lambda log, table: log.rows(table),
    "rows where": lambda log, table: log.rows(where="op = 'insert'"),
    "changes": lambda log, table: log.changes(table),
    "batches": lambda log, _: list(log.batches()),
    "transactions": lambda log, _: log.transactions(),
    "transactions where": lambda log, _: log.transactions(where="op = 'insert'"),
    "statements": lambda log, _: log.statements(),
    "boundaries": lambda log, _: log.boundaries(),
    "tables": lambda log, _: log.tables(),
    "state": lambda log, table: log.state(table),
    "states": lambda log, table: list(log.states([table])),
    "states of all tables": lambda log, _: list(log.states()),
    "diff": lambda log, table: list(log.diff(table, 4).records()),
    "life": lambda log, table: list(log.life(table, 1).records()),
    "undo": lambda log, table: list(log.undo(table=table)),
    "redo": lambda log, table: list(log.redo(table=table)),
    "audit": lambda log, _: log.audit(),
    "verify": lambda log, _: log.verify(),
    "verify rows": lambda log, _: log.verify(rows=True),
    "verify images": lambda log, _: log.verify(images=True),
}
COMMANDS = {
    "events": ("events",), "rows": ("rows",), "rows where": ("rows", "--where", "op = 'insert'"),
    "transactions": ("transactions",), "audit": ("audit",), "verify": ("verify",),
    "verify images": ("verify", "--images"),
    "state": ("state", "--table", "{}"), "undo": ("undo", "--table", "{}"),
    "redo": ("redo", "--table", "{}"), "state of all tables": ("state",),
    "diff": ("diff", "--table", "{}", "--from", "4"),
    "life": ("life", "--table", "{}", "--key", "1"),
}  # fmt: skip

TWICE = ("audit", "state", "states", "states of all tables", "state of all tables", "diff", "life")


class Counted(io.RawIOBase):
    """A file whose bytes are counted as they are taken."""

    taken = 0

    def __init__(self, file: BinaryIO) -> None:
        self._file = file

    def read(self, size: int = -1) -> bytes:
        data = self._file.read(size)
        Counted.taken += len(data)
        return data

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        return self._file.seek(offset, whence)

    def tell(self) -> int:
        return self._file.tell()

    def close(self) -> None:
        self._file.close()
        super().close()


@pytest.fixture
def counted(monkeypatch: pytest.MonkeyPatch) -> None:
    opened = Carrier._opened

    def counting(carrier: Carrier) -> BinaryIO:
        return cast(BinaryIO, Counted(opened(carrier)))

    monkeypatch.setattr(Carrier, "_opened", counting)
    Counted.taken = 0


def allowed(log: Path, name: str) -> float:
    """How many bytes may be taken."""
    size = log.stat().st_size
    most = 1.05 * size + (64 << 10)
    assert 2 * size > most
    return most + size if name in TWICE else most


@pytest.mark.sampled(28)
@pytest.mark.usefixtures("counted")
@pytest.mark.parametrize("story", LOGS)
@pytest.mark.parametrize("name", FRAMES)
def test_frames(name: str, story: str) -> None:
    path = DATA / story / "binlog.000001"
    log = bk.open(path)
    assert FRAMES[name](log, LOGS[story]) is not None
    assert path.stat().st_size <= Counted.taken <= allowed(path, name)


@pytest.mark.sampled(8)
@pytest.mark.usefixtures("counted")
@pytest.mark.parametrize("story", LOGS)
@pytest.mark.parametrize("name", COMMANDS)
def test_commands(name: str, story: str, tmp_path: Path) -> None:
    path = DATA / story / "binlog.000001"
    words = [word.format(LOGS[story]) for word in COMMANDS[name]]
    assert run([*words, "--output", str(tmp_path / "out"), str(path)]) in (0, 1)
    assert (tmp_path / "out").stat().st_size
    assert path.stat().st_size <= Counted.taken <= allowed(path, name)
