"""Merges a landing's small files: the library's compaction, where it changes no row.

The library adds columns that the table got later to files that lack them. Such files then no longer
show that their rows are older than the column (:mod:`.reading`). So a day in which some files lack
a column is left as it is.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from binlogkit.errors import WriteError
from binlogkit.spark.landing.tables import file_of, needed, opened
from binlogkit.spark.landing.writing import FILE_BYTES


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


def compact(out: str | Path, *, file_bytes: int = FILE_BYTES) -> list[Compacted]:
    """Compact the tables of a landing, its journal and its current-state tables.

    ``file_bytes``: the approximate size of a file afterwards. Files that readers have open stay
    until vacuum. UsageError: deltalake is not installed; WriteError.
    """
    needed()
    found = [_compact(Path(out), folder, file_bytes) for folder in _folders(Path(out))]
    return [one for one in found if one.before or one.left]


def _folders(out: Path) -> Iterator[Path]:
    for pattern in ("landings", "landed", "tables/*/*", "current/*/*"):
        yield from sorted(log.parent for log in out.glob(f"{pattern}/_delta_log"))


def _compact(out: Path, folder: Path, file_bytes: int) -> Compacted:
    from deltalake.exceptions import CommitFailedError, DeltaError

    table = opened(folder)
    assert table is not None
    names = {one.name for one in pa.schema(table.schema())}
    partitions = table.metadata().partition_columns
    groups: dict[tuple[str | None, ...], list[Path]] = {}
    for action in pa.table(table.get_add_actions(flatten=False)).to_pylist():
        if action["size_bytes"] < file_bytes:
            values = action.get("partition") or {}
            key = tuple(None if values[n] is None else str(values[n]) for n in partitions)
            groups.setdefault(key, []).append(file_of(folder, action["path"]))
    before = after = left = 0
    for key, files in groups.items():
        if len(files) < 2:
            continue
        if any(names - set(partitions) - set(pq.read_schema(file).names) for file in files):
            left += 1
            continue
        chosen = [(n, "=", "" if v is None else v) for n, v in zip(partitions, key, strict=True)]
        try:
            done = table.optimize.compact(chosen or None, target_size=file_bytes)
        except CommitFailedError:  # another one was faster
            continue
        except (DeltaError, OSError) as exc:
            raise WriteError(str(folder), str(exc)) from exc
        before += done["numFilesRemoved"]
        after += done["numFilesAdded"]
    return Compacted(str(folder.relative_to(out)), before, after, left)
