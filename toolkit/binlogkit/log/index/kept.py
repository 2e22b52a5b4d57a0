"""An index: what each log says, kept in a folder, so that unchanged logs are not read again.

A log is recognised by its path, its size and a hash of both its ends (log/index/stamps.py); if any
of these differs, it is read again. The folder's files: log/index/batches.py.
"""

from __future__ import annotations

import time
import uuid
from collections.abc import Callable, Collection, Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path, PurePath

import pyarrow as pa
import pyarrow.compute as pc

from binlogkit.errors import BinlogKitError, InputError
from binlogkit.frames.fields.field import arrow_schema
from binlogkit.frames.fields.ledger import INDEX
from binlogkit.log.index.batches import BATCH_BYTES, Batches, BatchFolder, those
from binlogkit.log.index.definitions import Bodies
from binlogkit.log.index.later import LaterBatches, LaterLedger
from binlogkit.log.index.part import Part, parts_of
from binlogkit.log.index.stamps import Stamp, changed_at, known_ones, place_of, stamp_or_none
from binlogkit.log.index.stored import (
    NO_FORMAT,
    VALUES,
    WITHOUT_LEDGER,
    Tables,
    can_be_kept,
    emptied,
    to_parts,
    to_tables,
    without_values,
)
from binlogkit.rows.filters import Filters, TableName
from binlogkit.rows.options import ReadOptions
from binlogkit.sources.carriers import Carrier
from binlogkit.sources.carriers.urls import natural_key

_ATTEMPTS = 100
_UNITED = 64  # parts; a small table takes many times the bytes of its rows


@dataclass(frozen=True, slots=True)
class Updated:
    """The result of an index update.

    ``knew``, ``read``: how many logs were known and read; ``left``: logs that cannot be kept, by
    name with the reason; ``damaged``: damaged logs, by name with the first damage.
    """

    knew: int
    read: int
    left: dict[str, str] = field(default_factory=dict)
    damaged: dict[str, str] = field(default_factory=dict)


