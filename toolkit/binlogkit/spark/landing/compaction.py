"""Merges a landing's small files: the library's compaction, where it changes no row.

The library adds columns that the table got later to files that lack them. Such files then no longer
show that their rows are older than the column (:mod:`.reading`). So a day in which some files lack
a column is left as it is.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import nullcontext, suppress
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from binlogkit.errors import WriteError
from binlogkit.spark.landing.dead_files import under_way
from binlogkit.spark.landing.landing_path import LandingPath
from binlogkit.spark.landing.store import place_of
from binlogkit.spark.landing.tables import file_of, opened
from binlogkit.spark.landing.writing import FILE_BYTES

#: The tables of a landing that get many small files.
_PATTERNS = ("landings", "landed", "expired", "tables/*/*", "current/*/*")


@dataclass(frozen=True, slots=True)
class Compacted:
    """The result for a table's small files.

    ``before``, ``after``: how many; ``left``: partitions with several that stay, since they lack
    columns that came later.
    """

    folder: str
    before: int
    after: int
    left: int


def compact(
    out: str | Path | LandingPath,
    *,
    file_bytes: int = FILE_BYTES,
    target_options: Mapping[str, str] | None = None,
) -> list[Compacted]:
    """Compact the tables of a landing, its journal and its current-state tables.

    ``file_bytes``: the approximate size of a file afterwards. Files that readers have open stay
    until vacuum. UsageError: deltalake is not installed; WriteError.
    """
    place = place_of(out, None, target_options)
    names = delta_folders(place)
    with under_way(place) if names and place.has_local else nullcontext():
        found = [_compact(name, place / name, file_bytes) for name in names]
    return [one for one in found if one.before or one.left]


def delta_folders(out: LandingPath) -> list[str]:
    """The folders in a landing that may be Delta tables whose files become many."""
    return [name for pattern in _PATTERNS for name in out.below(pattern)]


def _compact(name: str, folder: LandingPath, file_bytes: int) -> Compacted:
    from deltalake.exceptions import CommitFailedError

    table = opened(folder)
    if table is None:
        return Compacted(name, 0, 0, 0)
    names = {one.name for one in pa.schema(table.schema())}
    partitions = table.metadata().partition_columns
    groups: dict[tuple[str | None, ...], list[LandingPath]] = {}
    for action in pa.table(table.get_add_actions(flatten=False)).to_pylist():
        if action["size_bytes"] < file_bytes:
            values = action.get("partition") or {}
            key = tuple(None if values[n] is None else str(values[n]) for n in partitions)
            groups.setdefault(key, []).append(file_of(folder, action["path"]))
    before = after = left = 0
    for key, files in groups.items():
        if len(files) < 2:
            continue
        if any(names - set(partitions) - set(pq.read_schema(file.tail()).names) for file in files):
            left += 1
            continue
        chosen = [(n, "=", "" if v is None else v) for n, v in zip(partitions, key, strict=True)]
        with folder.asked(WriteError), suppress(CommitFailedError):  # another one was faster
            done = table.optimize.compact(chosen or None, target_size=file_bytes)
            before += done["numFilesRemoved"]
            after += done["numFilesAdded"]
    return Compacted(name, before, after, left)
