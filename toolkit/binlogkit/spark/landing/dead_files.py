"""Files that killed landings left: they are in no Delta log, and the next landing deletes them.

Each landing holds a lock on a file of its own in ``running``, which it deletes when it ends. A file
without a lock is of a landing that was killed. The names of a landing's Parquet files begin with
that of its lock, and those of killed ones are deleted: a store may have files of landings on other
machines. They are deleted only while no landing is under way here, and none begins meanwhile.

A landing's file has its terms, before it writes anything else. Landings that are under way at the
same time have the same ones: else one of them could keep statements, with values that the other
one masks.
"""

from __future__ import annotations

import fcntl
import os
import re
import uuid
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from itertools import chain
from pathlib import Path

import pyarrow.parquet as pq

from binlogkit.errors import InputError, UsageError, WriteError
from binlogkit.sources.carriers.carrier import reason_of
from binlogkit.spark.landing.landing_path import LandingPath
from binlogkit.spark.landing.tables import files_of, opened

_RUNNING = "running"
_GATE = "gate"
_OURS = re.compile(r"([0-9a-f]{32})-[0-9a-f]{32}\.parquet$")  # parquet_name in writing.py
_NAMES = re.compile(rb"[0-9a-f]{32}-[0-9a-f]{32}\.parquet")
_PATTERNS = (
    "landings", "landed", "terms", "waiting", "given", "expired", "erasures", "tables/*/*",
    "current/*/*",
)  # fmt: skip


@contextmanager
def under_way(out: LandingPath, *, alone: bool = False, terms: str = "") -> Iterator[str]:
    """A landing in a folder, or other work on its tables, and its mark; before it begins, files are
    deleted that killed ones left there.

    ``alone``: others that begin meanwhile wait; ``terms``: of a landing. WriteError; InputError:
    one is under way that must not be; UsageError: one is, with other terms.
    """
    folder = out.local / _RUNNING
    own = folder / uuid.uuid4().hex
    with ExitStack() as held:
        try:
            folder.mkdir(parents=True, exist_ok=True)
            gate = held.enter_context((folder / _GATE).open("ab"))
            fcntl.flock(gate, fcntl.LOCK_EX)
            killed, running = _found(folder)
            if running and alone:
                raise InputError(str(out), "a landing is under way: wait until it has ended")
            if terms and any(other not in ("", terms) for other in running):
                text = "is under way with other tables, masks or mask key: wait until it has ended"
                raise UsageError(f"a landing in {out} {text}")
            if killed and not running:
                _sweep(out, {one.name for one in killed})
                for one in killed:
                    one.unlink(missing_ok=True)
            lock = held.enter_context(own.open("xb", buffering=0))
            fcntl.flock(lock, fcntl.LOCK_EX)
            lock.write(terms.encode())
            if not alone:
                gate.close()
        except OSError as exc:
            raise WriteError(str(folder), reason_of(exc)) from exc
        yield own.name
        own.unlink(missing_ok=True)


def _found(folder: Path) -> tuple[list[Path], list[str]]:
    """The files of landings that were killed, and the terms of those that are under way."""
    killed, running = list[Path](), list[str]()
    for one in [one for one in folder.iterdir() if one.name != _GATE]:
        # A landing that has ended meanwhile has deleted its file.
        with suppress(FileNotFoundError), one.open("rb") as lock:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                killed.append(one)
            except BlockingIOError:
                running.append(lock.read().decode())
    return killed, running


def _sweep(out: LandingPath, killed: set[str]) -> None:
    """Delete the Parquet files of killed landings that no Delta log has, neither as added nor as
    removed."""
    for name in chain.from_iterable(map(out.below, _PATTERNS)):
        table, written = out / name, list[LandingPath]()
        for path in table.files():
            ours = _OURS.match(path.name)
            if ours and ours[1] in killed:
                written.append(path)
        known = _known(table) if written else set()
        for path in written:
            if path.name not in known:
                path.delete()


def _known(folder: LandingPath) -> set[str]:
    """The names of files in the log of a Delta table, empty if there is no table."""
    table = opened(folder)
    found = set[str]() if table is None else {one.name for one in files_of(table, folder)}
    for path in (folder / "_delta_log").files():
        if path.name.endswith(".json"):
            found.update(name.decode() for name in _NAMES.findall(path.data()))
        elif ".checkpoint" in path.name and path.name.endswith(".parquet"):
            for action in ("add", "remove"):
                rows = pq.read_table(path.source(), columns=[f"{action}.path"])
                if action in rows.column_names:
                    paths = (one["path"] for one in rows[action].to_pylist() if one)
                    found.update(os.path.basename(name) for name in paths if name)  # noqa: PTH119  a URL
    return found
