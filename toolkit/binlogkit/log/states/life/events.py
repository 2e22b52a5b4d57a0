"""The events of a row's life: its changes, and what happens to its table, as records."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from binlogkit.analyses.point_in_time.batches import pieces
from binlogkit.analyses.point_in_time.defaults import with_defaults
from binlogkit.frames.records import struct_records

if TYPE_CHECKING:
    from binlogkit.analyses.point_in_time.boundary import Boundary
    from binlogkit.log.states.life.reading import KeptChanges
    from binlogkit.rows.schema import TableDefinition

#: The fields of a record that belong to a change.
FROM_BATCH = (
    "source", "file", "pos", "end_pos", "inner", "row", "timestamp", "commit_timestamp",
    "server_id", "gtid", "thread_id", "xid", "xa", "db", "table", "op", "query",
)  # fmt: skip


def written(record: dict[str, Any]) -> dict[str, Any]:
    """A record as a frame has it."""
    images = {name: record[name] for name in ("before", "after")}
    return record | {n: i and json.dumps(i, ensure_ascii=False) for n, i in images.items()}


def doubtful(boundary: Boundary, *, mine: bool) -> str | None:
    """The finding for what may have changed rows without being in the log."""
    if boundary.action == "incident":
        return "incident"
    if not mine:
        return "written_elsewhere" if boundary.may_write else None
    if boundary.deletes_all:
        return None
    if boundary.moves_rows:
        return "rows_moved"
    if boundary.action == "statement_write":
        return "statement_write"
    known = ("create", "drop", "drop_database", "truncate", "rename", "alter")
    lost = boundary.action == "alter" and boundary.alteration is None
    return "unknown_ddl" if lost or boundary.action not in known else None


def changes_in(
    kept: KeptChanges, definitions: list[tuple[int, TableDefinition | None]]
) -> Iterator[tuple[int, dict[str, Any], str | None, str | None, list[str]]]:
    """Changes as records, with their places, keys, and the table's columns."""
    start = 0
    for seq, piece in pieces(kept.batch, [seq for seq, _ in definitions]):
        definition = [found for since, found in definitions if since < seq][-1]
        batch = piece if definition is None else with_defaults(piece, definition)
        records = batch.select(FROM_BATCH).to_pylist()
        names = [field.name for field in batch["after"].type]
        images = [
            struct_records(batch[image], batch[f"{image}_state"], batch["raw"], side)
            for side, image in enumerate(("before", "after"))
        ]
        seqs = batch["seq"].to_pylist()
        for i, (at, record, before, after) in enumerate(zip(seqs, records, *images, strict=True)):
            was, now = kept.was[start + i].as_py(), kept.now[start + i].as_py()
            yield at, record | {"before": before, "after": after}, was, now, names
        start += piece.num_rows
