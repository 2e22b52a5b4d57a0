"""The files of an index: batches of parts, and the list of valid batches.

``index.json`` names the valid batches and the logs in each; a batch is a Parquet file in the folder
of each table (log/index/stored.py). Whatever is wrong with the folder itself (another version, a
missing or unreadable file), the index then counts as empty.
"""

from __future__ import annotations

import fcntl
import hashlib
import json
import time
import uuid
from collections.abc import Callable, Iterator, Sequence, Set
from contextlib import contextmanager
from functools import partial
from itertools import accumulate, starmap, takewhile
from pathlib import Path
from typing import TypeAlias

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from binlogkit.errors import UsageError, WriteError
from binlogkit.frames.fields.field import arrow_schema
from binlogkit.frames.fields.ledger import INDEX
from binlogkit.log.index.filter_files import read_filters, write_filters
from binlogkit.log.index.stamps import Stamp, stamp
from binlogkit.rows.filters import TableName
from binlogkit.sources.carriers.carrier import reason_of
from binlogkit.sources.landed import is_landing

#: Of the tables' columns; an index of another version is rebuilt.
VERSION = 8
_NAMES = "index.json"
_LOCK = "index.lock"
_PARTIAL = ".partial"
_FORGOTTEN, _NOW = 24 * 3600, -1  # seconds
# Bytes of files, which take some twenty-five times that in memory, and how many are left apart.
_SMALL_BATCH, _MOST_SMALL = 2 << 20, 16

#: Of a batch in memory; its files can be fifty times smaller.
BATCH_BYTES = 64 << 20
#: Names of valid batches to their parts, and for each part the stamps of its logs.
Batches: TypeAlias = dict[str, dict[str, list[Stamp]]]


