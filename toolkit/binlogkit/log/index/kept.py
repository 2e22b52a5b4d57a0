"""An index: what each log tells, kept in a folder, so that logs that have not changed are not read.

``index.json`` names the batches that count and the logs in each; a batch is a Parquet file in the
folder of each table (log/index/stored.py). A log is known by its place, its size and a hash of both
its ends; where any of that differs, it is read again. Whatever is wrong with the folder itself
(another version, a file that is gone or cannot be read) means that nothing is known.
"""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
import time
import uuid
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import astuple, dataclass, field
from pathlib import Path, PurePath
from typing import BinaryIO, TypeAlias

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from binlogkit.errors import BinlogKitError, InputError, WriteError
from binlogkit.frames.fields.field import arrow_schema
from binlogkit.frames.fields.ledger import INDEX
from binlogkit.log.index.part import Part, parts_of
from binlogkit.log.index.stored import (
    TOLD,
    Tables,
    can_be_kept,
    to_parts,
    to_tables,
    without_queries,
)
from binlogkit.rows.options import ReadOptions
from binlogkit.sources.carriers import Carrier
from binlogkit.sources.carriers.carrier import reason_of
from binlogkit.sources.carriers.urls import is_url, natural_key

#: Of the tables' columns; an index of another version is made anew.
VERSION = 2
_NAMES = "index.json"
_LOOKED_AT = 4096  # bytes at both ends of a log
_FLAGS = 4 + 17  # where the first event's flags stand in a log
_IN_USE = 0x01
_LOCK = "index.lock"
_PARTIAL = ".partial"
_ATTEMPTS = 100
_FORGOTTEN = 24 * 3600  # seconds
_BATCH_BYTES = 256 << 20  # of a batch in memory
_SMALL_BATCH, _MOST_SMALL = 16 << 20, 16  # bytes, and how many are left apart


@dataclass(frozen=True, slots=True)
class Stamp:
    """What tells whether a log has changed: where it lies, its size, None where that is not known,
    and a hash of both its ends, or what a store's listing says of it."""

    place: str
    size: int | None
    ends: str


#: By their names their parts, and of each the stamps of its logs.
Batches: TypeAlias = dict[str, dict[str, list[Stamp]]]


@dataclass(frozen=True, slots=True)
class Updated:
    """What an update of an index did: how many logs it ``knew``, and ``read``; ``left``: those that
    it cannot keep, by name and why; ``damaged``: those with damage, by name, and the first of it.
    """

    knew: int
    read: int
    left: dict[str, str] = field(default_factory=dict)
    damaged: dict[str, str] = field(default_factory=dict)


def stamp_of(carrier: Carrier) -> Stamp:
    """The stamp of a log as it lies there, of a store's object what its listing says; InputError
    where it cannot be opened."""
    place = place_of(carrier)
    if carrier.state is not None:
        return Stamp(place, carrier.size, carrier.state)
    try:
        with carrier.opener() as file:
            head = bytearray(_some(file))
            if len(head) > _FLAGS:
                head[_FLAGS] &= ~_IN_USE
            size, tail = carrier.size, b""
            if file.seekable():
                size = file.seek(0, os.SEEK_END)
                file.seek(max(size - _LOOKED_AT, len(head)))
                tail = _some(file)
    except (OSError, ValueError, ImportError) as exc:
        raise InputError(carrier.name, f"cannot be opened: {reason_of(exc)}") from exc
    return Stamp(place, size, hashlib.sha256(bytes(head) + tail).hexdigest())


def _some(file: BinaryIO) -> bytes:
    """The next bytes of a file, which may give fewer at a time."""
    found = b""
    while len(found) < _LOOKED_AT and (more := file.read(_LOOKED_AT - len(found))):
        found += more
    return found


def place_of(carrier: Carrier) -> str:
    """Where a log lies, whatever folder it is named from; of a URL no secret."""
    place = carrier.location or carrier.name
    return carrier.name if is_url(place) else os.path.abspath(place)  # noqa: PTH100  links are kept


