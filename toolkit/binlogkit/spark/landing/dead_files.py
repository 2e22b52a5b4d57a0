"""Files that killed landings left: they are in no Delta log, and the next landing deletes them.

Each landing holds a lock on a file of its own in ``running``, which it deletes when it ends. A file
without a lock is of a landing that was killed. Files are deleted only while no landing is under
way, and none begins meanwhile: what is not in Delta's log then is nobody's.
"""

from __future__ import annotations

import fcntl
import os
import re
import uuid
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pyarrow.parquet as pq

from binlogkit.errors import WriteError
from binlogkit.sources.carriers.carrier import reason_of
from binlogkit.spark.landing.tables import files_of, opened

_RUNNING = "running"
_GATE = "gate"
_OURS = re.compile(r"[0-9a-f]{32}\.parquet$")  # what writing.py and journal.py call their files
_NAMES = re.compile(rb"[0-9a-f]{32}\.parquet")


@contextmanager
def under_way(out: Path) -> Iterator[None]:
    """A landing in a folder; before it begins, files are deleted that killed ones left there.

    WriteError.
    """
    folder = out / _RUNNING
    own = folder / uuid.uuid4().hex
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with (folder / _GATE).open("ab") as gate:
            fcntl.flock(gate, fcntl.LOCK_EX)
            killed = _killed(folder)
            if killed:
                _sweep(out)
                for one in killed:
                    one.unlink(missing_ok=True)
            lock = own.open("xb")
            fcntl.flock(lock, fcntl.LOCK_EX)
    except OSError as exc:
        raise WriteError(str(folder), reason_of(exc)) from exc
    with lock:
        yield
        own.unlink(missing_ok=True)


def _killed(folder: Path) -> list[Path]:
    """The files of landings that were killed; none while a landing is under way."""
    found = [one for one in folder.iterdir() if one.name != _GATE]
    for one in found:
        # A landing that has ended meanwhile has deleted its file.
        with suppress(FileNotFoundError), one.open("rb") as lock:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                return []
    return found


def _sweep(out: Path) -> None:
    """Delete the Parquet files of a landing that no Delta log has, neither as added nor as
    removed."""
    tables = [*(one.parent for one in out.glob("*/_delta_log")), *out.glob("tables/*/*")]
    for table in tables:
        written = [path for path in table.rglob("*.parquet") if _OURS.match(path.name)]
        known = _known(table) if written else set()
        for path in written:
            if path.name not in known:
                path.unlink(missing_ok=True)


def _known(folder: Path) -> set[str]:
    """The names of files in the log of a Delta table, empty if there is no table."""
    table, log = opened(folder), folder / "_delta_log"
    found = set[str]() if table is None else {one.name for one in files_of(table, folder)}
    for path in log.glob("*.json"):
        found.update(name.decode() for name in _NAMES.findall(path.read_bytes()))
    for path in log.glob("*.checkpoint*.parquet"):
        for action in ("add", "remove"):
            rows = pq.read_table(path, columns=[f"{action}.path"])
            if action in rows.column_names:
                told = (one["path"] for one in rows[action].to_pylist() if one)
                found.update(os.path.basename(name) for name in told if name)  # noqa: PTH119  a URL
    return found
