"""Changes that ROLLBACK TO SAVEPOINT undid but that are still in the log.

A server removes them from its cache, unless something in it cannot be rolled back. Then it writes
ROLLBACK TO (internals manual, R-log-rollback-to-savepoint), and everything between it and the
savepoint was undone. 5.7.22 does so in row format with a temporary table in between; 8.0.31 does
not log those. Rows of non-transactional tables are in transactions of their own.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import narwhals as nw
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from binlogkit.analyses._frames import lazy, records

_KINDS = ["begin", "commit", "rollback", "rollback_to", "savepoint", "xa_start"]
_PLACE = np.dtype([("pos", np.int64), ("inner", np.int64)])
EventKey = tuple[int, int]  # position, and number in a payload, -1 outside


@dataclass(frozen=True, slots=True)
class Undone:
    """Changes of ``file`` from ``start`` up to ``end`` that were undone."""

    file: str
    start: EventKey
    end: EventKey


def undone_ranges(statements: Any) -> list[Undone]:
    """The undone ranges in the frame of statements, in log order; empty without a frame."""
    if statements is None:
        return []
    needed = ("file", "pos", "inner", "kind", "query")
    rows = lazy(statements, needed).select(*needed)
    files = {row["file"] for row in records(rows.filter(nw.col("kind") == "rollback_to"))}
    if not files:
        return []
    concerned = nw.col("kind").is_in(_KINDS) & nw.col("file").is_in(sorted(files))
    return list(_ranges(records(rows.filter(concerned))))


def _ranges(rows: Iterable[dict[str, Any]]) -> Iterator[Undone]:
    """Savepoints by name; setting a name again moves it, rolling back to it keeps it."""
    by_file: dict[str, list[tuple[EventKey, str, str]]] = {}
    for row in rows:
        inner = -1 if row["inner"] is None else int(row["inner"])
        entry = ((int(row["pos"]), inner), row["kind"], row["query"])
        by_file.setdefault(row["file"], []).append(entry)
    for file, entries in by_file.items():
        savepoints: dict[str, EventKey] = {}
        for place, kind, query in sorted(entries):
            if kind == "savepoint":
                savepoints.pop(savepoint_name(query), None)
                savepoints[savepoint_name(query)] = place
            elif kind == "rollback_to" and savepoint_name(query) in savepoints:
                start = savepoints[savepoint_name(query)]
                yield Undone(file, start, place)
                savepoints = {n: p for n, p in savepoints.items() if p <= start}
            elif kind != "rollback_to":
                savepoints = {}


def savepoint_name(query: str) -> str:
    """The savepoint's name: the statement's last word. Names are not case-sensitive."""
    text = query.strip().rstrip(";").rstrip()
    if text.endswith("`"):
        at = len(text) - 1
        while at > 0 and (text[at - 1] != "`" or text[at - 2 : at] == "``"):
            at -= 2 if text[at - 2 : at] == "``" else 1
        return text[at:-1].replace("``", "`").lower()
    return text.split()[-1].lower()


def undone_mask(ranges: Iterable[Undone]) -> Callable[[pa.RecordBatch], NDArray[np.bool_]] | None:
    """A function that says which changes (``file``, ``pos``, ``inner``) are in one of them; None
    without ranges."""
    by_file: dict[str, list[tuple[EventKey, EventKey]]] = {}
    for one in ranges:
        by_file.setdefault(one.file, []).append((one.start, one.end))
    joined = {file: _joined(sorted(places)) for file, places in by_file.items()}
    return (lambda batch: _taken_back(batch, joined)) if joined else None


def _joined(ranges: list[tuple[EventKey, EventKey]]) -> NDArray[Any]:
    """The starts and ends of the ranges, merged so that none overlap, as two rows."""
    found: list[list[EventKey]] = []
    for start, end in ranges:
        if found and start <= found[-1][1]:
            found[-1][1] = max(found[-1][1], end)
        else:
            found.append([start, end])
    return np.array(found, _PLACE).T


def _taken_back(batch: pa.RecordBatch, joined: dict[str, NDArray[Any]]) -> NDArray[np.bool_]:
    places = np.empty(batch.num_rows, _PLACE)
    places["pos"] = np.asarray(batch["pos"])
    places["inner"] = np.asarray(batch["inner"].fill_null(-1))
    found = np.zeros(batch.num_rows, bool)
    for file in pc.unique(batch["file"]).to_pylist():
        if file in joined:
            starts, ends = joined[file]
            at = np.searchsorted(starts, places, "right") - 1
            inside = (at >= 0) & (np.searchsorted(ends, places, "right") == at)
            found |= inside & np.asarray(pc.equal(batch["file"], file))
    return found