class BatchFolder:
    """The batches in a ``folder``, which need not exist yet. UsageError: it is a landing, whose own
    index is in a folder of it; rows are erased there only.

    ``known``: the valid ones; ``whole``: whether it is an index of this version with all its files.
    """

    def __init__(self, folder: Path) -> None:
        if is_landing(folder):
            text = "is a landing, which has its own index: give another folder"
            raise UsageError(f"{folder} {text}")
        self.folder = folder
        self.known: Batches = {}
        self.whole, self._mark = False, ""
        self.load()

    @property
    def stamps(self) -> dict[str, list[Stamp]]:
        """The stamps of each known part's logs."""
        return {part: stamps for parts in self.known.values() for part, stamps in parts.items()}

    def load(self) -> None:
        """Load the current list of valid batches."""
        self.known, self.whole, self._mark = {}, False, mark_of(self.folder)
        try:
            stored = json.loads((self.folder / _NAMES).read_text("utf-8"))
            if stored["version"] != VERSION:
                return
            batches = {
                batch: {part: list(starmap(stamp, stamps)) for part, stamps in parts.items()}
                for batch, parts in stored["batches"].items()
            }
        except (OSError, ValueError, KeyError, TypeError, AttributeError):
            return
        names = (path for batch in batches for path in self._files(batch))
        if all(path.is_file() for path in names):
            self.known, self.whole = batches, True

    def _files(self, batch: str) -> list[Path]:
        return [self.path(name, batch) for name in INDEX]

    def path(self, name: str, batch: str) -> Path:
        """The file of a batch in one of the tables."""
        return self.folder / name / f"{batch}.parquet"

    def batch_table(
        self,
        batch: str,
        name: str,
        named: Sequence[TableName] = (),
        columns: Sequence[str] | None = None,
    ) -> pa.Table:
        """A batch's rows in one of the tables; ``named``: filters of these tables only;
        ``columns``: only these. OSError, ArrowException: the file is missing or damaged."""
        path = self.path(name, batch)
        if name == "filters":
            table = read_filters(path, named, columns)
        else:
            with pq.ParquetFile(path, memory_map=True) as file:
                table = file.read(columns, use_threads=False)
        schema = arrow_schema(f for f in INDEX[name] if f.name in table.column_names)
        return table.select(schema.names).cast(schema)

    def write_batch(self, table_of: Callable[[str], pa.Table]) -> str:
        """Write a batch that is not valid yet, table by table; returns its name. WriteError."""
        batch = uuid.uuid4().hex
        try:
            for path, name in zip(self._files(batch), INDEX, strict=True):
                path.parent.mkdir(parents=True, exist_ok=True)
                table = table_of(name)
                if name == "filters":
                    write_filters(table, f"{path}{_PARTIAL}")
                else:
                    pq.write_table(table, f"{path}{_PARTIAL}", compression="zstd")
        except OSError as exc:
            raise WriteError(str(self.folder), reason_of(exc)) from exc
        return batch

    def commit(self, entries: Batches, places: Set[str]) -> None:
        """Make batches valid; what was known before of the same logs is replaced.

        One process at a time does so, and merges what others did before it. WriteError.
        """
        with self._alone():
            self._replace(entries, places)
            self._save()
            self._sweep()

    def rewrite(self, changed: Callable[[str, pa.Table], pa.Table]) -> None:
        """Write each table of each batch anew, and delete what was there. WriteError."""
        with self._alone():
            for batch, parts in list(self.known.items()):
                made = self.write_batch(self._as_one([batch], changed))
                self._name(made)
                del self.known[batch]
                self.known[made] = parts
            self._save()
            self._sweep(_NOW)

    def clear(self) -> None:
        """Forget all that is known, and delete its files. WriteError."""
        with self._alone():
            self.known = {}
            self._save()
            self._sweep(_NOW)

    @contextmanager
    def _alone(self) -> Iterator[None]:
        """What is known now, while no other process changes it. WriteError."""
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            with (self.folder / _LOCK).open("w") as lock:
                fcntl.flock(lock, fcntl.LOCK_EX)
                if not self.whole or mark_of(self.folder) != self._mark:
                    self.load()
                self._mark = ""  # what is known changes now
                yield
        except OSError as exc:
            raise WriteError(str(self.folder), reason_of(exc)) from exc

    def _replace(self, entries: Batches, places: Set[str]) -> None:
        before = dict(self.known)
        for batch, parts in before.items():
            alive = {
                part: stamps
                for part, stamps in parts.items()
                if places.isdisjoint(stamp.place for stamp in stamps)
            }
            if len(alive) < len(parts):
                del self.known[batch]
                if alive:
                    kept = partial(_of_parts, pa.array(alive))
                    made = self.write_batch(self._as_one([batch], kept))
                    self.known[made] = alive
        self.known |= entries
        for batch in self.known.keys() - before.keys():
            self._name(batch)
        sizes = sorted((self._size(batch), batch) for batch in self.known)
        small = [one for one in sizes if one[0] < _SMALL_BATCH]
        if len(small) > _MOST_SMALL:
            # Those that have more than all before them stay: a part is written anew a few times.
            sums = accumulate(size for size, _ in small)
            fits = [size <= least for (size, _), least in zip(small[1:], sums, strict=False)]
            while fits and not fits.pop():
                small.pop()
            self._unite([batch for _, batch in small])

    def _unite(self, small: Sequence[str]) -> None:
        """Make one batch of the first of these, as many as memory is meant for."""
        sizes = (
            sum(self.batch_table(batch, name).nbytes for name in INDEX) for batch in small
        )  # one table at a time is in memory
        fits = [*takewhile(lambda size: size <= BATCH_BYTES, accumulate(sizes))]
        whole = small[: len(fits)]
        if len(whole) > 1:
            united = self.write_batch(self._as_one(whole))
            parts = {part: s for batch in whole for part, s in self.known.pop(batch).items()}
            self.known[united] = parts
            self._name(united)

    def _as_one(
        self, batches: Sequence[str], changed: Callable[[str, pa.Table], pa.Table] | None = None
    ) -> Callable[[str], pa.Table]:
        """What reads a table of some batches as one."""

        def table_of(name: str) -> pa.Table:
            tables = [self.batch_table(batch, name) for batch in batches]
            return pa.concat_tables(t if changed is None else changed(name, t) for t in tables)

        return table_of

    def _name(self, batch: str) -> None:
        """Rename a batch's files to their final names."""
        for path in self._files(batch):
            Path(f"{path}{_PARTIAL}").replace(path)

    def _size(self, batch: str) -> int:
        return sum(path.stat().st_size for path in self._files(batch))

    def _sweep(self, forgotten: int = _FORGOTTEN) -> None:
        """Delete invalid batches, and unfinished ones that were left so many seconds ago."""
        for name in INDEX:
            for path in (self.folder / name).glob("*.*"):
                old = time.time() - path.stat().st_mtime > forgotten
                if old if path.suffix == _PARTIAL else path.stem not in self.known:
                    path.unlink(missing_ok=True)

    def _save(self) -> None:
        batches = {
            batch: {
                part: [(s.place, s.size, s.ends) for s in stamps] for part, stamps in of.items()
            }
            for batch, of in self.known.items()
        }
        text = json.dumps({"version": VERSION, "batches": batches})
        write_whole(self.folder / _NAMES, text)


def mark_of(folder: Path) -> str:
    """A hash of all that an index holds; each change gives another one."""
    try:
        return hashlib.sha256((folder / _NAMES).read_bytes()).hexdigest()
    except OSError:
        return ""


def write_whole(path: Path, text: str) -> None:
    """Write a file in place of an earlier one, so that readers see one of both. OSError."""
    made = path.with_name(f"{path.name}.{uuid.uuid4().hex}")
    made.write_text(text, "utf-8")
    made.replace(path)


def _of_parts(parts: pa.Array, _: str, table: pa.Table) -> pa.Table:
    return those(table, parts)


def those(table: pa.Table, parts: pa.Array) -> pa.Table:
    """The rows of some parts."""
    return table.filter(pc.is_in(table.column("part"), parts))