class Index:
    """An index in a ``folder``, which need not be there yet.

    ``queries``: whether what it is given to keep has the first statement of each transaction, which
    may hold values.
    """

    def __init__(self, folder: str | Path, *, queries: bool = True) -> None:
        self.folder = Path(folder)
        self._queries = queries
        self._batches: Batches = {}
        self._load()

    # ---- what is known ------------------------------------------------------------------------

    def _load(self) -> None:
        self._batches = {}
        try:
            told = json.loads((self.folder / _NAMES).read_text("utf-8"))
            if told["version"] != VERSION:
                return
            batches = {
                batch: {part: [Stamp(*stamp) for stamp in stamps] for part, stamps in parts.items()}
                for batch, parts in told["batches"].items()
            }
        except (OSError, ValueError, KeyError, TypeError, AttributeError):
            return
        names = (path for batch in batches for path in self._files(batch))
        if all(path.is_file() for path in names):
            self._batches = batches

    def _files(self, batch: str) -> list[Path]:
        return [self.folder / name / f"{batch}.parquet" for name in INDEX]

    def _known(self) -> dict[tuple[Stamp, ...], str]:
        """The parts by the stamps of their logs."""
        pairs = (pair for parts in self._batches.values() for pair in parts.items())
        return {tuple(stamps): part for part, stamps in pairs}

    def unknown(self, carriers: Sequence[Carrier]) -> list[int]:
        """Which of the logs it does not know as they lie there."""
        known = _known_ones(list(map(stamp_or_none, carriers)), self._known())
        return [i for first, end, part in known if not part for i in range(first, end)]

    def parts(
        self,
        carriers: Sequence[Carrier],
        options: ReadOptions | None = None,
        ledger: Sequence[str] = (),
    ) -> Iterator[Part]:
        """The parts of logs in their order, read where they are not known as they lie there.

        ``ledger``: the tables of it that those which are known have.
        """
        known = _known_ones(list(map(stamp_or_none, carriers)), self._known())
        names = [carrier.name for carrier in carriers]
        stored = self._read({part: names[first:end] for first, end, part in known}, ledger)
        for first, end, key in known:
            part = stored.get(key)
            if part is not None:
                yield part
            else:
                yield from parts_of(carriers[first:end], options, counting=bool(ledger))

    def besides(self, carriers: Sequence[Carrier], ledger: Sequence[str] = ()) -> list[Part]:
        """The parts of logs that are known and lie in other places, in their natural order; of such
        that are gone, too. One that lies beside a log is named as that is."""
        places = set(map(place_of, carriers))
        folders = {_folder(place_of(one)): _folder(one.name) for one in carriers}
        others: dict[str, list[str]] = {}
        for parts in self._batches.values():
            for part, stamps in parts.items():
                where = [stamp.place for stamp in stamps]
                if places.isdisjoint(where):
                    others[part] = [
                        folders.get(_folder(place), _folder(place)) + place[len(_folder(place)) :]
                        for place in where
                    ]
        stored = self._read(others, ledger)
        return [
            stored[part]
            for part in sorted(stored, key=lambda p: natural_key(PurePath(others[p][0])))
        ]

    def _read(self, files: Mapping[str, Sequence[str]], ledger: Sequence[str]) -> dict[str, Part]:
        """Parts, whose logs are called otherwise now."""
        found: dict[str, Part] = {}
        for batch, parts in self._batches.items():
            wanted = [part for part in parts if part in files]
            if not wanted:
                continue
            try:
                tables = {name: self._table(batch, name) for name in (*TOLD, *ledger)}
                chosen = pa.array(wanted)
                own = {name: _those(table, chosen) for name, table in tables.items()}
                found |= to_parts(own, files)
            except (OSError, pa.ArrowException, BinlogKitError, KeyError, ValueError):
                continue  # its logs are read again
        return found

    def _table(self, batch: str, name: str) -> pa.Table:
        table = pq.read_table(self.folder / name / f"{batch}.parquet", memory_map=True)
        return table.cast(arrow_schema(INDEX[name]))

    def table(self, name: str) -> pa.Table:
        """All there is in one of the tables."""
        for _ in range(_ATTEMPTS):
            try:
                found = [self._table(batch, name) for batch in self._batches]
            except OSError:  # another update put others in their place meanwhile
                self._load()
                continue
            return pa.concat_tables(found) if found else arrow_schema(INDEX[name]).empty_table()
        raise InputError(str(self.folder), "is updated all the time")

    # ---- what becomes known -------------------------------------------------------------------

    def update(self, carriers: Sequence[Carrier], options: ReadOptions | None = None) -> Updated:
        """Read the logs that are not known as they lie there, and keep what they tell.

        Logs that are known under the same name as something else are forgotten. WriteError.
        """
        stamps = list(map(stamp_or_none, carriers))
        known = _known_ones(stamps, self._known())
        entries: Batches = {}
        left: dict[str, str] = {}
        read: set[str] = set()
        for first, end, key in known:
            if key:
                continue
            names = [carrier.name for carrier in carriers[first:end]]
            found = parts_of(carriers[first:end], options, counting=True)
            written, told = self.write(found, dict(zip(names, stamps[first:end], strict=True)))
            entries |= written
            left |= told
            read.update(place_of(carrier) for carrier in carriers[first:end])
        if read:
            self.commit(entries, read)
        return self.updated(carriers, len(read), left)

    def updated(self, carriers: Sequence[Carrier], read: int, left: dict[str, str]) -> Updated:
        """What an update did that looked at these logs, and ``read`` so many of them."""
        damaged: dict[str, str] = {}
        for part in self.parts(carriers) if self.table("damages").num_rows else ():
            for error in part.damages[:1]:
                damaged[error.file] = f"{error.offset}: {error.reason}"
        return Updated(len(carriers) - read, read - len(left), left, damaged)

    def write(
        self, parts: Iterable[Part], stamps: Mapping[str, Stamp | None]
    ) -> tuple[Batches, dict[str, str]]:
        """Write parts as batches, which do not count before they are committed.

        The batches, and the logs that cannot be kept, with the reason.
        """
        now, kept = time.time_ns() // 1000, list[Tables]()
        batches: Batches = {}
        left: dict[str, str] = {}
        found: dict[str, list[Stamp]] = {}
        for part in parts:
            known = [stamp for name in part.names if (stamp := stamps[name]) is not None]
            if not can_be_kept(part) or len(known) != len(part.names):
                left |= dict.fromkeys(part.names, _why(part))
                continue
            key = uuid.uuid4().hex
            found[key] = known
            records = [
                {"stored_size": stamp.size, "ends": stamp.ends, "read_at": now} for stamp in known
            ]
            kept.append(to_tables(key, part if self._queries else without_queries(part), records))
            if sum(table.nbytes for one in kept for table in one.values()) > _BATCH_BYTES:
                batches[self._write(kept)], kept, found = found, [], {}
        if kept:
            batches[self._write(kept)] = found
        return batches, left

    def _write(self, parts: Sequence[Tables]) -> str:
        """Write a batch, which no program takes for one yet."""
        batch = uuid.uuid4().hex
        try:
            for path, name in zip(self._files(batch), INDEX, strict=True):
                path.parent.mkdir(parents=True, exist_ok=True)
                table = pa.concat_tables([tables[name] for tables in parts])
                pq.write_table(table, f"{path}{_PARTIAL}", compression="zstd")
        except OSError as exc:
            raise WriteError(str(self.folder), reason_of(exc)) from exc
        return batch

    def commit(self, entries: Batches, places: Set[str]) -> None:
        """Let batches count; what was known before of logs in these places counts no more.

        One process at a time does so, and takes up what others did before it.
        """
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            with (self.folder / _LOCK).open("w") as lock:
                fcntl.flock(lock, fcntl.LOCK_EX)
                self._load()
                self._replace(entries, places)
                self._save()
                self._sweep()
        except OSError as exc:
            raise WriteError(str(self.folder), reason_of(exc)) from exc

    def _replace(self, entries: Batches, places: Set[str]) -> None:
        before = dict(self._batches)
        for batch, parts in before.items():
            alive = {
                part: stamps
                for part, stamps in parts.items()
                if places.isdisjoint(stamp.place for stamp in stamps)
            }
            if len(alive) < len(parts):
                del self._batches[batch]
                if alive:
                    chosen = pa.array(alive)
                    tables = {name: _those(self._table(batch, name), chosen) for name in INDEX}
                    self._batches[self._write([tables])] = alive
        self._batches |= entries
        for batch in self._batches.keys() - before.keys():
            self._name(batch)
        small = [batch for batch in self._batches if self._size(batch) < _SMALL_BATCH]
        if len(small) > _MOST_SMALL:
            whole = [{name: self._table(batch, name) for name in INDEX} for batch in small]
            united = self._write(whole)
            parts = {part: s for batch in small for part, s in self._batches.pop(batch).items()}
            self._batches[united] = parts
            self._name(united)

    def _name(self, batch: str) -> None:
        """Give a batch's files the names by which programs find them."""
        for path in self._files(batch):
            Path(f"{path}{_PARTIAL}").replace(path)

    def _size(self, batch: str) -> int:
        return sum(path.stat().st_size for path in self._files(batch))

    def _sweep(self) -> None:
        """Delete what does not count, and what others began to write and left long ago."""
        for name in INDEX:
            for path in (self.folder / name).glob("*.*"):
                old = time.time() - path.stat().st_mtime > _FORGOTTEN
                if old if path.suffix == _PARTIAL else path.stem not in self._batches:
                    path.unlink(missing_ok=True)

    def _save(self) -> None:
        batches = {
            batch: {part: [astuple(stamp) for stamp in stamps] for part, stamps in of.items()}
            for batch, of in self._batches.items()
        }
        path = self.folder / f"{_NAMES}.{uuid.uuid4().hex}"
        path.write_text(json.dumps({"version": VERSION, "batches": batches}), "utf-8")
        path.replace(self.folder / _NAMES)


