"""What an undo or a redo changes, for people to read: each chosen change's row before it, now and
after."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from itertools import chain
from operator import itemgetter
from typing import Any

import numpy as np
import pyarrow as pa

from binlogkit.analyses._change import CHANGE
from binlogkit.analyses.undoing.advice import detail_of, kind_of
from binlogkit.analyses.undoing.plans import Chosen, PlanColumns, Plans
from binlogkit.frames.fields.field import fields, to_table
from binlogkit.frames.records import struct_records
from binlogkit.frames.schema import key_columns

SHOWN = fields(
    *CHANGE,
    ("db", "string", "database"),
    ("table", "string", "table"),
    ("op", "string?", "the chosen change: insert, update or delete; null for a statement"),
    ("key", "json?", "the row's key as it is now, null in a table without one"),
    ("before", "image?", "the row before the change; of an update the columns that it set"),
    ("now", "image?", "the same as the script must find it, null for a row that is not there; of a "
     "change on which later ones depend as the log leaves it; null where the change is refused for "
     "other reasons, or the log does not determine it"),
    ("after", "image?", "the same after the script, null likewise"),
    ("later", "list<string>", "columns that keep what later changes set (mode merge)"),
    ("refused", "string?", "why it is refused, in words that are the same for all such changes"),
    ("skipped", "boolean", "whether it is left out on request (mode skip)"),
    ("detail", "string?", "for what it is refused or skipped: the later change, or a name"),
)  # fmt: skip

Row = dict[str, Any]


def shown(plans: Plans) -> pa.Table:
    """The chosen changes in log order, as :data:`SHOWN`."""
    found = [*shown_rows(plans)]
    found.sort(key=lambda row: row.pop("seq"))
    return to_table(found, SHOWN)


def shown_rows(plans: Plans) -> Iterator[Row]:
    """The same as records in the script's order, each with its ``seq``, a chunk at a time."""
    for chunk in plans.chunks():
        pairs = (zip(places, _rows(made), strict=True) for places, made in chunk)
        yield from (row for _, row in sorted(chain.from_iterable(pairs), key=itemgetter(0)))


def _rows(made: PlanColumns) -> Iterator[Row]:
    changes, count = made.changes, made.changes.num_rows
    names = ["seq", *(f.name for f in SHOWN if f.name in changes.schema.names)]
    places = changes.select([n for n in names if n not in ("before", "after")]).to_pylist()
    before, after = (_images(made, side) for side in (0, 1))
    key = key_columns(changes.schema)
    parts = (made.set, made.where, made.later, made.left)
    new, guards, later, stands = (_cells(part, count) for part in parts)
    skipped = np.zeros(count, np.bool_) if made.skipped is None else made.skipped
    for i, place in enumerate(places):
        old, left = before[i], after[i]
        refused = made.refused[i].as_py()
        whole = {**(old or {}), **(left or {}), **guards[i], **stands[i]}
        stood, becomes = (left, old) if made.backwards else (old, left)
        names, found = list(stood or {}), {**(stood or {}), **guards[i], **later[i], **stands[i]}
        if old is not None and left is not None:
            names = [c for c in left if c in new[i] or c in later[i]] or _changed(old, left)
            old = {c: old[c] for c in names if c in old}
        now = {c: found[c] for c in names if c in found}
        images: Row = {"before": old, "now": None if stood is None else now, "after": becomes}
        if stood is not None and becomes is not None:
            images["after"] = {**now, **new[i]}
        if refused is not None and not later[i]:
            left_now = {c: stands[i][c] for c in names if c in stands[i]}
            images |= {"now": left_now or None, "after": None}
        images["key"] = {c: whole.get(c) for c in key} or None
        texts = {n: _text(v) for n, v in images.items()}
        rest: Row = {"later": list(later[i]), "skipped": bool(skipped[i])}
        if refused is not None:
            rest["refused"] = None if skipped[i] else kind_of(refused)[0]
            rest["detail"] = detail_of(refused)
        yield {**place, "op": place.get("op"), **texts, **rest}


def _images(made: PlanColumns, image: int) -> list[Row | None]:
    changes, side = made.changes, ("before", "after")[image]
    if side not in changes.schema.names:
        return [None] * int(changes.num_rows)
    return struct_records(changes[side], changes[f"{side}_state"], changes["raw"], image)


def _text(row: Row | None) -> str | None:
    return None if row is None else json.dumps(row, ensure_ascii=False)


def _changed(old: Row, new: Row) -> list[str]:
    return [column for column in new if column not in old or old[column] != new[column]]


def _cells(columns: Sequence[Chosen], count: int) -> list[Row]:
    """The cells of columns by row."""
    found: list[Row] = [{} for _ in range(count)]
    for column in columns:
        texts = column.json().to_pylist()
        for i, text in zip(np.flatnonzero(column.rows).tolist(), texts, strict=True):
            found[i][column.name] = json.loads(text)
    return found