class Index(BatchFolder):
    """An index in a ``folder``, which need not exist yet.

    ``queries``: whether to keep the first statement of each transaction, which may hold values.
    """

    def __init__(self, folder: str | Path, *, queries: bool = True) -> None:
        super().__init__(Path(folder))
        self._queries = queries
        self._damaged: tuple[set[str], dict[str, int]] = set(), {}  # of which batches

    # ---- what is known ------------------------------------------------------------------------

    def _runs(self, stamps: Sequence[Stamp | None]) -> list[tuple[int, int, str]]:
        """Logs with these stamps in runs, each with its part; see :func:`known_ones`."""
        mended = self._mended()
        known = {tuple(own): part for part, own in self.stamps.items() if part not in mended}
        return known_ones(stamps, known)

    def _mended(self) -> set[str]:
        """The parts with damage of which a file has changed since, whatever its stamp says."""
        if self._damaged[0] != self.known.keys():
            parts = {*self.table("damages", columns=["part"])["part"].to_pylist()}
            logs = self.table("logs", columns=["part", "read_at"]) if parts else pa.table({})
            read = {one["part"]: one["read_at"] for one in logs.to_pylist()}
            self._damaged = {*self.known}, {part: read[part] for part in parts}
        stamps = self.stamps if self._damaged[1] else {}
        return {
            part for part, read_at in self._damaged[1].items()
            if any(changed_at(one.place) > read_at for one in stamps[part])
        }  # fmt: skip

    def unknown(self, carriers: Sequence[Carrier]) -> list[Carrier]:
        """The logs that are not known in their present state."""
        known = self._runs(list(map(stamp_or_none, carriers)))
        return [one for first, end, part in known if not part for one in carriers[first:end]]

    def parts(
        self,
        carriers: Sequence[Carrier],
        options: ReadOptions | None = None,
        ledger: Sequence[str] = (),
        wanted: Filters | None = None,
        *,
        later: bool = False,
    ) -> Iterator[Part]:
        """The parts of logs in order; logs that are not known in their present state are read.

        ``ledger``: the ledger tables that known parts get; ``wanted``: tables whose filters are
        read; ``later``: whether each table is read on demand.
        """
        known = self._runs(list(map(stamp_or_none, carriers)))
        names = [carrier.name for carrier in carriers]
        files = {part: names[first:end] for first, end, part in known}
        stored = self._read(files, ledger, wanted, later=later)
        for first, end, key in known:
            part = stored.get(key)
            if part is not None:
                yield part
            else:
                yield from parts_of(carriers[first:end], options, counting=bool(ledger))

    def besides(
        self,
        carriers: Sequence[Carrier],
        ledger: Sequence[str] = (),
        *,
        later: bool = False,
        apart: Container[str] = (),
    ) -> list[Part]:
        """The known parts of logs in other places, in natural order, including logs that are gone;
        without the parts of the keys ``apart``.

        A log in the same folder as one of these logs is named like it.
        """
        places = set(map(place_of, carriers))
        folders = {_folder(place_of(one)): _folder(one.name) for one in carriers}
        others: dict[str, list[str]] = {}
        for part, stamps in self.stamps.items():
            if part in apart:
                continue
            where = [stamp.place for stamp in stamps]
            if places.isdisjoint(where):
                others[part] = [
                    folders.get(_folder(place), _folder(place)) + place[len(_folder(place)) :]
                    for place in where
                ]
        stored = self._read(others, ledger, later=later)
        return [
            stored[part]
            for part in sorted(stored, key=lambda p: natural_key(PurePath(others[p][0])))
        ]

    def _read(
        self,
        files: Mapping[str, Sequence[str]],
        ledger: Sequence[str],
        filters: Filters | None = None,
        *,
        later: bool = False,
    ) -> dict[str, Part]:
        """Parts whose logs have other names now; ``filters``: see :meth:`parts`."""
        found: dict[str, Part] = {}
        waiting, bodies = LaterBatches(), Bodies()
        for batch, parts in self.known.items():
            wanted = [part for part in parts if part in files]
            if not wanted:
                continue
            try:
                now = WITHOUT_LEDGER if later else (*WITHOUT_LEDGER, *ledger)
                tables = {name: self.batch_table(batch, name) for name in now if name != "filters"}
                if "filters" in now:
                    tables["filters"] = self._filters(batch, filters or Filters())
                chosen = pa.array(wanted)
                own = {name: those(table, chosen) for name, table in tables.items()}
                if later:
                    waiting.open(batch, {n: self.path(n, batch) for n in ledger})
                rest = partial(LaterLedger, waiting, batch) if later else None
                found |= to_parts(own, files, bodies, rest)
            except (OSError, pa.ArrowException, BinlogKitError, KeyError, ValueError):
                continue  # its logs are read again
        return found

    def _filters(self, batch: str, wanted: Filters) -> pa.Table:
        """The filters of wanted tables, without their hashes unless keys are wanted."""
        columns = [f.name for f in INDEX["filters"] if wanted.where or f.name != "filter"]
        found = self.batch_table(batch, "filters", wanted.tables, columns)
        return found.sort_by("part")  # those of a part together

    def table(
        self,
        name: str,
        tables: Sequence[TableName] = (),
        columns: Sequence[str] | None = None,
    ) -> pa.Table:
        """All rows of one of the tables; ``tables``: filters of these only; ``columns``: only
        these."""
        schema = arrow_schema(f for f in INDEX[name] if columns is None or f.name in columns)
        for _ in range(_ATTEMPTS):
            try:
                found = [self.batch_table(batch, name, tables, columns) for batch in self.known]
            except OSError:  # another update replaced them meanwhile
                self.load()
                continue
            return pa.concat_tables([schema.empty_table(), *found])
        raise InputError(str(self.folder), "is updated all the time")

    # ---- what becomes known -------------------------------------------------------------------

    def update(self, carriers: Sequence[Carrier], options: ReadOptions | None = None) -> Updated:
        """Read the logs that are not known in their present state, and keep what they say.

        Other content known under the same name is forgotten. WriteError.
        """
        stamps = list(map(stamp_or_none, carriers))
        entries: Batches = {}
        left: dict[str, str] = {}
        read: set[str] = set()
        for first, end, key in self._runs(stamps):
            if key:
                continue
            names = [carrier.name for carrier in carriers[first:end]]
            found = parts_of(carriers[first:end], options, counting=True)
            written, unkept = self.write(found, dict(zip(names, stamps[first:end], strict=True)))
            entries |= written
            left |= unkept
            read.update(place_of(carrier) for carrier in carriers[first:end])
        if read:
            self.commit(entries, read)
        return self.updated(carriers, len(read), left)

    def forget_values(self, keep: Collection[str] = ()) -> None:
        """Drop what may hold values, except in the parts ``keep``: statements, and filters of keys.
        WriteError."""
        self.rewrite(partial(_without_values, pa.array([*keep], pa.string())))

    def updated(self, carriers: Sequence[Carrier], read: int, left: dict[str, str]) -> Updated:
        """The result of an update that looked at these logs and ``read`` so many of them."""
        damaged: dict[str, str] = {}
        for part in self.parts(carriers) if self.table("damages").num_rows else ():
            for error in part.damages[:1]:
                damaged[error.file] = f"{error.offset}: {error.reason}"
        return Updated(len(carriers) - read, read - len(left), left, damaged)

    def write(
        self, parts: Iterable[Part], stamps: Mapping[str, Stamp | None]
    ) -> tuple[Batches, dict[str, str]]:
        """Write parts as batches, which are invalid until they are committed.

        Returns the batches, and the logs that cannot be kept, with the reason.
        """
        now, kept, small, size = time.time_ns() // 1000, list[Tables](), list[Tables](), 0
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
            small.append(to_tables(key, part if self._queries else without_values(part), records))
            size += sum(table.nbytes for table in small[-1].values())
            if size > BATCH_BYTES:
                batches[self.write_batch(as_one([*kept, *small]))] = found
                kept, small, found, size = [], [], {}, 0
            elif len(small) == _UNITED:
                kept, small = [*kept, _united(small)], []
        if found:
            batches[self.write_batch(as_one([*kept, *small]))] = found
        return batches, left


def _without_values(keep: pa.Array, name: str, table: pa.Table) -> pa.Table:
    for own, column in VALUES:
        if own == name:
            table = emptied(table, column, pc.is_in(table["part"], keep))
    return table


def as_one(parts: Sequence[Tables]) -> Callable[[str], pa.Table]:
    """The tables of parts, by name, as one each."""
    return lambda name: pa.concat_tables([tables[name] for tables in parts])


def _united(parts: Sequence[Tables]) -> Tables:
    """The tables of several parts as one, in memory of their own."""
    table_of = as_one(parts)
    return {name: table_of(name).combine_chunks() for name in INDEX}


def _folder(name: str) -> str:
    """The part before the last slash."""
    return name[: name.rfind("/") + 1]


def _why(part: Part) -> str:
    if part.unreadable is not None:
        return str(part.unreadable)
    return NO_FORMAT