def _folder(name: str) -> str:
    """What stands before the last slash."""
    return name[: name.rfind("/") + 1]


def _those(table: pa.Table, parts: pa.Array) -> pa.Table:
    """The rows of some parts."""
    return table.filter(pc.is_in(table.column("part"), parts))


def _why(part: Part) -> str:
    if part.unreadable is not None:
        return str(part.unreadable)
    return "it is no log file with a format description"


def stamp_or_none(carrier: Carrier) -> Stamp | None:
    """The stamp of a log, None where it cannot be opened."""
    try:
        return stamp_of(carrier)
    except InputError:  # whoever reads it reports it
        return None


def _known_ones(
    stamps: Sequence[Stamp | None], known: Mapping[tuple[Stamp, ...], str]
) -> list[tuple[int, int, str]]:
    """The logs in runs: the first, the one after the last, and their part, "" of what is not
    known."""
    lengths = sorted({len(stamps) for stamps in known}, reverse=True)
    found: list[tuple[int, int, str]] = []
    at = 0
    while at < len(stamps):
        end, part = at + 1, ""
        for length in lengths:
            wanted = tuple(stamp for stamp in stamps[at : at + length] if stamp is not None)
            if len(wanted) == length and wanted in known:
                end, part = at + length, known[wanted]
                break
        if not part and found and not found[-1][2]:
            at, *_ = found.pop()
        found.append((at, end, part))
        at = end
    return found
