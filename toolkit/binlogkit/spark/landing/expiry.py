"""Retention: days of changes expire, and files that no version needs any more are deleted.

What expires is entered in the table ``expired`` before its files are taken out, so that no state
that would need it is taken for known: it has a gap there (:mod:`.expired`). Tables of current rows
are brought up to date before, and continue from their own rows. What lands
meanwhile does not expire.
"""

from __future__ import annotations

import time
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow.compute as pc
import pyarrow.parquet as pq

from binlogkit.analyses.point_in_time.boundary import lineage
from binlogkit.constants import TableId
from binlogkit.errors import UsageError
from binlogkit.rows.filters import written_table_name
from binlogkit.spark.landing.compaction import delta_folders
from binlogkit.spark.landing.current_tables import keep
from binlogkit.spark.landing.dead_files import under_way
from binlogkit.spark.landing.expired import Expired, keep_expired
from binlogkit.spark.landing.journal import read_journal, read_landed
from binlogkit.spark.landing.landing_path import LandingPath
from binlogkit.spark.landing.merging import merge_here
from binlogkit.spark.landing.reading import folders
from binlogkit.spark.landing.rewriting import Stored, rewrite, stored, vacuum
from binlogkit.spark.landing.shape import landed_name, name_of
from binlogkit.spark.landing.store import place_of
from binlogkit.spark.landing.tables import opened
from binlogkit.spark.landing.views import write_views

if TYPE_CHECKING:
    from binlogkit.spark.landing.writing import WrittenFile

#: For so many hours readers may go on to read a version of a table; Delta forgets by then what was
#: taken out.
READERS = 168
_READ = ("_file", "_pos", "_sequence")


@dataclass(frozen=True, slots=True)
class Expiry:
    """The result: the day ``before`` which changes expired, their ``rows`` by table, the ``files``
    that were deleted, and why tables were ``left`` as they are, by name."""

    before: str
    rows: dict[str, int]
    files: int
    left: dict[str, str]


def expire(
    out: str | Path | LandingPath,
    days: int,
    *,
    readers: int = READERS,
    ledger: str | Path | None = None,
    target_options: Mapping[str, str] | None = None,
) -> Expiry:
    """Let the changes expire that were committed more than so many days ago, in whole days of UTC.

    ``readers``: files are deleted once no version of the last so many hours has them. A table whose
    current rows are kept, and cannot be brought up to date, is left as it is. ``ledger``,
    ``target_options``: of a landing in a store.

    Errors: UsageError; InputError: nothing has landed there, or not all that its ledger knows;
    WriteError.
    """
    if days < 0 or not 0 <= readers <= READERS:
        raise UsageError(f"days are 0 or more, hours 0 to {READERS}")
    place = place_of(out, ledger, target_options)
    place.check_local()
    today = datetime.now(UTC).date()
    before = str(today - timedelta(days=min(days, today.toordinal() - 1)))
    read_journal(place)  # InputError: nothing has landed
    names = [landed_name(one) for one in read_landed(place)["table"].unique().to_pylist()]
    with under_way(place) as mark:
        old = {name: _old(place, name, before) for name in sorted(names)}
        old = {name: files for name, files in old.items() if files}
        left = _not_up_to_date(place, old)
        gone = {name: files for name, files in old.items() if written_table_name(*name) not in left}
        found = (one for name in gone for one in _expired(name, before, gone[name]))
        keep_expired(place, mark, found)
        rows = {written_table_name(*name): _take_out(gone[name]) for name in gone}
        deleted = sum(vacuum(place / one, readers) for one in delta_folders(place))
        if gone or deleted:
            write_views(place)
    return Expiry(before, rows, deleted, left)


def _old(out: LandingPath, name: TableId, before: str) -> list[tuple[LandingPath, Stored]]:
    """The files of a table whose days are over, with their folders."""
    found = []
    for folder in folders(out, name):
        table = opened(folder)
        assert table is not None
        for one in stored(table, folder):
            if (one.partition["_day"] or before) < before:
                found.append((folder, one))
    return found


def _not_up_to_date(out: LandingPath, names: Collection[TableId]) -> dict[str, str]:
    """Why tables cannot lose their changes: current rows that are made of them, of this or a later
    name, are not up to date after an attempt."""
    kept = [written_table_name(*name_of(folder)) for folder in out.below("current/*/*")]
    if not kept or not names:
        return {}
    done, now = keep(out, kept, merge=merge_here, again=lambda: None)
    found: dict[str, str] = {}
    for one in done:
        if one.how == "refused":
            for name in lineage(now.ledger.boundaries, landed_name(one.table)):
                table = written_table_name(*name)
                if name in names:
                    later = "" if table == one.table else f"as {one.table}, "
                    found.setdefault(table, f"{later}{one.reason}")
    return found


def _take_out(files: Iterable[tuple[LandingPath, Stored]]) -> int:
    """Take files out of their folders; returns how many rows they had."""
    count, by_folder = 0, dict[LandingPath, set[str]]()
    for folder, one in files:
        by_folder.setdefault(folder, set()).add(one.path)
    for folder, paths in by_folder.items():

        def choose(
            there: list[Stored], paths: set[str] = paths
        ) -> tuple[list[Stored], list[WrittenFile]]:
            return [one for one in there if one.path in paths], []

        count += sum(one.rows for one in rewrite(folder, choose)[0])
    return count


def _expired(
    name: TableId, before: str, files: Iterable[tuple[LandingPath, Stored]]
) -> Iterator[Expired]:
    """What is in files, by log."""
    found: dict[tuple[str | None, str, bytes], Expired] = {}
    now = time.time_ns() // 1000
    for _, one in files:
        source = one.partition["_source"]
        with one.file.asked():
            rows = pq.read_table(one.file.source(), columns=[*_READ], partitioning=None)
        rows = rows.append_column("begun", pc.binary_slice(rows["_sequence"], 0, 4))
        own = rows.group_by(["_file", "begun"], use_threads=False).aggregate(
            [("_pos", "min"), ("_pos", "max"), ("_pos", "count"), ("_sequence", "max")]
        )
        for row in own.to_pylist():
            key = source, row["_file"], row["begun"]
            expired = Expired(
                written_table_name(*name), source, row["_file"],
                int.from_bytes(row["begun"], "big"), row["_pos_min"], row["_pos_max"],
                row["_pos_count"], row["_sequence_max"], before, now,
            )  # fmt: skip
            known = found.get(key)
            found[key] = expired if known is None else _joined(known, expired)
    yield from found.values()


def _joined(a: Expired, b: Expired) -> Expired:
    return replace(
        a, first_pos=min(a.first_pos, b.first_pos), last_pos=max(a.last_pos, b.last_pos),
        rows=a.rows + b.rows, last_sequence=max(a.last_sequence, b.last_sequence),
    )  # fmt: skip
