"""Plans of one kind over one version of a table, by the column, and the frame that shows them."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from binlogkit.analyses._cells import Cells
from binlogkit.analyses._declare import outputs
from binlogkit.frames.fields.field import arrow_type
from binlogkit.frames.generic import json_texts
from binlogkit.frames.text_columns import Mask, Part, joined

__all__ = ["PLANS", "Chosen", "PlanColumns", "Reasons", "batch_mappings", "no_texts", "plan_schema"]

PLANS = outputs(
    ("step", "int64", "order of execution: rising"),
    ("source", "string?", "the server's UUID, or the name the user gave"),
    ("file", "string", "file of the change"),
    ("pos", "int64", "position of its event"),
    ("inner", "int64?", "its number inside a payload, null outside"),
    ("row", "int64", "the change's number in its event"),
    ("gtid", "string?", "GTID of its transaction, null when anonymous"),
    ("timestamp", "seconds", "when its statement began"),
    ("db", "string", "database"),
    ("table", "string", "table"),
    ("kind", "string", "what the statement does: insert, update or delete"),
    ("set", "list<item>", "columns to write; an item has column, value (JSON), type, generated"),
    ("where", "list<item>", "what finds the row and guards it, items as in set"),
    ("limit_one", "boolean", "rows equal in every column may be there: only one is meant"),
    ("refused", "string?", "why there is no statement, null where there is one"),
    ("note", "string?", "what the statement does not check, null if nothing"),
)


@dataclass(frozen=True, slots=True)
class Chosen:
    """A column where it stands in statements; ``rows``: in those of which rows."""

    kind: str
    generated: bool
    cells: Cells
    rows: Mask

    @property
    def name(self) -> str:
        """The column's name."""
        return str(self.cells.field.name)

    def special(self) -> Iterator[tuple[int, str]]:
        """The rows that it stands in with a value that is none of the array's, and those texts."""
        for row, value in sorted(self.cells.special.items()):
            if self.rows[row]:
                yield row, value

    def json(self) -> pa.StringArray:
        """The values as JSON text, of the rows that it stands in."""
        places = np.flatnonzero(self.rows)
        array = self.cells.array.take(pa.array(places))
        texts = json_texts(array, self.cells.field).fill_null("null")
        special = {row: json.dumps(text, ensure_ascii=False) for row, text in self.special()}
        if not special:
            return texts
        odd = np.isin(places, list(special))
        return pc.replace_with_mask(texts, pa.array(odd), pa.array(list(special.values())))


@dataclass(frozen=True, slots=True)
class PlanColumns:
    """Plans of one ``kind``, a row each.

    ``changes``: where they come from, in a batch's columns; ``set`` and ``where``: no column stands
    in a row that is refused; ``refused`` and ``note``: null where there is none.
    """

    changes: pa.RecordBatch
    backwards: bool
    kind: str
    set: Sequence[Chosen]
    where: Sequence[Chosen]
    limit_one: Mask
    refused: pa.StringArray
    note: pa.StringArray

    @property
    def table(self) -> tuple[str, str]:
        """Database and table."""
        return self.changes["db"][0].as_py(), self.changes["table"][0].as_py()

    def frame(self) -> pa.RecordBatch:
        """The plans as :data:`PLANS` says."""
        changes, rows = self.changes, self.changes.num_rows
        seq = changes["seq"]
        made = {
            "step": pc.negate(seq) if self.backwards else seq,
            "kind": pa.repeat(self.kind, rows),
            "set": _items(self.set, rows),
            "where": _items(self.where, rows),
            "limit_one": pa.array(self.limit_one),
            "refused": self.refused,
            "note": self.note,
        }
        schema = plan_schema()
        arrays = []
        for field in schema:
            array = made.get(field.name)
            if array is None and field.name in changes.schema.names:
                array = changes[field.name].cast(field.type)
            arrays.append(pa.nulls(rows, field.type) if array is None else array)
        return pa.RecordBatch.from_arrays(arrays, schema=schema)


class Reasons:
    """Why rows have no statement: of each the reason that was given first, in ``texts``."""

    def __init__(self, texts: pa.StringArray) -> None:
        self.texts = texts

    def add(self, rows: Mask, *parts: Part) -> None:
        """Refuse ``rows``."""
        if not rows.any():
            return
        text = pc.if_else(pa.array(rows), joined(parts, len(rows)), pa.scalar(None, pa.string()))
        self.texts = pc.coalesce(self.texts, text)

    def none(self) -> Mask:
        """The rows that are not refused."""
        if self.texts.null_count == len(self.texts):
            return np.ones(len(self.texts), np.bool_)
        return np.array(self.texts.is_null(), np.bool_)


def batch_mappings(batch: pa.RecordBatch) -> list[dict[str, Any]]:
    """The plans of a frame's batch as mappings, values in the contract's form."""
    rows: list[dict[str, Any]] = batch.to_pylist()
    items = [item for row in rows for part in ("set", "where") for item in row[part]]
    values = json.loads(f"[{','.join(item['value'] for item in items)}]")
    for item, value in zip(items, values, strict=True):
        item["value"] = value
    return rows


def plan_schema() -> pa.Schema:
    """The Arrow schema of :data:`PLANS`."""
    items = pa.list_(_item())
    return pa.schema(
        [(o.name, items if o.type == "list<item>" else arrow_type(o.type)) for o in PLANS]
    )


def _item() -> pa.StructType:
    text = pa.string()
    return pa.struct({"column": text, "value": text, "type": text, "generated": pa.bool_()})


def _items(columns: Sequence[Chosen], rows: int) -> pa.ListArray:
    """For each row the columns that stand in its statement, in their order."""
    kind = _item()
    places = [np.flatnonzero(column.rows) for column in columns]
    of_rows = np.concatenate([np.zeros(0, np.int64), *places])
    ordinals = np.repeat(np.arange(len(columns)), [len(place) for place in places])
    order = np.argsort(of_rows, kind="stable")
    values = pa.concat_arrays([pa.array([], pa.string()), *(c.json() for c in columns)])
    facts: list[tuple[Any, ...]] = [(c.name, c.kind, c.generated) for c in columns]
    names, kinds, generated = zip(*facts, strict=True) if facts else ((), (), ())
    which = pa.array(ordinals[order])
    items = pa.StructArray.from_arrays(
        [
            pa.array(names, pa.string()).take(which),
            values.take(pa.array(order)),
            pa.array(kinds, pa.string()).take(which),
            pa.array(generated, pa.bool_()).take(which),
        ],
        fields=list(kind),
    )
    ends = np.cumsum(np.bincount(of_rows, minlength=rows))
    offsets = pa.array(np.concatenate([[0], ends]), pa.int32())
    return pa.ListArray.from_arrays(offsets, items, type=pa.list_(kind))


def no_texts(rows: int) -> pa.StringArray:
    """Texts of which there are none."""
    return pa.nulls(rows, pa.string())
